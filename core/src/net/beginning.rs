//! What a network that begins as a rule is added to: the rule's own scores of what may be chosen.

use super::batch::free_parts;
use super::spec::HOST_FEATURES;
use crate::envs::observe::{HELD_BACK_FEATURE, ORDER_GAP_FEATURE};

/// The distance of scores at which the feature `order_gap` ends.
const LARGEST_GAP: f32 = 16.0;
/// The least score of a job that the order would let run: even a long queue of them is hardly ever drawn from.
const LEAST_ELIGIBLE: f32 = -12.0;
/// *Wait*: behind the best job, near enough to be tried now and then.
const WAIT: f32 = -5.0;
/// A job that the order holds back: behind *wait*.
const HELD_BACK: f32 = -10.0;
/// Free cores are rounded to this part of the largest host's, so that hosts that have the same are the same.
const GRID: f32 = 16_384.0;
/// Free memory decides between hosts with the same free cores, and weighs less than one core does.
const MEMORY: f32 = 1.0 / 1024.0;

/// The order's scores of what a mask of PickJob allows; the best of them has 0.
pub(crate) fn order_beginning(rows: &[f32], width: usize, mask: &[u8], temperature: f32, scores: &mut Vec<f32>) {
    // The rows that choices are made of: a score too many would be that of another choice.
    let filled = || rows.chunks_exact(width).take_while(|row| row[0] > 0.0);
    let allowed = || filled().zip(&mask[1..]).filter(|(_, &allowed)| allowed != 0);
    // Distances are measured from the best job that may be chosen now, which need not be the first in the order.
    let eligible = allowed().filter(|(row, _)| row[HELD_BACK_FEATURE] <= 0.0).map(|(row, _)| row[ORDER_GAP_FEATURE]);
    let nearest = eligible.fold(0.0f32, f32::max);
    if mask[0] != 0 {
        scores.push(WAIT);
    }
    scores.extend(allowed().map(|(row, _)| {
        if row[HELD_BACK_FEATURE] > 0.0 {
            return HELD_BACK;
        }
        (temperature * LARGEST_GAP * (row[ORDER_GAP_FEATURE] - nearest)).max(LEAST_ELIGIBLE)
    }));
}

/// Best-fit's scores of the hosts that a mask of PickHost allows; the best of them has about 0.
pub(crate) fn host_beginning(hosts: &[f32], mask: &[u8], temperature: f32, scores: &mut Vec<f32>) {
    let allowed = hosts.chunks_exact(HOST_FEATURES).zip(mask).filter(|(_, &allowed)| allowed != 0);
    let parts = allowed.map(|(host, _)| {
        let [cores, memory] = free_parts(host);
        ((cores * GRID).round_ties_even() / GRID, memory)
    });
    let least = parts.clone().fold(f32::INFINITY, |least, (cores, _)| least.min(cores));
    scores.extend(parts.map(|(cores, memory)| -temperature * (cores - least + MEMORY * memory)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envs::observe::JOB_FEATURES;
    use crate::net::batch::Batch;
    use crate::net::policy::Policy;
    use crate::net::spec::CLUSTER_FEATURES;

    #[test]
    fn every_choice_has_one_score_to_begin_with_even_where_rows_are_missing() {
        for kind in ["kernel", "mlp", "attention"] {
            let network = format!(r#"{{"kind": "{kind}", "hidden": [4], "heads": 1, "order_temperature": 1}}"#);
            let about = format!(r#"{{"layout": {{"kind": "pick-job", "window": 4}}, "network": {network}}}"#);
            let network = Policy::describe(about.as_bytes()).expect("there is such a network").network;
            let mut observation = vec![0.0; CLUSTER_FEATURES + 4 * JOB_FEATURES];
            // The third row says that it is empty, and the fourth that it is not: no environment shows that.
            for row in [0, 1, 3] {
                observation[CLUSTER_FEATURES + row * JOB_FEATURES] = 1.0;
            }
            let mut batch = Batch::default();
            for mask in [[1, 0, 1, 1, 1], [1, 1, 1, 1, 1]] {
                network.push(&mut batch, &observation, &mask).expect("something is allowed");
            }
            assert_eq!(batch.choice_ends, [2, 5]);
            assert_eq!(batch.beginnings, [WAIT, 0.0, WAIT, 0.0, 0.0]);
        }
    }
}
