//! Policies that stop running jobs: shortest remaining time, and least attained service.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::model::config::Policy;
use crate::order::contest::Key;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// The rank of a job that the starvation guard puts first.
const FIRST: i64 = i64::MIN;

/// The running jobs that may be stopped, by the partition that asks, the last in order first.
type Victims = HashMap<Option<u32>, Vec<Key>>;

/// One pass: in order, each waiting job starts if it fits, or stops as many of those behind it as it needs.
pub(super) fn pass(simulation: &mut Simulation) {
    rank_again(simulation);
    let Some(contest) = &simulation.waiting.contest else { return };
    let mut heads = contest.heads(None);
    let mut victims = Victims::new();
    while let Some(Reverse((key, shape))) = heads.pop() {
        let job = key.1;
        if simulation.machine.fits(&simulation.setup, shape) {
            if simulation.try_start(job) {
                push_next(simulation, &mut heads, shape, key);
            }
            continue;
        }
        // Whoever comes later in this shape could stop fewer still: the shape is looked at again if room is made.
        if make_way(simulation, job, key, &mut victims) {
            // Those who were stopped wait again, behind this key, and there may be room left for others: all shapes are
            // looked at again from here on, never from before.
            heads = simulation.waiting.contest.as_ref().map(|contest| contest.heads(Some(key))).unwrap_or_default();
        }
    }
    plan_review(simulation);
}

fn push_next(simulation: &Simulation, heads: &mut BinaryHeap<Reverse<(Key, u32)>>, shape: u32, after: Key) {
    if let Some(next) = simulation.waiting.contest.as_ref().and_then(|contest| contest.next(shape, Some(after))) {
        heads.push(Reverse((next, shape)));
    }
}

/// Ranks of waiting jobs change only with estimates that are learned.
pub(crate) fn rank_again(simulation: &mut Simulation) {
    if !simulation.accounts.learns() || simulation.setup.config.policy != Policy::Srtf {
        return;
    }
    let Some(mut contest) = simulation.waiting.contest.take() else { return };
    for job in contest.in_order() {
        let shape = simulation.states[job as usize].shape;
        contest.remove(shape, job);
        contest.insert(shape, job, rank_of(simulation, job));
    }
    simulation.waiting.contest = Some(contest);
}

/// A job's rank, where the policy stops running jobs.
pub(crate) fn rank_in_contest(simulation: &Simulation, job: u32) -> Option<i64> {
    simulation.waiting.contest.is_some().then(|| rank_of(simulation, job))
}

/// What a job's place in the order rests on, whether it waits or runs.
fn rank_of(simulation: &Simulation, job: u32) -> i64 {
    // A running job that was put first stays so: otherwise two such jobs would stop each other for ever.
    if simulation.setup.is_starving(job, simulation.now_ms()) {
        return FIRST;
    }
    match simulation.setup.config.policy {
        Policy::Las => level(simulation, job, simulation.now_ms()) as i64,
        _ => (simulation.estimate(job).0 - done_ms(simulation, job)).max(0),
    }
}

/// The work that a job has done and kept, at full speed.
pub(crate) fn done_ms(simulation: &Simulation, job: u32) -> i64 {
    let state = &simulation.states[job as usize];
    let before_ms = state.done_ms;
    if simulation.state(job).phase == Phase::Running {
        before_ms + simulation.progress_ms(job)
    } else {
        before_ms
    }
}

/// How many thresholds a job's service has reached at an instant.
fn level(simulation: &Simulation, job: u32, instant_ms: i64) -> usize {
    let service = service(simulation, job, instant_ms);
    simulation
        .setup
        .config
        .policy_parameters
        .iter()
        .take_while(|&&threshold_s| service >= service_of(threshold_s))
        .count()
}

/// Size, in millionths, times milliseconds that a job has held its nodes.
fn service(simulation: &Simulation, job: u32, instant_ms: i64) -> i128 {
    let state = &simulation.states[job as usize];
    let present_ms =
        if simulation.state(job).phase == Phase::Running { instant_ms - state.segment_start_ms } else { 0 };
    i128::from(simulation.setup.sizes.micro(state.shape)) * i128::from(state.held_ms + present_ms)
}

/// Stops as many running jobs behind this one as it needs, and starts it; false if all of them are not enough.
fn make_way(simulation: &mut Simulation, job: u32, key: Key, victims: &mut Victims) -> bool {
    let partition = simulation.shape_of(job).partition;
    let behind = victims.entry(partition).or_insert_with(|| victims_in(simulation, partition));
    let behind: Vec<u32> = behind.iter().take_while(|&&other| other > key).map(|&(_, other)| other).collect();
    if behind.is_empty() {
        return false;
    }
    let Some(stopped) = least_victims(simulation, job, &behind) else { return false };
    stopped.iter().for_each(|&other| simulation.stop(other));
    for list in victims.values_mut() {
        list.retain(|(_, other)| !stopped.contains(other));
    }
    simulation.try_start(job)
}

/// Running jobs that have run long enough on nodes of a partition, the last in order first.
fn victims_in(simulation: &Simulation, partition: Option<u32>) -> Vec<Key> {
    let is_there = |&job: &u32| {
        let mut parts = simulation.states[job as usize].placement.parts();
        partition.is_none()
            || parts.any(|part| simulation.setup.cluster.nodes[part.node as usize].partition == partition)
    };
    let ran_enough = |&job: &u32| {
        simulation.now_ms() - simulation.states[job as usize].segment_start_ms >= simulation.setup.config.minimum_run_ms
    };
    let mut found: Vec<Key> = simulation
        .machine
        .runners()
        .iter()
        .copied()
        .filter(is_there)
        .filter(ran_enough)
        .map(|job| (rank_of(simulation, job), job))
        .collect();
    found.sort_unstable_by_key(|&key| Reverse(key));
    found
}

/// Those of the jobs, given worst first, that have to stop for this one to fit: as many from the front as it takes,
/// without those that it fits beside. What is free stays as it was.
fn least_victims(simulation: &mut Simulation, job: u32, behind: &[u32]) -> Option<Vec<u32>> {
    let shape = simulation.states[job as usize].shape;
    behind.iter().for_each(|&other| lend(simulation, other, true));
    // First all at once: mostly it is not enough, and then nobody has to be tried one by one.
    let enough = simulation.machine.fits(&simulation.setup, shape);
    behind.iter().for_each(|&other| lend(simulation, other, false));
    if !enough {
        return None;
    }
    let mut lent = Vec::new();
    for &other in behind {
        lend(simulation, other, true);
        lent.push(other);
        if simulation.machine.fits(&simulation.setup, shape) {
            break;
        }
    }
    let mut stopped = Vec::new();
    // The first taken are the worst; going back, those that turn out not to be needed keep their nodes.
    for &other in lent.iter().rev() {
        lend(simulation, other, false);
        if !simulation.machine.fits(&simulation.setup, shape) {
            lend(simulation, other, true);
            stopped.push(other);
        }
    }
    stopped.iter().for_each(|&other| lend(simulation, other, false));
    stopped.reverse();
    Some(stopped)
}

/// A running job's nodes count as free for a moment, or no longer.
fn lend(simulation: &mut Simulation, job: u32, free: bool) {
    let state = &simulation.states[job as usize];
    if free {
        simulation.machine.give(&simulation.setup, state);
    } else {
        simulation.machine.take(&simulation.setup, state);
    }
}

/// When a running job may first be stopped, or falls to the next level, while somebody waits.
pub(crate) fn plan_review(simulation: &mut Simulation) {
    let waits = !simulation.waiting.queue.is_empty();
    let next = simulation.machine.runners().iter().filter(|_| waits).flat_map(|&job| reviews_of(simulation, job)).min();
    if let Some(contest) = &mut simulation.waiting.contest {
        contest.review_ms = next;
    }
}

fn reviews_of(simulation: &Simulation, job: u32) -> impl Iterator<Item = i64> {
    let state = &simulation.states[job as usize];
    let ran_enough_ms = state.segment_start_ms + simulation.setup.config.minimum_run_ms;
    let falls_ms = (simulation.setup.config.policy == Policy::Las).then(|| falls_ms(simulation, job)).flatten();
    let now_ms = simulation.now_ms();
    [Some(ran_enough_ms), falls_ms].into_iter().flatten().filter(move |&instant_ms| instant_ms > now_ms)
}

/// When a running job's service reaches the next threshold.
fn falls_ms(simulation: &Simulation, job: u32) -> Option<i64> {
    let threshold =
        service_of(*simulation.setup.config.policy_parameters.get(level(simulation, job, simulation.now_ms()))?);
    let missing = threshold - service(simulation, job, simulation.now_ms());
    let size = i128::from(simulation.setup.sizes.micro(simulation.state(job).shape));
    if size == 0 {
        return None;
    }
    // Rounded up: at that millisecond the threshold is reached, not just before.
    i64::try_from((missing + size - 1) / size).ok().filter(|&ms| ms < i64::MAX / 4).map(|ms| simulation.now_ms() + ms)
}

/// A threshold in seconds times size, as `service` counts; an infinite one is never reached.
fn service_of(threshold_s: f64) -> i128 {
    // To a millionth, as ever: whole thousandths of what `service` counts.
    (threshold_s * 1e6).min(1e30) as i128 * 1000
}
