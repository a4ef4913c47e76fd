//! Types of GPUs for a job: which can hold it, how fast it is there, what it costs there, and which it accepts.

use std::collections::HashMap;

use crate::model::cluster::Cluster;
use crate::model::codes::from_code;
use crate::model::groups::Group;
use crate::model::job::Shape;
use crate::model::speeds::FULL_SPEED;

/// Which types a job takes; the numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum PairRule {
    /// Any that the placement gives it.
    Any = 0,
    /// Those that cost little more than its cheapest, by the prices of types.
    Price = 1,
    /// The one on which it ends first, though it has to wait for it.
    Eft = 2,
}

from_code!(PairRule: Any, Price, Eft);

/// A type of GPU that can hold a job.
#[derive(Clone, Debug)]
pub(crate) struct OnType {
    /// Its number; none for a job without GPUs, which goes anywhere.
    pub(crate) gpu_type: Option<u32>,
    /// How fast the job runs there if its tasks are close together, in millionths.
    pub(crate) speed_micro: i64,
    /// What it asks for, on this type alone: whoever searches nodes for this shape finds them there or nowhere.
    pub(crate) shape: Shape,
    /// The number of what is asked for there. Kinds of jobs differ in speed and mostly in nothing else: pairs of one number
    /// have room at the same times.
    pub(crate) ask: u32,
}

impl OnType {
    /// What a second of the job's work costs there, by the prices of types.
    pub(crate) fn cost(&self, prices: &[f64]) -> f64 {
        let price = self.gpu_type.and_then(|gpu_type| prices.get(gpu_type as usize)).unwrap_or(&1.0);
        price / self.speed_micro as f64
    }
}

/// The types that can hold each shape of a table, and what is asked for on them.
pub(crate) struct TypeTable {
    pub(crate) by_shape: Vec<Vec<OnType>>,
    /// By the number of what is asked for, the type on which it is; none: it goes anywhere.
    pub(crate) asks: Vec<Option<u32>>,
}

impl TypeTable {
    /// `by_kind`: which nodes a job may use depends on its kind as well.
    pub(crate) fn new(cluster: &Cluster, shapes: &[Shape], by_kind: bool) -> Self {
        let mut by_shape: Vec<Vec<OnType>> = shapes.iter().map(|shape| types_of(cluster, shape)).collect();
        let (mut asks, mut known) = (Vec::new(), HashMap::new());
        for one in by_shape.iter_mut().flatten() {
            let tells_apart = by_kind || one.gpu_type.is_none();
            let asked = Shape { kind: one.shape.kind.filter(|_| tells_apart), ..one.shape.clone() };
            one.ask = *known.entry(asked).or_insert_with(|| {
                asks.push(one.gpu_type);
                asks.len() as u32 - 1
            });
        }
        TypeTable { by_shape, asks }
    }
}

/// What is known of some of the things that are asked for on types, by their numbers.
pub(crate) struct ByAsk<T>(Vec<Option<T>>);

impl<T: Copy> ByAsk<T> {
    pub(crate) fn new(table: &TypeTable) -> Self {
        ByAsk(vec![None; table.asks.len()])
    }

    #[inline]
    pub(crate) fn get(&mut self, on_type: &OnType, work_out: impl FnOnce() -> T) -> T {
        *self.0[on_type.ask as usize].get_or_insert_with(work_out)
    }

    pub(crate) fn forget(&mut self) {
        self.0.fill(None);
    }
}

/// The types that can hold a job of this shape, in the order of its pools.
fn types_of(cluster: &Cluster, shape: &Shape) -> Vec<OnType> {
    if !cluster.binds_to_pool(shape) {
        return vec![OnType { gpu_type: None, speed_micro: FULL_SPEED, shape: shape.clone(), ask: 0 }];
    }
    let on_type = |pool: &Group| {
        let gpu_type = cluster.nodes[pool[0] as usize].gpu_type.filter(|_| cluster.suits(pool[0], shape))?;
        let shape = Shape { gpu_types: 1 << gpu_type, ..shape.clone() };
        let holds = cluster.empty.fits_on(cluster, &shape, pool);
        let speed_micro = cluster.speed_on(pool[0], &shape);
        holds.then_some(OnType { gpu_type: Some(gpu_type), speed_micro, shape, ask: 0 })
    };
    let mut found: Vec<OnType> = Vec::new();
    // Several partitions may have one type.
    for one in cluster.groups_for(shape).iter().filter_map(on_type) {
        if !found.iter().any(|other| other.gpu_type == one.gpu_type) {
            found.push(one);
        }
    }
    found
}

/// A shape that accepts the types alone whose cost is within a factor of its cheapest. One that no type can hold stays as
/// it is: it is rejected for what it asks for.
pub(crate) fn within_price(cluster: &Cluster, shape: &Shape, prices: &[f64], factor: f64) -> Shape {
    let types = types_of(cluster, shape);
    let cheapest = types.iter().map(|one| one.cost(prices)).fold(f64::INFINITY, f64::min);
    let accepted = types.iter().filter(|one| one.cost(prices) <= factor * cheapest);
    let mask = accepted.filter_map(|one| one.gpu_type).fold(0, |mask, gpu_type| mask | 1 << gpu_type);
    Shape { gpu_types: if mask == 0 { shape.gpu_types } else { mask }, ..shape.clone() }
}

/// Whether each job can have a type: none may mix them, and every GPU has one.
pub(crate) fn check_types(cluster: &Cluster, prices: &[f64]) -> Result<(), String> {
    if cluster.mix {
        return Err("types of GPUs are chosen, but jobs may mix them on this cluster".to_string());
    }
    let types = || cluster.nodes.iter().filter(|node| node.gpus > 0).map(|node| node.gpu_type);
    if let Some(number) = cluster.nodes.iter().position(|node| node.gpus > 0 && node.gpu_type.is_none()) {
        return Err(format!("node {number}: its GPUs have no type, but types of GPUs are chosen"));
    }
    let most = types().flatten().max();
    match most.filter(|&most| !prices.is_empty() && most as usize >= prices.len()) {
        Some(most) => Err(format!("type {most} has no price; there are {} prices", prices.len())),
        None => Ok(()),
    }
}
