//! Greedy and EASY over an order that stands still: the queue's index finds who may start, without a scan.

use crate::dispatch::beside::{start_beside, Head, PoolTerms};
use crate::dispatch::by_shape::ByShape;
use crate::dispatch::eft::Forecast;
use crate::dispatch::promises::Blocked;
use crate::order::queue::Fresh;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// Everything that fits starts, in order.
pub(super) fn greedy_pass(simulation: &mut Simulation) {
    if simulation.setup.is_pool {
        fill_pool(simulation, None, 0);
    } else {
        fill_nodes(simulation, None, 0);
    }
}

/// The first that does not fit holds a reservation; others start if they do not delay it.
pub(super) fn easy_pass(simulation: &mut Simulation) {
    if let Some(blocked) = still_blocked(simulation) {
        return fill_newcomer(simulation, blocked);
    }
    let mut passed_over = None;
    while let Some(job) = simulation.waiting.queue.next_after(passed_over) {
        if simulation.try_start(job) {
            continue;
        }
        if simulation.setup.is_pool {
            return easy_on_pool(simulation, job);
        }
        if let Some(mut head) = Head::next(simulation, job) {
            let anybody = fill_nodes(simulation, Some(&mut head), 0);
            return keep(simulation, head, anybody);
        }
        // The reservation goes to the next who can have one: otherwise nobody behind would be safe from backfills.
        passed_over = Some(job);
    }
}

/// EASY on a pool from the first job on that does not fit.
fn easy_on_pool(simulation: &mut Simulation, job: u32) {
    // Often nobody fits: then there is no need to know the head's time.
    let Some(from) = first_beside(simulation, None, 0) else { return };
    let mut head = Head::at_earliest(simulation, job);
    fill_pool(simulation, Some(&mut head), from);
    keep(simulation, head, false);
}

/// Most passes are made because one more job has come: for these the head's time need not be worked out again, and those
/// that could not start cannot now.
///
/// On nodes, a start may have others placed elsewhere, where they delay nobody: only a pass in which nobody could start
/// says the same of the next. Neither does it where jobs take other nodes as time goes by.
fn keep(simulation: &mut Simulation, head: Head, anybody: bool) {
    let config = &simulation.setup.config;
    if anybody || config.ends_first() || config.locality_patience_ms().is_some() {
        return head.close(simulation);
    }
    simulation.promises.blocked = Some(Blocked { head, next_arrival: simulation.clock.next_arrival });
}

/// The end of the last pass, if since then one job has arrived behind the same head, and nothing else happened.
fn still_blocked(simulation: &mut Simulation) -> Option<Blocked> {
    let blocked = simulation.promises.blocked.take()?;
    let same_head = simulation.waiting.queue.head() == Some(blocked.head.job);
    let one_arrived = simulation.clock.next_arrival == blocked.next_arrival + 1;
    if same_head && one_arrived && !simulation.machine.has_overrun(simulation.now_ms()) {
        return Some(blocked);
    }
    blocked.head.close(simulation);
    None
}

/// Those that were there in the last pass could not start then, and cannot now: only the newcomer is looked at, and those
/// behind it if it starts and takes nodes on which they would have delayed the head.
fn fill_newcomer(simulation: &mut Simulation, mut blocked: Blocked) {
    let job = blocked.next_arrival;
    let waits = simulation.state(job).phase == Phase::Waiting;
    let behind = simulation.waiting.queue.entry_of(job) + 1;
    let started = waits && start_beside(simulation, Some(&mut blocked.head), job);
    let moves_others = started && !simulation.setup.is_pool;
    if moves_others {
        fill_nodes(simulation, Some(&mut blocked.head), behind);
    }
    keep(simulation, blocked.head, moves_others);
}

/// Starts, in order, those from an entry on that fit a pool and do not delay the head.
fn fill_pool(simulation: &mut Simulation, mut head: Option<&mut Head>, mut from: u32) {
    while let Some(entry) = first_beside(simulation, head.as_deref(), from) {
        start_beside(simulation, head.as_deref_mut(), simulation.waiting.queue.job_at(entry));
        from = entry + 1;
    }
}

/// The first entry, not before `from`, that fits a pool now, and either fits beside the head at its time or ends by then.
fn first_beside(simulation: &Simulation, head: Option<&Head>, from: u32) -> Option<u32> {
    let free = simulation.machine.free.cores_milli[0];
    let terms = head.map_or(PoolTerms::ANY, |head| head.pool_terms(simulation));
    let may_start = |one: &&Fresh| one.cores_milli <= free && terms.allow(one.cores_milli, one.limit_ms);
    let queue = &simulation.waiting.queue;
    let fresh = queue.fresh();
    let first = fresh.partition_point(|one| one.entry < from);
    // The few newest stand in a plain list; all others in the index, which is asked only if there are any.
    let listed = fresh[first..].iter().find(may_start).map(|one| one.entry);
    if queue.all_fresh() {
        return listed;
    }
    listed.into_iter().chain(first_indexed_beside(simulation, terms)).min()
}

/// The same among those in the index. What could not start before a backfill cannot start after it, since both bounds
/// only shrink: so all that may start lies behind the last one anyway.
fn first_indexed_beside(simulation: &Simulation, terms: PoolTerms) -> Option<u32> {
    let PoolTerms { spare_cores_milli, longest_ms } = terms;
    let free = simulation.machine.free.cores_milli[0];
    let (queue, cores) = (&simulation.waiting.queue, &simulation.setup.jobs.shape_cores);
    let beside = queue.first_below(cores.count_within(spare_cores_milli.min(free)));
    if spare_cores_milli >= free {
        return beside;
    }
    let fitting = cores.count_within(free);
    let before = match queue.shortest_below(fitting) {
        shortest_ms if shortest_ms > longest_ms => None,
        _ => queue.first_allowed(fitting, 0, longest_ms, |_, _| Some(longest_ms)),
    };
    beside.into_iter().chain(before).min()
}

/// Starts, in the order of the index, those from an entry on that fit now and do not delay the head. Says whether anybody
/// did.
pub(super) fn fill_nodes(simulation: &mut Simulation, mut head: Option<&mut Head>, from: u32) -> bool {
    // Shapes are asked about, not jobs: all entries must be in the index.
    simulation.waiting.queue.settle();
    let mut forecast = simulation.setup.config.ends_first().then(|| Forecast::new(simulation));
    // Only where a bound may be too wide is a shape asked about twice though nothing has started in between.
    let mut bounds = ByShape::new(!simulation.setup.cluster.has_speeds);
    let (mut from, mut anybody) = (from, false);
    loop {
        // Taken out meanwhile: the head is asked, too.
        let leftover = head.as_deref_mut().and_then(|head| head.take_leftover(simulation));
        let longest_ms = head.as_ref().map_or(i64::MAX, |head| head.longest_ms(simulation));
        let Simulation { setup, machine, waiting, .. } = &*simulation;
        let bound_ms = |shape: u32, shortest_ms: i64| match (&mut head, &mut forecast) {
            (Some(head), forecast) => {
                bounds.get(shape, || head.bound_ms(simulation, shape, shortest_ms, forecast.as_mut()))
            }
            (None, Some(forecast)) => forecast.bound_ms(simulation, shape),
            (None, None) => machine.fits(setup, shape).then_some(i64::MAX),
        };
        let found = if setup.is_pool {
            let shapes = setup.jobs.shape_cores.count_within(machine.free.cores_milli[0]);
            waiting.queue.first_allowed(shapes, from, i64::MAX, bound_ms)
        } else {
            let beside = leftover.as_deref().map(|leftover| (longest_ms, leftover));
            waiting.queue.first_with_room(&setup.cluster, &machine.free, from, beside, bound_ms)
        };
        if let (Some(head), Some(leftover)) = (head.as_deref_mut(), leftover) {
            head.put_leftover(leftover);
        }
        let Some(entry) = found else { return anybody };
        from = entry + 1;
        let job = simulation.waiting.queue.job_at(entry);
        let is_head = head.as_ref().is_some_and(|head| head.job == job);
        if !is_head && start_beside(simulation, head.as_deref_mut(), job) {
            anybody = true;
            bounds.forget();
            forecast.iter_mut().for_each(Forecast::forget);
        }
    }
}
