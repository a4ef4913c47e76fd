//! What a learned policy decides now: it is shown what it was shown in training, and its answers are carried out.
//!
//! The policy itself is not here. Whoever has it looks (`observe`), answers (`act`), and does so until no more is asked at
//! this instant. What is seen and what answers do is the work of the environments' own code, on a copy of the simulation.

use std::collections::HashSet;
use std::sync::Arc;

use crate::decide::line::{Line, Promised};
use crate::decide::{verdicts, Reason, Verdict};
use crate::dispatch::committed::chooses_now;
use crate::dispatch::reserving::drop_reservations;
use crate::envs::decision::{kind_of, Decision, Sizes};
use crate::envs::episode::EnvConfig;
use crate::envs::world::check_priority;
use crate::model::config::Dispatch;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;
use crate::sim::tally::Tally;

/// The decisions of one instant, asked for one by one.
pub struct Consultation {
    before: Simulation,
    after: Simulation,
    line: Line,
    decision: Box<dyn Decision>,
    sizes: Sizes,
    is_due: bool,
}

impl Consultation {
    /// Begins, in any state of a simulation. Its dispatch rule is the one that the mode stands for. `priority` has a number
    /// from 0 to 1 for each job of the table, or nothing.
    pub fn begin(before: Simulation, env: &EnvConfig, priority: Arc<[f64]>) -> Result<Self, String> {
        let kind = kind_of(env.mode);
        let clusters = [before.setup.cluster.clone()];
        env.check()?;
        kind.check(env, &clusters)?;
        if env.stops > 0 {
            return Err("a policy that stops running jobs decides in simulations alone".to_string());
        }
        check(&before, kind.dispatch(), &priority)?;
        let mut after = before.clone();
        // A reservation is given anew in each pass, as in training.
        drop_reservations(&mut after);
        let line = Line::of(&mut after, None);
        after.accounts.set_tally(Some(tally(&after, priority)));
        let mut decision = kind.decisions(env);
        decision.begin(&mut after);
        if !matches!(kind.dispatch(), Dispatch::Committed { .. }) {
            decision.open(&mut after);
        }
        let sizes = kind.sizes(env, &clusters);
        let mut begun = Consultation { before, after, line, decision, sizes, is_due: false };
        begun.settle();
        Ok(begun)
    }

    /// How much is shown, and taken.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Whether an answer is wanted.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// The jobs that are shown, row by row; none where no answer is wanted.
    pub fn shown(&self) -> impl Iterator<Item = u32> + '_ {
        self.decision.shown().filter(|_| self.is_due)
    }

    /// Writes what is seen now, and which answers are allowed; zeros where no answer is wanted.
    pub fn observe(&mut self, observation: &mut [f32], mask: &mut [u8]) {
        observation.fill(0.0);
        mask.fill(0);
        if self.is_due {
            self.decision.observe(&self.after, observation, mask);
        }
    }

    /// Carries out an answer, and goes on to the next question of this instant.
    pub fn act(&mut self, action: usize) -> Result<(), String> {
        if !self.is_due {
            return Err("no answer is wanted: nothing more is to be decided at this instant".to_string());
        }
        if !self.decision.allows(action) {
            return Err(format!("action {action} is not allowed now; the mask says which are"));
        }
        self.decision.act(&mut self.after, action);
        self.settle();
        Ok(())
    }

    /// Goes on until an answer is wanted, or nothing more is to be decided. The clock does not move.
    fn settle(&mut self) {
        self.is_due = self.decision.is_due(&mut self.after);
        if let Dispatch::Committed { backfill } = self.after.setup.config.dispatch {
            if !self.is_due && chooses_now(&mut self.after, backfill) {
                self.decision.open(&mut self.after);
                self.is_due = self.decision.is_due(&mut self.after);
            }
        }
    }

    /// What was decided: a verdict for each job. An error as long as an answer is wanted.
    pub fn verdicts(&self) -> Result<Vec<Verdict>, String> {
        if self.is_due {
            return Err("an answer is wanted before the decision is made".to_string());
        }
        let mut after = self.after.clone();
        if !matches!(after.setup.config.dispatch, Dispatch::Reserve { .. }) {
            let promised = Promised::of(&after, &self.line);
            let reason = |after: &mut Simulation, job| self.line.reason(after, &promised, job);
            return Ok(verdicts(&self.before, &mut after, &self.line, &promised, reason));
        }
        // The policy has chosen who holds the reservation, if anybody does, and whom it starts: what the order would have
        // done does not matter.
        let head = self.decision.head();
        let held = head.map(|head| (head.job, (Some(head.reserved_ms), head.placement(&after))));
        let promised = Promised { held: held.into_iter().collect(), first: head.map(|head| head.job) };
        let delaying: HashSet<u32> = self.decision.delaying().collect();
        let shown: HashSet<u32> = self.decision.shown().collect();
        let reason = |after: &mut Simulation, job: u32| match self.line.out_of_reach(after, &promised, job) {
            Some(reason) => (reason, None),
            None if delaying.contains(&job) => (Reason::Delays, promised.first),
            None if shown.contains(&job) => (Reason::HeldBack, None),
            None => (Reason::NotLookedAt, None),
        };
        Ok(verdicts(&self.before, &mut after, &self.line, &promised, reason))
    }
}

fn check(simulation: &Simulation, dispatch: Dispatch, priority: &[f64]) -> Result<(), String> {
    if simulation.setup.config.dispatch != dispatch {
        let own = simulation.setup.config.dispatch;
        return Err(format!("the mode decides as {dispatch:?} does, but the simulation's rule is {own:?}"));
    }
    if simulation.setup.config.policy.preempts() {
        return Err("the simulation's policy stops running jobs; a learned policy only starts them".to_string());
    }
    let jobs = simulation.setup.jobs.len();
    if !priority.is_empty() && priority.len() != jobs {
        return Err(format!("priority has {} values; the table has {jobs} jobs", priority.len()));
    }
    check_priority(priority)
}

/// What observations need to know of the past: who holds how much.
fn tally(simulation: &Simulation, priority: Arc<[f64]>) -> Tally {
    let setup = &simulation.setup;
    let mut tally = Tally::new(&setup.jobs, priority, 0, 0);
    for (job, state) in (0..).zip(&simulation.states) {
        if state.phase == Phase::Running {
            tally.held[setup.jobs.user[setup.place(job)] as usize] += setup.sizes.micro(state.shape);
        }
    }
    tally
}
