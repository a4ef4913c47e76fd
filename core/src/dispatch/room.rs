//! How much room there is for one shape, kept up to date as nodes become free: asking again costs nothing.

use crate::model::free::Free;
use crate::place::locality::Reach;
use crate::place::placement::Placement;

/// Stands for a node that the job may not use.
const NO_GROUP: u32 = u32::MAX;

/// How many tasks of one shape fit on each node, and on each group of nodes of which one must hold the whole job.
pub(crate) struct Room {
    /// By node: the group that it belongs to, and how many tasks it can take.
    nodes: Vec<(u32, u32)>,
    /// By group: how many tasks its nodes can take.
    groups: Vec<u64>,
}

impl Room {
    /// The room for a job in what is free.
    pub(crate) fn new(reach: &Reach, free: &Free) -> Self {
        let mut nodes = vec![(NO_GROUP, 0); reach.cluster.nodes.len()];
        let mut groups = Vec::new();
        for (group, members) in reach.cluster.groups_for(reach.shape).iter().enumerate() {
            let mut tasks = 0;
            // A group of another type of GPU has no room for it, whatever is free.
            if !reach.cluster.suits_group(members, reach.shape) {
                groups.push(0);
                continue;
            }
            members.iter().for_each(|&node| nodes[node as usize].0 = group as u32);
            for (node, capacity) in free.with_room(reach.cluster, members, reach.shape) {
                nodes[node as usize].1 = capacity;
                tasks += u64::from(capacity);
            }
            groups.push(tasks);
        }
        Room { nodes, groups }
    }

    /// More or less has become free on the nodes of a placement.
    pub(crate) fn update(&mut self, reach: &Reach, free: &Free, placement: &Placement) {
        for part in placement.parts() {
            // Only the difference is added up: the other nodes of the group are not looked at.
            let (group, before) = self.nodes[part.node as usize];
            if group != NO_GROUP {
                let capacity = free.capacity(reach.cluster, part.node, reach.shape);
                self.nodes[part.node as usize].1 = capacity;
                let tasks = &mut self.groups[group as usize];
                *tasks = *tasks + u64::from(capacity) - u64::from(before);
            }
        }
    }

    /// Whether one group has room for the whole job, close enough together.
    pub(crate) fn fits(&self, reach: &Reach) -> bool {
        self.groups.iter().any(|&tasks| tasks >= u64::from(reach.shape.tasks))
            && (reach.spreads.is_none() || reach.fits_by(|node| self.nodes[node as usize].1))
    }
}
