//! A network as a list of operations: what it reads, what each step makes of what, and what comes out.
//!
//! Observations have as many rows as jobs wait, so values live in spaces of their own: one row for each sample, for each
//! of its jobs or hosts, for each token. A new network is a file that builds such a list; nothing else knows its kind.

use super::matmul::padded;
use crate::model::codes::from_code;

/// What a value has a row for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// Each sample.
    Samples,
    /// Each job or host that is looked at.
    Rows,
    /// Each of them that may be chosen.
    Choices,
    /// Each sample, and behind it each of its rows.
    Tokens,
    /// Each slot of the look-ahead.
    Slots,
}

/// A value's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value(pub(crate) usize);

/// What a value looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueShape {
    pub(crate) space: Space,
    pub(crate) width: usize,
    /// Inputs have no gradient.
    pub(crate) is_input: bool,
}

impl ValueShape {
    /// The distance of rows.
    pub(crate) fn stride(&self) -> usize {
        padded(self.width)
    }
}

/// A tensor of weights, by the name that PyTorch gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// As in a checkpoint.
    pub name: String,
    /// Its dimensions: one or two.
    pub dimensions: Vec<usize>,
    /// Where it begins among all weights.
    pub first: usize,
}

impl Parameter {
    /// How many numbers it has.
    pub fn size(&self) -> usize {
        self.dimensions.iter().product()
    }

    /// The distance of its rows.
    pub(crate) fn columns(&self) -> usize {
        *self.dimensions.last().unwrap_or(&1)
    }
}

/// The function behind a layer; its number stands in saved states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Activation {
    None = 0,
    Relu = 1,
    Tanh = 2,
}

from_code!(Activation: None, Relu, Tanh);

/// Some of a layer's inputs, and by which columns of its weight they are multiplied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) value: Value,
    pub(crate) first_column: usize,
    pub(crate) columns: usize,
}

/// Sums of inputs by weights, as `torch.nn.Linear` makes them.
#[derive(Clone, Debug)]
pub(crate) struct Dense {
    pub(crate) parts: Vec<Part>,
    /// A parameter's number.
    pub(crate) weight: usize,
    pub(crate) bias: Option<usize>,
    /// Results are made by the weight's rows from this one on: two layers may share a weight.
    pub(crate) first_row: usize,
    /// A value of samples that is added to all of their rows.
    pub(crate) spread: Option<Value>,
    /// A value that is added row by row.
    pub(crate) plus: Option<Value>,
    pub(crate) activation: Activation,
    pub(crate) output: Value,
    /// Whether the second part is all rows of a sample side by side.
    pub(crate) is_flat: bool,
}

/// One step of a network.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Dense(Dense),
    /// The mean over the rows of each sample, and the largest; 0 where there is none.
    Pool {
        input: Value,
        mean: Value,
        largest: Option<Value>,
    },
    /// Layer normalization.
    Norm {
        input: Value,
        weight: usize,
        bias: usize,
        output: Value,
    },
    /// Tokens of samples and of rows.
    Join {
        samples: Value,
        rows: Value,
        output: Value,
    },
    /// Tokens as samples and rows again.
    Split {
        input: Value,
        samples: Value,
        rows: Value,
    },
    /// What slots are to those who look at them.
    Slots(Slots),
    /// Tokens look at all tokens of their sample, and at its slots.
    Attend(Attend),
}

/// What slots are to those who look at them: a layer on tokens that are themselves made of one number each, and of what
/// belongs to a slot's place. It is worked out once for each place, and not for each sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    /// A number for each slot.
    pub(crate) input: Value,
    /// What makes a token of it: parameters' numbers.
    pub(crate) token_weight: usize,
    pub(crate) token_bias: usize,
    pub(crate) places: usize,
    /// The layer behind it.
    pub(crate) weight: usize,
    pub(crate) bias: usize,
    pub(crate) output: Value,
}

impl Operation {
    /// The values that it needs.
    fn reads(&self) -> Vec<Value> {
        match self {
            Operation::Dense(layer) => {
                let parts = layer.parts.iter().map(|part| part.value);
                parts.chain(layer.spread).chain(layer.plus).collect()
            }
            Operation::Pool { input, .. } | Operation::Norm { input, .. } | Operation::Split { input, .. } => {
                vec![*input]
            }
            Operation::Slots(slots) => vec![slots.input],
            Operation::Join { samples, rows, .. } => vec![*samples, *rows],
            Operation::Attend(attend) => [attend.query, attend.tokens].into_iter().chain(attend.slots).collect(),
        }
    }

    /// The values that it works out.
    fn writes(&self) -> Vec<Value> {
        match self {
            Operation::Dense(layer) => vec![layer.output],
            Operation::Pool { mean, largest, .. } => [*mean].into_iter().chain(*largest).collect(),
            Operation::Norm { output, .. } | Operation::Join { output, .. } => vec![*output],
            Operation::Slots(slots) => vec![slots.output],
            Operation::Split { samples, rows, .. } => vec![*samples, *rows],
            Operation::Attend(attend) => vec![attend.output],
        }
    }
}

/// Scaled dot-product attention with several heads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attend {
    pub(crate) query: Value,
    /// Keys and, behind them, values of the tokens.
    pub(crate) tokens: Value,
    /// Those of the slots.
    pub(crate) slots: Option<Value>,
    pub(crate) heads: usize,
    pub(crate) output: Value,
}

/// What is scored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scores {
    /// Rows, or those of them that may be chosen; and for samples what it is worth to wait.
    Rows { rows: Value, wait: Option<Value> },
    /// Actions by their numbers.
    Actions(Value),
}

/// What is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs {
    /// What is told beside the rows.
    pub(crate) context: Value,
    pub(crate) rows: Value,
    /// The rows that may be chosen, where a network does other work for them than for the rest.
    pub(crate) choices: Option<Value>,
    /// How full the window is.
    pub(crate) share: Option<Value>,
    /// The look-ahead, a number for each slot.
    pub(crate) slots: Option<Value>,
}

/// A network but for its weights.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) values: Vec<ValueShape>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) inputs: Inputs,
    pub(crate) scores: Scores,
    pub(crate) value: Value,
    /// For each operation, whether scores depend on it: a decision needs no other.
    pub(crate) for_scores: Vec<bool>,
}

/// A graph in the making.
#[derive(Default)]
pub(crate) struct Builder {
    values: Vec<ValueShape>,
    operations: Vec<Operation>,
    parameters: Vec<Parameter>,
    prefix: String,
}

impl Builder {
    /// The names of all parameters begin with this.
    pub(crate) fn new(prefix: &str) -> Self {
        Builder { prefix: prefix.to_string(), ..Builder::default() }
    }

    /// A value that is read.
    pub(crate) fn input(&mut self, space: Space, width: usize) -> Value {
        self.values.push(ValueShape { space, width, is_input: true });
        Value(self.values.len() - 1)
    }

    /// A value that is worked out.
    fn value(&mut self, space: Space, width: usize) -> Value {
        self.values.push(ValueShape { space, width, is_input: false });
        Value(self.values.len() - 1)
    }

    pub(crate) fn shape(&self, value: Value) -> ValueShape {
        self.values[value.0]
    }

    /// A tensor of weights; one that is there already is the same.
    pub(crate) fn parameter(&mut self, name: &str, dimensions: &[usize]) -> usize {
        let name = format!("{}{name}", self.prefix);
        if let Some(place) = self.parameters.iter().position(|one| one.name == name) {
            return place;
        }
        let first = self.parameters.last().map_or(0, |last| last.first + last.size());
        self.parameters.push(Parameter { name, dimensions: dimensions.to_vec(), first });
        self.parameters.len() - 1
    }

    /// A layer on some values side by side.
    pub(crate) fn dense(&mut self, name: &str, inputs: &[Value], size: usize, activation: Activation) -> Value {
        let layer = Layer { name, inputs, size, activation, ..Layer::default() };
        self.layer(layer)
    }

    /// A layer with everything that one may have.
    pub(crate) fn layer(&mut self, layer: Layer) -> Value {
        let mut parts = Vec::new();
        let mut first_column = 0;
        for &value in layer.inputs {
            let columns = self.shape(value).width;
            parts.push(Part { value, first_column, columns });
            first_column += columns;
        }
        let space = self.shape(layer.inputs[0]).space;
        let rows = layer.of_rows.unwrap_or(layer.size);
        let weight = self.parameter(&format!("{}.weight", layer.name), &[rows, first_column]);
        let bias = layer.has_bias.then(|| self.parameter(&format!("{}.bias", layer.name), &[rows]));
        let output = self.value(space, layer.size);
        self.operations.push(Operation::Dense(Dense {
            parts,
            weight,
            bias,
            first_row: layer.first_row,
            spread: layer.spread,
            plus: layer.plus,
            activation: layer.activation,
            output,
            is_flat: false,
        }));
        output
    }

    /// A layer on what is told of a sample and all its rows side by side, as one long row of so many columns.
    pub(crate) fn flat(&mut self, name: &str, flat: Flat, size: usize, activation: Activation) -> Value {
        let columns = flat.context.columns + flat.rows.columns;
        let weight = self.parameter(&format!("{name}.weight"), &[flat.of_rows, columns]);
        let bias = Some(self.parameter(&format!("{name}.bias"), &[flat.of_rows]));
        let output = self.value(Space::Samples, size);
        self.operations.push(Operation::Dense(Dense {
            parts: vec![flat.context, flat.rows],
            weight,
            bias,
            first_row: flat.first_row,
            spread: None,
            plus: None,
            activation,
            output,
            is_flat: true,
        }));
        output
    }

    /// Layers one behind the other, each followed by the activation. PyTorch counts the activations, too.
    pub(crate) fn tower(&mut self, name: &str, input: Value, sizes: &[usize], activation: Activation) -> Value {
        let mut last = input;
        for (place, &size) in sizes.iter().enumerate() {
            last = self.dense(&format!("{name}.{}", 2 * place), &[last], size, activation);
        }
        last
    }

    /// The mean over the rows of each sample.
    pub(crate) fn mean(&mut self, input: Value) -> Value {
        let mean = self.value(Space::Samples, self.shape(input).width);
        self.operations.push(Operation::Pool { input, mean, largest: None });
        mean
    }

    /// The mean and the largest over the rows of each sample.
    pub(crate) fn pool(&mut self, input: Value) -> [Value; 2] {
        let width = self.shape(input).width;
        let (mean, largest) = (self.value(Space::Samples, width), self.value(Space::Samples, width));
        self.operations.push(Operation::Pool { input, mean, largest: Some(largest) });
        [mean, largest]
    }

    pub(crate) fn norm(&mut self, name: &str, input: Value) -> Value {
        let ValueShape { space, width, .. } = self.shape(input);
        let weight = self.parameter(&format!("{name}.weight"), &[width]);
        let bias = self.parameter(&format!("{name}.bias"), &[width]);
        let output = self.value(space, width);
        self.operations.push(Operation::Norm { input, weight, bias, output });
        output
    }

    pub(crate) fn join(&mut self, samples: Value, rows: Value) -> Value {
        let output = self.value(Space::Tokens, self.shape(rows).width);
        self.operations.push(Operation::Join { samples, rows, output });
        output
    }

    pub(crate) fn split(&mut self, input: Value) -> (Value, Value) {
        let width = self.shape(input).width;
        let (samples, rows) = (self.value(Space::Samples, width), self.value(Space::Rows, width));
        self.operations.push(Operation::Split { input, samples, rows });
        (samples, rows)
    }

    /// A layer on the tokens of slots; `name` has its weights, which tokens share.
    pub(crate) fn slots(&mut self, name: &str, input: Value, places: usize, width: usize, size: usize) -> Value {
        let token_weight = self.parameter("slot_layer.weight", &[width, 1]);
        let token_bias = self.parameter("slot_layer.bias", &[width]);
        let places = self.parameter("slot_places", &[places, width]);
        let weight = self.parameter(&format!("{name}.weight"), &[size, width]);
        let bias = self.parameter(&format!("{name}.bias"), &[size]);
        let output = self.value(Space::Slots, size);
        self.operations.push(Operation::Slots(Slots { input, token_weight, token_bias, places, weight, bias, output }));
        output
    }

    pub(crate) fn attend(&mut self, query: Value, tokens: Value, slots: Option<Value>, heads: usize) -> Value {
        let output = self.value(Space::Tokens, self.shape(query).width);
        self.operations.push(Operation::Attend(Attend { query, tokens, slots, heads, output }));
        output
    }

    pub(crate) fn finish(self, inputs: Inputs, scores: Scores, value: Value) -> Graph {
        let Builder { values, operations, parameters, .. } = self;
        let mut wanted = vec![false; values.len()];
        let scored = match scores {
            Scores::Rows { rows, wait } => [Some(rows), wait],
            Scores::Actions(actions) => [Some(actions), None],
        };
        scored.into_iter().flatten().for_each(|value| wanted[value.0] = true);
        let mut for_scores = vec![false; operations.len()];
        // From the end to the beginning: whatever a wanted value is made of is wanted, too.
        for (operation, is_for_scores) in operations.iter().zip(&mut for_scores).rev() {
            *is_for_scores = operation.writes().iter().any(|value| wanted[value.0]);
            if *is_for_scores {
                operation.reads().iter().for_each(|value| wanted[value.0] = true);
            }
        }
        Graph { values, operations, parameters, inputs, scores, value, for_scores }
    }
}

/// What `Builder::layer` makes a layer of.
pub(crate) struct Layer<'a> {
    pub(crate) name: &'a str,
    pub(crate) inputs: &'a [Value],
    pub(crate) size: usize,
    pub(crate) activation: Activation,
    pub(crate) has_bias: bool,
    pub(crate) first_row: usize,
    /// How many rows the weight has, if it has more than this layer takes.
    pub(crate) of_rows: Option<usize>,
    pub(crate) spread: Option<Value>,
    pub(crate) plus: Option<Value>,
}

impl Default for Layer<'_> {
    fn default() -> Self {
        Layer {
            name: "",
            inputs: &[],
            size: 0,
            activation: Activation::None,
            has_bias: true,
            first_row: 0,
            of_rows: None,
            spread: None,
            plus: None,
        }
    }
}

/// What `Builder::flat` reads: what is told of a sample, and the rows of a full window; and which rows of the weight.
pub(crate) struct Flat {
    pub(crate) context: Part,
    pub(crate) rows: Part,
    pub(crate) first_row: usize,
    pub(crate) of_rows: usize,
}
