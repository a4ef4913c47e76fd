//! What is free on each node and device.

use std::sync::Arc;

use crate::model::cluster::{Cluster, Node, DEVICE_MILLI, UNTRACKED};
use crate::model::groups::{Group, Groups};
use crate::model::job::Shape;
use crate::model::peaks::{Amounts, Peaks};
use crate::place::locality::Reach;
use crate::place::placement::Placement;

/// What is free on each node and device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Free {
    /// Milli-cores by node.
    pub cores_milli: Vec<i64>,
    /// Memory by node.
    pub memory_mb: Vec<i64>,
    /// Milli-GPUs by device.
    pub device_milli: Vec<i32>,
    /// By node: how many devices are wholly free, and the milli-GPUs of all. Empty where no node has GPUs.
    gpus: Vec<NodeGpus>,
    /// The nodes that are down; empty as long as none has been.
    down: Vec<bool>,
    /// No less than the sum of `cores_milli`: a quick way to see that a job does not fit.
    total_cores_milli: i64,
    /// The same of GPUs.
    total_gpu_milli: i64,
    groups: Arc<Groups>,
    /// By group of nodes: where the most is free.
    peaks: Vec<Peaks>,
    /// Whether any of these says more than to look at every node.
    is_indexed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NodeGpus {
    whole: u32,
    milli: i64,
}

impl NodeGpus {
    /// A device's share changes by so much, from `before`.
    fn change(&mut self, before: i32, change: i32) {
        self.milli += i64::from(change);
        self.whole -= u32::from(before == DEVICE_MILLI);
        self.whole += u32::from(before + change == DEVICE_MILLI);
    }
}

impl Free {
    pub(crate) fn all(nodes: &[Node], devices: u32, groups: Arc<Groups>) -> Self {
        let cores_milli: Vec<i64> = nodes.iter().map(|node| node.cores_milli).collect();
        let milli = |gpus: u32| i64::from(gpus) * i64::from(DEVICE_MILLI);
        let gpus = nodes.iter().map(|node| NodeGpus { whole: node.gpus, milli: milli(node.gpus) });
        let mut free = Free {
            total_cores_milli: cores_milli.iter().sum(),
            total_gpu_milli: milli(devices),
            cores_milli,
            memory_mb: nodes.iter().map(|node| node.memory_mb).collect(),
            device_milli: vec![DEVICE_MILLI; devices as usize],
            gpus: if devices == 0 { Vec::new() } else { gpus.collect() },
            down: Vec::new(),
            peaks: Vec::new(),
            is_indexed: false,
            groups,
        };
        let peaks_of = |list: &Arc<[u32]>| {
            let tracked = |amount: i64| if amount == UNTRACKED { 0 } else { amount };
            let of = |node: &Node| [node.cores_milli, tracked(node.memory_mb), milli(node.gpus)];
            let all = list.iter().map(|&node| of(&nodes[node as usize]));
            let most = all.reduce(|one, other| std::array::from_fn(|at| one[at].max(other[at]))).unwrap_or_default();
            Peaks::new(list.len(), most, |place| free.amounts(list[place]))
        };
        free.peaks = free.groups.lists().iter().map(peaks_of).collect();
        free.is_indexed = free.peaks.iter().any(Peaks::is_indexed);
        free
    }

    /// The same, without a note of where the most is free: quicker to change and to copy, slower to search.
    pub(crate) fn unindexed(&self) -> Free {
        Free { peaks: self.peaks.iter().map(Peaks::unindexed).collect(), is_indexed: false, ..self.clone() }
    }

    /// Becomes as much as another, in the memory that it has. Where the most is free is not noted: this is one without.
    pub(crate) fn copy_amounts(&mut self, other: &Free) {
        self.cores_milli.clone_from(&other.cores_milli);
        self.memory_mb.clone_from(&other.memory_mb);
        self.device_milli.clone_from(&other.device_milli);
        self.gpus.clone_from(&other.gpus);
        self.down.clone_from(&other.down);
        self.total_cores_milli = other.total_cores_milli;
        self.total_gpu_milli = other.total_gpu_milli;
    }

    /// The same nodes are down as in another.
    pub(crate) fn copy_down(&mut self, other: &Free) {
        self.down.clone_from(&other.down);
    }

    /// A node has so much free, and so many milli-GPUs on each device; nothing where that is below 0. Where the most is free is
    /// not noted.
    pub(crate) fn set_node(&mut self, cluster: &Cluster, node: u32, cores_milli: i64, memory_mb: i64, devices: &[i64]) {
        let place = node as usize;
        let cores_milli = cores_milli.max(0);
        self.total_cores_milli += cores_milli - self.cores_milli[place];
        self.cores_milli[place] = cores_milli;
        self.memory_mb[place] = memory_mb.max(0);
        for (before, &milli) in self.device_milli[cluster.devices(node)].iter_mut().zip(devices) {
            let change = milli.max(0) as i32 - *before;
            self.total_gpu_milli += i64::from(change);
            self.gpus[place].change(*before, change);
            *before += change;
        }
    }

    #[inline]
    fn amounts(&self, node: u32) -> Amounts {
        amounts(&self.cores_milli, &self.memory_mb, &self.gpus, node)
    }

    /// What is free on a node has changed from `before`.
    #[inline]
    fn note_change(&mut self, node: u32, before: Amounts) {
        let now = self.amounts(node);
        let Free { cores_milli, memory_mb, gpus, peaks, groups, .. } = self;
        for &(group, place) in groups.homes(node) {
            let nodes = &groups.lists()[group as usize];
            let free_at = |place: usize| amounts(cores_milli, memory_mb, gpus, nodes[place]);
            peaks[group as usize].update(place as usize, before, now, free_at);
        }
    }

    /// Whether so many tasks that ask for these amounts could have room on a group of nodes: if not, they have none.
    #[inline]
    pub(crate) fn may_hold(&self, group: &Group, asked: &Amounts, tasks: u32) -> bool {
        self.peaks[group.number as usize].may_hold(asked, tasks)
    }

    /// The nodes of a group that can take tasks of this shape, by number, and how many.
    pub(crate) fn with_room<'a>(
        &'a self,
        cluster: &'a Cluster,
        group: &'a Group,
        shape: &'a Shape,
    ) -> impl Iterator<Item = (u32, u32)> + 'a {
        let asked = shape.asked();
        let peaks = &self.peaks[group.number as usize];
        let mut from = 0;
        std::iter::from_fn(move || {
            let capacity_at = |place: usize| {
                // Most nodes that are looked at have no room: that is seen at once.
                let (cores_milli, memory_mb) = (&self.cores_milli, &self.memory_mb);
                let node = group[place] as usize;
                if cores_milli[node] < asked[0] || memory_mb[node] < asked[1] {
                    return None;
                }
                let capacity = self.capacity(cluster, group[place], shape);
                (capacity > 0).then_some(capacity)
            };
            let (place, capacity) = peaks.next(from, &asked, capacity_at)?;
            from = place + 1;
            Some((group[place], capacity))
        })
    }

    /// Milli-cores free on all nodes together, or more.
    pub fn total_cores_milli(&self) -> i64 {
        self.total_cores_milli
    }

    /// The same of milli-GPUs.
    pub(crate) fn total_gpu_milli(&self) -> i64 {
        self.total_gpu_milli
    }

    /// Milli-cores that are free on nodes that are up.
    pub(crate) fn up_cores_milli(&self) -> i64 {
        let down = self.down.iter().zip(&self.cores_milli).filter(|(&down, _)| down);
        self.total_cores_milli - down.map(|(_, &cores_milli)| cores_milli).sum::<i64>()
    }

    /// Milli-GPUs that are free on nodes that are up.
    pub(crate) fn up_gpu_milli(&self) -> i64 {
        let down = self.down.iter().zip(&self.gpus).filter(|(&down, _)| down);
        self.total_gpu_milli - down.map(|(_, gpus)| gpus.milli).sum::<i64>()
    }

    /// Whether a job of this shape asks for more than all nodes together have free.
    pub fn is_too_little(&self, shape: &Shape) -> bool {
        shape.total_cores_milli() > self.total_cores_milli || shape.total_gpu_milli() > self.total_gpu_milli
    }

    /// Whether a node is down.
    pub fn is_down(&self, node: u32) -> bool {
        self.down.get(node as usize).copied().unwrap_or(false)
    }

    /// A node goes down, or is up again.
    pub fn set_down(&mut self, node: u32, down: bool) {
        self.down.resize(self.cores_milli.len(), false);
        self.down[node as usize] = down;
    }

    /// How many tasks of this shape the node can take, whether the job has so many or not.
    pub fn capacity(&self, cluster: &Cluster, node: u32, shape: &Shape) -> u32 {
        self.capacity_beside(cluster, node, shape, [0, 0])
    }

    /// The same beside another who takes so many milli-cores and so much memory.
    #[inline]
    pub(crate) fn capacity_beside(&self, cluster: &Cluster, node: u32, shape: &Shape, taken: [i64; 2]) -> u32 {
        let mut most = i64::from(u32::MAX);
        if shape.exclusive && !self.is_untouched(node) {
            return 0;
        }
        if shape.cores_milli > 0 {
            most = most.min((self.cores_milli[node as usize] - taken[0]) / shape.cores_milli);
        }
        if shape.memory_mb > 0 && most > 0 {
            most = most.min((self.memory_mb[node as usize] - taken[1]) / shape.memory_mb);
        }
        if shape.gpu_milli > 0 && most > 0 {
            most = most.min(self.gpu_capacity(cluster, node, shape));
        }
        if most <= 0 || self.is_down(node) || !cluster.suits(node, shape) {
            return 0;
        }
        most as u32
    }

    /// Whether nobody has anything of a node that is counted.
    fn is_untouched(&self, node: u32) -> bool {
        let [cores_milli, memory_mb] = self.groups.whole(node);
        self.cores_milli[node as usize] == cores_milli
            && (memory_mb == 0 || self.memory_mb[node as usize] == memory_mb)
            && self.whole_devices(node) as usize == self.groups.devices(node).len()
    }

    fn gpu_capacity(&self, cluster: &Cluster, node: u32, shape: &Shape) -> i64 {
        if shape.gpu_milli < i64::from(DEVICE_MILLI) {
            self.devices(cluster, node).iter().map(|&milli| i64::from(milli) / shape.gpu_milli).sum()
        } else {
            i64::from(self.whole_devices(node)) / (shape.gpu_milli / i64::from(DEVICE_MILLI))
        }
    }

    /// Devices of a node that nobody uses.
    pub fn whole_devices(&self, node: u32) -> u32 {
        self.gpus.get(node as usize).map_or(0, |gpus| gpus.whole)
    }

    /// Free milli-GPUs on a node.
    pub fn gpu_milli(&self, node: u32) -> i64 {
        self.gpus.get(node as usize).map_or(0, |gpus| gpus.milli)
    }

    /// Free milli-GPUs on each device of a node.
    pub fn devices(&self, cluster: &Cluster, node: u32) -> &[i32] {
        &self.device_milli[cluster.devices(node)]
    }

    /// Whether a job of this shape could start.
    pub fn fits(&self, cluster: &Cluster, shape: &Shape) -> bool {
        let fits_on = |group: &Group| cluster.suits_group(group, shape) && self.fits_on(cluster, shape, group);
        !self.is_too_little(shape) && cluster.groups_for(shape).iter().any(fits_on)
    }

    /// Whether it could start on these nodes.
    pub(crate) fn fits_on(&self, cluster: &Cluster, shape: &Shape, group: &Group) -> bool {
        if !self.may_hold(group, &shape.asked(), shape.tasks) {
            return false;
        }
        let mut missing = i64::from(shape.tasks);
        self.with_room(cluster, group, shape).any(|(_, capacity)| {
            missing -= i64::from(capacity);
            missing <= 0
        })
    }

    /// Whether a job that may go there, one that the whole cluster has room for, could start if all jobs had ended.
    pub fn would_fit_idle(&self, reach: &Reach) -> bool {
        if !self.down.contains(&true) {
            return true;
        }
        let Reach { cluster, shape, .. } = *reach;
        reach.fits_by(|node| if self.is_down(node) { 0 } else { cluster.empty.capacity(cluster, node, shape) })
    }

    /// Takes cores from the only node.
    pub fn take_pool(&mut self, cores_milli: i64) {
        self.cores_milli[0] -= cores_milli;
        self.total_cores_milli -= cores_milli;
    }

    /// Gives them back.
    pub fn give_pool(&mut self, cores_milli: i64) {
        self.take_pool(-cores_milli);
    }

    /// Takes what a job of this shape uses on these nodes and devices.
    pub fn take(&mut self, shape: &Shape, placement: &Placement) {
        self.change(shape, placement, -1);
    }

    /// Gives it back.
    pub fn give(&mut self, shape: &Shape, placement: &Placement) {
        self.change(shape, placement, 1);
    }

    /// What is said of this while a job of this shape holds these nodes and devices.
    pub(crate) fn lent<T>(&mut self, shape: &Shape, placement: &Placement, ask: impl FnOnce(&Free) -> T) -> T {
        self.change_for_now(shape, placement, -1);
        let answer = ask(self);
        self.change_for_now(shape, placement, 1);
        answer
    }

    /// A job takes what it uses (`sign` −1) for so short a time that where the most is free is not noted, and gives it back (1)
    /// before anybody gives more: a note only says where to look, and is never too little.
    pub(crate) fn change_for_now(&mut self, shape: &Shape, placement: &Placement, sign: i64) {
        self.change_by(shape, placement, sign, |_, _, _| {});
    }

    fn change(&mut self, shape: &Shape, placement: &Placement, sign: i64) {
        // Decided once: what was before need not be known where it is not noted.
        if self.is_indexed {
            self.change_by(shape, placement, sign, Free::note_change);
        } else {
            self.change_by(shape, placement, sign, |_, _, _| {});
        }
    }

    /// An exclusive job takes or gives back all of its nodes.
    fn change_whole(&mut self, placement: &Placement, sign: i64, note: impl Fn(&mut Free, u32, Amounts)) {
        let groups = self.groups.clone();
        for part in placement.parts() {
            let before = self.amounts(part.node);
            let [cores_milli, memory_mb] = groups.whole(part.node);
            self.cores_milli[part.node as usize] += sign * cores_milli;
            self.memory_mb[part.node as usize] += sign * memory_mb;
            self.total_cores_milli += sign * cores_milli;
            for device in groups.devices(part.node) {
                let change = sign as i32 * DEVICE_MILLI;
                self.gpus[part.node as usize].change(self.device_milli[device], change);
                self.device_milli[device] += change;
                self.total_gpu_milli += i64::from(change);
            }
            note(self, part.node, before);
        }
    }

    /// What a job of this shape holds of all cores and GPUs there, in thousandths.
    pub(crate) fn held_milli(&self, shape: &Shape, placement: &Placement) -> [i64; 2] {
        if !shape.exclusive {
            return [shape.total_cores_milli(), shape.total_gpu_milli()];
        }
        placement.parts().fold([0, 0], |[cores_milli, gpu_milli], part| {
            let devices = self.groups.devices(part.node).len() as i64;
            [cores_milli + self.groups.whole(part.node)[0], gpu_milli + devices * i64::from(DEVICE_MILLI)]
        })
    }

    #[inline]
    fn change_by(&mut self, shape: &Shape, placement: &Placement, sign: i64, note: impl Fn(&mut Free, u32, Amounts)) {
        if shape.exclusive {
            return self.change_whole(placement, sign, note);
        }
        for part in placement.parts() {
            let before = self.amounts(part.node);
            let tasks = sign * i64::from(part.tasks);
            self.cores_milli[part.node as usize] += tasks * shape.cores_milli;
            self.memory_mb[part.node as usize] += tasks * shape.memory_mb;
            note(self, part.node, before);
        }
        for (node, shares) in placement.shares_by_node(shape) {
            let before = self.amounts(node);
            for share in shares {
                let before = &mut self.device_milli[share.device as usize];
                self.gpus[node as usize].change(*before, sign as i32 * share.milli);
                *before += sign as i32 * share.milli;
            }
            note(self, node, before);
        }
        self.total_cores_milli += sign * shape.total_cores_milli();
        self.total_gpu_milli += sign * shape.total_gpu_milli();
    }

    /// Whether nothing that a job of this shape uses in this placement is overdrawn or down.
    pub fn is_sound(&self, shape: &Shape, placement: &Placement) -> bool {
        if shape.exclusive {
            let devices = |node: u32| &self.device_milli[self.groups.devices(node)];
            let is_sound = |node: u32| {
                self.cores_milli[node as usize] >= 0
                    && self.memory_mb[node as usize] >= 0
                    && devices(node).iter().all(|&milli| milli >= 0)
                    && !self.is_down(node)
            };
            return placement.parts().all(|part| is_sound(part.node));
        }
        let is_sound = |node: u32| {
            (shape.cores_milli == 0 || self.cores_milli[node as usize] >= 0)
                && (shape.memory_mb == 0 || self.memory_mb[node as usize] >= 0)
                && !self.is_down(node)
        };
        placement.parts().all(|part| is_sound(part.node))
            && placement.devices().iter().all(|share| self.device_milli[share.device as usize] >= 0)
    }

    /// Where more is promised than there is, nothing is free: what is overdrawn takes nothing from the rest.
    pub fn raise_to_nothing(&mut self, cluster: &Cluster) {
        for node in 0..self.cores_milli.len() {
            let before = self.amounts(node as u32);
            self.total_cores_milli -= self.cores_milli[node].min(0);
            self.cores_milli[node] = self.cores_milli[node].max(0);
            self.memory_mb[node] = self.memory_mb[node].max(0);
            if let Some(gpus) = self.gpus.get_mut(node) {
                for milli in self.device_milli[cluster.devices(node as u32)].iter_mut().filter(|milli| **milli < 0) {
                    let overdrawn = i64::from(std::mem::take(milli));
                    gpus.milli -= overdrawn;
                    self.total_gpu_milli -= overdrawn;
                }
            }
            if before != self.amounts(node as u32) {
                self.note_change(node as u32, before);
            }
        }
    }

    /// Lowers what this placement, of a job of this shape, touches to what is free in `other`.
    pub fn lower_to(&mut self, other: &Free, shape: &Shape, placement: &Placement) {
        for part in placement.parts() {
            let (node, before) = (part.node as usize, self.amounts(part.node));
            self.cores_milli[node] = self.cores_milli[node].min(other.cores_milli[node]);
            self.memory_mb[node] = self.memory_mb[node].min(other.memory_mb[node]);
            if self.is_indexed {
                self.note_change(part.node, before);
            }
        }
        if shape.exclusive {
            return self.lower_devices(other, placement);
        }
        for (node, shares) in placement.shares_by_node(shape) {
            let before = self.amounts(node);
            for share in shares {
                let before = &mut self.device_milli[share.device as usize];
                let change = (other.device_milli[share.device as usize] - *before).min(0);
                self.gpus[node as usize].change(*before, change);
                *before += change;
            }
            if self.is_indexed {
                self.note_change(node, before);
            }
        }
    }

    /// Lowers all devices of the nodes of a placement to what is free in `other`.
    fn lower_devices(&mut self, other: &Free, placement: &Placement) {
        for part in placement.parts() {
            let before = self.amounts(part.node);
            for device in self.groups.devices(part.node) {
                let milli = self.device_milli[device];
                let change = (other.device_milli[device] - milli).min(0);
                self.gpus[part.node as usize].change(milli, change);
                self.device_milli[device] += change;
            }
            if self.is_indexed {
                self.note_change(part.node, before);
            }
        }
    }
}

/// What is free on a node.
#[inline]
fn amounts(cores_milli: &[i64], memory_mb: &[i64], gpus: &[NodeGpus], node: u32) -> Amounts {
    let gpu_milli = gpus.get(node as usize).map_or(0, |gpus| gpus.milli);
    [cores_milli[node as usize], memory_mb[node as usize], gpu_milli]
}
