//! What is free on a few nodes from instant to instant.

use std::ops::Range;

use crate::dispatch::timelines::Stretch;

/// So many nodes are looked at together: a job that takes many nodes takes them for the same time.
pub(super) const WIDTH: usize = 16;

/// So many rows of the past are kept before they are taken out together.
const MOST_PAST: usize = 3;

/// What is free on some nodes over time: rows in the order of time, each of which holds until the next. The last holds for
/// ever, and the first from the beginning on.
///
/// A row has the milli-cores of each node, then the memory of each where jobs ask for memory, then the milli-GPUs of each
/// device. What a part of these is called a lane.
#[derive(Clone, Debug)]
pub(super) struct Block {
    instants: Vec<i64>,
    /// By row, its place in `amounts`: rows come and go, and are not moved for it.
    places: Vec<u32>,
    amounts: Vec<i64>,
    spare: Vec<u32>,
    /// How many lanes a row has.
    lanes: usize,
}

/// What is asked of starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms<'a> {
    /// How long the job holds its nodes.
    pub(super) span_ms: i64,
    /// Only the first lanes are asked about.
    pub(super) lanes: usize,
    /// Of the very first, the milli-cores of nodes, a task needs so much.
    pub(super) width: usize,
    pub(super) asked: i64,
    /// From when on the job itself holds something by its reservation, longer than any of its spans last, and how much of each
    /// lane: that is free for it.
    pub(super) own: Option<(i64, &'a [i64])>,
}

/// How far a walk through starts has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    /// The next start.
    pub(super) start_ms: i64,
    /// The row that holds then, and the first one behind its span that was seen.
    first: usize,
    next: usize,
}

impl Block {
    /// So much is free of each lane, and nothing ever changes.
    pub(super) fn new(amounts: Vec<i64>) -> Self {
        let lanes = amounts.len();
        Block { instants: vec![i64::MIN], places: vec![0], amounts, spare: Vec::new(), lanes }
    }

    fn row(&self, row: usize) -> &[i64] {
        &self.amounts[self.places[row] as usize * self.lanes..][..self.lanes]
    }

    /// The row that holds at an instant.
    fn row_at(&self, instant_ms: i64) -> usize {
        self.instants.partition_point(|&other| other <= instant_ms).max(1) - 1
    }

    /// When a row is over.
    fn end_of(&self, row: usize) -> i64 {
        self.instants.get(row + 1).copied().unwrap_or(i64::MAX)
    }

    /// From one instant until before another more or less is free of some lanes.
    pub(super) fn change(
        &mut self,
        stretch: Stretch,
        changes: &[(usize, i64)],
        mut note: impl FnMut(&Self, Range<usize>),
    ) {
        let first = self.cut(stretch.from_ms);
        let last = if stretch.until_ms == i64::MAX { self.instants.len() } else { self.cut(stretch.until_ms) };
        for &place in &self.places[first..last] {
            let row = &mut self.amounts[place as usize * self.lanes..][..self.lanes];
            changes.iter().for_each(|&(lane, amount)| row[lane] += amount);
        }
        note(self, first..last);
        // Only at the two ends can rows have become alike that were not.
        self.join(last);
        self.join(first);
    }

    /// How much is free of some lanes together, with those rows taken together that say the same.
    #[inline]
    pub(super) fn visit_sums(&self, lanes: Range<usize>, rows: Range<usize>, mut visit: impl FnMut(Stretch, i64)) {
        let sum = |row: usize| match &self.row(row)[lanes.clone()] {
            [one] => *one,
            all => all.iter().sum(),
        };
        let (mut from_ms, mut amount) = (self.instants[rows.start], sum(rows.start));
        for row in rows.start + 1..rows.end {
            let here = sum(row);
            if here != amount {
                visit(Stretch { from_ms, until_ms: self.instants[row] }, amount);
                (from_ms, amount) = (self.instants[row], here);
            }
        }
        visit(Stretch { from_ms, until_ms: self.end_of(rows.end - 1) }, amount);
    }

    /// How many lanes a row has.
    pub(super) fn lanes(&self) -> usize {
        self.lanes
    }

    /// All rows.
    pub(super) fn rows(&self) -> Range<usize> {
        0..self.instants.len()
    }

    /// The row that begins at an instant; it is made if there is none.
    fn cut(&mut self, instant_ms: i64) -> usize {
        let before = self.row_at(instant_ms);
        if self.instants[before] == instant_ms {
            return before;
        }
        let from = self.places[before] as usize * self.lanes;
        let place = self.spare.pop().unwrap_or((self.amounts.len() / self.lanes) as u32);
        let to = place as usize * self.lanes;
        if to == self.amounts.len() {
            self.amounts.extend_from_within(from..from + self.lanes);
        } else {
            self.amounts.copy_within(from..from + self.lanes, to);
        }
        self.instants.insert(before + 1, instant_ms);
        self.places.insert(before + 1, place);
        before + 1
    }

    /// Takes out a row that says the same as the one before it.
    fn join(&mut self, row: usize) {
        if row > 0 && row < self.instants.len() && self.row(row) == self.row(row - 1) {
            self.instants.remove(row);
            self.spare.push(self.places.remove(row));
        }
    }

    /// Nobody will ask about the time before this instant.
    pub(super) fn forget_before(&mut self, instant_ms: i64) {
        let past = self.row_at(instant_ms);
        if past > MOST_PAST {
            self.instants.drain(..past);
            self.spare.extend(self.places.drain(..past));
        }
    }

    /// The least of each lane from an instant on, and until before another if that is later, is left in `least`. Only the first
    /// lanes are asked about, as many as it has room for.
    pub(super) fn least_in(&self, from_ms: i64, until_ms: i64, least: &mut [i64]) {
        let first = self.row_at(from_ms);
        let end = self.instants.partition_point(|&instant_ms| instant_ms < until_ms).max(first + 1);
        least.copy_from_slice(&self.row(first)[..least.len()]);
        (first + 1..end).for_each(|row| self.lower_to(row, least, None));
    }

    /// The same, and whether any of the first lanes has so much throughout. If not, what is left there does not say how much.
    pub(super) fn has_room_in(
        &self,
        (from_ms, until_ms): (i64, i64),
        width: usize,
        asked: i64,
        least: &mut [i64],
    ) -> bool {
        let first = self.row_at(from_ms);
        let end = self.instants.partition_point(|&instant_ms| instant_ms < until_ms).max(first + 1);
        self.first_full(first..end, asked, width, least, None).is_none()
    }

    /// Lowers amounts to those of a row.
    #[inline]
    fn lower_to(&self, row: usize, least: &mut [i64], own: Option<(i64, &[i64])>) {
        let amounts = &self.row(row)[..least.len()];
        match own {
            // No start is as late as what the job itself takes: that lies behind the first row.
            Some((own_ms, own)) if own_ms <= self.instants[row] => {
                least
                    .iter_mut()
                    .zip(amounts.iter().zip(own))
                    .for_each(|(least, (&here, own))| *least = (*least).min(here + own));
            }
            _ => least.iter_mut().zip(amounts).for_each(|(least, &here)| *least = (*least).min(here)),
        }
    }

    /// The first row by which none of the first lanes has had so much throughout; none: some lane has. Then the least of each lane
    /// is left in `least`.
    #[inline]
    fn first_full(
        &self,
        rows: Range<usize>,
        asked: i64,
        width: usize,
        least: &mut [i64],
        own: Option<(i64, &[i64])>,
    ) -> Option<usize> {
        least.copy_from_slice(&self.row(rows.start)[..least.len()]);
        let is_full = |least: &[i64]| !least[..width].iter().any(|&amount| amount >= asked);
        if is_full(least) {
            return Some(rows.start);
        }
        (rows.start + 1..rows.end).find(|&row| {
            self.lower_to(row, least, own);
            is_full(least)
        })
    }

    /// The last row from which on, up to the last of some rows, none of these lanes has so much throughout. They have not from the first.
    #[inline]
    fn last_full(&self, rows: Range<usize>, asked: i64, least: &mut [i64], own: Option<(i64, &[i64])>) -> usize {
        least.fill(i64::MAX);
        let is_full = |row: &usize| {
            self.lower_to(*row, least, own);
            !least.iter().any(|&amount| amount >= asked)
        };
        rows.rev().find(is_full).unwrap_or_default()
    }

    /// A walk through the starts that are asked about.
    pub(super) fn walk(&self, from_ms: i64) -> Walk {
        let first = self.row_at(from_ms);
        Walk { start_ms: from_ms, first, next: first + 1 }
    }

    /// Moves a walk on to the next starts that find something else. Says whether any of the first lanes has throughout the span
    /// of the starts before those what is asked for; then the least of each lane is left in `least`.
    pub(super) fn step(&self, terms: &Terms, walk: &mut Walk, least: &mut Vec<i64>) -> bool {
        let Terms { span_ms, lanes, width, asked, own } = *terms;
        let Walk { start_ms, first, next } = walk;
        least.resize(lanes, 0);
        while *next < self.instants.len() && self.instants[*next] < *start_ms + span_ms {
            *next += 1;
        }
        let full = self.first_full(*first..*next, asked, width, least, own);
        *start_ms = match full {
            // Whatever starts before the end of the row that is told finds those rows, too.
            Some(full) => self.end_of(self.last_full(*first..full + 1, asked, &mut least[..width], own)),
            None => {
                // The least changes when the first row is over, or the next one begins within the span.
                let enters_ms = self.instants.get(*next).map_or(i64::MAX, |&instant_ms| instant_ms - span_ms + 1);
                self.end_of(*first).min(enters_ms)
            }
        };
        while self.end_of(*first) <= *start_ms && *first + 1 < self.instants.len() {
            *first += 1;
        }
        *next = (*next).max(*first + 1);
        full.is_none()
    }

    /// The first start within a stretch at which the first lane has throughout what is asked for.
    pub(super) fn first_with(&self, terms: &Terms, within: Stretch) -> Option<i64> {
        let mut start_ms = within.from_ms;
        for row in self.row_at(start_ms)..self.instants.len() {
            if self.instants[row].saturating_sub(terms.span_ms) >= start_ms {
                break;
            }
            let own = terms.own.filter(|own| own.0 <= self.instants[row]).map_or(0, |(_, own)| own[0]);
            if self.row(row)[0] + own < terms.asked {
                // No start up to the end of this row will do.
                start_ms = self.end_of(row);
                if start_ms >= within.until_ms {
                    return None;
                }
            }
        }
        (start_ms < within.until_ms).then_some(start_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::random::SplitMix64;

    /// How much of each lane is free at each of some instants, one by one.
    type Plain = Vec<Vec<i64>>;

    const WIDE: usize = 4;
    const LONG: i64 = 60;

    fn least(plain: &Plain, from: i64, until: i64) -> Vec<i64> {
        (0..WIDE)
            .map(|lane| (from..until.max(from + 1)).map(|at| plain[at as usize][lane]).min().unwrap_or(0))
            .collect()
    }

    #[test]
    fn says_what_a_look_at_every_instant_says() {
        for seed in 0..200 {
            let mut random = SplitMix64::for_job(seed, 3);
            let mut below = |n: i64| (random.next_u64() % n as u64) as i64;
            let mut block = Block::new(vec![9; WIDE]);
            let mut plain: Plain = vec![vec![9; WIDE]; 2 * LONG as usize];
            for round in 0..30 {
                let from_ms = below(LONG);
                let stretch = Stretch { from_ms, until_ms: from_ms + 1 + below(LONG - from_ms) };
                let changes: Vec<(usize, i64)> = (0..WIDE).map(|lane| (lane, below(5) - 2)).collect();
                block.change(stretch, &changes, |_, _| {});
                for at in stretch.from_ms..stretch.until_ms {
                    changes.iter().for_each(|&(lane, amount)| plain[at as usize][lane] += amount);
                }
                if round % 10 == 9 {
                    block.forget_before(0);
                }
                let own = vec![below(3); WIDE];
                let (from_ms, own_ms, span_ms) = (below(LONG / 2), LONG / 2 + below(LONG / 2), 1 + below(LONG / 2));
                let mut seen = with_own(&plain, own_ms, &own);
                let within = Stretch { from_ms, until_ms: from_ms + 1 + below(own_ms - from_ms) };
                let terms = Terms { span_ms, lanes: WIDE, width: WIDE, asked: 9, own: Some((own_ms, &own)) };
                let mut found: Vec<Option<Vec<i64>>> = vec![None; LONG as usize];
                let mut walk = block.walk(from_ms);
                while walk.start_ms < within.until_ms {
                    let (from, mut row) = (walk.start_ms, Vec::new());
                    if block.step(&terms, &mut walk, &mut row) {
                        (from..walk.start_ms.min(LONG)).for_each(|at| found[at as usize] = Some(row.clone()));
                    }
                }
                for at in from_ms..within.until_ms {
                    let expected = least(&seen, at, at + span_ms);
                    let has_room = expected.iter().any(|&amount| amount >= 9);
                    assert_eq!(found[at as usize], has_room.then_some(expected), "seed {seed}, start {at}");
                }
                seen.iter_mut().for_each(|row| row.truncate(1));
                let fits = |at: &i64| (*at..at + span_ms).all(|within| seen[within as usize][0] >= 9);
                assert_eq!(block.first_with(&terms, within), (from_ms..within.until_ms).find(fits), "seed {seed}");
            }
        }
    }

    fn with_own(plain: &Plain, own_ms: i64, own: &[i64]) -> Plain {
        let mut seen = plain.clone();
        for row in &mut seen[own_ms as usize..] {
            row.iter_mut().zip(own).for_each(|(amount, own)| *amount += own);
        }
        seen
    }
}
