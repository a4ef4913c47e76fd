use super::*;
use crate::model::job::Fingerprint;
use crate::model::random::SplitMix64;
use crate::net::spec::JobLayout;

const LAYOUT: Layout =
    Layout::Job(JobLayout { window: 3, lookahead_size: 0, job_features: 21, history: 0, stops: 0, types: 0 });
const HOSTS: Layout = Layout::Host { hosts: 20 };

fn options(layout: Layout) -> ReplayOptions {
    ReplayOptions { layout, environments: 1, capacity: 4, n_step: 1, gamma: 0.5, priority_exponent: 0.0, seed: 1 }
}

/// Environments that are played at random: what each saw last, and what it may do.
struct Played {
    random: SplitMix64,
    layout: Layout,
    observations: Vec<f32>,
    masks: Vec<u8>,
}

impl Played {
    fn new(replay: &mut Replay, seed: u64) -> Self {
        let layout = replay.options.layout;
        let mut played = Played { random: SplitMix64::from_state(seed), layout, observations: vec![], masks: vec![] };
        (played.observations, played.masks) = played.look(replay.options.environments);
        replay.begin(&played.observations, &played.masks).unwrap();
        played
    }

    fn look(&mut self, environments: usize) -> (Vec<f32>, Vec<u8>) {
        let (mut observations, mut masks) = (vec![], vec![]);
        for _ in 0..environments {
            let filled = self.random.next_u64() as usize % (self.layout.most_rows() + 1);
            let filled = if self.layout.is_host() { self.layout.most_rows() } else { filled };
            let numbers = self.layout.context() + filled * self.layout.row_features();
            let end = observations.len() + self.layout.observation_size();
            observations.extend((0..numbers).map(|_| (self.random.next_u64() >> 40) as f32 / (1 << 24) as f32));
            observations.resize(end, 0.0);
            masks.extend((0..self.layout.actions()).map(|action| u8::from(action == 0 || action <= filled)));
        }
        (observations, masks)
    }

    fn step(&mut self, replay: &mut Replay) {
        let environments = replay.options.environments;
        let actions: Vec<i32> = self.masks.chunks(self.layout.actions()).map(|_| 0).collect();
        let rewards: Vec<f64> = actions.iter().map(|_| (self.random.next_u64() % 100) as f64).collect();
        let terminated: Vec<u8> = actions.iter().map(|_| u8::from(self.random.next_u64() % 5 == 0)).collect();
        let truncated: Vec<u8> = actions.iter().map(|_| u8::from(self.random.next_u64() % 5 == 0)).collect();
        let (final_observations, final_masks) = self.look(environments);
        (self.observations, self.masks) = self.look(environments);
        let stepped = Stepped {
            actions: &actions,
            observations: &self.observations,
            masks: &self.masks,
            rewards: &rewards,
            terminated: &terminated,
            truncated: &truncated,
            final_observations: &final_observations,
            final_masks: &final_masks,
        };
        replay.add(&stepped).unwrap();
    }
}

/// Draws samples: everything that they are made of, as words that can be compared.
fn sample(replay: &mut Replay, count: usize) -> Result<Vec<u64>, String> {
    let [_, size, actions] = replay.sizes();
    let (mut seen, mut next) = (vec![0.0; count * size], vec![0.0; count * size]);
    let (mut masks, mut next_masks) = (vec![0; count * actions], vec![0; count * actions]);
    let (mut chosen, mut places) = (vec![0; count], vec![0; count]);
    let (mut returns, mut discounts, mut weights) = (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
    replay.sample(
        0.5,
        &mut Drawn {
            observations: &mut seen,
            masks: &mut masks,
            actions: &mut chosen,
            returns: &mut returns,
            discounts: &mut discounts,
            next_observations: &mut next,
            next_masks: &mut next_masks,
            weights: &mut weights,
            places: &mut places,
        },
    )?;
    let numbers = [seen, next, returns, discounts, weights].concat();
    assert!(numbers.iter().all(|number| number.is_finite()));
    assert!(masks.chunks(actions).chain(next_masks.chunks(actions)).all(|mask| mask.contains(&1)));
    let words = numbers.iter().map(|number| u64::from(number.to_bits()));
    let words = words.chain(masks.iter().chain(&next_masks).map(|&allowed| u64::from(allowed)));
    Ok(words.chain(places.iter().map(|&place| place as u64)).collect())
}

fn state(replay: &Replay) -> Vec<u8> {
    let mut bytes = vec![0; replay.state_size()];
    replay.write_state(&mut bytes);
    bytes
}

/// A buffer in which there is something of everything that a state holds.
fn filled(layout: Layout, seed: u64) -> Replay {
    let given = ReplayOptions { environments: 3, capacity: 25, n_step: 3, priority_exponent: 0.7, ..options(layout) };
    let mut replay = Replay::new(given).unwrap();
    let mut played = Played::new(&mut replay, seed);
    (0..20).for_each(|_| played.step(&mut replay));
    let drawn = sample(&mut replay, 4).unwrap();
    let places: Vec<usize> = drawn[drawn.len() - 4..].iter().map(|&place| place as usize).collect();
    replay.set_priorities(&places, &[0.1, -20.0, 0.0, 3.0]).unwrap();
    replay
}

#[test]
fn packed_numbers_come_back_to_a_65535th() {
    for layout in [LAYOUT, HOSTS] {
        let form = Form::of(&layout);
        let mut replay = Replay::new(options(layout)).unwrap();
        let mut played = Played::new(&mut replay, 3);
        let mut packed = Packed::default();
        for _ in 0..200 {
            let (observation, mask) = played.look(1);
            form.pack(&observation, &mask, &mut packed).unwrap();
            let (mut numbers, mut allowed) = (vec![9.0; form.size], vec![9; form.actions]);
            form.unpack(packed.rows, &packed.words, &mut numbers, &mut allowed);
            assert_eq!(allowed, mask);
            let off = numbers.iter().zip(&observation).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
            assert!(off <= 0.51 / 65535.0, "{off}");
            // What was unpacked packs to the same: a state that is shown again is known again.
            let before = packed.words.clone();
            form.pack(&numbers, &allowed, &mut packed).unwrap();
            assert_eq!(packed.words, before);
        }
    }
}

#[test]
fn rows_that_count_are_stored_even_behind_empty_ones() {
    let form = Form::of(&LAYOUT);
    let (mut observation, mut mask) = (vec![0.0; form.size], vec![0u8; form.actions]);
    let mut packed = Packed::default();
    assert!(form.pack(&observation, &mask, &mut packed).is_err());
    mask[0] = 1;
    for (rows, change) in [(0, None), (2, Some(16 + 21)), (3, Some(16 + 62))] {
        if let Some(place) = change {
            observation[place] = 1.0;
        }
        form.pack(&observation, &mask, &mut packed).unwrap();
        assert_eq!(packed.rows, rows);
    }
    observation.fill(-0.0);
    mask[2] = 1;
    form.pack(&observation, &mask, &mut packed).unwrap();
    assert_eq!(packed.rows, 2);
}

#[test]
fn numbers_beyond_the_range_are_refused() {
    let form = Form::of(&HOSTS);
    let mask = vec![1; form.actions];
    for wrong in [f32::NAN, f32::INFINITY, -1e-6, 1.000_001] {
        let mut observation = vec![0.5; form.size];
        observation[7] = wrong;
        let error = form.pack(&observation, &mask, &mut Packed::default()).unwrap_err();
        assert!(error.starts_with("number 7 of an observation is"), "{error}");
    }
}

#[test]
fn old_chunks_are_freed() {
    let given = ReplayOptions { capacity: 100, ..options(HOSTS) };
    let mut replay = Replay::new(given).unwrap();
    let mut played = Played::new(&mut replay, 1);
    let mut most = 0;
    for step in 0..2000 {
        played.step(&mut replay);
        assert_eq!(replay.tracks[0].steps.len(), 100.min(step + 1));
        most = most.max(replay.tracks[0].shelf.bytes());
    }
    // A hundred of them, of which a fifth also have a last observation, and a chunk at each end.
    let form = Form::of(&HOSTS);
    let one = 2 * form.words(20);
    assert!(most <= 180 * one + 2 * 101 * one, "{most}");
}

#[test]
fn a_restored_state_draws_the_same() {
    for layout in [LAYOUT, HOSTS] {
        let mut replay = filled(layout, 5);
        let saved = state(&replay);
        let mut other = Replay::new(ReplayOptions { seed: 99, ..replay.options }).unwrap();
        other.restore(&saved).unwrap();
        assert_eq!(state(&other), saved);
        assert_eq!(sample(&mut other, 50), sample(&mut replay, 50));
        let [mut one, mut two] = [&mut replay, &mut other].map(|replay| {
            let (observations, masks) = (vec![0.25; replay.form.size * 3], vec![1; replay.form.actions * 3]);
            replay.begin(&observations, &masks).unwrap();
            (replay, Played { random: SplitMix64::from_state(8), layout, observations, masks })
        });
        for (replay, played) in [&mut one, &mut two] {
            (0..30).for_each(|_| played.step(replay));
        }
        assert_eq!(sample(one.0, 50), sample(two.0, 50));
        assert_eq!(state(one.0), state(two.0));
    }
}

#[test]
fn states_of_other_buffers_are_refused() {
    let replay = filled(LAYOUT, 5);
    let saved = state(&replay);
    for other in [
        ReplayOptions { layout: HOSTS, ..replay.options },
        ReplayOptions { environments: 2, ..replay.options },
        ReplayOptions { capacity: 24, ..replay.options },
        ReplayOptions { n_step: 2, ..replay.options },
        ReplayOptions { gamma: 0.25, ..replay.options },
        ReplayOptions { priority_exponent: 0.0, ..replay.options },
    ] {
        let error = Replay::new(other).unwrap().restore(&saved).unwrap_err();
        assert!(error.contains("another replay buffer"), "{error}");
    }
}

/// Whoever can compute the checksum can write any state: it is refused, or is a buffer that works.
#[test]
fn altered_states_are_refused_or_work() {
    let mut random = SplitMix64::from_state(17);
    let (mut refused, mut taken) = (0, 0);
    for layout in [LAYOUT, HOSTS] {
        let replay = filled(layout, 7);
        let saved = state(&replay);
        for round in 0..1500u64 {
            let mut bytes = saved[..saved.len() - 8].to_vec();
            for _ in 0..=round % 3 {
                let place = random.next_u64() as usize % (bytes.len() / 8) * 8;
                let word = match random.next_u64() % 4 {
                    0 => random.next_u64() % 30,
                    1 => u64::MAX - random.next_u64() % 3,
                    2 => (random.next_u64() as i32 as f64).to_bits(),
                    _ => random.next_u64(),
                };
                bytes[place..place + 8].copy_from_slice(&word.to_le_bytes());
            }
            if round % 10 == 0 {
                bytes.truncate(random.next_u64() as usize % (bytes.len() / 8) * 8);
            }
            let mut hash = Fingerprint::default();
            bytes.chunks(8).for_each(|word| hash.add(u64::from_le_bytes(word.try_into().unwrap())));
            bytes.extend(hash.finish().to_le_bytes());
            let mut other = Replay::new(replay.options).unwrap();
            if other.restore(&bytes).is_err() {
                refused += 1;
                continue;
            }
            taken += 1;
            assert!(sample(&mut other, 30).is_ok());
            let mut played = Played::new(&mut other, round);
            (0..12).for_each(|_| played.step(&mut other));
            assert!(sample(&mut other, 30).is_ok());
        }
    }
    assert!(refused > 300 && taken > 300, "{refused} {taken}");
}

#[test]
fn options_that_cannot_be_are_refused() {
    let right = options(LAYOUT);
    let wrong = [
        ReplayOptions { environments: 0, ..right },
        ReplayOptions { environments: 5, ..right },
        ReplayOptions { environments: usize::MAX, ..right },
        ReplayOptions { capacity: 0, ..right },
        ReplayOptions { capacity: usize::MAX, ..right },
        ReplayOptions { n_step: 0, ..right },
        ReplayOptions { n_step: 5, ..right },
        ReplayOptions { gamma: f64::NAN, ..right },
        ReplayOptions { gamma: 1.01, ..right },
        ReplayOptions { priority_exponent: -0.1, ..right },
        ReplayOptions { layout: Layout::Host { hosts: 0 }, ..right },
    ];
    assert!(wrong.into_iter().all(|options| Replay::new(options).is_err()));
    assert!(Replay::new(right).is_ok());
}
