//! Snapshots across the border: what is known at an instant, written for the caller and taken from them.

use super::config::{origin_ms, size_by};
use super::results::check_capacity;
use super::simulation::with;
use super::{borrow, check_pointer, guard, read, target, Failure};
use crate::place::placement::{DeviceShare, Part, Placement};
use crate::sim::job_state::Phase;
use crate::sim::snapshot::{JobSnapshot, RunSnapshot, Snapshot};

/// Where jobs are: job i's nodes are the values offsets[i] to offsets[i + 1] of `nodes` and `tasks`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ShunterPlaces {
    /// How many values `nodes` and `tasks` have.
    pub node_count: usize,
    /// How many values `devices` and `millis` have.
    pub device_count: usize,
    /// One more than jobs.
    pub node_offsets: *mut i64,
    /// Nodes by number.
    pub nodes: *mut i32,
    /// How many tasks on each.
    pub tasks: *mut i32,
    /// One more than jobs.
    pub device_offsets: *mut i64,
    /// Devices by number.
    pub devices: *mut i32,
    /// Which part of each, in thousandths.
    pub millis: *mut i32,
}

impl ShunterPlaces {
    /// Tells how much there is to write.
    pub(super) fn count<'a>(&mut self, placements: impl Iterator<Item = &'a Placement> + Clone) {
        self.node_count = placements.clone().map(|one| one.parts().count()).sum();
        self.device_count = placements.map(|one| one.devices().len()).sum();
    }

    /// Writes where jobs are.
    ///
    /// # Safety
    /// Non-null pointers must be writable for what the counts say.
    pub(super) unsafe fn fill<'a>(
        &self,
        jobs: usize,
        placements: impl Iterator<Item = &'a Placement> + Clone,
    ) -> Result<(), Failure> {
        borrow!(write jobs.saturating_add(1); self => node_offsets, device_offsets);
        borrow!(write self.node_count; self => nodes, tasks);
        borrow!(write self.device_count; self => devices, millis);
        let mut needed = ShunterPlaces { ..*self };
        needed.count(placements.clone());
        check_capacity("nodes", self.node_count, needed.node_count)?;
        check_capacity("devices", self.device_count, needed.device_count)?;
        (node_offsets[0], device_offsets[0]) = (0, 0);
        for (job, placement) in placements.clone().enumerate() {
            node_offsets[job + 1] = node_offsets[job] + placement.parts().count() as i64;
            device_offsets[job + 1] = device_offsets[job] + placement.devices().len() as i64;
        }
        for (place, part) in placements.clone().flat_map(Placement::parts).enumerate() {
            (nodes[place], tasks[place]) = (part.node as i32, part.tasks as i32);
        }
        for (place, share) in placements.flat_map(Placement::devices).enumerate() {
            (devices[place], millis[place]) = (share.device as i32, share.milli);
        }
        Ok(())
    }

    /// Reads where jobs are.
    ///
    /// # Safety
    /// Non-null pointers must be readable for what the counts say.
    unsafe fn take(&self, jobs: usize) -> Result<Vec<Placement>, Failure> {
        borrow!(read jobs.saturating_add(1); self => node_offsets, device_offsets);
        borrow!(read self.node_count; self => nodes, tasks);
        borrow!(read self.device_count; self => devices, millis);
        let mut placements = Vec::with_capacity(jobs);
        for job in 0..jobs {
            let mut placement = Placement::default();
            for place in span(node_offsets, job, self.node_count)? {
                let (node, tasks) = (nodes[place] as u32, tasks[place]);
                if tasks < 1 {
                    return Err(Failure::argument(format!(
                        "job {job} has {tasks} tasks on a node; expected 1 or more"
                    )));
                }
                placement.push(Part { node, tasks: tasks as u32 });
            }
            for place in span(device_offsets, job, self.device_count)? {
                placement.push_device(DeviceShare { device: devices[place] as u32, milli: millis[place] });
            }
            placements.push(placement);
        }
        Ok(placements)
    }
}

fn span(offsets: &[i64], job: usize, count: usize) -> Result<std::ops::Range<usize>, Failure> {
    let (from, to) = (offsets[job], offsets[job + 1]);
    if from < 0 || to < from || to > count as i64 {
        return Err(Failure::argument(format!("job {job}: offsets {from} to {to} are not within 0 to {count}")));
    }
    Ok(from as usize..to as usize)
}

/// `Snapshot`, as C sees it; `core/include/shunter.h` says what each array holds.
#[repr(C)]
pub struct ShunterSnapshot {
    /// The instant.
    pub now_ms: i64,
    /// How many jobs.
    pub jobs: usize,
    /// How many nodes.
    pub nodes: usize,
    /// How many runs that did not end their jobs.
    pub stops: usize,
    /// By job: a phase's number.
    pub phase: *mut u8,
    /// By job: its latest start.
    pub start_ms: *mut i64,
    /// By job: its end.
    pub end_ms: *mut i64,
    /// By job: where it runs, ran, or holds a reservation.
    pub places: ShunterPlaces,
    /// By node: 1 if it is down.
    pub down: *mut u8,
    /// By job: when its reservation begins; −1: none.
    pub reserved_ms: *mut i64,
    /// By job: the work done in runs that were stopped.
    pub done_ms: *mut i64,
    /// By job: what reservations go by; −1: what follows from the job.
    pub limit_ms: *mut i64,
    /// By job: the number of its latest start; −1: not known.
    pub start_number: *mut i64,
    /// By job: since when it may run; the least number: since its submit time.
    pub eligible_ms: *mut i64,
    /// By stop: the job.
    pub stop_job: *mut u32,
    /// By stop: since when it ran.
    pub stop_start_ms: *mut i64,
    /// By stop: until when.
    pub stop_end_ms: *mut i64,
    /// By stop: 1 if a node failed.
    pub stop_by_failure: *mut u8,
    /// −1: none.
    pub committed_job: i64,
    /// When it was expected to start.
    pub committed_ms: i64,
    /// A number of `SizeBy`; −1: as the simulation has it that takes this up.
    pub size_by: i32,
    /// When the log begins; the least number: as the simulation has it.
    pub origin_ms: i64,
}

/// An array that may be left out: as many of what stands for nothing.
///
/// # Safety
/// A non-null `pointer` must be readable for `length` elements.
unsafe fn optional<T: Copy>(name: &str, pointer: *const T, length: usize, nothing: T) -> Result<Vec<T>, Failure> {
    if pointer.is_null() {
        return Ok(vec![nothing; length]);
    }
    Ok(unsafe { read(name, pointer, length) }?.to_vec())
}

/// # Safety
/// A non-null pointer must be readable, and so must what it points to.
pub(super) unsafe fn read_snapshot(
    given: *const ShunterSnapshot,
    jobs: usize,
    nodes: usize,
) -> Result<Snapshot, Failure> {
    check_pointer("snapshot", given as usize, std::mem::align_of::<ShunterSnapshot>())?;
    let given = unsafe { &*given };
    check_capacity("jobs", given.jobs, jobs)?;
    if !given.down.is_null() {
        check_capacity("nodes", given.nodes, nodes)?;
    }
    borrow!(read jobs; given => phase, start_ms, end_ms);
    let placements = unsafe { given.places.take(jobs) }?;
    let reserved_ms = unsafe { optional("reserved_ms", given.reserved_ms, jobs, i64::MIN) }?;
    let done_ms = unsafe { optional("done_ms", given.done_ms, jobs, 0) }?;
    let limit_ms = unsafe { optional("limit_ms", given.limit_ms, jobs, -1) }?;
    let eligible_ms = unsafe { optional("eligible_ms", given.eligible_ms, jobs, i64::MIN) }?;
    let start_number = unsafe { optional("start_number", given.start_number, jobs, -1) }?;
    let mut told = Vec::with_capacity(jobs);
    for (job, placement) in placements.into_iter().enumerate() {
        let phase = Phase::from_code(phase[job].into())
            .ok_or_else(|| Failure::argument(format!("job {job}: phase is {}; there is none", phase[job])))?;
        told.push(JobSnapshot {
            phase,
            start_ms: start_ms[job],
            end_ms: end_ms[job],
            placement,
            eligible_ms: Some(eligible_ms[job]).filter(|&time_ms| time_ms != i64::MIN),
            reserved_ms: Some(reserved_ms[job]).filter(|&time_ms| time_ms != i64::MIN),
            done_ms: done_ms[job],
            limit_ms: Some(limit_ms[job]).filter(|&limit_ms| limit_ms != -1),
            start_number: u32::try_from(start_number[job]).ok(),
        });
    }
    let down: &[u8] = match given.down.is_null() {
        true => &[],
        false => unsafe { read("down", given.down, nodes) }?,
    };
    Ok(Snapshot {
        now_ms: given.now_ms,
        jobs: told,
        down: down.iter().map(|&down| down != 0).collect(),
        stops: unsafe { read_stops(given) }?,
        commitment: u32::try_from(given.committed_job).ok().map(|job| (job, given.committed_ms)),
        size_by: Some(given.size_by).filter(|&code| code != -1).map(size_by).transpose()?,
        origin_ms: Some(given.origin_ms).filter(|&time_ms| time_ms != i64::MIN).map(origin_ms).transpose()?,
    })
}

/// # Safety
/// Non-null pointers must be readable for the number of stops.
unsafe fn read_stops(given: &ShunterSnapshot) -> Result<Vec<RunSnapshot>, Failure> {
    let job = unsafe { read("stop_job", given.stop_job, given.stops) }?;
    let start_ms = unsafe { read("stop_start_ms", given.stop_start_ms, given.stops) }?;
    let end_ms = unsafe { read("stop_end_ms", given.stop_end_ms, given.stops) }?;
    let by_failure = unsafe { read("stop_by_failure", given.stop_by_failure, given.stops) }?;
    let stop = |place: usize| RunSnapshot {
        job: job[place],
        start_ms: start_ms[place],
        end_ms: end_ms[place],
        by_failure: by_failure[place] != 0,
    };
    Ok((0..given.stops).map(stop).collect())
}

/// # Safety
/// Non-null pointers must be writable for what the counts say.
unsafe fn fill(target: &mut ShunterSnapshot, told: &Snapshot) -> Result<(), Failure> {
    let jobs = told.jobs.len();
    check_capacity("jobs", target.jobs, jobs)?;
    check_capacity("nodes", target.nodes, told.down.len())?;
    check_capacity("stops", target.stops, told.stops.len())?;
    borrow!(write jobs; target => phase, start_ms, end_ms);
    borrow!(write told.down.len(); target => down);
    borrow!(write jobs; target => reserved_ms, done_ms, limit_ms, start_number, eligible_ms);
    let stops = told.stops.len();
    borrow!(write stops; target => stop_job, stop_start_ms, stop_end_ms, stop_by_failure);
    unsafe { target.places.fill(jobs, told.jobs.iter().map(|one| &one.placement)) }?;
    for (job, one) in told.jobs.iter().enumerate() {
        phase[job] = one.phase as u8;
        start_ms[job] = one.start_ms;
        end_ms[job] = one.end_ms;
        reserved_ms[job] = one.reserved_ms.unwrap_or(i64::MIN);
        done_ms[job] = one.done_ms;
        limit_ms[job] = one.limit_ms.unwrap_or(-1);
        eligible_ms[job] = one.eligible_ms.unwrap_or(i64::MIN);
        start_number[job] = one.start_number.map_or(-1, i64::from);
    }
    down.iter_mut().zip(&told.down).for_each(|(down, &told)| *down = u8::from(told));
    for (place, stop) in told.stops.iter().enumerate() {
        (stop_job[place], stop_start_ms[place], stop_end_ms[place]) = (stop.job, stop.start_ms, stop.end_ms);
        stop_by_failure[place] = u8::from(stop.by_failure);
    }
    Ok(())
}

/// Tells what is known now. Without an array for phases only the counts, the instant and the commitment are written.
///
/// # Safety
/// `snapshot` must be writable, and so must what it points to, for what its counts say.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_snapshot(simulation: u64, snapshot: *mut ShunterSnapshot) -> i32 {
    guard(|| {
        let target = unsafe { target("snapshot", snapshot) }?;
        let told = with(simulation, |simulation| Ok(simulation.snapshot()))?;
        target.now_ms = told.now_ms;
        target.size_by = told.size_by.map_or(-1, |by| by.code() as i32);
        target.origin_ms = told.origin_ms.unwrap_or(i64::MIN);
        (target.committed_job, target.committed_ms) = told.commitment.map_or((-1, 0), |(job, ms)| (i64::from(job), ms));
        if target.phase.is_null() {
            (target.jobs, target.nodes, target.stops) = (told.jobs.len(), told.down.len(), told.stops.len());
            target.places.count(told.jobs.iter().map(|one| &one.placement));
            return Ok(());
        }
        unsafe { fill(target, &told) }
    })
}

/// Puts a simulation that has not begun into the state of a snapshot. All arrays from `down` on may be null.
///
/// # Safety
/// `snapshot` must be readable, and so must what it points to, for what its counts say.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_load(simulation: u64, snapshot: *const ShunterSnapshot) -> i32 {
    guard(|| {
        let sizes = with(simulation, |simulation| Ok((simulation.states.len(), simulation.setup.cluster.nodes.len())))?;
        let told = unsafe { read_snapshot(snapshot, sizes.0, sizes.1) }?;
        with(simulation, |simulation| {
            let mut loaded = simulation.clone();
            loaded.load(told).map_err(Failure::argument)?;
            *simulation = loaded;
            Ok(())
        })
    })
}
