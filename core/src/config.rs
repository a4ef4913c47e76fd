//! What a simulation is asked to do.

pub use crate::placement::Rule;
pub use crate::policy::Policy;

/// What happens when the next job does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// It blocks those behind it.
    Strict,
    /// The first `depth` jobs that cannot start hold reservations: 0 is greedy, 1 is EASY, `u32::MAX` is conservative.
    Reserve {
        /// How many.
        depth: u32,
    },
    /// It is committed, and the clock moves until it fits.
    Committed {
        /// Whether jobs that end before its earliest start are filled in.
        backfill: bool,
    },
}

/// The run time that a policy may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimate {
    /// What the user asked for.
    Requested,
    /// The true run time.
    Perfect,
}

/// All of it; the meaning of each field is written out in `docs/simulation.md`.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who is next.
    pub policy: Policy,
    /// What happens when the next job does not fit.
    pub dispatch: Dispatch,
    /// Which nodes it gets.
    pub placement: Rule,
    /// The run time that the policy sees.
    pub estimate: Estimate,
    /// What stands in for an unknown request; none: the run time.
    pub missing_request_ms: Option<i64>,
    /// Reservations go by the estimate, not by the request.
    pub reserve_by_estimate: bool,
    /// A job that outlives its request is killed at it.
    pub kill_at_request: bool,
    /// A job that has waited so long goes first.
    pub max_wait_ms: Option<i64>,
    /// How many waiting jobs a pass with several reservations, or with a moving order, looks at.
    pub scan_depth: u32,
    /// Where every random choice comes from.
    pub seed: u64,
    /// A preempted job keeps its progress.
    pub keep_progress: bool,
    /// What a start after a preemption costs before progress is made.
    pub preemption_overhead_ms: i64,
}

/// Numbers for names: part of the C ABI and of saved simulations.
macro_rules! codes {
    ($type:ty, $($number:literal = $name:path),+ $(,)?) => {
        impl $type {
            /// The name with this number.
            pub fn from_code(code: i64) -> Option<Self> {
                match code {
                    $($number => Some($name),)+
                    _ => None,
                }
            }

            /// The number of this name.
            pub fn code(self) -> i64 {
                match self {
                    $($name => $number,)+
                }
            }
        }
    };
}

codes!(Estimate, 0 = Estimate::Requested, 1 = Estimate::Perfect);
codes!(
    Rule,
    0 = Rule::FirstFit,
    1 = Rule::BestFit,
    2 = Rule::WorstFit,
    3 = Rule::Pack,
    4 = Rule::Spread,
    5 = Rule::Random,
);
codes!(
    Policy,
    0 = Policy::Fcfs,
    1 = Policy::Sjf,
    2 = Policy::Smallest,
    3 = Policy::F1,
    4 = Policy::F2,
    5 = Policy::F3,
    6 = Policy::F4,
    7 = Policy::Random,
    8 = Policy::Given,
);

impl Dispatch {
    /// The rule with this number; the depth belongs to reservations.
    pub fn from_code(code: i64, depth: u32) -> Option<Self> {
        match code {
            0 => Some(Dispatch::Strict),
            1 => Some(Dispatch::Reserve { depth }),
            2 => Some(Dispatch::Committed { backfill: false }),
            3 => Some(Dispatch::Committed { backfill: true }),
            _ => None,
        }
    }

    /// The number of this rule, and its depth.
    pub fn code(self) -> (i64, u32) {
        match self {
            Dispatch::Strict => (0, 0),
            Dispatch::Reserve { depth } => (1, depth),
            Dispatch::Committed { backfill } => (2 + i64::from(backfill), 0),
        }
    }
}
