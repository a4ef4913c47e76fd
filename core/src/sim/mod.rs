//! The simulation: its state, the clock, starts and stops, copies and bytes.

pub(crate) mod accrual;
pub mod batch;
pub mod events;
pub mod failures;
pub mod job_state;
pub mod serialize;
pub mod simulation;
pub mod snapshot;
pub mod stopping;
pub mod tally;
