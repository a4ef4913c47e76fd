//! Runs that end before time: what becomes of a job that is stopped.

use crate::model::speeds::{stretched_ms, worked_ms};
use crate::sim::job_state::Phase;
use crate::sim::machine::Stop;
use crate::sim::simulation::Simulation;

/// A job whose nodes have failed under it so often is given up.
const MOST_FAILURES: u32 = 1000;

/// So often, for each job that is not over, are jobs stopped at the most without any use: no simulation that comes to an end
/// is near it.
const MOST_VAIN_STOPS: u64 = 10_000;

impl Simulation {
    /// The work done since a running job's latest start.
    pub(crate) fn progress_ms(&self, job: u32) -> i64 {
        self.unbounded_progress_ms(job).min(self.state(job).remaining_ms)
    }

    /// The same, whatever the job's true run time is.
    pub(crate) fn unbounded_progress_ms(&self, job: u32) -> i64 {
        let state = self.state(job);
        let elapsed_ms = (self.now_ms() - state.segment_start_ms - self.setup.overhead_ms(state)).max(0);
        worked_ms(elapsed_ms, self.setup.speed_micro(state.shape, &state.placement))
    }

    /// When a running job will have done so much work in all, if nothing stops it.
    pub(crate) fn does_ms(&self, job: u32, work_ms: i64) -> i64 {
        let state = self.state(job);
        let speed_micro = self.setup.speed_micro(state.shape, &state.placement);
        let lasting_ms = stretched_ms((work_ms - state.done_ms).max(0), speed_micro);
        (state.segment_start_ms + self.setup.overhead_ms(state)).saturating_add(lasting_ms)
    }

    /// Stops a running job; it waits again.
    pub fn preempt(&mut self, job: u32) -> Result<(), String> {
        if self.states.get(job as usize).map(|state| state.phase) != Some(Phase::Running) {
            return Err(format!("job {job} does not run, so it cannot be preempted"));
        }
        self.stop(job);
        self.disturb();
        Ok(())
    }

    /// A running job makes room, and waits again.
    pub(crate) fn stop(&mut self, job: u32) {
        self.suspend(job, false);
        self.wait_again(job);
    }

    /// A running job stops before its end, and gives back what it uses.
    pub(crate) fn suspend(&mut self, job: u32, by_failure: bool) {
        let progress_ms = self.progress_ms(job);
        let end_ms = self.now_ms();
        self.end_run(job, end_ms);
        let kept_ms = if self.setup.config.keeps_progress(by_failure) { progress_ms } else { 0 };
        let planned_extra_ms = self.planned_extra_ms(job);
        let state = &mut self.states[job as usize];
        state.remaining_ms -= kept_ms;
        state.done_ms += kept_ms;
        state.limit_ms = (state.limit_ms - kept_ms).max(1);
        let held_ms = end_ms - state.segment_start_ms;
        let lost_ms = self.setup.count_stop(state, held_ms, by_failure);
        self.accounts.lose(&self.setup, job, state, lost_ms, end_ms);
        if self.accounts.counts_speeds() {
            // What was lost has been counted as long as it took.
            let extra_ms = held_ms - lost_ms - kept_ms;
            self.accounts.add_extra(&self.setup, job, state, extra_ms - planned_extra_ms, end_ms);
        }
        let (start_ms, placement) = (state.segment_start_ms, std::mem::take(&mut state.placement));
        self.machine.add_stop(Stop { job, start_ms, end_ms, placement, by_failure });
        // Whose nodes fail too often is given up.
        if !by_failure {
            self.machine.count_vain(kept_ms > 0);
        }
    }

    /// Refuses to go on for ever where jobs take turns, and nobody ever gets on.
    pub(crate) fn check_headway(&self) -> Result<(), String> {
        let unfinished = u64::from(self.machine.running()) + self.waiting.queue.len() as u64;
        let stops = self.machine.vain_stops();
        if stops <= MOST_VAIN_STOPS * unfinished.max(1) {
            return Ok(());
        }
        Err(format!(
            "the policy has stopped jobs {stops} times since one of them got on: they take turns for ever; \
             let stopped jobs keep their progress, or let them run for longer before they may be stopped (--min-run)"
        ))
    }

    /// A job that was stopped waits.
    pub(crate) fn wait_again(&mut self, job: u32) {
        self.states[job as usize].phase = Phase::Waiting;
        self.accounts.wait_again(&self.setup, job, &self.states[job as usize], self.clock.now_ms);
        // It has waited since it first did: that may be too long already.
        self.enqueue(job, self.is_starving(job));
    }

    /// A node goes down: the jobs that hold a part of it are stopped, in the order of their latest starts.
    pub(crate) fn stop_jobs_on(&mut self, node: u32) {
        let on_node = |&job: &u32| self.state(job).placement.parts().any(|part| part.node == node);
        let hit: Vec<u32> = self.machine.runners().iter().copied().filter(on_node).collect();
        for job in hit {
            self.suspend(job, true);
            if self.state(job).failures >= MOST_FAILURES {
                self.give_up(job);
            } else {
                self.wait_again(job);
            }
        }
    }

    /// A job that has just been stopped waits no more: that run was its last.
    fn give_up(&mut self, job: u32) {
        let state = &mut self.states[job as usize];
        state.phase = Phase::Failed;
        state.end_ms = self.clock.now_ms;
        state.lost_ms = state.held_ms;
        if let Some(last) = self.machine.take_stop() {
            state.placement = last.placement;
        }
        self.machine.count_end();
        self.accounts.end(job);
        self.tell_end(job, true);
    }
}
