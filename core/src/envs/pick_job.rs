//! PickJob: which waiting job next. When a decision is due, and what it does.

use crate::dispatch::committed::commit;
use crate::envs::episode::Mode;
use crate::envs::pass::{Pass, Slot};
use crate::sim::simulation::Simulation;

/// A decision problem in the making: the pass, and what each row of the window shows.
#[derive(Default)]
pub(crate) struct PickJob {
    pub(crate) pass: Pass,
    /// A pass is under way.
    open: bool,
    /// For each row, a place in the pass.
    pub(crate) rows: Vec<u32>,
}

impl PickJob {
    /// Moves on until a decision is due. False: nothing is to come.
    pub(crate) fn settle(&mut self, simulation: &mut Simulation, mode: Mode, window: usize) -> bool {
        loop {
            if self.open && self.pass.judge(simulation, mode) {
                self.fill_rows(window);
                return true;
            }
            if !simulation.advance() {
                self.close();
                return false;
            }
            self.open = true;
            self.pass.begin(simulation);
        }
    }

    /// Nothing is to be seen any more.
    pub(crate) fn close(&mut self) {
        self.open = false;
        self.rows.clear();
        self.pass = Pass::default();
    }

    /// Those that may be chosen come first, the order's own choice before those that it holds back.
    fn fill_rows(&mut self, window: usize) {
        self.rows.clear();
        self.add_rows(window, |slot| slot.allowed && !slot.held_back);
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

    /// Whether the mask lets an action through.
    pub(crate) fn allows(&self, action: usize) -> bool {
        match action.checked_sub(1) {
            None => self.pass.wait_allowed,
            Some(row) => self.rows.get(row).is_some_and(|&place| self.pass.slots[place as usize].allowed),
        }
    }

    /// What an action that is not allowed is taken as.
    pub(crate) fn instead(&self) -> usize {
        usize::from(!self.pass.wait_allowed)
    }

    /// Carries out an action that is allowed.
    pub(crate) fn act(&mut self, simulation: &mut Simulation, mode: Mode, action: usize) {
        let Some(row) = action.checked_sub(1) else {
            self.open = false;
            return;
        };
        let place = self.rows[row] as usize;
        if matches!(mode, Mode::Committed { .. }) {
            commit(simulation, self.pass.slots[place].job());
            self.open = false;
        } else if self.pass.slots[place].fits {
            self.pass.start(simulation, place);
        } else {
            self.pass.reserve(simulation, place);
        }
    }
}
