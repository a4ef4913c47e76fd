//! What the rows of a sample have in common: their mean and their largest.

use crate::net::functions::{add_rows, add_to_rows, largest_back, largest_rows, scale};
use crate::net::graph::Value;
use crate::net::network::Network;
use crate::net::workspace::Workspace;

impl Workspace {
    pub(in crate::net) fn pool(&mut self, network: &Network, input: Value, mean: Value, largest: Option<Value>) {
        let instructions = network.instructions;
        let shape = network.graph.values[input.0];
        let stride = shape.stride();
        let mut means = std::mem::take(&mut self.values[mean.0]);
        means.clear();
        means.resize(self.samples * stride, 0.0);
        let mut most = largest.map(|largest| std::mem::take(&mut self.values[largest.0])).unwrap_or_default();
        most.clear();
        most.resize(self.samples * stride, 0.0);
        for sample in 0..self.samples {
            let range = self.range(shape.space, sample);
            let rows = &self.values[input.0][range.start * stride..range.end * stride];
            if range.is_empty() {
                continue;
            }
            let target = &mut means[sample * stride..][..stride];
            add_rows(instructions, target, rows);
            scale(instructions, target, 1.0 / range.len() as f32);
            if largest.is_some() {
                largest_rows(instructions, &mut most[sample * stride..][..stride], rows);
            }
        }
        self.values[mean.0] = means;
        if let Some(largest) = largest {
            self.values[largest.0] = most;
        }
    }

    pub(in crate::net) fn pool_back(&mut self, network: &Network, input: Value, mean: Value, largest: Option<Value>) {
        let instructions = network.instructions;
        let shape = network.graph.values[input.0];
        let stride = shape.stride();
        let mut gradient = std::mem::take(&mut self.gradients[input.0]);
        for sample in 0..self.samples {
            let range = self.range(shape.space, sample);
            if range.is_empty() {
                continue;
            }
            let rows = range.start * stride..range.end * stride;
            let own = sample * stride..(sample + 1) * stride;
            let part = 1.0 / range.len() as f32;
            add_to_rows(instructions, &mut gradient[rows.clone()], &self.gradients[mean.0][own.clone()], part);
            if let Some(largest) = largest {
                let (most, of_most) = (&self.values[largest.0][own.clone()], &self.gradients[largest.0][own]);
                largest_back(instructions, &mut gradient[rows.clone()], &self.values[input.0][rows], most, of_most);
            }
        }
        self.gradients[input.0] = gradient;
    }
}
