//! What an environment is asked to do, and the episodes that it may play.

use std::fmt;

use crate::model::codes::from_code;
use crate::model::job::MAX_DURATION_MS;
use crate::model::size::SizeBy;
use crate::sim::accrual::OF_JOBS;
use crate::sim::tally::OBJECTIVES;

/// The most rows of a window, and numbers of a look-ahead.
const MOST_ROWS: usize = 1 << 16;

/// Who decides what; the numbers are part of the C ABI.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Mode {
    /// Any waiting job; one that does not fit gets a reservation.
    Reserve = 0,
    /// Any job that fits.
    Feasible = 1,
    /// Any waiting job; the clock moves until it fits.
    Committed = 2,
    /// The same, others being filled in.
    CommittedBackfill = 3,
    /// A host for the job at the head.
    Host = 4,
    /// Any job that fits, on a type of GPU.
    Pairs = 5,
}

from_code!(Mode: Reserve, Feasible, Committed, CommittedBackfill, Host, Pairs);

impl fmt::Debug for Mode {
    /// Fingerprints are made of these words: environments that were kept must be known again.
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(match self {
            Mode::Reserve => "Reserve",
            Mode::Feasible => "Feasible",
            Mode::Committed => "Committed { backfill: false }",
            Mode::CommittedBackfill => "Committed { backfill: true }",
            Mode::Host => "Host",
            Mode::Pairs => "Pairs",
        })
    }
}

/// How future capacity is described; the numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Lookahead {
    /// Not at all.
    Off = 0,
    /// When each slice of the capacity is free.
    PerGpu = 1,
    /// The same times, ascending.
    Sorted = 2,
    /// How much is free after fixed times.
    Cdf = 3,
}

from_code!(Lookahead: Off, PerGpu, Sorted, Cdf);

/// What does not change from episode to episode.
#[derive(Clone, Debug)]
pub struct EnvConfig {
    /// Who decides what.
    pub mode: Mode,
    /// How future capacity is described.
    pub lookahead: Lookahead,
    /// In how many numbers.
    pub lookahead_size: usize,
    /// Rows of the queue that are seen.
    pub window: usize,
    /// Columns of each row that the caller fills.
    pub extra_features: usize,
    /// Decisions after which an episode is cut.
    pub max_steps: Option<u32>,
    /// Rewards come as the objectives change, not at the end alone.
    pub dense: bool,
    /// A bit for each objective of which each job's logarithm counts.
    pub log: u32,
    /// An episode that is over is followed by the next in the same step.
    pub autoreset: bool,
    /// Which episodes are drawn.
    pub seed: u64,
    /// Of the objectives in the reward; signed.
    pub weights: [f64; OBJECTIVES],
    /// What an action that is not allowed costs.
    pub invalid_penalty: f64,
    /// What it costs to miss a bound.
    pub bound_weight: f64,
    /// How many intervals of the recent past are told of.
    pub history: usize,
    /// How long each of them is.
    pub history_interval_ms: i64,
    /// How many running jobs are shown, which may be stopped.
    pub stops: usize,
    /// How many types of GPUs are chosen among; 0 where none are.
    pub types: usize,
}

impl EnvConfig {
    /// What is decided and what is shown; nothing is rewarded.
    pub(crate) fn shown(
        mode: Mode,
        lookahead: Lookahead,
        lookahead_size: usize,
        window: usize,
        extra_features: usize,
    ) -> Self {
        EnvConfig {
            mode,
            lookahead,
            lookahead_size,
            window,
            extra_features,
            max_steps: None,
            dense: false,
            log: 0,
            autoreset: false,
            seed: 0,
            weights: [0.0; OBJECTIVES],
            invalid_penalty: 0.0,
            bound_weight: 0.0,
            history: 0,
            history_interval_ms: 0,
            stops: 0,
            types: 0,
        }
    }

    /// All that decides how episodes go, in words; the seed is kept with each state, and may be another.
    pub(crate) fn words(&self) -> String {
        let plain = format!(", history: 0, history_interval_ms: {}, stops: 0", self.history_interval_ms);
        // Earlier versions did not have these, and environments that were kept then must be known again.
        format!("{:?}", EnvConfig { seed: 0, ..self.clone() }).replace(", types: 0", "").replace(&plain, "")
    }

    /// The objectives of which each job's logarithm counts.
    pub(crate) fn logarithms(&self) -> Vec<usize> {
        OF_JOBS.into_iter().filter(|&place| self.log & (1 << place) != 0 && self.weights[place] != 0.0).collect()
    }

    /// Whether every number can be so.
    pub fn check(&self) -> Result<(), String> {
        for (name, value) in [
            ("window", self.window),
            ("window times types", self.window.saturating_mul(self.types)),
            ("lookahead_size", self.lookahead_size),
            ("extra_features", self.extra_features),
            ("history", self.history),
            ("stops", self.stops),
        ] {
            if value > MOST_ROWS {
                return Err(format!("{name} is {value}; expected at most {MOST_ROWS}"));
            }
        }
        if self.history > 0 && !(1..=MAX_DURATION_MS).contains(&self.history_interval_ms) {
            let given = self.history_interval_ms;
            return Err(format!("history_interval_ms is {given}; expected 1 to {MAX_DURATION_MS}"));
        }
        let numbers = self.weights.iter().chain([&self.invalid_penalty, &self.bound_weight]);
        match numbers.copied().find(|number| !number.is_finite()) {
            Some(number) => Err(format!("a weight of the reward is {number}; expected a finite number")),
            None => Ok(()),
        }
    }
}

/// One window of a table on a cluster.
#[derive(Clone, Debug)]
pub struct Episode {
    /// A place among the tables.
    pub table: usize,
    /// A place among the clusters.
    pub cluster: usize,
    /// The first job in its table.
    pub first: usize,
    /// How many jobs.
    pub count: usize,
    /// How many of them are not measured.
    pub warmup: usize,
    /// How many of the others can run at all; worked out by `World::new`.
    pub measured: u32,
    /// When the episode is cut, counted from its beginning.
    pub horizon_ms: Option<i64>,
    /// What each objective is divided by.
    pub scale: [f64; OBJECTIVES],
    /// What is subtracted from each objective.
    pub relative: [f64; OBJECTIVES],
    /// Where the starts of its jobs in the schedule that is subtracted begin; worked out by `World::new`.
    pub relative_from: usize,
    /// The mean wait that is not to be exceeded.
    pub wait_bound_s: Option<f64>,
    /// The utilization that is to be reached.
    pub utilization_bound: Option<f64>,
    /// What jobs' sizes are counted in.
    pub size_by: SizeBy,
    /// When the log begins.
    pub origin_ms: i64,
}
