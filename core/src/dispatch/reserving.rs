//! Several reservations over any order: conservative, and any number of them. Also EASY where the placement may decline,
//! so that whoever places is asked at each time and for each reservation.

use std::collections::HashSet;

use crate::dispatch::filling::{is_clear, Filling};
use crate::dispatch::projection::{reserved, Projection};
use crate::dispatch::promises::Settled;
use crate::dispatch::timelines::Stretch;
use crate::dispatch::turns::is_passed_over;
use crate::model::rules::Rules;
use crate::order::ranking::Turn;
use crate::place::placement::Placement;
use crate::sim::job_state::Reservation;
use crate::sim::setup::Setup;
use crate::sim::simulation::Simulation;

/// One pass over waiting jobs in this order; the first `depth` that cannot start hold reservations.
pub(super) fn pass(simulation: &mut Simulation, depth: u32, order: &[Turn]) {
    let settled = settled_turns(simulation, order);
    let kept = simulation.promises.projection.take_if(|_| settled > 0);
    let projection = kept.unwrap_or_else(|| keep_good_reservations(simulation, order));
    let first_ms = simulation.promises.settled.and_then(|settled| settled.first_ms);
    simulation.promises.agenda = None;
    let freed = simulation.promises.freed;
    let (tried, starts) = (simulation.promises.tried.take().filter(|_| settled > 0), simulation.machine.starts());
    if simulation.is_ruled() {
        simulation.limits.begin_pass();
        order[..settled].iter().for_each(|turn| simulation.limits.promise(&simulation.setup, turn.job));
    }
    let mut pass = Pass { simulation, projection };
    pass.take_turns(depth, settled as u32, &order[settled..], tried.unwrap_or(0));
    let Pass { simulation, projection } = pass;
    // Outside of a pass only those count that run.
    simulation.limits.begin_pass();
    let nobody_started = simulation.machine.starts() == starts;
    simulation.promises.tried =
        (nobody_started && depth == 1 && stays_tried(simulation)).then_some(simulation.clock.next_arrival);
    end_pass(simulation, projection, freed, settled, first_ms.filter(|_| settled > 0));
}

/// What is known at the end of a pass that began with `Promises::freed`. The turns of so many first holders were not taken: they had
/// been planned with all that there was, and the first of them is to start at `first_ms`.
pub(super) fn end_pass(
    simulation: &mut Simulation,
    mut projection: Box<Projection>,
    freed: u64,
    untouched: usize,
    first_ms: Option<i64>,
) {
    let Simulation { promises, states, setup, clock, .. } = simulation;
    let held = |&job: &u32| states[job as usize].reservation.as_deref();
    let held = promises.holders[untouched..].iter().filter_map(held);
    let known = held.clone().map(|held| held.planned_at).chain((untouched > 0).then_some(freed)).min();
    projection.forget(known.unwrap_or(promises.freed), clock.now_ms);
    promises.projection = Some(projection);
    // Only if nothing has become free meanwhile has each been planned with all that there is.
    promises.settled = (promises.freed == freed && !setup.config.may_decline())
        .then(|| Settled { freed, first_ms: held.map(|held| held.start_ms).chain(first_ms).min() });
}

/// How many turns need not be taken: each holder keeps what it holds. Mostly a pass is made because one more job has come.
fn settled_turns(simulation: &Simulation, order: &[Turn]) -> usize {
    let promises = &simulation.promises;
    let same = |(turn, &job): (&Turn, &u32)| turn.job == job && turn.may_reserve && turn.leave_free <= 0.0;
    let first_ms = promises.settled.and_then(|settled| settled.first_ms);
    let keep_all = first_ms.is_some_and(|first_ms| first_ms > simulation.now_ms())
        && keeps_all(simulation)
        && order.len() >= promises.holders.len()
        && order.iter().zip(&promises.holders).all(same);
    if keep_all {
        promises.holders.len()
    } else {
        0
    }
}

/// Whether each holder keeps what it holds until its time comes, if its turn comes in the same order: nothing has become free
/// since all were planned.
pub(super) fn keeps_all(simulation: &Simulation) -> bool {
    let promises = &simulation.promises;
    promises.projection.is_some()
        && !promises.disturbed
        && !simulation.machine.has_overrun(simulation.now_ms())
        // When hours begin, whoever is under them may lose what it holds.
        && !simulation.setup.jobs.rules.as_ref().is_some_and(Rules::has_hours)
        && promises.settled.is_some_and(|settled| settled.freed == promises.freed)
}

/// Whether those that could not start in a pass cannot in the next, if only others have come since. That needs an order that stands
/// still, and rules that do not change with time.
fn stays_tried(simulation: &Simulation) -> bool {
    let changes = |rules: &Rules| rules.has_hours() || rules.has_windows();
    let Setup { jobs, config, .. } = &simulation.setup;
    !simulation.waiting.order_moves()
        && !jobs.rules.as_ref().is_some_and(changes)
        && !config.may_decline()
        && config.locality_patience_ms().is_none()
}

/// All reservations lapse: the rule that decides now makes none that last.
pub(crate) fn drop_reservations(simulation: &mut Simulation) {
    for job in std::mem::take(&mut simulation.promises.holders) {
        simulation.states[job as usize].reservation = None;
    }
}

/// From the first job that holds no reservation, or none that is good, all later reservations lapse. Returns the
/// projection with those that are kept.
fn keep_good_reservations(simulation: &mut Simulation, order: &[Turn]) -> Box<Projection> {
    let now_ms = simulation.now_ms();
    let before = std::mem::take(&mut simulation.promises.holders);
    // As long as all goes as projected, a reservation that had room still has.
    let doubtful = std::mem::take(&mut simulation.promises.disturbed) || simulation.machine.has_overrun(now_ms);
    // Where a job has outlived its limit, each instant has it end in the next one: then nothing stays as it was.
    let kept = simulation.promises.projection.take().filter(|_| !doubtful);
    let mut checked = doubtful.then(|| Projection::of_running(simulation));
    simulation.limits.begin_pass();
    for &Turn { job, .. } in order {
        // A job that a limit keeps from starting takes nothing from those behind it.
        if simulation.is_barred(job) {
            continue;
        }
        let held = &simulation.state(job).reservation;
        // Each was planned around those before it: behind the first gap nothing holds any more.
        if held.as_ref().is_none_or(|held| held.start_ms < now_ms) {
            break;
        }
        if let Some(projection) = &mut checked {
            if !projection.has_room(simulation, job) {
                break;
            }
            projection.add_reservation(simulation, job);
        }
        simulation.promises.holders.push(job);
        simulation.limits.promise(&simulation.setup, job);
    }
    let mut kept = kept;
    if simulation.promises.holders.len() < before.len() {
        simulation.promises.plan_again();
        let still: HashSet<u32> = simulation.promises.holders.iter().copied().collect();
        for &job in before.iter().filter(|job| !still.contains(job)) {
            if let Some(kept) = &mut kept {
                kept.lift_reservation(simulation, job);
                note_gain(simulation, kept, job);
            }
            simulation.states[job as usize].reservation = None;
        }
        // What has lapsed is not in it: nobody was planned with so much.
        checked.iter_mut().for_each(|checked| checked.forget_plans(simulation.promises.freed));
    }
    kept.unwrap_or_else(|| {
        Box::new(checked.unwrap_or_else(|| {
            let mut projection = Projection::of_running(simulation);
            projection.add_reservations(simulation, &simulation.promises.holders);
            projection
        }))
    })
}

/// What was kept for a job may be free from now on.
fn note_gain(simulation: &Simulation, projection: &mut Projection, job: u32) {
    projection.note_gain(reserved(simulation, job), simulation.promises.freed);
}

/// A pass under way. All reservations that are held are in the projection.
pub(super) struct Pass<'a> {
    pub(super) simulation: &'a mut Simulation,
    pub(super) projection: Box<Projection>,
}

impl Pass<'_> {
    /// So many hold reservations already. Jobs before `tried` cannot start unless others do.
    pub(super) fn take_turns(&mut self, depth: u32, mut holding: u32, order: &[Turn], tried: u32) {
        let starts = self.simulation.machine.starts();
        let mut filling = Filling::new(self.simulation);
        for turn in order {
            // A start may have others placed elsewhere, where they delay nobody.
            if turn.job < tried && self.simulation.machine.starts() == starts {
                continue;
            }
            let passed_over = is_passed_over(self.simulation, turn);
            if (passed_over || !turn.may_reserve) && self.simulation.state(turn.job).reservation.is_some() {
                self.give_up_reservation(turn.job);
                filling.forget();
            }
            if passed_over {
                continue;
            }
            if turn.may_reserve && holding < depth {
                if self.plan(turn.job) {
                    holding += 1;
                    self.simulation.limits.promise(&self.simulation.setup, turn.job);
                }
                // It may have started, or taken what others would have had.
                filling.forget();
            } else {
                // Behind the last reservation a job may start, but must not delay anybody who holds one.
                self.backfill(turn.job, &mut filling);
            }
        }
    }

    /// A job that is passed over, or may hold no reservation, holds none any more.
    fn give_up_reservation(&mut self, job: u32) {
        self.projection.lift_reservation(self.simulation, job);
        self.simulation.promises.plan_again();
        note_gain(self.simulation, &mut self.projection, job);
        self.simulation.states[job as usize].reservation = None;
        self.simulation.promises.holders.retain(|&holder| holder != job);
    }

    /// Gives the job the earliest time it can have; says whether it holds a reservation. It does not if it starts, or
    /// would not fit even if all jobs had ended.
    fn plan(&mut self, job: u32) -> bool {
        let Pass { simulation, projection } = self;
        let now_ms = simulation.now_ms();
        let held = simulation.state(job).reservation.as_deref().copied();
        let (until_ms, since) = match held {
            None => (i64::MAX, None),
            // When its time has come, its nodes are chosen anew from all that is free by then. Whoever may decline may also
            // think better of it, though nothing has become free.
            Some(held) if held.start_ms <= now_ms || simulation.setup.config.may_decline() => {
                (held.start_ms.max(now_ms + 1), None)
            }
            Some(held) if held.planned_at == simulation.promises.freed => return true,
            Some(held) => (held.start_ms, Some(held.planned_at)),
        };
        let mut start_ms = held.map_or(i64::MAX, |held| held.start_ms);
        let found = projection.earliest(simulation, job, Stretch { from_ms: now_ms, until_ms }, since);
        let is_found = found.is_some();
        if let Some((instant_ms, placement)) = found {
            if held.is_some() && (instant_ms, &placement) != (start_ms, &simulation.state(job).placement) {
                simulation.promises.plan_again();
                note_gain(simulation, projection, job);
            }
            simulation.states[job as usize].placement = placement;
            start_ms = instant_ms;
        }
        if start_ms == now_ms {
            if !is_found {
                projection.lift_reservation(simulation, job);
            }
            simulation.promises.holders.retain(|&holder| holder != job);
            let placement = std::mem::take(&mut simulation.states[job as usize].placement);
            self.start(job, placement);
            return false;
        }
        // It fits at no time, for nodes are down: it holds nothing, and nobody waits for it.
        if start_ms == i64::MAX {
            return false;
        }
        let reservation = Reservation { start_ms, planned_at: simulation.promises.freed };
        match &mut simulation.states[job as usize].reservation {
            Some(held) => **held = reservation,
            none => *none = Some(Box::new(reservation)),
        }
        if is_found {
            projection.add_reservation(simulation, job);
        }
        // Jobs are planned in order, so holders stay in order.
        if held.is_none() {
            simulation.promises.holders.push(job);
        }
        true
    }

    fn start(&mut self, job: u32, placement: Placement) {
        let until_ms = self.simulation.now_ms() + self.simulation.span_on(job, &placement);
        self.simulation.start_on(job, placement);
        self.projection.add_run(self.simulation, job, until_ms);
    }

    /// Starts a job behind the reservations, if it fits now and delays none of them.
    fn backfill(&mut self, job: u32, filling: &mut Filling) {
        if filling.is_refused(self.simulation, job) {
            return;
        }
        if !self.simulation.fits_now(job) {
            return filling.refuse_shape(self.simulation, job);
        }
        let Some(placement) = self.simulation.place_on(&self.simulation.machine.free, job) else { return };
        let (legal, placement) = match is_clear(self.simulation, job, &placement) {
            true => (Ok(Vec::new()), placement),
            false => self.try_beside(job, placement),
        };
        match legal {
            Ok(moved) => {
                self.move_reservations(moved);
                self.start(job, placement);
                filling.forget();
            }
            Err(_) => filling.refuse(self.simulation, job),
        }
    }
}
