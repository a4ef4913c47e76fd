//! Replay buffers across the border.

use std::sync::Mutex;

use super::handles::{locked, open};
use super::{borrow, guard, Failure};
use crate::learn::replay::{Drawn, Replay, ReplayOptions, Stepped};
use crate::net::spec::{JobLayout, Layout};

/// `ReplayOptions`, as C sees it.
#[repr(C)]
pub struct ShunterReplayOptions {
    /// How many jobs an observation shows; 0: it shows hosts.
    pub window: u64,
    /// How many numbers the look-ahead has.
    pub lookahead_size: u64,
    /// How many numbers are told of a job.
    pub job_features: u64,
    /// How many intervals of the recent past are told of.
    pub history: u64,
    /// How many running jobs are shown, behind those that wait.
    pub stops: u64,
    /// How many hosts an observation shows; 0: it shows jobs.
    pub hosts: u64,
    /// How many environments are played.
    pub environments: u64,
    /// How many transitions are kept, over all environments.
    pub capacity: u64,
    /// How many rewards a return is made of.
    pub n_step: u64,
    /// The discount of later rewards.
    pub gamma: f64,
    /// How much errors count when samples are drawn.
    pub priority_exponent: f64,
    /// For the draws.
    pub seed: u64,
    /// How many types of GPUs are chosen among; 0 where none are.
    pub types: u64,
}

impl ShunterReplayOptions {
    fn read(&self) -> Result<ReplayOptions, Failure> {
        let size = |name: &str, value: u64| {
            usize::try_from(value).map_err(|_| Failure::argument(format!("{name} is {value}; that is too many")))
        };
        let (window, hosts) = (size("window", self.window)?, size("hosts", self.hosts)?);
        if (window == 0) == (hosts == 0) {
            let what = format!("window is {window} and hosts {hosts}; expected one of them to be 0");
            return Err(Failure::argument(what));
        }
        let jobs = JobLayout {
            window,
            lookahead_size: size("lookahead_size", self.lookahead_size)?,
            job_features: size("job_features", self.job_features)?,
            history: size("history", self.history)?,
            stops: size("stops", self.stops)?,
            types: size("types", self.types)?,
        };
        Ok(ReplayOptions {
            layout: if hosts > 0 { Layout::Host { hosts } } else { Layout::Job(jobs) },
            environments: size("environments", self.environments)?,
            capacity: size("capacity", self.capacity)?,
            n_step: size("n_step", self.n_step)?,
            gamma: self.gamma,
            priority_exponent: self.priority_exponent,
            seed: self.seed,
        })
    }
}

fn with<T>(handle: u64, body: impl FnOnce(&mut Replay) -> Result<T, Failure>) -> Result<T, Failure> {
    locked(handle, "replay buffer", body)
}

/// Opens a replay buffer that is empty.
///
/// # Safety
/// A non-null `options` must be readable, `handle` writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_replay_open(options: *const ShunterReplayOptions, handle: *mut u64) -> i32 {
    guard(|| {
        borrow!(target; handle);
        super::check_pointer("options", options as usize, std::mem::align_of::<ShunterReplayOptions>())?;
        let options = unsafe { &*options }.read()?;
        *handle = open(Mutex::new(Replay::new(options).map_err(Failure::argument)?));
        Ok(())
    })
}

/// Tells how many transitions can be drawn, and how many bytes everything takes.
///
/// # Safety
/// The pointers must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_replay_sizes(replay: u64, drawable: *mut usize, bytes: *mut usize) -> i32 {
    guard(|| {
        borrow!(target; drawable, bytes);
        with(replay, |replay| {
            (*drawable, *bytes) = (replay.drawable(), replay.bytes());
            Ok(())
        })
    })
}

/// Takes in what environments are about to act on.
///
/// # Safety
/// The arrays must be readable for all environments.
#[no_mangle]
pub unsafe extern "C" fn shunter_replay_begin(replay: u64, observations: *const f32, masks: *const u8) -> i32 {
    guard(|| {
        with(replay, |replay| {
            let [environments, size, actions] = replay.sizes();
            borrow!(read environments * size; observations);
            borrow!(read environments * actions; masks);
            replay.begin(observations, masks).map_err(Failure::argument)
        })
    })
}

/// Takes in one step of all environments.
///
/// # Safety
/// The arrays must be readable for all environments.
#[no_mangle]
pub unsafe extern "C" fn shunter_replay_add(
    replay: u64,
    actions: *const i32,
    observations: *const f32,
    masks: *const u8,
    rewards: *const f64,
    terminated: *const u8,
    truncated: *const u8,
    final_observations: *const f32,
    final_masks: *const u8,
) -> i32 {
    guard(|| {
        with(replay, |replay| {
            let [environments, size, most] = replay.sizes();
            borrow!(read environments * size; observations, final_observations);
            borrow!(read environments * most; masks, final_masks);
            borrow!(read environments; actions, rewards, terminated, truncated);
            let stepped = Stepped {
                actions,
                observations,
                masks,
                rewards,
                terminated,
                truncated,
                final_observations,
                final_masks,
            };
            replay.add(&stepped).map_err(Failure::argument)
        })
    })
}

/// Draws so many samples, and writes them.
///
/// # Safety
/// The arrays must be writable for so many samples.
#[no_mangle]
pub unsafe extern "C" fn shunter_replay_sample(
    replay: u64,
    count: usize,
    importance_exponent: f64,
    observations: *mut f32,
    masks: *mut u8,
    actions: *mut i64,
    returns: *mut f32,
    discounts: *mut f32,
    next_observations: *mut f32,
    next_masks: *mut u8,
    weights: *mut f32,
    places: *mut usize,
) -> i32 {
    guard(|| {
        with(replay, |replay| {
            let [_, size, most] = replay.sizes();
            let all = |each: usize| {
                count.checked_mul(each).ok_or_else(|| Failure::argument(format!("{count} samples are too many")))
            };
            let (numbers, choices) = (all(size)?, all(most)?);
            borrow!(write numbers; observations, next_observations);
            borrow!(write choices; masks, next_masks);
            borrow!(write count; actions, returns, discounts, weights, places);
            let mut drawn = Drawn {
                observations,
                masks,
                actions,
                returns,
                discounts,
                next_observations,
                next_masks,
                weights,
                places,
            };
            replay.sample(importance_exponent, &mut drawn).map_err(Failure::refused)
        })
    })
}

/// Gives transitions that were drawn priorities by their errors.
///
/// # Safety
/// The arrays must be readable for `count`.
#[no_mangle]
pub unsafe extern "C" fn shunter_replay_prioritize(
    replay: u64,
    places: *const usize,
    errors: *const f32,
    count: usize,
) -> i32 {
    guard(|| {
        borrow!(read count; places);
        borrow!(read count; errors);
        with(replay, |replay| replay.set_priorities(places, errors).map_err(Failure::argument))
    })
}

/// Writes the state of a replay buffer, if there is room for it; `needed` says how much it takes.
///
/// # Safety
/// A non-null `bytes` must be writable for `capacity`; `needed` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_replay_state(replay: u64, bytes: *mut u8, capacity: usize, needed: *mut usize) -> i32 {
    guard(|| {
        borrow!(target; needed);
        with(replay, |replay| {
            *needed = replay.state_size();
            if capacity >= *needed {
                borrow!(write *needed; bytes);
                replay.write_state(bytes);
            }
            Ok(())
        })
    })
}

/// Brings a replay buffer back to a state that was written.
///
/// # Safety
/// `bytes` must be readable for `length`.
#[no_mangle]
pub unsafe extern "C" fn shunter_replay_restore(replay: u64, bytes: *const u8, length: usize) -> i32 {
    guard(|| {
        borrow!(read length; bytes);
        with(replay, |replay| replay.restore(bytes).map_err(Failure::argument))
    })
}
