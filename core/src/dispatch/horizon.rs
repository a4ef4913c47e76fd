//! What is free at a time to come, if running jobs end when expected: kept up as jobs start and end, and moved along
//! instead of being made anew.

use crate::model::free::Free;
use crate::model::job::Shape;
use crate::place::locality::Reach;
use crate::place::placement::{Part, Placement};
use crate::sim::simulation::Simulation;

/// What is free when all running jobs have ended that are expected to by a time.
#[derive(Clone, Debug)]
pub(crate) struct Horizon {
    at_ms: i64,
    free: Free,
    /// How many tasks of the job that was last sought for have room then, by groups of nodes of which one must hold it.
    rooms: Vec<u64>,
}

impl Horizon {
    /// Nobody has ended yet.
    pub(crate) fn new(free: Free) -> Self {
        Horizon { at_ms: i64::MIN, free, rooms: Vec::new() }
    }

    /// What is free then.
    pub(super) fn free(&self) -> &Free {
        &self.free
    }

    /// A job starts, and is expected to end then.
    pub(crate) fn add_run(&mut self, shape: &Shape, placement: &Placement, until_ms: i64) {
        if until_ms > self.at_ms {
            self.free.take(shape, placement);
        }
    }

    /// A job ends that was expected to end then.
    pub(crate) fn end_run(&mut self, shape: &Shape, placement: &Placement, until_ms: i64) {
        if until_ms > self.at_ms {
            self.free.give(shape, placement);
        }
    }

    /// Moves to the earliest time at which a job fits that does not fit now; if it never does, to the last at which anything
    /// changes. `reach_at` is where it may go at an instant; from `patient_until_ms` on it takes more nodes than before.
    ///
    /// From one pass to the next this time moves little, and so does the horizon.
    pub(super) fn seek<'a>(
        &mut self,
        simulation: &Simulation,
        reach_at: &dyn Fn(i64) -> Reach<'a>,
        patient_until_ms: Option<i64>,
    ) -> i64 {
        // A job that has outlived its limit is expected to end in the next millisecond.
        let soonest_ms = simulation.now_ms() + 1;
        let expected = simulation.machine.expected();
        let before = |at_ms: i64| {
            let ends = &expected[..expected.partition_point(|one| one.instant_ms < at_ms)];
            let end = ends.last().map(|one| one.instant_ms.max(soonest_ms)).filter(|&end_ms| end_ms < at_ms);
            end.max(patient_until_ms.filter(|&until_ms| until_ms < at_ms))
        };
        let behind = |at_ms: i64| {
            let end = expected.get(expected.partition_point(|one| one.instant_ms <= at_ms)).map(|one| one.instant_ms);
            end.into_iter().chain(patient_until_ms.filter(|&until_ms| until_ms > at_ms)).min()
        };
        let fits = |horizon: &Horizon| reach_at(horizon.at_ms).fits(&horizon.free);
        self.move_to(simulation, self.at_ms.max(soonest_ms));
        // Between two instants nothing changes; before the first the job does not fit, or is not asked for.
        let Some(nearest_ms) = before(self.at_ms + 1).or_else(|| behind(self.at_ms)) else {
            self.look_for_room(&reach_at(simulation.now_ms()));
            return simulation.now_ms();
        };
        self.move_to(simulation, nearest_ms);
        if fits(self) {
            while let Some(earlier_ms) = before(self.at_ms) {
                let fitting_ms = self.at_ms;
                self.move_to(simulation, earlier_ms);
                if !fits(self) {
                    self.move_to(simulation, fitting_ms);
                    break;
                }
            }
        } else {
            while let Some(later_ms) = behind(self.at_ms) {
                self.move_to(simulation, later_ms);
                if fits(self) {
                    break;
                }
            }
        }
        self.look_for_room(&reach_at(self.at_ms));
        self.at_ms
    }

    fn look_for_room(&mut self, reach: &Reach) {
        let room =
            |group| self.free.with_room(reach.cluster, group, reach.shape).map(|(_, tasks)| u64::from(tasks)).sum();
        self.rooms = reach.cluster.groups_for(reach.shape).iter().map(room).collect();
    }

    /// Whether the job that was sought for, which may go there, fits beside another on these nodes. It is not tied to nodes:
    /// it may move to others.
    pub(super) fn fits_beside(&mut self, reach: &Reach, shape: &Shape, placement: &Placement) -> bool {
        if self.counts_room(reach) {
            return self.fits_beside_parts(reach, shape, placement.parts().copied());
        }
        if reach.spreads.is_some() {
            return self.free.lent(shape, placement, |free| reach.fits(free));
        }
        let rooms = self.rooms_beside(reach, shape, placement);
        rooms.iter().any(|&room| room >= u64::from(reach.shape.tasks))
    }

    /// Whether the room of the job that was sought for is one number, which others take from by their cores and memory.
    pub(super) fn counts_room(&self, reach: &Reach) -> bool {
        reach.shape.gpu_milli == 0 && !reach.shape.exclusive && reach.spreads.is_none() && self.rooms.len() == 1
    }

    /// The same as `fits_beside` where that is so: the answer is mostly no, and known after a node or two.
    pub(super) fn fits_beside_parts(&self, reach: &Reach, shape: &Shape, parts: impl Iterator<Item = Part>) -> bool {
        let Some(spare) = self.rooms[0].checked_sub(u64::from(reach.shape.tasks)) else { return false };
        let mut lost = 0;
        let group = &reach.cluster.groups_for(reach.shape)[0];
        for Part { node, tasks } in parts.filter(|part| reach.is_in(group, part.node)) {
            let taken = [shape.cores_milli, shape.memory_mb].map(|amount| amount * i64::from(tasks));
            let capacity = |taken| u64::from(self.free.capacity_beside(reach.cluster, node, reach.shape, taken));
            lost += capacity([0, 0]) - if shape.exclusive { 0 } else { capacity(taken) };
            if lost > spare {
                return false;
            }
        }
        true
    }

    /// The other starts, and runs on until then.
    pub(super) fn take(&mut self, reach: &Reach, shape: &Shape, placement: &Placement) {
        self.rooms = self.rooms_beside(reach, shape, placement);
        self.free.take(shape, placement);
    }

    /// What the rooms become: only the other's nodes are looked at.
    fn rooms_beside(&mut self, reach: &Reach, shape: &Shape, placement: &Placement) -> Vec<u64> {
        let groups = reach.cluster.groups_for(reach.shape);
        let on_nodes = |free: &Free| -> Vec<u64> {
            let capacity = |node: u32| u64::from(free.capacity(reach.cluster, node, reach.shape));
            let nodes = || placement.parts().map(|part| part.node);
            groups.iter().map(|group| nodes().filter(|&node| reach.is_in(group, node)).map(capacity).sum()).collect()
        };
        let before = on_nodes(&self.free);
        let beside = self.free.lent(shape, placement, on_nodes);
        self.rooms
            .iter()
            .zip(before.iter().zip(beside))
            .map(|(room, (before, beside))| room - before + beside)
            .collect()
    }

    fn move_to(&mut self, simulation: &Simulation, at_ms: i64) {
        let expected = simulation.machine.expected();
        let ended_by = |at_ms: i64| expected.partition_point(|one| one.instant_ms <= at_ms);
        let (before, now) = (ended_by(self.at_ms), ended_by(at_ms));
        for one in &expected[before.min(now)..before.max(now)] {
            let (shape, placement) = (simulation.shape_of(one.job), &simulation.state(one.job).placement);
            if now > before {
                self.free.give(shape, placement);
            } else {
                self.free.take(shape, placement);
            }
        }
        self.at_ms = at_ms;
    }
}
