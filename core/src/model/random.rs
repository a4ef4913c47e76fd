//! SplitMix64 (Steele, Lea, Flood 2014), keyed by a seed and a job, so that a draw has no side effects.

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// A generator of 64-bit numbers.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

/// The generator's output function, applied to one step after `value`.
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(GAMMA);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl SplitMix64 {
    /// The generator that belongs to one job under one seed.
    pub fn for_job(seed: u64, job: u32) -> Self {
        SplitMix64 { state: mix(mix(seed).wrapping_add(u64::from(job))) }
    }

    /// Where the generator is, and the generator that is there.
    pub fn state(&self) -> u64 {
        self.state
    }

    /// See `state`.
    pub fn from_state(state: u64) -> Self {
        SplitMix64 { state }
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        let output = mix(self.state);
        self.state = self.state.wrapping_add(GAMMA);
        output
    }

    /// Shuffles in place by Fisher-Yates, from the last place down.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = (self.next_u64() % (last as u64 + 1)) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_sequence() {
        // First outputs for seed 1234567, as in the reference implementation of the paper's authors.
        let mut generator = SplitMix64 { state: 1_234_567 };
        assert_eq!(generator.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(generator.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        SplitMix64::for_job(7, 3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
