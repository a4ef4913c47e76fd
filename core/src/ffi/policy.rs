//! Learned policies across the border: read, evaluated, asked.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::decide::Decision;
use super::handles::{locked, open};
use super::simulation::with as with_simulation;
use super::{borrow, guard, hand_over, read, write, Failure, Status};
use crate::decide::consultation::Consultation;
use crate::envs::play::check_sizes;
use crate::envs::vector::Vector;
use crate::learn::learner::gradient_of;
use crate::learn::loss::{LossOptions, Sample};
use crate::model::random::mix;
use crate::net::batch::Batch;
use crate::net::choice::{best_action, greedy, Distribution};
use crate::net::functions::all_finite;
use crate::net::policy::{Policy, Units};
use crate::net::simd::Instructions;
use crate::net::workspace::Workspace;

/// The score of what a mask forbids: finite, so that 0 times it is 0.
const FORBIDDEN: f32 = -1e30;
/// So many observations are evaluated together.
const TOGETHER: usize = 32;

/// A policy that has been opened, with what it is asked in: kept from call to call, for a decision takes less time than
/// to find room for it.
struct Opened {
    policy: Policy,
    batch: Batch,
    workspace: Workspace,
}

impl Opened {
    fn handle(policy: Policy) -> u64 {
        open(Mutex::new(Opened { policy, batch: Batch::default(), workspace: Workspace::default() }))
    }
}

/// Runs a function on the policy behind a handle.
pub(super) fn with<T>(handle: u64, body: impl FnOnce(&mut Policy) -> Result<T, Failure>) -> Result<T, Failure> {
    locked(handle, "policy", |opened: &mut Opened| body(&mut opened.policy))
}

/// Opens the checkpoint in a folder, whose path is in UTF-8.
///
/// # Safety
/// `path` must be readable for `length` bytes; `handle` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_policy_load(path: *const u8, length: usize, handle: *mut u64) -> i32 {
    guard(|| {
        borrow!(target; handle);
        borrow!(read length; path);
        let path = std::str::from_utf8(path).map_err(|_| Failure::argument("path is not UTF-8"))?;
        *handle = Opened::handle(Policy::load(Path::new(path)).map_err(Failure::argument)?);
        Ok(())
    })
}

/// Opens the policy that a text describes as a checkpoint's `policy.json` does; its weights are all 0.
///
/// # Safety
/// `about` must be readable for `length` bytes; `handle` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_policy_open(about: *const u8, length: usize, handle: *mut u64) -> i32 {
    guard(|| {
        borrow!(target; handle);
        borrow!(read length; about);
        *handle = Opened::handle(Policy::describe(about).map_err(Failure::argument)?);
        Ok(())
    })
}

/// Tells how many numbers an observation has, how many actions there are, and how many weights.
///
/// # Safety
/// The pointers must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_policy_sizes(
    policy: u64,
    observation: *mut usize,
    actions: *mut usize,
    weights: *mut usize,
) -> i32 {
    guard(|| {
        borrow!(target; observation, actions, weights);
        with(policy, |policy| {
            let network = &policy.network;
            (*observation, *actions) = (network.layout.observation_size(), network.layout.actions());
            *weights = network.weights().len();
            Ok(())
        })
    })
}

/// Tells the tensors of weights in their order, a line each: the name, then its dimensions, with blanks between.
///
/// # Safety
/// A non-null `bytes` must be writable for `capacity`; `needed` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_policy_names(policy: u64, bytes: *mut u8, capacity: usize, needed: *mut usize) -> i32 {
    guard(|| {
        borrow!(target; needed);
        let text = with(policy, |policy| {
            let line = |one: &crate::net::graph::Parameter| {
                let sizes: String = one.dimensions.iter().map(|size| format!(" {size}")).collect();
                format!("{}{sizes}\n", one.name)
            };
            Ok(policy.network.parameters().iter().map(line).collect::<String>())
        })?;
        unsafe { hand_over(text.as_bytes(), bytes, capacity, needed) }
    })
}

/// Gives the policy other weights, tensor by tensor, and other units of values: count, mean and variance.
///
/// # Safety
/// `weights` must be readable for `length` numbers, `units` for three.
#[no_mangle]
pub unsafe extern "C" fn shunter_policy_set(policy: u64, weights: *const f32, length: usize, units: *const f64) -> i32 {
    guard(|| {
        borrow!(read length; weights);
        borrow!(read 3; units);
        with(policy, |policy| {
            // Checked first: what is refused changes nothing.
            let units = Units::new(units[0], units[1], units[2]).map_err(Failure::argument)?;
            policy.network.set_weights(weights).map_err(Failure::argument)?;
            policy.units = units;
            Ok(())
        })
    })
}

/// Tells the policy's weights and units of values, as `shunter_policy_set` takes them.
///
/// # Safety
/// `weights` must be writable for `length` numbers, `units` for three.
#[no_mangle]
pub unsafe extern "C" fn shunter_policy_get(policy: u64, weights: *mut f32, length: usize, units: *mut f64) -> i32 {
    guard(|| {
        borrow!(write length; weights);
        borrow!(write 3; units);
        with(policy, |policy| {
            let own = policy.network.weights();
            if own.len() != weights.len() {
                return Err(Failure::argument(format!("there is room for {length} weights of {}", own.len())));
            }
            weights.copy_from_slice(own);
            units.copy_from_slice(&[policy.units.count, policy.units.mean, policy.units.variance]);
            Ok(())
        })
    })
}

/// Has the policy use some instructions: a number of `ShunterInstructions`, or −1 for the best there are. Tells which.
///
/// # Safety
/// `used` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_policy_instructions(policy: u64, wanted: i32, used: *mut i32) -> i32 {
    guard(|| {
        borrow!(target; used);
        let chosen = match wanted {
            -1 => Instructions::detect(),
            0 => Instructions::Portable,
            1 => Instructions::Avx2,
            _ => return Err(Failure::argument(format!("instructions is {wanted}; there are none of this number"))),
        };
        if !chosen.are_there() {
            return Err(Failure::refused(format!("this processor does not have {chosen:?}")));
        }
        *used = chosen as i32;
        with(policy, |policy| {
            policy.network.instructions = chosen;
            Ok(())
        })
    })
}

/// Observations of a caller's, packed a few at a time.
struct Given<'a> {
    observations: &'a [f32],
    masks: &'a [u8],
    size: usize,
    actions: usize,
}

impl<'a> Given<'a> {
    /// # Safety
    /// The pointers must be readable for `count` observations and masks of the policy.
    unsafe fn read(
        policy: &Policy,
        observations: *const f32,
        masks: *const u8,
        count: usize,
    ) -> Result<Given<'a>, Failure> {
        let (size, actions) = (policy.network.layout.observation_size(), policy.network.layout.actions());
        let length = |one: usize| {
            count.checked_mul(one).ok_or_else(|| Failure::argument(format!("{count} observations are too many")))
        };
        let observations = unsafe { read("observations", observations, length(size)?) }?;
        let masks = unsafe { read("masks", masks, length(actions)?) }?;
        let infinite = || observations.iter().position(|number| !number.is_finite());
        if let Some(place) = (!all_finite(policy.network.instructions, observations)).then(infinite).flatten() {
            let value = observations[place];
            return Err(Failure::argument(format!("observation {} holds {value}; expected numbers", place / size)));
        }
        if let Some(place) = masks.iter().position(|&allowed| allowed > 1) {
            let (mask, value) = (place / actions, masks[place]);
            return Err(Failure::argument(format!("mask {mask} holds {value}; expected 0 or 1")));
        }
        Ok(Given { observations, masks, size, actions })
    }

    /// Packs some observations at a time, and calls `body` with the place of the first of them.
    fn each(
        &self,
        policy: &Policy,
        batch: &mut Batch,
        mut body: impl FnMut(usize, &Batch) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let some = self.observations.chunks(self.size * TOGETHER).zip(self.masks.chunks(self.actions * TOGETHER));
        for (place, (observations, masks)) in some.enumerate() {
            batch.clear();
            for (one, mask) in observations.chunks_exact(self.size).zip(masks.chunks_exact(self.actions)) {
                policy.network.push(batch, one, mask).map_err(Failure::argument)?;
            }
            body(place * TOGETHER, batch)?;
        }
        Ok(())
    }
}

/// Scores every action of observations (−1e30: forbidden), and tells what is expected of each, in the network's units.
///
/// # Safety
/// The pointers must be readable or writable for `count` rows of what `shunter_policy_sizes` says.
#[no_mangle]
pub unsafe extern "C" fn shunter_policy_evaluate(
    policy: u64,
    observations: *const f32,
    masks: *const u8,
    count: usize,
    logits: *mut f32,
    values: *mut f32,
) -> i32 {
    guard(|| {
        locked(policy, "policy", |opened: &mut Opened| {
            let Opened { policy, batch, workspace } = opened;
            let given = unsafe { Given::read(policy, observations, masks, count) }?;
            let logits = unsafe { write("logits", logits, count * given.actions) }?;
            let values = unsafe { write("values", values, count) }?;
            logits.fill(FORBIDDEN);
            given.each(policy, batch, |first, batch| {
                workspace.evaluate_all(&policy.network, batch);
                for number in 0..batch.len() {
                    let row = &mut logits[(first + number) * given.actions..][..given.actions];
                    let choices = workspace.choices(number);
                    for (choice, &logit) in batch.choices[choices.clone()].iter().zip(&workspace.logits[choices]) {
                        row[choice.action as usize] = logit;
                    }
                    values[first + number] = workspace.expected[number];
                }
                Ok(())
            })
        })
    })
}

/// Tells which units of the network act for any of some observations. The numbers stand as weights do: where the row of a
/// unit begins in the weight of its layer, 2 if it gave more than 0 and 1 if it never did; 0 everywhere else. Units are
/// those of layers behind which negative numbers become 0.
///
/// # Safety
/// The pointers must be readable for `count` rows of what `shunter_policy_sizes` says, and `active` writable for `length`.
#[no_mangle]
pub unsafe extern "C" fn shunter_policy_activity(
    policy: u64,
    observations: *const f32,
    masks: *const u8,
    count: usize,
    active: *mut u8,
    length: usize,
) -> i32 {
    guard(|| {
        borrow!(write length; active);
        locked(policy, "policy", |opened: &mut Opened| {
            let Opened { policy, batch, workspace } = opened;
            let weights = policy.network.weights().len();
            if active.len() != weights {
                return Err(Failure::argument(format!("there is room for {length} numbers of {weights}")));
            }
            let given = unsafe { Given::read(policy, observations, masks, count) }?;
            active.fill(0);
            given.each(policy, batch, |_, batch| {
                workspace.evaluate_all(&policy.network, batch);
                workspace.note_active(&policy.network, active);
                Ok(())
            })
        })
    })
}

/// Chooses an action for each observation: the best, or if `draws` is 1 one that is drawn by the policy's probabilities
/// from the seed.
///
/// # Safety
/// The pointers must be readable or writable for `count` rows of what `shunter_policy_sizes` says.
#[no_mangle]
pub unsafe extern "C" fn shunter_policy_actions(
    policy: u64,
    observations: *const f32,
    masks: *const u8,
    count: usize,
    draws: i32,
    seed: u64,
    actions: *mut i32,
) -> i32 {
    guard(|| {
        if !matches!(draws, 0 | 1) {
            return Err(Failure::argument(format!("draws is {draws}; expected 0 or 1")));
        }
        locked(policy, "policy", |opened: &mut Opened| {
            let Opened { policy, batch, workspace } = opened;
            let given = unsafe { Given::read(policy, observations, masks, count) }?;
            borrow!(write count; actions);
            let mut distribution = Distribution::default();
            given.each(policy, batch, |first, batch| {
                workspace.score_all(&policy.network, batch);
                for number in 0..batch.len() {
                    let choices = workspace.choices(number);
                    let logits = &workspace.logits[choices.clone()];
                    let chosen = if draws == 0 {
                        greedy(logits)
                    } else {
                        distribution.set(logits, 0.0);
                        let drawn = mix(mix(seed).wrapping_add((first + number) as u64));
                        distribution.draw((drawn >> 11) as f64 / (1u64 << 53) as f64)
                    };
                    actions[first + number] = batch.choices[choices.start + chosen].action as i32;
                }
                Ok(())
            })
        })
    })
}

/// PPO's loss, as C sees it.
#[repr(C)]
pub struct ShunterLossOptions {
    /// How far the probability of an action may move, as a ratio.
    pub clip: f64,
    /// How far what is expected may move; below 0: without limit.
    pub value_clip: f64,
    /// The weight of errors of what is expected.
    pub value_weight: f64,
    /// The weight of the entropy.
    pub entropy_weight: f64,
    /// With this probability the action is drawn evenly.
    pub exploration: f64,
}

/// # Safety
/// A non-null `given` must be readable.
pub(super) unsafe fn read_loss(given: *const ShunterLossOptions) -> Result<LossOptions, Failure> {
    super::check_pointer("loss", given as usize, std::mem::align_of::<ShunterLossOptions>())?;
    let given = unsafe { &*given };
    let numbers = [given.clip, given.value_clip, given.value_weight, given.entropy_weight, given.exploration];
    if let Some(number) = numbers.iter().find(|number| !number.is_finite()) {
        return Err(Failure::argument(format!("a number of the loss is {number}; expected a finite one")));
    }
    Ok(LossOptions {
        clip: given.clip as f32,
        value_clip: Some(given.value_clip as f32).filter(|&limit| limit >= 0.0),
        value_weight: given.value_weight as f32,
        entropy_weight: given.entropy_weight as f32,
        exploration: given.exploration as f32,
    })
}

/// Works out the gradient of PPO's mean loss over observations, tensor by tensor, and the loss itself: what training
/// does, for checks against another implementation. `samples` has four numbers each: the log-probability that the action
/// had, the advantage, the return, and what was expected.
///
/// # Safety
/// The pointers must be readable or writable for `count` rows, `gradient` for all weights, and `loss` for one number.
#[no_mangle]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn shunter_policy_gradient(
    policy: u64,
    options: *const ShunterLossOptions,
    observations: *const f32,
    masks: *const u8,
    count: usize,
    actions: *const i32,
    samples: *const f32,
    gradient: *mut f32,
    loss: *mut f64,
) -> i32 {
    guard(|| {
        borrow!(target; loss);
        let options = unsafe { read_loss(options) }?;
        if count == 0 {
            return Err(Failure::argument("there are 0 observations; a mean needs one or more"));
        }
        with(policy, |policy| {
            let given = unsafe { Given::read(policy, observations, masks, count) }?;
            borrow!(read count; actions);
            let samples = unsafe { read("samples", samples, 4 * count) }?;
            let gradient = unsafe { write("gradient", gradient, policy.network.weights().len()) }?;
            let mut batch = Batch::default();
            let rows = given.observations.chunks_exact(given.size).zip(given.masks.chunks_exact(given.actions));
            for (one, mask) in rows {
                policy.network.push(&mut batch, one, mask).map_err(Failure::argument)?;
            }
            let each = samples.chunks_exact(4).zip(actions).enumerate().map(|(number, (numbers, &action))| {
                let mut choices = batch.choices[batch.choices_of(number)].iter();
                let choice = choices.position(|choice| i64::from(choice.action) == i64::from(action));
                let choice = choice.ok_or_else(|| Failure::argument(format!("action {action} is not allowed")))?;
                let [old_log_prob, advantage, value_target, old_value] =
                    [numbers[0], numbers[1], numbers[2], numbers[3]];
                Ok(Sample { choice, old_log_prob, advantage, value_target, old_value })
            });
            let samples = each.collect::<Result<Vec<_>, Failure>>()?;
            let (found, figures) = gradient_of(&policy.network, &options, &batch, &samples);
            gradient.copy_from_slice(&found);
            *loss = figures.per_sample(count).loss(&options);
            Ok(())
        })
    })
}

/// Plays each environment to the end of its episode by the policy's best actions, or for `most` decisions; `over` tells
/// whether all have come to their ends.
///
/// # Safety
/// `over` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_env_play(env: u64, policy: u64, most: usize, over: *mut i32) -> i32 {
    guard(|| {
        borrow!(target; over);
        // A copy: others may ask the policy meanwhile.
        let network = with(policy, |policy| Ok(policy.network.clone()))?;
        let all = locked(env, "vector of environments", |vector: &mut Vector| {
            vector.play(&network, most).map_err(Failure::refused)
        })?;
        *over = i32::from(all);
        Ok(())
    })
}

/// Decides at this instant of a simulation, always by the policy's best action, within `budget_us` microseconds (0:
/// however long it takes). Past that time it returns `SHUNTER_TIMEOUT`, and there is no decision. The simulation
/// stays as it is. `priority` has a number from 0 to 1 for each job of the table, or is empty.
///
/// # Safety
/// A non-null `priority` must be readable for its length; `handle` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_policy_decide(
    policy: u64,
    simulation: u64,
    priority: *const f64,
    priority_length: usize,
    budget_us: u64,
    handle: *mut u64,
) -> i32 {
    guard(|| {
        let began = Instant::now();
        borrow!(target; handle);
        borrow!(read priority_length; priority);
        // Whoever places may be asked: the simulation is not held meanwhile.
        let copy = with_simulation(simulation, |simulation| Ok(simulation.clone()))?;
        let verdicts = with(policy, |policy| {
            let env = policy.env.as_ref().ok_or_else(|| {
                Failure::refused("the policy does not say in which environment it decides; load a checkpoint")
            })?;
            if env.extra_features > 0 {
                return Err(Failure::refused("the policy sees features of its own, which Python works out"));
            }
            let mut asked = Consultation::begin(copy, env, priority.into()).map_err(Failure::argument)?;
            let sizes = asked.sizes();
            check_sizes(&policy.network, sizes.observation, sizes.actions).map_err(Failure::argument)?;
            let (mut observation, mut mask) = (vec![0.0; sizes.observation], vec![0; sizes.actions]);
            let (mut batch, mut workspace) = (Batch::default(), Workspace::default());
            let late = || {
                let is_late = budget_us > 0 && began.elapsed() > Duration::from_micros(budget_us);
                let message = format!("no decision within {budget_us} microseconds");
                is_late.then_some(Failure { status: Status::Timeout, message }).map_or(Ok(()), Err)
            };
            while asked.is_due() {
                late()?;
                asked.observe(&mut observation, &mut mask);
                let action = best_action(&policy.network, &mut batch, &mut workspace, &observation, &mask);
                asked.act(action.map_err(Failure::refused)? as usize).map_err(Failure::refused)?;
            }
            let verdicts = asked.verdicts().map_err(Failure::refused)?;
            late()?;
            Ok(verdicts)
        })?;
        *handle = open(Decision(verdicts));
        Ok(())
    })
}
