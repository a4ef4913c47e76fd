//! What a network is to be: its kind, its sizes, and the observations that it reads.

use super::graph::{Activation, Graph};
use super::{attention, hosts, kernel, layers, mlp};
use crate::envs::history::HISTORY_FEATURES;
use crate::envs::observe::{told_of_jobs, TYPE_FEATURES};
use crate::model::codes::from_code;

/// What is told of the cluster in a PickJob observation.
pub(crate) const CLUSTER_FEATURES: usize = crate::envs::observe::CLUSTER_FEATURES;
/// What is told of each host, and of the task, in a PickHost observation.
pub(crate) const HOST_FEATURES: usize = crate::place::task_by_task::HOST_FEATURES;
pub(crate) const HOST_JOB_FEATURES: usize = crate::place::task_by_task::TASK_FEATURES;
/// What `hosts` works out for each host.
pub(crate) const HOST_ROW: usize = HOST_FEATURES + 1 + 2 + 2 + 2 * SCALES.len() + 1 + HOST_JOB_FEATURES;
/// Free cores are seen at these scales, each cut at 1: one core more or less decides whether a job fits.
pub(crate) const SCALES: [f32; 5] = [32.0, 16.0, 32.0 / 3.0, 8.0, 4.0];

/// More weights are a mistake, or an attack.
const MOST_WEIGHTS: usize = 1 << 25;
/// More rows or layers likewise.
const MOST_ROWS: usize = 1 << 20;
const MOST_LAYERS: usize = 64;
const MOST_SIZE: usize = 65_536;

/// The kinds of networks; the numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum NetworkKind {
    /// One small network for every job.
    Kernel = 0,
    /// Layers on the flat observation.
    Mlp = 1,
    /// One encoder for every host.
    Hosts = 2,
    /// Jobs that look at each other.
    Attention = 3,
    /// Layers of any sizes on the flat observation: how a network of a user's own is told.
    Layers = 4,
}

from_code!(NetworkKind: Kernel, Mlp, Hosts, Attention, Layers);

impl NetworkKind {
    /// The kind of this name; `Layers` has none, for its checkpoints go by the user's name for it.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "kernel" => NetworkKind::Kernel,
            "mlp" => NetworkKind::Mlp,
            "hosts" => NetworkKind::Hosts,
            "attention" => NetworkKind::Attention,
            _ => return None,
        })
    }
}

/// One layer of a tower: its size, and the function behind it.
#[derive(Clone, Copy, Debug)]
pub struct TowerLayer {
    /// How many results it has.
    pub size: usize,
    pub(crate) activation: Activation,
}

/// How a network is built.
#[derive(Clone, Debug)]
pub struct NetworkSpec {
    /// Its kind.
    pub kind: NetworkKind,
    /// The sizes of its hidden layers.
    pub hidden: Vec<usize>,
    /// The function between two layers.
    pub(crate) activation: Activation,
    /// How many heads attention has.
    pub heads: usize,
    /// How many blocks of attention follow each other.
    pub blocks: usize,
    /// Of `Layers`: the layers of the policy and of the value; of other kinds none.
    pub towers: [Vec<TowerLayer>; 2],
    /// If it is added to the scores of the rule that it begins as: what these are multiplied by.
    pub order_temperature: Option<f32>,
}

impl NetworkSpec {
    /// What the names of all weights begin with.
    pub(crate) fn prefix(&self) -> &'static str {
        if self.order_temperature.is_some() {
            "inner."
        } else {
            ""
        }
    }

    /// The list of operations of such a network on such observations.
    pub(crate) fn build(&self, layout: &Layout) -> Result<Graph, String> {
        self.check()?;
        layout.check()?;
        self.check_towers(layout)?;
        let graph = match (self.kind, layout) {
            (NetworkKind::Mlp, _) => mlp::build(layout, self),
            (NetworkKind::Layers, _) => layers::build(layout, self),
            (NetworkKind::Kernel, Layout::Job(jobs)) => kernel::build(jobs, self),
            (NetworkKind::Attention, Layout::Job(jobs)) => attention::build(jobs, self),
            (NetworkKind::Hosts, Layout::Host { .. }) => hosts::build(self),
            (kind, _) => return Err(format!("a network of kind {kind:?} does not read such observations")),
        };
        let weights = graph.parameters.iter().map(|one| one.size()).fold(0usize, usize::saturating_add);
        if weights > MOST_WEIGHTS {
            return Err(format!("the network would have {weights} weights; expected at most {MOST_WEIGHTS}"));
        }
        Ok(graph)
    }

    fn check(&self) -> Result<(), String> {
        let layers = self.hidden.len();
        if (layers == 0 && self.kind != NetworkKind::Layers) || layers > MOST_LAYERS {
            return Err(format!("the network has {layers} hidden layers; expected 1 to {MOST_LAYERS}"));
        }
        if let Some(size) = self.hidden.iter().find(|&&size| size == 0 || size > MOST_SIZE) {
            return Err(format!("a hidden layer has the size {size}; expected 1 to {MOST_SIZE}"));
        }
        if self.heads == 0 || self.heads > MOST_LAYERS || self.blocks == 0 || self.blocks > MOST_LAYERS {
            let Self { heads, blocks, .. } = self;
            return Err(format!(
                "attention has {heads} heads and {blocks} blocks; expected 1 to {MOST_LAYERS} of each"
            ));
        }
        if self.kind == NetworkKind::Attention && self.hidden[0] % self.heads != 0 {
            return Err(format!("a token of {} numbers cannot be divided by {} heads", self.hidden[0], self.heads));
        }
        if self.order_temperature.is_some_and(|temperature| !temperature.is_finite() || temperature < 0.0) {
            return Err("the temperature of the order is no number of 0 or more".to_string());
        }
        Ok(())
    }

    /// Whether the towers of `Layers` end as they must: with a score for each action, and with one value.
    fn check_towers(&self, layout: &Layout) -> Result<(), String> {
        if self.kind != NetworkKind::Layers {
            return Ok(());
        }
        for (name, tower, results) in [("policy", &self.towers[0], layout.actions()), ("value", &self.towers[1], 1)] {
            if tower.is_empty() || tower.len() > MOST_LAYERS {
                return Err(format!("the {name} has {} layers; expected 1 to {MOST_LAYERS}", tower.len()));
            }
            if let Some(layer) = tower.iter().find(|layer| layer.size == 0 || layer.size > MOST_ROWS) {
                return Err(format!("a layer of the {name} has the size {}; expected 1 to {MOST_ROWS}", layer.size));
            }
            let last = tower[tower.len() - 1].size;
            if last != results {
                return Err(format!("the {name}'s last layer has the size {last}; expected {results}"));
            }
        }
        Ok(())
    }
}

/// What a PickJob observation is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobLayout {
    /// How many waiting jobs are shown.
    pub window: usize,
    /// How many numbers the look-ahead has.
    pub lookahead_size: usize,
    /// How many numbers are told of a job.
    pub job_features: usize,
    /// How many intervals of the recent past are told of.
    pub history: usize,
    /// How many running jobs are shown, behind those that wait.
    pub stops: usize,
    /// How many rows each waiting job has: one for each type of GPU; 0: a single one.
    pub types: usize,
}

impl JobLayout {
    /// What is told beside the jobs; the look-ahead comes last.
    pub(crate) fn context(&self) -> usize {
        CLUSTER_FEATURES + self.history * HISTORY_FEATURES + self.types * TYPE_FEATURES + self.lookahead_size
    }

    /// How many numbers of a job are the caller's own.
    pub(crate) fn extra_features(&self) -> usize {
        self.job_features.saturating_sub(told_of_jobs(self.stops, self.types))
    }
}

/// What an observation is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// PickJob's.
    Job(JobLayout),
    /// PickHost's, of so many hosts.
    Host {
        /// How many.
        hosts: usize,
    },
}

impl Layout {
    pub(crate) fn check(&self) -> Result<(), String> {
        let (rows, others) = match self {
            Layout::Job(jobs) => {
                let most = jobs.lookahead_size.max(jobs.job_features).max(jobs.history).max(jobs.stops).max(jobs.types);
                (jobs.window, most)
            }
            Layout::Host { hosts } => (*hosts, 1),
        };
        if rows == 0 || rows > MOST_ROWS || others > MOST_ROWS {
            return Err(format!("an observation has {rows} rows; expected 1 to {MOST_ROWS}"));
        }
        // Products of such sizes still are numbers.
        let size = self.observation_size();
        if size > MOST_WEIGHTS {
            return Err(format!("an observation has {size} numbers; expected at most {MOST_WEIGHTS}"));
        }
        if let Layout::Job(jobs) = self {
            if jobs.job_features < told_of_jobs(jobs.stops, jobs.types) {
                return Err(format!("a job has {} features; it is told of by more", jobs.job_features));
            }
        }
        Ok(())
    }

    pub(crate) fn is_host(&self) -> bool {
        matches!(self, Layout::Host { .. })
    }

    /// What is told beside the rows.
    pub(crate) fn context(&self) -> usize {
        match self {
            Layout::Job(jobs) => jobs.context(),
            Layout::Host { .. } => HOST_JOB_FEATURES,
        }
    }

    /// How many of these, the last, tell of the capacity to come.
    pub(crate) fn slots(&self) -> usize {
        match self {
            Layout::Job(jobs) => jobs.lookahead_size,
            Layout::Host { .. } => 0,
        }
    }

    /// What is told of each row.
    pub(crate) fn row_features(&self) -> usize {
        match self {
            Layout::Job(jobs) => jobs.job_features,
            Layout::Host { .. } => HOST_FEATURES,
        }
    }

    /// How many rows there are at most.
    pub(crate) fn most_rows(&self) -> usize {
        match self {
            Layout::Job(jobs) => jobs.window * jobs.types.max(1) + jobs.stops,
            Layout::Host { hosts } => *hosts,
        }
    }

    /// How many actions there are.
    pub fn actions(&self) -> usize {
        match self {
            Layout::Job(_) => self.most_rows() + 1,
            Layout::Host { hosts } => *hosts,
        }
    }

    /// How many numbers an observation has.
    pub fn observation_size(&self) -> usize {
        self.context() + self.most_rows() * self.row_features()
    }
}
