//! Learning: rollouts, advantages, the loss and its gradient, and steps along it, all in the core.
//!
//! `src/shunter/agents/ppo.py` does the same with PyTorch, and is the reference.

pub mod adam;
pub mod learner;
pub mod loss;
pub mod replay;
pub mod rollout;
