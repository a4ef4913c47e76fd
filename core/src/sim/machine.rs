//! The machine: what is free, who runs, when runs are expected to end, and which runs are over.

use crate::dispatch::horizon::Horizon;
use crate::model::config::Dispatch;
use crate::model::free::Free;
use crate::place::placement::Placement;
use crate::sim::bytes::{Reader, Writer};
use crate::sim::job_state::{JobState, Phase};
use crate::sim::setup::Setup;

/// When a running job is expected to end, and how many cores it gives back: a pool needs to know no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Expected {
    /// Its latest start plus its span.
    pub(crate) instant_ms: i64,
    /// The number of that start.
    pub(crate) sequence: u32,
    pub(crate) job: u32,
    /// Over all tasks.
    pub(crate) cores_milli: i64,
}

impl Expected {
    #[inline]
    fn of(setup: &Setup, job: u32, state: &JobState) -> Self {
        Expected {
            instant_ms: state.segment_start_ms + setup.span_on(state, &state.placement),
            sequence: state.sequence,
            job,
            cores_milli: setup.cores_milli(state),
        }
    }
}

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

/// The nodes in use: free resources, running jobs and their expected ends.
#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) free: Free,
    /// The earliest first; empty where nobody asks.
    expected: Vec<Expected>,
    tracks_expected: bool,
    /// What is free at a time to come, where a rule has asked; it may be thrown away at any time.
    pub(crate) horizon: Option<Box<Horizon>>,
    /// The running jobs in the order of their starts; empty where nobody may stop them.
    runners: Vec<u32>,
    keeps_runners: bool,
    running: u32,
    /// The number of the next start.
    starts: u32,
    ended: u32,
    /// The runs that did not end their jobs.
    stops: Vec<Stop>,
    /// How many jobs have been stopped for others since one ended or kept what it had done.
    vain_stops: u64,
}

impl Machine {
    /// Nobody runs.
    pub(crate) fn new(setup: &Setup) -> Self {
        Machine {
            free: setup.cluster.empty.clone(),
            expected: Vec::new(),
            horizon: None,
            tracks_expected: setup.config.ends_first()
                || match setup.config.dispatch {
                    Dispatch::Strict => false,
                    Dispatch::Reserve { depth } => depth > 0,
                    Dispatch::Committed { backfill } => backfill,
                },
            runners: Vec::new(),
            keeps_runners: setup.config.policy.preempts() || setup.config.has_failures(),
            running: 0,
            starts: 0,
            ended: 0,
            stops: Vec::new(),
            vain_stops: 0,
        }
    }

    /// Expected ends are kept from now on, whether the rule needs them or not.
    pub(crate) fn track_expected(&mut self, setup: &Setup, states: &[JobState]) {
        if !std::mem::replace(&mut self.tracks_expected, true) {
            let jobs = (0..).zip(states).filter(|(_, state)| state.phase == Phase::Running);
            self.expected = jobs.map(|(job, state)| Expected::of(setup, job, state)).collect();
            self.expected.sort_unstable();
        }
    }

    /// Expected ends of the running jobs, the earliest first; none where nobody asks.
    pub(crate) fn expected(&self) -> &[Expected] {
        &self.expected
    }

    /// Whether a running job has reached its expected end, and runs on.
    pub(crate) fn has_overrun(&self, now_ms: i64) -> bool {
        self.expected.first().is_some_and(|expected| expected.instant_ms <= now_ms)
    }

    /// The running jobs in the order of their starts, where somebody may stop them.
    pub(crate) fn runners(&self) -> &[u32] {
        &self.runners
    }

    /// How many jobs run.
    pub(crate) fn running(&self) -> u32 {
        self.running
    }

    /// How many starts were made.
    pub(crate) fn starts(&self) -> u32 {
        self.starts
    }

    /// How many jobs have ended, or were rejected.
    pub(crate) fn ended(&self) -> u32 {
        self.ended
    }

    /// The runs that did not end their jobs, in the order in which they were stopped.
    pub(crate) fn stops(&self) -> &[Stop] {
        &self.stops
    }

    /// Whether a job of this shape could start now, or could have if it had waited longer.
    #[inline]
    pub(crate) fn fits(&self, setup: &Setup, shape: u32) -> bool {
        if setup.is_pool {
            return setup.jobs.shape_cores.cores_milli(shape) <= self.free.cores_milli[0];
        }
        setup.reach_of(shape).fits(&self.free)
    }

    /// A node goes down, or is up again.
    pub(crate) fn set_down(&mut self, node: u32, down: bool) {
        self.free.set_down(node, down);
        self.horizon = None;
    }

    /// A job takes what it uses, where its state says.
    #[inline]
    pub(crate) fn take(&mut self, setup: &Setup, state: &JobState) {
        setup.take(&mut self.free, state);
        self.note_change(setup, &state.placement);
    }

    /// A job gives back what it uses.
    #[inline]
    pub(crate) fn give(&mut self, setup: &Setup, state: &JobState) {
        setup.give(&mut self.free, state);
        self.note_change(setup, &state.placement);
    }

    #[inline]
    fn note_change(&mut self, setup: &Setup, placement: &Placement) {
        if let Some(horizon) = self.horizon.as_mut().filter(|_| !setup.is_pool) {
            horizon.touch(placement);
        }
    }

    /// The number of a start that is made now.
    pub(crate) fn number_start(&mut self) -> u32 {
        self.starts += 1;
        self.starts - 1
    }

    /// So many starts have been made.
    pub(crate) fn set_starts(&mut self, starts: u32) {
        self.starts = starts;
    }

    /// A job runs, as its state says.
    pub(crate) fn add_run(&mut self, setup: &Setup, job: u32, state: &JobState) {
        if self.tracks_expected {
            // A sorted list, not a heap: every pass walks it from the front, and few ends are taken out.
            let expected = Expected::of(setup, job, state);
            let place = self.expected.partition_point(|end| *end < expected);
            self.expected.insert(place, expected);
            if let Some(horizon) = &mut self.horizon {
                horizon.add_run(&setup.cluster, setup.shape_of(state), &state.placement, expected.instant_ms);
            }
        }
        self.running += 1;
        if self.keeps_runners {
            self.runners.push(job);
        }
    }

    /// A job runs no longer, and gives back what it used. Says whether it was expected to run on.
    #[inline]
    pub(crate) fn end_run(&mut self, setup: &Setup, job: u32, states: &[JobState], now_ms: i64) -> bool {
        let state = &states[job as usize];
        self.give(setup, state);
        let mut is_early = false;
        if self.tracks_expected {
            let expected = Expected::of(setup, job, state);
            if let Ok(place) = self.expected.binary_search(&expected) {
                self.expected.remove(place);
            }
            if let Some(horizon) = &mut self.horizon {
                horizon.end_run(&setup.cluster, setup.shape_of(state), &state.placement, expected.instant_ms);
            }
            is_early = now_ms < expected.instant_ms;
        }
        self.running -= 1;
        if self.keeps_runners {
            // Start numbers only grow, so the list is sorted by them.
            let place = self.runners.partition_point(|&other| states[other as usize].sequence < state.sequence);
            self.runners.remove(place);
        }
        is_early
    }

    /// Runs that were added in any order are put into the order of their starts.
    pub(crate) fn sort_runners(&mut self, states: &[JobState]) {
        self.runners.sort_unstable_by_key(|&job| states[job as usize].sequence);
    }

    /// A job has ended, or was rejected.
    pub(crate) fn count_end(&mut self) {
        self.vain_stops = 0;
        self.ended += 1;
    }

    /// A run did not end its job.
    pub(crate) fn add_stop(&mut self, stop: Stop) {
        self.stops.push(stop);
    }

    /// A job was stopped for another; it kept something of what it had done, or nothing.
    pub(crate) fn count_vain(&mut self, keeps: bool) {
        self.vain_stops = if keeps { 0 } else { self.vain_stops + 1 };
    }

    /// How many jobs have been stopped for others since one ended or kept what it had done.
    pub(crate) fn vain_stops(&self) -> u64 {
        self.vain_stops
    }

    /// The last stop was none: that run ended its job.
    pub(crate) fn take_stop(&mut self) -> Option<Stop> {
        self.stops.pop()
    }

    /// Writes the stops; all else follows from the jobs' states.
    pub(crate) fn write_stops(&self, out: &mut Writer) {
        out.put(self.stops.len() as i64);
        for stop in &self.stops {
            for value in [i64::from(stop.job), stop.start_ms, stop.end_ms, i64::from(stop.by_failure)] {
                out.put(value);
            }
            out.put_placement(&stop.placement);
        }
    }

    /// Reads the stops; `belongs` tells whether a job could run there.
    pub(crate) fn read_stops(
        &mut self,
        input: &mut Reader,
        belongs: impl Fn(u32, &Placement) -> bool,
    ) -> Result<(), String> {
        let count: usize = input.number()?;
        for _ in 0..count {
            let job: u32 = input.number()?;
            let (start_ms, end_ms, by_failure) = (input.time()?, input.time()?, input.flag()?);
            let placement = input.placement()?;
            if !belongs(job, &placement) {
                return Err(format!("the saved state has a run of job {job} where that cannot be"));
            }
            self.stops.push(Stop { job, start_ms, end_ms, placement, by_failure });
        }
        Ok(())
    }
}
