//! Behind the reservations: who cannot start now, or delays nobody, as is seen without a look at all times to come.

use crate::dispatch::beside::places_each_anew;
use crate::dispatch::by_shape::Refused;
use crate::model::rules::Rules;
use crate::model::speeds::FULL_SPEED;
use crate::place::placement::Placement;
use crate::sim::simulation::Simulation;

/// What a pass has found out of those that may start behind the reservations, as long as nothing starts.
pub(super) struct Filling {
    refused: Refused,
}

impl Filling {
    /// Nothing is known yet.
    pub(super) fn new(simulation: &Simulation) -> Self {
        let has_windows = simulation.setup.jobs.rules.as_ref().is_some_and(Rules::has_windows);
        // Otherwise of jobs of one shape those that last longer may start though others cannot.
        let is_alike = !has_windows && !simulation.setup.cluster.has_speeds && !places_each_anew(simulation);
        Filling { refused: Refused::new(is_alike) }
    }

    /// Something has started, or other reservations are held.
    pub(super) fn forget(&mut self) {
        self.refused.forget();
    }

    /// Whether a job is known not to be able to start.
    pub(super) fn is_refused(&self, simulation: &Simulation, job: u32) -> bool {
        self.refused.has(simulation.state(job).shape, simulation.span_ms(job, FULL_SPEED))
    }

    /// A job does not fit: nor does any other of its shape.
    pub(super) fn refuse_shape(&mut self, simulation: &Simulation, job: u32) {
        self.refused.add(simulation.state(job).shape, 0);
    }

    /// A job would delay somebody: so would those of its shape that last as long, or longer.
    pub(super) fn refuse(&mut self, simulation: &Simulation, job: u32) {
        self.refused.add(simulation.state(job).shape, simulation.span_ms(job, FULL_SPEED));
    }
}

/// Whether it is plain that a job delays nobody where it is placed: it ends before the time of each who holds a reservation, or
/// is on none of its nodes.
pub(super) fn is_clear(simulation: &Simulation, job: u32, placement: &Placement) -> bool {
    let until_ms = simulation.now_ms() + simulation.span_on(job, placement);
    let is_clear_of = |&holder: &u32| {
        let state = simulation.state(holder);
        let shares = |node: u32| placement.parts().any(|part| part.node == node);
        state.reserved_ms() >= until_ms || !state.placement.parts().any(|part| shares(part.node))
    };
    simulation.promises.holders().iter().all(is_clear_of)
}
