//! What a policy sees of pairs of jobs and types of GPUs; `docs/environments.md` lists the features in this order.

use crate::dispatch::contenders::done_ms;
use crate::envs::observe::{
    log_time, Observer, Standpoint, FITS_FEATURE, HELD_BACK_FEATURE, HOUR_S, JOB_FEATURES, ORDER_GAP_FEATURE,
    PAIR_FEATURES, TYPE_FEATURES,
};
use crate::envs::pairs::{Pair, Pairs, TypeNow};
use crate::envs::pass::{gap_feature, Pass, Slot, WIDEST_GAP};
use crate::order::scores::seconds;
use crate::sim::simulation::Simulation;

/// How far each type stands behind the next faster one that has room, in the units of `order_gap`: half a place.
const TYPE_GAP: f32 = 0.125 / WIDEST_GAP as f32;

/// How long jobs last on each type, on the scale of features: logarithms are dear, and seldom change.
#[derive(Default)]
pub(crate) struct Times {
    /// By job: what is left of its estimate in seconds, and then for each type the feature.
    values: Vec<f32>,
}

impl Times {
    /// An episode of so many jobs begins.
    pub(crate) fn begin(&mut self, jobs: usize, types: usize) {
        self.values.clear();
        self.values.resize(jobs * (types + 1), -1.0);
    }

    /// The feature of a job on each of its types.
    fn of_job(&mut self, job: u32, types: usize, left_s: f32, pairs: &[Pair]) -> &[f32] {
        let known = &mut self.values[job as usize * (types + 1)..][..types + 1];
        if known[0] != left_s {
            known[0] = left_s;
            pairs.iter().for_each(|pair| known[pair.column as usize + 1] = log_time(f64::from(left_s / pair.speed)));
        }
        &known[1..]
    }
}

/// What is the same for all rows of an observation.
struct Scene<'a> {
    free: f32,
    held: &'a [i64],
    free_parts: Vec<f32>,
    free_milli: Vec<f32>,
    /// By type: how much work waits that is fastest there.
    wanted: Vec<f32>,
}

impl Observer {
    /// Writes the observation: `shown` are places in the pass of the jobs, each of which has a row for each type.
    pub(super) fn observe_pairs(
        &mut self,
        simulation: &Simulation,
        pass: &mut Pass,
        shown: &[u32],
        (pairs, times): (&mut Pairs, &mut Times),
        observation: &mut [f32],
    ) {
        let (types, rows) = self.observe_context(simulation, pass, observation);
        pairs.refresh(simulation);
        let count = self.layout.types;
        let scene = Scene {
            free: simulation.setup.sizes.free_milli(&simulation.machine.free) as f32 / 1000.0,
            held: simulation.accounts.tally().map(|tally| &tally.held[..]).unwrap_or_default(),
            free_parts: pairs.types[..count].iter().map(|one| one.free_part()).collect(),
            free_milli: pairs.types[..count].iter().map(|one| one.free_milli as f32).collect(),
            wanted: self.wanted(simulation, pass, pairs),
        };
        let all_milli: i64 = pairs.types[..count].iter().map(|one| one.gpu_milli).sum();
        for (number, features) in types.chunks_exact_mut(TYPE_FEATURES).enumerate() {
            let one = &pairs.types[number];
            features[0] = one.gpu_milli as f32 / all_milli.max(1) as f32;
            features[1] = scene.free_parts[number];
            features[2] = log_time(one.free_in_s(simulation.now_ms()));
            features[3] = scene.wanted[number];
        }
        let width = self.layout.width();
        let mut blocks = rows.chunks_exact_mut(count * width);
        for (&place, block) in shown.iter().zip(&mut blocks) {
            self.observe_job_on_types(simulation, &pass.slots[place as usize], (pairs, times), &scene, block);
        }
        // Behind the rows of the observation that stood here before there are zeros already.
        blocks.take_while(|block| block[0] != 0.0).for_each(|block| block.fill(0.0));
    }

    /// How much work waits that is fastest on each type, for each of its GPUs.
    fn wanted(&self, simulation: &Simulation, pass: &Pass, pairs: &Pairs) -> Vec<f32> {
        let mut wanted_s = vec![0.0_f64; self.layout.types];
        for slot in &pass.slots {
            let Some((column, milli)) = pairs.best(simulation, slot.job()) else { continue };
            wanted_s[column as usize] += f64::from(self.estimate_s(slot.job())) * milli;
        }
        let hours = |(one, work_s): (&TypeNow, f64)| work_s / (one.gpu_milli.max(1) as f64 * HOUR_S);
        pairs.types.iter().zip(wanted_s).map(|one| ((1.0 + hours(one)).ln() / 10.0).min(1.0) as f32).collect()
    }

    /// Writes the rows of a job, one for each type.
    fn observe_job_on_types(
        &self,
        simulation: &Simulation,
        slot: &Slot,
        (pairs, times): (&mut Pairs, &mut Times),
        scene: &Scene,
        block: &mut [f32],
    ) {
        let (job, count, width) = (slot.job(), self.layout.types, self.layout.width());
        let (first, others) = block.split_at_mut(width);
        self.observe_job(simulation, job, (scene.free, scene.held), Standpoint::of(slot), first);
        first[FITS_FEATURE] = 0.0;
        others.chunks_exact_mut(width).for_each(|row| row.copy_from_slice(first));
        for (column, row) in block.chunks_exact_mut(width).enumerate() {
            row[JOB_FEATURES + PAIR_FEATURES + column] = 1.0;
            // Where the order scores pairs, it says itself which come first, and which it refuses.
            match pairs.score(job, column) {
                None => {}
                Some(None) => row[HELD_BACK_FEATURE] = 1.0,
                Some(Some(gap)) => row[ORDER_GAP_FEATURE] = gap_feature(gap),
            }
        }
        let scores_jobs = !pairs.has_scores();
        let left_s = (self.estimate_s(job) - seconds(done_ms(simulation, job)) as f32).max(1.0);
        let found = pairs.of_job(simulation, job);
        let logs = times.of_job(job, count, left_s, found);
        let finish_s = |pair: &Pair| pair.ready_s + left_s / pair.speed;
        let soonest_s = found.iter().map(finish_s).fold(f32::INFINITY, f32::min);
        for pair in found {
            let column = pair.column as usize;
            let row = &mut block[column * width..][..width];
            let (free_milli, needed_milli) = (scene.free_milli[column], pair.gpu_milli as f32);
            row[FITS_FEATURE] = f32::from(u8::from(pair.has_room));
            row[JOB_FEATURES..][..PAIR_FEATURES].copy_from_slice(&[
                1.0,
                pair.of_best,
                logs[column],
                if needed_milli > 0.0 { free_milli / (free_milli + needed_milli) } else { 1.0 },
                pair.log_ready,
                soonest_s / finish_s(pair),
                pair.apart,
                pair.of_cheapest,
                scene.free_parts[column],
                scene.wanted[column],
            ]);
            if scores_jobs {
                let is_faster = |other: &Pair| (other.speed, pair.column) > (pair.speed, other.column);
                let ahead = found.iter().filter(|other| other.has_room && is_faster(other)).count() as f32;
                row[ORDER_GAP_FEATURE] = (row[ORDER_GAP_FEATURE] - TYPE_GAP * ahead).max(0.0);
            }
        }
    }
}
