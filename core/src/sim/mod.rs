//! The simulation: the parts of its state, the clock's events, starts and stops, copies and bytes.

pub(crate) mod accounts;
pub(crate) mod accrual;
pub mod batch;
pub(crate) mod bytes;
pub(crate) mod clock;
pub mod events;
pub mod failures;
pub(crate) mod gate;
pub(crate) mod holding;
pub mod job_state;
pub(crate) mod limits;
pub mod machine;
pub(crate) mod needs;
pub mod serialize;
pub mod setup;
pub mod simulation;
pub mod snapshot;
pub mod stopping;
pub mod tally;
pub(crate) mod waiting;
