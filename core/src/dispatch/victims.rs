//! Running jobs that may be stopped for another, and what there would be room for without them.
//!
//! Turns come in ascending order of keys, so those who may be stopped become fewer from turn to turn. What is free together
//! with what they hold only shrinks, too: each of them is lent once in a pass and taken back once, whoever asks.

use std::mem::swap;

use crate::dispatch::contenders::rank_of;
use crate::model::free::Free;
use crate::order::contest::Key;
use crate::sim::limits::Limits;
use crate::sim::simulation::Simulation;

/// All who may be stopped in a pass.
pub(super) struct Victims {
    all: Side,
    /// Those with nodes of a partition, once a job of it has asked.
    by_partition: Vec<(u32, Side)>,
}

/// Those whom some jobs may stop.
struct Side {
    /// In ascending order.
    keys: Vec<Key>,
    /// From here on they are behind the job whose turn it is.
    behind: usize,
    /// Milli-cores and milli-GPUs that those behind hold.
    held_milli: [i64; 2],
    room: Option<Box<Room>>,
}

/// What would be free if some of them did not run, and what would be used of limits.
struct Room {
    free: Free,
    limits: Limits,
    /// From this place on they count as if they did not run; never those that are not behind.
    lent: usize,
}

impl Room {
    /// A job gives back what it holds (`sign` 1), or takes it (−1).
    fn change(&mut self, simulation: &Simulation, job: u32, sign: i64) {
        let (setup, state) = (&simulation.setup, simulation.state(job));
        if sign > 0 {
            setup.give(&mut self.free, state);
        } else {
            setup.take(&mut self.free, state);
        }
        self.limits.count(setup, job, -sign);
    }

    /// The same for a short time, after which all that was taken has been given back: that is quicker.
    fn change_for_now(&mut self, simulation: &Simulation, job: u32, sign: i64) {
        let (setup, state) = (&simulation.setup, simulation.state(job));
        self.free.change_for_now(setup.shape_of(state), &state.placement, sign);
        self.limits.count(setup, job, -sign);
    }

    /// Whether a job could start here.
    fn holds(&mut self, simulation: &mut Simulation, job: u32) -> bool {
        self.exchange(simulation);
        let holds = may_start(simulation, job);
        self.exchange(simulation);
        holds
    }

    fn exchange(&mut self, simulation: &mut Simulation) {
        swap(&mut self.free, &mut simulation.machine.free);
        swap(&mut self.limits, &mut simulation.limits);
    }
}

/// Whether a job fits now, and no limit of the site keeps it from starting.
pub(super) fn may_start(simulation: &Simulation, job: u32) -> bool {
    simulation.fits_now(job) && !simulation.is_barred(job)
}

fn held_milli(simulation: &Simulation, job: u32) -> [i64; 2] {
    simulation.machine.free.held_milli(simulation.shape_of(job), &simulation.state(job).placement)
}

impl Side {
    fn new(simulation: &Simulation, keys: Vec<Key>) -> Self {
        let held_milli = keys.iter().fold([0, 0], |[cores, gpus], &(_, job)| {
            let held = held_milli(simulation, job);
            [cores + held[0], gpus + held[1]]
        });
        Side { keys, behind: 0, held_milli, room: None }
    }

    fn hold_less(&mut self, simulation: &Simulation, job: u32) {
        let held = held_milli(simulation, job);
        self.held_milli = [self.held_milli[0] - held[0], self.held_milli[1] - held[1]];
    }

    /// It is the turn of a job: only those with a greater key are behind it.
    fn turn_to(&mut self, simulation: &Simulation, turn: Key) {
        while let Some(&key) = self.keys.get(self.behind).filter(|&&key| key <= turn) {
            if let Some(room) = self.room.as_mut().filter(|room| room.lent == self.behind) {
                room.change(simulation, key.1, -1);
                room.lent += 1;
            }
            self.hold_less(simulation, key.1);
            self.behind += 1;
        }
    }

    /// What would be free if all behind did not run, if that is worked out already.
    fn most_free<'a>(&'a self, simulation: &'a Simulation) -> Option<&'a Free> {
        if self.behind == self.keys.len() {
            return Some(&simulation.machine.free);
        }
        self.room.as_ref().filter(|room| room.lent == self.behind).map(|room| &room.free)
    }

    /// Milli-cores and milli-GPUs that would be free then on all nodes together.
    fn most_milli(&self, simulation: &Simulation) -> [i64; 2] {
        let free = &simulation.machine.free;
        [free.total_cores_milli() + self.held_milli[0], free.total_gpu_milli() + self.held_milli[1]]
    }

    /// Whom a job has to stop, the worst first; none if all behind it are not enough.
    fn stopped_for(&mut self, simulation: &mut Simulation, job: u32) -> Option<Vec<u32>> {
        let (shape, most_milli) = (simulation.shape_of(job), self.most_milli(simulation));
        let is_too_much = shape.total_cores_milli() > most_milli[0] || shape.total_gpu_milli() > most_milli[1];
        if self.behind == self.keys.len() || is_too_much {
            return None;
        }
        let Side { keys, behind, room, .. } = self;
        let room = room.get_or_insert_with(|| {
            let (free, limits) = (simulation.machine.free.clone(), simulation.limits.clone());
            Box::new(Room { free, limits, lent: keys.len() })
        });
        while !room.holds(simulation, job) {
            if room.lent == *behind {
                return None;
            }
            room.lent -= 1;
            room.change(simulation, keys[room.lent].1, 1);
        }
        // More may be lent than this job needs. Going back, the best first, those beside whom it fits keep what they hold;
        // the same are left as if only as many had been lent as it takes.
        let (mut stopped, mut spared) = (Vec::new(), Vec::new());
        for &(_, other) in &keys[room.lent..] {
            room.change_for_now(simulation, other, -1);
            if room.holds(simulation, job) {
                spared.push(other);
            } else {
                room.change_for_now(simulation, other, 1);
                stopped.push(other);
            }
        }
        spared.into_iter().for_each(|other| room.change_for_now(simulation, other, 1));
        stopped.reverse();
        Some(stopped)
    }

    /// One who may be stopped is about to be.
    fn release(&mut self, simulation: &Simulation, key: Key) {
        let place = self.keys.binary_search(&key);
        if let Some(room) = &mut self.room {
            if place.is_err() || place.is_ok_and(|place| place < room.lent) {
                room.change(simulation, key.1, 1);
                room.lent -= usize::from(place.is_ok());
            }
        }
        if let Ok(place) = place {
            self.keys.remove(place);
            self.hold_less(simulation, key.1);
        }
    }
}

impl Victims {
    /// The running jobs that have run long enough, and are behind a job whose turn it is.
    pub(super) fn behind(simulation: &mut Simulation, turn: Key) -> Self {
        let latest_ms = simulation.now_ms() - simulation.setup.config.minimum_run_ms;
        let ran_enough = |job: &u32| simulation.state(*job).segment_start_ms <= latest_ms;
        let jobs: Vec<u32> = simulation.machine.runners().iter().copied().filter(ran_enough).collect();
        let keys = jobs.into_iter().map(|job| (rank_of(simulation, job), job));
        let mut keys: Vec<Key> = keys.filter(|&key| key > turn).collect();
        keys.sort_unstable();
        Victims { all: Side::new(simulation, keys), by_partition: Vec::new() }
    }

    /// It is the turn of a job.
    pub(super) fn turn_to(&mut self, simulation: &Simulation, turn: Key) {
        self.all.turn_to(simulation, turn);
        self.by_partition.iter_mut().for_each(|(_, side)| side.turn_to(simulation, turn));
    }

    /// Whether any shape below a node of the tree could have room if all behind did not run: if not, none has.
    pub(super) fn may_hold(&self, simulation: &Simulation, node: usize) -> bool {
        let tree = simulation.setup.jobs.shape_tree();
        let partition = tree.partition(node);
        let own = self.by_partition.iter().find(|(one, _)| Some(*one) == partition).map(|(_, side)| side);
        let worked_out = own.and_then(|side| side.most_free(simulation)).or_else(|| self.all.most_free(simulation));
        match worked_out {
            Some(free) => tree.may_hold(&simulation.setup.cluster, free, node),
            None => tree.asks_at_most(node, self.all.most_milli(simulation)),
        }
    }

    /// Whom the job whose turn it is has to stop, the worst first; none if all behind it are not enough.
    pub(super) fn stopped_for(&mut self, simulation: &mut Simulation, job: u32) -> Option<Vec<u32>> {
        self.side(simulation, job).stopped_for(simulation, job)
    }

    /// Those whom a job may stop: all, or those with nodes of its partitions.
    fn side(&mut self, simulation: &Simulation, job: u32) -> &mut Side {
        // A job of another partition may have what a limit leaves to one of them.
        let Some(partition) = simulation.shape_of(job).partition.filter(|_| !simulation.is_ruled()) else {
            return &mut self.all;
        };
        let place = self.by_partition.iter().position(|(one, _)| *one == partition).unwrap_or_else(|| {
            let nodes = simulation.setup.cluster.nodes_for(simulation.shape_of(job));
            let goes_anywhere = nodes.len() == simulation.setup.cluster.nodes.len();
            let is_there = |&&(_, other): &&Key| {
                let mut parts = simulation.state(other).placement.parts();
                goes_anywhere || parts.any(|part| nodes.binary_search(&part.node).is_ok())
            };
            let keys = self.all.keys[self.all.behind..].iter().filter(is_there).copied().collect();
            self.by_partition.push((partition, Side::new(simulation, keys)));
            self.by_partition.len() - 1
        });
        &mut self.by_partition[place].1
    }

    fn sides(&mut self) -> impl Iterator<Item = &mut Side> {
        std::iter::once(&mut self.all).chain(self.by_partition.iter_mut().map(|(_, side)| side))
    }

    /// Stops some of them.
    pub(super) fn stop(&mut self, simulation: &mut Simulation, stopped: &[u32]) {
        for &job in stopped {
            let key = (rank_of(simulation, job), job);
            self.sides().for_each(|side| side.release(simulation, key));
            simulation.stop(job);
        }
    }

    /// A job has started.
    pub(super) fn count_start(&mut self, simulation: &Simulation, job: u32) {
        self.sides().filter_map(|side| side.room.as_mut()).for_each(|room| room.change(simulation, job, -1));
    }
}
