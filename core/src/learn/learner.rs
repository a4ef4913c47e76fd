//! Proximal policy optimization: plays, judges what was played, and takes a few steps along the gradient.

use std::time::{Duration, Instant};

use crate::envs::play::check_sizes;
use crate::envs::vector::Vector;
use crate::learn::adam::Adam;
use crate::learn::loss::{differentiate, LossFigures, LossOptions, Sample};
use crate::learn::rollout::{Play, Played, Rollout};
use crate::model::random::{mix, SplitMix64};
use crate::net::batch::Batch;
use crate::net::choice::Distribution;
use crate::net::gradients::Gradients;
use crate::net::network::Network;
use crate::net::policy::{Policy, Units};
use crate::net::workspace::Workspace;

/// A minibatch is cut into so many parts, whatever the number of threads: the sums are always the same.
const PARTS: usize = 8;
/// So many samples are evaluated together: few enough for their values to stay near the processor.
const TOGETHER: usize = 48;
/// Of the bytes "shuffle": keeps these draws apart from all others.
const SHUFFLE_SALT: u64 = 0x73_6875_6666_6C65;
const SMALL: f64 = 1e-8;

/// How to learn.
#[derive(Clone, Copy, Debug)]
pub struct PpoOptions {
    /// Steps of each environment before each update.
    pub rollout_steps: usize,
    /// How often each update goes through them.
    pub epochs: usize,
    /// How many steps a gradient is taken from.
    pub minibatch: usize,
    /// The discount of later rewards.
    pub gamma: f64,
    /// Whether advantages rely on what is expected (0), on rewards alone (1), or on both.
    pub gae_lambda: f64,
    /// Gradients longer than this are shortened to it.
    pub max_gradient_norm: f64,
    /// An update ends when the policy has moved so far.
    pub target_kl: Option<f64>,
    /// Whether values are learned in deviations of the returns.
    pub normalize_values: bool,
    /// Whether advantages have mean 0 and deviation 1.
    pub normalize_advantages: bool,
    /// What the loss is made of.
    pub loss: LossOptions,
}

/// What an update did.
#[derive(Clone, Debug, Default)]
pub struct Learned {
    /// Means over the gradient steps.
    pub loss: LossFigures,
    /// The mean length of gradients.
    pub gradient_norm: f64,
    /// How many steps were taken along them.
    pub gradient_steps: u64,
    /// How well values had foreseen returns.
    pub explained_variance: f64,
    pub(crate) played: Played,
    /// How long learning took.
    pub learn_time: Duration,
    /// What is not a number, and what it is; the step that would have followed was not taken.
    pub diverged: Option<(Diverged, f64)>,
}

/// What may cease to be a number; part of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Diverged {
    /// The sum of the rewards.
    Rewards = 1,
    /// The loss.
    Loss = 2,
    /// The length of the gradient.
    Gradient = 3,
}

/// One part of a minibatch, with all that a thread needs to learn from it.
struct Worker {
    workspace: Workspace,
    gradients: Gradients,
    figures: LossFigures,
    distribution: Distribution,
    by_scores: Vec<f32>,
    by_expected: Vec<f32>,
}

/// A training under way.
pub struct Learner {
    options: PpoOptions,
    seed: u64,
    rollout: Rollout,
    /// What is remembered of gradients.
    pub adam: Adam,
    /// How many updates there have been.
    pub updates: u64,
    workers: Vec<Worker>,
    gradient: Vec<f32>,
}

impl Learner {
    /// A training of a network that has not begun.
    pub fn new(network: &Network, options: PpoOptions, seed: u64) -> Result<Self, String> {
        for (name, count) in
            [("rollout_steps", options.rollout_steps), ("epochs", options.epochs), ("minibatch", options.minibatch)]
        {
            if count == 0 {
                return Err(format!("{name} is 0; expected 1 or more"));
            }
        }
        let size = network.weights().len();
        Ok(Learner {
            options,
            seed,
            rollout: Rollout::default(),
            adam: Adam::new(size),
            updates: 0,
            workers: (0..PARTS).map(|_| Worker::new(network)).collect(),
            gradient: vec![0.0; size],
        })
    }

    /// Plays and learns once. `loss` and `rate` may change from update to update.
    pub fn update(
        &mut self,
        vector: &mut Vector,
        policy: &mut Policy,
        loss: LossOptions,
        rate: f64,
    ) -> Result<Learned, String> {
        let sizes = vector.sizes();
        check_sizes(&policy.network, sizes.observation, sizes.actions)?;
        if self.gradient.len() != policy.network.weights().len() {
            return Err("the policy has another network than the training began with".to_string());
        }
        self.options.loss = loss;
        let play = Play {
            network: &policy.network,
            units: policy.units,
            steps: self.options.rollout_steps,
            exploration: loss.exploration,
            seed: self.seed,
            round: self.updates,
        };
        let played = self.rollout.collect(vector, play)?;
        let mut learned = Learned { played, ..Learned::default() };
        let began = Instant::now();
        self.judge(&mut policy.units, &mut learned);
        if learned.diverged.is_none() {
            self.learn(vector, &mut policy.network, rate, &mut learned);
        }
        learned.learn_time = began.elapsed();
        self.updates += 1;
        Ok(learned)
    }

    /// Works out advantages and returns, in the units in which the network is to learn them.
    fn judge(&mut self, units: &mut Units, learned: &mut Learned) {
        let options = self.options;
        let rewards: f64 = self.rollout.steps().map(|step| step.reward).sum();
        if !rewards.is_finite() {
            learned.diverged = Some((Diverged::Rewards, rewards));
            return;
        }
        self.rollout.judge(options.gamma, options.gae_lambda);
        let errors = moments(self.rollout.steps().map(|step| step.sample.value_target - step.value));
        let returns = moments(self.rollout.steps().map(|step| step.sample.value_target));
        learned.explained_variance =
            if returns.variance > 0.0 { 1.0 - errors.variance / returns.variance } else { 0.0 };
        if options.normalize_values {
            // Before samples are learned from: their returns and the values to come are in the same new units.
            units.take_in(&returns);
        }
        let advantages = moments(self.rollout.steps().map(|step| step.sample.advantage));
        let deviation = advantages.variance.sqrt() + SMALL;
        let units = *units;
        for step in self.rollout.steps_mut() {
            step.sample.value_target = units.normalize(step.sample.value_target);
            if options.normalize_advantages {
                let off = f64::from(step.sample.advantage) - advantages.mean;
                step.sample.advantage = (off / deviation) as f32;
            }
        }
    }

    /// Takes steps along the gradient until all epochs are over, or the policy has moved far enough.
    fn learn(&mut self, vector: &mut Vector, network: &mut Network, rate: f64, learned: &mut Learned) {
        let options = self.options;
        let (mut figures, mut norms, mut batches) = (LossFigures::default(), 0.0, 0u64);
        let mut order: Vec<usize> = (0..self.rollout.len()).collect();
        'update: for epoch in 0..options.epochs as u64 {
            order.sort_unstable();
            let state = mix(mix(mix(self.seed ^ SHUFFLE_SALT).wrapping_add(self.updates)).wrapping_add(epoch));
            SplitMix64::from_state(state).shuffle(&mut order);
            for places in order.chunks(options.minibatch) {
                let found = self.differentiate(vector, network, places).per_sample(places.len());
                let loss = found.loss(&options.loss);
                if !loss.is_finite() {
                    learned.diverged = Some((Diverged::Loss, loss));
                    break 'update;
                }
                figures.add(&found);
                batches += 1;
                // Before the step: one that would move the policy too far is not taken.
                if options.target_kl.is_some_and(|most| found.approx_kl > most) {
                    break 'update;
                }
                let norm = self.gradient.iter().map(|&slope| f64::from(slope).powi(2)).sum::<f64>().sqrt();
                // Before the step as well: one bad gradient would spoil all weights, and what is remembered.
                if !norm.is_finite() {
                    learned.diverged = Some((Diverged::Gradient, norm));
                    break 'update;
                }
                norms += norm;
                learned.gradient_steps += 1;
                let shorter = (options.max_gradient_norm / (norm + 1e-6)).min(1.0) as f32;
                self.gradient.iter_mut().for_each(|slope| *slope *= shorter);
                let (adam, gradient) = (&mut self.adam, &self.gradient);
                network.change_weights(|weights| adam.step(weights, gradient, rate));
            }
        }
        learned.loss = figures.per_sample(batches.max(1) as usize);
        learned.gradient_norm = norms / learned.gradient_steps.max(1) as f64;
    }

    /// Works out the gradient of the mean loss over some samples; returns its figures, added up.
    fn differentiate(&mut self, vector: &mut Vector, network: &Network, places: &[usize]) -> LossFigures {
        let (rollout, options) = (&self.rollout, &self.options.loss);
        let share = 1.0 / places.len() as f32;
        let parts = places.chunks(places.len().div_ceil(PARTS));
        let mut work: Vec<_> = self.workers.iter_mut().zip(parts).collect();
        vector.pool.each(&mut work, |(worker, places)| worker.learn(rollout, network, options, places, share));
        let used = work.len();
        let (first, others) = self.workers[..used].split_first_mut().unwrap_or_else(|| unreachable!("never empty"));
        for other in others.iter() {
            first.gradients.add(network, &other.gradients);
            first.figures.add(&other.figures);
        }
        first.gradients.collect(network, &mut self.gradient);
        first.figures
    }
}

impl Worker {
    fn new(network: &Network) -> Self {
        Worker {
            workspace: Workspace::default(),
            gradients: Gradients::new(network),
            figures: LossFigures::default(),
            distribution: Distribution::default(),
            by_scores: Vec::new(),
            by_expected: Vec::new(),
        }
    }

    fn learn(&mut self, rollout: &Rollout, network: &Network, options: &LossOptions, places: &[usize], share: f32) {
        self.gradients.clear();
        self.figures = LossFigures::default();
        for some in places.chunks(TOGETHER) {
            let seen = some.iter().map(|&place| rollout.sample(place));
            let samples = some.iter().map(|&place| &rollout.step(place).sample);
            self.add(network, options, seen, samples, share);
        }
    }

    /// Adds figures of samples, and the gradient of `share` times their loss.
    fn add<'a>(
        &mut self,
        network: &Network,
        options: &LossOptions,
        seen: impl Iterator<Item = (&'a Batch, usize)> + Clone,
        samples: impl Iterator<Item = &'a Sample>,
        share: f32,
    ) {
        self.workspace.evaluate(network, seen);
        self.by_scores.clear();
        self.by_scores.resize(self.workspace.logits.len(), 0.0);
        self.by_expected.clear();
        for (number, sample) in samples.enumerate() {
            let choices = self.workspace.choices(number);
            self.distribution.set(&self.workspace.logits[choices.clone()], options.exploration);
            let by_expected = differentiate(
                options,
                sample,
                &self.distribution,
                self.workspace.expected[number],
                share,
                &mut self.by_scores[choices],
                &mut self.figures,
            );
            self.by_expected.push(by_expected);
        }
        self.workspace.differentiate(network, &self.by_scores, &self.by_expected, &mut self.gradients);
    }
}

/// How many numbers there are, their mean and their variance.
pub(crate) struct Moments {
    pub(crate) count: f64,
    pub(crate) mean: f64,
    pub(crate) variance: f64,
}

/// In two passes, in double precision: sums of single precision stop growing.
fn moments(values: impl Iterator<Item = f32> + Clone) -> Moments {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().map(f64::from).sum::<f64>() / count;
    let variance = values.map(|value| (f64::from(value) - mean).powi(2)).sum::<f64>() / count;
    Moments { count, mean, variance }
}

/// The gradient of the mean loss over a batch, tensor by tensor, and its figures; for checks against the reference.
pub(crate) fn gradient_of(
    network: &Network,
    options: &LossOptions,
    batch: &Batch,
    samples: &[Sample],
) -> (Vec<f32>, LossFigures) {
    let mut worker = Worker::new(network);
    let seen = (0..batch.len()).map(|sample| (batch, sample));
    worker.add(network, options, seen, samples.iter(), 1.0 / samples.len() as f32);
    let mut flat = vec![0.0; network.weights().len()];
    worker.gradients.collect(network, &mut flat);
    (flat, worker.figures)
}
