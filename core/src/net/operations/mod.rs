//! What the operations of a network do, and their gradients.

mod attend;
mod dense;
mod flat;
mod norm;
mod pool;
pub(super) mod slots;
mod tokens;
