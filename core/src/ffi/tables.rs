//! Clusters and tables of jobs across the border.

use std::sync::Arc;

use super::handles::open;
use super::rules::{read_rules, ShunterRules};
use super::{borrow, check_pointer, guard, read, Failure};
use crate::model::areas::{Slowdowns, SLOW_LEVELS};
use crate::model::cluster::{check_node_count, Cluster, Node, MOST_TYPES, UNTRACKED};
use crate::model::conditions::ConditionColumns;
use crate::model::job::{Columns, Jobs};
use crate::model::speeds::KindSpeeds;

/// The most speeds of a table: kinds times types.
const MOST_CELLS: usize = 1 << 28;

/// How fast kinds of jobs run, and how much gangs that are spread lose, as C sees it.
#[repr(C)]
pub struct ShunterSpeeds {
    /// Kind by kind, the speed on each type in millionths; 0: it does not run there.
    pub kind_micro: *const i64,
    /// How many kinds there are.
    pub kinds: usize,
    /// How many types each of them knows.
    pub types: usize,
    /// By how much slower jobs without a kind are that are spread over more nodes than they need, over several switches,
    /// over several racks: three numbers in millionths, or null.
    pub slowdown_micro: *const i64,
    /// The same for kinds, on each type; null: as for jobs without a kind.
    pub kind_slowdown_micro: *const i64,
}

/// # Safety
/// A non-null pointer must be readable, and so must what it points to.
unsafe fn read_speeds(given: *const ShunterSpeeds) -> Result<(KindSpeeds, Slowdowns), Failure> {
    if given.is_null() {
        return Ok(Default::default());
    }
    check_pointer("speeds", given as usize, std::mem::align_of::<ShunterSpeeds>())?;
    let &ShunterSpeeds { kind_micro, kinds, types, slowdown_micro, kind_slowdown_micro } = unsafe { &*given };
    let cells = kinds.checked_mul(types).filter(|cells| types <= MOST_TYPES as usize && *cells <= MOST_CELLS);
    let cells = cells.ok_or_else(|| Failure::argument(format!("{kinds} kinds on {types} types are too many")))?;
    let speeds = unsafe { read("kind_micro", kind_micro, cells) }?;
    let length = |array: *const i64, length: usize| if array.is_null() { 0 } else { length };
    let all = unsafe { read("slowdown_micro", slowdown_micro, length(slowdown_micro, SLOW_LEVELS)) }?;
    let count = length(kind_slowdown_micro, cells * SLOW_LEVELS);
    let of_kinds = unsafe { read("kind_slowdown_micro", kind_slowdown_micro, count) }?;
    let slowdowns = Slowdowns::new(all, of_kinds, types).map_err(Failure::argument)?;
    Ok((KindSpeeds::new(speeds, types).map_err(Failure::argument)?, slowdowns))
}

/// Opens a cluster from columns of `nodes` values: milli-cores; memory, −1 for untracked; GPUs; partition, type of GPU,
/// rack and switch, −1 for none; speed in thousandths. `mix` is 1 if a job may have GPUs of several types. `speeds` are those
/// of kinds of jobs, or null.
///
/// # Safety
/// Non-null pointers must be readable for `nodes` values, and `speeds` as it says; `handle` must be writable.
#[no_mangle]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn shunter_cluster_open(
    cores_milli: *const i64,
    memory_mb: *const i64,
    gpus: *const i64,
    partition: *const i64,
    gpu_type: *const i64,
    speed_milli: *const i64,
    rack: *const i64,
    switch_: *const i64,
    nodes: usize,
    mix: i32,
    speeds: *const ShunterSpeeds,
    handle: *mut u64,
) -> i32 {
    guard(|| {
        borrow!(target; handle);
        check_node_count(nodes).map_err(Failure::argument)?;
        borrow!(read nodes; cores_milli, memory_mb, gpus, partition, gpu_type, speed_milli, rack);
        let switches = unsafe { read("switch_", switch_, nodes) }?;
        let number_of = |what: &str, number: usize, value: i64| match value {
            -1 => Ok(None),
            _ => u32::try_from(value)
                .map(Some)
                .map_err(|_| Failure::argument(format!("node {number}: {what} is {value}; expected −1, or 0 or more"))),
        };
        if !matches!(mix, 0 | 1) {
            return Err(Failure::argument(format!("mix is {mix}; expected 0 or 1")));
        }
        let (speeds, slowdowns) = unsafe { read_speeds(speeds) }?;
        let mut built = Vec::with_capacity(nodes);
        for number in 0..nodes {
            let memory = if memory_mb[number] == -1 { UNTRACKED } else { memory_mb[number] };
            let gpus = u32::try_from(gpus[number]).map_err(|_| {
                Failure::argument(format!("node {number}: gpus is {}; expected 0 or more", gpus[number]))
            })?;
            built.push(Node {
                cores_milli: cores_milli[number],
                memory_mb: memory,
                gpus,
                partition: number_of("partition", number, partition[number])?,
                gpu_type: number_of("gpu_type", number, gpu_type[number])?,
                speed_milli: speed_milli[number],
                rack: number_of("rack", number, rack[number])?,
                switch: number_of("switch", number, switches[number])?,
            });
        }
        let cluster = Arc::new(Cluster::new(built, mix != 0, speeds, slowdowns).map_err(Failure::argument)?);
        *handle = open(cluster);
        Ok(())
    })
}

/// What keeps jobs from waiting for nodes, as C sees it; `core/include/shunter.h` says what each array holds.
#[repr(C)]
pub struct ShunterConditions {
    /// By job: the time before which it may not wait for nodes, or the least number.
    pub not_before_ms: *const i64,
    /// By job: when it leaves if it has not started, or the least number.
    pub cancel_ms: *const i64,
    /// By job: 1 if it does not end well.
    pub fails: *const u8,
    /// By job: its group, or −1.
    pub group: *const i64,
    /// By job: 1 if it waits for all earlier ones of its group.
    pub single: *const u8,
    /// By job: its array, or −1.
    pub array: *const i64,
    /// By array: how many of its jobs may wait for nodes or run at once.
    pub array_limit: *const i64,
    /// How many arrays there are.
    pub arrays: usize,
    /// By dependency: the job that depends.
    pub dependent: *const u32,
    /// By dependency: the job on which it depends.
    pub depends_on: *const u32,
    /// By dependency: its kind.
    pub dependency: *const u8,
    /// How many dependencies there are.
    pub dependencies: usize,
    /// By dependency: so long after it is met the job may wait or is submitted; null: at once.
    pub delay_ms: *const i64,
    /// What the site lets wait and start, or null.
    pub rules: *const ShunterRules,
}

/// # Safety
/// A non-null pointer must be readable, and so must what it points to as long as the result lives.
unsafe fn read_conditions<'a>(given: *const ShunterConditions, jobs: usize) -> Result<ConditionColumns<'a>, Failure> {
    if given.is_null() {
        return Ok(ConditionColumns::default());
    }
    check_pointer("conditions", given as usize, std::mem::align_of::<ShunterConditions>())?;
    let given = unsafe { &*given };
    let length = |is_null: bool| if is_null { 0 } else { jobs };
    Ok(ConditionColumns {
        not_before_ms: unsafe { read("not_before_ms", given.not_before_ms, length(given.not_before_ms.is_null())) }?,
        cancel_ms: unsafe { read("cancel_ms", given.cancel_ms, length(given.cancel_ms.is_null())) }?,
        fails: unsafe { read("fails", given.fails, length(given.fails.is_null())) }?,
        group: unsafe { read("group", given.group, length(given.group.is_null())) }?,
        single: unsafe { read("single", given.single, length(given.single.is_null())) }?,
        array: unsafe { read("array", given.array, length(given.array.is_null())) }?,
        array_limit: unsafe { read("array_limit", given.array_limit, given.arrays) }?,
        dependent: unsafe { read("dependent", given.dependent, given.dependencies) }?,
        depends_on: unsafe { read("depends_on", given.depends_on, given.dependencies) }?,
        dependency: unsafe { read("dependency", given.dependency, given.dependencies) }?,
        delay_ms: unsafe {
            read("delay_ms", given.delay_ms, if given.delay_ms.is_null() { 0 } else { given.dependencies })
        }?,
    })
}

/// Opens a table of jobs from columns of `jobs` values; −1 stands for what the log does not say. `kind` and `conditions`
/// may be null.
///
/// # Safety
/// Non-null pointers must be readable for `jobs` values; `handle` must be writable.
#[no_mangle]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn shunter_jobs_open(
    submit_ms: *const i64,
    run_ms: *const i64,
    requested_ms: *const i64,
    tasks: *const i64,
    cores_milli: *const i64,
    memory_mb: *const i64,
    gpu_milli: *const i64,
    partition: *const i64,
    user: *const i64,
    logged_wait_ms: *const i64,
    gpu_types: *const i64,
    kind: *const i64,
    conditions: *const ShunterConditions,
    jobs: usize,
    handle: *mut u64,
) -> i32 {
    guard(|| {
        borrow!(target; handle);
        let columns = Columns {
            submit_ms: unsafe { read("submit_ms", submit_ms, jobs) }?,
            run_ms: unsafe { read("run_ms", run_ms, jobs) }?,
            requested_ms: unsafe { read("requested_ms", requested_ms, jobs) }?,
            tasks: unsafe { read("tasks", tasks, jobs) }?,
            cores_milli: unsafe { read("cores_milli", cores_milli, jobs) }?,
            memory_mb: unsafe { read("memory_mb", memory_mb, jobs) }?,
            gpu_milli: unsafe { read("gpu_milli", gpu_milli, jobs) }?,
            partition: unsafe { read("partition", partition, jobs) }?,
            user: unsafe { read("user", user, jobs) }?,
            logged_wait_ms: unsafe { read("logged_wait_ms", logged_wait_ms, jobs) }?,
            gpu_types: unsafe { read("gpu_types", gpu_types, jobs) }?,
            kind: unsafe { read("kind", kind, if kind.is_null() { 0 } else { jobs }) }?,
            conditions: unsafe { read_conditions(conditions, jobs) }?,
            rules: match unsafe { conditions.as_ref() } {
                Some(told) => unsafe { read_rules(told.rules, jobs) }?,
                None => Default::default(),
            },
        };
        let jobs = Arc::new(Jobs::new(&columns).map_err(Failure::argument)?);
        *handle = open(jobs);
        Ok(())
    })
}
