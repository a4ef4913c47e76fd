//! Pairs of a job and a type of GPU: what a score sees of them, and the score itself. Formulas in `docs/policies.md`.

use crate::model::cluster::{Cluster, DEVICE_MILLI};
use crate::model::free::Free;
use crate::model::speeds::FULL_SPEED;
use crate::place::types::OnType;

/// How many parameters a score over pairs has.
pub(crate) const PAIR_PARAMETERS: usize = 17;

/// What is the same for all jobs of a shape on a type, at any time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairFacts {
    /// How fast it is there; 1 is what run times are given for.
    speed: f64,
    log_speed: f64,
    /// The logarithm of how many times as fast its best type is; 0 or more.
    log_slower: f64,
    /// The logarithm of how many times as much it costs as on its cheapest type; 0 or more.
    log_dearer: f64,
}

/// The facts of a shape on each of its types; without prices, all types cost a job the same.
pub(crate) fn facts_of(types: &[OnType], prices: &[f64]) -> Vec<PairFacts> {
    let best = types.iter().map(|one| one.speed_micro).max().unwrap_or(FULL_SPEED) as f64;
    let cheapest = types.iter().map(|one| one.cost(prices)).fold(f64::INFINITY, f64::min);
    let facts = |one: &OnType| {
        let speed = one.speed_micro as f64 / FULL_SPEED as f64;
        PairFacts {
            speed,
            log_speed: speed.ln(),
            log_slower: (best / one.speed_micro as f64).ln(),
            log_dearer: if prices.is_empty() { 0.0 } else { (one.cost(prices) / cheapest).ln() },
        }
    };
    types.iter().map(facts).collect()
}

/// A waiting job as a pair sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairJob {
    /// The estimate in seconds, at least 1.
    pub(crate) r: f64,
    /// The logarithm of the estimate in days.
    pub(crate) log_days: f64,
    /// The logarithm of its share of the cluster.
    pub(crate) log_size: f64,
    pub(crate) wait_s: f64,
}

/// What a score sees of a job on a type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PairFeatures {
    /// The logarithm of the estimated time there, in days.
    pub(crate) log_days: f64,
    pub(crate) log_slower: f64,
    pub(crate) log_size: f64,
    pub(crate) wait_h: f64,
    /// The wait over the estimated time there.
    pub(crate) wait_ratio: f64,
    /// Which part of the type's GPUs is free.
    pub(crate) free: f64,
    /// The logarithm of 1 plus the hours of work that wait for the whole cluster.
    pub(crate) queue: f64,
    /// The logarithm of how many times as long it takes there because its tasks are apart.
    pub(crate) log_apart: f64,
    pub(crate) log_dearer: f64,
}

impl PairFeatures {
    /// The features of a job on a type of which this part is free, where it is slowed by so much for being apart.
    pub(crate) fn of(job: &PairJob, facts: &PairFacts, free: f64, queue: f64, log_apart: f64) -> Self {
        PairFeatures {
            log_days: job.log_days - facts.log_speed,
            log_slower: facts.log_slower,
            log_size: job.log_size,
            wait_h: job.wait_s / 3600.0,
            wait_ratio: job.wait_s / (job.r / facts.speed),
            free,
            queue,
            log_apart,
            log_dearer: facts.log_dearer,
        }
    }
}

/// Which part of each type's GPUs is free on nodes that are up, by the type's number.
pub(crate) fn free_by_type(cluster: &Cluster, free: &Free) -> Vec<f64> {
    let types = cluster.nodes.iter().filter_map(|node| node.gpu_type).max().map_or(0, |most| most as usize + 1);
    let mut counts = vec![(0_i64, 0_i64); types];
    for (node, number) in cluster.nodes.iter().zip(0..) {
        if let Some(gpu_type) = node.gpu_type {
            let (free_milli, all_milli) = &mut counts[gpu_type as usize];
            *all_milli += i64::from(node.gpus) * i64::from(DEVICE_MILLI);
            *free_milli += if free.is_down(number) { 0 } else { free.gpu_milli(number) };
        }
    }
    counts.into_iter().map(|(free_milli, all_milli)| free_milli as f64 / all_milli.max(1) as f64).collect()
}

/// The weights of a score over pairs, and when it refuses one.
#[derive(Clone, Debug)]
pub(crate) struct PairScore {
    estimate: f64,
    slower: f64,
    size: f64,
    wait: f64,
    wait_ratio: f64,
    free: f64,
    apart: f64,
    price: f64,
    lost_slower: f64,
    lost_apart: f64,
    lost_price: f64,
    accept: f64,
    accept_estimate: f64,
    accept_size: f64,
    accept_wait: f64,
    accept_free: f64,
    accept_queue: f64,
}

impl PairScore {
    /// The score with these parameters, of which there are as many as belong.
    pub(crate) fn new(p: &[f64]) -> Self {
        PairScore {
            estimate: p[0],
            slower: p[1],
            size: p[2],
            wait: p[3],
            wait_ratio: p[4],
            free: p[5],
            apart: p[6],
            price: p[7],
            lost_slower: p[8],
            lost_apart: p[9],
            lost_price: p[10],
            accept: p[11],
            accept_estimate: p[12],
            accept_size: p[13],
            accept_wait: p[14],
            accept_free: p[15],
            accept_queue: p[16],
        }
    }

    /// The score of a pair: the least goes first.
    pub(crate) fn score(&self, pair: &PairFeatures) -> f64 {
        self.estimate * pair.log_days + self.slower * pair.log_slower + self.size * pair.log_size
            - self.wait * pair.wait_h
            - self.wait_ratio * pair.wait_ratio
            - self.free * pair.free
            + self.apart * pair.log_apart
            + self.price * pair.log_dearer
    }

    /// Whether a job takes the type: what it loses there is no more than what it may lose now.
    pub(crate) fn accepts(&self, pair: &PairFeatures) -> bool {
        let lost =
            self.lost_slower * pair.log_slower + self.lost_apart * pair.log_apart + self.lost_price * pair.log_dearer;
        let may_lose = self.accept
            + self.accept_estimate * pair.log_days
            + self.accept_size * pair.log_size
            + self.accept_wait * pair.wait_h
            + self.accept_free * pair.free
            + self.accept_queue * pair.queue;
        lost <= may_lose
    }
}
