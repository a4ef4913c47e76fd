//! What a spawner is asked: one message a job, of texts with their lengths.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The longest message: an environment and a command line may take megabytes.
const LONGEST: usize = 64 << 20;

/// One job to be started.
pub struct Request {
    /// A number that no other attempt of the queue has.
    pub attempt: u64,
    /// Where the claim of the attempt and the record of its end are.
    pub claim: PathBuf,
    pub record: PathBuf,
    /// What the job prints goes here.
    pub output: PathBuf,
    pub folder: PathBuf,
    /// The processors that it may use; none: all.
    pub cpus: Vec<usize>,
    pub nice: i32,
    pub umask: u32,
    /// How long it may run; 0: without limit.
    pub limit_ms: u64,
    /// How long a job that is asked to end may take.
    pub grace_ms: u64,
    /// How much memory it may hold; 0: without limit.
    pub memory_bytes: u64,
    /// Whether also the memory that it asks for is limited; a program with a GPU asks for far more than it uses.
    pub limits_data: bool,
    /// The cgroup that it belongs to; empty: none.
    pub cgroup: PathBuf,
    pub command: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
}

/// Reads the next message; None where the other side has closed, be it in the middle of one.
pub fn read_message(source: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    if !is_filled(source, &mut length)? {
        return Ok(None);
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(wrong("a message is too long"));
    }
    let mut message = vec![0; length];
    Ok(is_filled(source, &mut message)?.then_some(message))
}

fn is_filled(source: &mut impl Read, target: &mut [u8]) -> io::Result<bool> {
    match source.read_exact(target) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        answer => answer.map(|()| true),
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Takes a message apart: texts, each behind its length.
struct Texts<'a>(&'a [u8]);

impl Texts<'_> {
    fn next(&mut self) -> io::Result<Vec<u8>> {
        let cut = || wrong("a message is cut off");
        let (length, rest) = self.0.split_first_chunk::<4>().ok_or_else(cut)?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
        self.0 = rest;
        if text.contains(&0) {
            return Err(wrong("a text holds a zero byte"));
        }
        Ok(text.to_vec())
    }

    fn path(&mut self) -> io::Result<PathBuf> {
        Ok(PathBuf::from(OsString::from_vec(self.next()?)))
    }

    fn number<T: std::str::FromStr>(&mut self) -> io::Result<T> {
        let text = self.next()?;
        std::str::from_utf8(&text).ok().and_then(|digits| digits.parse().ok()).ok_or_else(|| wrong("no number"))
    }
}

impl Request {
    /// Takes a message apart. The order of the fields is that of `src/shunter/execution/local/spawner.py`.
    pub fn parse(message: &[u8]) -> io::Result<Request> {
        let mut texts = Texts(message);
        let mut request = Request {
            attempt: texts.number()?,
            claim: texts.path()?,
            record: texts.path()?,
            output: texts.path()?,
            folder: texts.path()?,
            cpus: Vec::new(),
            nice: 0,
            umask: 0,
            limit_ms: 0,
            grace_ms: 0,
            memory_bytes: 0,
            limits_data: false,
            cgroup: PathBuf::new(),
            command: Vec::new(),
            environment: Vec::new(),
        };
        for _ in 0..texts.number::<usize>()? {
            request.cpus.push(texts.number()?);
        }
        request.nice = texts.number()?;
        request.umask = texts.number()?;
        request.limit_ms = texts.number()?;
        request.grace_ms = texts.number()?;
        request.memory_bytes = texts.number()?;
        request.limits_data = texts.number::<u8>()? != 0;
        request.cgroup = texts.path()?;
        for _ in 0..texts.number::<usize>()? {
            request.command.push(OsString::from_vec(texts.next()?));
        }
        if request.command.is_empty() {
            return Err(wrong("there is no command"));
        }
        for _ in 0..texts.number::<usize>()? {
            request.environment.push((OsString::from_vec(texts.next()?), OsString::from_vec(texts.next()?)));
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(texts: &[&str]) -> Vec<u8> {
        texts.iter().flat_map(|text| [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()).collect()
    }

    const WHOLE: [&str; 20] =
        ["7", "c", "r", "o", "/", "2", "0", "3", "5", "18", "1000", "50", "4096", "1", "", "1", "true", "1", "A", "b"];

    #[test]
    fn a_message_is_taken_apart_field_by_field() {
        let request = Request::parse(&message(&WHOLE)).unwrap();
        assert_eq!((request.attempt, request.nice, request.umask), (7, 5, 18));
        assert_eq!(request.cpus, [0, 3]);
        assert_eq!((request.limit_ms, request.grace_ms, request.memory_bytes), (1000, 50, 4096));
        assert!(request.limits_data);
        assert_eq!(request.command, ["true"]);
        assert_eq!(request.environment, [("A".into(), "b".into())]);
    }

    #[test]
    fn a_message_that_is_cut_off_anywhere_is_refused() {
        let whole = message(&WHOLE);
        for length in 0..whole.len() {
            assert!(Request::parse(&whole[..length]).is_err(), "{length} of {} bytes", whole.len());
        }
    }

    #[test]
    fn a_stream_that_ends_in_a_message_has_no_more() {
        let mut stream = &[9, 0, 0, 0, 1, 2][..];
        assert!(read_message(&mut stream).unwrap().is_none());
        assert!(read_message(&mut &[255u8; 8][..]).is_err());
    }
}
