//! PickHost: which host for each task of the job at the head of the queue.

use std::sync::Arc;

use crate::envs::decision::{Decision, Kind, Sizes};
use crate::envs::episode::EnvConfig;
use crate::model::cluster::Cluster;
use crate::model::config::Dispatch;
use crate::place::placement::{place_as_told, Part};
use crate::place::task_by_task::{TaskByTask, HOST_FEATURES, TASK_FEATURES};
use crate::sim::simulation::Simulation;

/// PickHost: which host for the next task of the job at the head.
pub(crate) struct HostKind;

impl Kind for HostKind {
    fn dispatch(&self) -> Dispatch {
        Dispatch::Strict
    }

    fn check(&self, env: &EnvConfig, clusters: &[Arc<Cluster>]) -> Result<(), String> {
        if env.history > 0 || env.stops > 0 {
            return Err("history and stops are for those who choose jobs, not hosts".to_string());
        }
        let hosts = clusters.iter().map(|cluster| cluster.nodes.len());
        if hosts.clone().min() != hosts.max() {
            return Err("the clusters have different numbers of hosts; an observation has one size".to_string());
        }
        Ok(())
    }

    fn sizes(&self, _env: &EnvConfig, clusters: &[Arc<Cluster>]) -> Sizes {
        let hosts = clusters[0].nodes.len();
        Sizes { observation: hosts * HOST_FEATURES + TASK_FEATURES, actions: hosts, rows: 1 }
    }

    fn tells_balance(&self) -> bool {
        true
    }

    fn decisions(&self, _env: &EnvConfig) -> Box<dyn Decision> {
        Box::new(PickHost::default())
    }
}

/// The job at the head, and which of its tasks have a host.
#[derive(Default)]
struct PickHost {
    head: Option<u32>,
    tasks: TaskByTask,
}

impl Decision for PickHost {
    fn begin(&mut self, _simulation: &mut Simulation) {
        self.close();
    }

    /// Whether the head of the queue fits, or some of its tasks have hosts already.
    fn is_due(&mut self, simulation: &mut Simulation) -> bool {
        if !self.tasks.is_done() {
            return true;
        }
        self.close();
        let Some(head) = simulation.waiting.queue.head() else { return false };
        let (cluster, free) = (&simulation.setup.cluster, &simulation.machine.free);
        let fits = self.tasks.begin(cluster, free, simulation.shape_of(head));
        self.head = fits.then_some(head);
        fits
    }

    fn close(&mut self) {
        self.head = None;
        self.tasks.close();
    }

    fn allows(&self, action: usize) -> bool {
        self.tasks.allows(action)
    }

    /// The first host that is allowed.
    fn instead(&self) -> usize {
        self.tasks.first()
    }

    /// Puts a task of the head on a host that is allowed; the head starts when all of them have one.
    fn act(&mut self, simulation: &mut Simulation, host: usize) {
        let Some(job) = self.head else { return };
        let (cluster, shape) = (&simulation.setup.cluster, simulation.shape_of(job));
        self.tasks.give(cluster, shape, host as u32);
        if !self.tasks.is_done() {
            return;
        }
        let parts: Vec<Part> = self.tasks.parts().collect();
        if let Ok(Some(placement)) = place_as_told(cluster, &simulation.machine.free, shape, &parts) {
            simulation.start_on(job, placement);
        }
    }

    fn observe(&mut self, simulation: &Simulation, observation: &mut [f32], mask: &mut [u8]) {
        self.tasks.mask(mask);
        let shape = self.head.map(|head| simulation.shape_of(head));
        self.tasks.observe(&simulation.setup.cluster, &simulation.machine.free, shape, observation);
    }

    fn shown(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        Box::new(self.head.into_iter())
    }
}
