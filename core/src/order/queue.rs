//! The waiting jobs, in the order of the policy, with those that the starvation guard puts first.

use std::sync::Arc;

use crate::model::cluster::Cluster;
use crate::model::free::Free;
use crate::model::job::Jobs;
use crate::model::leftover::Leftover;
use crate::order::rank_set::RankSet;
use crate::order::shape_index::ShapeIndex;

/// Looking through so many entries of a list costs less than to take them into the index and out again.
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
    indexed: Indexed,
    /// Whether the index has the shapes arranged by what they ask for; on a pool, by their cores.
    by_room: bool,
    /// Made when the list of fresh entries first overflows.
    index: Option<ShapeIndex>,
    /// In order. A job that starts soon never comes into the index, which is large, and slow to change.
    fresh: Vec<Fresh>,
    guarded: bool,
    /// The least key of those that have begun to wait, or to stand elsewhere, since `note_order`.
    first_new: u32,
    /// The jobs' shapes: those of the table from `first_job` on.
    jobs: Arc<Jobs>,
    first_job: usize,
}

impl Queue {
    /// An empty queue for jobs of the table from `first_job` on, in this order.
    pub fn new(
        jobs: Arc<Jobs>,
        first_job: usize,
        order: Vec<u32>,
        guarded: bool,
        indexed: Indexed,
        by_room: bool,
    ) -> Self {
        let count = order.len() as u32;
        // The lower half of the keys is kept for those that the guard puts first: their key is the job's number.
        let first_key = if guarded { count } else { 0 };
        let mut key_of = vec![0; order.len()];
        for (place, &job) in order.iter().enumerate() {
            key_of[job as usize] = first_key + place as u32;
        }
        let job_of: Vec<u32> = if guarded { (0..count).chain(order).collect() } else { order };
        let waiting = RankSet::new(job_of.len());
        let (index, fresh, first_new) = (None, Vec::new(), 0);
        Queue { key_of, job_of, waiting, indexed, by_room, index, fresh, guarded, first_new, jobs, first_job }
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
        self.first_new = self.first_new.min(key);
        if self.indexed != Indexed::No {
            // The index is made only when there is a crowd: most queues are short.
            if self.fresh.len() == MOST_FRESH {
                self.settle();
            }
            let entry = self.entry(job, key);
            let place = self.fresh.partition_point(|fresh| fresh.entry < entry);
            self.fresh.insert(place, Fresh { entry, cores_milli, limit_ms });
        }
    }

    /// A job waits no longer.
    pub fn remove(&mut self, job: u32) {
        let key = self.key(job);
        self.waiting.remove(key);
        let entry = self.entry(job, key);
        match self.fresh.binary_search_by_key(&entry, |fresh| fresh.entry) {
            Ok(place) => {
                self.fresh.remove(place);
            }
            Err(_) => {
                if let Some(index) = &mut self.index {
                    index.remove(entry);
                }
            }
        }
    }

    /// Where a waiting job stands.
    pub fn key(&self, job: u32) -> u32 {
        if self.is_first(job) {
            job
        } else {
            self.key_of[job as usize]
        }
    }

    /// The place of a job in the index.
    pub fn entry_of(&self, job: u32) -> u32 {
        self.entry(job, self.key(job))
    }

    fn entry(&self, job: u32, key: u32) -> u32 {
        match self.indexed {
            Indexed::ByArrival => job,
            Indexed::No | Indexed::ByOrder => key,
        }
    }

    /// Those that are not in the index, in order.
    pub fn fresh(&self) -> &[Fresh] {
        &self.fresh
    }

    /// Whether all that wait are fresh.
    pub fn all_fresh(&self) -> bool {
        self.fresh.len() == self.waiting.len()
    }

    /// Moves the fresh entries into the index.
    pub fn settle(&mut self) {
        if self.fresh.is_empty() {
            return;
        }
        let shapes = &self.jobs.shape[self.first_job..];
        let index = self.index.get_or_insert_with(|| {
            let mut shape_of: Vec<u32> = match self.indexed {
                Indexed::ByArrival => shapes[..self.key_of.len()].to_vec(),
                Indexed::No | Indexed::ByOrder => self.job_of.iter().map(|&job| shapes[job as usize]).collect(),
            };
            if !self.by_room {
                return ShapeIndex::new(shape_of, self.jobs.shapes.len());
            }
            let tree = self.jobs.shape_tree();
            shape_of.iter_mut().for_each(|shape| *shape = tree.leaf_of()[*shape as usize]);
            ShapeIndex::new(shape_of, tree.leaves())
        });
        self.fresh.drain(..).for_each(|fresh| index.insert(fresh.entry, fresh.limit_ms));
    }

    /// Whether the guard has put this waiting job first.
    pub fn is_first(&self, job: u32) -> bool {
        self.guarded && self.waiting.contains(job)
    }

    /// The job that stands first.
    pub fn head(&self) -> Option<u32> {
        self.waiting.first().map(|key| self.job_of[key as usize])
    }

    /// The job that stands behind a waiting one; behind none, the first.
    pub fn next_after(&self, job: Option<u32>) -> Option<u32> {
        let key = match job {
            None => self.waiting.first(),
            Some(job) => self.waiting.at_least(self.key(job) + 1),
        };
        key.map(|key| self.job_of[key as usize])
    }

    /// All waiting jobs in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.waiting.iter().map(|key| self.job_of[key as usize])
    }

    /// The next waiting jobs of the table behind one, or from its beginning, where the order is that of the table; `by_tier`:
    /// where it is that of the table tier by tier.
    pub fn in_table_after(&self, job: Option<u32>, most: usize, by_tier: bool) -> Vec<u32> {
        if by_tier {
            let from = job.map_or(0, |job| self.key_of[job as usize] + 1);
            let mut found: Vec<u32> = self.iter().filter(|&job| self.key_of[job as usize] >= from).collect();
            // Those that the guard puts first stand before all tiers.
            found.sort_unstable_by_key(|&job| self.key_of[job as usize]);
            found.truncate(most);
            return found;
        }
        let (count, from) = (self.key_of.len() as u32, job.map_or(0, |job| job + 1));
        let first_key = if self.guarded { count } else { 0 };
        // Those that the guard puts first have keys of their own, in the same order.
        let put_first = |from| self.waiting.at_least(from).filter(|&key| self.guarded && key < count);
        let usual = |from| self.waiting.at_least(first_key + from).map(|key| key - first_key);
        let (mut one, mut other) = (put_first(from), usual(from));
        let mut found = Vec::new();
        while found.len() < most {
            let next = match (one, other) {
                (Some(first), Some(second)) => first.min(second),
                (first, second) => match first.or(second) {
                    Some(next) => next,
                    None => break,
                },
            };
            found.push(next);
            if one == Some(next) {
                one = put_first(next + 1);
            } else {
                other = usual(next + 1);
            }
        }
        found
    }

    /// The waiting jobs behind a key, in order.
    pub fn behind(&self, key: u32) -> impl Iterator<Item = u32> + '_ {
        self.waiting.iter_from(key + 1).map(|key| self.job_of[key as usize])
    }

    /// From now on it is noted who comes to stand where.
    pub fn note_order(&mut self) {
        self.first_new = u32::MAX;
    }

    /// Whether all that have come since stand behind a waiting job.
    pub fn is_new_behind(&self, job: u32) -> bool {
        self.first_new > self.key(job)
    }

    /// The policy's order of all jobs, waiting or not.
    pub fn order(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        let first_key = if self.guarded { self.key_of.len() } else { 0 };
        self.job_of[first_key..].iter().copied()
    }

    /// The first entry of the index among the shapes below `shapes`.
    pub fn first_below(&self, shapes: usize) -> Option<u32> {
        self.index.as_ref()?.first_below(shapes)
    }

    /// The shortest limit of those that wait among the shapes below `shapes`.
    pub fn shortest_below(&self, shapes: usize) -> i64 {
        self.index.as_ref().map_or(i64::MAX, |index| index.shortest_below(shapes))
    }

    /// The first entry of the index, not before `from`, whose limit is at most what `longest_ms` allows for its shape, which is
    /// told with its shortest limit; none: the shape may not start. Asks only about shapes below `shapes`.
    pub fn first_allowed(
        &self,
        shapes: usize,
        from: u32,
        bound_ms: i64,
        longest_ms: impl FnMut(u32, i64) -> Option<i64>,
    ) -> Option<u32> {
        let index = self.index.as_ref()?;
        index.first_allowed(from, bound_ms, |node, _| index.first_shape(node) < shapes, longest_ms)
    }

    /// The same where shapes are arranged by room: asks only about those that could have room in what is free. Those that last
    /// longer than `beside` says must also have room in what is left there.
    pub(crate) fn first_with_room(
        &self,
        cluster: &Cluster,
        free: &Free,
        from: u32,
        beside: Option<(i64, &Leftover)>,
        mut longest_ms: impl FnMut(u32, i64) -> Option<i64>,
    ) -> Option<u32> {
        let tree = self.jobs.shape_tree();
        let may_hold = |node: usize, shortest_ms: i64| {
            beside.is_none_or(|(until_ms, leftover)| shortest_ms <= until_ms || tree.may_run_on(leftover, node))
                && tree.may_hold(cluster, free, node)
        };
        let longest_ms = |leaf: u32, shortest_ms: i64| longest_ms(tree.shape_at(leaf), shortest_ms);
        self.index.as_ref()?.first_allowed(from, i64::MAX, may_hold, longest_ms)
    }

    /// The job behind an entry of the index.
    pub fn job_at(&self, entry: u32) -> u32 {
        match self.indexed {
            Indexed::ByArrival => entry,
            Indexed::No | Indexed::ByOrder => self.job_of[entry as usize],
        }
    }
}
