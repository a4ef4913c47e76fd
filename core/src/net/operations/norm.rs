//! Layer normalization.

use crate::net::functions::{normalize_back, normalize_rows, Normal};
use crate::net::graph::Value;
use crate::net::network::Network;
use crate::net::workspace::Workspace;

impl Workspace {
    pub(in crate::net) fn norm(
        &mut self,
        network: &Network,
        place: usize,
        input: Value,
        (weight, bias): (usize, usize),
        output: Value,
    ) {
        let shape = network.graph.values[input.0];
        let (rows, stride) = (self.count(shape.space), shape.stride());
        let mut target = std::mem::take(&mut self.values[output.0]);
        target.resize(rows * stride, 0.0);
        let [numbers, deviations] = &mut self.kept[place];
        numbers.resize(rows * stride, 0.0);
        deviations.resize(rows, 0.0);
        let mut normal = Normal { stride, width: shape.width, numbers, deviations };
        let (weight, bias) = (network.tensor(weight), network.tensor(bias));
        normalize_rows(network.instructions, &mut normal, &self.values[input.0], weight, bias, &mut target);
        self.values[output.0] = target;
    }

    pub(in crate::net) fn norm_back(
        &mut self,
        network: &Network,
        place: usize,
        input: Value,
        weight: usize,
        output: Value,
        gradients: &mut [Vec<f32>],
    ) {
        let shape = network.graph.values[input.0];
        let gradient = std::mem::take(&mut self.gradients[output.0]);
        let [numbers, deviations] = &mut self.kept[place];
        let normal = Normal { stride: shape.stride(), width: shape.width, numbers, deviations };
        let [of_weight, of_bias] = gradients else { return };
        let target = &mut self.gradients[input.0];
        let weight = network.tensor(weight);
        normalize_back(network.instructions, &normal, weight, &gradient, target, [of_weight, of_bias]);
        self.gradients[output.0] = gradient;
    }
}
