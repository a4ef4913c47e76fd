//! Policies: the order of the queue. Orders that stand still are ranked here, once; those that move are in `ranking.rs`.

use std::ops::Range;

use crate::model::codes::from_code;
use crate::model::config::Config;
use crate::model::job::Jobs;
use crate::model::random::SplitMix64;
use crate::model::size::JobSizes;
use crate::order::estimate::fixed_estimate_ms;

/// The policies by name; formulas and sources are in `docs/policies.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Policy {
    /// First come, first served.
    Fcfs = 0,
    /// Shortest estimate first.
    Sjf = 1,
    /// Smallest size first.
    Smallest = 2,
    /// log10(r)·n + 870·log10(s). Parameters of this and the next three: 0 if s counts from the log's beginning, or none
    /// if it is absolute.
    F1 = 3,
    /// √r·n + 25600·log10(s).
    F2 = 4,
    /// r·n + 6860000·log10(s).
    F3 = 5,
    /// r·√n + 530000·log10(s).
    F4 = 6,
    /// A number drawn once for each job.
    Random = 7,
    /// Scores that the caller brings.
    Given = 8,
    /// Last come, first served.
    Lcfs = 9,
    /// Longest estimate first.
    Ljf = 10,
    /// Largest size first.
    Largest = 11,
    /// Smallest area first: r·n.
    Saf = 12,
    /// Largest area first.
    Laf = 13,
    /// Smallest ratio first: r/n.
    Srf = 14,
    /// Largest ratio first.
    Lrf = 15,
    /// r + aging·s. Parameters: aging.
    Hybrid = 16,
    /// Smallest expansion factor first: (w + r)/r.
    Sexp = 17,
    /// Largest expansion factor first.
    Lexp = 18,
    /// −(w/r)³·n.
    Wfp3 = 19,
    /// −w/(log2(n)·r).
    Unicef = 20,
    /// The user who has used least. Parameters: half-life in seconds, then a share for each user, or none.
    FairShare = 21,
    /// Slurm's weighted sum. Parameters: see `Multifactor`; the caller brings what does not move.
    Multifactor = 22,
    /// A number drawn for each job at every pass.
    RandomFeasible = 23,
    /// A weighted sum, with a threshold for reservations and a gate. Parameters: see `Linear`.
    Linear = 24,
    /// Least service first: r·n.
    Qssf = 25,
    /// Least remaining time first; others are stopped for it. Parameters: 1 if an estimate that is outlived doubles, or
    /// none if nothing is left then.
    Srtf = 26,
    /// Least attained service first; others are stopped for it. Parameters: where levels end, in seconds times size, or
    /// none if there are no levels.
    Las = 27,
    /// Least remaining service first, r·n; others are stopped for it. An estimate that is outlived doubles.
    Srsf = 28,
    /// Highest Gittins index over size first; others are stopped for it. Parameters: see `Bins`.
    Gittins = 29,
    /// A weighted sum over pairs of a job and a type of GPU, some of which are refused. Parameters: see `PairScore`.
    Pairs = 30,
}

from_code!(Policy: Fcfs, Sjf, Smallest, F1, F2, F3, F4, Random, Given, Lcfs, Ljf, Largest, Saf, Laf, Srf, Lrf, Hybrid, Sexp, Lexp, Wfp3, Unicef, FairShare, Multifactor, RandomFeasible, Linear, Qssf, Srtf, Las, Srsf, Gittins, Pairs);

impl Policy {
    /// Whether the order changes as time passes.
    pub fn moves(self) -> bool {
        use Policy::{FairShare, Lexp, Linear, Multifactor, Pairs, RandomFeasible, Sexp, Unicef, Wfp3};
        matches!(self, Sexp | Lexp | Wfp3 | Unicef | FairShare | Multifactor | RandomFeasible | Linear | Pairs)
    }

    /// Whether running jobs are stopped for those that come before them.
    pub fn preempts(self) -> bool {
        matches!(self, Policy::Srtf | Policy::Las | Policy::Srsf | Policy::Gittins)
    }

    /// Whether the order depends on the estimate.
    pub fn uses_estimate(self) -> bool {
        use Policy::{
            FairShare, Fcfs, Gittins, Given, Largest, Las, Lcfs, Multifactor, Random, RandomFeasible, Smallest,
        };
        let of_the_job = [Fcfs, Lcfs, Smallest, Largest, Random, Given].contains(&self);
        !of_the_job && ![FairShare, Multifactor, RandomFeasible, Las, Gittins].contains(&self)
    }

    /// Whether the caller brings a number for each job.
    pub fn wants_given(self) -> bool {
        matches!(self, Policy::Given | Policy::Multifactor)
    }
}

/// The jobs of a window, in order: for each place, the job (counted from the window's first). Orders that move begin as
/// the table's.
pub(crate) fn order(jobs: &Jobs, window: Range<usize>, config: &Config, sizes: &JobSizes, given: &[f64]) -> Vec<u32> {
    let policy = config.policy;
    let count = window.len() as u32;
    if policy == Policy::Fcfs || policy.preempts() || config.order_moves() {
        return (0..count).collect();
    }
    let mut keyed: Vec<(u64, u32)> = (0..count)
        .map(|place| {
            let job = window.start + place as usize;
            let score = match policy {
                Policy::Given => given[place as usize],
                Policy::Random => drawn(config.seed ^ POLICY_SALT, job as u32),
                _ => standing_score(config, jobs, sizes, job, fixed_estimate_ms(jobs, job, config)),
            };
            (ascending_bits(score), place)
        })
        .collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, place)| place).collect()
}

/// The score of a policy whose order stands still as long as the estimate does.
pub(crate) fn standing_score(config: &Config, jobs: &Jobs, sizes: &JobSizes, job: usize, estimate_ms: i64) -> f64 {
    let r = seconds(estimate_ms);
    let s = seconds(jobs.submit_ms[job]);
    let late = || {
        if config.policy_parameters.is_empty() {
            s
        } else {
            seconds(jobs.submit_ms[job] - config.origin_ms).max(1.0)
        }
    };
    let n = sizes.of(jobs.shape[job]);
    match config.policy {
        Policy::Lcfs => -s,
        Policy::Sjf => r,
        Policy::Ljf => -r,
        Policy::Smallest => n,
        Policy::Largest => -n,
        Policy::Saf | Policy::Qssf => r * n,
        Policy::Laf => -(r * n),
        Policy::Srf => r / n.max(LEAST_SIZE),
        Policy::Lrf => -(r / n.max(LEAST_SIZE)),
        Policy::F1 => log10(r) * n + 870.0 * log10(late()),
        Policy::F2 => r.sqrt() * n + 25_600.0 * log10(late()),
        Policy::F3 => r * n + 6_860_000.0 * log10(late()),
        Policy::F4 => r * n.sqrt() + 530_000.0 * log10(late()),
        Policy::Hybrid => r + config.policy_parameters[0] * s,
        _ => s,
    }
}

/// As a divisor, and in a logarithm.
pub(crate) const LEAST_SIZE: f64 = 0.001;

pub(crate) fn seconds(milliseconds: i64) -> f64 {
    milliseconds as f64 / 1000.0
}

fn log10(value: f64) -> f64 {
    (if value > 0.0 { value } else { 0.1 }).log10()
}

/// Of the bytes "policy": keeps the policy's draws apart from the placement's.
pub(crate) const POLICY_SALT: u64 = 0x706F_6C69_6379;

/// A number between 0 and 1 that belongs to a job under a seed.
pub(crate) fn drawn(seed: u64, job: u32) -> f64 {
    SplitMix64::for_job(seed, job).next_u64() as f64 / 2f64.powi(64)
}

/// Integers that sort as the numbers do; −0 and 0 are one.
pub(crate) fn ascending_bits(score: f64) -> u64 {
    let bits = (score + 0.0).to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

/// The score whose bits these are.
pub(crate) fn score_of_bits(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_ascend_with_the_numbers() {
        let numbers = [f64::MIN, -1.5, -1.0, -f64::MIN_POSITIVE, 0.0, f64::MIN_POSITIVE, 0.5, 1.0, 1e300];
        assert!(numbers.windows(2).all(|pair| ascending_bits(pair[0]) < ascending_bits(pair[1])));
        assert!(numbers.iter().all(|&number| score_of_bits(ascending_bits(number)) == number));
        assert_eq!(ascending_bits(-0.0), ascending_bits(0.0));
        assert!(ascending_bits(f64::NEG_INFINITY) > 0);
    }
}
