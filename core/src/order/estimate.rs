//! Estimates: the run time that a policy may see; `docs/policies.md` writes the formulas out.

use crate::model::codes::from_code;
use crate::model::config::Config;
use crate::model::job::{Jobs, MAX_DURATION_MS, UNKNOWN};
use crate::model::random::SplitMix64;
use crate::order::history::UNHEARD_MS;

/// The run time that a policy may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Estimate {
    /// What the user asked for.
    Requested = 0,
    /// The true run time.
    Perfect = 1,
    /// The true run time with noise. Parameters: the standard deviation of the logarithm.
    Noisy = 2,
    /// The mean of the user's last two jobs that have ended.
    LastTwo = 3,
    /// What the jobs that have ended say. Parameters: see `Prior`.
    Posterior = 4,
    /// The mean of the user's jobs of that size that have ended, or of wider groups; never the request.
    History = 5,
}

from_code!(Estimate: Requested, Perfect, Noisy, LastTwo, Posterior, History);

impl Estimate {
    /// Whether the estimate changes as jobs end.
    pub fn is_learned(self) -> bool {
        matches!(self, Estimate::LastTwo | Estimate::Posterior | Estimate::History)
    }
}

/// What an estimate rests on; the numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Basis {
    /// The user's request.
    Request = 0,
    /// What stands in for a request that the log does not have.
    StandIn = 1,
    /// The true run time.
    RunTime = 2,
    /// The true run time with noise.
    Noise = 3,
    /// Jobs of the user that have ended.
    Learned = 4,
    /// The prior alone.
    Prior = 5,
}

from_code!(Basis: Request, StandIn, RunTime, Noise, Learned, Prior);

/// What the user asked for, or what stands in for it.
pub(crate) fn requested_ms(jobs: &Jobs, job: usize, config: &Config) -> i64 {
    match jobs.requested_ms[job] {
        UNKNOWN => config.missing_request_ms.unwrap_or(jobs.run_ms[job]),
        known_ms => known_ms,
    }
}

/// The estimate that stands still; of one that is learned, what it begins with.
pub(crate) fn fixed_estimate_ms(jobs: &Jobs, job: usize, config: &Config) -> i64 {
    match config.estimate {
        Estimate::Perfect => jobs.run_ms[job],
        Estimate::Noisy => noisy_ms(jobs.run_ms[job], config.estimate_parameters[0], config.seed, job as u32),
        Estimate::Requested | Estimate::LastTwo | Estimate::Posterior => requested_ms(jobs, job, config),
        Estimate::History => UNHEARD_MS,
    }
}

/// What an estimate that stands still rests on.
pub(crate) fn fixed_basis(jobs: &Jobs, job: usize, config: &Config) -> Basis {
    match config.estimate {
        Estimate::Perfect => Basis::RunTime,
        Estimate::Noisy => Basis::Noise,
        Estimate::History => Basis::Prior,
        _ if jobs.requested_ms[job] == UNKNOWN => Basis::StandIn,
        _ => Basis::Request,
    }
}

/// Of the bytes "esti": keeps these draws apart from all others.
const ESTIMATE_SALT: u64 = 0x6573_7469;

fn noisy_ms(run_ms: i64, sigma: f64, seed: u64, job: u32) -> i64 {
    let mut generator = SplitMix64::for_job(seed ^ ESTIMATE_SALT, job);
    let unit = 2f64.powi(-53);
    let u = ((generator.next_u64() >> 11) + 1) as f64 * unit;
    let v = (generator.next_u64() >> 11) as f64 * unit;
    let z = (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos();
    ((run_ms as f64 * (sigma * z).exp()).round() as i64).clamp(0, MAX_DURATION_MS)
}
