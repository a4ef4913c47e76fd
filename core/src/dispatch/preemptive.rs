//! Policies that stop running jobs: who goes first takes the place of those behind.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::dispatch::contenders::{plan_review, rank_again, rank_of};
use crate::order::contest::{Heads, Key, LaneKey};
use crate::sim::simulation::Simulation;

/// The running jobs that may be stopped, by the partition that asks.
type Victims = HashMap<Option<u32>, Vec<Key>>;

/// One pass: in order, each waiting job starts if it fits, or stops as many of those behind it as it needs.
pub(super) fn pass(simulation: &mut Simulation) {
    rank_again(simulation);
    let Some(contest) = &simulation.waiting.contest else { return };
    let mut heads = contest.heads(None);
    let mut victims = Victims::new();
    // Whoever comes later in one of these shapes could stop fewer still: they are looked at again if room is made.
    let mut hopeless: HashSet<u32> = HashSet::new();
    while let Some(Reverse((key, lane))) = heads.pop() {
        let ((_, job), (shape, _)) = (key, lane);
        if hopeless.contains(&shape) {
            continue;
        }
        if may_start(simulation, job) {
            // One that is given no nodes tells of its shape, unless windows bind some jobs and not others.
            if simulation.try_start(job) || simulation.is_ruled() {
                push_next(simulation, &mut heads, lane, key);
            } else {
                hopeless.insert(shape);
            }
        } else if make_way(simulation, job, key, &mut victims) {
            // Those who were stopped wait again, behind this key, and there may be room left for others: all shapes are
            // looked at again from here on, never from before.
            heads = simulation.waiting.contest.as_ref().map(|contest| contest.heads(Some(key))).unwrap_or_default();
            hopeless.clear();
        } else if simulation.setup.config.locality_patience_ms().is_some() || simulation.is_ruled() {
            // One that has waited longer may take nodes that this one does not take yet; and the site's rules tell jobs of one
            // shape apart.
            push_next(simulation, &mut heads, lane, key);
        } else {
            hopeless.insert(shape);
        }
    }
    plan_review(simulation);
}

/// The next of a lane is looked at when its turn comes.
fn push_next(simulation: &Simulation, heads: &mut Heads, lane: LaneKey, key: Key) {
    if let Some(next) = simulation.waiting.contest.as_ref().and_then(|contest| contest.next(lane, key)) {
        heads.push(Reverse((next, lane)));
    }
}

/// Whether a job fits now, and no limit of the site keeps it from starting.
fn may_start(simulation: &Simulation, job: u32) -> bool {
    simulation.fits_now(job) && !simulation.is_barred(job)
}

/// Stops as many running jobs behind this one as it needs, and starts it; false if all of them are not enough.
fn make_way(simulation: &mut Simulation, job: u32, key: Key, victims: &mut Victims) -> bool {
    // A job of another partition may have what a limit leaves to one of them.
    let partition = simulation.shape_of(job).partition.filter(|_| !simulation.is_ruled());
    let found = victims.entry(partition).or_insert_with(|| victims_for(simulation, job));
    let mut behind: Vec<Key> = found.iter().copied().filter(|&other| other > key).collect();
    if behind.is_empty() || !could_be_enough(simulation, job, &behind) {
        return false;
    }
    behind.sort_unstable_by_key(|&other| Reverse(other));
    let behind: Vec<u32> = behind.into_iter().map(|(_, other)| other).collect();
    let Some(stopped) = least_victims(simulation, job, &behind) else { return false };
    stopped.iter().for_each(|&other| simulation.stop(other));
    for list in victims.values_mut() {
        list.retain(|(_, other)| !stopped.contains(other));
    }
    simulation.try_start(job)
}

/// Running jobs that have run long enough: on nodes of a job's partitions, or on any if they may have what a limit leaves.
fn victims_for(simulation: &mut Simulation, job: u32) -> Vec<Key> {
    let nodes = simulation.setup.cluster.nodes_for(simulation.shape_of(job));
    let goes_anywhere = simulation.is_ruled() || nodes.len() == simulation.setup.cluster.nodes.len();
    let is_there = |&other: &u32| {
        let mut parts = simulation.states[other as usize].placement.parts();
        goes_anywhere || parts.any(|part| nodes.binary_search(&part.node).is_ok())
    };
    let ran_enough = |&job: &u32| {
        simulation.now_ms() - simulation.states[job as usize].segment_start_ms >= simulation.setup.config.minimum_run_ms
    };
    let runners = simulation.machine.runners().iter().copied();
    let may_stop: Vec<u32> = runners.filter(ran_enough).filter(is_there).collect();
    may_stop.into_iter().map(|job| (rank_of(simulation, job), job)).collect()
}

/// Whether these jobs hold what this one needs, wherever that is: mostly they do not, which is seen quickly.
fn could_be_enough(simulation: &Simulation, job: u32, behind: &[Key]) -> bool {
    let (free, shape) = (&simulation.machine.free, simulation.shape_of(job));
    let mut cores_milli = shape.total_cores_milli() - free.total_cores_milli();
    let mut gpu_milli = shape.total_gpu_milli() - free.total_gpu_milli();
    behind.iter().any(|&(_, other)| {
        let held = free.held_milli(simulation.shape_of(other), &simulation.states[other as usize].placement);
        cores_milli -= held[0];
        gpu_milli -= held[1];
        cores_milli <= 0 && gpu_milli <= 0
    })
}

/// Those of the jobs, given worst first, that have to stop for this one to fit: as many from the front as it takes,
/// without those that it fits beside. What is free stays as it was.
fn least_victims(simulation: &mut Simulation, job: u32, behind: &[u32]) -> Option<Vec<u32>> {
    let mut lent = Vec::new();
    let mut enough = false;
    for &other in behind {
        lend(simulation, other, true);
        lent.push(other);
        enough = may_start(simulation, job);
        if enough {
            break;
        }
    }
    if !enough {
        lent.iter().for_each(|&other| lend(simulation, other, false));
        return None;
    }
    let mut stopped = Vec::new();
    // The first taken are the worst; going back, those that turn out not to be needed keep their nodes.
    for &other in lent.iter().rev() {
        lend(simulation, other, false);
        if !may_start(simulation, job) {
            lend(simulation, other, true);
            stopped.push(other);
        }
    }
    stopped.iter().for_each(|&other| lend(simulation, other, false));
    stopped.reverse();
    Some(stopped)
}

/// A running job's nodes, and what it has of limits, count as free for a moment, or no longer.
fn lend(simulation: &mut Simulation, job: u32, free: bool) {
    let state = &simulation.states[job as usize];
    if free {
        simulation.machine.give(&simulation.setup, state);
    } else {
        simulation.machine.take(&simulation.setup, state);
    }
    simulation.limits.count(&simulation.setup, job, if free { -1 } else { 1 });
}
