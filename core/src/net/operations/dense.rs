//! Layers: sums of inputs by weights.

use crate::net::functions::{
    add, add_dots, add_rows, add_to_rows, add_weighted_rows, fill_rows, relu, relu_back, tanh_all, tanh_back,
};
use crate::net::graph::{Activation, Dense, Space};
use crate::net::matmul::{add_product, Left, Shape};
use crate::net::network::Network;
use crate::net::workspace::Workspace;

impl Workspace {
    pub(in crate::net) fn dense(&mut self, network: &Network, place: usize, layer: &Dense) {
        let Some(packed) = &network.packed[place] else { return };
        let instructions = network.instructions;
        let shape = network.graph.values[layer.output.0];
        let (rows, stride) = (self.count(shape.space), shape.stride());
        let mut output = std::mem::take(&mut self.values[layer.output.0]);
        // Every number is written below: what stands there may stay.
        output.resize(rows * stride, 0.0);
        if let Some(spread) = layer.spread {
            for sample in 0..self.samples {
                let range = self.range(shape.space, sample);
                let target = &mut output[range.start * stride..range.end * stride];
                fill_rows(instructions, target, &self.values[spread.0][sample * stride..][..stride]);
            }
            if layer.bias.is_some() {
                add_to_rows(instructions, &mut output, &packed.bias, 1.0);
            }
        } else if let Some(plus) = layer.plus {
            output.copy_from_slice(&self.values[plus.0]);
            add_to_rows(instructions, &mut output, &packed.bias, 1.0);
        } else {
            fill_rows(instructions, &mut output, &packed.bias);
        }
        for (number, part) in layer.parts.iter().enumerate() {
            let input = network.graph.values[part.value.0].stride();
            if shape.width == 1 {
                // A vector of results for each row would be seven eighths of nothing.
                add_dots(instructions, &mut output, stride, &self.values[part.value.0], packed.straight(number));
                continue;
            }
            let left = Left { values: &self.values[part.value.0], row: input, column: 1 };
            for (column, columns, panel) in packed.panels(number, part.columns, shape.width) {
                let shape = Shape { rows, depth: part.columns, columns };
                let target = output.get_mut(column..).unwrap_or_default();
                add_product(instructions, left, panel, columns, target, stride, shape);
            }
        }
        activate(network, layer.activation, &mut output);
        self.values[layer.output.0] = output;
    }

    pub(in crate::net) fn dense_back(
        &mut self,
        network: &Network,
        place: usize,
        layer: &Dense,
        gradients: &mut [Vec<f32>],
    ) {
        let Some(packed) = &network.packed[place] else { return };
        let instructions = network.instructions;
        let shape = network.graph.values[layer.output.0];
        let (rows, stride) = (self.count(shape.space), shape.stride());
        let mut gradient = std::mem::take(&mut self.gradients[layer.output.0]);
        activate_back(network, layer.activation, &mut gradient, &self.values[layer.output.0]);
        if layer.bias.is_some() {
            add_rows(instructions, &mut gradients[layer.parts.len()], &gradient);
        }
        if let Some(plus) = layer.plus {
            add(instructions, &mut self.gradients[plus.0], &gradient);
        }
        if let Some(spread) = layer.spread {
            self.spread_back(network, shape.space, stride, &gradient, spread.0);
        }
        for (number, part) in layer.parts.iter().enumerate() {
            let input = network.graph.values[part.value.0];
            let columns = input.stride();
            let values = &self.values[part.value.0];
            if shape.width == 1 {
                add_weighted_rows(instructions, &mut gradients[number], values, &gradient, stride);
            } else {
                let by_result = Left { values: &gradient, row: 1, column: stride };
                let of_weight = Shape { rows: shape.width, depth: rows, columns };
                add_product(instructions, by_result, values, columns, &mut gradients[number], columns, of_weight);
            }
            if !input.is_input {
                let by_row = Left { values: &gradient, row: stride, column: 1 };
                let of_input = Shape { rows, depth: shape.width, columns };
                let target = &mut self.gradients[part.value.0];
                add_product(instructions, by_row, packed.straight(number), columns, target, columns, of_input);
            }
        }
        self.gradients[layer.output.0] = gradient;
    }

    /// The gradient of a value that was added to all rows of its sample.
    fn spread_back(&mut self, network: &Network, space: Space, stride: usize, gradient: &[f32], spread: usize) {
        for sample in 0..self.samples {
            let range = self.range(space, sample);
            let target = &mut self.gradients[spread][sample * stride..][..stride];
            add_rows(network.instructions, target, &gradient[range.start * stride..range.end * stride]);
        }
    }
}

pub(super) fn activate(network: &Network, activation: Activation, values: &mut [f32]) {
    match activation {
        Activation::None => {}
        Activation::Relu => relu(network.instructions, values),
        Activation::Tanh => tanh_all(network.instructions, values),
    }
}

pub(super) fn activate_back(network: &Network, activation: Activation, gradients: &mut [f32], results: &[f32]) {
    match activation {
        Activation::None => {}
        Activation::Relu => relu_back(network.instructions, gradients, results),
        Activation::Tanh => tanh_back(network.instructions, gradients, results),
    }
}
