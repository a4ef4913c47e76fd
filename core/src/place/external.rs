//! A placement rule that lives outside: whoever opened the simulation is asked which nodes a job gets.

use crate::model::free::Free;
use crate::place::placement::{place_as_told, Part, Placement};
use crate::sim::simulation::Simulation;

/// The next waiting jobs that the rule may look at.
const MOST_WAITING: usize = 32;

/// What the rule is told; as C sees it. The arrays live as long as the call.
#[repr(C)]
pub struct ShunterScene {
    /// The instant.
    pub now_ms: i64,
    /// The job's place in the table.
    pub job: u64,
    /// How many values the next arrays have.
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
pub type Ask = unsafe extern "C" fn(
    context: u64,
    scene: *const ShunterScene,
    nodes: *mut u32,
    tasks: *mut u32,
    capacity: usize,
) -> usize;

/// Who is asked.
#[derive(Clone, Copy)]
pub struct Placer {
    /// The function.
    pub ask: Ask,
    /// What it is told about itself.
    pub context: u64,
}

impl std::fmt::Debug for Placer {
    /// Nothing that differs from process to process: fingerprints are made of it.
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("Placer")
    }
}

impl Simulation {
    /// Asks the placer; none if it declines, or its answer is no place for the job.
    pub(crate) fn ask_placer(&self, placer: Placer, free: &Free, job: u32) -> Option<Placement> {
        let shape = self.shape_of(job);
        if !free.fits(&self.setup.cluster, shape) {
            return None;
        }
        let nodes = self.setup.cluster.nodes.len() as u32;
        let mut capacity = vec![0; nodes as usize];
        for &node in self.setup.cluster.nodes_for(shape) {
            capacity[node as usize] = free.capacity(&self.setup.cluster, node, shape);
        }
        let whole_gpus: Vec<u32> = (0..nodes).map(|node| free.whole_devices(node)).collect();
        let first = self.setup.window.start as u64;
        let others = self.waiting.queue.iter().filter(|&other| other != job);
        let waiting: Vec<u64> = others.take(MOST_WAITING).map(|other| first + u64::from(other)).collect();
        let scene = ShunterScene {
            now_ms: self.now_ms(),
            job: first + u64::from(job),
            nodes: capacity.len(),
            capacity: capacity.as_ptr(),
            cores_milli: free.cores_milli.as_ptr(),
            memory_mb: free.memory_mb.as_ptr(),
            whole_gpus: whole_gpus.as_ptr(),
            waiting: waiting.as_ptr(),
            waiting_length: waiting.len(),
            tasks: shape.tasks,
        };
        let most = capacity.len().min(shape.tasks as usize);
        let (mut chosen, mut tasks) = (vec![0; most], vec![0; most]);
        let count = crate::ffi::ask(placer, &scene, &mut chosen, &mut tasks).min(most);
        let parts: Vec<Part> =
            chosen.iter().zip(&tasks).take(count).map(|(&node, &tasks)| Part { node, tasks }).collect();
        if parts.is_empty() {
            return None;
        }
        place_as_told(&self.setup.cluster, free, shape, &parts).ok().flatten()
    }
}
