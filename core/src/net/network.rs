//! A network with its weights, ready to be evaluated.

use super::batch::{Batch, Packing};
use super::graph::{Dense, Graph, Operation, Parameter};
use super::matmul::{padded, LANES, PANEL};
use super::operations::slots::ComposedSlots;
use super::simd::Instructions;
use super::spec::{Layout, NetworkSpec};

/// A network with its weights.
#[derive(Clone, Debug)]
pub struct Network {
    /// What it reads.
    pub layout: Layout,
    /// How it is built.
    pub spec: NetworkSpec,
    /// Which instructions it may use.
    pub instructions: Instructions,
    pub(crate) graph: Graph,
    pub(crate) packing: Packing,
    weights: Vec<f32>,
    /// For each operation that is a layer, its weights in the forms in which they are multiplied.
    pub(crate) packed: Vec<Option<PackedLayer>>,
    /// For each operation on slots, what it has worked out of its weights.
    pub(super) composed: Vec<Option<ComposedSlots>>,
}

impl Network {
    /// A network whose weights are all 0.
    pub fn new(spec: NetworkSpec, layout: Layout) -> Result<Self, String> {
        let graph = spec.build(&layout)?;
        let packing = Packing::of(layout, &spec);
        let size = graph.parameters.iter().map(Parameter::size).sum();
        let mut network = Network {
            layout,
            spec,
            instructions: Instructions::detect(),
            packed: vec![None; graph.operations.len()],
            composed: vec![None; graph.operations.len()],
            graph,
            packing,
            weights: vec![0.0; size],
        };
        network.pack();
        Ok(network)
    }

    /// All tensors of weights, in the order in which `weights` holds them.
    pub fn parameters(&self) -> &[Parameter] {
        &self.graph.parameters
    }

    /// All weights, tensor by tensor.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Other weights; an error if there are too many or too few, or if one is not finite.
    pub fn set_weights(&mut self, weights: &[f32]) -> Result<(), String> {
        if weights.len() != self.weights.len() {
            return Err(format!("{} weights were given; the network has {}", weights.len(), self.weights.len()));
        }
        if let Some(place) = weights.iter().position(|weight| !weight.is_finite()) {
            let owner = self.graph.parameters.iter().rev().find(|one| one.first <= place);
            let name = owner.map_or("", |one| &one.name);
            return Err(format!("{name} holds numbers that are not finite: {}", weights[place]));
        }
        self.weights.copy_from_slice(weights);
        self.pack();
        Ok(())
    }

    /// Changes the weights in place.
    pub(crate) fn change_weights(&mut self, change: impl FnOnce(&mut [f32])) {
        change(&mut self.weights);
        self.pack();
    }

    /// One tensor of weights.
    pub(crate) fn tensor(&self, parameter: usize) -> &[f32] {
        let parameter = &self.graph.parameters[parameter];
        &self.weights[parameter.first..parameter.first + parameter.size()]
    }

    /// Packs one observation behind others.
    pub(crate) fn push(&self, batch: &mut Batch, observation: &[f32], mask: &[u8]) -> Result<(), String> {
        batch.push(&self.packing, observation, mask)
    }

    fn pack(&mut self) {
        for place in 0..self.packed.len() {
            match &self.graph.operations[place] {
                Operation::Dense(layer) => {
                    let mut packed = self.packed[place].take().unwrap_or_default();
                    packed.fill(self, layer);
                    self.packed[place] = Some(packed);
                }
                Operation::Slots(slots) => self.composed[place] = Some(ComposedSlots::of(self, slots)),
                _ => {}
            }
        }
    }

    /// How many results a layer has.
    pub(crate) fn size(&self, layer: &Dense) -> usize {
        self.graph.values[layer.output.0].width
    }
}

/// A layer's weights in the forms in which they are multiplied.
#[derive(Clone, Debug, Default)]
pub(crate) struct PackedLayer {
    /// For each part: a row for each input, cut into panels of columns.
    panels: Vec<Vec<f32>>,
    /// For each part: a row for each result, filled up with zeros.
    straight: Vec<Vec<f32>>,
    /// Filled up with zeros.
    pub(crate) bias: Vec<f32>,
}

impl PackedLayer {
    fn fill(&mut self, network: &Network, layer: &Dense) {
        let size = network.size(layer);
        let columns = network.graph.parameters[layer.weight].columns();
        let weight = &network.tensor(layer.weight)[layer.first_row * columns..];
        self.panels.resize(layer.parts.len(), Vec::new());
        self.straight.resize(layer.parts.len(), Vec::new());
        for (place, part) in layer.parts.iter().enumerate() {
            let (depth, stride) = (part.columns, padded(part.columns));
            self.panels[place].resize(depth * padded(size), 0.0);
            self.straight[place].resize(size * stride, 0.0);
            for row in 0..size {
                let from = &weight[row * columns + part.first_column..][..depth];
                self.straight[place][row * stride..][..depth].copy_from_slice(from);
                let (panel, lane) = (row / PANEL, row % PANEL);
                let width = panel_width(size, panel);
                let target = &mut self.panels[place][panel * PANEL * depth..];
                for (p, &value) in from.iter().enumerate() {
                    target[p * width + lane] = value;
                }
            }
        }
        self.bias.resize(padded(size), 0.0);
        if let Some(bias) = layer.bias {
            self.bias[..size].copy_from_slice(&network.tensor(bias)[layer.first_row..][..size]);
        }
    }

    /// The panels of a part: the first column, the width and the numbers of each.
    pub(crate) fn panels(
        &self,
        part: usize,
        depth: usize,
        size: usize,
    ) -> impl Iterator<Item = (usize, usize, &[f32])> {
        let all = &self.panels[part];
        (0..size.div_ceil(PANEL)).map(move |panel| {
            let width = panel_width(size, panel);
            (panel * PANEL, width, &all[panel * PANEL * depth..][..depth * width])
        })
    }

    /// All panels of a part, one behind the other.
    pub(crate) fn all_panels(&self, part: usize) -> &[f32] {
        &self.panels[part]
    }

    /// A row for each result.
    pub(crate) fn straight(&self, part: usize) -> &[f32] {
        &self.straight[part]
    }
}

/// The last panel may be narrower.
fn panel_width(size: usize, panel: usize) -> usize {
    (padded(size) - panel * PANEL).min(PANEL)
}

const _: () = assert!(PANEL % LANES == 0);
