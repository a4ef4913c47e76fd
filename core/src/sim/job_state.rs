//! One job's part of a simulation's state.

use crate::model::cluster::RejectReason;
use crate::model::codes::from_code;
use crate::model::config::Config;
use crate::model::job::{Jobs, UNKNOWN};
use crate::order::estimate::{fixed_estimate_ms, requested_ms};
use crate::place::placement::Placement;

/// Where a job is in its life; the numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// It has not been submitted yet.
    Future = 0,
    /// It waits.
    Waiting = 1,
    /// It runs.
    Running = 2,
    /// It ran to its end.
    Completed = 3,
    /// It was killed at its request.
    Killed = 4,
    /// It could never run.
    Rejected = 5,
    /// Its nodes failed under it too often.
    Failed = 6,
    /// It was submitted, but may not wait for nodes yet.
    Held = 7,
    /// It left before it had started.
    Cancelled = 8,
}

from_code!(Phase: Future, Waiting, Running, Completed, Killed, Rejected, Failed, Held, Cancelled);

impl Phase {
    /// Whether nothing more will become of the job.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Phase::Completed | Phase::Killed | Phase::Rejected | Phase::Failed | Phase::Cancelled)
    }

    /// Whether the job ran to an end.
    pub(crate) fn has_run(self) -> bool {
        matches!(self, Phase::Completed | Phase::Killed | Phase::Failed)
    }
}

/// A promise to a waiting job.
#[derive(Clone, Copy, Debug)]
pub struct Reservation {
    /// When it is to start.
    pub start_ms: i64,
    /// `Simulation::freed` when this was planned.
    pub planned_at: u64,
}

/// One job's part of the state; small, since a simulation may have millions.
#[derive(Clone, Debug)]
pub struct JobState {
    /// Run time still to go, at full speed.
    pub remaining_ms: i64,
    /// The work that it has done in runs that are over, and kept, at full speed.
    pub done_ms: i64,
    /// What reservations and expected ends go by, at full speed, without what a start after a stop costs.
    pub limit_ms: i64,
    /// Since when it may run, if it may: waits count from here.
    pub eligible_ms: i64,
    /// The first start.
    pub start_ms: i64,
    /// The latest start.
    pub segment_start_ms: i64,
    /// The end.
    pub end_ms: i64,
    /// The reservation that it holds; its nodes are in `placement`. Boxed, for few jobs ever hold one.
    pub reservation: Option<Box<Reservation>>,
    /// A place in the table's shapes.
    pub shape: u32,
    /// The number of its latest start: ties among ends go by it.
    pub sequence: u32,
    /// How long it has held nodes in segments that are over.
    pub held_ms: i64,
    /// How much of that brought it nothing: what starts cost, and progress that was lost.
    pub lost_ms: i64,
    /// How much of that was work, and lost.
    pub vain_ms: i64,
    /// How often it was stopped to make room.
    pub preemptions: u32,
    /// How often a node failed under it.
    pub failures: u32,
    /// Where it is in its life.
    pub phase: Phase,
    /// Why it was rejected.
    pub reject_reason: RejectReason,
    /// It will be killed rather than complete.
    pub doomed: bool,
    /// Where it runs, ran, or holds a reservation.
    pub placement: Placement,
}

impl JobState {
    /// The start of the reservation that the job holds; none: later than any time.
    pub fn reserved_ms(&self) -> i64 {
        self.reservation.as_ref().map_or(i64::MAX, |held| held.start_ms)
    }

    /// Whether it has run at all.
    pub fn has_started(&self) -> bool {
        self.phase == Phase::Running || self.phase.has_run() || self.was_stopped()
    }

    /// Whether it has run before, and was stopped.
    pub fn was_stopped(&self) -> bool {
        self.preemptions > 0 || self.failures > 0
    }
}

/// A job's state before anything has happened.
pub(crate) fn initial_state(jobs: &Jobs, job: usize, config: &Config) -> JobState {
    let run_ms = jobs.run_ms[job];
    let requested_ms = requested_ms(jobs, job, config);
    let doomed = config.kill_at_request && jobs.requested_ms[job] != UNKNOWN && run_ms > requested_ms;
    let limit_ms = if config.reserve_by_estimate { fixed_estimate_ms(jobs, job, config) } else { requested_ms };
    JobState {
        remaining_ms: if doomed { requested_ms } else { run_ms },
        done_ms: 0,
        limit_ms: limit_ms.max(1),
        eligible_ms: jobs.submit_ms[job],
        start_ms: UNKNOWN,
        segment_start_ms: UNKNOWN,
        end_ms: UNKNOWN,
        reservation: None,
        shape: jobs.shape[job],
        sequence: 0,
        held_ms: 0,
        lost_ms: 0,
        vain_ms: 0,
        preemptions: 0,
        failures: 0,
        phase: Phase::Future,
        reject_reason: RejectReason::None,
        doomed,
        placement: Placement::default(),
    }
}
