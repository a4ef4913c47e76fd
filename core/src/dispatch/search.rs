//! The search for the earliest time at which a job has room on some nodes, for as long as it may take.

use crate::dispatch::group_levels::GroupLevels;
use crate::dispatch::timeline::{Starts, Timeline, NOTHING_OWN};
use crate::dispatch::timelines::Stretch;
use crate::model::cluster::Cluster;
use crate::model::free::Free;
use crate::model::groups::Group;
use crate::model::job::Shape;
use crate::sim::job_state::JobState;
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

/// Kept from search to search to save allocations: a row, and how many tasks more or less have room from an instant on.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    pub(super) least: Vec<i64>,
    changes: Vec<(i64, i64)>,
}

/// One search.
pub(super) struct Search<'a> {
    simulation: &'a Simulation,
    shape: &'a Shape,
    nodes: &'a [Timeline],
    /// What has become free, where only that can help.
    gains: Option<&'a [(u64, Stretch)]>,
    /// By node, how many tasks the job holds by its reservation.
    tasks_on: &'a [u32],
    /// From when on.
    own_ms: i64,
    /// All that may do, on a node of which the job holds nothing.
    starts: Starts,
    /// Which nodes are down; for the rest it is scratch space.
    room: &'a mut Free,
    scratch: &'a mut Scratch,
}

impl<'a> Search<'a> {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        simulation: &'a Simulation,
        state: &JobState,
        sought: &Sought,
        nodes: &'a [Timeline],
        gains: Option<&'a [(u64, Stretch)]>,
        tasks_on: &'a [u32],
        room: &'a mut Free,
        scratch: &'a mut Scratch,
    ) -> Self {
        let setup = &simulation.setup;
        let shape = setup.shape_of(state);
        let asked = if setup.is_pool { [setup.cores_milli(state), i64::MIN, i64::MIN] } else { shape.asked() };
        let Stretch { from_ms, until_ms: before_ms } = sought.within;
        let starts = Starts { from_ms, before_ms, span_ms: setup.longest_span_ms(state), asked, own: NOTHING_OWN };
        let own_ms = if sought.holds { state.reserved_ms() } else { i64::MAX };
        Search { simulation, shape, nodes, gains, tasks_on, own_ms, starts, room, scratch }
    }

    /// The earliest start.
    pub(super) fn earliest_ms(mut self, levels: &mut GroupLevels) -> Option<i64> {
        if self.simulation.setup.is_pool {
            let starts = self.gained(self.starts)?;
            let own = (self.own_ms, [self.starts.asked[0], 0]);
            return first_on_pool(&self.nodes[0], &Starts { own, ..starts }, &mut self.scratch.least);
        }
        let cluster = &self.simulation.setup.cluster;
        let mut best = None;
        for group in cluster.groups_for(self.shape).iter().filter(|group| cluster.suits_group(group, self.shape)) {
            if let Some(start_ms) = self.earliest_in(group, levels) {
                self.starts.before_ms = start_ms;
                best = Some(start_ms);
            }
        }
        best
    }

    /// The earliest start on the nodes of a group: the levels say where to look.
    fn earliest_in(&mut self, group: &Group, levels: &mut GroupLevels) -> Option<i64> {
        let cluster = &self.simulation.setup.cluster;
        let Shape { cores_milli, gpu_milli, tasks, .. } = *self.shape;
        let asked = if gpu_milli > 0 { gpu_milli } else { cores_milli };
        if asked == 0 {
            return self.first_of(group, self.starts);
        }
        let levels = levels.of(cluster, group, gpu_milli > 0, self.nodes);
        let terms = levels.terms(asked, tasks);
        let mut within = Stretch { from_ms: self.starts.from_ms, until_ms: self.starts.before_ms };
        while within.from_ms < within.until_ms {
            let Stretch { from_ms, until_ms } =
                levels.next_starts(&terms, within, self.starts.span_ms, self.own_ms)?;
            within.from_ms = until_ms;
            let found = self.first_of(group, Starts { from_ms, before_ms: until_ms, ..self.starts });
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Those of some starts to which what has become free could be of use: all others are known not to do.
    fn gained(&self, starts: Starts) -> Option<Starts> {
        let Some(gains) = self.gains else { return Some(starts) };
        let (mut from_ms, mut before_ms) = (i64::MAX, i64::MIN);
        for (_, gain) in gains {
            let first_ms = starts.from_ms.max(gain.from_ms.saturating_sub(starts.span_ms - 1));
            let behind_ms = starts.before_ms.min(gain.until_ms);
            if first_ms < behind_ms {
                (from_ms, before_ms) = (from_ms.min(first_ms), before_ms.max(behind_ms));
            }
        }
        (from_ms < before_ms).then_some(Starts { from_ms, before_ms, ..starts })
    }

    /// The first of these starts at which the nodes of a group have room.
    fn first_of(&mut self, group: &Group, starts: Starts) -> Option<i64> {
        let Starts { mut from_ms, before_ms, span_ms, .. } = self.gained(starts)?;
        if from_ms == self.simulation.now_ms() {
            if self.fits_from_now(group) {
                return Some(from_ms);
            }
            from_ms += 1;
        }
        // Most find room soon: first a short time is looked at, then one that is twice as long, and so on.
        let mut length_ms = span_ms;
        while from_ms < before_ms {
            let until_ms = from_ms.saturating_add(length_ms).min(before_ms);
            let starts = Starts { from_ms, before_ms: until_ms, ..starts };
            let found = match self.shape.tasks {
                1 => self.first_on_one(group, starts),
                _ => self.first_with_all(group, starts),
            };
            if found.is_some() {
                return found;
            }
            (from_ms, length_ms) = (until_ms, length_ms.saturating_mul(2));
        }
        None
    }

    /// Whether the job fits if it starts now: only nodes that have room now are looked at.
    fn fits_from_now(&mut self, group: &Group) -> bool {
        let Simulation { setup, machine, .. } = self.simulation;
        let from_ms = self.simulation.now_ms();
        let mut missing = self.shape.tasks;
        machine.free.with_room(&setup.cluster, group, self.shape).any(|(node, _)| {
            let starts = Starts { from_ms, before_ms: from_ms + 1, ..self.starts };
            self.visit(node, starts, |_, _, tasks| {
                missing = missing.saturating_sub(tasks);
                true
            });
            missing == 0
        })
    }

    /// The first start at which any node has room for a job that is one task.
    fn first_on_one(&mut self, group: &Group, mut starts: Starts) -> Option<i64> {
        let mut best = None;
        for &node in group.iter() {
            self.visit(node, starts, |start_ms, _, tasks| {
                if tasks > 0 {
                    best = Some(start_ms);
                }
                tasks > 0
            });
            starts.before_ms = best.unwrap_or(starts.before_ms);
            if starts.before_ms == starts.from_ms {
                break;
            }
        }
        best
    }

    /// The first start at which all nodes together have room for all tasks.
    fn first_with_all(&mut self, group: &Group, starts: Starts) -> Option<i64> {
        let mut changes = std::mem::take(&mut self.scratch.changes);
        changes.clear();
        let mut most = 0;
        for &node in group.iter() {
            let mut most_here = 0;
            self.visit(node, starts, |from_ms, until_ms, tasks| {
                let tasks = i64::from(tasks);
                if tasks > 0 {
                    changes.extend([(from_ms, tasks), (until_ms, -tasks)]);
                    most_here = most_here.max(tasks);
                }
                false
            });
            most += most_here;
        }
        let tasks = i64::from(self.shape.tasks);
        let mut found = None;
        if most >= tasks {
            changes.sort_unstable_by_key(|&(instant_ms, _)| instant_ms);
            let mut room = 0;
            found = changes.chunk_by(|one, other| one.0 == other.0).find_map(|here| {
                room += here.iter().map(|&(_, tasks)| tasks).sum::<i64>();
                (room >= tasks).then_some(here[0].0)
            });
        }
        self.scratch.changes = changes;
        found
    }

    /// Goes through the starts at which a node may have room: from when on, until before when, and for how many tasks.
    #[inline]
    fn visit(&mut self, node: u32, mut starts: Starts, mut visit: impl FnMut(i64, i64, u32) -> bool) {
        let Search { simulation, shape, room, .. } = self;
        let tasks = i64::from(self.tasks_on[node as usize]);
        if tasks > 0 {
            starts.own = (self.own_ms, [tasks * shape.cores_milli, tasks * shape.memory_mb]);
        }
        let cluster = &simulation.setup.cluster;
        self.nodes[node as usize].visit_starts(&starts, &mut self.scratch.least, |from_ms, until_ms, row| {
            visit(from_ms, until_ms, capacity(room, cluster, shape, node, row))
        });
    }
}

/// The first start at which a pool has room.
fn first_on_pool(pool: &Timeline, starts: &Starts, least: &mut Vec<i64>) -> Option<i64> {
    let mut first_ms = None;
    pool.visit_starts(starts, least, |start_ms, _, _| {
        first_ms = Some(start_ms);
        true
    });
    first_ms
}

/// How many tasks of a shape a node has room for on which so much is free; that is noted in `free`.
pub(super) fn capacity(free: &mut Free, cluster: &Cluster, shape: &Shape, node: u32, row: &[i64]) -> u32 {
    free.set_node(cluster, node, row[0], row[1], Timeline::devices(row));
    free.capacity(cluster, node, shape)
}
