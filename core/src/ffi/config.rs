//! The configuration of a simulation across the border: numbers become names, and nothing is believed.

use std::fmt::Debug;
use std::sync::Arc;

use super::placer::{Callback, ShunterScene};
use super::{borrow, check_pointer, guard, policy, read, Failure};
use crate::model::config::{optional, Config, Dispatch, Estimate, PairRule, Policy, Rule, SizeBy};
use crate::model::job::MAX_TIME_MS;
use crate::place::external::SharedPlacer;
use crate::place::learned::HostPolicy;
use crate::sim::failures::NodeEvent;

/// `Config`, as C sees it; the numbers for names are in `core/include/shunter.h`.
#[repr(C)]
pub struct ShunterConfig {
    /// A policy's number.
    pub policy: i32,
    /// A dispatch rule's number.
    pub dispatch: i32,
    /// How many reservations, for the rule that makes them.
    pub reservation_depth: u32,
    /// A placement's number.
    pub placement: i32,
    /// An estimate's number.
    pub estimate: i32,
    /// 0 or 1.
    pub reserve_by_estimate: i32,
    /// 0 or 1.
    pub kill_at_request: i32,
    /// 0 or 1.
    pub keep_progress: i32,
    /// −1: the run time.
    pub missing_request_ms: i64,
    /// −1: no guard.
    pub max_wait_ms: i64,
    /// 0 or more.
    pub preemption_overhead_ms: i64,
    /// 1 or more.
    pub scan_depth: u32,
    /// Any number.
    pub seed: u64,
    /// What the policy needs to know.
    pub policy_parameters: *const f64,
    /// How many.
    pub policy_parameters_length: usize,
    /// What the estimate needs to know.
    pub estimate_parameters: *const f64,
    /// How many.
    pub estimate_parameters_length: usize,
    /// 0 or more.
    pub minimum_run_ms: i64,
    /// −1: no failures are drawn.
    pub mtbf_ms: i64,
    /// −1: no failures are drawn.
    pub mttr_ms: i64,
    /// 0 or 1.
    pub failure_keeps_progress: i32,
    /// When nodes go down or come up, in order.
    pub node_event_ms: *const i64,
    /// Which nodes.
    pub node_event_node: *const u32,
    /// 0: down, 1: up.
    pub node_event_up: *const u8,
    /// How many.
    pub node_events_length: usize,
    /// Who is asked for nodes, for the placement that is external.
    pub placer: Option<
        unsafe extern "C" fn(
            context: u64,
            scene: *const ShunterScene,
            nodes: *mut u32,
            tasks: *mut u32,
            capacity: usize,
        ) -> usize,
    >,
    /// What the placer is told about itself.
    pub placer_context: u64,
    /// A number of `SizeBy`.
    pub size_by: i32,
    /// When the log begins.
    pub origin_ms: i64,
    /// The policy that chooses hosts, for the placement that is learned; otherwise 0. It is copied.
    pub host_policy: u64,
    /// 0 or more.
    pub preemption_overhead_per_gb_ms: i64,
    /// −1: for ever; 0: not at all.
    pub locality_wait_ms: i64,
    /// −1: none but the closest nodes will do.
    pub locality_loss_micro: i64,
    /// A number of `PairRule`.
    pub pairs: i32,
    /// What a second on each type of GPU costs, by the type's number.
    pub type_prices: *const f64,
    /// How many; 0 where there are none.
    pub type_prices_length: usize,
    /// 1 or more; any number where jobs take any type.
    pub price_factor: f64,
}

/// When a log begins, if that can be.
pub(super) fn origin_ms(value: i64) -> Result<i64, Failure> {
    match (-MAX_TIME_MS..=MAX_TIME_MS).contains(&value) {
        true => Ok(value),
        false => Err(Failure::argument(format!("origin_ms is {value}; expected {} to {MAX_TIME_MS}", -MAX_TIME_MS))),
    }
}

/// What sizes are counted in, by its number.
pub(super) fn size_by(code: i32) -> Result<SizeBy, Failure> {
    let unknown = || Failure::argument(format!("size_by is {code}; there is none with this number"));
    SizeBy::from_code(code.into()).ok_or_else(unknown)
}

/// # Safety
/// The parameters must be readable for their lengths.
unsafe fn config(given: &ShunterConfig) -> Result<Config, Failure> {
    let unknown =
        |what: &str, code: i32| Failure::argument(format!("{what} is {code}; there is none with this number"));
    let flag = |what: &str, value: i32| match value {
        0 | 1 => Ok(value == 1),
        _ => Err(Failure::argument(format!("{what} is {value}; expected 0 or 1"))),
    };
    let policy = unsafe { read("policy_parameters", given.policy_parameters, given.policy_parameters_length) }?;
    let estimate = unsafe { read("estimate_parameters", given.estimate_parameters, given.estimate_parameters_length) }?;
    let prices = unsafe { read("type_prices", given.type_prices, given.type_prices_length) }?;
    let placement = Rule::from_code(given.placement.into()).ok_or_else(|| unknown("placement", given.placement))?;
    if placement == Rule::External && given.placer.is_none() {
        return Err(Failure::argument("placement is external, but placer is null".to_string()));
    }
    let config = Config {
        policy_parameters: policy.into(),
        estimate_parameters: estimate.into(),
        policy: Policy::from_code(given.policy.into()).ok_or_else(|| unknown("policy", given.policy))?,
        dispatch: Dispatch::from_code(given.dispatch.into(), given.reservation_depth)
            .ok_or_else(|| unknown("dispatch", given.dispatch))?,
        placement,
        estimate: Estimate::from_code(given.estimate.into()).ok_or_else(|| unknown("estimate", given.estimate))?,
        missing_request_ms: optional(given.missing_request_ms),
        reserve_by_estimate: flag("reserve_by_estimate", given.reserve_by_estimate)?,
        kill_at_request: flag("kill_at_request", given.kill_at_request)?,
        max_wait_ms: optional(given.max_wait_ms),
        scan_depth: given.scan_depth,
        seed: given.seed,
        keep_progress: flag("keep_progress", given.keep_progress)?,
        preemption_overhead_ms: given.preemption_overhead_ms,
        preemption_overhead_per_gb_ms: given.preemption_overhead_per_gb_ms,
        minimum_run_ms: given.minimum_run_ms,
        failure_keeps_progress: flag("failure_keeps_progress", given.failure_keeps_progress)?,
        mean_up_down_ms: means(given)?,
        node_events: unsafe { node_events(given) }?,
        placer: placer(given, placement)?,
        size_by: size_by(given.size_by)?,
        origin_ms: origin_ms(given.origin_ms)?,
        locality_wait_ms: optional(given.locality_wait_ms),
        locality_loss_micro: optional(given.locality_loss_micro),
        pairs: PairRule::from_code(given.pairs.into()).ok_or_else(|| unknown("pairs", given.pairs))?,
        type_prices: prices.into(),
        // Who chooses no types leaves it at 0.
        price_factor: if given.pairs == 0 { 1.0 } else { given.price_factor },
    };
    config.check().map_err(Failure::argument)?;
    Ok(config)
}

/// Who is asked for nodes.
fn placer(given: &ShunterConfig, placement: Rule) -> Result<Option<SharedPlacer>, Failure> {
    if placement == Rule::Learned {
        if given.host_policy == 0 {
            return Err(Failure::argument("placement is learned, but host_policy is 0".to_string()));
        }
        let network = policy::with(given.host_policy, |policy| Ok(policy.network.clone()))?;
        return Ok(Some(SharedPlacer::Policy(Arc::new(HostPolicy::new(network).map_err(Failure::argument)?))));
    }
    let context = given.placer_context;
    Ok(given.placer.map(|ask| SharedPlacer::Outside(Arc::new(Callback { ask, context }))))
}

/// How long nodes are up and down, both or neither.
fn means(given: &ShunterConfig) -> Result<Option<(i64, i64)>, Failure> {
    match (optional(given.mtbf_ms), optional(given.mttr_ms)) {
        (Some(up_ms), Some(down_ms)) => Ok(Some((up_ms, down_ms))),
        (None, None) => Ok(None),
        _ => Err(Failure::argument("mtbf_ms and mttr_ms go together; give both or none".to_string())),
    }
}

/// # Safety
/// The arrays must be readable for their length.
unsafe fn node_events(given: &ShunterConfig) -> Result<Arc<[NodeEvent]>, Failure> {
    let count = given.node_events_length;
    let times = unsafe { read("node_event_ms", given.node_event_ms, count) }?;
    let nodes = unsafe { read("node_event_node", given.node_event_node, count) }?;
    let ups = unsafe { read("node_event_up", given.node_event_up, count) }?;
    if times.windows(2).any(|pair| pair[1] < pair[0])
        || times.iter().any(|time_ms| time_ms.unsigned_abs() > MAX_TIME_MS as u64)
    {
        return Err(Failure::argument("node_event_ms: expected times in ascending order".to_string()));
    }
    let event = |place: usize| NodeEvent { time_ms: times[place], node: nodes[place], up: ups[place] != 0 };
    Ok((0..count).map(event).collect())
}

/// # Safety
/// A non-null pointer must be readable, and so must what it points to.
pub(super) unsafe fn read_config(given: *const ShunterConfig) -> Result<Config, Failure> {
    check_pointer("config", given as usize, std::mem::align_of::<ShunterConfig>())?;
    unsafe { config(&*given) }
}

/// Tells the number of a name: `kind` is `policy`, `placement`, `estimate` or `size-by`. The policy `priority` is the one
/// whose scores are given.
///
/// # Safety
/// `kind` and `name` must be readable for their lengths; `number` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_number_of(
    kind: *const u8,
    kind_length: usize,
    name: *const u8,
    name_length: usize,
    number: *mut i32,
) -> i32 {
    guard(|| {
        borrow!(target; number);
        borrow!(read kind_length; kind);
        borrow!(read name_length; name);
        let (kind, name) = (String::from_utf8_lossy(kind), String::from_utf8_lossy(name));
        let found = match &*kind {
            "policy" if name == "priority" => Some(Policy::Given.code()),
            "policy" => named(&name, Policy::from_code, Policy::code),
            "placement" => named(&name, Rule::from_code, Rule::code),
            "estimate" => named(&name, Estimate::from_code, Estimate::code),
            "size-by" => named(&name, SizeBy::from_code, SizeBy::code),
            _ => return Err(Failure::argument(format!("there are no numbers for a {kind:?}"))),
        };
        *number = found.ok_or_else(|| Failure::argument(format!("there is no {kind} of the name {name:?}")))? as i32;
        Ok(())
    })
}

/// The number of an enum's variant by its name as users write it: `FairShare` is `fair-share`.
fn named<T: Copy + Debug>(name: &str, from_code: impl Fn(i64) -> Option<T>, code: impl Fn(T) -> i64) -> Option<i64> {
    let written = |one: T| {
        let mut text = String::new();
        for letter in format!("{one:?}").chars() {
            if letter.is_ascii_uppercase() && !text.is_empty() {
                text.push('-');
            }
            text.push(letter.to_ascii_lowercase());
        }
        text
    };
    (0..).map_while(from_code).find(|&one| written(one) == name).map(code)
}
