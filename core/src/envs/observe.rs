//! What a PickJob policy sees; `docs/environments.md` lists the features in the order in which they stand here.

use std::f64::consts::TAU;

use crate::dispatch::contenders::done_ms;
use crate::envs::episode::{EnvConfig, Lookahead};
use crate::envs::history::{tell_past, HISTORY_FEATURES};
use crate::envs::lookahead::look_ahead;
use crate::envs::pass::{Pass, Slot};
use crate::model::cluster::{Node, UNTRACKED};
use crate::model::config::Estimate;
use crate::model::job::UNKNOWN;
use crate::model::size::{units, units_f32};
use crate::model::slowdown::divisor_s;
use crate::order::scores::seconds;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// Features of the cluster and the queue as a whole.
pub(crate) const CLUSTER_FEATURES: usize = 16;
/// Features of each job.
pub(crate) const JOB_FEATURES: usize = 21;
/// Where a job's row tells whether it fits.
pub(crate) const FITS_FEATURE: usize = 15;
/// Where a job's row tells how far it stands behind the first in the order.
pub(crate) const ORDER_GAP_FEATURE: usize = 19;
/// Where it tells whether the order itself would not choose it.
pub(crate) const HELD_BACK_FEATURE: usize = 20;

pub(super) const HOUR_S: f64 = 3600.0;
const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 86_400_000;
const WEEK_MS: i64 = 7 * DAY_MS;

/// Further features of each job, where running jobs are shown.
pub(crate) const RUNNING_FEATURES: usize = 4;

/// Further features of each row, where it is a job on a type of GPU; a flag for each type follows them.
pub(crate) const PAIR_FEATURES: usize = 10;

/// Features of each type of GPU, where types are chosen.
pub(crate) const TYPE_FEATURES: usize = 4;

/// How many features of a job the core tells, where so many running jobs are shown, or so many types are chosen among.
pub(crate) const fn told_of_jobs(stops: usize, types: usize) -> usize {
    let running = if stops == 0 { 0 } else { RUNNING_FEATURES };
    let pairs = if types == 0 { 0 } else { PAIR_FEATURES + types };
    JOB_FEATURES + running + pairs
}

/// What an observation is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Rows of the queue.
    pub(crate) window: usize,
    lookahead: Lookahead,
    lookahead_size: usize,
    extra_features: usize,
    history: usize,
    history_interval_ms: i64,
    /// Rows of running jobs, behind those of the queue.
    pub(crate) stops: usize,
    /// How many rows each waiting job has: one for each type of GPU; 0: a single one.
    pub(crate) types: usize,
}

impl Layout {
    pub(crate) fn of(env: &EnvConfig) -> Self {
        let &EnvConfig { window, lookahead, lookahead_size, extra_features, .. } = env;
        let &EnvConfig { history, history_interval_ms, stops, types, .. } = env;
        Layout { window, lookahead, lookahead_size, extra_features, history, history_interval_ms, stops, types }
    }

    /// How many jobs are shown at most.
    pub(crate) fn rows(&self) -> usize {
        self.window * self.types.max(1) + self.stops
    }

    /// How many numbers a row has.
    pub(super) fn width(&self) -> usize {
        told_of_jobs(self.stops, self.types) + self.extra_features
    }

    /// How many numbers an observation has.
    pub(crate) fn observation_size(&self) -> usize {
        let context = CLUSTER_FEATURES + self.history * HISTORY_FEATURES + self.types * TYPE_FEATURES;
        context + self.lookahead_size + self.rows() * self.width()
    }
}

/// A running job that is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runner {
    pub(crate) job: u32,
    /// What is left of its estimate.
    pub(crate) left_ms: i64,
    /// Whether it may be stopped now.
    pub(crate) allowed: bool,
}

/// Seconds on a logarithmic scale from 0 to 1; 14 days are about 1.
pub(crate) fn log_time(time_s: f64) -> f32 {
    ((1.0 + time_s).ln() / 14.0).min(1.0) as f32
}

/// What stands still of a job as long as its estimate does.
#[derive(Clone, Copy)]
struct Standing {
    /// `Learner::changes` when this was worked out, and one more; 0: not yet.
    stamp: u32,
    estimate_s: f32,
    area_s: f64,
    log_estimate: f32,
    confidence: f32,
    log_request: f32,
    has_request: f32,
    cores: f32,
    size: f32,
    log_size: f32,
    gpus: f32,
    memory: f32,
    log_area: f32,
    priority: f32,
}

const NOT_YET: Standing = Standing {
    stamp: 0,
    estimate_s: 1.0,
    area_s: 0.0,
    log_estimate: 0.0,
    confidence: 0.0,
    log_request: 0.0,
    has_request: 0.0,
    cores: 0.0,
    size: 0.0,
    log_size: 0.0,
    gpus: 0.0,
    memory: 0.0,
    log_area: 0.0,
    priority: 0.0,
};

/// What all of an episode's observations share.
pub(crate) struct Observer {
    pub(crate) layout: Layout,
    standing: Vec<Standing>,
    cores: f64,
    /// The size of a job that takes the whole cluster.
    capacity: f64,
    log_capacity: f64,
    memory_mb: i64,
    gpus_milli: i64,
    /// The instant of `circles`.
    circles_at_ms: Option<i64>,
    circles: [f32; 4],
    /// The instant of `past`.
    past_at_ms: Option<i64>,
    past: Vec<f32>,
}

impl Observer {
    /// An observer of no episode yet.
    pub(crate) fn new(layout: Layout) -> Self {
        Observer {
            layout,
            standing: Vec::new(),
            cores: 0.0,
            capacity: 0.0,
            log_capacity: 0.0,
            memory_mb: 0,
            gpus_milli: 0,
            circles_at_ms: None,
            circles: [0.0; 4],
            past_at_ms: None,
            past: vec![0.0; layout.history * HISTORY_FEATURES],
        }
    }

    /// An episode begins.
    pub(crate) fn begin(&mut self, simulation: &Simulation) {
        self.standing.clear();
        self.standing.resize(simulation.states.len(), NOT_YET);
        self.cores = (simulation.setup.cluster.empty.total_cores_milli() as f64 / 1000.0).max(1e-3);
        self.capacity = simulation.setup.sizes.capacity().max(1e-3);
        self.log_capacity = (1.0 + self.capacity).ln();
        self.memory_mb = tracked_memory(simulation, &simulation.setup.cluster.empty.memory_mb);
        self.gpus_milli =
            i64::from(crate::model::cluster::DEVICE_MILLI) * simulation.machine.free.device_milli.len() as i64;
        self.circles_at_ms = None;
        self.past_at_ms = None;
    }

    /// Writes the observation: `rows` are places in the pass.
    pub(crate) fn observe(
        &mut self,
        simulation: &Simulation,
        pass: &mut Pass,
        rows: &[u32],
        running: &[Runner],
        observation: &mut [f32],
    ) {
        running.iter().for_each(|one| self.refresh(simulation, one.job));
        let (_, jobs) = self.observe_context(simulation, pass, observation);
        self.observe_jobs(simulation, pass, rows, running, jobs);
    }

    /// Writes what is told beside the rows, and returns what is left to write: what is told of types, and the rows.
    pub(super) fn observe_context<'a>(
        &mut self,
        simulation: &Simulation,
        pass: &mut Pass,
        observation: &'a mut [f32],
    ) -> (&'a mut [f32], &'a mut [f32]) {
        // Once a pass: within it no estimate changes, though several decisions may be made.
        for slot in pass.slots.iter_mut().filter(|slot| slot.area_s < 0.0) {
            self.refresh(simulation, slot.job());
            let standing = &self.standing[slot.job() as usize];
            slot.area_s = standing.area_s;
            slot.urgency = HOUR_S / divisor_s(f64::from(standing.estimate_s));
        }
        let Layout { lookahead, lookahead_size, types, .. } = self.layout;
        let (cluster, rest) = observation.split_at_mut(CLUSTER_FEATURES);
        let (past, rest) = rest.split_at_mut(self.past.len());
        let (types, rest) = rest.split_at_mut(types * TYPE_FEATURES);
        let (ahead, jobs) = rest.split_at_mut(lookahead_size);
        self.observe_cluster(simulation, pass, cluster);
        self.observe_past(simulation);
        past.copy_from_slice(&self.past);
        look_ahead(simulation, lookahead, ahead);
        (types, jobs)
    }

    /// The estimate of a job that waits in the pass, in seconds.
    pub(super) fn estimate_s(&self, job: u32) -> f32 {
        self.standing[job as usize].estimate_s
    }

    /// Brings the past up to date: it is the same for all decisions of an instant.
    fn observe_past(&mut self, simulation: &Simulation) {
        if self.past.is_empty() || self.past_at_ms == Some(simulation.now_ms()) {
            return;
        }
        self.past_at_ms = Some(simulation.now_ms());
        let (mut past, capacity) = (std::mem::take(&mut self.past), self.capacity);
        let interval_ms = self.layout.history_interval_ms;
        let area_s = |job: u32| {
            self.refresh(simulation, job);
            self.standing[job as usize].area_s
        };
        tell_past(simulation, interval_ms, capacity, area_s, &mut past);
        self.past = past;
    }

    fn observe_cluster(&mut self, simulation: &Simulation, pass: &Pass, features: &mut [f32]) {
        let part = |value: i64, all: i64| if all == 0 { 0.0 } else { (value as f64 / all as f64) as f32 };
        let all_cores_milli = simulation.setup.cluster.empty.total_cores_milli();
        let area_s: f64 = pass.slots.iter().map(|slot| slot.area_s).sum();
        let urgency: f64 = pass.slots.iter().map(|slot| slot.urgency).sum();
        let oldest_ms = pass.slots.iter().map(|slot| simulation.state(slot.job()).eligible_ms).min();
        let longest_s = oldest_ms.map_or(0.0, |oldest_ms| seconds(simulation.now_ms() - oldest_ms));
        let count = |count: usize| ((1.0 + count as f64).ln() / 10.0).min(1.0) as f32;
        let free = &simulation.machine.free;
        features[0] = part(free.up_cores_milli(), all_cores_milli);
        features[1] = match self.memory_mb {
            0 => 0.0,
            all => part(tracked_memory(simulation, &free.memory_mb), all),
        };
        features[2] = part(free.up_gpu_milli(), self.gpus_milli);
        features[3] = count(simulation.machine.running() as usize);
        features[4] = count(simulation.waiting.queue.len());
        features[5] = ((1.0 + area_s / (self.capacity * HOUR_S)).ln() / 10.0).min(1.0) as f32;
        features[6] = log_time(urgency);
        features[7] = log_time(longest_s);
        features[8] = count(self.recent_arrivals(simulation));
        features[9..12].fill(0.0);
        if let Some(head) = &pass.head {
            features[9] = 1.0;
            features[10] = log_time(seconds(head.reserved_ms - simulation.now_ms()));
            features[11] = (head.spare_part(simulation) as f32).clamp(0.0, 1.0);
        }
        // Sines are the dearest part of an observation, and many decisions fall on one instant.
        if self.circles_at_ms != Some(simulation.now_ms()) {
            self.circles_at_ms = Some(simulation.now_ms());
            for (pair, period_ms) in self.circles.chunks_exact_mut(2).zip([DAY_MS, WEEK_MS]) {
                let turned = simulation.now_ms().rem_euclid(period_ms) as f64 / period_ms as f64;
                let (sine, cosine) = (TAU * turned).sin_cos();
                pair[0] = (0.5 + 0.5 * sine) as f32;
                pair[1] = (0.5 + 0.5 * cosine) as f32;
            }
        }
        features[12..16].copy_from_slice(&self.circles);
    }

    /// How many of the episode's jobs were submitted within the last hour, this instant included.
    fn recent_arrivals(&self, simulation: &Simulation) -> usize {
        let arrived = simulation.setup.window.start + simulation.clock.next_arrival as usize;
        let submits = &simulation.setup.jobs.submit_ms[simulation.setup.window.start..arrived];
        submits.len() - submits.partition_point(|&submit_ms| submit_ms <= simulation.now_ms() - HOUR_MS)
    }

    fn observe_jobs(
        &self,
        simulation: &Simulation,
        pass: &Pass,
        shown: &[u32],
        running: &[Runner],
        features: &mut [f32],
    ) {
        let free = simulation.setup.sizes.free_milli(&simulation.machine.free) as f32 / 1000.0;
        let held = simulation.accounts.tally().map(|tally| &tally.held[..]).unwrap_or_default();
        let mut rows = features.chunks_exact_mut(self.layout.width());
        for (&place, row) in shown.iter().zip(&mut rows) {
            let slot = &pass.slots[place as usize];
            self.observe_job(simulation, slot.job(), (free, held), Standpoint::of(slot), row);
            if self.layout.stops > 0 {
                observe_run(simulation, slot.job(), left_ms(simulation, slot.job()), row);
            }
        }
        for (one, row) in running.iter().zip(&mut rows) {
            self.observe_job(simulation, one.job, (free, held), RUNS, row);
            observe_run(simulation, one.job, one.left_ms, row);
        }
        // Behind the rows of the observation that stood here before there are zeros already.
        rows.take_while(|row| row[0] != 0.0).for_each(|row| row.fill(0.0));
    }

    /// Writes what is told of every job; the caller's own numbers are 0.
    pub(super) fn observe_job(
        &self,
        simulation: &Simulation,
        job: u32,
        (free, held): (f32, &[i64]),
        point: Standpoint,
        row: &mut [f32],
    ) {
        let standing = &self.standing[job as usize];
        let wait_s = seconds(simulation.now_ms() - simulation.state(job).eligible_ms) as f32;
        let user = simulation.setup.jobs.known_user(simulation.setup.place(job));
        let held_by_user = user.map_or(0.0, |user| units_f32(held[user as usize]));
        let flag = |is_so: bool| f32::from(u8::from(is_so));
        let values: [f32; JOB_FEATURES] = [
            1.0,
            standing.log_estimate,
            standing.confidence,
            standing.log_request,
            standing.has_request,
            wait_s / (wait_s + 3600.0),
            wait_s / (wait_s + 86_400.0),
            wait_s / (wait_s + standing.estimate_s),
            standing.cores,
            standing.log_size,
            standing.gpus,
            standing.memory,
            standing.log_area,
            standing.priority,
            if standing.size > 0.0 { standing.size / (standing.size + free) } else { 0.0 },
            flag(point.fits),
            flag(point.delays),
            point.age_rank,
            (held_by_user / self.capacity as f32).min(1.0),
            point.order_gap,
            flag(point.held_back),
        ];
        row[..JOB_FEATURES].copy_from_slice(&values);
        row[JOB_FEATURES..].fill(0.0);
    }

    /// Brings what is known of a job up to date.
    fn refresh(&mut self, simulation: &Simulation, job: u32) {
        // What stands still is worked out again only when the user's jobs have taught something.
        let stamp = 1 + simulation.accounts.changes(job);
        if self.standing[job as usize].stamp == stamp {
            return;
        }
        let place = simulation.setup.window.start + job as usize;
        let shape = simulation.shape_of(job);
        let estimate_s = seconds(simulation.estimate(job).0).max(1.0);
        let cores = shape.total_cores_milli() as f64 / 1000.0;
        let micro = simulation.setup.sizes.micro(simulation.state(job).shape);
        let size = units(micro);
        let request_ms = simulation.setup.jobs.requested_ms[place];
        let part = |amount: i64, all: i64| if all == 0 { 0.0 } else { (amount as f64 / all as f64).min(1.0) as f32 };
        let like_jobs = match simulation.setup.config.estimate {
            Estimate::Perfect => f64::INFINITY,
            _ => simulation.accounts.like_jobs(job),
        };
        let tasks = i64::from(shape.tasks);
        self.standing[job as usize] = Standing {
            stamp,
            estimate_s: estimate_s as f32,
            area_s: estimate_s * size,
            log_estimate: log_time(estimate_s),
            confidence: (1.0 - 2.0 / (like_jobs + 2.0)) as f32,
            log_request: if request_ms == UNKNOWN { 0.0 } else { log_time(seconds(request_ms)) },
            has_request: f32::from(u8::from(request_ms != UNKNOWN)),
            cores: (cores / self.cores).min(1.0) as f32,
            size: units_f32(micro),
            log_size: ((1.0 + size).ln() / self.log_capacity).min(1.0) as f32,
            gpus: part(shape.gpu_milli * tasks, self.gpus_milli),
            memory: part(shape.memory_mb * tasks, self.memory_mb),
            log_area: ((1.0 + estimate_s * size).ln() / 28.0).min(1.0) as f32,
            priority: simulation.accounts.tally().map_or(0.0, |tally| tally.priority(place)) as f32,
        };
    }
}

/// Writes what is told where running jobs are shown, too.
fn observe_run(simulation: &Simulation, job: u32, left_ms: i64, row: &mut [f32]) {
    let state = simulation.state(job);
    let runs = state.phase == Phase::Running;
    let served_ms = if runs { simulation.now_ms() - state.segment_start_ms } else { 0 };
    let stopped = (state.preemptions + state.failures) as f32;
    let values: [f32; RUNNING_FEATURES] = [
        f32::from(u8::from(runs)),
        log_time(seconds(served_ms)),
        log_time(seconds(left_ms)),
        stopped / (stopped + 1.0),
    ];
    row[JOB_FEATURES..][..RUNNING_FEATURES].copy_from_slice(&values);
}

/// How a job stands to the present decision.
#[derive(Clone, Copy)]
pub(super) struct Standpoint {
    fits: bool,
    delays: bool,
    age_rank: f32,
    order_gap: f32,
    held_back: bool,
}

/// A running job's: the order itself would not choose it.
const RUNS: Standpoint = Standpoint { fits: false, delays: false, age_rank: 0.0, order_gap: 0.0, held_back: true };

impl Standpoint {
    pub(super) fn of(slot: &Slot) -> Self {
        let &Slot { fits, delays, age_rank, order_gap, held_back, .. } = slot;
        Standpoint { fits, delays, age_rank, order_gap, held_back }
    }
}

/// What is left of a job's estimate.
pub(crate) fn left_ms(simulation: &Simulation, job: u32) -> i64 {
    (simulation.estimate(job).0 - done_ms(simulation, job)).max(0)
}

/// Memory on the nodes that track it, and are up.
fn tracked_memory(simulation: &Simulation, memory_mb: &[i64]) -> i64 {
    let nodes = (0..).zip(&simulation.setup.cluster.nodes).zip(memory_mb);
    let is_meant = |number, node: &Node| node.memory_mb != UNTRACKED && !simulation.machine.free.is_down(number);
    nodes.filter(|((number, node), _)| is_meant(*number, node)).map(|(_, &memory_mb)| memory_mb).sum()
}
