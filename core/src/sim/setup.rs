//! What is simulated, and how: fixed when a simulation is made.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::model::cluster::{reject_reason, Cluster, RejectReason, UNTRACKED};
use crate::model::conditions::Conditions;
use crate::model::config::Config;
use crate::model::free::Free;
use crate::model::job::{Jobs, Shape, MAX_DURATION_MS};
use crate::model::rules::Rules;
use crate::model::size::JobSizes;
use crate::model::speeds::{stretched_ms, FULL_SPEED};
use crate::order::estimate::requested_ms;
use crate::order::pairs::{facts_of, PairFacts};
use crate::order::scores::order;
use crate::place::locality::{Locality, Reach};
use crate::place::placement::Placement;
use crate::place::rules::{Rule, Search};
use crate::place::types::{check_types, within_price, OnType, TypeTable};
use crate::sim::job_state::JobState;

/// As everywhere in Shunter.
const MB_IN_A_GB: i128 = 1024;

/// The jobs of a window, the cluster, and the rules. Jobs are counted from the first of the window.
#[derive(Clone)]
pub struct Setup {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) window: Range<usize>,
    pub(crate) config: Config,
    /// What the caller brought for each job, where an order that moves needs it.
    pub(crate) given: Arc<[f64]>,
    /// How large each shape counts.
    pub(crate) sizes: Arc<JobSizes>,
    /// How far apart the nodes of each shape may be, where that plays a part.
    pub(crate) locality: Option<Arc<Locality>>,
    /// The shapes with the types of GPUs that they accept by their prices, where jobs keep to prices.
    priced: Option<Arc<[Shape]>>,
    /// By shape, the types of GPUs that can hold it; worked out when first asked for.
    types: OnceLock<Arc<TypeTable>>,
    /// The same with what a score over pairs sees of them.
    facts: OnceLock<Arc<[Vec<PairFacts>]>>,
    /// One node on which only cores bind: a job fits exactly if its cores do.
    pub(crate) is_pool: bool,
    /// The site has rules for who of those that wait may start.
    pub(crate) is_ruled: bool,
    /// Whether some job has its nodes for itself.
    pub(crate) has_exclusive: bool,
    /// Whether some job asks for memory.
    pub(crate) asks_memory: bool,
}

impl Setup {
    /// A setup of a window that is known to lie in the table, with as many scores as the policy wants.
    pub(crate) fn new(
        cluster: Arc<Cluster>,
        jobs: Arc<Jobs>,
        window: Range<usize>,
        config: Config,
        given: &[f64],
    ) -> Result<Self, String> {
        check_durations(&cluster, &jobs)?;
        if let Some(kind) = jobs.shapes.iter().filter_map(|shape| shape.kind).max() {
            if kind as usize >= cluster.kinds.len() {
                return Err(format!("kind {kind} of a job is not in the cluster's table of {}", cluster.kinds.len()));
            }
        }
        if let Some(event) = config.node_events.iter().find(|event| event.node as usize >= cluster.nodes.len()) {
            return Err(format!("node {} fails, but there are {} nodes", event.node, cluster.nodes.len()));
        }
        if jobs.rules.as_ref().and_then(Rules::last_node).is_some_and(|node| node as usize >= cluster.nodes.len()) {
            return Err(format!("a node is reserved that is not among the {} of the cluster", cluster.nodes.len()));
        }
        config.host_policy().map_or(Ok(()), |policy| policy.check(cluster.nodes.len()))?;
        if config.chooses_types() {
            check_types(&cluster, &config.type_prices)?;
        }
        let priced = config.keeps_to_prices().then(|| priced(&cluster, &jobs, &config));
        let shapes = priced.as_deref().unwrap_or(&jobs.shapes);
        Ok(Setup {
            is_pool: is_pool(&cluster, &jobs, &config),
            is_ruled: jobs.rules.as_ref().is_some_and(Rules::bind_starts),
            has_exclusive: jobs.shapes.iter().any(|shape| shape.exclusive),
            asks_memory: jobs.shapes.iter().any(|shape| shape.memory_mb > 0),
            locality: Locality::new(&cluster, shapes, &config).map(Arc::new),
            sizes: Arc::new(JobSizes::new(&cluster, &jobs, config.size_by, config.policy)),
            given: if config.order_moves() { given.into() } else { Arc::default() },
            priced,
            types: OnceLock::new(),
            facts: OnceLock::new(),
            cluster,
            jobs,
            window,
            config,
        })
    }

    /// What jobs ask for, and accept, by the numbers of their shapes.
    #[inline]
    pub(crate) fn shapes(&self) -> &[Shape] {
        self.priced.as_deref().unwrap_or(&self.jobs.shapes)
    }

    /// The types of GPUs that can hold a shape, in the order of the cluster's pools. A job without GPUs goes anywhere.
    pub(crate) fn types_for(&self, shape: u32) -> &[OnType] {
        &self.type_table().by_shape[shape as usize]
    }

    /// The types of GPUs that can hold each shape.
    pub(crate) fn type_table(&self) -> &TypeTable {
        let work_out = || TypeTable::new(&self.cluster, self.shapes(), self.locality.is_some()).into();
        self.types.get_or_init(work_out)
    }

    /// What is always the same of a shape on each of its types.
    pub(crate) fn pair_facts(&self, shape: u32) -> &[PairFacts] {
        let prices = &self.config.type_prices;
        let work_out =
            || (0..self.shapes().len() as u32).map(|number| facts_of(self.types_for(number), prices)).collect();
        &self.facts.get_or_init(work_out)[shape as usize]
    }

    /// The jobs in the policy's order; `given` are the caller's scores, where the policy wants them.
    pub(crate) fn order(&self, given: &[f64]) -> Vec<u32> {
        let mut order = order(&self.jobs, self.window.clone(), &self.config, &self.sizes, given);
        self.sort_by_tier(&mut order);
        order
    }

    /// How many tiers are above a job's own.
    #[inline]
    pub(crate) fn tiers_above(&self, job: u32) -> u32 {
        self.jobs.tiers_above(self.place(job))
    }

    /// Puts jobs of higher tiers first; those of one tier stay in their order.
    pub(crate) fn sort_by_tier(&self, jobs: &mut [u32]) {
        if self.jobs.has_tiers() {
            jobs.sort_by_key(|&job| self.tiers_above(job));
        }
    }

    /// A job's place in the table.
    #[inline]
    pub(crate) fn place(&self, job: u32) -> usize {
        self.window.start + job as usize
    }

    /// A job's absolute submit time.
    #[inline]
    pub(crate) fn submit_ms(&self, job: u32) -> i64 {
        self.jobs.submit_ms[self.place(job)]
    }

    /// The time before which a job cannot have come: its submit time, or where jobs follow others, the first of all.
    pub(crate) fn earliest_ms(&self, job: u32) -> i64 {
        self.submit_ms(if self.moves_arrivals() { 0 } else { job })
    }

    /// Whether jobs come when others have ended, and not in the order of the table.
    pub(crate) fn moves_arrivals(&self) -> bool {
        self.jobs.conditions.as_ref().is_some_and(Conditions::moves_arrivals)
    }

    /// Whether the guard puts a job first that waits at this instant.
    pub(crate) fn is_starving(&self, state: &JobState, now_ms: i64) -> bool {
        self.config.max_wait_ms.is_some_and(|bound_ms| state.eligible_ms + bound_ms <= now_ms)
    }

    #[inline]
    pub(crate) fn shape_of(&self, state: &JobState) -> &Shape {
        &self.shapes()[state.shape as usize]
    }

    /// A job's milli-cores over all tasks.
    #[inline]
    pub(crate) fn cores_milli(&self, state: &JobState) -> i64 {
        self.jobs.shape_cores.cores_milli(state.shape)
    }

    /// A job takes what it uses, where its state says, from what is free.
    #[inline]
    pub(crate) fn take(&self, free: &mut Free, state: &JobState) {
        if self.is_pool {
            free.take_pool(self.cores_milli(state));
        } else {
            free.take(self.shape_of(state), &state.placement);
        }
    }

    /// A job gives back what it uses.
    #[inline]
    pub(crate) fn give(&self, free: &mut Free, state: &JobState) {
        if self.is_pool {
            free.give_pool(self.cores_milli(state));
        } else {
            free.give(self.shape_of(state), &state.placement);
        }
    }

    /// Why a job of this shape can never run here.
    pub(crate) fn reject_reason(&self, shape: &Shape) -> RejectReason {
        // On a pool a comparison says what the general search would.
        if self.is_pool && shape.partition.is_none() && shape.total_cores_milli() <= self.cluster.nodes[0].cores_milli {
            return RejectReason::None;
        }
        reject_reason(&self.cluster, shape)
    }

    /// How long a job runs in all at full speed, until it completes or is killed.
    pub(crate) fn work_ms(&self, job: u32, state: &JobState) -> i64 {
        if state.doomed {
            requested_ms(&self.jobs, self.place(job), &self.config)
        } else {
            self.jobs.run_ms[self.place(job)]
        }
    }

    /// What a start of this job costs before it makes progress.
    #[inline]
    pub(crate) fn overhead_ms(&self, state: &JobState) -> i64 {
        if !state.was_stopped() {
            return 0;
        }
        self.restart_ms(state.shape)
    }

    /// What a start of a job of this shape costs that was stopped before.
    pub(crate) fn restart_ms(&self, shape: u32) -> i64 {
        self.config.preemption_overhead_ms + self.overhead_of_memory_ms(&self.shapes()[shape as usize])
    }

    /// What a start after a stop costs for the memory of all tasks, rounded down.
    fn overhead_of_memory_ms(&self, shape: &Shape) -> i64 {
        if self.config.preemption_overhead_per_gb_ms == 0 {
            return 0;
        }
        let memory_mb = i128::from(shape.memory_mb) * i128::from(shape.tasks);
        let cost_ms = memory_mb * i128::from(self.config.preemption_overhead_per_gb_ms) / MB_IN_A_GB;
        // Longer than any job, and short enough to be added up.
        cost_ms.min(i128::from(MAX_DURATION_MS)) as i64
    }

    /// A run of this job is over, and has not ended it: counts it, and returns how long of it was in vain.
    pub(crate) fn count_stop(&self, state: &mut JobState, held_ms: i64, by_failure: bool) -> i64 {
        // Before this stop is counted: the first run of a job costs nothing extra.
        let overhead_ms = self.overhead_ms(state);
        state.held_ms += held_ms;
        let paid_ms = held_ms.min(overhead_ms);
        let lost_ms = if self.config.keeps_progress(by_failure) { paid_ms } else { held_ms };
        state.vain_ms += lost_ms - paid_ms;
        state.lost_ms += lost_ms;
        if by_failure {
            state.failures += 1;
        } else {
            state.preemptions += 1;
        }
        lost_ms
    }

    /// How long a job is expected to hold nodes of this speed.
    #[inline]
    pub(crate) fn span_ms(&self, state: &JobState, speed_micro: i64) -> i64 {
        self.overhead_ms(state) + stretched_ms(state.limit_ms, speed_micro)
    }

    /// How long a job is expected to hold these nodes.
    #[inline]
    pub(crate) fn span_on(&self, state: &JobState, placement: &Placement) -> i64 {
        self.span_ms(state, self.speed_micro(state.shape, placement))
    }

    /// How fast a job of a shape runs there, in millionths. All that lasts goes by this.
    #[inline]
    pub(crate) fn speed_micro(&self, shape: u32, placement: &Placement) -> i64 {
        // Mostly there is nothing to look up.
        if !self.cluster.has_speeds {
            return FULL_SPEED;
        }
        let wanted = &self.shapes()[shape as usize];
        match &self.locality {
            Some(locality) if wanted.gpu_milli > 0 => locality.speed_micro(&self.cluster, shape, wanted, placement),
            _ => self.cluster.speed_micro(wanted, placement),
        }
    }

    /// How long a job lasts in the slowest placement that it may get: it is not known yet where it will run.
    pub(crate) fn longest_span_ms(&self, state: &JobState) -> i64 {
        let slowest = match &self.locality {
            Some(locality) => locality.slowest_micro(state.shape),
            None => self.cluster.slowest_micro(self.shape_of(state)),
        };
        self.span_ms(state, slowest)
    }

    /// Where jobs of a shape may go; where that depends on how long they have waited, as far as it ever does.
    #[inline]
    pub(crate) fn reach_of(&self, shape: u32) -> Reach<'_> {
        self.reach(shape, &self.shapes()[shape as usize], self.config.locality_wait_ms.is_none())
    }

    /// The same on one type of GPU.
    pub(crate) fn reach_of_type<'a>(&'a self, shape: u32, on_type: &'a OnType) -> Reach<'a> {
        self.reach(shape, &on_type.shape, self.config.locality_wait_ms.is_none())
    }

    /// When a job has waited long enough for nodes that are close together, if that is a matter of time.
    #[inline]
    pub(crate) fn patient_until_ms(&self, state: &JobState) -> Option<i64> {
        let wait_ms = self.config.locality_patience_ms()?;
        self.locality.as_ref()?.spreads(state.shape)?;
        Some(state.eligible_ms + wait_ms)
    }

    /// Where a job may go at an instant. `wanted` is what it asks for: its shape, or that on some types alone.
    #[inline]
    pub(crate) fn reach_at<'a>(&'a self, state: &JobState, wanted: &'a Shape, instant_ms: i64) -> Reach<'a> {
        let waits_on = self.patient_until_ms(state).is_some_and(|until_ms| instant_ms < until_ms);
        self.reach(state.shape, wanted, self.config.locality_wait_ms.is_none() || waits_on)
    }

    #[inline]
    fn reach<'a>(&'a self, shape: u32, wanted: &'a Shape, waits: bool) -> Reach<'a> {
        let spreads = self.locality.as_ref().filter(|_| waits).and_then(|locality| locality.spreads(shape));
        Reach { cluster: &self.cluster, shape: wanted, spreads }
    }

    /// The search for nodes for a job that may go there.
    pub(crate) fn search<'a>(&'a self, free: &'a Free, reach: Reach<'a>, job: u32) -> Search<'a> {
        let classes = if self.config.placement == Rule::Fgd { self.jobs.classes() } else { &[] };
        let Reach { cluster, shape, spreads } = reach;
        let job = self.place(job) as u32;
        let policy = self.config.host_policy();
        Search { cluster, free, shape, seed: self.config.seed, job, classes, policy, spreads }
    }
}

/// What jobs ask for, on types alone that cost little more than their cheapest.
fn priced(cluster: &Cluster, jobs: &Jobs, config: &Config) -> Arc<[Shape]> {
    let Config { type_prices, price_factor, .. } = config;
    jobs.shapes.iter().map(|shape| within_price(cluster, shape, type_prices, *price_factor)).collect()
}

// Most logs of HPC centers are simulated on a number of cores: there sums take the place of searches. A node that can
// fail is up or down as a whole, and a placer outside must be asked, so both need the general way.
fn is_pool(cluster: &Cluster, jobs: &Jobs, config: &Config) -> bool {
    let cores_alone = |shape: &Shape| shape.gpu_milli == 0 && shape.memory_mb == 0;
    cluster.nodes.len() == 1
        && !jobs.shapes.iter().any(|shape| shape.exclusive)
        && !config.has_failures()
        && config.placement != Rule::External
        && (cluster.nodes[0].memory_mb == UNTRACKED && jobs.shapes.iter().all(|shape| shape.gpu_milli == 0)
            || jobs.shapes.iter().all(cores_alone))
}

/// Whether the clock can count what all jobs take on the slowest nodes.
fn check_durations(cluster: &Cluster, jobs: &Jobs) -> Result<(), String> {
    let slowest = cluster.lowest_speed();
    let total_ms: i128 = jobs.run_ms.iter().map(|&run_ms| i128::from(run_ms)).sum();
    if cluster.has_speeds && total_ms * i128::from(FULL_SPEED) / i128::from(slowest) > i128::from(i64::MAX / 4) {
        return Err("run_ms: the jobs together run longer than the clock can count on the slowest nodes".to_string());
    }
    Ok(())
}
