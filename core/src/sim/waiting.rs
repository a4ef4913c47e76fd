//! Who waits, in which order: the queue, what is ranked anew at every pass, and the starvation guard.

use crate::model::config::{Config, Dispatch};
use crate::model::free::Free;
use crate::model::speeds::FULL_SPEED;
use crate::order::contest::{Contest, Standing};
use crate::order::queue::{Indexed, Queue};
use crate::order::ranking::{Candidate, Ranking, Scene, Turn};
use crate::order::scores::{seconds, standing_score};
use crate::sim::accounts::Accounts;
use crate::sim::job_state::{JobState, Phase};
use crate::sim::setup::Setup;

/// The waiting jobs. An order that stands still is the queue's own; one that moves is made of candidates at each pass.
#[derive(Clone)]
pub(crate) struct Waiting {
    pub(crate) queue: Queue,
    /// Who is next, where the order moves.
    ranking: Option<Ranking>,
    /// Who waits for whom, where the policy stops running jobs.
    pub(crate) contest: Option<Contest>,
    /// The jobs that have waited, those that may run for longest first; none: as the table has them.
    by_eligible: Option<Vec<u32>>,
    /// Every job before this place has been put first by the guard, or does not wait.
    guard_cursor: u32,
    /// Every job before this place takes any nodes, or does not wait.
    patience_cursor: u32,
}

impl Waiting {
    /// Nobody waits. `order` is that of the policy, of all jobs.
    pub(crate) fn new(setup: &Setup, order: Vec<u32>) -> Self {
        let Setup { jobs, window, config, .. } = setup;
        let guarded = config.max_wait_ms.is_some();
        Waiting {
            queue: Queue::new(jobs.clone(), window.start, order, guarded, indexed(config), !setup.is_pool),
            ranking: Ranking::new(config),
            contest: config.policy.preempts().then(|| Contest::new(jobs.clone(), window.len())),
            by_eligible: jobs.conditions.as_ref().map(|_| Vec::new()),
            guard_cursor: 0,
            patience_cursor: 0,
        }
    }

    /// Whether the order is made anew at every pass.
    pub(crate) fn order_moves(&self) -> bool {
        self.ranking.is_some()
    }

    /// A job begins to wait. `standing` is its place in the contest, where there is one; `first` says that the guard puts it
    /// before the policy's order.
    pub(crate) fn insert(
        &mut self,
        setup: &Setup,
        accounts: &Accounts,
        job: u32,
        states: &[JobState],
        standing: Option<Standing>,
        first: bool,
    ) {
        let state = &states[job as usize];
        self.queue.insert(job, setup.cores_milli(state), setup.span_ms(state, FULL_SPEED), first);
        self.line_up(job, states);
        if let Some(ranking) = &mut self.ranking {
            let others = self.queue.len() - 1;
            let place = (setup.tiers_above(job), job);
            let is_older = ranking.candidates.last().is_some_and(|last| place < last.place());
            // Only the oldest are candidates; one that is younger than all of them waits behind if there is no room.
            if is_older || others == ranking.candidates.len() && ranking.room() > 0 {
                ranking.add(candidate(setup, accounts, ranking, job, state));
            }
        }
        if let (Some(contest), Some(standing)) = (&mut self.contest, standing) {
            contest.insert(state.shape, job, standing);
        }
    }

    /// A job waits no longer.
    pub(crate) fn remove(&mut self, setup: &Setup, job: u32, state: &JobState) {
        self.queue.remove(job);
        if let Some(ranking) = &mut self.ranking {
            ranking.remove(setup.tiers_above(job), job);
        }
        if let Some(contest) = &mut self.contest {
            contest.remove(state.shape, job);
        }
    }

    /// The guard puts a waiting job before the policy's order; `standing` is its place in the contest from now on.
    pub(crate) fn put_first(&mut self, setup: &Setup, job: u32, state: &JobState, standing: Option<Standing>) {
        self.queue.remove(job);
        self.queue.insert(job, setup.cores_milli(state), setup.span_ms(state, FULL_SPEED), true);
        if let (Some(contest), Some(standing)) = (&mut self.contest, standing) {
            contest.remove(state.shape, job);
            contest.insert(state.shape, job, standing);
        }
    }

    /// The next waiting job that reaches the guard's bound, and when.
    pub(crate) fn next_starving(&mut self, setup: &Setup, states: &[JobState], arrived: u32) -> Option<(i64, u32)> {
        let max_wait_ms = setup.config.max_wait_ms?;
        while let Some(job) = self.lined_up(self.guard_cursor, arrived) {
            let state = &states[job as usize];
            if state.phase == Phase::Waiting && !self.queue.is_first(job) {
                return Some((state.eligible_ms + max_wait_ms, job));
            }
            self.guard_cursor += 1;
        }
        None
    }

    /// When the next waiting job no longer waits for nodes that are close together, where that is a matter of time.
    pub(crate) fn next_impatient(
        &mut self,
        setup: &Setup,
        states: &[JobState],
        arrived: u32,
        now_ms: i64,
    ) -> Option<i64> {
        setup.config.locality_patience_ms()?;
        while let Some(job) = self.lined_up(self.patience_cursor, arrived) {
            let state = &states[job as usize];
            let until_ms = setup.patient_until_ms(state).filter(|&until_ms| until_ms > now_ms);
            if until_ms.is_some() && state.phase == Phase::Waiting {
                return until_ms;
            }
            self.patience_cursor += 1;
        }
        None
    }

    /// A job waits, for the first time or again: the guard looks at it from now on.
    fn line_up(&mut self, job: u32, states: &[JobState]) {
        let place = match &mut self.by_eligible {
            None => job,
            Some(line) => {
                let key = |job: u32| (states[job as usize].eligible_ms, job);
                let place = line.partition_point(|&other| key(other) < key(job));
                if line.get(place) != Some(&job) {
                    line.insert(place, job);
                }
                place as u32
            }
        };
        self.guard_cursor = self.guard_cursor.min(place);
        self.patience_cursor = self.patience_cursor.min(place);
    }

    /// The job at a place among those that have waited; `arrived` have come at all.
    #[inline]
    fn lined_up(&self, place: u32, arrived: u32) -> Option<u32> {
        match &self.by_eligible {
            None => Some(place).filter(|&job| job < arrived),
            Some(line) => line.get(place as usize).copied(),
        }
    }

    /// Brings the candidates of an order that moves up to date: their estimates, and those that have moved up from behind.
    pub(crate) fn refresh_ranking(&mut self, setup: &Setup, accounts: &Accounts, states: &[JobState]) {
        let Some(ranking) = &mut self.ranking else { return };
        if accounts.learns() {
            for place in 0..ranking.candidates.len() {
                let Candidate { job, changes, .. } = ranking.candidates[place];
                if accounts.changes(job) != changes {
                    ranking.candidates[place] = candidate(setup, accounts, ranking, job, &states[job as usize]);
                }
            }
        }
        let listed = ranking.candidates.len();
        if listed < self.queue.len() && ranking.room() > 0 {
            // The candidates are the first of the table that wait.
            let last = ranking.candidates.last().map(|last| last.job);
            for job in self.queue.in_table_after(last, ranking.room(), setup.jobs.has_tiers()) {
                let candidate = candidate(setup, accounts, ranking, job, &states[job as usize]);
                ranking.candidates.push(candidate);
            }
        }
    }

    /// The candidates' turns as of now, tier by tier in the order of the table; none where the order stands still.
    pub(crate) fn turns(&self, setup: &Setup, accounts: &Accounts, now_ms: i64, free: &Free) -> Vec<Turn> {
        let Some(ranking) = &self.ranking else { return Vec::new() };
        let mut turns = ranking.turns(&Scene {
            now_ms,
            seed: setup.config.seed,
            first_job: setup.window.start,
            free_milli: setup.sizes.free_milli(free),
            sizes: &setup.sizes,
            usage: accounts.usage(),
            user: &setup.jobs.user,
        });
        if setup.jobs.has_tiers() {
            turns.iter_mut().for_each(|turn| turn.tiers_above = setup.tiers_above(turn.job));
        }
        if setup.config.max_wait_ms.is_some() {
            for turn in turns.iter_mut().filter(|turn| self.queue.is_first(turn.job)) {
                *turn = Turn::plain(0, turn.job);
            }
        }
        turns
    }

    /// The jobs that an order is made of, in the order of the table; none where the order stands still.
    pub(crate) fn candidates(&self) -> &[Candidate] {
        self.ranking.as_ref().map_or(&[], |ranking| &ranking.candidates)
    }

    /// Whether any candidate of an order that moves needs no more cores than this.
    pub(crate) fn any_candidate_within(&self, cores_milli: i64) -> bool {
        let fits = |one: &Candidate| one.cores_milli <= cores_milli;
        self.ranking.as_ref().is_some_and(|ranking| ranking.candidates.iter().any(fits))
    }
}

fn candidate(setup: &Setup, accounts: &Accounts, ranking: &Ranking, job: u32, state: &JobState) -> Candidate {
    let place = setup.place(job);
    let estimate_ms = accounts.estimate(setup, job).0;
    let r = seconds(estimate_ms).max(1.0);
    let shape = setup.jobs.shape[place];
    let n = setup.sizes.of(shape);
    Candidate {
        job,
        tiers_above: setup.tiers_above(job),
        shape,
        changes: accounts.changes(job),
        since_ms: state.eligible_ms as f64,
        cores_milli: setup.jobs.shape_cores.cores_milli(shape),
        r,
        n,
        standing: match setup.given.get(job as usize) {
            Some(&given) => given,
            None => standing_score(&setup.config, &setup.jobs, &setup.sizes, place, estimate_ms),
        },
        logs: ranking.logs(r, n, setup.sizes.capacity()),
    }
}

fn indexed(config: &Config) -> Indexed {
    match config.dispatch {
        _ if config.policy.preempts() => Indexed::No,
        Dispatch::Reserve { depth: 0 | 1 } if !config.order_moves() => Indexed::ByOrder,
        Dispatch::Committed { backfill: true } => Indexed::ByArrival,
        _ => Indexed::No,
    }
}
