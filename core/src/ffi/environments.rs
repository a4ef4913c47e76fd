//! Environments across the border.

use std::sync::{Arc, Mutex};

use super::config::{origin_ms, read_config, size_by, ShunterConfig};
use super::handles::{find, locked, open};
use super::{borrow, check_pointer, guard, hand_over, read, target, write, Failure};
use crate::envs::decision::Sizes;
use crate::envs::environment::TOTALS;
use crate::envs::episode::{EnvConfig, Episode, Lookahead, Mode};
use crate::envs::vector::{Begin, Steps, Vector, Views};
use crate::envs::world::{Table, World};
use crate::model::cluster::Cluster;
use crate::model::job::Jobs;

/// More environments are a slip of the finger.
const MOST_ENVIRONMENTS: usize = 1 << 20;

/// `EnvConfig`, as C sees it; the numbers for names are in `core/include/shunter.h`.
#[repr(C)]
pub struct ShunterEnvConfig {
    /// A mode's number.
    pub mode: i32,
    /// A look-ahead's number.
    pub lookahead: i32,
    /// How many numbers it has.
    pub lookahead_size: u32,
    /// Rows.
    pub window: u32,
    /// Columns that the caller fills.
    pub extra_features: u32,
    /// 0: no bound.
    pub max_steps: u32,
    /// 0 or 1.
    pub dense: i32,
    /// A bit for each objective.
    pub log: u32,
    /// 0 or 1.
    pub autoreset: i32,
    /// The caller's included.
    pub threads: u32,
    /// Any number.
    pub seed: u64,
    /// Signed.
    pub weights: [f64; 10],
    /// 0 or more.
    pub invalid_penalty: f64,
    /// 0 or more.
    pub bound_weight: f64,
    /// How many intervals of the recent past are told of.
    pub history: u32,
    /// How many running jobs are shown, which may be stopped.
    pub stops: u32,
    /// How long an interval is; above 0 where there are any.
    pub history_interval_ms: i64,
    /// How many types of GPUs are chosen among; 0 where none are.
    pub types: u32,
}

/// `Episode`, as C sees it.
#[repr(C)]
pub struct ShunterEpisode {
    /// A place among the tables.
    pub table: u32,
    /// A place among the clusters.
    pub cluster: u32,
    /// The first job.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// How many of them are not measured.
    pub warmup: u64,
    /// −1: none.
    pub horizon_ms: i64,
    /// Above 0.
    pub scale: [f64; 10],
    /// 0 where nothing is subtracted.
    pub relative: [f64; 10],
    /// Below 0: none.
    pub wait_bound_s: f64,
    /// Below 0: none.
    pub utilization_bound: f64,
    /// A number of `SizeBy`; that of the configuration does not count.
    pub size_by: i32,
    /// When the log begins; likewise.
    pub origin_ms: i64,
}

/// # Safety
/// A non-null `given` must be readable.
pub(super) unsafe fn read_env_config(given: *const ShunterEnvConfig) -> Result<EnvConfig, Failure> {
    check_pointer("env_config", given as usize, std::mem::align_of::<ShunterEnvConfig>())?;
    let given = unsafe { &*given };
    let unknown =
        |what: &str, code: i32| Failure::argument(format!("{what} is {code}; there is none with this number"));
    let flag = |what: &str, value: i32| match value {
        0 | 1 => Ok(value == 1),
        _ => Err(Failure::argument(format!("{what} is {value}; expected 0 or 1"))),
    };
    Ok(EnvConfig {
        mode: Mode::from_code(given.mode.into()).ok_or_else(|| unknown("mode", given.mode))?,
        lookahead: Lookahead::from_code(given.lookahead.into()).ok_or_else(|| unknown("lookahead", given.lookahead))?,
        lookahead_size: given.lookahead_size as usize,
        window: given.window as usize,
        extra_features: given.extra_features as usize,
        max_steps: Some(given.max_steps).filter(|&most| most > 0),
        dense: flag("dense", given.dense)?,
        log: given.log,
        autoreset: flag("autoreset", given.autoreset)?,
        seed: given.seed,
        weights: given.weights,
        invalid_penalty: given.invalid_penalty,
        bound_weight: given.bound_weight,
        history: given.history as usize,
        history_interval_ms: given.history_interval_ms,
        stops: given.stops as usize,
        types: given.types as usize,
    })
}

fn episode(given: &ShunterEpisode) -> Result<Episode, Failure> {
    let whole =
        |value: u64| usize::try_from(value).map_err(|_| Failure::argument(format!("an episode has an absurd {value}")));
    let bound = |value: f64| Some(value).filter(|&value| value >= 0.0);
    Ok(Episode {
        table: given.table as usize,
        cluster: given.cluster as usize,
        first: whole(given.first)?,
        count: whole(given.count)?,
        warmup: whole(given.warmup)?,
        measured: 0,
        horizon_ms: Some(given.horizon_ms).filter(|&horizon_ms| horizon_ms >= 0),
        scale: given.scale,
        relative: given.relative,
        relative_from: 0,
        wait_bound_s: bound(given.wait_bound_s),
        utilization_bound: bound(given.utilization_bound),
        size_by: size_by(given.size_by)?,
        origin_ms: origin_ms(given.origin_ms)?,
    })
}

/// Shares out columns that the caller gives for all tables, one after the other.
fn shared_out(name: &str, values: &[f64], jobs: &[Arc<Jobs>]) -> Result<Vec<Vec<f64>>, Failure> {
    let all: usize = jobs.iter().map(|jobs| jobs.len()).sum();
    if values.is_empty() {
        return Ok(vec![Vec::new(); jobs.len()]);
    }
    if values.len() != all {
        return Err(Failure::argument(format!("{name} has {} values; the tables have {all} jobs", values.len())));
    }
    let mut rest = values;
    let mut parts = Vec::new();
    for jobs in jobs {
        let (part, behind) = rest.split_at(jobs.len());
        parts.push(part.to_vec());
        rest = behind;
    }
    Ok(parts)
}

/// Runs a function on the environments behind a handle.
fn with<T>(handle: u64, body: impl FnOnce(&mut Vector) -> Result<T, Failure>) -> Result<T, Failure> {
    locked(handle, "vector of environments", body)
}

/// Opens environments that play these episodes. `priority` and `scores` are for all tables, one after the other, or empty.
/// `relative_start_ms` is for the jobs of all episodes, one after the other, or empty.
///
/// # Safety
/// Non-null pointers must be readable for their lengths; `handle` must be writable.
#[no_mangle]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn shunter_env_open(
    tables: *const u64,
    table_count: usize,
    clusters: *const u64,
    cluster_count: usize,
    config: *const ShunterConfig,
    env_config: *const ShunterEnvConfig,
    priority: *const f64,
    priority_length: usize,
    scores: *const f64,
    scores_length: usize,
    episodes: *const ShunterEpisode,
    episode_count: usize,
    relative_start_ms: *const i64,
    relative_length: usize,
    environments: usize,
    handle: *mut u64,
) -> i32 {
    guard(|| {
        borrow!(target; handle);
        let jobs: Vec<Arc<Jobs>> = unsafe { read("tables", tables, table_count) }?
            .iter()
            .map(|&table| find::<Arc<Jobs>>(table, "table of jobs").map(|jobs| (*jobs).clone()))
            .collect::<Result<_, _>>()?;
        let clusters: Vec<Arc<Cluster>> = unsafe { read("clusters", clusters, cluster_count) }?
            .iter()
            .map(|&cluster| find::<Arc<Cluster>>(cluster, "cluster").map(|cluster| (*cluster).clone()))
            .collect::<Result<_, _>>()?;
        let config = unsafe { read_config(config) }?;
        let env = unsafe { read_env_config(env_config) }?;
        let threads = unsafe { (*env_config).threads } as usize;
        let priority = shared_out("priority", unsafe { read("priority", priority, priority_length) }?, &jobs)?;
        let scores = shared_out("scores", unsafe { read("scores", scores, scores_length) }?, &jobs)?;
        borrow!(read episode_count; episodes);
        let episodes = episodes.iter().map(episode).collect::<Result<Vec<_>, _>>()?;
        let relative = unsafe { read("relative_start_ms", relative_start_ms, relative_length) }?.to_vec();
        if environments > MOST_ENVIRONMENTS {
            return Err(Failure::argument(format!("{environments} environments are too many")));
        }
        let tables = jobs.into_iter().zip(priority).zip(scores);
        let tables =
            tables.map(|((jobs, priority), scores)| Table { jobs, priority: priority.into(), scores }).collect();
        let world = World::new(tables, clusters, config, env, episodes, relative).map_err(Failure::argument)?;
        let vector = Vector::new(world, environments, threads).map_err(Failure::argument)?;
        *handle = open(Mutex::new(vector));
        Ok(())
    })
}

/// # Safety
/// Non-null pointers must be writable for a row for each environment.
unsafe fn views<'a>(vector: &Vector, observations: *mut f32, masks: *mut u8) -> Result<Views<'a>, Failure> {
    let Sizes { observation: size, actions, .. } = vector.sizes();
    Ok(Views {
        observations: unsafe { write("observations", observations, vector.len() * size) }?,
        masks: unsafe { write("masks", masks, vector.len() * actions) }?,
    })
}

/// Begins episodes: of each environment a place, −1 to leave it alone, −2 to draw one. Writes what all of them see.
///
/// # Safety
/// Non-null pointers must be readable or writable for a row for each environment.
#[no_mangle]
pub unsafe extern "C" fn shunter_env_reset(
    env: u64,
    episodes: *const i64,
    observations: *mut f32,
    masks: *mut u8,
) -> i32 {
    guard(|| {
        with(env, |vector| {
            let begins = unsafe { read("episodes", episodes, vector.len()) }?.iter().map(|&place| match place {
                -1 => Ok(Begin::Not),
                -2 => Ok(Begin::Drawn),
                place => usize::try_from(place)
                    .map(Begin::Episode)
                    .map_err(|_| Failure::argument(format!("an episode is {place}; expected −2 or more"))),
            });
            let begins = begins.collect::<Result<Vec<_>, _>>()?;
            let views = unsafe { views(vector, observations, masks) }?;
            vector.reset(&begins, views).map_err(Failure::argument)
        })
    })
}

/// Draws episodes by another seed from now on, from the first.
#[no_mangle]
pub extern "C" fn shunter_env_reseed(env: u64, seed: u64) -> i32 {
    guard(|| {
        with(env, |vector| {
            vector.reseed(seed);
            Ok(())
        })
    })
}

/// Carries out one action in each environment. The last observations, masks and totals are written where an episode is
/// over.
///
/// # Safety
/// Non-null pointers must be readable or writable for a row for each environment.
#[no_mangle]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn shunter_env_step(
    env: u64,
    actions: *const i32,
    observations: *mut f32,
    masks: *mut u8,
    rewards: *mut f64,
    terminated: *mut u8,
    truncated: *mut u8,
    invalid: *mut u8,
    final_observations: *mut f32,
    final_masks: *mut u8,
    totals: *mut f64,
) -> i32 {
    guard(|| {
        with(env, |vector| {
            let count = vector.len();
            borrow!(read count; actions);
            let steps = Steps {
                next: unsafe { views(vector, observations, masks) }?,
                last: unsafe { views(vector, final_observations, final_masks) }?,
                rewards: unsafe { write("rewards", rewards, count) }?,
                terminated: unsafe { write("terminated", terminated, count) }?,
                truncated: unsafe { write("truncated", truncated, count) }?,
                invalid: unsafe { write("invalid", invalid, count) }?,
                totals: unsafe { write("totals", totals, count * TOTALS) }?,
            };
            vector.step(actions, steps).map_err(Failure::refused)
        })
    })
}

/// Tells what each environment is about: the job in each row (its place in the table, −1 for none; PickHost: one, the
/// head), the instant, the episode's place (−1 for none), how many jobs wait and run.
///
/// # Safety
/// Non-null pointers must be writable: `jobs` for `rows` numbers for each environment, the others for one.
#[no_mangle]
pub unsafe extern "C" fn shunter_env_view(
    env: u64,
    jobs: *mut i64,
    now_ms: *mut i64,
    episode: *mut i64,
    waiting: *mut i64,
    running: *mut i64,
) -> i32 {
    guard(|| {
        with(env, |vector| {
            let count = vector.len();
            let rows = vector.sizes().rows;
            borrow!(write count * rows; jobs);
            borrow!(write count; now_ms, episode, waiting, running);
            jobs.fill(-1);
            for (number, one) in vector.environments.iter().enumerate() {
                episode[number] = one.episode.map_or(-1, |place| place as i64);
                let Some(simulation) = &one.simulation else { continue };
                now_ms[number] = simulation.now_ms();
                waiting[number] = simulation.waiting.queue.len() as i64;
                running[number] = i64::from(simulation.machine.running());
                let first = simulation.setup.window.start as i64;
                let row = &mut jobs[number * rows..(number + 1) * rows];
                for (place, job) in row.iter_mut().zip(one.decision.shown()) {
                    *place = first + i64::from(job);
                }
            }
            Ok(())
        })
    })
}

/// Opens a copy of one environment's simulation.
///
/// # Safety
/// `simulation` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_env_fork(env: u64, index: usize, simulation: *mut u64) -> i32 {
    guard(|| {
        let target = unsafe { target("simulation", simulation) }?;
        let copy = with(env, |vector| {
            let environment = vector.environments.get(index);
            let simulation = environment.and_then(|environment| environment.simulation.as_ref()).ok_or_else(|| {
                Failure::argument(format!("environment {index} does not exist, or has not begun an episode"))
            })?;
            let mut copy = simulation.clone();
            copy.accounts.set_tally(None);
            Ok(copy)
        })?;
        *target = open(Mutex::new(copy));
        Ok(())
    })
}

/// Saves all environments; `needed` becomes the number of bytes. Nothing is written if `capacity` is less.
///
/// # Safety
/// A non-null `bytes` must be writable for `capacity`; `needed` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_env_state(env: u64, bytes: *mut u8, capacity: usize, needed: *mut usize) -> i32 {
    guard(|| {
        borrow!(target; needed);
        let saved = with(env, |vector| Ok(vector.state()))?;
        unsafe { hand_over(&saved, bytes, capacity, needed) }
    })
}

/// Brings all environments back to what was saved, and writes what they see.
///
/// # Safety
/// A non-null `bytes` must be readable for `length`; the others must be writable for a row for each environment.
#[no_mangle]
pub unsafe extern "C" fn shunter_env_restore(
    env: u64,
    bytes: *const u8,
    length: usize,
    observations: *mut f32,
    masks: *mut u8,
) -> i32 {
    guard(|| {
        borrow!(read length; bytes);
        with(env, |vector| {
            let views = unsafe { views(vector, observations, masks) }?;
            vector.restore(bytes, views).map_err(Failure::argument)
        })
    })
}
