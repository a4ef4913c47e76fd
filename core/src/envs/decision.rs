//! Kinds of decisions: what an environment asks, and what an answer does.
//!
//! A new kind is a file with a `Decision` and its `Kind`, a number in `Mode`, and a line in `kind_of`.

use std::sync::Arc;

use crate::dispatch::beside::Head;
use crate::envs::episode::{EnvConfig, Mode};
use crate::envs::pass::JobMode;
use crate::envs::pick_host::HostKind;
use crate::envs::pick_job::JobKind;
use crate::envs::pick_job_and_type::PairKind;
use crate::model::cluster::Cluster;
use crate::model::config::Dispatch;
use crate::sim::simulation::Simulation;

/// The kind of decision that a mode asks for.
pub(crate) fn kind_of(mode: Mode) -> &'static dyn Kind {
    match mode {
        Mode::Reserve => &JobKind(JobMode::Reserve),
        Mode::Feasible => &JobKind(JobMode::Feasible),
        Mode::Committed => &JobKind(JobMode::Committed { backfill: false }),
        Mode::CommittedBackfill => &JobKind(JobMode::Committed { backfill: true }),
        Mode::Host => &HostKind,
        Mode::Pairs => &PairKind,
    }
}

/// How much environments show, and take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Numbers of an observation.
    pub observation: usize,
    /// How many actions there are.
    pub actions: usize,
    /// How many jobs are shown at most.
    pub rows: usize,
}

/// What is the same in all environments with one kind of decision.
pub(crate) trait Kind: Sync {
    /// The rule that does the same without being asked.
    fn dispatch(&self) -> Dispatch;

    /// Whether decisions of this kind can be asked for in this way, on these clusters.
    fn check(&self, env: &EnvConfig, clusters: &[Arc<Cluster>]) -> Result<(), String>;

    /// How much is shown, and taken.
    fn sizes(&self, env: &EnvConfig, clusters: &[Arc<Cluster>]) -> Sizes;

    /// Whether the balance of hosts is told though it has no weight.
    fn tells_balance(&self) -> bool {
        false
    }

    /// Whether rewards count how long jobs take where they run, and not at full speed.
    fn counts_speeds(&self) -> bool {
        false
    }

    /// The decisions of an environment that has not begun.
    fn decisions(&self, env: &EnvConfig) -> Box<dyn Decision>;
}

/// The decisions of one environment: when one is due, what is seen then, and what an answer does.
pub(crate) trait Decision: Send {
    /// An episode begins.
    fn begin(&mut self, simulation: &mut Simulation);

    /// A pass begins: the clock has moved, or the rule chooses once more at this instant.
    fn open(&mut self, _simulation: &mut Simulation) {}

    /// Whether a decision is due now. If so, who is seen and what is allowed is worked out.
    fn is_due(&mut self, simulation: &mut Simulation) -> bool;

    /// Nothing is to be seen any more.
    fn close(&mut self);

    /// Moves on until a decision is due. False: nothing is to come.
    fn settle(&mut self, simulation: &mut Simulation) -> bool {
        while !self.is_due(simulation) {
            if !simulation.advance() {
                self.close();
                return false;
            }
            self.open(simulation);
        }
        true
    }

    /// Whether the mask lets an action through.
    fn allows(&self, action: usize) -> bool;

    /// What an action that is not allowed is taken as.
    fn instead(&self) -> usize;

    /// Whether an action is to wait for the next event.
    fn is_wait(&self, _action: usize) -> bool {
        false
    }

    /// Carries out an action that is allowed.
    fn act(&mut self, simulation: &mut Simulation, action: usize);

    /// Writes what is seen now, and which actions are allowed.
    fn observe(&mut self, simulation: &Simulation, observation: &mut [f32], mask: &mut [u8]);

    /// The jobs that are shown, row by row.
    fn shown(&self) -> Box<dyn Iterator<Item = u32> + '_>;

    /// Who was given the reservation of this pass, if anybody was.
    fn head(&self) -> Option<&Head> {
        None
    }

    /// The jobs that fit, but would delay that reservation.
    fn delaying(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        Box::new(std::iter::empty())
    }
}
