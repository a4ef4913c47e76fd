//! Orders that move: made anew at every pass, among the jobs that have waited longest.

use crate::model::config::{Config, Policy};
use crate::model::random::mix;
use crate::model::size::JobSizes;
use crate::order::pairs::PairJob;
use crate::order::scores::{ascending_bits, drawn, LEAST_SIZE, POLICY_SALT};
use crate::order::usage::Usage;

/// What a linear score counts run times from.
const DAY_S: f64 = 86_400.0;

/// A waiting job as the order sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) job: u32,
    pub(crate) tiers_above: u32,
    pub(crate) shape: u32,
    /// `Learner::changes` when the estimate was taken.
    pub(crate) changes: u32,
    /// Since when it may run; exact, and quick to subtract.
    pub(crate) since_ms: f64,
    pub(crate) cores_milli: i64,
    /// The estimate in seconds, at least 1.
    pub(crate) r: f64,
    /// The size.
    pub(crate) n: f64,
    /// What does not move: a standing policy's score, or what the caller brought.
    pub(crate) standing: f64,
    /// Logarithms of r and n that the policy needs.
    pub(crate) logs: [f64; 2],
}

impl Candidate {
    /// Where it stands among all who wait: only those that come first are looked at.
    pub(crate) fn place(&self) -> (u32, u32) {
        (self.tiers_above, self.job)
    }

    /// What a pair sees of it.
    pub(crate) fn pair_job(&self, now_ms: i64) -> PairJob {
        PairJob { r: self.r, log_days: self.logs[0], log_size: self.logs[1], wait_s: wait_s(now_ms as f64, self) }
    }
}

/// A job's turn in a pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// How many tiers are above its own; none for those that the guard puts first.
    pub(crate) tiers_above: u32,
    /// Sorts as the score does; 0 for those that the guard puts first.
    pub(crate) rank: u64,
    pub(crate) job: u32,
    /// Whether it may hold a reservation.
    pub(crate) may_reserve: bool,
    /// Which part of the cluster its start must leave free.
    pub(crate) leave_free: f64,
}

impl Turn {
    /// A turn with nothing special.
    pub(crate) fn plain(rank: u64, job: u32) -> Self {
        Turn { tiers_above: 0, rank, job, may_reserve: true, leave_free: 0.0 }
    }

    pub(crate) fn key(&self) -> (u32, u64, u32) {
        (self.tiers_above, self.rank, self.job)
    }
}

/// Slurm's weights.
#[derive(Clone, Debug)]
pub(crate) struct Multifactor {
    age: f64,
    max_age_s: f64,
    size: f64,
    favor_small: bool,
    fair_share: f64,
}

/// The weights of a linear score, its threshold and its gate.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    estimate: f64,
    size: f64,
    wait: f64,
    wait_ratio: f64,
    free_estimate: f64,
    free_size: f64,
    queue_estimate: f64,
    queue_size: f64,
    reserve_below: f64,
    hold_share: f64,
    hold_from_s: f64,
    hold_patience_s: f64,
}

/// What a policy that moves computes; formulas in `docs/policies.md`.
#[derive(Clone, Debug)]
enum Score {
    /// The policy stands still, only the estimate moves.
    Standing,
    Sexp,
    Lexp,
    Wfp3,
    Unicef,
    FairShare,
    Multifactor(Multifactor),
    RandomFeasible,
    Linear(Linear),
    /// Pairs take turns, not jobs: see `dispatch/pairs.rs`.
    Pairs,
}

/// What the whole cluster looks like to a score.
pub(crate) struct Scene<'a> {
    pub(crate) now_ms: i64,
    pub(crate) seed: u64,
    /// The first job's place in the table.
    pub(crate) first_job: usize,
    /// Of what sizes are counted in.
    pub(crate) free_milli: i64,
    pub(crate) sizes: &'a JobSizes,
    pub(crate) usage: Option<&'a Usage>,
    /// For each job of the table, its user.
    pub(crate) user: &'a [u32],
}

/// The jobs that an order is made of, kept from pass to pass.
#[derive(Clone, Debug)]
pub(crate) struct Ranking {
    score: Score,
    depth: usize,
    /// Those that have waited longest, tier by tier in the order of the table.
    pub(crate) candidates: Vec<Candidate>,
}

impl Ranking {
    /// An empty ranking; none if the order stands still. The parameters have been checked.
    pub(crate) fn new(config: &Config) -> Option<Self> {
        let p = &config.policy_parameters;
        let score = match config.policy {
            _ if !config.order_moves() => return None,
            Policy::Sexp => Score::Sexp,
            Policy::Lexp => Score::Lexp,
            Policy::Wfp3 => Score::Wfp3,
            Policy::Unicef => Score::Unicef,
            Policy::FairShare => Score::FairShare,
            Policy::RandomFeasible => Score::RandomFeasible,
            Policy::Multifactor => Score::Multifactor(Multifactor {
                age: p[0],
                max_age_s: p[1],
                size: p[2],
                favor_small: p[3] != 0.0,
                fair_share: p[4],
            }),
            Policy::Linear => Score::Linear(Linear {
                estimate: p[0],
                size: p[1],
                wait: p[2],
                wait_ratio: p[3],
                free_estimate: p[4],
                free_size: p[5],
                queue_estimate: p[6],
                queue_size: p[7],
                reserve_below: p[8],
                hold_share: p[9],
                hold_from_s: p[10],
                hold_patience_s: p[11],
            }),
            Policy::Pairs => Score::Pairs,
            _ => Score::Standing,
        };
        // Pairs are for clusters with long queues, and looking at them is quick: what is alike is looked at once.
        let depth = if config.policy == Policy::Pairs { usize::MAX } else { config.scan_depth as usize };
        Some(Ranking { score, depth, candidates: Vec::new() })
    }

    /// How many more waiting jobs the ranking has room for.
    pub(crate) fn room(&self) -> usize {
        self.depth - self.candidates.len()
    }

    /// The logarithms that the score needs.
    pub(crate) fn logs(&self, r: f64, n: f64, capacity: f64) -> [f64; 2] {
        match self.score {
            Score::Unicef => [n.log2().max(1e-15), 0.0],
            Score::Linear(_) | Score::Pairs => [(r / DAY_S).ln(), (n.max(LEAST_SIZE) / capacity).ln()],
            _ => [0.0; 2],
        }
    }

    fn place(&self, place: (u32, u32)) -> Result<usize, usize> {
        self.candidates.binary_search_by_key(&place, Candidate::place)
    }

    /// Adds a waiting job in its place; the youngest falls out if there is no room.
    pub(crate) fn add(&mut self, candidate: Candidate) {
        if let Err(place) = self.place(candidate.place()) {
            self.candidates.insert(place, candidate);
            self.candidates.truncate(self.depth);
        }
    }

    /// A job waits no longer.
    pub(crate) fn remove(&mut self, tiers_above: u32, job: u32) {
        if let Ok(place) = self.place((tiers_above, job)) {
            self.candidates.remove(place);
        }
    }

    /// The turns of all candidates, in the order of the table.
    pub(crate) fn turns(&self, scene: &Scene) -> Vec<Turn> {
        let now_ms = scene.now_ms as f64;
        match &self.score {
            Score::Standing => self.each(|one| one.standing),
            Score::Sexp => self.each(|one| (wait_s(now_ms, one) + one.r) / one.r),
            Score::Lexp => self.each(|one| -(wait_s(now_ms, one) + one.r) / one.r),
            Score::Wfp3 => self.each(|one| {
                let ratio = wait_s(now_ms, one) / one.r;
                -(ratio * ratio * ratio * one.n)
            }),
            Score::Unicef => self.each(|one| -(wait_s(now_ms, one) / (one.logs[0] * one.r))),
            Score::FairShare => {
                let used = self.by_user(scene, Usage::over_share);
                self.each(|one| used[scene.user_of(one)])
            }
            Score::Multifactor(weights) => {
                let factor = self.by_user(scene, Usage::factor);
                self.each(|one| -weights.priority(scene, one, factor[scene.user_of(one)]))
            }
            Score::RandomFeasible => {
                // Drawn anew at every instant, and the same for each pass of one: asking twice gives one answer.
                let seed = scene.seed ^ POLICY_SALT ^ mix(scene.now_ms as u64);
                self.each(|one| drawn(seed, (scene.first_job + one.job as usize) as u32))
            }
            Score::Linear(weights) => weights.turns(&self.candidates, scene),
            Score::Pairs => Vec::new(),
        }
    }

    /// What the accounts say of each user who has a candidate; worked out once for all of them.
    fn by_user(&self, scene: &Scene, told: impl Fn(&Usage, u32, i64) -> f64) -> Vec<f64> {
        let Some(usage) = scene.usage else { return Vec::new() };
        let mut values = vec![f64::NAN; usage.accounts.len()];
        for one in &self.candidates {
            let user = scene.user_of(one);
            // Not worked out yet. A share is above 0, and no use is NaN.
            if values[user].is_nan() {
                values[user] = told(usage, user as u32, scene.now_ms);
            }
        }
        values
    }

    fn each(&self, score: impl Fn(&Candidate) -> f64) -> Vec<Turn> {
        self.candidates.iter().map(|one| Turn::plain(ascending_bits(score(one)), one.job)).collect()
    }
}

fn wait_s(now_ms: f64, candidate: &Candidate) -> f64 {
    (now_ms - candidate.since_ms) / 1000.0
}

impl Scene<'_> {
    fn user_of(&self, candidate: &Candidate) -> usize {
        self.user[self.first_job + candidate.job as usize] as usize
    }
}

impl Multifactor {
    fn priority(&self, scene: &Scene, one: &Candidate, fair_share: f64) -> f64 {
        let age = (wait_s(scene.now_ms as f64, one) / self.max_age_s).min(1.0);
        let part = one.n / scene.sizes.capacity();
        let size = if self.favor_small { 1.0 - part } else { part };
        self.age * age + self.size * size + self.fair_share * fair_share + one.standing
    }
}

impl Linear {
    fn turns(&self, candidates: &[Candidate], scene: &Scene) -> Vec<Turn> {
        let now_ms = scene.now_ms as f64;
        let capacity = scene.sizes.capacity();
        let f = scene.free_milli as f64 / scene.sizes.capacity_milli as f64;
        let area: f64 = candidates.iter().map(|one| one.r * one.n.max(LEAST_SIZE)).sum();
        let q = (1.0 + area / (capacity * 3600.0)).ln();
        let turn = |one: &Candidate| {
            let [x, y] = one.logs;
            let w = wait_s(now_ms, one);
            let score = self.estimate * x + self.size * y - self.wait * w / 3600.0 - self.wait_ratio * w / one.r
                + f * (self.free_estimate * x + self.free_size * y)
                + q * (self.queue_estimate * x + self.queue_size * y);
            let held = self.hold_share > 0.0 && w < self.hold_patience_s;
            Turn {
                tiers_above: 0,
                rank: ascending_bits(score),
                job: one.job,
                may_reserve: score <= self.reserve_below,
                leave_free: if held { self.hold_share * (one.r / self.hold_from_s).ln().max(0.0) } else { 0.0 },
            }
        };
        candidates.iter().map(turn).collect()
    }
}
