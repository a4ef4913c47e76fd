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
use crate::place::types::{types_of, OnType};
use crate::sim::simulation::Simulation;

/// How long it takes until a type has room that never has it, as far as is known: as long as the clock of features goes.
const NEVER_S: f32 = 1_209_600.0;

/// A shape on a type that can hold it: what stands still, and what is so now.
pub(crate) struct Pair {
    /// The type's number; jobs without GPUs, which go anywhere, stand in the first.
    pub(crate) column: usize,
    on_type: OnType,
    /// How fast it is there; 1 is what run times are given for.
    pub(crate) speed: f32,
    /// The same as a part of its best.
    pub(crate) of_best: f32,
    /// What its cheapest type costs it, as a part of what this one does.
    pub(crate) of_cheapest: f32,
    /// GPUs of all tasks, in thousandths.
    pub(crate) gpu_milli: i64,
    /// The stamp of its type when the following was worked out.
    stamp: u32,
    pub(crate) has_room: bool,
    /// Until as many GPUs are free as it needs.
    pub(crate) ready_s: f32,
    pub(crate) log_ready: f32,
    /// Which part of its speed it would lose now for being apart.
    pub(crate) apart: f32,
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

/// All pairs of an episode.
pub(crate) struct Pairs {
    /// How many types there are. Behind them stands what jobs without GPUs see: everything.
    count: usize,
    pub(crate) types: Vec<TypeNow>,
    /// Whose shapes are known: further episodes are mostly of the same.
    known: Option<(Arc<Cluster>, Arc<Jobs>)>,
    shapes: Vec<Option<Vec<Pair>>>,
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
        let types = (0..=count).map(|_| TypeNow::default()).collect();
        Pairs { count, types, known: None, shapes: Vec::new(), each_anew: false, scores: None, best_score: 0.0 }
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

    /// Something has started on a type; none: on any of them.
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
            one.free_milli =
                one.nodes.iter().filter(|&&node| !free.is_down(node)).map(|&node| free.gpu_milli(node)).sum();
            one.ends.clear();
        }
        for end in simulation.machine.expected() {
            let state = simulation.state(end.job);
            let gpu_milli = simulation.setup.shape_of(state).total_gpu_milli();
            let node = state.placement.parts().next().filter(|_| gpu_milli > 0).map(|part| part.node);
            let gpu_type = node.and_then(|node| simulation.setup.cluster.nodes[node as usize].gpu_type);
            let Some(one) = gpu_type.map(|number| &mut types[number as usize]).filter(|one| one.is_stale) else {
                continue;
            };
            let before = one.ends.last().map_or(one.free_milli, |end| end.1);
            one.ends.push((end.instant_ms, before + gpu_milli));
        }
        types.iter_mut().for_each(|one| one.is_stale = false);
    }

    /// A job on each type that can hold it, as things are now. The types are up to date.
    pub(crate) fn of_job(&mut self, simulation: &Simulation, job: u32) -> &[Pair] {
        let shape = simulation.state(job).shape as usize;
        let pairs = self.shapes[shape].get_or_insert_with(|| pairs_of(simulation, shape));
        for pair in pairs.iter_mut() {
            let place = if pair.on_type.gpu_type.is_some() { pair.column } else { self.count };
            let one = &self.types[place];
            if pair.stamp != one.stamp || self.each_anew {
                pair.stamp = one.stamp;
                pair.look(simulation, job, one);
            }
        }
        pairs
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
        let pairs = self.shapes[simulation.state(job).shape as usize].as_ref()?;
        pairs.iter().find(|pair| pair.column == column).map(|pair| &pair.on_type)
    }
}

fn column_of(on_type: &OnType) -> usize {
    on_type.gpu_type.map_or(0, |gpu_type| gpu_type as usize)
}

/// A shape on each type that can hold it, by their numbers.
fn pairs_of(simulation: &Simulation, shape: usize) -> Vec<Pair> {
    let setup = &simulation.setup;
    let mut types = types_of(&setup.cluster, &setup.shapes()[shape]);
    types.sort_by_key(column_of);
    let prices = &setup.config.type_prices;
    let best = types.iter().map(|one| one.speed_micro).max().unwrap_or(FULL_SPEED);
    let cheapest = types.iter().map(|one| one.cost(prices)).fold(f64::INFINITY, f64::min);
    let pair = |on_type: OnType| Pair {
        column: column_of(&on_type),
        speed: (on_type.speed_micro as f64 / FULL_SPEED as f64) as f32,
        of_best: (on_type.speed_micro as f64 / best as f64) as f32,
        of_cheapest: (cheapest / on_type.cost(prices)) as f32,
        gpu_milli: on_type.shape.total_gpu_milli(),
        stamp: u32::MAX,
        has_room: false,
        ready_s: 0.0,
        log_ready: 0.0,
        apart: 0.0,
        on_type,
    };
    types.into_iter().map(pair).collect()
}

impl Pair {
    /// Works out what is so now, for a job.
    fn look(&mut self, simulation: &Simulation, job: u32, one: &TypeNow) {
        let now_ms = simulation.now_ms();
        let is_enough = self.on_type.gpu_type.is_none() || self.gpu_milli <= one.free_milli;
        self.has_room = is_enough && simulation.fits_on(job, &self.on_type);
        self.apart = if self.has_room { self.lost_apart(simulation, job) } else { 0.0 };
        self.ready_s = if self.has_room {
            0.0
        } else {
            // GPUs that are free and do not do, for they are too far apart or have no cores, may do when one more is.
            let end = one.ends.iter().find(|end| end.1 >= self.gpu_milli);
            end.map_or(NEVER_S, |end| seconds((end.0 - now_ms).max(1)) as f32)
        };
        self.log_ready = log_time(f64::from(self.ready_s));
    }

    fn lost_apart(&self, simulation: &Simulation, job: u32) -> f32 {
        let (setup, shape) = (&simulation.setup, simulation.state(job).shape);
        if setup.locality.as_ref().and_then(|locality| locality.spreads(shape)).is_none() {
            return 0.0;
        }
        let placement = simulation.placement_on(job, &self.on_type);
        let speed_micro = placement.map_or(self.on_type.speed_micro, |placement| setup.speed_micro(shape, &placement));
        (1.0 - speed_micro as f64 / self.on_type.speed_micro as f64).max(0.0) as f32
    }
}
