//! Nodes that go down and come up again: at given times, or at times drawn for each node.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::config::Config;
use crate::model::random::SplitMix64;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// A job whose nodes have failed under it so often is given up.
const MOST_FAILURES: u32 = 1000;

/// Of the bytes "fail": keeps these draws apart from all others.
const FAILURE_SALT: u64 = 0x6661_696C;

/// A node goes down, or comes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeEvent {
    /// When.
    pub time_ms: i64,
    /// Which.
    pub node: u32,
    /// Whether it is up from then on.
    pub up: bool,
}

/// The next events, and who is down.
#[derive(Clone, Debug)]
pub(crate) struct Failures {
    /// How many of the given events have happened.
    pub(crate) given: usize,
    /// By node: whether the given events say that it is down.
    pub(crate) given_down: Vec<bool>,
    /// By node: what its drawn events come from. Empty where none are drawn.
    pub(crate) drawn: Vec<Drawn>,
    /// The next drawn event of each node.
    next: BinaryHeap<Reverse<(i64, u32)>>,
}

/// One node's drawn events.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) generator: SplitMix64,
    pub(crate) is_down: bool,
    /// When that changes.
    pub(crate) next_ms: i64,
}

impl Failures {
    /// Nothing has failed yet; none if nothing can.
    pub(crate) fn new(config: &Config, nodes: usize, now_ms: i64) -> Option<Self> {
        if !config.has_failures() {
            return None;
        }
        let mut failures =
            Failures { given: 0, given_down: vec![false; nodes], drawn: Vec::new(), next: BinaryHeap::new() };
        if let Some((up_ms, _)) = config.mean_up_down_ms {
            for node in 0..nodes as u32 {
                let mut generator = SplitMix64::for_job(config.seed ^ FAILURE_SALT, node);
                let next_ms = now_ms + exponential_ms(&mut generator, up_ms);
                failures.drawn.push(Drawn { generator, is_down: false, next_ms });
            }
        }
        failures.look_ahead();
        Some(failures)
    }

    /// Works out which drawn events come next.
    pub(crate) fn look_ahead(&mut self) {
        let due = self.drawn.iter().enumerate().map(|(node, drawn)| Reverse((drawn.next_ms, node as u32)));
        self.next = due.collect();
    }

    /// When something happens next.
    pub(crate) fn next_ms(&self, config: &Config) -> Option<i64> {
        let given = config.node_events.get(self.given).map(|event| event.time_ms);
        given.into_iter().chain(self.next.peek().map(|&Reverse((time_ms, _))| time_ms)).min()
    }

    /// The next event not after an instant: given ones first, then those of the first nodes.
    fn pop(&mut self, config: &Config, instant_ms: i64) -> Option<u32> {
        if let Some(event) = config.node_events.get(self.given).filter(|event| event.time_ms <= instant_ms) {
            self.given += 1;
            self.given_down[event.node as usize] = !event.up;
            return Some(event.node);
        }
        let &Reverse((time_ms, node)) = self.next.peek().filter(|Reverse((time_ms, _))| *time_ms <= instant_ms)?;
        self.next.pop();
        let drawn = &mut self.drawn[node as usize];
        drawn.is_down = !drawn.is_down;
        let (up_ms, down_ms) = config.mean_up_down_ms.unwrap_or((1, 1));
        let mean_ms = if drawn.is_down { down_ms } else { up_ms };
        drawn.next_ms = time_ms + exponential_ms(&mut drawn.generator, mean_ms);
        self.next.push(Reverse((drawn.next_ms, node)));
        Some(node)
    }

    /// Whether an event to come may bring back a node that is down now.
    fn may_bring_back(&self, config: &Config) -> bool {
        let mut drawn = self.drawn.iter().zip(&self.given_down);
        self.given < config.node_events.len() || drawn.any(|(drawn, &given_down)| drawn.is_down && !given_down)
    }

    /// Whether a node is down now.
    pub(crate) fn is_down(&self, node: u32) -> bool {
        let drawn = self.drawn.get(node as usize).is_some_and(|drawn| drawn.is_down);
        self.given_down[node as usize] || drawn
    }
}

fn exponential_ms(generator: &mut SplitMix64, mean_ms: i64) -> i64 {
    let u = ((generator.next_u64() >> 11) + 1) as f64 * 2f64.powi(-53);
    ((-u.ln() * mean_ms as f64).round() as i64).max(1)
}

impl Simulation {
    /// When a node goes down or comes up next. If nothing else is to come, only a node that comes back matters, and only
    /// to those that wait.
    pub(crate) fn next_failure_ms(&self, alone: bool) -> Option<i64> {
        let failures = self.failures.as_ref()?;
        if alone && (self.queue.is_empty() || !failures.may_bring_back(&self.config)) {
            return None;
        }
        // What was given for the time before the first job is noticed when it comes.
        failures.next_ms(&self.config).map(|time_ms| time_ms.max(self.now_ms))
    }

    /// What happens to nodes at this instant.
    pub(crate) fn change_nodes(&mut self, instant_ms: i64) {
        let Some(mut failures) = self.failures.take() else { return };
        while let Some(node) = failures.pop(&self.config, instant_ms) {
            let is_down = failures.is_down(node);
            if is_down == self.free.is_down(node) {
                continue;
            }
            self.free.set_down(node, is_down);
            self.touch();
            self.freed += 1;
            if is_down {
                self.stop_jobs_on(node);
            }
        }
        self.failures = Some(failures);
    }

    /// Nodes are as the events before now have left them; what is told of the jobs shows what became of those.
    pub(crate) fn forget_node_events(&mut self) {
        let Some(mut failures) = self.failures.take() else { return };
        while let Some(node) = failures.pop(&self.config, self.now_ms - 1) {
            self.free.set_down(node, failures.is_down(node));
        }
        self.failures = Some(failures);
    }

    fn stop_jobs_on(&mut self, node: u32) {
        let on_node = |&job: &u32| self.states[job as usize].placement.parts().any(|part| part.node == node);
        let hit: Vec<u32> = self.runners.iter().copied().filter(on_node).collect();
        for job in hit {
            self.suspend(job, true);
            if self.states[job as usize].failures >= MOST_FAILURES {
                self.give_up(job);
            } else {
                self.wait_again(job);
            }
        }
    }

    /// A job that has just been stopped waits no more: that run was its last.
    fn give_up(&mut self, job: u32) {
        let state = &mut self.states[job as usize];
        state.phase = Phase::Failed;
        state.end_ms = self.now_ms;
        state.lost_ms = state.held_ms;
        if let Some(last) = self.stops.pop() {
            state.placement = last.placement;
        }
        self.ended += 1;
        if let Some(tally) = &mut self.tally {
            tally.end(job);
        }
    }
}
