//! Running a job of the local queue: one small process beside each job, which outlives whoever asked for it.
//!
//! A spawner (`spawner.rs`) is a process with one thread. For each request it forks a supervisor (`supervisor.rs`), which
//! takes the attempt for itself, starts the command, waits for it, keeps its limits, and writes down how it ended.
//! `docs/queue.md` says what the files hold. All calls of the operating system are in `system.rs`.

#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod request;
#[cfg(target_os = "linux")]
pub mod spawner;
#[cfg(target_os = "linux")]
mod supervisor;
/// What the operating system offers is no part of our own ABI.
/// cbindgen:ignore
#[cfg(target_os = "linux")]
mod system;
