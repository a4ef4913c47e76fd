//! `hosts`: scores each host from itself, the job, and the mean of what is seen in all hosts.

use super::graph::{Activation, Builder, Graph, Inputs, Layer, Scores, Space};
use super::spec::{NetworkSpec, HOST_ROW};

pub(crate) fn build(spec: &NetworkSpec) -> Graph {
    let (hidden, function) = (&spec.hidden, spec.activation);
    let width = hidden[hidden.len() - 1];
    let inner = if hidden.len() > 1 { &hidden[..hidden.len() - 1] } else { &hidden[..] };
    let mut graph = Builder::new(spec.prefix());
    // All hosts count in the mean; only those that have room for the job need a score.
    let choices = graph.input(Space::Choices, HOST_ROW);
    let inputs = Inputs {
        context: graph.input(Space::Samples, 0),
        rows: graph.input(Space::Rows, HOST_ROW),
        choices: Some(choices),
        share: None,
        slots: None,
    };
    let pooled = graph.dense("pooled_layer", &[inputs.rows], width, function);
    let context = graph.mean(pooled);
    let (name, from) = ("others", [context]);
    let others = graph.layer(Layer { name, inputs: &from, size: width, has_bias: false, ..Layer::default() });
    let own = graph.tower("own_tower", choices, inner, function);
    let (name, from) = ("own", [own]);
    let own = Layer { name, inputs: &from, size: width, activation: function, ..Layer::default() };
    let seen = graph.layer(Layer { spread: Some(others), ..own });
    // A weighted sum of a host's row is added to its score: what is nearly linear is learned at once.
    let (name, from) = ("sum", [choices]);
    let sum = graph.layer(Layer { name, inputs: &from, size: 1, has_bias: false, ..Layer::default() });
    let (name, from) = ("score", [seen]);
    let rows = graph.layer(Layer { name, inputs: &from, size: 1, plus: Some(sum), ..Layer::default() });
    let seen = graph.tower("value_tower", context, &[2 * width], function);
    let value = graph.dense("value", &[seen], 1, Activation::None);
    graph.finish(inputs, Scores::Rows { rows, wait: None }, value)
}
