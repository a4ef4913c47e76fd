//! The levels of each group of nodes: of cores, and of GPUs for jobs that ask for some.

use std::ops::Range;

use crate::dispatch::block::Block;
use crate::dispatch::lanes::Lanes;
use crate::dispatch::levels::Levels;
use crate::model::cluster::{Cluster, DEVICE_MILLI};
use crate::model::groups::Group;

/// What has changed in a block.
pub(super) struct Changed<'a> {
    pub(super) block: &'a Block,
    pub(super) rows: Range<usize>,
    pub(super) nodes: &'a [u32],
    /// By how much each lane, those of a node together.
    pub(super) changes: &'a [(usize, i64)],
}

/// By group of nodes, what its nodes have free over time; made when first asked for, since many groups never are.
#[derive(Clone, Debug)]
pub(super) struct GroupLevels {
    groups: Vec<[Option<Box<Levels>>; 2]>,
}

impl GroupLevels {
    pub(super) fn new(cluster: &Cluster) -> Self {
        GroupLevels { groups: vec![[None, None]; cluster.groups.lists().len()] }
    }

    /// In some rows of a block, these nodes have more or less than before: each so many milli-cores for each task.
    pub(super) fn change(&mut self, cluster: &Cluster, lanes: &Lanes, changed: &Changed) {
        let Changed { block, rows, nodes, changes } = changed;
        let mut changes = changes.iter().peekable();
        for &node in *nodes {
            let cores_milli = changes.next().map_or(0, |one| one.1);
            // Then its memory, and its devices.
            changes.next_if(|one| Some(one.0) == lanes.memory(node));
            let mut gpu_milli = 0;
            while let Some(one) = changes.next_if(|one| one.0 >= lanes.without_devices()) {
                gpu_milli += one.1;
            }
            for &(group, _) in cluster.groups.homes(node) {
                let [cores, gpus] = &mut self.groups[group as usize];
                if let Some(levels) = cores.as_mut().filter(|_| cores_milli != 0) {
                    let lane = lanes.cores(node);
                    block.visit_sums(lane..lane + 1, rows.clone(), |stretch, now| {
                        levels.change(stretch, now - cores_milli, now);
                    });
                }
                if let Some(levels) = gpus.as_mut().filter(|_| gpu_milli != 0) {
                    block.visit_sums(lanes.devices(cluster, node), rows.clone(), |stretch, now| {
                        levels.change(stretch, now - gpu_milli, now);
                    });
                }
            }
        }
    }

    /// Nobody will ask about the time before this instant.
    pub(super) fn forget_before(&mut self, instant_ms: i64) {
        self.groups.iter_mut().flatten().flatten().for_each(|levels| levels.forget_before(instant_ms));
    }

    /// The levels of a group: of its GPUs, or of its cores.
    pub(super) fn of(
        &mut self,
        cluster: &Cluster,
        group: &Group,
        gpus: bool,
        lanes: &Lanes,
        blocks: &[Block],
    ) -> &mut Levels {
        self.groups[group.number as usize][usize::from(gpus)].get_or_insert_with(|| {
            let whole = |node: u32| {
                let node = &cluster.nodes[node as usize];
                if gpus {
                    i64::from(node.gpus) * i64::from(DEVICE_MILLI)
                } else {
                    node.cores_milli
                }
            };
            let most = group.iter().map(|&node| whole(node)).max().unwrap_or(0);
            let mut levels = Levels::new(group.len(), most);
            for &node in group.iter() {
                let block = &blocks[lanes.block(node)];
                let cores = lanes.cores(node);
                let counted = if gpus { lanes.devices(cluster, node) } else { cores..cores + 1 };
                block.visit_sums(counted, block.rows(), |stretch, now| levels.change(stretch, 0, now));
            }
            Box::new(levels)
        })
    }
}
