//! What a simulation can tell: its clock, its jobs, who waits, who is where.

use std::sync::Arc;

use super::config::{read_config, ShunterConfig};
use super::handles::find;
use super::simulation::with;
use super::{borrow, guard, write, Failure};
use crate::model::job::Jobs;
use crate::order::learner::estimates_at_submit;
use crate::place::placement::Placement;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// The clock and the counts.
#[repr(C)]
pub struct ShunterStatus {
    /// The instant.
    pub now_ms: i64,
    /// All jobs of the simulation.
    pub jobs: u64,
    /// Those that wait.
    pub waiting: u64,
    /// Those that run.
    pub running: u64,
    /// Those that have ended, or were rejected.
    pub ended: u64,
    /// Starts made.
    pub starts: u64,
    /// Milli-cores that are free on all nodes together.
    pub free_cores_milli: i64,
    /// Runs that did not end their jobs.
    pub stops: u64,
}

/// Tells the clock and the counts.
///
/// # Safety
/// `status` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_status(simulation: u64, status: *mut ShunterStatus) -> i32 {
    guard(|| {
        borrow!(target; status);
        let told = with(simulation, |simulation| {
            Ok(ShunterStatus {
                now_ms: simulation.now_ms(),
                jobs: simulation.states.len() as u64,
                waiting: simulation.waiting.queue.len() as u64,
                running: simulation.machine.running().into(),
                ended: simulation.machine.ended().into(),
                starts: simulation.machine.starts().into(),
                free_cores_milli: simulation.machine.free.total_cores_milli(),
                stops: simulation.machine.stops().len() as u64,
            })
        })?;
        *status = told;
        Ok(())
    })
}

pub(super) fn check_capacity(what: &str, capacity: usize, needed: usize) -> Result<(), Failure> {
    if capacity == needed {
        return Ok(());
    }
    Err(Failure::argument(format!("the arrays for {what} hold {capacity} values; {needed} are needed")))
}

/// Lists the waiting jobs in the order of the policy; `capacity` is the number of waiting jobs.
///
/// # Safety
/// A non-null `jobs` must be writable for `capacity` values.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_waiting(simulation: u64, jobs: *mut u32, capacity: usize) -> i32 {
    guard(|| {
        let target = unsafe { write("jobs", jobs, capacity) }?;
        with(simulation, |simulation| {
            check_capacity("waiting jobs", capacity, simulation.waiting.queue.len())?;
            target.copy_from_slice(&simulation.waiting_in_order());
            Ok(())
        })
    })
}

/// Tells of each job the estimate that the policy saw when it started, or sees now, and what it rests on.
///
/// # Safety
/// Non-null pointers must be writable for `capacity` values, the number of jobs.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_estimates(
    simulation: u64,
    estimate_ms: *mut i64,
    basis: *mut u8,
    capacity: usize,
) -> i32 {
    guard(|| {
        borrow!(write capacity; estimate_ms, basis);
        with(simulation, |simulation| {
            check_capacity("jobs", capacity, simulation.states.len())?;
            for job in 0..capacity {
                let (told_ms, told_basis) = simulation.estimate_at_start(job as u32);
                estimate_ms[job] = told_ms;
                basis[job] = told_basis as u8;
            }
            Ok(())
        })
    })
}

/// Tells what each job of a table would be estimated at when it was submitted, had the jobs ended when the log says.
///
/// # Safety
/// `config` must be readable; non-null arrays must be writable for `capacity` values, the number of jobs.
#[no_mangle]
pub unsafe extern "C" fn shunter_estimates_at_submit(
    jobs: u64,
    config: *const ShunterConfig,
    estimate_ms: *mut i64,
    basis: *mut u8,
    capacity: usize,
) -> i32 {
    guard(|| {
        let jobs = find::<Arc<Jobs>>(jobs, "table of jobs")?;
        let config = unsafe { read_config(config) }?;
        check_capacity("jobs", capacity, jobs.len())?;
        borrow!(write capacity; estimate_ms, basis);
        let told = estimates_at_submit(&jobs, &config).map_err(Failure::argument)?;
        for (job, (told_ms, told_basis)) in told.into_iter().enumerate() {
            estimate_ms[job] = told_ms;
            basis[job] = told_basis as u8;
        }
        Ok(())
    })
}

/// Tells of each job: phase, first start, latest start, end, reservation (−1: none), why rejected, preemptions,
/// failures.
///
/// # Safety
/// Non-null pointers must be writable for `capacity` values, the number of jobs.
#[no_mangle]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn shunter_simulation_jobs(
    simulation: u64,
    phase: *mut u8,
    start_ms: *mut i64,
    latest_start_ms: *mut i64,
    end_ms: *mut i64,
    reserved_ms: *mut i64,
    reject_reason: *mut u8,
    preemptions: *mut u32,
    failures: *mut u32,
    capacity: usize,
) -> i32 {
    guard(|| {
        borrow!(write capacity;
            phase, start_ms, latest_start_ms, end_ms, reserved_ms, reject_reason, preemptions, failures
        );
        with(simulation, |simulation| {
            check_capacity("jobs", capacity, simulation.states.len())?;
            for (job, state) in simulation.states.iter().enumerate() {
                phase[job] = state.phase as u8;
                start_ms[job] = state.start_ms;
                latest_start_ms[job] = state.segment_start_ms;
                end_ms[job] = state.end_ms;
                reserved_ms[job] = state.reservation.as_ref().map_or(-1, |held| held.start_ms);
                reject_reason[job] = state.reject_reason as u8;
                preemptions[job] = state.preemptions;
                failures[job] = state.failures;
            }
            Ok(())
        })
    })
}

/// Tells of each job since when it may wait for nodes; of one that left before, when it left.
///
/// # Safety
/// A non-null pointer must be writable for `capacity` values, the number of jobs.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_eligible(simulation: u64, eligible_ms: *mut i64, capacity: usize) -> i32 {
    guard(|| {
        borrow!(write capacity; eligible_ms);
        with(simulation, |simulation| {
            check_capacity("jobs", capacity, simulation.states.len())?;
            for (time_ms, state) in eligible_ms.iter_mut().zip(&simulation.states) {
                *time_ms = state.eligible_ms;
            }
            Ok(())
        })
    })
}

/// Tells of each job how long it has held nodes in runs that are over, and how much of that brought it nothing.
///
/// # Safety
/// Non-null pointers must be writable for `capacity` values, the number of jobs.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_held(
    simulation: u64,
    held_ms: *mut i64,
    lost_ms: *mut i64,
    capacity: usize,
) -> i32 {
    guard(|| {
        borrow!(write capacity; held_ms, lost_ms);
        with(simulation, |simulation| {
            check_capacity("jobs", capacity, simulation.states.len())?;
            for (job, state) in simulation.states.iter().enumerate() {
                held_ms[job] = state.held_ms;
                lost_ms[job] = state.lost_ms;
            }
            Ok(())
        })
    })
}

/// Tells of the runs that did not end their jobs, in the order in which they were stopped. Stop i's nodes are the values
/// offsets[i] to offsets[i + 1] of `nodes` and `tasks`; with `node_capacity` 0, those two are not written.
///
/// # Safety
/// Non-null pointers must be writable: for `capacity` values, the number of stops; offsets for one more; the nodes for
/// `node_capacity`.
#[no_mangle]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn shunter_simulation_stops(
    simulation: u64,
    job: *mut u32,
    start_ms: *mut i64,
    end_ms: *mut i64,
    by_failure: *mut u8,
    node_offsets: *mut i64,
    capacity: usize,
    nodes: *mut i32,
    tasks: *mut i32,
    node_capacity: usize,
) -> i32 {
    guard(|| {
        borrow!(write capacity; job, start_ms, end_ms, by_failure);
        borrow!(write capacity.saturating_add(1); node_offsets);
        borrow!(write node_capacity; nodes, tasks);
        with(simulation, |simulation| {
            check_capacity("stops", capacity, simulation.machine.stops().len())?;
            node_offsets[0] = 0;
            for (place, stop) in simulation.machine.stops().iter().enumerate() {
                (job[place], start_ms[place], end_ms[place]) = (stop.job, stop.start_ms, stop.end_ms);
                by_failure[place] = u8::from(stop.by_failure);
                node_offsets[place + 1] = node_offsets[place] + stop.placement.parts().count() as i64;
            }
            if node_capacity == 0 {
                return Ok(());
            }
            check_capacity("nodes", node_capacity, node_offsets[capacity] as usize)?;
            for (place, part) in simulation.machine.stops().iter().flat_map(|stop| stop.placement.parts()).enumerate() {
                (nodes[place], tasks[place]) = (part.node as i32, part.tasks as i32);
            }
            Ok(())
        })
    })
}

/// Jobs that hold a reservation have nodes too, but are not placed yet.
fn placed(simulation: &Simulation, job: usize) -> Option<&Placement> {
    let state = &simulation.states[job];
    (state.phase != Phase::Waiting).then_some(&state.placement)
}

/// Tells where jobs run or ran: job i's nodes are the values offsets[i] to offsets[i + 1] of `nodes` and `tasks`,
/// its devices those of `devices` and `millis`. With both capacities 0, only the offsets are written.
///
/// # Safety
/// Non-null pointers must be writable: offsets for the number of jobs + 1, the rest for their capacities.
#[no_mangle]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn shunter_simulation_placements(
    simulation: u64,
    node_offsets: *mut i64,
    device_offsets: *mut i64,
    jobs: usize,
    nodes: *mut i32,
    tasks: *mut i32,
    node_capacity: usize,
    devices: *mut i32,
    millis: *mut i32,
    device_capacity: usize,
) -> i32 {
    guard(|| {
        borrow!(write jobs.saturating_add(1); node_offsets, device_offsets);
        borrow!(write node_capacity; nodes, tasks);
        borrow!(write device_capacity; devices, millis);
        with(simulation, |simulation| {
            check_capacity("jobs", jobs, simulation.states.len())?;
            (node_offsets[0], device_offsets[0]) = (0, 0);
            for job in 0..jobs {
                let placement = placed(simulation, job);
                node_offsets[job + 1] = node_offsets[job] + placement.map_or(0, |found| found.parts().count()) as i64;
                device_offsets[job + 1] =
                    device_offsets[job] + placement.map_or(0, |found| found.devices().len()) as i64;
            }
            if node_capacity == 0 && device_capacity == 0 {
                return Ok(());
            }
            check_capacity("nodes", node_capacity, node_offsets[jobs] as usize)?;
            check_capacity("devices", device_capacity, device_offsets[jobs] as usize)?;
            let placements = || (0..jobs).filter_map(|job| placed(simulation, job));
            for (place, part) in placements().flat_map(Placement::parts).enumerate() {
                (nodes[place], tasks[place]) = (part.node as i32, part.tasks as i32);
            }
            for (place, share) in placements().flat_map(Placement::devices).enumerate() {
                (devices[place], millis[place]) = (share.device as i32, share.milli);
            }
            Ok(())
        })
    })
}
