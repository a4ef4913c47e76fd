//! A simulation: the parts that make up its state, and the primitives from which every rule is made.

use std::ops::Range;
use std::sync::Arc;

use crate::dispatch::contenders::rank_again;
use crate::dispatch::eft::target;
use crate::dispatch::pairs;
use crate::dispatch::promises::Promises;
use crate::dispatch::run_pass;
use crate::model::cluster::{Cluster, RejectReason};
use crate::model::config::{Config, Policy};
use crate::model::free::Free;
use crate::model::job::{Jobs, Shape};
use crate::model::rules::Rules;
use crate::model::speeds::stretched_ms;
use crate::order::estimate::Basis;
use crate::order::ranking::Turn;
use crate::place::external::{self, SharedPlacer};
use crate::place::locality::Reach;
use crate::place::placement::{place_as_told, Part, Placement};
use crate::place::types::OnType;
use crate::sim::accounts::Accounts;
use crate::sim::clock::Clock;
use crate::sim::failures::Failures;
use crate::sim::gate::Gate;
use crate::sim::job_state::{initial_state, JobState, Phase};
use crate::sim::limits::Limits;
use crate::sim::machine::Machine;
use crate::sim::setup::Setup;
use crate::sim::waiting::Waiting;

/// The whole state. Each part looks after its own; what crosses them, a job's start or stop, is done here.
#[derive(Clone)]
pub struct Simulation {
    pub(crate) setup: Setup,
    /// What each job is doing; jobs are counted from the first of the window.
    pub(crate) states: Vec<JobState>,
    pub(crate) clock: Clock,
    pub(crate) waiting: Waiting,
    pub(crate) machine: Machine,
    /// What is used of what the site limits.
    pub(crate) limits: Limits,
    pub(crate) promises: Promises,
    pub(crate) accounts: Accounts,
    /// Who may not wait for nodes yet, where that can be.
    pub(crate) gate: Option<Gate>,
    /// Which nodes fail when, where they do.
    pub(crate) failures: Option<Failures>,
}

impl Simulation {
    /// A simulation of the jobs in a window of the table; `given` has a number for each job where the policy wants them.
    pub fn new(
        cluster: Arc<Cluster>,
        jobs: Arc<Jobs>,
        window: Range<usize>,
        config: Config,
        given: &[f64],
    ) -> Result<Self, String> {
        if window.start >= window.end || window.end > jobs.len() {
            let (start, end, len) = (window.start, window.end, jobs.len());
            return Err(format!("jobs {start} to {end} are not a window of a table of {len} jobs"));
        }
        let wanted = if config.policy.wants_given() { window.len() } else { 0 };
        if given.len() != wanted {
            return Err(format!("{} scores were given where {wanted} belong", given.len()));
        }
        if let Some(job) = given.iter().position(|score| !score.is_finite()) {
            return Err(format!("job {job}: the score is {}; expected a finite number", given[job]));
        }
        config.check()?;
        let setup = Setup::new(cluster, jobs, window, config, given)?;
        let order = setup.order(given);
        Self::with_order(setup, order)
    }

    /// A simulation in which the policy's order is known.
    pub(crate) fn with_order(setup: Setup, order: Vec<u32>) -> Result<Self, String> {
        let now_ms = setup.submit_ms(0);
        Ok(Simulation {
            states: setup.window.clone().map(|job| initial_state(&setup.jobs, job, &setup.config)).collect(),
            clock: Clock::new(now_ms),
            waiting: Waiting::new(&setup, order),
            machine: Machine::new(&setup),
            limits: Limits::new(&setup),
            promises: Promises::default(),
            accounts: Accounts::new(&setup)?,
            gate: Gate::new(&setup),
            failures: Failures::new(&setup.config, setup.cluster.nodes.len(), now_ms),
            setup,
        })
    }

    /// Runs until nothing more can happen, or until so many decisions have been made. Says whether it is over.
    /// An error says that it would never be.
    pub fn run(&mut self, most_decisions: u64) -> Result<bool, String> {
        for _ in 0..most_decisions {
            if !self.advance() {
                return Ok(true);
            }
            self.dispatch(None);
            self.check_headway()?;
        }
        Ok(false)
    }

    /// Decides: starts what the rule lets start now. Without an order, the policy's own.
    pub fn dispatch(&mut self, order: Option<&[u32]>) {
        run_pass(self, order);
    }

    /// The instant.
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms
    }

    /// Whether a job could start now.
    pub fn fits(&self, job: u32) -> bool {
        self.fits_now(job) && !self.is_barred(job) && self.reject_reason(job) == RejectReason::None
    }

    /// Whether what is free is enough for a job that can run here.
    #[inline]
    pub(crate) fn fits_now(&self, job: u32) -> bool {
        if self.setup.is_pool {
            return self.machine.fits(&self.setup, self.state(job).shape) && !self.is_pool_closed(job, self.now_ms());
        }
        self.may_fit(job) && self.fits_where_open(job)
    }

    /// Whether what is free on nodes that are not reserved for others is enough.
    fn fits_where_open(&self, job: u32) -> bool {
        let (reach, free) = (self.reach_at(job, self.now_ms()), &self.machine.free);
        reach.fits(free) && self.open_nodes(free, job, self.now_ms()).is_none_or(|open| reach.fits(&open))
    }

    /// Whether a job fits if it takes any type of GPU: what it waits for otherwise takes long to find out.
    fn may_fit(&self, job: u32) -> bool {
        !self.setup.config.ends_first() || self.machine.fits(&self.setup, self.state(job).shape)
    }

    /// Where a job may go at an instant, as things are now.
    pub(crate) fn reach_at(&self, job: u32, instant_ms: i64) -> Reach<'_> {
        self.reach_as(job, self.wanted_now(job), instant_ms)
    }

    /// The same if it asks for this: its shape on some types of GPUs alone, for instance.
    pub(crate) fn reach_as<'a>(&'a self, job: u32, wanted: &'a Shape, instant_ms: i64) -> Reach<'a> {
        self.setup.reach_at(self.state(job), wanted, instant_ms)
    }

    /// What a job asks for now: where it waits for a type of GPU, its shape on that type alone.
    pub(crate) fn wanted_now(&self, job: u32) -> &Shape {
        match self.setup.config.ends_first().then(|| target(self, job)).flatten() {
            Some(on_type) => &on_type.shape,
            None => self.shape_of(job),
        }
    }

    /// Whether a job could start now on a type of GPU.
    pub(crate) fn fits_on(&self, job: u32, on_type: &OnType) -> bool {
        self.reach_as(job, &on_type.shape, self.now_ms()).fits(&self.machine.free)
    }

    /// Where the placement rule puts a job now on a type of GPU; none: it does not fit there.
    pub(crate) fn placement_on(&self, job: u32, on_type: &OnType) -> Option<Placement> {
        self.place_within(&self.machine.free, job, self.reach_as(job, &on_type.shape, self.now_ms()))
    }

    /// Whether the guard puts a job first that waits now.
    pub(crate) fn is_starving(&self, job: u32) -> bool {
        self.setup.is_starving(self.state(job), self.now_ms())
    }

    /// When a job has waited long enough for nodes that are close together, if that is to come.
    pub(crate) fn patient_until_ms(&self, job: u32) -> Option<i64> {
        self.setup.patient_until_ms(self.state(job)).filter(|&until_ms| until_ms > self.now_ms())
    }

    pub(crate) fn state(&self, job: u32) -> &JobState {
        &self.states[job as usize]
    }

    pub(crate) fn shape_of(&self, job: u32) -> &Shape {
        self.setup.shape_of(self.state(job))
    }

    /// A job's milli-cores over all tasks.
    pub(crate) fn cores_milli(&self, job: u32) -> i64 {
        self.setup.cores_milli(self.state(job))
    }

    /// Why a job can never run here.
    pub(crate) fn reject_reason(&self, job: u32) -> RejectReason {
        let reason = self.setup.reject_reason(self.shape_of(job));
        let refuses = |rules: &Rules| rules.refuse(self.setup.place(job));
        match reason {
            RejectReason::None if self.setup.jobs.rules.as_ref().is_some_and(refuses) => RejectReason::OverJobLimit,
            reason => reason,
        }
    }

    /// How long a job is expected to hold nodes of this speed.
    pub(crate) fn span_ms(&self, job: u32, speed_micro: i64) -> i64 {
        self.setup.span_ms(self.state(job), speed_micro)
    }

    /// How long a job is expected to hold these nodes.
    pub(crate) fn span_on(&self, job: u32, placement: &Placement) -> i64 {
        self.setup.span_on(self.state(job), placement)
    }

    /// The run time that the policy sees of a job now, and what it rests on.
    pub fn estimate(&self, job: u32) -> (i64, Basis) {
        self.accounts.estimate(&self.setup, job)
    }

    /// A job's estimate when it started, or as of now if it has not, and what it rests on.
    pub fn estimate_at_start(&self, job: u32) -> (i64, Basis) {
        self.accounts.estimate_at_start(&self.setup, job)
    }

    /// What a job's estimate rested on when it started.
    pub fn basis_at_start(&self, job: u32) -> Basis {
        self.accounts.basis_at_start(&self.setup, job)
    }

    /// The waiting jobs in the policy's order as of now; those that a pass does not look at come last.
    pub fn waiting_in_order(&mut self) -> Vec<u32> {
        rank_again(self);
        if let Some(contest) = &self.waiting.contest {
            return contest.in_order();
        }
        if !self.waiting.order_moves() {
            return self.waiting.queue.iter().collect();
        }
        let turns = self.sorted_turns();
        let behind = self.waiting.queue.iter().skip(turns.len());
        turns.iter().map(|turn| turn.job).chain(behind).collect()
    }

    /// Brings an order that moves up to date.
    pub(crate) fn refresh_ranking(&mut self) {
        self.waiting.refresh_ranking(&self.setup, &self.accounts, &self.states);
    }

    /// The turns of a pass over an order that moves and is up to date, in the order of the table.
    pub(crate) fn turns(&self) -> Vec<Turn> {
        if self.setup.config.policy == Policy::Pairs {
            return pairs::turns(self);
        }
        self.waiting.turns(&self.setup, &self.accounts, self.now_ms(), &self.machine.free)
    }

    /// The turns of a pass over an order that moves, the first first.
    pub(crate) fn sorted_turns(&mut self) -> Vec<Turn> {
        self.refresh_ranking();
        let mut turns = self.turns();
        turns.sort_unstable_by_key(Turn::key);
        turns
    }

    /// Expected ends of running jobs are kept from now on, whether the rule needs them or not.
    pub(crate) fn track_expected(&mut self) {
        self.machine.track_expected(&self.setup, &self.states);
    }

    /// Where the placement rule would put a job now on these free resources.
    pub(crate) fn place_on(&self, free: &Free, job: u32) -> Option<Placement> {
        self.place_at(free, job, self.now_ms())
    }

    /// Where it would put a job at an instant on what is free then.
    pub(crate) fn place_at(&self, free: &Free, job: u32, instant_ms: i64) -> Option<Placement> {
        let open = self.open_nodes(free, job, instant_ms);
        self.place_within(open.as_deref().unwrap_or(free), job, self.reach_at(job, instant_ms))
    }

    /// Where it would put a job that may go there.
    pub(crate) fn place_within(&self, free: &Free, job: u32, reach: Reach) -> Option<Placement> {
        let rule = self.setup.config.placement;
        let search = self.setup.search(free, reach, job);
        match &self.setup.config.placer {
            Some(SharedPlacer::Outside(placer)) if self.setup.config.may_decline() => {
                search.narrowed(external::ask(&**placer, self, free, reach, job)?, rule)
            }
            _ => search.choose(rule),
        }
    }

    /// Where the placement rule puts a job now; none: it does not fit.
    #[inline]
    pub(crate) fn placement_now(&self, job: u32) -> Option<Placement> {
        if self.setup.is_pool {
            return self.fits_now(job).then(|| Placement::single(0, self.shape_of(job).tasks));
        }
        self.may_fit(job).then(|| self.place_on(&self.machine.free, job)).flatten()
    }

    /// Starts a waiting job where the placement rule puts it, if it fits.
    #[inline]
    pub(crate) fn try_start(&mut self, job: u32) -> bool {
        let placement = self.placement_now(job);
        placement.map(|placement| self.start_on(job, placement)).is_some()
    }

    /// Starts a waiting job on nodes that have room for it.
    pub(crate) fn start_on(&mut self, job: u32, placement: Placement) {
        let now_ms = self.now_ms();
        let state = &mut self.states[job as usize];
        self.waiting.remove(&self.setup, job, state);
        self.accounts.start(&self.setup, job, state, now_ms);
        state.placement = placement;
        // Waits are counted until the first start, however often the job is stopped afterwards.
        let is_first = !state.was_stopped();
        if is_first {
            state.start_ms = now_ms;
        }
        state.segment_start_ms = now_ms;
        state.reservation = None;
        state.phase = Phase::Running;
        state.sequence = self.machine.number_start();
        self.machine.take(&self.setup, state);
        if is_first {
            self.tell_start(job);
        }
        self.add_run(job);
        if self.accounts.counts_speeds() {
            let extra_ms = self.planned_extra_ms(job);
            self.accounts.add_extra(&self.setup, job, &self.states[job as usize], extra_ms, now_ms);
        }
    }

    /// How much longer a job takes for what is left, where it runs, than at full speed; below 0: less.
    pub(crate) fn planned_extra_ms(&self, job: u32) -> i64 {
        let state = self.state(job);
        stretched_ms(state.remaining_ms, self.setup.speed_micro(state.shape, &state.placement)) - state.remaining_ms
    }

    /// Notes when a job that has begun to run ends, and when it is expected to.
    pub(crate) fn add_run(&mut self, job: u32) {
        let state = &self.states[job as usize];
        let speed_micro = self.setup.speed_micro(state.shape, &state.placement);
        let lasting_ms = self.setup.overhead_ms(state) + stretched_ms(state.remaining_ms, speed_micro);
        // A snapshot may tell of a job that should have ended by now: it ends at once.
        let end_ms = (state.segment_start_ms + lasting_ms).max(self.clock.now_ms);
        self.clock.add_end((end_ms, state.sequence, job));
        self.machine.add_run(&self.setup, job, state);
        self.limits.count(&self.setup, job, 1);
    }

    /// A running job gives back what it uses.
    pub(crate) fn end_run(&mut self, job: u32, now_ms: i64) {
        self.forget_last_pass();
        let is_early = self.machine.end_run(&self.setup, job, &self.states, now_ms);
        self.limits.count(&self.setup, job, -1);
        let state = &self.states[job as usize];
        self.promises.end_run(&self.setup, job, state, now_ms, is_early);
        self.accounts.stop(&self.setup, job, &self.states[job as usize], self.clock.now_ms);
    }

    /// Starts a waiting job from outside the rule: on these nodes, or where the placement rule puts it.
    pub fn start(&mut self, job: u32, nodes: Option<&[Part]>) -> Result<(), String> {
        if self.states.get(job as usize).map(|state| state.phase) != Some(Phase::Waiting) {
            return Err(format!("job {job} does not wait, so it cannot be started"));
        }
        if self.is_barred(job) {
            return Err(format!("job {job} may not start now, by a limit of the site"));
        }
        let placement = match nodes {
            None => self.placement_now(job),
            Some(parts) => place_as_told(&self.setup.cluster, &self.machine.free, self.shape_of(job), parts)?,
        };
        let placement = placement.ok_or_else(|| format!("job {job} does not fit now"))?;
        self.disturb();
        self.promises.plan_again();
        self.promises.forget(job);
        self.start_on(job, placement);
        Ok(())
    }

    /// How the last pass ended says nothing of the next; what it worked out of the time to come still holds.
    pub(crate) fn forget_last_pass(&mut self) {
        self.promises.tried = None;
        if let Some(blocked) = self.promises.blocked.take() {
            blocked.head.close(self);
        }
    }

    /// Something was done from outside the rule.
    pub(crate) fn disturb(&mut self) {
        self.promises.disturb();
        self.clock.undecided = true;
    }
}
