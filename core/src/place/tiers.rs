//! The tiered placements: a complete search for the nodes of a job whose tasks take whole GPUs.
//!
//! Tier 1 takes as few nodes as could do, tier 2 one more. Every node then takes nearly as many tasks as it could at
//! most, so that "nodes still to pick, tasks still short of full nodes" is a small state: a table over the nodes by
//! number and that state holds the best that the rest of the nodes can add (see `table`).

mod table;
#[cfg(test)]
mod tests;

use crate::model::codes::from_code;
use table::Table;

/// One node of a like pool.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    /// The node's number.
    pub node: u32,
    /// Its whole free devices.
    pub free: u32,
    /// How many of the job's tasks it could take; no more than the free devices serve.
    pub capacity: u32,
}

/// What makes one choice of nodes better than another; the numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TierOrder {
    /// Fewer partly used nodes, then fewer GPUs in use on such nodes, then more even use.
    Defrag = 0,
    /// More even use, then fewer partly used nodes, then fewer GPUs in use on such nodes.
    Balance = 1,
    /// The lowest node numbers.
    Lex = 2,
}

from_code!(TierOrder: Defrag, Balance, Lex);

/// A job, and the nodes of one GPU type and size that it may use.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// GPUs of every node, free or not.
    pub gpus_per_node: u32,
    /// Whole GPUs that a task takes.
    pub gpus_per_task: u32,
    /// The job's tasks.
    pub tasks: u32,
    /// The nodes by number, with or without room.
    pub spots: &'a [Spot],
}

/// The best choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiered {
    /// 1 or 2.
    pub tier: u8,
    /// Change of the number of partly used nodes.
    pub frag_delta: i64,
    /// Change of the number of GPUs in use on such nodes.
    pub waste_delta: i64,
    /// Change of the sum over the nodes of (GPUs in use) squared.
    pub square_delta: i64,
    /// Nodes and their tasks, by number of the node.
    pub parts: Vec<(u32, u32)>,
}

/// The best choice of exactly as many nodes as the tier says, or none if there is none: tier 1 as few as empty nodes
/// would do, tier 2 one more, and only where the number of partly used nodes does not grow. Jobs so large that the
/// table would take gigabytes have none either.
pub fn best(question: &Question, tier: u8, order: TierOrder) -> Option<Tiered> {
    let search = Search::new(question, tier)?;
    let candidates = search.candidates()?;
    let found = search.solve(&candidates, order, false)?;
    match order {
        _ if tier == 1 || found.frag_delta <= 0 => Some(found),
        // The most even choice breaks the condition of tier 2; another one, less even, may keep it. The other two
        // orders put fragmentation first: if their best breaks it, all do.
        TierOrder::Balance => search.solve(&candidates, order, true),
        TierOrder::Defrag | TierOrder::Lex => None,
    }
}

/// A node that the best choice may need.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    node: u32,
    free: u32,
    most_tasks: u32,
}

/// What some tasks change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Change {
    frag: i64,
    waste: i64,
    square: i64,
}

/// How much each change counts: the least weighted sum is the first in the order, or leads to it.
#[derive(Clone, Copy, Debug)]
struct Weights {
    frag: i64,
    waste: i64,
    square: i64,
}

impl Weights {
    const NOTHING: Weights = Weights { frag: 0, waste: 0, square: 0 };
    const FRAG_ALONE: Weights = Weights { frag: 1, waste: 0, square: 0 };

    fn price(&self, change: Change) -> i64 {
        self.frag * change.frag + self.waste * change.waste + self.square * change.square
    }
}

/// A question with what follows from it: the number of nodes, and how many tasks fewer they take than they could empty.
struct Search<'a> {
    question: &'a Question<'a>,
    tier: u8,
    nodes: usize,
    full: u32,
    short: usize,
    defrag: Weights,
    balance: Weights,
}

impl<'a> Search<'a> {
    fn new(question: &'a Question<'a>, tier: u8) -> Option<Self> {
        let full = question.gpus_per_node.checked_div(question.gpus_per_task)?;
        if full == 0 || question.tasks == 0 {
            return None;
        }
        let nodes = question.tasks.div_ceil(full) + u32::from(tier) - 1;
        if nodes > question.tasks || nodes as usize > question.spots.len() {
            return None;
        }
        let short = u64::from(nodes) * u64::from(full) - u64::from(question.tasks);
        let gpus = i64::from(question.gpus_per_node);
        // No sum of changes reaches half of these, so that weighted sums compare as the changes do one after the other.
        let frag_span = 2 * i64::from(nodes) + 2;
        let waste_span = frag_span.checked_mul(gpus)?;
        let square_span = waste_span.checked_mul(gpus)?;
        let _fits = frag_span.checked_mul(waste_span)?.checked_mul(square_span)?.checked_mul(table::MARGIN)?;
        Some(Search {
            question,
            tier,
            nodes: nodes as usize,
            full,
            short: short as usize,
            defrag: Weights { frag: waste_span * square_span, waste: square_span, square: 1 },
            balance: Weights { square: frag_span * waste_span, frag: waste_span, waste: 1 },
        })
    }

    /// Of nodes that are alike the first ones do, as many as can be among the chosen. None if all together have no room.
    fn candidates(&self) -> Option<Vec<Candidate>> {
        let mut kinds: Vec<(u32, u32, usize)> = Vec::new();
        let mut found = Vec::new();
        for spot in self.question.spots {
            let most_tasks = spot.capacity.min(self.full);
            let short = (self.full - most_tasks) as usize;
            if most_tasks == 0 || short > self.short {
                continue;
            }
            let place =
                kinds.iter().position(|kind| (kind.0, kind.1) == (spot.free, most_tasks)).unwrap_or_else(|| {
                    // More of this kind cannot be chosen together: their shortfalls would add up to more than the job
                    // leaves.
                    let useful = self.short.checked_div(short).unwrap_or(self.nodes).min(self.nodes);
                    kinds.push((spot.free, most_tasks, useful));
                    kinds.len() - 1
                });
            if kinds[place].2 > 0 {
                kinds[place].2 -= 1;
                found.push(Candidate { node: spot.node, free: spot.free, most_tasks });
            }
        }
        self.have_room(&found).then_some(found)
    }

    fn have_room(&self, candidates: &[Candidate]) -> bool {
        if candidates.len() < self.nodes {
            return false;
        }
        let mut most: Vec<u32> = candidates.iter().map(|candidate| candidate.most_tasks).collect();
        most.sort_unstable_by(|left, right| right.cmp(left));
        most[..self.nodes].iter().map(|&tasks| u64::from(tasks)).sum::<u64>() >= u64::from(self.question.tasks)
    }

    /// First the nodes, the lowest numbers among the best; then how many tasks each takes.
    fn solve(&self, candidates: &[Candidate], order: TierOrder, no_more_frag: bool) -> Option<Tiered> {
        let weights = if order == TierOrder::Balance { &self.balance } else { &self.defrag };
        let mut chosen = candidates.to_vec();
        if candidates.len() > self.nodes {
            let (by, most) = match (order, self.tier) {
                (TierOrder::Lex, 1) => (&Weights::NOTHING, Some(0)),
                (TierOrder::Lex, _) => (&Weights::FRAG_ALONE, Some(0)),
                _ => (weights, None),
            };
            let table = Table::new(self, candidates, by, no_more_frag)?;
            chosen = table.lowest_nodes(most.unwrap_or(table.optimum()?))?;
        }
        let tasks = Table::new(self, &chosen, weights, no_more_frag)?.most_tasks_first()?;
        Some(self.answer(&chosen, &tasks))
    }

    fn answer(&self, chosen: &[Candidate], tasks: &[u32]) -> Tiered {
        let mut sum = Change::default();
        let mut parts = Vec::with_capacity(chosen.len());
        for (candidate, &tasks) in chosen.iter().zip(tasks) {
            let change = self.change(candidate.free, tasks);
            sum.frag += change.frag;
            sum.waste += change.waste;
            sum.square += change.square;
            parts.push((candidate.node, tasks));
        }
        Tiered { tier: self.tier, frag_delta: sum.frag, waste_delta: sum.waste, square_delta: sum.square, parts }
    }

    fn change(&self, free: u32, tasks: u32) -> Change {
        let gpus = i64::from(self.question.gpus_per_node);
        let used = gpus - i64::from(free);
        let later = used + i64::from(tasks) * i64::from(self.question.gpus_per_task);
        let partly = |used: i64| i64::from(0 < used && used < gpus);
        Change {
            frag: partly(later) - partly(used),
            waste: later * partly(later) - used * partly(used),
            square: later * later - used * used,
        }
    }
}
