//! The calls of Linux that the standard library does not offer; all `unsafe` of the supervisor is here.
//!
//! Every function takes and returns plain values. None of them keeps a pointer that it was given.

use std::ffi::c_void;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// The signal that asks to end.
pub const SIGTERM: i32 = 15;
/// The signal that ends.
pub const SIGKILL: i32 = 9;
const SIGPIPE: i32 = 13;
const SIGCHLD: i32 = 17;
const SIGXFSZ: i32 = 25;
const SIG_DFL: usize = 0;
const SIG_IGN: usize = 1;
const PR_SET_CHILD_SUBREAPER: i32 = 36;
const RLIMIT_DATA: i32 = 2;
const PRIO_PROCESS: i32 = 0;
const POLLIN: i16 = 1;
const SYS_PIDFD_OPEN: i64 = 434;
/// For `wait_for`: do not wait, only look.
pub const WNOHANG: i32 = 1;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct TimeValue {
    seconds: i64,
    micros: i64,
}

/// What `wait4` tells of a process; the fields behind the third are not used here.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ResourceUse {
    user: TimeValue,
    system: TimeValue,
    most_resident_kb: i64,
    others: [i64; 13],
}

#[repr(C)]
struct PollEntry {
    descriptor: i32,
    events: i16,
    answered: i16,
}

#[repr(C)]
struct Limit {
    soft: u64,
    hard: u64,
}

extern "C" {
    fn fork() -> i32;
    fn _exit(code: i32) -> !;
    fn setsid() -> i32;
    fn kill(process: i32, signal: i32) -> i32;
    fn signal(number: i32, handler: usize) -> usize;
    fn wait4(process: i32, status: *mut i32, options: i32, used: *mut ResourceUse) -> i32;
    fn prctl(option: i32, value: u64, third: u64, fourth: u64, fifth: u64) -> i32;
    fn sched_setaffinity(process: i32, size: usize, mask: *const u64) -> i32;
    fn setpriority(which: i32, who: u32, value: i32) -> i32;
    fn prlimit(process: i32, resource: i32, new: *const Limit, old: *mut c_void) -> i32;
    fn poll(entries: *mut PollEntry, count: u64, timeout_ms: i32) -> i32;
    fn syscall(number: i64, ...) -> i64;
    fn umask(mask: u32) -> u32;
    fn getppid() -> i32;
}

static ASKED_TO_END: AtomicBool = AtomicBool::new(false);

extern "C" fn remember_request(_signal: i32) {
    ASKED_TO_END.store(true, Ordering::SeqCst);
}

/// How a process ended, and what it used.
pub struct Ended {
    /// Its number.
    pub process: i32,
    /// Its exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Processor time, its children's with it.
    pub cpu_ms: i64,
    /// The most memory that it held at once.
    pub most_resident_kb: i64,
}

fn checked(answer: i32) -> io::Result<i32> {
    match answer {
        -1 => Err(io::Error::last_os_error()),
        fine => Ok(fine),
    }
}

/// Splits this process in two, which must have one thread; returns 0 to the new one, and its number to the old one.
pub fn split() -> io::Result<i32> {
    // With one thread no lock can be held by another, so that the new process may do all that the old one may.
    checked(unsafe { fork() })
}

/// Ends this process at once: nothing of what it shares with its parent is flushed or freed.
pub fn leave(code: i32) -> ! {
    unsafe { _exit(code) }
}

/// Makes this process the leader of a session of its own, which no terminal can end.
pub fn lead_a_session() -> io::Result<()> {
    checked(unsafe { setsid() }).map(drop)
}

/// Has orphans among the descendants of this process become its children, so that none is out of sight.
pub fn adopt_orphans() -> io::Result<()> {
    checked(unsafe { prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(drop)
}

/// In the spawner: children that end need nobody to look at them.
pub fn forget_children() {
    unsafe { signal(SIGCHLD, SIG_IGN) };
}

/// In a supervisor: signals mean what they usually do, except that being asked to end is only remembered.
pub fn take_signals() {
    let handler = remember_request as extern "C" fn(i32) as usize;
    unsafe {
        signal(SIGCHLD, SIG_DFL);
        // Python ignores these two, and what is ignored stays so in every process that is started.
        signal(SIGPIPE, SIG_DFL);
        signal(SIGXFSZ, SIG_DFL);
        signal(SIGTERM, handler);
    }
}

/// Whether this process has been asked to end.
pub fn is_asked_to_end() -> bool {
    ASKED_TO_END.load(Ordering::SeqCst)
}

/// Sends a signal to a process, or to a process group if the number is negative; says whether there is one.
pub fn send(process: i32, signal: i32) -> bool {
    unsafe { kill(process, signal) == 0 }
}

/// The end of a child (of any one for -1), if it has come; an error if there is no such child.
pub fn wait_for(process: i32, options: i32) -> io::Result<Option<Ended>> {
    let (mut status, mut used) = (0, ResourceUse::default());
    let found = loop {
        match checked(unsafe { wait4(process, &mut status, options, &mut used) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            answer => break answer?,
        }
    };
    if found == 0 {
        return Ok(None);
    }
    let signal = status & 0x7f;
    let ms = |time: TimeValue| time.seconds * 1000 + time.micros / 1000;
    Ok(Some(Ended {
        process: found,
        code: (signal == 0).then_some((status >> 8) & 0xff),
        signal: (signal != 0).then_some(signal),
        cpu_ms: ms(used.user) + ms(used.system),
        most_resident_kb: used.most_resident_kb,
    }))
}

/// A descriptor that becomes readable when a process ends; None where the kernel has none.
pub fn watch(process: i32) -> Option<i32> {
    let descriptor = unsafe { syscall(SYS_PIDFD_OPEN, process as i64, 0i64) };
    (descriptor >= 0).then_some(descriptor as i32)
}

/// Waits until a descriptor is readable, a signal comes, or the time is over.
pub fn wait_readable(descriptor: Option<i32>, timeout_ms: i32) {
    let mut entry = PollEntry { descriptor: descriptor.unwrap_or(-1), events: POLLIN, answered: 0 };
    // A negative descriptor is passed over, so that this is a sleep. Whatever it answers, the caller looks again.
    unsafe { poll(&mut entry, 1, timeout_ms) };
}

/// Keeps this process, and all that it starts, on these processors.
pub fn stay_on(cpus: &[usize]) -> io::Result<()> {
    let mut mask = [0u64; 64];
    for &cpu in cpus {
        if let Some(word) = mask.get_mut(cpu / 64) {
            *word |= 1 << (cpu % 64);
        }
    }
    checked(unsafe { sched_setaffinity(0, std::mem::size_of_val(&mask), mask.as_ptr()) }).map(drop)
}

/// Sets how willingly this process, and all that it starts, gives way to others.
pub fn give_way(nice: i32) -> io::Result<()> {
    checked(unsafe { setpriority(PRIO_PROCESS, 0, nice) }).map(drop)
}

/// Limits the private memory that a process may ask for.
pub fn limit_data(process: i32, bytes: u64) -> io::Result<()> {
    let limit = Limit { soft: bytes, hard: bytes };
    checked(unsafe { prlimit(process, RLIMIT_DATA, &limit, std::ptr::null_mut()) }).map(drop)
}

/// Sets the permissions that files of this process, and of all that it starts, do not get.
pub fn mask_permissions(mask: u32) {
    unsafe { umask(mask) };
}

/// The number of the process that started this one, or that took it over.
pub fn parent() -> i32 {
    unsafe { getppid() }
}
