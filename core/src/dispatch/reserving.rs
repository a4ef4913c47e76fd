//! Reservations of any depth over any order: greedy, EASY and conservative are its depths 0, 1 and all.

use std::collections::HashSet;

use crate::model::cluster::FULL_SPEED;
use crate::model::free::Free;
use crate::order::ranking::Turn;
use crate::place::placement::Placement;
use crate::sim::job_state::Reservation;
use crate::sim::machine::Expected;
use crate::sim::simulation::Simulation;

/// A change of what is free in the projection: a job gives its resources back, or a reservation takes them.
#[derive(Clone, Copy, Debug)]
struct Step {
    instant_ms: i64,
    /// What a pool has more from then on; negative for a reservation.
    cores_milli: i64,
    takes: bool,
    job: u32,
}

/// What will be free if each running job ends when expected and each reservation is used.
struct Projection {
    /// Ascending; the steps of one instant act together.
    steps: Vec<Step>,
    /// Kept from call to call to save allocations: what is free at an instant, and during a span.
    at_instant: Free,
    during: Free,
}

impl Projection {
    fn add(&mut self, step: Step) {
        let place = self.steps.partition_point(|other| other.instant_ms <= step.instant_ms);
        self.steps.insert(place, step);
    }

    fn remove(&mut self, job: u32, instant_ms: i64) {
        let first = self.steps.partition_point(|step| step.instant_ms < instant_ms);
        if let Some(place) = self.steps[first..].iter().position(|step| step.job == job) {
            self.steps.remove(first + place);
        }
    }
}

impl Simulation {
    /// One pass over waiting jobs in this order; the first `depth` that cannot start hold reservations.
    pub(crate) fn dispatch_reserving(&mut self, depth: u32, order: &[Turn]) {
        let mut projection = self.keep_good_reservations(order);
        let mut holding = 0;
        for turn in order {
            let job = turn.job;
            let passed_over = self.is_passed_over(turn);
            if passed_over || !turn.may_reserve {
                self.give_up_reservation(&mut projection, job);
            }
            if passed_over {
                continue;
            }
            if turn.may_reserve && holding < depth {
                holding += u32::from(self.plan(&mut projection, job));
            } else {
                self.backfill(&mut projection, job);
            }
        }
    }

    /// All reservations lapse: the rule that decides now makes none that last.
    pub(crate) fn drop_reservations(&mut self) {
        for job in std::mem::take(&mut self.promises.holders) {
            self.states[job as usize].reservation = None;
        }
    }

    /// A job that is passed over, or may hold no reservation, holds none any more.
    fn give_up_reservation(&mut self, projection: &mut Projection, job: u32) {
        if self.states[job as usize].reservation.is_some() {
            self.lift_reservation(projection, job);
            self.states[job as usize].reservation = None;
            self.promises.holders.retain(|&holder| holder != job);
            self.promises.freed += 1;
        }
    }

    /// From the first job that holds no reservation, or none that is good, all later reservations lapse. Returns the
    /// projection with those that are kept.
    fn keep_good_reservations(&mut self, order: &[Turn]) -> Projection {
        let before = std::mem::take(&mut self.promises.holders);
        let overrun = self.machine.has_overrun(self.now_ms());
        // As long as all goes as projected, a reservation that had room still has.
        let doubtful = std::mem::take(&mut self.promises.disturbed) || overrun;
        let mut projection = self.projection_of_running();
        for &Turn { job, .. } in order {
            let held = &self.states[job as usize].reservation;
            if held.as_ref().is_none_or(|held| held.start_ms < self.now_ms()) {
                break;
            }
            if doubtful {
                if !self.has_room(&mut projection, job) {
                    break;
                }
                self.add_reservation(&mut projection, job);
            }
            self.promises.holders.push(job);
        }
        if self.promises.holders.len() < before.len() {
            let kept: HashSet<u32> = self.promises.holders.iter().copied().collect();
            for &job in before.iter().filter(|job| !kept.contains(job)) {
                self.states[job as usize].reservation = None;
            }
            self.promises.freed += 1;
        }
        if !doubtful {
            projection.steps.extend(self.promises.holders.iter().flat_map(|&job| self.reservation_steps(job)));
            projection.steps.sort_by_key(|step| step.instant_ms);
        }
        projection
    }

    fn projection_of_running(&self) -> Projection {
        let release = |expected: &Expected| self.release(expected.instant_ms.max(self.now_ms() + 1), expected.job);
        let steps = self.machine.expected().iter().map(release).collect();
        Projection { steps, at_instant: self.machine.free.clone(), during: self.machine.free.clone() }
    }

    fn release(&self, instant_ms: i64, job: u32) -> Step {
        let cores_milli = self.cores_milli(job);
        Step { instant_ms, cores_milli, takes: false, job }
    }

    /// The steps of a job's reservation.
    fn reservation_steps(&self, job: u32) -> [Step; 2] {
        let state = &self.states[job as usize];
        let release = self.release(state.reserved_ms() + self.span_on(job, &state.placement), job);
        let take = Step { instant_ms: state.reserved_ms(), cores_milli: -release.cores_milli, takes: true, job };
        [take, release]
    }

    fn add_reservation(&self, projection: &mut Projection, job: u32) {
        self.reservation_steps(job).into_iter().for_each(|step| projection.add(step));
    }

    fn lift_reservation(&self, projection: &mut Projection, job: u32) {
        self.reservation_steps(job).iter().for_each(|step| projection.remove(job, step.instant_ms));
    }

    /// Gives the job the earliest time it can have; says whether it holds a reservation. It does not if it starts, or
    /// would not fit even if all jobs had ended.
    fn plan(&mut self, projection: &mut Projection, job: u32) -> bool {
        let held = self.states[job as usize].reservation.as_deref().copied();
        if let Some(held) = held {
            if held.start_ms > self.now_ms() && held.planned_at == self.promises.freed {
                return true;
            }
            self.lift_reservation(projection, job);
        }
        // When its time has come, its nodes are chosen anew from all that is free by then.
        let bound_ms = held.map_or(i64::MAX, |held| held.start_ms.max(self.now_ms() + 1));
        let mut start_ms = held.map_or(i64::MAX, |held| held.start_ms);
        if let Some((instant_ms, placement)) = self.earliest(projection, job, bound_ms) {
            let state = &mut self.states[job as usize];
            self.promises.freed +=
                u64::from(held.is_some() && (instant_ms, &placement) != (start_ms, &state.placement));
            state.placement = placement;
            start_ms = instant_ms;
        }
        if start_ms == self.now_ms() {
            self.promises.holders.retain(|&holder| holder != job);
            let placement = std::mem::take(&mut self.states[job as usize].placement);
            self.start_planned(projection, job, placement);
            return false;
        }
        if start_ms == i64::MAX {
            return false;
        }
        self.states[job as usize].reservation =
            Some(Box::new(Reservation { start_ms, planned_at: self.promises.freed }));
        self.add_reservation(projection, job);
        if held.is_none() {
            self.promises.holders.push(job);
        }
        true
    }

    fn start_planned(&mut self, projection: &mut Projection, job: u32, placement: Placement) {
        let until_ms = self.now_ms() + self.span_on(job, &placement);
        self.start_on(job, placement);
        projection.add(self.release(until_ms, job));
    }

    /// The earliest time before `bound_ms` at which the job fits for the whole of its limit, and its nodes.
    fn earliest(&self, projection: &mut Projection, job: u32, bound_ms: i64) -> Option<(i64, Placement)> {
        if self.setup.is_pool {
            let instant_ms = self.earliest_on_pool(&projection.steps, job, bound_ms);
            return instant_ms.map(|instant_ms| (instant_ms, Placement::single(0, self.shape_of(job).tasks)));
        }
        let Projection { steps, at_instant, during } = projection;
        let shape = self.shape_of(job);
        let longest_ms = self.span_ms(job, self.setup.cluster.slowest_milli(shape));
        at_instant.clone_from(&self.machine.free);
        let mut instant_ms = self.now_ms();
        let mut next = 0;
        while instant_ms < bound_ms {
            while next < steps.len() && steps[next].instant_ms <= instant_ms {
                self.apply(&steps[next], at_instant);
                next += 1;
            }
            if at_instant.fits(&self.setup.cluster, shape) {
                let until_ms = instant_ms + longest_ms;
                self.lowest_free(at_instant, &steps[next..], until_ms, during);
                if let Some(placement) = self.place_on(during, job) {
                    return Some((instant_ms, placement));
                }
            }
            instant_ms = steps.get(next)?.instant_ms;
        }
        None
    }

    /// On a pool one walk is enough: the first stretch with enough cores that is long enough.
    fn earliest_on_pool(&self, steps: &[Step], job: u32, bound_ms: i64) -> Option<i64> {
        let state = &self.states[job as usize];
        let span_ms = self.span_ms(job, FULL_SPEED);
        let needed = self.setup.cores_milli(state);
        let due = steps.partition_point(|step| step.instant_ms <= self.now_ms());
        let mut free = self.machine.free.cores_milli[0] + steps[..due].iter().map(|step| step.cores_milli).sum::<i64>();
        let mut since_ms = (free >= needed).then_some(self.now_ms());
        let mut next = due;
        while let Some(&Step { instant_ms, .. }) = steps.get(next) {
            let long_enough = since_ms.is_some_and(|since_ms| since_ms + span_ms <= instant_ms);
            let too_late = since_ms.unwrap_or(instant_ms) >= bound_ms;
            if long_enough || too_late {
                break;
            }
            while next < steps.len() && steps[next].instant_ms == instant_ms {
                free += steps[next].cores_milli;
                next += 1;
            }
            since_ms = (free >= needed).then(|| since_ms.unwrap_or(instant_ms));
        }
        since_ms.filter(|&since_ms| since_ms < bound_ms)
    }

    fn apply(&self, step: &Step, free: &mut Free) {
        let placement = &self.states[step.job as usize].placement;
        if step.takes {
            free.take(self.shape_of(step.job), placement);
        } else {
            free.give(self.shape_of(step.job), placement);
        }
    }

    /// What stays free from the instant of `now_free` until `until_ms`, given the steps that follow.
    fn lowest_free(&self, now_free: &Free, steps: &[Step], until_ms: i64, during: &mut Free) {
        during.clone_from(now_free);
        let within = &steps[..steps.partition_point(|step| step.instant_ms < until_ms)];
        if !within.iter().any(|step| step.takes) {
            return;
        }
        let mut walking = now_free.clone();
        for group in within.chunk_by(|one, other| one.instant_ms == other.instant_ms) {
            group.iter().for_each(|step| self.apply(step, &mut walking));
            for step in group.iter().filter(|step| step.takes) {
                during.lower_to(&walking, self.shape_of(step.job), &self.states[step.job as usize].placement);
            }
        }
    }

    /// What stays free from a reserved time on for so long, left in `projection.during`; the reservation itself is not in
    /// the projection.
    fn free_during_reservation(&self, projection: &mut Projection, job: u32, span_ms: i64) {
        let Projection { steps, at_instant, during } = projection;
        let state = &self.states[job as usize];
        let next = steps.partition_point(|step| step.instant_ms <= state.reserved_ms());
        at_instant.clone_from(&self.machine.free);
        steps[..next].iter().for_each(|step| self.apply(step, at_instant));
        self.lowest_free(at_instant, &steps[next..], state.reserved_ms() + span_ms, during);
    }

    /// Whether a reservation that is not in the projection has room on its own nodes.
    fn has_room(&self, projection: &mut Projection, job: u32) -> bool {
        if self.setup.is_pool {
            return self.has_room_on_pool(&projection.steps, job);
        }
        let placement = &self.states[job as usize].placement;
        self.free_during_reservation(projection, job, self.span_on(job, placement));
        projection.during.take(self.shape_of(job), placement);
        projection.during.is_sound(placement)
    }

    fn has_room_on_pool(&self, steps: &[Step], job: u32) -> bool {
        let state = &self.states[job as usize];
        let until_ms = state.reserved_ms() + self.span_ms(job, FULL_SPEED);
        let needed = self.setup.cores_milli(state);
        let begun = steps.partition_point(|step| step.instant_ms <= state.reserved_ms());
        let mut free =
            self.machine.free.cores_milli[0] + steps[..begun].iter().map(|step| step.cores_milli).sum::<i64>();
        let ended = steps.partition_point(|step| step.instant_ms < until_ms);
        let mut has_room = free >= needed;
        for group in steps[begun..ended.max(begun)].chunk_by(|one, other| one.instant_ms == other.instant_ms) {
            free += group.iter().map(|step| step.cores_milli).sum::<i64>();
            has_room &= free >= needed;
        }
        has_room
    }

    /// Starts a job behind the reservations, if it fits now and delays none of them.
    fn backfill(&mut self, projection: &mut Projection, job: u32) {
        if !self.fits(job) {
            return;
        }
        let Some(placement) = self.place_on(&self.machine.free, job) else { return };
        if let (Ok(()), placement) = self.try_beside(projection, job, placement) {
            self.start_planned(projection, job, placement);
        }
    }

    /// Whether a job may run from now on where it is placed; the error says whose reservation it would delay.
    fn try_beside(
        &mut self,
        projection: &mut Projection,
        job: u32,
        placement: Placement,
    ) -> (Result<(), u32>, Placement) {
        let until_ms = self.now_ms() + self.span_on(job, &placement);
        let shape = self.shape_of(job).clone();
        self.machine.free.take(&shape, &placement);
        self.states[job as usize].placement = placement;
        projection.add(self.release(until_ms, job));
        let legal = self.make_room(projection, until_ms);
        projection.remove(job, until_ms);
        let placement = std::mem::take(&mut self.states[job as usize].placement);
        self.machine.free.give(&shape, &placement);
        (legal, placement)
    }

    /// Whose reservation a waiting job that fits would delay if it started now.
    pub(crate) fn first_delayed(&mut self, job: u32) -> Option<u32> {
        let placement = self.place_on(&self.machine.free, job)?;
        let state = &mut self.states[job as usize];
        let held = (state.reservation.take(), std::mem::take(&mut state.placement));
        let holders = self.promises.holders.clone();
        self.promises.holders.retain(|&holder| holder != job);
        let mut projection = self.projection_of_running();
        self.promises.holders.iter().for_each(|&holder| self.add_reservation(&mut projection, holder));
        let (legal, _) = self.try_beside(&mut projection, job, placement);
        self.promises.holders = holders;
        let state = &mut self.states[job as usize];
        (state.reservation, state.placement) = held;
        legal.err()
    }

    /// Places anew, at their old times, the reservations that have lost their room to a job that runs until `until_ms`.
    /// If one cannot be, all stay as they were, and the error says whose it is.
    fn make_room(&mut self, projection: &mut Projection, until_ms: i64) -> Result<(), u32> {
        let mut moved: Vec<(u32, Placement)> = Vec::new();
        for holder in self.promises.holders.clone() {
            if self.states[holder as usize].reserved_ms() >= until_ms {
                continue;
            }
            self.lift_reservation(projection, holder);
            if !self.has_room(projection, holder) {
                let slowest_milli = self.setup.cluster.slowest_milli(self.shape_of(holder));
                self.free_during_reservation(projection, holder, self.span_ms(holder, slowest_milli));
                let Some(placement) = self.place_on(&projection.during, holder) else {
                    let delayed = holder;
                    self.add_reservation(projection, holder);
                    for (holder, placement) in moved {
                        // On other nodes it lasts as long as their speed says.
                        self.lift_reservation(projection, holder);
                        self.states[holder as usize].placement = placement;
                        self.add_reservation(projection, holder);
                    }
                    return Err(delayed);
                };
                moved.push((holder, std::mem::replace(&mut self.states[holder as usize].placement, placement)));
            }
            self.add_reservation(projection, holder);
        }
        self.promises.freed += u64::from(!moved.is_empty());
        Ok(())
    }
}
