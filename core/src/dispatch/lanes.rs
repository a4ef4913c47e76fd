//! Which lane of which block of nodes holds what.

use crate::dispatch::block::WIDTH;
use crate::model::cluster::Cluster;
use crate::model::free::Free;
use crate::model::job::Shape;
use crate::place::placement::Placement;
use crate::sim::setup::Setup;
use crate::sim::simulation::Simulation;

/// How nodes are divided into blocks, and their amounts into lanes: a milli-cores lane for each node, a memory lane for each
/// where jobs ask for memory, and a lane for each device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    /// How many nodes a block has, as a power of 2: nodes are told apart very often.
    shift: u32,
    has_memory: bool,
}

impl Lanes {
    pub(super) fn new(setup: &Setup) -> Self {
        // Where nodes have many devices, a row is long enough with a few of them.
        let devices = setup.cluster.nodes.iter().map(|node| node.gpus as usize).max().unwrap_or(0);
        let widest = WIDTH >> devices.clamp(1, WIDTH).ilog2();
        let width = setup.cluster.nodes.len().min(widest).next_power_of_two();
        Lanes { shift: width.trailing_zeros(), has_memory: setup.asks_memory && !setup.is_pool }
    }

    /// How many nodes a block has, but for the last.
    #[inline]
    pub(super) fn width(&self) -> usize {
        1 << self.shift
    }

    /// The block of a node.
    #[inline]
    pub(super) fn block(&self, node: u32) -> usize {
        node as usize >> self.shift
    }

    /// Nodes in ascending order, those of a block together.
    #[inline]
    pub(super) fn by_block<'a>(&self, mut nodes: &'a [u32]) -> impl Iterator<Item = &'a [u32]> {
        let lanes = *self;
        std::iter::from_fn(move || {
            let block = lanes.block(*nodes.first()?);
            let is_here = |node: &u32| lanes.block(*node) == block;
            // Mostly they are all there.
            let count = match nodes.get(lanes.width() - 1) {
                Some(last) if is_here(last) => lanes.width(),
                _ => nodes.iter().take_while(|node| is_here(node)).count(),
            };
            let (here, rest) = nodes.split_at(count);
            nodes = rest;
            Some(here)
        })
    }

    /// The lane of a node's milli-cores.
    #[inline]
    pub(super) fn cores(&self, node: u32) -> usize {
        node as usize & (self.width() - 1)
    }

    /// The lane of a node's memory.
    #[inline]
    pub(super) fn memory(&self, node: u32) -> Option<usize> {
        self.has_memory.then(|| self.width() + self.cores(node))
    }

    /// How many lanes there are before those of devices.
    pub(super) fn without_devices(&self) -> usize {
        self.width() * (1 + usize::from(self.has_memory))
    }

    /// The lanes of a node's devices.
    pub(super) fn devices(&self, cluster: &Cluster, node: u32) -> std::ops::Range<usize> {
        let before = cluster.device_offsets[self.block(node) * self.width()] as usize;
        let devices = cluster.devices(node);
        let first = self.without_devices() - before;
        first + devices.start..first + devices.end
    }

    /// How many lanes of a block of so many say what there is for a shape.
    pub(super) fn asked(&self, shape: &Shape, all: usize) -> usize {
        match shape {
            Shape { gpu_milli: 1.., .. } => all,
            Shape { memory_mb: 1.., .. } => self.without_devices(),
            _ => self.width(),
        }
    }

    /// What is free now on the nodes of a block.
    pub(super) fn free_now(&self, simulation: &Simulation, block: usize) -> Vec<i64> {
        let (cluster, free) = (&simulation.setup.cluster, &simulation.machine.free);
        let nodes = block * self.width()..((block + 1) * self.width()).min(cluster.nodes.len());
        let mut amounts = free.cores_milli[nodes.clone()].to_vec();
        amounts.resize(self.width(), 0);
        if self.has_memory {
            amounts.extend(&free.memory_mb[nodes.clone()]);
        }
        amounts.resize(self.without_devices(), 0);
        amounts.extend(nodes.flat_map(|node| free.devices(cluster, node as u32)).map(|&milli| i64::from(milli)));
        amounts
    }

    /// What a job takes, or gives back, of the lanes of each block; consecutive nodes of a block come together. The lists are
    /// scratch space.
    pub(super) fn visit_changes(
        &self,
        cluster: &Cluster,
        shape: &Shape,
        placement: &Placement,
        sign: i64,
        (nodes, changes): (&mut Vec<u32>, &mut Vec<(usize, i64)>),
        mut visit: impl FnMut(usize, &[u32], &[(usize, i64)]),
    ) {
        nodes.clear();
        let mut shares = placement.shares_by_node(shape);
        changes.clear();
        for part in placement.parts() {
            if nodes.first().is_some_and(|&first| self.block(first) != self.block(part.node)) {
                visit(self.block(nodes[0]), nodes, changes);
                nodes.clear();
                changes.clear();
            }
            nodes.push(part.node);
            let tasks = sign * i64::from(part.tasks);
            changes.push((self.cores(part.node), tasks * shape.cores_milli));
            if let Some(lane) = self.memory(part.node).filter(|_| shape.memory_mb > 0) {
                changes.push((lane, tasks * shape.memory_mb));
            }
            if let Some((_, shares)) = shares.next() {
                let first = self.devices(cluster, part.node).start;
                let offset = cluster.device_offsets[part.node as usize];
                let lane = |device: u32| first + (device - offset) as usize;
                changes.extend(shares.iter().map(|share| (lane(share.device), sign * i64::from(share.milli))));
            }
        }
        if let Some(&first) = nodes.first() {
            visit(self.block(first), nodes, changes);
        }
    }

    /// How many tasks of a shape a node has room for on which so much is free; `free` says which nodes are down, and what is
    /// free of others does not matter.
    #[inline]
    pub(super) fn capacity(
        &self,
        free: &mut Free,
        cluster: &Cluster,
        shape: &Shape,
        node: u32,
        amounts: &[i64],
    ) -> u32 {
        if shape.gpu_milli > 0 {
            // Most nodes have too little on all their devices: that is seen at once.
            let gpu_milli: i64 = amounts[self.devices(cluster, node)].iter().sum();
            if gpu_milli < shape.gpu_milli {
                return 0;
            }
            self.note(free, cluster, node, amounts);
            return free.capacity(cluster, node, shape);
        }
        // Only what is asked for is looked at, and mostly not even divided: this is where most of the time goes.
        let tasks = |asked: i64, lane: Option<usize>| match lane.map(|lane| amounts[lane]) {
            Some(amount) if asked > 0 && amount < 2 * asked => i64::from(amount >= asked),
            Some(amount) if asked > 0 => amount / asked,
            _ => i64::from(u32::MAX),
        };
        let memory = if shape.memory_mb > 0 { self.memory(node) } else { None };
        let most = tasks(shape.cores_milli, Some(self.cores(node))).min(tasks(shape.memory_mb, memory));
        if most <= 0 || free.is_down(node) || !cluster.suits(node, shape) {
            return 0;
        }
        most.min(i64::from(u32::MAX)) as u32
    }

    /// So much is free on a node.
    pub(super) fn note(&self, free: &mut Free, cluster: &Cluster, node: u32, amounts: &[i64]) {
        // Where it is not counted, nobody has any of it.
        let memory_mb = self.memory(node).map_or(cluster.nodes[node as usize].memory_mb, |lane| amounts[lane]);
        let devices = &amounts[self.devices(cluster, node)];
        free.set_node(cluster, node, amounts[self.cores(node)], memory_mb, devices);
    }
}
