//! What the site's rules let start now: counters in use, and nodes that are reserved in advance.
//!
//! All that is kept here follows from the jobs' states, so that a saved simulation works it out again.

use crate::model::closures::Closures;
use crate::model::free::Free;
use crate::model::rules::Rules;
use crate::sim::setup::Setup;
use crate::sim::simulation::Simulation;

/// What is used of each counter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    /// By those that run.
    used: Vec<i64>,
    /// By those that hold reservations, as far as a pass has come.
    promised: Vec<i64>,
}

impl Limits {
    /// Nobody runs.
    pub(crate) fn new(setup: &Setup) -> Self {
        let counters = setup.jobs.rules.as_ref().map_or(0, Rules::counters);
        Limits { used: vec![0; counters], promised: vec![0; counters] }
    }

    /// A job runs from now on (`sign` 1), or no longer (−1).
    #[inline]
    pub(crate) fn count(&mut self, setup: &Setup, job: u32, sign: i64) {
        if setup.is_ruled {
            add(&mut self.used, setup, job, sign);
        }
    }

    /// A pass begins: nobody has been promised anything yet.
    pub(crate) fn begin_pass(&mut self) {
        self.promised.fill(0);
    }

    /// A job holds a reservation: for those behind it, it counts as if it ran.
    #[inline]
    pub(crate) fn promise(&mut self, setup: &Setup, job: u32) {
        if setup.is_ruled {
            add(&mut self.promised, setup, job, 1);
        }
    }
}

fn add(counters: &mut [i64], setup: &Setup, job: u32, sign: i64) {
    let takes = setup.jobs.rules.as_ref().map_or(&[][..], |rules| rules.takes(setup.place(job)));
    takes.iter().for_each(|take| counters[take.counter as usize] += sign * take.amount);
}

impl Simulation {
    /// Whether the site has rules for who of those that wait may start.
    #[inline]
    pub(crate) fn is_ruled(&self) -> bool {
        self.setup.is_ruled
    }

    /// The counter that has too little left for a job to start now.
    pub(crate) fn barring(&self, job: u32) -> Option<u32> {
        let Limits { used, promised } = &self.limits;
        let rules = self.setup.jobs.rules.as_ref()?;
        rules.barring(self.setup.place(job), self.now_ms(), |counter| used[counter] + promised[counter])
    }

    /// Whether a limit keeps a job from starting now: it is passed over, whether it fits or not.
    #[inline]
    pub(crate) fn is_barred(&self, job: u32) -> bool {
        self.setup.is_ruled && self.barring(job).is_some()
    }

    /// The windows that bind a job.
    #[inline]
    pub(crate) fn closures(&self, job: u32) -> Option<&Closures> {
        if !self.setup.is_ruled {
            return None;
        }
        self.setup.jobs.rules.as_ref()?.closures(self.setup.place(job))
    }

    /// How long a job may last wherever it runs, for which it must be left alone.
    pub(crate) fn longest_span_ms(&self, job: u32) -> i64 {
        self.setup.longest_span_ms(self.state(job))
    }

    /// Whether a window closes the only node to a job that would start at an instant.
    pub(crate) fn is_pool_closed(&self, job: u32, instant_ms: i64) -> bool {
        let closes = |closures: &Closures| closures.first_closing(instant_ms, self.longest_span_ms(job)).is_some();
        self.closures(job).is_some_and(closes)
    }

    /// What is free of nodes that no window closes to a job that would start at an instant; none: no window closes any.
    #[inline]
    pub(crate) fn open_nodes(&self, free: &Free, job: u32, instant_ms: i64) -> Option<Box<Free>> {
        self.closures(job).and_then(|closures| self.without_closed(closures, free, job, instant_ms))
    }

    #[cold]
    fn without_closed(&self, closures: &Closures, free: &Free, job: u32, instant_ms: i64) -> Option<Box<Free>> {
        let mut closed = closures.closed(instant_ms, self.longest_span_ms(job)).peekable();
        closed.peek()?;
        let mut open = Box::new(free.unindexed());
        closed.for_each(|node| open.set_down(node, true));
        Some(open)
    }

    /// When hours begin or end next under which a waiting job is, or a window ends that binds one. If nothing else is to come
    /// (`alone`), only until all that they do has been seen once: otherwise a job that never may start would keep the
    /// simulation going.
    pub(crate) fn next_rule_ms(&self, alone: bool) -> Option<i64> {
        let rules = self.setup.jobs.rules.as_ref().filter(|_| self.setup.is_ruled)?;
        let waiting = self.waiting.queue.iter().map(|job| self.setup.place(job));
        let next_ms = rules.next_change_ms(waiting, self.now_ms())?;
        (!alone || next_ms <= rules.all_seen_ms(self.clock.quiet_since_ms)).then_some(next_ms)
    }
}
