//! Clusters and tables of jobs across the border.

use std::sync::Arc;

use super::handles::open;
use super::{guard, read, target, Failure};
use crate::cluster::{check_node_count, Cluster, Node, UNTRACKED};
use crate::job::{Columns, Jobs};

/// Opens a cluster from columns of `nodes` values: milli-cores; memory, −1 for untracked; GPUs; partition, −1 for none.
///
/// # Safety
/// Non-null pointers must be readable for `nodes` values; `handle` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_cluster_open(
    cores_milli: *const i64,
    memory_mb: *const i64,
    gpus: *const i64,
    partition: *const i64,
    nodes: usize,
    handle: *mut u64,
) -> i32 {
    guard(|| {
        let handle = unsafe { target("handle", handle) }?;
        check_node_count(nodes).map_err(Failure::argument)?;
        let cores_milli = unsafe { read("cores_milli", cores_milli, nodes) }?;
        let memory_mb = unsafe { read("memory_mb", memory_mb, nodes) }?;
        let gpus = unsafe { read("gpus", gpus, nodes) }?;
        let partition = unsafe { read("partition", partition, nodes) }?;
        let mut built = Vec::with_capacity(nodes);
        for number in 0..nodes {
            let memory = if memory_mb[number] == -1 { UNTRACKED } else { memory_mb[number] };
            let gpus = u32::try_from(gpus[number]).map_err(|_| {
                Failure::argument(format!("node {number}: gpus is {}; expected 0 or more", gpus[number]))
            })?;
            let partition = match partition[number] {
                -1 => None,
                value => Some(u32::try_from(value).map_err(|_| {
                    Failure::argument(format!("node {number}: partition is {value}; expected −1, or 0 or more"))
                })?),
            };
            built.push(Node { cores_milli: cores_milli[number], memory_mb: memory, gpus, partition });
        }
        let cluster = Arc::new(Cluster::new(built).map_err(Failure::argument)?);
        *handle = open(cluster);
        Ok(())
    })
}

/// Opens a table of jobs from columns of `jobs` values; −1 stands for what the log does not say.
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
    jobs: usize,
    handle: *mut u64,
) -> i32 {
    guard(|| {
        let handle = unsafe { target("handle", handle) }?;
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
        };
        let jobs = Arc::new(Jobs::new(&columns).map_err(Failure::argument)?);
        *handle = open(jobs);
        Ok(())
    })
}
