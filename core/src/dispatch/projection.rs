//! The projection: what will be free if each running job ends when expected and each reservation is used.

use crate::dispatch::room::Room;
use crate::model::closures::NEVER_MS;
use crate::model::free::Free;
use crate::model::speeds::FULL_SPEED;
use crate::place::locality::Reach;
use crate::place::placement::Placement;
use crate::sim::machine::Expected;
use crate::sim::simulation::Simulation;

/// A change of what is free: a job gives its resources back, or a reservation takes them.
#[derive(Clone, Copy, Debug)]
struct Step {
    instant_ms: i64,
    /// What a pool has more from then on; negative for a reservation.
    cores_milli: i64,
    takes: bool,
    job: u32,
}

/// What is free over time. Reservations are in it where their jobs' states say.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    /// Ascending; the steps of one instant act together.
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
        let give_back = |one: &Expected| release(simulation, one.instant_ms.max(soonest_ms), one.job);
        let steps = simulation.machine.expected().iter().map(give_back).collect();
        // Walks through time change and copy it far more often than they look for room.
        let free = simulation.machine.free.unindexed();
        Projection { steps, at_instant: free.clone(), during: free.clone(), walking: free }
    }

    /// A job begins to run, until this time if all goes as expected.
    pub(super) fn add_run(&mut self, simulation: &Simulation, job: u32, until_ms: i64) {
        self.add(release(simulation, until_ms, job));
    }

    /// A job runs no longer that was expected to run until this time.
    pub(crate) fn remove_run(&mut self, job: u32, until_ms: i64) {
        self.remove(job, until_ms);
    }

    pub(super) fn add_reservation(&mut self, simulation: &Simulation, job: u32) {
        reservation_steps(simulation, job).into_iter().for_each(|step| self.add(step));
    }

    /// Adds many reservations at once.
    pub(super) fn add_reservations(&mut self, simulation: &Simulation, holders: &[u32]) {
        self.steps.extend(holders.iter().flat_map(|&job| reservation_steps(simulation, job)));
        self.steps.sort_by_key(|step| step.instant_ms);
    }

    pub(super) fn lift_reservation(&mut self, simulation: &Simulation, job: u32) {
        reservation_steps(simulation, job).iter().for_each(|step| self.remove(job, step.instant_ms));
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

    /// The earliest time before `bound_ms` at which a job fits for the whole of its longest span, and its nodes.
    pub(super) fn earliest(&mut self, simulation: &Simulation, job: u32, bound_ms: i64) -> Option<(i64, Placement)> {
        if simulation.setup.is_pool {
            let instant_ms = self.earliest_on_pool(simulation, job, bound_ms)?;
            return Some((instant_ms, Placement::single(0, simulation.shape_of(job).tasks)));
        }
        let Projection { steps, at_instant, during, walking } = self;
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
        while instant_ms < bound_ms {
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

    /// On a pool one walk is enough: the first stretch with enough cores that is long enough.
    fn earliest_on_pool(&self, simulation: &Simulation, job: u32, bound_ms: i64) -> Option<i64> {
        let steps = &self.steps;
        let now_ms = simulation.now_ms();
        let (span_ms, needed) = (simulation.span_ms(job, FULL_SPEED), simulation.cores_milli(job));
        let due = steps.partition_point(|step| step.instant_ms <= now_ms);
        let mut free = simulation.machine.free.cores_milli[0] + sum_of_cores(&steps[..due]);
        // The windows of a pool close all of it.
        let closures = simulation.closures(job);
        let open_from = |instant_ms| closures.map_or(instant_ms, |closures| closures.open_from_ms(instant_ms, span_ms));
        let bound_ms = bound_ms.min(NEVER_MS);
        let mut since_ms = (free >= needed).then(|| open_from(now_ms));
        let mut next = due;
        while let Some(&Step { instant_ms, .. }) = steps.get(next) {
            let long_enough = since_ms.is_some_and(|since_ms| since_ms + span_ms <= instant_ms);
            let too_late = since_ms.unwrap_or(instant_ms) >= bound_ms;
            if long_enough || too_late {
                break;
            }
            // A job may end as a reservation begins: only when both are done is it known what is free.
            while next < steps.len() && steps[next].instant_ms == instant_ms {
                free += steps[next].cores_milli;
                next += 1;
            }
            since_ms = (free >= needed).then(|| since_ms.unwrap_or_else(|| open_from(instant_ms)));
        }
        since_ms.filter(|&since_ms| since_ms < bound_ms)
    }

    /// Whether a reservation that is not in the projection has room on its own nodes.
    pub(super) fn has_room(&mut self, simulation: &Simulation, job: u32) -> bool {
        if simulation.setup.is_pool {
            return self.has_room_on_pool(simulation, job);
        }
        let placement = &simulation.state(job).placement;
        self.look_at_reservation(simulation, job, simulation.span_on(job, placement));
        // More may be taken than there is: then it is not sound, and `during` is worked out anew before its next use.
        let shape = simulation.shape_of(job);
        self.during.take(shape, placement);
        self.during.is_sound(shape, placement)
    }

    fn has_room_on_pool(&self, simulation: &Simulation, job: u32) -> bool {
        let reserved_ms = simulation.state(job).reserved_ms();
        let until_ms = reserved_ms + simulation.span_ms(job, FULL_SPEED);
        let needed = simulation.cores_milli(job);
        let begun = self.steps.partition_point(|step| step.instant_ms <= reserved_ms);
        let mut free = simulation.machine.free.cores_milli[0] + sum_of_cores(&self.steps[..begun]);
        let ended = self.steps.partition_point(|step| step.instant_ms < until_ms);
        let mut has_room = free >= needed;
        // A span of no time ends before the steps of its own instant.
        for group in self.steps[begun..ended.max(begun)].chunk_by(|one, other| one.instant_ms == other.instant_ms) {
            free += sum_of_cores(group);
            has_room &= free >= needed;
        }
        has_room
    }

    /// Where the placement rule puts a reservation that is not in the projection, at its time and for its longest span.
    pub(super) fn place_anew(&mut self, simulation: &Simulation, job: u32) -> Option<Placement> {
        self.look_at_reservation(simulation, job, simulation.setup.longest_span_ms(simulation.state(job)));
        // Reservations behind it may have lost their room as well, and still stand where they were.
        self.during.raise_to_nothing(&simulation.setup.cluster);
        simulation.place_at(&self.during, job, simulation.state(job).reserved_ms())
    }

    /// Leaves in `during` what stays free from a reserved time on for so long.
    fn look_at_reservation(&mut self, simulation: &Simulation, job: u32, span_ms: i64) {
        let Projection { steps, at_instant, during, walking } = self;
        let reserved_ms = simulation.state(job).reserved_ms();
        let next = steps.partition_point(|step| step.instant_ms <= reserved_ms);
        at_instant.copy_amounts(&simulation.machine.free);
        steps[..next].iter().for_each(|step| apply(simulation, step, at_instant));
        lowest_free(simulation, at_instant, &steps[next..], reserved_ms + span_ms, during, walking, None);
    }
}

fn release(simulation: &Simulation, instant_ms: i64, job: u32) -> Step {
    Step { instant_ms, cores_milli: simulation.cores_milli(job), takes: false, job }
}

fn reservation_steps(simulation: &Simulation, job: u32) -> [Step; 2] {
    let state = simulation.state(job);
    let release = release(simulation, state.reserved_ms() + simulation.span_on(job, &state.placement), job);
    [Step { instant_ms: state.reserved_ms(), cores_milli: -release.cores_milli, takes: true, job }, release]
}

fn sum_of_cores(steps: &[Step]) -> i64 {
    steps.iter().map(|step| step.cores_milli).sum()
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
