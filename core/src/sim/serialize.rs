//! A simulation as bytes, and back: fingerprinted, checked, and complete to the last reservation.

use std::sync::Arc;

use crate::model::cluster::{Cluster, RejectReason};
use crate::model::config::{optional, Config, Dispatch, Estimate, PairRule, Policy, Rule, SizeBy};
use crate::model::job::{Jobs, UNKNOWN};
use crate::net::graph::{Activation, Parameter};
use crate::net::network::Network;
use crate::net::spec::{Layout, NetworkKind, NetworkSpec, TowerLayer};
use crate::place::external::SharedPlacer;
use crate::place::learned::HostPolicy;
use crate::place::placement::belongs;
use crate::sim::bytes::{checked_time, Reader, Writer};
use crate::sim::failures::NodeEvent;
use crate::sim::job_state::{JobState, Phase, Reservation};
use crate::sim::setup::Setup;
use crate::sim::simulation::Simulation;

/// Tells saved simulations of this form from all else; the last byte is the form's number.
const MAGIC: i64 = 0x3152_544E_5548_5308;

/// The form before jobs could be held.
const MAGIC_WITHOUT_HOLDS: i64 = 0x3152_544E_5548_5307;

/// The form before jobs chose among types of GPUs.
const MAGIC_WITHOUT_PAIRS: i64 = 0x3152_544E_5548_5306;

/// The form before jobs could wait for nodes that are close together.
const MAGIC_WITHOUT_LOCALITY: i64 = 0x3152_544E_5548_5305;

/// The form before stops had a cost for a job's memory.
const MAGIC_OF_FLAT_COSTS: i64 = 0x3152_544E_5548_5304;

/// The form before sizes had a choice, when they were cores, and before logs had a beginning.
const MAGIC_OF_CORES: i64 = 0x3152_544E_5548_5303;

impl Simulation {
    /// The whole state as bytes.
    pub fn serialize(&self) -> Vec<u8> {
        let mut out = Writer::default();
        let Setup { cluster, jobs, window, config, given, .. } = &self.setup;
        let fixed =
            [MAGIC, jobs.fingerprint as i64, cluster.fingerprint as i64, window.start as i64, window.end as i64];
        fixed.into_iter().for_each(|value| out.put(value));
        write_config(&mut out, config);
        out.put(config.size_by.code());
        out.put(config.origin_ms);
        out.put(config.preemption_overhead_per_gb_ms);
        out.put(config.locality_wait_ms.unwrap_or(UNKNOWN));
        out.put(config.locality_loss_micro.unwrap_or(UNKNOWN));
        out.put(config.pairs.code());
        out.put_floats(&config.type_prices);
        out.put_floats(&[config.price_factor]);
        config.host_policy().iter().for_each(|policy| write_network(&mut out, policy.network()));
        out.put_floats(given);
        out.put_all(self.waiting.queue.order().map(i64::from));
        out.put(self.now_ms());
        out.put(i64::from(self.machine.starts()));
        self.promises.write_version(&mut out);
        out.put(i64::from(self.clock.undecided));
        self.promises.write(&mut out);
        for (job, state) in self.states.iter().enumerate() {
            write_state(&mut out, state, self.waiting.queue.is_first(job as u32));
            out.put(state.vain_ms);
            out.put(state.eligible_ms);
        }
        self.accounts.write(&mut out);
        self.failures.iter().for_each(|failures| failures.write(&mut out));
        out.put(self.waiting.contest.as_ref().and_then(|contest| contest.review_ms).unwrap_or(i64::MAX));
        self.machine.write_stops(&mut out);
        if self.is_ruled() {
            out.put(self.clock.quiet_since_ms);
        }
        out.seal()
    }

    /// The simulation that was saved, on the same jobs and cluster.
    pub fn restore(cluster: Arc<Cluster>, jobs: Arc<Jobs>, bytes: &[u8]) -> Result<Self, String> {
        let mut input = Reader::new(bytes)?;
        let magic = input.get()?;
        let with_pairs = [MAGIC, MAGIC_WITHOUT_HOLDS].contains(&magic);
        let with_locality = with_pairs || magic == MAGIC_WITHOUT_PAIRS;
        if !with_locality && ![MAGIC_WITHOUT_LOCALITY, MAGIC_OF_FLAT_COSTS, MAGIC_OF_CORES].contains(&magic) {
            return Err("these bytes are not a saved simulation of this version".to_string());
        }
        if input.get()? != jobs.fingerprint as i64 || input.get()? != cluster.fingerprint as i64 {
            return Err("the saved state belongs to other jobs or another cluster".to_string());
        }
        let window = input.number::<usize>()?..input.number::<usize>()?;
        if window.start >= window.end || window.end > jobs.len() {
            return Err("the saved state has an impossible window".to_string());
        }
        let mut config = read_config(&mut input)?;
        if magic != MAGIC_OF_CORES {
            config.size_by = SizeBy::from_code(input.get()?).ok_or("the saved state has unknown sizes")?;
            config.origin_ms = input.time()?;
        }
        if with_locality || magic == MAGIC_WITHOUT_LOCALITY {
            config.preemption_overhead_per_gb_ms = input.get()?;
        }
        if with_locality {
            config.locality_wait_ms = optional(input.get()?);
            config.locality_loss_micro = optional(input.get()?);
        }
        if with_pairs {
            config.pairs = PairRule::from_code(input.get()?).ok_or("the saved state has an unknown rule for pairs")?;
            config.type_prices = input.floats()?.into();
            config.price_factor = input.floats()?.first().copied().unwrap_or(f64::NAN);
        }
        if config.placement == Rule::Learned {
            let policy = HostPolicy::new(read_network(&mut input)?)?;
            config.placer = Some(SharedPlacer::Policy(Arc::new(policy)));
        }
        let given = input.floats()?;
        let wanted = if config.order_moves() && config.policy.wants_given() { window.len() } else { 0 };
        if given.len() != wanted || given.iter().any(|value| !value.is_finite()) {
            return Err("the saved state's scores do not belong to its jobs".to_string());
        }
        let order = read_order(&mut input, window.len())?;
        // Bytes that were made up must not get further than a caller's wrong numbers would.
        config.check()?;
        let setup = Setup::new(cluster, jobs, window, config, &given)?;
        let mut simulation = Simulation::with_order(setup, order)?;
        simulation.read_progress(&mut input, with_locality, magic == MAGIC)?;
        Ok(simulation)
    }

    /// `with_vain` says that the state tells how much work was lost, `with_holds` since when jobs may run.
    fn read_progress(&mut self, input: &mut Reader, with_vain: bool, with_holds: bool) -> Result<(), String> {
        self.clock.now_ms = input.time()?;
        self.machine.set_starts(input.count()?);
        self.promises.read_version(input)?;
        self.clock.undecided = input.flag()?;
        self.promises.read(input)?;
        let mut first = vec![false; self.states.len()];
        for (state, is_first) in self.states.iter_mut().zip(&mut first) {
            *is_first = read_state(input, state)?;
            state.vain_ms = if with_vain { input.time()? } else { 0 };
            // Without it a job may run as soon as it is submitted, as its state says already.
            if with_holds {
                state.eligible_ms = input.time()?;
            }
        }
        for (job, state) in self.states.iter_mut().enumerate() {
            // Not saved: earlier versions did not know it, and their states must still be read.
            state.done_ms = (self.setup.work_ms(job as u32, state) - state.remaining_ms).max(0);
        }
        self.check_start_numbers()?;
        self.check_held()?;
        self.accounts.read(&self.setup, &self.states, input)?;
        self.read_failures(input)?;
        self.read_stops(input)?;
        self.clock.quiet_since_ms = if self.is_ruled() { input.time()? } else { self.clock.now_ms };
        if !input.is_empty() {
            return Err("the saved state has more than belongs to it".to_string());
        }
        if first.contains(&true) && self.setup.config.max_wait_ms.is_none() {
            return Err("the saved state puts jobs first without a starvation guard".to_string());
        }
        // What follows from the jobs' states is not saved but worked out again, so it cannot contradict them.
        self.rebuild(|job| first[job as usize])?;
        self.check_promises()
    }

    fn read_failures(&mut self, input: &mut Reader) -> Result<(), String> {
        let Some(failures) = &mut self.failures else { return Ok(()) };
        failures.read(input, self.clock.now_ms)?;
        for node in 0..self.setup.cluster.nodes.len() as u32 {
            if failures.is_down(node) {
                self.machine.set_down(node, true);
            }
        }
        Ok(())
    }

    fn read_stops(&mut self, input: &mut Reader) -> Result<(), String> {
        let review_ms = Some(input.get()?).filter(|&time_ms| time_ms < i64::MAX).map(checked_time).transpose()?;
        if let Some(contest) = &mut self.waiting.contest {
            contest.review_ms = review_ms;
        }
        let (setup, states) = (&self.setup, &self.states);
        self.machine.read_stops(input, |job, placement| {
            let state = states.get(job as usize);
            // Of runs before a snapshot it is not known where they were.
            let is_known = placement.parts().next().is_some() || !placement.devices().is_empty();
            state.is_some_and(|state| !is_known || belongs(&setup.cluster, setup.shape_of(state), placement))
        })
    }

    /// Running jobs are found by the numbers of their starts: these must be different, and have been given out.
    fn check_start_numbers(&self) -> Result<(), String> {
        let running = self.states.iter().filter(|state| state.phase == Phase::Running);
        let mut numbers: Vec<u32> = running.map(|state| state.sequence).collect();
        numbers.sort_unstable();
        let is_twice = numbers.windows(2).any(|pair| pair[0] == pair[1]);
        if is_twice || numbers.last().is_some_and(|&last| last >= self.machine.starts()) {
            return Err("the saved state's running jobs have impossible start numbers".to_string());
        }
        Ok(())
    }

    /// No job has held nodes, or lost work, for longer than it has been there; and none runs before it came.
    fn check_held(&self) -> Result<(), String> {
        for (job, state) in self.states.iter().enumerate() {
            let there_ms = (self.now_ms() - self.setup.earliest_ms(job as u32)).max(0);
            let is_long =
                [state.held_ms, state.lost_ms, state.vain_ms].iter().any(|&time_ms| !(0..=there_ms).contains(&time_ms));
            let runs_since_ms = self.now_ms() - state.segment_start_ms;
            if is_long || state.phase == Phase::Running && !(0..=there_ms).contains(&runs_since_ms) {
                return Err(format!("the saved state's job {job} has held nodes for longer than it has been there"));
            }
        }
        Ok(())
    }

    /// Only jobs that wait are promised anything, and only on nodes that they may use.
    fn check_promises(&self) -> Result<(), String> {
        let waiting = |job: u32| self.states.get(job as usize).filter(|state| state.phase == Phase::Waiting);
        let holds = |&job: &u32| {
            waiting(job).is_some_and(|state| {
                let shape = self.setup.shape_of(state);
                state.reservation.is_some() && belongs(&self.setup.cluster, shape, &state.placement)
            })
        };
        let committed = self.promises.commitment().is_none_or(|held| waiting(held.job).is_some());
        if !committed || !self.promises.holders().iter().all(holds) {
            return Err("the saved state reserves for jobs that do not wait".to_string());
        }
        // A rule that knows nothing of a promise would never keep it, and those who wait for it would wait for ever.
        let dispatch = self.setup.config.dispatch;
        let reserves = matches!(dispatch, Dispatch::Reserve { depth: 1.. });
        let commits = matches!(dispatch, Dispatch::Committed { .. });
        let is_reserved = |state: &JobState| state.phase == Phase::Waiting && state.reservation.is_some();
        let mut holders = self.promises.holders().to_vec();
        holders.sort_unstable();
        let is_twice = holders.windows(2).any(|pair| pair[0] == pair[1]);
        if is_twice
            || !reserves && (!holders.is_empty() || self.states.iter().any(is_reserved))
            || !commits && self.promises.commitment().is_some()
        {
            return Err("the saved state makes promises that its rule does not make".to_string());
        }
        Ok(())
    }
}

fn read_order(input: &mut Reader, jobs: usize) -> Result<Vec<u32>, String> {
    let order = input.numbers::<u32>()?;
    let mut seen = vec![false; jobs];
    order.iter().for_each(|&job| seen.get_mut(job as usize).into_iter().for_each(|slot| *slot = true));
    if order.len() != jobs || seen.contains(&false) {
        return Err("the saved state's order does not name every job once".to_string());
    }
    Ok(order)
}

fn write_state(out: &mut Writer, state: &JobState, is_first: bool) {
    for value in [
        state.remaining_ms,
        state.limit_ms,
        state.start_ms,
        state.segment_start_ms,
        state.end_ms,
        state.held_ms,
        state.lost_ms,
        state.reserved_ms(),
        state.reservation.as_ref().map_or(0, |held| held.planned_at as i64),
        i64::from(state.sequence),
        i64::from(state.preemptions),
        i64::from(state.failures),
        state.phase as i64,
        state.reject_reason as i64,
        i64::from(state.doomed),
        i64::from(is_first),
    ] {
        out.put(value);
    }
    out.put_placement(&state.placement);
}

fn read_state(input: &mut Reader, state: &mut JobState) -> Result<bool, String> {
    state.remaining_ms = input.duration()?;
    state.limit_ms = input.duration()?.max(1);
    state.start_ms = input.time()?;
    state.segment_start_ms = input.time()?;
    state.end_ms = input.time()?;
    state.held_ms = input.time()?;
    state.lost_ms = input.time()?;
    let (start_ms, planned_at) = (input.get()?, input.number()?);
    state.reservation = match start_ms {
        i64::MAX => None,
        _ => Some(Box::new(Reservation { start_ms: checked_time(start_ms)?, planned_at })),
    };
    state.sequence = input.count()?;
    state.preemptions = input.count()?;
    state.failures = input.count()?;
    state.phase = Phase::from_code(input.number()?).ok_or("the saved state has an unknown phase")?;
    state.reject_reason = RejectReason::from_code(input.number()?).ok_or("the saved state has an unknown reason")?;
    state.doomed = input.flag()?;
    let is_first = input.flag()?;
    state.placement = input.placement()?;
    Ok(is_first)
}

fn write_config(out: &mut Writer, config: &Config) {
    let (dispatch, depth) = config.dispatch.code();
    for value in [
        config.policy.code(),
        dispatch,
        i64::from(depth),
        config.placement.code(),
        config.estimate.code(),
        config.missing_request_ms.unwrap_or(-1),
        i64::from(config.reserve_by_estimate),
        i64::from(config.kill_at_request),
        config.max_wait_ms.unwrap_or(-1),
        i64::from(config.scan_depth),
        config.seed as i64,
        i64::from(config.keep_progress),
        config.preemption_overhead_ms,
        config.minimum_run_ms,
        i64::from(config.failure_keeps_progress),
        config.mean_up_down_ms.map_or(-1, |means| means.0),
        config.mean_up_down_ms.map_or(-1, |means| means.1),
    ] {
        out.put(value);
    }
    out.put_floats(&config.policy_parameters);
    out.put_floats(&config.estimate_parameters);
    let events = config.node_events.iter();
    let numbers = events.flat_map(|event| [event.time_ms, i64::from(event.node), i64::from(event.up)]);
    out.put_all(numbers.collect::<Vec<_>>().into_iter());
}

fn read_config(input: &mut Reader) -> Result<Config, String> {
    Ok(Config {
        policy: Policy::from_code(input.get()?).ok_or("the saved state has an unknown policy")?,
        dispatch: Dispatch::from_code(input.get()?, input.number()?)
            .ok_or("the saved state has an unknown dispatch")?,
        placement: Rule::from_code(input.get()?).ok_or("the saved state has an unknown placement")?,
        estimate: Estimate::from_code(input.get()?).ok_or("the saved state has an unknown estimate")?,
        missing_request_ms: optional(input.get()?),
        reserve_by_estimate: input.flag()?,
        kill_at_request: input.flag()?,
        max_wait_ms: optional(input.get()?),
        scan_depth: input.number()?,
        seed: input.get()? as u64,
        keep_progress: input.flag()?,
        preemption_overhead_ms: input.get()?,
        preemption_overhead_per_gb_ms: 0,
        minimum_run_ms: input.get()?,
        failure_keeps_progress: input.flag()?,
        mean_up_down_ms: optional(input.get()?).zip(optional(input.get()?)),
        policy_parameters: input.floats()?.into(),
        estimate_parameters: input.floats()?.into(),
        node_events: read_node_events(input)?,
        placer: None,
        size_by: SizeBy::CoresAlone,
        origin_ms: 0,
        locality_wait_ms: Some(0),
        locality_loss_micro: Some(0),
        pairs: PairRule::Any,
        type_prices: Arc::default(),
        price_factor: 1.0,
    })
}

/// A network that chooses hosts is saved whole: a state goes on by itself, even if the checkpoint has changed or is gone.
fn write_network(out: &mut Writer, network: &Network) {
    let NetworkSpec { kind, hidden, activation, heads, blocks, towers, order_temperature } = &network.spec;
    for value in [
        network.layout.actions() as i64,
        kind.code(),
        activation.code(),
        *heads as i64,
        *blocks as i64,
        order_temperature.map_or(-1, |temperature| i64::from(temperature.to_bits())),
    ] {
        out.put(value);
    }
    out.put_all(hidden.iter().map(|&size| size as i64));
    for tower in towers {
        out.put_all(tower.iter().map(|layer| layer.size as i64));
        out.put_all(tower.iter().map(|layer| layer.activation.code()));
    }
    out.put_all(network.weights().iter().map(|weight| i64::from(weight.to_bits())));
}

fn read_network(input: &mut Reader) -> Result<Network, String> {
    let layout = Layout::Host { hosts: input.number()? };
    let kind = NetworkKind::from_code(input.get()?).ok_or("the saved state has an unknown network")?;
    let activation = activation(input.get()?)?;
    let (heads, blocks) = (input.number()?, input.number()?);
    let temperature = optional(input.get()?).map(|bits| u32::try_from(bits).map(f32::from_bits)).transpose();
    let order_temperature = temperature.map_err(|_| "the saved state has a temperature that is no number")?;
    let hidden = input.numbers::<usize>()?;
    let towers = [read_tower(input)?, read_tower(input)?];
    let weights: Vec<f32> = input.numbers::<u32>()?.into_iter().map(f32::from_bits).collect();
    let spec = NetworkSpec { kind, hidden, activation, heads, blocks, towers, order_temperature };
    // Before anything is allocated: sizes are not believed either.
    if spec.build(&layout)?.parameters.iter().map(Parameter::size).sum::<usize>() != weights.len() {
        return Err("the saved state has the weights of another network".to_string());
    }
    let mut network = Network::new(spec, layout)?;
    network.set_weights(&weights)?;
    Ok(network)
}

fn read_tower(input: &mut Reader) -> Result<Vec<TowerLayer>, String> {
    let (sizes, functions) = (input.numbers::<usize>()?, input.numbers::<i64>()?);
    let layers = sizes.into_iter().zip(functions);
    layers.map(|(size, function)| Ok(TowerLayer { size, activation: activation(function)? })).collect()
}

fn activation(code: i64) -> Result<Activation, String> {
    Activation::from_code(code).ok_or_else(|| "the saved state has an unknown function between layers".to_string())
}

fn read_node_events(input: &mut Reader) -> Result<Arc<[NodeEvent]>, String> {
    let event = |numbers: &[i64]| {
        let node = u32::try_from(numbers[1]).map_err(|_| "the saved state has an unknown node")?;
        Ok(NodeEvent { time_ms: checked_time(numbers[0])?, node, up: numbers[2] != 0 })
    };
    input.numbers::<i64>()?.chunks_exact(3).map(event).collect()
}
