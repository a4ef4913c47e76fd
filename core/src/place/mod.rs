//! On which nodes and devices a job runs.

pub mod external;
pub mod fragments;
pub mod gang_rules;
pub mod learned;
pub mod locality;
pub mod placement;
pub mod rules;
pub(crate) mod task_by_task;
pub mod tiers;
pub mod types;
