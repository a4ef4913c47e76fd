//! Tokens: a sample and its rows in one value.

use crate::net::functions::add;
use crate::net::graph::{Space, Value};
use crate::net::network::Network;
use crate::net::workspace::Workspace;

impl Workspace {
    pub(in crate::net) fn join(&mut self, network: &Network, samples: Value, rows: Value, output: Value) {
        let stride = network.graph.values[output.0].stride();
        let mut target = std::mem::take(&mut self.values[output.0]);
        target.clear();
        for sample in 0..self.samples {
            let range = self.range(Space::Rows, sample);
            target.extend_from_slice(&self.values[samples.0][sample * stride..][..stride]);
            target.extend_from_slice(&self.values[rows.0][range.start * stride..range.end * stride]);
        }
        self.values[output.0] = target;
    }

    pub(in crate::net) fn join_back(&mut self, network: &Network, samples: Value, rows: Value, output: Value) {
        let stride = network.graph.values[output.0].stride();
        let gradient = std::mem::take(&mut self.gradients[output.0]);
        for sample in 0..self.samples {
            let (range, token) = (self.range(Space::Rows, sample), self.range(Space::Tokens, sample));
            let (own, others) = gradient[token.start * stride..token.end * stride].split_at(stride);
            add(network.instructions, &mut self.gradients[samples.0][sample * stride..][..stride], own);
            let target = &mut self.gradients[rows.0][range.start * stride..range.end * stride];
            add(network.instructions, target, others);
        }
        self.gradients[output.0] = gradient;
    }

    pub(in crate::net) fn split(&mut self, network: &Network, input: Value, samples: Value, rows: Value) {
        let stride = network.graph.values[input.0].stride();
        let mut of_samples = std::mem::take(&mut self.values[samples.0]);
        let mut of_rows = std::mem::take(&mut self.values[rows.0]);
        of_samples.clear();
        of_rows.clear();
        for sample in 0..self.samples {
            let token = self.range(Space::Tokens, sample);
            let (own, others) = self.values[input.0][token.start * stride..token.end * stride].split_at(stride);
            of_samples.extend_from_slice(own);
            of_rows.extend_from_slice(others);
        }
        self.values[samples.0] = of_samples;
        self.values[rows.0] = of_rows;
    }

    pub(in crate::net) fn split_back(&mut self, network: &Network, input: Value, samples: Value, rows: Value) {
        let stride = network.graph.values[input.0].stride();
        let mut gradient = std::mem::take(&mut self.gradients[input.0]);
        for sample in 0..self.samples {
            let (range, token) = (self.range(Space::Rows, sample), self.range(Space::Tokens, sample));
            let (own, others) = gradient[token.start * stride..token.end * stride].split_at_mut(stride);
            add(network.instructions, own, &self.gradients[samples.0][sample * stride..][..stride]);
            add(network.instructions, others, &self.gradients[rows.0][range.start * stride..range.end * stride]);
        }
        self.gradients[input.0] = gradient;
    }
}
