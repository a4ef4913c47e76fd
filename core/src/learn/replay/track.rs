//! What one environment did and saw: the latest steps, the oldest first.

use std::collections::VecDeque;

use super::packing::{Form, Packed, Seen, Shelf};
use super::ReplayOptions;
use crate::model::codes::from_code;

/// What became of an episode after a step; the numbers are part of saved states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum End {
    /// It goes on.
    None = 0,
    /// It has ended: nothing more can come.
    Terminated = 1,
    /// It was cut: more would have come.
    Truncated = 2,
}

from_code!(End: None, Terminated, Truncated);

/// One step of one environment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// What was acted on.
    pub(super) seen: Seen,
    /// What was seen behind it: the next step's, the last of an episode that was cut, or, where nothing more can come, again
    /// what was acted on, so that there is something.
    pub(super) next: Seen,
    pub(super) action: u32,
    pub(super) end: End,
    pub(super) reward: f64,
}

/// What one environment did and saw.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) steps: VecDeque<Step>,
    /// The number of the first of them, counted from the beginning.
    pub(super) first: u64,
    /// The number of the first that cannot be drawn yet.
    pub(super) ready: u64,
    /// What the next step acts on; none before `begin`.
    pub(super) current: Option<Seen>,
    pub(super) shelf: Shelf,
}

impl Track {
    pub(super) fn new(form: &Form, capacity: usize, first: u64) -> Self {
        // One more than steps: what the next one acts on.
        let shelf = Shelf::new(form, capacity + 1);
        Track { steps: VecDeque::new(), first, ready: first, current: None, shelf }
    }

    /// The number of the step that will come next.
    pub(super) fn next_number(&self) -> u64 {
        self.first + self.steps.len() as u64
    }

    pub(super) fn step(&self, number: u64) -> &Step {
        &self.steps[(number - self.first) as usize]
    }

    /// What environments see when nothing was done before. If it is not what was seen last, an episode was left.
    pub(super) fn begin(&mut self, form: &Form, packed: &Packed) {
        let is_same = |&seen: &Seen| seen.rows as usize == packed.rows && *self.shelf.words(form, seen) == packed.words;
        if self.current.as_ref().is_some_and(is_same) {
            return;
        }
        if let Some(last) = self.steps.back_mut().filter(|last| last.end == End::None) {
            last.end = End::Truncated;
        }
        self.ready = self.next_number();
        self.current = Some(self.shelf.push(packed));
        self.tidy();
    }

    /// Adds a step from `current`; `last` is what an episode that was cut ended with, `next` what the next step acts on.
    pub(super) fn add(&mut self, options: &ReplayOptions, done: Done, last: &Packed, next: &Packed) {
        let seen = self.current.unwrap_or_else(|| unreachable!("`begin` was called"));
        let cut = (done.end == End::Truncated).then(|| self.shelf.push(last));
        let current = self.shelf.push(next);
        let next = match done.end {
            End::Terminated => seen,
            End::None | End::Truncated => cut.unwrap_or(current),
        };
        self.current = Some(current);
        // Before the new one comes: there must not be room for one too many.
        if self.steps.len() == options.capacity / options.environments {
            self.steps.pop_front();
            self.first += 1;
        }
        self.steps.push_back(Step { seen, next, action: done.action, end: done.end, reward: done.reward });
        self.tidy();
        let behind = self.next_number();
        self.ready = match done.end {
            End::None => self.ready.max((behind + 1).saturating_sub(options.n_step as u64)),
            _ => behind,
        };
    }

    /// Frees what nobody needs any more.
    fn tidy(&mut self) {
        if let Some(oldest) = self.steps.front().map(|step| step.seen).or(self.current) {
            self.shelf.forget_before(oldest);
        }
    }
}

/// What an environment did, and what came of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub(super) action: u32,
    pub(super) reward: f64,
    pub(super) end: End,
}
