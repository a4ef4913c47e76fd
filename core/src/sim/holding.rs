//! Jobs that are held, begin to wait, or leave before they have started.

use crate::sim::gate::Gate;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

impl Simulation {
    /// When a held job may begin to wait next, or a job leaves.
    pub(crate) fn next_gate_ms(&mut self) -> Option<i64> {
        self.gate.as_mut()?.next_ms(&self.setup, &self.states, self.clock.now_ms)
    }

    /// Those whose time has come leave; then those begin to wait that are held by nothing any more.
    pub(crate) fn settle(&mut self) {
        if self.gate.is_none() {
            return;
        }
        let now_ms = self.now_ms();
        while let Some(job) = self.gate.as_mut().and_then(|gate| gate.pop_cancel(&self.states, now_ms)) {
            self.cancel(job);
        }
        // One that leaves may take others with it.
        while let Some(job) = self.gate.as_mut().and_then(Gate::pop_hopeless) {
            if self.state(job).phase == Phase::Held {
                self.cancel(job);
            }
        }
        let free = self.gate.as_mut().map(|gate| gate.pop_free(&self.setup, &self.states, now_ms));
        for job in free.into_iter().flatten() {
            self.begin_to_wait(job, now_ms);
            // Others may have come since, so that it is not the last of the queue.
            self.forget_last_pass();
        }
    }

    /// A job waits for nodes for the first time.
    pub(crate) fn begin_to_wait(&mut self, job: u32, since_ms: i64) {
        let state = &mut self.states[job as usize];
        state.phase = Phase::Waiting;
        state.eligible_ms = since_ms;
        self.accounts.arrive(&self.setup, job, state, self.clock.now_ms);
        self.enqueue(job, false);
    }

    /// A job that has not started leaves.
    fn cancel(&mut self, job: u32) {
        let now_ms = self.now_ms();
        let waited = self.state(job).phase == Phase::Waiting;
        if waited {
            let state = &mut self.states[job as usize];
            self.waiting.remove(&self.setup, job, state);
            self.accounts.leave(&self.setup, job, state, now_ms);
            state.reservation = None;
            state.placement = Default::default();
            self.promises.forget(job);
            self.forget_last_pass();
            // What was kept for it is free.
            self.promises.plan_again();
        }
        let state = &mut self.states[job as usize];
        state.phase = Phase::Cancelled;
        state.end_ms = now_ms;
        if !waited {
            state.eligible_ms = now_ms;
        }
        self.machine.count_end();
        self.tell_end(job, waited);
    }

    /// A job is over: others may have waited for that. `had_place` says that it waited for nodes, or ran.
    pub(crate) fn tell_end(&mut self, job: u32, had_place: bool) {
        if let Some(gate) = &mut self.gate {
            gate.end(&self.setup, &self.states, job, self.clock.now_ms, had_place);
        }
    }

    /// A job has started for the first time: others may have waited for that.
    pub(crate) fn tell_start(&mut self, job: u32) {
        if let Some(gate) = &mut self.gate {
            gate.start(&self.setup, &self.states, job, self.clock.now_ms);
        }
    }
}
