//! The rules of a site across the border.

use super::{borrow, check_pointer, read, Failure};
use crate::model::rule_columns::RuleColumns;

/// What a site lets wait and start, as C sees it; `core/include/shunter.h` says what each array holds.
#[repr(C)]
pub struct ShunterRules {
    /// To be added to a time: whole weeks of the sum begin as the site's weeks do.
    pub week_offset_ms: i64,
    /// How many stretches of hours there are.
    pub stretches: usize,
    /// By stretch: which hours it is a part of.
    pub hours: *const u32,
    /// By stretch: from when in the week.
    pub hours_from_ms: *const i64,
    /// By stretch: up to when.
    pub hours_to_ms: *const i64,
    /// How many counters running jobs take from.
    pub counters: usize,
    /// By counter: how much they may take.
    pub capacity: *const i64,
    /// By counter: the hours in which it binds, or −1.
    pub counter_hours: *const i64,
    /// How much jobs take: how many entries.
    pub takes: usize,
    /// By entry: the job, ascending.
    pub take_job: *const u32,
    /// By entry: the counter.
    pub take_counter: *const u32,
    /// By entry: how much.
    pub take_amount: *const i64,
    /// How many counters those take from that wait for nodes or run.
    pub queued_counters: usize,
    /// By counter: how much they may take.
    pub queued_capacity: *const i64,
    /// How many entries there are of what they take.
    pub queued_takes: usize,
    /// By entry: the job, ascending.
    pub queued_job: *const u32,
    /// By entry: the counter.
    pub queued_counter: *const u32,
    /// By entry: how much.
    pub queued_amount: *const i64,
    /// How many windows of advance reservations there are.
    pub windows: usize,
    /// By window: when it begins for the first time.
    pub window_start_ms: *const i64,
    /// By window: how long it lasts.
    pub window_duration_ms: *const i64,
    /// By window: how long it takes to begin again, or 0.
    pub window_period_ms: *const i64,
    /// How many nodes the windows have together.
    pub closed: usize,
    /// By node of a window: the window.
    pub closed_window: *const u32,
    /// By node of a window: the node.
    pub closed_node: *const u32,
    /// By job, where there are windows: its class.
    pub class_: *const u32,
    /// How many classes of jobs there are.
    pub classes: usize,
    /// Class by class, for each window: 1 if it binds.
    pub binds: *const u8,
}

/// # Safety
/// A non-null pointer must be readable, and so must what it points to as long as the result lives.
pub(super) unsafe fn read_rules<'a>(given: *const ShunterRules, jobs: usize) -> Result<RuleColumns<'a>, Failure> {
    if given.is_null() {
        return Ok(RuleColumns::default());
    }
    check_pointer("rules", given as usize, std::mem::align_of::<ShunterRules>())?;
    let given = unsafe { &*given };
    borrow!(read given.stretches; given => hours, hours_from_ms, hours_to_ms);
    borrow!(read given.counters; given => capacity, counter_hours);
    borrow!(read given.takes; given => take_job, take_counter, take_amount);
    borrow!(read given.queued_counters; given => queued_capacity);
    borrow!(read given.queued_takes; given => queued_job, queued_counter, queued_amount);
    borrow!(read given.windows; given => window_start_ms, window_duration_ms, window_period_ms);
    borrow!(read given.closed; given => closed_window, closed_node);
    let class = unsafe { read("class_", given.class_, if given.windows == 0 { 0 } else { jobs }) }?;
    let cells = given.classes.checked_mul(given.windows);
    let cells = cells.ok_or_else(|| Failure::argument(format!("{} classes are too many", given.classes)))?;
    borrow!(read cells; given => binds);
    Ok(RuleColumns {
        week_offset_ms: given.week_offset_ms,
        hours,
        hours_from_ms,
        hours_to_ms,
        capacity,
        counter_hours,
        take_job,
        take_counter,
        take_amount,
        queued_capacity,
        queued_job,
        queued_counter,
        queued_amount,
        window_start_ms,
        window_duration_ms,
        window_period_ms,
        closed_window,
        closed_node,
        class,
        binds,
    })
}
