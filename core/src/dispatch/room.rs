//! How much room there is for one shape, kept up to date as nodes become free: asking again costs nothing.

use crate::model::free::Free;
use crate::place::locality::Reach;
use crate::place::placement::Placement;

/// How many tasks of one shape fit on each node, and on each group of nodes of which one must hold the whole job.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    /// By node: how many tasks it can take; 0 where the job may not go.
    nodes: Vec<u32>,
    /// By group: how many tasks its nodes can take.
    groups: Vec<u64>,
}

impl Room {
    /// The room for a job in what is free.
    pub(crate) fn new(reach: &Reach, free: &Free) -> Self {
        let mut nodes = vec![0; reach.cluster.nodes.len()];
        let groups = reach.cluster.groups_for(reach.shape).iter().map(|members| {
            // A group of another type of GPU has no room for it, whatever is free.
            if !reach.cluster.suits_group(members, reach.shape) {
                return 0;
            }
            let rooms = free.with_room(reach.cluster, members, reach.shape);
            rooms
                .map(|(node, capacity)| {
                    nodes[node as usize] = capacity;
                    u64::from(capacity)
                })
                .sum()
        });
        let groups = groups.collect();
        Room { nodes, groups }
    }

    /// More or less has become free on the nodes of a placement.
    pub(crate) fn update(&mut self, reach: &Reach, free: &Free, placement: &Placement) {
        let groups = reach.cluster.groups_for(reach.shape);
        for part in placement.parts() {
            // Only the difference is added up: the other nodes of the groups are not looked at.
            let capacity = free.capacity(reach.cluster, part.node, reach.shape);
            let before = self.nodes[part.node as usize];
            let holding = self.groups.iter_mut().zip(groups).filter(|(_, group)| reach.is_in(group, part.node));
            let mut is_held = false;
            for (tasks, _) in holding {
                *tasks = *tasks + u64::from(capacity) - u64::from(before);
                is_held = true;
            }
            if is_held {
                self.nodes[part.node as usize] = capacity;
            }
        }
    }

    /// How many nodes there are.
    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// How many tasks a node can take.
    #[inline]
    pub(super) fn on(&self, node: u32) -> u32 {
        self.nodes[node as usize]
    }

    /// How many tasks the nodes of each group can take.
    pub(super) fn groups(&self) -> &[u64] {
        &self.groups
    }

    /// Whether one group has room for the whole job, close enough together.
    pub(crate) fn fits(&self, reach: &Reach) -> bool {
        self.groups.iter().any(|&tasks| tasks >= u64::from(reach.shape.tasks))
            && (reach.spreads.is_none() || reach.fits_by(|node| self.nodes[node as usize]))
    }
}
