//! A set of small integers that finds its smallest member in a few instructions.

/// A bit set with a summary of non-empty words above it, and a summary of that, up to one word.
#[derive(Clone, Debug)]
pub struct RankSet {
    /// `levels[0]` holds the members; a bit of `levels[i + 1]` says that a word of `levels[i]` is not empty.
    levels: Vec<Vec<u64>>,
    count: usize,
}

impl RankSet {
    /// The empty set over 0 to `size` − 1.
    pub fn new(size: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = size.div_ceil(64).max(1);
        loop {
            levels.push(vec![0; words]);
            if words == 1 {
                return RankSet { levels, count: 0 };
            }
            words = words.div_ceil(64);
        }
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether this is a member.
    pub fn contains(&self, rank: u32) -> bool {
        self.levels[0][rank as usize / 64] >> (rank % 64) & 1 == 1
    }

    /// Adds one that is not a member.
    pub fn insert(&mut self, rank: u32) {
        debug_assert!(!self.contains(rank));
        self.count += 1;
        let mut place = rank as usize;
        for level in &mut self.levels {
            let word = &mut level[place / 64];
            let was_empty = *word == 0;
            *word |= 1 << (place % 64);
            // The summaries above say so already.
            if !was_empty {
                return;
            }
            place /= 64;
        }
    }

    /// Removes a member.
    pub fn remove(&mut self, rank: u32) {
        debug_assert!(self.contains(rank));
        self.count -= 1;
        let mut place = rank as usize;
        for level in &mut self.levels {
            let word = &mut level[place / 64];
            *word &= !(1 << (place % 64));
            // Others are left in this word: the summaries above still hold.
            if *word != 0 {
                return;
            }
            place /= 64;
        }
    }

    /// The smallest member.
    pub fn first(&self) -> Option<u32> {
        (self.count > 0).then(|| self.descend(self.levels.len() - 1, 0))
    }

    /// The smallest member that is at least `rank`.
    #[inline]
    pub fn at_least(&self, rank: u32) -> Option<u32> {
        let mut place = rank as usize;
        for (height, level) in self.levels.iter().enumerate() {
            let word = *level.get(place / 64)? >> (place % 64);
            if word != 0 {
                let found = place + word.trailing_zeros() as usize;
                return Some(if height == 0 { found as u32 } else { self.descend(height - 1, found) });
            }
            // Nothing in the rest of this word: one level up, from the next word on.
            place = place / 64 + 1;
        }
        None
    }

    /// All members, the smallest first.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.iter_from(0)
    }

    /// All members that are at least `rank`, the smallest first.
    #[inline]
    pub fn iter_from(&self, rank: u32) -> impl Iterator<Item = u32> + '_ {
        // What is left of the word that was looked at last, and where that begins.
        let (mut word, mut first) = (0u64, rank);
        std::iter::from_fn(move || {
            if word == 0 {
                first = self.at_least(first)?;
                word = self.levels[0][first as usize / 64] >> (first % 64) << (first % 64);
                first -= first % 64;
            }
            let rank = first + word.trailing_zeros();
            word &= word - 1;
            if word == 0 {
                first += 64;
            }
            Some(rank)
        })
    }

    fn descend(&self, from_height: usize, place: usize) -> u32 {
        let mut place = place;
        for level in self.levels[..=from_height].iter().rev() {
            place = place * 64 + level[place].trailing_zeros() as usize;
        }
        place as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::SplitMix64;
    use std::collections::BTreeSet;

    #[test]
    fn agrees_with_a_tree_set() {
        for size in [1usize, 63, 64, 65, 4096, 4097, 300_000] {
            let mut set = RankSet::new(size);
            let mut expected = BTreeSet::new();
            let mut random = SplitMix64::for_job(size as u64, 0);
            for _ in 0..3000 {
                let rank = (random.next_u64() % size as u64) as u32;
                if expected.remove(&rank) {
                    set.remove(rank);
                } else {
                    expected.insert(rank);
                    set.insert(rank);
                }
                let from = (random.next_u64() % size as u64) as u32;
                assert_eq!(set.first(), expected.first().copied());
                assert_eq!(set.at_least(from), expected.range(from..).next().copied());
                assert_eq!(set.len(), expected.len());
            }
            assert!(set.iter().eq(expected.iter().copied()));
            let from = (random.next_u64() % size as u64) as u32;
            assert!(set.iter_from(from).eq(expected.range(from..).copied()));
        }
    }
}
