//! Simulations across the border: made, driven, copied.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::handles::{find, open};
use super::placer::{Callback, ShunterScene};
use super::{check_pointer, guard, read, target, write, Failure};
use crate::model::cluster::Cluster;
use crate::model::config::{optional, Config, Dispatch, Estimate, Policy, Rule};
use crate::model::job::{Jobs, MAX_TIME_MS};
use crate::place::external::SharedPlacer;
use crate::place::placement::Part;
use crate::sim::batch::{run_windows, WindowResult};
use crate::sim::failures::NodeEvent;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// `Config`, as C sees it; the numbers for names are in `core/include/shunter.h`.
#[repr(C)]
pub struct ShunterConfig {
    /// A policy's number.
    pub policy: i32,
    /// A dispatch rule's number.
    pub dispatch: i32,
    /// How many reservations, for the rule that makes them.
    pub reservation_depth: u32,
    /// A placement's number.
    pub placement: i32,
    /// An estimate's number.
    pub estimate: i32,
    /// 0 or 1.
    pub reserve_by_estimate: i32,
    /// 0 or 1.
    pub kill_at_request: i32,
    /// 0 or 1.
    pub keep_progress: i32,
    /// −1: the run time.
    pub missing_request_ms: i64,
    /// −1: no guard.
    pub max_wait_ms: i64,
    /// 0 or more.
    pub preemption_overhead_ms: i64,
    /// 1 or more.
    pub scan_depth: u32,
    /// Any number.
    pub seed: u64,
    /// What the policy needs to know.
    pub policy_parameters: *const f64,
    /// How many.
    pub policy_parameters_length: usize,
    /// What the estimate needs to know.
    pub estimate_parameters: *const f64,
    /// How many.
    pub estimate_parameters_length: usize,
    /// 0 or more.
    pub minimum_run_ms: i64,
    /// −1: no failures are drawn.
    pub mtbf_ms: i64,
    /// −1: no failures are drawn.
    pub mttr_ms: i64,
    /// 0 or 1.
    pub failure_keeps_progress: i32,
    /// When nodes go down or come up, in order.
    pub node_event_ms: *const i64,
    /// Which nodes.
    pub node_event_node: *const u32,
    /// 0: down, 1: up.
    pub node_event_up: *const u8,
    /// How many.
    pub node_events_length: usize,
    /// Who is asked for nodes, for the placement that is external.
    pub placer: Option<
        unsafe extern "C" fn(
            context: u64,
            scene: *const ShunterScene,
            nodes: *mut u32,
            tasks: *mut u32,
            capacity: usize,
        ) -> usize,
    >,
    /// What the placer is told about itself.
    pub placer_context: u64,
}

/// # Safety
/// The parameters must be readable for their lengths.
unsafe fn config(given: &ShunterConfig) -> Result<Config, Failure> {
    let unknown =
        |what: &str, code: i32| Failure::argument(format!("{what} is {code}; there is none with this number"));
    let flag = |what: &str, value: i32| match value {
        0 | 1 => Ok(value == 1),
        _ => Err(Failure::argument(format!("{what} is {value}; expected 0 or 1"))),
    };
    let policy = unsafe { read("policy_parameters", given.policy_parameters, given.policy_parameters_length) }?;
    let estimate = unsafe { read("estimate_parameters", given.estimate_parameters, given.estimate_parameters_length) }?;
    let placement = Rule::from_code(given.placement.into()).ok_or_else(|| unknown("placement", given.placement))?;
    if placement == Rule::External && given.placer.is_none() {
        return Err(Failure::argument("placement is external, but placer is null".to_string()));
    }
    let config = Config {
        policy_parameters: policy.into(),
        estimate_parameters: estimate.into(),
        policy: Policy::from_code(given.policy.into()).ok_or_else(|| unknown("policy", given.policy))?,
        dispatch: Dispatch::from_code(given.dispatch.into(), given.reservation_depth)
            .ok_or_else(|| unknown("dispatch", given.dispatch))?,
        placement,
        estimate: Estimate::from_code(given.estimate.into()).ok_or_else(|| unknown("estimate", given.estimate))?,
        missing_request_ms: optional(given.missing_request_ms),
        reserve_by_estimate: flag("reserve_by_estimate", given.reserve_by_estimate)?,
        kill_at_request: flag("kill_at_request", given.kill_at_request)?,
        max_wait_ms: optional(given.max_wait_ms),
        scan_depth: given.scan_depth,
        seed: given.seed,
        keep_progress: flag("keep_progress", given.keep_progress)?,
        preemption_overhead_ms: given.preemption_overhead_ms,
        minimum_run_ms: given.minimum_run_ms,
        failure_keeps_progress: flag("failure_keeps_progress", given.failure_keeps_progress)?,
        mean_up_down_ms: means(given)?,
        node_events: unsafe { node_events(given) }?,
        placer: given.placer.map(|ask| {
            let context = given.placer_context;
            SharedPlacer(Arc::new(Callback { ask, context }))
        }),
    };
    config.check().map_err(Failure::argument)?;
    Ok(config)
}

/// How long nodes are up and down, both or neither.
fn means(given: &ShunterConfig) -> Result<Option<(i64, i64)>, Failure> {
    match (optional(given.mtbf_ms), optional(given.mttr_ms)) {
        (Some(up_ms), Some(down_ms)) => Ok(Some((up_ms, down_ms))),
        (None, None) => Ok(None),
        _ => Err(Failure::argument("mtbf_ms and mttr_ms go together; give both or none".to_string())),
    }
}

/// # Safety
/// The arrays must be readable for their length.
unsafe fn node_events(given: &ShunterConfig) -> Result<Arc<[NodeEvent]>, Failure> {
    let count = given.node_events_length;
    let times = unsafe { read("node_event_ms", given.node_event_ms, count) }?;
    let nodes = unsafe { read("node_event_node", given.node_event_node, count) }?;
    let ups = unsafe { read("node_event_up", given.node_event_up, count) }?;
    if times.windows(2).any(|pair| pair[1] < pair[0])
        || times.iter().any(|time_ms| time_ms.unsigned_abs() > MAX_TIME_MS as u64)
    {
        return Err(Failure::argument("node_event_ms: expected times in ascending order".to_string()));
    }
    let event = |place: usize| NodeEvent { time_ms: times[place], node: nodes[place], up: ups[place] != 0 };
    Ok((0..count).map(event).collect())
}

/// # Safety
/// A non-null pointer must be readable, and so must what it points to.
pub(super) unsafe fn read_config(given: *const ShunterConfig) -> Result<Config, Failure> {
    check_pointer("config", given as usize, std::mem::align_of::<ShunterConfig>())?;
    unsafe { config(&*given) }
}

pub(super) fn tables(cluster: u64, jobs: u64) -> Result<(Arc<Cluster>, Arc<Jobs>), Failure> {
    let cluster = find::<Arc<Cluster>>(cluster, "cluster")?;
    let jobs = find::<Arc<Jobs>>(jobs, "table of jobs")?;
    Ok(((*cluster).clone(), (*jobs).clone()))
}

/// Runs a function on the simulation behind a handle.
pub(super) fn with<T>(handle: u64, body: impl FnOnce(&mut Simulation) -> Result<T, Failure>) -> Result<T, Failure> {
    let shared = find::<Mutex<Simulation>>(handle, "simulation")?;
    let mut simulation: MutexGuard<Simulation> = shared.lock().unwrap_or_else(PoisonError::into_inner);
    body(&mut simulation)
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
        let handle = unsafe { target("handle", handle) }?;
        let (cluster, jobs) = tables(cluster, jobs)?;
        let config = unsafe { read_config(config) }?;
        let scores = unsafe { read("scores", scores, scores_length) }?;
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
        let over = unsafe { target("over", over) }?;
        let is_over = with(simulation, |simulation| Ok(simulation.run(most_decisions)))?;
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
        let due = unsafe { target("due", due) }?;
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
        let order = unsafe { read("order", order, length) }?;
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
        let fits = unsafe { target("fits", fits) }?;
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
        let nodes = unsafe { read("nodes", nodes, length) }?;
        let tasks = unsafe { read("tasks", tasks, length) }?;
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
        let handle = unsafe { target("handle", handle) }?;
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
        let needed = unsafe { target("needed", needed) }?;
        let saved = with(simulation, |simulation| Ok(simulation.serialize()))?;
        *needed = saved.len();
        if capacity >= saved.len() {
            unsafe { write("bytes", bytes, saved.len()) }?.copy_from_slice(&saved);
        }
        Ok(())
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
        let handle = unsafe { target("handle", handle) }?;
        let (cluster, jobs) = tables(cluster, jobs)?;
        let bytes = unsafe { read("bytes", bytes, length) }?;
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
        let scores = unsafe { read("scores", scores, scores_length) }?;
        let first = unsafe { read("first", first, windows) }?;
        let total = windows.checked_mul(count).filter(|&total| total > 0);
        let total = total.ok_or_else(|| Failure::argument(format!("{windows} windows of {count} jobs are none")))?;
        let start_ms = unsafe { write("start_ms", start_ms, total) }?.chunks_mut(count);
        let end_ms = unsafe { write("end_ms", end_ms, total) }?.chunks_mut(count);
        let held_ms = unsafe { write("held_ms", held_ms, total) }?.chunks_mut(count);
        let lost_ms = unsafe { write("lost_ms", lost_ms, total) }?.chunks_mut(count);
        let phase = unsafe { write("phase", phase, total) }?.chunks_mut(count);
        let basis = unsafe { write("basis", basis, total) }?.chunks_mut(count);
        let results = start_ms.zip(end_ms).zip(held_ms.zip(lost_ms)).zip(phase.zip(basis));
        let work = first
            .iter()
            .zip(results)
            .map(|(&first, (((start_ms, end_ms), (held_ms, lost_ms)), (phase, basis)))| {
                let result = WindowResult { start_ms, end_ms, held_ms, lost_ms, phase, basis };
                (first..first.saturating_add(count), result)
            })
            .collect();
        run_windows(&cluster, &jobs, &config, scores, work, threads).map_err(Failure::argument)
    })
}
