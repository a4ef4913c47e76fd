//! What a job's place in the contest rests on, whether it waits or runs, and when that changes by itself.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::config::{Estimate, Policy};
use crate::order::contest::{Reviews, Standing, FIRST};
use crate::order::scores::LEAST_SIZE;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// Ranks within a tier are sizes in millionths times milliseconds, below 2^104, or bits of a number.
const TIER_BITS: u32 = 108;

/// The classes of a policy that has none.
const ONE_CLASS: u32 = 0;

/// A waiting job's place, where the policy stops running jobs.
pub(crate) fn standing_of(simulation: &mut Simulation, job: u32) -> Option<Standing> {
    simulation.waiting.contest.as_ref()?;
    let is_first = simulation.is_starving(job);
    let Some(gittins) = &simulation.accounts.gittins else {
        let rank = rank_of(simulation, job);
        return Some(Standing { class: ONE_CLASS, lane_rank: 0, rank });
    };
    let class = gittins.class(job, attained_ms(simulation, job));
    let shape = simulation.states[job as usize].shape;
    let lane_rank = rank_by_index(simulation, shape, class);
    Some(Standing { class, lane_rank, rank: if is_first { FIRST } else { tier_rank(simulation, job) } })
}

/// Brings the ranks of waiting jobs up to date, which change with what is learned alone.
pub(crate) fn rank_again(simulation: &mut Simulation) {
    let policy = simulation.setup.config.policy;
    let by_estimate = policy.uses_estimate() && simulation.accounts.learns();
    if !by_estimate && policy != Policy::Gittins {
        return;
    }
    let learned = Some(simulation.accounts.learned());
    if simulation.waiting.contest.as_ref().is_none_or(|contest| contest.ranked_at == learned) {
        return;
    }
    let Some(mut contest) = simulation.waiting.contest.take() else { return };
    contest.ranked_at = learned;
    if policy == Policy::Gittins {
        contest.rank_lanes(|(shape, class)| rank_by_index(simulation, shape, class));
    } else {
        for ((rank, job), (shape, class)) in contest.standings() {
            let now = rank_of(simulation, job);
            if now != rank {
                contest.remove(shape, job);
                contest.insert(shape, job, Standing { class, lane_rank: 0, rank: now });
            }
        }
    }
    simulation.waiting.contest = Some(contest);
}

/// What a job's place in the order rests on, whether it waits or runs; the least goes first.
pub(super) fn rank_of(simulation: &mut Simulation, job: u32) -> i128 {
    // A running job that was put first stays so: otherwise two such jobs would stop each other for ever.
    if simulation.is_starving(job) {
        return FIRST;
    }
    tier_rank(simulation, job) + rank_in_tier(simulation, job)
}

/// All of a higher tier go before all of a lower one: no rank within a tier reaches so far.
fn tier_rank(simulation: &Simulation, job: u32) -> i128 {
    i128::from(simulation.setup.tiers_above(job)) << TIER_BITS
}

fn rank_in_tier(simulation: &mut Simulation, job: u32) -> i128 {
    let shape = simulation.states[job as usize].shape;
    match simulation.setup.config.policy {
        Policy::Las if has_levels(simulation) => level(simulation, job) as i128,
        Policy::Las => service(simulation, job),
        Policy::Srsf => i128::from(left_ms(simulation, job)) * i128::from(simulation.setup.sizes.micro(shape)),
        Policy::Gittins => {
            let attained_ms = attained_ms(simulation, job);
            let class = simulation.accounts.gittins.as_ref().map_or(0, |gittins| gittins.class(job, attained_ms));
            rank_by_index(simulation, shape, class)
        }
        _ => i128::from(left_ms(simulation, job)),
    }
}

/// The highest index for its size goes first.
fn rank_by_index(simulation: &mut Simulation, shape: u32, class: u32) -> i128 {
    let size = simulation.setup.sizes.of(shape).max(LEAST_SIZE);
    let index = simulation.accounts.gittins.as_mut().map_or(0.0, |gittins| gittins.index(class));
    // Indices are not negative, so that their bits sort as they do.
    -i128::from((index / size).to_bits())
}

/// The work that a job has done and kept, at full speed.
pub(crate) fn done_ms(simulation: &Simulation, job: u32) -> i64 {
    let state = &simulation.states[job as usize];
    match state.phase {
        Phase::Running => state.done_ms + simulation.progress_ms(job),
        _ => state.done_ms,
    }
}

/// The work that a job has ever done: what was lost tells, too, that it runs longer, and a job that begins again and again
/// must not come before others again and again.
fn attained_ms(simulation: &Simulation, job: u32) -> i64 {
    done_ms(simulation, job) + simulation.states[job as usize].vain_ms
}

/// The work that is left of a job by its estimate.
fn left_ms(simulation: &Simulation, job: u32) -> i64 {
    (lasting_ms(simulation, job) - done_ms(simulation, job)).max(0)
}

/// How much work a job is in all, as it seems now: one that has outlived its estimate takes twice as long, and twice that,
/// and so on.
fn lasting_ms(simulation: &Simulation, job: u32) -> i64 {
    let (estimate_ms, attained_ms) = (simulation.estimate(job).0, attained_ms(simulation, job));
    if attained_ms == 0 || !doubles(simulation) {
        return estimate_ms;
    }
    let mut lasting_ms = estimate_ms.max(1);
    while lasting_ms <= attained_ms {
        lasting_ms *= 2;
    }
    lasting_ms
}

/// Whether an estimate that is outlived doubles, which the truth never is; otherwise nothing is left then.
fn doubles(simulation: &Simulation) -> bool {
    let config = &simulation.setup.config;
    let asks = config.policy == Policy::Srsf || config.policy == Policy::Srtf && !config.policy_parameters.is_empty();
    asks && config.estimate != Estimate::Perfect
}

fn has_levels(simulation: &Simulation) -> bool {
    !simulation.setup.config.policy_parameters.is_empty()
}

/// How many thresholds a job's service has reached.
fn level(simulation: &Simulation, job: u32) -> usize {
    let service = service(simulation, job);
    let thresholds_s = &simulation.setup.config.policy_parameters;
    thresholds_s.iter().take_while(|&&threshold_s| service >= service_of(threshold_s)).count()
}

/// Size, in millionths, times milliseconds that a job has held its nodes.
fn service(simulation: &Simulation, job: u32) -> i128 {
    let state = &simulation.states[job as usize];
    let present_ms = if state.phase == Phase::Running { simulation.now_ms() - state.segment_start_ms } else { 0 };
    i128::from(simulation.setup.sizes.micro(state.shape)) * i128::from(state.held_ms + present_ms)
}

/// A threshold in seconds times size, as `service` counts; an infinite one is never reached.
fn service_of(threshold_s: f64) -> i128 {
    // To a millionth, as ever: whole thousandths of what `service` counts.
    (threshold_s * 1e6).min(1e30) as i128 * 1000
}

/// Notes when the order has to be looked at again, though nothing arrives or ends, while somebody waits.
pub(crate) fn plan_review(simulation: &mut Simulation) {
    let Some(contest) = &mut simulation.waiting.contest else { return };
    let mut reviews = std::mem::take(&mut contest.reviews);
    let learned = Some(simulation.accounts.learned());
    // Only where estimates are learned does a time change that is in the heap already.
    if reviews.planned_at != learned && simulation.accounts.learns() && doubles(simulation) {
        reviews = Reviews::default();
    }
    reviews.planned_at = learned;
    let now_ms = simulation.now_ms();
    let add = |job: u32, times: &mut BinaryHeap<_>| {
        let sequence = simulation.states[job as usize].sequence;
        times.extend(review_of(simulation, job).map(|time_ms| Reverse((time_ms, sequence, job))));
    };
    let runners = simulation.machine.runners();
    let new = runners.partition_point(|&job| simulation.states[job as usize].sequence < reviews.from_start);
    runners[new..].iter().for_each(|&job| add(job, &mut reviews.times));
    reviews.from_start = simulation.machine.starts();
    while let Some(&Reverse((time_ms, sequence, job))) = reviews.times.peek() {
        let state = &simulation.states[job as usize];
        let runs_on = state.phase == Phase::Running && state.sequence == sequence;
        if runs_on && time_ms > now_ms {
            break;
        }
        reviews.times.pop();
        if runs_on {
            add(job, &mut reviews.times);
        }
    }
    let waits = !simulation.waiting.queue.is_empty();
    let next = reviews.times.peek().filter(|_| waits).map(|&Reverse((time_ms, _, _))| time_ms);
    if let Some(contest) = &mut simulation.waiting.contest {
        (contest.reviews, contest.review_ms) = (reviews, next);
    }
}

/// When a running job is to be looked at next: it may be stopped at last, or falls behind by itself.
fn review_of(simulation: &Simulation, job: u32) -> Option<i64> {
    let ran_enough_ms = simulation.states[job as usize].segment_start_ms + simulation.setup.config.minimum_run_ms;
    let times_ms = [Some(ran_enough_ms), falls_ms(simulation, job)];
    times_ms.into_iter().flatten().filter(|&time_ms| time_ms > simulation.now_ms()).min()
}

/// When a running job's place in the order gets worse: at a threshold, at a bin's border, or when it outlives what it was
/// estimated at.
fn falls_ms(simulation: &Simulation, job: u32) -> Option<i64> {
    match simulation.setup.config.policy {
        Policy::Las => serves_ms(simulation, job, next_threshold(simulation, job)?),
        Policy::Gittins => {
            let border_ms = simulation.accounts.gittins.as_ref()?.level_ends_ms(attained_ms(simulation, job))?;
            Some(attains_ms(simulation, job, border_ms))
        }
        _ if doubles(simulation) => Some(attains_ms(simulation, job, lasting_ms(simulation, job).max(1))),
        _ => None,
    }
}

/// When a running job will have attained so much.
fn attains_ms(simulation: &Simulation, job: u32, work_ms: i64) -> i64 {
    simulation.does_ms(job, work_ms - simulation.states[job as usize].vain_ms)
}

/// The service at which a running job is looked at again: where the next level begins; without levels, the next power of
/// two.
fn next_threshold(simulation: &Simulation, job: u32) -> Option<i128> {
    if has_levels(simulation) {
        return simulation.setup.config.policy_parameters.get(level(simulation, job)).map(|&s| service_of(s));
    }
    let service = service(simulation, job);
    let mut threshold = service_of(1.0);
    while threshold <= service {
        threshold *= 2;
    }
    Some(threshold)
}

/// When a running job's service reaches so much.
fn serves_ms(simulation: &Simulation, job: u32, threshold: i128) -> Option<i64> {
    let missing = threshold - service(simulation, job);
    let size = i128::from(simulation.setup.sizes.micro(simulation.state(job).shape));
    if size == 0 {
        return None;
    }
    // Rounded up: at that millisecond the threshold is reached, not just before.
    i64::try_from((missing + size - 1) / size).ok().filter(|&ms| ms < i64::MAX / 4).map(|ms| simulation.now_ms() + ms)
}
