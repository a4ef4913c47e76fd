//! A placement in the caller's language: a function pointer that is asked as any other placer is.

use crate::place::external::{Placer, PlacerQuestion};
use crate::place::placement::Part;

/// What a placer is told of a job and the nodes. The arrays live as long as the call.
#[repr(C)]
pub struct ShunterScene {
    /// The instant.
    pub now_ms: i64,
    /// The job's place in the table.
    pub job: u64,
    /// How many values the arrays by node have.
    pub nodes: usize,
    /// By node: how many of the job's tasks it could take now.
    pub capacity: *const u32,
    /// By node: free milli-cores.
    pub cores_milli: *const i64,
    /// By node: free memory.
    pub memory_mb: *const i64,
    /// By node: devices that are wholly free.
    pub whole_gpus: *const u32,
    /// The next waiting jobs but this one, in the order of the policy, by their places in the table.
    pub waiting: *const u64,
    /// How many.
    pub waiting_length: usize,
    /// How many tasks the job has.
    pub tasks: u32,
}

/// Answers with nodes and tasks: writes at most `capacity` of each, and returns how many; 0: not now.
pub(super) type Ask = unsafe extern "C" fn(
    context: u64,
    scene: *const ShunterScene,
    nodes: *mut u32,
    tasks: *mut u32,
    capacity: usize,
) -> usize;

/// A caller's function, and what it is told about itself.
pub(super) struct Callback {
    pub(super) ask: Ask,
    pub(super) context: u64,
}

impl Placer for Callback {
    fn place(&self, question: &PlacerQuestion) -> Vec<Part> {
        let scene = ShunterScene {
            now_ms: question.now_ms,
            job: question.job,
            nodes: question.capacity.len(),
            capacity: question.capacity.as_ptr(),
            cores_milli: question.free.cores_milli.as_ptr(),
            memory_mb: question.free.memory_mb.as_ptr(),
            whole_gpus: question.whole_gpus.as_ptr(),
            waiting: question.waiting.as_ptr(),
            waiting_length: question.waiting.len(),
            tasks: question.tasks,
        };
        let most = question.capacity.len().min(question.tasks as usize);
        let (mut nodes, mut tasks) = (vec![0; most], vec![0; most]);
        // SAFETY: whoever opened the simulation vouched for the function, and the arrays live until it returns.
        let count = unsafe { (self.ask)(self.context, &scene, nodes.as_mut_ptr(), tasks.as_mut_ptr(), most) };
        nodes.into_iter().zip(tasks).take(count).map(|(node, tasks)| Part { node, tasks }).collect()
    }
}
