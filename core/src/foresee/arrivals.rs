//! Jobs to come: days of the last four weeks, as they were.

use super::draws::{Draws, Purpose};
use crate::model::conditions::NO_TIME;
use crate::model::job::LikeJob;
use crate::sim::simulation::Simulation;

const DAY_MS: i64 = 86_400_000;
const WEEK_DAYS: i64 = 7;
const MOST_WEEKS: i64 = 4;

/// The jobs that came in the last weeks.
pub(super) struct Recent {
    now_ms: i64,
    /// The jobs of the table that had been submitted, from the first of the last four weeks on.
    jobs: std::ops::Range<usize>,
    /// How many days lie behind, and are like those to come; four weeks at most.
    days: i64,
}

/// An arrival: what it is like, and which day to come it belongs to.
pub(super) struct Arrival {
    pub(super) row: LikeJob,
    pub(super) day: u64,
}

impl Recent {
    pub(super) fn new(simulation: &Simulation) -> Self {
        let setup = &simulation.setup;
        let now_ms = simulation.now_ms();
        let submit_ms = &setup.jobs.submit_ms[..setup.place(simulation.clock.next_arrival)];
        let window = &submit_ms[setup.window.start..];
        let oldest_ms = window.first().copied().unwrap_or(now_ms);
        let days = ((now_ms - oldest_ms) / DAY_MS).min(MOST_WEEKS * WEEK_DAYS);
        // Whole weeks, so that a day stands for days of its name; of a log younger than that, any day.
        let days = if days > WEEK_DAYS { days / WEEK_DAYS * WEEK_DAYS } else { days };
        let first = setup.window.start + window.partition_point(|&time_ms| time_ms <= now_ms - days * DAY_MS);
        Recent { now_ms, jobs: first..submit_ms.len(), days }
    }

    /// The jobs of the table that arrivals may be like.
    pub(super) fn sources(&self) -> std::ops::Range<u32> {
        self.jobs.start as u32..self.jobs.end as u32
    }

    /// The arrivals of one future until so long from now, in the order of their times; run times are not drawn yet.
    pub(super) fn draw(&self, simulation: &Simulation, draws: Draws, lasting_ms: i64) -> Vec<Arrival> {
        let jobs = &*simulation.setup.jobs;
        let mut arrivals = Vec::new();
        if self.days == 0 {
            return arrivals;
        }
        for day in 0..(lasting_ms + DAY_MS - 1) / DAY_MS {
            // How many days before it the day lies that it is like.
            let back = if self.days < WEEK_DAYS {
                day + 1 + draws.below(self.days as u64, Purpose::Day, day as u64) as i64
            } else {
                let weeks = draws.below((self.days / WEEK_DAYS) as u64, Purpose::Day, day as u64) as i64;
                WEEK_DAYS * (day / WEEK_DAYS + 1 + weeks)
            };
            let shift_ms = back * DAY_MS;
            let begin_ms = self.now_ms + day * DAY_MS - shift_ms;
            let submit_ms = &jobs.submit_ms[self.jobs.clone()];
            let from = submit_ms.partition_point(|&time_ms| time_ms <= begin_ms);
            let to = submit_ms.partition_point(|&time_ms| time_ms <= begin_ms + DAY_MS);
            for source in self.jobs.start + from..self.jobs.start + to {
                // Whoever left the queue while it was watched would leave it again.
                let cancelled_ms = jobs.conditions.as_ref().and_then(|conditions| conditions.cancel_ms(source));
                let cancelled_ms = cancelled_ms.filter(|&cancel_ms| cancel_ms <= self.now_ms);
                let row = LikeJob {
                    source: source as u32,
                    submit_ms: jobs.submit_ms[source] + shift_ms,
                    run_ms: 0,
                    cancel_ms: cancelled_ms.map_or(NO_TIME, |cancel_ms| cancel_ms + shift_ms),
                    fails: false,
                };
                arrivals.push(Arrival { row, day: day as u64 });
            }
        }
        arrivals
    }
}
