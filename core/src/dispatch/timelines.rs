//! The projection by blocks of nodes: what is free on each node over time. A job is sought room for by a look at a few
//! instants of some nodes instead of a walk through all that changes, and only where what has become free can help it.

use crate::dispatch::block::Block;
use crate::dispatch::group_levels::{Changed, GroupLevels};
use crate::dispatch::lanes::Lanes;
use crate::dispatch::projection::reserved;
use crate::dispatch::search::{Scratch, Search, Sought};
use crate::model::cluster::Cluster;
use crate::model::free::Free;
use crate::model::job::Shape;
use crate::place::placement::{Part, Placement};
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
    lanes: Lanes,
    /// The nodes, some at a time.
    blocks: Vec<Block>,
    /// How many nodes of each group have how much.
    levels: GroupLevels,
    /// When more has become free, and `Promises::freed` then, which grows: since a version that the oldest plan knew of.
    gains: Vec<(u64, Stretch)>,
    scratch: Scratch,
    /// What changes will be changed back before anybody seeks a time: the levels are left as they are.
    is_trial: bool,
}

impl Timelines {
    /// What is free now, and stays so. No plan knows of it.
    pub(super) fn new(simulation: &Simulation) -> Self {
        let lanes = Lanes::new(&simulation.setup);
        let cluster = &simulation.setup.cluster;
        let blocks = cluster.nodes.len().div_ceil(lanes.width());
        Timelines {
            lanes,
            blocks: (0..blocks).map(|block| Block::new(lanes.free_now(simulation, block))).collect(),
            levels: GroupLevels::new(cluster),
            gains: vec![(simulation.promises.freed, ALWAYS)],
            scratch: Scratch::default(),
            is_trial: false,
        }
    }

    /// A job takes what it uses where its state says (`sign` is -1), or gives it back (1).
    pub(super) fn change(&mut self, setup: &Setup, state: &JobState, stretch: Stretch, sign: i64) {
        if stretch.from_ms >= stretch.until_ms {
            return;
        }
        let Timelines { lanes, blocks, levels, scratch, is_trial, .. } = self;
        if setup.is_pool {
            return blocks[0].change(stretch, &[(0, sign * setup.cores_milli(state))], |_, _| {});
        }
        let (cluster, shape) = (&setup.cluster, setup.shape_of(state));
        let lists = (&mut scratch.nodes, &mut scratch.changes);
        lanes.visit_changes(cluster, shape, &state.placement, sign, lists, |block, nodes, changes| {
            blocks[block].change(stretch, changes, |block, rows| {
                if !*is_trial {
                    levels.change(cluster, lanes, &Changed { block, rows, nodes, changes });
                }
            });
        });
    }

    /// Begins a trial, or ends it: until then all that changes is changed back.
    pub(super) fn set_trial(&mut self, is_trial: bool) {
        self.is_trial = is_trial;
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
        placement.parts().for_each(|part| self.blocks[self.lanes.block(part.node)].forget_before(instant_ms));
    }

    /// The earliest time that is sought for a job; `room` is scratch space.
    pub(super) fn earliest_ms(
        &mut self,
        simulation: &Simulation,
        job: u32,
        sought: &Sought,
        room: &mut Free,
    ) -> Option<i64> {
        let Timelines { lanes, blocks, levels, gains, scratch, .. } = self;
        let first = sought.since.map(|version| gains.partition_point(|gain| gain.0 <= version));
        let gains = first.map(|first| &gains[first..]);
        Search::new(simulation, job, sought, gains, lanes, blocks, room, scratch).earliest_ms(levels)
    }

    /// Where the placement rule puts a job that starts within a stretch, at its beginning, on what stays free throughout;
    /// `free` is scratch space.
    pub(super) fn place(
        &mut self,
        simulation: &Simulation,
        job: u32,
        during: Stretch,
        free: &mut Free,
    ) -> Option<Placement> {
        let Setup { cluster, config, .. } = &simulation.setup;
        let shape = simulation.shape_of(job);
        free.copy_down(&simulation.machine.free);
        let has_choice = cluster.choices_for(shape).len() > 1;
        if config.placement == Rule::FirstFit && shape.gpu_milli == 0 && !has_choice {
            return self.place_by_number(cluster, shape, during, free);
        }
        let least = &mut self.scratch.least;
        for nodes in self.lanes.by_block(cluster.nodes_for(shape)) {
            let block = &self.blocks[self.lanes.block(nodes[0])];
            least.resize(block.lanes(), 0);
            block.least_in(during.from_ms, during.until_ms, least);
            nodes.iter().for_each(|&node| self.lanes.note(free, cluster, node, least));
        }
        simulation.place_at(free, job, during.from_ms)
    }

    /// The same for the rule that fills nodes by number: no more of them are looked at than it takes. `free` says which are down.
    fn place_by_number(
        &mut self,
        cluster: &Cluster,
        shape: &Shape,
        during: Stretch,
        free: &mut Free,
    ) -> Option<Placement> {
        let Timelines { lanes, blocks, scratch, .. } = self;
        let mut placement = Placement::default();
        let mut missing = shape.tasks;
        // A node on which more is promised than there is has room for those that do not ask for it.
        let asked = if shape.cores_milli > 0 { shape.cores_milli } else { i64::MIN };
        for nodes in lanes.by_block(cluster.nodes_for(shape)) {
            let block = &blocks[lanes.block(nodes[0])];
            scratch.least.resize(lanes.asked(shape, block.lanes()), 0);
            let during = (during.from_ms, during.until_ms);
            if !block.has_room_in(during, lanes.width(), asked, &mut scratch.least) {
                continue;
            }
            for &node in nodes {
                let tasks = lanes.capacity(free, cluster, shape, node, &scratch.least).min(missing);
                if tasks > 0 {
                    placement.push(Part { node, tasks });
                    missing -= tasks;
                }
                if missing == 0 {
                    return Some(placement);
                }
            }
        }
        None
    }

    /// Whether a reservation that is not in the projection has room on its own nodes.
    pub(super) fn has_room(&mut self, simulation: &Simulation, job: u32) -> bool {
        let Stretch { from_ms, until_ms } = reserved(simulation, job);
        let Simulation { setup, machine, .. } = simulation;
        let (state, cluster) = (simulation.state(job), &setup.cluster);
        let Timelines { lanes, blocks, scratch: Scratch { least, nodes, changes, .. }, .. } = self;
        if setup.is_pool {
            least.resize(1, 0);
            blocks[0].least_in(from_ms, until_ms, least);
            return least[0] >= setup.cores_milli(state);
        }
        let (mut has_room, shape) = (true, setup.shape_of(state));
        lanes.visit_changes(cluster, shape, &state.placement, -1, (nodes, changes), |block, nodes, changes| {
            least.resize(blocks[block].lanes(), 0);
            blocks[block].least_in(from_ms, until_ms, least);
            changes.iter().for_each(|&(lane, amount)| least[lane] += amount);
            // What is not asked for does not bind, though others may have been promised more of it than there is.
            has_room &= changes.iter().all(|&(lane, amount)| amount == 0 || least[lane] >= 0)
                && !nodes.iter().any(|&node| machine.free.is_down(node));
        });
        has_room
    }
}
