//! Look-ahead: future capacity, if running jobs end when expected.

use crate::envs::episode::Lookahead;
use crate::envs::observe::log_time;
use crate::model::cluster::DEVICE_MILLI;
use crate::sim::machine::Expected;
use crate::sim::simulation::Simulation;

/// The first horizon behind 0, and the last.
const HORIZONS_S: (f64, f64) = (60.0, 604_800.0);

/// When what is down will be free: nobody knows, and it counts as later than all that is told.
const UNKNOWN_MS: i64 = i64::MAX / 4;

/// A stretch of capacity and the time in which it is free, in ms.
type Stretch = (i64, i64);

/// Writes the numbers; what they mean is in `docs/environments.md`.
pub(crate) fn look_ahead(simulation: &Simulation, kind: Lookahead, numbers: &mut [f32]) {
    match kind {
        Lookahead::Off => numbers.fill(0.0),
        Lookahead::Cdf => free_after_horizons(simulation, numbers),
        Lookahead::PerGpu => times_of_slices(simulation, numbers),
        Lookahead::Sorted => {
            times_of_slices(simulation, numbers);
            numbers.sort_unstable_by(f32::total_cmp);
        }
    }
}

/// Milli-GPUs where there are any, else milli-cores.
fn capacity(simulation: &Simulation) -> i64 {
    match simulation.machine.free.device_milli.len() as i64 {
        0 => simulation.setup.cluster.empty.total_cores_milli(),
        devices => devices * i64::from(DEVICE_MILLI),
    }
}

fn amount(simulation: &Simulation, one: &Expected) -> i64 {
    let free = &simulation.machine.free;
    let [cores_milli, gpu_milli] = free.held_milli(simulation.shape_of(one.job), &simulation.state(one.job).placement);
    if free.device_milli.is_empty() {
        cores_milli
    } else {
        gpu_milli
    }
}

fn remaining_ms(simulation: &Simulation, one: &Expected) -> i64 {
    // A job that has outlived its limit may end at any time, but has not yet.
    (one.instant_ms - simulation.now_ms()).max(1)
}

fn free_after_horizons(simulation: &Simulation, numbers: &mut [f32]) {
    let all = capacity(simulation).max(1) as f32;
    let mut free: i64 = match simulation.machine.free.device_milli.len() {
        0 => simulation.machine.free.up_cores_milli(),
        _ => simulation.machine.free.up_gpu_milli(),
    };
    let last = numbers.len().saturating_sub(2).max(1) as f64;
    let step = (HORIZONS_S.1 / HORIZONS_S.0).powf(1.0 / last);
    let mut horizon_ms = 0.0;
    let mut running = simulation.machine.expected().iter().peekable();
    for number in numbers.iter_mut() {
        while let Some(one) = running.next_if(|one| remaining_ms(simulation, one) as f64 <= horizon_ms) {
            free += amount(simulation, one);
        }
        *number = (free as f32 / all).clamp(0.0, 1.0);
        horizon_ms = if horizon_ms == 0.0 { HORIZONS_S.0 * 1000.0 } else { horizon_ms * step };
    }
}

/// The capacity is laid out in a line and cut into as many slices as there are numbers.
fn times_of_slices(simulation: &Simulation, numbers: &mut [f32]) {
    let stretches = match simulation.machine.free.device_milli.len() {
        0 => stretches_of_cores(simulation),
        _ => stretches_of_devices(simulation),
    };
    let mut times_ms = vec![0; numbers.len()];
    let (all, slices) = (i128::from(capacity(simulation).max(1)), numbers.len() as i128);
    let mut from: i128 = 0;
    for (length, time_ms) in stretches {
        let to = from + i128::from(length);
        if length > 0 {
            let first = (from * slices / all) as usize;
            let last = ((to * slices - 1) / all) as usize;
            let last = last.min(numbers.len().saturating_sub(1));
            for slice in times_ms.iter_mut().take(last + 1).skip(first) {
                *slice = time_ms.max(*slice);
            }
        }
        from = to;
    }
    for (number, time_ms) in numbers.iter_mut().zip(times_ms) {
        *number = log_time(time_ms as f64 / 1000.0);
    }
}

fn stretches_of_devices(simulation: &Simulation) -> Vec<Stretch> {
    let mut stretches = vec![(i64::from(DEVICE_MILLI), 0); simulation.machine.free.device_milli.len()];
    for one in simulation.machine.expected() {
        for share in simulation.states[one.job as usize].placement.devices() {
            let time_ms = &mut stretches[share.device as usize].1;
            *time_ms = remaining_ms(simulation, one).max(*time_ms);
        }
    }
    for node in (0..simulation.setup.cluster.nodes.len() as u32).filter(|&node| simulation.machine.free.is_down(node)) {
        stretches[simulation.setup.cluster.devices(node)].iter_mut().for_each(|stretch| stretch.1 = UNKNOWN_MS);
    }
    stretches
}

/// Node by node: what each running job holds there, in the order of their starts, then what is free.
fn stretches_of_cores(simulation: &Simulation) -> Vec<Stretch> {
    let mut by_node: Vec<Vec<(u32, Stretch)>> = vec![Vec::new(); simulation.setup.cluster.nodes.len()];
    for one in simulation.machine.expected() {
        let shape = simulation.shape_of(one.job);
        for part in simulation.states[one.job as usize].placement.parts() {
            let cores_milli = shape.cores_milli * i64::from(part.tasks);
            by_node[part.node as usize].push((one.sequence, (cores_milli, remaining_ms(simulation, one))));
        }
    }
    let mut stretches = Vec::new();
    for (number, mut held) in by_node.into_iter().enumerate() {
        held.sort_unstable();
        stretches.extend(held.into_iter().map(|(_, stretch)| stretch));
        let free_ms = if simulation.machine.free.is_down(number as u32) { UNKNOWN_MS } else { 0 };
        stretches.push((simulation.machine.free.cores_milli[number], free_ms));
    }
    stretches
}
