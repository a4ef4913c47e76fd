//! Blocks of like jobs across the border: what a scheduler's plugin asks.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::config::{read_config, ShunterConfig};
use super::handles::{locked, open};
use super::policy;
use super::{borrow, guard, read, Failure};
use crate::decide::blocks::{BlockColumns, BlockPolicy, HostColumns, RunColumns};

/// Hosts, as C sees them; `core/include/shunter.h` says what each array holds.
#[repr(C)]
pub struct ShunterHosts {
    /// How many.
    pub count: usize,
    /// By host: all slots.
    pub slots: *const i64,
    /// By host: all memory, or −1.
    pub memory_mb: *const i64,
    /// By host: slots that are free.
    pub free_slots: *const i64,
    /// By host: memory that is free.
    pub free_memory_mb: *const i64,
}

/// Blocks of waiting jobs, as C sees them.
#[repr(C)]
pub struct ShunterBlocks {
    /// How many.
    pub count: usize,
    /// By block: the slots of a job.
    pub slots: *const i64,
    /// By block: the memory of a slot.
    pub memory_mb: *const i64,
    /// By block: how many jobs wait.
    pub pending: *const i64,
    /// By block: when its first job was submitted.
    pub submit_ms: *const i64,
    /// By block: how long it may run, or −1.
    pub requested_ms: *const i64,
    /// By block: a number for its user, or −1.
    pub user: *const i64,
    /// By block: its priority; not a number where there is none.
    pub priority: *const f64,
}

/// Jobs that run, as C sees them.
#[repr(C)]
pub struct ShunterRuns {
    /// How many.
    pub count: usize,
    /// By job: when it was submitted.
    pub submit_ms: *const i64,
    /// By job: when it started.
    pub start_ms: *const i64,
    /// By job: how long it may run, or −1.
    pub requested_ms: *const i64,
    /// By job: a number for its user, or −1.
    pub user: *const i64,
    /// By job, and one more: where its parts begin.
    pub offsets: *const usize,
    /// By part: a host.
    pub host: *const u32,
    /// By part: slots.
    pub slots: *const i64,
    /// By part: memory.
    pub memory_mb: *const i64,
    /// How many parts.
    pub parts: usize,
}

/// Runs a function on the policy behind a handle.
fn with<T>(handle: u64, body: impl FnOnce(&mut BlockPolicy) -> Result<T, Failure>) -> Result<T, Failure> {
    locked(handle, "policy for blocks", body)
}

/// Opens a policy that orders blocks, by a configuration, and by a learned policy unless `policy` is 0. Both are copied.
///
/// # Safety
/// `config` must be readable, and so must what it points to; `handle` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_blocks_open(config: *const ShunterConfig, policy: u64, handle: *mut u64) -> i32 {
    guard(|| {
        borrow!(target; handle);
        let config = unsafe { read_config(config) }?;
        let learned = match policy {
            0 => None,
            policy => Some(policy::with(policy, |policy| Ok(policy.clone()))?),
        };
        *handle = open(Mutex::new(BlockPolicy::new(config, learned).map_err(Failure::argument)?));
        Ok(())
    })
}

/// Tells the hosts, and what is free there now.
///
/// # Safety
/// `hosts` must be readable, and so must what it points to.
#[no_mangle]
pub unsafe extern "C" fn shunter_blocks_hosts(blocks: u64, hosts: *const ShunterHosts) -> i32 {
    guard(|| {
        let hosts = &unsafe { read("hosts", hosts, 1) }?[0];
        let count = hosts.count;
        borrow!(read count; hosts => slots, memory_mb, free_slots, free_memory_mb);
        let columns = HostColumns { slots, memory_mb, free_slots, free_memory_mb };
        with(blocks, |policy| policy.tell_hosts(&columns).map_err(Failure::argument))
    })
}

/// Tells which hosts the placement prefers for a job of one slot with so much memory: at most `capacity`, the best first.
///
/// # Safety
/// `hosts` must be writable for `capacity` values; `told` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_blocks_prefer(
    blocks: u64,
    memory_mb: i64,
    hosts: *mut u32,
    capacity: usize,
    told: *mut usize,
) -> i32 {
    guard(|| {
        borrow!(target; told);
        borrow!(write capacity; hosts);
        let found = with(blocks, |policy| policy.prefer(memory_mb, capacity).map_err(Failure::refused))?;
        hosts[..found.len()].copy_from_slice(&found);
        *told = found.len();
        Ok(())
    })
}

/// Tells which blocks are to be tried, the next first, and how many jobs of each: as many decisions as are made within
/// `budget_us` microseconds (0: all). `complete` tells whether there was time for all of them.
///
/// # Safety
/// `waiting` and `running` must be readable, and so must what they point to; `block` and `times` must be writable for
/// `capacity` values, `told` and `complete` for one.
#[no_mangle]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn shunter_blocks_order(
    blocks: u64,
    waiting: *const ShunterBlocks,
    running: *const ShunterRuns,
    now_ms: i64,
    budget_us: u64,
    block: *mut u32,
    times: *mut u32,
    capacity: usize,
    told: *mut usize,
    complete: *mut i32,
) -> i32 {
    guard(|| {
        let deadline = (budget_us > 0).then(|| Instant::now().checked_add(Duration::from_micros(budget_us))).flatten();
        borrow!(target; told, complete);
        borrow!(write capacity; block, times);
        let waiting = unsafe { blocks_of(waiting) }?;
        let running = unsafe { runs_of(running) }?;
        let turns =
            with(blocks, |policy| policy.order(&waiting, &running, now_ms, deadline).map_err(Failure::refused))?;
        if turns.blocks.len() > capacity {
            let needed = turns.blocks.len();
            return Err(Failure::argument(format!("capacity is {capacity}; there are {needed} turns")));
        }
        for (place, (number, count)) in turns.blocks.iter().enumerate() {
            (block[place], times[place]) = (*number, *count);
        }
        (*told, *complete) = (turns.blocks.len(), i32::from(turns.is_complete));
        Ok(())
    })
}

/// # Safety
/// The pointer must be readable, and so must what it points to.
unsafe fn blocks_of<'a>(waiting: *const ShunterBlocks) -> Result<BlockColumns<'a>, Failure> {
    let waiting = &unsafe { read("waiting", waiting, 1) }?[0];
    let count = waiting.count;
    borrow!(read count; waiting => slots, memory_mb, pending, submit_ms, requested_ms, user, priority);
    Ok(BlockColumns { slots, memory_mb, pending, submit_ms, requested_ms, user, priority })
}

/// # Safety
/// The pointer must be readable, and so must what it points to.
unsafe fn runs_of<'a>(running: *const ShunterRuns) -> Result<RunColumns<'a>, Failure> {
    let running = &unsafe { read("running", running, 1) }?[0];
    let (count, parts) = (running.count, running.parts);
    borrow!(read count; running => submit_ms, start_ms, requested_ms, user);
    borrow!(read parts; running => host, slots, memory_mb);
    let bounds = count.checked_add(1).ok_or_else(|| Failure::argument("count of jobs that run is impossible"))?;
    borrow!(read bounds; running => offsets);
    if offsets[0] != 0 || offsets[count] != parts || offsets.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err(Failure::argument(format!("offsets do not ascend from 0 to the {parts} parts")));
    }
    Ok(RunColumns { submit_ms, start_ms, requested_ms, user, offsets, host, slots, memory_mb })
}
