//! Placement: the nodes and devices of a job.

use std::collections::HashSet;

use crate::model::cluster::{Cluster, DEVICE_MILLI};
use crate::model::free::Free;
use crate::model::job::Shape;

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
    pub fn parts(&self) -> impl Iterator<Item = &Part> + Clone {
        let rest = self.more.as_deref().map_or(&[][..], |more| &more.parts);
        std::iter::once(&self.first).filter(|part| part.tasks > 0).chain(rest)
    }

    /// The GPU devices, node by node.
    pub fn devices(&self) -> &[DeviceShare] {
        self.more.as_deref().map_or(&[], |more| &more.devices)
    }

    /// The devices of each node: every task has as many as its job's shape says.
    pub fn shares_by_node<'a>(&'a self, shape: &Shape) -> impl Iterator<Item = (u32, &'a [DeviceShare])> {
        let of_task = shape.devices_per_task();
        let mut rest = self.devices();
        let parts = if rest.is_empty() { None } else { Some(self.parts()) };
        parts.into_iter().flatten().map(move |part| {
            let (here, others) = rest.split_at(rest.len().min(part.tasks as usize * of_task));
            rest = others;
            (part.node, here)
        })
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

/// Whether a placement keeps to one type of GPU, where it must.
fn is_one_pool(cluster: &Cluster, shape: &Shape, placement: &Placement) -> bool {
    let mut types = placement.parts().map(|part| cluster.nodes[part.node as usize].gpu_type);
    let first = types.next();
    !cluster.binds_to_pool(shape) || types.all(|other| Some(other) == first)
}

/// Whether a placement, on nodes that the job may use, keeps to one of its partitions.
fn is_one_choice(cluster: &Cluster, shape: &Shape, placement: &Placement) -> bool {
    let choices = cluster.choices_for(shape);
    choices.len() == 1 || choices.iter().any(|choice| placement.parts().all(|part| choice.has(part.node)))
}

/// Whether the nodes and devices exist, may be used by a job of this shape, and are exactly what it asks for.
pub(crate) fn belongs(cluster: &Cluster, shape: &Shape, placement: &Placement) -> bool {
    let nodes = cluster.nodes_for(shape);
    let is_one = placement.parts().nth(1).is_none();
    let mut named = HashSet::new();
    let mut shares = placement.devices();
    for part in placement.parts() {
        // From a snapshot or saved bytes: nothing about the numbers is known yet, not even that they are small.
        let mine = i64::from(part.tasks).saturating_mul(shape.gpu_milli) / share_milli(shape.gpu_milli);
        let Some((here, rest)) = shares.split_at_checked(usize::try_from(mine).unwrap_or(usize::MAX)) else {
            return false;
        };
        // The nodes of a partition, or all of them, are listed in ascending order.
        let may_use = nodes.binary_search(&part.node).is_ok() && cluster.suits(part.node, shape);
        let is_new = is_one || named.insert(part.node);
        if !may_use || !is_new || !shares_belong(cluster, part.node, shape.gpu_milli, here) {
            return false;
        }
        shares = rest;
    }
    let tasks: u64 = placement.parts().map(|part| u64::from(part.tasks)).sum();
    tasks == u64::from(shape.tasks)
        && shares.is_empty()
        && is_one_pool(cluster, shape, placement)
        && is_one_choice(cluster, shape, placement)
}

/// Whether these are devices of the node, each with one task's fraction, or each whole and only once.
fn shares_belong(cluster: &Cluster, node: u32, gpu_milli: i64, shares: &[DeviceShare]) -> bool {
    let devices = cluster.devices(node);
    let whole = gpu_milli >= i64::from(DEVICE_MILLI);
    let mut named = HashSet::new();
    shares.iter().all(|share| {
        devices.contains(&(share.device as usize))
            && i64::from(share.milli) == share_milli(gpu_milli)
            && (!whole || named.insert(share.device))
    })
}

/// What a task that wants so many milli-GPUs takes of each of its devices.
fn share_milli(gpu_milli: i64) -> i64 {
    gpu_milli.clamp(1, i64::from(DEVICE_MILLI))
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
    if !is_one_pool(cluster, shape, &placement) {
        return Err("the nodes have GPUs of several types, and a job never mixes them here".to_string());
    }
    if !is_one_choice(cluster, shape, &placement) {
        return Err("the nodes are of several partitions, and a job gets all its nodes from one".to_string());
    }
    choose_devices(cluster, free, shape, &mut placement);
    Ok(Some(placement))
}

/// Gives each part the devices that it takes: whole ones by number, fractions where there is least left.
pub(crate) fn choose_devices(cluster: &Cluster, free: &Free, shape: &Shape, placement: &mut Placement) {
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
                // Where least is left: whole devices stay whole for those who need them.
                if let Some(fullest) = left.iter_mut().filter(|(room, _)| *room >= milli).min() {
                    fullest.0 -= milli;
                    placement.push_device(DeviceShare { device: fullest.1, milli });
                }
            }
        }
    }
}
