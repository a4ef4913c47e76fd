//! Nodes that go down and come up again: at given times, or at times drawn for each node.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::config::Config;
use crate::model::random::SplitMix64;
use crate::sim::bytes::{Reader, Writer};

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
    given: usize,
    /// By node: whether the given events say that it is down.
    given_down: Vec<bool>,
    /// By node: what its drawn events come from. Empty where none are drawn.
    drawn: Vec<Drawn>,
    /// The next drawn event of each node.
    next: BinaryHeap<Reverse<(i64, u32)>>,
}

/// One node's drawn events.
#[derive(Clone, Debug)]
struct Drawn {
    generator: SplitMix64,
    is_down: bool,
    /// When that changes.
    next_ms: i64,
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
                // A stream for each node: when one fails does not depend on what happens to the others.
                let mut generator = SplitMix64::for_job(config.seed ^ FAILURE_SALT, node);
                let next_ms = now_ms + exponential_ms(&mut generator, up_ms);
                failures.drawn.push(Drawn { generator, is_down: false, next_ms });
            }
        }
        // The heap follows from the nodes' next events, and is worked out again after a restore, too.
        failures.look_ahead();
        Some(failures)
    }

    /// Works out which drawn events come next.
    fn look_ahead(&mut self) {
        let due = self.drawn.iter().enumerate().map(|(node, drawn)| Reverse((drawn.next_ms, node as u32)));
        self.next = due.collect();
    }

    /// When something happens next.
    pub(crate) fn next_ms(&self, config: &Config) -> Option<i64> {
        let given = config.node_events.get(self.given).map(|event| event.time_ms);
        given.into_iter().chain(self.next.peek().map(|&Reverse((time_ms, _))| time_ms)).min()
    }

    /// The next event not after an instant: given ones first, then those of the first nodes.
    pub(crate) fn pop(&mut self, config: &Config, instant_ms: i64) -> Option<u32> {
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

    /// What happens until an instant has happened.
    pub(crate) fn skip(&mut self, config: &Config, instant_ms: i64) {
        while self.pop(config, instant_ms).is_some() {}
    }

    /// A node is as it is told, whatever was given or drawn for it.
    pub(crate) fn tell(&mut self, node: u32, down: bool) {
        if self.is_down(node) != down {
            self.given_down[node as usize] = down;
            // Told to be up: its next drawn event takes it down.
            self.drawn.get_mut(node as usize).into_iter().for_each(|drawn| drawn.is_down &= down);
        }
    }

    /// Whether an event to come may bring back a node that is down now.
    pub(crate) fn may_bring_back(&self, config: &Config) -> bool {
        let mut drawn = self.drawn.iter().zip(&self.given_down);
        self.given < config.node_events.len() || drawn.any(|(drawn, &given_down)| drawn.is_down && !given_down)
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.put(self.given as i64);
        for &down in &self.given_down {
            out.put(i64::from(down));
        }
        for drawn in &self.drawn {
            out.put(drawn.generator.state() as i64);
            out.put(i64::from(drawn.is_down));
            out.put(drawn.next_ms);
        }
    }

    /// Reads what `write` wrote of a simulation whose clock shows `now_ms`.
    pub(crate) fn read(&mut self, input: &mut Reader, now_ms: i64) -> Result<(), String> {
        self.given = input.number()?;
        for down in &mut self.given_down {
            *down = input.flag()?;
        }
        for drawn in &mut self.drawn {
            drawn.generator = SplitMix64::from_state(input.get()? as u64);
            drawn.is_down = input.flag()?;
            drawn.next_ms = input.time()?;
            // Events up to now have happened. One long ago would be followed by all that are drawn since: years of work.
            if drawn.next_ms <= now_ms {
                return Err("the saved state's nodes fail in the past".to_string());
            }
        }
        self.look_ahead();
        Ok(())
    }

    /// Whether a node is down now.
    pub(crate) fn is_down(&self, node: u32) -> bool {
        let drawn = self.drawn.get(node as usize).is_some_and(|drawn| drawn.is_down);
        self.given_down[node as usize] || drawn
    }
}

fn exponential_ms(generator: &mut SplitMix64, mean_ms: i64) -> i64 {
    let u = ((generator.next_u64() >> 11) + 1) as f64 * 2f64.powi(-53);
    // At least a millisecond: otherwise a node could go down and up at one instant, for ever.
    ((-u.ln() * mean_ms as f64).round() as i64).max(1)
}
