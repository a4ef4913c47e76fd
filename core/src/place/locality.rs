//! Locality: how far apart the nodes of each shape of job may be, and how fast it is then.

use crate::model::areas::{slowed, Level, COMPACT, MORE_NODES, SWITCHES};
use crate::model::cluster::Cluster;
use crate::model::config::Config;
use crate::model::free::Free;
use crate::model::groups::Group;
use crate::model::job::Shape;
use crate::model::speeds::FULL_SPEED;
use crate::place::placement::Placement;

/// What locality means for a shape in one group of nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    /// How many nodes it needs at the least, on the empty group.
    fewest: u32,
    /// How far apart its nodes are at the least there.
    best: Level,
    /// How far apart its nodes may be while it waits for better ones.
    widest: Level,
}

/// What locality means for every shape of a table; worked out once.
#[derive(Debug)]
pub(crate) struct Locality {
    /// By shape and group; empty for jobs whose tasks cannot be apart.
    spreads: Vec<Vec<Spread>>,
    /// By shape: how fast it runs at the least, in millionths.
    slowest_micro: Vec<i64>,
}

impl Locality {
    /// None where it plays no part: nobody is slower for being spread, and nobody waits for better nodes.
    pub(crate) fn new(cluster: &Cluster, shapes: &[Shape], config: &Config) -> Option<Self> {
        if !cluster.slowdowns.any() && !config.waits_for_locality() {
            return None;
        }
        let spreads: Vec<Vec<Spread>> = shapes.iter().map(|shape| spreads(cluster, shape, config)).collect();
        let slowest = |(shape, spreads): (&Shape, &Vec<Spread>)| slowest_micro(cluster, shape, spreads, config);
        Some(Locality { slowest_micro: shapes.iter().zip(&spreads).map(slowest).collect(), spreads })
    }

    /// How far apart the nodes of a shape may be, group by group, while it waits; none if there is nothing to wait for.
    pub(crate) fn spreads(&self, shape: u32) -> Option<&[Spread]> {
        Some(&self.spreads[shape as usize][..]).filter(|spreads| !spreads.is_empty())
    }

    /// How fast a shape runs at the least.
    pub(crate) fn slowest_micro(&self, shape: u32) -> i64 {
        self.slowest_micro[shape as usize]
    }

    /// How fast a job of a shape runs there.
    pub(crate) fn speed_micro(&self, cluster: &Cluster, number: u32, shape: &Shape, placement: &Placement) -> i64 {
        let level = match self.spreads(number) {
            None => COMPACT,
            Some(spreads) => Reach { cluster, shape, spreads: Some(spreads) }.level(placement),
        };
        let speeds = placement.parts().map(|part| slowed_on(cluster, part.node, shape, level));
        speeds.min().unwrap_or(FULL_SPEED)
    }
}

/// How fast a job of this shape runs on a node if its nodes are so far apart.
fn slowed_on(cluster: &Cluster, node: u32, shape: &Shape, level: Level) -> i64 {
    let gpu_type = cluster.nodes[node as usize].gpu_type;
    slowed(cluster.speed_on(node, shape), cluster.slowdowns.at(shape.kind, gpu_type, level))
}

/// What locality means for a shape, group by group.
fn spreads(cluster: &Cluster, shape: &Shape, config: &Config) -> Vec<Spread> {
    if shape.gpu_milli == 0 || shape.tasks == 1 {
        return Vec::new();
    }
    let capacity = |node: u32| cluster.empty.capacity(cluster, node, shape);
    let groups = cluster.groups_for(shape).iter().zip(cluster.areas_for(shape));
    groups
        .map(|(group, areas)| {
            let fewest = fewest_nodes(group, shape, capacity);
            let has_room = |level: Level, most: u32| {
                let mut within = areas.within(group, level, cluster.sites);
                within.any(|area| fewest_nodes(area, shape, capacity) <= most)
            };
            let best = match fewest {
                // It never runs in this group.
                u32::MAX => cluster.sites.widest(),
                _ if has_room(COMPACT, fewest) => COMPACT,
                _ if has_room(MORE_NODES, u32::MAX - 1) => MORE_NODES,
                _ if has_room(SWITCHES, u32::MAX - 1) => SWITCHES,
                _ => cluster.sites.widest(),
            };
            Spread { fewest, best, widest: widest(cluster, shape, group, best, config) }
        })
        .collect()
}

/// How many of these nodes a job needs at the least, those with the most room; `u32::MAX`: all are not enough.
fn fewest_nodes(nodes: &[u32], shape: &Shape, capacity: impl Fn(u32) -> u32) -> u32 {
    let mut room: Vec<u32> = nodes.iter().map(|&node| capacity(node)).filter(|&tasks| tasks > 0).collect();
    // Most gangs find one node for all of it.
    if room.iter().any(|&tasks| tasks >= shape.tasks) {
        return 1;
    }
    room.sort_unstable_by(|one, other| other.cmp(one));
    let mut missing = i64::from(shape.tasks);
    let enough = room.iter().position(|&tasks| {
        missing -= i64::from(tasks);
        missing <= 0
    });
    enough.map_or(u32::MAX, |place| place as u32 + 1)
}

/// The widest level above the best that costs no more than what a job takes without waiting.
fn widest(cluster: &Cluster, shape: &Shape, group: &[u32], best: Level, config: &Config) -> Level {
    let most = cluster.sites.widest();
    if !config.waits_for_locality() {
        return most;
    }
    let usable = |&&node: &&u32| cluster.nodes[node as usize].gpus > 0 && cluster.suits(node, shape);
    let types: Vec<Option<u32>> =
        group.iter().filter(usable).map(|&node| cluster.nodes[node as usize].gpu_type).collect();
    let slowdown = |gpu_type, level| i128::from(cluster.slowdowns.at(shape.kind, gpu_type, level));
    let full = i128::from(FULL_SPEED);
    let Some(loss_micro) = config.locality_loss_micro else { return best };
    let accepted = |level: &Level| {
        let most_micro = full + i128::from(loss_micro);
        types.iter().all(|&one| slowdown(one, *level) * full <= slowdown(one, best) * most_micro)
    };
    (best + 1..=most).take_while(accepted).last().unwrap_or(best)
}

/// How fast a job of this shape runs at the least, in the widest placement that it may ever get.
fn slowest_micro(cluster: &Cluster, shape: &Shape, spreads: &[Spread], config: &Config) -> i64 {
    if spreads.is_empty() {
        return cluster.slowest_micro(shape);
    }
    let usable = |&node: &u32| cluster.nodes[node as usize].gpus > 0 && cluster.suits(node, shape);
    let in_group = |(group, spread): (&Group, &Spread)| {
        let last = if config.locality_wait_ms.is_none() { spread.widest } else { cluster.sites.widest() };
        let nodes = group.iter().copied().filter(usable);
        nodes.flat_map(|node| (spread.best..=last).map(move |level| slowed_on(cluster, node, shape, level))).min()
    };
    cluster.groups_for(shape).iter().zip(spreads).filter_map(in_group).min().unwrap_or(FULL_SPEED)
}

/// Where a job may go: it takes any nodes that it may use, or only those that are close enough.
#[derive(Clone, Copy)]
pub struct Reach<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) shape: &'a Shape,
    /// How far apart they may be, group by group; none: as far as there is.
    pub(crate) spreads: Option<&'a [Spread]>,
}

impl<'a> Reach<'a> {
    /// Whether a job could start.
    pub(crate) fn fits(&self, free: &Free) -> bool {
        match self.spreads {
            None => free.fits(self.cluster, self.shape),
            Some(_) => {
                !free.is_too_little(self.shape) && self.fits_by(|node| free.capacity(self.cluster, node, self.shape))
            }
        }
    }

    /// The same by how many tasks each node can take.
    pub(crate) fn fits_by(&self, capacity: impl Fn(u32) -> u32) -> bool {
        (0..self.cluster.groups_for(self.shape).len()).any(|group| self.fits_group(group, &capacity))
    }

    /// Whether it could start in one group.
    fn fits_group(&self, group: usize, capacity: impl Fn(u32) -> u32) -> bool {
        let most = self.most_nodes(group);
        self.areas(group).any(|area| fewest_nodes(area, self.shape, &capacity) <= most)
    }

    /// The first partition of a job in which it could start.
    pub(crate) fn first_choice(&self, free: &Free) -> Option<&'a Group> {
        let (choices, groups) = (self.cluster.choices_for(self.shape), self.cluster.groups_for(self.shape));
        // With one there is nothing to choose, whether there is room or not.
        if let [only] = choices {
            return Some(only);
        }
        let capacity = |node: u32| free.capacity(self.cluster, node, self.shape);
        let has_room = |choice: &&Group| {
            let within = |group: &Group| group.iter().all(|&node| choice.has(node));
            (0..groups.len()).any(|group| within(&groups[group]) && self.fits_group(group, capacity))
        };
        choices.iter().find(has_room)
    }

    /// Whether a node is one of a group; in most clusters the only group has them all.
    #[inline]
    pub(crate) fn is_in(&self, group: &Group, node: u32) -> bool {
        group.len() == self.cluster.nodes.len() || group.has(node)
    }

    /// On how many nodes of a group a job may be at the most.
    pub(crate) fn most_nodes(&self, group: usize) -> u32 {
        let spread = self.spreads.map(|spreads| spreads[group]);
        spread.filter(|spread| spread.widest == COMPACT).map_or(u32::MAX - 1, |spread| spread.fewest)
    }

    /// The areas of a group of which one must hold the whole job.
    pub(crate) fn areas(&self, group: usize) -> impl Iterator<Item = &'a [u32]> {
        let Cluster { sites, .. } = *self.cluster;
        let level = self.spreads.map_or(sites.widest(), |spreads| spreads[group].widest);
        let nodes = &self.cluster.groups_for(self.shape)[group];
        self.cluster.areas_for(self.shape)[group].within(nodes, level, sites)
    }

    /// How far apart the nodes of a placement are: as the group says that counts them nearest.
    fn level(&self, placement: &Placement) -> Level {
        let Some(spreads) = self.spreads else { return COMPACT };
        let levels = self.groups_of(placement).map(|group| self.level_in(placement, &spreads[group]));
        levels.min().unwrap_or(COMPACT)
    }

    fn level_in(&self, placement: &Placement, spread: &Spread) -> Level {
        let count = placement.parts().count();
        if count < 2 {
            return COMPACT;
        }
        let nodes = placement.parts().map(|part| self.cluster.site(part.node));
        self.cluster.sites.level(nodes, count as u32 <= spread.fewest)
    }

    /// Whether a placement is close enough for one of the groups that hold it.
    pub(crate) fn accepts(&self, placement: &Placement) -> bool {
        let Some(spreads) = self.spreads else { return true };
        let is_near = |spread: &Spread| {
            spread.widest >= self.cluster.sites.widest() || self.level_in(placement, spread) <= spread.widest
        };
        let mut groups = self.groups_of(placement).peekable();
        groups.peek().is_none() || groups.any(|group| is_near(&spreads[group]))
    }

    /// The groups that hold a placement, one of those that this job may have.
    fn groups_of<'b>(&'b self, placement: &'b Placement) -> impl Iterator<Item = usize> + 'b {
        let groups = self.cluster.groups_for(self.shape);
        // Mostly there is one, and it holds it.
        let holds = move |group: &Group| groups.len() == 1 || placement.parts().all(|part| group.has(part.node));
        let any = placement.parts().next().is_some();
        groups.iter().enumerate().filter(move |(_, group)| any && holds(group)).map(|(place, _)| place)
    }
}
