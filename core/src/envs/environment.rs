//! One environment: an episode under way, decision by decision.

use std::sync::Arc;

use crate::envs::baseline::Baseline;
use crate::envs::decision::Decision;
use crate::envs::episode::Episode;
use crate::envs::world::World;
use crate::model::config::Config;
use crate::model::random::mix;
use crate::sim::accrual::OF_JOBS;
use crate::sim::simulation::Simulation;
use crate::sim::tally::{objective, Tally, OBJECTIVES};

/// How many numbers tell of an episode that is over.
pub(crate) const TOTALS: usize = OBJECTIVES + 8;

/// Of the bytes "episode": keeps the draws of episodes apart from all others.
const EPISODE_SALT: u64 = 0x65_7069_736F_6465;

/// What a step did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepResult {
    pub(crate) reward: f64,
    pub(crate) terminated: bool,
    pub(crate) truncated: bool,
    pub(crate) invalid: bool,
}

impl StepResult {
    pub(crate) fn is_over(&self) -> bool {
        self.terminated || self.truncated
    }
}

/// A simulation that stops wherever a decision is due, with what its episode has come to.
pub struct Environment {
    /// Its place among the others.
    number: u64,
    /// How many episodes it has drawn.
    pub(crate) drawn: u64,
    /// The place of its episode; none before the first.
    pub(crate) episode: Option<usize>,
    pub(crate) simulation: Option<Simulation>,
    pub(crate) decision: Box<dyn Decision>,
    /// What was asked for since the episode began: enough to bring it back.
    pub(crate) actions: Vec<u32>,
    began_ms: i64,
    /// The schedule whose objectives are subtracted, where it is known.
    baseline: Option<Baseline>,
    /// What the objectives had come to at the last decision.
    last: [f64; OBJECTIVES],
    waits: u32,
    invalid: u32,
    rewards: f64,
    pub(crate) is_over: bool,
}

impl Environment {
    /// An environment that has not begun.
    pub(crate) fn new(number: usize, world: &World) -> Self {
        Environment {
            number: number as u64,
            drawn: 0,
            episode: None,
            simulation: None,
            decision: world.kind().decisions(&world.env),
            actions: Vec::new(),
            began_ms: 0,
            baseline: None,
            last: [0.0; OBJECTIVES],
            waits: 0,
            invalid: 0,
            rewards: 0.0,
            is_over: true,
        }
    }

    /// The next episode of this environment under a seed.
    pub(crate) fn draw(&mut self, world: &World, seed: u64) -> usize {
        // By environment and count, not from one stream: which episode comes next does not depend on the threads.
        let drawn = mix(mix(mix(seed ^ EPISODE_SALT).wrapping_add(self.number)).wrapping_add(self.drawn));
        self.drawn += 1;
        (drawn % world.episodes.len() as u64) as usize
    }

    /// Begins an episode, and moves on to its first decision.
    pub(crate) fn begin(&mut self, world: &World, place: usize) -> Result<(), String> {
        let episode = &world.episodes[place];
        let table = &world.tables[episode.table];
        let cluster = world.clusters[episode.cluster].clone();
        let window = episode.first..episode.first + episode.count;
        let scores = table.scores.get(window.clone()).unwrap_or_default();
        let config = Config { size_by: episode.size_by, origin_ms: episode.origin_ms, ..world.config.clone() };
        let mut simulation = Simulation::new(cluster, table.jobs.clone(), window, config, scores)?;
        // What episodes come to is told of every objective, but this one costs a look at every host: only where it is
        // wanted.
        let tells_balance = world.kind().tells_balance() || world.env.weights[objective::BALANCE] != 0.0;
        let tally = Tally::new(&table.jobs, Arc::clone(&table.priority), episode.warmup as u32, episode.measured);
        let mut tally = tally.with(world.env.logarithms(), tells_balance);
        if world.kind().counts_speeds() {
            tally = tally.counting_speeds(episode.count);
        }
        simulation.accounts.set_tally(Some(tally));
        self.began_ms = simulation.now_ms();
        self.decision.begin(&mut simulation);
        self.episode = Some(place);
        self.actions.clear();
        let starts = world.relative_starts(episode);
        self.baseline =
            (!starts.is_empty()).then(|| Baseline::begin(&simulation, episode, starts, world.env.logarithms()));
        self.last = [0.0; OBJECTIVES];
        self.waits = 0;
        self.invalid = 0;
        self.rewards = 0.0;
        // A window in which no job can run is over before it begins.
        self.is_over = !self.decision.settle(&mut simulation);
        self.simulation = Some(simulation);
        Ok(())
    }

    /// Carries out an action; one that is not allowed is taken as another, and told.
    pub(crate) fn step(&mut self, world: &World, action: u32) -> StepResult {
        let (Some(simulation), Some(place)) = (&mut self.simulation, self.episode) else {
            return StepResult { terminated: true, ..StepResult::default() };
        };
        let episode = &world.episodes[place];
        let mut outcome = StepResult::default();
        let mut taken = action as usize;
        if !self.decision.allows(taken) {
            (outcome.invalid, taken) = (true, self.decision.instead());
        }
        self.waits += u32::from(self.decision.is_wait(taken));
        self.decision.act(simulation, taken);
        // As asked for, not as taken: played again, it is taken the same way.
        self.actions.push(action);
        outcome.terminated = !self.decision.settle(simulation);
        let is_late = episode.horizon_ms.is_some_and(|horizon_ms| simulation.now_ms() - self.began_ms > horizon_ms);
        let is_long = world.env.max_steps.is_some_and(|most| self.actions.len() >= most as usize);
        outcome.truncated = !outcome.terminated && (is_late || is_long);
        self.is_over = outcome.is_over();
        outcome.reward = self.reward(world, episode, outcome);
        if outcome.invalid {
            self.invalid += 1;
            outcome.reward -= world.env.invalid_penalty;
        }
        self.rewards += outcome.reward;
        outcome
    }

    fn reward(&mut self, world: &World, episode: &Episode, outcome: StepResult) -> f64 {
        let Some(simulation) = &self.simulation else { return 0.0 };
        let Some(tally) = simulation.accounts.tally() else { return 0.0 };
        let env = &world.env;
        let mut reward = 0.0;
        if env.dense || self.is_over {
            let mut values = tally.rewarded();
            // What the other schedule has not come to when all is over, it comes to then.
            let relative = if outcome.terminated {
                episode.relative
            } else {
                relative_so_far(self.baseline.as_mut(), episode, tally, simulation.now_ms())
            };
            values.iter_mut().zip(relative).for_each(|(value, relative)| *value -= relative);
            for (place, &weight) in env.weights.iter().enumerate().filter(|(_, &weight)| weight != 0.0) {
                reward += weight * (values[place] - self.last[place]) / episode.scale[place];
            }
            self.last = values;
        }
        if self.is_over {
            let values = tally.objectives();
            if let Some(bound_s) = episode.wait_bound_s {
                reward -= env.bound_weight * (values[objective::WAIT] / bound_s.max(1.0) - 1.0).max(0.0);
            }
            if let Some(bound) = episode.utilization_bound.filter(|&bound| bound > 0.0) {
                reward -= env.bound_weight * (1.0 - values[objective::UTILIZATION] / bound).max(0.0);
            }
        }
        reward
    }

    /// Writes what is seen now.
    pub(crate) fn observe(&mut self, observation: &mut [f32], mask: &mut [u8]) {
        if let Some(simulation) = &self.simulation {
            self.decision.observe(simulation, observation, mask);
        }
    }

    /// Writes what the episode came to.
    pub(crate) fn totals(&self, totals: &mut [f64]) {
        let Some(tally) = self.simulation.as_ref().and_then(|simulation| simulation.accounts.tally()) else { return };
        let (objectives, rest) = totals.split_at_mut(OBJECTIVES);
        objectives.copy_from_slice(&tally.objectives());
        rest.copy_from_slice(&[
            tally.max_wait_s,
            self.actions.len() as f64,
            f64::from(self.waits),
            f64::from(self.invalid),
            tally.measured(),
            f64::from(tally.started),
            tally.elapsed_s(),
            self.rewards,
        ]);
    }
}

/// What the other schedule had come to at a time. What does not count jobs comes evenly, as jobs start.
fn relative_so_far(
    baseline: Option<&mut Baseline>,
    episode: &Episode,
    tally: &Tally,
    now_ms: i64,
) -> [f64; OBJECTIVES] {
    let started = f64::from(tally.started) / tally.measured();
    let mut relative = episode.relative.map(|value| value * started);
    if let Some(baseline) = baseline {
        let of_jobs = baseline.at(now_ms, tally.measured());
        OF_JOBS.iter().for_each(|&place| relative[place] = of_jobs[place]);
    }
    relative
}
