//! Rollouts: so many steps of all environments, played by the network, and what there is to learn from them.
//!
//! Environments are played in groups, each by one thread from the first step to the last: nobody waits for the others at
//! every step, and what is drawn does not depend on who plays.

use std::time::{Duration, Instant};

use crate::envs::environment::{Environment, TOTALS};
use crate::envs::vector::Vector;
use crate::envs::world::World;
use crate::learn::loss::Sample;
use crate::model::random::mix;
use crate::net::batch::Batch;
use crate::net::choice::Distribution;
use crate::net::network::Network;
use crate::net::policy::Units;
use crate::net::workspace::Workspace;

/// So many environments are played together: enough rows for products to be quick, few enough to share out.
const TOGETHER: usize = 16;

/// Of the bytes "actions": keeps these draws apart from all others.
const ACTION_SALT: u64 = 0x61_6374_696F_6E73;

/// One step of one environment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    pub(crate) sample: Sample,
    pub(crate) reward: f64,
    terminated: bool,
    truncated: bool,
    /// What is expected, in the units of the reward.
    pub(crate) value: f32,
    /// What is expected of the last observation of an episode that was cut.
    final_value: f32,
}

/// What episodes that ended came to, and how the policy played.
#[derive(Clone, Debug, Default)]
pub(crate) struct Played {
    pub(crate) episodes: u64,
    /// Sums over these episodes.
    pub(crate) totals: [f64; TOTALS],
    /// How often it chose to wait.
    pub(crate) waits: u64,
    /// Time spent in environments and in the network, over all threads.
    pub(crate) env_time: Duration,
    pub(crate) net_time: Duration,
}

impl Played {
    fn add(&mut self, other: &Played) {
        self.episodes += other.episodes;
        self.totals.iter_mut().zip(&other.totals).for_each(|(sum, value)| *sum += value);
        self.waits += other.waits;
        self.env_time += other.env_time;
        self.net_time += other.net_time;
    }
}

/// The environments that are played together.
#[derive(Default)]
struct Group {
    /// The number of the first.
    first: usize,
    count: usize,
    observations: Vec<f32>,
    masks: Vec<u8>,
    /// Samples step by step, those of one step in the order of environments.
    batch: Batch,
    steps: Vec<Step>,
    /// What is expected behind the last step.
    last_values: Vec<f32>,
    /// Last observations of episodes that were cut, and the steps that they belong to.
    finals: Batch,
    cut: Vec<usize>,
    workspace: Workspace,
    distribution: Distribution,
    played: Played,
    error: Option<String>,
}

/// How to play.
#[derive(Clone, Copy)]
pub(crate) struct Play<'a> {
    pub(crate) network: &'a Network,
    pub(crate) units: Units,
    pub(crate) steps: usize,
    pub(crate) exploration: f32,
    pub(crate) seed: u64,
    /// How many rollouts there were before.
    pub(crate) round: u64,
}

/// So many steps of all environments.
#[derive(Default)]
pub(crate) struct Rollout {
    groups: Vec<Group>,
    environments: usize,
}

impl Rollout {
    /// Goes on from where the environments are; those that have no episode begin one.
    pub(crate) fn collect(&mut self, vector: &mut Vector, play: Play) -> Result<Played, String> {
        let (world, seed) = (vector.world.clone(), vector.seed);
        self.environments = vector.len();
        self.groups.resize_with(vector.len().div_ceil(TOGETHER), Group::default);
        let environments = vector.environments.chunks_mut(TOGETHER).enumerate();
        let mut work: Vec<_> = self.groups.iter_mut().zip(environments).collect();
        vector.pool.each(&mut work, |(group, (place, environments))| {
            group.first = *place * TOGETHER;
            group.error = group.play(environments, &world, seed, play).err();
        });
        let mut played = Played::default();
        for group in &self.groups {
            if let Some(error) = &group.error {
                return Err(error.clone());
            }
            played.add(&group.played);
        }
        Ok(played)
    }

    /// How many samples there are.
    pub(crate) fn len(&self) -> usize {
        self.groups.iter().map(|group| group.steps.len()).sum()
    }

    /// A sample by its number: all environments of the first step, then those of the second, and so on.
    pub(crate) fn sample(&self, number: usize) -> (&Batch, usize) {
        let (group, place) = self.place(number);
        (&self.groups[group].batch, place)
    }

    pub(crate) fn step(&self, number: usize) -> &Step {
        let (group, place) = self.place(number);
        &self.groups[group].steps[place]
    }

    fn place(&self, number: usize) -> (usize, usize) {
        let (step, environment) = (number / self.environments, number % self.environments);
        let group = environment / TOGETHER;
        (group, step * self.groups[group].count + environment % TOGETHER)
    }

    pub(crate) fn steps_mut(&mut self) -> impl Iterator<Item = &mut Step> {
        self.groups.iter_mut().flat_map(|group| &mut group.steps)
    }

    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> + Clone {
        self.groups.iter().flat_map(|group| &group.steps)
    }

    /// Works out generalized advantages (Schulman et al., 2016).
    pub(crate) fn judge(&mut self, gamma: f64, lambda: f64) {
        self.groups.iter_mut().for_each(|group| group.judge(gamma, lambda));
    }
}

impl Group {
    fn play(&mut self, environments: &mut [Environment], world: &World, seed: u64, play: Play) -> Result<(), String> {
        let sizes = world.sizes();
        self.count = environments.len();
        self.observations.resize(self.count * sizes.observation, 0.0);
        self.masks.resize(self.count * sizes.actions, 0);
        self.batch.clear();
        self.finals.clear();
        self.cut.clear();
        self.steps.clear();
        self.steps.resize(play.steps * self.count, Step::default());
        self.played = Played::default();
        for environment in environments.iter_mut().filter(|environment| environment.is_over) {
            let place = environment.draw(world, seed);
            environment.begin(world, place)?;
        }
        for step in 0..play.steps {
            self.step(environments, world, seed, play, step)?;
        }
        self.expect(environments, world, play)
    }

    fn step(
        &mut self,
        environments: &mut [Environment],
        world: &World,
        seed: u64,
        play: Play,
        step: usize,
    ) -> Result<(), String> {
        let began = Instant::now();
        let mut batch = std::mem::take(&mut self.batch);
        self.look(environments, world, play.network, &mut batch)?;
        let seen = Instant::now();
        let first = step * self.count;
        self.workspace.evaluate(play.network, (first..first + self.count).map(|sample| (&batch, sample)));
        for number in 0..self.count {
            let choices = self.workspace.choices(number);
            self.distribution.set(&self.workspace.logits[choices.clone()], play.exploration);
            let choice = self.distribution.draw(uniform(play, step, self.first + number));
            let expected = self.workspace.expected[number];
            let one = &mut self.steps[first + number];
            one.sample.choice = choice;
            one.sample.old_log_prob = self.distribution.logarithms[choice];
            one.sample.old_value = expected;
            one.value = play.units.denormalize(expected);
        }
        let chosen = Instant::now();
        for (number, environment) in environments.iter_mut().enumerate() {
            let choices = batch.choices_of(first + number);
            let choice = batch.choices[choices.start + self.steps[first + number].sample.choice];
            self.played.waits += u64::from(environment.decision.is_wait(choice.action as usize));
            self.act(environment, world, seed, play.network, first + number, choice.action)?;
        }
        self.batch = batch;
        self.played.env_time += (seen - began) + chosen.elapsed();
        self.played.net_time += chosen - seen;
        Ok(())
    }

    /// Packs what all environments see.
    fn look(
        &mut self,
        environments: &mut [Environment],
        world: &World,
        network: &Network,
        batch: &mut Batch,
    ) -> Result<(), String> {
        let sizes = world.sizes();
        let rows =
            self.observations.chunks_exact_mut(sizes.observation).zip(self.masks.chunks_exact_mut(sizes.actions));
        for (environment, (observation, mask)) in environments.iter_mut().zip(rows) {
            environment.observe(observation, mask);
            network.push(batch, observation, mask)?;
        }
        Ok(())
    }

    /// Carries out an action; an episode that ends is followed by the next.
    fn act(
        &mut self,
        environment: &mut Environment,
        world: &World,
        seed: u64,
        network: &Network,
        place: usize,
        action: u32,
    ) -> Result<(), String> {
        let outcome = environment.step(world, action);
        let one = &mut self.steps[place];
        (one.reward, one.terminated, one.truncated) = (outcome.reward, outcome.terminated, outcome.truncated);
        if !outcome.is_over() {
            return Ok(());
        }
        let mut totals = [0.0; TOTALS];
        environment.totals(&mut totals);
        self.played.totals.iter_mut().zip(totals).for_each(|(sum, value)| *sum += value);
        self.played.episodes += 1;
        // Only episodes that were cut go on in theory: what was seen last is worth something.
        if !outcome.terminated {
            let (number, sizes) = (place % self.count, world.sizes());
            let observation = &mut self.observations[number * sizes.observation..][..sizes.observation];
            let mask = &mut self.masks[number * sizes.actions..][..sizes.actions];
            environment.observe(observation, mask);
            network.push(&mut self.finals, observation, mask)?;
            self.cut.push(place);
        }
        let next = environment.draw(world, seed);
        environment.begin(world, next)
    }

    /// Asks what is expected behind the last step, and behind episodes that were cut.
    fn expect(&mut self, environments: &mut [Environment], world: &World, play: Play) -> Result<(), String> {
        let mut last = Batch::default();
        self.look(environments, world, play.network, &mut last)?;
        self.workspace.evaluate_all(play.network, &last);
        self.last_values.clear();
        self.last_values.extend(self.workspace.expected.iter().map(|&value| play.units.denormalize(value)));
        let numbers: Vec<usize> = (0..self.finals.len()).collect();
        for some in numbers.chunks(TOGETHER) {
            self.workspace.evaluate(play.network, some.iter().map(|&number| (&self.finals, number)));
            for (&number, &value) in some.iter().zip(&self.workspace.expected) {
                self.steps[self.cut[number]].final_value = play.units.denormalize(value);
            }
        }
        Ok(())
    }

    fn judge(&mut self, gamma: f64, lambda: f64) {
        for environment in 0..self.count {
            let mut next_value = self.last_values[environment];
            let mut carry = 0.0;
            for step in self.steps[environment..].iter_mut().step_by(self.count).rev() {
                // In this order: an episode that is both terminated and truncated has ended.
                let follows = match (step.terminated, step.truncated) {
                    (true, _) => 0.0,
                    (_, true) => step.final_value,
                    _ => next_value,
                };
                let is_over = step.terminated || step.truncated;
                let delta = step.reward + gamma * f64::from(follows) - f64::from(step.value);
                carry = delta + if is_over { 0.0 } else { gamma * lambda * carry };
                step.sample.advantage = carry as f32;
                // By definition of an advantage.
                step.sample.value_target = step.sample.advantage + step.value;
                next_value = step.value;
            }
        }
    }
}

/// A number from 0 to 1 for each decision of a training: by its place, not from one stream, so that it does not depend on
/// the threads.
fn uniform(play: Play, step: usize, environment: usize) -> f64 {
    let round = mix(mix(play.seed ^ ACTION_SALT).wrapping_add(play.round));
    let drawn = mix(mix(round.wrapping_add(step as u64)).wrapping_add(environment as u64));
    (drawn >> 11) as f64 / (1u64 << 53) as f64
}
