//! What a schedule is worth so far: the objectives of `docs/environments.md`, kept up to date as time passes.

use std::sync::Arc;

use crate::model::cluster::Cluster;
use crate::model::free::Free;
use crate::model::job::Jobs;
use crate::order::scores::seconds;
use crate::sim::accrual::{Accrual, Served, OF_JOBS};
use crate::sim::setup::Setup;

/// How many objectives there are.
pub(crate) const OBJECTIVES: usize = 10;

/// The objectives by place.
pub(crate) mod objective {
    pub(crate) const BOUNDED_SLOWDOWN: usize = 0;
    pub(crate) const WAIT: usize = 1;
    pub(crate) const TURNAROUND: usize = 2;
    pub(crate) const SLOWDOWN: usize = 3;
    pub(crate) const UTILIZATION: usize = 4;
    pub(crate) const MAKESPAN: usize = 5;
    pub(crate) const COMPLETION: usize = 6;
    pub(crate) const QUEUE: usize = 7;
    pub(crate) const BALANCE: usize = 8;
    pub(crate) const PRIORITY: usize = 9;
}
use objective::{BALANCE, COMPLETION, MAKESPAN, QUEUE, UTILIZATION};

/// What a schedule is worth so far.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    /// Jobs before this one are warm-up.
    measured_from: u32,
    /// How many measured jobs can run at all.
    measured: f64,
    /// For each job of the table, 0 to 1; empty where the log has none.
    priority: Arc<[f64]>,
    /// Whether the hosts' balance is asked for: it costs a look at every host whenever time passes.
    balance: bool,
    /// The objectives that count jobs.
    of_jobs: Accrual,
    /// The others: sums over measured jobs, and integrals over time.
    sums: [f64; OBJECTIVES],
    elapsed_s: f64,
    pub(crate) max_wait_s: f64,
    pub(crate) started: u32,
    /// The size of what each user's running jobs hold, in millionths.
    pub(crate) held: Vec<i64>,
    /// By job: how much longer it takes where it runs than at full speed, or less; empty where that does not count.
    extra_ms: Vec<i64>,
}

impl Tally {
    /// Nothing has happened yet.
    pub(crate) fn new(jobs: &Jobs, priority: Arc<[f64]>, measured_from: u32, measured: u32) -> Self {
        Tally {
            measured_from,
            measured: f64::from(measured.max(1)),
            priority,
            balance: false,
            of_jobs: Accrual::default(),
            sums: [0.0; OBJECTIVES],
            elapsed_s: 0.0,
            max_wait_s: 0.0,
            started: 0,
            held: vec![0; jobs.users],
            extra_ms: Vec::new(),
        }
    }

    /// It counts how long so many jobs take where they run.
    pub(crate) fn counting_speeds(self, jobs: usize) -> Self {
        Tally { extra_ms: vec![0; jobs], ..self }
    }

    /// Whether it does.
    pub(crate) fn counts_speeds(&self) -> bool {
        !self.extra_ms.is_empty()
    }

    /// How much longer a job takes where it runs, or ran, than at full speed; below 0: less.
    pub(crate) fn extra_ms(&self, job: u32) -> i64 {
        self.extra_ms.get(job as usize).copied().unwrap_or(0)
    }

    /// It takes so much longer than was counted so far, or less.
    pub(crate) fn add_extra(&mut self, before: &Served, extra_ms: i64) {
        self.lose(before, extra_ms);
        self.extra_ms[before.job as usize] += extra_ms;
    }

    /// Of which objectives each job's logarithm counts, and whether hosts are looked at.
    pub(crate) fn with(self, logarithms: Vec<usize>, balance: bool) -> Self {
        Tally { of_jobs: Accrual::new(logarithms), balance, ..self }
    }

    /// A job's priority, by its place in the table.
    pub(crate) fn priority(&self, place: usize) -> f64 {
        self.priority.get(place).copied().unwrap_or(0.0)
    }

    pub(crate) fn measured(&self) -> f64 {
        self.measured
    }

    pub(crate) fn elapsed_s(&self) -> f64 {
        self.elapsed_s
    }

    /// The clock moves.
    pub(crate) fn pass_time(&mut self, elapsed_ms: i64, queued: usize, free: &Free, setup: &Setup) {
        if elapsed_ms == 0 {
            return;
        }
        let elapsed_s = seconds(elapsed_ms);
        self.of_jobs.pass_time(elapsed_ms);
        let all = setup.sizes.capacity_milli;
        let used = (all - setup.sizes.idle_milli(free)) as f64;
        self.sums[UTILIZATION] += used / (all.max(1) as f64) * elapsed_s;
        self.sums[QUEUE] += queued as f64 * elapsed_s;
        if self.balance {
            self.sums[BALANCE] += variance_of_use(free, &setup.cluster) * elapsed_s;
        }
        self.elapsed_s += elapsed_s;
    }

    /// A job begins to wait; `wait_ms` is how late it is noticed.
    pub(crate) fn arrive(&mut self, one: &Served) {
        if one.job >= self.measured_from {
            self.of_jobs.arrive(one);
        }
    }

    /// A waiting job starts, for the first time or again.
    pub(crate) fn start(&mut self, one: &Served, again: bool) {
        if one.job < self.measured_from {
            return;
        }
        self.max_wait_s = self.max_wait_s.max(seconds(one.wait_ms));
        if again {
            self.of_jobs.start_again(one);
        } else {
            self.of_jobs.start(one);
            self.started += 1;
        }
    }

    /// A waiting job leaves: its wait counts as far as it went.
    pub(crate) fn leave(&mut self, one: &Served) {
        if one.job >= self.measured_from {
            self.of_jobs.leave(one);
        }
    }

    /// A job that has started has held nodes in vain for so long, beside what was counted so far.
    pub(crate) fn lose(&mut self, before: &Served, lost_ms: i64) {
        if before.job >= self.measured_from {
            self.of_jobs.lose(before, lost_ms);
        }
    }

    /// A job that was stopped waits again.
    pub(crate) fn wait_again(&mut self, one: &Served) {
        if one.job >= self.measured_from {
            self.of_jobs.wait_again(one);
        }
    }

    /// A running job ends.
    pub(crate) fn end(&mut self, job: u32) {
        if job >= self.measured_from {
            self.sums[COMPLETION] += 1.0;
        }
    }

    /// The objectives as they are so far.
    pub(crate) fn objectives(&self) -> [f64; OBJECTIVES] {
        self.joined(self.of_jobs.sums())
    }

    /// The objectives that the reward counts: the same, with each job's logarithm where that is wanted.
    pub(crate) fn rewarded(&self) -> [f64; OBJECTIVES] {
        self.joined(&self.of_jobs.counted())
    }

    fn joined(&self, of_jobs: &[f64; OBJECTIVES]) -> [f64; OBJECTIVES] {
        // At the first decision no time has passed, and there is no mean over it.
        let per_second = if self.elapsed_s > 0.0 { 1.0 / self.elapsed_s } else { 0.0 };
        let mut values = [0.0; OBJECTIVES];
        for place in OF_JOBS {
            values[place] = of_jobs[place] / self.measured;
        }
        for place in [UTILIZATION, QUEUE, BALANCE] {
            values[place] = self.sums[place] * per_second;
        }
        values[COMPLETION] = self.sums[COMPLETION] / self.measured;
        values[MAKESPAN] = self.elapsed_s;
        values
    }
}

/// The variance over hosts of the part of their cores in use.
fn variance_of_use(free: &Free, cluster: &Cluster) -> f64 {
    let hosts = cluster.nodes.len() as f64;
    let (mut sum, mut squares) = (0.0, 0.0);
    for (node, &left) in cluster.nodes.iter().zip(&free.cores_milli) {
        let used = if node.cores_milli == 0 { 0.0 } else { 1.0 - left as f64 / node.cores_milli as f64 };
        sum += used;
        squares += used * used;
    }
    // Rounding may leave a little less than nothing.
    (squares / hosts - (sum / hosts) * (sum / hosts)).max(0.0)
}
