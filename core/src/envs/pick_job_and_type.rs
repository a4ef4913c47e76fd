//! PickJobAndType: which waiting job next, and on which type of GPU. When a decision is due, and what it does.

use std::sync::Arc;

use crate::envs::decision::{Decision, Kind, Sizes};
use crate::envs::episode::EnvConfig;
use crate::envs::observe::{Layout, Observer};
use crate::envs::observe_pairs::Times;
use crate::envs::pairs::Pairs;
use crate::envs::pass::Pass;
use crate::model::cluster::Cluster;
use crate::model::config::Dispatch;
use crate::place::types::check_types;
use crate::sim::simulation::Simulation;

/// PickJobAndType: which waiting job next, on which type of GPU.
pub(crate) struct PairKind;

impl Kind for PairKind {
    fn dispatch(&self) -> Dispatch {
        Dispatch::Reserve { depth: 0 }
    }

    fn check(&self, env: &EnvConfig, clusters: &[Arc<Cluster>]) -> Result<(), String> {
        if env.window == 0 || env.types == 0 {
            let (window, types) = (env.window, env.types);
            return Err(format!("window is {window} and types is {types}; expected 1 or more of each"));
        }
        if env.stops > 0 {
            return Err("running jobs can be stopped where jobs alone are chosen, not types".to_string());
        }
        for cluster in clusters {
            check_types(cluster, &[])?;
            let most = cluster.nodes.iter().filter_map(|node| node.gpu_type).max();
            let types = most.map_or(0, |most| most as usize + 1);
            if types != env.types {
                return Err(format!("the policy chooses among {} types of GPUs; the cluster has {types}", env.types));
            }
        }
        Ok(())
    }

    fn sizes(&self, env: &EnvConfig, _clusters: &[Arc<Cluster>]) -> Sizes {
        let layout = Layout::of(env);
        Sizes { observation: layout.observation_size(), actions: layout.rows() + 1, rows: layout.rows() }
    }

    fn counts_speeds(&self) -> bool {
        true
    }

    fn decisions(&self, env: &EnvConfig) -> Box<dyn Decision> {
        Box::new(PickJobAndType {
            pass: Pass::default(),
            is_open: false,
            shown: Vec::new(),
            rooms: Vec::new(),
            pairs: Pairs::new(env.types),
            times: Times::default(),
            observer: Observer::new(Layout::of(env)),
        })
    }
}

/// A decision problem in the making: the pass, which types have room for whom, and which jobs are shown.
struct PickJobAndType {
    pass: Pass,
    /// A pass is under way.
    is_open: bool,
    /// The jobs that are shown, as places in the pass; each has a row for each type.
    shown: Vec<u32>,
    /// For each job of the pass, a bit for each type that has room for it.
    rooms: Vec<u64>,
    pairs: Pairs,
    times: Times,
    observer: Observer,
}

impl PickJobAndType {
    /// The place in the pass and the type of a row.
    fn pair_of(&self, row: usize) -> Option<(usize, usize)> {
        let types = self.observer.layout.types;
        Some((*self.shown.get(row / types)? as usize, row % types))
    }

    fn allows_pair(&self, (place, column): (usize, usize)) -> bool {
        self.pass.slots[place].allowed && self.rooms[place] & (1 << column) != 0
    }
}

impl Decision for PickJobAndType {
    fn begin(&mut self, simulation: &mut Simulation) {
        simulation.track_expected();
        self.observer.begin(simulation);
        self.pairs.begin(simulation);
        self.times.begin(simulation.states.len(), self.observer.layout.types);
        self.close();
    }

    fn open(&mut self, simulation: &mut Simulation) {
        self.is_open = true;
        self.pass.begin(simulation);
        self.pairs.open(simulation);
    }

    fn is_due(&mut self, simulation: &mut Simulation) -> bool {
        if self.is_open {
            self.pairs.refresh(simulation);
            let (pairs, rooms) = (&mut self.pairs, &mut self.rooms);
            rooms.clear();
            self.is_open = self.pass.judge_known(simulation, |simulation, job| {
                rooms.push(pairs.room(simulation, job));
                rooms[rooms.len() - 1] != 0
            });
            // Places in the pass of an earlier decision no longer hold.
            self.shown.clear();
            if self.is_open {
                self.pass.fill_window(self.observer.layout.window, &mut self.shown);
            }
        }
        self.is_open
    }

    fn close(&mut self) {
        self.is_open = false;
        self.shown.clear();
        self.pass = Pass::default();
    }

    fn allows(&self, action: usize) -> bool {
        match action.checked_sub(1) {
            None => self.pass.wait_allowed,
            Some(row) => self.pair_of(row).is_some_and(|pair| self.allows_pair(pair)),
        }
    }

    /// To wait, or the first pair that is allowed.
    fn instead(&self) -> usize {
        let rows = self.observer.layout.rows();
        if self.pass.wait_allowed {
            0
        } else {
            (1..=rows).find(|&action| self.allows(action)).unwrap_or(0)
        }
    }

    fn is_wait(&self, action: usize) -> bool {
        action == 0
    }

    fn act(&mut self, simulation: &mut Simulation, action: usize) {
        let Some((place, column)) = action.checked_sub(1).and_then(|row| self.pair_of(row)) else {
            self.is_open = false;
            return;
        };
        let job = self.pass.take_out(place);
        let Some(on_type) = self.pairs.on_type(simulation, job, column) else { return };
        // Jobs without GPUs may start anywhere.
        let changed = on_type.gpu_type.map(|_| column);
        if let Some(placement) = simulation.placement_on(job, on_type) {
            simulation.start_on(job, placement);
            self.pairs.started(job);
            self.pairs.change(changed);
        }
    }

    fn observe(&mut self, simulation: &Simulation, observation: &mut [f32], mask: &mut [u8]) {
        let told = (&mut self.pairs, &mut self.times);
        self.observer.observe_pairs(simulation, &mut self.pass, &self.shown, told, observation);
        mask.fill(0);
        mask[0] = u8::from(self.pass.wait_allowed && !self.shown.is_empty());
        let rows = self.shown.len() * self.observer.layout.types;
        for (row, mask) in mask[1..][..rows].iter_mut().enumerate() {
            *mask = u8::from(self.pair_of(row).is_some_and(|pair| self.allows_pair(pair)));
        }
    }

    fn shown(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        let jobs = self.shown.iter().map(|&place| self.pass.slots[place as usize].job());
        Box::new(jobs.flat_map(|job| std::iter::repeat_n(job, self.observer.layout.types)))
    }
}
