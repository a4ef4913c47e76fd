//! How many nodes have at least so much of something free: says in a few steps that a job has no room.

/// About so many steps are told apart: for nodes of up to 64 cores that is each core.
const STEPS: i64 = 64;

/// The nodes of a group, counted by what they have free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AtLeast {
    /// A step is two to this power: it is divided by often.
    shift: u32,
    /// For each step, how many nodes have as much or more. Beyond the last but one is more than a node has that is counted;
    /// there stand those whose amount is not tracked.
    nodes: Vec<u32>,
}

impl AtLeast {
    /// Counts nodes by what they have free; none has more than `most`, or its amount is not tracked.
    pub(crate) fn new(most: i64, free: impl Iterator<Item = i64>) -> Self {
        let shift = (0..).find(|shift| most >> shift < STEPS).unwrap_or(0);
        let mut counts = AtLeast { shift, nodes: vec![0; (most >> shift) as usize + 2] };
        for amount in free {
            let step = counts.step(amount);
            counts.nodes[step] += 1;
        }
        // Whoever has as much as a step has as much as those below.
        for step in (1..counts.nodes.len()).rev() {
            counts.nodes[step - 1] += counts.nodes[step];
        }
        counts
    }

    #[inline]
    fn step(&self, amount: i64) -> usize {
        // More may be promised than there is.
        ((amount >> self.shift).max(0) as usize).min(self.nodes.len() - 1)
    }

    /// What a node has free has changed.
    #[inline]
    pub(crate) fn change(&mut self, before: i64, now: i64) {
        let (before, now) = (self.step(before), self.step(now));
        if now > before {
            self.nodes[before + 1..=now].iter_mut().for_each(|nodes| *nodes += 1);
        } else {
            self.nodes[now + 1..=before].iter_mut().for_each(|nodes| *nodes -= 1);
        }
    }

    /// Whether so many tasks could have room that ask for so much each: if not, they have none.
    #[inline]
    pub(crate) fn may_hold(&self, asked: i64, tasks: u32) -> bool {
        let mut missing = i64::from(tasks);
        let mut counted = 0;
        // A node has room for as many tasks as there are multiples of what a task asks for up to what it has.
        while missing > 0 {
            let step = self.step((counted + 1) * asked);
            let nodes = i64::from(self.nodes[step]);
            // What is not tracked never ends.
            if nodes == 0 || step == self.nodes.len() - 1 {
                return nodes > 0;
            }
            let mut multiples = counted + 1;
            // All that lie in one step are counted at once.
            if asked >> self.shift == 0 {
                multiples = multiples.max((((step as i64 + 1) << self.shift) - 1) / asked);
            }
            missing -= nodes * (multiples - counted);
            counted = multiples;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::SplitMix64;

    #[test]
    fn what_fits_is_never_denied() {
        for seed in 0..200 {
            let mut random = SplitMix64::for_job(seed, 1);
            let mut below = |n: i64| (random.next_u64() % n as u64) as i64;
            let most = 1 + below(100_000);
            let mut free: Vec<i64> = (0..40).map(|_| below(most + 1)).collect();
            let mut counts = AtLeast::new(most, free.iter().copied());
            for _ in 0..100 {
                let node = below(40) as usize;
                let now = below(most + 1) - below(3);
                counts.change(free[node], now);
                free[node] = now;
                let (asked, tasks) = (1 + below(most), 1 + below(60));
                let room: i64 = free.iter().map(|&amount| (amount / asked).max(0)).sum();
                assert!(room < tasks || counts.may_hold(asked, tasks as u32));
            }
            assert_eq!(counts, AtLeast::new(most, free.into_iter()));
        }
    }

    #[test]
    fn whole_cores_are_counted_exactly() {
        let counts = AtLeast::new(32_000, [32_000, 17_000, 15_000, 0].into_iter());
        for (cores, tasks) in [(32, 1), (16, 3), (15, 4), (8, 7), (1, 64)] {
            assert!(counts.may_hold(cores * 1000, tasks) && !counts.may_hold(cores * 1000, tasks + 1), "{cores}");
        }
    }

    #[test]
    fn what_is_not_tracked_has_no_end() {
        let counts = AtLeast::new(1000, [1000, i64::MAX / 4].into_iter());
        assert!(counts.may_hold(1_000_000, 500));
    }
}
