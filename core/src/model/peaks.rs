//! The most that is free on any node of each block of nodes: finds the next node with room without a look at every node.

use crate::model::at_least::AtLeast;

/// How many nodes a block has, and how many blocks one of the next level.
const FAN: usize = 16;

/// What a node has free, or a task asks for: milli-cores, memory, milli-GPUs.
pub(crate) type Amounts = [i64; 3];

/// What a task asks for. What it does not ask for does not bind, even where more is promised than there is.
pub(crate) fn asked(cores_milli: i64, memory_mb: i64, gpu_milli: i64) -> Amounts {
    [cores_milli, memory_mb, gpu_milli].map(|amount| if amount > 0 { amount } else { i64::MIN })
}

/// One amount of a list of nodes: the most of each block, and how many nodes have how much.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Peak {
    /// A block of nodes has a place in `levels[0]`, a block of those in `levels[1]`, until one block is left.
    levels: Vec<Vec<i64>>,
    counts: AtLeast,
}

impl Peak {
    fn new(count: usize, most: i64, free_at: impl Fn(usize) -> i64) -> Self {
        let blocks = |amounts: &[i64]| amounts.chunks(FAN).map(|block| *block.iter().max().unwrap_or(&0)).collect();
        let amounts: Vec<i64> = (0..count).map(free_at).collect();
        let mut levels: Vec<Vec<i64>> = vec![blocks(&amounts)];
        while levels[levels.len() - 1].len() > FAN {
            levels.push(blocks(&levels[levels.len() - 1]));
        }
        Peak { levels, counts: AtLeast::new(most, amounts.into_iter()) }
    }

    /// What is free at a place has changed.
    #[inline]
    fn update(&mut self, place: usize, count: usize, before: i64, now: i64, free_at: impl Fn(usize) -> i64) {
        self.counts.change(before, now);
        let (mut place, mut before, mut now) = (place, before, now);
        for height in 0..self.levels.len() {
            let block = place / FAN;
            let most = self.levels[height][block];
            if now < most {
                // Somebody else may have the most of this block: then nothing changes here or above.
                if before < most {
                    return;
                }
                let first = block * FAN;
                now = match height.checked_sub(1) {
                    None => (first..(first + FAN).min(count)).map(&free_at).fold(i64::MIN, i64::max),
                    Some(below) => self.levels[below][first..].iter().take(FAN).copied().fold(i64::MIN, i64::max),
                };
            }
            if now == most {
                return;
            }
            self.levels[height][block] = now;
            (place, before) = (block, most);
        }
    }
}

/// The most that is free, block by block, of a list of nodes. Places are those in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peaks {
    /// How many nodes there are.
    count: usize,
    /// By amount. A list that is one block has none, and costs nothing.
    peaks: Option<[Peak; 3]>,
}

impl Peaks {
    /// The blocks of so many nodes; no node has more than `most`, or its amount is not tracked.
    pub(crate) fn new(count: usize, most: Amounts, free_at: impl Fn(usize) -> Amounts) -> Self {
        let peak = |one: usize| Peak::new(count, most[one], |place| free_at(place)[one]);
        Peaks { count, peaks: (count > FAN).then(|| [peak(0), peak(1), peak(2)]) }
    }

    /// Whether blocks are kept.
    pub(crate) fn is_indexed(&self) -> bool {
        self.peaks.is_some()
    }

    /// The same list, in which every place is looked at.
    pub(crate) fn unindexed(&self) -> Self {
        Peaks { count: self.count, peaks: None }
    }

    /// What is free at a place has changed from `before`.
    #[inline]
    pub(crate) fn update(&mut self, place: usize, before: Amounts, now: Amounts, free_at: impl Fn(usize) -> Amounts) {
        let Some(peaks) = &mut self.peaks else { return };
        for (one, peak) in peaks.iter_mut().enumerate() {
            if before[one] != now[one] {
                peak.update(place, self.count, before[one], now[one], |place| free_at(place)[one]);
            }
        }
    }

    /// Whether so many tasks that ask for these amounts could have room: if not, they have none.
    #[inline]
    pub(crate) fn may_hold(&self, asked: &Amounts, tasks: u32) -> bool {
        let Some(peaks) = &self.peaks else { return true };
        peaks.iter().zip(asked).all(|(peak, &asked)| asked <= 0 || peak.counts.may_hold(asked, tasks))
    }

    /// The first place, not before `from`, for which there is an answer. Places are asked about only in blocks in which each of
    /// the amounts is free somewhere.
    #[inline]
    pub(crate) fn next<T>(
        &self,
        from: usize,
        asked: &Amounts,
        answer: impl Fn(usize) -> Option<T>,
    ) -> Option<(usize, T)> {
        let first_in = |range: std::ops::Range<usize>| {
            range.into_iter().find_map(|place| answer(place).map(|answer| (place, answer)))
        };
        let Some([cores, memory, gpus]) = &self.peaks else { return first_in(from..self.count) };
        let (mut height, mut at) = (0, from);
        loop {
            let count = if height == 0 { self.count } else { cores.levels[height - 1].len() };
            let end = ((at / FAN + 1) * FAN).min(count);
            if height == 0 {
                if let Some(found) = first_in(at..end) {
                    return Some(found);
                }
            } else {
                let covers = |block: &usize| {
                    cores.levels[height - 1][*block] >= asked[0]
                        && memory.levels[height - 1][*block] >= asked[1]
                        && gpus.levels[height - 1][*block] >= asked[2]
                };
                if let Some(block) = (at..end).find(covers) {
                    (height, at) = (height - 1, block * FAN);
                    continue;
                }
            }
            // Nothing in the rest of this block: one level up, from the next block on.
            if height == cores.levels.len() {
                return None;
            }
            (height, at) = (height + 1, at / FAN + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::SplitMix64;

    #[test]
    fn finds_what_a_scan_finds() {
        for seed in 0..60 {
            let mut random = SplitMix64::for_job(seed, 1);
            let mut below = |n: i64| (random.next_u64() % n as u64) as i64;
            let count = 1 + below(700) as usize;
            let most = [1 + below(40), 1 + below(1000), below(5)];
            let mut free: Vec<Amounts> = (0..count).map(|_| most.map(|most| below(most + 1))).collect();
            let mut peaks = Peaks::new(count, most, |place| free[place]);
            for _ in 0..200 {
                let place = below(count as i64) as usize;
                let before = std::mem::replace(&mut free[place], most.map(|most| below(most + 1) / (1 + below(4))));
                peaks.update(place, before, free[place], |place| free[place]);
                let wanted = asked(below(most[0] + 1), below(most[1] + 1), below(most[2] + 1));
                let has_room = |place: usize| (0..3).all(|one| free[place][one] >= wanted[one]).then_some(place);
                let from = below(count as i64 + 1) as usize;
                let found = peaks.next(from, &wanted, has_room);
                assert_eq!(found.map(|(place, _)| place), (from..count).find_map(has_room));
            }
            assert_eq!(peaks, Peaks::new(count, most, |place| free[place]));
        }
    }
}
