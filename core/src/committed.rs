//! RLScheduler's rule: the chosen job is committed, and the clock moves until it fits.
//!
//! The order of events is that simulator's, to the digit; `docs/simulation.md` writes it out.

use crate::config::Dispatch;
use crate::simulation::Simulation;

/// The job that will start next, whoever arrives meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commitment {
    /// The job.
    pub job: u32,
    /// When it was expected to start, computed once; jobs that end before may be filled in.
    pub earliest_ms: i64,
}

impl Simulation {
    /// Moves on until a job is to be chosen. False: nothing is to come.
    pub(crate) fn advance_committed(&mut self, backfill: bool) -> bool {
        while let Some(commitment) = self.commitment {
            if self.try_start(commitment.job) {
                self.commitment = None;
                break;
            }
            if backfill {
                self.fill_before(commitment.earliest_ms);
            }
            self.one_event();
        }
        while self.queue.is_empty() {
            if self.next_submit_ms().is_none() {
                self.drain();
                return false;
            }
            self.one_event();
        }
        self.put_starving_first();
        true
    }

    /// Commits a waiting job: it starts at once if it fits.
    pub(crate) fn commit(&mut self, job: u32) {
        self.commitment = None;
        if !self.try_start(job) {
            let fills = self.config.dispatch == Dispatch::Committed { backfill: true };
            let earliest_ms = if fills { self.earliest_start_ms(job) } else { self.now_ms };
            self.commitment = Some(Commitment { job, earliest_ms });
        }
    }

    /// One arrival, or one completion if that is strictly earlier.
    fn one_event(&mut self) {
        let end = self.next_end().map(|(end_ms, _, _)| end_ms);
        let submit = self.next_submit_ms();
        match (submit, end) {
            (Some(submit_ms), end) if end.is_none_or(|end_ms| submit_ms <= end_ms) => {
                self.move_clock(self.now_ms.max(submit_ms));
                self.arrive();
            }
            (_, Some(end_ms)) => {
                self.move_clock(self.now_ms.max(end_ms));
                self.complete_next();
            }
            _ => {}
        }
    }

    /// Nobody waits and nobody will come: the running jobs end.
    fn drain(&mut self) {
        while self.next_end().is_some() {
            self.one_event();
        }
    }

    fn earliest_start_ms(&self, job: u32) -> i64 {
        let mut free = self.free.clone();
        let mut earliest_ms = self.now_ms;
        for expected in &self.expected {
            free.give(self.shape_of(expected.job), &self.states[expected.job as usize].placement);
            earliest_ms = expected.instant_ms;
            if free.fits(&self.cluster, self.shape_of(job)) {
                break;
            }
        }
        earliest_ms
    }

    /// Starts every waiting job that fits now and is expected to end before this time, in the order of the table.
    fn fill_before(&mut self, earliest_ms: i64) {
        self.queue.settle();
        let longest_ms = earliest_ms - self.now_ms - 1;
        let mut from = 0;
        loop {
            let shapes = self.jobs.sizes.count_within(self.free.total_cores_milli());
            let found = self
                .queue
                .first_allowed(shapes, from, longest_ms, |shape| self.shape_fits(shape).then_some(longest_ms));
            let Some(job) = found else { return };
            self.try_start(job);
            from = job + 1;
        }
    }
}
