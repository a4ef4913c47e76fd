//! How long jobs run, as a distribution: learned from jobs that have ended and from those that still run.
//!
//! Run times are counted as parts of the request, in bins. For each bin a group knows how many of its jobs reached it, and
//! how many of those ended in it; a job that still runs has reached its bin and not ended. A group that has seen little
//! of a bin leans on the next wider one. `docs/eta.md` has the formulas.

use std::collections::HashMap;

use crate::model::job::{Jobs, MAX_DURATION_MS, UNKNOWN};
use crate::order::learner::ended_before;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// Bins of equal length on the scale of logarithms, ten for each power of ten, from 0.00001 of the request on.
const SHORT: usize = 49;

/// Where the other bins end, as multiples of the request. Many jobs end at it, or just before or after.
const LONG: [f64; 15] = [0.85, 0.9, 0.95, 0.98, 0.99, 0.998, 1.0, 1.001, 1.01, 1.1, 1.5, 2.0, 5.0, 10.0, 100.0];

/// The first bin also has all that is shorter.
const BINS: usize = 1 + SHORT + LONG.len();

/// What stands for the request of a job without one.
const NO_REQUEST_MS: i64 = 86_400_000;

/// By level, the widest first: what the jobs of a group that ended before are multiplied with when one more ends.
const DECAYS: [f64; LEVELS] = [0.9995, 0.99, 0.97, 0.97];

/// As how many jobs the next wider group counts.
const SHRINKAGE: f64 = 10.0;

/// All jobs, the user's, the user's with the same request, and those of the same size too.
const LEVELS: usize = 4;

/// A level, a user, a request, a size; −2 for any.
type Key = (u8, i64, i64, i64);

/// The logarithms of the bins' borders.
fn borders() -> [f64; BINS + 1] {
    let mut borders = [0.0; BINS + 1];
    for (number, border) in borders.iter_mut().enumerate().take(SHORT + 2) {
        *border = (number as f64 / 10.0 - 5.1) * std::f64::consts::LN_10;
    }
    for (border, end) in borders[SHORT + 2..].iter_mut().zip(LONG) {
        *border = end.ln();
    }
    borders
}

/// What a group's jobs have done in each bin.
#[derive(Clone)]
struct Group {
    ended: [f64; BINS],
    /// Those that were seen in this bin and have not ended.
    seen: [f64; BINS],
    /// What the next job counts, which ended before all that are in.
    weight: f64,
}

impl Group {
    const EMPTY: Group = Group { ended: [0.0; BINS], seen: [0.0; BINS], weight: 1.0 };

    /// The chances to end in each bin of a job that has reached it; `wider` has those of the next wider group.
    fn hazards(&self, wider: &mut [f64; BINS]) {
        let mut reached = 0.0;
        for bin in (0..BINS).rev() {
            reached += self.ended[bin];
            wider[bin] = (self.ended[bin] + SHRINKAGE * wider[bin]) / (reached + SHRINKAGE);
            reached += self.seen[bin];
        }
    }
}

/// What is believed of jobs of which nothing is known: any order of magnitude is as likely as another.
fn prior() -> [f64; BINS] {
    let mut hazards = [0.5; BINS];
    for (bin, hazard) in hazards.iter_mut().enumerate().take(SHORT + 1) {
        *hazard = 1.0 / (SHORT + 10 - bin) as f64;
    }
    hazards
}

/// A distribution of run times.
#[derive(Clone)]
struct Curve {
    /// By bin: the logarithm of the chance to outlast it, for whoever has reached it.
    log_survival: [f64; BINS],
}

/// The distributions of a table's jobs at an instant.
pub(super) struct Lifetimes {
    borders: [f64; BINS + 1],
    curves: Vec<Curve>,
    /// By job of the table, for those that were asked for: its curve.
    curve_of: HashMap<u32, u32>,
    /// By user: the first job of the table.
    first_of_user: HashMap<u32, u32>,
}

impl Lifetimes {
    /// What is known at the instant of a simulation, of these jobs of its table.
    pub(super) fn learn(simulation: &Simulation, asked: impl Iterator<Item = u32>) -> Self {
        let jobs = &*simulation.setup.jobs;
        let (mut curve_of, mut first_of) = (HashMap::new(), Vec::new());
        let (mut groups, mut numbers) = (HashMap::new(), HashMap::new());
        for job in asked {
            let chain = keys(jobs, job as usize);
            let number = *numbers.entry(chain[LEVELS - 1]).or_insert_with(|| {
                groups.extend(chain.map(|key| (key, Group::EMPTY)));
                first_of.push(job);
                first_of.len() as u32 - 1
            });
            curve_of.insert(job, number);
        }
        learn(simulation, &mut groups);
        let curves = first_of.iter().map(|&job| curve(&groups, &keys(jobs, job as usize))).collect();
        let mut first_of_user = HashMap::new();
        for job in 0..simulation.setup.place(simulation.clock.next_arrival) {
            if let Some(user) = jobs.known_user(job) {
                first_of_user.entry(user).or_insert(job as u32);
            }
        }
        Lifetimes { borders: borders(), curves, curve_of, first_of_user }
    }

    /// What stands for a job's user: the user's first job, which stays the same when others come; of a job without a user,
    /// the job.
    pub(super) fn kin(&self, jobs: &Jobs, job: u32) -> u32 {
        let first = jobs.known_user(job as usize).and_then(|user| self.first_of_user.get(&user));
        first.copied().unwrap_or(job)
    }

    /// The run time of a job that has run for so long and not ended, at this part of all that it may be.
    pub(super) fn run_ms(&self, jobs: &Jobs, job: u32, attained_ms: i64, part: f64) -> i64 {
        let unit_ms = unit_ms(jobs, job as usize) as f64;
        let mut from = (attained_ms as f64 / unit_ms).ln().max(self.borders[0]);
        let curve = &self.curves[self.curve_of[&job] as usize];
        let mut left = (1.0 - part).max(f64::MIN_POSITIVE).ln();
        let mut ends = self.borders[BINS];
        for bin in self.bin(from)..BINS {
            let (low, high) = (self.borders[bin], self.borders[bin + 1]);
            // The first bin of a job that has run may be half over.
            let rest = ((high - from) / (high - low)).clamp(0.0, 1.0);
            let survival = curve.log_survival[bin] * rest;
            if survival <= left {
                ends = from + (high - from) * (left / survival);
                break;
            }
            left -= survival;
            from = high;
        }
        // Whoever has run for longer than the last border may end at any moment.
        ((ends.exp() * unit_ms) as i64).clamp(attained_ms + 1, MAX_DURATION_MS.max(attained_ms + 1))
    }

    fn bin(&self, log_part: f64) -> usize {
        bin_of(&self.borders, log_part)
    }
}

fn bin_of(borders: &[f64; BINS + 1], log_part: f64) -> usize {
    borders[1..BINS].partition_point(|&end| end <= log_part)
}

fn unit_ms(jobs: &Jobs, job: usize) -> i64 {
    match jobs.requested_ms[job] {
        UNKNOWN => NO_REQUEST_MS,
        request_ms => request_ms.max(1),
    }
}

/// The groups that a job belongs to, the widest first. Jobs without a request are apart from all others.
fn keys(jobs: &Jobs, job: usize) -> [Key; LEVELS] {
    const ANY: i64 = -2;
    let (user, request_ms) = (i64::from(jobs.user[job]), jobs.requested_ms[job]);
    let asked_milli = jobs.shapes[jobs.shape[job] as usize].asked_milli();
    let has_request = i64::from(request_ms != UNKNOWN);
    [
        (0, ANY, has_request, ANY),
        (1, user, has_request, ANY),
        (2, user, request_ms, ANY),
        (3, user, request_ms, asked_milli),
    ]
}

/// Tells the groups what their jobs have done by now.
fn learn(simulation: &Simulation, groups: &mut HashMap<Key, Group>) {
    let setup = &simulation.setup;
    let (jobs, borders) = (&*setup.jobs, borders());
    let bin = |job: usize, run_ms: i64| bin_of(&borders, (run_ms as f64 / unit_ms(jobs, job) as f64).ln());
    let mut ended: Vec<(i64, u32, usize, i64)> = Vec::new();
    for (job, state) in (0u32..).zip(&simulation.states) {
        let place = setup.place(job);
        match state.phase {
            Phase::Running => {
                let attained_ms = state.done_ms + simulation.unbounded_progress_ms(job);
                for key in keys(jobs, place) {
                    if let Some(group) = groups.get_mut(&key) {
                        group.seen[bin(place, attained_ms)] += 1.0;
                    }
                }
            }
            Phase::Completed | Phase::Killed => {
                ended.push((state.end_ms, state.sequence, place, setup.work_ms(job, state)));
            }
            _ => {}
        }
    }
    ended.sort_unstable();
    let earlier = ended_before(jobs, &setup.window).map(|job| (0, 0, job, jobs.run_ms[job]));
    let ended: Vec<(i64, u32, usize, i64)> = earlier.chain(ended).collect();
    // The latest first, so that a job's weight is known when it is added.
    for &(_, _, place, run_ms) in ended.iter().rev() {
        for (key, decay) in keys(jobs, place).into_iter().zip(DECAYS) {
            if let Some(group) = groups.get_mut(&key) {
                group.ended[bin(place, run_ms)] += group.weight;
                group.weight *= decay;
            }
        }
    }
}

fn curve(groups: &HashMap<Key, Group>, chain: &[Key; LEVELS]) -> Curve {
    let mut hazards = prior();
    chain.iter().filter_map(|key| groups.get(key)).for_each(|group| group.hazards(&mut hazards));
    // Nobody outlasts the last bin.
    hazards[BINS - 1] = 1.0;
    Curve { log_survival: hazards.map(|hazard| (1.0 - hazard).max(1e-9).ln()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A curve of jobs that all behave like this group, for a request of 1,000 s.
    fn lifetimes(group: Group) -> (Lifetimes, Jobs) {
        let key: Key = (0, -2, 1, -2);
        let groups = HashMap::from([(key, group)]);
        let curves = vec![curve(&groups, &[key, (9, 0, 0, 0), (9, 0, 0, 0), (9, 0, 0, 0)])];
        let one = |value: i64| vec![value];
        let jobs = Jobs::new(&crate::model::job::Columns {
            submit_ms: &one(0),
            run_ms: &one(0),
            requested_ms: &one(1_000_000),
            tasks: &one(1),
            cores_milli: &one(1000),
            memory_mb: &one(UNKNOWN),
            gpu_milli: &one(0),
            partition: &one(UNKNOWN),
            user: &one(UNKNOWN),
            logged_wait_ms: &one(UNKNOWN),
            gpu_types: &one(0),
            kind: &[],
            tier: &[],
            exclusive: &[],
            rules: Default::default(),
            conditions: Default::default(),
        });
        let curve_of = HashMap::from([(0, 0)]);
        let first_of_user = HashMap::new();
        (Lifetimes { borders: borders(), curves, curve_of, first_of_user }, jobs.unwrap())
    }

    fn ended_at(times_s: &[f64], weight: f64) -> Group {
        let mut group = Group::EMPTY;
        times_s.iter().for_each(|time_s| group.ended[bin_of(&borders(), (time_s / 1000.0).ln())] += weight);
        group
    }

    #[test]
    fn bins_hold_their_lower_borders() {
        let borders = borders();
        assert_eq!(borders.len(), BINS + 1);
        assert!(borders.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(bin_of(&borders, f64::NEG_INFINITY), 0);
        assert_eq!(bin_of(&borders, f64::INFINITY), BINS - 1);
        assert_eq!(borders[bin_of(&borders, 0.0)], 0.0);
    }

    #[test]
    fn what_has_been_seen_often_is_drawn() {
        let (lifetimes, jobs) = lifetimes(ended_at(&[100.0], 1e9));
        for part in [0.01, 0.5, 0.99] {
            assert!((99_000..=126_000).contains(&lifetimes.run_ms(&jobs, 0, 0, part)));
        }
    }

    #[test]
    fn whoever_has_run_runs_on() {
        let (lifetimes, jobs) = lifetimes(ended_at(&[100.0, 900.0], 1e9));
        // At the beginning both are as likely; later only the other one is left.
        assert!(lifetimes.run_ms(&jobs, 0, 0, 0.25) < 130_000 && lifetimes.run_ms(&jobs, 0, 0, 0.75) > 890_000);
        assert!(lifetimes.run_ms(&jobs, 0, 300_000, 0.25) > 890_000);
        for attained_ms in [0, 5, 99_999, 950_000, 40_000_000, 2_000_000_000_000] {
            assert!(lifetimes.run_ms(&jobs, 0, attained_ms, 0.0) > attained_ms);
            assert!(lifetimes.run_ms(&jobs, 0, attained_ms, 1.0) > attained_ms);
        }
    }

    #[test]
    fn whoever_still_runs_makes_long_runs_likelier() {
        let mut group = ended_at(&[10.0], 100.0);
        let (before, jobs) = lifetimes(group.clone());
        group.seen[bin_of(&borders(), (500.0f64 / 1000.0).ln())] += 100.0;
        let (after, _) = lifetimes(group);
        assert!(after.run_ms(&jobs, 0, 0, 0.6) > 4 * before.run_ms(&jobs, 0, 0, 0.6));
    }
}
