//! The process beside a job: it starts the command, waits, keeps the limits, and writes down how it ended.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::processes::{boot_id, members, read_process};
use super::request::Request;
use super::system::{self, Ended, SIGKILL, SIGTERM, WNOHANG};

/// How often the memory of a job is looked at, where no cgroup keeps it; also how late a signal may be seen.
const LOOK_MS: u64 = 250;
/// How long processes that a job leaves behind may take to end when they are asked to.
const LEFT_BEHIND_MS: u64 = 2000;
const PAGE_BYTES: u64 = 4096;
/// How long a record may be.
const ROOM: usize = 1000;
/// Of a job that ran longer than this, the record is on the disk before the supervisor ends. Of shorter ones the queue
/// writes many at once into its journal, a moment later.
const LONG: Duration = Duration::from_secs(1);

/// Why a job was ended by its supervisor.
#[derive(Clone, Copy, PartialEq)]
enum Cause {
    TimeLimit,
    Memory,
    Asked,
}

impl Cause {
    fn word(self) -> &'static str {
        match self {
            Cause::TimeLimit => "time-limit",
            Cause::Memory => "memory",
            Cause::Asked => "asked",
        }
    }
}

/// What is written down at the end.
#[derive(Default)]
struct Record {
    start_ms: u128,
    end_ms: u128,
    code: Option<i32>,
    signal: Option<i32>,
    cause: Option<Cause>,
    cpu_ms: i64,
    most_resident_kb: i64,
    /// Why the command could not be started, if it could not.
    error: Option<String>,
}

/// Supervises one job from beginning to end, and ends this process.
pub fn run(request: &Request) -> ! {
    let spawner = system::parent();
    let outcome = supervise(request, spawner);
    // Nobody listens: without a record, the queue calls the job lost.
    system::leave(i32::from(outcome.is_err()))
}

fn supervise(request: &Request, spawner: i32) -> io::Result<()> {
    system::take_signals();
    system::lead_a_session()?;
    system::adopt_orphans()?;
    let (file, place) = claim(request)?;
    let began = Instant::now();
    let mut record = Record { start_ms: now_ms(), ..Record::default() };
    match start(request) {
        Ok(process) => watch(request, process, began, &mut record)?,
        Err(reason) => record.error = Some(reason),
    }
    record.end_ms = now_ms();
    // Where the queue is gone, nobody else will bring the record to the disk.
    let on_disk = began.elapsed() > LONG || system::parent() != spawner;
    write_record(request, file, place, &record, on_disk)
}

/// Takes the attempt: whoever makes the file runs the job, and nobody makes it twice. Returns the file, and where the
/// record goes in it.
fn claim(request: &Request) -> io::Result<(File, u64)> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&request.claim)?;
    let own = std::process::id();
    let started = read_process(own as i32).map_or(0, |process| process.start_ticks);
    let name = format!("{own} {started} {}\n", boot_id());
    // The room for the record is taken now, for the disk may be full when the job ends.
    file.write_all(format!("{name}{:ROOM$}", "").as_bytes())?;
    Ok((file, name.len() as u64))
}

fn now_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_millis())
}

/// Starts the command; returns its process, or why there is none.
fn start(request: &Request) -> Result<i32, String> {
    if !request.cgroup.as_os_str().is_empty() {
        fs::write(request.cgroup.join("cgroup.procs"), "0")
            .map_err(|error| format!("cgroup {}: {error}", request.cgroup.display()))?;
    }
    // A processor that is gone, or a nice level that is not allowed, is no reason not to run.
    if !request.cpus.is_empty() {
        let _ = system::stay_on(&request.cpus);
    }
    if request.nice != 0 {
        let _ = system::give_way(request.nice);
    }
    let named = |error: io::Error| format!("{}: {error}", request.output.display());
    let output = OpenOptions::new().append(true).create(true).mode(0o600).open(&request.output).map_err(named)?;
    let errors = output.try_clone().map_err(named)?;
    system::mask_permissions(request.umask);
    let mut command = Command::new(program(request)?);
    command.arg0(&request.command[0]).args(&request.command[1..]);
    command.env_clear().envs(request.environment.iter().map(|(name, value)| (name, value)));
    command.current_dir(&request.folder).process_group(0);
    command.stdin(Stdio::null()).stdout(output).stderr(errors);
    let child = command.spawn().map_err(|error| {
        let what = if request.folder.is_dir() { Path::new(&request.command[0]) } else { &request.folder };
        format!("{}: {error}", what.display())
    })?;
    let process = child.id() as i32;
    if request.limits_data && request.memory_bytes > 0 {
        // Between two looks at what it holds, a job must not be able to take the whole machine.
        let _ = system::limit_data(process, request.memory_bytes.saturating_mul(2));
    }
    Ok(process)
}

/// The file of the command, looked for as a shell would: along the job's own PATH, from its own folder.
fn program(request: &Request) -> Result<PathBuf, String> {
    let name = &request.command[0];
    if name.as_bytes().contains(&b'/') {
        return Ok(request.folder.join(name));
    }
    let path = request.environment.iter().find(|(key, _)| key == "PATH").map(|(_, value)| value.as_os_str());
    let folders = path.unwrap_or("/usr/local/bin:/usr/bin:/bin".as_ref());
    std::env::split_paths(folders)
        .map(|folder| request.folder.join(folder).join(name))
        .find(|file| is_program(file))
        .ok_or_else(|| format!("{}: command not found", name.to_string_lossy()))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Waits for the command and all that it started, and keeps the limits.
fn watch(request: &Request, process: i32, began: Instant, record: &mut Record) -> io::Result<()> {
    let watched = system::watch(process);
    let limit = (request.limit_ms > 0).then(|| Duration::from_millis(request.limit_ms));
    let watches_memory = request.memory_bytes > 0 && request.cgroup.as_os_str().is_empty();
    let mut asked_at: Option<Instant> = None;
    let ended = loop {
        if let Some(ended) = look_for(process, record)? {
            break ended;
        }
        let cause = if system::is_asked_to_end() {
            Some(Cause::Asked)
        } else if limit.is_some_and(|limit| began.elapsed() >= limit) {
            Some(Cause::TimeLimit)
        } else if watches_memory && held_bytes() > request.memory_bytes {
            Some(Cause::Memory)
        } else {
            None
        };
        match (asked_at, cause) {
            (None, Some(cause)) => {
                record.cause = Some(cause);
                asked_at = Some(Instant::now());
                signal_all(process, SIGTERM);
            }
            (Some(asked), _) if asked.elapsed() >= Duration::from_millis(request.grace_ms) => {
                signal_all(process, SIGKILL);
            }
            _ => {}
        }
        system::wait_readable(watched, wait_ms(watched, limit, began, asked_at.is_some()));
    };
    record.code = ended.code;
    record.signal = ended.signal;
    end_those_left(record);
    Ok(())
}

/// How long to sleep before the next look.
fn wait_ms(watched: Option<i32>, limit: Option<Duration>, began: Instant, is_asked: bool) -> i32 {
    // Without a descriptor nobody wakes us when the job ends.
    let most = if watched.is_none() { 10 } else { LOOK_MS };
    let left = limit.filter(|_| !is_asked).map(|limit| limit.saturating_sub(began.elapsed()).as_millis() as u64 + 1);
    left.map_or(most, |left| left.min(most)) as i32
}

/// The end of the command, if it has come. Orphans that were adopted may end before it.
fn look_for(process: i32, record: &mut Record) -> io::Result<Option<Ended>> {
    while let Some(ended) = system::wait_for(-1, WNOHANG)? {
        record.cpu_ms += ended.cpu_ms;
        record.most_resident_kb = record.most_resident_kb.max(ended.most_resident_kb);
        if ended.process == process {
            return Ok(Some(ended));
        }
    }
    Ok(None)
}

fn held_bytes() -> u64 {
    members(std::process::id() as i32).iter().map(|one| one.resident_pages * PAGE_BYTES).sum()
}

fn signal_all(process: i32, signal: i32) {
    system::send(-process, signal);
    // Some leave the group; whoever is below us is found.
    for member in members(std::process::id() as i32) {
        system::send(member.number, signal);
    }
}

/// Ends what a job has left running: its cores go to another job.
fn end_those_left(record: &mut Record) {
    let began = Instant::now();
    let mut signal = SIGTERM;
    loop {
        match system::wait_for(-1, WNOHANG) {
            // Nobody is left.
            Err(_) => return,
            Ok(Some(ended)) => {
                record.cpu_ms += ended.cpu_ms;
                record.most_resident_kb = record.most_resident_kb.max(ended.most_resident_kb);
            }
            Ok(None) => {
                if signal == SIGTERM || began.elapsed() > Duration::from_millis(LEFT_BEHIND_MS) {
                    members(std::process::id() as i32).iter().for_each(|one| {
                        system::send(one.number, signal);
                    });
                    signal = SIGKILL;
                }
                system::wait_readable(None, 5);
            }
        }
    }
}

/// Writes the record into the claim and renames it, so that there is never half a record.
fn write_record(request: &Request, mut file: File, place: u64, record: &Record, on_disk: bool) -> io::Result<()> {
    let text = text_of(record);
    file.seek(SeekFrom::Start(place))?;
    file.write_all(text.as_bytes())?;
    file.set_len(place + text.len() as u64)?;
    if on_disk {
        file.sync_all()?;
    }
    fs::rename(&request.claim, &request.record)?;
    if let (true, Some(folder)) = (on_disk, request.record.parent()) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn text_of(record: &Record) -> String {
    let mut text = format!(
        "start_ms {}\nend_ms {}\ncpu_ms {}\nmost_resident_kb {}\n",
        record.start_ms, record.end_ms, record.cpu_ms, record.most_resident_kb
    );
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let line: String = value.replace(['\n', '\r'], " ").chars().take(ROOM / 4).collect();
            text += &format!("{name} {line}\n");
        }
    };
    add("code", record.code.map(|code| code.to_string()));
    add("signal", record.signal.map(|signal| signal.to_string()));
    add("cause", record.cause.map(|cause| cause.word().to_string()));
    add("error", record.error.clone());
    text
}
