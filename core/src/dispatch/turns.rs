//! Strict, greedy and EASY over any order: of a policy whose order moves, or of a caller. Who is next is worked out only
//! as far as the pass needs it.

use crate::dispatch::beside::{start_beside, Head};
use crate::dispatch::by_shape::ByShape;
use crate::model::config::Dispatch;
use crate::model::speeds::FULL_SPEED;
use crate::order::ranking::Turn;
use crate::sim::simulation::Simulation;

/// The turns of a pass that are still to come.
pub(super) struct Turns {
    turns: Vec<Turn>,
    /// The last comes first; otherwise they have no order.
    is_reversed: bool,
}

impl Turns {
    /// The turns of a policy whose order moves, and is up to date.
    pub(super) fn of_policy(simulation: &Simulation) -> Self {
        Turns { turns: simulation.turns(), is_reversed: false }
    }

    /// The turns of all that a rule looks at in an order that stands still.
    pub(super) fn of_queue(simulation: &Simulation) -> Self {
        let mut turns = queue_turns(simulation);
        turns.reverse();
        Turns { turns, is_reversed: true }
    }

    /// The turns of jobs in an order that is given.
    pub(super) fn listed(order: &[u32]) -> Self {
        Turns { turns: order.iter().rev().map(|&job| Turn::plain(0, job)).collect(), is_reversed: true }
    }

    /// Takes out the turn that comes first. Looking for it costs less than sorting, for few jobs start in one pass.
    pub(super) fn take_first(&mut self) -> Option<Turn> {
        if self.is_reversed {
            return self.turns.pop();
        }
        let place = (0..self.turns.len()).min_by_key(|&place| self.turns[place].key())?;
        Some(self.turns.swap_remove(place))
    }

    /// All of them in order.
    pub(super) fn sorted(mut self) -> Vec<Turn> {
        if self.is_reversed {
            self.turns.reverse();
        } else {
            self.turns.sort_unstable_by_key(Turn::key);
        }
        self.turns
    }
}

/// All that a rule looks at in an order that stands still, the first first.
pub(super) fn queue_turns(simulation: &Simulation) -> Vec<Turn> {
    // The scan depth is a bound for rules that plan every job that they look at.
    let scanned = match simulation.setup.config.dispatch {
        Dispatch::Reserve { depth: 2.. } => simulation.setup.config.scan_depth as usize,
        _ => usize::MAX,
    };
    simulation.waiting.queue.iter().take(scanned).map(|job| Turn::plain(0, job)).collect()
}

/// Jobs start in order; the first that does not fit ends the pass.
pub(super) fn strict_pass(simulation: &mut Simulation, mut turns: Turns) {
    skip_hopeless(simulation, &mut turns);
    while let Some(turn) = turns.take_first() {
        if !is_passed_over(simulation, &turn) && !simulation.try_start(turn.job) {
            return;
        }
    }
}

/// Every job that fits starts.
pub(super) fn greedy_pass(simulation: &mut Simulation, turns: Turns) {
    fill(simulation, turns, None);
}

/// The first that does not fit holds a reservation; others start if they do not delay it.
pub(super) fn easy_pass(simulation: &mut Simulation, mut turns: Turns) {
    skip_hopeless(simulation, &mut turns);
    let mut head = None;
    while let Some(turn) = turns.take_first() {
        if is_passed_over(simulation, &turn) || simulation.try_start(turn.job) {
            continue;
        }
        head = Head::next(simulation, turn.job);
        if head.is_some() {
            break;
        }
    }
    fill(simulation, turns, head.as_mut());
    head.into_iter().for_each(|head| head.close(simulation));
}

/// Those that may hold no reservation, and do not fit, are passed over in any case.
fn skip_hopeless(simulation: &Simulation, turns: &mut Turns) {
    turns.turns.retain(|turn| turn.may_reserve || simulation.fits_now(turn.job));
}

/// Starts, in order, those that fit now and do not delay the head.
fn fill(simulation: &mut Simulation, mut turns: Turns, mut head: Option<&mut Head>) {
    // Few of many fit: only they are worth sorting. What starts on the way leaves less room, never more.
    let free = simulation.machine.free.total_cores_milli();
    turns.turns.retain(|turn| simulation.cores_milli(turn.job) <= free);
    if !simulation.setup.is_pool {
        let mut fits = ByShape::new(false);
        let fits_now = |shape: u32| simulation.machine.fits(&simulation.setup, shape);
        turns.turns.retain(|turn| {
            let shape = simulation.state(turn.job).shape;
            fits.get(shape, || fits_now(shape))
        });
    } else if let Some(head) = &head {
        let terms = head.pool_terms(simulation);
        let span_ms = |job: u32| simulation.span_ms(job, FULL_SPEED);
        turns.turns.retain(|turn| terms.allow(simulation.cores_milli(turn.job), span_ms(turn.job)));
    }
    // Whoever is in the head's way now still is when others have started.
    if let Some((leftover, head)) = head.as_deref_mut().and_then(|head| Some((head.take_leftover(simulation)?, head))) {
        let longest_ms = head.longest_ms(simulation);
        turns.turns.retain(|turn| {
            let shape = simulation.shape_of(turn.job);
            simulation.span_ms(turn.job, FULL_SPEED) <= longest_ms || leftover.may_hold(&shape.asked(), shape.tasks)
        });
        head.put_leftover(leftover);
    }
    for turn in turns.sorted() {
        if !simulation.is_barred(turn.job) && !is_held(simulation, &turn) {
            start_beside(simulation, head.as_deref_mut(), turn.job);
        }
    }
}

/// Whether the gate holds back a job that fits: its start would leave too little free.
fn is_held(simulation: &Simulation, turn: &Turn) -> bool {
    // On an idle cluster nobody is held back: a last job would wait for ever.
    if turn.leave_free <= 0.0 || simulation.machine.running() == 0 {
        return false;
    }
    let sizes = &simulation.setup.sizes;
    sizes.part_left(&simulation.machine.free, sizes.micro(simulation.state(turn.job).shape)) < turn.leave_free
}

/// Whether a pass takes no notice of a job: a limit of the site keeps it from starting, it fits but is held back, or does not
/// fit and may hold no reservation.
pub(crate) fn is_passed_over(simulation: &Simulation, turn: &Turn) -> bool {
    if simulation.is_barred(turn.job) {
        return true;
    }
    if turn.may_reserve && turn.leave_free <= 0.0 {
        return false;
    }
    if simulation.fits_now(turn.job) {
        is_held(simulation, turn)
    } else {
        !turn.may_reserve
    }
}
