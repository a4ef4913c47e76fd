//! The search for the earliest time at which a job has room on some nodes, for as long as it may take.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::dispatch::block::{Block, Terms, Walk};
use crate::dispatch::group_levels::GroupLevels;
use crate::dispatch::lanes::Lanes;
use crate::dispatch::timelines::Stretch;
use crate::model::free::Free;
use crate::model::groups::Group;
use crate::model::job::Shape;
use crate::sim::simulation::Simulation;

/// What is sought for a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sought {
    /// The starts that would do.
    pub(super) within: Stretch,
    /// The job fits at none of these unless it is by what became free behind this version.
    pub(super) since: Option<u64>,
    /// The job holds a reservation behind all these starts that is in the timelines; what it takes there is free for it. It
    /// lasts as long as the job may take.
    pub(super) holds: bool,
}

/// Kept from call to call to save allocations.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// A row.
    pub(super) least: Vec<i64>,
    /// What changes in a block, and on which nodes.
    pub(super) changes: Vec<(usize, i64)>,
    pub(super) nodes: Vec<u32>,
    /// How far a search has come, block by block, and when what it found there is over.
    walks: Vec<NodesWalk>,
    ends: BinaryHeap<Reverse<(i64, usize)>>,
    /// What a job holds by its reservation, by block and lane; nothing where it is not looked at.
    own: Vec<i64>,
}

/// How far a search has come on the nodes of a block.
#[derive(Clone, Debug)]
struct NodesWalk {
    /// Their places in the group.
    nodes: Range<usize>,
    walk: Walk,
    /// How many tasks have room there up to its next start.
    tasks: i64,
}

/// One search.
pub(super) struct Search<'a> {
    simulation: &'a Simulation,
    job: u32,
    shape: &'a Shape,
    lanes: &'a Lanes,
    blocks: &'a [Block],
    /// What has become free, where only that can help.
    gains: Option<&'a [(u64, Stretch)]>,
    /// From when on the job holds what is its own.
    own_ms: Option<i64>,
    span_ms: i64,
    within: Stretch,
    /// Which nodes are down; for the rest it is scratch space.
    room: &'a mut Free,
    scratch: &'a mut Scratch,
}

impl<'a> Search<'a> {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        simulation: &'a Simulation,
        job: u32,
        sought: &Sought,
        gains: Option<&'a [(u64, Stretch)]>,
        lanes: &'a Lanes,
        blocks: &'a [Block],
        room: &'a mut Free,
        scratch: &'a mut Scratch,
    ) -> Self {
        let state = simulation.state(job);
        let shape = simulation.setup.shape_of(state);
        let own_ms = sought.holds.then(|| state.reserved_ms());
        let span_ms = simulation.setup.longest_span_ms(state);
        room.copy_down(&simulation.machine.free);
        Search { simulation, job, shape, lanes, blocks, gains, own_ms, span_ms, within: sought.within, room, scratch }
    }

    /// The earliest start.
    pub(super) fn earliest_ms(mut self, levels: &mut GroupLevels) -> Option<i64> {
        self.within = self.gained(self.within)?;
        if self.simulation.setup.is_pool {
            return self.earliest_on_pool();
        }
        let cluster = &self.simulation.setup.cluster;
        let mut best = None;
        for group in cluster.groups_for(self.shape).iter().filter(|group| cluster.suits_group(group, self.shape)) {
            if let Some(start_ms) = self.earliest_in(group, levels) {
                self.within.until_ms = start_ms;
                best = Some(start_ms);
            }
        }
        best
    }

    /// The earliest start on a pool.
    fn earliest_on_pool(&mut self) -> Option<i64> {
        let cores_milli = self.simulation.setup.cores_milli(self.simulation.state(self.job));
        let own = [cores_milli];
        let own = self.own_ms.map(|own_ms| (own_ms, &own[..]));
        let terms = Terms { span_ms: self.span_ms, lanes: 1, width: 1, asked: cores_milli, own };
        self.blocks[0].first_with(&terms, self.within)
    }

    /// The earliest start on the nodes of a group: the levels say where to look.
    fn earliest_in(&mut self, group: &Group, levels: &mut GroupLevels) -> Option<i64> {
        let cluster = &self.simulation.setup.cluster;
        let Shape { cores_milli, gpu_milli, tasks, .. } = *self.shape;
        let asked = if gpu_milli > 0 { gpu_milli } else { cores_milli };
        if asked == 0 {
            return self.first_of(group, self.within);
        }
        let levels = levels.of(cluster, group, gpu_milli > 0, self.lanes, self.blocks);
        let terms = levels.terms(asked, tasks);
        let mut within = self.within;
        while within.from_ms < within.until_ms {
            let starts = levels.next_starts(&terms, within, self.span_ms, self.own_ms.unwrap_or(i64::MAX))?;
            within.from_ms = starts.until_ms;
            let found = self.gained(starts).and_then(|starts| self.first_of(group, starts));
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Those of some starts to which what has become free could be of use, and others between: the rest is known not to do.
    fn gained(&self, starts: Stretch) -> Option<Stretch> {
        let Some(gains) = self.gains else { return Some(starts) };
        let mut useful = Stretch { from_ms: i64::MAX, until_ms: i64::MIN };
        for (_, gain) in gains {
            let from_ms = starts.from_ms.max(gain.from_ms.saturating_sub(self.span_ms - 1));
            let until_ms = starts.until_ms.min(gain.until_ms);
            if from_ms < until_ms {
                useful.from_ms = useful.from_ms.min(from_ms);
                useful.until_ms = useful.until_ms.max(until_ms);
            }
        }
        (useful.from_ms < useful.until_ms).then_some(useful)
    }

    /// The first of these starts at which the nodes of a group have room.
    fn first_of(&mut self, group: &Group, starts: Stretch) -> Option<i64> {
        self.show_own(1);
        let found = self.sweep(group, starts);
        self.show_own(0);
        found
    }

    /// The job's own amounts are noted, or taken out again.
    fn show_own(&mut self, sign: i64) {
        if self.own_ms.is_none() {
            return;
        }
        let stride = self.lanes.without_devices();
        let own = &mut self.scratch.own;
        own.resize(self.blocks.len() * stride, 0);
        for part in self.simulation.state(self.job).placement.parts() {
            let first = self.lanes.block(part.node) * stride;
            let tasks = sign * i64::from(part.tasks);
            own[first + self.lanes.cores(part.node)] = tasks * self.shape.cores_milli;
            if let Some(lane) = self.lanes.memory(part.node) {
                own[first + lane] = tasks * self.shape.memory_mb;
            }
        }
    }

    /// The same. How many tasks have room is counted up block by block for the first start, and kept up from there.
    fn sweep(&mut self, group: &Group, starts: Stretch) -> Option<i64> {
        let wanted = i64::from(self.shape.tasks);
        let mut room = 0;
        self.scratch.walks.clear();
        self.scratch.ends.clear();
        for nodes in self.lanes.by_block(group) {
            let walk = self.blocks[self.lanes.block(nodes[0])].walk(starts.from_ms);
            let (walk, tasks) = self.step(nodes, walk);
            room += tasks;
            // Most find room at once.
            if room >= wanted {
                return Some(starts.from_ms);
            }
            let Scratch { walks, ends, .. } = &mut *self.scratch;
            let first = walks.last().map_or(0, |last: &NodesWalk| last.nodes.end);
            ends.push(Reverse((walk.start_ms, walks.len())));
            walks.push(NodesWalk { nodes: first..first + nodes.len(), walk, tasks });
        }
        let mut instant_ms = starts.from_ms;
        while let Some(&Reverse((end_ms, number))) = self.scratch.ends.peek() {
            // All that changes at one instant changes together.
            if end_ms > instant_ms && room >= wanted || end_ms >= starts.until_ms {
                break;
            }
            instant_ms = end_ms;
            let NodesWalk { nodes, walk, tasks: before } = self.scratch.walks[number].clone();
            let (walk, tasks) = self.step(&group[nodes.clone()], walk);
            room += tasks - before;
            self.scratch.walks[number] = NodesWalk { nodes, walk, tasks };
            if let Some(mut end) = self.scratch.ends.peek_mut() {
                *end = Reverse((walk.start_ms, number));
            }
        }
        (room >= wanted).then_some(instant_ms)
    }

    /// How many tasks have room on some nodes of a block from the next starts of a walk on, and the walk up to where that changes.
    fn step(&mut self, nodes: &[u32], mut walk: Walk) -> (Walk, i64) {
        let Search { simulation, shape, lanes, blocks, own_ms, span_ms, room, scratch, .. } = self;
        let Scratch { least, own, .. } = &mut **scratch;
        let cluster = &simulation.setup.cluster;
        let (number, stride, asked) = (lanes.block(nodes[0]), lanes.without_devices(), shape.asked()[0]);
        let block = &blocks[number];
        let terms = Terms {
            span_ms: *span_ms,
            lanes: lanes.asked(shape, block.lanes()),
            width: lanes.width(),
            asked,
            own: own_ms.map(|own_ms| (own_ms, &own[number * stride..][..stride])),
        };
        let mut tasks = 0;
        if block.step(&terms, &mut walk, least) {
            // Most nodes have no room: that is seen at once.
            for &node in nodes.iter().filter(|&&node| least[lanes.cores(node)] >= asked) {
                tasks += i64::from(lanes.capacity(room, cluster, shape, node, least));
            }
        }
        (walk, tasks)
    }
}
