//! Held to a search through everything.

use std::cmp::Reverse;
use std::time::Instant;

use super::*;
use crate::model::random::SplitMix64;

/// As the rule is written down, class by class.
fn by_the_book(classes: &[Class], state: &NodeState) -> i64 {
    let free = |keep: &dyn Fn(i64) -> bool| {
        state.devices.iter().map(|&milli| i64::from(milli)).filter(|&milli| keep(milli)).sum::<i64>()
    };
    let mut sum = 0;
    for class in classes {
        let gpus = class.gpu_milli / 1000;
        let tasks = if gpus > 0 { i64::from(class.tasks).min(state.devices.len() as i64 / gpus).max(1) } else { 1 };
        let fits = state.cores_milli >= tasks * class.cores_milli && state.memory_mb >= tasks * class.memory_mb;
        let whole = state.devices.iter().filter(|&&milli| milli == 1000).count() as i64;
        let some = state.devices.iter().any(|&milli| i64::from(milli) >= class.gpu_milli);
        let lost = if !fits || (gpus > 0 && whole < tasks * gpus) || (gpus == 0 && !some) {
            free(&|_| true)
        } else if gpus > 0 {
            free(&|milli| milli < 1000)
        } else {
            free(&|milli| milli < class.gpu_milli)
        };
        sum += class.weight * lost;
    }
    sum
}

/// Every list of whole numbers up to these, with this sum.
fn every_list(most: &[u32], sum: u32) -> Vec<Vec<u32>> {
    let Some((&first, rest)) = most.split_first() else {
        return if sum == 0 { vec![vec![]] } else { vec![] };
    };
    let mut lists = Vec::new();
    for here in (0..=first.min(sum)).rev() {
        lists.extend(every_list(rest, sum - here).into_iter().map(|list| [vec![here], list].concat()));
    }
    lists
}

/// The rule of the other placements: the fullest device that still fits, the lowest of equal ones.
fn usual_counts(devices: &[i32], milli: i32, tasks: u32) -> Vec<u32> {
    let mut left = devices.to_vec();
    let mut counts = vec![0; left.len()];
    for _ in 0..tasks {
        let place = (0..left.len()).filter(|&place| left[place] >= milli).min_by_key(|&place| (left[place], place));
        let place = place.expect("the devices have room");
        left[place] -= milli;
        counts[place] += 1;
    }
    counts
}

/// What the tasks add to a node's fragmentation, and the devices that they take, each as often as it is taken.
fn settled(classes: &[Class], ask: &Ask, state: &NodeState, tasks: u32) -> (i64, Vec<(u32, i32)>) {
    let whole = ask.gpu_milli >= 1000;
    let (unit, times) = if whole { (1000, (ask.gpu_milli / 1000) as u32) } else { (ask.gpu_milli as i32, 1) };
    let most: Vec<u32> = state.devices.iter().map(|&milli| (milli / unit) as u32).collect();
    let lists = every_list(&most, tasks * times);
    let usual = if whole { lists[0].clone() } else { usual_counts(state.devices, unit, tasks) };
    let added = |counts: &[u32]| {
        let devices: Vec<i32> =
            state.devices.iter().zip(counts).map(|(&milli, &count)| milli - count as i32 * unit).collect();
        let after = NodeState {
            cores_milli: state.cores_milli - i64::from(tasks) * ask.cores_milli,
            memory_mb: state.memory_mb - i64::from(tasks) * ask.memory_mb,
            devices: &devices,
        };
        by_the_book(classes, &after) - by_the_book(classes, state)
    };
    let best = lists
        .into_iter()
        .min_by_key(|counts| (added(counts), *counts != usual, Reverse(counts.clone())))
        .expect("the devices have room");
    let devices = best.iter().enumerate().flat_map(|(place, &count)| vec![(place as u32, unit); count as usize]);
    (added(&best), devices.collect())
}

fn by_brute_force(classes: &[Class], ask: &Ask, sites: &[Site]) -> Option<(i64, Vec<PlacedPart>)> {
    let most: Vec<u32> = sites.iter().map(|site| site.1).collect();
    let score = |tasks: &Vec<u32>| {
        let used = tasks.iter().zip(sites).filter(|(&tasks, _)| tasks > 0);
        used.fold((0, 0), |sum, (&tasks, site)| (sum.0 + settled(classes, ask, &site.2, tasks).0, sum.1 + 1))
    };
    let lists = every_list(&most, ask.tasks);
    let best = lists.into_iter().min_by_key(|tasks| (score(tasks), Reverse(tasks.clone())))?;
    let parts = best.iter().zip(sites).filter(|(&tasks, _)| tasks > 0).map(|(&tasks, site)| PlacedPart {
        node: site.0,
        tasks,
        devices: settled(classes, ask, &site.2, tasks).1,
    });
    Some((score(&best).0, parts.collect()))
}

fn capacity(ask: &Ask, state: &NodeState) -> u32 {
    let by = |free: i64, wanted: i64| if wanted > 0 { (free / wanted) as u32 } else { u32::MAX };
    let gpus = devices::served(ask, state.devices);
    gpus.min(by(state.cores_milli, ask.cores_milli)).min(by(state.memory_mb, ask.memory_mb))
}

struct Draw(SplitMix64);

impl Draw {
    fn below(&mut self, limit: i64) -> i64 {
        (self.0.next_u64() % limit as u64) as i64
    }

    fn of(&mut self, values: &[i64]) -> i64 {
        values[self.below(values.len() as i64) as usize]
    }

    fn class(&mut self, fractions: bool) -> Class {
        let gpu_milli = self.of(if fractions { &[250, 300, 400, 500, 700, 1000] } else { &[1000, 1000, 2000, 3000] });
        Class {
            tasks: 1 + self.below(3) as u32,
            cores_milli: self.of(&[0, 1000, 2000]),
            memory_mb: self.of(&[0, 10, 40]),
            gpu_milli,
            weight: 1 + self.below(5),
        }
    }
}

#[test]
fn finds_what_a_search_through_everything_finds() {
    let mut draw = Draw(SplitMix64::for_job(21, 0));
    let mut found = [0, 0];
    for round in 0..4000 {
        let fractions = round % 2 == 0;
        let kinds = [draw.below(2) == 0, draw.below(2) == 0, false];
        let classes: Vec<Class> = (0..1 + draw.below(4)).map(|place| draw.class(kinds[place as usize % 3])).collect();
        let wanted = draw.class(fractions);
        let Class { cores_milli, memory_mb, gpu_milli, .. } = wanted;
        let ask = Ask { tasks: draw.of(&[1, 1, 2, 3, 4]) as u32, cores_milli, memory_mb, gpu_milli };
        let mut free = Vec::new();
        for _ in 0..2 + draw.below(3) {
            let devices: Vec<i32> =
                (0..1 + draw.below(4)).map(|_| draw.of(&[0, 300, 500, 700, 1000, 1000, 1000]) as i32).collect();
            free.push((draw.of(&[0, 4000, 8000]), draw.of(&[30, 80, 1 << 40]), devices));
        }
        let mut sites = Vec::new();
        for (place, (cores_milli, memory_mb, devices)) in free.iter().enumerate() {
            let state = NodeState { cores_milli: *cores_milli, memory_mb: *memory_mb, devices };
            let gauge = Gauge::new(&classes, state.devices.len());
            let measured = gauge.measure(state.cores_milli, state.memory_mb, state.devices);
            assert_eq!(measured, by_the_book(&classes, &state));
            sites.push((2 * place as u32, capacity(&ask, &state), state));
        }
        let expected = by_brute_force(&classes, &ask, &sites);
        found[usize::from(fractions)] += usize::from(expected.is_some());
        assert_eq!(least(&classes, &ask, &sites), expected, "{classes:?} {ask:?} {sites:?}");
    }
    assert!(found.into_iter().all(|found| found > 500), "{found:?}");
}

#[test]
fn of_many_nodes_that_are_alike_the_first_do() {
    let classes = [Class { tasks: 1, cores_milli: 0, memory_mb: 0, gpu_milli: 2000, weight: 1 }];
    let state = NodeState { cores_milli: 9000, memory_mb: 9, devices: &[1000, 1000] };
    let sites: Vec<Site> = (0..500).map(|node| (node, 2, state)).collect();
    let ask = Ask { tasks: 5, cores_milli: 1000, memory_mb: 0, gpu_milli: 1000 };
    let (added, parts) = least(&classes, &ask, &sites).expect("there is room");
    let tasks: Vec<(u32, u32)> = parts.iter().map(|part| (part.node, part.tasks)).collect();
    assert_eq!((added, tasks), (1000, vec![(0, 2), (1, 2), (2, 1)]));
    assert_eq!(parts[2].devices, [(0, 1000)]);
}

#[test]
fn what_does_not_fit_has_no_place() {
    let state = NodeState { cores_milli: 9000, memory_mb: 9, devices: &[1000, 400] };
    for (tasks, gpu_milli) in [(0, 1000), (2, 1000), (1, 2000), (1, 0), (2, 600), (u32::MAX, 1)] {
        let ask = Ask { tasks, cores_milli: 0, memory_mb: 0, gpu_milli };
        assert_eq!(least(&[], &ask, &[(0, u32::MAX, state)]), None, "{ask:?}");
    }
}

#[test]
fn many_small_fractions_end() {
    let devices: Vec<i32> = (0..16).map(|device| 1000 - device).collect();
    let classes = [Class { tasks: 1, cores_milli: 0, memory_mb: 0, gpu_milli: 500, weight: 1 }];
    let state = NodeState { cores_milli: 9000, memory_mb: 9, devices: &devices };
    let ask = Ask { tasks: 40, cores_milli: 0, memory_mb: 0, gpu_milli: 10 };
    let (_, parts) = least(&classes, &ask, &[(0, 40, state)]).expect("there is room");
    assert_eq!(parts[0].devices.len(), 40);
}

/// Prints how long a search takes: `cargo test --release fragments -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
fn speed() {
    let mut draw = Draw(SplitMix64::for_job(3, 0));
    let classes: Vec<Class> = (0..32).map(|place| draw.class(place % 2 == 0)).collect();
    for nodes in [133, 1200] {
        let mut free = Vec::new();
        for _ in 0..nodes {
            let devices: Vec<i32> = (0..8).map(|_| draw.of(&[0, 0, 500, 700, 1000, 1000]) as i32).collect();
            free.push((1000 * draw.below(90), 100 * draw.below(5000), devices));
        }
        for (tasks, gpu_milli) in [(1, 1000), (1, 500), (8, 1000), (4, 250), (64, 1000)] {
            let ask = Ask { tasks, cores_milli: 4000, memory_mb: 1000, gpu_milli };
            let (mut placed, mut least_us) = (0, f64::INFINITY);
            for _ in 0..50 {
                let mut sites = Vec::new();
                for (place, (cores_milli, memory_mb, devices)) in free.iter().enumerate() {
                    let state = NodeState { cores_milli: *cores_milli, memory_mb: *memory_mb, devices };
                    sites.push((place as u32, capacity(&ask, &state), state));
                }
                let start = Instant::now();
                placed += usize::from(least(&classes, &ask, &sites).is_some());
                least_us = least_us.min(start.elapsed().as_secs_f64() * 1e6);
            }
            println!("{nodes} nodes, {tasks} tasks of {gpu_milli} milli-GPUs: {least_us:.0} us, {placed} of 50 placed");
        }
    }
}
