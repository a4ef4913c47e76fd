//! A pass in which decisions are asked for: who waits, in which order, and who may be chosen now.

use crate::dispatch::beside::{can_reserve, places_each_anew, start_beside, Head, Terms};
use crate::dispatch::by_shape::ByShape;
use crate::dispatch::turns::is_passed_over;
use crate::model::config::Policy;
use crate::model::speeds::FULL_SPEED;
use crate::order::ranking::Turn;
use crate::order::scores::score_of_bits;
use crate::sim::simulation::Simulation;

/// Gaps between scores are told up to this one.
pub(crate) const WIDEST_GAP: f64 = 16.0;

/// The feature `order_gap` for so much distance from the first.
pub(crate) fn gap_feature(gap: f64) -> f32 {
    (1.0 - gap.clamp(0.0, WIDEST_GAP) / WIDEST_GAP) as f32
}

/// Which jobs may be chosen, and what becomes of one that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobMode {
    /// Any waiting job; one that does not fit gets a reservation.
    Reserve,
    /// Any job that fits.
    Feasible,
    /// Any waiting job; the clock moves until it fits.
    Committed {
        /// Whether others are filled in meanwhile.
        backfill: bool,
    },
}

/// A waiting job in a pass.
pub(crate) struct Slot {
    pub(crate) turn: Turn,
    pub(crate) cores_milli: i64,
    /// The feature `order_gap`.
    pub(crate) order_gap: f32,
    /// The feature `age_rank`.
    pub(crate) age_rank: f32,
    /// Estimate times size, in seconds; below 0 until the job is looked at.
    pub(crate) area_s: f64,
    /// By how much an hour of waiting makes its bounded slowdown grow, if the estimate is right.
    pub(crate) urgency: f64,
    /// Whether it fits at the present decision.
    pub(crate) fits: bool,
    /// Whether it would then delay the pass's reservation.
    pub(crate) delays: bool,
    /// Whether the order itself would not choose it then.
    pub(crate) held_back: bool,
    /// Whether it may be chosen then.
    pub(crate) allowed: bool,
    /// It was held back, or could not be chosen, when one behind it was: its turn in this pass is over.
    is_passed: bool,
}

impl Slot {
    pub(crate) fn job(&self) -> u32 {
        self.turn.job
    }
}

/// Who waits, in which order, and who may be chosen at the present decision.
#[derive(Default)]
pub(crate) struct Pass {
    /// In the order of the window's policy.
    pub(crate) slots: Vec<Slot>,
    /// Who holds the pass's reservation.
    pub(crate) head: Option<Head>,
    pub(crate) wait_allowed: bool,
    /// Somebody who has waited too long must start now.
    pub(crate) is_forced: bool,
    /// Before there is one: who would hold it, which the feature `delays` is about.
    would_be_head: Option<Head>,
    /// The turns of a pass that begins; kept to save allocations.
    turns: Vec<Turn>,
    /// Which waiting jobs there are, 64 to a word, and how many before each word; kept likewise.
    ages: Vec<(u64, u32)>,
}

impl Pass {
    /// A pass begins: who waits, and in which order.
    pub(crate) fn begin(&mut self, simulation: &mut Simulation) {
        self.head = None;
        self.slots.clear();
        let mut turns = std::mem::take(&mut self.turns);
        if simulation.waiting.order_moves() {
            turns = simulation.sorted_turns();
        } else {
            turns.clear();
            simulation.waiting.queue.iter().for_each(|job| turns.push(Turn::plain(0, job)));
        };
        // Jobs are numbered by age: counting bits gives their ranks, and is quicker than sorting.
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
                order_gap: gap_feature(gap),
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
    /// `may_stop`: somebody who runs could make room.
    pub(crate) fn judge(&mut self, simulation: &mut Simulation, mode: JobMode, may_stop: bool) -> bool {
        self.look_for_room(simulation);
        let asks = match mode {
            _ if may_stop => !self.slots.is_empty(),
            JobMode::Committed { .. } => !self.slots.is_empty(),
            // One reservation a pass: with it given, only those are left to choose that do not delay it.
            JobMode::Reserve if self.head.is_some() => self.slots.iter().any(|slot| slot.fits && !slot.delays),
            _ => self.slots.iter().any(|slot| slot.fits),
        };
        if asks {
            self.allow(simulation, mode);
        }
        asks
    }

    fn look_for_room(&mut self, simulation: &Simulation) {
        let is_pool = simulation.setup.is_pool;
        let free = simulation.machine.free.cores_milli[0];
        // Jobs of one shape fit alike, unless some have waited long enough to take any nodes.
        let mut known = ByShape::new(is_pool || simulation.setup.config.locality_patience_ms().is_some());
        for slot in &mut self.slots {
            // On a pool cores say it all: this is the hottest loop of an environment.
            slot.fits = if is_pool {
                slot.cores_milli <= free
            } else {
                let shape = simulation.state(slot.job()).shape;
                known.get(shape, || simulation.fits_now(slot.job()))
            };
        }
        self.would_be_head = None;
        if self.head.is_none() {
            self.would_be_head =
                self.slots.iter().filter(|slot| !slot.fits).find_map(|slot| Head::of(simulation, slot.job()));
        }
        let Some(head) = self.head.as_mut().or(self.would_be_head.as_mut()) else {
            return self.slots.iter_mut().for_each(|slot| slot.delays = false);
        };
        if is_pool {
            let pool = head.pool_terms(simulation);
            for slot in &mut self.slots {
                let span_ms = simulation.span_ms(slot.job(), FULL_SPEED);
                slot.delays = slot.fits && !pool.allow(slot.cores_milli, span_ms);
            }
            return;
        }
        let mut known = ByShape::new(places_each_anew(simulation));
        for slot in &mut self.slots {
            let shape = simulation.state(slot.job()).shape;
            slot.delays =
                slot.fits && !known.get(shape, || terms(simulation, head, slot.job())).allow(simulation, slot.job());
        }
    }

    /// The same where the caller knows who fits, and nobody is promised anything.
    pub(crate) fn judge_known(
        &mut self,
        simulation: &mut Simulation,
        mut fits: impl FnMut(&Simulation, u32) -> bool,
    ) -> bool {
        for slot in &mut self.slots {
            (slot.fits, slot.delays) = (fits(simulation, slot.job()), false);
        }
        let asks = self.slots.iter().any(|slot| slot.fits);
        if asks {
            self.allow(simulation, JobMode::Feasible);
        }
        asks
    }

    /// The places in the pass that a window shows: those that may be chosen come first, the order's own choice before
    /// those that it holds back.
    pub(crate) fn fill_window(&self, window: usize, rows: &mut Vec<u32>) {
        let mut add = |is_meant: &dyn Fn(&Slot) -> bool| {
            let room = window - rows.len();
            let places = self.slots.iter().enumerate().filter(|(_, slot)| is_meant(slot));
            rows.extend(places.map(|(place, _)| place as u32).take(room));
            rows.len() < window.min(self.slots.len())
        };
        // Most queues are longer than the window's part of them that may be chosen: the two other walks are seldom
        // needed.
        if add(&|slot| slot.allowed && !slot.held_back) {
            add(&|slot| slot.allowed && slot.held_back);
            add(&|slot| !slot.allowed);
        }
    }

    fn allow(&mut self, simulation: &mut Simulation, mode: JobMode) {
        let reserving = mode == JobMode::Reserve && self.head.is_some();
        let may = |slot: &Slot| match mode {
            JobMode::Reserve if reserving => slot.fits && !slot.delays,
            JobMode::Feasible => slot.fits,
            JobMode::Reserve => slot.fits || can_reserve(simulation, slot.job()),
            JobMode::Committed { .. } => true,
        };
        let waits = !matches!(mode, JobMode::Committed { .. });
        let holder = self.head.as_ref().map(|head| head.job);
        let starves = |slot: &Slot| {
            simulation.waiting.queue.is_first(slot.job()) && !slot.is_passed && Some(slot.job()) != holder
        };
        // The guard is part of the mask: whoever has waited too long is the only one who may be chosen.
        let starving = self.slots.iter().position(|slot| may(slot) && starves(slot));
        for (place, slot) in self.slots.iter_mut().enumerate() {
            slot.held_back = waits && (slot.is_passed || is_passed_over(simulation, &slot.turn));
            slot.allowed = may(slot) && starving.is_none_or(|starving| starving == place);
        }
        // To wait would let it starve on though it fits. Without a coming event, waiting would be for ever.
        self.is_forced = starving.is_some_and(|place| self.slots[place].fits);
        self.wait_allowed = waits && !self.is_forced && simulation.has_event();
    }

    /// A job starts where the placement rule puts it. It fits, and delays no reservation.
    pub(crate) fn start(&mut self, simulation: &mut Simulation, place: usize) {
        let job = self.take_out(place);
        start_beside(simulation, self.head.as_mut(), job);
    }

    /// A job leaves the pass, for it starts; whoever was passed over for it has had its turn.
    pub(crate) fn take_out(&mut self, place: usize) -> u32 {
        self.pass_over_before(place);
        self.slots.remove(place).job()
    }

    /// A job that does not fit holds the pass's reservation.
    pub(crate) fn reserve(&mut self, simulation: &Simulation, place: usize) {
        self.pass_over_before(place);
        self.head = Head::of(simulation, self.slots[place].job());
    }

    fn pass_over_before(&mut self, place: usize) {
        self.slots[..place].iter_mut().for_each(|slot| slot.is_passed |= slot.held_back || !slot.allowed);
    }
}

/// The terms on which a job that fits may start beside the head.
fn terms(simulation: &Simulation, head: &mut Head, job: u32) -> Terms {
    match simulation.placement_now(job) {
        Some(placement) => head.terms(simulation, simulation.state(job).shape, &placement),
        None => head.terms_unplaced(simulation),
    }
}
