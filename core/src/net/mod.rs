//! Networks: from an observation to a score for each action that is allowed, and what is expected to come.
//!
//! PyTorch's networks of the same names are the reference (`src/shunter/agents/networks/`).

mod attention;
pub(crate) mod batch;
mod beginning;
pub(crate) mod choice;
pub(crate) mod functions;
pub(crate) mod gradients;
pub mod graph;
mod hosts;
mod json;
mod kernel;
mod layers;
mod matmul;
mod mlp;
pub mod network;
mod operations;
pub mod policy;
mod safetensors;
pub(crate) mod sha256;
pub mod simd;
pub mod spec;
pub(crate) mod workspace;
