//! Shunter's core: a discrete-event simulator of batch schedulers.
//!
//! The modules know nothing of Python or C; `ffi` is the border. What happens in a simulation is
//! written out in `docs/simulation.md`, and held to a slow reference in `tests/reference/`.

pub mod decide;
pub mod dispatch;
pub mod envs;
pub mod ffi;
pub mod foresee;
pub mod learn;
pub mod model;
pub mod net;
pub mod order;
pub mod place;
pub mod sim;
pub mod supervise;
