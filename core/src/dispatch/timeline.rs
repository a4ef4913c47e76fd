//! What is free on one node from instant to instant.

use crate::dispatch::timelines::Stretch;
use crate::model::peaks::Amounts;

/// Milli-cores, memory and milli-GPUs; then the milli-GPUs of each device.
const COLUMNS: usize = 3;

/// So many entries are looked through before all others.
const NEAR: usize = 8;

/// So many entries of the past are kept before they are taken out together.
const MOST_PAST: usize = 3;

/// What is free on a node over time: entries in the order of time, each of which holds until the next. The last holds for
/// ever, and the first from the beginning on.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    instants: Vec<i64>,
    /// By amount, that of each entry: most searches look at one alone. A node without GPUs has the first two.
    columns: Vec<Vec<i64>>,
}

/// The starts that are asked about, and what each has to find free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Starts {
    /// The earliest start.
    pub(super) from_ms: i64,
    /// All starts are before this.
    pub(super) before_ms: i64,
    /// How long the job holds the node.
    pub(super) span_ms: i64,
    /// What a task asks for: less of it at any instant, and there is no room.
    pub(super) asked: Amounts,
    /// From when on the job itself holds something of the node by its reservation, longer than any of its spans last, and how
    /// many milli-cores and how much memory: that is free for it.
    pub(super) own: (i64, [i64; 2]),
}

/// No start of a job that holds nothing.
pub(super) const NOTHING_OWN: (i64, [i64; 2]) = (i64::MAX, [0; 2]);

impl Timeline {
    /// A node on which so much is free, and on each device, and nothing ever changes.
    pub(super) fn new(cores_milli: i64, memory_mb: i64, devices: &[i32]) -> Self {
        let milli = || devices.iter().map(|&milli| i64::from(milli));
        let gpus = (!devices.is_empty()).then(|| milli().sum());
        let amounts = [cores_milli, memory_mb].into_iter().chain(gpus).chain(milli());
        Timeline { instants: vec![i64::MIN], columns: amounts.map(|amount| vec![amount]).collect() }
    }

    /// The milli-GPUs of each device among amounts.
    pub(super) fn devices(amounts: &[i64]) -> &[i64] {
        amounts.get(COLUMNS..).unwrap_or(&[])
    }

    /// The entry that holds at an instant.
    fn entry_at(&self, instant_ms: i64) -> usize {
        // Mostly it is one of the first: instants that are asked about are near.
        let near = self.instants.len().min(NEAR);
        let far = self.instants[near - 1] <= instant_ms;
        let (from, to) = if far { (near, self.instants.len()) } else { (0, near) };
        (from + self.instants[from..to].partition_point(|&other| other <= instant_ms)).max(1) - 1
    }

    /// From one instant until before another more or less is free: so many milli-cores and so much memory, and so many
    /// milli-GPUs on each of these devices. `note` is told what each entry has of the first columns, before and now.
    pub(super) fn change(
        &mut self,
        Stretch { from_ms, until_ms }: Stretch,
        amounts: [i64; 2],
        devices: impl Iterator<Item = (usize, i64)>,
        mut note: impl FnMut(usize, Stretch, i64, i64),
    ) {
        let first = self.cut(from_ms);
        let last = if until_ms == i64::MAX { self.instants.len() } else { self.cut(until_ms) };
        let mut add = |column: usize, amount: i64| {
            if amount != 0 {
                self.columns[column][first..last].iter_mut().for_each(|free| *free += amount);
            }
        };
        amounts.iter().enumerate().for_each(|(column, &amount)| add(column, amount));
        let mut gpu_milli = 0;
        for (device, milli) in devices {
            gpu_milli += milli;
            add(COLUMNS + device, milli);
        }
        add(COLUMNS - 1, gpu_milli);
        for (column, amount) in [amounts[0], amounts[1], gpu_milli].into_iter().enumerate().filter(|one| one.1 != 0) {
            for entry in first..last {
                let now = self.columns[column][entry];
                note(column, self.stretch(entry), now - amount, now);
            }
        }
        // Only at the two ends can entries have become alike that were not.
        self.join(last);
        self.join(first);
    }

    /// When an entry holds.
    fn stretch(&self, entry: usize) -> Stretch {
        Stretch { from_ms: self.instants[entry], until_ms: self.instants.get(entry + 1).copied().unwrap_or(i64::MAX) }
    }

    /// What is free of one amount, from entry to entry.
    pub(super) fn amounts(&self, column: usize) -> impl Iterator<Item = (Stretch, i64)> + '_ {
        let column = self.columns.get(column);
        (0..self.instants.len()).map(move |entry| (self.stretch(entry), column.map_or(0, |column| column[entry])))
    }

    /// The entry that begins at an instant; it is made if there is none.
    fn cut(&mut self, instant_ms: i64) -> usize {
        let before = self.entry_at(instant_ms);
        if self.instants[before] == instant_ms {
            return before;
        }
        self.instants.insert(before + 1, instant_ms);
        self.columns.iter_mut().for_each(|column| column.insert(before + 1, column[before]));
        before + 1
    }

    /// Takes out an entry that says the same as the one before it.
    fn join(&mut self, entry: usize) {
        let is_like = |column: &Vec<i64>| column[entry] == column[entry - 1];
        if entry > 0 && entry < self.instants.len() && self.columns.iter().all(is_like) {
            self.instants.remove(entry);
            self.columns.iter_mut().for_each(|column| {
                column.remove(entry);
            });
        }
    }

    /// Nobody will ask about the time before this instant.
    pub(super) fn forget_before(&mut self, instant_ms: i64) {
        let past = self.entry_at(instant_ms);
        if past > MOST_PAST {
            self.instants.drain(..past);
            self.columns.iter_mut().for_each(|column| {
                column.drain(..past);
            });
        }
    }

    /// The least of each amount from an instant on, and until before another if that is later, is left in `least`.
    pub(super) fn least_in(&self, from_ms: i64, until_ms: i64, least: &mut Vec<i64>) {
        let first = self.entry_at(from_ms);
        let end = self.instants.partition_point(|&instant_ms| instant_ms < until_ms).max(first + 1);
        self.least_of(first..end, least);
    }

    fn least_of(&self, entries: std::ops::Range<usize>, least: &mut Vec<i64>) {
        least.clear();
        let of = |column: &Vec<i64>| column[entries.clone()].iter().copied().fold(i64::MAX, i64::min);
        least.extend(self.columns.iter().map(of));
    }

    /// Whether an entry has less than is asked for.
    #[inline]
    fn lacks(&self, entry: usize, asked: &Amounts, own: &[i64; 2]) -> bool {
        self.columns[0][entry] + own[0] < asked[0]
            || self.columns[1][entry].saturating_add(own[1]) < asked[1]
            || asked[2] > 0 && self.columns[2][entry] < asked[2]
    }

    /// Goes through the starts for which no instant has less than is asked for: from one on, and until before another, each
    /// finds the same least amounts throughout its span. `visit` is told these; it ends the walk with true.
    pub(super) fn visit_starts(
        &self,
        starts: &Starts,
        least: &mut Vec<i64>,
        mut visit: impl FnMut(i64, i64, &[i64]) -> bool,
    ) {
        let Starts { from_ms, before_ms, span_ms, asked, own: (own_ms, own) } = starts;
        if from_ms >= before_ms || asked[2] > 0 && self.columns.len() < COLUMNS {
            return;
        }
        let instants = &self.instants[..];
        let (mut start_ms, mut first) = (*from_ms, self.entry_at(*from_ms));
        // Up to here no entry lacks anything.
        let mut next = first;
        while start_ms < *before_ms {
            next = next.max(first);
            while next < instants.len() && (next == first || instants[next] < start_ms + span_ms) {
                // What is taken by the job itself is not in its way.
                let own = if instants[next] < *own_ms { &[0; 2] } else { own };
                if self.lacks(next, asked, own) {
                    // No start up to the end of this entry will do.
                    let Some(&behind_ms) = instants.get(next + 1) else { return };
                    (start_ms, first) = (behind_ms, next + 1);
                    if start_ms >= *before_ms {
                        return;
                    }
                }
                next += 1;
            }
            let others = if instants[next - 1] < *own_ms {
                next
            } else {
                // No start is as late as what the job itself takes: that lies behind the first entry.
                first + instants[first..next].partition_point(|instant_ms| instant_ms < own_ms)
            };
            self.least_of(first..others, least);
            for (column, own) in own.iter().enumerate() {
                let behind = self.columns[column][others..next].iter().copied().min();
                least[column] = behind.map_or(least[column], |behind| least[column].min(behind.saturating_add(*own)));
            }
            // The least changes when the first entry is over, or the next one begins within the span.
            let over_ms = instants.get(first + 1).copied().unwrap_or(i64::MAX);
            let enters_ms = instants.get(next).map_or(i64::MAX, |&instant_ms| instant_ms - span_ms + 1);
            let until_ms = over_ms.min(enters_ms).min(*before_ms);
            if visit(start_ms, until_ms, least) {
                return;
            }
            start_ms = until_ms;
            first += usize::from(over_ms <= start_ms);
        }
    }
}
