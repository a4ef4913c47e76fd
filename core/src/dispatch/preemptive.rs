//! Policies that stop running jobs: shortest remaining time, and least attained service.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::model::config::Policy;
use crate::order::contest::Key;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// The rank of a job that the starvation guard puts first.
const FIRST: i64 = i64::MIN;

/// The running jobs that may be stopped, by the partition that asks, the last in order first.
type Victims = HashMap<Option<u32>, Vec<Key>>;

impl Simulation {
    /// One pass: in order, each waiting job starts if it fits, or stops as many of those behind it as it needs.
    pub(crate) fn dispatch_preemptive(&mut self) {
        self.rank_again();
        let Some(contest) = &self.waiting.contest else { return };
        let mut heads = contest.heads(None);
        let mut victims = Victims::new();
        while let Some(Reverse((key, shape))) = heads.pop() {
            let job = key.1;
            if self.machine.fits(&self.setup, shape) {
                if self.try_start(job) {
                    self.push_next(&mut heads, shape, key);
                }
                continue;
            }
            // Whoever comes later in this shape could stop fewer still: the shape is looked at again if room is made.
            if self.make_way(job, key, &mut victims) {
                heads = self.waiting.contest.as_ref().map(|contest| contest.heads(Some(key))).unwrap_or_default();
            }
        }
        self.plan_review();
    }

    fn push_next(&self, heads: &mut BinaryHeap<Reverse<(Key, u32)>>, shape: u32, after: Key) {
        if let Some(next) = self.waiting.contest.as_ref().and_then(|contest| contest.next(shape, Some(after))) {
            heads.push(Reverse((next, shape)));
        }
    }

    /// Ranks of waiting jobs change only with estimates that are learned.
    pub(crate) fn rank_again(&mut self) {
        if !self.accounts.learns() || self.setup.config.policy != Policy::Srtf {
            return;
        }
        let Some(mut contest) = self.waiting.contest.take() else { return };
        for job in contest.in_order() {
            let shape = self.states[job as usize].shape;
            contest.remove(shape, job);
            contest.insert(shape, job, self.rank_of(job));
        }
        self.waiting.contest = Some(contest);
    }

    /// A job's rank, where the policy stops running jobs.
    pub(crate) fn rank_in_contest(&self, job: u32) -> Option<i64> {
        self.waiting.contest.is_some().then(|| self.rank_of(job))
    }

    /// What a job's place in the order rests on, whether it waits or runs.
    fn rank_of(&self, job: u32) -> i64 {
        // A running job that was put first stays so: otherwise two such jobs would stop each other for ever.
        if self.setup.config.max_wait_ms.is_some_and(|bound_ms| self.setup.submit_ms(job) + bound_ms <= self.now_ms()) {
            return FIRST;
        }
        match self.setup.config.policy {
            Policy::Las => self.level(job, self.now_ms()) as i64,
            _ => (self.estimate(job).0 - self.done_ms(job)).max(0),
        }
    }

    /// The work that a job has done and kept, at full speed.
    fn done_ms(&self, job: u32) -> i64 {
        let state = &self.states[job as usize];
        let before_ms = state.done_ms;
        if self.state(job).phase == Phase::Running {
            before_ms + self.progress_ms(job)
        } else {
            before_ms
        }
    }

    /// How many thresholds a job's service has reached at an instant.
    fn level(&self, job: u32, instant_ms: i64) -> usize {
        let service = self.service(job, instant_ms);
        self.setup.config.policy_parameters.iter().take_while(|&&threshold_s| service >= milli_ms(threshold_s)).count()
    }

    /// Milli-GPUs times milliseconds that a job has held.
    fn service(&self, job: u32, instant_ms: i64) -> i128 {
        let state = &self.states[job as usize];
        let present_ms = if self.state(job).phase == Phase::Running { instant_ms - state.segment_start_ms } else { 0 };
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
            partition.is_none() || parts.any(|part| self.setup.cluster.nodes[part.node as usize].partition == partition)
        };
        let ran_enough =
            |&job: &u32| self.now_ms() - self.states[job as usize].segment_start_ms >= self.setup.config.minimum_run_ms;
        let mut found: Vec<Key> = self
            .machine
            .runners()
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
        let enough = self.machine.fits(&self.setup, shape);
        behind.iter().for_each(|&other| self.lend(other, false));
        if !enough {
            return None;
        }
        let mut lent = Vec::new();
        for &other in behind {
            self.lend(other, true);
            lent.push(other);
            if self.machine.fits(&self.setup, shape) {
                break;
            }
        }
        let mut stopped = Vec::new();
        for &other in lent.iter().rev() {
            self.lend(other, false);
            if !self.machine.fits(&self.setup, shape) {
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
        if free {
            self.machine.give(&self.setup, state);
        } else {
            self.machine.take(&self.setup, state);
        }
    }

    /// When a running job may first be stopped, or falls to the next level, while somebody waits.
    pub(crate) fn plan_review(&mut self) {
        let waits = !self.waiting.queue.is_empty();
        let next = self.machine.runners().iter().filter(|_| waits).flat_map(|&job| self.reviews_of(job)).min();
        if let Some(contest) = &mut self.waiting.contest {
            contest.review_ms = next;
        }
    }

    fn reviews_of(&self, job: u32) -> impl Iterator<Item = i64> {
        let state = &self.states[job as usize];
        let ran_enough_ms = state.segment_start_ms + self.setup.config.minimum_run_ms;
        let falls_ms = (self.setup.config.policy == Policy::Las).then(|| self.falls_ms(job)).flatten();
        let now_ms = self.now_ms();
        [Some(ran_enough_ms), falls_ms].into_iter().flatten().filter(move |&instant_ms| instant_ms > now_ms)
    }

    /// When a running job's service reaches the next threshold.
    fn falls_ms(&self, job: u32) -> Option<i64> {
        let threshold = milli_ms(*self.setup.config.policy_parameters.get(self.level(job, self.now_ms()))?);
        let missing = threshold - self.service(job, self.now_ms());
        let size = i128::from(self.shape_of(job).size_milli());
        if size == 0 {
            return None;
        }
        i64::try_from((missing + size - 1) / size).ok().filter(|&ms| ms < i64::MAX / 4).map(|ms| self.now_ms() + ms)
    }
}

/// GPU-seconds as milli-GPUs times milliseconds; an infinite threshold is never reached.
fn milli_ms(threshold_s: f64) -> i128 {
    (threshold_s * 1e6).min(1e30) as i128
}
