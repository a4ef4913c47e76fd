//! One node: its fragmentation, and which of its devices to take so that it grows least.

use super::{Ask, Class, NodeState};
use crate::model::cluster::DEVICE_MILLI;

/// The most ways to put fractions on a node's devices that are tried; usual nodes have some tens.
const MOST_WAYS: u32 = 1 << 14;

/// What a class needs of a node to be able to use it.
struct Need {
    /// Whole devices; 0 if a task takes a fraction.
    devices: i64,
    /// The fraction.
    milli: i64,
    cores_milli: i64,
    memory_mb: i64,
    weight: i64,
}

/// Measures the fragmentation of nodes with one number of GPUs: the milli-GPUs that jobs of each class could not use, times
/// the jobs of the class.
pub(super) struct Gauge {
    pub(super) gpus: usize,
    /// By milli-GPUs, so that what is too small for a fraction is summed once for all that want it.
    needs: Vec<Need>,
}

impl Gauge {
    pub(super) fn new(classes: &[Class], gpus: usize) -> Self {
        let need = |class: &Class| {
            let devices = class.gpu_milli / i64::from(DEVICE_MILLI);
            let tasks = (gpus as i64).checked_div(devices).unwrap_or(1).min(i64::from(class.tasks)).max(1);
            Need {
                devices: devices * tasks,
                milli: class.gpu_milli,
                cores_milli: class.cores_milli.saturating_mul(tasks),
                memory_mb: class.memory_mb.saturating_mul(tasks),
                weight: class.weight,
            }
        };
        let mut needs: Vec<Need> = classes.iter().map(need).collect();
        needs.sort_by_key(|need| need.milli);
        Gauge { gpus, needs }
    }

    pub(super) fn measure(&self, cores_milli: i64, memory_mb: i64, devices: &[i32]) -> i64 {
        let below = |milli: i64| devices.iter().map(|&free| i64::from(free)).filter(|&free| free < milli).sum::<i64>();
        let whole = devices.iter().filter(|&&free| free == DEVICE_MILLI).count() as i64;
        let largest = devices.iter().copied().max().map_or(0, i64::from);
        let in_parts = below(i64::from(DEVICE_MILLI));
        let all = in_parts + whole * i64::from(DEVICE_MILLI);
        let mut sum = 0;
        let mut too_small = (0, 0);
        for need in &self.needs {
            if need.devices == 0 && need.milli != too_small.0 {
                too_small = (need.milli, below(need.milli));
            }
            let enough = if need.devices > 0 { whole >= need.devices } else { largest >= need.milli };
            let lost = match enough && cores_milli >= need.cores_milli && memory_mb >= need.memory_mb {
                false => all,
                true if need.devices > 0 => in_parts,
                true => too_small.1,
            };
            sum += need.weight * lost;
        }
        sum
    }
}

/// What one task, or one of its whole devices, takes of a device.
pub(super) fn unit(ask: &Ask) -> i32 {
    ask.gpu_milli.min(i64::from(DEVICE_MILLI)) as i32
}

/// How many tasks the devices serve.
pub(super) fn served(ask: &Ask, devices: &[i32]) -> u32 {
    let units: i64 = devices.iter().map(|&free| i64::from(free / unit(ask))).sum();
    u32::try_from(units / (ask.gpu_milli / i64::from(DEVICE_MILLI)).max(1)).unwrap_or(u32::MAX)
}

/// A node that a job could go to.
pub(super) struct Room<'a> {
    gauge: &'a Gauge,
    ask: &'a Ask,
    state: &'a NodeState<'a>,
}

impl<'a> Room<'a> {
    /// The gauge for nodes of this size must be there.
    pub(super) fn new(gauges: &'a [Gauge], ask: &'a Ask, state: &'a NodeState<'a>) -> Self {
        let gauge = gauges.iter().find(|gauge| gauge.gpus == state.devices.len());
        Room { gauge: gauge.expect("a gauge for every size of node"), ask, state }
    }

    pub(super) fn before(&self) -> i64 {
        self.gauge.measure(self.state.cores_milli, self.state.memory_mb, self.state.devices)
    }

    /// The least fragmentation with so many tasks, and how many of them (or whether a whole device) each device takes.
    pub(super) fn settle(&self, tasks: u32) -> (i64, Vec<u32>) {
        let whole_devices = (self.ask.gpu_milli / i64::from(DEVICE_MILLI)) as u32;
        let mut left = self.state.devices.to_vec();
        if whole_devices > 0 {
            let counts = lowest_whole(&mut left, tasks * whole_devices);
            return (self.after(tasks, &left), counts);
        }
        let usual = fullest_first(&mut left, unit(self.ask), tasks);
        let mut ways = Ways::new(self, tasks, (self.after(tasks, &left), usual));
        ways.try_all(0, tasks);
        ways.best
    }

    fn after(&self, tasks: u32, devices: &[i32]) -> i64 {
        let tasks = i64::from(tasks);
        let cores_milli = self.state.cores_milli - tasks * self.ask.cores_milli;
        self.gauge.measure(cores_milli, self.state.memory_mb - tasks * self.ask.memory_mb, devices)
    }
}

fn lowest_whole(left: &mut [i32], wanted: u32) -> Vec<u32> {
    let mut counts = vec![0; left.len()];
    let whole = left.iter_mut().zip(&mut counts).filter(|(free, _)| **free == DEVICE_MILLI);
    whole.take(wanted as usize).for_each(|(free, count)| (*free, *count) = (0, 1));
    counts
}

/// As all other placements choose devices.
fn fullest_first(left: &mut [i32], milli: i32, tasks: u32) -> Vec<u32> {
    let mut counts = vec![0; left.len()];
    for _ in 0..tasks {
        let fits = left.iter_mut().zip(&mut counts).filter(|(free, _)| **free >= milli);
        if let Some((free, count)) = fits.min_by_key(|(free, _)| **free) {
            *free -= milli;
            *count += 1;
        }
    }
    counts
}

/// Tries the ways to put fractions on devices, most tasks on the lowest device first. Of devices that are alike, the
/// first takes no fewer than the next: the other ways come to the same.
struct Ways<'a> {
    room: &'a Room<'a>,
    tasks: u32,
    left: Vec<i32>,
    counts: Vec<u32>,
    /// Of each device the first that is like it.
    first_alike: Vec<usize>,
    /// The most tasks for the next of the devices that are like this one.
    most: Vec<u32>,
    best: (i64, Vec<u32>),
    tried: u32,
}

impl<'a> Ways<'a> {
    fn new(room: &'a Room<'a>, tasks: u32, best: (i64, Vec<u32>)) -> Self {
        let free = room.state.devices;
        let first_alike = free.iter().map(|milli| free.iter().position(|other| other == milli).unwrap_or(0));
        Ways {
            room,
            tasks,
            left: free.to_vec(),
            counts: vec![0; free.len()],
            first_alike: first_alike.collect(),
            most: free.iter().map(|milli| (milli / unit(room.ask)) as u32).collect(),
            best,
            tried: 0,
        }
    }

    fn try_all(&mut self, device: usize, tasks: u32) {
        if tasks == 0 {
            let fragmentation = self.room.after(self.tasks, &self.left);
            if fragmentation < self.best.0 {
                self.best = (fragmentation, self.counts.clone());
            }
            self.tried += 1;
            return;
        }
        let room: u64 = self.first_alike[device..].iter().map(|&first| u64::from(self.most[first])).sum();
        if room < u64::from(tasks) {
            return;
        }
        let (milli, free, first) = (unit(self.room.ask), self.left[device], self.first_alike[device]);
        let most = self.most[first];
        for here in (0..=most.min(tasks)).rev() {
            if self.tried >= MOST_WAYS {
                break;
            }
            self.counts[device] = here;
            self.left[device] = free - here as i32 * milli;
            self.most[first] = here;
            self.try_all(device + 1, tasks - here);
        }
        (self.counts[device], self.left[device], self.most[first]) = (0, free, most);
    }
}
