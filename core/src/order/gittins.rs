//! Gittins' index: the most that a job promises to end per second, by what the jobs like it have run for.
//!
//! `docs/policies.md` has the formula. Run times are kept as histograms, of each user, of narrower groups, and of all.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::model::config::{Config, Policy};
use crate::model::job::{Jobs, MAX_DURATION_MS};
use crate::order::learner::{ended_before, group_keys};
use crate::order::scores::seconds;
use crate::sim::bytes::{Reader, Writer};

/// The groups that a job belongs to, the widest first: all jobs, and those of `group_keys`.
type Chain = [u32; 4];

/// Of all jobs.
const EVERYBODY: u32 = 0;

/// More bins than these say nothing new, and cost time.
const MOST_BINS: f64 = 64.0;

/// How run times are counted, and how far a group is believed.
#[derive(Clone, Debug)]
pub(crate) struct Bins {
    /// Where each bin ends; the last one has all that is longer, too.
    ends_ms: Vec<i64>,
    widths_s: Vec<f64>,
    /// What a group's counts are multiplied with when a job is added; those of all jobs do not fade as fast.
    decay: f64,
    common_decay: f64,
    /// As how many jobs the next wider group counts.
    shrinkage: f64,
}

impl Bins {
    /// From parameters: how many, where the first ends in seconds, by what factor they grow, two decays, the shrinkage.
    pub(crate) fn new(parameters: &[f64]) -> Result<Self, String> {
        let &[bins, shortest_s, growth, decay, common_decay, shrinkage] = parameters else {
            return Err(format!("gittins has {} parameters; expected 6", parameters.len()));
        };
        if !(2.0..=MOST_BINS).contains(&bins) || bins.fract() != 0.0 {
            return Err(format!("bins is {bins}; expected a whole number from 2 to {MOST_BINS}"));
        }
        if !(0.001..=1e9).contains(&shortest_s) || !(1.1..=1e9).contains(&growth) {
            return Err(format!("shortest_s is {shortest_s} and growth {growth}; expected 0.001 and 1.1, or more"));
        }
        if let Some(decay) = [decay, common_decay].iter().find(|decay| !(0.0..=1.0).contains(*decay)) {
            return Err(format!("a decay of gittins is {decay}; expected 0 to 1"));
        }
        if !(1e-6..=1e9).contains(&shrinkage) {
            return Err(format!("shrinkage is {shrinkage}; expected 0.000001 to 1e9"));
        }
        let mut ends_ms: Vec<i64> = Vec::new();
        let mut end_s = shortest_s;
        for _ in 0..bins as usize {
            // Bins of no length would say nothing, and one beyond all run times is never reached.
            let least_ms = ends_ms.last().map_or(1, |&last_ms| last_ms + 1);
            ends_ms.push(((end_s * 1000.0).min(1e15).round() as i64).max(least_ms));
            end_s *= growth;
        }
        if ends_ms.last().is_some_and(|&last_ms| last_ms > MAX_DURATION_MS) {
            return Err(format!(
                "{bins} bins from {shortest_s} s, each {growth} times the last, are longer than any job"
            ));
        }
        let starts_ms = std::iter::once(0).chain(ends_ms.iter().copied());
        let widths_s = starts_ms.zip(&ends_ms).map(|(start_ms, &end_ms)| seconds(end_ms - start_ms)).collect();
        Ok(Bins { ends_ms, widths_s, decay, common_decay, shrinkage })
    }

    fn len(&self) -> usize {
        self.ends_ms.len()
    }

    /// The bin of a run time, or of what a job has attained.
    pub(crate) fn level(&self, run_ms: i64) -> usize {
        self.ends_ms.partition_point(|&end_ms| end_ms <= run_ms).min(self.len() - 1)
    }

    /// Up to where a job is on the same level; none: it never leaves the last.
    pub(crate) fn level_ends_ms(&self, run_ms: i64) -> Option<i64> {
        let level = self.level(run_ms);
        (level + 1 < self.len()).then(|| self.ends_ms[level])
    }

    /// The index of a job on a level whose run time is in each of the bins with these chances.
    ///
    /// Ends are spread evenly over a bin: then a horizon within one is never better than both of its borders.
    fn index(&self, chances: &[f64], level: usize) -> f64 {
        let mut tail = 0.0;
        // By bin: the chance that a job lasts to its end, the last bin's first.
        let mut tails = [0.0; MOST_BINS as usize];
        for bin in (level..self.len()).rev() {
            tails[bin] = tail;
            tail += chances[bin];
        }
        let (mut ends, mut spent, mut best) = (0.0, 0.0, 0.0_f64);
        for bin in level..self.len() {
            spent += self.widths_s[bin] * (tail + tails[bin]) / 2.0;
            ends += chances[bin];
            tail = tails[bin];
            best = best.max(ends / spent);
        }
        best
    }
}

/// How many of a group's jobs ran for how long, those long ago counting less.
#[derive(Clone, Debug)]
struct Histograms {
    bins: usize,
    /// A row a group.
    counts: Vec<f64>,
    totals: Vec<f64>,
}

impl Histograms {
    fn new(bins: usize, groups: usize) -> Self {
        Histograms { bins, counts: vec![0.0; bins * groups], totals: vec![0.0; groups] }
    }

    fn row(&self, group: u32) -> Range<usize> {
        let first = group as usize * self.bins;
        first..first + self.bins
    }

    fn add(&mut self, group: u32, decay: f64, bin: usize) {
        let row = self.row(group);
        self.counts[row.clone()].iter_mut().for_each(|count| *count *= decay);
        self.counts[row.start + bin] += 1.0;
        self.totals[group as usize] = self.totals[group as usize] * decay + 1.0;
    }

    /// The chance of each bin, a group at a time shrunk towards the one before; before any, all bins are alike.
    fn chances(&self, chain: &Chain, shrinkage: f64) -> [f64; MOST_BINS as usize] {
        let mut chances = [1.0 / self.bins as f64; MOST_BINS as usize];
        for &group in chain {
            let total = self.totals[group as usize] + shrinkage;
            for (chance, count) in chances.iter_mut().zip(&self.counts[self.row(group)]) {
                *chance = (count + shrinkage * *chance) / total;
            }
        }
        chances
    }
}

/// What the jobs of a window have in common, and what is known of them when the window begins.
#[derive(Debug)]
pub struct KnownRuns {
    /// For each job, which of the chains is its own.
    chain_of: Vec<u32>,
    chains: Vec<Chain>,
    histograms: Histograms,
}

impl KnownRuns {
    fn new(jobs: &Jobs, window: Range<usize>, bins: &Bins) -> Self {
        let mut numbers: HashMap<(u32, i64, i64), u32> = HashMap::new();
        let mut chain_numbers: HashMap<Chain, u32> = HashMap::new();
        let (mut chain_of, mut chains) = (Vec::with_capacity(window.len()), Vec::new());
        for job in window.clone() {
            // Jobs without a user count as one user's.
            let [user, request, size] = group_keys(jobs, job, jobs.user[job]).map(|key| {
                let next = numbers.len() as u32 + EVERYBODY + 1;
                *numbers.entry(key).or_insert(next)
            });
            let chain = [EVERYBODY, user, request, size];
            chain_of.push(*chain_numbers.entry(chain).or_insert_with(|| {
                chains.push(chain);
                chains.len() as u32 - 1
            }));
        }
        let mut histograms = Histograms::new(bins.len(), numbers.len() + 1);
        for job in ended_before(jobs, &window) {
            let bin = bins.level(jobs.run_ms[job]);
            histograms.add(EVERYBODY, bins.common_decay, bin);
            // Of a job before the window, only the groups matter that the window's jobs belong to.
            for key in group_keys(jobs, job, jobs.user[job]) {
                if let Some(&group) = numbers.get(&key) {
                    histograms.add(group, bins.decay, bin);
                }
            }
        }
        KnownRuns { chain_of, chains, histograms }
    }
}

/// What has been learned of run times, and the indices that follow from it.
#[derive(Clone, Debug)]
pub(crate) struct Gittins {
    bins: Arc<Bins>,
    known: Arc<KnownRuns>,
    histograms: Histograms,
    /// How many jobs have been learned from.
    learned: u32,
    /// By class: an index, and what `learned` was when it was worked out.
    indices: Vec<(u32, f64)>,
}

impl Gittins {
    /// What is known when a window begins; none if the policy does not ask.
    pub(crate) fn new(jobs: &Jobs, window: Range<usize>, config: &Config) -> Result<Option<Self>, String> {
        if config.policy != Policy::Gittins {
            return Ok(None);
        }
        let bins = Arc::new(Bins::new(&config.policy_parameters)?);
        let code = config.policy.code();
        let known = jobs
            .known_runs
            .get(&window, code, &config.policy_parameters, || KnownRuns::new(jobs, window.clone(), &bins));
        let indices = vec![(0, 0.0); known.chains.len() * bins.len()];
        Ok(Some(Gittins { histograms: known.histograms.clone(), bins, known, learned: 1, indices }))
    }

    /// A job (counted from the window's first) has ended after so long a run.
    pub(crate) fn learn(&mut self, job: u32, run_ms: i64) {
        self.learned = self.learned.wrapping_add(1);
        let bin = self.bins.level(run_ms);
        let [everybody, others @ ..] = self.known.chains[self.known.chain_of[job as usize] as usize];
        self.histograms.add(everybody, self.bins.common_decay, bin);
        others.into_iter().for_each(|group| self.histograms.add(group, self.bins.decay, bin));
    }

    /// What an index depends on: a job's groups, and the level that it has attained.
    pub(crate) fn class(&self, job: u32, attained_ms: i64) -> u32 {
        self.known.chain_of[job as usize] * self.bins.len() as u32 + self.bins.level(attained_ms) as u32
    }

    /// The index of a class as of now.
    pub(crate) fn index(&mut self, class: u32) -> f64 {
        let (known_at, index) = self.indices[class as usize];
        if known_at == self.learned {
            return index;
        }
        let (chain, level) = (class as usize / self.bins.len(), class as usize % self.bins.len());
        let chances = self.histograms.chances(&self.known.chains[chain], self.bins.shrinkage);
        let index = self.bins.index(&chances, level);
        self.indices[class as usize] = (self.learned, index);
        index
    }

    /// Up to what attained run time a job's index stays; none: for ever.
    pub(crate) fn level_ends_ms(&self, attained_ms: i64) -> Option<i64> {
        self.bins.level_ends_ms(attained_ms)
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        let numbers = self.histograms.counts.iter().chain(&self.histograms.totals);
        numbers.for_each(|&number| out.put_float(number));
    }

    pub(crate) fn read(&mut self, input: &mut Reader) -> Result<(), String> {
        for number in self.histograms.counts.iter_mut().chain(&mut self.histograms.totals) {
            *number = input.float()?;
            // A chance that is none would make an order that is none.
            if !(0.0..=1e15).contains(number) {
                return Err(format!("the saved state counts {number} jobs of a kind"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins() -> Bins {
        // Ends at 10, 20 and 40 s.
        Bins::new(&[3.0, 10.0, 2.0, 0.5, 1.0, 1.0]).unwrap()
    }

    #[test]
    fn levels_begin_at_their_borders() {
        let bins = bins();
        let levels = [0, 9_999, 10_000, 19_999, 20_000, 1_000_000].map(|run_ms| bins.level(run_ms));
        assert_eq!(levels, [0, 0, 1, 1, 2, 2]);
        assert_eq!(bins.level_ends_ms(10_000), Some(20_000));
        assert_eq!(bins.level_ends_ms(20_000), None);
    }

    #[test]
    fn the_index_is_the_best_of_all_horizons() {
        let bins = bins();
        // Up to 10 s: half of them end, and 7.5 s are spent. Up to 20 s: 0.75 and 11.25 s. Up to 40 s: 1 and 13.75 s.
        assert_eq!(bins.index(&[0.5, 0.25, 0.25], 0), 1.0 / 13.75);
        // Most end early: 0.8 in 6 s.
        assert_eq!(bins.index(&[0.8, 0.0, 0.2], 0), 0.8 / 6.0);
        // On the last level all that is left is spread over 20 s.
        assert_eq!(bins.index(&[0.8, 0.0, 0.25], 2), 0.1);
    }

    #[test]
    fn impossible_parameters_are_refused() {
        let refused = [
            [1.0, 10.0, 2.0, 0.5, 1.0, 1.0],
            [2.5, 10.0, 2.0, 0.5, 1.0, 1.0],
            [3.0, 0.0, 2.0, 0.5, 1.0, 1.0],
            [3.0, 10.0, 1.0, 0.5, 1.0, 1.0],
            [3.0, 10.0, 2.0, 1.5, 1.0, 1.0],
            [3.0, 10.0, 2.0, 0.5, f64::NAN, 1.0],
            [3.0, 10.0, 2.0, 0.5, 1.0, 0.0],
            [64.0, 10.0, 1e9, 0.5, 1.0, 1.0],
        ];
        assert!(refused.iter().all(|parameters| Bins::new(parameters).is_err()));
        assert!(Bins::new(&[3.0]).is_err());
    }
}
