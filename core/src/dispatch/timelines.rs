//! The projection node by node: what is free on each over time. A job is sought room for, and a reservation held against
//! what has become free since, by a look at a few instants of some nodes instead of a walk through all that changes.

use crate::dispatch::timeline::{Starts, Timeline};
use crate::model::cluster::Cluster;
use crate::model::free::Free;
use crate::model::groups::Group;
use crate::model::job::Shape;
use crate::model::peaks::Amounts;
use crate::place::placement::{Part, Placement};
use crate::place::rules::Rule;
use crate::sim::job_state::{Gained, JobState, Reservation};
use crate::sim::setup::Setup;
use crate::sim::simulation::Simulation;

/// When something changes on nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) from_ms: i64,
    /// Before this.
    pub(crate) until_ms: i64,
}

/// More has become free on a node, perhaps several times.
#[derive(Clone, Copy, Debug)]
struct Gain {
    /// `Promises::freed` since the last time.
    version: u64,
    node: u32,
    /// From the first to the last instant at which more is free.
    stretch: Stretch,
    /// How much more at the most, in milli-cores and memory.
    amounts: [i64; 2],
    /// How much is free at the most at any of these instants.
    most: [i64; 2],
}

/// What is free on each node over time.
#[derive(Clone, Debug)]
pub(super) struct Timelines {
    nodes: Vec<Timeline>,
    /// What has become free since a version that the oldest plan knew of.
    gains: Vec<Gain>,
    /// From this place on, gains are of the present pass; each node is among those but once, by `latest`.
    present: usize,
    /// For each node, its place among the gains; it is the node's if that names it.
    latest: Vec<u32>,
    /// At how many tasks' room the last search fell short.
    missing: u32,
    /// By node, how many tasks one placement has there while it is looked at; 0 otherwise.
    tasks_on: Vec<u32>,
    /// Of what became free before this version nothing is known.
    known_from: u64,
    /// Kept from call to call to save allocations: a row, and how many tasks more or less have room from an instant on.
    least: Vec<i64>,
    changes: Vec<(i64, i64)>,
}

impl Timelines {
    /// What is free now, and stays so.
    pub(super) fn new(simulation: &Simulation) -> Self {
        let (cluster, free) = (&simulation.setup.cluster, &simulation.machine.free);
        let timeline = |node: u32| {
            let place = node as usize;
            Timeline::new(free.cores_milli[place], free.memory_mb[place], free.devices(cluster, node))
        };
        Timelines {
            nodes: (0..cluster.nodes.len() as u32).map(timeline).collect(),
            gains: Vec::new(),
            present: 0,
            latest: vec![0; cluster.nodes.len()],
            missing: 1,
            tasks_on: vec![0; cluster.nodes.len()],
            known_from: simulation.promises.freed,
            least: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// A job takes what it uses where its state says (`sign` is -1), or gives it back (1).
    pub(super) fn change(&mut self, setup: &Setup, state: &JobState, stretch: Stretch, sign: i64) {
        let Stretch { from_ms, until_ms } = stretch;
        if from_ms >= until_ms {
            return;
        }
        let stretch = (from_ms, until_ms);
        if setup.is_pool {
            return self.nodes[0].change(stretch, [sign * setup.cores_milli(state), 0], std::iter::empty());
        }
        let shape = setup.shape_of(state);
        let mut shares = state.placement.shares_by_node(shape);
        for part in state.placement.parts() {
            let amounts = [shape.cores_milli, shape.memory_mb].map(|amount| sign * i64::from(part.tasks) * amount);
            let first = setup.cluster.device_offsets[part.node as usize];
            let here = shares.next().map_or(&[][..], |(_, shares)| shares);
            let devices = here.iter().map(|share| ((share.device - first) as usize, sign * i64::from(share.milli)));
            self.nodes[part.node as usize].change(stretch, amounts, devices);
        }
    }

    /// More has become free on the nodes of a placement of a job of this shape; `version` says since when that is known.
    pub(super) fn note_gain(&mut self, shape: &Shape, placement: &Placement, stretch: Stretch, version: u64) {
        placement.parts().for_each(|part| self.note_gain_on(shape, part, stretch, version));
    }

    /// The same where a job of this shape leaves some nodes and takes others, or the same at another time.
    pub(super) fn note_move(
        &mut self,
        shape: &Shape,
        old: (&Placement, Stretch),
        new: (&Placement, Stretch),
        version: u64,
    ) {
        new.0.parts().for_each(|part| self.tasks_on[part.node as usize] = part.tasks);
        let (before, now) = (old.1, new.1);
        let overlaps = now.from_ms <= before.from_ms && before.from_ms < now.until_ms && shape.gpu_milli == 0;
        for part in old.0.parts() {
            // Where it is as before, only what it no longer needs at the end is free.
            let stays = overlaps && self.tasks_on[part.node as usize] >= part.tasks;
            let from_ms = if stays { now.until_ms } else { before.from_ms };
            self.note_gain_on(shape, part, Stretch { from_ms, ..before }, version);
        }
        new.0.parts().for_each(|part| self.tasks_on[part.node as usize] = 0);
    }

    fn note_gain_on(&mut self, shape: &Shape, part: &Part, stretch: Stretch, version: u64) {
        if stretch.from_ms >= stretch.until_ms {
            return;
        }
        let amounts = [shape.cores_milli, shape.memory_mb].map(|amount| i64::from(part.tasks) * amount);
        let timeline = &self.nodes[part.node as usize];
        let place = self.latest[part.node as usize] as usize;
        match self.gains.get_mut(place).filter(|gain| gain.node == part.node) {
            Some(gain) if place >= self.present => {
                gain.version = version;
                gain.stretch.from_ms = gain.stretch.from_ms.min(stretch.from_ms);
                gain.stretch.until_ms = gain.stretch.until_ms.max(stretch.until_ms);
                gain.amounts = [0, 1].map(|one| gain.amounts[one] + amounts[one]);
                gain.most = timeline.most_in(gain.stretch.from_ms, gain.stretch.until_ms);
                return;
            }
            // More is free than was known then.
            Some(gain) => gain.most = [i64::MAX; 2],
            None => {}
        }
        self.latest[part.node as usize] = self.gains.len() as u32;
        let most = timeline.most_in(stretch.from_ms, stretch.until_ms);
        self.gains.push(Gain { version, node: part.node, stretch, amounts, most });
    }

    /// Of what became free before this version nothing is known.
    pub(super) fn forget_plans(&mut self, version: u64) {
        self.known_from = version;
    }

    /// All plans know of what became free up to this version: a pass is over.
    pub(super) fn forget_gains(&mut self, version: u64) {
        self.gains.retain(|gain| gain.version > version);
        self.present = self.gains.len();
        (0..).zip(&self.gains).for_each(|(place, gain)| self.latest[gain.node as usize] = place);
    }

    /// At how many tasks' room the last search fell short, at the least.
    pub(super) fn missing(&self) -> u32 {
        self.missing
    }

    /// Nobody will ask about the time before this instant.
    pub(super) fn forget_before(&mut self, placement: &Placement, instant_ms: i64) {
        placement.parts().for_each(|part| self.nodes[part.node as usize].forget_before(instant_ms));
    }

    /// What room has come up, at the most, for a job before the reservation that it holds, since that was planned.
    pub(super) fn gained(&mut self, simulation: &Simulation, job: u32, held: &Reservation) -> Gained {
        let now_ms = simulation.now_ms();
        let mut gained = held.gained;
        if held.planned_at < self.known_from {
            gained.add(u32::MAX, now_ms, held.start_ms);
            return gained;
        }
        let state = simulation.state(job);
        let shape = simulation.setup.shape_of(state);
        let span_ms = simulation.setup.longest_span_ms(state);
        let own_ms = (held.start_ms, held.start_ms + simulation.setup.span_on(state, &state.placement));
        let asked = asked_of(simulation, state);
        let Timelines { nodes, gains, least, tasks_on, .. } = self;
        state.placement.parts().for_each(|part| tasks_on[part.node as usize] = part.tasks);
        for gain in gains.iter().filter(|gain| gain.version > held.planned_at) {
            let from_ms = now_ms.max(gain.stretch.from_ms - span_ms + 1);
            let before_ms = gain.stretch.until_ms.min(held.start_ms);
            if from_ms >= before_ms || !may_use(simulation, gain.node, shape) {
                continue;
            }
            let is_own = tasks_on[gain.node as usize] > 0;
            // What the job itself takes does not count among what is free.
            let is_seen = !is_own || gain.stretch.until_ms <= held.start_ms;
            if is_seen && (gain.most[0] < asked[0] || gain.most[1] < asked[1]) {
                continue;
            }
            let own_ms = if is_own { own_ms } else { (0, 0) };
            let starts = Starts { from_ms, before_ms, span_ms, asked, own_ms };
            let most = most_tasks(simulation, shape, gain);
            let (mut more, mut first_ms) = (0, before_ms);
            nodes[gain.node as usize].visit_starts(&starts, least, |start_ms, _, row| {
                first_ms = first_ms.min(start_ms);
                more = most.min(tasks_at(&asked, row)).max(more);
                more == most
            });
            if more > 0 {
                gained.add(more, first_ms, before_ms);
            }
        }
        state.placement.parts().for_each(|part| tasks_on[part.node as usize] = 0);
        gained
    }

    /// The earliest of these times at which a job fits for the whole of its longest span. `room` is scratch space.
    pub(super) fn earliest_ms(
        &mut self,
        simulation: &Simulation,
        job: u32,
        within: Stretch,
        room: &mut Free,
    ) -> Option<i64> {
        let state = simulation.state(job);
        let mut starts = Starts {
            from_ms: within.from_ms,
            before_ms: within.until_ms,
            span_ms: simulation.setup.longest_span_ms(state),
            asked: asked_of(simulation, state),
            own_ms: (0, 0),
        };
        self.missing = 1;
        if simulation.setup.is_pool {
            return self.first_on(&[0], &starts, |_, _| 1);
        }
        room.copy_down(&simulation.machine.free);
        let shape = simulation.setup.shape_of(state);
        self.missing = shape.tasks;
        let is_open = within.until_ms == i64::MAX;
        if is_open {
            if self.fits_from_now(simulation, shape, &starts, room) {
                return Some(starts.from_ms);
            }
            starts.from_ms += 1;
        }
        // Most find room soon: first a short time is looked at, then one that is twice as long, and so on.
        let mut length_ms = if is_open { starts.span_ms } else { i64::MAX };
        while starts.from_ms < within.until_ms {
            starts.before_ms = starts.from_ms.saturating_add(length_ms).min(within.until_ms);
            if let Some(start_ms) = self.first_of(&simulation.setup.cluster, shape, &starts, room) {
                return Some(start_ms);
            }
            (starts.from_ms, length_ms) = (starts.before_ms, length_ms.saturating_mul(2));
        }
        None
    }

    /// Whether a job of this shape fits if it starts now: only nodes that have room now are looked at.
    fn fits_from_now(&mut self, simulation: &Simulation, shape: &Shape, starts: &Starts, room: &mut Free) -> bool {
        let (cluster, free) = (&simulation.setup.cluster, &simulation.machine.free);
        let now = Starts { before_ms: starts.from_ms + 1, ..*starts };
        cluster.groups_for(shape).iter().filter(|group| cluster.suits_group(group, shape)).any(|group| {
            let mut missing = shape.tasks;
            for (node, _) in free.with_room(cluster, group, shape) {
                self.nodes[node as usize].visit_starts(&now, &mut self.least, |_, _, row| {
                    missing = missing.saturating_sub(capacity(room, cluster, shape, node, row));
                    true
                });
                if missing == 0 {
                    return true;
                }
            }
            self.missing = self.missing.min(missing);
            false
        })
    }

    /// The first start at which a job of this shape fits.
    fn first_of(&mut self, cluster: &Cluster, shape: &Shape, starts: &Starts, room: &mut Free) -> Option<i64> {
        let mut capacity = |node: u32, row: &[i64]| capacity(room, cluster, shape, node, row);
        let (mut starts, mut best) = (*starts, None);
        for group in cluster.groups_for(shape).iter().filter(|group| cluster.suits_group(group, shape)) {
            let found = match shape.tasks {
                1 => self.first_on(group, &starts, &mut capacity),
                _ => self.first_with_all(group, shape, &starts, &mut capacity),
            };
            if let Some(start_ms) = found {
                starts.before_ms = start_ms;
                best = found;
            }
        }
        best
    }

    /// The first start at which any of these nodes has room.
    fn first_on(
        &mut self,
        nodes: &[u32],
        starts: &Starts,
        mut capacity: impl FnMut(u32, &[i64]) -> u32,
    ) -> Option<i64> {
        let mut starts = *starts;
        let mut best = None;
        for &node in nodes {
            self.nodes[node as usize].visit_starts(&starts, &mut self.least, |start_ms, _, row| {
                let has_room = capacity(node, row) > 0;
                if has_room {
                    best = Some(start_ms);
                }
                has_room
            });
            starts.before_ms = best.unwrap_or(starts.before_ms);
        }
        best
    }

    /// The first start at which the nodes of a group together have room for all tasks.
    fn first_with_all(
        &mut self,
        group: &Group,
        shape: &Shape,
        starts: &Starts,
        mut capacity: impl FnMut(u32, &[i64]) -> u32,
    ) -> Option<i64> {
        self.changes.clear();
        let mut most = 0;
        for &node in group.iter() {
            let mut most_here = 0;
            self.nodes[node as usize].visit_starts(starts, &mut self.least, |from_ms, until_ms, row| {
                let tasks = i64::from(capacity(node, row));
                if tasks > 0 {
                    self.changes.extend([(from_ms, tasks), (until_ms, -tasks)]);
                    most_here = most_here.max(tasks);
                }
                false
            });
            most += most_here;
        }
        let tasks = i64::from(shape.tasks);
        if most < tasks {
            self.missing = self.missing.min((tasks - most) as u32);
            return None;
        }
        self.changes.sort_unstable_by_key(|&(instant_ms, _)| instant_ms);
        let (mut room, mut most) = (0, 0);
        for here in self.changes.chunk_by(|one, other| one.0 == other.0) {
            room += here.iter().map(|&(_, tasks)| tasks).sum::<i64>();
            if room >= tasks {
                self.missing = self.missing.min((tasks - most) as u32);
                return Some(here[0].0);
            }
            most = most.max(room);
        }
        self.missing = self.missing.min((tasks - most) as u32);
        None
    }

    /// Leaves in `free` what stays free from an instant on for so long. For a rule that takes nodes by number, as many are
    /// looked at as hold all tasks of this shape; what is left of the others does not matter then. Of several partitions
    /// one must hold all tasks, so that all nodes are looked at.
    pub(super) fn free_during(&mut self, simulation: &Simulation, shape: &Shape, during: Stretch, free: &mut Free) {
        let Setup { cluster, config, .. } = &simulation.setup;
        free.copy_down(&simulation.machine.free);
        let has_choice = cluster.choices_for(shape).len() > 1;
        let by_number = config.placement == Rule::FirstFit && shape.gpu_milli == 0 && !has_choice;
        let mut missing = if by_number { shape.tasks } else { u32::MAX };
        for &node in cluster.nodes_for(shape) {
            self.nodes[node as usize].least_in(during.from_ms, during.until_ms, &mut self.least);
            missing = missing.saturating_sub(capacity(free, cluster, shape, node, &self.least));
            if by_number && missing == 0 {
                return;
            }
        }
    }

    /// Whether a reservation that is not in the projection has room on its own nodes.
    pub(super) fn has_room(&mut self, simulation: &Simulation, job: u32) -> bool {
        let state = simulation.state(job);
        let reserved_ms = state.reserved_ms();
        let until_ms = reserved_ms + simulation.setup.span_on(state, &state.placement);
        let held = Stretch { from_ms: reserved_ms, until_ms };
        self.change(&simulation.setup, state, held, -1);
        let shape = simulation.setup.shape_of(state);
        let takes = [simulation.setup.is_pool || shape.cores_milli > 0, shape.memory_mb > 0, false];
        let mut shares = state.placement.shares_by_node(shape);
        let has_room = state.placement.parts().all(|part| {
            self.nodes[part.node as usize].least_in(reserved_ms, until_ms, &mut self.least);
            let first = simulation.setup.cluster.device_offsets[part.node as usize];
            let mut devices = shares.next().map_or(&[][..], |(_, shares)| shares).iter();
            let is_whole = |device: u32| Timeline::devices(&self.least)[(device - first) as usize] >= 0;
            self.least.iter().zip(takes).all(|(&amount, takes)| !takes || amount >= 0)
                && !simulation.machine.free.is_down(part.node)
                && devices.all(|share| is_whole(share.device))
        });
        self.change(&simulation.setup, state, held, 1);
        has_room
    }
}

/// How many tasks of a shape a node has room for on which so much is free; that is noted in `free`.
fn capacity(free: &mut Free, cluster: &Cluster, shape: &Shape, node: u32, row: &[i64]) -> u32 {
    free.set_node(cluster, node, row[0], row[1], Timeline::devices(row));
    free.capacity(cluster, node, shape)
}

/// For how many more tasks of a shape there can be room on a node that has gained so much: each amount for as many as it
/// could complete. Of devices nothing is known, nor of a pool, where a job is one task.
fn most_tasks(simulation: &Simulation, shape: &Shape, gain: &Gain) -> u32 {
    if simulation.setup.is_pool || shape.gpu_milli > 0 {
        return u32::MAX;
    }
    let completed = |asked: i64, gained: i64| if asked > 0 { (gained + asked - 1) / asked } else { 0 };
    let most = completed(shape.cores_milli, gain.amounts[0]).max(completed(shape.memory_mb, gain.amounts[1]));
    u32::try_from(most).unwrap_or(u32::MAX)
}

/// How many tasks that ask for so much could have room.
fn tasks_at(asked: &Amounts, row: &[i64]) -> u32 {
    let tasks = row.iter().zip(asked).filter(|(_, &asked)| asked > 0).map(|(&amount, &asked)| amount / asked).min();
    u32::try_from(tasks.unwrap_or(i64::MAX)).unwrap_or(u32::MAX)
}

/// What a task asks for; on a pool, the job.
fn asked_of(simulation: &Simulation, state: &JobState) -> Amounts {
    if simulation.setup.is_pool {
        return [simulation.setup.cores_milli(state), i64::MIN, i64::MIN];
    }
    simulation.setup.shape_of(state).asked()
}

/// Whether jobs of a shape may go to a node.
fn may_use(simulation: &Simulation, node: u32, shape: &Shape) -> bool {
    let cluster: &Cluster = &simulation.setup.cluster;
    let nodes = cluster.nodes_for(shape);
    (nodes.len() == cluster.nodes.len() || nodes.binary_search(&node).is_ok()) && cluster.suits(node, shape)
}
