//! Simulations across the border: made, driven, copied.

use std::sync::{Arc, Mutex};

use super::config::{read_config, ShunterConfig};
use super::handles::{find, locked, open};
use super::{borrow, guard, hand_over, Failure};
use crate::model::cluster::Cluster;
use crate::model::job::Jobs;
use crate::place::placement::Part;
use crate::sim::batch::{run_windows, WindowResult};
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

pub(super) fn tables(cluster: u64, jobs: u64) -> Result<(Arc<Cluster>, Arc<Jobs>), Failure> {
    let cluster = find::<Arc<Cluster>>(cluster, "cluster")?;
    let jobs = find::<Arc<Jobs>>(jobs, "table of jobs")?;
    Ok(((*cluster).clone(), (*jobs).clone()))
}

/// Runs a function on the simulation behind a handle.
pub(super) fn with<T>(handle: u64, body: impl FnOnce(&mut Simulation) -> Result<T, Failure>) -> Result<T, Failure> {
    locked(handle, "simulation", body)
}

fn check_job(simulation: &Simulation, job: u32) -> Result<(), Failure> {
    if (job as usize) < simulation.states.len() {
        return Ok(());
    }
    Err(Failure::argument(format!("job {job} is not one of the simulation's {} jobs", simulation.states.len())))
}

/// Whether an order names jobs that wait, and each only once.
pub(super) fn check_order(simulation: &Simulation, order: &[u32]) -> Result<(), Failure> {
    let mut named = vec![false; simulation.states.len()];
    for &job in order {
        check_job(simulation, job)?;
        if simulation.states[job as usize].phase != Phase::Waiting {
            return Err(Failure::argument(format!("job {job} does not wait")));
        }
        if std::mem::replace(&mut named[job as usize], true) {
            return Err(Failure::argument(format!("job {job} is named twice")));
        }
    }
    Ok(())
}

/// Opens a simulation of the jobs `first` to `first + count` − 1; `scores` belong to the policies that want them.
///
/// # Safety
/// Non-null pointers must be readable for their lengths; `handle` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_open(
    cluster: u64,
    jobs: u64,
    first: usize,
    count: usize,
    config: *const ShunterConfig,
    scores: *const f64,
    scores_length: usize,
    handle: *mut u64,
) -> i32 {
    guard(|| {
        borrow!(target; handle);
        let (cluster, jobs) = tables(cluster, jobs)?;
        let config = unsafe { read_config(config) }?;
        borrow!(read scores_length; scores);
        let window = first..first.saturating_add(count);
        let simulation = Simulation::new(cluster, jobs, window, config, scores).map_err(Failure::argument)?;
        *handle = open(Mutex::new(simulation));
        Ok(())
    })
}

/// Makes at most so many decisions; `over` becomes 1 when nothing more can happen.
///
/// # Safety
/// `over` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_run(simulation: u64, most_decisions: u64, over: *mut i32) -> i32 {
    guard(|| {
        borrow!(target; over);
        let is_over = with(simulation, |simulation| simulation.run(most_decisions).map_err(Failure::refused))?;
        *over = i32::from(is_over);
        Ok(())
    })
}

/// Moves to the next instant at which a decision is due; `due` becomes 0 when nothing is to come.
///
/// # Safety
/// `due` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_advance(simulation: u64, due: *mut i32) -> i32 {
    guard(|| {
        borrow!(target; due);
        let is_due = with(simulation, |simulation| Ok(simulation.advance()))?;
        *due = i32::from(is_due);
        Ok(())
    })
}

/// Decides by the simulation's own policy.
#[no_mangle]
pub extern "C" fn shunter_simulation_dispatch(simulation: u64) -> i32 {
    guard(|| {
        with(simulation, |simulation| {
            simulation.dispatch(None);
            Ok(())
        })
    })
}

/// Decides by an order of waiting jobs; those not named do not start now, unless the starvation guard puts them first.
///
/// # Safety
/// A non-null `order` must be readable for `length` values.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_dispatch_order(simulation: u64, order: *const u32, length: usize) -> i32 {
    guard(|| {
        borrow!(read length; order);
        with(simulation, |simulation| {
            check_order(simulation, order)?;
            simulation.dispatch(Some(order));
            Ok(())
        })
    })
}

/// Whether a job could start now.
///
/// # Safety
/// `fits` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_fits(simulation: u64, job: u32, fits: *mut i32) -> i32 {
    guard(|| {
        borrow!(target; fits);
        let answer = with(simulation, |simulation| {
            check_job(simulation, job)?;
            Ok(simulation.fits(job))
        })?;
        *fits = i32::from(answer);
        Ok(())
    })
}

/// Starts a waiting job on these nodes with so many tasks each; with no nodes, where the placement rule puts it.
///
/// # Safety
/// Non-null pointers must be readable for `length` values.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_start(
    simulation: u64,
    job: u32,
    nodes: *const u32,
    tasks: *const u32,
    length: usize,
) -> i32 {
    guard(|| {
        with(simulation, |simulation| match simulation.setup.cluster.nodes.len() {
            nodes if length <= nodes => Ok(()),
            nodes => Err(Failure::argument(format!("{length} nodes were named of a cluster of {nodes}"))),
        })?;
        borrow!(read length; nodes, tasks);
        let parts: Vec<Part> = nodes.iter().zip(tasks).map(|(&node, &tasks)| Part { node, tasks }).collect();
        with(simulation, |simulation| {
            check_job(simulation, job)?;
            simulation.start(job, (length > 0).then_some(&parts)).map_err(Failure::refused)
        })
    })
}

/// Stops a running job; it waits again.
#[no_mangle]
pub extern "C" fn shunter_simulation_preempt(simulation: u64, job: u32) -> i32 {
    guard(|| {
        with(simulation, |simulation| {
            check_job(simulation, job)?;
            simulation.preempt(job).map_err(Failure::refused)
        })
    })
}

/// Opens an independent copy.
///
/// # Safety
/// `handle` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_fork(simulation: u64, handle: *mut u64) -> i32 {
    guard(|| {
        borrow!(target; handle);
        let copy = with(simulation, |simulation| Ok(simulation.clone()))?;
        *handle = open(Mutex::new(copy));
        Ok(())
    })
}

/// Writes the whole state as bytes, if `capacity` is enough; `needed` says how many there are.
///
/// # Safety
/// A non-null `bytes` must be writable for `capacity`; `needed` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_serialize(
    simulation: u64,
    bytes: *mut u8,
    capacity: usize,
    needed: *mut usize,
) -> i32 {
    guard(|| {
        borrow!(target; needed);
        let saved = with(simulation, |simulation| Ok(simulation.serialize()))?;
        unsafe { hand_over(&saved, bytes, capacity, needed) }
    })
}

/// Opens the simulation that was saved, on the same cluster and jobs.
///
/// # Safety
/// A non-null `bytes` must be readable for `length`; `handle` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_restore(
    cluster: u64,
    jobs: u64,
    bytes: *const u8,
    length: usize,
    handle: *mut u64,
) -> i32 {
    guard(|| {
        borrow!(target; handle);
        let (cluster, jobs) = tables(cluster, jobs)?;
        borrow!(read length; bytes);
        let simulation = Simulation::restore(cluster, jobs, bytes).map_err(Failure::argument)?;
        *handle = open(Mutex::new(simulation));
        Ok(())
    })
}

/// Runs windows of `count` jobs each, from these first jobs, on so many threads; the results are `windows` × `count`.
/// `scores`, if the policy wants them, are those of the whole table.
///
/// # Safety
/// Non-null pointers must be readable or writable for their lengths: `windows`, `windows` × `count`, or as given.
#[no_mangle]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn shunter_batch_run(
    cluster: u64,
    jobs: u64,
    config: *const ShunterConfig,
    scores: *const f64,
    scores_length: usize,
    first: *const usize,
    windows: usize,
    count: usize,
    threads: usize,
    eligible_ms: *mut i64,
    start_ms: *mut i64,
    end_ms: *mut i64,
    held_ms: *mut i64,
    lost_ms: *mut i64,
    phase: *mut u8,
    basis: *mut u8,
) -> i32 {
    guard(|| {
        let (cluster, jobs) = tables(cluster, jobs)?;
        let config = unsafe { read_config(config) }?;
        borrow!(read scores_length; scores);
        borrow!(read windows; first);
        let total = windows.checked_mul(count).filter(|&total| total > 0);
        let total = total.ok_or_else(|| Failure::argument(format!("{windows} windows of {count} jobs are none")))?;
        borrow!(write total; eligible_ms, start_ms, end_ms, held_ms, lost_ms, phase, basis);
        let times = eligible_ms.chunks_mut(count).zip(start_ms.chunks_mut(count)).zip(end_ms.chunks_mut(count));
        let held = held_ms.chunks_mut(count).zip(lost_ms.chunks_mut(count));
        let ends = phase.chunks_mut(count).zip(basis.chunks_mut(count));
        let work = first
            .iter()
            .zip(times.zip(held).zip(ends))
            .map(|(&first, ((((eligible_ms, start_ms), end_ms), (held_ms, lost_ms)), (phase, basis)))| {
                let result = WindowResult { eligible_ms, start_ms, end_ms, held_ms, lost_ms, phase, basis };
                (first..first.saturating_add(count), result)
            })
            .collect();
        run_windows(&cluster, &jobs, &config, scores, work, threads).map_err(Failure::argument)
    })
}
