//! A placement rule that lives outside: whoever opened the simulation is asked which nodes a job gets.

use std::fmt;
use std::sync::Arc;

use crate::model::free::Free;
use crate::place::learned::HostPolicy;
use crate::place::locality::Reach;
use crate::place::placement::{place_as_told, Part, Placement};
use crate::sim::simulation::Simulation;

/// The next waiting jobs that the rule may look at.
const MOST_WAITING: usize = 32;

/// What the rule is told of a job and the nodes.
pub struct PlacerQuestion<'a> {
    /// The instant.
    pub now_ms: i64,
    /// The job's place in the table.
    pub job: u64,
    /// How many tasks it has.
    pub tasks: u32,
    /// By node: how many of them it could take now.
    pub capacity: &'a [u32],
    /// What is free on the nodes.
    pub free: &'a Free,
    /// By node: devices that are wholly free.
    pub whole_gpus: &'a [u32],
    /// The next waiting jobs but this one, in the order of the policy, by their places in the table.
    pub waiting: &'a [u64],
}

/// Whoever is asked.
pub trait Placer: Send + Sync {
    /// Answers with nodes and tasks; with none: not now.
    fn place(&self, question: &PlacerQuestion) -> Vec<Part>;
}

/// Who places, where no rule alone does; shared by a configuration with its copies.
#[derive(Clone)]
pub enum SharedPlacer {
    /// Somebody outside, for the rule that is external.
    Outside(Arc<dyn Placer>),
    /// A policy, for the rule that is learned.
    Policy(Arc<HostPolicy>),
}

impl fmt::Debug for SharedPlacer {
    /// Nothing that differs from process to process: fingerprints are made of it.
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            SharedPlacer::Outside(_) => formatter.write_str("Placer"),
            SharedPlacer::Policy(policy) => policy.fmt(formatter),
        }
    }
}

/// Asks the placer; none if it declines, or its answer is no place for the job.
pub(crate) fn ask(
    placer: &dyn Placer,
    simulation: &Simulation,
    free: &Free,
    reach: Reach,
    job: u32,
) -> Option<Placement> {
    let (setup, shape) = (&simulation.setup, reach.shape);
    // Whoever is outside is slow: it is asked only where there is something to choose.
    if !reach.fits(free) {
        return None;
    }
    let nodes = setup.cluster.nodes.len() as u32;
    let mut capacity = vec![0; nodes as usize];
    // Of several partitions, the nodes of the first that has room: whoever is outside knows of none.
    for &node in reach.first_choice(free)?.iter() {
        capacity[node as usize] = free.capacity(&setup.cluster, node, shape);
    }
    let whole_gpus: Vec<u32> = (0..nodes).map(|node| free.whole_devices(node)).collect();
    let others = simulation.waiting.queue.iter().filter(|&other| other != job);
    let waiting: Vec<u64> = others.take(MOST_WAITING).map(|other| setup.place(other) as u64).collect();
    let parts = placer.place(&PlacerQuestion {
        now_ms: simulation.now_ms(),
        job: setup.place(job) as u64,
        tasks: shape.tasks,
        capacity: &capacity,
        free,
        whole_gpus: &whole_gpus,
        waiting: &waiting,
    });
    if parts.is_empty() {
        return None;
    }
    place_as_told(&setup.cluster, free, shape, &parts).ok().flatten()
}
