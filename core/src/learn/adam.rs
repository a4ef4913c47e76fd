//! Adam (Kingma and Ba, 2015), as PyTorch has it.

const FIRST: f32 = 0.9;
const SECOND: f32 = 0.999;
/// As in OpenAI's PPO.
const EPSILON: f32 = 1e-5;

/// What is remembered of the gradients.
#[derive(Clone, Debug, Default)]
pub struct Adam {
    /// Their mean, decayed.
    pub first: Vec<f32>,
    /// The mean of their squares, decayed.
    pub second: Vec<f32>,
    /// How many steps have been taken.
    pub steps: u64,
}

impl Adam {
    /// Of so many weights, before the first step.
    pub fn new(size: usize) -> Self {
        Adam { first: vec![0.0; size], second: vec![0.0; size], steps: 0 }
    }

    /// Changes weights by one step.
    pub fn step(&mut self, weights: &mut [f32], gradient: &[f32], rate: f64) {
        self.steps += 1;
        let power = self.steps.min(i32::MAX as u64) as i32;
        let step = (rate / (1.0 - f64::from(FIRST).powi(power))) as f32;
        let root = (1.0 - f64::from(SECOND).powi(power)).sqrt() as f32;
        let memory = self.first.iter_mut().zip(&mut self.second);
        for ((weight, &slope), (first, second)) in weights.iter_mut().zip(gradient).zip(memory) {
            *first += (1.0 - FIRST) * (slope - *first);
            *second = SECOND * *second + (1.0 - SECOND) * slope * slope;
            *weight -= step * *first / (second.sqrt() / root + EPSILON);
        }
    }
}
