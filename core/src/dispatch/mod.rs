//! Who may start now, when the next job does not fit.

pub mod committed;
pub mod moving;
pub mod preemptive;
pub(crate) mod promises;
pub mod reserving;
pub(crate) mod room;
pub mod standing;

use crate::model::config::Dispatch;
use crate::order::ranking::Turn;
use crate::place::placement::Placement;
use crate::place::rules::Rule;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// One pass: starts what the rule lets start now. Without an order, the policy's own.
pub(crate) fn run_pass(simulation: &mut Simulation, order: Option<&[u32]>) {
    if let Some(order) = order {
        simulation.promises.forget_last_pass();
        return run_listed_pass(simulation, guarded(simulation, order));
    }
    let dispatch = simulation.setup.config.dispatch;
    if matches!(dispatch, Dispatch::Reserve { depth: 0 | 1 }) {
        simulation.drop_reservations();
    }
    if simulation.waiting.contest.is_some() {
        return simulation.dispatch_preemptive();
    }
    if simulation.waiting.order_moves() {
        return simulation.dispatch_moving();
    }
    match dispatch {
        Dispatch::Strict => {
            while let Some(job) = simulation.waiting.queue.head() {
                if !simulation.try_start(job) {
                    return;
                }
            }
        }
        Dispatch::Reserve { depth: 0 } => simulation.dispatch_greedy(),
        Dispatch::Reserve { depth: 1 } => simulation.dispatch_easy(),
        Dispatch::Reserve { depth } => {
            let order = simulation.waiting.queue.iter().take(simulation.setup.config.scan_depth as usize);
            let turns = turns(order);
            simulation.dispatch_reserving(depth, &turns);
        }
        Dispatch::Committed { .. } => {
            if let Some(job) = simulation.waiting.queue.head() {
                simulation.commit(job);
            }
        }
    }
}

/// All that the rule does at this instant if nothing else happens: one pass, or as many as a committed rule makes.
pub(crate) fn pass_at_once(simulation: &mut Simulation, order: Option<&[u32]>) {
    let Dispatch::Committed { backfill } = simulation.setup.config.dispatch else {
        return run_pass(simulation, order);
    };
    while simulation.promises.commitment().is_none() || simulation.serve_commitment(backfill) {
        if simulation.waiting.queue.is_empty() {
            return;
        }
        let waits = |job: &u32| simulation.state(*job).phase == Phase::Waiting;
        let rest: Option<Vec<u32>> = order.map(|order| order.iter().copied().filter(waits).collect());
        if rest.as_ref().is_some_and(Vec::is_empty) {
            return;
        }
        run_pass(simulation, rest.as_deref());
    }
}

/// The promise to the head under EASY: when it starts, and where the placement rule would put it then, if it can be asked.
pub(crate) fn beside_head(simulation: &Simulation, head: u32) -> (i64, Placement) {
    if simulation.setup.is_pool {
        let (reserved_ms, _) = simulation.pool_reservation(simulation.cores_milli(head));
        return (reserved_ms, Placement::single(0, simulation.shape_of(head).tasks));
    }
    let shadow = simulation.shadow(head);
    let placement = match simulation.setup.config.placement {
        Rule::External => None,
        _ => simulation.place_on(&shadow.free, head),
    };
    (shadow.reserved_ms, placement.unwrap_or_default())
}

/// One pass over these jobs, in this order.
fn run_listed_pass(simulation: &mut Simulation, order: Vec<u32>) {
    match simulation.setup.config.dispatch {
        Dispatch::Strict => {
            let _ = order.iter().all(|&job| simulation.try_start(job));
        }
        Dispatch::Reserve { depth } => simulation.dispatch_reserving(depth, &turns(order.into_iter())),
        Dispatch::Committed { .. } => order.first().into_iter().for_each(|&job| simulation.commit(job)),
    }
}

/// A caller's order behind the jobs that the guard puts first, cut at the scan depth.
pub(crate) fn guarded(simulation: &Simulation, order: &[u32]) -> Vec<u32> {
    let queue = &simulation.waiting.queue;
    let first = queue.iter().take_while(|&job| queue.is_first(job));
    let rest = order.iter().copied().filter(|&job| !queue.is_first(job));
    first.chain(rest).take(simulation.setup.config.scan_depth as usize).collect()
}

fn turns(order: impl Iterator<Item = u32>) -> Vec<Turn> {
    order.map(|job| Turn::plain(0, job)).collect()
}
