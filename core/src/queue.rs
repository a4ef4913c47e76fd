//! The waiting jobs, in the order of the policy, with those that the starvation guard puts first.

use crate::rank_set::RankSet;
use crate::shape_index::ShapeIndex;

/// Up to so many entries, a plain list is quicker than the index.
const MOST_FRESH: usize = 128;

/// An entry that is not in the index yet.
#[derive(Clone, Copy, Debug)]
pub struct Fresh {
    /// Its place in the index's order.
    pub entry: u32,
    /// What the job needs, over all tasks.
    pub cores_milli: i64,
    /// What reservations go by.
    pub limit_ms: i64,
}

/// What the queue keeps by shape, beside the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexed {
    /// Nothing: the rule looks at the head alone, or at a list.
    No,
    /// The jobs in the order of the policy.
    ByOrder,
    /// The jobs in the order of the table.
    ByArrival,
}

/// A job's **key** is its place in the order. With a guard there are twice as many keys as jobs: the lower
/// half belongs to jobs that have waited too long, in the order of the table, the upper half to the policy.
#[derive(Clone, Debug)]
pub struct Queue {
    /// For each job, its key in the policy's order.
    key_of: Vec<u32>,
    /// For each key, its job.
    job_of: Vec<u32>,
    waiting: RankSet,
    index: Option<ShapeIndex>,
    /// In order. A job that starts soon never comes into the index, and as long as few wait, none does.
    fresh: Vec<Fresh>,
    index_by_arrival: bool,
    guarded: bool,
}

impl Queue {
    /// An empty queue for jobs in this order, with these shapes.
    pub fn new(order: Vec<u32>, guarded: bool, indexed: Indexed, shape_of: &[u32], shapes: usize) -> Self {
        let count = order.len() as u32;
        let first_key = if guarded { count } else { 0 };
        let mut key_of = vec![0; order.len()];
        for (place, &job) in order.iter().enumerate() {
            key_of[job as usize] = first_key + place as u32;
        }
        let job_of = if guarded { (0..count).chain(order).collect() } else { order };
        let index = match indexed {
            Indexed::No => None,
            Indexed::ByOrder => Some(job_of.iter().map(|&job| shape_of[job as usize]).collect()),
            Indexed::ByArrival => Some(shape_of.to_vec()),
        };
        Queue {
            waiting: RankSet::new(job_of.len()),
            fresh: Vec::new(),
            index: index.map(|shape_of| ShapeIndex::new(shape_of, shapes)),
            index_by_arrival: indexed == Indexed::ByArrival,
            key_of,
            job_of,
            guarded,
        }
    }

    /// How many jobs wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A job begins to wait; `first` says that the guard puts it before the policy's order.
    pub fn insert(&mut self, job: u32, cores_milli: i64, limit_ms: i64, first: bool) {
        let key = if first { job } else { self.key_of[job as usize] };
        self.waiting.insert(key);
        if self.index.is_some() {
            if self.fresh.len() == MOST_FRESH {
                self.settle();
            }
            let entry = if self.index_by_arrival { job } else { key };
            let place = self.fresh.partition_point(|fresh| fresh.entry < entry);
            self.fresh.insert(place, Fresh { entry, cores_milli, limit_ms });
        }
    }

    /// A job waits no longer.
    pub fn remove(&mut self, job: u32) {
        let key = if self.is_first(job) { job } else { self.key_of[job as usize] };
        self.waiting.remove(key);
        let entry = if self.index_by_arrival { job } else { key };
        if let Some(index) = &mut self.index {
            match self.fresh.binary_search_by_key(&entry, |fresh| fresh.entry) {
                Ok(place) => {
                    self.fresh.remove(place);
                }
                Err(_) => index.remove(entry),
            }
        }
    }

    /// All that wait, in order, if they are few; otherwise the index is to be asked.
    pub fn few(&self) -> Option<&[Fresh]> {
        (self.fresh.len() == self.waiting.len()).then_some(&self.fresh)
    }

    /// Brings the index up to date; to be called before it is asked.
    pub fn settle(&mut self) {
        if let Some(index) = &mut self.index {
            self.fresh.drain(..).for_each(|fresh| index.insert(fresh.entry, fresh.limit_ms));
        }
    }

    /// The same, unless only few wait.
    pub fn settle_many(&mut self) {
        if self.few().is_none() {
            self.settle();
        }
    }

    /// Whether the guard has put this waiting job first.
    pub fn is_first(&self, job: u32) -> bool {
        self.guarded && self.waiting.contains(job)
    }

    /// The job that stands first.
    pub fn head(&self) -> Option<u32> {
        self.waiting.first().map(|key| self.job_of[key as usize])
    }

    /// All waiting jobs in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.waiting.iter().map(|key| self.job_of[key as usize])
    }

    /// The policy's order of all jobs, waiting or not.
    pub fn order(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        let first_key = if self.guarded { self.key_of.len() } else { 0 };
        self.job_of[first_key..].iter().copied()
    }

    /// The first entry of the index among the shapes below `shapes`.
    pub fn first_below(&self, shapes: usize) -> Option<u32> {
        debug_assert!(self.fresh.is_empty());
        self.index.as_ref()?.first_below(shapes)
    }

    /// The shortest limit of those that wait among the shapes below `shapes`.
    pub fn shortest_below(&self, shapes: usize) -> i64 {
        debug_assert!(self.fresh.is_empty());
        self.index.as_ref().map_or(i64::MAX, |index| index.shortest_below(shapes))
    }

    /// The first entry of the index, not before `from`, that `longest_ms` allows; see `ShapeIndex::first_allowed`.
    pub fn first_allowed(
        &self,
        shapes: usize,
        from: u32,
        bound_ms: i64,
        longest_ms: impl FnMut(u32) -> Option<i64>,
    ) -> Option<u32> {
        debug_assert!(self.fresh.is_empty());
        self.index.as_ref()?.first_allowed(shapes, from, bound_ms, longest_ms)
    }

    /// The job behind an entry of the index.
    pub fn job_at(&self, entry: u32) -> u32 {
        if self.index_by_arrival {
            entry
        } else {
            self.job_of[entry as usize]
        }
    }
}
