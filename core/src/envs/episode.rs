//! What an environment is asked to do, and the episodes that it may play.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cluster::{reject_reason, Cluster, RejectReason};
use crate::config::{Config, Dispatch};
use crate::job::{Fingerprint, Jobs};
use crate::tally::OBJECTIVES;

/// The most rows of a window, and numbers of a look-ahead.
const MOST_ROWS: usize = 1 << 16;

/// Who decides what; the numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Any waiting job; one that does not fit gets a reservation.
    Reserve,
    /// Any job that fits.
    Feasible,
    /// Any waiting job; the clock moves until it fits.
    Committed {
        /// Whether others are filled in meanwhile.
        backfill: bool,
    },
    /// A host for the job at the head.
    Host,
}

impl Mode {
    /// The mode with this number.
    pub fn from_code(code: i32) -> Option<Self> {
        match code {
            0 => Some(Mode::Reserve),
            1 => Some(Mode::Feasible),
            2 => Some(Mode::Committed { backfill: false }),
            3 => Some(Mode::Committed { backfill: true }),
            4 => Some(Mode::Host),
            _ => None,
        }
    }

    /// The rule that does the same without being asked.
    pub fn dispatch(self) -> Dispatch {
        match self {
            Mode::Reserve => Dispatch::Reserve { depth: 1 },
            Mode::Feasible => Dispatch::Reserve { depth: 0 },
            Mode::Committed { backfill } => Dispatch::Committed { backfill },
            Mode::Host => Dispatch::Strict,
        }
    }
}

/// How future capacity is described; the numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookahead {
    /// Not at all.
    Off,
    /// When each slice of the capacity is free.
    PerGpu,
    /// The same times, ascending.
    Sorted,
    /// How much is free after fixed times.
    Cdf,
}

impl Lookahead {
    /// The description with this number.
    pub fn from_code(code: i32) -> Option<Self> {
        [Lookahead::Off, Lookahead::PerGpu, Lookahead::Sorted, Lookahead::Cdf].get(usize::try_from(code).ok()?).copied()
    }
}

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
    /// Each job's logarithm counts.
    pub log: bool,
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
}

impl EnvConfig {
    /// Whether every number can be so.
    pub fn check(&self) -> Result<(), String> {
        if self.mode != Mode::Host && self.window == 0 {
            return Err("window is 0; expected 1 or more rows".to_string());
        }
        for (name, value) in
            [("window", self.window), ("lookahead_size", self.lookahead_size), ("extra_features", self.extra_features)]
        {
            if value > MOST_ROWS {
                return Err(format!("{name} is {value}; expected at most {MOST_ROWS}"));
            }
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
    /// The mean wait that is not to be exceeded.
    pub wait_bound_s: Option<f64>,
    /// The utilization that is to be reached.
    pub utilization_bound: Option<f64>,
}

/// A table, with what the caller tells of its jobs besides.
pub struct Table {
    /// The jobs.
    pub jobs: Arc<Jobs>,
    /// 0 to 1 for each job, or nothing.
    pub priority: Arc<[f64]>,
    /// For each job, where the order wants it.
    pub scores: Vec<f64>,
}

/// All that environments share.
pub struct World {
    /// Tables of jobs.
    pub tables: Vec<Table>,
    /// Clusters.
    pub clusters: Vec<Arc<Cluster>>,
    /// How the simulations behave; its policy is the order of the window.
    pub config: Config,
    /// How the environments do.
    pub env: EnvConfig,
    /// What may be played.
    pub episodes: Vec<Episode>,
    /// Tells these episodes from any others.
    pub fingerprint: u64,
}

impl World {
    /// Checks that everything belongs together.
    pub fn new(
        tables: Vec<Table>,
        clusters: Vec<Arc<Cluster>>,
        mut config: Config,
        env: EnvConfig,
        mut episodes: Vec<Episode>,
    ) -> Result<Self, String> {
        env.check()?;
        config.dispatch = env.mode.dispatch();
        if episodes.is_empty() {
            return Err("there is no episode; give one or more".to_string());
        }
        let mut hash = Fingerprint::default();
        let mut rejects: HashMap<(usize, usize, u32), bool> = HashMap::new();
        for (number, episode) in episodes.iter_mut().enumerate() {
            check_episode(number, episode, &tables, &clusters)?;
            let Table { jobs, .. } = &tables[episode.table];
            let cluster = &clusters[episode.cluster];
            let mut can_run = |job: usize| {
                let shape = jobs.shape[job];
                *rejects
                    .entry((episode.table, episode.cluster, shape))
                    .or_insert_with(|| reject_reason(cluster, &jobs.shapes[shape as usize]) == RejectReason::None)
            };
            let last = episode.first + episode.count;
            episode.measured = (episode.first + episode.warmup..last).filter(|&job| can_run(job)).count() as u32;
            hash.add(jobs.fingerprint);
            hash.add(cluster.fingerprint);
            add_text(&mut hash, &format!("{episode:?}"));
        }
        let hosts = clusters.iter().map(|cluster| cluster.nodes.len());
        if env.mode == Mode::Host && hosts.clone().min() != hosts.max() {
            return Err("the clusters have different numbers of hosts; an observation has one size".to_string());
        }
        // What decides how episodes go; the seed is kept with each state, and may be another.
        add_text(&mut hash, &format!("{config:?}{:?}", EnvConfig { seed: 0, ..env.clone() }));
        for table in &tables {
            table.priority.iter().chain(&table.scores).for_each(|value| hash.add(value.to_bits()));
        }
        Ok(World { tables, clusters, config, env, episodes, fingerprint: hash.finish() })
    }

    /// How many hosts each cluster has.
    pub fn hosts(&self) -> usize {
        self.clusters[0].nodes.len()
    }
}

fn add_text(hash: &mut Fingerprint, text: &str) {
    text.bytes().for_each(|byte| hash.add(byte.into()));
}

fn check_episode(number: usize, one: &Episode, tables: &[Table], clusters: &[Arc<Cluster>]) -> Result<(), String> {
    let Some(table) = tables.get(one.table) else {
        return Err(format!("episode {number}: table is {}; there are {}", one.table, tables.len()));
    };
    if one.cluster >= clusters.len() {
        return Err(format!("episode {number}: cluster is {}; there are {}", one.cluster, clusters.len()));
    }
    let jobs = table.jobs.len();
    if one.count == 0 || one.first.checked_add(one.count).is_none_or(|last| last > jobs) {
        return Err(format!(
            "episode {number}: {} jobs from {} on are not within a table of {jobs} jobs",
            one.count, one.first
        ));
    }
    if one.warmup >= one.count {
        return Err(format!("episode {number}: all of its {} jobs are warm-up", one.count));
    }
    if let Some(scale) = one.scale.iter().find(|&&scale| !(scale > 0.0 && scale.is_finite())) {
        return Err(format!("episode {number}: a scale is {scale}; expected a positive number"));
    }
    match one.relative.iter().find(|value| !value.is_finite()) {
        Some(value) => Err(format!("episode {number}: an objective to subtract is {value}; expected a finite number")),
        None => Ok(()),
    }
}
