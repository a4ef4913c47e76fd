//! Placement that leaves the least fragmentation behind: the free GPUs that the usual jobs could not use.
//!
//! After "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent" (Weng et al.,
//! USENIX ATC 2023), with a complete search in the place of one node after the other.

mod devices;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use devices::{Gauge, Room};

/// Jobs of one shape, as the workload has them.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// Tasks of a job.
    pub tasks: u32,
    /// Milli-cores of a task.
    pub cores_milli: i64,
    /// Memory of a task.
    pub memory_mb: i64,
    /// Milli-GPUs of a task.
    pub gpu_milli: i64,
    /// How many jobs.
    pub weight: i64,
}

/// What is free on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeState<'a> {
    /// Milli-cores.
    pub cores_milli: i64,
    /// Memory.
    pub memory_mb: i64,
    /// Milli-GPUs by device.
    pub devices: &'a [i32],
}

/// A job to be placed, in what each of its tasks takes.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// How many tasks.
    pub tasks: u32,
    /// Milli-cores of a task.
    pub cores_milli: i64,
    /// Memory of a task.
    pub memory_mb: i64,
    /// Milli-GPUs of a task.
    pub gpu_milli: i64,
}

/// Some tasks on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedPart {
    /// The node's number.
    pub node: u32,
    /// How many of the job's tasks.
    pub tasks: u32,
    /// Devices of this node, from 0, and milli-GPUs: one for each whole device, or for each task that takes a fraction.
    pub devices: Vec<(u32, i32)>,
}

/// A node's number, how many of the tasks it could take, and what is free there.
pub type Site<'a> = (u32, u32, NodeState<'a>);

/// The most cells of a table: half a gigabyte.
const MOST_CELLS: usize = 1 << 25;

/// States that are told apart at once; more cost time only.
const SLOTS: usize = 256;

/// A sum of changes of fragmentation, and the number of nodes.
type Cost = (i64, u32);

const NEVER: Cost = (i64::MAX / 2, 0);

/// The way to spread the tasks over the nodes, given by number, that adds the least fragmentation, then takes the fewest nodes, then has
/// the most tasks on the first node, and so on; with the sum of what it adds. None if they do not fit, or if the table
/// would take gigabytes.
pub fn least(classes: &[Class], ask: &Ask, nodes: &[Site]) -> Option<(i64, Vec<PlacedPart>)> {
    let tasks = ask.tasks as usize;
    if tasks == 0 || ask.gpu_milli <= 0 {
        return None;
    }
    let mut gauges = Vec::new();
    let choices = choices(classes, ask, nodes, &mut gauges);
    let rest = table(&choices, tasks)?;
    let row = |choice: usize| &rest[choice * (tasks + 1)..(choice + 1) * (tasks + 1)];
    let best = row(0)[tasks];
    if !is_real(best) {
        return None;
    }
    let mut left = tasks;
    let mut parts = Vec::new();
    for (number, choice) in choices.iter().enumerate() {
        let target = row(number)[left];
        let later = row(number + 1);
        let most = left.min(choice.costs.len());
        let here = (1..=most).rev().find(|&here| add(choice.cost(here), later[left - here]) == target).unwrap_or(0);
        if here > 0 {
            parts.push(placed(&gauges, ask, &nodes[choice.place], here as u32));
            left -= here;
        }
    }
    Some((best.0, parts))
}

/// A node that the best way may need, and what 1, 2 and more tasks cost there.
struct Choice {
    place: usize,
    costs: Rc<[i64]>,
}

impl Choice {
    fn cost(&self, tasks: usize) -> Cost {
        (self.costs[tasks - 1], 1)
    }
}

fn add(left: Cost, right: Cost) -> Cost {
    (left.0 + right.0, left.1 + right.1)
}

fn is_real(cost: Cost) -> bool {
    cost.0 < NEVER.0 / 2
}

/// Of nodes in the same state the first ones do, as many as there are tasks; they cost the same.
fn choices(classes: &[Class], ask: &Ask, nodes: &[Site], gauges: &mut Vec<Gauge>) -> Vec<Choice> {
    let mut found: Vec<Choice> = Vec::with_capacity(nodes.len());
    // The last node seen whose state falls into each slot: its place, its place among the found, how many were alike.
    let mut slots = [(usize::MAX, 0, 0); SLOTS];
    for (place, (_, capacity, state)) in nodes.iter().enumerate() {
        let most = devices::served(ask, state.devices).min(*capacity).min(ask.tasks);
        if most == 0 {
            continue;
        }
        let slot = &mut slots[slot_of(state)];
        let alike = nodes.get(slot.0).is_some_and(|other| (other.1, other.2) == (*capacity, *state));
        if alike && slot.2 == ask.tasks {
            continue;
        }
        let costs = if alike { found[slot.1].costs.clone() } else { costs(classes, ask, state, most, gauges) };
        *slot = (place, found.len(), if alike { slot.2 + 1 } else { 1 });
        found.push(Choice { place, costs });
    }
    found
}

fn slot_of(state: &NodeState) -> usize {
    let mix = |hash: u64, value: i64| (hash ^ value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    let start = mix(mix(0, state.cores_milli), state.memory_mb);
    (state.devices.iter().fold(start, |hash, &milli| mix(hash, i64::from(milli))) >> 32) as usize % SLOTS
}

fn costs(classes: &[Class], ask: &Ask, state: &NodeState, most: u32, gauges: &mut Vec<Gauge>) -> Rc<[i64]> {
    if !gauges.iter().any(|gauge| gauge.gpus == state.devices.len()) {
        gauges.push(Gauge::new(classes, state.devices.len()));
    }
    let room = Room::new(gauges, ask, state);
    let before = room.before();
    (1..=most).map(|tasks| room.settle(tasks).0 - before).collect()
}

/// The least cost of so many tasks on the nodes from each on, by node and tasks.
fn table(choices: &[Choice], tasks: usize) -> Option<Vec<Cost>> {
    let cells = (choices.len() + 1).checked_mul(tasks + 1).filter(|&cells| cells <= MOST_CELLS)?;
    let mut rest = vec![NEVER; cells];
    rest[choices.len() * (tasks + 1)] = (0, 0);
    for (number, choice) in choices.iter().enumerate().rev() {
        let (before, later) = rest.split_at_mut((number + 1) * (tasks + 1));
        let own = &mut before[number * (tasks + 1)..];
        let later = &later[..=tasks];
        own.copy_from_slice(later);
        for here in 1..=choice.costs.len() {
            let cost = choice.cost(here);
            own[here..].iter_mut().zip(later).for_each(|(own, &later)| *own = (*own).min(add(later, cost)));
        }
    }
    Some(rest)
}

fn placed(gauges: &[Gauge], ask: &Ask, (node, _, state): &Site, tasks: u32) -> PlacedPart {
    let counts = Room::new(gauges, ask, state).settle(tasks).1;
    let unit = devices::unit(ask);
    let shares = counts.iter().enumerate().flat_map(|(device, &count)| (0..count).map(move |_| (device as u32, unit)));
    PlacedPart { node: *node, tasks, devices: shares.collect() }
}
