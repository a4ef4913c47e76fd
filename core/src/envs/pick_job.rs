//! PickJob: which waiting job next. When a decision is due, and what it does.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::dispatch::beside::Head;
use crate::dispatch::committed::commit;
use crate::envs::decision::{Decision, Kind, Sizes};
use crate::envs::episode::EnvConfig;
use crate::envs::observe::{left_ms, Layout, Observer, Runner};
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
        if env.stops > 0 && matches!(self.0, JobMode::Committed { .. }) {
            return Err("running jobs can be stopped in the modes reserve and feasible alone".to_string());
        }
        Ok(())
    }

    fn sizes(&self, env: &EnvConfig, _clusters: &[Arc<Cluster>]) -> Sizes {
        let layout = Layout::of(env);
        Sizes { observation: layout.observation_size(), actions: layout.rows() + 1, rows: layout.rows() }
    }

    fn decisions(&self, env: &EnvConfig) -> Box<dyn Decision> {
        Box::new(PickJob {
            mode: self.0,
            pass: Pass::default(),
            is_open: false,
            rows: Vec::new(),
            running: Vec::new(),
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
    /// For each row of a waiting job, a place in the pass.
    rows: Vec<u32>,
    /// The running jobs of the rows behind them.
    running: Vec<Runner>,
    observer: Observer,
}

impl PickJob {
    /// Who runs, those first that may be stopped; of these, those with the most left to do.
    fn find_running(&mut self, simulation: &Simulation) {
        self.running.clear();
        if self.observer.layout.stops == 0 || self.pass.slots.is_empty() {
            return;
        }
        let runner = |job: u32| Runner { job, left_ms: left_ms(simulation, job), allowed: may_stop(simulation, job) };
        self.running.extend(simulation.machine.expected().iter().map(|one| runner(one.job)));
        self.running.sort_unstable_by_key(|one| Reverse((one.allowed, one.left_ms, one.job)));
        self.running.truncate(self.observer.layout.stops);
    }

    /// A job that may be stopped only later is looked at again then, if anybody waits for its nodes.
    fn plan_review(&self, simulation: &mut Simulation) {
        if self.observer.layout.stops == 0 || simulation.waiting.queue.is_empty() {
            return;
        }
        let (now_ms, minimum_ms) = (simulation.now_ms(), simulation.setup.config.minimum_run_ms);
        let started_ms = |job: u32| simulation.state(job).segment_start_ms;
        let times = simulation.machine.expected().iter().map(|one| started_ms(one.job) + minimum_ms);
        simulation.clock.asked_ms = times.filter(|&time_ms| time_ms > now_ms).min();
    }
}

/// Whether a running job may be stopped now. One that has started at this instant may not: otherwise it could be stopped and
/// started for ever. Nor may one that the guard would put first.
fn may_stop(simulation: &Simulation, job: u32) -> bool {
    let ran_ms = simulation.now_ms() - simulation.state(job).segment_start_ms;
    let is_first = simulation.is_starving(job);
    ran_ms > 0 && ran_ms >= simulation.setup.config.minimum_run_ms && !is_first
}

impl Decision for PickJob {
    fn begin(&mut self, simulation: &mut Simulation) {
        simulation.track_expected();
        self.observer.begin(simulation);
        self.close();
    }

    fn open(&mut self, simulation: &mut Simulation) {
        self.is_open = true;
        // What was planned for later is planned anew when this pass is over.
        simulation.clock.asked_ms = None;
        self.pass.begin(simulation);
    }

    fn is_due(&mut self, simulation: &mut Simulation) -> bool {
        if self.is_open {
            self.find_running(simulation);
            let may_stop = self.running.iter().any(|one| one.allowed);
            self.is_open = self.pass.judge(simulation, self.mode, may_stop);
            // Rows are places in the pass: those of an earlier decision no longer hold.
            self.rows.clear();
            if self.is_open {
                self.pass.fill_window(self.observer.layout.window, &mut self.rows);
                // Whoever must start now may not be kept waiting by stops.
                let is_forced = self.pass.is_forced;
                self.running.iter_mut().for_each(|one| one.allowed &= !is_forced);
            } else {
                self.running.clear();
            }
        }
        if !self.is_open {
            self.plan_review(simulation);
        }
        self.is_open
    }

    fn close(&mut self) {
        self.is_open = false;
        self.rows.clear();
        self.running.clear();
        self.pass = Pass::default();
    }

    fn allows(&self, action: usize) -> bool {
        match action.checked_sub(1) {
            None => self.pass.wait_allowed,
            Some(row) => match self.rows.get(row) {
                Some(&place) => self.pass.slots[place as usize].allowed,
                None => self.running.get(row - self.rows.len()).is_some_and(|one| one.allowed),
            },
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
        let Some(&place) = self.rows.get(row) else {
            simulation.stop(self.running[row - self.rows.len()].job);
            // Who waits, and what is free, is another now: the pass begins anew, and its reservation with it.
            return self.pass.begin(simulation);
        };
        let place = place as usize;
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
        self.observer.observe(simulation, &mut self.pass, &self.rows, &self.running, observation);
        mask.fill(0);
        mask[0] = u8::from(self.pass.wait_allowed && !self.rows.is_empty());
        let waiting = self.rows.iter().map(|&place| self.pass.slots[place as usize].allowed);
        let allowed = waiting.chain(self.running.iter().map(|one| one.allowed));
        mask[1..].iter_mut().zip(allowed).for_each(|(mask, allowed)| *mask = u8::from(allowed));
    }

    fn shown(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        let waiting = self.rows.iter().map(|&place| self.pass.slots[place as usize].job());
        Box::new(waiting.chain(self.running.iter().map(|one| one.job)))
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
