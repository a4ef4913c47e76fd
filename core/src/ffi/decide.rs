//! Decisions across the border.

use super::handles::{find, open};
use super::results::check_capacity;
use super::simulation::{check_order, with};
use super::snapshot::ShunterPlaces;
use super::{borrow, guard, read, target, Failure};
use crate::decide::{decide, Verdict};

/// A decision, as C sees it; `core/include/shunter.h` says what each array holds.
#[repr(C)]
pub struct ShunterDecision {
    /// How many jobs.
    pub jobs: usize,
    /// By job: an outcome's number.
    pub outcome: *mut u8,
    /// By job: a reason's number.
    pub reason: *mut u8,
    /// By job: for whom it waits; −1: nobody.
    pub blocker: *mut i64,
    /// By job: the counter of the limit, or the window, for which it waits; −1: none. Or null.
    pub rule: *mut i64,
    /// By job: its place in the order; −1: none.
    pub place: *mut i64,
    /// By job: when its reservation begins; the least number: none, or not worked out.
    pub reserved_ms: *mut i64,
    /// By job: where it starts, or where its reservation is.
    pub places: ShunterPlaces,
}

/// A decision that is open.
pub(super) struct Decision(pub(super) Vec<Verdict>);

/// Works out what would be decided now, by the policy (a null `order`) or by an order of waiting jobs; the simulation
/// stays as it is.
///
/// # Safety
/// A non-null `order` must be readable for `length` values; `handle` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_decide(
    simulation: u64,
    order: *const u32,
    length: usize,
    handle: *mut u64,
) -> i32 {
    guard(|| {
        borrow!(target; handle);
        let order = match order.is_null() && length == 0 {
            true => None,
            false => Some(unsafe { read("order", order, length) }?),
        };
        // Whoever places may be asked: the simulation is not held meanwhile.
        let copy = with(simulation, |simulation| {
            check_order(simulation, order.unwrap_or_default())?;
            Ok(simulation.clone())
        })?;
        *handle = open(Decision(decide(&copy, order)));
        Ok(())
    })
}

/// Tells a decision. Without an array for outcomes only the counts are written.
///
/// # Safety
/// `told` must be writable, and so must what it points to, for what its counts say.
#[no_mangle]
pub unsafe extern "C" fn shunter_decision_read(decision: u64, told: *mut ShunterDecision) -> i32 {
    guard(|| {
        let target = unsafe { target("told", told) }?;
        let decision = find::<Decision>(decision, "decision")?;
        let verdicts = &decision.0;
        let placements = verdicts.iter().map(|verdict| &verdict.placement);
        if target.outcome.is_null() {
            target.jobs = verdicts.len();
            target.places.count(placements);
            return Ok(());
        }
        let jobs = verdicts.len();
        check_capacity("jobs", target.jobs, jobs)?;
        borrow!(write jobs; target => outcome, reason, blocker, place, reserved_ms);
        let told_rules = if target.rule.is_null() { 0 } else { jobs };
        borrow!(write told_rules; target => rule);
        unsafe { target.places.fill(jobs, placements) }?;
        for (job, verdict) in verdicts.iter().enumerate() {
            outcome[job] = verdict.outcome as u8;
            reason[job] = verdict.reason as u8;
            blocker[job] = verdict.blocker.map_or(-1, i64::from);
            place[job] = verdict.place.map_or(-1, i64::from);
            reserved_ms[job] = verdict.reserved_ms.unwrap_or(i64::MIN);
        }
        for (told, verdict) in rule.iter_mut().zip(verdicts) {
            *told = verdict.rule.map_or(-1, i64::from);
        }
        Ok::<(), Failure>(())
    })
}
