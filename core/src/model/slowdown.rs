//! Bounded slowdown: (wait + run) / max(run, 10 s), and at least 1 (Feitelson's; `docs/metrics.md`).

/// A job that runs for less time counts as if it ran so long: otherwise the shortest jobs would decide every mean.
const BOUND_S: f64 = 10.0;

/// What a job's wait and run are divided by.
pub(crate) fn divisor_s(run_s: f64) -> f64 {
    run_s.max(BOUND_S)
}

/// The bounded slowdown of a job.
pub(crate) fn bounded_slowdown(wait_s: f64, run_s: f64) -> f64 {
    ((wait_s + run_s) / divisor_s(run_s)).max(1.0)
}
