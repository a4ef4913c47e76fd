//! The order of the queue: scores, the queue, and the estimates and shares that scores rest on.

pub(crate) mod contest;
pub mod estimate;
pub mod gittins;
pub mod history;
pub mod learner;
pub(crate) mod pairs;
pub mod posterior;
pub mod queue;
pub mod rank_set;
pub mod ranking;
pub mod scores;
pub mod shape_index;
pub mod usage;
pub mod window_cache;
