//! Trials: whether a job may run behind reservations, and which of them are placed anew for it.

use crate::dispatch::projection::{reserved, Projection};
use crate::dispatch::reserving::Pass;
use crate::dispatch::timelines::Stretch;
use crate::place::placement::Placement;
use crate::sim::simulation::Simulation;

/// A reservation that is placed anew.
pub(super) struct Moved {
    holder: u32,
    /// Where it was before, or is to be.
    other: Placement,
}

/// Whose reservation a waiting job that fits would delay if it started now.
pub(crate) fn first_delayed(simulation: &mut Simulation, job: u32) -> Option<u32> {
    // Under EASY nobody holds a reservation that lasts, and to look ahead on many nodes takes long.
    if simulation.promises.holders.iter().all(|&holder| holder == job) {
        return None;
    }
    let placement = simulation.place_on(&simulation.machine.free, job)?;
    let state = &mut simulation.states[job as usize];
    let held = (state.reservation.take(), std::mem::take(&mut state.placement));
    let holders = simulation.promises.holders.clone();
    simulation.promises.holders.retain(|&holder| holder != job);
    let mut projection = Projection::of_running(simulation);
    projection.add_reservations(simulation, &simulation.promises.holders);
    // The rule's own test, on its own state.
    let (legal, _) = Pass { simulation, projection: Box::new(projection) }.try_beside(job, placement);
    simulation.promises.projection = None;
    simulation.promises.holders = holders;
    let state = &mut simulation.states[job as usize];
    (state.reservation, state.placement) = held;
    legal.err()
}

impl Pass<'_> {
    /// Whether a job may run from now on where it is placed, and which reservations are placed anew for it; the error says whose it
    /// would delay. All is as it was then.
    pub(super) fn try_beside(&mut self, job: u32, placement: Placement) -> (Result<Vec<Moved>, u32>, Placement) {
        let Pass { simulation, projection } = self;
        let until_ms = simulation.now_ms() + simulation.span_on(job, &placement);
        // The job is tried: it holds its nodes while the reservations are looked at.
        simulation.states[job as usize].placement = placement;
        hold_for_now(simulation, job, -1);
        projection.begin_trial();
        projection.add_run(simulation, job, until_ms);
        let mut moved = Vec::new();
        let delayed = self.make_room(until_ms, &mut moved);
        moved.iter_mut().for_each(|one| self.swap_placement(one));
        let Pass { simulation, projection } = self;
        let run = Stretch { from_ms: simulation.now_ms(), until_ms };
        projection.remove_run(&simulation.setup, job, &simulation.states[job as usize], run);
        projection.end_trial();
        hold_for_now(simulation, job, 1);
        let placement = std::mem::take(&mut simulation.states[job as usize].placement);
        (delayed.map_or(Ok(moved), Err), placement)
    }

    /// Places anew, at their old times, the reservations that have lost their room to a job that runs until `until_ms`.
    /// Returns the first that cannot be.
    fn make_room(&mut self, until_ms: i64, moved: &mut Vec<Moved>) -> Option<u32> {
        let Pass { simulation, projection } = self;
        for &holder in &simulation.promises.holders {
            // The job has ended by then.
            if simulation.state(holder).reserved_ms() >= until_ms {
                continue;
            }
            projection.lift_reservation(simulation, holder);
            if !projection.has_room(simulation, holder) {
                let Some(placement) = projection.place_anew(simulation, holder) else {
                    projection.add_reservation(simulation, holder);
                    return Some(holder);
                };
                let other = std::mem::replace(&mut simulation.states[holder as usize].placement, placement);
                moved.push(Moved { holder, other });
            }
            projection.add_reservation(simulation, holder);
        }
        None
    }

    /// A reservation is held on the other nodes. There it lasts as long as their speed says, so it is lifted before it is moved.
    fn swap_placement(&mut self, Moved { holder, other }: &mut Moved) {
        let Pass { simulation, projection } = self;
        projection.lift_reservation(simulation, *holder);
        std::mem::swap(&mut simulation.states[*holder as usize].placement, other);
        projection.add_reservation(simulation, *holder);
    }

    /// Reservations are placed anew for a job that starts beside them.
    pub(super) fn move_reservations(&mut self, moved: Vec<Moved>) {
        if !moved.is_empty() {
            self.simulation.promises.plan_again();
        }
        for mut one in moved {
            let held = reserved(self.simulation, one.holder);
            self.swap_placement(&mut one);
            self.projection.note_gain(held, self.simulation.promises.freed);
        }
    }
}

/// A job that is tried holds its nodes (`sign` −1), or no longer (1).
fn hold_for_now(simulation: &mut Simulation, job: u32, sign: i64) {
    let state = &simulation.states[job as usize];
    simulation.machine.free.change_for_now(simulation.setup.shape_of(state), &state.placement, sign);
}
