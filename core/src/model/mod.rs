//! What is simulated: jobs, nodes, what is free on them, and what a simulation is asked to do.

pub mod areas;
pub(crate) mod at_least;
pub(crate) mod closures;
pub mod cluster;
pub(crate) mod codes;
pub mod conditions;
pub mod config;
pub mod free;
pub mod groups;
pub(crate) mod hours;
pub mod job;
pub(crate) mod leftover;
pub(crate) mod peaks;
pub mod random;
pub mod rule_columns;
pub mod rules;
pub mod shape_cores;
pub(crate) mod shape_tree;
pub(crate) mod size;
pub(crate) mod slowdown;
pub mod speeds;
pub mod swf;
