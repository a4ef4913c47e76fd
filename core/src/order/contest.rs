//! The waiting jobs under policies that stop running ones.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Bound;

/// Who comes before whom: a rank, then the job's number.
pub(crate) type Key = (i128, u32);

/// The rank of a job that the starvation guard puts first.
pub(crate) const FIRST: i128 = i128::MIN;

/// A shape, and what else those in a lane have in common.
pub(crate) type LaneKey = (u32, u32);

/// The next of each lane, the first of all on top.
pub(crate) type Heads = BinaryHeap<Reverse<(Key, LaneKey)>>;

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
    lanes: BTreeMap<LaneKey, Lane>,
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
    pub(crate) fn new(jobs: usize) -> Self {
        let (lanes, reviews) = (BTreeMap::new(), Reviews::default());
        Contest { lanes, place: vec![(0, 0); jobs], ranked_at: None, reviews, review_ms: None }
    }

    pub(crate) fn insert(&mut self, shape: u32, job: u32, standing: Standing) {
        let Standing { class, lane_rank, rank } = standing;
        self.place[job as usize] = (class, rank);
        let lane = self.lanes.entry((shape, class)).or_default();
        lane.rank = lane_rank;
        lane.waiting.insert((rank, job));
    }

    pub(crate) fn remove(&mut self, shape: u32, job: u32) {
        let (class, rank) = self.place[job as usize];
        let Some(lane) = self.lanes.get_mut(&(shape, class)) else { return };
        lane.waiting.remove(&(rank, job));
        if lane.waiting.is_empty() {
            self.lanes.remove(&(shape, class));
        }
    }

    /// The lanes have other places in the order from now on.
    pub(crate) fn rank_lanes(&mut self, mut rank: impl FnMut(LaneKey) -> i128) {
        self.lanes.iter_mut().for_each(|(&key, lane)| lane.rank = rank(key));
    }

    /// The first of each lane that comes after a key, if there is one.
    pub(crate) fn heads(&self, after: Option<Key>) -> Heads {
        self.lanes.iter().filter_map(|(&key, lane)| Some(Reverse((lane.next(after)?, key)))).collect()
    }

    /// The first of a lane that comes after a key.
    pub(crate) fn next(&self, lane: LaneKey, after: Key) -> Option<Key> {
        self.lanes.get(&lane)?.next(Some(after))
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
