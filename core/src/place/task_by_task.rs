//! Hosts chosen for one task after the other: what is seen before each choice, what may be chosen, and what it does.
//!
//! The environment PickHost and the placement by a learned policy are both made of this, so that they agree.

use crate::model::cluster::{Cluster, UNTRACKED};
use crate::model::free::Free;
use crate::model::job::Shape;
use crate::place::placement::Part;

/// Numbers that are told of each host.
pub(crate) const HOST_FEATURES: usize = 4;
/// Numbers that are told of the task.
pub(crate) const TASK_FEATURES: usize = 2;

/// A job whose tasks get their hosts one after the other.
///
/// A task takes from a host's capacity exactly one, whatever binds there: cores, memory, and devices or parts of them
/// are all counted in whole tasks. So a job that fits at the beginning fits to its end, whichever hosts are chosen.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskByTask {
    /// By host: how many more tasks may go there.
    room: Vec<u32>,
    /// By host: how many have gone there.
    given: Vec<u32>,
    /// The hosts that have some, in the order in which they were first chosen.
    hosts: Vec<u32>,
    /// The groups of hosts that hold all hosts with tasks, and have room for the rest; by their places.
    open: Vec<usize>,
    /// How many tasks have no host yet.
    left: u32,
}

impl TaskByTask {
    /// Begins with a job of this shape. False: it does not fit.
    pub(crate) fn begin(&mut self, cluster: &Cluster, free: &Free, shape: &Shape) -> bool {
        self.close();
        self.room.resize(cluster.nodes.len(), 0);
        self.given.resize(cluster.nodes.len(), 0);
        for (place, group) in cluster.groups_for(shape).iter().enumerate() {
            let capacity = |&host: &u32| free.capacity(cluster, host, shape);
            // One group must hold the whole job: no task goes where the rest has no room.
            if group.iter().map(capacity).map(i64::from).sum::<i64>() >= i64::from(shape.tasks) {
                self.open.push(place);
                group.iter().for_each(|host| self.room[*host as usize] = capacity(host));
            }
        }
        self.left = if self.open.is_empty() { 0 } else { shape.tasks };
        !self.open.is_empty()
    }

    /// There is no job any more.
    pub(crate) fn close(&mut self) {
        self.left = 0;
        self.room.clear();
        self.given.clear();
        self.hosts.clear();
        self.open.clear();
    }

    /// Whether every task has a host.
    pub(crate) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Whether the next task may go to a host.
    pub(crate) fn allows(&self, host: usize) -> bool {
        self.left > 0 && self.room.get(host).is_some_and(|&room| room > 0)
    }

    /// The first host that the next task may go to.
    pub(crate) fn first(&self) -> usize {
        self.room.iter().position(|&room| room > 0).unwrap_or(0)
    }

    /// Writes which hosts the next task may go to.
    pub(crate) fn mask(&self, mask: &mut [u8]) {
        mask.iter_mut().enumerate().for_each(|(host, mask)| *mask = u8::from(self.allows(host)));
    }

    /// Puts the next task on a host that is allowed. Where all that follow have one host alone, they go there as well:
    /// there is nothing left to choose.
    pub(crate) fn give(&mut self, cluster: &Cluster, shape: &Shape, host: u32) {
        let groups = cluster.groups_for(shape);
        let before = self.open.len();
        self.open.retain(|&group| groups[group].has(host));
        if self.open.len() < before {
            let open = &self.open;
            let is_open = |host: u32| open.iter().any(|&group| groups[group].has(host));
            let closed = (0..).zip(&mut self.room).filter(|(host, _)| !is_open(*host));
            closed.for_each(|(_, room)| *room = 0);
        }
        self.put(host, 1);
        let mut open = (0..).zip(&self.room).filter(|(_, &room)| room > 0);
        if let (Some((only, _)), None) = (open.next(), open.next()) {
            self.put(only, self.left);
        }
    }

    fn put(&mut self, host: u32, tasks: u32) {
        let place = host as usize;
        if self.given[place] == 0 && tasks > 0 {
            self.hosts.push(host);
        }
        self.given[place] += tasks;
        self.room[place] -= tasks;
        self.left -= tasks;
    }

    /// The hosts that have tasks, in the order in which they were first chosen.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        self.hosts.iter().map(|&node| Part { node, tasks: self.given[node as usize] })
    }

    /// Writes what is seen before the next task is given a host; `shape` is none if there is no job.
    ///
    /// Only cores and memory are told: GPUs, types and partitions are a matter of the mask.
    pub(crate) fn observe(&self, cluster: &Cluster, free: &Free, shape: Option<&Shape>, observation: &mut [f32]) {
        let tracked = |memory_mb: i64| if memory_mb == UNTRACKED { 0 } else { memory_mb };
        let part = |some: i64, all: i64| if all == 0 { 0.0 } else { some as f32 / all as f32 };
        let most = |amounts: &mut dyn Iterator<Item = i64>| amounts.max().unwrap_or(0);
        let most_cores = most(&mut cluster.nodes.iter().map(|node| node.cores_milli));
        let most_memory = most(&mut cluster.nodes.iter().map(|node| tracked(node.memory_mb)));
        let (cores_milli, memory_mb) = shape.map_or((0, 0), |shape| (shape.cores_milli, shape.memory_mb));
        let (hosts, task) = observation.split_at_mut(cluster.nodes.len() * HOST_FEATURES);
        for (number, (host, node)) in hosts.chunks_exact_mut(HOST_FEATURES).zip(&cluster.nodes).enumerate() {
            // What earlier tasks of this job have taken counts as used.
            let given = self.given.get(number).map_or(0, |&tasks| i64::from(tasks));
            let used_cores = node.cores_milli - free.cores_milli[number] + given * cores_milli;
            let used_memory = node.memory_mb - free.memory_mb[number] + given * memory_mb;
            host[0] = part(used_cores, node.cores_milli);
            host[1] = part(used_memory, tracked(node.memory_mb));
            host[2] = part(node.cores_milli, most_cores);
            host[3] = part(tracked(node.memory_mb), most_memory);
        }
        // A task may ask for more than the largest host has, of what it may have nonetheless: memory is not always tracked.
        task[0] = part(cores_milli, most_cores).min(1.0);
        task[1] = part(memory_mb, most_memory).min(1.0);
    }
}
