//! Who of those that were submitted may not wait for nodes yet, and what they wait for instead.
//!
//! A job is **held** until the conditions of the table let it wait. Where jobs follow others, it is also known here who is
//! submitted when. All that is kept follows from the jobs' states, so that a saved simulation works it out again.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::model::conditions::{Conditions, Dependency};
use crate::model::rules::Rules;
use crate::sim::job_state::{JobState, Phase};
use crate::sim::needs::{submitted_ms, verdict, Verdict};
use crate::sim::setup::Setup;

/// The jobs of an array that are ready, and how many places are taken.
#[derive(Clone, Default)]
struct Places {
    taken: u32,
    /// Those that wait for a place alone.
    ready: BTreeSet<u32>,
}

/// The jobs that are held. Jobs are counted from the first of the window, here and in the states.
#[derive(Clone)]
pub(crate) struct Gate {
    /// Times at which held jobs may begin; entries of jobs that are held no longer are thrown away when they come up.
    begins: BinaryHeap<Reverse<(i64, u32)>>,
    /// Times at which jobs leave that have not started; likewise.
    cancels: BinaryHeap<Reverse<(i64, u32)>>,
    /// When jobs are submitted, as far as that is known; none where they come in the order of the table.
    arrivals: Option<BinaryHeap<Reverse<(i64, u32)>>>,
    /// By job that is held: the time before which it may not wait, as far as that is known.
    not_before_ms: Vec<i64>,
    /// By job that is held: how many of its dependencies are not met.
    unmet: Vec<u32>,
    /// By group: the place among its members of the first that has not ended.
    first_open: Vec<usize>,
    arrays: Vec<Places>,
    /// Arrays in which a place or a job may have become free.
    touched: Vec<u32>,
    /// Held jobs that need no place in an array, and wait for nothing any more.
    free: Vec<u32>,
    /// Held jobs whose dependencies can no longer be met.
    hopeless: Vec<u32>,
    /// Where the site limits what waits: those that wait for a place alone, in their array or under a limit.
    crowd: BTreeSet<u32>,
    /// By limit: what those take that wait for nodes, or run.
    queued: Vec<i64>,
    /// A place may have become free for the crowd.
    crowd_moves: bool,
}

impl Gate {
    /// Nobody has come; none where jobs have no conditions.
    pub(crate) fn new(setup: &Setup) -> Option<Self> {
        let conditions = setup.jobs.conditions.as_ref()?;
        let groups = 0..conditions.groups() as u32;
        // What lies before the window is over.
        let begin = |group| conditions.members(group).partition_point(|&job| (job as usize) < setup.window.start);
        let comes = |job| submitted_ms(setup, &[], job).map(|time_ms| Reverse((time_ms, job)));
        let jobs = 0..setup.window.len() as u32;
        Some(Gate {
            begins: BinaryHeap::new(),
            cancels: BinaryHeap::new(),
            arrivals: conditions.moves_arrivals().then(|| jobs.filter_map(comes).collect()),
            not_before_ms: vec![i64::MIN; setup.window.len()],
            unmet: vec![0; setup.window.len()],
            first_open: groups.map(begin).collect(),
            arrays: vec![Places::default(); conditions.array_limits().len()],
            touched: Vec::new(),
            free: Vec::new(),
            hopeless: Vec::new(),
            crowd: BTreeSet::new(),
            queued: vec![0; setup.jobs.rules.as_ref().map_or(0, Rules::queued_counters)],
            crowd_moves: false,
        })
    }

    /// When the next job is submitted, where others say when; none within: nobody is known to come.
    pub(crate) fn next_arrival_ms(&self) -> Option<Option<i64>> {
        self.arrivals.as_ref().map(|times| times.peek().map(|Reverse((time_ms, _))| *time_ms))
    }

    /// The job that is submitted now, where others say when.
    pub(crate) fn pop_arrival(&mut self) -> Option<u32> {
        self.arrivals.as_mut()?.pop().map(|Reverse((_, job))| job)
    }

    /// A job is held from now on.
    pub(crate) fn hold(&mut self, setup: &Setup, states: &[JobState], job: u32, now_ms: i64) {
        let Some(conditions) = &setup.jobs.conditions else { return };
        let place = setup.place(job);
        self.add_cancel(setup, job);
        self.not_before_ms[job as usize] = i64::MIN;
        self.wait_until(job, conditions.not_before_ms(place), now_ms);
        let mut unmet = 0;
        for need in conditions.needs(place).iter().filter(|need| need.kind != Dependency::Follows) {
            match verdict(setup, states, need.job, need.kind) {
                Verdict::Open => unmet += 1,
                Verdict::Met(met_ms) => self.wait_until(job, met_ms.saturating_add(need.delay_ms), now_ms),
                Verdict::Never => self.hopeless.push(job),
            }
        }
        self.unmet[job as usize] = unmet;
        self.look_at(setup, conditions, job, now_ms);
    }

    /// A held job may not wait before this time, which is one at which something may change.
    fn wait_until(&mut self, job: u32, time_ms: i64, now_ms: i64) {
        let latest_ms = &mut self.not_before_ms[job as usize];
        *latest_ms = time_ms.max(*latest_ms);
        if time_ms > now_ms {
            self.begins.push(Reverse((time_ms, job)));
        }
    }

    /// A job that has not started leaves at its time, if it has one.
    pub(crate) fn add_cancel(&mut self, setup: &Setup, job: u32) {
        let conditions = setup.jobs.conditions.as_ref();
        if let Some(cancel_ms) = conditions.and_then(|conditions| conditions.cancel_ms(setup.place(job))) {
            self.cancels.push(Reverse((cancel_ms, job)));
        }
    }

    /// A job takes a place of its array, if it belongs to one.
    pub(crate) fn take_place(&mut self, setup: &Setup, job: u32) {
        let conditions = setup.jobs.conditions.as_ref();
        if let Some(array) = conditions.and_then(|conditions| conditions.array(setup.place(job))) {
            self.arrays[array as usize].taken += 1;
        }
        self.count_queued(setup, job, 1);
    }

    /// A job waits for nodes from now on (`sign` 1), or neither waits nor runs any more (−1).
    fn count_queued(&mut self, setup: &Setup, job: u32, sign: i64) {
        let Some(rules) = &setup.jobs.rules else { return };
        let takes = rules.queued(setup.place(job));
        takes.iter().for_each(|take| self.queued[take.counter as usize] += sign * take.amount);
    }

    /// Whether one of the crowd has a place, in its array and under all limits.
    fn has_place(&self, setup: &Setup, job: u32) -> bool {
        let place = setup.place(job);
        let conditions = setup.jobs.conditions.as_ref();
        let is_full = |array: u32| {
            let limits = conditions.map_or(&[][..], Conditions::array_limits);
            self.arrays[array as usize].taken >= limits[array as usize]
        };
        !conditions.and_then(|conditions| conditions.array(place)).is_some_and(is_full)
            && setup.jobs.rules.as_ref().is_none_or(|rules| rules.may_queue(place, &self.queued))
    }

    /// A job has started for the first time.
    pub(crate) fn start(&mut self, setup: &Setup, states: &[JobState], job: u32, now_ms: i64) {
        self.resolve(setup, states, job, now_ms, |kind| kind == Dependency::After);
    }

    /// A job is over, whether it ran or not; `had_place` says that it waited for nodes, or ran.
    pub(crate) fn end(&mut self, setup: &Setup, states: &[JobState], job: u32, now_ms: i64, had_place: bool) {
        let Some(conditions) = &setup.jobs.conditions else { return };
        self.submit_followers(setup, states, conditions, job);
        // What waits for a start has had it, unless the job never started.
        let never_started = !states[job as usize].has_started();
        self.resolve(setup, states, job, now_ms, |kind| kind != Dependency::After || never_started);
        let place = setup.place(job);
        if let Some(array) = conditions.array(place).filter(|_| had_place) {
            self.arrays[array as usize].taken -= 1;
            self.touched.push(array);
        }
        if had_place {
            self.count_queued(setup, job, -1);
            self.crowd_moves = true;
        }
        if let Some(group) = conditions.group(place) {
            self.move_on(setup, states, conditions, group);
            // All before the first that is open have ended: it is the only one that this may let go.
            let first = conditions.members(group).get(self.first_open[group as usize]).copied();
            let first = first.filter(|&first| setup.window.contains(&(first as usize)));
            if let Some(first) = first.map(|first| first - setup.window.start as u32) {
                if states[first as usize].phase == Phase::Held {
                    self.look_at(setup, conditions, first, now_ms);
                }
            }
        }
    }

    /// Those that follow a job that is over are submitted in their time.
    fn submit_followers(&mut self, setup: &Setup, states: &[JobState], conditions: &Conditions, job: u32) {
        let Some(arrivals) = &mut self.arrivals else { return };
        for need in conditions.dependents(setup.place(job)) {
            if need.kind == Dependency::Follows && setup.window.contains(&(need.job as usize)) {
                let follower = need.job - setup.window.start as u32;
                // A snapshot may tell of one that has come before its time.
                let is_to_come = states[follower as usize].phase == Phase::Future;
                let time_ms = is_to_come.then(|| submitted_ms(setup, states, follower)).flatten();
                arrivals.extend(time_ms.map(|time_ms| Reverse((time_ms, follower))));
            }
        }
    }

    /// Those that have ended at the beginning of a group are passed over.
    fn move_on(&mut self, setup: &Setup, states: &[JobState], conditions: &Conditions, group: u32) {
        let open = &mut self.first_open[group as usize];
        let has_ended = |&job: &u32| {
            setup.window.contains(&(job as usize)) && states[job as usize - setup.window.start].phase.is_over()
        };
        while conditions.members(group).get(*open).is_some_and(has_ended) {
            *open += 1;
        }
    }

    /// What others need of a job has come to something, for the kinds that this decides.
    fn resolve(
        &mut self,
        setup: &Setup,
        states: &[JobState],
        job: u32,
        now_ms: i64,
        decides: impl Fn(Dependency) -> bool,
    ) {
        let Some(conditions) = &setup.jobs.conditions else { return };
        let dependents = conditions.dependents(setup.place(job)).iter();
        for need in dependents.filter(|need| need.kind != Dependency::Follows && decides(need.kind)) {
            if !setup.window.contains(&(need.job as usize)) {
                continue;
            }
            let dependent = need.job - setup.window.start as u32;
            if states[dependent as usize].phase != Phase::Held {
                continue;
            }
            match verdict(setup, states, setup.place(job) as u32, need.kind) {
                Verdict::Open => {}
                Verdict::Never => self.hopeless.push(dependent),
                Verdict::Met(met_ms) => {
                    self.unmet[dependent as usize] -= 1;
                    self.wait_until(dependent, met_ms.saturating_add(need.delay_ms), now_ms);
                    self.look_at(setup, conditions, dependent, now_ms);
                }
            }
        }
    }

    /// A held job waits for nothing any more, or for a place in its array alone.
    fn look_at(&mut self, setup: &Setup, conditions: &Conditions, job: u32, now_ms: i64) {
        let place = setup.place(job);
        let stands_first = || {
            let Some(group) = conditions.group(place) else { return true };
            let open = self.first_open[group as usize];
            conditions.members(group).get(open).is_none_or(|&first| first as usize >= place)
        };
        let is_held = self.unmet[job as usize] > 0
            || self.not_before_ms[job as usize] > now_ms
            || conditions.is_single(place) && !stands_first();
        if is_held {
            return;
        }
        let limits_queues = !self.queued.is_empty();
        let is_limited = setup.jobs.rules.as_ref().is_some_and(|rules| !rules.queued(place).is_empty());
        match conditions.array(place) {
            array if is_limited || limits_queues && array.is_some() => {
                self.crowd.insert(job);
                self.crowd_moves = true;
            }
            None => self.free.push(job),
            Some(array) => {
                self.arrays[array as usize].ready.insert(job);
                self.touched.push(array);
            }
        }
    }

    /// When something is to be done here next; none: nothing is to come.
    pub(crate) fn next_ms(&mut self, setup: &Setup, states: &[JobState], now_ms: i64) -> Option<i64> {
        let limits = setup.jobs.conditions.as_ref().map_or(&[][..], Conditions::array_limits);
        let has_place = |&array: &u32| {
            let places = &self.arrays[array as usize];
            !places.ready.is_empty() && places.taken < limits[array as usize]
        };
        if !self.free.is_empty() || !self.hopeless.is_empty() || self.touched.iter().any(has_place) {
            return Some(now_ms);
        }
        let may_wait = |&job: &u32| states[job as usize].phase == Phase::Held && self.has_place(setup, job);
        if self.crowd_moves && self.crowd.iter().any(may_wait) {
            return Some(now_ms);
        }
        drop_past(&mut self.begins, |job| states[job as usize].phase == Phase::Held);
        drop_past(&mut self.cancels, |job| may_leave(&states[job as usize]));
        let times = [&self.begins, &self.cancels].into_iter().filter_map(BinaryHeap::peek);
        times.map(|Reverse((time_ms, _))| *time_ms).min()
    }

    /// A job whose time to leave has come.
    pub(crate) fn pop_cancel(&mut self, states: &[JobState], now_ms: i64) -> Option<u32> {
        drop_past(&mut self.cancels, |job| may_leave(&states[job as usize]));
        pop_due(&mut self.cancels, now_ms)
    }

    /// A held job whose dependencies can no longer be met.
    pub(crate) fn pop_hopeless(&mut self) -> Option<u32> {
        self.hopeless.pop()
    }

    /// The held jobs that may wait for nodes from now on, in the order of the table.
    pub(crate) fn pop_free(&mut self, setup: &Setup, states: &[JobState], now_ms: i64) -> Vec<u32> {
        let Some(conditions) = &setup.jobs.conditions else { return Vec::new() };
        while let Some(job) = pop_due(&mut self.begins, now_ms) {
            if states[job as usize].phase == Phase::Held {
                self.look_at(setup, conditions, job, now_ms);
            }
        }
        let is_held = |job: &u32| states[*job as usize].phase == Phase::Held;
        let mut found: Vec<u32> = self.free.drain(..).filter(is_held).collect();
        for array in std::mem::take(&mut self.touched) {
            let places = &mut self.arrays[array as usize];
            let mut room = conditions.array_limits()[array as usize].saturating_sub(places.taken);
            while room > 0 {
                let Some(job) = places.ready.pop_first() else { break };
                if is_held(&job) {
                    found.push(job);
                    places.taken += 1;
                    room -= 1;
                }
            }
        }
        if std::mem::take(&mut self.crowd_moves) {
            self.pop_crowd(setup, states, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Each of the crowd that has a place takes it, in the order of the table.
    fn pop_crowd(&mut self, setup: &Setup, states: &[JobState], found: &mut Vec<u32>) {
        for job in std::mem::take(&mut self.crowd) {
            if states[job as usize].phase != Phase::Held {
                continue;
            }
            if self.has_place(setup, job) {
                self.take_place(setup, job);
                found.push(job);
            } else {
                self.crowd.insert(job);
            }
        }
    }

    /// Works out everything from the jobs' states.
    pub(crate) fn rebuild(&mut self, setup: &Setup, states: &[JobState], now_ms: i64) {
        let Some(conditions) = &setup.jobs.conditions else { return };
        (0..conditions.groups() as u32).for_each(|group| self.move_on(setup, states, conditions, group));
        let comes = |(job, state): (u32, &JobState)| {
            let is_to_come = state.phase == Phase::Future;
            let time_ms = is_to_come.then(|| submitted_ms(setup, states, job)).flatten();
            time_ms.map(|time_ms| Reverse((time_ms, job)))
        };
        if let Some(arrivals) = &mut self.arrivals {
            *arrivals = (0u32..).zip(states).filter_map(comes).collect();
        }
        for (job, state) in (0u32..).zip(states) {
            match state.phase {
                Phase::Held => self.hold(setup, states, job, now_ms),
                Phase::Waiting => {
                    self.add_cancel(setup, job);
                    self.take_place(setup, job);
                }
                Phase::Running => self.take_place(setup, job),
                _ => {}
            }
        }
    }
}

/// Whether a job leaves when its time comes: it is here, and has not started.
fn may_leave(state: &JobState) -> bool {
    matches!(state.phase, Phase::Held | Phase::Waiting) && !state.has_started()
}

fn drop_past(times: &mut BinaryHeap<Reverse<(i64, u32)>>, counts: impl Fn(u32) -> bool) {
    while times.peek().is_some_and(|Reverse((_, job))| !counts(*job)) {
        times.pop();
    }
}

fn pop_due(times: &mut BinaryHeap<Reverse<(i64, u32)>>, now_ms: i64) -> Option<u32> {
    times.peek().filter(|Reverse((time_ms, _))| *time_ms <= now_ms)?;
    times.pop().map(|Reverse((_, job))| job)
}
