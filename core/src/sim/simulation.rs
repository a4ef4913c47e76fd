//! A simulation: its whole state, and the primitives from which every rule is made.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use crate::dispatch::committed::Commitment;
use crate::dispatch::preemptive::Contest;
use crate::dispatch::standing::Blocked;
use crate::model::cluster::{stretched_ms, Cluster, RejectReason, FULL_SPEED, UNTRACKED};
use crate::model::config::{Config, Dispatch, Policy};
use crate::model::free::Free;
use crate::model::job::{Jobs, Shape};
use crate::order::estimate::{fixed_basis, fixed_estimate_ms, Basis, Learner};
use crate::order::queue::{Indexed, Queue};
use crate::order::ranking::{Ranking, Turn};
use crate::order::scores;
use crate::order::usage::Usage;
use crate::place::placement::{place_as_told, Part, Placement};
use crate::place::rules::{Rule, Search};
use crate::sim::accrual::Served;
use crate::sim::failures::Failures;
use crate::sim::job_state::{initial_state, JobState, Phase};
use crate::sim::stopping::Stop;
use crate::sim::tally::Tally;

/// When a running job ends: (time, start number, job).
pub type End = (i64, u32, u32);

/// When a running job is expected to end, and how many cores it gives back: a pool needs to know no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expected {
    /// Its latest start plus its limit.
    pub instant_ms: i64,
    /// The number of that start.
    pub sequence: u32,
    /// The job.
    pub job: u32,
    /// Over all tasks.
    pub cores_milli: i64,
}

/// See the module. Jobs are counted from the first of the window.
#[derive(Clone)]
pub struct Simulation {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) window: Range<usize>,
    pub(crate) config: Config,
    pub(crate) now_ms: i64,
    pub(crate) states: Vec<JobState>,
    pub(crate) free: Free,
    /// True ends of the running jobs; entries whose start number is old belong to a preempted start.
    pub(crate) ends: BinaryHeap<Reverse<End>>,
    /// Expected ends of the running jobs, the earliest first; empty where the rule needs none.
    pub(crate) expected: Vec<Expected>,
    pub(crate) queue: Queue,
    pub(crate) next_arrival: u32,
    /// Every job before this one has been put first by the guard, or does not wait.
    pub(crate) guard_cursor: u32,
    pub(crate) starts: u32,
    pub(crate) ended: u32,
    pub(crate) running: u32,
    pub(crate) commitment: Option<Commitment>,
    /// The waiting jobs that hold reservations, in order.
    pub(crate) holders: Vec<u32>,
    /// Something was done from outside since the last pass: reservations may no longer have room.
    pub(crate) disturbed: bool,
    /// Something was done from outside since the last decision: if nothing else is to come, one is due now.
    pub(crate) undecided: bool,
    /// How the last pass of EASY over a pool ended, if nothing has ended or been done from outside since.
    pub(crate) blocked: Option<Blocked>,
    /// Grows whenever something in the projection becomes free earlier than it was.
    pub(crate) freed: u64,
    /// One node on which only cores bind: a job fits exactly if its cores do.
    pub(crate) is_pool: bool,
    /// What the caller brought for each job, where an order that moves needs it.
    pub(crate) given: Arc<[f64]>,
    /// Who is next, where the order moves.
    pub(crate) ranking: Option<Ranking>,
    /// What estimates are learned from, where they are.
    pub(crate) learner: Option<Learner>,
    /// What users have used, where the policy asks.
    pub(crate) usage: Option<Usage>,
    /// What the schedule is worth so far, where somebody asks at every step.
    pub(crate) tally: Option<Box<Tally>>,
    /// Expected ends are kept whether the rule needs them or not.
    pub(crate) foresees: bool,
    /// Which nodes fail when, where they do.
    pub(crate) failures: Option<Failures>,
    /// Who waits for whom, where the policy stops running jobs.
    pub(crate) contest: Option<Contest>,
    /// The running jobs in the order of their starts, where somebody may stop them.
    pub(crate) runners: Vec<u32>,
    /// The runs that did not end their jobs.
    pub(crate) stops: Vec<Stop>,
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
        let order = scores::order(&jobs, window.clone(), &config, given);
        Self::with_order(cluster, jobs, window, config, given, order)
    }

    /// A simulation of the jobs in a window that is known to lie in the table, in this order.
    pub(crate) fn with_order(
        cluster: Arc<Cluster>,
        jobs: Arc<Jobs>,
        window: Range<usize>,
        config: Config,
        given: &[f64],
        order: Vec<u32>,
    ) -> Result<Self, String> {
        let guarded = config.max_wait_ms.is_some();
        let queue = Queue::new(jobs.clone(), window.start, order, guarded, indexed(&config));
        let cores_alone = |shape: &Shape| shape.gpu_milli == 0 && shape.memory_mb == 0;
        check_durations(&cluster, &jobs)?;
        if let Some(event) = config.node_events.iter().find(|event| event.node as usize >= cluster.nodes.len()) {
            return Err(format!("node {} fails, but there are {} nodes", event.node, cluster.nodes.len()));
        }
        let is_pool = cluster.nodes.len() == 1
            && !config.has_failures()
            && config.placement != Rule::External
            && (cluster.nodes[0].memory_mb == UNTRACKED && jobs.shapes.iter().all(|shape| shape.gpu_milli == 0)
                || jobs.shapes.iter().all(cores_alone));
        let now_ms = jobs.submit_ms[window.start];
        Ok(Simulation {
            now_ms,
            states: window.clone().map(|job| initial_state(&jobs, job, &config)).collect(),
            free: cluster.empty.clone(),
            ends: BinaryHeap::new(),
            expected: Vec::new(),
            next_arrival: 0,
            guard_cursor: 0,
            starts: 0,
            ended: 0,
            running: 0,
            commitment: None,
            holders: Vec::new(),
            disturbed: false,
            undecided: false,
            blocked: None,
            freed: 0,
            given: if config.order_moves() { given.into() } else { Arc::default() },
            ranking: Ranking::new(&config),
            learner: Learner::new(&jobs, window.clone(), &config)?,
            usage: usage(&jobs, window.clone(), &config)?,
            tally: None,
            foresees: false,
            failures: Failures::new(&config, cluster.nodes.len(), now_ms),
            contest: config.policy.preempts().then(|| Contest::new(jobs.shapes.len(), window.len())),
            runners: Vec::new(),
            stops: Vec::new(),
            cluster,
            jobs,
            window,
            config,
            queue,
            is_pool,
        })
    }

    /// Runs until nothing more can happen, or until so many decisions have been made. Says whether it is over.
    pub fn run(&mut self, most_decisions: u64) -> bool {
        for _ in 0..most_decisions {
            if !self.advance() {
                return true;
            }
            self.dispatch(None);
        }
        false
    }

    /// Decides: starts what the rule lets start now. Without an order, the policy's own.
    pub fn dispatch(&mut self, order: Option<&[u32]>) {
        let listed = order.map(|order| self.guarded_order(order));
        if listed.is_some() {
            self.blocked = None;
        } else if matches!(self.config.dispatch, Dispatch::Reserve { depth: 0 | 1 }) {
            self.drop_reservations();
        }
        if listed.is_none() && self.contest.is_some() {
            return self.dispatch_preemptive();
        }
        if listed.is_none() && self.ranking.is_some() {
            return self.dispatch_moving();
        }
        match self.config.dispatch {
            Dispatch::Strict => self.dispatch_strict(listed.as_deref()),
            Dispatch::Reserve { depth } => match listed {
                None if depth == 0 => self.dispatch_greedy(),
                None if depth == 1 => self.dispatch_easy(),
                None => self.dispatch_reserving(depth, &turns(self.queue.iter().take(self.scan_depth()))),
                Some(order) => self.dispatch_reserving(depth, &turns(order.into_iter())),
            },
            Dispatch::Committed { .. } => {
                let chosen = match listed {
                    Some(order) => order.first().copied(),
                    None => self.queue.head(),
                };
                if let Some(job) = chosen {
                    self.commit(job);
                }
            }
        }
    }

    fn scan_depth(&self) -> usize {
        self.config.scan_depth as usize
    }

    /// A caller's order behind the jobs that the guard puts first, cut at the scan depth.
    fn guarded_order(&self, order: &[u32]) -> Vec<u32> {
        let first = self.queue.iter().take_while(|&job| self.queue.is_first(job));
        let rest = order.iter().copied().filter(|&job| !self.queue.is_first(job));
        first.chain(rest).take(self.scan_depth()).collect()
    }

    fn dispatch_strict(&mut self, listed: Option<&[u32]>) {
        if let Some(order) = listed {
            let _ = order.iter().all(|&job| self.try_start(job));
            return;
        }
        while let Some(job) = self.queue.head() {
            if !self.try_start(job) {
                return;
            }
        }
    }

    /// Whether a job could start now.
    pub fn fits(&self, job: u32) -> bool {
        self.shape_fits(self.states[job as usize].shape) && self.reject_reason(job) == RejectReason::None
    }

    /// A job's absolute submit time.
    pub(crate) fn submit_ms(&self, job: u32) -> i64 {
        self.jobs.submit_ms[self.window.start + job as usize]
    }

    pub(crate) fn shape_of(&self, job: u32) -> &Shape {
        &self.jobs.shapes[self.states[job as usize].shape as usize]
    }

    pub(crate) fn shape_fits(&self, shape: u32) -> bool {
        if self.is_pool {
            return self.jobs.sizes.cores_milli(shape) <= self.free.cores_milli[0];
        }
        self.free.fits(&self.cluster, &self.jobs.shapes[shape as usize])
    }

    /// Where the placement rule would put a job on these free resources.
    pub(crate) fn place_on(&self, free: &Free, job: u32) -> Option<Placement> {
        match self.config.placer {
            Some(placer) if self.config.placement == Rule::External => self.ask_placer(placer, free, job),
            _ => self.search(free, self.shape_of(job), job).choose(self.config.placement),
        }
    }

    /// The search for nodes for a job of this shape.
    pub(crate) fn search<'a>(&'a self, free: &'a Free, shape: &'a Shape, job: u32) -> Search<'a> {
        let job = (self.window.start + job as usize) as u32;
        let classes = if self.config.placement == Rule::Fgd { self.jobs.classes() } else { &[] };
        Search { cluster: &self.cluster, free, shape, seed: self.config.seed, job, classes }
    }

    /// Starts a waiting job where the placement rule puts it, if it fits.
    pub(crate) fn try_start(&mut self, job: u32) -> bool {
        if self.is_pool {
            let fits = self.shape_fits(self.states[job as usize].shape);
            if fits {
                self.start_on(job, Placement::single(0, self.shape_of(job).tasks));
            }
            return fits;
        }
        let placement = self.place_on(&self.free, job);
        placement.map(|placement| self.start_on(job, placement)).is_some()
    }

    /// Starts a waiting job on nodes that have room for it.
    pub(crate) fn start_on(&mut self, job: u32, placement: Placement) {
        self.queue.remove(job);
        if let Some(ranking) = &mut self.ranking {
            ranking.remove(job);
        }
        if let Some(contest) = &mut self.contest {
            contest.remove(self.states[job as usize].shape, job);
        }
        self.note_start(job);
        let state = &mut self.states[job as usize];
        if self.is_pool {
            self.free.take_pool(self.jobs.sizes.cores_milli(state.shape));
        } else {
            self.free.take(&self.jobs.shapes[state.shape as usize], &placement);
        }
        state.placement = placement;
        if !state.was_stopped() {
            state.start_ms = self.now_ms;
        }
        state.segment_start_ms = self.now_ms;
        state.reservation = None;
        state.phase = Phase::Running;
        state.sequence = self.starts;
        self.starts += 1;
        self.foresee_end(job);
    }

    /// The clock moves.
    pub(crate) fn move_clock(&mut self, instant_ms: i64) {
        if let Some(tally) = &mut self.tally {
            tally.pass_time(instant_ms - self.now_ms, self.queue.len(), &self.free, &self.cluster);
        }
        self.now_ms = instant_ms;
    }

    /// A job, as the objectives see it now.
    pub(crate) fn served(&self, job: u32) -> Served {
        Served {
            job,
            wait_ms: self.now_ms - self.submit_ms(job),
            run_ms: self.states[job as usize].remaining_ms,
            priority: self.tally.as_ref().map_or(0.0, |tally| tally.priority(self.window.start + job as usize)),
        }
    }

    /// Milli-cores of a job's user are held from now on (1), or no longer (−1).
    pub(crate) fn hold(&mut self, job: u32, sign: i64) {
        if let Some(tally) = &mut self.tally {
            let user = self.jobs.user[self.window.start + job as usize];
            tally.held[user as usize] += sign * self.jobs.sizes.cores_milli(self.states[job as usize].shape);
        }
    }

    /// A job starts: what its estimate was is kept, and its user is charged from now on.
    pub(crate) fn note_start(&mut self, job: u32) {
        if self.tally.is_some() {
            let served = self.served(job);
            self.tally.as_mut().into_iter().for_each(|tally| tally.start(&served));
            self.hold(job, 1);
        }
        if let Some(learner) = &mut self.learner {
            let estimate = learner.estimate(&self.jobs, self.window.start, job, &self.config);
            learner.at_start[job as usize] = estimate;
        }
        self.charge(job, 1);
    }

    /// A job's user holds its cores from now on (1), or no longer (−1).
    pub(crate) fn charge(&mut self, job: u32, sign: i64) {
        if let Some(usage) = &mut self.usage {
            let user = self.jobs.user[self.window.start + job as usize];
            let cores_milli = self.jobs.sizes.cores_milli(self.states[job as usize].shape);
            usage.change(user, self.now_ms, sign * cores_milli);
        }
    }

    /// The run time that the policy sees of a job now, and what it rests on.
    pub fn estimate(&self, job: u32) -> (i64, Basis) {
        if let Some(learner) = &self.learner {
            return learner.estimate(&self.jobs, self.window.start, job, &self.config);
        }
        let place = self.window.start + job as usize;
        (fixed_estimate_ms(&self.jobs, place, &self.config), fixed_basis(&self.jobs, place, &self.config))
    }

    /// A job's estimate when it started, or as of now if it has not, and what it rests on.
    pub fn estimate_at_start(&self, job: u32) -> (i64, Basis) {
        let noted = self.learner.as_ref().map(|learner| learner.at_start[job as usize]);
        noted.filter(|noted| noted.0 >= 0).unwrap_or_else(|| self.estimate(job))
    }

    /// What a job's estimate rested on when it started.
    pub fn basis_at_start(&self, job: u32) -> Basis {
        match &self.learner {
            None => fixed_basis(&self.jobs, self.window.start + job as usize, &self.config),
            Some(_) => self.estimate_at_start(job).1,
        }
    }

    /// Notes when a job that has begun to run ends, and when it is expected to.
    pub(crate) fn foresee_end(&mut self, job: u32) {
        let state = &self.states[job as usize];
        let speed_milli = self.cluster.speed_milli(self.shape_of(job), &state.placement);
        let lasting_ms = self.overhead_ms(job) + stretched_ms(state.remaining_ms, speed_milli);
        let end_ms = (state.segment_start_ms + lasting_ms).max(self.now_ms);
        self.ends.push(Reverse((end_ms, state.sequence, job)));
        if self.tracks_expected() {
            let expected = self.expected_end(job);
            let place = self.expected.partition_point(|end| *end < expected);
            self.expected.insert(place, expected);
        }
        self.running += 1;
        if self.keeps_runners() {
            self.runners.push(job);
        }
    }

    /// Starts a waiting job from outside the rule: on these nodes, or where the placement rule puts it.
    pub fn start(&mut self, job: u32, nodes: Option<&[Part]>) -> Result<(), String> {
        if self.states.get(job as usize).map(|state| state.phase) != Some(Phase::Waiting) {
            return Err(format!("job {job} does not wait, so it cannot be started"));
        }
        let placement = match nodes {
            None => self.place_on(&self.free, job),
            Some(parts) => place_as_told(&self.cluster, &self.free, self.shape_of(job), parts)?,
        };
        let placement = placement.ok_or_else(|| format!("job {job} does not fit now"))?;
        self.touch();
        self.freed += 1;
        self.holders.retain(|&holder| holder != job);
        self.commitment = self.commitment.filter(|commitment| commitment.job != job);
        self.start_on(job, placement);
        Ok(())
    }

    /// Something was done from outside the rule: what was known of the last pass no longer holds.
    pub(crate) fn touch(&mut self) {
        self.disturbed = true;
        self.undecided = true;
        self.blocked = None;
    }

    /// Whether the rule looks at expected ends.
    pub(crate) fn tracks_expected(&self) -> bool {
        self.foresees
            || match self.config.dispatch {
                Dispatch::Strict => false,
                Dispatch::Reserve { depth } => depth > 0,
                Dispatch::Committed { backfill } => backfill,
            }
    }
}

fn turns(order: impl Iterator<Item = u32>) -> Vec<Turn> {
    order.map(|job| Turn::plain(0, job)).collect()
}

/// The accounts that the policy asks for; the half-life and the shares come last in its parameters.
fn usage(jobs: &Jobs, window: Range<usize>, config: &Config) -> Result<Option<Usage>, String> {
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

/// Whether the clock can count what all jobs take on the slowest nodes.
fn check_durations(cluster: &Cluster, jobs: &Jobs) -> Result<(), String> {
    let slowest = cluster.nodes.iter().map(|node| node.speed_milli).min().unwrap_or(FULL_SPEED).min(FULL_SPEED);
    let total_ms: i128 = jobs.run_ms.iter().map(|&run_ms| i128::from(run_ms)).sum();
    if cluster.has_speeds && total_ms * i128::from(FULL_SPEED) / i128::from(slowest) > i128::from(i64::MAX / 4) {
        return Err("run_ms: the jobs together run longer than the clock can count on the slowest nodes".to_string());
    }
    Ok(())
}

fn indexed(config: &Config) -> Indexed {
    match config.dispatch {
        _ if config.policy.preempts() => Indexed::No,
        Dispatch::Reserve { depth: 0 | 1 } if !config.order_moves() => Indexed::ByOrder,
        Dispatch::Committed { backfill: true } => Indexed::ByArrival,
        _ => Indexed::No,
    }
}
