//! What would be decided now, from any state: who starts where, who holds which reservation, and why the rest waits.
//!
//! The rule itself decides, on a copy of the simulation. Here is only read off what it did.

use std::collections::HashMap;

use crate::dispatch::beside::{can_reserve, Head};
use crate::dispatch::preemptive::rank_again;
use crate::dispatch::reserving::first_delayed;
use crate::dispatch::turns::is_passed_over;
use crate::dispatch::{guarded, pass_at_once};
use crate::model::config::Dispatch;
use crate::order::ranking::Turn;
use crate::place::placement::Placement;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// What becomes of a job at this instant; the numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// Nothing: it is not here yet, runs on, or has ended.
    #[default]
    Unconcerned = 0,
    /// It starts.
    Starts = 1,
    /// It waits, and holds a reservation.
    Reserves = 2,
    /// It waits.
    Waits = 3,
    /// It ran, is stopped for another, and waits.
    Stops = 4,
    /// It ran, is stopped for another, and starts again at once.
    Moves = 5,
}

/// Why a job waits; the numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// It does not wait.
    #[default]
    None = 0,
    /// It does not fit beside those that run, and those that start now.
    NoRoom = 1,
    /// It fits, but would delay the reservation of the blocker.
    Delays = 2,
    /// It fits, but the blocker stands before it, and the rule lets nobody pass.
    Behind = 3,
    /// It fits, but the policy holds it back: its start would leave too little free.
    HeldBack = 4,
    /// The pass does not look at it: the scan ends before it, or the caller's order does not name it.
    NotLookedAt = 5,
    /// It would not fit though all jobs had ended, for nodes are down.
    NodesDown = 6,
    /// It fits, but whoever places gives it no nodes now.
    Declined = 7,
}

/// What is decided about one job.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// What becomes of it.
    pub outcome: Outcome,
    /// Its place in the order, if it waits before the decision.
    pub place: Option<u32>,
    /// Why it waits.
    pub reason: Reason,
    /// For whom it waits, where the reason is about one job.
    pub blocker: Option<u32>,
    /// When its reservation begins, where the rule works that out.
    pub reserved_ms: Option<i64>,
    /// Where it starts, or where its reservation is.
    pub placement: Placement,
}

/// The decision: a verdict for each job of the simulation. Without an order, the policy's own counts.
pub fn decide(simulation: &Simulation, order: Option<&[u32]>) -> Vec<Verdict> {
    let mut after = simulation.clone();
    let line = Line::of(&mut after, order);
    pass_at_once(&mut after, order);
    let promises = promises(&after, &line);
    let mut verdicts = vec![Verdict::default(); after.states.len()];
    for (job, verdict) in verdicts.iter_mut().enumerate() {
        let (was, is) = (&simulation.states[job], &after.states[job]);
        let starts = is.phase == Phase::Running && is.sequence >= simulation.machine.starts();
        verdict.outcome = match (was.phase, is.phase) {
            (Phase::Running, Phase::Waiting) => Outcome::Stops,
            (Phase::Running, _) if starts => Outcome::Moves,
            (Phase::Waiting, Phase::Waiting) => Outcome::Waits,
            (Phase::Waiting, _) => Outcome::Starts,
            _ => continue,
        };
        if starts {
            verdict.placement = is.placement.clone();
        } else if is.phase == Phase::Waiting {
            (verdict.reason, verdict.blocker) = line.reason(&mut after, &promises, job as u32);
        }
    }
    for (place, turn) in line.turns.iter().enumerate() {
        verdicts[turn.job as usize].place = Some(place as u32);
    }
    for (job, (reserved_ms, placement)) in promises.held {
        let verdict = &mut verdicts[job as usize];
        (verdict.outcome, verdict.reserved_ms, verdict.placement) = (Outcome::Reserves, reserved_ms, placement);
    }
    verdicts
}

/// The waiting jobs in the order of a pass that is to come.
struct Line {
    turns: Vec<Turn>,
    /// How many of them the pass looks at.
    looked_at: usize,
    place_of: HashMap<u32, usize>,
}

impl Line {
    fn of(simulation: &mut Simulation, order: Option<&[u32]>) -> Self {
        let scan_depth = simulation.setup.config.scan_depth as usize;
        rank_again(simulation);
        let plain = |job: u32| Turn::plain(0, job);
        let (mut turns, looked_at): (Vec<Turn>, _) = match order {
            Some(order) => {
                let turns: Vec<Turn> = guarded(simulation, order).into_iter().map(plain).collect();
                let looked_at = turns.len();
                (turns, looked_at)
            }
            None if simulation.waiting.contest.is_none() && simulation.waiting.order_moves() => {
                let turns = simulation.sorted_turns();
                let looked_at = turns.len();
                (turns, looked_at)
            }
            None => {
                let turns = simulation.waiting_in_order().into_iter().map(plain).collect();
                let is_cut = matches!(simulation.setup.config.dispatch, Dispatch::Reserve { depth: 2.. });
                (turns, if is_cut { scan_depth } else { usize::MAX })
            }
        };
        let mut place_of: HashMap<u32, usize> =
            turns.iter().enumerate().map(|(place, turn)| (turn.job, place)).collect();
        for job in simulation.waiting_in_order() {
            place_of.entry(job).or_insert_with(|| {
                turns.push(plain(job));
                turns.len() - 1
            });
        }
        Line { turns, looked_at, place_of }
    }

    /// The turns of those that the pass looks at, and that wait after it.
    fn left<'a>(&'a self, after: &'a Simulation) -> impl Iterator<Item = &'a Turn> {
        let waits = |turn: &&Turn| after.state(turn.job).phase == Phase::Waiting;
        self.turns.iter().take(self.looked_at).filter(waits)
    }

    /// Why a job waits after the pass, and for whom.
    fn reason(&self, after: &mut Simulation, promises: &Promised, job: u32) -> (Reason, Option<u32>) {
        let place = self.place_of.get(&job).copied();
        if place.is_some_and(|place| place >= self.looked_at) {
            return (Reason::NotLookedAt, None);
        }
        if !after.fits_now(job) {
            return (if can_reserve(after, job) { Reason::NoRoom } else { Reason::NodesDown }, None);
        }
        if place.is_some_and(|place| is_passed_over(after, &self.turns[place])) {
            return (Reason::HeldBack, None);
        }
        match after.setup.config.dispatch {
            Dispatch::Strict => {
                let blocks = |turn: &&Turn| !is_passed_over(after, turn);
                (Reason::Behind, self.left(after).find(blocks).map(|turn| turn.job).filter(|&other| other != job))
            }
            Dispatch::Committed { backfill } => {
                let reason = if backfill { Reason::Delays } else { Reason::Behind };
                (reason, promises.first.filter(|&other| other != job))
            }
            Dispatch::Reserve { depth: 1.. }
                if promises.first.is_some() && after.place_on(&after.machine.free, job).is_some() =>
            {
                (Reason::Delays, first_delayed(after, job).or(promises.first).filter(|&other| other != job))
            }
            Dispatch::Reserve { .. } => (Reason::Declined, None),
        }
    }
}

/// What has been promised when a pass is over.
struct Promised {
    /// Who holds a reservation: when it begins, if that is worked out, and where it is.
    held: HashMap<u32, (Option<i64>, Placement)>,
    /// The first of them.
    first: Option<u32>,
}

fn promises(after: &Simulation, line: &Line) -> Promised {
    let state_of = |&job: &u32| {
        let state = after.state(job);
        (job, (state.reservation.as_ref().map(|held| held.start_ms), state.placement.clone()))
    };
    let mut held: HashMap<u32, _> = after.promises.holders().iter().map(state_of).collect();
    let mut first = after.promises.holders().first().copied();
    if let Some(commitment) = after.promises.commitment() {
        let fills = after.setup.config.dispatch == Dispatch::Committed { backfill: true };
        held.insert(commitment.job, (fills.then_some(commitment.earliest_ms), Placement::default()));
        first = Some(commitment.job);
    }
    if held.is_empty() && matches!(after.setup.config.dispatch, Dispatch::Reserve { depth: 1 }) {
        // Under EASY the head's reservation does not outlive the pass: it is worked out for each anew.
        let may_hold = |turn: &&Turn| turn.may_reserve && !after.fits_now(turn.job) && can_reserve(after, turn.job);
        first = line.left(after).find(may_hold).map(|turn| turn.job);
        held.extend(first.map(|job| {
            let head = Head::at_earliest(after, job);
            (job, (Some(head.reserved_ms), head.placement(after)))
        }));
    }
    Promised { held, first }
}
