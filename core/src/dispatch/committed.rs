//! RLScheduler's rule: the chosen job is committed, and the clock moves until it fits.
//!
//! The order of events is that simulator's, to the digit; `docs/simulation.md` writes it out.

use crate::dispatch::beside::Head;
use crate::dispatch::promises::Commitment;
use crate::dispatch::standing::fill_nodes;
use crate::model::config::Dispatch;
use crate::sim::events::earlier;
use crate::sim::simulation::Simulation;

/// Moves on until a job is to be chosen. False: nothing is to come.
pub(crate) fn advance(simulation: &mut Simulation, backfill: bool) -> bool {
    while !serve(simulation, backfill) {
        if !one_event(simulation) {
            return false;
        }
    }
    // One event at a time: exactly one job arrives before the next is chosen, as in RLScheduler.
    // A job that has just started may let others wait.
    simulation.settle();
    while simulation.waiting.queue.is_empty() {
        if !one_event(simulation) {
            return false;
        }
    }
    simulation.put_starving_first();
    true
}

/// Whether another job is to be chosen though the clock does not move: none is committed, or it starts now.
pub(crate) fn chooses_now(simulation: &mut Simulation, backfill: bool) -> bool {
    serve(simulation, backfill) && !simulation.waiting.queue.is_empty()
}

/// Starts the committed job, or fills in others before it. Says whether none is committed any more.
fn serve(simulation: &mut Simulation, backfill: bool) -> bool {
    let Some(commitment) = simulation.promises.commitment else { return true };
    if simulation.try_start(commitment.job) {
        simulation.promises.commitment = None;
        return true;
    }
    if backfill {
        fill_nodes(simulation, Some(&mut Head::committed(commitment)), 0);
    }
    false
}

/// Commits a waiting job: it starts at once if it fits.
pub(crate) fn commit(simulation: &mut Simulation, job: u32) {
    simulation.promises.commitment = None;
    if !simulation.try_start(job) {
        let fills = simulation.setup.config.dispatch == Dispatch::Committed { backfill: true };
        // Where nobody is filled in, nobody asks when it will start.
        let earliest_ms = if fills { Head::at_earliest(simulation, job).reserved_ms } else { simulation.now_ms() };
        simulation.promises.commitment = Some(Commitment { job, earliest_ms });
    }
}

/// One event, and what it means for those that are held. False: nothing is to come.
fn one_event(simulation: &mut Simulation) -> bool {
    let happens = one_change(simulation);
    simulation.settle();
    happens
}

/// What happens to nodes, one arrival, or one completion if that is strictly earlier. False: nothing is to come.
fn one_change(simulation: &mut Simulation) -> bool {
    let end = simulation.next_end_ms();
    // Those that are held, or leave, at a time of their own count as arrivals behind all others of that time.
    let submit = earlier(simulation.next_submit_ms(), simulation.next_gate_ms());
    let failure = simulation.next_failure_ms(end.is_none() && submit.is_none());
    let failure = failure.filter(|&failure_ms| submit.is_none_or(|submit_ms| failure_ms <= submit_ms));
    if let Some(failure_ms) = failure.filter(|&failure_ms| end.is_none_or(|end_ms| failure_ms < end_ms)) {
        simulation.move_clock(simulation.now_ms().max(failure_ms));
        simulation.change_nodes(failure_ms);
        return true;
    }
    // Completions come before the node event that comes before the arrival.
    let submit = submit.filter(|_| failure.is_none());
    match (submit, end) {
        (Some(submit_ms), end) if end.is_none_or(|end_ms| submit_ms <= end_ms) => {
            simulation.move_clock(simulation.now_ms().max(submit_ms));
            if simulation.next_submit_ms() == Some(submit_ms) {
                simulation.arrive();
            }
        }
        (_, Some(end_ms)) => {
            simulation.move_clock(simulation.now_ms().max(end_ms));
            simulation.complete_next();
        }
        _ => return false,
    }
    true
}
