//! The process that starts supervisors.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::os::fd::FromRawFd;

use super::request::{read_message, Request};
use super::{supervisor, system};

/// Serves requests from a descriptor until its other side is closed. For each it answers a line: the attempt, and the
/// process that supervises it, or 0 and why there is none. The calling process must have one thread.
///
/// # Safety
/// The descriptor must be an open socket of which nobody else makes use.
pub unsafe fn serve(descriptor: i32) -> io::Result<()> {
    let socket = unsafe { File::from_raw_fd(descriptor) };
    let mut answers = socket.try_clone()?;
    let mut requests = BufReader::new(socket);
    system::forget_children();
    while let Some(message) = read_message(&mut requests)? {
        let request = Request::parse(&message)?;
        let line = match system::split() {
            Ok(0) => {
                // The other side must be able to see that the spawner is gone, whoever of its children still runs.
                drop((requests, answers));
                supervisor::run(&request);
            }
            Ok(process) => format!("{} {process}\n", request.attempt),
            Err(error) => format!("{} 0 {error}\n", request.attempt),
        };
        answers.write_all(line.as_bytes())?;
    }
    Ok(())
}
