//! Greedy and EASY over pairs of a job and a type of GPU, by a score that refuses some of them.

use std::collections::{HashMap, HashSet};

use crate::dispatch::beside::{can_reserve, places_each_anew, Head};
use crate::model::job::Shape;
use crate::order::pairs::{free_by_type, PairFeatures, PairScore};
use crate::order::ranking::{Candidate, Turn};
use crate::order::scores::{ascending_bits, LEAST_SIZE};
use crate::place::types::{ByAsk, OnType};
use crate::sim::simulation::Simulation;

/// A pair that is accepted. They sort as they take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    /// How many tiers are above its own; none for a job that the guard puts first.
    tiers_above: u32,
    /// The score's, or 0 for a job that the guard puts first.
    rank: u64,
    job: u32,
    /// Which of its types is better for a job that the guard puts first.
    score: u64,
    /// Which of its types this is.
    place: u32,
}

/// What the score sees of the cluster in a pass.
struct PairScene {
    score: PairScore,
    free: Vec<f64>,
    /// Of the whole cluster, for jobs without GPUs.
    free_part: f64,
    queue: f64,
    /// Nothing runs: somebody has to start, so that nothing is refused.
    is_idle: bool,
}

/// Everything that fits and is accepted starts, the best pair first.
pub(super) fn greedy_pass(simulation: &mut Simulation) {
    let pairs = accepted_pairs(simulation, true);
    fill(simulation, &pairs, None);
}

/// Jobs take turns by their best pairs. The first that has no room on any type that it accepts holds a reservation; behind
/// it, pairs start that do not delay it.
pub(super) fn easy_pass(simulation: &mut Simulation) {
    let pairs = accepted_pairs(simulation, false);
    let by_job = by_job(&pairs);
    for (turn, (job, places)) in by_job.iter().enumerate() {
        let start = places.iter().any(|&place| start_pair(simulation, None, *job, place));
        if start || !can_reserve(simulation, *job) {
            continue;
        }
        let wanted = on_types(simulation, *job, places.iter().copied());
        let mut head = Head::wanting(simulation, *job, Some(wanted));
        let behind: HashSet<u32> = by_job[turn + 1..].iter().map(|(job, _)| *job).collect();
        let rest: Vec<Pair> = pairs.into_iter().filter(|pair| behind.contains(&pair.job)).collect();
        return fill(simulation, &rest, Some(&mut head));
    }
}

/// A pair that fits now, as the score sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) job: u32,
    /// Which of its types this is.
    pub(crate) place: u32,
    pub(crate) score: f64,
    pub(crate) accepted: bool,
}

/// All pairs that fit now, those that are refused as well. The order is up to date.
pub(crate) fn offers(simulation: &Simulation) -> Vec<Offer> {
    let mut found = Vec::new();
    each_pair(simulation, true, |one, place, score, accepted| {
        found.push(Offer { job: one.job, place, score, accepted });
    });
    found
}

/// The turns of all candidates by their best pairs, in the order of the table; one that accepts no type may not reserve.
pub(crate) fn turns(simulation: &Simulation) -> Vec<Turn> {
    let mut best: HashMap<u32, (u32, u64)> = HashMap::new();
    for pair in accepted_pairs(simulation, false) {
        best.entry(pair.job).or_insert((pair.tiers_above, pair.rank));
    }
    let turn = |one: &Candidate| match best.get(&one.job) {
        Some(&(tiers_above, rank)) => Turn { tiers_above, ..Turn::plain(rank, one.job) },
        None => Turn { may_reserve: false, tiers_above: u32::MAX, ..Turn::plain(u64::MAX, one.job) },
    };
    simulation.waiting.candidates().iter().map(turn).collect()
}

/// What each candidate asks for on the types that it accepts now; those are left out that accept none.
pub(crate) fn wanted(simulation: &Simulation) -> HashMap<u32, Shape> {
    let pairs = accepted_pairs(simulation, false);
    by_job(&pairs).into_iter().map(|(job, places)| (job, on_types(simulation, job, places.into_iter()))).collect()
}

/// The jobs of sorted pairs by their best, each with its types in the order of their scores.
fn by_job(pairs: &[Pair]) -> Vec<(u32, Vec<u32>)> {
    let mut jobs: Vec<(u32, Vec<u32>)> = Vec::new();
    let mut turn_of: HashMap<u32, usize> = HashMap::new();
    for pair in pairs {
        let turn = *turn_of.entry(pair.job).or_insert_with(|| {
            jobs.push((pair.job, Vec::new()));
            jobs.len() - 1
        });
        jobs[turn].1.push(pair.place);
    }
    jobs
}

/// What a job asks for, on some of its types alone.
fn on_types(simulation: &Simulation, job: u32, places: impl Iterator<Item = u32>) -> Shape {
    let shape = simulation.state(job).shape;
    let types = simulation.setup.types_for(shape);
    let masks = places.filter_map(|place| types[place as usize].gpu_type);
    let gpu_types = masks.fold(0, |mask, gpu_type| mask | 1 << gpu_type);
    let own = &simulation.setup.shapes()[shape as usize];
    Shape { gpu_types: if gpu_types == 0 { own.gpu_types } else { gpu_types }, ..own.clone() }
}

/// Starts pairs in order that fit now and do not delay the head.
fn fill(simulation: &mut Simulation, pairs: &[Pair], mut head: Option<&mut Head>) {
    let mut started: Vec<u32> = Vec::new();
    for pair in pairs {
        if !started.contains(&pair.job) && start_pair(simulation, head.as_deref_mut(), pair.job, pair.place) {
            started.push(pair.job);
        }
    }
}

/// Starts a job on one of its types, if it fits there and does not delay the head. Says whether it did.
fn start_pair(simulation: &mut Simulation, head: Option<&mut Head>, job: u32, place: u32) -> bool {
    let on_type = &simulation.setup.types_for(simulation.state(job).shape)[place as usize];
    let Some(placement) = simulation.placement_on(job, on_type) else { return false };
    if head.is_some_and(|head| !head.admit(simulation, job, &placement)) {
        return false;
    }
    simulation.start_on(job, placement);
    true
}

/// The pairs that are accepted now, in the order of their turns; or only those that fit.
fn accepted_pairs(simulation: &Simulation, must_fit: bool) -> Vec<Pair> {
    let mut pairs = Vec::new();
    each_pair(simulation, must_fit, |one, place, score, accepted| {
        if accepted {
            let score = ascending_bits(score);
            let is_first = simulation.waiting.queue.is_first(one.job);
            let (tiers_above, rank) = if is_first { (0, 0) } else { (one.tiers_above, score) };
            pairs.push(Pair { tiers_above, rank, job: one.job, score, place });
        }
    });
    pairs.sort_unstable();
    pairs
}

/// Visits the pairs of all candidates, or only those that fit: which of its types, the score, and whether it is accepted.
fn each_pair(simulation: &Simulation, must_fit: bool, mut visit: impl FnMut(&Candidate, u32, f64, bool)) {
    let mut room = RoomNow::new(simulation);
    let mut scene: Option<PairScene> = None;
    for one in simulation.waiting.candidates() {
        for (place, on_type) in simulation.setup.types_for(one.shape).iter().enumerate() {
            let apart = room.apart(simulation, one, on_type);
            if must_fit && apart.is_none() {
                continue;
            }
            // Mostly nobody fits: then nothing else is worked out.
            let scene = scene.get_or_insert_with(|| PairScene::of(simulation));
            let pair = scene.features(simulation, one, place, apart.unwrap_or(0.0));
            let takes_any = scene.is_idle || simulation.waiting.queue.is_first(one.job);
            let accepted = takes_any || scene.score.accepts(&pair);
            visit(one, place as u32, scene.score.score(&pair), accepted);
        }
    }
}

/// What has room in a pass, looked at once for all that is alike.
struct RoomNow {
    fits: ByAsk<bool>,
    /// By shape and what it asks for on a type: by how much it would be slowed for being apart.
    apart: HashMap<(u32, u32), f64>,
    /// Jobs of one shape may fit on different nodes.
    each_anew: bool,
}

impl RoomNow {
    fn new(simulation: &Simulation) -> Self {
        let fits = ByAsk::new(simulation.setup.type_table());
        RoomNow { fits, apart: HashMap::new(), each_anew: places_each_anew(simulation) }
    }

    /// By how much a job would be slowed on a type for being apart; none: it does not fit there now.
    fn apart(&mut self, simulation: &Simulation, one: &Candidate, on_type: &OnType) -> Option<f64> {
        let fits = || simulation.fits_on(one.job, on_type);
        if !(if self.each_anew { fits() } else { self.fits.get(on_type, fits) }) {
            return None;
        }
        let setup = &simulation.setup;
        if setup.locality.as_ref().and_then(|locality| locality.spreads(one.shape)).is_none() {
            return Some(0.0);
        }
        let key = (one.shape, on_type.ask);
        if let Some(&apart) = self.apart.get(&key).filter(|_| !self.each_anew) {
            return Some(apart);
        }
        let placement = simulation.placement_on(one.job, on_type)?;
        let together_micro = setup.cluster.speed_micro(&on_type.shape, &placement);
        let apart = (together_micro as f64 / setup.speed_micro(one.shape, &placement) as f64).ln();
        self.apart.insert(key, apart);
        Some(apart)
    }
}

impl PairScene {
    fn of(simulation: &Simulation) -> Self {
        let (setup, free) = (&simulation.setup, &simulation.machine.free);
        let (sizes, candidates) = (&setup.sizes, simulation.waiting.candidates());
        let area: f64 = candidates.iter().map(|one| one.r * one.n.max(LEAST_SIZE)).sum();
        PairScene {
            score: PairScore::new(&setup.config.policy_parameters),
            free: free_by_type(&setup.cluster, free),
            free_part: sizes.free_milli(free) as f64 / sizes.capacity_milli as f64,
            queue: (1.0 + area / (sizes.capacity() * 3600.0)).ln(),
            is_idle: simulation.machine.running() == 0,
        }
    }

    /// A candidate on one of its types, where it is slowed by so much for being apart.
    fn features(&self, simulation: &Simulation, one: &Candidate, place: usize, apart: f64) -> PairFeatures {
        let gpu_type = simulation.setup.types_for(one.shape)[place].gpu_type;
        let free = gpu_type.map_or(self.free_part, |gpu_type| self.free[gpu_type as usize]);
        let facts = &simulation.setup.pair_facts(one.shape)[place];
        PairFeatures::of(&one.pair_job(simulation.now_ms()), facts, free, self.queue, apart)
    }
}
