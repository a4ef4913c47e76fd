//! Rebuilding a simulation from what each job is doing: from a live cluster's snapshot, or from saved bytes.

use crate::cluster::RejectReason;
use crate::job_state::Phase;
use crate::placement::Placement;
use crate::simulation::Simulation;

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

impl Simulation {
    /// Puts a simulation that has just been made into the state that a snapshot tells. Reservations are planned anew.
    pub fn load(&mut self, now_ms: i64, snapshot: Vec<JobSnapshot>) -> Result<(), String> {
        if self.starts > 0 || self.next_arrival > 0 {
            return Err("a snapshot can be loaded only into a simulation that has not begun".to_string());
        }
        if snapshot.len() != self.states.len() {
            return Err(format!("the snapshot has {} jobs, the simulation {}", snapshot.len(), self.states.len()));
        }
        if now_ms < self.now_ms || now_ms > crate::job::MAX_TIME_MS {
            return Err(format!("the snapshot's time, {now_ms} ms, is before the first submit, or absurd"));
        }
        self.now_ms = now_ms;
        let mut started: Vec<(i64, u32)> = Vec::new();
        for (job, told) in snapshot.into_iter().enumerate() {
            let state = &mut self.states[job];
            if matches!(told.phase, Phase::Running) {
                if told.start_ms < state.submit_ms || told.start_ms > now_ms {
                    return Err(format!(
                        "job {job} runs since {} ms, which is not between its submit and now",
                        told.start_ms
                    ));
                }
                started.push((told.start_ms, job as u32));
            }
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
                let reason = crate::cluster::reject_reason(&self.cluster, self.shape_of(job as u32));
                self.states[job].reject_reason = reason;
            }
        }
        self.rebuild(|_| false)
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
                    if crate::cluster::reject_reason(&self.cluster, self.shape_of(job)) != RejectReason::None {
                        return Err(format!("job {job} waits, but can never run on this cluster"));
                    }
                    self.queue.insert(job, self.states[job as usize].limit_ms, is_first(job));
                }
                Phase::Running => self.occupy(job)?,
                _ => self.ended += 1,
            }
        }
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

    /// Whether the nodes and devices exist, may be used by the job, and add up to what it asks for.
    pub(crate) fn belongs(&self, job: u32, placement: &Placement) -> bool {
        let shape = self.shape_of(job);
        let devices = self.cluster.empty.device_milli.len();
        let tasks: u64 = placement.parts().map(|part| u64::from(part.tasks)).sum();
        let milli: i64 = placement.devices.iter().map(|share| i64::from(share.milli)).sum();
        placement.parts().all(|part| cluster_has(self.cluster.nodes_for(shape), part.node))
            && placement.devices.iter().all(|share| (share.device as usize) < devices && share.milli > 0)
            && tasks == u64::from(shape.tasks)
            && milli == i64::from(shape.tasks) * shape.gpu_milli
    }
}

/// The nodes of a partition, or all of them, are listed in ascending order.
fn cluster_has(nodes: &[u32], node: u32) -> bool {
    nodes.binary_search(&node).is_ok()
}
