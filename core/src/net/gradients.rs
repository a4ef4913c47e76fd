//! The gradient of a loss by all weights, in the form in which operations add to it.

use super::functions::add;
use super::graph::{Dense, Operation, Slots};
use super::matmul::padded;
use super::network::Network;

/// For each operation, the gradients of what it multiplies by: rows are filled up with zeros.
#[derive(Clone, Debug)]
pub(crate) struct Gradients {
    pub(crate) of: Vec<Vec<Vec<f32>>>,
}

impl Gradients {
    /// All 0.
    pub(crate) fn new(network: &Network) -> Self {
        let zeros = |sizes: &[usize]| sizes.iter().map(|&size| vec![0.0; size]).collect::<Vec<_>>();
        let values = &network.graph.values;
        let of = network.graph.operations.iter().map(|operation| match operation {
            Operation::Dense(layer) => {
                let size = network.size(layer);
                let mut parts: Vec<usize> = layer.parts.iter().map(|part| size * padded(part.columns)).collect();
                parts.push(padded(size));
                zeros(&parts)
            }
            Operation::Norm { input, .. } => zeros(&[values[input.0].width; 2]),
            Operation::Slots(slots) => {
                let places = network.graph.parameters[slots.places].dimensions[0];
                let stride = values[slots.output.0].stride();
                zeros(&[stride, places * stride])
            }
            _ => Vec::new(),
        });
        Gradients { of: of.collect() }
    }

    pub(crate) fn clear(&mut self) {
        self.of.iter_mut().flatten().for_each(|values| values.fill(0.0));
    }

    /// Adds another's.
    pub(crate) fn add(&mut self, network: &Network, other: &Gradients) {
        for (mine, others) in self.of.iter_mut().flatten().zip(other.of.iter().flatten()) {
            add(network.instructions, mine, others);
        }
    }

    /// Writes them tensor by tensor, as weights stand.
    pub(crate) fn collect(&self, network: &Network, flat: &mut [f32]) {
        flat.fill(0.0);
        for (operation, found) in network.graph.operations.iter().zip(&self.of) {
            match operation {
                Operation::Dense(layer) => collect_dense(network, layer, found, flat),
                Operation::Norm { weight, bias, .. } => {
                    for (&parameter, values) in [weight, bias].into_iter().zip(found) {
                        add_at(flat, network.graph.parameters[parameter].first, values);
                    }
                }
                Operation::Slots(slots) => collect_slots(network, slots, found, flat),
                _ => {}
            }
        }
    }
}

fn collect_dense(network: &Network, layer: &Dense, found: &[Vec<f32>], flat: &mut [f32]) {
    let (size, weight) = (network.size(layer), &network.graph.parameters[layer.weight]);
    for (part, values) in layer.parts.iter().zip(found) {
        for (row, values) in values.chunks_exact(padded(part.columns).max(1)).enumerate() {
            let first = weight.first + (layer.first_row + row) * weight.columns() + part.first_column;
            add_at(flat, first, &values[..part.columns]);
        }
    }
    if let (Some(bias), Some(values)) = (layer.bias, found.last()) {
        add_at(flat, network.graph.parameters[bias].first + layer.first_row, &values[..size]);
    }
}

/// From what a slot's number is multiplied by, and what is added at each place, to the weights that both are made of.
fn collect_slots(network: &Network, slots: &Slots, found: &[Vec<f32>], flat: &mut [f32]) {
    let [by_factor, by_added] = found else { return };
    let first = |parameter: usize| network.graph.parameters[parameter].first;
    let size = network.graph.parameters[slots.bias].size();
    collect_token(network, slots, by_factor, network.tensor(slots.token_weight), &[first(slots.token_weight)], flat);
    let (bias, places) = (network.tensor(slots.token_bias), network.tensor(slots.places));
    let stride = network.graph.values[slots.output.0].stride();
    let rows = by_added.chunks_exact(stride).zip(places.chunks_exact(bias.len()));
    for (place, (gradient, own)) in rows.enumerate() {
        let token: Vec<f32> = bias.iter().zip(own).map(|(bias, own)| bias + own).collect();
        let targets = [first(slots.token_bias), first(slots.places) + place * bias.len()];
        collect_token(network, slots, gradient, &token, &targets, flat);
        add_at(flat, first(slots.bias), &gradient[..size]);
    }
}

/// Adds the gradients of a layer on one token: of the layer's weight, and of what the token is the sum of.
fn collect_token(
    network: &Network,
    slots: &Slots,
    gradient: &[f32],
    token: &[f32],
    targets: &[usize],
    flat: &mut [f32],
) {
    let first = network.graph.parameters[slots.weight].first;
    let width = token.len();
    for (result, (row, &slope)) in network.tensor(slots.weight).chunks_exact(width).zip(gradient).enumerate() {
        for (column, (&weight, &token)) in row.iter().zip(token).enumerate() {
            flat[first + result * width + column] += slope * token;
            targets.iter().for_each(|target| flat[target + column] += slope * weight);
        }
    }
}

/// Two layers may share a weight: both gradients count.
fn add_at(flat: &mut [f32], first: usize, values: &[f32]) {
    flat[first..first + values.len()].iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}
