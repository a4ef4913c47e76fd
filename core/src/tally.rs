//! What a schedule is worth so far: the objectives of `docs/environments.md`, kept up to date as time passes.

use std::sync::Arc;

use crate::cluster::{Cluster, Free};
use crate::job::Jobs;
use crate::policy::seconds;

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
use objective::{
    BALANCE, BOUNDED_SLOWDOWN, COMPLETION, MAKESPAN, PRIORITY, QUEUE, SLOWDOWN, TURNAROUND, UTILIZATION, WAIT,
};

/// One job, as the objectives see it.
pub(crate) struct Served {
    /// Counted from the episode's first.
    pub(crate) job: u32,
    pub(crate) wait_ms: i64,
    /// How long it will run.
    pub(crate) run_ms: i64,
    /// 0 to 1.
    pub(crate) priority: f64,
}

impl Served {
    fn run_s(&self) -> f64 {
        seconds(self.run_ms)
    }

    /// What a second of waiting adds to the objectives that count jobs.
    fn rates(&self) -> Rates {
        Rates {
            bounded: 1.0 / self.run_s().max(10.0),
            plain: 1.0 / self.run_s().max(1.0),
            jobs: 1.0,
            priority: self.priority,
        }
    }
}

/// Sums over the measured jobs that wait.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    bounded: f64,
    plain: f64,
    jobs: f64,
    priority: f64,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    /// Jobs before this one are warm-up.
    measured_from: u32,
    /// How many measured jobs can run at all.
    measured: f64,
    /// For each job of the table, 0 to 1; empty where the log has none.
    priority: Arc<[f64]>,
    /// Whether each job's logarithm counts, when it starts.
    log: bool,
    /// Whether the hosts' balance is asked for: it costs a look at every host whenever time passes.
    balance: bool,
    waiting: Rates,
    /// Sums over measured jobs, and integrals over time.
    sums: [f64; OBJECTIVES],
    /// The first four and the last, each job's logarithm counting.
    logs: [f64; OBJECTIVES],
    elapsed_s: f64,
    pub(crate) max_wait_s: f64,
    pub(crate) started: u32,
    /// Milli-cores that each user's running jobs hold.
    pub(crate) held: Vec<i64>,
}

impl Tally {
    /// Nothing has happened yet.
    pub(crate) fn new(jobs: &Jobs, priority: Arc<[f64]>, measured_from: u32, measured: u32) -> Self {
        Tally {
            measured_from,
            measured: f64::from(measured.max(1)),
            priority,
            log: false,
            balance: false,
            waiting: Rates::default(),
            sums: [0.0; OBJECTIVES],
            logs: [0.0; OBJECTIVES],
            elapsed_s: 0.0,
            max_wait_s: 0.0,
            started: 0,
            held: vec![0; jobs.users],
        }
    }

    /// Whether jobs count with their logarithms, and whether hosts are looked at.
    pub(crate) fn with(self, log: bool, balance: bool) -> Self {
        Tally { log, balance, ..self }
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
    pub(crate) fn pass_time(&mut self, elapsed_ms: i64, queued: usize, free: &Free, cluster: &Cluster) {
        if elapsed_ms == 0 {
            return;
        }
        let elapsed_s = seconds(elapsed_ms);
        self.accrue(elapsed_s);
        let used = (cluster.empty.total_cores_milli() - free.total_cores_milli()) as f64;
        self.sums[UTILIZATION] += used / (cluster.empty.total_cores_milli() as f64) * elapsed_s;
        self.sums[QUEUE] += queued as f64 * elapsed_s;
        if self.balance {
            self.sums[BALANCE] += variance_of_use(free, cluster) * elapsed_s;
        }
        self.elapsed_s += elapsed_s;
    }

    /// Those that wait, wait longer.
    fn accrue(&mut self, elapsed_s: f64) {
        let Rates { bounded, plain, jobs, priority } = self.waiting;
        self.sums[BOUNDED_SLOWDOWN] += bounded * elapsed_s;
        self.sums[WAIT] += jobs * elapsed_s;
        self.sums[TURNAROUND] += jobs * elapsed_s;
        self.sums[SLOWDOWN] += plain * elapsed_s;
        self.sums[PRIORITY] += priority * elapsed_s;
    }

    /// A job begins to wait; `wait_ms` is how late it is noticed.
    pub(crate) fn arrive(&mut self, one: &Served) {
        if one.job < self.measured_from {
            return;
        }
        let rates = one.rates();
        let before = std::mem::replace(&mut self.waiting, rates);
        self.accrue(seconds(one.wait_ms));
        self.waiting = Rates {
            bounded: before.bounded + rates.bounded,
            plain: before.plain + rates.plain,
            jobs: before.jobs + rates.jobs,
            priority: before.priority + rates.priority,
        };
    }

    /// A waiting job starts.
    pub(crate) fn start(&mut self, one: &Served) {
        if one.job < self.measured_from {
            return;
        }
        let rates = one.rates();
        self.waiting = if self.waiting.jobs <= 1.0 {
            // Nobody waits any more: what rounding has left is thrown away.
            Rates::default()
        } else {
            Rates {
                bounded: self.waiting.bounded - rates.bounded,
                plain: self.waiting.plain - rates.plain,
                jobs: self.waiting.jobs - rates.jobs,
                priority: self.waiting.priority - rates.priority,
            }
        };
        let (wait_s, run_s) = (seconds(one.wait_ms), one.run_s());
        let bounded = ((wait_s + run_s) * rates.bounded).max(1.0);
        let plain = (wait_s + run_s) * rates.plain;
        // While the job waited, its wait was counted; now it is known what its run adds.
        self.sums[BOUNDED_SLOWDOWN] += bounded - wait_s * rates.bounded;
        self.sums[TURNAROUND] += run_s;
        self.sums[SLOWDOWN] += run_s * rates.plain;
        if self.log {
            self.logs[BOUNDED_SLOWDOWN] += bounded.ln();
            self.logs[WAIT] += wait_s.ln_1p();
            self.logs[TURNAROUND] += (wait_s + run_s).ln_1p();
            // A job that ran for less than a second may have a slowdown below 1.
            self.logs[SLOWDOWN] += plain.max(1e-3).ln();
            self.logs[PRIORITY] += (one.priority * wait_s).ln_1p();
        }
        self.max_wait_s = self.max_wait_s.max(wait_s);
        self.started += 1;
    }

    /// A running job ends.
    pub(crate) fn end(&mut self, job: u32) {
        if job >= self.measured_from {
            self.sums[COMPLETION] += 1.0;
        }
    }

    /// The objectives as they are so far.
    pub(crate) fn objectives(&self) -> [f64; OBJECTIVES] {
        let per_job = 1.0 / self.measured;
        let per_second = if self.elapsed_s > 0.0 { 1.0 / self.elapsed_s } else { 0.0 };
        let mut values = self.sums;
        for (place, value) in values.iter_mut().enumerate() {
            *value *= match place {
                UTILIZATION | QUEUE | BALANCE => per_second,
                _ => per_job,
            };
        }
        values[MAKESPAN] = self.elapsed_s;
        values
    }

    /// The objectives that the reward counts: the same, or with each job's logarithm.
    pub(crate) fn rewarded(&self) -> [f64; OBJECTIVES] {
        let mut values = self.objectives();
        if self.log {
            for place in [BOUNDED_SLOWDOWN, WAIT, TURNAROUND, SLOWDOWN, PRIORITY] {
                values[place] = self.logs[place] / self.measured;
            }
        }
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
    (squares / hosts - (sum / hosts) * (sum / hosts)).max(0.0)
}
