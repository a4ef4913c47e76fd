//! What a simulation is asked to do.

use std::sync::Arc;

use crate::model::codes::from_code;
use crate::model::job::{MAX_DURATION_MS, UNKNOWN};
pub use crate::model::size::SizeBy;
pub use crate::order::estimate::Estimate;
use crate::order::gittins::Bins;
use crate::order::pairs::PAIR_PARAMETERS;
pub use crate::order::scores::Policy;
use crate::place::external::SharedPlacer;
use crate::place::learned::HostPolicy;
pub use crate::place::rules::Rule;
pub use crate::place::types::PairRule;
use crate::sim::failures::NodeEvent;

/// The greatest loss that a job may take without waiting: 1,000 times its run time.
const MOST_LOSS: i64 = 1_000_000_000;

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

/// All of it; the meaning of each field is written out in `docs/simulation.md`.
#[derive(Clone, Debug)]
pub struct Config {
    /// The order of the queue.
    pub policy: Policy,
    /// What the policy needs to know; each `Policy` says what that is.
    pub policy_parameters: Arc<[f64]>,
    /// What happens when the next job does not fit.
    pub dispatch: Dispatch,
    /// Which nodes it gets.
    pub placement: Rule,
    /// The run time that the policy sees.
    pub estimate: Estimate,
    /// What the estimate needs to know; each `Estimate` says what that is.
    pub estimate_parameters: Arc<[f64]>,
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
    /// What a start after a stop costs before progress is made.
    pub preemption_overhead_ms: i64,
    /// What it costs on top, for each GB of the job's memory.
    pub preemption_overhead_per_gb_ms: i64,
    /// No policy stops a job that has not run for so long since its latest start.
    pub minimum_run_ms: i64,
    /// A job whose node fails keeps its progress.
    pub failure_keeps_progress: bool,
    /// How long a node is up, and down, on average, if failures are drawn.
    pub mean_up_down_ms: Option<(i64, i64)>,
    /// Nodes that go down and come up, in the order of time.
    pub node_events: Arc<[NodeEvent]>,
    /// Who is asked for nodes, for the placements that ask somebody.
    pub placer: Option<SharedPlacer>,
    /// What jobs' sizes are counted in.
    pub size_by: SizeBy,
    /// When the log begins, from which policies count that need to know how late a job comes.
    pub origin_ms: i64,
    /// How long a job waits for nodes that are close enough; none: for ever.
    pub locality_wait_ms: Option<i64>,
    /// By how much longer it may run, in millionths, on nodes that it takes without waiting; none: it takes the closest
    /// alone, whether others cost it anything or not.
    pub locality_loss_micro: Option<i64>,
    /// Which types of GPUs a job takes.
    pub pairs: PairRule,
    /// What a second on each type of GPU costs; none where nobody asks.
    pub type_prices: Arc<[f64]>,
    /// How many times the cost of its cheapest type a job takes.
    pub price_factor: f64,
}

impl Config {
    /// Whether the order has to be made anew at every pass.
    pub fn order_moves(&self) -> bool {
        self.policy.moves() || self.policy.uses_estimate() && self.estimate.is_learned() && !self.policy.preempts()
    }

    /// Whether jobs choose among types of GPUs.
    pub fn chooses_types(&self) -> bool {
        self.pairs != PairRule::Any || self.policy == Policy::Pairs
    }

    /// Whether jobs take only types that cost little; a score over pairs refuses them itself.
    pub fn keeps_to_prices(&self) -> bool {
        self.pairs == PairRule::Price && self.policy != Policy::Pairs
    }

    /// Whether a job that fits waits for another type, by what runs now.
    pub fn ends_first(&self) -> bool {
        self.pairs == PairRule::Eft
    }

    /// Whether a job waits for nodes that are close together, though it fits.
    pub fn waits_for_locality(&self) -> bool {
        self.locality_wait_ms != Some(0)
    }

    /// For how long a job does; none if it is not a matter of time.
    pub fn locality_patience_ms(&self) -> Option<i64> {
        self.locality_wait_ms.filter(|&wait_ms| wait_ms > 0)
    }

    /// Whether nodes may fail.
    pub fn has_failures(&self) -> bool {
        self.mean_up_down_ms.is_some() || !self.node_events.is_empty()
    }

    /// Whether a job that is stopped keeps the work that it has done.
    pub(crate) fn keeps_progress(&self, by_failure: bool) -> bool {
        if by_failure {
            self.failure_keeps_progress
        } else {
            self.keep_progress
        }
    }

    /// Whether a job that fits may be given no nodes all the same.
    pub fn may_decline(&self) -> bool {
        self.placement == Rule::External
    }

    /// The learned policy that places jobs, if one does.
    pub fn host_policy(&self) -> Option<&HostPolicy> {
        match &self.placer {
            Some(SharedPlacer::Policy(policy)) if self.placement == Rule::Learned => Some(policy),
            _ => None,
        }
    }

    /// Whether every number can be so.
    pub fn check(&self) -> Result<(), String> {
        if self.scan_depth == 0 {
            return Err("scan_depth is 0; expected 1 or more".to_string());
        }
        if self.placement == Rule::Learned && self.host_policy().is_none() {
            return Err("placement is learned, but there is no policy that places".to_string());
        }
        let durations = [
            ("missing_request_ms", self.missing_request_ms),
            ("max_wait_ms", self.max_wait_ms),
            ("preemption_overhead_ms", Some(self.preemption_overhead_ms)),
            ("preemption_overhead_per_gb_ms", Some(self.preemption_overhead_per_gb_ms)),
            ("minimum_run_ms", Some(self.minimum_run_ms)),
            ("locality_wait_ms", self.locality_wait_ms),
        ];
        for (name, value) in durations {
            if let Some(value) = value.filter(|value| !(0..=MAX_DURATION_MS).contains(value)) {
                return Err(format!("{name} is {value}; expected 0 to {MAX_DURATION_MS}"));
            }
        }
        if let Some(loss) = self.locality_loss_micro.filter(|loss| !(0..=MOST_LOSS).contains(loss)) {
            return Err(format!("locality_loss_micro is {loss}; expected 0 to {MOST_LOSS}"));
        }
        if self.policy.preempts() && matches!(self.dispatch, Dispatch::Committed { .. }) {
            return Err(format!("policy {:?} stops running jobs, and commits none", self.policy));
        }
        if let Some((up_ms, down_ms)) = self.mean_up_down_ms {
            if !(1..=MAX_DURATION_MS).contains(&up_ms) || !(1..=MAX_DURATION_MS).contains(&down_ms) {
                return Err(format!("mtbf_ms is {up_ms} and mttr_ms {down_ms}; expected 1 to {MAX_DURATION_MS}"));
            }
        }
        self.check_pairs()?;
        self.check_parameters()
    }

    /// Whether types of GPUs can be chosen as the rule says.
    fn check_pairs(&self) -> Result<(), String> {
        if let Some(price) = self.type_prices.iter().find(|price| !(price.is_finite() && **price > 0.0)) {
            return Err(format!("a price of a type of GPU is {price}; expected a positive number"));
        }
        if self.pairs == PairRule::Price && self.type_prices.is_empty() {
            return Err("jobs keep to prices, but there are none".to_string());
        }
        if !(self.price_factor.is_finite() && self.price_factor >= 1.0) {
            return Err(format!("price_factor is {}; expected 1 or more", self.price_factor));
        }
        if !self.ends_first() && self.policy != Policy::Pairs {
            return Ok(());
        }
        let one_by_one = match self.dispatch {
            Dispatch::Strict => self.policy != Policy::Pairs,
            Dispatch::Reserve { depth } => depth == 0 || depth == 1 && !self.may_decline(),
            Dispatch::Committed { .. } => false,
        };
        if !one_by_one || self.policy.preempts() || self.ends_first() && self.policy == Policy::Pairs {
            return Err(format!("pairs {:?} do not go with {:?} and {:?}", self.pairs, self.policy, self.dispatch));
        }
        Ok(())
    }

    /// Whether as many parameters were given as the policy and the estimate need, and each is a number.
    fn check_parameters(&self) -> Result<(), String> {
        let policy = self.policy_parameters.len();
        let wanted = match self.policy {
            Policy::Hybrid => policy == 1,
            Policy::F1 | Policy::F2 | Policy::F3 | Policy::F4 => policy <= 1,
            Policy::FairShare => policy >= 1,
            Policy::Multifactor => policy >= 6,
            Policy::Linear => policy == 12,
            Policy::Pairs => policy == PAIR_PARAMETERS,
            Policy::Las => self.policy_parameters.windows(2).all(|pair| pair[0] <= pair[1]),
            Policy::Srtf => policy <= 1,
            Policy::Gittins => Bins::new(&self.policy_parameters).map(|_| true)?,
            _ => policy == 0,
        };
        if !wanted || self.policy_parameters.iter().any(|value| value.is_nan()) {
            return Err(format!("the {policy} parameters of the policy are not what {:?} needs", self.policy));
        }
        let estimate = self.estimate_parameters.len();
        let wanted = match self.estimate {
            Estimate::Noisy => estimate == 1,
            Estimate::Posterior => true,
            _ => estimate == 0,
        };
        if !wanted || self.estimate_parameters.iter().any(|value| !value.is_finite()) {
            return Err(format!("the {estimate} parameters of the estimate are not what {:?} needs", self.estimate));
        }
        Ok(())
    }
}

/// A duration that may be left out: `UNKNOWN` outside.
pub(crate) fn optional(value: i64) -> Option<i64> {
    Some(value).filter(|&value| value != UNKNOWN)
}

/// The numbers of the dispatch rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum DispatchRule {
    /// The next job blocks those behind it.
    Strict = 0,
    /// So many jobs hold reservations as the depth says.
    Reserve = 1,
    /// The next job is committed.
    Committed = 2,
    /// It is committed, and others are filled in.
    CommittedBackfill = 3,
}

from_code!(DispatchRule: Strict, Reserve, Committed, CommittedBackfill);

impl Dispatch {
    /// The rule with this number; the depth belongs to reservations.
    pub fn from_code(code: i64, depth: u32) -> Option<Self> {
        Some(match DispatchRule::from_code(code)? {
            DispatchRule::Strict => Dispatch::Strict,
            DispatchRule::Reserve => Dispatch::Reserve { depth },
            DispatchRule::Committed => Dispatch::Committed { backfill: false },
            DispatchRule::CommittedBackfill => Dispatch::Committed { backfill: true },
        })
    }

    /// The number of this rule, and its depth.
    pub fn code(self) -> (i64, u32) {
        match self {
            Dispatch::Strict => (DispatchRule::Strict.code(), 0),
            Dispatch::Reserve { depth } => (DispatchRule::Reserve.code(), depth),
            Dispatch::Committed { backfill: false } => (DispatchRule::Committed.code(), 0),
            Dispatch::Committed { backfill: true } => (DispatchRule::CommittedBackfill.code(), 0),
        }
    }
}
