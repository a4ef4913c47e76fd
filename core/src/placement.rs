//! Placement: which nodes and devices a job gets.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::cluster::{Cluster, Free, DEVICE_MILLI};
use crate::job::Shape;
use crate::random::SplitMix64;

/// Some tasks on one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The node's number.
    pub node: u32,
    /// How many of the job's tasks.
    pub tasks: u32,
}

/// A share of one GPU device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceShare {
    /// The device's number in the cluster.
    pub device: u32,
    /// Milli-GPUs.
    pub milli: i32,
}

/// The nodes and devices of one job. Most jobs have one node and no GPU: they need no allocation, and little space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    first: Part,
    more: Option<Box<More>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct More {
    parts: Vec<Part>,
    devices: Vec<DeviceShare>,
}

impl Placement {
    /// All tasks on one node.
    pub fn single(node: u32, tasks: u32) -> Self {
        Placement { first: Part { node, tasks }, more: None }
    }

    /// The nodes, in the order in which they were chosen; none if the job was never placed.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        let rest = self.more.as_deref().map_or(&[][..], |more| &more.parts);
        std::iter::once(&self.first).filter(|part| part.tasks > 0).chain(rest)
    }

    /// The GPU devices, node by node.
    pub fn devices(&self) -> &[DeviceShare] {
        self.more.as_deref().map_or(&[], |more| &more.devices)
    }

    /// Adds tasks on a node that has none yet.
    pub fn push(&mut self, part: Part) {
        if self.first.tasks == 0 {
            self.first = part;
        } else {
            self.more.get_or_insert_with(Box::default).parts.push(part);
        }
    }

    /// Adds a share of a device on a node that has tasks.
    pub fn push_device(&mut self, share: DeviceShare) {
        self.more.get_or_insert_with(Box::default).devices.push(share);
    }
}

/// The rules by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Nodes by number.
    FirstFit,
    /// Nodes with the least room first.
    BestFit,
    /// Nodes with the most room first.
    WorstFit,
    /// As few nodes as possible.
    Pack,
    /// As many nodes as possible, evenly.
    Spread,
    /// Nodes in an order drawn for this job.
    Random,
}

/// A node that can take at least one task.
#[derive(Clone, Copy)]
struct Candidate {
    node: u32,
    capacity: u32,
    room: (i64, i64, i64),
}

/// Chooses nodes and devices for a job, or none if it does not fit.
pub fn choose(cluster: &Cluster, free: &Free, shape: &Shape, rule: Rule, seed: u64, job: u32) -> Option<Placement> {
    if shape.total_cores_milli() > free.total_cores_milli() {
        return None;
    }
    let mut placement = match rule {
        Rule::FirstFit => fill_by_number(cluster, free, shape)?,
        _ => fill_by_rule(cluster, free, shape, rule, seed, job)?,
    };
    choose_devices(cluster, free, shape, &mut placement);
    Some(placement)
}

/// The placement on nodes that the caller names; none if one has no room, an error if they are not this job's nodes.
pub fn place_as_told(
    cluster: &Cluster,
    free: &Free,
    shape: &Shape,
    parts: &[Part],
) -> Result<Option<Placement>, String> {
    let mut placement = Placement::default();
    let mut tasks = 0u64;
    let mut named = HashSet::new();
    for &part in parts {
        if !cluster.nodes_for(shape).contains(&part.node) || !named.insert(part.node) || part.tasks == 0 {
            return Err(format!("node {} with {} tasks is not a place for this job", part.node, part.tasks));
        }
        if free.capacity(cluster, part.node, shape) < part.tasks {
            return Ok(None);
        }
        tasks += u64::from(part.tasks);
        placement.push(part);
    }
    if tasks != u64::from(shape.tasks) {
        return Err(format!("{tasks} tasks were placed of a job that has {}", shape.tasks));
    }
    choose_devices(cluster, free, shape, &mut placement);
    Ok(Some(placement))
}

fn fill_by_number(cluster: &Cluster, free: &Free, shape: &Shape) -> Option<Placement> {
    let nodes = cluster.nodes_for(shape).iter();
    fill(shape.tasks, nodes.map(|&node| Part { node, tasks: free.capacity(cluster, node, shape) }))
}

/// Fills the nodes in the order given, each with as many tasks as it can take.
fn fill(tasks: u32, nodes: impl Iterator<Item = Part>) -> Option<Placement> {
    let mut placement = Placement::default();
    let mut missing = tasks;
    for Part { node, tasks: capacity } in nodes {
        let here = capacity.min(missing);
        if here > 0 {
            placement.push(Part { node, tasks: here });
            missing -= here;
        }
        if missing == 0 {
            return Some(placement);
        }
    }
    None
}

fn fill_by_rule(cluster: &Cluster, free: &Free, shape: &Shape, rule: Rule, seed: u64, job: u32) -> Option<Placement> {
    let mut candidates = candidates(cluster, free, shape);
    if candidates.iter().map(|candidate| u64::from(candidate.capacity)).sum::<u64>() < u64::from(shape.tasks) {
        return None;
    }
    match rule {
        Rule::Pack => return Some(pack(candidates, shape.tasks)),
        Rule::Spread => return Some(spread(candidates, shape.tasks)),
        Rule::BestFit => candidates.sort_by_key(|candidate| candidate.room),
        Rule::WorstFit => candidates.sort_by_key(|candidate| Reverse(candidate.room)),
        Rule::Random => SplitMix64::for_job(seed, job).shuffle(&mut candidates),
        Rule::FirstFit => {}
    }
    fill(shape.tasks, candidates.iter().map(|candidate| Part { node: candidate.node, tasks: candidate.capacity }))
}

fn candidates(cluster: &Cluster, free: &Free, shape: &Shape) -> Vec<Candidate> {
    let mut found = Vec::new();
    for &node in cluster.nodes_for(shape) {
        let capacity = free.capacity(cluster, node, shape);
        if capacity > 0 {
            let gpus = if shape.gpu_milli > 0 { free.gpu_milli(cluster, node) } else { 0 };
            let tracked = cluster.nodes[node as usize].memory_mb != crate::cluster::UNTRACKED;
            let memory = if tracked { free.memory_mb[node as usize] } else { 0 };
            found.push(Candidate { node, capacity, room: (gpus, free.cores_milli[node as usize], memory) });
        }
    }
    found
}

/// Filling the greatest capacities first is the fewest nodes, since the tasks are alike; the rest goes where it is tightest.
fn pack(mut candidates: Vec<Candidate>, tasks: u32) -> Placement {
    candidates.sort_by_key(|candidate| (Reverse(candidate.capacity), candidate.room, candidate.node));
    let mut placement = Placement::default();
    let mut missing = tasks;
    let mut used = 0;
    while candidates[used].capacity < missing {
        let Candidate { node, capacity, .. } = candidates[used];
        placement.push(Part { node, tasks: capacity });
        missing -= capacity;
        used += 1;
    }
    let last = candidates[used..]
        .iter()
        .filter(|candidate| candidate.capacity >= missing)
        .min_by_key(|candidate| (candidate.capacity, candidate.room, candidate.node));
    if let Some(last) = last {
        placement.push(Part { node: last.node, tasks: missing });
    }
    placement
}

/// Rounds of one task a node, counted instead of played: every node gets `level`, and the first few one more.
fn spread(mut candidates: Vec<Candidate>, tasks: u32) -> Placement {
    candidates.sort_by_key(|candidate| (Reverse(candidate.room), candidate.node));
    let given = |level: u32| candidates.iter().map(|candidate| u64::from(candidate.capacity.min(level))).sum::<u64>();
    let (mut level, mut beyond) = (0, tasks + 1);
    while beyond - level > 1 {
        let middle = level + (beyond - level) / 2;
        if given(middle) <= u64::from(tasks) {
            level = middle;
        } else {
            beyond = middle;
        }
    }
    let mut missing = tasks - given(level) as u32;
    let mut placement = Placement::default();
    for candidate in &candidates {
        let extra = u32::from(missing > 0 && candidate.capacity > level);
        missing -= extra;
        if candidate.capacity.min(level) + extra > 0 {
            placement.push(Part { node: candidate.node, tasks: candidate.capacity.min(level) + extra });
        }
    }
    placement
}

fn choose_devices(cluster: &Cluster, free: &Free, shape: &Shape, placement: &mut Placement) {
    if shape.gpu_milli == 0 {
        return;
    }
    for part in placement.parts().copied().collect::<Vec<_>>() {
        let devices = cluster.device_offsets[part.node as usize]..cluster.device_offsets[part.node as usize + 1];
        if shape.gpu_milli >= i64::from(DEVICE_MILLI) {
            let wanted = part.tasks as usize * (shape.gpu_milli / i64::from(DEVICE_MILLI)) as usize;
            let whole = devices.filter(|&device| free.device_milli[device as usize] == DEVICE_MILLI);
            whole.take(wanted).for_each(|device| placement.push_device(DeviceShare { device, milli: DEVICE_MILLI }));
        } else {
            let milli = shape.gpu_milli as i32;
            let mut left: Vec<(i32, u32)> =
                devices.map(|device| (free.device_milli[device as usize], device)).collect();
            for _ in 0..part.tasks {
                if let Some(fullest) = left.iter_mut().filter(|(room, _)| *room >= milli).min() {
                    fullest.0 -= milli;
                    placement.push_device(DeviceShare { device: fullest.1, milli });
                }
            }
        }
    }
}
