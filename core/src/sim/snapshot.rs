//! Rebuilding a simulation from what each job is doing: from a live cluster's snapshot, or from saved bytes.

use crate::dispatch::preemptive::plan_review;
use crate::model::cluster::{reject_reason, RejectReason};
use crate::model::job::MAX_TIME_MS;
use crate::place::placement::{belongs, Placement};
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// What a live cluster can tell of one job.
#[derive(Clone, Debug)]
pub struct JobSnapshot {
    /// Where it is in its life.
    pub phase: Phase,
    /// When it started, if it has.
    pub start_ms: i64,
    /// When it ended, if it has.
    pub end_ms: i64,
    /// Where it runs, if it does.
    pub placement: Placement,
}

/// What a job has been through, in the order in which it happens at one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Past {
    Ended,
    Arrived,
    Started,
    /// A job that ran for no time ends as it has started.
    EndedAtOnce,
}

impl Simulation {
    /// Puts a simulation that has just been made into the state that a snapshot tells. Reservations are planned anew.
    pub fn load(&mut self, now_ms: i64, snapshot: Vec<JobSnapshot>) -> Result<(), String> {
        if self.machine.starts() > 0 || self.clock.next_arrival > 0 {
            return Err("a snapshot can be loaded only into a simulation that has not begun".to_string());
        }
        if snapshot.len() != self.states.len() {
            return Err(format!("the snapshot has {} jobs, the simulation {}", snapshot.len(), self.states.len()));
        }
        if now_ms < self.now_ms() || now_ms > MAX_TIME_MS {
            return Err(format!("the snapshot's time, {now_ms} ms, is before the first submit, or absurd"));
        }
        self.clock.now_ms = now_ms;
        let mut started: Vec<(i64, u32)> = Vec::new();
        for (job, told) in snapshot.into_iter().enumerate() {
            let job = job as u32;
            self.check_told(job, &told).map_err(|wrong| format!("job {job} {wrong}"))?;
            if told.phase == Phase::Running {
                started.push((told.start_ms, job));
            }
            let state = &mut self.states[job as usize];
            state.phase = told.phase;
            state.start_ms = told.start_ms;
            state.segment_start_ms = told.start_ms;
            state.end_ms = told.end_ms;
            state.placement = told.placement;
        }
        started.sort_unstable();
        for (number, &(_, job)) in started.iter().enumerate() {
            self.states[job as usize].sequence = number as u32;
        }
        self.machine.set_starts(started.len() as u32);
        for job in 0..self.states.len() {
            if self.states[job].phase == Phase::Rejected {
                self.states[job].reject_reason = self.reject_reason(job as u32);
            }
        }
        self.clock.undecided = true;
        self.forget_node_events();
        self.tell_the_past();
        self.rebuild(|_| false)?;
        plan_review(self);
        Ok(())
    }

    /// Goes through what has happened before: estimates learn from what has ended, limits and estimates are those of
    /// their times, and users have used what they have.
    fn tell_the_past(&mut self) {
        let mut events: Vec<(i64, Past, i64, u32)> = Vec::new();
        for (job, state) in self.states.iter().enumerate() {
            let job = job as u32;
            let ended = matches!(state.phase, Phase::Completed | Phase::Killed | Phase::Failed);
            if !matches!(state.phase, Phase::Future | Phase::Rejected) {
                events.push((self.setup.submit_ms(job), Past::Arrived, 0, job));
            }
            if ended || state.phase == Phase::Running {
                events.push((state.start_ms, Past::Started, 0, job));
            }
            if ended {
                let at_once = state.start_ms == state.end_ms;
                let past = if at_once { Past::EndedAtOnce } else { Past::Ended };
                // Jobs that end together are learned from in the order of their starts.
                events.push((state.end_ms, past, state.start_ms, job));
            }
        }
        // Learned estimates depend on what was known when: the past is told in the order in which it happened.
        events.sort_unstable();
        for (time_ms, past, _, job) in events {
            let state = &self.states[job as usize];
            match past {
                Past::Arrived => self.take_limit(job),
                Past::Started => self.accounts.start(&self.setup, job, state, time_ms),
                Past::Ended | Past::EndedAtOnce => {
                    self.accounts.stop(&self.setup, job, state, time_ms);
                    self.accounts.learn(&self.setup, job, state);
                }
            }
        }
    }

    /// Nodes are as the events before now have left them; what is told of the jobs shows what became of those.
    fn forget_node_events(&mut self) {
        let Some(failures) = &mut self.failures else { return };
        while let Some(node) = failures.pop(&self.setup.config, self.clock.now_ms - 1) {
            self.machine.free.set_down(node, failures.is_down(node));
        }
    }

    /// Whether what is told of a job can be so at this time; the error follows the job's number.
    fn check_told(&self, job: u32, told: &JobSnapshot) -> Result<(), String> {
        let submit_ms = self.setup.submit_ms(job);
        let submitted = submit_ms <= self.now_ms();
        let placed = told.placement.parts().next().is_some() || !told.placement.devices().is_empty();
        let fits_ever = self.reject_reason(job) == RejectReason::None;
        let started = (submit_ms..=self.now_ms()).contains(&told.start_ms);
        let ended = started && (told.start_ms..=self.now_ms()).contains(&told.end_ms);
        let told_right = match told.phase {
            Phase::Future => submit_ms >= self.now_ms() && !placed,
            Phase::Waiting => submitted && !placed,
            Phase::Rejected => submitted && !placed && !fits_ever,
            Phase::Running => started,
            Phase::Completed | Phase::Killed | Phase::Failed => {
                ended && (!placed || belongs(&self.setup.cluster, self.shape_of(job), &told.placement))
            }
        };
        if told_right {
            return Ok(());
        }
        let (phase, start_ms, end_ms) = (told.phase, told.start_ms, told.end_ms);
        Err(format!(
            "cannot be {phase:?} with submit {submit_ms}, start {start_ms} and end {end_ms} ms, or is placed wrongly"
        ))
    }

    /// Works out everything that follows from the jobs' states; an error if they contradict each other.
    /// `is_first` tells which waiting jobs the guard has put first already.
    pub(crate) fn rebuild(&mut self, is_first: impl Fn(u32) -> bool) -> Result<(), String> {
        let future = self.states.iter().position(|state| state.phase == Phase::Future).unwrap_or(self.states.len());
        if let Some(job) = self.states[future..].iter().position(|state| state.phase != Phase::Future) {
            return Err(format!("job {} has been submitted, but an earlier one has not", future + job));
        }
        self.clock.next_arrival = future as u32;
        for job in 0..future as u32 {
            match self.state(job).phase {
                Phase::Waiting => {
                    if reject_reason(&self.setup.cluster, self.shape_of(job)) != RejectReason::None {
                        return Err(format!("job {job} waits, but can never run on this cluster"));
                    }
                    self.enqueue(job, is_first(job));
                }
                Phase::Running => self.occupy(job)?,
                _ => self.machine.count_end(),
            }
        }
        self.machine.sort_runners(&self.states);
        self.put_starving_first();
        Ok(())
    }

    fn occupy(&mut self, job: u32) -> Result<(), String> {
        let state = &self.states[job as usize];
        let shape = self.setup.shape_of(state);
        if !belongs(&self.setup.cluster, shape, &state.placement) {
            return Err(format!("job {job} runs on nodes or devices that do not match what it asks for"));
        }
        self.machine.free.take(shape, &state.placement);
        if !self.machine.free.is_sound(&state.placement) {
            return Err(format!("job {job} runs on nodes that do not have room for it"));
        }
        self.add_run(job);
        Ok(())
    }
}
