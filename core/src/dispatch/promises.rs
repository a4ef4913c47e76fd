//! What has been promised: who holds reservations, who is committed, and how the last pass ended.

use crate::dispatch::agenda::Agenda;
use crate::dispatch::beside::Head;
use crate::dispatch::projection::Projection;
use crate::dispatch::timelines::Stretch;
use crate::sim::bytes::{Reader, Writer};
use crate::sim::job_state::JobState;
use crate::sim::setup::Setup;

/// The job that will start next under a committed rule, whoever arrives meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Commitment {
    pub(crate) job: u32,
    /// When it was expected to start, computed once; jobs that end before may be filled in.
    pub(crate) earliest_ms: i64,
}

/// How a pass of EASY ended. As long as nothing ends, only those that arrive can start: a pure cache, which may be thrown
/// away at any time.
#[derive(Clone, Debug)]
pub(crate) struct Blocked {
    pub(crate) head: Head,
    /// Jobs before this one were there in that pass.
    pub(super) next_arrival: u32,
}

/// The end of a pass after which each holder is known to have the earliest time that it can have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled {
    /// `Promises::freed` then.
    pub(super) freed: u64,
    /// The earliest of these times.
    pub(super) first_ms: Option<i64>,
}

/// The promises that outlive a pass. A reservation itself is part of its job's state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Promises {
    /// The waiting jobs that hold reservations, in order.
    pub(super) holders: Vec<u32>,
    pub(super) commitment: Option<Commitment>,
    /// Something was done from outside since the last pass: reservations may no longer have room.
    pub(super) disturbed: bool,
    pub(crate) blocked: Option<Blocked>,
    /// All jobs before this one were looked at in the last pass, nobody started, and since then only others have come: they
    /// cannot start unless one of these does.
    pub(crate) tried: Option<u32>,
    /// What is free over time with all running jobs and holders in it, kept up from pass to pass; it may be thrown away at
    /// any time.
    pub(crate) projection: Option<Box<Projection>>,
    pub(super) settled: Option<Settled>,
    /// Where the queue stands still, and those who hold reservations stood first in it at the end of the last pass.
    pub(super) agenda: Option<Agenda>,
    /// Grows whenever something in the projection becomes free earlier than it was: until then, planning a reservation
    /// again would give the same.
    pub(super) freed: u64,
}

impl Promises {
    /// The waiting jobs that hold reservations, in order.
    pub(crate) fn holders(&self) -> &[u32] {
        &self.holders
    }

    /// The job that will start next, where one is committed.
    pub(crate) fn commitment(&self) -> Option<Commitment> {
        self.commitment
    }

    /// Something was done from outside the rule: what was known of the last pass no longer holds.
    pub(crate) fn disturb(&mut self) {
        self.disturbed = true;
        self.blocked = None;
        self.tried = None;
        self.projection = None;
    }

    /// A running job gives back what it used; `is_early` says that it was expected to run on.
    pub(crate) fn end_run(&mut self, setup: &Setup, job: u32, state: &JobState, now_ms: i64, is_early: bool) {
        self.freed += u64::from(is_early);
        if let Some(projection) = &mut self.projection {
            let until_ms = state.segment_start_ms + setup.span_on(state, &state.placement);
            let left = Stretch { from_ms: now_ms, until_ms };
            projection.remove_run(setup, job, state, left);
            projection.note_gain(left, self.freed);
        }
    }

    /// More may be free in the projection than was planned with.
    pub(crate) fn plan_again(&mut self) {
        self.freed += 1;
    }

    /// A job was started from outside, or has left: nothing is promised to it any more.
    pub(crate) fn forget(&mut self, job: u32) {
        // What it holds is in the projection.
        self.projection.take_if(|_| self.holders.contains(&job));
        self.holders.retain(|&holder| holder != job);
        self.commitment = self.commitment.filter(|commitment| commitment.job != job);
    }

    /// What was promised before, by whatever was planned with then: all of it is looked at again.
    pub(crate) fn load(&mut self, holders: Vec<u32>, commitment: Option<(u32, i64)>) {
        let commitment = commitment.map(|(job, earliest_ms)| Commitment { job, earliest_ms });
        *self = Promises { holders, commitment, disturbed: true, freed: 1, ..Promises::default() };
    }

    pub(crate) fn write_version(&self, out: &mut Writer) {
        out.put(self.freed as i64);
        out.put(i64::from(self.disturbed));
    }

    pub(crate) fn read_version(&mut self, input: &mut Reader) -> Result<(), String> {
        // It only grows, a step at a time.
        self.freed = u64::from(input.number::<u32>()?);
        self.disturbed = input.flag()?;
        Ok(())
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        let (job, earliest_ms) = self.commitment.map_or((-1, 0), |held| (i64::from(held.job), held.earliest_ms));
        out.put(job);
        out.put(earliest_ms);
        out.put_all(self.holders.iter().map(|&job| i64::from(job)));
    }

    pub(crate) fn read(&mut self, input: &mut Reader) -> Result<(), String> {
        let (job, earliest_ms) = (input.get()?, input.time()?);
        self.commitment = u32::try_from(job).ok().map(|job| Commitment { job, earliest_ms });
        self.holders = input.numbers()?;
        Ok(())
    }
}
