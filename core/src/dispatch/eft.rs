//! Earliest finish: a job takes a type of GPU now only if no other lets it end earlier, waiting included.

use crate::dispatch::beside::{earliest_within, places_each_anew};
use crate::model::speeds::FULL_SPEED;
use crate::place::types::{ByAsk, OnType};
use crate::sim::machine::Expected;
use crate::sim::simulation::Simulation;

/// The type that a job takes, or waits for, if running jobs end when expected. None: it has no GPUs, or would not fit
/// though all jobs had ended.
pub(crate) fn target(simulation: &Simulation, job: u32) -> Option<&OnType> {
    let types = simulation.setup.types_for(simulation.state(job).shape);
    if types.iter().any(|one| one.gpu_type.is_none()) {
        return None;
    }
    let finish_ms = |start_ms: i64, one: &OnType| start_ms + simulation.span_ms(job, one.speed_micro);
    let now = fastest(types.iter().filter(|one| simulation.fits_on(job, one)));
    let mut best = now.map(|one| (finish_ms(simulation.now_ms(), one), simulation.now_ms(), one));
    for one in types.iter().filter(|one| now.is_none_or(|now| one.speed_micro > now.speed_micro)) {
        if simulation.fits_on(job, one) {
            continue;
        }
        let reach_at = |instant_ms: i64| simulation.reach_as(job, &one.shape, instant_ms);
        let patient_until_ms = simulation.patient_until_ms(job);
        let earliest = earliest_within(simulation, ends_on(simulation, one), &reach_at, patient_until_ms);
        let Some(start_ms) = earliest.start_ms else { continue };
        let found = (finish_ms(start_ms, one), start_ms, one);
        if best.as_ref().is_none_or(|best| (found.0, found.1) < (best.0, best.1)) {
            best = Some(found);
        }
    }
    best.map(|(.., one)| one)
}

/// What is known of types in a pass as long as nothing starts, worked out once for all jobs that ask for the same there.
pub(super) struct Forecast {
    fits: ByAsk<bool>,
    /// When there will be room, if ever.
    starts_ms: ByAsk<Option<i64>>,
}

impl Forecast {
    pub(super) fn new(simulation: &Simulation) -> Self {
        let table = simulation.setup.type_table();
        Forecast { fits: ByAsk::new(table), starts_ms: ByAsk::new(table) }
    }

    /// Something has started.
    pub(super) fn forget(&mut self) {
        self.fits.forget();
        self.starts_ms.forget();
    }

    /// The type on which jobs of a shape start now, if any do, and how long they may last at most, at full speed: longer
    /// ones would end earlier on a type that becomes free. The bound may be too wide, never too narrow.
    pub(super) fn start_now<'a>(&mut self, simulation: &'a Simulation, shape: u32) -> Option<(&'a OnType, i64)> {
        let setup = &simulation.setup;
        let types = setup.types_for(shape);
        let free = &simulation.machine.free;
        let now =
            fastest(types.iter().filter(|one| self.fits.get(one, || setup.reach_of_type(shape, one).fits(free))))?;
        let mut most_ms = i64::MAX;
        for one in types.iter().filter(|one| one.speed_micro > now.speed_micro) {
            let starts_ms = self.starts_ms.get(one, || {
                earliest_within(simulation, ends_on(simulation, one), &|_| setup.reach_of_type(shape, one), None)
                    .start_ms
            });
            if let Some(start_ms) = starts_ms {
                let (slow, fast) = (now.speed_micro as f64, one.speed_micro as f64);
                let ahead_ms = (start_ms - simulation.now_ms() + 2) as f64;
                // Both spans are rounded up to a millisecond, and restarts cost the same on both.
                let work_ms = ahead_ms * slow * fast / (FULL_SPEED as f64 * (fast - slow)) * (1.0 + 1e-9) + 2.0;
                most_ms = most_ms.min((work_ms as i64).saturating_add(setup.restart_ms(shape)));
            }
        }
        Some((now, most_ms))
    }

    /// How long, at full speed, a job of a shape may last at most that starts now; none: it does not fit.
    pub(super) fn bound_ms(&mut self, simulation: &Simulation, shape: u32) -> Option<i64> {
        if places_each_anew(simulation) {
            return simulation.machine.fits(&simulation.setup, shape).then_some(i64::MAX);
        }
        self.start_now(simulation, shape).map(|(_, most_ms)| most_ms)
    }
}

/// The expected ends of running jobs that hold GPUs of a type: no others make room there.
fn ends_on<'a>(simulation: &'a Simulation, on_type: &'a OnType) -> impl Iterator<Item = &'a Expected> {
    let nodes = &simulation.setup.cluster.nodes;
    let is_there = |one: &&Expected| {
        let mut parts = simulation.state(one.job).placement.parts();
        parts.any(|part| nodes[part.node as usize].gpu_type == on_type.gpu_type)
    };
    simulation.machine.expected().iter().filter(is_there)
}

/// The fastest; of several, the one in the earlier pool.
fn fastest<'a>(types: impl Iterator<Item = &'a OnType>) -> Option<&'a OnType> {
    types.reduce(|best, one| if one.speed_micro > best.speed_micro { one } else { best })
}
