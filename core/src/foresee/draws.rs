//! Random numbers that depend on nothing but what they are for: the same question has the same futures.

use crate::model::random::mix;

/// What a number is drawn for.
#[derive(Clone, Copy)]
#[repr(u64)]
pub(super) enum Purpose {
    /// One job's run time.
    Job = 1,
    /// What the run times of a user's jobs have in common.
    User = 2,
    /// Which earlier day a day to come is like.
    Day = 3,
}

/// Where the numbers of one future come from.
#[derive(Clone, Copy)]
pub(super) struct Draws {
    key: u64,
}

impl Draws {
    pub(super) fn new(seed: u64, future: u32) -> Self {
        Draws { key: mix(mix(seed).wrapping_add(u64::from(future))) }
    }

    fn number(self, purpose: Purpose, first: u64, second: u64) -> u64 {
        mix(mix(mix(self.key ^ purpose as u64).wrapping_add(first)).wrapping_add(second))
    }

    /// A whole number below `count`.
    pub(super) fn below(self, count: u64, purpose: Purpose, first: u64) -> u64 {
        self.number(purpose, first, 0) % count
    }

    /// A number with the standard normal distribution.
    pub(super) fn normal(self, purpose: Purpose, first: u64, second: u64) -> f64 {
        let number = self.number(purpose, first, second);
        let unit = 2f64.powi(-53);
        let (u, v) = (((number >> 11) + 1) as f64 * unit, (mix(number) >> 11) as f64 * unit);
        (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    }
}

/// The chance that a standard normal number is below this one; off by 0.0000001 at most (Abramowitz and Stegun, 26.2.17).
pub(super) fn normal_part(value: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * value.abs());
    let series =
        t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let above = (-0.5 * value * value).exp() / (2.0 * std::f64::consts::PI).sqrt() * series;
    if value > 0.0 {
        1.0 - above
    } else {
        above
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_normal_distribution() {
        for (value, part) in [(0.0, 0.5), (1.0, 0.841_344_7), (-1.959_964, 0.025), (6.0, 1.0)] {
            assert!((normal_part(value) - part).abs() < 2e-7);
        }
    }

    #[test]
    fn draws_have_the_mean_and_spread_of_a_normal_distribution() {
        let draws: Vec<f64> = (0..20_000).map(|job| Draws::new(7, 3).normal(Purpose::Job, job, 0)).collect();
        let mean = draws.iter().sum::<f64>() / 20_000.0;
        let square = draws.iter().map(|draw| draw * draw).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.05);
    }
}
