//! Estimates that are learned, from jobs that have ended and from nothing else.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::model::config::{Config, Estimate};
use crate::model::job::{Jobs, MAX_DURATION_MS, UNKNOWN};
use crate::order::estimate::{fixed_basis, fixed_estimate_ms, requested_ms, Basis};
use crate::order::history::{mean_ms, Groups, Mean, UNHEARD_MS};
use crate::order::posterior::{Prior, Sums};
use crate::sim::bytes::{Reader, Writer};

/// Stands for a user that the log does not name.
const NOBODY: u32 = u32::MAX;

/// What the jobs of a window have in common, and what is known of them when the window begins.
#[derive(Debug)]
pub struct Known {
    /// For each job, its user among those of the window, or `NOBODY`.
    user: Vec<u32>,
    /// For each job of a known user: the groups of the user, of the request too, of the size too.
    groups: Vec<[u32; 3]>,
    users: usize,
    recent: Vec<Recent>,
    sums: Vec<Sums>,
    /// For each job, its groups in the history, where that is what is learned.
    history: Vec<Vec<u32>>,
    means: Vec<Mean>,
}

/// A user's last two run times, the later one second.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    run_ms: [i64; 2],
    ended: u32,
}

impl Recent {
    fn add(&mut self, run_ms: i64) {
        self.run_ms = [self.run_ms[1], run_ms];
        self.ended = self.ended.saturating_add(1);
    }
}

/// An estimate that is learned as jobs end.
#[derive(Clone, Debug)]
pub struct Learner {
    known: Arc<Known>,
    prior: Option<Arc<Prior>>,
    recent: Vec<Recent>,
    sums: Vec<Sums>,
    means: Vec<Mean>,
    /// For each user, how often the estimates of the user's jobs have changed.
    changes: Vec<u32>,
    /// How many jobs have been learned from.
    learned: u32,
    /// For each job that has started, its estimate then and what it rested on.
    pub(crate) at_start: Vec<(i64, Basis)>,
}

impl Learner {
    /// The learner of a window, with what is known when it begins; none if the estimate is not learned.
    pub fn new(jobs: &Jobs, window: Range<usize>, config: &Config) -> Result<Option<Self>, String> {
        let prior = match config.estimate {
            Estimate::LastTwo | Estimate::History => None,
            Estimate::Posterior => Some(Arc::new(Prior::new(&config.estimate_parameters)?)),
            _ => return Ok(None),
        };
        let known =
            jobs.known.get(&window, config.estimate.code(), &config.estimate_parameters, || match config.estimate {
                Estimate::History => Known::of_history(jobs, window.clone()),
                _ => Known::new(jobs, window.clone(), prior.as_deref()),
            });
        Ok(Some(Learner {
            prior,
            recent: known.recent.clone(),
            sums: known.sums.clone(),
            means: known.means.clone(),
            changes: vec![0; known.users],
            learned: 0,
            at_start: vec![(UNKNOWN, Basis::Request); window.len()],
            known,
        }))
    }

    /// A job (counted from the window's first) has ended after so long a run.
    pub fn learn(&mut self, jobs: &Jobs, first: usize, job: u32, run_ms: i64) {
        self.learned = self.learned.wrapping_add(1);
        for &group in self.known.history.get(job as usize).into_iter().flatten() {
            self.means[group as usize].add(run_ms);
        }
        let user = self.known.user[job as usize];
        if user == NOBODY {
            return;
        }
        self.changes[user as usize] = self.changes[user as usize].wrapping_add(1);
        match &self.prior {
            None => self.recent[user as usize].add(run_ms),
            Some(prior) => {
                let request_ms = jobs.requested_ms[first + job as usize];
                let terms = prior.observed(request_ms, run_ms);
                for (group, (decay, term)) in self.known.groups[job as usize].into_iter().zip(terms) {
                    self.sums[group as usize].add(decay, term);
                }
            }
        }
    }

    /// How often the estimate of a job may have changed.
    pub fn changes(&self, job: u32) -> u32 {
        if !self.known.history.is_empty() {
            // A group of all users may have changed.
            return self.learned;
        }
        self.changes.get(self.known.user[job as usize] as usize).copied().unwrap_or(0)
    }

    /// How many like jobs have ended, those long ago counting less; a mean of two is as good as it gets.
    pub fn like_jobs(&self, job: u32) -> f64 {
        if let Some(groups) = self.known.history.get(job as usize) {
            return groups.first().map_or(0.0, |&group| self.means[group as usize].count as f64);
        }
        let user = self.known.user[job as usize];
        if user == NOBODY {
            return 0.0;
        }
        match &self.prior {
            None if self.recent[user as usize].ended >= 2 => f64::INFINITY,
            None => 0.0,
            Some(_) => self.sums[self.known.groups[job as usize][2] as usize].count,
        }
    }

    /// The estimate of a job (counted from the window's first) as of now, and what it rests on.
    pub fn estimate(&self, jobs: &Jobs, first: usize, job: u32, config: &Config) -> (i64, Basis) {
        let place = first + job as usize;
        if let Some(groups) = self.known.history.get(job as usize) {
            return mean_ms(groups, &self.means)
                .map_or((UNHEARD_MS, Basis::Prior), |mean_ms| (mean_ms, Basis::Learned));
        }
        let user = self.known.user[job as usize];
        let fallback = || (requested_ms(jobs, place, config), fixed_basis(jobs, place, config));
        let Some(prior) = &self.prior else {
            let Some(recent) = self.recent.get(user as usize).filter(|recent| recent.ended >= 2) else {
                return fallback();
            };
            return ((recent.run_ms[0] + recent.run_ms[1]) / 2, Basis::Learned);
        };
        let request_ms = jobs.requested_ms[place];
        if user == NOBODY && request_ms == UNKNOWN {
            return fallback();
        }
        let none = [Sums::default(); 3];
        let sums = match user {
            NOBODY => none,
            _ => self.known.groups[job as usize].map(|group| self.sums[group as usize]),
        };
        let basis = if sums[0].count > 0.0 { Basis::Learned } else { Basis::Prior };
        (prior.estimate_ms(request_ms, &sums), basis)
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        for recent in &self.recent {
            [recent.run_ms[0], recent.run_ms[1], i64::from(recent.ended)].into_iter().for_each(|value| out.put(value));
        }
        for sums in &self.sums {
            [sums.count, sums.run, sums.inverse].into_iter().for_each(|value| out.put_float(value));
        }
        for mean in &self.means {
            out.put(mean.count);
            out.put(mean.sum_ms);
        }
        for &(estimate_ms, basis) in &self.at_start {
            out.put(estimate_ms);
            out.put(basis as i64);
        }
    }

    pub(crate) fn read(&mut self, input: &mut Reader) -> Result<(), String> {
        for recent in &mut self.recent {
            recent.run_ms = [input.duration()?, input.duration()?];
            recent.ended = input.number()?;
        }
        for sums in &mut self.sums {
            (sums.count, sums.run, sums.inverse) = (input.float()?, input.float()?, input.float()?);
        }
        for mean in &mut self.means {
            (mean.count, mean.sum_ms) = (input.get()?.max(0), input.get()?);
        }
        for noted in &mut self.at_start {
            let estimate_ms = input.get()?.clamp(-1, MAX_DURATION_MS);
            *noted = (estimate_ms, Basis::from_code(input.number()?).ok_or("the saved state has an unknown basis")?);
        }
        Ok(())
    }
}

impl Known {
    /// What the means of a window's jobs are when it begins.
    fn of_history(jobs: &Jobs, window: Range<usize>) -> Self {
        let mut groups = Groups::default();
        let history: Vec<Vec<u32>> = window.clone().map(|job| groups.of(jobs, job)).collect();
        let mut means = vec![Mean::default(); groups.len()];
        for job in ended_before(jobs, &window) {
            groups.known(jobs, job).into_iter().for_each(|group| means[group as usize].add(jobs.run_ms[job]));
        }
        let (recent, sums) = (Vec::new(), Vec::new());
        Known { user: vec![NOBODY; window.len()], groups: Vec::new(), users: 0, recent, sums, history, means }
    }

    fn new(jobs: &Jobs, window: Range<usize>, prior: Option<&Prior>) -> Self {
        let mut users: HashMap<u32, u32> = HashMap::new();
        let mut numbers: HashMap<(u32, i64, i64), u32> = HashMap::new();
        let mut known = Known {
            user: Vec::new(),
            groups: Vec::new(),
            users: 0,
            recent: Vec::new(),
            sums: Vec::new(),
            history: Vec::new(),
            means: Vec::new(),
        };
        for job in window.clone() {
            let Some(user) = jobs.known_user(job) else {
                known.user.push(NOBODY);
                known.groups.push([0; 3]);
                continue;
            };
            let next = users.len() as u32;
            known.user.push(*users.entry(user).or_insert(next));
            known.groups.push(group_keys(jobs, job, user).map(|key| {
                let next = numbers.len() as u32;
                *numbers.entry(key).or_insert(next)
            }));
        }
        known.users = users.len();
        known.recent = vec![Recent::default(); users.len()];
        known.sums = vec![Sums::default(); numbers.len()];
        for job in ended_before(jobs, &window) {
            let user = jobs.known_user(job);
            let Some((user, &number)) = user.and_then(|user| Some((user, users.get(&user)?))) else { continue };
            match prior {
                None => known.recent[number as usize].add(jobs.run_ms[job]),
                Some(prior) => known.observe_earlier(jobs, job, user, &numbers, prior),
            }
        }
        known
    }

    /// Of a job before the window, only the groups matter that the window's jobs belong to.
    fn observe_earlier(
        &mut self,
        jobs: &Jobs,
        job: usize,
        user: u32,
        numbers: &HashMap<(u32, i64, i64), u32>,
        prior: &Prior,
    ) {
        let terms = prior.observed(jobs.requested_ms[job], jobs.run_ms[job]);
        for (key, (decay, term)) in group_keys(jobs, job, user).iter().zip(terms) {
            if let Some(&group) = numbers.get(key) {
                self.sums[group as usize].add(decay, term);
            }
        }
    }
}

/// The jobs before a window that had ended in reality when it begins, in the order of their ends.
pub(crate) fn ended_before<'a>(jobs: &'a Jobs, window: &Range<usize>) -> impl Iterator<Item = usize> + 'a {
    let (first, begins_ms) = (window.start, jobs.submit_ms[window.start]);
    let ended = move |&job: &usize| job < first && jobs.logged_end_ms(job) <= begins_ms;
    jobs.by_logged_end().iter().map(|&job| job as usize).filter(ended)
}

/// The groups that a job belongs to, the widest first.
pub(crate) fn group_keys(jobs: &Jobs, job: usize, user: u32) -> [(u32, i64, i64); 3] {
    const ANY: i64 = -2;
    let request_ms = jobs.requested_ms[job];
    let asked_milli = jobs.shapes[jobs.shape[job] as usize].asked_milli();
    [(user, ANY, ANY), (user, request_ms, ANY), (user, request_ms, asked_milli)]
}

/// What each job of a table would be estimated at when it was submitted, had the jobs ended when the log says.
pub fn estimates_at_submit(jobs: &Jobs, config: &Config) -> Result<Vec<(i64, Basis)>, String> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let Some(mut learner) = Learner::new(jobs, 0..jobs.len(), config)? else {
        let fixed = |job| (fixed_estimate_ms(jobs, job, config), fixed_basis(jobs, job, config));
        return Ok((0..jobs.len()).map(fixed).collect());
    };
    let mut ended = jobs.by_logged_end().iter().copied().peekable();
    let mut estimates = Vec::with_capacity(jobs.len());
    for job in 0..jobs.len() {
        // A job that ends as it is submitted must not be known before it is estimated.
        let is_known = |other: &u32| {
            let other = *other as usize;
            other < job && jobs.logged_end_ms(other) <= jobs.submit_ms[job]
        };
        while let Some(other) = ended.next_if(is_known) {
            learner.learn(jobs, 0, other, jobs.run_ms[other as usize]);
        }
        estimates.push(learner.estimate(jobs, 0, job as u32, config));
    }
    Ok(estimates)
}
