//! The projection node by node: what is free on each over time. A job is sought room for, and a reservation held against
//! what has become free since, by a look at a few instants of some nodes instead of a walk through all that changes.

use crate::dispatch::group_levels::GroupLevels;
use crate::dispatch::search::{capacity, Scratch, Search, Sought};
use crate::dispatch::timeline::Timeline;
use crate::model::free::Free;
use crate::model::job::Shape;
use crate::place::placement::Placement;
use crate::place::rules::Rule;
use crate::sim::job_state::JobState;
use crate::sim::setup::Setup;
use crate::sim::simulation::Simulation;

/// When something changes on nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) from_ms: i64,
    /// Before this.
    pub(crate) until_ms: i64,
}

/// At any time.
const ALWAYS: Stretch = Stretch { from_ms: i64::MIN, until_ms: i64::MAX };

/// What is free on each node over time.
#[derive(Clone, Debug)]
pub(super) struct Timelines {
    nodes: Vec<Timeline>,
    /// How many nodes of each group have how much.
    levels: GroupLevels,
    /// When more has become free, and `Promises::freed` then, which grows: since a version that the oldest plan knew of.
    gains: Vec<(u64, Stretch)>,
    /// By node, how many tasks one placement has there while it is looked at; 0 otherwise.
    tasks_on: Vec<u32>,
    scratch: Scratch,
}

impl Timelines {
    /// What is free now, and stays so. No plan knows of it.
    pub(super) fn new(simulation: &Simulation) -> Self {
        let (cluster, free) = (&simulation.setup.cluster, &simulation.machine.free);
        let timeline = |node: u32| {
            let place = node as usize;
            Timeline::new(free.cores_milli[place], free.memory_mb[place], free.devices(cluster, node))
        };
        Timelines {
            nodes: (0..cluster.nodes.len() as u32).map(timeline).collect(),
            levels: GroupLevels::new(cluster),
            gains: vec![(simulation.promises.freed, ALWAYS)],
            tasks_on: vec![0; cluster.nodes.len()],
            scratch: Scratch::default(),
        }
    }

    /// A job takes what it uses where its state says (`sign` is -1), or gives it back (1).
    pub(super) fn change(&mut self, setup: &Setup, state: &JobState, stretch: Stretch, sign: i64) {
        if stretch.from_ms >= stretch.until_ms {
            return;
        }
        let Timelines { nodes, levels, .. } = self;
        if setup.is_pool {
            let amounts = [sign * setup.cores_milli(state), 0];
            return nodes[0].change(stretch, amounts, std::iter::empty(), |_, _, _, _| {});
        }
        let shape = setup.shape_of(state);
        let mut shares = state.placement.shares_by_node(shape);
        for part in state.placement.parts() {
            let amounts = [shape.cores_milli, shape.memory_mb].map(|amount| sign * i64::from(part.tasks) * amount);
            let first = setup.cluster.device_offsets[part.node as usize];
            let here = shares.next().map_or(&[][..], |(_, shares)| shares);
            let devices = here.iter().map(|share| ((share.device - first) as usize, sign * i64::from(share.milli)));
            nodes[part.node as usize].change(stretch, amounts, devices, |column, stretch, before, now| {
                levels.change(&setup.cluster, part.node, column, stretch, before, now);
            });
        }
    }

    /// More has become free for a time; `version` says since when that is known.
    pub(super) fn note_gain(&mut self, stretch: Stretch, version: u64) {
        if stretch.from_ms < stretch.until_ms {
            self.gains.push((version, stretch));
        }
    }

    /// Of what became free before this version nothing is known.
    pub(super) fn forget_plans(&mut self, version: u64) {
        self.note_gain(ALWAYS, version);
    }

    /// All plans know of what became free up to this version: a pass is over. Nobody will ask about the time before `now_ms`.
    pub(super) fn forget(&mut self, version: u64, now_ms: i64) {
        self.gains.retain(|gain| gain.0 > version);
        self.levels.forget_before(now_ms);
    }

    /// Nobody will ask about the time before this instant.
    pub(super) fn forget_before(&mut self, placement: &Placement, instant_ms: i64) {
        placement.parts().for_each(|part| self.nodes[part.node as usize].forget_before(instant_ms));
    }

    /// The earliest time that is sought for a job; `room` is scratch space.
    pub(super) fn earliest_ms(
        &mut self,
        simulation: &Simulation,
        job: u32,
        sought: &Sought,
        room: &mut Free,
    ) -> Option<i64> {
        let Timelines { nodes, levels, gains, tasks_on, scratch, .. } = self;
        let state = simulation.state(job);
        if sought.holds {
            state.placement.parts().for_each(|part| tasks_on[part.node as usize] = part.tasks);
        }
        room.copy_down(&simulation.machine.free);
        let first = sought.since.map(|version| gains.partition_point(|gain| gain.0 <= version));
        let gains = first.map(|first| &gains[first..]);
        let found = Search::new(simulation, state, sought, nodes, gains, tasks_on, room, scratch).earliest_ms(levels);
        if sought.holds {
            state.placement.parts().for_each(|part| tasks_on[part.node as usize] = 0);
        }
        found
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
            self.nodes[node as usize].least_in(during.from_ms, during.until_ms, &mut self.scratch.least);
            missing = missing.saturating_sub(capacity(free, cluster, shape, node, &self.scratch.least));
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
            self.nodes[part.node as usize].least_in(reserved_ms, until_ms, &mut self.scratch.least);
            let first = simulation.setup.cluster.device_offsets[part.node as usize];
            let mut devices = shares.next().map_or(&[][..], |(_, shares)| shares).iter();
            let is_whole = |device: u32| Timeline::devices(&self.scratch.least)[(device - first) as usize] >= 0;
            self.scratch.least.iter().zip(takes).all(|(&amount, takes)| !takes || amount >= 0)
                && !simulation.machine.free.is_down(part.node)
                && devices.all(|share| is_whole(share.device))
        });
        self.change(&simulation.setup, state, held, 1);
        has_room
    }
}

