//! Policies whose order stands still: a score for each job, turned into a rank once.

use std::ops::Range;

use crate::config::Config;
use crate::job::Jobs;
use crate::job_state::estimate_ms;
use crate::random::SplitMix64;

/// The policies by name; formulas and sources are in `docs/simulation.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// First come, first served.
    Fcfs,
    /// Shortest estimate first.
    Sjf,
    /// Fewest cores first.
    Smallest,
    /// log10(r)·n + 870·log10(s).
    F1,
    /// √r·n + 25600·log10(s).
    F2,
    /// r·n + 6860000·log10(s).
    F3,
    /// r·√n + 530000·log10(s).
    F4,
    /// A number drawn once for each job.
    Random,
    /// Scores that the caller brings.
    Given,
}

/// The jobs of a window, in order: for each place, the job (counted from the window's first).
pub fn order(jobs: &Jobs, window: Range<usize>, config: &Config, given: &[f64]) -> Vec<u32> {
    let policy = config.policy;
    let count = window.len() as u32;
    if policy == Policy::Fcfs {
        return (0..count).collect();
    }
    let mut keyed: Vec<(u64, u32)> = (0..count)
        .map(|place| {
            let job = window.start + place as usize;
            let score = match policy {
                Policy::Given => given[place as usize],
                Policy::Random => drawn(config.seed, job as u32),
                _ => score(policy, jobs, job, estimate_ms(jobs, job, config)),
            };
            (ascending_bits(score), place)
        })
        .collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, place)| place).collect()
}

fn score(policy: Policy, jobs: &Jobs, job: usize, estimate_ms: i64) -> f64 {
    let r = seconds(estimate_ms);
    let s = seconds(jobs.submit_ms[job]);
    let n = jobs.shapes[jobs.shape[job] as usize].total_cores_milli() as f64 / 1000.0;
    match policy {
        Policy::Sjf => r,
        Policy::Smallest => n,
        Policy::F1 => log10(r) * n + 870.0 * log10(s),
        Policy::F2 => r.sqrt() * n + 25_600.0 * log10(s),
        Policy::F3 => r * n + 6_860_000.0 * log10(s),
        Policy::F4 => r * n.sqrt() + 530_000.0 * log10(s),
        Policy::Fcfs | Policy::Random | Policy::Given => s,
    }
}

fn seconds(milliseconds: i64) -> f64 {
    milliseconds as f64 / 1000.0
}

fn log10(value: f64) -> f64 {
    (if value > 0.0 { value } else { 0.1 }).log10()
}

/// Of the bytes "policy": keeps the policy's draws apart from the placement's.
const POLICY_SALT: u64 = 0x706F_6C69_6379;

fn drawn(seed: u64, job: u32) -> f64 {
    SplitMix64::for_job(seed ^ POLICY_SALT, job).next_u64() as f64 / 2f64.powi(64)
}

/// Integers that sort as the numbers do; −0 and 0 are one.
fn ascending_bits(score: f64) -> u64 {
    let bits = (score + 0.0).to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_ascend_with_the_numbers() {
        let numbers = [f64::MIN, -1.5, -1.0, -f64::MIN_POSITIVE, 0.0, f64::MIN_POSITIVE, 0.5, 1.0, 1e300];
        assert!(numbers.windows(2).all(|pair| ascending_bits(pair[0]) < ascending_bits(pair[1])));
        assert_eq!(ascending_bits(-0.0), ascending_bits(0.0));
    }
}
