//! The waiting jobs under policies that stop running ones.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Bound;
use std::sync::Arc;

use crate::model::job::Jobs;

/// Who comes before whom: a rank, then the job's number.
pub(crate) type Key = (i128, u32);

/// The rank of a job that the starvation guard puts first.
pub(crate) const FIRST: i128 = i128::MIN;

/// A shape, and what else those in a lane have in common.
pub(crate) type LaneKey = (u32, u32);

/// Where somebody waits: the jobs of a shape, or all below a node of the tree of shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Node(u32),
    Shape(u32),
}

/// Who is to be looked at in a pass, the first of all on top.
#[derive(Default)]
pub(crate) struct Line(BinaryHeap<Reverse<(Key, Place)>>);

impl Line {
    pub(crate) fn pop(&mut self) -> Option<(Key, Place)> {
        self.0.pop().map(|Reverse(next)| next)
    }

    /// Adds a place, unless nobody waits there.
    fn push_any(&mut self, first: Key, place: Place) {
        if first != NOBODY {
            self.0.push(Reverse((first, place)));
        }
    }
}

/// Behind every job.
const NOBODY: Key = (i128::MAX, u32::MAX);

/// Looking at so many shapes one by one costs less than to keep a tree of them, which is as large as the table's.
const FEW_SHAPES: usize = 8;

/// How a waiting job stands: in which of its shape's lanes, where that lane is, and where the job is in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) class: u32,
    pub(crate) lane_rank: i128,
    pub(crate) rank: i128,
}

/// Jobs of one shape that keep their order among each other: a job's rank is its lane's plus its own.
#[derive(Clone, Debug, Default)]
struct Lane {
    rank: i128,
    waiting: BTreeSet<Key>,
}

impl Lane {
    fn whole(&self, (rank, job): Key) -> Key {
        (if rank == FIRST { FIRST } else { self.rank + rank }, job)
    }

    /// The first that comes after a key.
    fn next(&self, after: Option<Key>) -> Option<Key> {
        let own = |(rank, job): Key| (if rank == FIRST { FIRST } else { rank - self.rank }, job);
        let from = after.map_or(Bound::Unbounded, |key| Bound::Excluded(own(key)));
        self.waiting.range((from, Bound::Unbounded)).next().map(|&key| self.whole(key))
    }
}

/// The waiting jobs by shape and class. What fits, and whom it could stop, is the same for all of a shape; where ranks
/// change all the time, they change for a whole class at once.
#[derive(Clone, Debug)]
pub(crate) struct Contest {
    table: Arc<Jobs>,
    lanes: BTreeMap<LaneKey, Lane>,
    /// By node of the tree of shapes: who comes first below it. Empty while few shapes wait.
    firsts: Vec<Key>,
    /// By job: its class, and the rank under which it waits in its lane.
    place: Vec<(u32, i128)>,
    /// How many jobs had been learned from when the ranks were worked out.
    pub(crate) ranked_at: Option<u64>,
    pub(crate) reviews: Reviews,
    /// When the running jobs have to be looked at again, though nothing arrives or ends.
    pub(crate) review_ms: Option<i64>,
}

/// When each running job is to be looked at, the earliest on top; those of runs that are over are still there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reviews {
    /// A time, the number of the job's start, and the job.
    pub(crate) times: BinaryHeap<Reverse<(i64, u32, u32)>>,
    /// Runs from this start on are not in it yet.
    pub(crate) from_start: u32,
    /// How many jobs had been learned from.
    pub(crate) planned_at: Option<u64>,
}

impl Contest {
    /// Nobody waits of so many jobs.
    pub(crate) fn new(table: Arc<Jobs>, jobs: usize) -> Self {
        Contest {
            table,
            lanes: BTreeMap::new(),
            firsts: Vec::new(),
            place: vec![(0, 0); jobs],
            ranked_at: None,
            reviews: Reviews::default(),
            review_ms: None,
        }
    }

    pub(crate) fn insert(&mut self, shape: u32, job: u32, standing: Standing) {
        let Standing { class, lane_rank, rank } = standing;
        self.place[job as usize] = (class, rank);
        let lane = self.lanes.entry((shape, class)).or_default();
        lane.rank = lane_rank;
        lane.waiting.insert((rank, job));
        if self.firsts.is_empty() && self.lanes.len() > FEW_SHAPES {
            self.firsts = vec![NOBODY; 2 * self.table.shape_tree().leaves()];
            self.note_all();
        } else {
            self.note_first(shape);
        }
    }

    pub(crate) fn remove(&mut self, shape: u32, job: u32) {
        let (class, rank) = self.place[job as usize];
        let Some(lane) = self.lanes.get_mut(&(shape, class)) else { return };
        lane.waiting.remove(&(rank, job));
        if lane.waiting.is_empty() {
            self.lanes.remove(&(shape, class));
        }
        self.note_first(shape);
    }

    /// The lanes have other places in the order from now on.
    pub(crate) fn rank_lanes(&mut self, mut rank: impl FnMut(LaneKey) -> i128) {
        self.lanes.iter_mut().for_each(|(&key, lane)| lane.rank = rank(key));
        self.note_all();
    }

    fn note_all(&mut self) {
        self.shapes().into_iter().for_each(|shape| self.note_first(shape));
    }

    /// Another job may be the first of a shape: the nodes above it are told.
    fn note_first(&mut self, shape: u32) {
        if self.firsts.is_empty() {
            return;
        }
        let first = self.next(shape, None).unwrap_or(NOBODY);
        let tree = self.table.shape_tree();
        let mut node = tree.leaves() + tree.leaf_of()[shape as usize] as usize;
        self.firsts[node] = first;
        while node > 1 {
            node /= 2;
            let first = self.firsts[2 * node].min(self.firsts[2 * node + 1]);
            // Above, nothing changes either.
            if self.firsts[node] == first {
                return;
            }
            self.firsts[node] = first;
        }
    }

    /// The shapes that wait.
    fn shapes(&self) -> Vec<u32> {
        let mut shapes: Vec<u32> = self.lanes.keys().map(|&(shape, _)| shape).collect();
        shapes.dedup();
        shapes
    }

    /// The first of a shape that comes after a key.
    fn next(&self, shape: u32, after: Option<Key>) -> Option<Key> {
        self.lanes.range((shape, 0)..=(shape, u32::MAX)).filter_map(|(_, lane)| lane.next(after)).min()
    }

    /// All who are to be looked at when a pass begins.
    pub(crate) fn line(&self) -> Line {
        let mut line = Line::default();
        match self.firsts.get(1) {
            Some(&first) => line.push_any(first, Place::Node(1)),
            None => self.shapes().into_iter().for_each(|shape| self.line_up(&mut line, shape, None)),
        }
        line
    }

    /// Lines up the first of a shape that comes after a key.
    pub(crate) fn line_up(&self, line: &mut Line, shape: u32, after: Option<Key>) {
        line.push_any(self.next(shape, after).unwrap_or(NOBODY), Place::Shape(shape));
    }

    /// Lines up both halves of what waits below a node of the tree of shapes.
    pub(crate) fn line_up_below(&self, line: &mut Line, node: u32) {
        let tree = self.table.shape_tree();
        let leaves = tree.leaves() as u32;
        let first = |node: u32| self.firsts[node as usize];
        for child in [2 * node, 2 * node + 1] {
            let mut fork = child;
            // Few shapes of many wait, and most nodes have one child alone below which any do.
            while fork < leaves && (first(2 * fork) == NOBODY || first(2 * fork + 1) == NOBODY) {
                fork = 2 * fork + u32::from(first(2 * fork) == NOBODY);
            }
            let leaf = fork.checked_sub(leaves);
            let place = leaf.map_or(Place::Node(fork), |leaf| Place::Shape(tree.shape_at(leaf)));
            line.push_any(first(child), place);
        }
    }

    /// All that wait, lane by lane.
    pub(crate) fn standings(&self) -> Vec<(Key, LaneKey)> {
        let lanes = self.lanes.iter();
        lanes.flat_map(|(&lane, own)| own.waiting.iter().map(move |&key| (own.whole(key), lane))).collect()
    }

    /// All that wait, in order.
    pub(crate) fn in_order(&self) -> Vec<u32> {
        let mut standings = self.standings();
        standings.sort_unstable();
        standings.into_iter().map(|((_, job), _)| job).collect()
    }
}
