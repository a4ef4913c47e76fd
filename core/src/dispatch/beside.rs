//! Beside the head: when the first job that does not fit can start, and who may start now without delaying it.
//!
//! Every rule with one reservation asks here, whatever its order, and so do the environments.

use crate::dispatch::eft::Forecast;
use crate::dispatch::horizon::Horizon;
use crate::dispatch::promises::Commitment;
use crate::dispatch::room::Room;
use crate::model::free::Free;
use crate::model::job::Shape;
use crate::model::leftover::Leftover;
use crate::model::speeds::{worked_ms, FULL_SPEED};
use crate::place::locality::Reach;
use crate::place::placement::{Part, Placement};
use crate::place::rules::Rule;
use crate::sim::machine::Expected;
use crate::sim::simulation::Simulation;

/// A job that does not fit now, the time that it is promised, and what will be free then.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) job: u32,
    pub(crate) reserved_ms: i64,
    /// What it asks for, where that is less than its shape takes: some types of GPUs alone.
    wanted: Option<Box<Shape>>,
    beside: Beside,
}

/// What those may have at the head's time that run on until then.
#[derive(Clone, Debug)]
enum Beside {
    /// On a pool, cores say it all: how many milli-cores the head leaves.
    Cores(i64),
    /// What is free, the head not being placed: it may be put elsewhere, as long as it fits.
    Nodes(Box<Horizon>),
    /// Nothing: committed rules let only those start that end before.
    Nothing,
}

/// On which terms jobs of a shape may start now, on the nodes that the placement rule gives them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Whether they may run on when the head's time has come.
    may_outlast: bool,
    /// How long they may hold nodes otherwise.
    longest_ms: i64,
    speed_micro: i64,
}

impl Terms {
    /// Whether a job of the shape may start.
    pub(crate) fn allow(&self, simulation: &Simulation, job: u32) -> bool {
        self.may_outlast || simulation.span_ms(job, self.speed_micro) <= self.longest_ms
    }

    /// No job of the shape that may start has a longer span at full speed. What a start after a stop costs is the same at
    /// every speed, so on slow nodes this says less than `allow`.
    fn bound_ms(&self) -> i64 {
        if self.may_outlast {
            return i64::MAX;
        }
        // A bound may be too wide, never too narrow: slow nodes count as if at full speed.
        worked_ms(self.longest_ms, self.speed_micro.max(FULL_SPEED))
    }
}

/// On a pool two numbers say for all shapes who may start now beside the head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolTerms {
    /// How many milli-cores a job may need that outlasts the head's time.
    pub(super) spare_cores_milli: i64,
    /// How long any other may run.
    pub(super) longest_ms: i64,
}

impl PoolTerms {
    /// Without a head, all may.
    pub(super) const ANY: PoolTerms = PoolTerms { spare_cores_milli: i64::MAX, longest_ms: i64::MAX };

    /// Whether a job may start that fits now, of so many milli-cores and with this span.
    #[inline]
    pub(crate) fn allow(&self, cores_milli: i64, span_ms: i64) -> bool {
        span_ms <= self.longest_ms || cores_milli <= self.spare_cores_milli
    }
}

impl Head {
    /// The promise to a job that does not fit now; none if it would not fit though all jobs had ended, for nodes are down.
    pub(crate) fn of(simulation: &Simulation, job: u32) -> Option<Self> {
        can_reserve(simulation, job).then(|| Head::at_earliest(simulation, job))
    }

    /// The same, from where the last head has left the horizon; `close` leaves it for the next.
    pub(super) fn next(simulation: &mut Simulation, job: u32) -> Option<Self> {
        if !can_reserve(simulation, job) {
            return None;
        }
        let horizon = simulation.machine.horizon.take();
        let on_type = on_type(simulation, job);
        Some(Head::from_horizon(simulation, job, on_type, horizon))
    }

    /// Nobody is promised anything any more.
    pub(crate) fn close(self, simulation: &mut Simulation) {
        if let Beside::Nodes(horizon) = self.beside {
            simulation.machine.horizon = Some(horizon);
        }
    }

    /// The job that is committed, and when it was expected to start.
    pub(crate) fn committed(commitment: Commitment) -> Self {
        // Others end strictly before.
        Head { job: commitment.job, reserved_ms: commitment.earliest_ms - 1, wanted: None, beside: Beside::Nothing }
    }

    /// When a job that does not fit now does, if running jobs end when expected; if it never does, the last of these ends.
    pub(crate) fn at_earliest(simulation: &Simulation, job: u32) -> Self {
        Head::wanting(simulation, job, on_type(simulation, job))
    }

    /// The same for a job that takes some types of GPUs alone.
    pub(crate) fn wanting(simulation: &Simulation, job: u32, wanted: Option<Shape>) -> Self {
        Head::from_horizon(simulation, job, wanted, None)
    }

    fn from_horizon(simulation: &Simulation, job: u32, wanted: Option<Shape>, horizon: Option<Box<Horizon>>) -> Self {
        if simulation.setup.is_pool {
            let (expected, now_ms) = (simulation.machine.expected(), simulation.now_ms());
            let needed = simulation.cores_milli(job);
            let mut free = simulation.machine.free.cores_milli[0];
            let give = |free: &mut i64, one: &Expected| *free += one.cores_milli;
            let reserved_ms = earliest_ms(expected, now_ms, None, &mut free, |&free, _| free >= needed, give);
            return Head { job, reserved_ms, wanted: None, beside: Beside::Cores(free - needed) };
        }
        let asked = wanted.as_ref().unwrap_or_else(|| simulation.shape_of(job));
        let reach_at = |instant_ms: i64| simulation.reach_as(job, asked, instant_ms);
        let mut horizon = horizon.unwrap_or_else(|| Box::new(Horizon::new(&simulation.machine.free)));
        let reserved_ms = horizon.seek(simulation, &reach_at, simulation.patient_until_ms(job));
        Head { job, reserved_ms, wanted: wanted.map(Box::new), beside: Beside::Nodes(horizon) }
    }

    /// Where the head may go at an instant.
    fn reach_at<'a>(&'a self, simulation: &'a Simulation, instant_ms: i64) -> Reach<'a> {
        let wanted = self.wanted.as_deref().unwrap_or_else(|| simulation.shape_of(self.job));
        simulation.reach_as(self.job, wanted, instant_ms)
    }

    /// Where the placement rule would put the head at its time, if it can be asked.
    pub(crate) fn placement(&self, simulation: &Simulation) -> Placement {
        let found = match &self.beside {
            Beside::Cores(_) => Some(Placement::single(0, simulation.shape_of(self.job).tasks)),
            // Whoever places from outside is asked only about what is free now.
            Beside::Nodes(then) if simulation.setup.config.placement != Rule::External => {
                simulation.place_within(then.free(), self.job, self.reach_at(simulation, self.reserved_ms))
            }
            _ => None,
        };
        found.unwrap_or_default()
    }

    /// How long a job may hold nodes from now on that must end by the head's time.
    #[inline]
    pub(super) fn longest_ms(&self, simulation: &Simulation) -> i64 {
        self.reserved_ms - simulation.now_ms()
    }

    /// Milli-cores that are free at the head's time beside it.
    #[inline]
    pub(crate) fn spare_cores_milli(&self, simulation: &Simulation) -> i64 {
        match &self.beside {
            Beside::Cores(spare) => *spare,
            Beside::Nodes(then) => then.free().total_cores_milli() - simulation.cores_milli(self.job),
            Beside::Nothing => 0,
        }
    }

    /// Which part of the cluster is free at the head's time beside it, by size.
    pub(crate) fn spare_part(&self, simulation: &Simulation) -> f64 {
        let sizes = &simulation.setup.sizes;
        let left = |free: &Free| sizes.part_left(free, sizes.micro(simulation.state(self.job).shape));
        match &self.beside {
            // Nobody holds GPUs on a pool, so that as many are free then as now.
            Beside::Cores(_) if sizes.by_gpus => left(&simulation.machine.free),
            Beside::Cores(spare) => *spare as f64 / sizes.capacity_milli.max(1) as f64,
            Beside::Nodes(then) => left(then.free()),
            Beside::Nothing => 0.0,
        }
    }

    /// On a pool: who may start that fits now.
    #[inline]
    pub(crate) fn pool_terms(&self, simulation: &Simulation) -> PoolTerms {
        PoolTerms { spare_cores_milli: self.spare_cores_milli(simulation), longest_ms: self.longest_ms(simulation) }
    }

    /// Whether a job may start now on these nodes without delaying the head: it ends by the head's time, or the head still
    /// fits then. One that may is reckoned with from now on.
    pub(crate) fn admit(&mut self, simulation: &Simulation, job: u32, placement: &Placement) -> bool {
        // One that ends in time takes nothing from the head: what is free at its time stays as it was.
        let outlasts = simulation.span_on(job, placement) > self.longest_ms(simulation);
        let shape = simulation.shape_of(job);
        if outlasts && !self.leaves_room(simulation, shape, placement) {
            return false;
        }
        match &mut self.beside {
            Beside::Cores(spare) => *spare -= if outlasts { shape.total_cores_milli() } else { 0 },
            Beside::Nodes(then) => {
                then.touch(placement);
                if outlasts {
                    then.take(&simulation.setup.cluster, shape, placement);
                }
            }
            Beside::Nothing => {}
        }
        true
    }

    /// What the head leaves to those that run on when its time has come, where two numbers for each node say it; it may be
    /// put back, to be kept up.
    pub(super) fn take_leftover(&mut self, simulation: &Simulation) -> Option<Box<Leftover>> {
        let setup = &simulation.setup;
        let reach = self.reach_at(simulation, self.reserved_ms);
        let is_told = matches!(&self.beside, Beside::Nodes(then) if then.counts_room(&reach));
        // Elsewhere the length of a job does not say whether it is over by the head's time.
        let is_plain = !setup.cluster.has_speeds && !setup.config.ends_first();
        match &mut self.beside {
            Beside::Nodes(then) if is_told && is_plain => then.take_leftover(&setup.cluster, &simulation.machine.free),
            _ => None,
        }
    }

    /// What was taken is kept up again.
    pub(super) fn put_leftover(&mut self, leftover: Box<Leftover>) {
        if let Beside::Nodes(then) = &mut self.beside {
            then.put_leftover(leftover);
        }
    }

    /// Whether the head fits at its time beside a job of this shape that holds these nodes.
    fn leaves_room(&mut self, simulation: &Simulation, shape: &Shape, placement: &Placement) -> bool {
        match &mut self.beside {
            Beside::Cores(spare) => shape.total_cores_milli() <= *spare,
            Beside::Nothing => false,
            Beside::Nodes(then) => {
                let wanted = self.wanted.as_deref().unwrap_or_else(|| simulation.shape_of(self.job));
                then.fits_beside(&simulation.reach_as(self.job, wanted, self.reserved_ms), shape, placement)
            }
        }
    }

    /// The terms for jobs of a shape that the placement rule puts there.
    pub(crate) fn terms(&mut self, simulation: &Simulation, shape: u32, placement: &Placement) -> Terms {
        Terms {
            may_outlast: self.leaves_room(simulation, &simulation.setup.shapes()[shape as usize], placement),
            longest_ms: self.longest_ms(simulation),
            speed_micro: simulation.setup.speed_micro(shape, placement),
        }
    }

    /// The terms for jobs that the placement rule gives no nodes, though they fit.
    pub(crate) fn terms_unplaced(&self, simulation: &Simulation) -> Terms {
        Terms { may_outlast: false, longest_ms: self.longest_ms(simulation), speed_micro: FULL_SPEED }
    }

    /// Whether `bound_ms` needs no placement: where jobs would run does not matter, or is not known.
    fn is_quick_to_bound(&self, simulation: &Simulation) -> bool {
        matches!(self.beside, Beside::Nothing) && !simulation.setup.cluster.has_speeds || places_each_anew(simulation)
    }

    /// Whether first-fit puts jobs of a shape where they may run on when the head's time has come. That is seen node by node,
    /// mostly at the first, without a placement; none: it has to be asked otherwise.
    fn first_fit_may_outlast(&self, simulation: &Simulation, shape: u32) -> Option<bool> {
        let setup = &simulation.setup;
        let (reach, head) = (setup.reach_of(shape), self.reach_at(simulation, self.reserved_ms));
        let Beside::Nodes(then) = &self.beside else { return None };
        if setup.config.placement != Rule::FirstFit || reach.shape.gpu_milli > 0 || !then.counts_room(&head) {
            return None;
        }
        let [group] = setup.cluster.groups_for(reach.shape) else { return None };
        let mut missing = reach.shape.tasks;
        let nodes = simulation.machine.free.with_room(&setup.cluster, group, reach.shape);
        let filled = nodes.map_while(|(node, capacity)| {
            let tasks = capacity.min(missing);
            missing -= tasks;
            (tasks > 0).then_some(Part { node, tasks })
        });
        Some(then.fits_beside_parts(&head, reach.shape, filled) && missing == 0)
    }

    /// How long, at full speed, a job of a shape may last at most that starts now; none: it does not fit, or no job does
    /// that lasts `shortest_ms` or longer. `forecast` is that of types, where jobs wait for those on which they end first.
    pub(super) fn bound_ms(
        &mut self,
        simulation: &Simulation,
        shape: u32,
        shortest_ms: i64,
        forecast: Option<&mut Forecast>,
    ) -> Option<i64> {
        let setup = &simulation.setup;
        let (free, rule) = (&simulation.machine.free, setup.config.placement);
        if self.is_quick_to_bound(simulation) {
            let needs_no_place = matches!(self.beside, Beside::Nothing) && !setup.cluster.has_speeds;
            let bound_ms = if needs_no_place { self.longest_ms(simulation) } else { i64::MAX };
            return simulation.machine.fits(setup, shape).then_some(bound_ms);
        }
        let by_first_fit = if forecast.is_none() { self.first_fit_may_outlast(simulation, shape) } else { None };
        if let Some(may_outlast) = by_first_fit {
            let longest_ms = self.longest_ms(simulation);
            return match may_outlast {
                true => Some(i64::MAX),
                false if shortest_ms > longest_ms => None,
                false => simulation.machine.fits(setup, shape).then_some(longest_ms),
            };
        }
        let on_type = match forecast {
            Some(forecast) => Some(forecast.start_now(simulation, shape)?),
            None => None,
        };
        let reach = on_type.map_or_else(|| setup.reach_of(shape), |(one, _)| setup.reach_of_type(shape, one));
        // The number of the job matters only where each is placed anew.
        let placement = setup.search(free, reach, 0).choose(rule)?;
        let bound_ms = self.terms(simulation, shape, &placement).bound_ms();
        Some(on_type.map_or(bound_ms, |(_, most_ms)| bound_ms.min(most_ms)))
    }
}

/// What a job waits for that ends first on one type of GPU: it does not change once it is promised.
fn on_type(simulation: &Simulation, job: u32) -> Option<Shape> {
    simulation.setup.config.ends_first().then(|| simulation.wanted_now(job).clone())
}

/// Whether jobs of one shape may get different nodes though nothing has started in between.
pub(crate) fn places_each_anew(simulation: &Simulation) -> bool {
    let config = &simulation.setup.config;
    matches!(config.placement, Rule::Random | Rule::External) || config.locality_patience_ms().is_some()
}

/// Whether there is a time at which a job fits if nodes that are down stay so.
pub(crate) fn can_reserve(simulation: &Simulation, job: u32) -> bool {
    // Whoever waits fits the whole cluster, or was rejected: only where nodes can be down is there anything to ask.
    simulation.failures.is_none()
        || simulation.machine.free.would_fit_idle(&simulation.setup.reach_of(simulation.state(job).shape))
}

/// Starts a job where the placement rule puts it, if it fits and does not delay the head. Says whether it did.
pub(crate) fn start_beside(simulation: &mut Simulation, head: Option<&mut Head>, job: u32) -> bool {
    let Some(placement) = simulation.placement_now(job) else { return false };
    if head.is_some_and(|head| !head.admit(simulation, job, &placement)) {
        return false;
    }
    simulation.start_on(job, placement);
    true
}

/// When a job that does not fit now does, and what is free then.
pub(super) struct Earliest {
    /// None: it does not, though all running jobs have ended.
    pub(super) start_ms: Option<i64>,
}

/// When a job that does not fit now does, if these running jobs end when expected. `reach_at` is where it may go at an
/// instant.
pub(super) fn earliest_within<'a>(
    simulation: &Simulation,
    expected: impl IntoIterator<Item = &'a Expected>,
    reach_at: &dyn Fn(i64) -> Reach<'a>,
    patient_until_ms: Option<i64>,
) -> Earliest {
    let now_ms = simulation.now_ms();
    let free = simulation.machine.free.clone();
    let reach = reach_at(now_ms);
    // Asking the whole cluster after each end would be slow: the room for this one shape is kept up node by node.
    let room = Room::new(&reach, &free);
    let mut then = (free, room);
    let give = |(free, room): &mut (Free, Room), one: &Expected| {
        let placement = &simulation.state(one.job).placement;
        free.give(simulation.shape_of(one.job), placement);
        room.update(&reach, free, placement);
    };
    let fits_at = |(_, room): &(Free, Room), instant_ms: i64| room.fits(&reach_at(instant_ms));
    let last_ms = earliest_ms(expected, now_ms, patient_until_ms, &mut then, fits_at, give);
    let start_ms = fits_at(&then, last_ms).then_some(last_ms);
    Earliest { start_ms }
}

/// When what is free, growing as running jobs end, is enough for a job for which it is not enough now. All that ends at
/// that instant has been given back then. From `patient_until_ms` on the job takes nodes that it does not take before.
fn earliest_ms<'a, R>(
    expected: impl IntoIterator<Item = &'a Expected>,
    now_ms: i64,
    mut patient_until_ms: Option<i64>,
    free: &mut R,
    fits_at: impl Fn(&R, i64) -> bool,
    mut give: impl FnMut(&mut R, &Expected),
) -> i64 {
    let mut reserved_ms = now_ms;
    for one in expected {
        // A job that has outlived its limit is expected to end in the next millisecond.
        let instant_ms = one.instant_ms.max(now_ms + 1);
        // All that ends at one instant is free at once, so it is asked only before the clock would move on. Now the job
        // does not fit: the first end is taken without asking.
        if instant_ms > reserved_ms {
            if reserved_ms > now_ms && fits_at(free, reserved_ms) {
                return reserved_ms;
            }
            if let Some(until_ms) = patient_until_ms.take_if(|until_ms| *until_ms < instant_ms) {
                if fits_at(free, until_ms) {
                    return until_ms;
                }
            }
        }
        reserved_ms = instant_ms;
        give(free, one);
    }
    // When all have ended it fits, unless nodes are down or too far apart for its patience.
    match patient_until_ms {
        Some(until_ms) if until_ms > reserved_ms && !fits_at(free, reserved_ms) => until_ms,
        _ => reserved_ms,
    }
}
