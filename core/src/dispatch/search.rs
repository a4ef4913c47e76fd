//! The search for the earliest time at which a job has room on some nodes, for as long as it may take.

use crate::dispatch::block::{Block, Starts};
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
    /// How many tasks more or less have room from an instant on.
    room: Vec<(i64, i64)>,
    /// What a job holds by its reservation, by block and lane; nothing where it is not looked at.
    own: Vec<i64>,
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
        let Stretch { from_ms, until_ms: before_ms } = self.within;
        let cores_milli = self.simulation.setup.cores_milli(self.simulation.state(self.job));
        let own = [cores_milli];
        let own = self.own_ms.map(|own_ms| (own_ms, &own[..]));
        let starts = Starts { from_ms, before_ms, span_ms: self.span_ms, lanes: 1, width: 1, asked: cores_milli, own };
        self.blocks[0].first_with(&starts)
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
        let Stretch { mut from_ms, until_ms } = starts;
        // Most find room at once, or soon: the time that is looked at becomes longer and longer.
        let mut length_ms = 1;
        let mut found = None;
        while found.is_none() && from_ms < until_ms {
            let starts = Stretch { from_ms, until_ms: from_ms.saturating_add(length_ms).min(until_ms) };
            found = self.first_within(group, starts);
            from_ms = starts.until_ms;
            length_ms = length_ms.saturating_mul(2).max(self.span_ms);
        }
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

    /// The first start at which all nodes together have room for all tasks.
    fn first_within(&mut self, group: &Group, starts: Stretch) -> Option<i64> {
        let Search { simulation, shape, lanes, blocks, own_ms, span_ms, room, scratch, .. } = self;
        let Scratch { least, room: changes, own, .. } = &mut **scratch;
        let cluster = &simulation.setup.cluster;
        let asked = shape.asked();
        let stride = lanes.without_devices();
        let wanted = i64::from(shape.tasks);
        let is_one_instant = starts.until_ms == starts.from_ms + 1;
        changes.clear();
        let mut most = 0;
        // Where some nodes have room for all tasks, only earlier starts are of interest on the others.
        let mut before_ms = starts.until_ms;
        for nodes in lanes.by_block(group) {
            let number = lanes.block(nodes[0]);
            let block = &blocks[number];
            let starts = Starts {
                from_ms: starts.from_ms,
                before_ms,
                span_ms: *span_ms,
                lanes: lanes.asked(shape, block.lanes()),
                width: lanes.width(),
                asked: asked[0],
                own: own_ms.map(|own_ms| (own_ms, &own[number * stride..][..stride])),
            };
            let mut most_here = 0;
            block.visit_starts(&starts, least, |from_ms, until_ms, least| {
                let mut tasks = 0;
                for &node in nodes {
                    // Most nodes have no room: that is seen at once.
                    if least[lanes.cores(node)] >= asked[0] {
                        tasks += i64::from(lanes.capacity(room, cluster, shape, node, least));
                    }
                }
                if tasks > 0 {
                    changes.extend([(from_ms, tasks), (until_ms, -tasks)]);
                    most_here = most_here.max(tasks);
                }
                if tasks >= wanted {
                    before_ms = from_ms;
                }
                tasks >= wanted
            });
            most += most_here;
            if is_one_instant && most >= wanted {
                return Some(starts.from_ms);
            }
        }
        if most < wanted {
            return None;
        }
        changes.sort_unstable_by_key(|&(instant_ms, _)| instant_ms);
        let mut room = 0;
        changes.chunk_by(|one, other| one.0 == other.0).find_map(|here| {
            room += here.iter().map(|&(_, tasks)| tasks).sum::<i64>();
            (room >= wanted).then_some(here[0].0)
        })
    }
}
