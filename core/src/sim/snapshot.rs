//! What a scheduler knows at an instant, told and taken up again; and rebuilding a simulation from its jobs' states.

use crate::dispatch::contenders::plan_review;
use crate::model::cluster::RejectReason;
use crate::model::config::{Config, Dispatch, Policy, SizeBy};
use crate::model::job::{MAX_DURATION_MS, MAX_TIME_MS, UNKNOWN};
use crate::place::placement::{belongs, Placement};
use crate::sim::failures::NodeEvent;
use crate::sim::job_state::{Phase, Reservation};
use crate::sim::machine::Stop;
use crate::sim::setup::Setup;
use crate::sim::simulation::Simulation;

/// What is known at an instant. No run time of a job that has not ended is in it, and nothing of jobs to come.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The instant.
    pub now_ms: i64,
    /// For each job of the simulation.
    pub jobs: Vec<JobSnapshot>,
    /// By node: whether it is down; empty: as the configured events say.
    pub down: Vec<bool>,
    /// The runs that did not end their jobs, in the order in which they were stopped.
    pub stops: Vec<RunSnapshot>,
    /// The job that a committed rule starts next, and when it was expected to start.
    pub commitment: Option<(u32, i64)>,
    /// What jobs' sizes are counted in; none: as the simulation has it that takes this up.
    pub size_by: Option<SizeBy>,
    /// When the log begins; none: as the simulation has it.
    pub origin_ms: Option<i64>,
}

/// What is known of one job. Of the last four fields a scheduler other than ours may know nothing.
#[derive(Clone, Debug)]
pub struct JobSnapshot {
    /// Where it is in its life.
    pub phase: Phase,
    /// Its latest start, if it runs or has ended.
    pub start_ms: i64,
    /// When it ended, or left, if it has.
    pub end_ms: i64,
    /// Where it runs, ran, or holds a reservation.
    pub placement: Placement,
    /// Since when it may run, if it may; none: since its submit time.
    pub eligible_ms: Option<i64>,
    /// For which time it holds a reservation.
    pub reserved_ms: Option<i64>,
    /// The work that it has done in runs that were stopped, and kept, at full speed.
    pub done_ms: i64,
    /// What reservations go by, where that was learned when it was submitted; none: it follows from the job.
    pub limit_ms: Option<i64>,
    /// The number of its latest start: ties among ends go by it; none: starts at one instant go by the jobs' numbers.
    pub start_number: Option<u32>,
}

impl JobSnapshot {
    /// Of a job that has not been submitted, nothing is known.
    pub(crate) fn to_come() -> Self {
        JobSnapshot {
            phase: Phase::Future,
            start_ms: UNKNOWN,
            end_ms: UNKNOWN,
            placement: Placement::default(),
            eligible_ms: None,
            reserved_ms: None,
            done_ms: 0,
            limit_ms: None,
            start_number: None,
        }
    }
}

/// A run that did not end its job.
#[derive(Clone, Copy, Debug)]
pub struct RunSnapshot {
    /// The job.
    pub job: u32,
    /// Since when it ran.
    pub start_ms: i64,
    /// When it was stopped.
    pub end_ms: i64,
    /// A node failed; otherwise another job needed the room.
    pub by_failure: bool,
}

/// What a job has been through, in the order in which it happens at one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Past {
    Ended,
    Stopped,
    Arrived,
    Started,
    /// A job that ran for no time ends as it has started.
    EndedAtOnce,
}

impl Simulation {
    /// What is known now.
    pub fn snapshot(&self) -> Snapshot {
        let learned_limit = self.setup.config.reserve_by_estimate && self.accounts.learns();
        let job = |job: usize| {
            let state = &self.states[job];
            let holds = state.phase == Phase::Waiting && state.reservation.is_some();
            let has_started = state.phase == Phase::Running || state.phase.has_run();
            let is_placed = holds || has_started;
            let is_here = matches!(state.phase, Phase::Held | Phase::Waiting | Phase::Running);
            // Those that follow a job that was rejected go by the time when it came.
            let has_come = state.phase == Phase::Rejected && self.setup.moves_arrivals();
            let has_waited = has_started || state.phase == Phase::Waiting || has_come;
            JobSnapshot {
                phase: state.phase,
                start_ms: state.segment_start_ms,
                end_ms: state.end_ms,
                eligible_ms: has_waited.then_some(state.eligible_ms),
                placement: if is_placed { state.placement.clone() } else { Placement::default() },
                reserved_ms: state.reservation.as_ref().filter(|_| holds).map(|held| held.start_ms),
                done_ms: state.done_ms,
                limit_ms: (learned_limit && is_here).then_some(state.limit_ms),
                start_number: has_started.then_some(state.sequence),
            }
        };
        let stop = |stop: &Stop| RunSnapshot {
            job: stop.job,
            start_ms: stop.start_ms,
            end_ms: stop.end_ms,
            by_failure: stop.by_failure,
        };
        Snapshot {
            now_ms: self.now_ms(),
            jobs: (0..self.states.len()).map(job).collect(),
            down: (0..self.setup.cluster.nodes.len() as u32).map(|node| self.machine.free.is_down(node)).collect(),
            stops: self.machine.stops().iter().map(stop).collect(),
            commitment: self.promises.commitment().map(|held| (held.job, held.earliest_ms)),
            size_by: Some(self.setup.config.size_by),
            origin_ms: Some(self.setup.config.origin_ms),
        }
    }

    /// Puts a simulation that has just been made into the state that a snapshot tells. It decides from then on as the one
    /// that told it.
    pub fn load(&mut self, snapshot: Snapshot) -> Result<(), String> {
        let Snapshot { now_ms, jobs, down, stops, commitment, size_by, origin_ms } = snapshot;
        if self.machine.starts() > 0 || self.clock.next_arrival > 0 {
            return Err("a snapshot can be loaded only into a simulation that has not begun".to_string());
        }
        if jobs.len() != self.states.len() {
            return Err(format!("the snapshot has {} jobs, the simulation {}", jobs.len(), self.states.len()));
        }
        if !down.is_empty() && down.len() != self.setup.cluster.nodes.len() {
            return Err(format!(
                "the snapshot has {} nodes, the cluster {}",
                down.len(),
                self.setup.cluster.nodes.len()
            ));
        }
        if now_ms < self.now_ms() || now_ms > MAX_TIME_MS {
            return Err(format!("the snapshot's time, {now_ms} ms, is before the first submit, or absurd"));
        }
        let Config { size_by: by, origin_ms: from_ms, .. } = self.setup.config;
        self.begin_as_told(now_ms, &down, size_by.unwrap_or(by), origin_ms.unwrap_or(from_ms))?;
        self.clock.now_ms = now_ms;
        self.clock.quiet_since_ms = now_ms;
        self.clock.undecided = true;
        let limits: Vec<Option<i64>> = jobs.iter().map(|told| told.limit_ms).collect();
        self.take_jobs(jobs)?;
        self.take_stops(&stops)?;
        self.take_nodes(&down);
        self.tell_the_past(&stops);
        self.take_work(&limits);
        self.rebuild(|_| false)?;
        self.take_promises(commitment)?;
        plan_review(self);
        Ok(())
    }

    /// From now on the simulation is one in which nodes can be down, if any is, and which counts sizes and time as was told.
    fn begin_as_told(&mut self, now_ms: i64, down: &[bool], size_by: SizeBy, origin_ms: i64) -> Result<(), String> {
        let mut config = self.setup.config.clone();
        if down.contains(&true) && !config.has_failures() {
            let failed = |(node, _): (usize, &bool)| NodeEvent { time_ms: now_ms, node: node as u32, up: false };
            config.node_events = down.iter().enumerate().filter(|(_, &down)| down).map(failed).collect();
        }
        let own = &self.setup.config;
        let counts_alike = own.size_by == size_by && own.origin_ms == origin_ms;
        if counts_alike && config.has_failures() == own.has_failures() {
            return Ok(());
        }
        (config.size_by, config.origin_ms) = (size_by, origin_ms);
        let Setup { cluster, jobs, window, given, .. } = &self.setup;
        let setup = Setup::new(cluster.clone(), jobs.clone(), window.clone(), config, given)?;
        // The caller's scores are not kept once they have given the order; no size changes it.
        let order = match setup.config.policy {
            Policy::Given => self.waiting.queue.order().collect(),
            _ => setup.order(&[]),
        };
        // Made anew, since several parts keep other books where nodes can fail; nothing has happened yet that would be
        // lost.
        *self = Simulation::with_order(setup, order)?;
        Ok(())
    }

    fn take_jobs(&mut self, jobs: Vec<JobSnapshot>) -> Result<(), String> {
        let mut started: Vec<(Option<u32>, i64, u32)> = Vec::new();
        for (job, told) in jobs.into_iter().enumerate() {
            let job = job as u32;
            self.check_told(job, &told).map_err(|wrong| format!("job {job} {wrong}"))?;
            let ended = told.phase.has_run();
            if ended || told.phase == Phase::Running {
                started.push((told.start_number, told.start_ms, job));
            }
            let is_rejected = told.phase == Phase::Rejected;
            let reject_reason = is_rejected.then(|| self.reject_reason(job));
            let state = &mut self.states[job as usize];
            state.phase = told.phase;
            state.start_ms = told.start_ms;
            state.segment_start_ms = told.start_ms;
            state.end_ms = told.end_ms;
            state.eligible_ms = told.eligible_ms.unwrap_or(state.eligible_ms);
            state.done_ms = told.done_ms;
            state.held_ms = if ended { told.end_ms - told.start_ms } else { 0 };
            state.placement = told.placement;
            let reservation = |start_ms| Box::new(Reservation { start_ms, planned_at: 0 });
            state.reservation = told.reserved_ms.map(reservation);
            state.reject_reason = reject_reason.unwrap_or(state.reject_reason);
        }
        // Where the scheduler does not number its starts, all lack a number and go by time; ours go by number.
        started.sort_unstable();
        for (number, &(_, _, job)) in started.iter().enumerate() {
            self.states[job as usize].sequence = number as u32;
        }
        self.machine.set_starts(started.len() as u32);
        Ok(())
    }

    /// What runs that are over have left in their jobs' states.
    fn take_stops(&mut self, stops: &[RunSnapshot]) -> Result<(), String> {
        let mut last_end_ms = vec![i64::MIN; self.states.len()];
        for &RunSnapshot { job, start_ms, end_ms, by_failure } in stops {
            let (now_ms, jobs) = (self.now_ms(), self.states.len());
            let state = self.states.get_mut(job as usize);
            let state = state.ok_or_else(|| format!("job {job} was stopped, but there are {jobs} jobs"))?;
            let until_ms = match state.phase {
                Phase::Future | Phase::Rejected | Phase::Held | Phase::Cancelled => i64::MIN,
                Phase::Waiting => now_ms,
                _ => state.segment_start_ms,
            };
            let from_ms = self.setup.earliest_ms(job).max(last_end_ms[job as usize]);
            if start_ms < from_ms || end_ms < start_ms || end_ms > until_ms {
                return Err(format!("job {job} cannot have run from {start_ms} to {end_ms} ms, and been stopped"));
            }
            last_end_ms[job as usize] = end_ms;
            if !state.was_stopped() {
                state.start_ms = start_ms;
            }
            if state.phase == Phase::Waiting {
                state.segment_start_ms = start_ms;
            }
            self.setup.count_stop(state, end_ms - start_ms, by_failure);
            self.machine.add_stop(Stop { job, start_ms, end_ms, placement: Placement::default(), by_failure });
        }
        for state in &mut self.states {
            match state.phase {
                Phase::Completed | Phase::Killed => state.lost_ms += self.setup.overhead_ms(state),
                // The last failure ended the job: it is no stop, and all that it ran was in vain.
                Phase::Failed => (state.failures, state.lost_ms) = (state.failures + 1, state.held_ms),
                _ => {}
            }
        }
        Ok(())
    }

    /// Nodes are as the events so far have left them, and where something else is told, as it is told; what is told of the
    /// jobs shows what became of those.
    fn take_nodes(&mut self, down: &[bool]) {
        let now_ms = self.now_ms();
        if let Some(failures) = &mut self.failures {
            // Under a committed rule what happens to nodes at this instant may still be to come, as may the rest of it.
            let is_decided = !matches!(self.setup.config.dispatch, Dispatch::Committed { .. }) && !down.is_empty();
            failures.skip(&self.setup.config, now_ms - i64::from(!is_decided));
            if !is_decided && !down.is_empty() {
                let mut later = failures.clone();
                later.skip(&self.setup.config, now_ms);
                let as_told = down.iter().enumerate().all(|(node, &down)| later.is_down(node as u32) == down);
                if as_told {
                    *failures = later;
                }
            }
            for node in 0..self.setup.cluster.nodes.len() as u32 {
                if let Some(&down) = down.get(node as usize) {
                    failures.tell(node, down);
                }
                if failures.is_down(node) {
                    self.machine.set_down(node, true);
                }
            }
        }
    }

    /// Goes through what has happened before: estimates learn from what has ended, limits and estimates are those of
    /// their times, and users have used what they have.
    fn tell_the_past(&mut self, stops: &[RunSnapshot]) {
        let mut events: Vec<(i64, Past, u32, u32)> = Vec::new();
        for (job, state) in self.states.iter().enumerate() {
            let job = job as u32;
            let ended = state.phase.has_run();
            if !matches!(state.phase, Phase::Future | Phase::Rejected | Phase::Cancelled) {
                events.push((self.setup.submit_ms(job), Past::Arrived, 0, job));
            }
            if ended || state.phase == Phase::Running {
                events.push((state.segment_start_ms, Past::Started, 0, job));
            }
            if ended {
                let at_once = state.segment_start_ms == state.end_ms;
                let past = if at_once { Past::EndedAtOnce } else { Past::Ended };
                // Jobs that end together are learned from in the order of their starts.
                events.push((state.end_ms, past, state.sequence, job));
            }
        }
        for stop in stops {
            events.push((stop.start_ms, Past::Started, 0, stop.job));
            events.push((stop.end_ms, Past::Stopped, 0, stop.job));
        }
        // Learned estimates depend on what was known when: the past is told in the order in which it happened.
        events.sort_unstable();
        for (time_ms, past, _, job) in events {
            let state = &self.states[job as usize];
            match past {
                Past::Arrived => self.take_limit(job),
                Past::Started => self.accounts.start(&self.setup, job, state, time_ms),
                Past::Stopped => self.accounts.stop(&self.setup, job, state, time_ms),
                Past::Ended | Past::EndedAtOnce => {
                    self.accounts.stop(&self.setup, job, state, time_ms);
                    if state.phase != Phase::Failed {
                        self.accounts.learn(&self.setup, job, state);
                    }
                }
            }
        }
    }

    /// What is left to do of each job, and what reservations go by. A job that runs has at least as much to do as it has
    /// done by now, whatever the table says of its run time.
    fn take_work(&mut self, limits: &[Option<i64>]) {
        for (job, limit_ms) in limits.iter().enumerate() {
            let progress_ms = match self.states[job].phase {
                Phase::Running => self.unbounded_progress_ms(job as u32),
                _ => 0,
            };
            let state = &self.states[job];
            let left_ms = (self.setup.work_ms(job as u32, state) - state.done_ms).max(progress_ms);
            let state = &mut self.states[job];
            state.remaining_ms = left_ms;
            state.limit_ms = limit_ms.unwrap_or(state.limit_ms - state.done_ms).max(1);
        }
    }

    /// Reservations and the commitment stand where the rule makes such promises; whether they still have room is seen at
    /// the next pass.
    fn take_promises(&mut self, commitment: Option<(u32, i64)>) -> Result<(), String> {
        if let Some((job, earliest_ms)) = commitment {
            if self.states.get(job as usize).is_none_or(|state| state.phase != Phase::Waiting) {
                return Err(format!("job {job} is committed, but does not wait"));
            }
            if earliest_ms.unsigned_abs() > MAX_TIME_MS as u64 {
                return Err(format!("job {job} is committed for {earliest_ms} ms, an absurd time"));
            }
        }
        let dispatch = self.setup.config.dispatch;
        let keeps = matches!(dispatch, Dispatch::Reserve { depth: 1.. });
        let mut holders = Vec::new();
        for job in self.waiting.queue.iter() {
            let state = &mut self.states[job as usize];
            if state.reservation.is_some() && keeps {
                holders.push(job);
            } else {
                state.reservation = None;
                state.placement = Placement::default();
            }
        }
        let is_committed = matches!(dispatch, Dispatch::Committed { .. });
        self.promises.load(holders, commitment.filter(|_| is_committed));
        Ok(())
    }

    /// Whether what is told of a job can be so at this time; the error follows the job's number.
    fn check_told(&self, job: u32, told: &JobSnapshot) -> Result<(), String> {
        let submit_ms = self.setup.earliest_ms(job);
        let submitted = submit_ms <= self.now_ms();
        let placed = told.placement.parts().next().is_some() || !told.placement.devices().is_empty();
        let belongs_there = || belongs(&self.setup.cluster, self.shape_of(job), &told.placement);
        let fits_ever = || self.reject_reason(job) == RejectReason::None;
        let started = (submit_ms..=self.now_ms()).contains(&told.start_ms);
        let ended = started && (told.start_ms..=self.now_ms()).contains(&told.end_ms);
        let told_right = match told.phase {
            Phase::Future => (submit_ms >= self.now_ms() || self.setup.moves_arrivals()) && !placed,
            Phase::Waiting => submitted && (if told.reserved_ms.is_some() { belongs_there() } else { !placed }),
            Phase::Held => submitted && !placed,
            Phase::Cancelled => !placed && (submit_ms..=self.now_ms()).contains(&told.end_ms),
            Phase::Rejected => submitted && !placed && !fits_ever(),
            Phase::Running => started,
            Phase::Completed | Phase::Killed | Phase::Failed => ended && (!placed || belongs_there()),
        };
        let (phase, start_ms, end_ms) = (told.phase, told.start_ms, told.end_ms);
        if told.eligible_ms.is_some_and(|time_ms| !(submit_ms..=self.now_ms().max(submit_ms)).contains(&time_ms)) {
            return Err(format!("cannot run since {:?} ms with submit {submit_ms} ms", told.eligible_ms));
        }
        if !told_right {
            return Err(format!(
                "cannot be {phase:?} with submit {submit_ms}, start {start_ms} and end {end_ms} ms, or is placed wrongly"
            ));
        }
        if phase == Phase::Running && !belongs_there() {
            return Err("runs on nodes or devices that do not match what it asks for".to_string());
        }
        if told
            .reserved_ms
            .is_some_and(|time_ms| phase != Phase::Waiting || time_ms.unsigned_abs() > MAX_TIME_MS as u64)
        {
            return Err(format!("cannot hold a reservation for {:?} ms and be {phase:?}", told.reserved_ms));
        }
        let durations = [told.done_ms, told.limit_ms.unwrap_or(0)];
        match durations.into_iter().find(|duration_ms| !(0..=MAX_DURATION_MS).contains(duration_ms)) {
            Some(wrong_ms) => Err(format!("has done or may do {wrong_ms} ms of work; expected 0 to {MAX_DURATION_MS}")),
            None => Ok(()),
        }
    }

    /// Works out everything that follows from the jobs' states; an error if they contradict each other.
    /// `is_first` tells which waiting jobs the guard has put first already.
    pub(crate) fn rebuild(&mut self, is_first: impl Fn(u32) -> bool) -> Result<(), String> {
        let future = self.states.iter().position(|state| state.phase == Phase::Future).unwrap_or(self.states.len());
        let later = self.states[future..].iter().position(|state| state.phase != Phase::Future);
        if let Some(job) = later.filter(|_| !self.setup.moves_arrivals()) {
            return Err(format!("job {} has been submitted, but an earlier one has not", future + job));
        }
        self.clock.next_arrival = self.states.iter().filter(|state| state.phase != Phase::Future).count() as u32;
        for job in 0..self.states.len() as u32 {
            match self.state(job).phase {
                Phase::Future => {}
                Phase::Waiting => {
                    if self.reject_reason(job) != RejectReason::None {
                        return Err(format!("job {job} waits, but can never run on this cluster"));
                    }
                    self.enqueue(job, is_first(job));
                }
                Phase::Running => self.occupy(job)?,
                Phase::Held if self.gate.is_none() => {
                    return Err(format!("job {job} is held, but nothing in the table holds jobs"));
                }
                Phase::Held => {}
                _ => self.machine.count_end(),
            }
        }
        if let Some(gate) = &mut self.gate {
            gate.rebuild(&self.setup, &self.states, self.clock.now_ms);
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
        if !self.machine.free.is_sound(shape, &state.placement) {
            return Err(format!("job {job} runs on nodes that do not have room for it"));
        }
        self.add_run(job);
        Ok(())
    }
}
