//! Futures across the border.

use super::simulation::with;
use super::{borrow, check_pointer, guard, Failure};
use crate::foresee::{foresee, Arrivals, Foresight, RunTimes};

/// What is asked for, as C sees it.
#[repr(C)]
pub struct ShunterForesight {
    /// Where the draws come from.
    pub seed: u64,
    /// How far to look.
    pub horizon_ms: i64,
    /// How far run times of one user's jobs go together, from 0 to 1.
    pub correlation: f64,
    /// How many futures.
    pub futures: u32,
    /// How many threads share them.
    pub threads: u32,
    /// Where run times come from: enum ShunterRunTimes.
    pub run_times: i32,
    /// Where jobs to come are from: enum ShunterArrivals.
    pub arrivals: i32,
}

/// # Safety
/// A non-null pointer must be readable.
unsafe fn read_foresight(given: *const ShunterForesight) -> Result<Foresight, Failure> {
    check_pointer("foresight", given as usize, std::mem::align_of::<ShunterForesight>())?;
    let given = unsafe { &*given };
    let unknown = |name: &str, code: i32| Failure::argument(format!("{name} is {code}, which means nothing"));
    Ok(Foresight {
        futures: given.futures,
        seed: given.seed,
        horizon_ms: given.horizon_ms,
        run_times: RunTimes::from_code(given.run_times.into()).ok_or_else(|| unknown("run_times", given.run_times))?,
        arrivals: Arrivals::from_code(given.arrivals.into()).ok_or_else(|| unknown("arrivals", given.arrivals))?,
        correlation: given.correlation,
        threads: given.threads as usize,
    })
}

/// Makes all decisions that are due before a time, and stops there: what happens then has happened, and nothing of it is
/// decided.
#[no_mangle]
pub extern "C" fn shunter_simulation_run_until(simulation: u64, instant_ms: i64) -> i32 {
    guard(|| with(simulation, |simulation| simulation.run_until(instant_ms).map_err(Failure::refused)))
}

/// Tells when waiting jobs start, in as many futures as are asked for: a row a future, a column a job.
///
/// # Safety
/// Non-null pointers must be readable for their lengths; `start_ms` must be writable for futures × jobs values.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_foresee(
    simulation: u64,
    scores: *const f64,
    scores_length: usize,
    foresight: *const ShunterForesight,
    jobs: *const u32,
    jobs_length: usize,
    start_ms: *mut i64,
) -> i32 {
    guard(|| {
        borrow!(read scores_length; scores);
        borrow!(read jobs_length; jobs);
        let asked = unsafe { read_foresight(foresight) }?;
        let length = (asked.futures as usize).checked_mul(jobs_length);
        let length = length.ok_or_else(|| Failure::argument("futures times jobs are too many"))?;
        borrow!(write length; start_ms);
        with(simulation, |simulation| foresee(simulation, scores, &asked, jobs, start_ms).map_err(Failure::refused))
    })
}
