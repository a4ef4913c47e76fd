//! RLScheduler's rule: the chosen job is committed, and the clock moves until it fits.
//!
//! The order of events is that simulator's, to the digit; `docs/simulation.md` writes it out.

use crate::dispatch::promises::Commitment;
use crate::model::config::Dispatch;
use crate::sim::simulation::Simulation;

impl Simulation {
    /// Moves on until a job is to be chosen. False: nothing is to come.
    pub(crate) fn advance_committed(&mut self, backfill: bool) -> bool {
        while !self.serve_commitment(backfill) {
            if !self.one_event() {
                return false;
            }
        }
        while self.waiting.queue.is_empty() {
            if !self.one_event() {
                return false;
            }
        }
        self.put_starving_first();
        true
    }

    /// Starts the committed job, or fills in others before it. Says whether none is committed any more.
    pub(crate) fn serve_commitment(&mut self, backfill: bool) -> bool {
        let Some(commitment) = self.promises.commitment else { return true };
        if self.try_start(commitment.job) {
            self.promises.commitment = None;
            return true;
        }
        if backfill {
            self.fill_before(commitment.earliest_ms);
        }
        false
    }

    /// Commits a waiting job: it starts at once if it fits.
    pub(crate) fn commit(&mut self, job: u32) {
        self.promises.commitment = None;
        if !self.try_start(job) {
            let fills = self.setup.config.dispatch == Dispatch::Committed { backfill: true };
            let earliest_ms = if fills { self.earliest_start_ms(job) } else { self.now_ms() };
            self.promises.commitment = Some(Commitment { job, earliest_ms });
        }
    }

    /// What happens to nodes, one arrival, or one completion if that is strictly earlier. False: nothing is to come.
    fn one_event(&mut self) -> bool {
        let end = self.next_end_ms();
        let submit = self.next_submit_ms();
        let failure = self.next_failure_ms(end.is_none() && submit.is_none());
        let failure = failure.filter(|&failure_ms| submit.is_none_or(|submit_ms| failure_ms <= submit_ms));
        if let Some(failure_ms) = failure.filter(|&failure_ms| end.is_none_or(|end_ms| failure_ms < end_ms)) {
            self.move_clock(self.now_ms().max(failure_ms));
            self.change_nodes(failure_ms);
            return true;
        }
        // Completions come before the node event that comes before the arrival.
        let submit = submit.filter(|_| failure.is_none());
        match (submit, end) {
            (Some(submit_ms), end) if end.is_none_or(|end_ms| submit_ms <= end_ms) => {
                self.move_clock(self.now_ms().max(submit_ms));
                self.arrive();
            }
            (_, Some(end_ms)) => {
                self.move_clock(self.now_ms().max(end_ms));
                self.complete_next();
            }
            _ => return false,
        }
        true
    }

    fn earliest_start_ms(&self, job: u32) -> i64 {
        let mut free = self.machine.free.clone();
        let mut earliest_ms = self.now_ms();
        for expected in self.machine.expected() {
            free.give(self.shape_of(expected.job), &self.states[expected.job as usize].placement);
            earliest_ms = expected.instant_ms;
            if free.fits(&self.setup.cluster, self.shape_of(job)) {
                break;
            }
        }
        earliest_ms
    }

    /// Starts every waiting job that fits now and is expected to end before this time, in the order of the table.
    fn fill_before(&mut self, earliest_ms: i64) {
        self.waiting.queue.settle();
        let longest_ms = earliest_ms - self.now_ms() - 1;
        let mut from = 0;
        loop {
            let shapes = self.setup.jobs.sizes.count_within(self.machine.free.total_cores_milli());
            let found = self.waiting.queue.first_allowed(shapes, from, i64::MAX, |shape| {
                self.machine.fits(&self.setup, shape).then(|| self.reference_bound(shape, longest_ms))
            });
            let Some(job) = found else { return };
            from = job + 1;
            if self.promises.commitment.is_some_and(|held| held.job == job) {
                continue;
            }
            let placement = if self.setup.is_pool { None } else { self.place_on(&self.machine.free, job) };
            if placement.as_ref().is_none_or(|placement| self.span_on(job, placement) <= longest_ms) {
                self.try_start(job);
            }
        }
    }
}
