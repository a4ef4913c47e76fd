//! Keeping environments and bringing them back: the episode of each, and what was decided in it so far.
//!
//! Simulations are deterministic, so that the decisions are the state; deciding them again brings everything back.

use crate::envs::decision::Sizes;
use crate::envs::environment::Environment;
use crate::envs::vector::{Vector, Views};

const MAGIC: u64 = 0x3153_564E_4554_4853;
const NONE: u64 = u64::MAX;

/// An environment as it is brought back, and whether it is as it was.
struct Kept {
    drawn: u64,
    episode: u64,
    now_ms: u64,
    actions: Vec<u32>,
}

impl Vector {
    /// Everything that is needed to go on from here, in bytes.
    pub fn state(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for value in [MAGIC, self.world.fingerprint, self.seed, self.environments.len() as u64] {
            bytes.extend(value.to_le_bytes());
        }
        for one in &self.environments {
            let episode = one.episode.map_or(NONE, |place| place as u64);
            for value in [one.drawn, episode, now_ms(one), one.actions.len() as u64] {
                bytes.extend(value.to_le_bytes());
            }
            one.actions.iter().for_each(|action| bytes.extend(action.to_le_bytes()));
        }
        bytes
    }

    /// Brings environments back, and shows what they see; if the state is not of these environments, all stay as they are.
    pub fn restore(&mut self, bytes: &[u8], views: Views) -> Result<(), String> {
        let damaged = || "the state is damaged: it ends too early, or goes on too long".to_string();
        let mut input = Reader { bytes };
        let mut word = || input.word().ok_or_else(damaged);
        let (magic, fingerprint, seed, count) = (word()?, word()?, word()?, word()?);
        if magic != MAGIC {
            return Err("the state is not one of environments".to_string());
        }
        if fingerprint != self.world.fingerprint || count != self.environments.len() as u64 {
            return Err("the state belongs to other environments: other jobs, windows, sizes or numbers".to_string());
        }
        let mut kept = Vec::new();
        for _ in 0..count {
            kept.push(input.kept().ok_or_else(damaged)?);
        }
        if !input.bytes.is_empty() {
            return Err(damaged());
        }
        let environments = self.brought_back(kept)?;
        self.seed = seed;
        self.environments = environments;
        let Sizes { observation: size, actions, .. } = self.sizes();
        views.observations.fill(0.0);
        let rows = views.observations.chunks_exact_mut(size).zip(views.masks.chunks_exact_mut(actions));
        for (environment, (observation, mask)) in self.environments.iter_mut().zip(rows) {
            environment.observe(observation, mask);
        }
        Ok(())
    }

    fn brought_back(&mut self, kept: Vec<Kept>) -> Result<Vec<Environment>, String> {
        let world = self.world.clone();
        let mut work: Vec<(usize, Kept, Result<Environment, String>)> =
            kept.into_iter().enumerate().map(|(number, kept)| (number, kept, Err(String::new()))).collect();
        self.pool.each(&mut work, |(number, kept, outcome)| {
            let mut environment = Environment::new(*number, &world);
            environment.drawn = kept.drawn;
            *outcome = (|| {
                if kept.episode == NONE {
                    return Ok(());
                }
                let place = usize::try_from(kept.episode).ok().filter(|&place| place < world.episodes.len());
                let place = place.ok_or_else(|| format!("the state has an episode {}; there is none", kept.episode))?;
                environment.begin(&world, place)?;
                for &action in &kept.actions {
                    if environment.is_over {
                        break;
                    }
                    environment.step(&world, action);
                }
                if now_ms(&environment) != kept.now_ms || environment.actions != kept.actions {
                    return Err(format!("environment {number} did not come back as it was kept"));
                }
                Ok(())
            })()
            .map(|()| environment);
        });
        work.into_iter().map(|(_, _, outcome)| outcome).collect()
    }
}

fn now_ms(environment: &Environment) -> u64 {
    environment.simulation.as_ref().map_or(0, |simulation| simulation.now_ms() as u64)
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.bytes.split_first_chunk::<8>()?;
        self.bytes = rest;
        Some(u64::from_le_bytes(*word))
    }

    fn kept(&mut self) -> Option<Kept> {
        let (drawn, episode, now_ms) = (self.word()?, self.word()?, self.word()?);
        let count = usize::try_from(self.word()?).ok()?;
        let (actions, rest) = self.bytes.split_at_checked(count.checked_mul(4)?)?;
        self.bytes = rest;
        let actions = actions.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]));
        Some(Kept { drawn, episode, now_ms, actions: actions.collect() })
    }
}
