//! Where a network is evaluated: the values of all its operations for some samples, and their gradients.

use super::batch::{range_of, Batch};
use super::gradients::Gradients;
use super::graph::{Activation, Operation, Scores, Space, Value};
use super::matmul::padded;
use super::network::Network;

/// Buffers that grow as they are needed, and are kept from call to call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) samples: usize,
    /// Where each sample's rows end.
    pub(crate) row_ends: Vec<usize>,
    /// Where those of its rows end that may be chosen; for networks that read these apart.
    chosen_ends: Vec<usize>,
    /// How many slots each sample has.
    pub(crate) slot_count: usize,
    pub(crate) values: Vec<Vec<f32>>,
    pub(crate) gradients: Vec<Vec<f32>>,
    /// For each operation, what its gradient needs besides.
    pub(crate) kept: Vec<[Vec<f32>; 2]>,
    pub(crate) scratch: Vec<Vec<f32>>,
    /// For each choice, its score.
    pub(crate) logits: Vec<f32>,
    /// Where each sample's choices end.
    pub(crate) choice_ends: Vec<usize>,
    /// For each choice, where its score stands: in which value, and at which place of it.
    sources: Vec<(Value, usize)>,
    /// For each sample, what is expected to come, in the units in which the network learned it.
    pub(crate) expected: Vec<f32>,
}

impl Workspace {
    /// How many rows a value has.
    pub(crate) fn count(&self, space: Space) -> usize {
        let rows = self.row_ends.last().copied().unwrap_or(0);
        match space {
            Space::Samples => self.samples,
            Space::Rows => rows,
            Space::Choices => self.chosen_ends.last().copied().unwrap_or(0),
            Space::Tokens => self.samples + rows,
            Space::Slots => self.samples * self.slot_count,
        }
    }

    /// Which rows, or tokens, a sample has.
    pub(crate) fn range(&self, space: Space, sample: usize) -> std::ops::Range<usize> {
        let rows = range_of(&self.row_ends, sample);
        match space {
            Space::Samples => sample..sample + 1,
            Space::Rows => rows,
            Space::Choices => range_of(&self.chosen_ends, sample),
            Space::Tokens => rows.start + sample..rows.end + sample + 1,
            Space::Slots => sample * self.slot_count..(sample + 1) * self.slot_count,
        }
    }

    /// Which choices a sample has.
    pub(crate) fn choices(&self, sample: usize) -> std::ops::Range<usize> {
        range_of(&self.choice_ends, sample)
    }

    /// Scores the choices of some samples, and says what is expected to come.
    pub(crate) fn evaluate<'a>(
        &mut self,
        network: &Network,
        samples: impl Iterator<Item = (&'a Batch, usize)> + Clone,
    ) {
        self.read(network, samples.clone());
        for (place, operation) in network.graph.operations.iter().enumerate() {
            self.forward(network, place, operation);
        }
        self.score(network, samples);
        self.expected.clear();
        let expected = &self.values[network.graph.value.0];
        self.expected.extend(expected.chunks_exact(padded(1)).map(|row| row[0]));
    }

    /// Evaluates a whole batch.
    pub(crate) fn evaluate_all(&mut self, network: &Network, batch: &Batch) {
        self.evaluate(network, (0..batch.len()).map(|sample| (batch, sample)));
    }

    /// Notes which units gave more than 0 for what was evaluated last, by 2, and which did not, by 1. Units are those of layers behind which negative
    /// numbers become 0; each stands where its row of the layer's weight begins, and all other places stay as they are.
    pub(crate) fn note_active(&self, network: &Network, active: &mut [u8]) {
        let graph = &network.graph;
        for operation in &graph.operations {
            let Operation::Dense(layer) = operation else { continue };
            let (shape, weight) = (graph.values[layer.output.0], &graph.parameters[layer.weight]);
            if layer.activation != Activation::Relu || weight.columns() == 0 {
                continue;
            }
            let results = &self.values[layer.output.0][..self.count(shape.space) * shape.stride()];
            for unit in 0..shape.width {
                let acted = results.chunks_exact(shape.stride()).any(|row| row[unit] > 0.0);
                let place = &mut active[weight.first + (layer.first_row + unit) * weight.columns()];
                *place = (*place).max(1 + u8::from(acted));
            }
        }
    }

    /// Scores the choices of a whole batch, to decide: what is expected to come is not worked out.
    pub(crate) fn score_all(&mut self, network: &Network, batch: &Batch) {
        let samples = (0..batch.len()).map(|sample| (batch, sample));
        self.read(network, samples.clone());
        let graph = &network.graph;
        for (place, operation) in graph.operations.iter().enumerate().filter(|&(place, _)| graph.for_scores[place]) {
            self.forward(network, place, operation);
        }
        self.score(network, samples);
        self.expected.clear();
    }

    /// Copies what is read of the samples.
    fn read<'a>(&mut self, network: &Network, samples: impl Iterator<Item = (&'a Batch, usize)> + Clone) {
        let graph = &network.graph;
        let operations = graph.operations.len();
        self.values.resize(graph.values.len(), Vec::new());
        self.gradients.resize(graph.values.len(), Vec::new());
        self.kept.resize(operations, Default::default());
        self.row_ends.clear();
        let mut rows = 0;
        for (batch, sample) in samples.clone() {
            rows += batch.rows_of(sample).len();
            self.row_ends.push(rows);
        }
        self.samples = self.row_ends.len();
        let (width, inputs) = (network.packing.context, graph.inputs);
        self.slot_count = inputs.slots.map_or(0, |_| network.layout.slots());
        let stride = padded(width);
        let context = &mut self.values[inputs.context.0];
        context.clear();
        context.resize(self.samples * stride, 0.0);
        for ((batch, sample), target) in samples.clone().zip(context.chunks_exact_mut(stride.max(1))) {
            target[..width].copy_from_slice(&batch.context[sample * width..][..width]);
        }
        let (row_stride, target) = (network.packing.row_stride, &mut self.values[inputs.rows.0]);
        target.clear();
        target.reserve(rows * row_stride);
        for (batch, sample) in samples.clone() {
            let range = batch.rows_of(sample);
            target.extend_from_slice(&batch.rows[range.start * row_stride..range.end * row_stride]);
        }
        if let Some(choices) = inputs.choices {
            self.read_choices(row_stride, samples, choices);
        }
        if let Some(share) = inputs.share {
            self.read_share(network, share);
        }
        if let Some(slots) = inputs.slots {
            self.read_slots(stride, width, inputs.context, slots);
        }
    }

    fn read_choices<'a>(
        &mut self,
        row_stride: usize,
        samples: impl Iterator<Item = (&'a Batch, usize)>,
        choices: Value,
    ) {
        let target = &mut self.values[choices.0];
        target.clear();
        self.chosen_ends.clear();
        for (batch, sample) in samples {
            let rows = &batch.rows[batch.rows_of(sample).start * row_stride..];
            for row in batch.choices[batch.choices_of(sample)].iter().filter_map(|choice| choice.row) {
                target.extend_from_slice(&rows[row as usize * row_stride..][..row_stride]);
            }
            self.chosen_ends.push(target.len() / row_stride);
        }
    }

    fn read_share(&mut self, network: &Network, share: Value) {
        let stride = padded(1);
        let mut target = std::mem::take(&mut self.values[share.0]);
        target.clear();
        target.resize(self.samples * stride, 0.0);
        for sample in 0..self.samples {
            let count = self.range(Space::Rows, sample).len();
            target[sample * stride] = count as f32 / network.layout.most_rows() as f32;
        }
        self.values[share.0] = target;
    }

    fn read_slots(&mut self, stride: usize, width: usize, context: Value, slots: Value) {
        let mut target = std::mem::take(&mut self.values[slots.0]);
        let (one, seen) = (padded(1), &self.values[context.0]);
        target.clear();
        target.resize(self.samples * self.slot_count * one, 0.0);
        let numbers = seen.chunks_exact(stride).flat_map(|row| &row[width - self.slot_count..width]);
        for (target, &number) in target.chunks_exact_mut(one).zip(numbers) {
            target[0] = number;
        }
        self.values[slots.0] = target;
    }

    fn forward(&mut self, network: &Network, place: usize, operation: &Operation) {
        match operation {
            Operation::Dense(layer) if layer.is_flat => self.flat(network, place, layer),
            Operation::Dense(layer) => self.dense(network, place, layer),
            Operation::Pool { input, mean, largest } => self.pool(network, *input, *mean, *largest),
            Operation::Norm { input, weight, bias, output } => {
                self.norm(network, place, *input, (*weight, *bias), *output);
            }
            Operation::Join { samples, rows, output } => self.join(network, *samples, *rows, *output),
            Operation::Split { input, samples, rows } => self.split(network, *input, *samples, *rows),
            Operation::Slots(slots) => self.slots(network, place, slots),
            Operation::Attend(attend) => self.attend(network, place, attend),
        }
    }

    /// Collects the scores of choices.
    fn score<'a>(&mut self, network: &Network, samples: impl Iterator<Item = (&'a Batch, usize)>) {
        self.logits.clear();
        self.choice_ends.clear();
        self.sources.clear();
        let are_apart = network.graph.inputs.choices.is_some();
        for (number, (batch, sample)) in samples.enumerate() {
            let first = self.range(if are_apart { Space::Choices } else { Space::Rows }, number).start;
            let choices = batch.choices_of(sample);
            // Where rows that may be chosen stand apart, they do so one behind the other.
            let mut behind = 0..;
            for choice in &batch.choices[choices.clone()] {
                self.sources.push(match (network.graph.scores, choice.row) {
                    (Scores::Actions(actions), _) => {
                        (actions, number * network.graph.values[actions.0].stride() + choice.action as usize)
                    }
                    (Scores::Rows { rows, .. }, Some(row)) => {
                        let row = if are_apart { behind.next().unwrap_or(row) } else { row };
                        (rows, (first + row as usize) * padded(1))
                    }
                    (Scores::Rows { rows, wait }, None) => (wait.unwrap_or(rows), number * padded(1)),
                });
            }
            self.choice_ends.push(self.sources.len());
            match batch.beginnings.get(choices.clone()) {
                Some(beginnings) => self.logits.extend_from_slice(beginnings),
                None => self.logits.resize(self.logits.len() + choices.len(), 0.0),
            }
        }
        for (logit, &(value, place)) in self.logits.iter_mut().zip(&self.sources) {
            *logit += self.values[value.0][place];
        }
    }

    /// Adds the gradient of the weights, given that of the scores and of what is expected.
    pub(crate) fn differentiate(
        &mut self,
        network: &Network,
        logits: &[f32],
        expected: &[f32],
        gradients: &mut Gradients,
    ) {
        self.begin_back(network, logits, expected);
        for (place, operation) in network.graph.operations.iter().enumerate().rev() {
            self.backward(network, place, operation, &mut gradients.of[place]);
        }
    }

    /// Puts the gradients of scores and of what is expected where they came from; all others become 0.
    fn begin_back(&mut self, network: &Network, logits: &[f32], expected: &[f32]) {
        for (place, shape) in network.graph.values.iter().enumerate() {
            if !shape.is_input {
                let size = self.values[place].len();
                let gradient = &mut self.gradients[place];
                gradient.clear();
                gradient.resize(size, 0.0);
            }
        }
        for (&gradient, &(value, place)) in logits.iter().zip(&self.sources) {
            self.gradients[value.0][place] += gradient;
        }
        for (target, &gradient) in self.gradients[network.graph.value.0].chunks_exact_mut(padded(1)).zip(expected) {
            target[0] += gradient;
        }
    }

    fn backward(&mut self, network: &Network, place: usize, operation: &Operation, gradients: &mut [Vec<f32>]) {
        match operation {
            Operation::Dense(layer) if layer.is_flat => self.flat_back(network, layer, gradients),
            Operation::Dense(layer) => self.dense_back(network, place, layer, gradients),
            Operation::Pool { input, mean, largest } => self.pool_back(network, *input, *mean, *largest),
            Operation::Norm { input, weight, output, .. } => {
                self.norm_back(network, place, *input, *weight, *output, gradients);
            }
            Operation::Join { samples, rows, output } => self.join_back(network, *samples, *rows, *output),
            Operation::Split { input, samples, rows } => self.split_back(network, *input, *samples, *rows),
            Operation::Slots(slots) => self.slots_back(network, slots, gradients),
            Operation::Attend(attend) => self.attend_back(network, place, attend),
        }
    }
}
