//! What is kept of the past: what estimates are learned from, what users have used, what the schedule is worth.

use crate::model::config::{Config, Policy};
use crate::model::free::Free;
use crate::model::job::Jobs;
use crate::order::estimate::{fixed_basis, fixed_estimate_ms, Basis};
use crate::order::gittins::Gittins;
use crate::order::learner::Learner;
use crate::order::usage::Usage;
use crate::sim::accrual::Served;
use crate::sim::bytes::{Reader, Writer};
use crate::sim::job_state::{JobState, Phase};
use crate::sim::setup::Setup;
use crate::sim::tally::Tally;

/// Who has run for how long, as estimates, shares and rewards need it; each is kept only where somebody asks.
#[derive(Clone)]
pub(crate) struct Accounts {
    learner: Option<Learner>,
    /// What the policy goes by that weighs run times by their chances.
    pub(crate) gittins: Option<Gittins>,
    /// How many jobs have been learned from.
    learned: u64,
    usage: Option<Usage>,
    tally: Option<Box<Tally>>,
}

impl Accounts {
    /// Nothing has happened yet but what the log knew before the window.
    pub(crate) fn new(setup: &Setup) -> Result<Self, String> {
        Ok(Accounts {
            learner: Learner::new(&setup.jobs, setup.window.clone(), &setup.config)?,
            gittins: Gittins::new(&setup.jobs, setup.window.clone(), &setup.config)?,
            learned: 0,
            usage: usage(&setup.jobs, setup.window.clone(), &setup.config)?,
            tally: None,
        })
    }

    /// Whether estimates change as jobs end.
    pub(crate) fn learns(&self) -> bool {
        self.learner.is_some()
    }

    /// How many jobs have been learned from: whoever keeps what follows from it sees that something has changed.
    pub(crate) fn learned(&self) -> u64 {
        self.learned
    }

    /// How often the estimate of a job may have changed.
    pub(crate) fn changes(&self, job: u32) -> u32 {
        self.learner.as_ref().map_or(0, |learner| learner.changes(job))
    }

    /// How many jobs that have ended an estimate rests on, those long ago counting less.
    pub(crate) fn like_jobs(&self, job: u32) -> f64 {
        self.learner.as_ref().map_or(0.0, |learner| learner.like_jobs(job))
    }

    /// What users have used, where the policy asks.
    pub(crate) fn usage(&self) -> Option<&Usage> {
        self.usage.as_ref()
    }

    /// What the schedule is worth so far, where somebody asks.
    pub(crate) fn tally(&self) -> Option<&Tally> {
        self.tally.as_deref()
    }

    /// What the schedule is worth is kept up to date from now on, or no longer.
    pub(crate) fn set_tally(&mut self, tally: Option<Tally>) {
        self.tally = tally.map(Box::new);
    }

    /// The run time that the policy sees of a job now, and what it rests on.
    pub(crate) fn estimate(&self, setup: &Setup, job: u32) -> (i64, Basis) {
        if let Some(learner) = &self.learner {
            return learner.estimate(&setup.jobs, setup.window.start, job, &setup.config);
        }
        let place = setup.place(job);
        (fixed_estimate_ms(&setup.jobs, place, &setup.config), fixed_basis(&setup.jobs, place, &setup.config))
    }

    /// A job's estimate when it started, or as of now if it has not, and what it rests on.
    pub(crate) fn estimate_at_start(&self, setup: &Setup, job: u32) -> (i64, Basis) {
        let noted = self.learner.as_ref().map(|learner| learner.at_start[job as usize]);
        noted.filter(|noted| noted.0 >= 0).unwrap_or_else(|| self.estimate(setup, job))
    }

    /// What a job's estimate rested on when it started.
    pub(crate) fn basis_at_start(&self, setup: &Setup, job: u32) -> Basis {
        match &self.learner {
            None => fixed_basis(&setup.jobs, setup.place(job), &setup.config),
            Some(_) => self.estimate_at_start(setup, job).1,
        }
    }

    /// A job that holds no nodes, as the objectives see it at an instant.
    pub(crate) fn served(&self, setup: &Setup, job: u32, state: &JobState, now_ms: i64) -> Served {
        Served {
            job,
            wait_ms: now_ms - state.eligible_ms - state.held_ms,
            lost_ms: state.lost_ms + self.tally.as_ref().map_or(0, |tally| tally.extra_ms(job)),
            run_ms: state.remaining_ms + state.done_ms,
            priority: self.tally.as_ref().map_or(0.0, |tally| tally.priority(setup.place(job))),
        }
    }

    /// The clock moves.
    #[inline]
    pub(crate) fn pass_time(&mut self, setup: &Setup, elapsed_ms: i64, waiting: usize, free: &Free) {
        if let Some(tally) = &mut self.tally {
            tally.pass_time(elapsed_ms, waiting, free, setup);
        }
    }

    /// A job begins to wait for the first time.
    #[inline]
    pub(crate) fn arrive(&mut self, setup: &Setup, job: u32, state: &JobState, now_ms: i64) {
        if self.tally.is_some() {
            let served = self.served(setup, job, state, now_ms);
            self.tally.as_mut().into_iter().for_each(|tally| tally.arrive(&served));
        }
    }

    /// A waiting job leaves that has not started.
    pub(crate) fn leave(&mut self, setup: &Setup, job: u32, state: &JobState, now_ms: i64) {
        if self.tally.is_some() {
            let served = self.served(setup, job, state, now_ms);
            self.tally.as_mut().into_iter().for_each(|tally| tally.leave(&served));
        }
    }

    /// A job starts: what its estimate was is kept, and its user is charged from now on.
    pub(crate) fn start(&mut self, setup: &Setup, job: u32, state: &JobState, now_ms: i64) {
        if self.tally.is_some() {
            let served = self.served(setup, job, state, now_ms);
            self.tally.as_mut().into_iter().for_each(|tally| tally.start(&served, state.was_stopped()));
        }
        // What is learned later must not change what is said of the estimate that this start rested on.
        if let Some(learner) = &mut self.learner {
            let estimate = learner.estimate(&setup.jobs, setup.window.start, job, &setup.config);
            learner.at_start[job as usize] = estimate;
        }
        self.charge(setup, job, setup.sizes.micro(state.shape), now_ms);
    }

    /// A job has held nodes in vain for so long; it holds none any more, and what its state says includes this.
    pub(crate) fn lose(&mut self, setup: &Setup, job: u32, state: &JobState, lost_ms: i64, now_ms: i64) {
        if self.tally.is_some() && lost_ms > 0 {
            let served = self.served(setup, job, state, now_ms);
            let before = Served { lost_ms: served.lost_ms - lost_ms, ..served };
            self.tally.as_mut().into_iter().for_each(|tally| tally.lose(&before, lost_ms));
        }
    }

    /// A job takes so much longer where it runs, or ran, than was counted so far; below 0: less.
    pub(crate) fn add_extra(&mut self, setup: &Setup, job: u32, state: &JobState, extra_ms: i64, now_ms: i64) {
        let served = self.served(setup, job, state, now_ms);
        self.tally.as_mut().into_iter().for_each(|tally| tally.add_extra(&served, extra_ms));
    }

    /// Whether it counts how long jobs take where they run.
    #[inline]
    pub(crate) fn counts_speeds(&self) -> bool {
        self.tally.as_ref().is_some_and(|tally| tally.counts_speeds())
    }

    /// A job that was stopped waits again.
    pub(crate) fn wait_again(&mut self, setup: &Setup, job: u32, state: &JobState, now_ms: i64) {
        if self.tally.is_some() {
            let served = self.served(setup, job, state, now_ms);
            self.tally.as_mut().into_iter().for_each(|tally| tally.wait_again(&served));
        }
    }

    /// A job runs no longer: its user is not charged for it any more.
    #[inline]
    pub(crate) fn stop(&mut self, setup: &Setup, job: u32, state: &JobState, now_ms: i64) {
        self.charge(setup, job, -setup.sizes.micro(state.shape), now_ms);
    }

    /// A job's user holds so much more from now on, in millionths of what sizes are counted in.
    #[inline]
    fn charge(&mut self, setup: &Setup, job: u32, micro: i64, now_ms: i64) {
        if self.usage.is_none() && self.tally.is_none() {
            return;
        }
        let user = setup.jobs.user[setup.place(job)];
        if let Some(usage) = &mut self.usage {
            usage.change(user, now_ms, micro);
        }
        if let Some(tally) = &mut self.tally {
            tally.held[user as usize] += micro;
        }
    }

    /// A job that has started is over, however it ended.
    #[inline]
    pub(crate) fn end(&mut self, job: u32) {
        if let Some(tally) = &mut self.tally {
            tally.end(job);
        }
    }

    /// A job that has run to its end tells how long it ran.
    #[inline]
    pub(crate) fn learn(&mut self, setup: &Setup, job: u32, state: &JobState) {
        self.learned += 1;
        if let Some(learner) = &mut self.learner {
            learner.learn(&setup.jobs, setup.window.start, job, setup.work_ms(job, state));
        }
        if let Some(gittins) = &mut self.gittins {
            gittins.learn(job, setup.work_ms(job, state));
        }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        self.learner.iter().for_each(|learner| learner.write(out));
        self.gittins.iter().for_each(|gittins| gittins.write(out));
        self.usage.iter().for_each(|usage| usage.write(out));
    }

    pub(crate) fn read(&mut self, setup: &Setup, states: &[JobState], input: &mut Reader) -> Result<(), String> {
        self.learner.as_mut().map_or(Ok(()), |learner| learner.read(input))?;
        self.gittins.as_mut().map_or(Ok(()), |gittins| gittins.read(input))?;
        let Some(usage) = &mut self.usage else { return Ok(()) };
        usage.read(input)?;
        for (job, state) in states.iter().enumerate().filter(|(_, state)| state.phase == Phase::Running) {
            usage.hold(setup.jobs.user[setup.place(job as u32)], setup.sizes.micro(state.shape));
        }
        Ok(())
    }
}

/// The accounts that the policy asks for; the half-life and the shares come last in its parameters.
fn usage(jobs: &Jobs, window: std::ops::Range<usize>, config: &Config) -> Result<Option<Usage>, String> {
    let parameters = match config.policy {
        Policy::FairShare => &config.policy_parameters[..],
        Policy::Multifactor => &config.policy_parameters[5..],
        _ => return Ok(None),
    };
    // Users who come later are not known yet, and have no share.
    let mut known = vec![false; jobs.users];
    jobs.user[..window.end].iter().for_each(|&user| known[user as usize] = true);
    Usage::new(&known, parameters[0], &parameters[1..], jobs.submit_ms[window.start]).map(Some)
}
