//! `attention`: a token for each waiting job and one for the state look at each other, and at the capacity to come.

use super::graph::{Activation, Builder, Graph, Inputs, Layer, Scores, Space, Value};
use super::spec::{JobLayout, NetworkSpec};

pub(crate) fn build(layout: &JobLayout, spec: &NetworkSpec) -> Graph {
    let (width, inner) = (spec.hidden[0], spec.hidden[spec.hidden.len() - 1]);
    let mut graph = Builder::new(spec.prefix());
    let lookahead = layout.lookahead_size;
    let inputs = Inputs {
        context: graph.input(Space::Samples, layout.context()),
        rows: graph.input(Space::Rows, layout.job_features),
        choices: None,
        share: None,
        slots: (lookahead > 0).then(|| graph.input(Space::Slots, 1)),
    };
    let jobs = graph.dense("job_layer", &[inputs.rows], width, Activation::None);
    let state = graph.dense("state_layer", &[inputs.context], width, Activation::None);
    // Slots differ by what they tell and by which they are. A checkpoint has their weights though there be none.
    graph.parameter("slot_layer.weight", &[width, 1]);
    graph.parameter("slot_layer.bias", &[width]);
    graph.parameter("slot_places", &[lookahead, width]);
    let mut tokens = graph.join(state, jobs);
    for place in 0..spec.blocks {
        tokens = block(&mut graph, &format!("blocks.{place}"), tokens, (inputs.slots, lookahead), inner, spec);
    }
    let tokens = graph.norm("norm", tokens);
    let (state, jobs) = graph.split(tokens);
    let rows = graph.dense("score", &[jobs], 1, Activation::None);
    let wait = graph.dense("wait", &[state], 1, Activation::None);
    let value = graph.dense("value", &[state], 1, Activation::None);
    graph.finish(inputs, Scores::Rows { rows, wait: Some(wait) }, value)
}

/// Attention and a small tower, each added to what came in.
fn block(
    graph: &mut Builder,
    name: &str,
    tokens: Value,
    (slots, places): (Option<Value>, usize),
    inner: usize,
    spec: &NetworkSpec,
) -> Value {
    let width = graph.shape(tokens).width;
    let named = |part: &str| format!("{name}.{part}");
    let normal = graph.norm(&named("first_norm"), tokens);
    let query = graph.dense(&named("query"), &[normal], width, Activation::None);
    let of_tokens = graph.dense(&named("key_and_value"), &[normal], 2 * width, Activation::None);
    // Slots are looked at and look at nothing: what they tell does not change.
    let of_slots = slots.map(|slots| graph.slots(&named("key_and_value"), slots, places, width, 2 * width));
    let mixed = graph.attend(query, of_tokens, of_slots, spec.heads);
    let (name, inputs) = (named("output"), [mixed]);
    let tokens =
        graph.layer(Layer { name: &name, inputs: &inputs, size: width, plus: Some(tokens), ..Layer::default() });
    let normal = graph.norm(&named("second_norm"), tokens);
    let seen = graph.dense(&named("tower.0"), &[normal], inner, spec.activation);
    let (name, inputs) = (named("tower.2"), [seen]);
    graph.layer(Layer { name: &name, inputs: &inputs, size: width, plus: Some(tokens), ..Layer::default() })
}
