//! PPO's loss of one sample, and its gradient by the network's scores and what it expects.

use crate::net::choice::Distribution;

/// What the loss is made of.
#[derive(Clone, Copy, Debug)]
pub struct LossOptions {
    /// How far the probability of an action may move, as a ratio.
    pub clip: f32,
    /// How far what is expected may move.
    pub value_clip: Option<f32>,
    /// The weight of errors of what is expected.
    pub value_weight: f32,
    /// The weight of the entropy.
    pub entropy_weight: f32,
    /// With this probability the action is drawn evenly from those allowed.
    pub exploration: f32,
}

/// One step to learn from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// The choice that was made, by its place among those allowed.
    pub choice: usize,
    /// The logarithm of the probability that it had.
    pub old_log_prob: f32,
    /// How much better than expected it turned out.
    pub advantage: f32,
    /// The discounted rewards that followed, in the units of the network.
    pub value_target: f32,
    /// What the network expected, in the same units.
    pub old_value: f32,
}

/// Figures of a loss, added up over samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct LossFigures {
    /// The part of the policy.
    pub policy: f64,
    /// The part of what is expected.
    pub value: f64,
    /// How undecided the policy is.
    pub entropy: f64,
    /// How far it has moved.
    pub approx_kl: f64,
    /// Where the clip binds.
    pub clipped: f64,
}

impl LossFigures {
    /// Adds another's.
    pub fn add(&mut self, other: &LossFigures) {
        self.policy += other.policy;
        self.value += other.value;
        self.entropy += other.entropy;
        self.approx_kl += other.approx_kl;
        self.clipped += other.clipped;
    }

    /// The loss itself.
    pub fn loss(&self, options: &LossOptions) -> f64 {
        self.policy + f64::from(options.value_weight) * self.value - f64::from(options.entropy_weight) * self.entropy
    }

    /// The same for each of so many samples.
    pub fn per_sample(&self, count: usize) -> Self {
        let part = 1.0 / count as f64;
        LossFigures {
            policy: self.policy * part,
            value: self.value * part,
            entropy: self.entropy * part,
            approx_kl: self.approx_kl * part,
            clipped: self.clipped * part,
        }
    }
}

/// Adds a sample's figures; writes the gradient of `share` times its loss by the scores, and returns that by what is
/// expected.
pub(crate) fn differentiate(
    options: &LossOptions,
    sample: &Sample,
    distribution: &Distribution,
    expected: f32,
    share: f32,
    gradient: &mut [f32],
    figures: &mut LossFigures,
) -> f32 {
    let log_ratio = distribution.logarithms[sample.choice] - sample.old_log_prob;
    let ratio = log_ratio.exp();
    let clipped = ratio.clamp(1.0 - options.clip, 1.0 + options.clip);
    // The smaller of the two is a bound from below: there is nothing to gain from moving beyond the clip.
    let (plain, cut) = (ratio * sample.advantage, clipped * sample.advantage);
    let by_log_prob = if plain <= cut { -ratio * sample.advantage } else { 0.0 };
    let entropy = distribution.entropy();
    by_scores(options, distribution, sample.choice, by_log_prob, entropy, share, gradient);
    let (error, by_expected) = value_error(options, sample, expected);
    figures.policy -= f64::from(plain.min(cut));
    figures.value += f64::from(error);
    figures.entropy += f64::from(entropy);
    figures.approx_kl += f64::from(ratio - 1.0 - log_ratio);
    figures.clipped += f64::from(u8::from((ratio - 1.0).abs() > options.clip));
    options.value_weight * by_expected * share
}

/// The gradient by the scores of an action's log-probability and of the entropy.
fn by_scores(
    options: &LossOptions,
    distribution: &Distribution,
    choice: usize,
    by_log_prob: f32,
    entropy: f32,
    share: f32,
    gradient: &mut [f32],
) {
    let Distribution { chosen, probabilities, logarithms } = distribution;
    let weight = options.entropy_weight;
    if options.exploration == 0.0 {
        for (place, slope) in gradient.iter_mut().enumerate() {
            let own = if place == choice { 1.0 } else { 0.0 };
            let of_policy = by_log_prob * (own - chosen[place]);
            *slope = share * (of_policy + weight * chosen[place] * (logarithms[place] + entropy));
        }
        return;
    }
    // By the probabilities first, then by the scores that they come from.
    for (place, slope) in gradient.iter_mut().enumerate() {
        let own = if place == choice { by_log_prob / probabilities[place] } else { 0.0 };
        *slope = own + weight * (logarithms[place] + 1.0);
    }
    let mean: f32 = gradient.iter().zip(chosen).map(|(slope, value)| slope * value).sum();
    for (slope, value) in gradient.iter_mut().zip(chosen) {
        *slope = share * (1.0 - options.exploration) * value * (*slope - mean);
    }
}

/// The error of what was expected, and its gradient.
fn value_error(options: &LossOptions, sample: &Sample, expected: f32) -> (f32, f32) {
    let off = expected - sample.value_target;
    let (error, slope) = (off * off, 2.0 * off);
    let Some(limit) = options.value_clip else { return (error, slope) };
    let change = expected - sample.old_value;
    let cut = sample.old_value + change.clamp(-limit, limit) - sample.value_target;
    // The larger of both errors: a value that has moved far is not rewarded for having done so.
    match cut * cut > error {
        true if change.abs() > limit => (cut * cut, 0.0),
        true => (cut * cut, 2.0 * cut),
        false => (error, slope),
    }
}
