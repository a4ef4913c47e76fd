//! Vector instructions, chosen when the program runs.
//!
//! A loop in `vectorized!` is compiled twice: for any processor, and for those with AVX2 and FMA. AVX-512 is left out:
//! on the processors at hand it multiplies no faster, and Rust has it only since 1.89.

/// The instructions that loops over numbers may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Instructions {
    /// Those that every processor has.
    #[default]
    Portable = 0,
    /// AVX2 and FMA.
    Avx2 = 1,
}

impl Instructions {
    /// The best that this processor has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            return Instructions::Avx2;
        }
        Instructions::Portable
    }

    /// Whether this processor has them.
    pub fn are_there(self) -> bool {
        self == Instructions::Portable || self == Instructions::detect()
    }
}

/// Makes of a function one that is compiled for each kind of instructions, and takes which to use as its first argument.
///
/// The body must be a plain loop: it is the compiler that makes vectors of it.
macro_rules! vectorized {
    ($(#[$attribute:meta])* fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        pub(crate) fn $name(instructions: $crate::net::simd::Instructions, $($argument: $kind),*) {
            #[inline(always)]
            fn body($($argument: $kind),*) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn wide($($argument: $kind),*) {
                body($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            if instructions == $crate::net::simd::Instructions::Avx2 {
                // SAFETY: `Instructions` other than the portable ones are only handed out where the processor has them.
                return unsafe { wide($($argument),*) };
            }
            let _ = instructions;
            body($($argument),*)
        }
    };
}

pub(crate) use vectorized;

#[cfg(test)]
pub(crate) mod tests {
    use super::Instructions;
    use crate::model::random::SplitMix64;

    /// The instructions that this processor has: tests run with each.
    pub(crate) fn kinds() -> Vec<Instructions> {
        [Instructions::Portable, Instructions::Avx2].into_iter().filter(|kind| kind.are_there()).collect()
    }

    /// So many numbers from −1 to 1.
    pub(crate) fn drawn(seed: u64, count: usize) -> Vec<f32> {
        let mut random = SplitMix64::from_state(seed);
        (0..count).map(|_| (random.next_u64() >> 40) as f32 / (1u64 << 23) as f32 - 1.0).collect()
    }

    /// Holds a number to what it should be.
    pub(crate) fn close(found: f32, expected: f64, tolerance: f64) {
        let off = (f64::from(found) - expected).abs();
        assert!(off <= tolerance * expected.abs().max(1.0), "{found} is off by {off} from {expected}");
    }

    #[test]
    fn the_best_instructions_are_there() {
        assert!(kinds().contains(&Instructions::detect()));
        assert!(kinds().contains(&Instructions::Portable));
    }
}
