//! PickJob: which waiting job next. When a decision is due, and what it does.

use std::sync::Arc;

use crate::dispatch::beside::Head;
use crate::dispatch::committed::commit;
use crate::envs::decision::{Decision, Kind, Sizes};
use crate::envs::episode::EnvConfig;
use crate::envs::observe::{Layout, Observer};
use crate::envs::pass::{JobMode, Pass, Slot};
use crate::model::cluster::Cluster;
use crate::model::config::Dispatch;
use crate::sim::simulation::Simulation;

/// PickJob: which waiting job next.
pub(crate) struct JobKind(pub(crate) JobMode);

impl Kind for JobKind {
    fn dispatch(&self) -> Dispatch {
        match self.0 {
            JobMode::Reserve => Dispatch::Reserve { depth: 1 },
            JobMode::Feasible => Dispatch::Reserve { depth: 0 },
            JobMode::Committed { backfill } => Dispatch::Committed { backfill },
        }
    }

    fn check(&self, env: &EnvConfig, _clusters: &[Arc<Cluster>]) -> Result<(), String> {
        if env.window == 0 {
            return Err("window is 0; expected 1 or more rows".to_string());
        }
        Ok(())
    }

    fn sizes(&self, env: &EnvConfig, _clusters: &[Arc<Cluster>]) -> Sizes {
        Sizes { observation: Layout::of(env).observation_size(), actions: env.window + 1, rows: env.window }
    }

    fn decisions(&self, env: &EnvConfig) -> Box<dyn Decision> {
        Box::new(PickJob {
            mode: self.0,
            pass: Pass::default(),
            is_open: false,
            rows: Vec::new(),
            observer: Observer::new(Layout::of(env)),
        })
    }
}

/// A decision problem in the making: the pass, and what each row of the window shows.
struct PickJob {
    mode: JobMode,
    pass: Pass,
    /// A pass is under way.
    is_open: bool,
    /// For each row, a place in the pass.
    rows: Vec<u32>,
    observer: Observer,
}

impl PickJob {
    /// Those that may be chosen come first, the order's own choice before those that it holds back.
    fn fill_rows(&mut self) {
        let window = self.observer.layout.window;
        self.add_rows(window, |slot| slot.allowed && !slot.held_back);
        // Most queues are longer than the window's part of them that may be chosen: the two other walks are seldom
        // needed.
        if self.rows.len() < window.min(self.pass.slots.len()) {
            self.add_rows(window, |slot| slot.allowed && slot.held_back);
            self.add_rows(window, |slot| !slot.allowed);
        }
    }

    fn add_rows(&mut self, window: usize, is_meant: impl Fn(&Slot) -> bool) {
        let room = window - self.rows.len();
        let places = self.pass.slots.iter().enumerate().filter(|(_, slot)| is_meant(slot));
        self.rows.extend(places.map(|(place, _)| place as u32).take(room));
    }
}

impl Decision for PickJob {
    fn begin(&mut self, simulation: &mut Simulation) {
        simulation.track_expected();
        self.observer.begin(simulation);
        self.close();
    }

    fn open(&mut self, simulation: &mut Simulation) {
        self.is_open = true;
        self.pass.begin(simulation);
    }

    fn is_due(&mut self, simulation: &mut Simulation) -> bool {
        if self.is_open {
            self.is_open = self.pass.judge(simulation, self.mode);
            // Rows are places in the pass: those of an earlier decision no longer hold.
            self.rows.clear();
            if self.is_open {
                self.fill_rows();
            }
        }
        self.is_open
    }

    fn close(&mut self) {
        self.is_open = false;
        self.rows.clear();
        self.pass = Pass::default();
    }

    fn allows(&self, action: usize) -> bool {
        match action.checked_sub(1) {
            None => self.pass.wait_allowed,
            Some(row) => self.rows.get(row).is_some_and(|&place| self.pass.slots[place as usize].allowed),
        }
    }

    fn instead(&self) -> usize {
        usize::from(!self.pass.wait_allowed)
    }

    fn is_wait(&self, action: usize) -> bool {
        action == 0
    }

    fn act(&mut self, simulation: &mut Simulation, action: usize) {
        let Some(row) = action.checked_sub(1) else {
            self.is_open = false;
            return;
        };
        let place = self.rows[row] as usize;
        if matches!(self.mode, JobMode::Committed { .. }) {
            commit(simulation, self.pass.slots[place].job());
            self.is_open = false;
        } else if self.pass.slots[place].fits {
            self.pass.start(simulation, place);
        } else {
            self.pass.reserve(simulation, place);
        }
    }

    fn observe(&mut self, simulation: &Simulation, observation: &mut [f32], mask: &mut [u8]) {
        self.observer.observe(simulation, &mut self.pass, &self.rows, observation);
        mask.fill(0);
        mask[0] = u8::from(self.pass.wait_allowed && !self.rows.is_empty());
        for (allowed, &place) in mask[1..].iter_mut().zip(&self.rows) {
            *allowed = u8::from(self.pass.slots[place as usize].allowed);
        }
    }

    fn shown(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        Box::new(self.rows.iter().map(|&place| self.pass.slots[place as usize].job()))
    }

    fn head(&self) -> Option<&Head> {
        self.pass.head.as_ref()
    }

    fn delaying(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        // Without a reservation the feature tells of one that might be given: that delays nobody.
        let slots = self.pass.head.as_ref().map_or(&[][..], |_| &self.pass.slots[..]);
        Box::new(slots.iter().filter(|slot| slot.delays).map(Slot::job))
    }
}
