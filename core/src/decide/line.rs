//! Who waits in which order, what has been promised to whom, and why a job waits.

use std::collections::HashMap;

use crate::decide::Reason;
use crate::dispatch::beside::{can_reserve, Head};
use crate::dispatch::guarded;
use crate::dispatch::pairs;
use crate::dispatch::trial::first_delayed;
use crate::dispatch::turns::is_passed_over;
use crate::model::config::{Dispatch, Policy};
use crate::model::job::Shape;
use crate::order::ranking::Turn;
use crate::place::placement::Placement;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// The waiting jobs in the order of a pass that is to come.
pub(super) struct Line {
    turns: Vec<Turn>,
    /// How many of them the pass looks at.
    looked_at: usize,
    place_of: HashMap<u32, usize>,
    /// What each asks for on the types of GPUs that it accepts, by a score over pairs; those are left out that accept none.
    wanted: HashMap<u32, Shape>,
}

impl Line {
    pub(super) fn of(simulation: &mut Simulation, order: Option<&[u32]>) -> Self {
        let scan_depth = simulation.setup.config.scan_depth as usize;
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
        let wanted = if over_pairs(simulation) { pairs::wanted(simulation) } else { HashMap::new() };
        Line { turns, looked_at, place_of, wanted }
    }

    /// Whether a job fits now on types of GPUs that it accepts.
    fn fits(&self, after: &Simulation, job: u32) -> bool {
        if !over_pairs(after) {
            return after.fits_now(job);
        }
        let wanted = self.wanted.get(&job);
        wanted.is_some_and(|wanted| after.reach_as(job, wanted, after.now_ms()).fits(&after.machine.free))
    }

    /// All that wait, the next first.
    pub(super) fn jobs(&self) -> impl Iterator<Item = u32> + '_ {
        self.turns.iter().map(|turn| turn.job)
    }

    /// The turns of those that the pass looks at, and that wait after it.
    fn left<'a>(&'a self, after: &'a Simulation) -> impl Iterator<Item = &'a Turn> {
        let waits = |turn: &&Turn| after.state(turn.job).phase == Phase::Waiting;
        self.turns.iter().take(self.looked_at).filter(waits)
    }

    /// Why a job waits that was not looked at, or does not fit now; none: it was, and does.
    pub(super) fn out_of_reach(&self, after: &Simulation, promises: &Promised, job: u32) -> Option<Reason> {
        let is_behind = self.place_of.get(&job).is_some_and(|&place| place >= self.looked_at);
        // A committed rule looks again, and further, when those before have started.
        if is_behind && !promises.held.contains_key(&job) {
            return Some(Reason::NotLookedAt);
        }
        if after.is_barred(job) && !promises.held.contains_key(&job) {
            return Some(Reason::Limit);
        }
        if self.fits(after, job) {
            return None;
        }
        if fits_but_for_windows(after, job) {
            return Some(Reason::Reserved);
        }
        let fits_apart = || after.machine.free.fits(&after.setup.cluster, after.shape_of(job));
        Some(match can_reserve(after, job) {
            true if is_refused(after, job) => Reason::Refused,
            // On a pool there is one node, and nothing to be close to.
            true if !after.setup.is_pool && fits_apart() => Reason::Locality,
            true => Reason::NoRoom,
            false => Reason::NodesDown,
        })
    }

    /// Why a job waits after the rule's own pass, and for whom.
    pub(super) fn reason(&self, after: &mut Simulation, promises: &Promised, job: u32) -> (Reason, Option<u32>) {
        if let Some(reason) = self.out_of_reach(after, promises, job) {
            return (reason, None);
        }
        if self.place_of.get(&job).is_some_and(|&place| is_passed_over(after, &self.turns[place])) {
            return (Reason::HeldBack, None);
        }
        match after.setup.config.dispatch {
            Dispatch::Strict => {
                let blocks = |turn: &&Turn| !is_passed_over(after, turn);
                match self.left(after).find(blocks).map(|turn| turn.job) {
                    // The first fits, and yet did not start: there is no place for it that would do.
                    Some(first) if first == job => (Reason::Declined, None),
                    first => (Reason::Behind, first),
                }
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

/// Whether pairs of jobs and types of GPUs take turns.
fn over_pairs(simulation: &Simulation) -> bool {
    simulation.setup.config.policy == Policy::Pairs
}

/// Whether windows alone keep a job that does not fit from starting.
fn fits_but_for_windows(after: &Simulation, job: u32) -> bool {
    if after.closures(job).is_none() {
        return false;
    }
    match after.setup.is_pool {
        true => after.machine.fits(&after.setup, after.state(job).shape),
        false => after.reach_at(job, after.now_ms()).fits(&after.machine.free),
    }
}

/// Whether a job that does not fit on what it accepts would fit if it took any type of GPU.
fn is_refused(after: &Simulation, job: u32) -> bool {
    let any = &after.setup.jobs.shapes[after.state(job).shape as usize];
    after.setup.config.chooses_types() && after.reach_as(job, any, after.now_ms()).fits(&after.machine.free)
}

/// What has been promised when a pass is over.
pub(super) struct Promised {
    /// Who holds a reservation: when it begins, if that is worked out, and where it is.
    pub(super) held: HashMap<u32, (Option<i64>, Placement)>,
    /// The first of them.
    pub(super) first: Option<u32>,
}

impl Promised {
    /// What the rule's own pass has promised.
    pub(super) fn of(after: &Simulation, line: &Line) -> Promised {
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
        if held.is_empty() && matches!(after.setup.config.dispatch, Dispatch::Reserve { depth: 1 }) && !after.is_ruled()
        {
            // Under EASY the head's reservation does not outlive the pass: it is worked out for each anew.
            let may_hold =
                |turn: &&Turn| turn.may_reserve && !line.fits(after, turn.job) && can_reserve(after, turn.job);
            first = line.left(after).find(may_hold).map(|turn| turn.job);
            held.extend(first.map(|job| {
                let head = match line.wanted.get(&job) {
                    Some(wanted) => Head::wanting(after, job, Some(wanted.clone())),
                    None => Head::at_earliest(after, job),
                };
                (job, (Some(head.reserved_ms), head.placement(after)))
            }));
        }
        Promised { held, first }
    }
}
