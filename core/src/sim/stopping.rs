//! Runs and their ends before time: how long a job holds nodes, and what becomes of it when it is stopped.

use crate::model::cluster::{stretched_ms, worked_ms};
use crate::order::estimate::requested_ms;
use crate::place::placement::Placement;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// A run of a job that did not end it.
#[derive(Clone, Debug)]
pub struct Stop {
    /// The job.
    pub job: u32,
    /// Since when it ran.
    pub start_ms: i64,
    /// When it was stopped.
    pub end_ms: i64,
    /// Where it ran.
    pub placement: Placement,
    /// A node failed; otherwise another job needed the room.
    pub by_failure: bool,
}

impl Simulation {
    /// Whether a job runs.
    pub(crate) fn is_running(&self, job: u32) -> bool {
        self.states[job as usize].phase == Phase::Running
    }

    /// How long a job runs in all at full speed, until it completes or is killed.
    pub(crate) fn work_ms(&self, job: u32) -> i64 {
        let place = self.window.start + job as usize;
        if self.states[job as usize].doomed {
            requested_ms(&self.jobs, place, &self.config)
        } else {
            self.jobs.run_ms[place]
        }
    }

    /// How long a job is expected to hold nodes of this speed.
    pub(crate) fn span_ms(&self, job: u32, speed_milli: i64) -> i64 {
        self.overhead_ms(job) + stretched_ms(self.states[job as usize].limit_ms, speed_milli)
    }

    /// How long a job is expected to hold these nodes.
    pub(crate) fn span_on(&self, job: u32, placement: &Placement) -> i64 {
        self.span_ms(job, self.cluster.speed_milli(self.shape_of(job), placement))
    }

    /// What the latest start of a job costs before it makes progress.
    pub(crate) fn overhead_ms(&self, job: u32) -> i64 {
        if self.states[job as usize].was_stopped() {
            self.config.preemption_overhead_ms
        } else {
            0
        }
    }

    /// The work done since a running job's latest start.
    pub(crate) fn progress_ms(&self, job: u32) -> i64 {
        let state = &self.states[job as usize];
        let elapsed_ms = (self.now_ms - state.segment_start_ms - self.overhead_ms(job)).max(0);
        let speed_milli = self.cluster.speed_milli(self.shape_of(job), &state.placement);
        worked_ms(elapsed_ms, speed_milli).min(state.remaining_ms)
    }

    /// Stops a running job; it waits again.
    pub fn preempt(&mut self, job: u32) -> Result<(), String> {
        if self.states.get(job as usize).map(|state| state.phase) != Some(Phase::Running) {
            return Err(format!("job {job} does not run, so it cannot be preempted"));
        }
        self.suspend(job, false);
        self.touch();
        self.wait_again(job);
        Ok(())
    }

    /// A running job stops before its end, and gives back what it uses.
    pub(crate) fn suspend(&mut self, job: u32, by_failure: bool) {
        let progress_ms = self.progress_ms(job);
        self.stop(job, self.now_ms);
        let keeps = if by_failure { self.config.failure_keeps_progress } else { self.config.keep_progress };
        let kept_ms = if keeps { progress_ms } else { 0 };
        let overhead_ms = self.overhead_ms(job);
        let end_ms = self.now_ms;
        let state = &mut self.states[job as usize];
        state.remaining_ms -= kept_ms;
        state.limit_ms = (state.limit_ms - kept_ms).max(1);
        let held_ms = end_ms - state.segment_start_ms;
        state.held_ms += held_ms;
        state.lost_ms += if keeps { held_ms.min(overhead_ms) } else { held_ms };
        if by_failure {
            state.failures += 1;
        } else {
            state.preemptions += 1;
        }
        let (start_ms, placement) = (state.segment_start_ms, std::mem::take(&mut state.placement));
        self.stops.push(Stop { job, start_ms, end_ms, placement, by_failure });
    }

    /// A job that was stopped waits.
    pub(crate) fn wait_again(&mut self, job: u32) {
        self.states[job as usize].phase = Phase::Waiting;
        let submit_ms = self.submit_ms(job);
        let starving = self.config.max_wait_ms.is_some_and(|bound_ms| submit_ms + bound_ms <= self.now_ms);
        self.guard_cursor = self.guard_cursor.min(job);
        self.enqueue(job, starving);
    }

    /// Whether somebody may stop running jobs, and wants to know who runs.
    pub(crate) fn keeps_runners(&self) -> bool {
        self.contest.is_some() || self.config.has_failures()
    }
}
