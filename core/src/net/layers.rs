//! `layers`: two towers of layers of any sizes on the flat observation, the form in which a user's own network is told.

use super::graph::{Builder, Flat, Graph, Scores};
use super::mlp::flat_inputs;
use super::spec::{Layout, NetworkSpec, TowerLayer};

pub(crate) fn build(layout: &Layout, spec: &NetworkSpec) -> Graph {
    let mut graph = Builder::new(spec.prefix());
    let (inputs, context, rows) = flat_inputs(&mut graph, layout);
    let mut tower = |name: &str, layers: &[TowerLayer]| {
        let mut last = None;
        // PyTorch numbers layers and the functions behind them together.
        let mut number = 0;
        for layer in layers {
            let (name, size) = (format!("{name}.{number}"), layer.size);
            last = Some(match last {
                None => graph.flat(&name, Flat { context, rows, first_row: 0, of_rows: size }, size, layer.activation),
                Some(before) => graph.dense(&name, &[before], size, layer.activation),
            });
            number += 1 + usize::from(layer.activation != super::graph::Activation::None);
        }
        // A tower without layers is refused before.
        last.unwrap_or(inputs.context)
    };
    let (policy, value) = (tower("policy", &spec.towers[0]), tower("value", &spec.towers[1]));
    graph.finish(inputs, Scores::Actions(policy), value)
}
