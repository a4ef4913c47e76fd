//! What slots of the look-ahead are to those who look at them.
//!
//! A slot's token is its number times a row of weights, plus a row for its place. So a layer on it is the same again:
//! the number times one row, plus a row for each place. Both are worked out once, and samples only multiply and add.

use crate::net::functions::{add, add_scaled, write_scaled};
use crate::net::graph::Slots;
use crate::net::matmul::padded;
use crate::net::network::Network;
use crate::net::workspace::Workspace;

impl Workspace {
    pub(in crate::net) fn slots(&mut self, network: &Network, place: usize, slots: &Slots) {
        let Some(ComposedSlots { factor, added }) = &network.composed[place] else { return };
        let stride = network.graph.values[slots.output.0].stride();
        let mut target = std::mem::take(&mut self.values[slots.output.0]);
        let numbers = &self.values[slots.input.0];
        target.resize(numbers.len() / padded(1) * stride, 0.0);
        let rows = target.chunks_exact_mut(stride).zip(numbers.chunks_exact(padded(1)));
        for ((row, number), added) in rows.zip(added.chunks_exact(stride).cycle()) {
            write_scaled(network.instructions, row, factor, number[0], added);
        }
        self.values[slots.output.0] = target;
    }

    pub(in crate::net) fn slots_back(&mut self, network: &Network, slots: &Slots, gradients: &mut [Vec<f32>]) {
        let stride = network.graph.values[slots.output.0].stride();
        let [by_factor, by_added] = gradients else { return };
        let gradient = &self.gradients[slots.output.0];
        let numbers = self.values[slots.input.0].chunks_exact(padded(1));
        for (row, number) in gradient.chunks_exact(stride).zip(numbers) {
            add_scaled(network.instructions, by_factor, row, number[0]);
        }
        for sample in gradient.chunks_exact(by_added.len().max(1)) {
            add(network.instructions, by_added, sample);
        }
    }
}

/// What a slot's number is multiplied by, and what is added at each place: worked out when weights change.
#[derive(Clone, Debug)]
pub(in crate::net) struct ComposedSlots {
    factor: Vec<f32>,
    added: Vec<f32>,
}

impl ComposedSlots {
    pub(in crate::net) fn of(network: &Network, slots: &Slots) -> Self {
        let stride = network.graph.values[slots.output.0].stride();
        let width = network.graph.parameters[slots.weight].columns();
        let (weight, bias) = (network.tensor(slots.weight), network.tensor(slots.bias));
        let (token, token_bias) = (network.tensor(slots.token_weight), network.tensor(slots.token_bias));
        let layer = |token: &[f32], target: &mut [f32]| {
            for (row, target) in weight.chunks_exact(width).zip(target) {
                *target = row.iter().zip(token).map(|(weight, number)| weight * number).sum();
            }
        };
        let mut factor = vec![0.0; stride];
        layer(token, &mut factor);
        let mut added = Vec::new();
        for own in network.tensor(slots.places).chunks_exact(width) {
            let sum: Vec<f32> = token_bias.iter().zip(own).map(|(bias, own)| bias + own).collect();
            let first = added.len();
            added.resize(first + stride, 0.0);
            layer(&sum, &mut added[first..]);
            added[first..].iter_mut().zip(bias).for_each(|(target, bias)| *target += bias);
        }
        ComposedSlots { factor, added }
    }
}
