//! Many simulations at once: windows of one table, shared out among threads.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::cluster::Cluster;
use crate::model::config::Config;
use crate::model::job::Jobs;
use crate::sim::simulation::Simulation;

/// More are never of use.
const MOST_THREADS: usize = 256;

/// Where the results of one window go; all of the window's length.
pub struct WindowResult<'a> {
    /// Since when each job may run.
    pub eligible_ms: &'a mut [i64],
    /// First starts, or −1.
    pub start_ms: &'a mut [i64],
    /// Ends, or −1.
    pub end_ms: &'a mut [i64],
    /// How long each job held nodes.
    pub held_ms: &'a mut [i64],
    /// How much of that brought it nothing.
    pub lost_ms: &'a mut [i64],
    /// A `Phase` each.
    pub phase: &'a mut [u8],
    /// What each estimate rested on when the job started: a `Basis`.
    pub basis: &'a mut [u8],
}

/// Runs every window to its end; `given` are the table's scores, if the policy wants them. The result does not depend on
/// the number of threads.
pub fn run_windows(
    cluster: &Arc<Cluster>,
    jobs: &Arc<Jobs>,
    config: &Config,
    given: &[f64],
    windows: Vec<(Range<usize>, WindowResult)>,
    threads: usize,
) -> Result<(), String> {
    let wanted = if config.policy.wants_given() { jobs.len() } else { 0 };
    if given.len() != wanted {
        return Err(format!("{} scores were given where {wanted} belong", given.len()));
    }
    let threads = threads.clamp(1, windows.len().clamp(1, MOST_THREADS));
    let work = Mutex::new(windows.into_iter());
    let worker = || -> Result<(), String> {
        loop {
            let next = work.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((window, result)) = next else { return Ok(()) };
            run_window(cluster, jobs, config, given, window, result)?;
        }
    };
    if threads == 1 {
        return worker();
    }
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let own = worker();
        others.into_iter().fold(own, |so_far, other| {
            so_far.and(other.join().unwrap_or_else(|_| Err("a worker thread panicked".to_string())))
        })
    })
}

fn run_window(
    cluster: &Arc<Cluster>,
    jobs: &Arc<Jobs>,
    config: &Config,
    given: &[f64],
    window: Range<usize>,
    result: WindowResult,
) -> Result<(), String> {
    // A window that is none is refused by the simulation, with the right words.
    let given = given.get(window.clone()).unwrap_or_default();
    let mut simulation = Simulation::new(cluster.clone(), jobs.clone(), window, config.clone(), given)?;
    simulation.run(u64::MAX)?;
    for (place, state) in simulation.states.iter().enumerate() {
        result.eligible_ms[place] = state.eligible_ms;
        result.start_ms[place] = state.start_ms;
        result.end_ms[place] = state.end_ms;
        result.held_ms[place] = state.held_ms;
        result.lost_ms[place] = state.lost_ms;
        result.phase[place] = state.phase as u8;
        result.basis[place] = simulation.basis_at_start(place as u32) as u8;
    }
    Ok(())
}
