//! Who may start now, when the next job does not fit.

pub mod committed;
pub mod moving;
pub mod preemptive;
pub mod reserving;
pub mod room;
pub mod standing;
