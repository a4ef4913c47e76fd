//! Events: the clock moves, jobs end, jobs arrive, jobs have waited too long.

use std::cmp::Reverse;

use crate::model::cluster::{reject_reason, RejectReason, FULL_SPEED};
use crate::model::config::Dispatch;
use crate::sim::job_state::Phase;
use crate::sim::simulation::{End, Expected, Simulation};

impl Simulation {
    /// Moves to the next instant at which a decision is due: completions, then arrivals. False: nothing is to come.
    pub fn advance(&mut self) -> bool {
        if let Dispatch::Committed { backfill } = self.config.dispatch {
            return self.advance_committed(backfill);
        }
        loop {
            let Some(instant_ms) = self.next_instant_ms() else {
                return std::mem::take(&mut self.undecided) && !self.queue.is_empty();
            };
            self.undecided = false;
            self.move_clock(instant_ms);
            while self.next_end().is_some_and(|(end_ms, _, _)| end_ms <= instant_ms) {
                self.complete_next();
            }
            self.change_nodes(instant_ms);
            while self.next_submit_ms().is_some_and(|submit_ms| submit_ms <= instant_ms) {
                self.arrive();
            }
            self.put_starving_first();
            if !self.queue.is_empty() {
                return true;
            }
        }
    }

    /// Whether anything is to come.
    pub(crate) fn has_event(&mut self) -> bool {
        self.next_instant_ms().is_some()
    }

    fn next_instant_ms(&mut self) -> Option<i64> {
        let end = self.next_end().map(|(end_ms, _, _)| end_ms);
        let others = [self.next_submit_ms(), self.next_starving_ms(), self.next_review_ms(), self.next_reserved_ms()];
        let next = others.into_iter().chain([end]).flatten().min();
        let failure = self.next_failure_ms(next.is_none());
        next.into_iter().chain(failure).min()
    }

    /// Planned for slow nodes, a job that got fast ones may have to wait for its time though nobody runs.
    fn next_reserved_ms(&self) -> Option<i64> {
        let idle = self.running == 0 && self.cluster.has_speeds;
        let times = self.holders.iter().filter(|_| idle).map(|&job| self.states[job as usize].reserved_ms());
        times.filter(|&time_ms| time_ms > self.now_ms).min()
    }

    fn next_review_ms(&self) -> Option<i64> {
        self.contest.as_ref()?.review_ms.filter(|&review_ms| review_ms > self.now_ms)
    }

    /// The earliest true end, entries of preempted starts being thrown away.
    pub(crate) fn next_end(&mut self) -> Option<End> {
        while let Some(&Reverse(end)) = self.ends.peek() {
            let state = &self.states[end.2 as usize];
            if state.phase == Phase::Running && state.sequence == end.1 {
                return Some(end);
            }
            self.ends.pop();
        }
        None
    }

    pub(crate) fn next_submit_ms(&self) -> Option<i64> {
        let job = self.window.start + self.next_arrival as usize;
        self.jobs.submit_ms[..self.window.end].get(job).copied()
    }

    /// The running job with the earliest true end, as `next_end` has just said, ends.
    pub(crate) fn complete_next(&mut self) {
        let Some(Reverse((end_ms, _, job))) = self.ends.pop() else { return };
        self.stop(job, end_ms);
        let overhead_ms = self.overhead_ms(job);
        let state = &mut self.states[job as usize];
        state.held_ms += end_ms - state.segment_start_ms;
        state.lost_ms += overhead_ms;
        state.end_ms = end_ms;
        state.phase = if state.doomed { Phase::Killed } else { Phase::Completed };
        self.ended += 1;
        if let Some(tally) = &mut self.tally {
            tally.end(job);
        }
        self.learn(job);
    }

    /// A job that has ended tells how long it ran.
    pub(crate) fn learn(&mut self, job: u32) {
        let lasted_ms = self.work_ms(job);
        if let Some(learner) = &mut self.learner {
            learner.learn(&self.jobs, self.window.start, job, lasted_ms);
        }
    }

    /// A running job gives back what it uses.
    pub(crate) fn stop(&mut self, job: u32, now_ms: i64) {
        self.blocked = None;
        let state = &self.states[job as usize];
        if self.is_pool {
            self.free.give_pool(self.jobs.sizes.cores_milli(state.shape));
        } else {
            self.free.give(&self.jobs.shapes[state.shape as usize], &state.placement);
        }
        if self.tracks_expected() {
            let expected = self.expected_end(job);
            if let Ok(place) = self.expected.binary_search(&expected) {
                self.expected.remove(place);
            }
            self.freed += u64::from(now_ms < expected.instant_ms);
        }
        self.running -= 1;
        if self.keeps_runners() {
            let sequence = self.states[job as usize].sequence;
            let place = self.runners.partition_point(|&other| self.states[other as usize].sequence < sequence);
            self.runners.remove(place);
        }
        self.charge(job, -1);
        self.hold(job, -1);
    }

    pub(crate) fn expected_end(&self, job: u32) -> Expected {
        let state = &self.states[job as usize];
        Expected {
            instant_ms: state.segment_start_ms + self.span_on(job, &state.placement),
            sequence: state.sequence,
            job,
            cores_milli: self.jobs.sizes.cores_milli(state.shape),
        }
    }

    /// The next job of the table arrives: it begins to wait, or is rejected. Says whether it waits.
    pub(crate) fn arrive(&mut self) -> bool {
        let job = self.next_arrival;
        self.next_arrival += 1;
        let reason = self.reject_reason(job);
        let state = &mut self.states[job as usize];
        if reason != RejectReason::None {
            state.phase = Phase::Rejected;
            state.reject_reason = reason;
            self.ended += 1;
            return false;
        }
        state.phase = Phase::Waiting;
        if self.tally.is_some() {
            let served = self.served(job);
            self.tally.as_mut().into_iter().for_each(|tally| tally.arrive(&served));
        }
        self.note_arrival(job);
        self.enqueue(job, false);
        true
    }

    /// A job is here: if reservations go by an estimate that is learned, it is now that it is taken.
    pub(crate) fn note_arrival(&mut self, job: u32) {
        if self.config.reserve_by_estimate && self.learner.is_some() {
            self.states[job as usize].limit_ms = self.estimate(job).0.max(1);
        }
    }

    /// A job begins to wait; `first` says that the guard puts it before the policy's order.
    pub(crate) fn enqueue(&mut self, job: u32, first: bool) {
        let state = &self.states[job as usize];
        let (cores_milli, span_ms) = (self.jobs.sizes.cores_milli(state.shape), self.span_ms(job, FULL_SPEED));
        self.queue.insert(job, cores_milli, span_ms, first);
        self.rank_newcomer(job);
        self.contend(job);
    }

    /// Why a job can never run here.
    pub(crate) fn reject_reason(&self, job: u32) -> RejectReason {
        let shape = self.shape_of(job);
        if self.is_pool && shape.partition.is_none() && shape.total_cores_milli() <= self.cluster.nodes[0].cores_milli {
            return RejectReason::None;
        }
        reject_reason(&self.cluster, shape)
    }

    fn next_starving_ms(&mut self) -> Option<i64> {
        let max_wait_ms = self.config.max_wait_ms?;
        while self.guard_cursor < self.next_arrival {
            let waits = self.states[self.guard_cursor as usize].phase == Phase::Waiting;
            if waits && !self.queue.is_first(self.guard_cursor) {
                return Some(self.submit_ms(self.guard_cursor) + max_wait_ms);
            }
            self.guard_cursor += 1;
        }
        None
    }

    /// Jobs that have reached the bound go before the policy's order.
    pub(crate) fn put_starving_first(&mut self) {
        while self.next_starving_ms().is_some_and(|instant_ms| instant_ms <= self.now_ms) {
            let job = self.guard_cursor;
            self.blocked = None;
            self.queue.remove(job);
            if let Some(contest) = &mut self.contest {
                contest.remove(self.states[job as usize].shape, job);
            }
            self.enqueue(job, true);
            self.guard_cursor += 1;
        }
    }
}
