//! The recent past, interval by interval: what came, what ended, how busy it was, and how long jobs waited.
//!
//! All of it follows from what the jobs have been through, so that nothing has to be kept for it.

use std::ops::Range;

use crate::envs::observe::log_time;
use crate::order::scores::seconds;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;

/// Numbers that are told of each interval; `docs/environments.md` lists them in this order.
pub(crate) const HISTORY_FEATURES: usize = 5;

/// What happened in an interval.
#[derive(Clone, Copy, Default)]
struct Past {
    arrivals: u32,
    /// Estimate times size of those that came, in seconds.
    area_s: f64,
    ended: u32,
    /// Thousandths of what binds, times milliseconds.
    used: i128,
    started: u32,
    wait_ms: i64,
}

/// Intervals that end where the one before begins; the first ends now, which is not in it.
#[derive(Clone, Copy)]
struct Intervals {
    now_ms: i64,
    length_ms: i64,
    count: usize,
}

impl Intervals {
    /// In which of them an instant is.
    fn of(&self, instant_ms: i64) -> Option<usize> {
        let ago_ms = self.now_ms.checked_sub(1)?.checked_sub(instant_ms).filter(|&ago_ms| ago_ms >= 0)?;
        usize::try_from(ago_ms / self.length_ms).ok().filter(|&place| place < self.count)
    }

    /// In which of them there is a part of a stretch of time, and how long it is.
    fn shares(self, stretch_ms: Range<i64>) -> impl Iterator<Item = (usize, i64)> {
        let first = self.of((stretch_ms.end - 1).min(self.now_ms - 1));
        let from = first.unwrap_or(self.count);
        (from..self.count).map_while(move |place| {
            let end_ms = self.now_ms - place as i64 * self.length_ms;
            let shared_ms = stretch_ms.end.min(end_ms) - stretch_ms.start.max(end_ms - self.length_ms);
            (shared_ms > 0).then_some((place, shared_ms))
        })
    }
}

/// Writes what is told of the past; `area_s` has estimate times size of a job. `capacity` is the size of a job that takes
/// the whole cluster.
pub(crate) fn tell_past(
    simulation: &Simulation,
    interval_ms: i64,
    capacity: f64,
    mut area_s: impl FnMut(u32) -> f64,
    numbers: &mut [f32],
) {
    let count = numbers.len() / HISTORY_FEATURES;
    let intervals = Intervals { now_ms: simulation.now_ms(), length_ms: interval_ms, count };
    let mut past = vec![Past::default(); count];
    for job in 0..simulation.clock.next_arrival {
        let (state, submit_ms) = (simulation.state(job), simulation.setup.submit_ms(job));
        if let Some(place) = intervals.of(submit_ms) {
            past[place].arrivals += 1;
            past[place].area_s += if state.phase == Phase::Rejected { 0.0 } else { area_s(job) };
        }
        if let Some(place) = intervals.of(state.start_ms).filter(|_| state.has_started()) {
            past[place].started += 1;
            past[place].wait_ms += state.start_ms - state.eligible_ms;
        }
        if let Some(place) = intervals.of(state.end_ms).filter(|_| state.phase.has_run()) {
            past[place].ended += 1;
        }
        if state.phase == Phase::Running || state.phase.has_run() {
            let end_ms = if state.phase.has_run() { state.end_ms } else { simulation.now_ms() };
            add_use(simulation, intervals, job, state.segment_start_ms..end_ms, &mut past);
        }
    }
    for stop in simulation.machine.stops() {
        add_use(simulation, intervals, stop.job, stop.start_ms..stop.end_ms, &mut past);
    }
    let counted = |count: u32| ((1.0 + f64::from(count)).ln() / 10.0).min(1.0) as f32;
    let whole = simulation.setup.sizes.capacity_milli.max(1) as f64 * interval_ms as f64;
    for (one, numbers) in past.iter().zip(numbers.chunks_exact_mut(HISTORY_FEATURES)) {
        numbers[0] = counted(one.arrivals);
        numbers[1] = ((1.0 + one.area_s / (capacity * 3600.0)).ln() / 10.0).min(1.0) as f32;
        numbers[2] = counted(one.ended);
        numbers[3] = (one.used as f64 / whole).min(1.0) as f32;
        numbers[4] = log_time(seconds(one.wait_ms) / f64::from(one.started.max(1)));
    }
}

/// A job held its nodes for a stretch of time.
fn add_use(simulation: &Simulation, intervals: Intervals, job: u32, stretch_ms: Range<i64>, past: &mut [Past]) {
    let shape = simulation.shape_of(job);
    let by_gpus = simulation.setup.sizes.by_gpus;
    let amount = if by_gpus { shape.total_gpu_milli() } else { shape.total_cores_milli() };
    for (place, shared_ms) in intervals.shares(stretch_ms) {
        past[place].used += i128::from(amount) * i128::from(shared_ms);
    }
}
