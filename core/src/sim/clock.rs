//! The clock: what time it is, and when jobs end and arrive.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::sim::job_state::{JobState, Phase};
use crate::sim::setup::Setup;

/// When a running job ends: (time, start number, job).
pub(crate) type End = (i64, u32, u32);

/// The instant, and the jobs' true ends and arrivals.
#[derive(Clone)]
pub(crate) struct Clock {
    pub(crate) now_ms: i64,
    /// The first job of the table that has not arrived.
    pub(crate) next_arrival: u32,
    /// Something was done from outside since the last decision: if nothing else is to come, one is due now.
    pub(crate) undecided: bool,
    /// When whoever decides from outside wants to be asked, though nothing may happen then.
    pub(crate) asked_ms: Option<i64>,
    /// The last instant that hours or windows of the site did not bring alone.
    pub(crate) quiet_since_ms: i64,
    /// True ends of the running jobs. Taking one out of the middle would be slow: entries whose start number is old belong
    /// to a start that was stopped, and are thrown away when they come up.
    ends: BinaryHeap<Reverse<End>>,
}

impl Clock {
    /// A clock that has not begun to go.
    pub(crate) fn new(now_ms: i64) -> Self {
        let (ends, quiet_since_ms) = (BinaryHeap::new(), now_ms);
        Clock { now_ms, next_arrival: 0, undecided: false, asked_ms: None, quiet_since_ms, ends }
    }

    /// A running job will end.
    pub(crate) fn add_end(&mut self, end: End) {
        self.ends.push(Reverse(end));
    }

    /// The earliest true end.
    #[inline]
    pub(crate) fn next_end(&mut self, states: &[JobState]) -> Option<End> {
        while let Some(&Reverse(end)) = self.ends.peek() {
            let state = &states[end.2 as usize];
            if state.phase == Phase::Running && state.sequence == end.1 {
                return Some(end);
            }
            self.ends.pop();
        }
        None
    }

    /// Takes out the end that `next_end` has just told.
    #[inline]
    pub(crate) fn take_end(&mut self) -> Option<End> {
        self.ends.pop().map(|Reverse(end)| end)
    }

    /// When the next job arrives.
    #[inline]
    pub(crate) fn next_submit_ms(&self, setup: &Setup) -> Option<i64> {
        setup.jobs.submit_ms[..setup.window.end].get(setup.place(self.next_arrival)).copied()
    }

    /// The job of the table that arrives now.
    pub(crate) fn take_arrival(&mut self) -> u32 {
        self.next_arrival += 1;
        self.next_arrival - 1
    }
}
