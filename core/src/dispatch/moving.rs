//! Passes over orders that move: who is next is worked out for each pass, and only as far as the pass needs it.

use crate::model::cluster::FULL_SPEED;
use crate::model::config::Dispatch;
use crate::order::ranking::Turn;
use crate::sim::simulation::Simulation;

impl Simulation {
    /// Decides by a policy whose order moves.
    pub(crate) fn dispatch_moving(&mut self) {
        self.refresh_ranking();
        match self.setup.config.dispatch {
            Dispatch::Committed { .. } => {
                if let Some(first) = self.turns().into_iter().min_by_key(Turn::key) {
                    self.commit(first.job);
                }
            }
            Dispatch::Strict => self.start_until_blocked(),
            Dispatch::Reserve { depth: depth @ (0 | 1) } if self.setup.is_pool => self.fill_pool(depth == 1),
            Dispatch::Reserve { depth } => {
                let turns = self.sorted_turns();
                self.dispatch_reserving(depth, &turns);
            }
        }
    }

    /// On a pool: whether no candidate fits. Then a pass changes nothing, and there is no need to rank.
    fn none_fits_pool(&self) -> bool {
        self.setup.is_pool && !self.waiting.any_candidate_within(self.machine.free.cores_milli[0])
    }

    /// Whether the gate holds back a job that fits: its start would leave too little free.
    pub(crate) fn is_held(&self, turn: &Turn) -> bool {
        let cores_milli = self.cores_milli(turn.job);
        let left = (self.machine.free.total_cores_milli() - cores_milli) as f64;
        turn.leave_free > 0.0
            && self.machine.running() > 0
            && left / (self.setup.cluster.empty.total_cores_milli() as f64) < turn.leave_free
    }

    /// Whether a pass takes no notice of a job: it fits but is held back, or does not fit and may hold no reservation.
    pub(crate) fn is_passed_over(&self, turn: &Turn) -> bool {
        if turn.may_reserve && turn.leave_free <= 0.0 {
            return false;
        }
        if self.fits_now(turn.job) {
            self.is_held(turn)
        } else {
            !turn.may_reserve
        }
    }

    /// Strict: jobs start in order; the first that does not fit ends the pass.
    fn start_until_blocked(&mut self) {
        if self.none_fits_pool() {
            return;
        }
        let mut turns = self.turns();
        turns.retain(|turn| turn.may_reserve || self.fits_now(turn.job));
        while let Some(turn) = take_first(&mut turns) {
            if !self.is_passed_over(&turn) && !self.try_start(turn.job) {
                return;
            }
        }
    }

    /// Greedy and EASY on a pool, where cores say it all.
    fn fill_pool(&mut self, reserving: bool) {
        if self.none_fits_pool() {
            return;
        }
        let mut turns = self.turns();
        if reserving {
            turns.retain(|turn| turn.may_reserve || self.fits_now(turn.job));
        }
        let mut spare = i64::MAX;
        let mut longest_ms = i64::MAX;
        while let Some(turn) = if reserving { take_first(&mut turns) } else { None } {
            if self.is_passed_over(&turn) || self.try_start(turn.job) {
                continue;
            }
            let needed = self.cores_milli(turn.job);
            let (reserved_ms, free_then) = self.pool_reservation(needed);
            spare = free_then - needed;
            longest_ms = reserved_ms - self.now_ms();
            break;
        }
        self.backfill_turns(turns, spare, longest_ms);
    }

    /// Starts, in order, those that fit now, and either fit beside the head at its reserved time or end by then.
    fn backfill_turns(&mut self, mut turns: Vec<Turn>, mut spare_cores_milli: i64, longest_ms: i64) {
        let free = self.machine.free.cores_milli[0];
        let needs = |simulation: &Simulation, turn: &Turn| {
            let state = &simulation.states[turn.job as usize];
            (simulation.setup.cores_milli(state), simulation.span_ms(turn.job, FULL_SPEED) > longest_ms)
        };
        turns.retain(|turn| {
            let (cores_milli, outlasts) = needs(self, turn);
            cores_milli <= free && (!outlasts || cores_milli <= spare_cores_milli)
        });
        turns.sort_unstable_by_key(Turn::key);
        for turn in &turns {
            let (cores_milli, outlasts) = needs(self, turn);
            let delays = outlasts && cores_milli > spare_cores_milli;
            if cores_milli > self.machine.free.cores_milli[0] || delays || self.is_held(turn) {
                continue;
            }
            self.try_start(turn.job);
            spare_cores_milli -= if outlasts { cores_milli } else { 0 };
        }
    }
}

/// Takes out the turn that comes first. Looking for it costs less than sorting, for few jobs start in one pass.
fn take_first(turns: &mut Vec<Turn>) -> Option<Turn> {
    let place = (0..turns.len()).min_by_key(|&place| turns[place].key())?;
    Some(turns.swap_remove(place))
}
