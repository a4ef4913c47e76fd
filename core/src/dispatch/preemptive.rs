//! Policies that stop running jobs: who goes first takes the place of those behind.

use crate::dispatch::contenders::{plan_review, rank_again};
use crate::dispatch::victims::{may_start, Victims};
use crate::order::contest::{Key, Line, Place};
use crate::sim::simulation::Simulation;

/// One pass: in order, each waiting job starts if it fits, or stops as many of those behind it as it needs.
///
/// Not every job is asked. What is free together with what those behind hold becomes less from turn to turn, so that a shape
/// which found too little has no better luck later in the pass, and many shapes are ruled out at once.
pub(super) fn pass(simulation: &mut Simulation) {
    rank_again(simulation);
    let Some(contest) = &simulation.waiting.contest else { return };
    let mut line = contest.line();
    let mut pass = Pass::default();
    while let Some((key, place)) = line.pop() {
        match place {
            Place::Shape(shape) => pass.look_at(simulation, &mut line, shape, key),
            Place::Node(node) => pass.look_below(simulation, &mut line, node, key),
        }
    }
    plan_review(simulation);
}

#[derive(Default)]
struct Pass {
    /// Those who may be stopped, once somebody has not found room without that.
    victims: Option<Victims>,
    /// The key of the job whose turn was the last.
    turn: Option<Key>,
    /// Shapes that fit, but were given no nodes: they are asked again when room is made.
    declined: Vec<u32>,
}

impl Pass {
    /// Lines up what is below a node of the tree of shapes, unless nothing of it can have room.
    fn look_below(&mut self, simulation: &mut Simulation, line: &mut Line, node: u32, key: Key) {
        let Simulation { setup, machine, .. } = simulation;
        let has_room = setup.jobs.shape_tree().may_hold(&setup.cluster, &machine.free, node as usize);
        if has_room || self.victims_behind(simulation, key).may_hold(simulation, node as usize) {
            simulation.waiting.contest.iter().for_each(|contest| contest.line_up_below(line, node));
        }
    }

    /// The first job of a shape has its turn.
    fn look_at(&mut self, simulation: &mut Simulation, line: &mut Line, shape: u32, key: Key) {
        // Whoever comes forward by being stopped, for its progress is lost, has no turn in this pass.
        if self.turn.is_some_and(|turn| key <= turn) {
            return self.line_up(simulation, line, shape);
        }
        self.turn = Some(key);
        let job = key.1;
        // Those of one shape are alike, unless some have waited longer for better nodes, or the site's rules tell them apart.
        let are_alike = simulation.setup.config.locality_patience_ms().is_none() && !simulation.is_ruled();
        if may_start(simulation, job) {
            if self.start(simulation, job) || simulation.is_ruled() {
                self.line_up(simulation, line, shape);
            } else {
                self.declined.push(shape);
            }
        } else if let Some(stopped) = self.stop_for(simulation, key) {
            self.start(simulation, job);
            // Those who were stopped wait again, behind this key; so do those who may find room now that there was none.
            self.line_up(simulation, line, shape);
            for other in stopped {
                self.line_up(simulation, line, simulation.state(other).shape);
            }
            for declined in std::mem::take(&mut self.declined) {
                self.line_up(simulation, line, declined);
            }
        } else if !are_alike {
            self.line_up(simulation, line, shape);
        }
    }

    fn start(&mut self, simulation: &mut Simulation, job: u32) -> bool {
        let starts = simulation.try_start(job);
        if starts {
            self.victims.iter_mut().for_each(|victims| victims.count_start(simulation, job));
        }
        starts
    }

    /// Stops as many of those behind a job as it needs, and says who they were; none if all of them are not enough.
    fn stop_for(&mut self, simulation: &mut Simulation, key: Key) -> Option<Vec<u32>> {
        let victims = self.victims_behind(simulation, key);
        let stopped = victims.stopped_for(simulation, key.1)?;
        victims.stop(simulation, &stopped);
        Some(stopped)
    }

    fn victims_behind(&mut self, simulation: &mut Simulation, key: Key) -> &mut Victims {
        let victims = self.victims.get_or_insert_with(|| Victims::behind(simulation, key));
        victims.turn_to(simulation, key);
        victims
    }

    /// The first of a shape that comes after this turn is looked at when its own comes.
    fn line_up(&self, simulation: &Simulation, line: &mut Line, shape: u32) {
        simulation.waiting.contest.iter().for_each(|contest| contest.line_up(line, shape, self.turn));
    }
}
