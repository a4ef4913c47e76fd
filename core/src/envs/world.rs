//! All that environments share: jobs, clusters, and the episodes that may be played on them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::envs::decision::{kind_of, Kind, Sizes};
use crate::envs::episode::{EnvConfig, Episode, Mode};
use crate::model::cluster::{reject_reason, Cluster, RejectReason};
use crate::model::config::{Config, Policy};
use crate::model::job::{Fingerprint, Jobs, MAX_TIME_MS};
use crate::model::size::{JobSizes, SizeBy};

/// The start of a job that never starts.
pub(crate) const NEVER_MS: i64 = i64::MIN;

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
    /// When each job of each episode, one after the other, starts in the schedule that is subtracted; or nothing.
    pub relative_start_ms: Vec<i64>,
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
        relative_start_ms: Vec<i64>,
    ) -> Result<Self, String> {
        let kind = kind_of(env.mode);
        env.check()?;
        kind.check(&env, &clusters)?;
        if env.mode == Mode::Host && config.waits_for_locality() {
            return Err(
                "wait_for_locality is for environments that choose jobs; leave it out where hosts are chosen".into()
            );
        }
        tables.iter().try_for_each(|table| check_priority(&table.priority))?;
        if config.ends_first() || config.policy == Policy::Pairs && env.mode != Mode::Pairs {
            return Err(
                "environments ask about jobs, not about types of GPUs: take pairs of prices, or none".to_string()
            );
        }
        config.dispatch = kind.dispatch();
        if episodes.is_empty() {
            return Err("there is no episode; give one or more".to_string());
        }
        let mut hash = Fingerprint::default();
        let mut relative_from = 0_usize;
        let mut rejects: HashMap<(usize, usize, u32), bool> = HashMap::new();
        let mut counts_more: HashMap<(usize, usize, SizeBy), bool> = HashMap::new();
        // Means are over jobs that can ever run; episodes share shapes, so each shape is asked about once.
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
            episode.relative_from = relative_from;
            relative_from += episode.count;
            let last = episode.first + episode.count;
            episode.measured = (episode.first + episode.warmup..last).filter(|&job| can_run(job)).count() as u32;
            hash.add(jobs.fingerprint);
            hash.add(cluster.fingerprint);
            add_text(&mut hash, &words(episode, episode.size_by, episode.origin_ms));
            let counts_more = *counts_more.entry((episode.table, episode.cluster, episode.size_by)).or_insert_with_key(
                |&(.., by)| JobSizes::new(cluster, jobs, by, config.policy).count_more_than_cores(jobs),
            );
            if counts_more {
                hash.add(1 + episode.size_by.code() as u64);
            }
        }
        if !relative_start_ms.is_empty() && relative_start_ms.len() != relative_from {
            let given = relative_start_ms.len();
            return Err(format!("relative_start_ms has {given} values; the episodes have {relative_from} jobs"));
        }
        relative_start_ms.iter().for_each(|&start_ms| hash.add(start_ms as u64));
        add_text(&mut hash, &words(&config, config.size_by, config.origin_ms));
        add_text(&mut hash, &env.words());
        for table in &tables {
            table.priority.iter().chain(&table.scores).for_each(|value| hash.add(value.to_bits()));
        }
        let world = World { tables, clusters, config, env, episodes, relative_start_ms, fingerprint: hash.finish() };
        for (number, episode) in world.episodes.iter().enumerate() {
            check_starts(number, episode, &world.tables[episode.table].jobs, world.relative_starts(episode))?;
        }
        Ok(world)
    }

    /// When the jobs of an episode start in the schedule that is subtracted; nothing where none is.
    pub fn relative_starts(&self, episode: &Episode) -> &[i64] {
        self.relative_start_ms.get(episode.relative_from..episode.relative_from + episode.count).unwrap_or_default()
    }

    /// What the environments decide.
    pub(crate) fn kind(&self) -> &'static dyn Kind {
        kind_of(self.env.mode)
    }

    /// How much environments show, and take.
    pub(crate) fn sizes(&self) -> Sizes {
        self.kind().sizes(&self.env, &self.clusters)
    }
}

/// Whether priorities are what observations and rewards can take.
pub(crate) fn check_priority(priority: &[f64]) -> Result<(), String> {
    match priority.iter().all(|value| (0.0..=1.0).contains(value)) {
        true => Ok(()),
        false => Err("a priority is not from 0 to 1; scale them".to_string()),
    }
}

/// What the words of a configuration end with in which nobody waits for close nodes.
const NO_LOCALITY: &str = ", locality_wait_ms: Some(0), locality_loss_micro: Some(0)";

/// What they end with where jobs take any type of GPU.
const NO_PAIRS: &str = ", pairs: Any, type_prices: [], price_factor: 1.0";

/// A value in words, without what sizes are counted in, from when time is, that memory costs nothing, that nobody waits for
/// close nodes, and that jobs take any type. Earlier versions did not have these, and environments that were kept then must be known again.
fn words(value: &impl std::fmt::Debug, size_by: SizeBy, origin_ms: i64) -> String {
    let all = format!("{value:?}").replace(&format!(", size_by: {size_by:?}, origin_ms: {origin_ms}"), "");
    all.replace(NO_PAIRS, "").replace(NO_LOCALITY, "").replace(", preemption_overhead_per_gb_ms: 0,", ",")
}

fn add_text(hash: &mut Fingerprint, text: &str) {
    text.bytes().for_each(|byte| hash.add(byte.into()));
}

fn check_starts(number: usize, one: &Episode, jobs: &Jobs, start_ms: &[i64]) -> Result<(), String> {
    for (job, &start_ms) in start_ms.iter().enumerate().filter(|(_, &start_ms)| start_ms != NEVER_MS) {
        let submit_ms = jobs.submit_ms[one.first + job];
        if !(submit_ms..=MAX_TIME_MS).contains(&start_ms) {
            return Err(format!(
                "episode {number}: job {job} starts at {start_ms} in the schedule to subtract, and comes at {submit_ms}"
            ));
        }
    }
    Ok(())
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
