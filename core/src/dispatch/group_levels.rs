//! The levels of each group of nodes: of cores, and of GPUs for jobs that ask for some.

use crate::dispatch::levels::Levels;
use crate::dispatch::timeline::Timeline;
use crate::dispatch::timelines::Stretch;
use crate::model::cluster::{Cluster, DEVICE_MILLI};
use crate::model::groups::Group;

/// The columns of a timeline that are counted: milli-cores and milli-GPUs.
const COUNTED: [usize; 2] = [0, 2];

/// By group of nodes, what its nodes have free over time; made when first asked for, since many groups never are.
#[derive(Clone, Debug)]
pub(super) struct GroupLevels {
    groups: Vec<[Option<Box<Levels>>; 2]>,
}

impl GroupLevels {
    pub(super) fn new(cluster: &Cluster) -> Self {
        GroupLevels { groups: vec![[None, None]; cluster.groups.lists().len()] }
    }

    /// For a time, a node has `now` of a column instead of `before`.
    #[inline]
    pub(super) fn change(
        &mut self,
        cluster: &Cluster,
        node: u32,
        column: usize,
        stretch: Stretch,
        before: i64,
        now: i64,
    ) {
        let Some(counted) = COUNTED.iter().position(|&other| other == column) else { return };
        for &(group, _) in cluster.groups.homes(node) {
            if let Some(levels) = &mut self.groups[group as usize][counted] {
                levels.change(stretch, before, now);
            }
        }
    }

    /// Nobody will ask about the time before this instant.
    pub(super) fn forget_before(&mut self, instant_ms: i64) {
        self.groups.iter_mut().flatten().flatten().for_each(|levels| levels.forget_before(instant_ms));
    }

    /// The levels of a group: of its GPUs, or of its cores.
    pub(super) fn of(&mut self, cluster: &Cluster, group: &Group, gpus: bool, nodes: &[Timeline]) -> &mut Levels {
        self.groups[group.number as usize][usize::from(gpus)].get_or_insert_with(|| {
            let whole = |node: u32| {
                let node = &cluster.nodes[node as usize];
                if gpus { i64::from(node.gpus) * i64::from(DEVICE_MILLI) } else { node.cores_milli }
            };
            let most = group.iter().map(|&node| whole(node)).max().unwrap_or(0);
            let mut levels = Levels::new(group.len(), most);
            for &node in group.iter() {
                let amounts = nodes[node as usize].amounts(COUNTED[usize::from(gpus)]);
                amounts.for_each(|(stretch, amount)| levels.change(stretch, 0, amount));
            }
            Box::new(levels)
        })
    }
}
