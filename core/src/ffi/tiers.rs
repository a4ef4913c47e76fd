//! The tiered search across the border, for one question at a time.

use super::{borrow, guard, Failure};
use crate::place::tiers::{best, Question, Spot, TierOrder};

/// Finds the nodes of a tiered placement among `nodes` nodes of `gpus_per_node` GPUs each: writes the nodes and the
/// tasks on each, by number of the node, how many nodes that are (0: no option), and the changes of the number of
/// partly used nodes, of the GPUs in use on them, and of the sum of the squares of the GPUs in use.
///
/// # Safety
/// `free_gpus` and `capacity` must be readable for `nodes` values, `part_nodes` and `part_tasks` writable for
/// `part_capacity`, `count` for one and `score` for three.
#[no_mangle]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn shunter_tiers(
    gpus_per_node: u32,
    gpus_per_task: u32,
    tasks: u32,
    free_gpus: *const u32,
    capacity: *const u32,
    nodes: usize,
    order: i32,
    tier: i32,
    part_nodes: *mut u32,
    part_tasks: *mut u32,
    part_capacity: usize,
    count: *mut usize,
    score: *mut i64,
) -> i32 {
    guard(|| {
        borrow!(target; count);
        borrow!(write 3; score);
        borrow!(write part_capacity; part_nodes, part_tasks);
        borrow!(read nodes; free_gpus, capacity);
        check_job(gpus_per_task, tasks)?;
        let (order, tier) = (order_of(order)?, tier_of(tier)?);
        let spots = spots(gpus_per_node, gpus_per_task, free_gpus, capacity)?;
        let found = best(&Question { gpus_per_node, gpus_per_task, tasks, spots: &spots }, tier, order);
        *count = 0;
        if let Some(found) = found {
            if found.parts.len() > part_capacity {
                let needed = found.parts.len();
                return Err(Failure::argument(format!("part_capacity is {part_capacity}; the job has {needed} nodes")));
            }
            *count = found.parts.len();
            score.copy_from_slice(&[found.frag_delta, found.waste_delta, found.square_delta]);
            for (place, (node, tasks)) in found.parts.into_iter().enumerate() {
                (part_nodes[place], part_tasks[place]) = (node, tasks);
            }
        }
        Ok(())
    })
}

fn check_job(gpus_per_task: u32, tasks: u32) -> Result<(), Failure> {
    if gpus_per_task == 0 || tasks == 0 {
        let job = format!("{tasks} tasks of {gpus_per_task} GPUs");
        return Err(Failure::argument(format!("the job has {job}; expected 1 or more of both")));
    }
    Ok(())
}

fn order_of(code: i32) -> Result<TierOrder, Failure> {
    TierOrder::from_code(code.into()).ok_or_else(|| Failure::argument(format!("order is {code}; expected 0 to 2")))
}

fn tier_of(tier: i32) -> Result<u8, Failure> {
    match tier {
        1 => Ok(1),
        2 => Ok(2),
        other => Err(Failure::argument(format!("tier is {other}; expected 1 or 2"))),
    }
}

fn spots(gpus_per_node: u32, gpus_per_task: u32, free: &[u32], capacity: &[u32]) -> Result<Vec<Spot>, Failure> {
    crate::model::cluster::check_node_count(free.len()).map_err(Failure::argument)?;
    let mut spots = Vec::with_capacity(free.len());
    for (node, (&free, &capacity)) in free.iter().zip(capacity).enumerate() {
        if free > gpus_per_node {
            let message = format!("node {node}: free_gpus is {free}; the node has {gpus_per_node}");
            return Err(Failure::argument(message));
        }
        if capacity > free / gpus_per_task {
            let message =
                format!("node {node}: capacity is {capacity}; {free} free GPUs serve fewer tasks of {gpus_per_task}");
            return Err(Failure::argument(message));
        }
        spots.push(Spot { node: node as u32, free, capacity });
    }
    Ok(spots)
}
