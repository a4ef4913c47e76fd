//! `mlp`: two towers on the flat observation, for the policy and for the value.

use super::graph::{Activation, Builder, Flat, Graph, Inputs, Part, Scores, Space};
use super::spec::{Layout, NetworkSpec};

pub(crate) fn build(layout: &Layout, spec: &NetworkSpec) -> Graph {
    let (hidden, function) = (&spec.hidden, spec.activation);
    let mut graph = Builder::new(spec.prefix());
    let (inputs, context, rows) = flat_inputs(&mut graph, layout);
    let mut tower = |place: usize, name: &str| {
        let flat = Flat { context, rows, first_row: place * hidden[0], of_rows: 2 * hidden[0] };
        let first = graph.flat("first", flat, hidden[0], function);
        graph.tower(name, first, &hidden[1..], function)
    };
    let (policy, value) = (tower(0, "policy_tower"), tower(1, "value_tower"));
    let logits = graph.dense("logits", &[policy], layout.actions(), Activation::None);
    let value = graph.dense("value", &[value], 1, Activation::None);
    graph.finish(inputs, Scores::Actions(logits), value)
}

/// What a network on the flat observation reads; and by which columns of a weight what is told of a sample, and its
/// rows, are multiplied.
pub(crate) fn flat_inputs(graph: &mut Builder, layout: &Layout) -> (Inputs, Part, Part) {
    let inputs = Inputs {
        context: graph.input(Space::Samples, layout.context()),
        rows: graph.input(Space::Rows, layout.row_features()),
        choices: None,
        share: None,
        slots: None,
    };
    // In an observation jobs stand behind the cluster, and hosts before the job.
    let (context, rows) = (layout.context(), layout.most_rows() * layout.row_features());
    let (context_at, rows_at) = if layout.is_host() { (rows, 0) } else { (0, context) };
    (
        inputs,
        Part { value: inputs.context, first_column: context_at, columns: context },
        Part { value: inputs.rows, first_column: rows_at, columns: rows },
    )
}
