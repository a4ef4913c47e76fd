//! Nodes, and what is free on them.

use crate::job::{Fingerprint, Shape};
use crate::placement::Placement;

/// Milli-GPUs of a whole device.
pub(crate) const DEVICE_MILLI: i32 = 1000;

/// Memory of a node that does not track it: so much that it never binds.
pub(crate) const UNTRACKED: i64 = i64::MAX / 4;

/// The most GPUs of a cluster.
const MOST_DEVICES: u32 = 1 << 24;

/// The most nodes of a cluster.
const MOST_NODES: usize = 10_000_000;

/// One node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Milli-cores.
    pub cores_milli: i64,
    /// Memory, or `UNTRACKED`.
    pub memory_mb: i64,
    /// Whole GPU devices.
    pub gpus: u32,
    /// The partition that it belongs to.
    pub partition: Option<u32>,
}

/// Nodes and their grouping; never changes.
#[derive(Debug)]
pub struct Cluster {
    /// The nodes by number.
    pub nodes: Vec<Node>,
    /// Node i's devices are numbered from `device_offsets[i]` to `device_offsets[i + 1]`.
    pub device_offsets: Vec<u32>,
    /// Tells this cluster from any other.
    pub fingerprint: u64,
    /// What is free when nothing runs.
    pub empty: Free,
    every_node: Vec<u32>,
    partition_nodes: Vec<Vec<u32>>,
}

impl Cluster {
    /// Keeps the nodes; an error names the node, the field and the value.
    pub fn new(nodes: Vec<Node>) -> Result<Self, String> {
        check_node_count(nodes.len())?;
        let total: i128 = nodes.iter().map(|node| i128::from(node.cores_milli)).sum();
        if total > i128::from(i64::MAX / 4) {
            return Err("cores_milli: the nodes together have more cores than can be counted".to_string());
        }
        let mut device_offsets = vec![0u32];
        let mut partition_nodes: Vec<Vec<u32>> = Vec::new();
        let mut hash = Fingerprint::default();
        for (number, node) in nodes.iter().enumerate() {
            if !(0..=crate::job::MAX_AMOUNT).contains(&node.cores_milli) {
                return Err(format!("node {number}: cores_milli is {}; expected 0 to 10^15", node.cores_milli));
            }
            if !(0..=UNTRACKED).contains(&node.memory_mb) {
                return Err(format!("node {number}: memory_mb is {}; expected 0 or more", node.memory_mb));
            }
            let devices = device_offsets[number].checked_add(node.gpus).filter(|&sum| sum <= MOST_DEVICES);
            device_offsets.push(devices.ok_or_else(|| format!("node {number}: gpus is {}; too many", node.gpus))?);
            if let Some(partition) = node.partition {
                if partition as usize >= nodes.len() {
                    return Err(format!("node {number}: partition is {partition}; number partitions from 0"));
                }
                partition_nodes.resize_with(partition_nodes.len().max(partition as usize + 1), Vec::new);
                partition_nodes[partition as usize].push(number as u32);
            }
            let partition = node.partition.map_or(u64::MAX, u64::from);
            for value in [node.cores_milli as u64, node.memory_mb as u64, u64::from(node.gpus), partition] {
                hash.add(value);
            }
        }
        let every_node = (0..nodes.len() as u32).collect();
        let empty = Free::all(&nodes, device_offsets[nodes.len()]);
        Ok(Cluster { nodes, device_offsets, fingerprint: hash.finish(), empty, every_node, partition_nodes })
    }

    /// The nodes that a job of this shape may use, by number.
    pub fn nodes_for(&self, shape: &Shape) -> &[u32] {
        match shape.partition {
            None => &self.every_node,
            Some(partition) => self.partition_nodes.get(partition as usize).map_or(&[], Vec::as_slice),
        }
    }

    fn devices(&self, node: u32) -> std::ops::Range<usize> {
        self.device_offsets[node as usize] as usize..self.device_offsets[node as usize + 1] as usize
    }
}

/// A cluster has at least one node, and not more than any cluster has.
pub(crate) fn check_node_count(count: usize) -> Result<(), String> {
    match count {
        1..=MOST_NODES => Ok(()),
        _ => Err(format!("a cluster has 1 to {MOST_NODES} nodes, not {count}")),
    }
}

/// What is free on each node and device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Free {
    /// Milli-cores by node.
    pub cores_milli: Vec<i64>,
    /// Memory by node.
    pub memory_mb: Vec<i64>,
    /// Milli-GPUs by device.
    pub device_milli: Vec<i32>,
    /// No less than the sum of `cores_milli`: a quick way to see that a job does not fit.
    total_cores_milli: i64,
}

impl Free {
    fn all(nodes: &[Node], devices: u32) -> Self {
        let cores_milli: Vec<i64> = nodes.iter().map(|node| node.cores_milli).collect();
        Free {
            total_cores_milli: cores_milli.iter().sum(),
            cores_milli,
            memory_mb: nodes.iter().map(|node| node.memory_mb).collect(),
            device_milli: vec![DEVICE_MILLI; devices as usize],
        }
    }

    /// Milli-cores free on all nodes together, or more.
    pub fn total_cores_milli(&self) -> i64 {
        self.total_cores_milli
    }

    /// How many tasks of this shape the node can take, whether the job has so many or not.
    pub fn capacity(&self, cluster: &Cluster, node: u32, shape: &Shape) -> u32 {
        let mut most = i64::from(u32::MAX);
        if shape.cores_milli > 0 {
            most = most.min(self.cores_milli[node as usize] / shape.cores_milli);
        }
        if shape.memory_mb > 0 && most > 0 {
            most = most.min(self.memory_mb[node as usize] / shape.memory_mb);
        }
        if shape.gpu_milli > 0 && most > 0 {
            most = most.min(self.gpu_capacity(cluster, node, shape));
        }
        most.max(0) as u32
    }

    fn gpu_capacity(&self, cluster: &Cluster, node: u32, shape: &Shape) -> i64 {
        let devices = &self.device_milli[cluster.devices(node)];
        if shape.gpu_milli < i64::from(DEVICE_MILLI) {
            devices.iter().map(|&milli| i64::from(milli) / shape.gpu_milli).sum()
        } else {
            let whole = devices.iter().filter(|&&milli| milli == DEVICE_MILLI).count() as i64;
            whole / (shape.gpu_milli / i64::from(DEVICE_MILLI))
        }
    }

    /// Free milli-GPUs on a node.
    pub fn gpu_milli(&self, cluster: &Cluster, node: u32) -> i64 {
        self.device_milli[cluster.devices(node)].iter().map(|&milli| i64::from(milli)).sum()
    }

    /// Whether a job of this shape could start.
    pub fn fits(&self, cluster: &Cluster, shape: &Shape) -> bool {
        if shape.total_cores_milli() > self.total_cores_milli {
            return false;
        }
        let mut missing = i64::from(shape.tasks);
        for &node in cluster.nodes_for(shape) {
            missing -= i64::from(self.capacity(cluster, node, shape));
            if missing <= 0 {
                return true;
            }
        }
        false
    }

    /// Takes cores from the only node.
    pub fn take_pool(&mut self, cores_milli: i64) {
        self.cores_milli[0] -= cores_milli;
        self.total_cores_milli -= cores_milli;
    }

    /// Gives them back.
    pub fn give_pool(&mut self, cores_milli: i64) {
        self.take_pool(-cores_milli);
    }

    /// Takes what a job of this shape uses on these nodes and devices.
    pub fn take(&mut self, shape: &Shape, placement: &Placement) {
        self.change(shape, placement, -1);
    }

    /// Gives it back.
    pub fn give(&mut self, shape: &Shape, placement: &Placement) {
        self.change(shape, placement, 1);
    }

    fn change(&mut self, shape: &Shape, placement: &Placement, sign: i64) {
        for part in placement.parts() {
            let tasks = sign * i64::from(part.tasks);
            self.cores_milli[part.node as usize] += tasks * shape.cores_milli;
            self.memory_mb[part.node as usize] += tasks * shape.memory_mb;
        }
        for share in placement.devices() {
            self.device_milli[share.device as usize] += sign as i32 * share.milli;
        }
        self.total_cores_milli += sign * shape.total_cores_milli();
    }

    /// Whether nothing that this placement touches is overdrawn.
    pub fn is_sound(&self, placement: &Placement) -> bool {
        placement
            .parts()
            .all(|part| self.cores_milli[part.node as usize] >= 0 && self.memory_mb[part.node as usize] >= 0)
            && placement.devices().iter().all(|share| self.device_milli[share.device as usize] >= 0)
    }

    /// Lowers what this placement touches to what is free in `other`.
    pub fn lower_to(&mut self, other: &Free, placement: &Placement) {
        for part in placement.parts() {
            let node = part.node as usize;
            self.cores_milli[node] = self.cores_milli[node].min(other.cores_milli[node]);
            self.memory_mb[node] = self.memory_mb[node].min(other.memory_mb[node]);
        }
        for share in placement.devices() {
            let device = share.device as usize;
            self.device_milli[device] = self.device_milli[device].min(other.device_milli[device]);
        }
    }
}

/// Why a job can never run here; the numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RejectReason {
    /// It can.
    None = 0,
    /// It names a partition without nodes.
    NoSuchPartition = 1,
    /// It asks for more cores than there are.
    Cores = 2,
    /// It asks for more memory than there is.
    Memory = 3,
    /// It asks for more GPUs than there are.
    Gpus = 4,
    /// Each resource would do, but not all of them together.
    Combination = 5,
}

impl RejectReason {
    /// The reason with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        use RejectReason::{Combination, Cores, Gpus, Memory, NoSuchPartition, None as Fits};
        [Fits, NoSuchPartition, Cores, Memory, Gpus, Combination].into_iter().find(|&reason| reason as u8 == code)
    }
}

/// Says why a shape does not fit on the empty cluster.
pub fn reject_reason(cluster: &Cluster, shape: &Shape) -> RejectReason {
    let empty = &cluster.empty;
    if cluster.nodes_for(shape).is_empty() {
        return RejectReason::NoSuchPartition;
    }
    if empty.fits(cluster, shape) {
        return RejectReason::None;
    }
    let cores_alone = Shape { memory_mb: 0, gpu_milli: 0, ..shape.clone() };
    let memory_alone = Shape { cores_milli: 0, gpu_milli: 0, ..shape.clone() };
    let gpus_alone = Shape { cores_milli: 0, memory_mb: 0, ..shape.clone() };
    [(cores_alone, RejectReason::Cores), (memory_alone, RejectReason::Memory), (gpus_alone, RejectReason::Gpus)]
        .into_iter()
        .find(|(alone, _)| !empty.fits(cluster, alone))
        .map_or(RejectReason::Combination, |(_, reason)| reason)
}
