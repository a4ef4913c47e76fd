//! What the jobs that have ended say of one like them: means of run times, shrunk towards a prior.

use crate::model::job::{MAX_DURATION_MS, UNKNOWN};
use crate::model::slowdown::divisor_s;
use crate::order::scores::seconds;

/// Decayed sums over jobs that have ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// Of 1.
    pub count: f64,
    /// Of the run time in seconds, or of its ratio to the prior's.
    pub run: f64,
    /// Of 1/max(run time, 10 s), or of its ratio to the prior's.
    pub inverse: f64,
}

impl Sums {
    /// One more job has ended.
    pub fn add(&mut self, decay: f64, (run, inverse): (f64, f64)) {
        self.count = self.count * decay + 1.0;
        self.run = self.run * decay + run;
        self.inverse = self.inverse * decay + inverse;
    }
}

/// What is believed before any job has ended.
#[derive(Clone, Debug)]
pub struct Prior {
    /// What a user's sums are multiplied with when a job is added.
    user_decay: f64,
    /// The same for the narrower groups.
    decay: f64,
    strengths: [f64; 3],
    /// Mean run time and mean inverse, by the request's power of two in seconds; the last is for no request.
    bins: Vec<(f64, f64)>,
}

impl Prior {
    /// From parameters: two decays, three strengths, then for each bin the mean run time in seconds and the mean inverse.
    pub fn new(parameters: &[f64]) -> Result<Self, String> {
        const FIXED: usize = 5;
        let bins = parameters.get(FIXED..).unwrap_or_default();
        if bins.len() < 4 || bins.len() % 2 != 0 {
            return Err(format!(
                "a posterior has {} parameters; expected 5, and 2 for each of two or more bins",
                parameters.len()
            ));
        }
        if let Some(decay) = parameters[..2].iter().find(|decay| !(0.0..=1.0).contains(*decay)) {
            return Err(format!("a decay of the posterior is {decay}; expected 0 to 1"));
        }
        if let Some(value) = parameters[2..].iter().find(|&&value| !(value > 0.0 && value.is_finite())) {
            return Err(format!("a parameter of the posterior is {value}; expected a positive number"));
        }
        Ok(Prior {
            user_decay: parameters[0],
            decay: parameters[1],
            strengths: [parameters[2], parameters[3], parameters[4]],
            bins: bins.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
        })
    }

    fn bin(&self, request_ms: i64) -> (f64, f64) {
        let last = self.bins.len() - 1;
        let place = match request_ms {
            UNKNOWN => last,
            _ => (request_ms / 1000).checked_ilog2().map_or(0, |power| power as usize).min(last - 1),
        };
        self.bins[place]
    }

    /// What a run of a job with this request adds to the sums of its groups, the widest first, and by what they decay.
    pub fn observed(&self, request_ms: i64, run_ms: i64) -> [(f64, (f64, f64)); 3] {
        // A job that outlives its request takes no longer, for it could have been killed at it.
        let run = seconds(if request_ms == UNKNOWN { run_ms } else { run_ms.min(request_ms) });
        let inverse = 1.0 / divisor_s(seconds(run_ms));
        let (usual_run, usual_inverse) = self.bin(request_ms);
        let narrow = (self.decay, (run, inverse));
        [(self.user_decay, (run / usual_run, inverse / usual_inverse)), narrow, narrow]
    }

    /// √(E\[run\] / E\[inverse\]) for a job with this request, whose groups have these sums, the widest first.
    pub fn estimate_ms(&self, request_ms: i64, sums: &[Sums; 3]) -> i64 {
        let [by_user, by_request, by_size] = sums;
        let [k1, k2, k3] = self.strengths;
        let (usual_run, usual_inverse) = self.bin(request_ms);
        let run = usual_run * ((by_user.run + k1) / (by_user.count + k1));
        let run = (by_request.run + k2 * run) / (by_request.count + k2);
        let run = (by_size.run + k3 * run) / (by_size.count + k3);
        let inverse = usual_inverse * ((by_user.inverse + k1) / (by_user.count + k1));
        let inverse = (by_request.inverse + k2 * inverse) / (by_request.count + k2);
        let inverse = (by_size.inverse + k3 * inverse) / (by_size.count + k3);
        let estimate_ms = ((run / inverse).sqrt() * 1000.0).round() as i64;
        let most_ms = if request_ms == UNKNOWN { MAX_DURATION_MS } else { request_ms };
        estimate_ms.min(most_ms).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prior() -> Prior {
        Prior::new(&[1.0, 1.0, 1.0, 1.0, 1.0, 100.0, 0.01, 200.0, 0.005, 50.0, 0.02]).unwrap()
    }

    #[test]
    fn without_history_the_bin_decides() {
        let none = [Sums::default(); 3];
        assert_eq!(prior().estimate_ms(1_000_000, &none), 200_000);
        assert_eq!(prior().estimate_ms(1_999, &none), 1_999);
        assert_eq!(prior().estimate_ms(UNKNOWN, &none), 50_000);
    }

    #[test]
    fn what_ends_again_and_again_is_believed() {
        let prior = prior();
        let mut sums = [Sums::default(); 3];
        for _ in 0..60 {
            for (sums, (decay, term)) in sums.iter_mut().zip(prior.observed(1_000_000, 20_000)) {
                sums.add(decay, term);
            }
        }
        assert!((20_000..21_500).contains(&prior.estimate_ms(1_000_000, &sums)));
    }

    #[test]
    fn impossible_parameters_are_refused() {
        assert!(Prior::new(&[0.5, 0.5, 1.0, 1.0, 1.0, 100.0, 0.01]).is_err());
        assert!(Prior::new(&[0.5, 1.5, 1.0, 1.0, 1.0, 100.0, 0.01, 1.0, 0.1]).is_err());
        assert!(Prior::new(&[0.5, 0.5, 1.0, -1.0, 1.0, 100.0, 0.01, 1.0, 0.1]).is_err());
    }
}
