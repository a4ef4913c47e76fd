//! The rules that look at all nodes of a job at once: tiers, and the least fragmentation.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::model::cluster::DEVICE_MILLI;
use crate::model::job::Jobs;
use crate::place::fragments::{least, Ask, Class, NodeState, PlacedPart, Site};
use crate::place::placement::{choose_devices, DeviceShare, Part, Placement};
use crate::place::rules::Search;
use crate::place::tiers::{best, Question, Spot, TierOrder, Tiered};

/// Nodes with GPUs of one type, and as many of them.
struct LikePool {
    kind: (Option<u32>, u32),
    spots: Vec<Spot>,
}

impl Search<'_> {
    /// The best choice of the lowest tier that has one, then of the fewest nodes; without one, as few nodes as possible.
    pub(crate) fn tiered(&self, order: TierOrder) -> Option<Placement> {
        // Tiers count whole GPUs: for fractions, and for jobs without any, they say nothing.
        if self.shape.gpu_milli < i64::from(DEVICE_MILLI) {
            return self.pack();
        }
        let pools = self.like_pools();
        let of_tier = |tier: u8| {
            let found = pools.iter().filter_map(|pool| best(&self.question(pool), tier, order));
            found.min_by_key(|choice| choice.parts.len())
        };
        of_tier(1).or_else(|| of_tier(2)).map_or_else(|| self.pack(), |choice| Some(placed(&choice)))
    }

    /// What adds the least fragmentation, then takes the fewest nodes.
    pub(crate) fn least_fragmenting(&self) -> Option<Placement> {
        let shape = self.shape;
        let ask = Ask {
            tasks: shape.tasks,
            cores_milli: shape.cores_milli,
            memory_mb: shape.memory_mb,
            gpu_milli: shape.gpu_milli,
        };
        let mut best: Option<((i64, usize), Vec<PlacedPart>)> = None;
        for group in self.groups() {
            let Some(candidates) = self.enough(self.with_room(group)) else { continue };
            let sites: Vec<Site> = candidates.iter().map(|one| self.site(one.node, one.capacity)).collect();
            let Some((cost, parts)) = least(self.classes, &ask, &sites) else { continue };
            if best.as_ref().is_none_or(|(key, _)| (cost, parts.len()) < *key) {
                best = Some(((cost, parts.len()), parts));
            }
        }
        match best {
            Some((_, parts)) => Some(self.with_devices(&parts)),
            // A gang so large that the search would take gigabytes.
            None => self.pack().map(|mut placement| {
                choose_devices(self.cluster, self.free, shape, &mut placement);
                placement
            }),
        }
    }

    fn site(&self, node: u32, capacity: u32) -> Site<'_> {
        let (cores_milli, memory_mb) = (self.free.cores_milli[node as usize], self.free.memory_mb[node as usize]);
        (node, capacity, NodeState { cores_milli, memory_mb, devices: self.free.devices(self.cluster, node) })
    }

    fn with_devices(&self, parts: &[PlacedPart]) -> Placement {
        let mut placement = Placement::default();
        parts.iter().for_each(|part| placement.push(Part { node: part.node, tasks: part.tasks }));
        for part in parts {
            let first = self.cluster.device_offsets[part.node as usize];
            for &(device, milli) in &part.devices {
                placement.push_device(DeviceShare { device: first + device, milli });
            }
        }
        placement
    }

    fn question<'a>(&self, pool: &'a LikePool) -> Question<'a> {
        Question {
            gpus_per_node: pool.kind.1,
            gpus_per_task: (self.shape.gpu_milli / i64::from(DEVICE_MILLI)) as u32,
            tasks: self.shape.tasks,
            spots: &pool.spots,
        }
    }

    /// The nodes that are up and that the job may use, partition by partition, those that are alike together.
    fn like_pools(&self) -> Vec<LikePool> {
        self.cluster.choices_for(self.shape).iter().flat_map(|choice| self.like_pools_of(choice)).collect()
    }

    fn like_pools_of(&self, nodes: &[u32]) -> Vec<LikePool> {
        let mut pools: Vec<LikePool> = Vec::new();
        for &node in nodes {
            let described = &self.cluster.nodes[node as usize];
            // Nodes without room stay in: how evenly all are used is part of the score.
            if described.gpus == 0 || self.free.is_down(node) || !self.cluster.suits(node, self.shape) {
                continue;
            }
            let kind = (described.gpu_type, described.gpus);
            let capacity = self.free.capacity(self.cluster, node, self.shape);
            let spot = Spot { node, free: self.free.whole_devices(node), capacity };
            match pools.iter_mut().find(|pool| pool.kind == kind) {
                Some(pool) => pool.spots.push(spot),
                None => pools.push(LikePool { kind, spots: vec![spot] }),
            }
        }
        pools
    }
}

/// So many kinds of requests stand for all: the most frequent.
const MOST_CLASSES: usize = 32;

/// What the jobs of a table ask for, the most frequent requests for GPUs first.
pub(crate) fn classes(jobs: &Jobs) -> Vec<Class> {
    let mut of_shape = vec![0; jobs.shapes.len()];
    jobs.shape.iter().for_each(|&shape| of_shape[shape as usize] += 1);
    let mut counts: HashMap<(i64, u32, i64, i64), i64> = HashMap::new();
    for (shape, count) in jobs.shapes.iter().zip(of_shape).filter(|(shape, _)| shape.gpu_milli > 0) {
        *counts.entry((shape.gpu_milli, shape.tasks, shape.cores_milli, shape.memory_mb)).or_default() += count;
    }
    let mut ranked: Vec<_> = counts.into_iter().collect();
    ranked.sort_unstable_by_key(|&(key, count)| (Reverse(count), key));
    ranked.truncate(MOST_CLASSES);
    let class = |((gpu_milli, tasks, cores_milli, memory_mb), weight)| Class {
        tasks,
        cores_milli,
        memory_mb,
        gpu_milli,
        weight,
    };
    ranked.into_iter().map(class).collect()
}

fn placed(choice: &Tiered) -> Placement {
    let mut placement = Placement::default();
    choice.parts.iter().for_each(|&(node, tasks)| placement.push(Part { node, tasks }));
    placement
}
