//! What is simulated: jobs, nodes, what is free on them, and what a simulation is asked to do.

pub mod areas;
pub mod cluster;
pub(crate) mod codes;
pub mod config;
pub mod free;
pub mod job;
pub mod random;
pub mod shape_cores;
pub(crate) mod size;
pub(crate) mod slowdown;
pub mod speeds;
pub mod swf;
