//! Passes over orders that move: who is next is worked out for each pass, and only as far as the pass needs it.

use crate::model::cluster::FULL_SPEED;
use crate::model::config::Dispatch;
use crate::order::ranking::{Candidate, Ranking, Scene, Turn};
use crate::order::scores::{seconds, standing_score};
use crate::sim::simulation::Simulation;

impl Simulation {
    /// Decides by a policy whose order moves.
    pub(crate) fn dispatch_moving(&mut self) {
        self.refresh_ranking();
        match self.config.dispatch {
            Dispatch::Committed { .. } => {
                if let Some(first) = self.turns().into_iter().min_by_key(Turn::key) {
                    self.commit(first.job);
                }
            }
            Dispatch::Strict => self.start_until_blocked(),
            Dispatch::Reserve { depth: depth @ (0 | 1) } if self.is_pool => self.fill_pool(depth == 1),
            Dispatch::Reserve { depth } => self.dispatch_reserving(depth, &self.sorted_turns()),
        }
    }

    /// The waiting jobs in the policy's order as of now; those that a pass does not look at come last.
    pub fn waiting_in_order(&mut self) -> Vec<u32> {
        if let Some(contest) = &self.contest {
            return contest.in_order();
        }
        if self.ranking.is_none() {
            return self.queue.iter().collect();
        }
        self.refresh_ranking();
        let turns = self.sorted_turns();
        let behind = self.queue.iter().skip(turns.len());
        turns.iter().map(|turn| turn.job).chain(behind).collect()
    }

    /// Brings the candidates up to date: their estimates, and those that have moved up from behind.
    pub(crate) fn refresh_ranking(&mut self) {
        let Some(mut ranking) = self.ranking.take() else { return };
        if let Some(learner) = &self.learner {
            for place in 0..ranking.candidates.len() {
                let one = &ranking.candidates[place];
                if learner.changes(one.job) != one.changes {
                    ranking.candidates[place] = self.candidate(&ranking, one.job);
                }
            }
        }
        let listed = ranking.candidates.len();
        if listed < self.queue.len() && ranking.room() > 0 {
            // The queue of an order that moves is in the order of the table, so the candidates are its first.
            for job in self.queue.iter().skip(listed).take(ranking.room()) {
                let candidate = self.candidate(&ranking, job);
                ranking.candidates.push(candidate);
            }
        }
        self.ranking = Some(ranking);
    }

    /// A job begins to wait.
    pub(crate) fn rank_newcomer(&mut self, job: u32) {
        let Some(mut ranking) = self.ranking.take() else { return };
        let others = self.queue.len() - 1;
        let is_older = ranking.candidates.last().is_some_and(|last| job < last.job);
        if is_older || others == ranking.candidates.len() && ranking.room() > 0 {
            ranking.add(self.candidate(&ranking, job));
        }
        self.ranking = Some(ranking);
    }

    fn candidate(&self, ranking: &Ranking, job: u32) -> Candidate {
        let place = self.window.start + job as usize;
        let estimate_ms = self.estimate(job).0;
        let r = seconds(estimate_ms).max(1.0);
        let n = self.jobs.cores(place);
        Candidate {
            job,
            changes: self.learner.as_ref().map_or(0, |learner| learner.changes(job)),
            submit_ms: self.jobs.submit_ms[place] as f64,
            cores_milli: self.jobs.sizes.cores_milli(self.states[job as usize].shape),
            r,
            n,
            standing: match self.given.get(job as usize) {
                Some(&given) => given,
                None => standing_score(&self.config, &self.jobs, place, estimate_ms),
            },
            logs: ranking.logs(r, n, self.cluster.empty.total_cores_milli() as f64 / 1000.0),
        }
    }

    fn turns(&self) -> Vec<Turn> {
        let Some(ranking) = &self.ranking else { return Vec::new() };
        let mut turns = ranking.turns(&Scene {
            now_ms: self.now_ms,
            seed: self.config.seed,
            first_job: self.window.start,
            free_cores_milli: self.free.total_cores_milli(),
            total_cores_milli: self.cluster.empty.total_cores_milli(),
            usage: self.usage.as_ref(),
            user: &self.jobs.user,
        });
        if self.config.max_wait_ms.is_some() {
            for turn in turns.iter_mut().filter(|turn| self.queue.is_first(turn.job)) {
                *turn = Turn::plain(0, turn.job);
            }
        }
        turns
    }

    pub(crate) fn sorted_turns(&self) -> Vec<Turn> {
        let mut turns = self.turns();
        turns.sort_unstable_by_key(Turn::key);
        turns
    }

    /// On a pool: whether any candidate fits. If none does, a pass changes nothing, and there is no need to rank.
    fn none_fits_pool(&self) -> bool {
        let free = self.free.cores_milli[0];
        let fits = |one: &Candidate| one.cores_milli <= free;
        self.is_pool && !self.ranking.as_ref().is_some_and(|ranking| ranking.candidates.iter().any(fits))
    }

    fn fits_now(&self, job: u32) -> bool {
        self.shape_fits(self.states[job as usize].shape)
    }

    /// Whether the gate holds back a job that fits: its start would leave too little free.
    pub(crate) fn is_held(&self, turn: &Turn) -> bool {
        let cores_milli = self.jobs.sizes.cores_milli(self.states[turn.job as usize].shape);
        let left = (self.free.total_cores_milli() - cores_milli) as f64;
        turn.leave_free > 0.0
            && self.running > 0
            && left / (self.cluster.empty.total_cores_milli() as f64) < turn.leave_free
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
            let needed = self.jobs.sizes.cores_milli(self.states[turn.job as usize].shape);
            let (reserved_ms, free_then) = self.pool_reservation(needed);
            spare = free_then - needed;
            longest_ms = reserved_ms - self.now_ms;
            break;
        }
        self.backfill_turns(turns, spare, longest_ms);
    }

    /// Starts, in order, those that fit now, and either fit beside the head at its reserved time or end by then.
    fn backfill_turns(&mut self, mut turns: Vec<Turn>, mut spare_cores_milli: i64, longest_ms: i64) {
        let free = self.free.cores_milli[0];
        let needs = |simulation: &Simulation, turn: &Turn| {
            let state = &simulation.states[turn.job as usize];
            (simulation.jobs.sizes.cores_milli(state.shape), simulation.span_ms(turn.job, FULL_SPEED) > longest_ms)
        };
        turns.retain(|turn| {
            let (cores_milli, outlasts) = needs(self, turn);
            cores_milli <= free && (!outlasts || cores_milli <= spare_cores_milli)
        });
        turns.sort_unstable_by_key(Turn::key);
        for turn in &turns {
            let (cores_milli, outlasts) = needs(self, turn);
            let delays = outlasts && cores_milli > spare_cores_milli;
            if cores_milli > self.free.cores_milli[0] || delays || self.is_held(turn) {
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
