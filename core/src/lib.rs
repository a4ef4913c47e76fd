//! Shunter's core: a discrete-event simulator of batch schedulers.
//!
//! The modules know nothing of Python or C; `ffi` is the border. What happens in a simulation is
//! written out in `docs/simulation.md`, and held to a slow reference in `tests/reference/`.

pub(crate) mod accrual;
pub mod batch;
pub mod cluster;
pub mod committed;
pub mod config;
pub mod dispatch;
pub mod envs;
pub mod estimate;
pub mod events;
pub mod external;
pub mod failures;
pub mod ffi;
pub mod fragments;
pub mod free;
pub mod gang_rules;
pub mod history;
pub mod job;
pub mod job_state;
pub mod moving;
pub mod placement;
pub mod policy;
pub mod pool;
pub mod posterior;
pub mod preemptive;
pub mod queue;
pub mod random;
pub mod rank_set;
pub mod ranking;
pub mod reserve;
pub mod room;
pub mod rules;
pub mod serialize;
pub mod shape_index;
pub mod shape_sizes;
pub mod simulation;
pub mod snapshot;
pub mod stopping;
pub mod swf;
pub mod tally;
pub mod tiers;
pub mod usage;
