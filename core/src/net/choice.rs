//! Choosing among the actions that a mask allows, by their scores.

use super::batch::Batch;
use super::functions::exp;
use super::network::Network;
use super::workspace::Workspace;

/// Draws end here: rounding must not carry one past the last choice.
const BELOW_ONE: f64 = 1.0 - 1.0 / 1_048_576.0;

/// The choice with the largest score; the first of those that are equal.
pub(crate) fn greedy(logits: &[f32]) -> usize {
    let mut best = 0;
    for (place, &logit) in logits.iter().enumerate() {
        if logit > logits[best] {
            best = place;
        }
    }
    best
}

/// The action that a network prefers; where only one is allowed, it is not asked.
pub(crate) fn best_action(
    network: &Network,
    batch: &mut Batch,
    workspace: &mut Workspace,
    observation: &[f32],
    mask: &[u8],
) -> Result<u32, String> {
    let mut allowed = mask.iter().enumerate().filter(|(_, &allowed)| allowed != 0);
    if let (Some((only, _)), None) = (allowed.next(), allowed.next()) {
        return Ok(only as u32);
    }
    batch.clear();
    network.push(batch, observation, mask)?;
    workspace.score_all(network, batch);
    Ok(batch.choices[greedy(&workspace.logits)].action)
}

/// How probable each choice is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distribution {
    /// Before some choices are drawn evenly.
    pub(crate) chosen: Vec<f32>,
    /// After it.
    pub(crate) probabilities: Vec<f32>,
    pub(crate) logarithms: Vec<f32>,
}

impl Distribution {
    /// Works out probabilities; with `exploration` as its probability, a choice is drawn evenly.
    pub(crate) fn set(&mut self, logits: &[f32], exploration: f32) {
        let Distribution { chosen, probabilities, logarithms } = self;
        let most = logits.iter().fold(f32::NEG_INFINITY, |most, &logit| most.max(logit));
        chosen.clear();
        chosen.extend(logits.iter().map(|&logit| exp(logit - most)));
        let sum: f32 = chosen.iter().sum();
        chosen.iter_mut().for_each(|value| *value /= sum);
        probabilities.clear();
        logarithms.clear();
        if exploration == 0.0 {
            probabilities.extend_from_slice(chosen);
            let shift = most + sum.ln();
            logarithms.extend(logits.iter().map(|&logit| logit - shift));
        } else {
            let even = exploration / logits.len() as f32;
            probabilities.extend(chosen.iter().map(|&value| (1.0 - exploration) * value + even));
            logarithms.extend(probabilities.iter().map(|value| value.ln()));
        }
    }

    /// The choice that a number from 0 to 1 draws.
    pub(crate) fn draw(&self, uniform: f64) -> usize {
        let total: f64 = self.probabilities.iter().map(|&value| f64::from(value)).sum();
        let wanted = uniform * BELOW_ONE * total;
        let mut sum = 0.0;
        for (place, &value) in self.probabilities.iter().enumerate() {
            sum += f64::from(value);
            if sum > wanted {
                return place;
            }
        }
        self.probabilities.len() - 1
    }

    /// How undecided it is, in nats.
    pub(crate) fn entropy(&self) -> f32 {
        -self.probabilities.iter().zip(&self.logarithms).map(|(value, logarithm)| value * logarithm).sum::<f32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::simd::tests::close;

    #[test]
    fn the_first_of_equals_is_the_best() {
        assert_eq!(greedy(&[1.0]), 0);
        assert_eq!(greedy(&[1.0, 3.0, 3.0, 2.0]), 1);
        assert_eq!(greedy(&[-1e30, -1e30]), 0);
    }

    #[test]
    fn probabilities_and_their_logarithms_go_together() {
        let logits = [0.5f32, -1.0, 30.0, 29.0];
        for exploration in [0.0, 0.25, 1.0] {
            let mut found = Distribution::default();
            // Twice: what was there before must not show.
            found.set(&[7.0; 9], 0.5);
            found.set(&logits, exploration);
            let sum: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
            let mut entropy = 0.0;
            for (place, &logit) in logits.iter().enumerate() {
                let chance = f64::from(logit).exp() / sum;
                let mixed = (1.0 - f64::from(exploration)) * chance + f64::from(exploration) / 4.0;
                close(found.chosen[place], chance, 1e-6);
                close(found.probabilities[place], mixed, 1e-6);
                close(found.logarithms[place], mixed.ln(), 1e-6);
                entropy -= mixed * mixed.ln();
            }
            close(found.entropy(), entropy, 1e-5);
        }
    }

    #[test]
    fn draws_stay_among_the_choices() {
        let mut distribution = Distribution::default();
        distribution.set(&[0.0, 0.0, 0.0, 0.0], 0.0);
        let drawn = [0.0, 0.24, 0.26, 0.51, 0.76, 1.0].map(|uniform| distribution.draw(uniform));
        assert_eq!(drawn, [0, 0, 1, 2, 3, 3]);
        // A choice that is as good as impossible is not the one that rounding ends at.
        distribution.set(&[0.0, -1e30], 0.0);
        assert_eq!(distribution.draw(1.0), 0);
    }
}
