//! The projection: what will be free if each running job ends when expected and each reservation is used.

use crate::dispatch::room::Room;
use crate::dispatch::search::Sought;
use crate::dispatch::timelines::{Stretch, Timelines};
use crate::model::free::Free;
use crate::model::rules::Rules;
use crate::place::locality::Reach;
use crate::place::placement::Placement;
use crate::sim::job_state::JobState;
use crate::sim::setup::Setup;
use crate::sim::simulation::Simulation;

/// A change of what is free: a job gives its resources back, or a reservation takes them.
#[derive(Clone, Copy, Debug)]
struct Step {
    instant_ms: i64,
    takes: bool,
    job: u32,
}

/// What is free over time. Reservations are in it where their jobs' states say.
///
/// Where the rules are plain it is kept by blocks of nodes, in timelines. Otherwise all that changes is walked through step by
/// step: that is slow, and says for any rule what is meant.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    timelines: Option<Timelines>,
    /// Ascending; the steps of one instant act together. None where there are timelines.
    steps: Vec<Step>,
    /// Kept from call to call to save allocations: what is free at an instant, during a span, and as far as a walk
    /// through the span has come.
    at_instant: Free,
    during: Free,
    walking: Free,
}

impl Projection {
    /// The projection without any reservation.
    pub(super) fn of_running(simulation: &Simulation) -> Self {
        let soonest_ms = simulation.now_ms() + 1;
        // Walks through time change and copy it far more often than they look for room.
        let free = simulation.machine.free.unindexed();
        let timelines = has_plain_rules(&simulation.setup).then(|| Timelines::new(simulation));
        let (at_instant, during, walking) = (free.clone(), free.clone(), free);
        let mut projection = Projection { timelines, steps: Vec::new(), at_instant, during, walking };
        for one in simulation.machine.expected() {
            let from_ms = one.instant_ms.max(soonest_ms);
            match &mut projection.timelines {
                None => projection.steps.push(release(from_ms, one.job)),
                Some(timelines) => {
                    let behind = Stretch { from_ms, until_ms: i64::MAX };
                    timelines.change(&simulation.setup, simulation.state(one.job), behind, 1);
                }
            }
        }
        projection
    }

    /// A job begins to run, until this time if all goes as expected.
    pub(super) fn add_run(&mut self, simulation: &Simulation, job: u32, until_ms: i64) {
        match &mut self.timelines {
            None => self.add(release(until_ms, job)),
            Some(timelines) => {
                let (state, now_ms) = (simulation.state(job), simulation.now_ms());
                timelines.change(&simulation.setup, state, Stretch { from_ms: now_ms, until_ms }, -1);
                timelines.forget_before(&state.placement, now_ms);
            }
        }
    }

    /// A job runs no longer, from `stretch.from_ms` on, that was expected to run until the end of the stretch.
    pub(crate) fn remove_run(&mut self, setup: &Setup, job: u32, state: &JobState, stretch: Stretch) {
        match &mut self.timelines {
            None => self.remove(job, stretch.until_ms),
            Some(timelines) => timelines.change(setup, state, stretch, 1),
        }
    }

    pub(super) fn add_reservation(&mut self, simulation: &Simulation, job: u32) {
        match &mut self.timelines {
            None => reservation_steps(simulation, job).into_iter().for_each(|step| self.add(step)),
            Some(timelines) => {
                timelines.change(&simulation.setup, simulation.state(job), reserved(simulation, job), -1);
            }
        }
    }

    /// Adds many reservations at once.
    pub(super) fn add_reservations(&mut self, simulation: &Simulation, holders: &[u32]) {
        if self.timelines.is_some() {
            return holders.iter().for_each(|&job| self.add_reservation(simulation, job));
        }
        self.steps.extend(holders.iter().flat_map(|&job| reservation_steps(simulation, job)));
        self.steps.sort_by_key(|step| step.instant_ms);
    }

    pub(super) fn lift_reservation(&mut self, simulation: &Simulation, job: u32) {
        match &mut self.timelines {
            None => reservation_steps(simulation, job).iter().for_each(|step| self.remove(job, step.instant_ms)),
            Some(timelines) => {
                timelines.change(&simulation.setup, simulation.state(job), reserved(simulation, job), 1);
            }
        }
    }

    /// A job is tried: all that changes until the end of the trial is changed back.
    pub(super) fn begin_trial(&mut self) {
        self.timelines.iter_mut().for_each(|timelines| timelines.set_trial(true));
    }

    pub(super) fn end_trial(&mut self) {
        self.timelines.iter_mut().for_each(|timelines| timelines.set_trial(false));
    }

    /// More has become free for a time than some plans know of; `freed` counts such changes.
    pub(crate) fn note_gain(&mut self, stretch: Stretch, freed: u64) {
        self.timelines.iter_mut().for_each(|timelines| timelines.note_gain(stretch, freed));
    }

    /// More is free than plans from before know of, wherever that is.
    pub(super) fn forget_plans(&mut self, freed: u64) {
        self.timelines.iter_mut().for_each(|timelines| timelines.forget_plans(freed));
    }

    /// All plans know of what had become free by then: a pass is over. Nobody will ask about the time before `now_ms`.
    pub(super) fn forget(&mut self, freed: u64, now_ms: i64) {
        self.timelines.iter_mut().for_each(|timelines| timelines.forget(freed, now_ms));
    }

    fn add(&mut self, step: Step) {
        // Behind all of the same instant: among those the order does not matter, since they act together.
        let place = self.steps.partition_point(|other| other.instant_ms <= step.instant_ms);
        self.steps.insert(place, step);
    }

    fn remove(&mut self, job: u32, instant_ms: i64) {
        let first = self.steps.partition_point(|step| step.instant_ms < instant_ms);
        if let Some(place) = self.steps[first..].iter().position(|step| step.job == job) {
            self.steps.remove(first + place);
        }
    }

    /// The earliest time within a stretch at which a job fits for the whole of its longest span, and its nodes. It is known not
    /// to fit before, nor within as of the version `since`. If it holds a reservation, that is out of the projection when a
    /// time is found.
    pub(super) fn earliest(
        &mut self,
        simulation: &Simulation,
        job: u32,
        within: Stretch,
        since: Option<u64>,
    ) -> Option<(i64, Placement)> {
        let holds = simulation.state(job).reservation.is_some();
        // What it holds is in nobody's way but its own: mostly that is known without a change.
        let stays = holds && self.is_own_plain(simulation, job, within);
        if holds && !stays {
            self.lift_reservation(simulation, job);
        }
        let found = match &mut self.timelines {
            None => self.walk(simulation, job, within),
            Some(timelines) => {
                let sought = Sought { within, since, holds: stays };
                let instant_ms = timelines.earliest_ms(simulation, job, &sought, &mut self.walking);
                if stays && instant_ms.is_some() {
                    self.lift_reservation(simulation, job);
                }
                instant_ms.and_then(|instant_ms| Some((instant_ms, self.place_from(simulation, job, instant_ms)?)))
            }
        };
        if found.is_none() && holds && !stays {
            self.add_reservation(simulation, job);
        }
        found
    }

    /// Whether what a job holds is behind all these starts, takes no devices, and lasts as long as it may take anywhere.
    fn is_own_plain(&self, simulation: &Simulation, job: u32, within: Stretch) -> bool {
        self.timelines.is_some()
            && within.until_ms <= simulation.state(job).reserved_ms()
            && simulation.shape_of(job).gpu_milli == 0
            && !simulation.setup.cluster.has_speeds
    }

    /// Where the placement rule puts a job at a time at which it fits by the timelines.
    fn place_from(&mut self, simulation: &Simulation, job: u32, instant_ms: i64) -> Option<Placement> {
        if simulation.setup.is_pool {
            return Some(Placement::single(0, simulation.shape_of(job).tasks));
        }
        let timelines = self.timelines.as_mut()?;
        let until_ms = instant_ms + simulation.setup.longest_span_ms(simulation.state(job));
        timelines.place(simulation, job, Stretch { from_ms: instant_ms, until_ms }, &mut self.during)
    }

    /// The same step by step.
    fn walk(&mut self, simulation: &Simulation, job: u32, within: Stretch) -> Option<(i64, Placement)> {
        let Projection { steps, at_instant, during, walking, .. } = self;
        let longest_ms = simulation.setup.longest_span_ms(simulation.state(job));
        let patient_until_ms = simulation.patient_until_ms(job);
        let closures = simulation.closures(job);
        let last_ms = steps.last().map(|step| step.instant_ms).max(patient_until_ms).unwrap_or(i64::MIN);
        let all_seen_ms = closures.map(|closures| closures.all_seen_ms(last_ms.max(simulation.now_ms())));
        // Where it may go in the end: what does not do then does not do before either.
        let widest = simulation.reach_at(job, i64::MAX);
        at_instant.copy_amounts(&simulation.machine.free);
        let mut instant_ms = simulation.now_ms();
        let mut next = 0;
        while instant_ms < within.until_ms {
            while next < steps.len() && steps[next].instant_ms <= instant_ms {
                apply(simulation, &steps[next], at_instant);
                next += 1;
            }
            let reach = simulation.reach_at(job, instant_ms);
            // Cheap, and mostly enough to say no: what is free throughout the span is worked out only behind it.
            if reach.fits(at_instant) {
                let until_ms = instant_ms + longest_ms;
                match lowest_free(simulation, at_instant, &steps[next..], until_ms, during, walking, Some(&reach)) {
                    None => {
                        if let Some(placement) = simulation.place_at(during, job, instant_ms) {
                            return Some((instant_ms, placement));
                        }
                    }
                    // Where it does not fit at an instant of the span, no start between here and there will do: each
                    // would last beyond that instant.
                    Some(walked) if !widest.fits(walking) => {
                        std::mem::swap(at_instant, walking);
                        next += walked;
                    }
                    Some(_) => {}
                }
            }
            // A job that fits where something is only taken fitted before: whoever declined then is not asked again.
            let freed = steps[next..].iter().find(|step| !step.takes).map(|step| step.instant_ms);
            let impatient = patient_until_ms.filter(|&until_ms| until_ms > instant_ms);
            let opened =
                closures.and_then(|closures| closures.next_end_ms(instant_ms)).filter(|&ms| Some(ms) <= all_seen_ms);
            instant_ms = freed.into_iter().chain(impatient).chain(opened).min()?;
        }
        None
    }

    /// Whether a reservation that is not in the projection has room on its own nodes.
    pub(super) fn has_room(&mut self, simulation: &Simulation, job: u32) -> bool {
        if let Some(timelines) = &mut self.timelines {
            return timelines.has_room(simulation, job);
        }
        let placement = &simulation.state(job).placement;
        self.look_at_reservation(simulation, job, simulation.span_on(job, placement));
        // More may be taken than there is: then it is not sound, and `during` is worked out anew before its next use.
        let shape = simulation.shape_of(job);
        self.during.take(shape, placement);
        self.during.is_sound(shape, placement)
    }

    /// Where the placement rule puts a reservation that is not in the projection, at its time and for its longest span.
    pub(super) fn place_anew(&mut self, simulation: &Simulation, job: u32) -> Option<Placement> {
        let (reserved_ms, span_ms) = (simulation.state(job).reserved_ms(), simulation.longest_span_ms(job));
        if let Some(timelines) = &mut self.timelines {
            let during = Stretch { from_ms: reserved_ms, until_ms: reserved_ms + span_ms };
            return timelines.place(simulation, job, during, &mut self.during);
        }
        self.look_at_reservation(simulation, job, span_ms);
        // Reservations behind it may have lost their room as well, and still stand where they were.
        self.during.raise_to_nothing(&simulation.setup.cluster);
        simulation.place_at(&self.during, job, reserved_ms)
    }

    /// Leaves in `during` what stays free from a reserved time on for so long.
    fn look_at_reservation(&mut self, simulation: &Simulation, job: u32, span_ms: i64) {
        let reserved_ms = simulation.state(job).reserved_ms();
        let Projection { steps, at_instant, during, walking, .. } = self;
        let next = steps.partition_point(|step| step.instant_ms <= reserved_ms);
        at_instant.copy_amounts(&simulation.machine.free);
        steps[..next].iter().for_each(|step| apply(simulation, step, at_instant));
        lowest_free(simulation, at_instant, &steps[next..], reserved_ms + span_ms, during, walking, None);
    }
}

/// Whether timelines say it all: where a job may go depends neither on the time nor on how long it has waited, and it is
/// placed wherever it fits. Advance reservations close nodes for a time, and a job that has its nodes for itself takes more
/// than it asks for.
fn has_plain_rules(setup: &Setup) -> bool {
    let has_windows = setup.jobs.rules.as_ref().is_some_and(Rules::has_windows);
    let is_plain = !has_windows && !setup.has_exclusive && setup.locality.is_none();
    is_plain && !setup.config.may_decline() && !setup.config.ends_first()
}

/// When a reservation is held.
pub(super) fn reserved(simulation: &Simulation, job: u32) -> Stretch {
    let state = simulation.state(job);
    let from_ms = state.reserved_ms();
    Stretch { from_ms, until_ms: from_ms + simulation.setup.span_on(state, &state.placement) }
}

fn release(instant_ms: i64, job: u32) -> Step {
    Step { instant_ms, takes: false, job }
}

fn reservation_steps(simulation: &Simulation, job: u32) -> [Step; 2] {
    let Stretch { from_ms, until_ms } = reserved(simulation, job);
    [Step { instant_ms: from_ms, takes: true, job }, release(until_ms, job)]
}

fn apply(simulation: &Simulation, step: &Step, free: &mut Free) {
    let placement = &simulation.state(step.job).placement;
    if step.takes {
        free.take(simulation.shape_of(step.job), placement);
    } else {
        free.give(simulation.shape_of(step.job), placement);
    }
}

/// What stays free from the instant of `now_free` until `until_ms`, given the steps that follow.
///
/// With a reach the walk ends as soon as no such job fits throughout. It returns how many steps it took up to then, and
/// leaves in `walking` what is free at that instant.
fn lowest_free(
    simulation: &Simulation,
    now_free: &Free,
    steps: &[Step],
    until_ms: i64,
    during: &mut Free,
    walking: &mut Free,
    reach: Option<&Reach>,
) -> Option<usize> {
    during.copy_amounts(now_free);
    let within = &steps[..steps.partition_point(|step| step.instant_ms < until_ms)];
    // Where nobody takes anything, least is free at the beginning.
    if !within.iter().any(|step| step.takes) {
        return None;
    }
    let mut room = reach.map(|reach| (reach, Room::new(reach, during)));
    walking.copy_amounts(now_free);
    let mut walked = 0;
    for group in within.chunk_by(|one, other| one.instant_ms == other.instant_ms) {
        group.iter().for_each(|step| apply(simulation, step, walking));
        walked += group.len();
        // Only where a reservation takes something can less be free than before.
        for step in group.iter().filter(|step| step.takes) {
            let placement = &simulation.state(step.job).placement;
            during.lower_to(walking, simulation.shape_of(step.job), placement);
            if let Some((reach, room)) = &mut room {
                room.update(reach, during, placement);
            }
        }
        if room.as_ref().is_some_and(|(reach, room)| !room.fits(reach)) {
            return Some(walked);
        }
    }
    None
}
