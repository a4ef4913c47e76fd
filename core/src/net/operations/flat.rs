//! A layer on all rows of a sample side by side. Rows that are not filled are 0 and are left out, with their weights.

use super::dense::{activate, activate_back};
use crate::net::functions::{add_rows, fill_rows};
use crate::net::graph::{Dense, Space};
use crate::net::matmul::{add_product, add_row_product, padded, Left, Shape};
use crate::net::network::Network;
use crate::net::workspace::Workspace;

/// So many samples, of about the same length, are cut at the same row.
const TOGETHER: usize = 48;

impl Workspace {
    pub(in crate::net) fn flat(&mut self, network: &Network, place: usize, layer: &Dense) {
        let Some(packed) = &network.packed[place] else { return };
        let instructions = network.instructions;
        let shape = network.graph.values[layer.output.0];
        let stride = shape.stride();
        let mut output = std::mem::take(&mut self.values[layer.output.0]);
        output.resize(self.samples * stride, 0.0);
        self.scratch.resize(2, Vec::new());
        let mut sums = std::mem::take(&mut self.scratch[1]);
        let mut order = self.by_length();
        for group in order.chunks_mut(TOGETHER) {
            sums.resize(group.len() * stride, 0.0);
            fill_rows(instructions, &mut sums, &packed.bias);
            for number in 0..layer.parts.len() {
                let columns = layer.parts[number].columns;
                if let [sample] = *group {
                    // A decision has one sample, which lies as it is read: nothing is to be copied.
                    let left = self.of_sample(network, layer, number, sample);
                    add_row_product(instructions, left, packed.all_panels(number), columns, &mut sums);
                    continue;
                }
                let (depth, distance) = self.side_by_side(network, layer, number, group);
                let left = Left { values: &self.scratch[0], row: distance, column: 1 };
                for (column, columns, panel) in packed.panels(number, columns, shape.width) {
                    let shape = Shape { rows: group.len(), depth, columns };
                    add_product(instructions, left, panel, columns, &mut sums[column..], stride, shape);
                }
            }
            for (&sample, sums) in group.iter().zip(sums.chunks_exact(stride)) {
                output[sample * stride..][..stride].copy_from_slice(sums);
            }
        }
        self.scratch[1] = sums;
        activate(network, layer.activation, &mut output);
        self.values[layer.output.0] = output;
    }

    pub(in crate::net) fn flat_back(&mut self, network: &Network, layer: &Dense, gradients: &mut [Vec<f32>]) {
        let instructions = network.instructions;
        let shape = network.graph.values[layer.output.0];
        let stride = shape.stride();
        let mut gradient = std::mem::take(&mut self.gradients[layer.output.0]);
        activate_back(network, layer.activation, &mut gradient, &self.values[layer.output.0]);
        add_rows(instructions, &mut gradients[layer.parts.len()], &gradient);
        self.scratch.resize(2, Vec::new());
        let mut chosen = std::mem::take(&mut self.scratch[1]);
        let mut order = self.by_length();
        for group in order.chunks_mut(TOGETHER) {
            chosen.clear();
            group.iter().for_each(|&sample| chosen.extend_from_slice(&gradient[sample * stride..][..stride]));
            for (number, (part, target)) in layer.parts.iter().zip(gradients.iter_mut()).enumerate() {
                let (depth, distance) = self.side_by_side(network, layer, number, group);
                let left = Left { values: &chosen, row: 1, column: stride };
                let shape = Shape { rows: shape.width, depth: group.len(), columns: padded(depth) };
                let row = padded(part.columns);
                add_product(instructions, left, &self.scratch[0], distance, target, row, shape);
            }
        }
        self.scratch[1] = chosen;
        self.gradients[layer.output.0] = gradient;
    }

    /// The samples, those with few rows first.
    fn by_length(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.samples).collect();
        order.sort_by_key(|&sample| self.range(Space::Rows, sample).len());
        order
    }

    /// What a part of the layer reads of a sample.
    fn of_sample(&self, network: &Network, layer: &Dense, number: usize, sample: usize) -> &[f32] {
        let part = layer.parts[number];
        let values = &self.values[part.value.0];
        if number == 0 {
            return &values[sample * padded(part.columns)..][..part.columns];
        }
        let (rows, width) = (self.range(Space::Rows, sample), network.packing.row_stride);
        &values[rows.start * width..rows.end * width]
    }

    /// Writes what a part of the layer reads of some samples, one a row; returns how long rows are, and their distance.
    fn side_by_side(&mut self, network: &Network, layer: &Dense, number: usize, group: &[usize]) -> (usize, usize) {
        let mut target = std::mem::take(&mut self.scratch[0]);
        let lengths = group.iter().map(|&sample| self.of_sample(network, layer, number, sample).len());
        let depth = lengths.max().unwrap_or(0);
        let distance = padded(depth);
        target.clear();
        target.resize(group.len() * distance, 0.0);
        for (&sample, target) in group.iter().zip(target.chunks_exact_mut(distance.max(1))) {
            let from = self.of_sample(network, layer, number, sample);
            target[..from.len()].copy_from_slice(from);
        }
        self.scratch[0] = target;
        (depth, distance)
    }
}
