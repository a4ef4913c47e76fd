//! What would be decided now, from any state: who starts where, who holds which reservation, and why the rest waits.
//!
//! The rule itself decides, on a copy of the simulation. Here is only read off what it did. Where a learned policy
//! chooses, `consultation` asks it, through the code of the environments in which it was trained.

pub mod blocks;
pub mod consultation;
mod line;

use crate::dispatch::pass_at_once;
use crate::place::placement::Placement;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;
use line::{Line, Promised};

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
    /// It fits, but the policy holds it back: it chose to wait, or its start would leave too little free.
    HeldBack = 4,
    /// The pass does not look at it: the scan ends before it, or the caller's order does not name it.
    NotLookedAt = 5,
    /// It would not fit though all jobs had ended, for nodes are down.
    NodesDown = 6,
    /// It fits, but whoever places gives it no nodes now.
    Declined = 7,
    /// It fits, but not on nodes that are close enough together: it waits for these.
    Locality = 8,
    /// It fits, but on types of GPUs alone that it refuses: it waits for another.
    Refused = 9,
    /// A limit of the site keeps it from starting now, whether it fits or not.
    Limit = 10,
    /// It fits, but on nodes alone that are reserved for others before it would end.
    Reserved = 11,
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
    /// The counter of the limit, or the window, for which it waits.
    pub rule: Option<u32>,
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
    let promised = Promised::of(&after, &line);
    // To those that wait, a job that holds a reservation counts as if it ran.
    for job in after.promises.holders().to_vec() {
        after.limits.promise(&after.setup, job);
    }
    verdicts(simulation, &mut after, &line, &promised, |after, job| line.reason(after, &promised, job))
}

/// The counter or the window that a reason is about.
fn rule_of(after: &Simulation, job: u32, reason: Reason) -> Option<u32> {
    match reason {
        Reason::Limit => after.barring(job),
        Reason::Reserved => after.closures(job)?.first_closing(after.now_ms(), after.longest_span_ms(job)),
        _ => None,
    }
}

/// What became of each job between two states of one instant; `reason` says why one waits, and for whom.
fn verdicts(
    before: &Simulation,
    after: &mut Simulation,
    line: &Line,
    promised: &Promised,
    reason: impl Fn(&mut Simulation, u32) -> (Reason, Option<u32>),
) -> Vec<Verdict> {
    let mut verdicts = vec![Verdict::default(); after.states.len()];
    for (job, verdict) in verdicts.iter_mut().enumerate() {
        let (was, is) = (&before.states[job], &after.states[job]);
        let starts = is.phase == Phase::Running && is.sequence >= before.machine.starts();
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
            (verdict.reason, verdict.blocker) = reason(after, job as u32);
            verdict.rule = rule_of(after, job as u32, verdict.reason);
        }
    }
    for (place, job) in line.jobs().enumerate() {
        verdicts[job as usize].place = Some(place as u32);
    }
    for (&job, (reserved_ms, placement)) in &promised.held {
        let verdict = &mut verdicts[job as usize];
        (verdict.outcome, verdict.reserved_ms) = (Outcome::Reserves, *reserved_ms);
        verdict.placement = placement.clone();
    }
    verdicts
}
