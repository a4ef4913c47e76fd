//! What another policy's schedule of the same jobs had cost at the same time.
//!
//! Most of what an episode costs is decided by who happens to come. Rewards that are relative to this schedule, moment by
//! moment, are 0 for as long as nothing was decided differently: what remains is the doing of the decisions.

use crate::envs::episode::Episode;
use crate::envs::world::NEVER_MS;
use crate::sim::accrual::{Accrual, Served, OF_JOBS};
use crate::sim::simulation::Simulation;
use crate::sim::tally::OBJECTIVES;

/// One measured job of the other schedule.
#[derive(Clone, Copy, Debug)]
struct Planned {
    submit_ms: i64,
    start_ms: i64,
    served: Served,
}

/// Another policy's schedule of an episode's jobs, followed as time passes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Baseline {
    /// In the order in which they come.
    jobs: Vec<Planned>,
    /// Places among them, in the order in which they start.
    starts: Vec<u32>,
    arrived: usize,
    started: usize,
    now_ms: i64,
    accrual: Accrual,
}

impl Baseline {
    /// Begins with an episode. `start_ms` has a time for each of its jobs, or `NEVER_MS`.
    pub(crate) fn begin(
        simulation: &Simulation,
        episode: &Episode,
        start_ms: &[i64],
        logarithms: Vec<usize>,
    ) -> Baseline {
        let planned = |(job, &start_ms): (usize, &i64)| {
            let submit_ms = simulation.setup.submit_ms(job as u32);
            let served = Served {
                wait_ms: 0,
                ..simulation.accounts.served(
                    &simulation.setup,
                    job as u32,
                    &simulation.states[job],
                    simulation.now_ms(),
                )
            };
            Planned { submit_ms, start_ms, served }
        };
        // The warm-up counts in neither schedule.
        let measured = start_ms.iter().enumerate().skip(episode.warmup);
        let jobs: Vec<Planned> = measured.filter(|(_, &start_ms)| start_ms != NEVER_MS).map(planned).collect();
        let mut starts: Vec<u32> = (0..jobs.len() as u32).collect();
        starts.sort_by_key(|&place| (jobs[place as usize].start_ms, place));
        let accrual = Accrual::new(logarithms);
        Baseline { jobs, starts, now_ms: simulation.now_ms(), accrual, ..Baseline::default() }
    }

    /// What each objective that counts jobs had come to at a time; times do not go back.
    pub(crate) fn at(&mut self, now_ms: i64, measured: f64) -> [f64; OBJECTIVES] {
        loop {
            let arrival = self.jobs.get(self.arrived).map_or(i64::MAX, |job| job.submit_ms);
            let start = self.starts.get(self.started).map_or(i64::MAX, |&place| self.jobs[place as usize].start_ms);
            // A job may start in the moment in which it comes.
            let event_ms = arrival.min(start);
            if event_ms > now_ms {
                break;
            }
            self.pass_time(event_ms);
            if arrival <= start {
                self.accrual.arrive(&self.jobs[self.arrived].served);
                self.arrived += 1;
            } else {
                let Planned { submit_ms, served, .. } = self.jobs[self.starts[self.started] as usize];
                self.accrual.start(&Served { wait_ms: start - submit_ms, ..served });
                self.started += 1;
            }
        }
        self.pass_time(now_ms);
        let counted = self.accrual.counted();
        let mut values = [0.0; OBJECTIVES];
        OF_JOBS.iter().for_each(|&place| values[place] = counted[place] / measured);
        values
    }

    fn pass_time(&mut self, now_ms: i64) {
        // The first jobs may have come before the clock began.
        if now_ms > self.now_ms {
            self.accrual.pass_time(now_ms - self.now_ms);
            self.now_ms = now_ms;
        }
    }
}
