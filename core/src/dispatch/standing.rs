//! Greedy and EASY over an order that stands still: the queue's index finds who may start, without a scan.
//!
//! `reserving.rs` has the same two rules for any order, as the depths 0 and 1 of one function.

use std::collections::HashMap;

use crate::dispatch::promises::Blocked;
use crate::dispatch::room::Room;
use crate::model::cluster::{worked_ms, FULL_SPEED};
use crate::model::free::Free;
use crate::order::queue::Fresh;
use crate::place::placement::Placement;
use crate::place::rules::Rule;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// The head's reservation, and what may be used beside it.
#[derive(Clone, Debug)]
pub(crate) struct Shadow {
    pub(crate) head: u32,
    pub(crate) reserved_ms: i64,
    /// What the projection leaves free at the reserved time, the head not being placed.
    pub(crate) free: Free,
}

impl Simulation {
    /// Everything that fits starts, in order.
    pub(crate) fn dispatch_greedy(&mut self) {
        if !self.setup.is_pool {
            self.waiting.queue.settle();
        }
        let mut from = 0;
        while let Some(entry) = self.first_that_fits(from) {
            self.try_start(self.waiting.queue.job_at(entry));
            from = entry + 1;
        }
    }

    fn first_that_fits(&self, from: u32) -> Option<u32> {
        if self.setup.is_pool {
            return self.first_beside_pool(from, i64::MAX, i64::MAX);
        }
        let shapes = self.setup.jobs.sizes.count_within(self.machine.free.total_cores_milli());
        self.waiting
            .queue
            .first_allowed(shapes, from, i64::MAX, |shape| self.machine.fits(&self.setup, shape).then_some(i64::MAX))
    }

    /// The first that does not fit holds a reservation; others start if they do not delay it.
    pub(crate) fn dispatch_easy(&mut self) {
        if let Some(blocked) = self.still_blocked() {
            return self.backfill_newcomer(blocked);
        }
        let mut passed_over = None;
        while let Some(head) = self.waiting.queue.next_after(passed_over) {
            if self.try_start(head) {
                continue;
            }
            if self.can_reserve(head) {
                return if self.setup.is_pool { self.backfill_pool(head) } else { self.backfill_nodes(head) };
            }
            // The reservation goes to the next who can have one: otherwise nobody behind would be safe from backfills.
            passed_over = Some(head);
        }
    }

    /// Whether there is a time at which a job fits if nodes that are down stay so.
    pub(crate) fn can_reserve(&self, job: u32) -> bool {
        self.machine.free.would_fit_idle(&self.setup.cluster, self.shape_of(job))
    }

    /// On a pool, cores say it all: those free now, and those that the head leaves at its reserved time.
    fn backfill_pool(&mut self, head: u32) {
        let Some(mut from) = self.first_that_fits(0) else { return };
        let needed = self.cores_milli(head);
        let (reserved_ms, free_then) = self.pool_reservation(needed);
        let mut spare = free_then - needed;
        let longest_ms = reserved_ms - self.now_ms();
        while let Some(entry) = self.first_beside_pool(from, spare, longest_ms) {
            let job = self.waiting.queue.job_at(entry);
            if self.span_ms(job, FULL_SPEED) > longest_ms {
                spare -= self.cores_milli(job);
            }
            self.try_start(job);
            from = entry + 1;
        }
        let next_arrival = self.clock.next_arrival;
        self.promises.blocked = Some(Blocked { head, reserved_ms, spare_cores_milli: spare, next_arrival });
    }

    /// The end of the last pass, if since then one job has arrived behind the same head, and nothing else happened.
    fn still_blocked(&mut self) -> Option<Blocked> {
        let blocked = self.promises.blocked.take()?;
        let overrun = self.machine.has_overrun(self.now_ms());
        let same_head = self.waiting.queue.head() == Some(blocked.head);
        (same_head && !overrun && self.clock.next_arrival == blocked.next_arrival + 1).then_some(blocked)
    }

    fn backfill_newcomer(&mut self, mut blocked: Blocked) {
        let job = blocked.next_arrival;
        let state = &self.states[job as usize];
        let needed = self.setup.cores_milli(state);
        let outlasts = self.now_ms() + self.span_ms(job, FULL_SPEED) > blocked.reserved_ms;
        let waits = state.phase == Phase::Waiting;
        if waits && needed <= self.machine.free.cores_milli[0] && (!outlasts || needed <= blocked.spare_cores_milli) {
            self.try_start(job);
            blocked.spare_cores_milli -= if outlasts { needed } else { 0 };
        }
        blocked.next_arrival += 1;
        self.promises.blocked = Some(blocked);
    }

    /// The first entry, not before `from`, that fits now, and either fits beside the head at its reserved time or ends by
    /// then.
    fn first_beside_pool(&self, from: u32, spare_cores_milli: i64, longest_ms: i64) -> Option<u32> {
        let free = self.machine.free.cores_milli[0];
        let may_start = |one: &&Fresh| {
            one.cores_milli <= free && (one.limit_ms <= longest_ms || one.cores_milli <= spare_cores_milli)
        };
        let fresh = self.waiting.queue.fresh();
        let first = fresh.partition_point(|one| one.entry < from);
        let listed = fresh[first..].iter().find(may_start).map(|one| one.entry);
        if self.waiting.queue.all_fresh() {
            return listed;
        }
        listed.into_iter().chain(self.first_indexed_beside_pool(spare_cores_milli, longest_ms)).min()
    }

    /// The same among those in the index. What could not start before a backfill cannot start after it, since both bounds
    /// only shrink: so all that may start lies behind the last one anyway.
    fn first_indexed_beside_pool(&self, spare_cores_milli: i64, longest_ms: i64) -> Option<u32> {
        let free = self.machine.free.cores_milli[0];
        let sizes = &self.setup.jobs.sizes;
        let beside = self.waiting.queue.first_below(sizes.count_within(spare_cores_milli.min(free)));
        if spare_cores_milli >= free {
            return beside;
        }
        let fitting = sizes.count_within(free);
        let before = match self.waiting.queue.shortest_below(fitting) {
            shortest_ms if shortest_ms > longest_ms => None,
            _ => self.waiting.queue.first_allowed(fitting, 0, longest_ms, |_| Some(longest_ms)),
        };
        beside.into_iter().chain(before).min()
    }

    /// When a pool will have so many cores, and how many it has then.
    pub(crate) fn pool_reservation(&self, needed_cores_milli: i64) -> (i64, i64) {
        let mut free = self.machine.free.cores_milli[0];
        let mut reserved_ms = self.now_ms();
        for expected in self.machine.expected() {
            let instant_ms = expected.instant_ms.max(self.now_ms() + 1);
            if free >= needed_cores_milli && instant_ms > reserved_ms {
                break;
            }
            reserved_ms = instant_ms;
            free += expected.cores_milli;
        }
        (reserved_ms, free)
    }

    fn backfill_nodes(&mut self, head: u32) {
        self.waiting.queue.settle();
        let mut shadow = self.shadow(head);
        let longest_ms = shadow.reserved_ms - self.now_ms();
        let mut from = 0;
        // Jobs of one shape get the same nodes as long as nothing starts, except from the random rule.
        let mut by_shape: HashMap<u32, Option<i64>> = HashMap::new();
        loop {
            let shapes = self.setup.jobs.sizes.count_within(self.machine.free.total_cores_milli());
            let found = self.waiting.queue.first_allowed(shapes, from, i64::MAX, |shape| {
                *by_shape.entry(shape).or_insert_with(|| self.longest_beside(&mut shadow, shape))
            });
            let Some(entry) = found else { return };
            from = entry + 1;
            let job = self.waiting.queue.job_at(entry);
            let Some(placement) = self.place_on(&self.machine.free, job) else { continue };
            if self.span_on(job, &placement) > longest_ms && !self.keep_beside(&mut shadow, job, &placement) {
                continue;
            }
            self.start_on(job, placement);
            by_shape.clear();
        }
    }

    /// The reservation that a job gets which does not fit now, and can have one.
    pub(crate) fn shadow(&self, head: u32) -> Shadow {
        let shape = self.shape_of(head);
        let mut free = self.machine.free.clone();
        let mut room = Room::new(&self.setup.cluster, &free, shape);
        let mut reserved_ms = self.now_ms();
        for expected in self.machine.expected() {
            let instant_ms = expected.instant_ms.max(self.now_ms() + 1);
            if instant_ms > reserved_ms && room.fits(shape) {
                break;
            }
            reserved_ms = instant_ms;
            let placement = &self.states[expected.job as usize].placement;
            free.give(self.shape_of(expected.job), placement);
            room.update(&self.setup.cluster, &free, shape, placement);
        }
        Shadow { head, reserved_ms, free }
    }

    /// How long a job of this shape may run if it starts now; none: it does not fit.
    fn longest_beside(&self, shadow: &mut Shadow, shape: u32) -> Option<i64> {
        let shape = &self.setup.jobs.shapes[shape as usize];
        if matches!(self.setup.config.placement, Rule::Random | Rule::External) {
            return self.machine.free.fits(&self.setup.cluster, shape).then_some(i64::MAX);
        }
        let placement = self.setup.search(&self.machine.free, shape, 0).choose(self.setup.config.placement)?;
        let speed_milli = self.setup.cluster.speed_milli(shape, &placement);
        shadow.free.take(shape, &placement);
        let head_fits = shadow.free.fits(&self.setup.cluster, self.shape_of(shadow.head));
        shadow.free.give(shape, &placement);
        Some(if head_fits { i64::MAX } else { bound_at(shadow.reserved_ms - self.now_ms(), speed_milli) })
    }

    /// Of jobs of a shape that fit now and must end within `longest_ms`: no limit, at full speed, is longer than this.
    pub(crate) fn reference_bound(&self, shape: u32, longest_ms: i64) -> i64 {
        let shape = &self.setup.jobs.shapes[shape as usize];
        if !self.setup.cluster.has_speeds || matches!(self.setup.config.placement, Rule::Random | Rule::External) {
            return if self.setup.cluster.has_speeds { i64::MAX } else { longest_ms };
        }
        let placement = self.setup.search(&self.machine.free, shape, 0).choose(self.setup.config.placement);
        let speed_milli = placement.map_or(FULL_SPEED, |placement| self.setup.cluster.speed_milli(shape, &placement));
        bound_at(longest_ms, speed_milli)
    }

    /// Takes a job that outlasts the head's reserved time out of what is free then, if the head still fits.
    pub(crate) fn keep_beside(&self, shadow: &mut Shadow, job: u32, placement: &Placement) -> bool {
        shadow.free.take(self.shape_of(job), placement);
        let head_fits = shadow.free.fits(&self.setup.cluster, self.shape_of(shadow.head));
        if !head_fits {
            shadow.free.give(self.shape_of(job), placement);
        }
        head_fits
    }
}

/// What a span at full speed is at most, if on nodes of this speed it lasts no longer than `longest_ms`: what a start
/// after a stop costs is the same at every speed.
fn bound_at(longest_ms: i64, speed_milli: i64) -> i64 {
    worked_ms(longest_ms, speed_milli.max(FULL_SPEED))
}
