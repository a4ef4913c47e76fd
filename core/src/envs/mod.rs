//! Environments: a simulation that stops wherever a decision is due, and tells what can be seen there.
//!
//! `docs/environments.md` is the specification; `tests/reference/` has it in slow Python.

pub(crate) mod baseline;
pub mod decision;
pub mod environment;
pub mod episode;
pub mod history;
pub mod lookahead;
pub mod observe;
mod observe_pairs;
pub(crate) mod pairs;
pub mod pass;
pub mod pick_host;
pub mod pick_job;
pub mod pick_job_and_type;
pub mod play;
pub mod state;
pub mod thread_pool;
pub mod vector;
pub mod world;
