//! Groups of nodes: the lists of nodes of which one must hold all of a job.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use crate::model::areas::{Areas, Sites};
use crate::model::cluster::{Node, UNTRACKED};

/// Nodes by number: all, those of a partition, those of them that a job may use, or those with one type of GPU.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its place among all groups of the cluster; lists that are the same have the same.
    pub(crate) number: u32,
    nodes: Arc<[u32]>,
}

impl Group {
    /// Whether a node is one of them.
    pub(crate) fn has(&self, node: u32) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }
}

impl Deref for Group {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.nodes
    }
}

/// All groups of a cluster, and where each node stands in them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Groups {
    lists: Vec<Arc<[u32]>>,
    /// By node: the numbers of its groups, and its place in each.
    homes: Vec<Vec<(u32, u32)>>,
    /// By node: its milli-cores and its memory, 0 where that is not tracked.
    whole: Vec<[i64; 2]>,
    /// Node i's devices are numbered from here to the next.
    device_offsets: Vec<u32>,
}

impl Groups {
    /// The nodes of each group.
    pub(crate) fn lists(&self) -> &[Arc<[u32]>] {
        &self.lists
    }

    /// The milli-cores and the memory of a node, 0 where that is not tracked.
    pub(crate) fn whole(&self, node: u32) -> [i64; 2] {
        self.whole[node as usize]
    }

    /// The numbers of a node's devices.
    pub(crate) fn devices(&self, node: u32) -> std::ops::Range<usize> {
        self.device_offsets[node as usize] as usize..self.device_offsets[node as usize + 1] as usize
    }

    /// The groups of a node, and its places there.
    pub(crate) fn homes(&self, node: u32) -> &[(u32, u32)] {
        &self.homes[node as usize]
    }
}

/// Numbers groups as they are found.
#[derive(Default)]
pub(crate) struct GroupNumbers {
    known: HashMap<Arc<[u32]>, u32>,
    groups: Groups,
}

impl GroupNumbers {
    fn group(&mut self, nodes: Vec<u32>) -> Group {
        let nodes: Arc<[u32]> = nodes.into();
        let number = *self.known.entry(nodes.clone()).or_insert_with(|| {
            self.groups.lists.push(nodes.clone());
            self.groups.lists.len() as u32 - 1
        });
        Group { number, nodes }
    }

    /// All groups of these nodes.
    pub(crate) fn finish(self, nodes: &[Node], device_offsets: &[u32]) -> Groups {
        let mut groups = self.groups;
        groups.homes = vec![Vec::new(); nodes.len()];
        let tracked = |memory_mb: i64| if memory_mb == UNTRACKED { 0 } else { memory_mb };
        groups.whole = nodes.iter().map(|node| [node.cores_milli, tracked(node.memory_mb)]).collect();
        groups.device_offsets = device_offsets.to_vec();
        for (number, list) in groups.lists.iter().enumerate() {
            for (place, &node) in list.iter().enumerate() {
                groups.homes[node as usize].push((number as u32, place as u32));
            }
        }
        groups
    }
}

/// Where some jobs may go: to the nodes of a partition, of one of several, or of the whole cluster.
#[derive(Debug)]
pub(crate) struct Scope {
    /// All nodes, in ascending order.
    pub(crate) nodes: Arc<[u32]>,
    /// The groups of which one must hold all of a job, in the order in which they are tried. They may overlap.
    pub(crate) choices: Vec<Group>,
    /// The nodes with GPUs of each choice, by their type; the pool with the first node comes first.
    pub(crate) pools: Vec<Group>,
    /// Which nodes of each choice are close together, and which of each pool.
    pub(crate) areas: Vec<Areas>,
    pub(crate) pool_areas: Vec<Areas>,
}

impl Scope {
    /// `choices` have nodes, in ascending order.
    pub(crate) fn new(choices: &[Vec<u32>], all: &[Node], sites: Sites, numbers: &mut GroupNumbers) -> Self {
        let pools: Vec<Vec<u32>> = choices.iter().flat_map(|nodes| pools_of(nodes, all)).collect();
        let areas = |nodes: &Vec<u32>| Areas::of(nodes, sites, |node| all[node as usize].site());
        let mut nodes = choices.concat();
        nodes.sort_unstable();
        nodes.dedup();
        Scope {
            nodes: nodes.into(),
            areas: choices.iter().map(areas).collect(),
            pool_areas: pools.iter().map(areas).collect(),
            choices: choices.iter().map(|nodes| numbers.group(nodes.clone())).collect(),
            pools: pools.into_iter().map(|pool| numbers.group(pool)).collect(),
        }
    }
}

/// The nodes with GPUs, by their type.
fn pools_of(nodes: &[u32], all: &[Node]) -> Vec<Vec<u32>> {
    let mut types: Vec<Option<u32>> = Vec::new();
    let mut pools: Vec<Vec<u32>> = Vec::new();
    for &node in nodes.iter().filter(|&&node| all[node as usize].gpus > 0) {
        let gpu_type = all[node as usize].gpu_type;
        let pool = types.iter().position(|&other| other == gpu_type).unwrap_or_else(|| {
            types.push(gpu_type);
            pools.push(Vec::new());
            types.len() - 1
        });
        pools[pool].push(node);
    }
    pools
}
