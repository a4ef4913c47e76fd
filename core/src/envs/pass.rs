//! A pass in which decisions are asked for: who waits, in which order, and who may be chosen now.

use std::collections::HashMap;

use crate::dispatch::standing::Shadow;
use crate::envs::episode::Mode;
use crate::model::cluster::{worked_ms, FULL_SPEED};
use crate::model::config::{Policy, Rule};
use crate::order::ranking::Turn;
use crate::order::scores::score_of_bits;
use crate::sim::simulation::Simulation;

/// Gaps between scores are told up to this one.
const WIDEST_GAP: f64 = 16.0;

/// A waiting job in a pass.
pub(crate) struct Slot {
    pub(crate) turn: Turn,
    pub(crate) cores_milli: i64,
    pub(crate) limit_ms: i64,
    /// The feature `order_gap`.
    pub(crate) order_gap: f32,
    /// The feature `age_rank`.
    pub(crate) age_rank: f32,
    /// Estimate times cores, in seconds; below 0 until the job is looked at.
    pub(crate) area_s: f64,
    /// By how much an hour of waiting makes its bounded slowdown grow, if the estimate is right.
    pub(crate) urgency: f64,
    /// As of the present decision, as are the others.
    pub(crate) fits: bool,
    pub(crate) delays: bool,
    pub(crate) held_back: bool,
    pub(crate) allowed: bool,
    /// It was held back, or could not be chosen, when one behind it was: its turn in this pass is over.
    is_passed: bool,
}

impl Slot {
    pub(crate) fn job(&self) -> u32 {
        self.turn.job
    }
}

/// A reservation, and what it leaves.
pub(crate) struct Reserved {
    pub(crate) job: u32,
    pub(crate) reserved_ms: i64,
    /// What is free beside it at its time; on a pool kept here, on nodes in the shadow.
    spare_cores_milli: i64,
    shadow: Option<Shadow>,
}

impl Reserved {
    /// The reservation that a job which does not fit would get now.
    fn of(simulation: &Simulation, job: u32) -> Self {
        let needed = simulation.cores_milli(job);
        if simulation.setup.is_pool {
            let (reserved_ms, free_then) = simulation.pool_reservation(needed);
            return Reserved { job, reserved_ms, spare_cores_milli: free_then - needed, shadow: None };
        }
        let shadow = simulation.shadow(job);
        Reserved { job, reserved_ms: shadow.reserved_ms, spare_cores_milli: needed, shadow: Some(shadow) }
    }

    /// Milli-cores that are free at the reserved time beside the job that holds it.
    pub(crate) fn spare_cores_milli(&self) -> i64 {
        match &self.shadow {
            None => self.spare_cores_milli,
            Some(shadow) => shadow.free.total_cores_milli() - self.spare_cores_milli,
        }
    }

    /// For how long, at full speed, a job that fits may run if it starts now.
    fn longest_ms(&mut self, simulation: &Simulation, slot: &Slot) -> i64 {
        let mut speed_milli = FULL_SPEED;
        let beside = match &mut self.shadow {
            None => slot.cores_milli <= self.spare_cores_milli,
            Some(shadow) => match simulation.place_on(&simulation.machine.free, slot.job()) {
                None => false,
                Some(placement) => {
                    let shape = simulation.shape_of(slot.job());
                    speed_milli = simulation.setup.cluster.speed_milli(shape, &placement);
                    shadow.free.take(shape, &placement);
                    let head_fits = shadow.free.fits(&simulation.setup.cluster, simulation.shape_of(shadow.head));
                    shadow.free.give(shape, &placement);
                    head_fits
                }
            },
        };
        if beside {
            i64::MAX
        } else {
            worked_ms(self.reserved_ms - simulation.now_ms(), speed_milli)
        }
    }
}

/// What is the same for all jobs of a shape, worked out once; on a pool it is quicker to work it out again.
struct ByShape<T> {
    known: Option<HashMap<u32, T>>,
}

impl<T: Copy> ByShape<T> {
    fn new(is_quick: bool) -> Self {
        ByShape { known: (!is_quick).then(HashMap::new) }
    }

    fn get(&mut self, shape: u32, work_out: impl FnOnce() -> T) -> T {
        match &mut self.known {
            None => work_out(),
            Some(known) => *known.entry(shape).or_insert_with(work_out),
        }
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Pass {
    /// In the order of the window's policy.
    pub(crate) slots: Vec<Slot>,
    pub(crate) reserved: Option<Reserved>,
    pub(crate) wait_allowed: bool,
    /// The reservation that the feature `delays` is about.
    would_reserve: Option<Reserved>,
    /// Kept to save allocations, as are the next: the turns of a pass that begins.
    turns: Vec<Turn>,
    /// Which waiting jobs there are, 64 to a word, and how many before each word.
    ages: Vec<(u64, u32)>,
}

impl Pass {
    /// A pass begins: who waits, and in which order.
    pub(crate) fn begin(&mut self, simulation: &mut Simulation) {
        self.reserved = None;
        self.slots.clear();
        let mut turns = std::mem::take(&mut self.turns);
        if simulation.waiting.order_moves() {
            simulation.refresh_ranking();
            turns = simulation.sorted_turns();
        } else {
            turns.clear();
            turns.extend(simulation.waiting.queue.iter().map(|job| Turn::plain(0, job)));
        };
        self.rank_ages(&turns);
        let by_score = simulation.setup.config.policy == Policy::Linear;
        let first = turns.iter().find(|turn| turn.rank > 0).map_or(0.0, |turn| score_of_bits(turn.rank));
        for (place, &turn) in turns.iter().enumerate() {
            let state = &simulation.states[turn.job as usize];
            let gap = match by_score {
                true if turn.rank == 0 => 0.0,
                true => score_of_bits(turn.rank) - first,
                false => place as f64 / 4.0,
            };
            self.slots.push(Slot {
                cores_milli: simulation.setup.cores_milli(state),
                limit_ms: simulation.span_ms(turn.job, FULL_SPEED),
                order_gap: (1.0 - gap.clamp(0.0, WIDEST_GAP) / WIDEST_GAP) as f32,
                age_rank: self.age_rank(turn.job, turns.len()),
                area_s: -1.0,
                urgency: 0.0,
                fits: false,
                delays: false,
                held_back: false,
                allowed: false,
                is_passed: false,
                turn,
            });
        }
        self.turns = turns;
    }

    fn rank_ages(&mut self, turns: &[Turn]) {
        let words = turns.iter().map(|turn| turn.job as usize / 64).max().map_or(0, |word| word + 1);
        let first = turns.iter().map(|turn| turn.job as usize / 64).min().unwrap_or(0);
        self.ages.resize(words.max(self.ages.len()), (0, 0));
        self.ages[first..words].fill((0, 0));
        turns.iter().for_each(|turn| self.ages[turn.job as usize / 64].0 |= 1 << (turn.job % 64));
        let mut before = 0;
        for (word, count) in &mut self.ages[first..words] {
            *count = before;
            before += word.count_ones();
        }
    }

    fn age_rank(&self, job: u32, count: usize) -> f32 {
        let (word, before) = self.ages[job as usize / 64];
        let within = (word & ((1 << (job % 64)) - 1)).count_ones();
        (before + within) as f32 / count as f32
    }

    /// Works out who fits, who would delay whom and who may be chosen; says whether there is anything to decide.
    pub(crate) fn judge(&mut self, simulation: &mut Simulation, mode: Mode) -> bool {
        self.look_for_room(simulation);
        let asks = match mode {
            Mode::Committed { .. } => !self.slots.is_empty(),
            Mode::Reserve if self.reserved.is_some() => self.slots.iter().any(|slot| slot.fits && !slot.delays),
            _ => self.slots.iter().any(|slot| slot.fits),
        };
        if asks {
            self.allow(simulation, mode);
        }
        asks
    }

    fn look_for_room(&mut self, simulation: &Simulation) {
        let mut known = ByShape::new(simulation.setup.is_pool);
        for slot in &mut self.slots {
            let shape = simulation.states[slot.job() as usize].shape;
            slot.fits = known.get(shape, || simulation.machine.fits(&simulation.setup, shape));
        }
        self.would_reserve = None;
        if self.reserved.is_none() {
            let blocked = self.slots.iter().find(|slot| !slot.fits && simulation.can_reserve(slot.job()));
            self.would_reserve = blocked.map(|slot| Reserved::of(simulation, slot.job()));
        }
        let Some(reserved) = self.reserved.as_mut().or(self.would_reserve.as_mut()) else {
            return self.slots.iter_mut().for_each(|slot| slot.delays = false);
        };
        // The random rule places jobs of one shape differently, and so may one that lives outside.
        let asks_each = matches!(simulation.setup.config.placement, Rule::Random | Rule::External);
        let mut known = ByShape::new(simulation.setup.is_pool || asks_each);
        for slot in &mut self.slots {
            let shape = simulation.states[slot.job() as usize].shape;
            let longest_ms = || reserved.longest_ms(simulation, slot);
            slot.delays = slot.fits && slot.limit_ms > known.get(shape, longest_ms);
        }
    }

    fn allow(&mut self, simulation: &mut Simulation, mode: Mode) {
        let reserving = mode == Mode::Reserve && self.reserved.is_some();
        let may = |slot: &Slot| match mode {
            Mode::Reserve if reserving => slot.fits && !slot.delays,
            Mode::Feasible => slot.fits,
            Mode::Reserve => slot.fits || simulation.can_reserve(slot.job()),
            Mode::Committed { .. } | Mode::Host => true,
        };
        let waits = !matches!(mode, Mode::Committed { .. });
        let holder = self.reserved.as_ref().map(|reserved| reserved.job);
        let starves = |slot: &Slot| {
            simulation.waiting.queue.is_first(slot.job()) && !slot.is_passed && Some(slot.job()) != holder
        };
        let starving = self.slots.iter().position(|slot| may(slot) && starves(slot));
        for (place, slot) in self.slots.iter_mut().enumerate() {
            slot.held_back = waits && (slot.is_passed || simulation.is_passed_over(&slot.turn));
            slot.allowed = may(slot) && starving.is_none_or(|starving| starving == place);
        }
        let forced = starving.is_some_and(|place| self.slots[place].fits);
        self.wait_allowed = waits && !forced && simulation.has_event();
    }

    /// A job starts where the placement rule puts it. It fits, and delays no reservation.
    pub(crate) fn start(&mut self, simulation: &mut Simulation, place: usize) {
        self.pass_over_before(place);
        let slot = self.slots.remove(place);
        let Some(placement) = simulation.place_on(&simulation.machine.free, slot.job()) else { return };
        if let Some(reserved) = &mut self.reserved {
            if simulation.span_on(slot.job(), &placement) > reserved.reserved_ms - simulation.now_ms() {
                match &mut reserved.shadow {
                    None => reserved.spare_cores_milli -= slot.cores_milli,
                    Some(shadow) => {
                        simulation.keep_beside(shadow, slot.job(), &placement);
                    }
                }
            }
        }
        simulation.start_on(slot.job(), placement);
    }

    /// A job that does not fit holds the pass's reservation.
    pub(crate) fn reserve(&mut self, simulation: &Simulation, place: usize) {
        self.pass_over_before(place);
        self.reserved = Some(Reserved::of(simulation, self.slots[place].job()));
    }

    fn pass_over_before(&mut self, place: usize) {
        self.slots[..place].iter_mut().for_each(|slot| slot.is_passed |= slot.held_back || !slot.allowed);
    }
}
