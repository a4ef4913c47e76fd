//! The rules by which nodes are chosen for a job.

use std::cmp::Reverse;

use crate::model::cluster::{Cluster, UNTRACKED};
use crate::model::codes::from_code;
use crate::model::free::Free;
use crate::model::groups::Group;
use crate::model::job::Shape;
use crate::model::random::SplitMix64;
use crate::place::fragments::Class;
use crate::place::learned::HostPolicy;
use crate::place::locality::{Reach, Spread};
use crate::place::placement::{choose_devices, Part, Placement};
use crate::place::tiers::TierOrder;

/// The rules by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Rule {
    /// Nodes by number.
    FirstFit = 0,
    /// Nodes with the least room first.
    BestFit = 1,
    /// Nodes with the most room first.
    WorstFit = 2,
    /// As few nodes as possible.
    Pack = 3,
    /// As many nodes as possible, evenly.
    Spread = 4,
    /// Nodes in an order drawn for this job.
    Random = 5,
    /// The fastest GPUs.
    Fastest = 6,
    /// The slowest GPUs on which it fits.
    Slowest = 7,
    /// As few nodes as could do, or one more; of those choices, the least fragmentation.
    TieredDefrag = 8,
    /// The same; of those choices, the most even use.
    TieredBalance = 9,
    /// The same; of those choices, the smallest numbers of nodes.
    TieredLex = 10,
    /// What adds least to the fragmentation that the table's jobs would meet.
    Fgd = 11,
    /// One switch, or else one rack, if it fits.
    Topology = 12,
    /// The caller is asked.
    External = 13,
    /// A learned policy is asked.
    Learned = 14,
}

from_code!(Rule: FirstFit, BestFit, WorstFit, Pack, Spread, Random, Fastest, Slowest, TieredDefrag, TieredBalance, TieredLex, Fgd, Topology, External, Learned);

/// How good an area is: by the speed that is wanted, the nodes that it takes, the room there, the pool, and its number.
type AreaRank = (i64, usize, u64, usize, usize);

/// A job for which nodes are wanted, and what there is.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// The nodes.
    pub cluster: &'a Cluster,
    /// What is free on them.
    pub free: &'a Free,
    /// What the job asks for.
    pub shape: &'a Shape,
    /// Where random choices come from.
    pub seed: u64,
    /// The job's place in the table.
    pub job: u32,
    /// What the jobs of the table ask for.
    pub classes: &'a [Class],
    /// Who chooses, for the rule that is learned.
    pub policy: Option<&'a HostPolicy>,
    /// How far apart its nodes may be, group by group; none: as far as there is.
    pub(crate) spreads: Option<&'a [Spread]>,
}

/// A node that can take at least one task.
#[derive(Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) node: u32,
    pub(crate) capacity: u32,
    /// Free milli-GPUs if the job wants some, milli-cores, memory.
    room: (i64, i64, i64),
}

impl<'a> Search<'a> {
    /// Chooses nodes and devices for a job, or none if it does not fit.
    pub fn choose(&self, rule: Rule) -> Option<Placement> {
        self.narrowed(self.by_rule(rule)?, rule)
    }

    /// A placement if it is close enough for the job; otherwise one that is, if there is any.
    pub(crate) fn narrowed(&self, placement: Placement, rule: Rule) -> Option<Placement> {
        let reach = Reach { cluster: self.cluster, shape: self.shape, spreads: self.spreads };
        if reach.accepts(&placement) {
            return Some(placement);
        }
        let mut placement = self.packed_within(&reach, rule)?;
        choose_devices(self.cluster, self.free, self.shape, &mut placement);
        Some(placement)
    }

    /// Packed in one area: by the rules that go by speed, on their kind of GPU; then on the fewest nodes, where least room
    /// is, in the earlier pool.
    fn packed_within(&self, reach: &Reach<'a>, rule: Rule) -> Option<Placement> {
        let rank = |pool: &[u32]| match rule {
            Rule::Fastest if self.cluster.binds_to_pool(self.shape) => -self.cluster.speed_on(pool[0], self.shape),
            Rule::Slowest if self.cluster.binds_to_pool(self.shape) => self.cluster.speed_on(pool[0], self.shape),
            _ => 0,
        };
        let mut best: Option<(AreaRank, Placement)> = None;
        for (group, nodes) in self.groups().iter().enumerate() {
            for (number, area) in reach.areas(group).enumerate() {
                let Some(candidates) = self.enough(self.rooms(area)) else { continue };
                let room = candidates.iter().map(|candidate| u64::from(candidate.capacity)).sum();
                let placement = pack(candidates, self.shape.tasks);
                let count = placement.parts().count();
                let key = (rank(nodes), count, room, group, number);
                if count as u64 <= u64::from(reach.most_nodes(group)) && best.as_ref().is_none_or(|one| key < one.0) {
                    best = Some((key, placement));
                }
            }
        }
        best.map(|(_, placement)| placement)
    }

    fn by_rule(&self, rule: Rule) -> Option<Placement> {
        if self.free.is_too_little(self.shape) {
            return None;
        }
        if rule == Rule::Fgd && self.shape.gpu_milli > 0 && !self.shape.exclusive {
            return self.least_fragmenting();
        }
        let mut placement = match rule {
            Rule::Pack | Rule::External => self.pack(),
            Rule::Fastest => self.by_speed(|speed_micro| -speed_micro),
            Rule::Slowest => self.by_speed(|speed_micro| speed_micro),
            Rule::TieredDefrag => self.tiered(TierOrder::Defrag),
            Rule::TieredBalance => self.tiered(TierOrder::Balance),
            Rule::TieredLex => self.tiered(TierOrder::Lex),
            Rule::Topology => self.close_together(),
            Rule::Learned => self.policy.and_then(|policy| self.by_policy(policy)),
            _ => self.groups().iter().find_map(|group| self.fill_by_rule(group, rule)),
        }?;
        choose_devices(self.cluster, self.free, self.shape, &mut placement);
        Some(placement)
    }

    /// The groups of nodes of which one must hold the whole job.
    pub(crate) fn groups(&self) -> &'a [Group] {
        self.cluster.groups_for(self.shape)
    }

    fn fill_by_rule(&self, group: &Group, rule: Rule) -> Option<Placement> {
        let tasks = self.shape.tasks;
        if rule == Rule::FirstFit {
            return fill(tasks, self.with_room(group).map(|(node, tasks)| Part { node, tasks }));
        }
        let mut candidates = self.enough(self.with_room(group))?;
        if rule == Rule::Spread {
            return Some(spread(candidates, tasks));
        }
        self.sort(&mut candidates, rule);
        fill_candidates(tasks, &candidates)
    }

    /// Puts nodes into the order in which a rule fills them.
    fn sort(&self, candidates: &mut [Candidate], rule: Rule) {
        match rule {
            Rule::BestFit | Rule::Fgd => candidates.sort_by_key(|candidate| candidate.room),
            Rule::WorstFit => candidates.sort_by_key(|candidate| Reverse(candidate.room)),
            Rule::Random => SplitMix64::for_job(self.seed, self.job).shuffle(candidates),
            _ => {}
        }
    }

    /// The nodes for a job of one task, the rule's choice first, then what it would choose without that node, and so on; at
    /// most so many.
    pub(crate) fn ranking(&self, rule: Rule, most: usize) -> Vec<u32> {
        if let (Rule::Learned, Some(policy)) = (rule, self.policy) {
            return self.ranked_by(policy, most);
        }
        if matches!(rule, Rule::FirstFit | Rule::BestFit | Rule::WorstFit | Rule::Random) {
            // They fill nodes in an order that does not depend on how many they need.
            let mut candidates = self.groups().iter().find_map(|group| self.enough(self.with_room(group)));
            candidates.iter_mut().for_each(|candidates| self.sort(candidates, rule));
            return candidates.into_iter().flatten().map(|candidate| candidate.node).take(most).collect();
        }
        let (mut free, mut found) = (self.free.clone(), Vec::new());
        while found.len() < most {
            let chosen = Search { free: &free, ..*self }.choose(rule);
            let Some(part) = chosen.and_then(|placement| placement.parts().next().copied()) else { break };
            found.push(part.node);
            free.set_down(part.node, true);
        }
        found
    }

    /// The nodes of a group that can take a task, and how many; none if it is plain that together they cannot take all.
    pub(crate) fn with_room(&self, group: &'a Group) -> impl Iterator<Item = (u32, u32)> + 'a {
        let may_hold = self.free.may_hold(group, &self.shape.asked(), self.shape.tasks);
        may_hold.then(|| self.free.with_room(self.cluster, group, self.shape)).into_iter().flatten()
    }

    /// The same of a few nodes.
    fn rooms<'b>(&'b self, nodes: &'b [u32]) -> impl Iterator<Item = (u32, u32)> + 'b {
        nodes.iter().map(|&node| (node, self.free.capacity(self.cluster, node, self.shape)))
    }

    /// The nodes that can take a task, if together they can take all.
    pub(crate) fn enough(&self, rooms: impl Iterator<Item = (u32, u32)>) -> Option<Vec<Candidate>> {
        let with_room = rooms.filter(|&(_, capacity)| capacity > 0);
        let candidates: Vec<Candidate> = with_room.map(|(node, capacity)| self.candidate(node, capacity)).collect();
        let tasks: u64 = candidates.iter().map(|candidate| u64::from(candidate.capacity)).sum();
        (tasks >= u64::from(self.shape.tasks)).then_some(candidates)
    }

    fn candidate(&self, node: u32, capacity: u32) -> Candidate {
        let free = self.free;
        let gpu_milli = if self.shape.gpu_milli > 0 { free.gpu_milli(node) } else { 0 };
        let tracked = self.cluster.nodes[node as usize].memory_mb != UNTRACKED;
        let memory_mb = if tracked { free.memory_mb[node as usize] } else { 0 };
        Candidate { node, capacity, room: (gpu_milli, free.cores_milli[node as usize], memory_mb) }
    }

    /// As few nodes as possible, in the first of the groups where that is fewest.
    pub(crate) fn pack(&self) -> Option<Placement> {
        let packed =
            self.groups().iter().filter_map(|group| Some(pack(self.enough(self.with_room(group))?, self.shape.tasks)));
        packed.min_by_key(|placement| placement.parts().count())
    }

    /// Packed in the first pool, in the order of their speeds, that has room. A job that no pool binds has node after node.
    fn by_speed(&self, rank: impl Fn(i64) -> i64) -> Option<Placement> {
        let speed = |node: u32| rank(self.cluster.speed_on(node, self.shape));
        if self.cluster.binds_to_pool(self.shape) {
            let mut pools: Vec<&Group> = self.groups().iter().collect();
            pools.sort_by_key(|pool| speed(pool[0]));
            return pools.into_iter().find_map(|pool| Some(pack(self.enough(self.with_room(pool))?, self.shape.tasks)));
        }
        let mut candidates = self.groups().iter().find_map(|group| self.enough(self.with_room(group)))?;
        candidates.sort_by_key(|candidate| speed(candidate.node));
        fill_candidates(self.shape.tasks, &candidates)
    }

    /// Packed on one switch, else in one rack, else anywhere.
    fn close_together(&self) -> Option<Placement> {
        let nodes = &self.cluster.nodes;
        self.on_one(|node| nodes[node as usize].switch)
            .or_else(|| self.on_one(|node| nodes[node as usize].rack))
            .or_else(|| self.pack())
    }

    /// Packed on nodes with one answer: on the fewest, then where least room is, then in the earlier pool.
    fn on_one(&self, place_of: impl Fn(u32) -> Option<u32>) -> Option<Placement> {
        let mut best: Option<((usize, u64, usize, u32), Placement)> = None;
        for (pool, nodes) in self.groups().iter().enumerate() {
            let mut placed: Vec<(u32, u32)> = nodes.iter().filter_map(|&node| Some((place_of(node)?, node))).collect();
            placed.sort_unstable();
            for here in placed.chunk_by(|one, other| one.0 == other.0) {
                let numbers: Vec<u32> = here.iter().map(|&(_, node)| node).collect();
                let Some(candidates) = self.enough(self.rooms(&numbers)) else { continue };
                let room = candidates.iter().map(|candidate| u64::from(candidate.capacity)).sum();
                let placement = pack(candidates, self.shape.tasks);
                let key = (placement.parts().count(), room, pool, here[0].0);
                if best.as_ref().is_none_or(|(least, _)| key < *least) {
                    best = Some((key, placement));
                }
            }
        }
        best.map(|(_, placement)| placement)
    }
}

fn fill_candidates(tasks: u32, candidates: &[Candidate]) -> Option<Placement> {
    fill(tasks, candidates.iter().map(|candidate| Part { node: candidate.node, tasks: candidate.capacity }))
}

/// Fills the nodes in the order given, each with as many tasks as it can take.
fn fill(tasks: u32, nodes: impl Iterator<Item = Part>) -> Option<Placement> {
    let mut placement = Placement::default();
    let mut missing = tasks;
    for Part { node, tasks: capacity } in nodes {
        let here = capacity.min(missing);
        if here > 0 {
            placement.push(Part { node, tasks: here });
            missing -= here;
        }
        if missing == 0 {
            return Some(placement);
        }
    }
    None
}

/// Filling the greatest capacities first is the fewest nodes, since the tasks are alike; the rest goes where it is tightest.
fn pack(mut candidates: Vec<Candidate>, tasks: u32) -> Placement {
    let mut placement = Placement::default();
    let mut missing = tasks;
    let mut used = 0;
    // Most jobs find one node for all of it.
    if !candidates.iter().any(|candidate| candidate.capacity >= tasks) {
        candidates.sort_by_key(|candidate| (Reverse(candidate.capacity), candidate.room, candidate.node));
        while candidates[used].capacity < missing {
            let Candidate { node, capacity, .. } = candidates[used];
            placement.push(Part { node, tasks: capacity });
            missing -= capacity;
            used += 1;
        }
    }
    let last = candidates[used..]
        .iter()
        .filter(|candidate| candidate.capacity >= missing)
        .min_by_key(|candidate| (candidate.capacity, candidate.room, candidate.node));
    if let Some(last) = last {
        placement.push(Part { node: last.node, tasks: missing });
    }
    placement
}

/// Rounds of one task a node, counted instead of played: every node gets `level`, and the first few one more.
fn spread(mut candidates: Vec<Candidate>, tasks: u32) -> Placement {
    candidates.sort_by_key(|candidate| (Reverse(candidate.room), candidate.node));
    let given = |level: u32| candidates.iter().map(|candidate| u64::from(candidate.capacity.min(level))).sum::<u64>();
    // By halving: a job may have a million tasks, and playing the rounds would take as many.
    let (mut level, mut beyond) = (0, tasks + 1);
    while beyond - level > 1 {
        let middle = level + (beyond - level) / 2;
        if given(middle) <= u64::from(tasks) {
            level = middle;
        } else {
            beyond = middle;
        }
    }
    let mut missing = tasks - given(level) as u32;
    let mut placement = Placement::default();
    for candidate in &candidates {
        let extra = u32::from(missing > 0 && candidate.capacity > level);
        missing -= extra;
        if candidate.capacity.min(level) + extra > 0 {
            placement.push(Part { node: candidate.node, tasks: candidate.capacity.min(level) + extra });
        }
    }
    placement
}
