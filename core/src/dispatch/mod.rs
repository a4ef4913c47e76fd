//! Who may start now, when the next job does not fit: one file a family of rules.

mod agenda;
pub(crate) mod beside;
mod block;
pub(crate) mod by_shape;
pub(crate) mod committed;
pub(crate) mod contenders;
pub(crate) mod eft;
mod filling;
mod group_levels;
pub(crate) mod horizon;
mod lanes;
mod levels;
pub(crate) mod pairs;
pub(crate) mod preemptive;
pub(crate) mod projection;
pub(crate) mod promises;
pub(crate) mod reserving;
mod room;
mod search;
mod standing;
pub(crate) mod timelines;
pub(crate) mod trial;
pub(crate) mod turns;
mod victims;

use crate::model::config::{Dispatch, Policy};
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;
use turns::Turns;

/// One pass: starts what the rule lets start now. Without an order, the policy's own.
pub(crate) fn run_pass(simulation: &mut Simulation, order: Option<&[u32]>) {
    // One reservation is worked out anew at each pass: that gives the same time, and is quicker than to keep it good.
    if matches!(simulation.setup.config.dispatch, Dispatch::Reserve { depth: 0 | 1 }) && !keeps_promises(simulation) {
        reserving::drop_reservations(simulation);
    }
    if let Some(order) = order {
        simulation.forget_last_pass();
        let order = guarded(simulation, order);
        pass_in_turns(simulation, Turns::listed(&order));
        // Others may wait that are not in the caller's order.
        simulation.promises.tried = None;
        return;
    }
    if simulation.waiting.contest.is_some() {
        return preemptive::pass(simulation);
    }
    if simulation.waiting.order_moves() {
        simulation.refresh_ranking();
        if simulation.setup.config.policy == Policy::Pairs {
            return pass_over_pairs(simulation);
        }
        if !changes_nothing(simulation) {
            pass_in_turns(simulation, Turns::of_policy(simulation));
        }
        return;
    }
    if simulation.is_ruled() {
        // Who may start depends on who asks, and not on what is asked for alone: the index of the queue does not help.
        return pass_in_turns(simulation, Turns::of_queue(simulation));
    }
    match simulation.setup.config.dispatch {
        Dispatch::Strict => {
            while let Some(job) = simulation.waiting.queue.head() {
                if !simulation.try_start(job) {
                    return;
                }
            }
        }
        Dispatch::Reserve { depth: 0 } => standing::greedy_pass(simulation),
        Dispatch::Reserve { depth: 1 } if !keeps_promises(simulation) => standing::easy_pass(simulation),
        Dispatch::Reserve { depth } => agenda::pass(simulation, depth),
        Dispatch::Committed { .. } => {
            if let Some(job) = simulation.waiting.queue.head() {
                committed::commit(simulation, job);
            }
        }
    }
}

/// Whether a single reservation has to be kept from pass to pass: it may not be worked out anew by what runs alone.
fn keeps_promises(simulation: &Simulation) -> bool {
    simulation.setup.config.may_decline() || simulation.is_ruled()
}

/// One pass over pairs of a job and a type of GPU.
fn pass_over_pairs(simulation: &mut Simulation) {
    match simulation.setup.config.dispatch {
        Dispatch::Reserve { depth: 1 } => pairs::easy_pass(simulation),
        _ => pairs::greedy_pass(simulation),
    }
}

/// All that the rule does at this instant if nothing else happens: one pass, or as many as a committed rule makes.
pub(crate) fn pass_at_once(simulation: &mut Simulation, order: Option<&[u32]>) {
    let Dispatch::Committed { backfill } = simulation.setup.config.dispatch else {
        return run_pass(simulation, order);
    };
    while committed::chooses_now(simulation, backfill) {
        let waits = |job: &u32| simulation.state(*job).phase == Phase::Waiting;
        let rest: Option<Vec<u32>> = order.map(|order| order.iter().copied().filter(waits).collect());
        if rest.as_ref().is_some_and(Vec::is_empty) {
            return;
        }
        run_pass(simulation, rest.as_deref());
    }
}

/// Whether a pass over an order that moves, on a pool, would change nothing, for nobody fits: then there is no need to
/// rank.
fn changes_nothing(simulation: &Simulation) -> bool {
    let only_starts = matches!(simulation.setup.config.dispatch, Dispatch::Strict | Dispatch::Reserve { depth: 0 | 1 });
    let free = &simulation.machine.free;
    simulation.setup.is_pool
        && only_starts
        && !simulation.is_ruled()
        && !simulation.waiting.any_candidate_within(free.cores_milli[0])
}

/// One pass over an order that is made anew.
fn pass_in_turns(simulation: &mut Simulation, mut turns: Turns) {
    match simulation.setup.config.dispatch {
        Dispatch::Strict => turns::strict_pass(simulation, turns),
        Dispatch::Reserve { depth: 0 } => turns::greedy_pass(simulation, turns),
        Dispatch::Reserve { depth: 1 } if !keeps_promises(simulation) => turns::easy_pass(simulation, turns),
        Dispatch::Reserve { depth } => reserving::pass(simulation, depth, &turns.sorted()),
        Dispatch::Committed { .. } => {
            if let Some(first) = turns.take_first() {
                committed::commit(simulation, first.job);
            }
        }
    }
}

/// A caller's order, tier by tier, behind the jobs that the guard puts first, cut at the scan depth.
pub(crate) fn guarded(simulation: &Simulation, order: &[u32]) -> Vec<u32> {
    let queue = &simulation.waiting.queue;
    let first = queue.iter().take_while(|&job| queue.is_first(job));
    let mut rest: Vec<u32> = order.iter().copied().filter(|&job| !queue.is_first(job)).collect();
    simulation.setup.sort_by_tier(&mut rest);
    first.chain(rest).take(simulation.setup.config.scan_depth as usize).collect()
}
