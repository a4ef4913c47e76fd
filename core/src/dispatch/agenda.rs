//! Several reservations over a queue that stands still. Mostly a pass is made because one more job has come, or because
//! the time of one has come: then the others who hold reservations need not even be listed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::dispatch::reserving::{self, end_pass, keeps_all, Pass};
use crate::dispatch::turns::queue_turns;
use crate::order::ranking::Turn;
use crate::sim::simulation::Simulation;

/// When those who hold reservations are to start, the earliest first. They are the first of the queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Agenda {
    starts: BinaryHeap<Reverse<(i64, u32)>>,
}

/// A holder whose time has come.
struct Due {
    job: u32,
    /// Where it stands in the queue.
    key: u32,
    /// How many holders stand before it.
    place: usize,
}

/// Those who are left to be looked at, one after the other.
struct Rest {
    /// They stand behind this key of the queue.
    key: u32,
    /// So many stand before them, or did when the pass began.
    before: usize,
    /// So many of these hold reservations.
    holding: usize,
}

/// One pass over all that the rule looks at.
pub(super) fn pass(simulation: &mut Simulation, depth: u32) {
    match simulation.promises.agenda.take().filter(|agenda| agenda.holds(simulation)) {
        Some(agenda) => agenda.pass(simulation, depth),
        None => {
            let (order, starts) = (queue_turns(simulation), simulation.machine.starts());
            reserving::pass(simulation, depth, &order);
            let started = simulation.machine.starts() - starts;
            Agenda::default().keep(simulation, 0, order.len() - started as usize);
        }
    }
    simulation.waiting.queue.note_order();
}

impl Agenda {
    /// Whether nothing but the time has changed for those who hold reservations, and all who have come stand behind them.
    fn holds(&self, simulation: &Simulation) -> bool {
        let stand_first = |&last: &u32| simulation.waiting.queue.is_new_behind(last);
        simulation.promises.holders.last().is_some_and(stand_first)
            && self.first_ms().is_some_and(|first_ms| first_ms >= simulation.now_ms())
            && keeps_all(simulation)
    }

    fn first_ms(&self) -> Option<i64> {
        self.starts.peek().map(|&Reverse((start_ms, _))| start_ms)
    }

    /// The turns of those whose time has come, and of those behind all who hold reservations.
    fn pass(mut self, simulation: &mut Simulation, depth: u32) {
        let freed = simulation.promises.freed;
        let due = self.take_due(simulation);
        let Some(projection) = simulation.promises.projection.take() else { return };
        let mut pass = Pass { simulation, projection };
        let rest = take_due_turns(&mut pass, depth, &due);
        let left = pass.simulation.setup.config.scan_depth as usize - rest.before;
        let behind = pass.simulation.waiting.queue.behind(rest.key).take(left);
        let behind: Vec<Turn> = behind.map(|job| Turn::plain(0, job)).collect();
        // If anything has become free, those who hold reservations are among them.
        let untouched = if pass.simulation.promises.freed == freed { rest.holding } else { 0 };
        let starts = pass.simulation.machine.starts();
        pass.take_turns(depth, rest.holding as u32, &behind, 0);
        let Pass { simulation, projection } = pass;
        end_pass(simulation, projection, freed, untouched, self.first_ms());
        let started = simulation.machine.starts() - starts;
        self.keep(simulation, untouched, rest.holding + behind.len() - started as usize);
    }

    /// Takes out those whose time has come, in the order of the queue.
    fn take_due(&mut self, simulation: &Simulation) -> Vec<Due> {
        let Simulation { waiting, promises, .. } = simulation;
        let key = |job: &u32| waiting.queue.key(*job);
        let mut due = Vec::new();
        while self.first_ms().is_some_and(|first_ms| first_ms <= simulation.now_ms()) {
            due.extend(self.starts.pop().map(|Reverse((_, job))| Due {
                job,
                key: key(&job),
                place: promises.holders.partition_point(|other| key(other) < key(&job)),
            }));
        }
        due.sort_unstable_by_key(|due| due.key);
        due
    }

    /// Keeps the agenda, with the holders from a place on, if all holders have been planned with all that there is, and `all`
    /// who were looked at and wait hold reservations.
    fn keep(mut self, simulation: &mut Simulation, from: usize, all: usize) {
        let Simulation { promises, states, .. } = simulation;
        if promises.settled.is_some() && promises.holders.len() == all {
            let start = |&job: &u32| Reverse((states[job as usize].reserved_ms(), job));
            self.starts.extend(promises.holders[from..].iter().map(start));
            promises.agenda = Some(self);
        }
    }
}

/// Those start whose time has come. As long as each gets the nodes that it holds, nobody else need be looked at who holds any.
fn take_due_turns(pass: &mut Pass, depth: u32, due: &[Due]) -> Rest {
    let Simulation { promises, waiting, .. } = &*pass.simulation;
    let (freed, holders) = (promises.freed, promises.holders.len());
    let last = promises.holders.last().map_or(0, |&job| waiting.queue.key(job));
    for (started, &Due { job, key, place }) in due.iter().enumerate() {
        pass.take_turns(depth, 0, &[Turn::plain(0, job)], 0);
        if pass.simulation.promises.freed != freed {
            return Rest { key, before: place + 1, holding: place - started };
        }
    }
    Rest { key: last, before: holders, holding: holders - due.len() }
}
