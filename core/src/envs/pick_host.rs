//! PickHost: which host for the job at the head of the queue.

use std::sync::Arc;

use crate::envs::decision::{Decision, Kind, Sizes};
use crate::envs::episode::EnvConfig;
use crate::model::cluster::{Cluster, UNTRACKED};
use crate::model::config::Dispatch;
use crate::place::placement::{place_as_told, Part};
use crate::sim::simulation::Simulation;

/// Numbers for each host.
pub(crate) const HOST_FEATURES: usize = 4;
/// Numbers for the job.
pub(crate) const JOB_FEATURES: usize = 2;

/// PickHost: which host for the job at the head.
pub(crate) struct HostKind;

impl Kind for HostKind {
    fn dispatch(&self) -> Dispatch {
        Dispatch::Strict
    }

    fn check(&self, _env: &EnvConfig, clusters: &[Arc<Cluster>]) -> Result<(), String> {
        let hosts = clusters.iter().map(|cluster| cluster.nodes.len());
        if hosts.clone().min() != hosts.max() {
            return Err("the clusters have different numbers of hosts; an observation has one size".to_string());
        }
        Ok(())
    }

    fn sizes(&self, _env: &EnvConfig, clusters: &[Arc<Cluster>]) -> Sizes {
        let hosts = clusters[0].nodes.len();
        Sizes { observation: hosts * HOST_FEATURES + JOB_FEATURES, actions: hosts, rows: 1 }
    }

    fn tells_balance(&self) -> bool {
        true
    }

    fn decisions(&self, _env: &EnvConfig) -> Box<dyn Decision> {
        Box::new(PickHost::default())
    }
}

/// The job at the head and the hosts on which it fits now.
#[derive(Default)]
struct PickHost {
    head: Option<u32>,
    allowed: Vec<bool>,
}

impl Decision for PickHost {
    fn begin(&mut self, _simulation: &mut Simulation) {
        *self = PickHost::default();
    }

    /// Whether the head of the queue fits somewhere.
    fn is_due(&mut self, simulation: &mut Simulation) -> bool {
        self.close();
        let Some(head) = simulation.waiting.queue.head() else { return false };
        self.head = Some(head);
        self.allowed.resize(simulation.setup.cluster.nodes.len(), false);
        let shape = simulation.shape_of(head);
        for &node in simulation.setup.cluster.nodes_for(shape) {
            let room = simulation.machine.free.capacity(&simulation.setup.cluster, node, shape);
            self.allowed[node as usize] = room >= shape.tasks;
        }
        self.allowed.contains(&true)
    }

    fn close(&mut self) {
        self.head = None;
        self.allowed.fill(false);
    }

    fn allows(&self, action: usize) -> bool {
        self.allowed.get(action).copied().unwrap_or(false)
    }

    /// The first host that is allowed.
    fn instead(&self) -> usize {
        self.allowed.iter().position(|&allowed| allowed).unwrap_or(0)
    }

    /// Starts the head on a host that is allowed.
    fn act(&mut self, simulation: &mut Simulation, host: usize) {
        let Some(job) = self.head else { return };
        let shape = simulation.shape_of(job);
        let part = Part { node: host as u32, tasks: shape.tasks };
        if let Ok(Some(placement)) = place_as_told(&simulation.setup.cluster, &simulation.machine.free, shape, &[part])
        {
            simulation.start_on(job, placement);
        }
    }

    fn observe(&mut self, simulation: &Simulation, observation: &mut [f32], mask: &mut [u8]) {
        mask.iter_mut().zip(&self.allowed).for_each(|(mask, &allowed)| *mask = u8::from(allowed));
        let cluster = &simulation.setup.cluster;
        let tracked = |memory_mb: i64| if memory_mb == UNTRACKED { 0 } else { memory_mb };
        let most_cores = cluster.nodes.iter().map(|node| node.cores_milli).max().unwrap_or(0).max(1) as f32;
        let most_memory = cluster.nodes.iter().map(|node| tracked(node.memory_mb)).max().unwrap_or(0).max(1) as f32;
        let tracks_memory = cluster.nodes.iter().any(|node| node.memory_mb != UNTRACKED);
        let (hosts, job) = observation.split_at_mut(cluster.nodes.len() * HOST_FEATURES);
        for (number, host) in hosts.chunks_exact_mut(HOST_FEATURES).enumerate() {
            let node = &cluster.nodes[number];
            let used_cores = node.cores_milli - simulation.machine.free.cores_milli[number];
            let used_memory = node.memory_mb - simulation.machine.free.memory_mb[number];
            let part = |used: i64, all: i64| if all == 0 { 0.0 } else { used as f32 / all as f32 };
            host[0] = part(used_cores, node.cores_milli);
            host[1] = part(used_memory, tracked(node.memory_mb));
            host[2] = node.cores_milli as f32 / most_cores;
            host[3] = tracked(node.memory_mb) as f32 / most_memory;
        }
        job.fill(0.0);
        if let Some(head) = self.head {
            let shape = simulation.shape_of(head);
            let memory_mb = shape.memory_mb * i64::from(shape.tasks);
            job[0] = (shape.total_cores_milli() as f32 / most_cores).min(1.0);
            job[1] = if tracks_memory { (memory_mb as f32 / most_memory).min(1.0) } else { 0.0 };
        }
    }

    fn shown(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        Box::new(self.head.into_iter())
    }
}
