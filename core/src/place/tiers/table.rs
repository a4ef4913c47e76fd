//! The table of the tiered search: what the nodes from some number on can add at best.

use std::ops::Range;

use super::{Candidate, Search, Weights};

/// The price of what cannot be. No sum of prices is more than a fraction of it.
const NEVER: i64 = i64::MAX / 2;

/// The span of all prices together may be multiplied by this.
pub(super) const MARGIN: i64 = 8;

/// The most cells of a table: a quarter of a gigabyte.
const MOST_CELLS: u64 = 1 << 25;

/// One number of tasks for one node.
#[derive(Clone, Copy, Debug)]
struct Take {
    /// How many tasks fewer than an empty node would take.
    short: usize,
    price: i64,
    frag: i64,
}

/// Cells by candidate, nodes still to pick among it and those after it, and state. A state is the shortfall that these
/// must have together and, where the number of partly used nodes is limited, the most that they may add to it.
///
/// Only those numbers of nodes are there that can come up: before candidate i at most i nodes were picked, and there
/// are no more to pick than candidates are left.
pub(super) struct Table<'a> {
    candidates: &'a [Candidate],
    nodes: usize,
    full: u32,
    short: usize,
    /// The limit goes from `-limit` to `limit`: the one forbids all that can be, the other nothing.
    limit: usize,
    takes: Vec<Take>,
    first_take: Vec<usize>,
    first_cell: Vec<usize>,
    cells: Vec<i64>,
}

impl<'a> Table<'a> {
    /// None if there are too many cells.
    pub(super) fn new(
        search: &Search,
        candidates: &'a [Candidate],
        weights: &Weights,
        no_more_frag: bool,
    ) -> Option<Self> {
        let even = search.question.gpus_per_node % search.question.gpus_per_task == 0;
        // A node that takes all it could when empty leaves no partly used node if the GPUs come out even.
        let can_change = if even { search.nodes.min(search.short) } else { search.nodes };
        let mut table = Table {
            candidates,
            nodes: search.nodes,
            full: search.full,
            short: search.short,
            limit: if no_more_frag { can_change } else { 0 },
            takes: Vec::new(),
            first_take: vec![0],
            first_cell: vec![0],
            cells: Vec::new(),
        };
        table.lay_out()?;
        // What the other nodes could be short of together, with one task each.
        let others = (search.nodes - 1).saturating_mul(search.full as usize - 1);
        let useful = search.short.saturating_sub(others)..=search.short;
        for candidate in candidates {
            for tasks in (1..=candidate.most_tasks).rev() {
                let short = (search.full - tasks) as usize;
                if useful.contains(&short) {
                    let change = search.change(candidate.free, tasks);
                    let frag = if no_more_frag { change.frag } else { 0 };
                    table.takes.push(Take { short, price: weights.price(change), frag });
                }
            }
            table.first_take.push(table.takes.len());
        }
        table.fill();
        Some(table)
    }

    fn lay_out(&mut self) -> Option<()> {
        let states = (self.short as u64 + 1).checked_mul(self.width() as u64)?;
        let mut total = 0u64;
        for candidate in 0..=self.candidates.len() {
            let (least, most) = self.to_pick(candidate);
            total += states.checked_mul((most - least + 1) as u64)?;
            if total > MOST_CELLS {
                return None;
            }
            self.first_cell.push(total as usize);
        }
        self.cells = vec![NEVER; total as usize];
        Some(())
    }

    /// How many values the limit has.
    fn width(&self) -> usize {
        2 * self.limit + 1
    }

    /// The least and the most nodes still to pick.
    fn to_pick(&self, candidate: usize) -> (usize, usize) {
        (self.nodes.saturating_sub(candidate), self.nodes.min(self.candidates.len() - candidate))
    }

    fn takes(&self, candidate: usize) -> &[Take] {
        &self.takes[self.first_take[candidate]..self.first_take[candidate + 1]]
    }

    /// The states with so many nodes to pick; none if it cannot come up.
    fn row(&self, candidate: usize, nodes: usize) -> Option<Range<usize>> {
        let (least, most) = self.to_pick(candidate);
        let states = (self.short + 1) * self.width();
        (least <= nodes && nodes <= most).then(|| {
            let start = self.first_cell[candidate] + (nodes - least) * states;
            start..start + states
        })
    }

    fn fill(&mut self) {
        let width = self.width();
        let end = self.first_cell[self.candidates.len()];
        self.cells[end + self.limit..end + width].fill(0);
        for candidate in (0..self.candidates.len()).rev() {
            let (least, most) = self.to_pick(candidate);
            let split = self.first_cell[candidate + 1];
            for nodes in least..=most {
                let own = self.row(candidate, nodes);
                let left_out = self.row(candidate + 1, nodes);
                let picked = nodes.checked_sub(1).and_then(|fewer| self.row(candidate + 1, fewer));
                let (before, after) = self.cells.split_at_mut(split);
                let target = own.map_or(&mut [][..], |row| &mut before[row]);
                if let Some(row) = left_out {
                    target.copy_from_slice(&after[row.start - split..row.end - split]);
                }
                if let Some(row) = picked {
                    let source = &after[row.start - split..row.end - split];
                    let takes = &self.takes[self.first_take[candidate]..self.first_take[candidate + 1]];
                    takes.iter().for_each(|take| take.improve(target, source, width));
                }
            }
        }
    }

    fn first_state(&self) -> usize {
        self.short * self.width() + self.limit
    }

    /// The least price of all; none if nothing does.
    pub(super) fn optimum(&self) -> Option<i64> {
        let row = self.row(0, self.nodes)?;
        Some(self.cells[row.start + self.first_state()]).filter(|&price| is_real(price))
    }

    /// The lowest numbers of nodes, as a sorted list, that can be had for at most this price.
    pub(super) fn lowest_nodes(&self, price: i64) -> Option<Vec<Candidate>> {
        if self.optimum()? > price {
            return None;
        }
        let mut chosen = Vec::with_capacity(self.nodes);
        let mut paid = vec![NEVER; (self.short + 1) * self.width()];
        paid[self.first_state()] = 0;
        for (number, candidate) in self.candidates.iter().enumerate() {
            let Some(row) = (self.nodes - chosen.len()).checked_sub(1).and_then(|fewer| self.row(number + 1, fewer))
            else {
                continue;
            };
            let mut with = vec![NEVER; paid.len()];
            self.takes(number).iter().for_each(|take| take.pay(&mut with, &paid, self.width()));
            let rest = &self.cells[row];
            if with.iter().zip(rest).any(|(&paid, &rest)| is_real(paid) && is_real(rest) && paid + rest <= price) {
                paid = with;
                chosen.push(*candidate);
            }
        }
        Some(chosen)
    }

    /// How many tasks each candidate takes, if all are chosen: the first as many as the best price allows, and so on.
    pub(super) fn most_tasks_first(&self) -> Option<Vec<u32>> {
        self.optimum()?;
        let width = self.width();
        let mut state = self.first_state();
        let mut tasks = Vec::with_capacity(self.nodes);
        for number in 0..self.nodes {
            let price = self.cells[self.row(number, self.nodes - number)?.start + state];
            let rest = &self.cells[self.row(number + 1, self.nodes - number - 1)?];
            let (take, next) = self.takes(number).iter().find_map(|take| {
                let next = take.after(state, width).filter(|&next| take.price + rest[next] == price)?;
                Some((take, next))
            })?;
            tasks.push(self.full - take.short as u32);
            state = next;
        }
        Some(tasks)
    }
}

fn is_real(price: i64) -> bool {
    price < NEVER / 2
}

impl Take {
    /// The state that is left of this one; none if it is beyond what is left.
    fn after(&self, state: usize, width: usize) -> Option<usize> {
        let short = (state / width).checked_sub(self.short)?;
        let limit = (state % width).checked_add_signed(-self.frag as isize)?;
        Some(short * width + limit.min(width - 1))
    }

    /// Lowers the prices of states to those with this take first.
    fn improve(&self, target: &mut [i64], source: &[i64], width: usize) {
        let target = &mut target[self.short * width..];
        if self.frag == 0 {
            self.lower(target, source);
            return;
        }
        for (target, source) in target.chunks_exact_mut(width).zip(source.chunks_exact(width)) {
            if self.frag > 0 {
                self.lower(&mut target[1..], source);
            } else {
                self.lower(target, &source[1..]);
                self.lower(&mut target[width - 1..], &source[width - 1..]);
            }
        }
    }

    fn lower(&self, target: &mut [i64], source: &[i64]) {
        target.iter_mut().zip(source).for_each(|(target, &source)| *target = (*target).min(source + self.price));
    }

    /// Lowers what was paid for states to what they cost with this take last.
    fn pay(&self, with: &mut [i64], paid: &[i64], width: usize) {
        for (state, &paid) in paid.iter().enumerate().filter(|(_, &paid)| is_real(paid)) {
            if let Some(next) = self.after(state, width) {
                with[next] = with[next].min(paid + self.price);
            }
        }
    }
}
