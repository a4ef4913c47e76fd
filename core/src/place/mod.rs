//! On which nodes and devices a job runs.

pub mod external;
pub mod fragments;
pub mod gang_rules;
pub mod placement;
pub mod rules;
pub mod tiers;
