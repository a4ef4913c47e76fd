//! Rebuilding a simulation from what each job is doing: from a live cluster's snapshot, or from saved bytes.

use std::collections::HashSet;

use crate::model::cluster::{RejectReason, DEVICE_MILLI};
use crate::place::placement::{is_one_pool, DeviceShare, Placement};
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
        if self.starts > 0 || self.next_arrival > 0 {
            return Err("a snapshot can be loaded only into a simulation that has not begun".to_string());
        }
        if snapshot.len() != self.states.len() {
            return Err(format!("the snapshot has {} jobs, the simulation {}", snapshot.len(), self.states.len()));
        }
        if now_ms < self.now_ms || now_ms > crate::model::job::MAX_TIME_MS {
            return Err(format!("the snapshot's time, {now_ms} ms, is before the first submit, or absurd"));
        }
        self.now_ms = now_ms;
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
        self.starts = started.len() as u32;
        for job in 0..self.states.len() {
            if self.states[job].phase == Phase::Rejected {
                self.states[job].reject_reason = self.reject_reason(job as u32);
            }
        }
        self.undecided = true;
        self.forget_node_events();
        self.tell_the_past();
        self.rebuild(|_| false)?;
        self.plan_review();
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
                events.push((self.submit_ms(job), Past::Arrived, 0, job));
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
        events.sort_unstable();
        let now_ms = self.now_ms;
        for (time_ms, past, _, job) in events {
            self.now_ms = time_ms;
            match past {
                Past::Arrived => self.note_arrival(job),
                Past::Started => self.note_start(job),
                Past::Ended | Past::EndedAtOnce => {
                    self.charge(job, -1);
                    self.learn(job);
                }
            }
        }
        self.now_ms = now_ms;
    }

    /// Whether what is told of a job can be so at this time; the error follows the job's number.
    fn check_told(&self, job: u32, told: &JobSnapshot) -> Result<(), String> {
        let submit_ms = self.submit_ms(job);
        let submitted = submit_ms <= self.now_ms;
        let placed = told.placement.parts().next().is_some() || !told.placement.devices().is_empty();
        let fits_ever = self.reject_reason(job) == RejectReason::None;
        let started = (submit_ms..=self.now_ms).contains(&told.start_ms);
        let ended = started && (told.start_ms..=self.now_ms).contains(&told.end_ms);
        let told_right = match told.phase {
            Phase::Future => submit_ms >= self.now_ms && !placed,
            Phase::Waiting => submitted && !placed,
            Phase::Rejected => submitted && !placed && !fits_ever,
            Phase::Running => started,
            Phase::Completed | Phase::Killed | Phase::Failed => {
                ended && (!placed || self.belongs(job, &told.placement))
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
        self.next_arrival = future as u32;
        for job in 0..future as u32 {
            match self.states[job as usize].phase {
                Phase::Waiting => {
                    if crate::model::cluster::reject_reason(&self.cluster, self.shape_of(job)) != RejectReason::None {
                        return Err(format!("job {job} waits, but can never run on this cluster"));
                    }
                    self.enqueue(job, is_first(job));
                }
                Phase::Running => self.occupy(job)?,
                _ => self.ended += 1,
            }
        }
        let states = &self.states;
        self.runners.sort_unstable_by_key(|&job| states[job as usize].sequence);
        self.put_starving_first();
        Ok(())
    }

    fn occupy(&mut self, job: u32) -> Result<(), String> {
        let placement = self.states[job as usize].placement.clone();
        if !self.belongs(job, &placement) {
            return Err(format!("job {job} runs on nodes or devices that do not match what it asks for"));
        }
        let shape = self.shape_of(job).clone();
        self.free.take(&shape, &placement);
        if !self.free.is_sound(&placement) {
            return Err(format!("job {job} runs on nodes that do not have room for it"));
        }
        self.foresee_end(job);
        Ok(())
    }

    /// Whether the nodes and devices exist, may be used by the job, and are exactly what it asks for.
    pub(crate) fn belongs(&self, job: u32, placement: &Placement) -> bool {
        let shape = self.shape_of(job);
        let nodes = self.cluster.nodes_for(shape);
        let mut named = HashSet::new();
        let mut shares = placement.devices();
        for part in placement.parts() {
            let mine = i64::from(part.tasks).saturating_mul(shape.gpu_milli) / share_milli(shape.gpu_milli);
            let Some((here, rest)) = shares.split_at_checked(usize::try_from(mine).unwrap_or(usize::MAX)) else {
                return false;
            };
            // The nodes of a partition, or all of them, are listed in ascending order.
            let may_use = nodes.binary_search(&part.node).is_ok() && self.cluster.suits(part.node, shape);
            if !may_use || !named.insert(part.node) {
                return false;
            }
            if !self.shares_belong(part.node, shape.gpu_milli, here) {
                return false;
            }
            shares = rest;
        }
        let tasks: u64 = placement.parts().map(|part| u64::from(part.tasks)).sum();
        tasks == u64::from(shape.tasks) && shares.is_empty() && is_one_pool(&self.cluster, shape, placement)
    }

    /// Whether these are devices of the node, each with one task's fraction, or each whole and only once.
    fn shares_belong(&self, node: u32, gpu_milli: i64, shares: &[DeviceShare]) -> bool {
        let devices = self.cluster.device_offsets[node as usize]..self.cluster.device_offsets[node as usize + 1];
        let whole = gpu_milli >= i64::from(DEVICE_MILLI);
        let mut named = HashSet::new();
        shares.iter().all(|share| {
            devices.contains(&share.device)
                && i64::from(share.milli) == share_milli(gpu_milli)
                && (!whole || named.insert(share.device))
        })
    }
}

/// What a task that wants so many milli-GPUs takes of each of its devices.
fn share_milli(gpu_milli: i64) -> i64 {
    gpu_milli.clamp(1, i64::from(DEVICE_MILLI))
}
