//! Futures: when will those start that wait now?
//!
//! In each future, run times of the jobs that are here are drawn from what is known of jobs like them, jobs to come are
//! drawn from the last weeks, and the simulation goes on from where it is. Nothing is looked at that is not known at that
//! instant, unless the caller asks for what the table says. `docs/eta.md` writes it out.

mod arrivals;
mod draws;
mod lifetimes;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::dispatch::pass_at_once;
use crate::model::codes::from_code;
use crate::model::conditions::NO_TIME;
use crate::model::config::Config;
use crate::model::job::{LikeJob, UNKNOWN};
use crate::order::estimate::{requested_ms, Estimate};
use crate::order::scores::Policy;
use crate::place::rules::Rule;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;
use crate::sim::snapshot::{JobSnapshot, RunSnapshot, Snapshot};
use arrivals::Recent;
use draws::{normal_part, Draws, Purpose};
use lifetimes::Lifetimes;

const DAY_MS: i64 = 86_400_000;

/// More are never of use.
const MOST_THREADS: usize = 256;

/// Where run times come from; the numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum RunTimes {
    /// They are drawn from what is known of jobs like them.
    Drawn = 0,
    /// Each job runs as long as it asked for.
    Requested = 1,
    /// Each job runs as long as the table says: nobody knows that.
    Logged = 2,
}

from_code!(RunTimes: Drawn, Requested, Logged);

/// Where jobs to come are from; the numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Arrivals {
    /// They are like those of the last four weeks.
    Recent = 0,
    /// Nobody comes.
    Nobody = 1,
    /// Those come that the table says: nobody knows that.
    Logged = 2,
}

from_code!(Arrivals: Recent, Nobody, Logged);

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Foresight {
    /// How many futures.
    pub futures: u32,
    /// Where the draws come from.
    pub seed: u64,
    /// How far to look.
    pub horizon_ms: i64,
    /// Where run times come from.
    pub run_times: RunTimes,
    /// Where jobs to come are from.
    pub arrivals: Arrivals,
    /// How far run times of one user's jobs go together, from 0 to 1.
    pub correlation: f64,
    /// How many threads share the futures.
    pub threads: usize,
}

impl Foresight {
    fn check(&self) -> Result<(), String> {
        if !(1..=1_000_000).contains(&self.futures) {
            return Err(format!("futures is {}; expected 1 to 1,000,000", self.futures));
        }
        if !(1..=366 * DAY_MS).contains(&self.horizon_ms) {
            return Err(format!("horizon_ms is {}; expected 1 ms to 366 days", self.horizon_ms));
        }
        if !(0.0..=1.0).contains(&self.correlation) {
            return Err(format!("correlation is {}; expected 0 to 1", self.correlation));
        }
        Ok(())
    }
}

/// What all futures of a state have in common.
struct Present<'a> {
    simulation: &'a Simulation,
    asked: &'a Foresight,
    given: &'a [f64],
    config: Config,
    /// The jobs of the table that are in every future, and what is known of them.
    kept: Vec<u32>,
    /// Where the simulation's jobs begin among those.
    first: usize,
    told: Snapshot,
    /// By job of the simulation: its place among those of a future, if it is there.
    place: Vec<u32>,
    lifetimes: Lifetimes,
    recent: Recent,
    /// How far other futures had to look: where to begin, which changes no answer.
    usual_ms: AtomicI64,
}

const GONE: u32 = u32::MAX;

/// Tells when each of these waiting jobs starts, future by future; `UNKNOWN`: not before the horizon. `given` are the
/// scores of the simulation's jobs, where the policy wants them. The answer does not depend on the number of threads.
pub fn foresee(
    simulation: &Simulation,
    given: &[f64],
    asked: &Foresight,
    jobs: &[u32],
    start_ms: &mut [i64],
) -> Result<(), String> {
    asked.check()?;
    for &job in jobs {
        let phase = simulation.states.get(job as usize).map(|state| state.phase);
        if !matches!(phase, Some(Phase::Waiting | Phase::Held)) {
            return Err(format!("job {job} does not wait, so nobody can say when it will start"));
        }
    }
    if jobs.is_empty() {
        return Ok(());
    }
    let present = Present::new(simulation, given, asked)?;
    let work = Mutex::new(start_ms.chunks_exact_mut(jobs.len()).enumerate());
    let worker = || -> Result<(), String> {
        loop {
            let next = work.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((future, starts)) = next else { return Ok(()) };
            present.live(future as u32, jobs, starts)?;
        }
    };
    std::thread::scope(|scope| {
        let threads = asked.threads.clamp(1, MOST_THREADS.min(asked.futures as usize));
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let own = worker();
        others.into_iter().fold(own, |so_far, other| {
            so_far.and(other.join().unwrap_or_else(|_| Err("a worker thread panicked".to_string())))
        })
    })
}

impl<'a> Present<'a> {
    fn new(simulation: &'a Simulation, given: &'a [f64], asked: &'a Foresight) -> Result<Self, String> {
        let setup = &simulation.setup;
        let wanted = if setup.config.policy.wants_given() { simulation.states.len() } else { 0 };
        if given.len() != wanted {
            return Err(format!("{} scores were given where {wanted} belong", given.len()));
        }
        let recent = Recent::new(simulation);
        // Where nothing is learned from jobs that are over, they need not be there.
        let accounts = &simulation.accounts;
        let learns = accounts.learns() || accounts.gittins.is_some() || accounts.usage().is_some();
        let remembers = learns || goes_by_numbers(&setup.config);
        let is_kept = |phase: Phase| match phase {
            Phase::Future => asked.arrivals == Arrivals::Logged,
            _ => remembers || !phase.is_over(),
        };
        let mut kept: Vec<u32> = if remembers { (0..setup.window.start as u32).collect() } else { Vec::new() };
        let first = kept.len();
        let mut place = vec![GONE; simulation.states.len()];
        for (job, _) in simulation.states.iter().enumerate().filter(|(_, state)| is_kept(state.phase)) {
            place[job] = (kept.len() - first) as u32;
            kept.push(setup.place(job as u32) as u32);
        }
        let drawn = kept.iter().copied().chain(recent.sources());
        let lifetimes = Lifetimes::learn(simulation, drawn);
        let told = told(simulation.snapshot(), &place);
        let config = known_config(&setup.config);
        let usual_ms = AtomicI64::new(DAY_MS);
        Ok(Present { simulation, asked, given, config, kept, first, told, place, lifetimes, recent, usual_ms })
    }

    /// Goes through one future. Few need the whole horizon: more is drawn only where it matters, and what was drawn
    /// before stays. A job that has started knows nothing of what comes later, so it does not matter how far was looked.
    fn live(&self, future: u32, jobs: &[u32], starts: &mut [i64]) -> Result<(), String> {
        let horizon_ms = self.asked.horizon_ms;
        let mut lasting_ms = self.usual_ms.load(Ordering::Relaxed).min(horizon_ms);
        while !self.live_for(future, lasting_ms, jobs, starts)? && lasting_ms < horizon_ms {
            lasting_ms = (2 * lasting_ms).min(horizon_ms);
        }
        self.usual_ms.fetch_max(lasting_ms, Ordering::Relaxed);
        Ok(())
    }

    fn live_for(&self, future: u32, lasting_ms: i64, jobs: &[u32], starts: &mut [i64]) -> Result<bool, String> {
        let mut simulation = self.begin(Draws::new(self.asked.seed, future), lasting_ms)?;
        let until_ms = self.simulation.now_ms() + lasting_ms;
        starts.fill(UNKNOWN);
        let mut pending: Vec<(u32, usize)> =
            jobs.iter().enumerate().map(|(number, &job)| (self.place[job as usize], number)).collect();
        pass_at_once(&mut simulation, None);
        let mut seen = 0;
        loop {
            // Nobody can have started if there was no start.
            if simulation.machine.starts() != seen {
                seen = simulation.machine.starts();
                pending.retain(|&(job, number)| {
                    let state = simulation.state(job);
                    let waits = matches!(state.phase, Phase::Waiting | Phase::Held);
                    if !waits && state.has_started() {
                        starts[number] = state.segment_start_ms;
                    }
                    waits
                });
            }
            if pending.is_empty() {
                return Ok(true);
            }
            if !simulation.advance() || simulation.now_ms() > until_ms {
                return Ok(false);
            }
            simulation.dispatch(None);
        }
    }

    /// The state of now, with one future's run times and arrivals before it.
    fn begin(&self, draws: Draws, lasting_ms: i64) -> Result<Simulation, String> {
        let setup = &self.simulation.setup;
        let mut rows: Vec<LikeJob> = self.kept.iter().map(|&job| self.row(draws, job)).collect();
        let mut told = self.told.clone();
        let same = rows.len();
        if self.asked.arrivals == Arrivals::Recent {
            for mut arrival in self.recent.draw(self.simulation, draws, lasting_ms) {
                let source = arrival.row.source;
                // The same job may come on several days, and then runs differently.
                arrival.row.run_ms = self.run_ms(draws, source, 0, arrival.day + 1);
                rows.push(arrival.row);
                told.jobs.push(JobSnapshot::to_come());
            }
        }
        let given = match self.given.is_empty() {
            true => Vec::new(),
            false => {
                rows[self.first..].iter().map(|row| self.given[row.source as usize - setup.window.start]).collect()
            }
        };
        let jobs = Arc::new(setup.jobs.like(&rows, same)?);
        let window = self.first..rows.len();
        let mut simulation = Simulation::new(setup.cluster.clone(), jobs, window, self.config.clone(), &given)?;
        simulation.load(told)?;
        Ok(simulation)
    }

    /// A job that is in every future.
    fn row(&self, draws: Draws, job: u32) -> LikeJob {
        let setup = &self.simulation.setup;
        let jobs = &*setup.jobs;
        let place = job as usize;
        let conditions = jobs.conditions.as_ref();
        let mut row = LikeJob {
            source: job,
            submit_ms: jobs.submit_ms[place],
            run_ms: jobs.run_ms[place],
            cancel_ms: conditions.and_then(|conditions| conditions.cancel_ms(place)).unwrap_or(NO_TIME),
            fails: conditions.is_some_and(|conditions| conditions.fails(place)),
        };
        let number = (place as u32).wrapping_sub(setup.window.start as u32);
        let Some(state) = self.simulation.states.get(number as usize).filter(|state| !state.phase.is_over()) else {
            return row;
        };
        if state.phase != Phase::Future {
            let attained_ms = match state.phase {
                Phase::Running => state.done_ms + self.simulation.unbounded_progress_ms(number),
                _ => state.done_ms,
            };
            row.run_ms = self.run_ms(draws, job, attained_ms, 0);
        }
        // Whether it leaves, or ends badly, is known when it does.
        if self.asked.run_times != RunTimes::Logged {
            (row.cancel_ms, row.fails) = (NO_TIME, false);
        }
        row
    }

    /// How long a job of the table runs in a future, having run for so long; `copy` tells several like it apart.
    fn run_ms(&self, draws: Draws, job: u32, attained_ms: i64, copy: u64) -> i64 {
        let jobs = &*self.simulation.setup.jobs;
        match self.asked.run_times {
            RunTimes::Logged => jobs.run_ms[job as usize],
            RunTimes::Requested if jobs.requested_ms[job as usize] != UNKNOWN => {
                requested_ms(jobs, job as usize, &self.config).max(attained_ms + 1)
            }
            _ => {
                let together = draws.normal(Purpose::User, u64::from(self.lifetimes.kin(jobs, job)), 0);
                let alone = draws.normal(Purpose::Job, u64::from(job), copy);
                let share = self.asked.correlation;
                let part = normal_part(share.sqrt() * together + (1.0 - share).sqrt() * alone);
                self.lifetimes.run_ms(jobs, job, attained_ms, part)
            }
        }
    }
}

/// What is known of the jobs that are in every future.
fn told(snapshot: Snapshot, place: &[u32]) -> Snapshot {
    let Snapshot { now_ms, jobs, down, stops, commitment, size_by, origin_ms } = snapshot;
    let kept = |job: u32| Some(place[job as usize]).filter(|&place| place != GONE);
    let stop = |stop: RunSnapshot| kept(stop.job).map(|job| RunSnapshot { job, ..stop });
    Snapshot {
        now_ms,
        jobs: jobs.into_iter().zip(place).filter(|(_, &place)| place != GONE).map(|(told, _)| told).collect(),
        down,
        stops: stops.into_iter().filter_map(stop).collect(),
        commitment: commitment.and_then(|(job, time_ms)| kept(job).map(|job| (job, time_ms))),
        size_by,
        origin_ms,
    }
}

/// Whether something is drawn by the jobs' numbers, which must then stay as they are.
fn goes_by_numbers(config: &Config) -> bool {
    matches!(config.policy, Policy::Random | Policy::RandomFeasible)
        || config.placement == Rule::Random
        || config.estimate == Estimate::Noisy
}

/// The rules, without what happens to nodes in time to come: one that is down stays so.
fn known_config(config: &Config) -> Config {
    Config { mean_up_down_ms: None, node_events: Arc::default(), ..config.clone() }
}
