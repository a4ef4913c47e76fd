//! What a job leaves of each node that is to have room at a time to come: says in a few steps that another would be in its way.

use crate::model::at_least::AtLeast;
use crate::model::cluster::UNTRACKED;
use crate::model::peaks::Amounts;

/// By node, how many milli-cores and how much memory others may take from now on without a task of the job losing its room.
#[derive(Clone, Debug)]
pub(crate) struct Leftover {
    nodes: Vec<[i64; 2]>,
    counts: [AtLeast; 2],
    /// The most that any node has; what is not tracked has no end.
    most: [i64; 2],
    /// How many of the tasks for which there is room may lose it.
    spare: i64,
}

impl Leftover {
    /// So much is left on each node, which has so much when nobody is there.
    pub(crate) fn new(nodes: Vec<[i64; 2]>, whole: impl Iterator<Item = [i64; 2]> + Clone) -> Self {
        let most = [0, 1].map(|one| whole.clone().map(|node| node[one]).max().unwrap_or(0));
        let counts = [0, 1].map(|one| {
            let tracked = whole.clone().map(|node| node[one]).filter(|&amount| amount != UNTRACKED);
            AtLeast::new(tracked.max().unwrap_or(0), nodes.iter().map(|node| node[one]))
        });
        Leftover { nodes, counts, most, spare: 0 }
    }

    /// So much is left on a node.
    pub(crate) fn set(&mut self, node: u32, left: [i64; 2]) {
        let before = std::mem::replace(&mut self.nodes[node as usize], left);
        for (one, counts) in self.counts.iter_mut().enumerate() {
            counts.change(before[one], left[one]);
        }
    }

    /// So many of the tasks for which there is room may lose it.
    pub(crate) fn set_spare(&mut self, spare: u64) {
        self.spare = i64::try_from(spare).unwrap_or(i64::MAX);
    }

    /// Whether so many tasks that ask for these amounts could be put somewhere without being in the way: if not, they are
    /// wherever they are put.
    #[inline]
    pub(crate) fn may_hold(&self, asked: &Amounts, tasks: u32) -> bool {
        // On a node where a task of the job may lose its room, others can be as many as a whole node holds.
        let on_a_node = || (0..2).filter(|&one| asked[one] > 0).map(|one| self.most[one] / asked[one]).min();
        let in_the_way = match self.spare {
            0 => 0,
            spare => on_a_node().unwrap_or(i64::MAX).saturating_mul(spare),
        };
        let missing = i64::from(tasks).saturating_sub(in_the_way);
        missing <= 0 || (0..2).all(|one| asked[one] <= 0 || self.counts[one].may_hold(asked[one], missing as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::peaks::asked;
    use crate::model::random::SplitMix64;

    #[test]
    fn whoever_is_not_in_the_way_is_never_denied() {
        for seed in 0..200 {
            let mut random = SplitMix64::for_job(seed, 1);
            let mut below = |n: i64| (random.next_u64() % n as u64) as i64;
            let (most, memory_mb) = (1 + below(64), if below(3) == 0 { UNTRACKED } else { 1 + below(5000) });
            let free = |below: &mut dyn FnMut(i64) -> i64| {
                [below(most + 1) * 1000, if memory_mb == UNTRACKED { UNTRACKED } else { below(memory_mb + 1) }]
            };
            let mut left: Vec<[i64; 2]> = (0..30).map(|_| free(&mut below)).collect();
            let mut leftover = Leftover::new(left.clone(), (0..30).map(|_| [most * 1000, memory_mb]));
            for _ in 0..50 {
                let node = below(30) as usize;
                left[node] = free(&mut below);
                leftover.set(node as u32, left[node]);
                let spare = below(4);
                leftover.set_spare(spare as u64);
                let wanted = asked((1 + below(most)) * 1000, below(5000), 0);
                let room = |node: &[i64; 2]| {
                    let by_memory = if wanted[1] > 0 { node[1] / wanted[1] } else { i64::MAX };
                    (node[0] / wanted[0]).min(by_memory)
                };
                let whole = room(&[most * 1000, memory_mb]);
                let tasks = left.iter().map(room).sum::<i64>() + spare * whole;
                assert!(tasks == 0 || leftover.may_hold(&wanted, tasks as u32));
            }
        }
    }
}
