//! The waiting jobs by shape: finds the first job in the order that may backfill without looking at every job.
//!
//! Entries are known by a key (their place in the order). Each shape has a small tree over its entries in the order of
//! their keys, holding the shortest limit of those that wait; above the shapes, a tree holds the smallest
//! key and the shortest limit among the shapes below each of its nodes.

/// No entry waits here.
const NO_KEY: u32 = u32::MAX;
/// Longer than any limit.
const NO_LIMIT: i64 = i64::MAX;

/// The waiting entries by shape, each with its limit.
#[derive(Clone, Debug)]
pub struct ShapeIndex {
    /// For each key, its shape, and its place among that shape's keys.
    homes: Vec<(u32, u32)>,
    /// The keys by shape, ascending within each.
    keys: Vec<u32>,
    trees: Vec<ShapeTree>,
    /// All shapes' trees, one after the other.
    limits: Vec<i64>,
    summary: Vec<Summary>,
    /// The summary's leaves start here; a power of two.
    leaves: usize,
}

#[derive(Clone, Copy, Debug)]
struct ShapeTree {
    /// Where this shape's keys start in `keys`.
    first_key: u32,
    keys: u32,
    /// Where its tree starts in `limits`; the root is at 1 from there.
    root: u32,
    /// Leaves, a power of two.
    leaves: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Summary {
    first_key: u32,
    shortest_ms: i64,
}

const EMPTY: Summary = Summary { first_key: NO_KEY, shortest_ms: NO_LIMIT };

impl ShapeIndex {
    /// An index over the keys 0 to n − 1 with these shapes, below `shapes` in number; nobody waits yet.
    pub fn new(shape_of: Vec<u32>, shapes: usize) -> Self {
        let mut counts = vec![0u32; shapes];
        shape_of.iter().for_each(|&shape| counts[shape as usize] += 1);
        let mut trees = Vec::with_capacity(shapes);
        let (mut first_key, mut root) = (0, 0);
        for &keys in &counts {
            let leaves = keys.next_power_of_two();
            trees.push(ShapeTree { first_key, keys, root, leaves });
            first_key += keys;
            root += if keys == 0 { 0 } else { 2 * leaves };
        }
        let mut keys = vec![0; shape_of.len()];
        let mut homes = Vec::with_capacity(shape_of.len());
        let mut filled = vec![0u32; shapes];
        for (key, &shape) in shape_of.iter().enumerate() {
            let place = &mut filled[shape as usize];
            keys[(trees[shape as usize].first_key + *place) as usize] = key as u32;
            homes.push((shape, *place));
            *place += 1;
        }
        let leaves = shapes.next_power_of_two();
        ShapeIndex {
            homes,
            keys,
            trees,
            limits: vec![NO_LIMIT; root as usize],
            summary: vec![EMPTY; 2 * leaves],
            leaves,
        }
    }

    /// An entry begins to wait, with this limit.
    pub fn insert(&mut self, key: u32, limit_ms: i64) {
        let (shape, place) = self.homes[key as usize];
        let shape = shape as usize;
        self.set_limit(shape, place, limit_ms);
        let first_key = self.summary[self.leaves + shape].first_key.min(key);
        self.summarize(shape, first_key);
    }

    /// An entry waits no longer.
    pub fn remove(&mut self, key: u32) {
        let (shape, place) = self.homes[key as usize];
        let shape = shape as usize;
        self.set_limit(shape, place, NO_LIMIT);
        let mut first_key = self.summary[self.leaves + shape].first_key;
        if first_key == key {
            // Keys before it did not wait, so the next first one lies behind it.
            first_key = self.first_in_shape(shape as u32, key, NO_LIMIT - 1).unwrap_or(NO_KEY);
        }
        self.summarize(shape, first_key);
    }

    fn set_limit(&mut self, shape: usize, place: u32, limit_ms: i64) {
        let tree = self.trees[shape];
        let limits = &mut self.limits[tree.root as usize..(tree.root + 2 * tree.leaves) as usize];
        let mut node = (tree.leaves + place) as usize;
        limits[node] = limit_ms;
        while node > 1 {
            node /= 2;
            let shortest = limits[2 * node].min(limits[2 * node + 1]);
            // Above, nothing changes either.
            if limits[node] == shortest {
                return;
            }
            limits[node] = shortest;
        }
    }

    fn summarize(&mut self, shape: usize, first_key: u32) {
        let shortest_ms = self.limits[self.trees[shape].root as usize + 1];
        let mut node = self.leaves + shape;
        self.summary[node] = Summary { first_key, shortest_ms };
        while node > 1 {
            node /= 2;
            let (left, right) = (self.summary[2 * node], self.summary[2 * node + 1]);
            let joined = Summary {
                first_key: left.first_key.min(right.first_key),
                shortest_ms: left.shortest_ms.min(right.shortest_ms),
            };
            if self.summary[node] == joined {
                return;
            }
            self.summary[node] = joined;
        }
    }

    /// The first key of all that wait in shapes 0 to `shapes` − 1.
    pub fn first_below(&self, shapes: usize) -> Option<u32> {
        let mut best = NO_KEY;
        self.visit_below(shapes, |summary| best = best.min(summary.first_key));
        (best != NO_KEY).then_some(best)
    }

    /// The shortest limit of all that wait in shapes 0 to `shapes` − 1.
    pub fn shortest_below(&self, shapes: usize) -> i64 {
        let mut shortest_ms = NO_LIMIT;
        self.visit_below(shapes, |summary| shortest_ms = shortest_ms.min(summary.shortest_ms));
        shortest_ms
    }

    /// Visits the few nodes that together cover the shapes 0 to `shapes` − 1: one for each bit of that number.
    fn visit_below(&self, shapes: usize, mut visit: impl FnMut(&Summary)) {
        let mut beyond = self.leaves + shapes;
        while beyond > 1 {
            if beyond & 1 == 1 {
                visit(&self.summary[beyond - 1]);
            }
            beyond /= 2;
        }
        if shapes == self.leaves {
            visit(&self.summary[1]);
        }
    }

    /// The first shape below a node of the summary: down the left side to the leaves.
    pub fn first_shape(&self, node: usize) -> usize {
        (node << (self.leaves.ilog2() - node.ilog2())) - self.leaves
    }

    /// The first waiting key, not before `from`, whose limit is at most what `longest_ms` allows for its shape, which is told
    /// with its shortest limit (none: no job of it may start). Asks only about shapes that wait, and could be first. No shape is asked about
    /// whose shortest limit is longer than `bound_ms`, or that lies below a node of the summary that `may_hold` rules out, which is
    /// told the shortest limit below the node.
    pub fn first_allowed(
        &self,
        from: u32,
        bound_ms: i64,
        may_hold: impl Fn(usize, i64) -> bool,
        mut longest_ms: impl FnMut(u32, i64) -> Option<i64>,
    ) -> Option<u32> {
        let mut best = NO_KEY;
        // A tree over at most 2³² shapes, two entries a level at the most: no allocation in the hottest search.
        let mut stack = [0u32; 64];
        let mut depth = 1;
        stack[0] = 1;
        while depth > 0 {
            depth -= 1;
            let top = stack[depth] as usize;
            let Summary { first_key, shortest_ms } = self.summary[top];
            // Asked before the way down, which is long where few of many shapes wait; all on it wait alike.
            if first_key >= best || shortest_ms > bound_ms || !may_hold(top, shortest_ms) {
                continue;
            }
            let node = self.next_fork(top);
            // Those below ask for more than those above at the least.
            if node != top && !may_hold(node, shortest_ms) {
                continue;
            }
            if node < self.leaves {
                // The side with the smaller key on top: what it finds prunes the other.
                let left_first = self.summary[2 * node].first_key <= self.summary[2 * node + 1].first_key;
                stack[depth] = (2 * node + usize::from(left_first)) as u32;
                stack[depth + 1] = (2 * node + usize::from(!left_first)) as u32;
                depth += 2;
                continue;
            }
            let shape = (node - self.leaves) as u32;
            // Where each job has a shape of its own, most that come before `from` are seen here.
            let tree = self.trees[shape as usize];
            if self.keys[(tree.first_key + tree.keys - 1) as usize] < from {
                continue;
            }
            if let Some(longest) = longest_ms(shape, shortest_ms) {
                best = best.min(self.first_in_shape(shape, from, longest.min(bound_ms)).unwrap_or(NO_KEY));
            }
        }
        (best != NO_KEY).then_some(best)
    }

    /// The node from which all go down that wait below a node: of so many shapes few wait, and most nodes have one child alone
    /// with any.
    #[inline]
    fn next_fork(&self, node: usize) -> usize {
        let mut node = node;
        while node < self.leaves {
            match [2 * node, 2 * node + 1].map(|child| self.summary[child].first_key != NO_KEY) {
                [true, false] => node *= 2,
                [false, true] => node = 2 * node + 1,
                _ => break,
            }
        }
        node
    }

    /// The first waiting key of a shape, not before `from`, with a limit of at most `longest_ms`.
    fn first_in_shape(&self, shape: u32, from: u32, longest_ms: i64) -> Option<u32> {
        let tree = self.trees[shape as usize];
        let keys = &self.keys[tree.first_key as usize..(tree.first_key + tree.keys) as usize];
        let limits = &self.limits[tree.root as usize..(tree.root + 2 * tree.leaves) as usize];
        let longest_ms = longest_ms.min(NO_LIMIT - 1);
        let place = if from == 0 { 0 } else { keys.partition_point(|&key| key < from) };
        if place == keys.len() {
            return None;
        }
        let leaves = tree.leaves as usize;
        let mut node = leaves + place;
        // Up and to the right until a node's shortest limit is short enough, then down to its first such leaf.
        while limits[node] > longest_ms {
            while node & 1 == 1 {
                node /= 2;
            }
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < leaves {
            node = 2 * node + usize::from(limits[2 * node] > longest_ms);
        }
        Some(keys[node - leaves])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::SplitMix64;
    use std::collections::BTreeMap;

    #[test]
    fn agrees_with_a_scan() {
        for seed in 0..40 {
            let mut random = SplitMix64::for_job(seed, 1);
            let mut below = |n: u64| random.next_u64() % n;
            let (size, shapes) = (1 + below(200) as usize, 1 + below(9) as usize);
            let shape_of: Vec<u32> = (0..size).map(|_| below(shapes as u64) as u32).collect();
            let mut index = ShapeIndex::new(shape_of.clone(), shapes);
            let mut waiting: BTreeMap<u32, i64> = BTreeMap::new();
            for _ in 0..400 {
                let key = below(size as u64) as u32;
                if waiting.remove(&key).is_some() {
                    index.remove(key);
                } else {
                    let limit = below(50) as i64;
                    waiting.insert(key, limit);
                    index.insert(key, limit);
                }
                let (upto, from) = (below(shapes as u64 + 1) as usize, below(size as u64) as u32);
                let allowed: Vec<Option<i64>> =
                    (0..shapes).map(|_| [None, Some(i64::MAX), Some(below(50) as i64)][below(3) as usize]).collect();
                let scan = |ok: &dyn Fn(u32, u32, i64) -> bool| {
                    waiting.iter().find(|(&key, &limit)| ok(key, shape_of[key as usize], limit)).map(|(&key, _)| key)
                };
                assert_eq!(index.first_below(upto), scan(&|_, shape, _| (shape as usize) < upto));
                let below = |node: usize, _: i64| index.first_shape(node) < upto;
                let found = index.first_allowed(from, i64::MAX - 1, below, |shape, _| allowed[shape as usize]);
                let expected = scan(&|key, shape, limit| {
                    key >= from && (shape as usize) < upto && allowed[shape as usize].is_some_and(|most| limit <= most)
                });
                assert_eq!(found, expected);
                let bounded = index.first_allowed(0, 20, below, |_, _| Some(i64::MAX));
                assert_eq!(bounded, scan(&|_, shape, limit| (shape as usize) < upto && limit <= 20));
            }
        }
    }
}
