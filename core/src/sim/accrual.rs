//! What jobs have cost so far, waiting ones included: the objectives that count jobs.

use crate::model::slowdown::{bounded_slowdown, divisor_s};
use crate::order::scores::seconds;
use crate::sim::tally::objective::{BOUNDED_SLOWDOWN, PRIORITY, SLOWDOWN, TURNAROUND, WAIT};
use crate::sim::tally::OBJECTIVES;

/// The objectives that are sums over jobs, each of which costs more the longer it waits.
pub(crate) const OF_JOBS: [usize; 5] = [BOUNDED_SLOWDOWN, WAIT, TURNAROUND, SLOWDOWN, PRIORITY];

/// A job that ran for less than a second may have a slowdown below 1, whose logarithm must stay finite.
const LEAST_SLOWDOWN: f64 = 1e-3;

/// One job, as the objectives see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    /// Counted from the episode's first.
    pub(crate) job: u32,
    /// How long it has held no nodes, also after it was stopped.
    pub(crate) wait_ms: i64,
    /// How long it has held nodes in vain: what starts after stops cost, and work that was lost.
    pub(crate) lost_ms: i64,
    /// How long it runs in all, if it is never stopped.
    pub(crate) run_ms: i64,
    /// 0 to 1.
    pub(crate) priority: f64,
}

impl Served {
    fn run_s(&self) -> f64 {
        seconds(self.run_ms)
    }

    /// By how much it ends later than if it had run at once.
    fn delay_s(&self) -> f64 {
        seconds(self.wait_ms + self.lost_ms)
    }

    /// What the bound adds to the slowdown of a short job that has started.
    fn bound(&self) -> f64 {
        let reached = (self.delay_s() + self.run_s()) * self.rates().bounded;
        reached.max(1.0) - reached
    }

    /// What a second of waiting adds to the objectives.
    fn rates(&self) -> Rates {
        Rates {
            bounded: 1.0 / divisor_s(self.run_s()),
            plain: 1.0 / self.run_s().max(1.0),
            jobs: 1.0,
            priority: self.priority,
        }
    }

    /// The logarithm that counts if the job starts now.
    fn logarithm(&self, objective: usize) -> f64 {
        let (wait_s, delay_s, run_s) = (seconds(self.wait_ms), self.delay_s(), self.run_s());
        match objective {
            BOUNDED_SLOWDOWN => bounded_slowdown(delay_s, run_s).ln(),
            WAIT => wait_s.ln_1p(),
            TURNAROUND => (delay_s + run_s).ln_1p(),
            SLOWDOWN => ((delay_s + run_s) / run_s.max(1.0)).max(LEAST_SLOWDOWN).ln(),
            _ => (self.priority * wait_s).ln_1p(),
        }
    }
}

/// Sums over the jobs that wait.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    bounded: f64,
    plain: f64,
    jobs: f64,
    priority: f64,
}

/// What jobs have cost so far, those that wait included.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accrual {
    /// Of which objectives each job's logarithm counts.
    logarithms: Vec<usize>,
    waiting: Rates,
    sums: [f64; OBJECTIVES],
    /// Of the jobs that have started.
    logs: [f64; OBJECTIVES],
    /// Who waits, where logarithms count; `wait_ms` as it was when the clock began.
    queue: Vec<Served>,
    clock_ms: i64,
}

impl Accrual {
    /// Nobody has come yet.
    pub(crate) fn new(logarithms: Vec<usize>) -> Self {
        Accrual { logarithms, ..Accrual::default() }
    }

    /// Those that wait, wait longer.
    pub(crate) fn pass_time(&mut self, elapsed_ms: i64) {
        self.clock_ms += elapsed_ms;
        self.accrue(seconds(elapsed_ms));
    }

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
        let rates = one.rates();
        let before = std::mem::replace(&mut self.waiting, rates);
        // With its own rates alone: the others have not waited longer because this one is noticed late.
        self.accrue(seconds(one.wait_ms));
        self.waiting = before;
        self.begin_to_wait(one);
    }

    fn begin_to_wait(&mut self, one: &Served) {
        let (before, rates) = (self.waiting, one.rates());
        self.waiting = Rates {
            bounded: before.bounded + rates.bounded,
            plain: before.plain + rates.plain,
            jobs: before.jobs + rates.jobs,
            priority: before.priority + rates.priority,
        };
        if !self.logarithms.is_empty() {
            // Relative to the clock: no entry has to be changed when time passes.
            self.queue.push(Served { wait_ms: one.wait_ms - self.clock_ms, ..*one });
        }
    }

    /// A waiting job starts for the first time.
    pub(crate) fn start(&mut self, one: &Served) {
        self.end_to_wait(one);
        let (rates, wait_s, run_s) = (one.rates(), seconds(one.wait_ms), one.run_s());
        // While the job waited, its wait was counted by these rates; what its run adds is the rest of the whole. The same
        // rate must be used here, and no division, for what was counted to cancel to the last digit.
        self.sums[BOUNDED_SLOWDOWN] += ((wait_s + run_s) * rates.bounded).max(1.0) - wait_s * rates.bounded;
        self.sums[TURNAROUND] += run_s;
        self.sums[SLOWDOWN] += run_s * rates.plain;
    }

    /// A waiting job leaves: what its wait has cost so far stays counted.
    pub(crate) fn leave(&mut self, one: &Served) {
        self.end_to_wait(one);
    }

    /// A job that was stopped starts again: all but the bound was counted with its first start.
    pub(crate) fn start_again(&mut self, one: &Served) {
        self.end_to_wait(one);
        self.sums[BOUNDED_SLOWDOWN] += one.bound();
    }

    /// A job that was stopped waits again; as long as it does, the bound holds it no longer.
    pub(crate) fn wait_again(&mut self, one: &Served) {
        self.sums[BOUNDED_SLOWDOWN] -= one.bound();
        for &objective in &self.logarithms {
            self.logs[objective] -= one.logarithm(objective);
        }
        self.begin_to_wait(one);
    }

    /// A job that has started has held nodes in vain for so long, beside what was counted so far.
    pub(crate) fn lose(&mut self, before: &Served, lost_ms: i64) {
        let after = Served { lost_ms: before.lost_ms + lost_ms, ..*before };
        let (rates, lost_s) = (before.rates(), seconds(lost_ms));
        self.sums[BOUNDED_SLOWDOWN] += lost_s * rates.bounded + after.bound() - before.bound();
        self.sums[TURNAROUND] += lost_s;
        self.sums[SLOWDOWN] += lost_s * rates.plain;
        for &objective in &self.logarithms {
            self.logs[objective] += after.logarithm(objective) - before.logarithm(objective);
        }
    }

    fn end_to_wait(&mut self, one: &Served) {
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
        for &objective in &self.logarithms {
            self.logs[objective] += one.logarithm(objective);
        }
        if let Some(place) = self.queue.iter().position(|waiting| waiting.job == one.job) {
            self.queue.swap_remove(place);
        }
    }

    /// The sums over jobs so far.
    pub(crate) fn sums(&self) -> &[f64; OBJECTIVES] {
        &self.sums
    }

    /// The same, with logarithms where they count: a job that waits counts as if it started now.
    pub(crate) fn counted(&self) -> [f64; OBJECTIVES] {
        let mut values = self.sums;
        for &objective in &self.logarithms {
            let now = |one: &Served| Served { wait_ms: one.wait_ms + self.clock_ms, ..*one }.logarithm(objective);
            values[objective] = self.logs[objective] + self.queue.iter().map(now).sum::<f64>();
        }
        values
    }
}
