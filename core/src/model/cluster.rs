//! Nodes: what they have, and who may use which.

use std::sync::Arc;

use crate::model::areas::{slowed, Areas, Site, Sites, Slowdowns};
use crate::model::codes::from_code;
use crate::model::free::Free;
use crate::model::groups::{Group, GroupNumbers, Groups, Scope};
use crate::model::job::{Fingerprint, Shape};
use crate::model::speeds::{KindSpeeds, FULL_SPEED, MOST_SPEED};
use crate::place::placement::Placement;

/// Milli-GPUs of a whole device.
pub(crate) const DEVICE_MILLI: i32 = 1000;

/// Memory of a node that does not track it: so much that it never binds.
pub(crate) const UNTRACKED: i64 = i64::MAX / 4;

/// The highest speed of a node, in thousandths.
const MOST_NODE_SPEED: i64 = MOST_SPEED / 1000;

/// The most types of GPUs; a mask of types has one bit more, for a type that no node has.
pub(crate) const MOST_TYPES: u32 = 62;

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
    /// The type of its GPUs, below `MOST_TYPES`.
    pub gpu_type: Option<u32>,
    /// How fast its GPUs run a job, in thousandths of what run times are given for.
    pub speed_milli: i64,
    /// The rack that it stands in.
    pub rack: Option<u32>,
    /// The switch that it hangs on.
    pub switch: Option<u32>,
}

impl Node {
    pub(crate) fn site(&self) -> Site {
        (self.switch, self.rack)
    }
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
    /// Whether a job may have GPUs of several types.
    pub mix: bool,
    /// Whether a job may run faster or slower than run times are given for.
    pub has_speeds: bool,
    /// How fast kinds of jobs run on each type, where that is known.
    pub kinds: KindSpeeds,
    /// By how much slower gangs are that are spread.
    pub slowdowns: Slowdowns,
    /// Whether nodes name switches and racks.
    pub sites: Sites,
    /// All groups of nodes of which one must hold a whole job.
    pub(crate) groups: Arc<Groups>,
    every_node: Scope,
    /// The partitions that nodes name, then the scopes that were told beside them.
    scopes: Vec<Scope>,
}

impl Cluster {
    /// Keeps the nodes; an error names the node, the field and the value. Of `told` scopes each is a list of choices, and each
    /// of these a list of nodes; they are numbered behind the partitions that nodes name.
    pub fn new(
        nodes: Vec<Node>,
        mix: bool,
        kinds: KindSpeeds,
        slowdowns: Slowdowns,
        told: &[Vec<Vec<u32>>],
    ) -> Result<Self, String> {
        check_node_count(nodes.len())?;
        check_types(&nodes, &kinds)?;
        check_scopes(told, nodes.len())?;
        let total: i128 = nodes.iter().map(|node| i128::from(node.cores_milli)).sum();
        if total > i128::from(i64::MAX / 4) {
            return Err("cores_milli: the nodes together have more cores than can be counted".to_string());
        }
        let mut device_offsets = vec![0u32];
        let mut partition_nodes: Vec<Vec<u32>> = Vec::new();
        let mut hash = Fingerprint::default();
        for (number, node) in nodes.iter().enumerate() {
            if !(0..=crate::model::job::MAX_AMOUNT).contains(&node.cores_milli) {
                return Err(format!("node {number}: cores_milli is {}; expected 0 to 10^15", node.cores_milli));
            }
            if !(0..=UNTRACKED).contains(&node.memory_mb) {
                return Err(format!("node {number}: memory_mb is {}; expected 0 or more", node.memory_mb));
            }
            if !(1..=MOST_NODE_SPEED).contains(&node.speed_milli) {
                return Err(format!(
                    "node {number}: speed_milli is {}; expected 1 to {MOST_NODE_SPEED}",
                    node.speed_milli
                ));
            }
            if let Some(gpu_type) = node.gpu_type.filter(|&gpu_type| gpu_type >= MOST_TYPES) {
                return Err(format!("node {number}: gpu_type is {gpu_type}; expected less than {MOST_TYPES}"));
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
            for value in [node.cores_milli as u64, node.memory_mb as u64, u64::from(node.gpus), node.speed_milli as u64]
            {
                hash.add(value);
            }
            for value in [node.partition, node.gpu_type, node.rack, node.switch] {
                hash.add(value.map_or(u64::MAX, u64::from));
            }
        }
        hash.add(u64::from(mix));
        // Without a table, a cluster has the fingerprint from before there was such a thing.
        kinds.micro().iter().for_each(|&speed| hash.add(speed as u64));
        if slowdowns.any() {
            slowdowns.every().for_each(|slowdown| hash.add(slowdown as u64));
        }
        // The same without scopes.
        for choice in told.iter().flatten() {
            hash.add(choice.len() as u64);
            choice.iter().for_each(|&node| hash.add(u64::from(node)));
        }
        told.iter().for_each(|choices| hash.add(choices.len() as u64));
        let sites = Sites::of(nodes.iter().map(Node::site));
        let mut numbers = GroupNumbers::default();
        let mut scope = |choices: &[Vec<u32>]| Scope::new(choices, &nodes, sites, &mut numbers);
        let every_node = scope(&[(0..nodes.len() as u32).collect()]);
        let mut scopes: Vec<Scope> = partition_nodes.into_iter().map(|members| scope(&[members])).collect();
        scopes.extend(told.iter().map(|choices| scope(choices)));
        let groups = Arc::new(numbers.finish(&nodes, &device_offsets));
        Ok(Cluster {
            fingerprint: hash.finish(),
            empty: Free::all(&nodes, device_offsets[nodes.len()], groups.clone()),
            groups,
            has_speeds: !kinds.is_empty()
                || slowdowns.any()
                || nodes.iter().any(|node| node.speed_milli * 1000 != FULL_SPEED),
            kinds,
            slowdowns,
            sites,
            every_node,
            scopes,
            nodes,
            device_offsets,
            mix,
        })
    }

    fn scope(&self, shape: &Shape) -> Option<&Scope> {
        self.scope_of(shape.partition)
    }

    fn scope_of(&self, partition: Option<u32>) -> Option<&Scope> {
        match partition {
            None => Some(&self.every_node),
            Some(partition) => self.scopes.get(partition as usize),
        }
    }

    /// The nodes of a job's partitions, by number.
    pub fn nodes_for(&self, shape: &Shape) -> &[u32] {
        self.scope(shape).map_or(&[], |scope| &scope.nodes)
    }

    /// The partitions of a job, in the order in which they are tried; one must hold all of it.
    pub(crate) fn choices_for(&self, shape: &Shape) -> &[Group] {
        self.scope(shape).map_or(&[], |scope| &scope.choices)
    }

    /// Whether a job of this shape must have all its nodes from one pool.
    pub fn binds_to_pool(&self, shape: &Shape) -> bool {
        shape.gpu_milli > 0 && !self.mix
    }

    /// The groups of nodes of which one must hold all of a job.
    pub fn groups_for(&self, shape: &Shape) -> &[Group] {
        self.groups_within(shape.partition, shape.gpu_milli > 0)
    }

    /// The same for jobs of a partition, with GPUs or without.
    pub(crate) fn groups_within(&self, partition: Option<u32>, has_gpus: bool) -> &[Group] {
        match self.scope_of(partition) {
            None => &[],
            Some(scope) if has_gpus && !self.mix => &scope.pools,
            Some(scope) => &scope.choices,
        }
    }

    /// Whether a job may use one of these groups at all: where it must hold all of a job, its GPUs are of one type.
    pub(crate) fn suits_group(&self, group: &[u32], shape: &Shape) -> bool {
        !self.binds_to_pool(shape) || group.first().is_some_and(|&node| self.suits(node, shape))
    }

    /// Which nodes of each of these groups are close together.
    pub(crate) fn areas_for(&self, shape: &Shape) -> &[Areas] {
        match self.scope(shape) {
            None => &[],
            Some(scope) if self.binds_to_pool(shape) => &scope.pool_areas,
            Some(scope) => &scope.areas,
        }
    }

    /// Where a node stands.
    pub(crate) fn site(&self, node: u32) -> Site {
        self.nodes[node as usize].site()
    }

    /// Whether a node has GPUs of a type that the job asks for, and on which its kind runs; one that asks for none takes any.
    #[inline]
    pub fn suits(&self, node: u32, shape: &Shape) -> bool {
        if shape.gpu_types == 0 && shape.kind.is_none() {
            return true;
        }
        let has = self.nodes[node as usize].gpu_type.map_or(0, |gpu_type| 1u64 << gpu_type);
        (shape.gpu_types == 0 || shape.gpu_types & has != 0)
            && shape.kind.is_none_or(|kind| self.kinds.runs_on(kind) & has != 0)
    }

    /// How fast the GPUs of a node that suits it run a job of this shape, in millionths.
    #[inline]
    pub fn speed_on(&self, node: u32, shape: &Shape) -> i64 {
        let node = &self.nodes[node as usize];
        match (shape.kind, node.gpu_type) {
            (Some(kind), Some(gpu_type)) => self.kinds.on_type(kind, gpu_type),
            _ => node.speed_milli * 1000,
        }
    }

    /// How fast a job of this shape runs there, in millionths: as fast as on the slowest of its nodes.
    pub fn speed_micro(&self, shape: &Shape, placement: &Placement) -> i64 {
        if !self.has_speeds || shape.gpu_milli == 0 {
            return FULL_SPEED;
        }
        placement.parts().map(|part| self.speed_on(part.node, shape)).min().unwrap_or(FULL_SPEED)
    }

    /// The lowest speed of any job on any node, in millionths; full speed if none is lower.
    pub(crate) fn lowest_speed(&self) -> i64 {
        let of_kinds = self.kinds.micro().iter().copied().filter(|&speed| speed > 0);
        let lowest = self.nodes.iter().map(|node| node.speed_milli * 1000).chain(of_kinds).min();
        slowed(lowest.map_or(FULL_SPEED, |one| one.min(FULL_SPEED)), self.slowdowns.most())
    }

    /// How fast a job of this shape runs at the least, in millionths.
    pub fn slowest_micro(&self, shape: &Shape) -> i64 {
        if !self.has_speeds || shape.gpu_milli == 0 {
            return FULL_SPEED;
        }
        let usable = |&&node: &&u32| self.nodes[node as usize].gpus > 0 && self.suits(node, shape);
        let speeds = self.nodes_for(shape).iter().filter(usable).map(|&node| self.speed_on(node, shape));
        speeds.min().unwrap_or(FULL_SPEED)
    }

    /// The numbers of a node's devices.
    pub fn devices(&self, node: u32) -> std::ops::Range<usize> {
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

/// The choices of a scope are lists of nodes that exist, in ascending order.
fn check_scopes(scopes: &[Vec<Vec<u32>>], nodes: usize) -> Result<(), String> {
    let is_list = |choice: &Vec<u32>| {
        choice.last().is_some_and(|&last| (last as usize) < nodes) && choice.windows(2).all(|pair| pair[0] < pair[1])
    };
    match scopes.iter().position(|choices| choices.is_empty() || !choices.iter().all(is_list)) {
        Some(number) => Err(format!("scope {number}: expected lists of nodes below {nodes} in ascending order")),
        None => Ok(()),
    }
}

/// A table of kinds goes by types: every node with GPUs must have one that it knows.
fn check_types(nodes: &[Node], kinds: &KindSpeeds) -> Result<(), String> {
    let is_known = |node: &Node| node.gpus == 0 || node.gpu_type.is_some_and(|one| (one as usize) < kinds.types());
    match nodes.iter().position(|node| !is_known(node)) {
        Some(number) if !kinds.is_empty() => Err(format!("node {number}: kinds have no speed on GPUs of its type")),
        _ => Ok(()),
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
    /// It asks for a type of GPU that no node has.
    NoSuchGpuType = 6,
    /// No node of its partitions has the features that it asks for.
    NoSuchFeatures = 7,
    /// Its partitions do not admit its account, user or QOS.
    NotAdmitted = 8,
    /// It asks for more time, cores or nodes than one job may have.
    OverJobLimit = 9,
}

from_code!(RejectReason: None, NoSuchPartition, Cores, Memory, Gpus, Combination, NoSuchGpuType, NoSuchFeatures, NotAdmitted, OverJobLimit);

/// The scopes that no cluster has count from the last number down: that of jobs without a partition, then those of jobs
/// that are refused wherever they would go.
const NO_SCOPES: [(u32, RejectReason); 3] = [
    (i32::MAX as u32 - 1, RejectReason::NoSuchFeatures),
    (i32::MAX as u32 - 2, RejectReason::NotAdmitted),
    (i32::MAX as u32 - 3, RejectReason::OverJobLimit),
];

/// Says why a shape does not fit on the empty cluster.
pub fn reject_reason(cluster: &Cluster, shape: &Shape) -> RejectReason {
    let empty = &cluster.empty;
    if cluster.nodes_for(shape).is_empty() {
        let refused = NO_SCOPES.iter().find(|(number, _)| shape.partition == Some(*number));
        return refused.map_or(RejectReason::NoSuchPartition, |&(_, reason)| reason);
    }
    if !cluster.nodes_for(shape).iter().any(|&node| cluster.suits(node, shape)) {
        return RejectReason::NoSuchGpuType;
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
