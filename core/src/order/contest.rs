//! The waiting jobs under policies that stop running ones.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Bound;

/// Who comes before whom: a rank, then the job's number.
pub(crate) type Key = (i64, u32);

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
    pub(crate) fn heads(&self, after: Option<Key>) -> BinaryHeap<Reverse<(Key, u32)>> {
        let shapes = 0..self.waiting.len() as u32;
        shapes.filter_map(|shape| Some(Reverse((self.next(shape, after)?, shape)))).collect()
    }

    /// The first of a shape that comes after a key.
    pub(crate) fn next(&self, shape: u32, after: Option<Key>) -> Option<Key> {
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
