//! A simulation as bytes, and back: fingerprinted, checked, and complete to the last reservation.

use std::sync::Arc;

use crate::dispatch::committed::Commitment;
use crate::model::cluster::{Cluster, RejectReason};
use crate::model::config::{optional, Config, Dispatch, Estimate, Policy, Rule};
use crate::model::job::{Fingerprint, Jobs, MAX_AMOUNT, MAX_DURATION_MS, MAX_TIME_MS};
use crate::model::random::SplitMix64;
use crate::order::estimate::Basis;
use crate::place::placement::{DeviceShare, Part, Placement};
use crate::sim::failures::NodeEvent;
use crate::sim::job_state::{JobState, Phase, Reservation};
use crate::sim::simulation::Simulation;
use crate::sim::stopping::Stop;

const MAGIC: i64 = 0x3152_544E_5548_5303;

/// Numbers one after the other, 8 bytes each: simple to check, and fast enough.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn put(&mut self, value: i64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn put_float(&mut self, value: f64) {
        self.put(value.to_bits() as i64);
    }

    fn put_floats(&mut self, values: &[f64]) {
        self.put_all(values.iter().map(|value| value.to_bits() as i64));
    }

    fn put_all(&mut self, values: impl ExactSizeIterator<Item = i64>) {
        self.put(values.len() as i64);
        values.for_each(|value| self.put(value));
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn get(&mut self) -> Result<i64, String> {
        let (head, rest) = self.0.split_first_chunk::<8>().ok_or("the saved state is cut short")?;
        self.0 = rest;
        Ok(i64::from_le_bytes(*head))
    }

    fn number<T: TryFrom<i64>>(&mut self) -> Result<T, String> {
        let value = self.get()?;
        T::try_from(value).map_err(|_| format!("the saved state has {value} where that cannot be"))
    }

    fn time(&mut self) -> Result<i64, String> {
        checked_time(self.get()?)
    }

    fn duration(&mut self) -> Result<i64, String> {
        let value = self.get()?;
        if (0..=2 * MAX_DURATION_MS).contains(&value) {
            return Ok(value);
        }
        Err(format!("the saved state has {value} ms where that cannot be"))
    }

    fn flag(&mut self) -> Result<bool, String> {
        Ok(self.get()? != 0)
    }

    fn float(&mut self) -> Result<f64, String> {
        Ok(f64::from_bits(self.get()? as u64))
    }

    fn floats(&mut self) -> Result<Vec<f64>, String> {
        Ok(self.numbers::<i64>()?.into_iter().map(|bits| f64::from_bits(bits as u64)).collect())
    }

    fn numbers<T: TryFrom<i64>>(&mut self) -> Result<Vec<T>, String> {
        let count: usize = self.number()?;
        if count > self.0.len() / 8 {
            return Err("the saved state is cut short".to_string());
        }
        (0..count).map(|_| self.number()).collect()
    }
}

/// An instant: far enough from the ends of the range that a duration can be added to it.
fn checked_time(value: i64) -> Result<i64, String> {
    if (-MAX_TIME_MS..=i64::MAX / 2).contains(&value) {
        return Ok(value);
    }
    Err(format!("the saved state has {value} ms where that cannot be"))
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = Fingerprint::default();
    for chunk in bytes.chunks_exact(8) {
        hash.add(u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
    }
    hash.finish()
}

impl Simulation {
    /// The whole state as bytes.
    pub fn serialize(&self) -> Vec<u8> {
        let mut out = Writer::default();
        let fixed = [
            MAGIC,
            self.jobs.fingerprint as i64,
            self.cluster.fingerprint as i64,
            self.window.start as i64,
            self.window.end as i64,
        ];
        fixed.into_iter().for_each(|value| out.put(value));
        config_numbers(&self.config).into_iter().for_each(|value| out.put(value));
        out.put_floats(&self.config.policy_parameters);
        out.put_floats(&self.config.estimate_parameters);
        let events = self.config.node_events.iter();
        let numbers = events.flat_map(|event| [event.time_ms, i64::from(event.node), i64::from(event.up)]);
        out.put_all(numbers.collect::<Vec<_>>().into_iter());
        out.put_floats(&self.given);
        out.put_all(self.queue.order().map(i64::from));
        let commitment = self.commitment.map_or((-1, 0), |held| (i64::from(held.job), held.earliest_ms));
        for value in [self.now_ms, i64::from(self.starts), self.freed as i64] {
            out.put(value);
        }
        for value in [i64::from(self.disturbed), i64::from(self.undecided), commitment.0, commitment.1] {
            out.put(value);
        }
        out.put_all(self.holders.iter().map(|&job| i64::from(job)));
        for (job, state) in self.states.iter().enumerate() {
            write_state(&mut out, state, self.queue.is_first(job as u32));
        }
        self.write_learned(&mut out);
        self.write_usage(&mut out);
        self.write_failures(&mut out);
        self.write_stops(&mut out);
        out.put(checksum(&out.0) as i64);
        out.0
    }

    /// The simulation that was saved, on the same jobs and cluster.
    pub fn restore(cluster: Arc<Cluster>, jobs: Arc<Jobs>, bytes: &[u8]) -> Result<Self, String> {
        let body = bytes.len().checked_sub(8).ok_or("the saved state is cut short")?;
        if bytes.len() % 8 != 0 || checksum(&bytes[..body]).to_le_bytes() != bytes[body..] {
            return Err("the saved state is damaged: its checksum does not match".to_string());
        }
        let mut input = Reader(&bytes[..body]);
        if input.get()? != MAGIC {
            return Err("these bytes are not a saved simulation of this version".to_string());
        }
        if input.get()? != jobs.fingerprint as i64 || input.get()? != cluster.fingerprint as i64 {
            return Err("the saved state belongs to other jobs or another cluster".to_string());
        }
        let window = input.number::<usize>()?..input.number::<usize>()?;
        if window.start >= window.end || window.end > jobs.len() {
            return Err("the saved state has an impossible window".to_string());
        }
        let config = read_config(&mut input)?;
        let given = input.floats()?;
        let wanted = if config.order_moves() && config.policy.wants_given() { window.len() } else { 0 };
        if given.len() != wanted || given.iter().any(|value| !value.is_finite()) {
            return Err("the saved state's scores do not belong to its jobs".to_string());
        }
        let order = input.numbers::<u32>()?;
        let mut seen = vec![false; window.len()];
        order.iter().for_each(|&job| seen.get_mut(job as usize).into_iter().for_each(|slot| *slot = true));
        if order.len() != window.len() || seen.contains(&false) {
            return Err("the saved state's order does not name every job once".to_string());
        }
        config.check()?;
        let mut simulation = Simulation::with_order(cluster, jobs, window, config, &given, order)?;
        simulation.read_progress(&mut input)?;
        Ok(simulation)
    }

    fn read_progress(&mut self, input: &mut Reader) -> Result<(), String> {
        self.now_ms = input.time()?;
        self.starts = input.number()?;
        self.freed = input.number()?;
        self.disturbed = input.flag()?;
        self.undecided = input.flag()?;
        let (committed, earliest_ms) = (input.get()?, input.time()?);
        self.holders = input.numbers()?;
        let mut first = vec![false; self.states.len()];
        for (job, is_first) in first.iter_mut().enumerate() {
            *is_first = read_state(input, &mut self.states[job])?;
        }
        self.check_start_numbers()?;
        self.read_learned(input)?;
        self.read_usage(input)?;
        self.read_failures(input)?;
        self.read_stops(input)?;
        if !input.0.is_empty() {
            return Err("the saved state has more than belongs to it".to_string());
        }
        if first.contains(&true) && self.config.max_wait_ms.is_none() {
            return Err("the saved state puts jobs first without a starvation guard".to_string());
        }
        self.rebuild(|job| first[job as usize])?;
        self.commitment = match u32::try_from(committed) {
            Ok(job) => Some(Commitment { job, earliest_ms }),
            Err(_) => None,
        };
        let waits = |job: u32| self.states.get(job as usize).is_some_and(|state| state.phase == Phase::Waiting);
        let holds = |&job: &u32| {
            waits(job)
                && self.states[job as usize].reservation.is_some()
                && self.belongs(job, &self.states[job as usize].placement)
        };
        if !self.holders.iter().all(holds) || self.commitment.is_some_and(|held| !waits(held.job)) {
            return Err("the saved state reserves for jobs that do not wait".to_string());
        }
        Ok(())
    }
}

impl Simulation {
    /// Running jobs are found by the numbers of their starts: these must be different, and have been given out.
    fn check_start_numbers(&self) -> Result<(), String> {
        let running = self.states.iter().filter(|state| state.phase == Phase::Running);
        let mut numbers: Vec<u32> = running.map(|state| state.sequence).collect();
        numbers.sort_unstable();
        let is_twice = numbers.windows(2).any(|pair| pair[0] == pair[1]);
        if is_twice || numbers.last().is_some_and(|&last| last >= self.starts) {
            return Err("the saved state's running jobs have impossible start numbers".to_string());
        }
        Ok(())
    }

    fn write_learned(&self, out: &mut Writer) {
        let Some(learner) = &self.learner else { return };
        for recent in &learner.recent {
            [recent.run_ms[0], recent.run_ms[1], i64::from(recent.ended)].into_iter().for_each(|value| out.put(value));
        }
        for sums in &learner.sums {
            [sums.count, sums.run, sums.inverse].into_iter().for_each(|value| out.put_float(value));
        }
        for mean in &learner.means {
            out.put(mean.count);
            out.put(mean.sum_ms);
        }
        for &(estimate_ms, basis) in &learner.at_start {
            out.put(estimate_ms);
            out.put(basis as i64);
        }
    }

    fn read_learned(&mut self, input: &mut Reader) -> Result<(), String> {
        let Some(learner) = &mut self.learner else { return Ok(()) };
        for recent in &mut learner.recent {
            recent.run_ms = [input.duration()?, input.duration()?];
            recent.ended = input.number()?;
        }
        for sums in &mut learner.sums {
            (sums.count, sums.run, sums.inverse) = (input.float()?, input.float()?, input.float()?);
        }
        for mean in &mut learner.means {
            (mean.count, mean.sum_ms) = (input.get()?.max(0), input.get()?);
        }
        for noted in &mut learner.at_start {
            let estimate_ms = input.get()?.clamp(-1, MAX_DURATION_MS);
            *noted = (estimate_ms, Basis::from_code(input.number()?).ok_or("the saved state has an unknown basis")?);
        }
        Ok(())
    }

    fn write_failures(&self, out: &mut Writer) {
        let Some(failures) = &self.failures else { return };
        out.put(failures.given as i64);
        for &down in &failures.given_down {
            out.put(i64::from(down));
        }
        for drawn in &failures.drawn {
            out.put(drawn.generator.state() as i64);
            out.put(i64::from(drawn.is_down));
            out.put(drawn.next_ms);
        }
    }

    fn read_failures(&mut self, input: &mut Reader) -> Result<(), String> {
        let Some(failures) = &mut self.failures else { return Ok(()) };
        failures.given = input.number()?;
        for down in &mut failures.given_down {
            *down = input.flag()?;
        }
        for drawn in &mut failures.drawn {
            drawn.generator = SplitMix64::from_state(input.get()? as u64);
            drawn.is_down = input.flag()?;
            drawn.next_ms = input.time()?;
        }
        failures.look_ahead();
        for node in 0..self.cluster.nodes.len() as u32 {
            if failures.is_down(node) {
                self.free.set_down(node, true);
            }
        }
        Ok(())
    }

    fn write_stops(&self, out: &mut Writer) {
        out.put(self.contest.as_ref().and_then(|contest| contest.review_ms).unwrap_or(i64::MAX));
        out.put(self.stops.len() as i64);
        for stop in &self.stops {
            for value in [i64::from(stop.job), stop.start_ms, stop.end_ms, i64::from(stop.by_failure)] {
                out.put(value);
            }
            write_placement(out, &stop.placement);
        }
    }

    fn read_stops(&mut self, input: &mut Reader) -> Result<(), String> {
        let review_ms = Some(input.get()?).filter(|&time_ms| time_ms < i64::MAX).map(checked_time).transpose()?;
        if let Some(contest) = &mut self.contest {
            contest.review_ms = review_ms;
        }
        let count: usize = input.number()?;
        for _ in 0..count {
            let job: u32 = input.number()?;
            let (start_ms, end_ms, by_failure) = (input.time()?, input.time()?, input.flag()?);
            let placement = read_placement(input)?;
            if job as usize >= self.states.len() || !self.belongs(job, &placement) {
                return Err(format!("the saved state has a run of job {job} where that cannot be"));
            }
            self.stops.push(Stop { job, start_ms, end_ms, placement, by_failure });
        }
        Ok(())
    }

    fn write_usage(&self, out: &mut Writer) {
        let Some(usage) = &self.usage else { return };
        for account in usage.accounts.iter().chain([&usage.total]) {
            out.put_float(account.core_seconds);
            out.put(account.at_ms);
            out.put(account.cores_milli);
        }
    }

    fn read_usage(&mut self, input: &mut Reader) -> Result<(), String> {
        let Some(usage) = &mut self.usage else { return Ok(()) };
        for account in usage.accounts.iter_mut().chain([&mut usage.total]) {
            account.core_seconds = input.float()?;
            account.at_ms = input.time()?;
            account.cores_milli = input.get()?.clamp(-MAX_AMOUNT, MAX_AMOUNT);
        }
        Ok(())
    }
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
    write_placement(out, &state.placement);
}

fn write_placement(out: &mut Writer, placement: &Placement) {
    let parts: Vec<i64> = placement.parts().flat_map(|part| [i64::from(part.node), i64::from(part.tasks)]).collect();
    out.put_all(parts.into_iter());
    let shares = placement.devices().iter().flat_map(|share| [i64::from(share.device), i64::from(share.milli)]);
    out.put_all(shares.collect::<Vec<_>>().into_iter());
}

fn read_placement(input: &mut Reader) -> Result<Placement, String> {
    let mut placement = Placement::default();
    for pair in input.numbers::<u32>()?.chunks_exact(2) {
        placement.push(Part { node: pair[0], tasks: pair[1] });
    }
    for pair in input.numbers::<u32>()?.chunks_exact(2) {
        placement.push_device(DeviceShare { device: pair[0], milli: pair[1] as i32 });
    }
    Ok(placement)
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
    state.sequence = input.number()?;
    state.preemptions = input.number()?;
    state.failures = input.number()?;
    state.phase = Phase::from_code(input.number()?).ok_or("the saved state has an unknown phase")?;
    state.reject_reason = RejectReason::from_code(input.number()?).ok_or("the saved state has an unknown reason")?;
    state.doomed = input.flag()?;
    let is_first = input.flag()?;
    state.placement = read_placement(input)?;
    Ok(is_first)
}

fn config_numbers(config: &Config) -> [i64; 17] {
    let (dispatch, depth) = config.dispatch.code();
    [
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
    ]
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
        minimum_run_ms: input.get()?,
        failure_keeps_progress: input.flag()?,
        mean_up_down_ms: optional(input.get()?).zip(optional(input.get()?)),
        policy_parameters: input.floats()?.into(),
        estimate_parameters: input.floats()?.into(),
        node_events: read_node_events(input)?,
        placer: None,
    })
}

fn read_node_events(input: &mut Reader) -> Result<Arc<[NodeEvent]>, String> {
    let event = |numbers: &[i64]| {
        let node = u32::try_from(numbers[1]).map_err(|_| "the saved state has an unknown node")?;
        Ok(NodeEvent { time_ms: checked_time(numbers[0])?, node, up: numbers[2] != 0 })
    };
    input.numbers::<i64>()?.chunks_exact(3).map(event).collect()
}
