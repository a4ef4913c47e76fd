//! What is free at a time to come, if running jobs end when expected: kept up as jobs start and end, and moved along
//! instead of being made anew.

use crate::dispatch::room::Room;
use crate::model::cluster::Cluster;
use crate::model::free::Free;
use crate::model::groups::Group;
use crate::model::job::Shape;
use crate::model::leftover::Leftover;
use crate::place::locality::Reach;
use crate::place::placement::{Part, Placement};
use crate::sim::machine::Expected;
use crate::sim::simulation::Simulation;

/// What is free when all running jobs have ended that are expected to by a time.
#[derive(Clone, Debug)]
pub(crate) struct Horizon {
    at_ms: i64,
    /// Where the most is free is not noted: it changes more often than anybody looks for room in it.
    free: Free,
    /// The job that was last sought for.
    sought: Option<Sought>,
}

/// What a job asks for, and how many of its tasks have room at the time of the horizon.
#[derive(Clone, Debug)]
struct Sought {
    shape: Shape,
    room: Room,
    /// What it leaves to others, as it was before anything changed on the nodes that are touched.
    leftover: Option<Box<Leftover>>,
    touched: Vec<u32>,
}

impl Horizon {
    /// Nobody has ended yet.
    pub(crate) fn new(free: &Free) -> Self {
        Horizon { at_ms: i64::MIN, free: free.unindexed(), sought: None }
    }

    /// What is free then.
    pub(super) fn free(&self) -> &Free {
        &self.free
    }

    /// A job starts, and is expected to end then.
    pub(crate) fn add_run(&mut self, cluster: &Cluster, shape: &Shape, placement: &Placement, until_ms: i64) {
        if until_ms > self.at_ms {
            self.take(cluster, shape, placement);
        }
    }

    /// A job ends that was expected to end then.
    pub(crate) fn end_run(&mut self, cluster: &Cluster, shape: &Shape, placement: &Placement, until_ms: i64) {
        if until_ms > self.at_ms {
            self.give(cluster, shape, placement);
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
        self.look_for(&reach_at(simulation.now_ms()));
        let left_ms = self.at_ms;
        let fits = |horizon: &Horizon| horizon.room().is_some_and(|room| room.fits(&reach_at(horizon.at_ms)));
        self.move_to(simulation, self.at_ms.max(soonest_ms));
        // Between two instants nothing changes; before the first the job does not fit, or is not asked for.
        let Some(nearest_ms) = before(self.at_ms + 1).or_else(|| behind(self.at_ms)) else {
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
        // There and back again changes nothing.
        for one in ended_between(simulation, left_ms, self.at_ms) {
            self.touch(&simulation.state(one.job).placement);
        }
        self.at_ms
    }

    /// The room for this job is known from now on, whatever changes.
    fn look_for(&mut self, reach: &Reach) {
        if self.sought.as_ref().is_none_or(|sought| sought.shape != *reach.shape) {
            let (shape, room) = (reach.shape.clone(), Room::new(reach, &self.free));
            self.sought = Some(Sought { shape, room, leftover: None, touched: Vec::new() });
        }
    }

    fn room(&self) -> Option<&Room> {
        self.sought.as_ref().map(|sought| &sought.room)
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
        reach.shape.gpu_milli == 0
            && !reach.shape.exclusive
            && reach.spreads.is_none()
            && self.room().is_some_and(|room| room.groups().len() == 1)
    }

    /// For how many tasks more than it has there is room for that job, where its room is one number; none: too few.
    fn spare(&self) -> Option<u64> {
        let Sought { shape, room, .. } = self.sought.as_ref()?;
        room.groups()[0].checked_sub(u64::from(shape.tasks))
    }

    /// The same as `fits_beside` where that is so: the answer is mostly no, and known after a node or two.
    pub(super) fn fits_beside_parts(&self, reach: &Reach, shape: &Shape, parts: impl Iterator<Item = Part>) -> bool {
        let (Some(room), Some(spare)) = (self.room(), self.spare()) else { return false };
        let mut lost = 0;
        // A node on which the job may not go has no room that could be lost.
        for Part { node, tasks } in parts.filter(|part| room.on(part.node) > 0) {
            let taken = [shape.cores_milli, shape.memory_mb].map(|amount| amount * i64::from(tasks));
            let left = match shape.exclusive {
                true => 0,
                false => self.free.capacity_beside(reach.cluster, node, reach.shape, taken),
            };
            lost += u64::from(room.on(node) - left);
            if lost > spare {
                return false;
            }
        }
        true
    }

    /// A job starts, and runs on until then.
    pub(super) fn take(&mut self, cluster: &Cluster, shape: &Shape, placement: &Placement) {
        self.free.take(shape, placement);
        self.update_room(cluster, placement);
    }

    fn give(&mut self, cluster: &Cluster, shape: &Shape, placement: &Placement) {
        self.free.give(shape, placement);
        self.update_room(cluster, placement);
    }

    fn update_room(&mut self, cluster: &Cluster, placement: &Placement) {
        if let Some(Sought { shape, room, .. }) = &mut self.sought {
            room.update(&Reach { cluster, shape, spreads: None }, &self.free, placement);
        }
    }

    /// What the room becomes group by group beside another: only the other's nodes are looked at.
    fn rooms_beside(&mut self, reach: &Reach, shape: &Shape, placement: &Placement) -> Vec<u64> {
        let Horizon { free, sought: Some(Sought { room, .. }), .. } = self else { return Vec::new() };
        free.lent(shape, placement, |beside| {
            let lost = |node: u32| u64::from(room.on(node) - beside.capacity(reach.cluster, node, reach.shape));
            let lost_in = |group: &Group| {
                let nodes = placement.parts().map(|part| part.node);
                nodes.filter(|&node| room.on(node) > 0 && reach.is_in(group, node)).map(lost).sum::<u64>()
            };
            let groups = reach.cluster.groups_for(reach.shape);
            room.groups().iter().zip(groups).map(|(tasks, group)| tasks - lost_in(group)).collect()
        })
    }

    /// Something changes on these nodes, now or then.
    pub(crate) fn touch(&mut self, placement: &Placement) {
        let Some(Sought { leftover: Some(_), touched, room, .. }) = &mut self.sought else { return };
        touched.extend(placement.parts().map(|part| part.node));
        // Where nobody has asked for long, it is made anew.
        if touched.len() > room.nodes() {
            self.forget_leftover();
        }
    }

    fn forget_leftover(&mut self) {
        if let Some(sought) = &mut self.sought {
            sought.leftover = None;
            sought.touched.clear();
        }
    }

    /// What the job that was sought for leaves to others, if so much is free now; only where its room is one number.
    pub(super) fn take_leftover(&mut self, cluster: &Cluster, now: &Free) -> Option<Box<Leftover>> {
        let spare = self.spare()?;
        let Horizon { free: then, sought: Some(Sought { shape, room, leftover, touched }), .. } = self else {
            return None;
        };
        // Others have no more than what is free throughout, and then the job's tasks take theirs.
        let left = |node: u32| {
            let (place, tasks) = (node as usize, i64::from(room.on(node)));
            let cores_milli = then.cores_milli[place] - tasks * shape.cores_milli;
            let memory_mb = then.memory_mb[place] - tasks * shape.memory_mb;
            [cores_milli.min(now.cores_milli[place]), memory_mb.min(now.memory_mb[place])]
        };
        let mut leftover = leftover.take().unwrap_or_else(|| {
            let nodes = (0..cluster.nodes.len() as u32).map(left).collect();
            Box::new(Leftover::new(nodes, cluster.nodes.iter().map(|node| [node.cores_milli, node.memory_mb])))
        });
        touched.drain(..).for_each(|node| leftover.set(node, left(node)));
        leftover.set_spare(spare);
        Some(leftover)
    }

    /// It is kept up from now on.
    pub(super) fn put_leftover(&mut self, leftover: Box<Leftover>) {
        if let Some(sought) = &mut self.sought {
            sought.leftover = Some(leftover);
        }
    }

    fn move_to(&mut self, simulation: &Simulation, at_ms: i64) {
        for one in ended_between(simulation, self.at_ms, at_ms) {
            let (shape, placement) = (simulation.shape_of(one.job), &simulation.state(one.job).placement);
            if at_ms > self.at_ms {
                self.give(&simulation.setup.cluster, shape, placement);
            } else {
                self.take(&simulation.setup.cluster, shape, placement);
            }
        }
        self.at_ms = at_ms;
    }
}

/// The jobs that are expected to end between two times, of which either may be the earlier.
fn ended_between(simulation: &Simulation, one_ms: i64, other_ms: i64) -> &[Expected] {
    let expected = simulation.machine.expected();
    let ended_by = |at_ms: i64| expected.partition_point(|one| one.instant_ms <= at_ms);
    &expected[ended_by(one_ms.min(other_ms))..ended_by(one_ms.max(other_ms))]
}
