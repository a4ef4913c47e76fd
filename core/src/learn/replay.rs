//! What off-policy algorithms learn from: the latest steps of all environments, from which samples are drawn.
//!
//! Each observation is stored once, packed; what a sample needs of later steps is looked up when it is drawn. One sum tree
//! serves even and prioritized draws: it holds a weight for each transition that can be drawn, and 0 for the others.

mod packing;
mod state;
mod sum_tree;
mod track;

use crate::model::random::mix;
use crate::net::spec::Layout;
use packing::{Form, Packed, Seen};
use sum_tree::SumTree;
use track::{Done, End, Step, Track};

/// More transitions or environments are a mistake, or an attack.
const MOST_TRANSITIONS: usize = 1 << 26;
const MOST_ENVIRONMENTS: usize = 1 << 16;
/// What is added to errors: who is foreseen well can still be drawn.
const SMALL: f64 = 1e-6;
/// Of the bytes "replay": keeps these draws apart from all others.
const REPLAY_SALT: u64 = 0x7265_706C_6179;

/// What is kept, and how it is drawn.
#[derive(Clone, Copy, Debug)]
pub struct ReplayOptions {
    /// What observations look like.
    pub layout: Layout,
    /// How many environments are played.
    pub environments: usize,
    /// How many transitions are kept, over all environments.
    pub capacity: usize,
    /// How many rewards a return is made of.
    pub n_step: usize,
    /// The discount of later rewards.
    pub gamma: f64,
    /// How much errors count when samples are drawn; 0: all are as likely.
    pub priority_exponent: f64,
    /// For the draws.
    pub seed: u64,
}

impl ReplayOptions {
    fn check(&self) -> Result<(), String> {
        self.layout.check()?;
        let within = |name: &str, count: usize, most: usize| match count {
            0 => Err(format!("{name} is 0; expected 1 or more")),
            count if count > most => Err(format!("{name} is {count}; expected at most {most}")),
            _ => Ok(()),
        };
        within("num_envs", self.environments, MOST_ENVIRONMENTS)?;
        within("capacity", self.capacity, MOST_TRANSITIONS)?;
        within("n_step", self.n_step, MOST_TRANSITIONS)?;
        for (name, value) in [("gamma", self.gamma), ("priority_exponent", self.priority_exponent)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(format!("{name} is {value}; expected 0 to 1"));
            }
        }
        if self.capacity / self.environments < self.n_step {
            let Self { environments, capacity, n_step, .. } = self;
            let least = environments.saturating_mul(*n_step);
            return Err(format!(
                "capacity is {capacity}; {environments} environments and n_step {n_step} need {least} or more"
            ));
        }
        Ok(())
    }
}

/// One step of all environments.
pub struct Stepped<'a> {
    /// What they did.
    pub actions: &'a [i32],
    /// What they see now, where an episode has ended that of the next.
    pub observations: &'a [f32],
    /// What they may do now.
    pub masks: &'a [u8],
    /// What they got.
    pub rewards: &'a [f64],
    /// Where an episode has ended.
    pub terminated: &'a [u8],
    /// Where an episode was cut.
    pub truncated: &'a [u8],
    /// What was seen last where one was cut; nothing else is read.
    pub final_observations: &'a [f32],
    /// What was allowed last, likewise.
    pub final_masks: &'a [u8],
}

/// Where samples are written.
pub struct Drawn<'a> {
    /// What was acted on.
    pub observations: &'a mut [f32],
    /// What was allowed.
    pub masks: &'a mut [u8],
    /// What was done.
    pub actions: &'a mut [i64],
    /// The discounted sum of the rewards that followed.
    pub returns: &'a mut [f32],
    /// What `next_observations` are to be discounted by; 0 where nothing more can come.
    pub discounts: &'a mut [f32],
    /// What was seen behind the last of these rewards.
    pub next_observations: &'a mut [f32],
    /// What was allowed there.
    pub next_masks: &'a mut [u8],
    /// How much each sample should count.
    pub weights: &'a mut [f32],
    /// What `set_priorities` knows transitions by.
    pub places: &'a mut [usize],
}

/// The latest steps of all environments.
#[derive(Debug)]
pub struct Replay {
    options: ReplayOptions,
    form: Form,
    tracks: Vec<Track>,
    tree: SumTree,
    /// The largest weight so far: what new transitions get.
    largest: f64,
    /// How many samples were drawn.
    draws: u64,
    /// Room for what is on its way to a shelf: what is seen, and what was seen last, of each environment.
    packed: Vec<[Packed; 2]>,
}

impl Replay {
    /// One that is empty.
    pub fn new(options: ReplayOptions) -> Result<Self, String> {
        options.check()?;
        let form = Form::of(&options.layout);
        let each = options.capacity / options.environments;
        Ok(Replay {
            options,
            form,
            tracks: (0..options.environments).map(|_| Track::new(&form, each, 0)).collect(),
            tree: SumTree::new(each * options.environments),
            largest: 1.0,
            draws: 0,
            packed: vec![Default::default(); options.environments],
        })
    }

    /// How many environments there are, how many numbers an observation has, and how many actions there are.
    pub fn sizes(&self) -> [usize; 3] {
        [self.options.environments, self.form.size, self.form.actions]
    }

    /// How many transitions can be drawn.
    pub fn drawable(&self) -> usize {
        self.tracks.iter().map(|track| (track.ready - track.first) as usize).sum()
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        let tracks = self.tracks.iter();
        let stored = tracks.map(|track| track.shelf.bytes() + track.steps.capacity() * std::mem::size_of::<Step>());
        stored.sum::<usize>() + self.tree.bytes()
    }

    /// Takes in what environments are about to act on. An episode that was under way and is not gone on with was cut.
    pub fn begin(&mut self, observations: &[f32], masks: &[u8]) -> Result<(), String> {
        self.pack(0, observations, masks, |_| true)?;
        for environment in 0..self.tracks.len() {
            let ready = self.tracks[environment].ready;
            self.tracks[environment].begin(&self.form, &self.packed[environment][0]);
            self.make_drawable(environment, ready);
        }
        Ok(())
    }

    /// Takes in one step of all environments; of what cannot be, nothing.
    pub fn add(&mut self, stepped: &Stepped) -> Result<(), String> {
        let done = (0..self.tracks.len()).map(|environment| {
            self.done(environment, stepped).map_err(|error| format!("environment {environment}: {error}"))
        });
        let done = done.collect::<Result<Vec<Done>, String>>()?;
        self.pack(0, stepped.observations, stepped.masks, |_| true)?;
        let is_cut = |environment: usize| done[environment].end == End::Truncated;
        self.pack(1, stepped.final_observations, stepped.final_masks, is_cut)?;
        for (environment, done) in done.into_iter().enumerate() {
            let ready = self.tracks[environment].ready;
            let [next, last] = &self.packed[environment];
            self.tracks[environment].add(&self.options, done, last, next);
            // The place of a step that was dropped is that of the new one, which may have to wait for others.
            let newest = self.tracks[environment].next_number() - 1;
            self.tree.set(self.leaf(environment, newest), 0.0);
            self.make_drawable(environment, ready);
        }
        Ok(())
    }

    /// What an environment did, if it can have done it.
    fn done(&self, environment: usize, stepped: &Stepped) -> Result<Done, String> {
        let track = &self.tracks[environment];
        let current = track.current.ok_or("a step was added before `begin` told what it acts on")?;
        let (action, reward) = (stepped.actions[environment], stepped.rewards[environment]);
        let is_allowed =
            |action| self.form.allows(current.rows as usize, track.shelf.words(&self.form, current), action);
        let action = u32::try_from(action).ok().filter(|&action| is_allowed(action));
        let action = action
            .ok_or_else(|| format!("action {} was added; its mask does not allow it", stepped.actions[environment]))?;
        // Returns are told in single precision.
        if !(reward as f32).is_finite() {
            return Err(format!("the reward is {reward}; expected a finite number"));
        }
        // In this order: an episode that is both terminated and truncated has ended.
        let end = match (stepped.terminated[environment] != 0, stepped.truncated[environment] != 0) {
            (true, _) => End::Terminated,
            (_, true) => End::Truncated,
            _ => End::None,
        };
        Ok(Done { action, reward, end })
    }

    /// Packs what some environments see.
    fn pack(
        &mut self,
        which: usize,
        observations: &[f32],
        masks: &[u8],
        is_asked: impl Fn(usize) -> bool,
    ) -> Result<(), String> {
        let seen = observations.chunks_exact(self.form.size).zip(masks.chunks_exact(self.form.actions));
        for (environment, ((observation, mask), packed)) in seen.zip(&mut self.packed).enumerate() {
            if is_asked(environment) {
                let outcome = self.form.pack(observation, mask, &mut packed[which]);
                outcome.map_err(|error| format!("environment {environment}: {error}"))?;
            }
        }
        Ok(())
    }

    /// Gives transitions their first weight that can be drawn now and could not be `before`.
    fn make_drawable(&mut self, environment: usize, before: u64) {
        let (first, ready) = (self.tracks[environment].first, self.tracks[environment].ready);
        for number in before.max(first)..ready {
            self.tree.set(self.leaf(environment, number), self.largest);
        }
    }

    /// Steps that each environment may keep.
    fn each(&self) -> usize {
        self.options.capacity / self.options.environments
    }

    /// Where a step's weight stands in the tree.
    fn leaf(&self, environment: usize, number: u64) -> usize {
        let each = self.each();
        environment * each + (number % each as u64) as usize
    }

    /// Draws samples, the same one again if it falls so: each by its weight.
    pub fn sample(&mut self, importance_exponent: f64, drawn: &mut Drawn) -> Result<(), String> {
        if !(0.0..=1.0).contains(&importance_exponent) {
            return Err(format!("importance_exponent is {importance_exponent}; expected 0 to 1"));
        }
        if self.drawable() == 0 {
            return Err("no transition can be drawn yet; add more steps first".to_string());
        }
        let mut by_weight = Vec::with_capacity(drawn.actions.len());
        for sample in 0..drawn.actions.len() {
            let part = self.uniform();
            let leaf = self.tree.find(part);
            by_weight.push(self.tree.get(leaf));
            self.write(leaf, sample, drawn);
        }
        // (N P)^-beta divided by the largest in the batch: all but the weights themselves cancels out.
        let least = by_weight.iter().copied().fold(f64::INFINITY, f64::min);
        for (weight, by) in drawn.weights.iter_mut().zip(by_weight) {
            *weight = (least / by).powf(importance_exponent) as f32;
        }
        Ok(())
    }

    /// A number from 0 to below 1 for each draw: by how many there were, so that this is all there is to save.
    fn uniform(&mut self) -> f64 {
        let drawn = mix(mix(self.options.seed ^ REPLAY_SALT).wrapping_add(self.draws));
        self.draws = self.draws.wrapping_add(1);
        (drawn >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Writes the transition of a leaf as a sample.
    fn write(&self, leaf: usize, sample: usize, drawn: &mut Drawn) {
        let (each, form) = (self.each(), &self.form);
        let environment = leaf / each;
        let track = &self.tracks[environment];
        let (slot, each) = ((leaf % each) as u64, each as u64);
        // Of the numbers that have this leaf, the one that is kept.
        let number = track.first + (slot + each - track.first % each) % each;
        let (mut total, mut discount, mut last) = (0.0, 1.0, track.step(number));
        for later in number..(number + self.options.n_step as u64).min(track.next_number()) {
            last = track.step(later);
            total += discount * last.reward;
            discount *= self.options.gamma;
            if last.end != End::None {
                break;
            }
        }
        let step = track.step(number);
        let show = |seen: Seen, observations: &mut [f32], masks: &mut [u8]| {
            let observation = &mut observations[sample * form.size..][..form.size];
            let mask = &mut masks[sample * form.actions..][..form.actions];
            form.unpack(seen.rows as usize, track.shelf.words(form, seen), observation, mask);
        };
        show(step.seen, drawn.observations, drawn.masks);
        show(last.next, drawn.next_observations, drawn.next_masks);
        drawn.actions[sample] = i64::from(step.action);
        drawn.returns[sample] = total as f32;
        drawn.discounts[sample] = if last.end == End::Terminated { 0.0 } else { discount as f32 };
        drawn.places[sample] = number as usize * self.tracks.len() + environment;
    }

    /// Gives transitions weights by their errors. Those that were dropped since they were drawn are left out.
    pub fn set_priorities(&mut self, places: &[usize], errors: &[f32]) -> Result<(), String> {
        let find = |place: usize| (place % self.tracks.len(), (place / self.tracks.len()) as u64);
        for (&place, &error) in places.iter().zip(errors) {
            let (environment, number) = find(place);
            if number >= self.tracks[environment].ready {
                return Err(format!("place {place} was given a priority; no sample was drawn from it"));
            }
            if !error.is_finite() {
                return Err(format!("the error of place {place} is {error}; expected a finite number"));
            }
        }
        for (&place, &error) in places.iter().zip(errors) {
            let (environment, number) = find(place);
            if number >= self.tracks[environment].first {
                let weight = (f64::from(error).abs() + SMALL).powf(self.options.priority_exponent);
                self.largest = self.largest.max(weight);
                self.tree.set(self.leaf(environment, number), weight);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
