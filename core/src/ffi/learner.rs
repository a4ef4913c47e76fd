//! Training across the border.

use std::sync::Mutex;

use super::handles::{locked, open};
use super::policy::{read_loss, with as with_policy, ShunterLossOptions};
use super::{borrow, guard, Failure};
use crate::envs::environment::TOTALS;
use crate::envs::vector::Vector;
use crate::learn::learner::{Learner, PpoOptions};

/// `PpoOptions`, as C sees it.
#[repr(C)]
pub struct ShunterPpoOptions {
    /// Steps of each environment before each update.
    pub rollout_steps: u64,
    /// How often each update goes through them.
    pub epochs: u64,
    /// How many steps a gradient is taken from.
    pub minibatch: u64,
    /// The discount of later rewards.
    pub gamma: f64,
    /// See `generalized_advantages`.
    pub gae_lambda: f64,
    /// Gradients longer than this are shortened to it.
    pub max_gradient_norm: f64,
    /// Below 0: never.
    pub target_kl: f64,
    /// 0 or 1.
    pub normalize_values: i32,
    /// 0 or 1.
    pub normalize_advantages: i32,
}

/// `Learned`, as C sees it.
#[repr(C)]
pub struct ShunterLearned {
    /// Means over gradient steps.
    pub policy_loss: f64,
    /// Likewise.
    pub value_loss: f64,
    /// Likewise.
    pub entropy: f64,
    /// Likewise.
    pub approx_kl: f64,
    /// Likewise.
    pub clip_fraction: f64,
    /// Likewise.
    pub gradient_norm: f64,
    /// How many steps were taken.
    pub gradient_steps: u64,
    /// How well values had foreseen returns.
    pub explained_variance: f64,
    /// How many episodes ended.
    pub episodes: u64,
    /// Sums over these.
    pub totals: [f64; 18],
    /// How often the policy chose to wait.
    pub waits: u64,
    /// Seconds in environments, over all threads.
    pub env_s: f64,
    /// Seconds in the network while playing, over all threads.
    pub net_s: f64,
    /// Seconds of learning.
    pub learn_s: f64,
    /// 0, or what is no longer a number: 1 the rewards, 2 the loss, 3 the gradient.
    pub diverged: i32,
    /// What it is.
    pub diverged_value: f64,
}

const _: () = assert!(TOTALS == 18, "the length of `ShunterLearned::totals`");

fn with<T>(handle: u64, body: impl FnOnce(&mut Learner) -> Result<T, Failure>) -> Result<T, Failure> {
    locked(handle, "learner", body)
}

/// Begins a training of a policy's network.
///
/// # Safety
/// Non-null pointers must be readable; `handle` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_learner_open(
    policy: u64,
    options: *const ShunterPpoOptions,
    loss: *const ShunterLossOptions,
    seed: u64,
    handle: *mut u64,
) -> i32 {
    guard(|| {
        borrow!(target; handle);
        super::check_pointer("options", options as usize, std::mem::align_of::<ShunterPpoOptions>())?;
        let (given, loss) = (unsafe { &*options }, unsafe { read_loss(loss) }?);
        let numbers = [given.gamma, given.gae_lambda, given.max_gradient_norm, given.target_kl];
        if let Some(number) = numbers.iter().find(|number| !number.is_finite()) {
            return Err(Failure::argument(format!("a number of the training is {number}; expected a finite one")));
        }
        let count = |name: &str, value: u64| {
            usize::try_from(value)
                .ok()
                .filter(|&value| value < 1 << 40)
                .ok_or_else(|| Failure::argument(format!("{name} is {value}; that is too many")))
        };
        let options = PpoOptions {
            rollout_steps: count("rollout_steps", given.rollout_steps)?,
            epochs: count("epochs", given.epochs)?,
            minibatch: count("minibatch", given.minibatch)?,
            gamma: given.gamma,
            gae_lambda: given.gae_lambda,
            max_gradient_norm: given.max_gradient_norm,
            target_kl: Some(given.target_kl).filter(|&most| most >= 0.0),
            normalize_values: given.normalize_values != 0,
            normalize_advantages: given.normalize_advantages != 0,
            loss,
        };
        let learner =
            with_policy(policy, |policy| Learner::new(&policy.network, options, seed).map_err(Failure::argument))?;
        *handle = open(Mutex::new(learner));
        Ok(())
    })
}

/// Plays and learns once: the policy's weights change. Environments that have no episode begin one.
///
/// # Safety
/// `loss` must be readable, and `learned` writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_learner_update(
    learner: u64,
    env: u64,
    policy: u64,
    loss: *const ShunterLossOptions,
    learning_rate: f64,
    learned: *mut ShunterLearned,
) -> i32 {
    guard(|| {
        borrow!(target; learned);
        let loss = unsafe { read_loss(loss) }?;
        if !learning_rate.is_finite() || learning_rate < 0.0 {
            return Err(Failure::argument(format!("learning_rate is {learning_rate}; expected 0 or more")));
        }
        let found = with(learner, |learner| {
            locked(env, "vector of environments", |vector: &mut Vector| {
                with_policy(policy, |policy| {
                    learner.update(vector, policy, loss, learning_rate).map_err(Failure::refused)
                })
            })
        })?;
        *learned = ShunterLearned {
            policy_loss: found.loss.policy,
            value_loss: found.loss.value,
            entropy: found.loss.entropy,
            approx_kl: found.loss.approx_kl,
            clip_fraction: found.loss.clipped,
            gradient_norm: found.gradient_norm,
            gradient_steps: found.gradient_steps,
            explained_variance: found.explained_variance,
            episodes: found.played.episodes,
            totals: found.played.totals,
            waits: found.played.waits,
            env_s: found.played.env_time.as_secs_f64(),
            net_s: found.played.net_time.as_secs_f64(),
            learn_s: found.learn_time.as_secs_f64(),
            diverged: found.diverged.map_or(0, |(what, _)| what as i32),
            diverged_value: found.diverged.map_or(0.0, |(_, value)| value),
        };
        Ok(())
    })
}

/// Tells what a training remembers of gradients, a number for each weight; how many steps it took along them, and how
/// many updates there were.
///
/// # Safety
/// `first` and `second` must be writable for `length` numbers, the others for one.
#[no_mangle]
pub unsafe extern "C" fn shunter_learner_get(
    learner: u64,
    first: *mut f32,
    second: *mut f32,
    length: usize,
    steps: *mut u64,
    updates: *mut u64,
) -> i32 {
    guard(|| {
        borrow!(target; steps, updates);
        borrow!(write length; first, second);
        with(learner, |learner| {
            check_length(learner, length)?;
            first.copy_from_slice(&learner.adam.first);
            second.copy_from_slice(&learner.adam.second);
            (*steps, *updates) = (learner.adam.steps, learner.updates);
            Ok(())
        })
    })
}

/// Brings a training back to what `shunter_learner_get` told.
///
/// # Safety
/// `first` and `second` must be readable for `length` numbers.
#[no_mangle]
pub unsafe extern "C" fn shunter_learner_set(
    learner: u64,
    first: *const f32,
    second: *const f32,
    length: usize,
    steps: u64,
    updates: u64,
) -> i32 {
    guard(|| {
        borrow!(read length; first, second);
        with(learner, |learner| {
            check_length(learner, length)?;
            let is_memory = first.iter().all(|slope| slope.is_finite())
                && second.iter().all(|square| square.is_finite() && *square >= 0.0);
            if !is_memory {
                return Err(Failure::argument("what is remembered of gradients holds numbers that cannot be"));
            }
            learner.adam.first.copy_from_slice(first);
            learner.adam.second.copy_from_slice(second);
            (learner.adam.steps, learner.updates) = (steps, updates);
            Ok(())
        })
    })
}

fn check_length(learner: &Learner, length: usize) -> Result<(), Failure> {
    match learner.adam.first.len() {
        own if own == length => Ok(()),
        own => Err(Failure::argument(format!("{length} numbers were given; the network has {own} weights"))),
    }
}
