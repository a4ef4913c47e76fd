//! How many nodes of a group have how much of one amount free, from instant to instant: says at a glance when a job cannot
//! have room, whatever is free on each node.

use crate::dispatch::timelines::Stretch;

/// Into how many steps the most that a node can have is cut.
const LEVELS: usize = 32;

/// So many rows that say nothing are kept at the least before they are taken out together.
const SLACK: usize = 16;

/// By level, from the first on: how many nodes.
type Counts = [i32; LEVELS];

/// What holds from an instant until the next.
#[derive(Clone, Debug)]
struct Row {
    /// How many more nodes are at each level than in the row before.
    change: Counts,
    /// How many have reached it. That is worked out when it is asked for: a job that comes or goes changes a few rows, not all
    /// behind.
    reached: Counts,
}

/// Free amounts of a group of nodes, counted by level.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    /// How much more each level is, and how many levels one of an amount is.
    step: i64,
    per_one: f64,
    /// The most that any node can have.
    most: i64,
    /// How many nodes there are.
    count: i64,
    /// In the order of time; the first row holds from the beginning on.
    instants: Vec<i64>,
    /// By row, its place in `rows`: rows come and go, and are not moved for it.
    places: Vec<u32>,
    rows: Vec<Row>,
    spare: Vec<u32>,
    /// In so many rows `reached` is worked out.
    known: usize,
    /// With so many rows it is time to tidy up.
    tidied: usize,
    /// Where the last stretch began and ended: mostly many nodes change at once.
    hints: [usize; 2],
}

/// What is asked about, in terms of levels.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    /// On a node that has reached this level there may be room for so many tasks more than on one that has not.
    weights: [(u8, i64); LEVELS],
    length: usize,
    /// For how many tasks there must be such room, beside those that small nodes may have room for.
    tasks: i64,
}

impl Levels {
    /// So many nodes, none of which can ever have more than `most`. They have nothing yet.
    pub(super) fn new(count: usize, most: i64) -> Self {
        let step = ((most + LEVELS as i64 - 1) / LEVELS as i64).max(1);
        Levels {
            step,
            per_one: 1.0 / step as f64,
            most,
            count: count as i64,
            instants: vec![i64::MIN],
            places: vec![0],
            rows: vec![Row { change: [0; LEVELS], reached: [0; LEVELS] }],
            spare: Vec::new(),
            known: 0,
            tidied: SLACK,
            hints: [0; 2],
        }
    }

    /// The level of an amount. Where it is not exact it is too high by one: then there may seem to be room where there is none.
    #[inline]
    fn level(&self, amount: i64) -> usize {
        const MORE_THAN_ROUNDING: f64 = 1e-9;
        ((amount as f64 * self.per_one + MORE_THAN_ROUNDING) as usize).min(LEVELS)
    }

    /// Throughout a stretch a node has `now` instead of `before`.
    #[inline]
    pub(super) fn change(&mut self, stretch: Stretch, before: i64, now: i64) {
        let (before, now) = (self.level(before), self.level(now));
        if before == now {
            return;
        }
        self.move_node(0, stretch.from_ms, before, now);
        if stretch.until_ms < i64::MAX {
            self.move_node(1, stretch.until_ms, now, before);
        }
    }

    /// From an instant on, a node is at another level.
    fn move_node(&mut self, end: usize, instant_ms: i64, before: usize, now: usize) {
        let mut row = self.hints[end];
        if self.instants.get(row) != Some(&instant_ms) {
            row = self.cut(instant_ms);
            self.hints[end] = row;
        }
        self.known = self.known.min(row);
        let change = &mut self.rows[self.places[row] as usize].change;
        // Nodes that have reached no level are not counted.
        if before > 0 {
            change[before - 1] -= 1;
        }
        if now > 0 {
            change[now - 1] += 1;
        }
    }

    /// The row that begins at an instant; it is made if there is none.
    fn cut(&mut self, instant_ms: i64) -> usize {
        let row = self.instants.partition_point(|&other| other < instant_ms);
        if self.instants.get(row) == Some(&instant_ms) {
            return row;
        }
        let place = self.spare.pop().unwrap_or(self.rows.len() as u32);
        if place as usize == self.rows.len() {
            self.rows.push(Row { change: [0; LEVELS], reached: [0; LEVELS] });
        }
        self.instants.insert(row, instant_ms);
        self.places.insert(row, place);
        row
    }

    /// Nobody will ask about the time before this instant. What is over, and what changes nothing any more, is taken out once
    /// it has become much.
    pub(super) fn forget_before(&mut self, instant_ms: i64) {
        if self.instants.len() < self.tidied {
            return;
        }
        let past = self.row_at(instant_ms);
        let mut sum = [0; LEVELS];
        let mut kept = 0;
        for row in 0..self.instants.len() {
            let change = &mut self.rows[self.places[row] as usize].change;
            if row <= past {
                sum.iter_mut().zip(&*change).for_each(|(sum, change)| *sum += change);
            }
            if row == past {
                *change = sum;
            }
            if row < past || row > past && *change == [0; LEVELS] {
                *change = [0; LEVELS];
                self.spare.push(self.places[row]);
                continue;
            }
            (self.instants[kept], self.places[kept]) = (self.instants[row], self.places[row]);
            kept += 1;
        }
        self.instants.truncate(kept);
        self.places.truncate(kept);
        self.instants[0] = i64::MIN;
        self.known = 0;
        self.tidied = kept + kept / 4 + SLACK;
    }

    /// The row that holds at an instant.
    fn row_at(&self, instant_ms: i64) -> usize {
        self.instants.partition_point(|&other| other <= instant_ms).max(1) - 1
    }

    /// What tasks that ask for so much each, more than nothing, come to.
    pub(super) fn terms(&self, asked: i64, tasks: u32) -> Terms {
        let mut terms = Terms { weights: [(0, 0); LEVELS], length: 0, tasks: i64::from(tasks) };
        // For its first task a node must have `asked`, for its second twice as much, and so on. Those that fall into one step
        // are counted together.
        let on_a_node = self.most / asked;
        let mut counted = 0;
        while counted < on_a_node {
            let level = (counted + 1) * asked / self.step;
            let within = match asked < self.step {
                true => (((level + 1) * self.step - 1) / asked).min(on_a_node),
                false => counted + 1,
            };
            match level {
                0 => terms.tasks -= self.count * (within - counted),
                _ => {
                    terms.weights[terms.length] = (level as u8 - 1, within - counted);
                    terms.length += 1;
                }
            }
            counted = within;
        }
        terms
    }

    /// The first starts, among those within a stretch, for which at no instant of the span it can be seen that there is too
    /// little. From `own_ms` on the job itself holds what it needs, longer than any of these spans last.
    pub(super) fn next_starts(&mut self, terms: &Terms, within: Stretch, span_ms: i64, own_ms: i64) -> Option<Stretch> {
        let mut first_ms = within.from_ms;
        for row in self.row_at(first_ms).. {
            let begins_ms = self.instants[row].max(first_ms);
            if begins_ms >= own_ms {
                return Some(Stretch { from_ms: first_ms, ..within });
            }
            let ends_ms = self.instants.get(row + 1).copied().unwrap_or(i64::MAX);
            self.know(row);
            if self.may_hold(terms, row) {
                if ends_ms == i64::MAX || ends_ms - span_ms >= within.until_ms - 1 {
                    return Some(Stretch { from_ms: first_ms, ..within });
                }
                continue;
            }
            let until_ms = begins_ms - span_ms + 1;
            if first_ms < until_ms {
                return Some(Stretch { from_ms: first_ms, until_ms });
            }
            first_ms = ends_ms;
            if first_ms >= within.until_ms {
                return None;
            }
        }
        None
    }

    /// Works out how many nodes have reached each level, up to a row.
    fn know(&mut self, row: usize) {
        while self.known <= row {
            let before = match self.known {
                0 => [0; LEVELS],
                row => self.rows[self.places[row - 1] as usize].reached,
            };
            let Row { change, reached } = &mut self.rows[self.places[self.known] as usize];
            let mut more = 0;
            for level in (0..LEVELS).rev() {
                more += change[level];
                reached[level] = before[level] + more;
            }
            self.known += 1;
        }
    }

    /// Whether there may be room for all tasks.
    #[inline]
    fn may_hold(&self, terms: &Terms, row: usize) -> bool {
        let reached = &self.rows[self.places[row] as usize].reached;
        let mut missing = terms.tasks;
        terms.weights[..terms.length].iter().any(|&(level, tasks)| {
            missing -= tasks * i64::from(reached[level as usize]);
            missing <= 0
        }) || missing <= 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::SplitMix64;

    const LONG: i64 = 50;

    #[test]
    fn leaves_out_no_start_that_would_do() {
        for seed in 0..300 {
            let mut random = SplitMix64::for_job(seed, 5);
            let mut below = |n: i64| (random.next_u64() % n as u64) as i64;
            let (count, most) = (1 + below(6) as usize, 1 + below([20, 64, 1000][seed as usize % 3]));
            let mut free = vec![vec![most; LONG as usize]; count];
            let mut levels = Levels::new(count, most);
            (0..count).for_each(|_| levels.change(Stretch { from_ms: i64::MIN, until_ms: i64::MAX }, 0, most));
            for round in 0..40 {
                let node = below(count as i64) as usize;
                let from_ms = below(LONG);
                let until_ms = if below(4) == 0 { LONG } else { from_ms + 1 + below(LONG - from_ms) };
                let now = below(most + 1);
                for at in from_ms..until_ms {
                    let before = std::mem::replace(&mut free[node][at as usize], now);
                    let until_ms = if at + 1 == LONG { i64::MAX } else { at + 1 };
                    levels.change(Stretch { from_ms: at, until_ms }, before, now);
                }
                if round % 8 == 7 {
                    levels.forget_before(0);
                }
                let (asked, tasks, span_ms) = (1 + below(most), 1 + below(8), 1 + below(LONG / 2));
                let at = |instant: i64, node: usize| free[node][instant.min(LONG - 1) as usize];
                let room = |instant: i64| (0..count).map(|node| at(instant, node) / asked).sum::<i64>();
                let own_ms = if below(2) == 0 { LONG + below(9) } else { 10 + below(LONG - 10) };
                let may_start = |start: i64| (start..start + span_ms).all(|one| one >= own_ms || room(one) >= tasks);
                let within = Stretch { from_ms: below(10), until_ms: own_ms };
                let terms = levels.terms(asked, tasks as u32);
                let (mut told, mut rest) = (Vec::new(), within);
                while rest.from_ms < rest.until_ms {
                    let Some(starts) = levels.next_starts(&terms, rest, span_ms, own_ms) else { break };
                    assert!(rest.from_ms <= starts.from_ms && starts.from_ms < starts.until_ms, "seed {seed}");
                    told.extend(starts.from_ms..starts.until_ms);
                    rest.from_ms = starts.until_ms;
                }
                for start in within.from_ms..within.until_ms {
                    let is_told = told.contains(&start);
                    assert!(is_told || !may_start(start), "seed {seed}, start {start}");
                    // Where each level is one, it is known exactly.
                    assert!(most > 32 || is_told == may_start(start), "seed {seed}, start {start}");
                }
            }
        }
    }
}
