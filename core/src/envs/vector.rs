//! Many environments, stepped together by a pool of threads.

use std::sync::Arc;

use crate::envs::decision::Sizes;
use crate::envs::environment::{Environment, TOTALS};
use crate::envs::thread_pool::Pool;
use crate::envs::world::World;

/// What `Vector::reset` is told for an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// It goes on with what it does.
    Not,
    /// The next episode that its seed draws.
    Drawn,
    /// This one.
    Episode(usize),
}

/// Where observations and masks go: a row for each environment.
pub struct Views<'a> {
    /// As many numbers as an observation has, for each.
    pub observations: &'a mut [f32],
    /// As many as there are actions, for each.
    pub masks: &'a mut [u8],
}

/// Where a step's results go.
pub struct Steps<'a> {
    /// What is seen next.
    pub next: Views<'a>,
    /// What was seen last of episodes that are over.
    pub last: Views<'a>,
    /// One for each environment.
    pub rewards: &'a mut [f64],
    /// 0 or 1 for each environment: its episode has come to its end.
    pub terminated: &'a mut [u8],
    /// 0 or 1 for each environment: its episode was cut.
    pub truncated: &'a mut [u8],
    /// 0 or 1 for each environment: its action was not allowed.
    pub invalid: &'a mut [u8],
    /// `TOTALS` each, of episodes that are over.
    pub totals: &'a mut [f64],
}

/// Environments with what they share: a world, a seed, threads.
pub struct Vector {
    pub(crate) world: Arc<World>,
    pub(crate) environments: Vec<Environment>,
    pub(crate) seed: u64,
    pub(crate) pool: Pool,
}

/// One environment's part of a step.
struct Work<'a> {
    environment: &'a mut Environment,
    action: u32,
    observation: &'a mut [f32],
    mask: &'a mut [u8],
    last_observation: &'a mut [f32],
    last_mask: &'a mut [u8],
    reward: &'a mut f64,
    terminated: &'a mut u8,
    truncated: &'a mut u8,
    invalid: &'a mut u8,
    totals: &'a mut [f64],
    error: Option<String>,
}

impl Vector {
    /// Environments that have not begun.
    pub fn new(world: World, environments: usize, threads: usize) -> Result<Self, String> {
        if environments == 0 {
            return Err("there are 0 environments; expected 1 or more".to_string());
        }
        let environments: Vec<Environment> = (0..environments).map(|number| Environment::new(number, &world)).collect();
        // What is wrong with the configuration is told now, not in the middle of training.
        Environment::new(0, &world).begin(&world, 0)?;
        Ok(Vector { seed: world.env.seed, world: Arc::new(world), environments, pool: Pool::new(threads) })
    }

    /// How many environments there are.
    pub fn len(&self) -> usize {
        self.environments.len()
    }

    /// Whether there is none; there always is.
    pub fn is_empty(&self) -> bool {
        self.environments.is_empty()
    }

    /// How much each environment shows, and takes.
    pub fn sizes(&self) -> Sizes {
        self.world.sizes()
    }

    /// Another seed: every environment has drawn nothing yet.
    pub fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        self.environments.iter_mut().for_each(|environment| environment.drawn = 0);
    }

    /// Begins episodes, and shows what every environment sees.
    pub fn reset(&mut self, begins: &[Begin], views: Views) -> Result<(), String> {
        let episodes = self.world.episodes.len();
        for (number, begin) in begins.iter().enumerate() {
            match begin {
                Begin::Episode(place) if *place >= episodes => {
                    return Err(format!("environment {number}: episode {place} does not exist; there are {episodes}"));
                }
                Begin::Not if self.environments[number].episode.is_none() => {
                    return Err(format!("environment {number} has no episode to go on with; begin one"));
                }
                _ => {}
            }
        }
        let (world, seed) = (self.world.clone(), self.seed);
        let Sizes { observation: size, actions, .. } = self.sizes();
        // From now on only rows that were filled are cleared.
        views.observations.fill(0.0);
        let rows = views.observations.chunks_exact_mut(size).zip(views.masks.chunks_exact_mut(actions));
        let mut work: Vec<_> =
            self.environments.iter_mut().zip(begins).zip(rows).map(|(one, row)| (one, row, Ok(()))).collect();
        self.pool.each(&mut work, |((environment, begin), (observation, mask), outcome)| {
            let place = match begin {
                Begin::Not => None,
                Begin::Drawn => Some(environment.draw(&world, seed)),
                Begin::Episode(place) => Some(*place),
            };
            if let Some(place) = place {
                *outcome = environment.begin(&world, place);
            }
            environment.observe(observation, mask);
        });
        work.into_iter().try_for_each(|(_, _, outcome)| outcome)
    }

    /// Carries out one action in each environment.
    pub fn step(&mut self, actions: &[i32], steps: Steps) -> Result<(), String> {
        if let Some(number) = self.environments.iter().position(|environment| environment.is_over) {
            return Err(format!("environment {number} has no episode under way; reset it"));
        }
        let Sizes { observation: size, actions: count, .. } = self.sizes();
        let (world, seed) = (self.world.clone(), self.seed);
        let mut next = steps.next.observations.chunks_exact_mut(size).zip(steps.next.masks.chunks_exact_mut(count));
        let mut last = steps.last.observations.chunks_exact_mut(size).zip(steps.last.masks.chunks_exact_mut(count));
        let mut flags = steps.terminated.iter_mut().zip(steps.truncated.iter_mut()).zip(steps.invalid.iter_mut());
        let mut rewards = steps.rewards.iter_mut().zip(steps.totals.chunks_exact_mut(TOTALS));
        let mut work: Vec<Work> = Vec::with_capacity(self.environments.len());
        for (environment, &action) in self.environments.iter_mut().zip(actions) {
            let parts = (next.next(), last.next(), flags.next(), rewards.next());
            let (Some(next), Some(last), Some(((terminated, truncated), invalid)), Some((reward, totals))) = parts
            else {
                return Err("an array of a step is shorter than there are environments".to_string());
            };
            work.push(Work {
                environment,
                // Whatever is below 0 is as little an action as what is too large.
                action: u32::try_from(action).unwrap_or(u32::MAX),
                observation: next.0,
                mask: next.1,
                last_observation: last.0,
                last_mask: last.1,
                reward,
                terminated,
                truncated,
                invalid,
                totals,
                error: None,
            });
        }
        self.pool.each(&mut work, |one| one.step(&world, seed));
        match work.into_iter().find_map(|one| one.error) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Work<'_> {
    fn step(&mut self, world: &World, seed: u64) {
        let outcome = self.environment.step(world, self.action);
        *self.reward = outcome.reward;
        *self.terminated = u8::from(outcome.terminated);
        *self.truncated = u8::from(outcome.truncated);
        *self.invalid = u8::from(outcome.invalid);
        if outcome.is_over() {
            self.environment.totals(self.totals);
            // The last observation is told apart: what is shown next belongs to another episode.
            if world.env.autoreset {
                self.environment.observe(self.last_observation, self.last_mask);
                let place = self.environment.draw(world, seed);
                self.error = self.environment.begin(world, place).err();
            }
        }
        self.environment.observe(self.observation, self.mask);
    }
}
