//! Held to a search through everything.

use std::time::Instant;

use super::*;
use crate::model::random::SplitMix64;

const ORDERS: [TierOrder; 3] = [TierOrder::Defrag, TierOrder::Balance, TierOrder::Lex];

/// Everything that decides, in the order in which it does; the tasks count downwards.
type Key = (Vec<i64>, Vec<u32>, Vec<i64>, Vec<i64>);

fn key(order: TierOrder, found: &Tiered) -> Key {
    let Tiered { frag_delta: frag, waste_delta: waste, square_delta: square, .. } = *found;
    let nodes = found.parts.iter().map(|part| part.0).collect();
    let tasks = found.parts.iter().map(|part| -i64::from(part.1)).collect();
    match order {
        TierOrder::Defrag => (vec![frag, waste, square], nodes, vec![], tasks),
        TierOrder::Balance => (vec![square, frag, waste], nodes, vec![], tasks),
        TierOrder::Lex => (vec![], nodes, vec![frag, waste, square], tasks),
    }
}

fn scored(question: &Question, tier: u8, parts: &[(u32, u32)]) -> Tiered {
    let partly = |free: u32| 0 < free && free < question.gpus_per_node;
    let figures = |taken: &dyn Fn(u32) -> u32| {
        let (mut frag, mut waste, mut square) = (0, 0, 0);
        for spot in question.spots {
            let free = spot.free - taken(spot.node) * question.gpus_per_task;
            let used = i64::from(question.gpus_per_node - free);
            frag += i64::from(partly(free));
            waste += if partly(free) { used } else { 0 };
            square += used * used;
        }
        (frag, waste, square)
    };
    let before = figures(&|_| 0);
    let after = figures(&|node| parts.iter().find(|part| part.0 == node).map_or(0, |part| part.1));
    Tiered {
        tier,
        frag_delta: after.0 - before.0,
        waste_delta: after.1 - before.1,
        square_delta: after.2 - before.2,
        parts: parts.to_vec(),
    }
}

/// Every way to put the tasks on exactly so many of the nodes.
fn every_way(spots: &[Spot], nodes: u32, tasks: u32, so_far: &mut Vec<(u32, u32)>, found: &mut Vec<Vec<(u32, u32)>>) {
    if nodes == 0 && tasks == 0 {
        found.push(so_far.clone());
    }
    let Some((spot, rest)) = spots.split_first().filter(|_| nodes > 0) else { return };
    every_way(rest, nodes, tasks, so_far, found);
    for here in 1..=spot.capacity.min(tasks) {
        so_far.push((spot.node, here));
        every_way(rest, nodes - 1, tasks - here, so_far, found);
        so_far.pop();
    }
}

fn by_brute_force(question: &Question, tier: u8, order: TierOrder) -> Option<Tiered> {
    let full = question.gpus_per_node / question.gpus_per_task;
    let nodes = question.tasks.div_ceil(full) + u32::from(tier) - 1;
    let mut ways = Vec::new();
    every_way(question.spots, nodes, question.tasks, &mut Vec::new(), &mut ways);
    ways.iter()
        .map(|parts| scored(question, tier, parts))
        .filter(|found| tier == 1 || found.frag_delta <= 0)
        .min_by_key(|found| key(order, found))
}

#[test]
fn finds_what_a_search_through_everything_finds() {
    let mut random = SplitMix64::for_job(11, 0);
    let mut below = move |limit: u32| (random.next_u64() % u64::from(limit)) as u32;
    let mut options = [0; 6];
    for _ in 0..6000 {
        let gpus_per_node = [2, 4, 4, 8][below(4) as usize];
        let gpus_per_task = 1 + below(3.min(gpus_per_node));
        let count = 3 + below(if gpus_per_node == 8 { 3 } else { 5 });
        let hindered = below(3) == 0;
        let mut spots = Vec::new();
        for place in 0..count {
            let free = if below(3) == 0 { gpus_per_node } else { below(gpus_per_node + 1) };
            let whole = free / gpus_per_task;
            spots.push(Spot { node: 3 * place, free, capacity: if hindered { below(whole + 1) } else { whole } });
        }
        let room: u32 = spots.iter().map(|spot| spot.capacity).sum();
        let question = Question { gpus_per_node, gpus_per_task, tasks: 1 + below(room + 1), spots: &spots };
        for tier in [1, 2] {
            for (number, order) in ORDERS.into_iter().enumerate() {
                let expected = by_brute_force(&question, tier, order);
                options[3 * (usize::from(tier) - 1) + number] += usize::from(expected.is_some());
                assert_eq!(best(&question, tier, order), expected, "tier {tier}, {order:?}: {question:?}");
            }
        }
    }
    assert!(options.into_iter().all(|found| found > 1000), "{options:?}");
}

#[test]
fn what_cannot_be_has_no_option() {
    let spots = [Spot { node: 0, free: 4, capacity: 4 }, Spot { node: 1, free: 4, capacity: 0 }];
    for (gpus_per_task, tasks) in [(0, 1), (1, 0), (5, 1), (1, 5), (1, 9), (u32::MAX, 1), (1, u32::MAX)] {
        let question = Question { gpus_per_node: 4, gpus_per_task, tasks, spots: &spots };
        for tier in [1, 2] {
            assert!(ORDERS.into_iter().all(|order| best(&question, tier, order).is_none()), "{question:?}");
        }
    }
    let nodes: Vec<Spot> = (0..40_000).map(|node| Spot { node, free: 64, capacity: 21 }).collect();
    let question = Question { gpus_per_node: 64, gpus_per_task: 3, tasks: 21 * 40_000, spots: &nodes };
    assert!(best(&question, 1, TierOrder::Defrag).is_none());
}

#[test]
fn large_jobs_are_placed() {
    let spots: Vec<Spot> = (0..5000).map(|node| Spot { node, free: node % 9, capacity: node % 9 }).collect();
    let question = Question { gpus_per_node: 8, gpus_per_task: 1, tasks: 4400, spots: &spots };
    let found = best(&question, 1, TierOrder::Defrag).expect("there are 555 empty nodes");
    assert_eq!((found.parts.len(), found.frag_delta), (550, 0));
    assert_eq!(found.parts[..2], [(8, 8), (17, 8)]);
}

/// Prints how long a search takes: `cargo test --release tiers -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
fn speed() {
    for nodes in [36, 1000] {
        let mut random = SplitMix64::for_job(5, nodes);
        let pools: Vec<Vec<Spot>> = (0..200)
            .map(|_| {
                let busy = 2 + random.next_u64() % 9;
                (0..nodes)
                    .map(|node| {
                        let full = random.next_u64() % 12 < busy;
                        let free = if full { 0 } else { (random.next_u64() % 9) as u32 };
                        Spot { node, free, capacity: free }
                    })
                    .collect()
            })
            .collect();
        for tasks in [1, 2, 4, 7, 8, 16, 30, 32, 61, 64] {
            for order in ORDERS {
                let start = Instant::now();
                let mut tiers = [0, 0, 0];
                let mut worst = 0;
                for spots in &pools {
                    let question = Question { gpus_per_node: 8, gpus_per_task: 1, tasks, spots };
                    let begin = Instant::now();
                    let found = best(&question, 1, order).or_else(|| best(&question, 2, order));
                    worst = worst.max(begin.elapsed().as_micros());
                    tiers[found.map_or(0, |found| usize::from(found.tier))] += 1;
                }
                let each_us = start.elapsed().as_secs_f64() * 1e6 / pools.len() as f64;
                println!("{nodes} nodes, {tasks} tasks, {order:?}: {each_us:.1} us, at most {worst}; tiers {tiers:?}");
            }
        }
    }
}
