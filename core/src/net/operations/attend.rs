//! Attention: each token of a sample takes a mean of what all its tokens and slots tell, weighted by how well its query
//! fits their keys.

use crate::net::functions::{softmax_back, softmax_rows};
use crate::net::graph::{Attend, Space};
use crate::net::matmul::{add_product, padded, Left, Shape};
use crate::net::network::Network;
use crate::net::workspace::Workspace;

/// One head of one sample: where its numbers are.
#[derive(Clone, Copy)]
struct Head {
    sample: usize,
    /// The first token, and how many.
    first: usize,
    tokens: usize,
    /// Tokens and slots, which are looked at.
    sources: usize,
    /// The first column of this head, and how many.
    column: usize,
    width: usize,
    /// The distance of tokens.
    stride: usize,
}

impl Head {
    /// The distance of rows of weights.
    fn row(&self) -> usize {
        padded(self.sources)
    }

    fn at(&self) -> usize {
        self.first * self.stride + self.column
    }
}

/// What is looked at of a source, and what is taken from it.
#[derive(Clone, Copy)]
enum Half {
    Keys = 0,
    Values = 1,
}

impl Workspace {
    pub(in crate::net) fn attend(&mut self, network: &Network, place: usize, attend: &Attend) {
        let instructions = network.instructions;
        let stride = network.graph.values[attend.output.0].stride();
        let mut output = std::mem::take(&mut self.values[attend.output.0]);
        output.clear();
        output.resize(self.count(Space::Tokens) * stride, 0.0);
        let mut chances = std::mem::take(&mut self.kept[place][0]);
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(scratch.len().max(3), Vec::new());
        let [keys, values, mixed, ..] = &mut scratch[..] else { unreachable!("three are there") };
        let mut begin = 0;
        for head in self.heads(network, attend) {
            self.gather_by_number(network, attend, &head, Half::Keys, keys);
            self.gather_by_source(network, attend, &head, Half::Values, values);
            let Head { tokens, sources, width, .. } = head;
            let (row, wide) = (head.row(), padded(width));
            let end = begin + tokens * row;
            // Grown as needed, never cleared as a whole: it is the largest of all buffers.
            chances.resize(chances.len().max(end), 0.0);
            let own = &mut chances[begin..end];
            own.fill(0.0);
            let query = Left { values: &self.values[attend.query.0][head.at()..], row: stride, column: 1 };
            let shape = Shape { rows: tokens, depth: width, columns: row };
            add_product(instructions, query, keys, row, own, row, shape);
            softmax_rows(instructions, own, row, sources, 1.0 / (width as f32).sqrt());
            mixed.clear();
            mixed.resize(tokens * wide, 0.0);
            let shape = Shape { rows: tokens, depth: sources, columns: wide };
            let weights = Left { values: own, row, column: 1 };
            add_product(instructions, weights, values, wide, mixed, wide, shape);
            scatter(mixed, &head, &mut output);
            begin = end;
        }
        self.scratch = scratch;
        self.kept[place][0] = chances;
        self.values[attend.output.0] = output;
    }

    pub(in crate::net) fn attend_back(&mut self, network: &Network, place: usize, attend: &Attend) {
        let instructions = network.instructions;
        let gradient = std::mem::take(&mut self.gradients[attend.output.0]);
        let mut of_query = std::mem::take(&mut self.gradients[attend.query.0]);
        let chances = std::mem::take(&mut self.kept[place][0]);
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        let (mut scores, mut found, mut begin) = (Vec::new(), Vec::new(), 0);
        for head in self.heads(network, attend) {
            self.gather_by_source(network, attend, &head, Half::Keys, &mut keys);
            self.gather_by_number(network, attend, &head, Half::Values, &mut values);
            let Head { tokens, sources, width, stride, .. } = head;
            let (row, wide) = (head.row(), padded(width));
            let own = &chances[begin..begin + tokens * row];
            begin += tokens * row;
            // Rows of the gradient and of the queries, of this head alone: products read whole vectors.
            let mut of_output = gathered_rows(&gradient, &head);
            found.clear();
            found.resize(sources * wide, 0.0);
            let weights = Left { values: own, row: 1, column: row };
            let shape = Shape { rows: sources, depth: tokens, columns: wide };
            add_product(instructions, weights, &of_output, wide, &mut found, wide, shape);
            self.scatter_sources(network, attend, &head, Half::Values, &found);
            scores.clear();
            scores.resize(tokens * row, 0.0);
            let shape = Shape { rows: tokens, depth: width, columns: row };
            let left = Left { values: &of_output, row: wide, column: 1 };
            add_product(instructions, left, &values, row, &mut scores, row, shape);
            softmax_back(instructions, &mut scores, own, row, 1.0 / (width as f32).sqrt());
            of_output.fill(0.0);
            let shape = Shape { rows: tokens, depth: sources, columns: wide };
            let left = Left { values: &scores, row, column: 1 };
            add_product(instructions, left, &keys, wide, &mut of_output, wide, shape);
            add_rows_at(&of_output, wide, &head, &mut of_query, stride);
            found.fill(0.0);
            let queries = gathered_rows(&self.values[attend.query.0], &head);
            let left = Left { values: &scores, row: 1, column: row };
            let shape = Shape { rows: sources, depth: tokens, columns: wide };
            add_product(instructions, left, &queries, wide, &mut found, wide, shape);
            self.scatter_sources(network, attend, &head, Half::Keys, &found);
        }
        self.kept[place][0] = chances;
        self.gradients[attend.query.0] = of_query;
        self.gradients[attend.output.0] = gradient;
    }

    fn heads(&self, network: &Network, attend: &Attend) -> Vec<Head> {
        let shape = network.graph.values[attend.output.0];
        let width = shape.width / attend.heads;
        let slots = if attend.slots.is_some() { self.slot_count } else { 0 };
        let each = (0..self.samples).flat_map(|sample| (0..attend.heads).map(move |head| (sample, head)));
        let heads = each.map(|(sample, head)| {
            let range = self.range(Space::Tokens, sample);
            let (tokens, column) = (range.len(), head * width);
            Head { sample, first: range.start, tokens, sources: tokens + slots, column, width, stride: shape.stride() }
        });
        heads.collect()
    }

    /// A head's keys or values, one source after the other: its tokens, then its slots.
    fn sources<'a>(
        &'a self,
        network: &Network,
        attend: &Attend,
        head: &Head,
        half: Half,
    ) -> impl Iterator<Item = &'a [f32]> {
        let shape = network.graph.values[attend.tokens.0];
        let (stride, column) = (shape.stride(), half as usize * (shape.width / 2) + head.column);
        let of_tokens = self.values[attend.tokens.0][head.first * stride..].chunks_exact(stride).take(head.tokens);
        let slots = attend.slots.map_or(&[][..], |slots| &self.values[slots.0]);
        let of_slots = slots.chunks_exact(stride).skip(head.sample * self.slot_count).take(head.sources - head.tokens);
        let width = head.width;
        of_tokens.chain(of_slots).map(move |from| &from[column..column + width])
    }

    /// Gathers a head's keys or values: a row for each source.
    fn gather_by_source(&self, network: &Network, attend: &Attend, head: &Head, half: Half, into: &mut Vec<f32>) {
        into.clear();
        for from in self.sources(network, attend, head, half) {
            into.extend_from_slice(from);
            into.resize(into.len() + padded(head.width) - head.width, 0.0);
        }
    }

    /// Gathers a head's keys or values: a row for each of their numbers, a column for each source.
    fn gather_by_number(&self, network: &Network, attend: &Attend, head: &Head, half: Half, into: &mut Vec<f32>) {
        let row = head.row();
        into.clear();
        into.resize(head.width * row, 0.0);
        for (source, from) in self.sources(network, attend, head, half).enumerate() {
            for (target, &value) in into[source..].iter_mut().step_by(row).zip(from) {
                *target = value;
            }
        }
    }

    /// Adds gradients of a head's keys or values where these came from.
    fn scatter_sources(&mut self, network: &Network, attend: &Attend, head: &Head, half: Half, found: &[f32]) {
        let shape = network.graph.values[attend.tokens.0];
        let (stride, column) = (shape.stride(), half as usize * (shape.width / 2) + head.column);
        let slots = head.sample * self.slot_count;
        let (of_tokens, of_slots) = found.split_at(head.tokens * padded(head.width));
        let mut put = |value: usize, first: usize, rows: &[f32]| {
            let targets = self.gradients[value][first * stride..].chunks_exact_mut(stride);
            for (target, row) in targets.zip(rows.chunks_exact(padded(head.width))) {
                for (sum, &value) in target[column..column + head.width].iter_mut().zip(row) {
                    *sum += value;
                }
            }
        };
        put(attend.tokens.0, head.first, of_tokens);
        if let Some(value) = attend.slots {
            put(value.0, slots, of_slots);
        }
    }
}

/// The rows of one head, filled up to whole vectors.
fn gathered_rows(values: &[f32], head: &Head) -> Vec<f32> {
    let wide = padded(head.width);
    let mut rows = vec![0.0; head.tokens * wide];
    for (token, row) in rows.chunks_exact_mut(wide).enumerate() {
        row[..head.width].copy_from_slice(&values[head.at() + token * head.stride..][..head.width]);
    }
    rows
}

fn scatter(rows: &[f32], head: &Head, target: &mut [f32]) {
    for (token, row) in rows.chunks_exact(padded(head.width)).enumerate() {
        target[head.at() + token * head.stride..][..head.width].copy_from_slice(&row[..head.width]);
    }
}

fn add_rows_at(rows: &[f32], wide: usize, head: &Head, target: &mut [f32], stride: usize) {
    for (token, row) in rows.chunks_exact(wide).enumerate() {
        let target = &mut target[head.at() + token * stride..][..head.width];
        target.iter_mut().zip(row).for_each(|(sum, &value)| *sum += value);
    }
}
