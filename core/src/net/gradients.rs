//! The gradient of a loss by all weights, in the form in which operations add to it.

use super::functions::add;
use super::graph::{Dense, Operation};
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
            Operation::Places { places, output, .. } => {
                zeros(&[network.graph.parameters[*places].dimensions[0] * values[output.0].stride()])
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
                Operation::Places { places, output, .. } => {
                    let parameter = &network.graph.parameters[*places];
                    let (width, stride) = (parameter.columns(), network.graph.values[output.0].stride());
                    for (row, values) in found[0].chunks_exact(stride).enumerate() {
                        add_at(flat, parameter.first + row * width, &values[..width]);
                    }
                }
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

/// Two layers may share a weight: both gradients count.
fn add_at(flat: &mut [f32], first: usize, values: &[f32]) {
    flat[first..first + values.len()].iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}
