//! Pairs of a waiting job and a type of GPU: which can run at all, which have room now, and when others will.

use std::collections::HashMap;
use std::sync::Arc;

use crate::dispatch::pairs::offers;
use crate::envs::observe::log_time;
use crate::model::cluster::{Cluster, DEVICE_MILLI};
use crate::model::config::Policy;
use crate::model::job::Jobs;
use crate::model::speeds::FULL_SPEED;
use crate::order::scores::seconds;
use crate::place::types::OnType;
use crate::sim::simulation::Simulation;

/// How long it takes until a type has room that never has it, as far as is known: as long as the clock of features goes.
const NEVER_S: f32 = 1_209_600.0;

/// A shape on a type: what stands still, and what is so now. Small, for every waiting job is looked at in every decision.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    /// The type's number; jobs without GPUs, which go anywhere, stand in the first.
    pub(crate) column: u32,
    /// The stamp of its type when it was looked at last.
    stamp: u32,
    /// GPUs of all tasks, in thousandths; 0: it goes anywhere.
    pub(crate) gpu_milli: i64,
    /// How fast it is there; 1 is what run times are given for.
    pub(crate) speed: f32,
    /// The same as a part of its best.
    pub(crate) of_best: f32,
    /// What its cheapest type costs it, as a part of what this one does.
    pub(crate) of_cheapest: f32,
    /// Until as many GPUs are free as it needs.
    pub(crate) ready_s: f32,
    pub(crate) log_ready: f32,
    /// Which part of its speed it would lose now for being apart.
    pub(crate) apart: f32,
    pub(crate) has_room: bool,
}

/// A shape on the types that can hold it, in the order of their numbers; likewise what it asks for there.
struct ShapePairs {
    pairs: Vec<Pair>,
    on_types: Vec<OnType>,
    /// The stamp of everything when it was looked at last.
    stamp: u32,
    /// A bit for each type that had room then.
    room: u64,
    /// The first of its fastest types, and how many thousandths of GPU-seconds a second of its run time is there.
    best: Option<(u32, f64)>,
}

/// A type of GPU as it is now.
#[derive(Default)]
pub(crate) struct TypeNow {
    nodes: Vec<u32>,
    pub(crate) gpu_milli: i64,
    pub(crate) free_milli: i64,
    /// When running jobs on it are expected to end, and how many of its GPUs are free then, in thousandths.
    ends: Vec<(i64, i64)>,
    stamp: u32,
    is_stale: bool,
}

impl TypeNow {
    /// Which part of it is free.
    pub(crate) fn free_part(&self) -> f32 {
        self.free_milli as f32 / self.gpu_milli.max(1) as f32
    }

    /// Until the next of its jobs ends; 0 where none runs.
    pub(crate) fn free_in_s(&self, now_ms: i64) -> f64 {
        self.ends.first().map_or(0.0, |end| seconds((end.0 - now_ms).max(1)))
    }
}

/// What a running job holds.
#[derive(Clone, Copy)]
struct Held {
    /// The type's number; below 0: not known yet.
    column: i32,
    gpu_milli: i32,
}

/// All pairs of an episode.
pub(crate) struct Pairs {
    /// How many types there are. Behind them stands what jobs without GPUs see: everything.
    count: usize,
    pub(crate) types: Vec<TypeNow>,
    /// Whose shapes are known: further episodes are mostly of the same.
    known: Option<(Arc<Cluster>, Arc<Jobs>)>,
    shapes: Vec<Option<ShapePairs>>,
    /// By job, what it holds where it runs.
    held: Vec<Held>,
    /// Jobs of one shape may see different nodes as close enough.
    each_anew: bool,
    /// By job and type, the score of a pair in this pass, where the order has scores of pairs; none: it is refused.
    scores: Option<HashMap<(u32, usize), Option<f64>>>,
    /// The best of them.
    best_score: f64,
}

impl Pairs {
    /// Those of no episode yet, of so many types.
    pub(crate) fn new(count: usize) -> Self {
        Pairs {
            count,
            types: (0..=count).map(|_| TypeNow::default()).collect(),
            known: None,
            shapes: Vec::new(),
            held: Vec::new(),
            each_anew: false,
            scores: None,
            best_score: 0.0,
        }
    }

    /// An episode begins.
    pub(crate) fn begin(&mut self, simulation: &Simulation) {
        let (cluster, jobs) = (&simulation.setup.cluster, &simulation.setup.jobs);
        let is_known =
            |(known, table): &(Arc<Cluster>, Arc<Jobs>)| Arc::ptr_eq(known, cluster) && Arc::ptr_eq(table, jobs);
        if !self.known.as_ref().is_some_and(is_known) {
            self.known = Some((cluster.clone(), jobs.clone()));
            self.shapes.clear();
            self.shapes.resize_with(jobs.shapes.len(), || None);
            for (number, one) in self.types[..self.count].iter_mut().enumerate() {
                let is_meant = |&node: &u32| cluster.nodes[node as usize].gpu_type == Some(number as u32);
                one.nodes = (0..cluster.nodes.len() as u32).filter(is_meant).collect();
                let gpus = one.nodes.iter().map(|&node| i64::from(cluster.nodes[node as usize].gpus));
                one.gpu_milli = gpus.sum::<i64>() * i64::from(DEVICE_MILLI);
            }
        }
        self.held.clear();
        self.held.resize(simulation.states.len(), Held { column: -1, gpu_milli: 0 });
        self.each_anew = simulation.setup.config.locality_patience_ms().is_some();
    }

    /// A pass begins: the clock has moved, so that all may be otherwise.
    pub(crate) fn open(&mut self, simulation: &Simulation) {
        self.change(None);
        self.scores = None;
        if simulation.setup.config.policy == Policy::Pairs {
            let found = offers(simulation);
            let accepted = found.iter().filter(|one| one.accepted).map(|one| one.score);
            self.best_score = accepted.fold(f64::INFINITY, f64::min);
            let keyed = found.iter().map(|one| {
                let shape = simulation.state(one.job).shape;
                let column = column_of(&simulation.setup.types_for(shape)[one.place as usize]);
                ((one.job, column), one.accepted.then_some(one.score))
            });
            self.scores = Some(keyed.collect());
        }
    }

    /// A job has started on a type; one without GPUs on any of them.
    pub(crate) fn started(&mut self, job: u32) {
        // If it was stopped before, it may have been on another.
        self.held[job as usize].column = -1;
    }

    /// Something is otherwise on a type; none: on any of them.
    pub(crate) fn change(&mut self, column: Option<usize>) {
        for (number, one) in self.types.iter_mut().enumerate() {
            if column.is_none_or(|column| column == number) || number == self.count {
                one.stamp = one.stamp.wrapping_add(1);
                one.is_stale = true;
            }
        }
    }

    /// Brings what is known of the types up to date.
    pub(crate) fn refresh(&mut self, simulation: &Simulation) {
        let free = &simulation.machine.free;
        let (types, _) = self.types.split_at_mut(self.count);
        if !types.iter().any(|one| one.is_stale) {
            return;
        }
        for one in types.iter_mut().filter(|one| one.is_stale) {
            let up = one.nodes.iter().filter(|&&node| !free.is_down(node));
            one.free_milli = up.map(|&node| free.gpu_milli(node)).sum();
            one.ends.clear();
        }
        for end in simulation.machine.expected() {
            let held = &mut self.held[end.job as usize];
            if held.column < 0 {
                *held = held_by(simulation, end.job);
            }
            let one = &mut types[held.column as usize];
            if held.gpu_milli > 0 && one.is_stale {
                let before = one.ends.last().map_or(one.free_milli, |end| end.1);
                one.ends.push((end.instant_ms, before + i64::from(held.gpu_milli)));
            }
        }
        types.iter_mut().for_each(|one| one.is_stale = false);
    }

    /// A job's shape, looked at anew where something is otherwise. The types are up to date.
    fn shape_of(&mut self, simulation: &Simulation, job: u32) -> &ShapePairs {
        let shape = simulation.state(job).shape as usize;
        let known = self.shapes[shape].get_or_insert_with(|| pairs_of(simulation, shape));
        // What jobs without GPUs see changes with everything.
        let stamp = self.types[self.count].stamp;
        if known.stamp == stamp && !self.each_anew {
            return known;
        }
        (known.stamp, known.room) = (stamp, 0);
        for (pair, on_type) in known.pairs.iter_mut().zip(&known.on_types) {
            let one = &self.types[if pair.gpu_milli > 0 { pair.column as usize } else { self.count }];
            if pair.stamp != one.stamp || self.each_anew {
                pair.stamp = one.stamp;
                pair.look(simulation, job, on_type, one);
            }
            known.room |= u64::from(pair.has_room) << pair.column;
        }
        known
    }

    /// A job on each type that can hold it, as things are now. The types are up to date.
    pub(crate) fn of_job(&mut self, simulation: &Simulation, job: u32) -> &[Pair] {
        &self.shape_of(simulation, job).pairs
    }

    /// A bit for each type that has room for a job. The types are up to date.
    pub(crate) fn room(&mut self, simulation: &Simulation, job: u32) -> u64 {
        self.shape_of(simulation, job).room
    }

    /// The first of a job's fastest types, and how many thousandths of GPU-seconds a second of its run time is there.
    pub(crate) fn best(&self, simulation: &Simulation, job: u32) -> Option<(u32, f64)> {
        self.shapes[simulation.state(job).shape as usize].as_ref()?.best
    }

    /// Whether the order scores pairs, not jobs.
    pub(crate) fn has_scores(&self) -> bool {
        self.scores.is_some()
    }

    /// How a job stands in the order on a type: how far its score is behind the best one, if the order scores pairs, or
    /// that it refuses the type.
    pub(crate) fn score(&self, job: u32, column: usize) -> Option<Option<f64>> {
        let scores = self.scores.as_ref()?;
        Some(scores.get(&(job, column)).copied().flatten().map(|score| score - self.best_score))
    }

    /// What a job asks for on a type.
    pub(crate) fn on_type(&self, simulation: &Simulation, job: u32, column: usize) -> Option<&OnType> {
        let known = self.shapes[simulation.state(job).shape as usize].as_ref()?;
        known.on_types.iter().find(|on_type| column_of(on_type) == column)
    }
}

fn column_of(on_type: &OnType) -> usize {
    on_type.gpu_type.map_or(0, |gpu_type| gpu_type as usize)
}

/// What a running job holds.
fn held_by(simulation: &Simulation, job: u32) -> Held {
    let state = simulation.state(job);
    let node = state.placement.parts().next().map(|part| part.node);
    let gpu_type = node.and_then(|node| simulation.setup.cluster.nodes[node as usize].gpu_type);
    let gpu_milli = simulation.setup.shape_of(state).total_gpu_milli();
    // Jobs without GPUs may be on nodes without a type: what they hold is nothing here.
    Held { column: gpu_type.unwrap_or(0) as i32, gpu_milli: gpu_milli as i32 }
}

/// A shape on each type that can hold it, by their numbers.
fn pairs_of(simulation: &Simulation, shape: usize) -> ShapePairs {
    let setup = &simulation.setup;
    let mut types = setup.types_for(shape as u32).to_vec();
    types.sort_by_key(column_of);
    let prices = &setup.config.type_prices;
    let best = types.iter().map(|one| one.speed_micro).max().unwrap_or(FULL_SPEED);
    let cheapest = types.iter().map(|one| one.cost(prices)).fold(f64::INFINITY, f64::min);
    let pair = |on_type: &OnType| Pair {
        column: column_of(on_type) as u32,
        stamp: u32::MAX,
        gpu_milli: on_type.shape.total_gpu_milli(),
        speed: (on_type.speed_micro as f64 / FULL_SPEED as f64) as f32,
        of_best: (on_type.speed_micro as f64 / best as f64) as f32,
        of_cheapest: (cheapest / on_type.cost(prices)) as f32,
        ready_s: 0.0,
        log_ready: 0.0,
        apart: 0.0,
        has_room: false,
    };
    let pairs: Vec<Pair> = types.iter().map(pair).collect();
    let fastest = pairs.iter().find(|pair| pair.of_best >= 1.0);
    let best = fastest.map(|pair| (pair.column, pair.gpu_milli as f64 / f64::from(pair.speed)));
    ShapePairs { pairs, on_types: types, stamp: u32::MAX, room: 0, best }
}

impl Pair {
    /// Works out what is so now, for a job.
    fn look(&mut self, simulation: &Simulation, job: u32, on_type: &OnType, one: &TypeNow) {
        let is_enough = self.gpu_milli == 0 || self.gpu_milli <= one.free_milli;
        self.has_room = is_enough && simulation.fits_on(job, on_type);
        self.apart = if self.has_room { lost_apart(simulation, job, on_type) } else { 0.0 };
        self.ready_s = if self.has_room {
            0.0
        } else {
            // GPUs that are free and do not do, for they are too far apart or have no cores, may do when one more is.
            let end = one.ends.iter().find(|end| end.1 >= self.gpu_milli);
            end.map_or(NEVER_S, |end| seconds((end.0 - simulation.now_ms()).max(1)) as f32)
        };
        self.log_ready = if self.has_room { 0.0 } else { log_time(f64::from(self.ready_s)) };
    }
}

/// Which part of its speed on a type a job would lose now because its tasks are apart.
fn lost_apart(simulation: &Simulation, job: u32, on_type: &OnType) -> f32 {
    let (setup, shape) = (&simulation.setup, simulation.state(job).shape);
    if setup.locality.as_ref().and_then(|locality| locality.spreads(shape)).is_none() {
        return 0.0;
    }
    let placement = simulation.placement_on(job, on_type);
    let speed_micro = placement.map_or(on_type.speed_micro, |placement| setup.speed_micro(shape, &placement));
    (1.0 - speed_micro as f64 / on_type.speed_micro as f64).max(0.0) as f32
}
