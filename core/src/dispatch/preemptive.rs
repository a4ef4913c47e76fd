//! Policies that stop running jobs: shortest remaining time, and least attained service.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::ops::Bound;

use crate::model::config::Policy;
use crate::sim::simulation::Simulation;

/// Who comes before whom: a rank, then the job's number.
type Key = (i64, u32);

/// The rank of a job that the starvation guard puts first.
const FIRST: i64 = i64::MIN;

/// The waiting jobs by shape, each shape in order. What fits, and whom it could stop, is the same for all of a shape.
#[derive(Clone, Debug)]
pub(crate) struct Contest {
    waiting: Vec<BTreeSet<Key>>,
    /// By job: the rank under which it waits.
    rank: Vec<i64>,
    /// When the running jobs have to be looked at again, though nothing arrives or ends.
    pub(crate) review_ms: Option<i64>,
}

impl Contest {
    pub(crate) fn new(shapes: usize, jobs: usize) -> Self {
        Contest { waiting: vec![BTreeSet::new(); shapes], rank: vec![0; jobs], review_ms: None }
    }

    pub(crate) fn insert(&mut self, shape: u32, job: u32, rank: i64) {
        self.rank[job as usize] = rank;
        self.waiting[shape as usize].insert((rank, job));
    }

    pub(crate) fn remove(&mut self, shape: u32, job: u32) {
        self.waiting[shape as usize].remove(&(self.rank[job as usize], job));
    }

    /// The first of each shape that comes after a key, if there is one.
    fn heads(&self, after: Option<Key>) -> BinaryHeap<Reverse<(Key, u32)>> {
        let shapes = 0..self.waiting.len() as u32;
        shapes.filter_map(|shape| Some(Reverse((self.next(shape, after)?, shape)))).collect()
    }

    fn next(&self, shape: u32, after: Option<Key>) -> Option<Key> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.waiting[shape as usize].range((from, Bound::Unbounded)).next().copied()
    }

    /// All that wait, in order.
    pub(crate) fn in_order(&self) -> Vec<u32> {
        let mut keys: Vec<Key> = self.waiting.iter().flatten().copied().collect();
        keys.sort_unstable();
        keys.into_iter().map(|(_, job)| job).collect()
    }
}

/// The running jobs that may be stopped, by the partition that asks, the last in order first.
type Victims = HashMap<Option<u32>, Vec<Key>>;

impl Simulation {
    /// One pass: in order, each waiting job starts if it fits, or stops as many of those behind it as it needs.
    pub(crate) fn dispatch_preemptive(&mut self) {
        self.rank_again();
        let Some(contest) = &self.contest else { return };
        let mut heads = contest.heads(None);
        let mut victims = Victims::new();
        while let Some(Reverse((key, shape))) = heads.pop() {
            let job = key.1;
            if self.shape_fits(shape) {
                if self.try_start(job) {
                    self.push_next(&mut heads, shape, key);
                }
                continue;
            }
            // Whoever comes later in this shape could stop fewer still: the shape is looked at again if room is made.
            if self.make_way(job, key, &mut victims) {
                heads = self.contest.as_ref().map(|contest| contest.heads(Some(key))).unwrap_or_default();
            }
        }
        self.plan_review();
    }

    fn push_next(&self, heads: &mut BinaryHeap<Reverse<(Key, u32)>>, shape: u32, after: Key) {
        if let Some(next) = self.contest.as_ref().and_then(|contest| contest.next(shape, Some(after))) {
            heads.push(Reverse((next, shape)));
        }
    }

    /// Ranks of waiting jobs change only with estimates that are learned.
    fn rank_again(&mut self) {
        if self.learner.is_none() || self.config.policy != Policy::Srtf {
            return;
        }
        let Some(mut contest) = self.contest.take() else { return };
        for job in contest.in_order() {
            let shape = self.states[job as usize].shape;
            contest.remove(shape, job);
            contest.insert(shape, job, self.rank_of(job));
        }
        self.contest = Some(contest);
    }

    /// A job begins to wait.
    pub(crate) fn contend(&mut self, job: u32) {
        if self.contest.is_none() {
            return;
        }
        let (rank, shape) = (self.rank_of(job), self.states[job as usize].shape);
        if let Some(contest) = &mut self.contest {
            contest.insert(shape, job, rank);
        }
    }

    /// What a job's place in the order rests on, whether it waits or runs.
    fn rank_of(&self, job: u32) -> i64 {
        // A running job that was put first stays so: otherwise two such jobs would stop each other for ever.
        if self.config.max_wait_ms.is_some_and(|bound_ms| self.submit_ms(job) + bound_ms <= self.now_ms) {
            return FIRST;
        }
        match self.config.policy {
            Policy::Las => self.level(job, self.now_ms) as i64,
            _ => (self.estimate(job).0 - self.done_ms(job)).max(0),
        }
    }

    /// The work that a job has done and kept, at full speed.
    fn done_ms(&self, job: u32) -> i64 {
        let state = &self.states[job as usize];
        let before_ms = self.work_ms(job) - state.remaining_ms;
        if self.is_running(job) {
            before_ms + self.progress_ms(job)
        } else {
            before_ms
        }
    }

    /// How many thresholds a job's service has reached at an instant.
    fn level(&self, job: u32, instant_ms: i64) -> usize {
        let service = self.service(job, instant_ms);
        self.config.policy_parameters.iter().take_while(|&&threshold_s| service >= milli_ms(threshold_s)).count()
    }

    /// Milli-GPUs times milliseconds that a job has held.
    fn service(&self, job: u32, instant_ms: i64) -> i128 {
        let state = &self.states[job as usize];
        let present_ms = if self.is_running(job) { instant_ms - state.segment_start_ms } else { 0 };
        i128::from(self.shape_of(job).size_milli()) * i128::from(state.held_ms + present_ms)
    }

    /// Stops as many running jobs behind this one as it needs, and starts it; false if all of them are not enough.
    fn make_way(&mut self, job: u32, key: Key, victims: &mut Victims) -> bool {
        let partition = self.shape_of(job).partition;
        let behind = victims.entry(partition).or_insert_with(|| self.victims_in(partition));
        let behind: Vec<u32> = behind.iter().take_while(|&&other| other > key).map(|&(_, other)| other).collect();
        if behind.is_empty() {
            return false;
        }
        let Some(stopped) = self.least_victims(job, &behind) else { return false };
        for &other in &stopped {
            self.suspend(other, false);
            self.wait_again(other);
        }
        for list in victims.values_mut() {
            list.retain(|(_, other)| !stopped.contains(other));
        }
        self.try_start(job)
    }

    /// Running jobs that have run long enough on nodes of a partition, the last in order first.
    fn victims_in(&self, partition: Option<u32>) -> Vec<Key> {
        let is_there = |&job: &u32| {
            let mut parts = self.states[job as usize].placement.parts();
            partition.is_none() || parts.any(|part| self.cluster.nodes[part.node as usize].partition == partition)
        };
        let ran_enough =
            |&job: &u32| self.now_ms - self.states[job as usize].segment_start_ms >= self.config.minimum_run_ms;
        let mut found: Vec<Key> = self
            .runners
            .iter()
            .copied()
            .filter(is_there)
            .filter(ran_enough)
            .map(|job| (self.rank_of(job), job))
            .collect();
        found.sort_unstable_by_key(|&key| Reverse(key));
        found
    }

    /// Those of the jobs, given worst first, that have to stop for this one to fit: as many from the front as it takes,
    /// without those that it fits beside. What is free stays as it was.
    fn least_victims(&mut self, job: u32, behind: &[u32]) -> Option<Vec<u32>> {
        let shape = self.states[job as usize].shape;
        behind.iter().for_each(|&other| self.lend(other, true));
        let enough = self.shape_fits(shape);
        behind.iter().for_each(|&other| self.lend(other, false));
        if !enough {
            return None;
        }
        let mut lent = Vec::new();
        for &other in behind {
            self.lend(other, true);
            lent.push(other);
            if self.shape_fits(shape) {
                break;
            }
        }
        let mut stopped = Vec::new();
        for &other in lent.iter().rev() {
            self.lend(other, false);
            if !self.shape_fits(shape) {
                self.lend(other, true);
                stopped.push(other);
            }
        }
        stopped.iter().for_each(|&other| self.lend(other, false));
        stopped.reverse();
        Some(stopped)
    }

    /// A running job's nodes count as free for a moment, or no longer.
    fn lend(&mut self, job: u32, free: bool) {
        let state = &self.states[job as usize];
        let shape = &self.jobs.shapes[state.shape as usize];
        if free {
            self.free.give(shape, &state.placement);
        } else {
            self.free.take(shape, &state.placement);
        }
    }

    /// When a running job may first be stopped, or falls to the next level, while somebody waits.
    pub(crate) fn plan_review(&mut self) {
        let waits = !self.queue.is_empty();
        let next = self.runners.iter().filter(|_| waits).flat_map(|&job| self.reviews_of(job)).min();
        if let Some(contest) = &mut self.contest {
            contest.review_ms = next;
        }
    }

    fn reviews_of(&self, job: u32) -> impl Iterator<Item = i64> {
        let state = &self.states[job as usize];
        let ran_enough_ms = state.segment_start_ms + self.config.minimum_run_ms;
        let falls_ms = (self.config.policy == Policy::Las).then(|| self.falls_ms(job)).flatten();
        let now_ms = self.now_ms;
        [Some(ran_enough_ms), falls_ms].into_iter().flatten().filter(move |&instant_ms| instant_ms > now_ms)
    }

    /// When a running job's service reaches the next threshold.
    fn falls_ms(&self, job: u32) -> Option<i64> {
        let threshold = milli_ms(*self.config.policy_parameters.get(self.level(job, self.now_ms))?);
        let missing = threshold - self.service(job, self.now_ms);
        let size = i128::from(self.shape_of(job).size_milli());
        if size == 0 {
            return None;
        }
        i64::try_from((missing + size - 1) / size).ok().filter(|&ms| ms < i64::MAX / 4).map(|ms| self.now_ms + ms)
    }
}

/// GPU-seconds as milli-GPUs times milliseconds; an infinite threshold is never reached.
fn milli_ms(threshold_s: f64) -> i128 {
    (threshold_s * 1e6).min(1e30) as i128
}
