//! `kernel`: one small network scores every job alike, from its row and the cluster; *wait* and the value see all rows
//! pooled.

use super::graph::{Builder, Graph, Inputs, Layer, Scores, Space};
use super::spec::{JobLayout, NetworkSpec};

pub(crate) fn build(layout: &JobLayout, spec: &NetworkSpec) -> Graph {
    let (hidden, function) = (&spec.hidden, spec.activation);
    let (first, last) = (hidden[0], hidden[hidden.len() - 1]);
    let mut graph = Builder::new(spec.prefix());
    let inputs = Inputs {
        context: graph.input(Space::Samples, layout.context()),
        rows: graph.input(Space::Rows, layout.job_features),
        choices: None,
        share: Some(graph.input(Space::Samples, 1)),
        slots: None,
    };
    // One layer on the row and the context side by side: the context's part is worked out once a sample. Its first
    // results are what scores are made of, the others are pooled: scores grow as a policy becomes sure of itself, and
    // values must not.
    let mut rows_of = |first_row, size| {
        let of_rows = Some(first + last);
        let (name, context) = ("context_layer", &[inputs.context]);
        let spread = graph.layer(Layer { name, inputs: context, size, first_row, of_rows, ..Layer::default() });
        let (name, rows) = ("row_layer", &[inputs.rows]);
        let layer = Layer { name, inputs: rows, size, first_row, of_rows, ..Layer::default() };
        graph.layer(Layer { has_bias: false, activation: function, spread: Some(spread), ..layer })
    };
    let (scored, pooled) = (rows_of(0, first), rows_of(first, last));
    let scored = graph.tower("job_tower", scored, &hidden[1..], function);
    let rows = graph.dense("score", &[scored], 1, super::graph::Activation::None);
    let [mean, largest] = graph.pool(pooled);
    let mut state = vec![inputs.context];
    state.extend(inputs.share);
    state.extend([mean, largest]);
    let mut head = |name: &str| {
        let seen = graph.dense(&format!("{name}_tower.0"), &state, first, function);
        graph.dense(name, &[seen], 1, super::graph::Activation::None)
    };
    let (wait, value) = (head("wait"), head("value"));
    graph.finish(inputs, Scores::Rows { rows, wait: Some(wait) }, value)
}
