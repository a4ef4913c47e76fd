//! Events: the clock moves, jobs end, nodes fail, jobs arrive, jobs have waited too long.

use crate::dispatch::committed;
use crate::dispatch::contenders::standing_of;
use crate::model::cluster::RejectReason;
use crate::model::config::Dispatch;
use crate::sim::gate::Gate;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// The next time at which something happens.
struct Next {
    instant_ms: i64,
    /// Whether it is only hours or windows of the site that begin or end.
    is_quiet: bool,
}

impl Simulation {
    /// Moves to the next instant at which a decision is due: completions, then arrivals. False: nothing is to come.
    pub fn advance(&mut self) -> bool {
        if let Dispatch::Committed { backfill } = self.setup.config.dispatch {
            return committed::advance(self, backfill);
        }
        loop {
            let Some(next) = self.next_instant() else {
                return std::mem::take(&mut self.clock.undecided) && !self.waiting.queue.is_empty();
            };
            self.happen(next);
            if !self.waiting.queue.is_empty() {
                return true;
            }
        }
    }

    /// Makes every decision that is due before an instant, and stops at it: what happens then has happened, and nothing
    /// of it is decided.
    pub fn run_until(&mut self, instant_ms: i64) -> Result<(), String> {
        if matches!(self.setup.config.dispatch, Dispatch::Committed { .. }) {
            return Err("a committed rule goes from event to event; it cannot be stopped at a time".to_string());
        }
        if instant_ms < self.now_ms() {
            return Err(format!("the time {instant_ms} ms is before that of the simulation, {} ms", self.now_ms()));
        }
        while let Some(next) = self.next_instant().filter(|next| next.instant_ms < instant_ms) {
            self.happen(next);
            if !self.waiting.queue.is_empty() {
                self.dispatch(None);
                self.check_headway()?;
            }
        }
        self.happen(Next { instant_ms, is_quiet: false });
        Ok(())
    }

    /// The clock moves to an instant, before which nothing happens, and all happens that is due then.
    fn happen(&mut self, next: Next) {
        let Next { instant_ms, is_quiet } = next;
        // From here on a decision is due because something happens, not because of what was done from outside.
        self.clock.undecided = false;
        self.move_clock(instant_ms);
        if !is_quiet {
            self.clock.quiet_since_ms = instant_ms;
        }
        while self.next_end_ms().is_some_and(|end_ms| end_ms <= instant_ms) {
            self.complete_next();
        }
        // A job that ends as its node fails has ended; one that arrives then finds the node down.
        self.change_nodes(instant_ms);
        while self.next_submit_ms().is_some_and(|submit_ms| submit_ms <= instant_ms) {
            self.arrive();
        }
        self.settle();
        self.put_starving_first();
    }

    /// Whether anything is to come.
    pub(crate) fn has_event(&mut self) -> bool {
        self.next_instant().is_some()
    }

    fn next_instant(&mut self) -> Option<Next> {
        let other_ms = self.next_other_ms();
        let instant_ms = earlier(other_ms, self.next_rule_ms(other_ms.is_none()))?;
        Some(Next { instant_ms, is_quiet: other_ms != Some(instant_ms) })
    }

    /// When something happens next, but for hours and windows of the site.
    fn next_other_ms(&mut self) -> Option<i64> {
        let mut next = earlier(self.next_end_ms(), self.next_submit_ms());
        next = earlier(next, self.next_gate_ms());
        next = earlier(next, self.next_starving_ms());
        next = earlier(next, self.next_impatient_ms());
        next = earlier(next, self.next_review_ms());
        next = earlier(next, self.next_reserved_ms());
        next = earlier(next, self.clock.asked_ms.filter(|&asked_ms| asked_ms > self.now_ms()));
        // Drawn failures never end: alone they must not keep a simulation going.
        earlier(next, self.next_failure_ms(next.is_none()))
    }

    pub(crate) fn next_end_ms(&mut self) -> Option<i64> {
        self.clock.next_end(&self.states).map(|(end_ms, _, _)| end_ms)
    }

    #[inline]
    pub(crate) fn next_submit_ms(&self) -> Option<i64> {
        let told = self.gate.as_ref().and_then(Gate::next_arrival_ms);
        told.unwrap_or_else(|| self.clock.next_submit_ms(&self.setup))
    }

    fn next_starving_ms(&mut self) -> Option<i64> {
        self.waiting.next_starving(&self.setup, &self.states, self.clock.next_arrival).map(|(instant_ms, _)| instant_ms)
    }

    /// When the next waiting job no longer waits for nodes that are close together.
    fn next_impatient_ms(&mut self) -> Option<i64> {
        self.waiting.next_impatient(&self.setup, &self.states, self.clock.next_arrival, self.clock.now_ms)
    }

    fn next_review_ms(&self) -> Option<i64> {
        self.waiting.contest.as_ref()?.review_ms.filter(|&review_ms| review_ms > self.now_ms())
    }

    /// Planned for slow nodes, a job that got fast ones may have to wait for its time though nobody runs; and so may one
    /// that was declined what is free now.
    fn next_reserved_ms(&self) -> Option<i64> {
        let config = &self.setup.config;
        let is_possible = self.setup.cluster.has_speeds
            || config.may_decline()
            || config.locality_patience_ms().is_some()
            || self.is_ruled();
        if self.machine.running() > 0 || !is_possible {
            return None;
        }
        let times = self.promises.holders().iter().map(|&job| self.state(job).reserved_ms());
        times.filter(|&time_ms| time_ms > self.now_ms()).min()
    }

    /// When a node goes down or comes up next. If nothing else is to come, only a node that comes back matters, and only
    /// to those that wait.
    pub(crate) fn next_failure_ms(&self, alone: bool) -> Option<i64> {
        let failures = self.failures.as_ref()?;
        if alone && (self.waiting.queue.is_empty() || !failures.may_bring_back(&self.setup.config)) {
            return None;
        }
        // What was given for the time before the first job is noticed when it comes.
        failures.next_ms(&self.setup.config).map(|time_ms| time_ms.max(self.now_ms()))
    }

    /// The clock moves.
    pub(crate) fn move_clock(&mut self, instant_ms: i64) {
        let elapsed_ms = instant_ms - self.now_ms();
        self.accounts.pass_time(&self.setup, elapsed_ms, self.waiting.queue.len(), &self.machine.free);
        self.clock.now_ms = instant_ms;
    }

    /// The running job with the earliest true end, as `next_end_ms` has just said, ends.
    pub(crate) fn complete_next(&mut self) {
        let Some((end_ms, _, job)) = self.clock.take_end() else { return };
        self.end_run(job, end_ms);
        let state = &mut self.states[job as usize];
        state.held_ms += end_ms - state.segment_start_ms;
        let lost_ms = self.setup.overhead_ms(state);
        state.lost_ms += lost_ms;
        self.accounts.lose(&self.setup, job, state, lost_ms, end_ms);
        state.end_ms = end_ms;
        // Killed or not was known from the beginning of the run: only the table's run time decides it.
        state.phase = if state.doomed { Phase::Killed } else { Phase::Completed };
        self.machine.count_end();
        self.accounts.end(job);
        self.accounts.learn(&self.setup, job, &self.states[job as usize]);
        self.tell_end(job, true);
    }

    /// What happens to nodes at this instant.
    pub(crate) fn change_nodes(&mut self, instant_ms: i64) {
        if self.failures.is_none() {
            return;
        }
        // Taken out meanwhile: a node that fails stops jobs, which needs the whole simulation.
        let Some(mut failures) = self.failures.take() else { return };
        while let Some(node) = failures.pop(&self.setup.config, instant_ms) {
            let is_down = failures.is_down(node);
            if is_down == self.machine.free.is_down(node) {
                continue;
            }
            self.machine.set_down(node, is_down);
            self.disturb();
            self.promises.plan_again();
            if is_down {
                self.stop_jobs_on(node);
            }
        }
        self.failures = Some(failures);
    }

    /// The next job arrives: it begins to wait, is held, or is rejected.
    pub(crate) fn arrive(&mut self) {
        let next = self.clock.take_arrival();
        let job = self.gate.as_mut().and_then(Gate::pop_arrival).unwrap_or(next);
        let reason = self.reject_reason(job);
        let state = &mut self.states[job as usize];
        if reason != RejectReason::None {
            state.phase = Phase::Rejected;
            state.eligible_ms = self.clock.now_ms;
            state.reject_reason = reason;
            self.machine.count_end();
            return self.tell_end(job, false);
        }
        self.take_limit(job);
        // What the last pass knew of the next arrival was of the next in the table.
        if job != next {
            self.forget_last_pass();
        }
        let Some(gate) = &mut self.gate else {
            let submit_ms = self.setup.submit_ms(job);
            return self.begin_to_wait(job, submit_ms);
        };
        self.states[job as usize].phase = Phase::Held;
        gate.hold(&self.setup, &self.states, job, self.clock.now_ms);
    }

    /// A job is here: if reservations go by an estimate that is learned, it is now that it is taken.
    pub(crate) fn take_limit(&mut self, job: u32) {
        if self.setup.config.reserve_by_estimate && self.accounts.learns() {
            self.states[job as usize].limit_ms = self.estimate(job).0.max(1);
        }
    }

    /// A job begins to wait; `first` says that the guard puts it before the policy's order.
    pub(crate) fn enqueue(&mut self, job: u32, first: bool) {
        let standing = standing_of(self, job);
        self.waiting.insert(&self.setup, &self.accounts, job, &self.states, standing, first);
    }

    /// Jobs that have reached the bound go before the policy's order.
    pub(crate) fn put_starving_first(&mut self) {
        while let Some((instant_ms, job)) =
            self.waiting.next_starving(&self.setup, &self.states, self.clock.next_arrival)
        {
            if instant_ms > self.now_ms() {
                return;
            }
            self.forget_last_pass();
            let standing = standing_of(self, job);
            self.waiting.put_first(&self.setup, job, &self.states[job as usize], standing);
        }
    }
}

/// The earlier of two times, of which there may be one or none.
pub(crate) fn earlier(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
