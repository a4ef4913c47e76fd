//! The queue of another scheduler, told as blocks of like jobs: which block is to be tried next, and on which hosts.
//!
//! A scheduler that holds its jobs in blocks (LSF's buckets) knows of each how many jobs wait in it, what they ask for, and
//! something of the first. Here such a queue becomes a table of jobs and a snapshot, in which the rules of `order` and the
//! questions of `consultation` decide as they do in any other state.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use crate::decide::consultation::Consultation;
use crate::envs::decision::kind_of;
use crate::envs::episode::Mode;
use crate::envs::play::check_sizes;
use crate::model::cluster::{reject_reason, Cluster, Node, RejectReason, UNTRACKED};
use crate::model::conditions::ConditionColumns;
use crate::model::config::{Config, Policy};
use crate::model::free::Free;
use crate::model::job::{Columns, Jobs, Shape, UNKNOWN};
use crate::model::rule_columns::RuleColumns;
use crate::net::batch::Batch;
use crate::net::choice::best_action;
use crate::net::policy::Policy as Learned;
use crate::net::workspace::Workspace;
use crate::place::placement::{Part, Placement};
use crate::place::rules::Search;
use crate::sim::job_state::Phase;
use crate::sim::simulation::Simulation;
use crate::sim::snapshot::{JobSnapshot, Snapshot};

/// A slot, in milli-cores.
const SLOT: i64 = 1000;
/// What is taken on a host by nobody who was told began so long ago, and is expected to last as long again.
const UNTOLD_MS: i64 = 7 * 86_400_000;
/// So many waiting jobs are looked at, in the scheduler's own order; a decision must not take as long as the queue is.
const MOST_WAITING: i64 = 20_000;

/// The hosts, a value each.
pub struct HostColumns<'a> {
    /// All slots.
    pub slots: &'a [i64],
    /// All memory, or `UNKNOWN` where it does not bind.
    pub memory_mb: &'a [i64],
    /// Slots that are free.
    pub free_slots: &'a [i64],
    /// Memory that is free.
    pub free_memory_mb: &'a [i64],
}

/// Blocks of waiting jobs, a value each, in the scheduler's own order.
pub struct BlockColumns<'a> {
    /// What a job asks for: slots.
    pub slots: &'a [i64],
    /// What a slot of it asks for: memory.
    pub memory_mb: &'a [i64],
    /// How many jobs wait.
    pub pending: &'a [i64],
    /// When the first of them was submitted.
    pub submit_ms: &'a [i64],
    /// How long it may run, or `UNKNOWN`.
    pub requested_ms: &'a [i64],
    /// Any number that stands for its user, or `UNKNOWN`.
    pub user: &'a [i64],
    /// Its priority; not a number where there is none.
    pub priority: &'a [f64],
}

/// Jobs that run, a value each, and the hosts of each.
pub struct RunColumns<'a> {
    /// When it was submitted.
    pub submit_ms: &'a [i64],
    /// When it started.
    pub start_ms: &'a [i64],
    /// How long it may run, or `UNKNOWN`.
    pub requested_ms: &'a [i64],
    /// As for blocks.
    pub user: &'a [i64],
    /// By job, and one more: where its entries of the columns below begin.
    pub offsets: &'a [usize],
    /// A host.
    pub host: &'a [u32],
    /// What it has there: slots.
    pub slots: &'a [i64],
    /// What it has there: memory.
    pub memory_mb: &'a [i64],
}

/// Whose turn it is.
#[derive(Debug, Default)]
pub struct Turns {
    /// A block, and how many of its jobs are to be tried before the next.
    pub blocks: Vec<(u32, u32)>,
    /// Whether there was time for all decisions.
    pub is_complete: bool,
}

/// A job of the table that is made for a decision.
struct Row {
    submit_ms: i64,
    requested_ms: i64,
    tasks: i64,
    cores_milli: i64,
    memory_mb: i64,
    user: i64,
    priority: f64,
    /// Since when it runs, and where; none: it waits.
    run: Option<(i64, Placement)>,
    block: u32,
    /// For how many jobs of the block it stands.
    times: u32,
}

/// Who decides on blocks: a policy of the core's, or a learned one that chooses jobs; and who prefers hosts.
pub struct BlockPolicy {
    config: Config,
    learned: Option<Learned>,
    cluster: Option<Arc<Cluster>>,
    /// By host: free milli-cores and memory.
    free: Vec<[i64; 2]>,
    /// The same for whoever looks for room there; worked out when first asked for.
    room: OnceCell<Free>,
}

impl BlockPolicy {
    /// A policy; its configuration is that of a simulation. With a learned one, the dispatch rule is the one that its mode
    /// stands for, and the policy of the configuration is the order in which jobs are shown.
    pub fn new(mut config: Config, learned: Option<Learned>) -> Result<Self, String> {
        if config.policy.preempts() || matches!(config.policy, Policy::Multifactor | Policy::Pairs) {
            return Err(format!("policy {:?} does not order blocks; take one that only starts jobs", config.policy));
        }
        if config.may_decline() {
            return Err("a placement from outside is asked in simulations alone".to_string());
        }
        if let Some(learned) = &learned {
            let env = learned.env.as_ref();
            let env = env.ok_or("the policy does not say in which environment it decides; load a checkpoint")?;
            if env.extra_features > 0 {
                return Err("the policy sees features of its own, which Python works out".to_string());
            }
            if env.stops > 0 || matches!(env.mode, Mode::Host | Mode::Pairs) {
                return Err("the policy does not choose jobs alone (pick-job); it cannot order blocks".to_string());
            }
            config.dispatch = kind_of(env.mode).dispatch();
        }
        config.check()?;
        Ok(BlockPolicy { config, learned, cluster: None, free: Vec::new(), room: OnceCell::new() })
    }

    /// The hosts are so from now on.
    pub fn tell_hosts(&mut self, hosts: &HostColumns) -> Result<(), String> {
        let columns = [hosts.slots, hosts.free_slots, hosts.free_memory_mb];
        if let Some(negative) = columns.into_iter().flatten().find(|&&value| value < 0) {
            return Err(format!("a host has {negative} of something; expected 0 or more"));
        }
        let memory = |&memory_mb: &i64| if memory_mb == UNKNOWN { UNTRACKED } else { memory_mb };
        let totals = hosts.slots.iter().map(|slots| slots.saturating_mul(SLOT)).zip(hosts.memory_mb.iter().map(memory));
        self.build(totals.map(|(cores_milli, memory_mb)| [cores_milli, memory_mb]).collect())?;
        let free = hosts.free_slots.iter().map(|slots| slots.saturating_mul(SLOT)).zip(hosts.free_memory_mb);
        self.free = free.map(|(cores_milli, &memory_mb)| [cores_milli, memory_mb]).collect();
        self.room = OnceCell::new();
        Ok(())
    }

    /// Makes the cluster anew where hosts have changed.
    fn build(&mut self, totals: Vec<[i64; 2]>) -> Result<(), String> {
        let is_same = |cluster: &Arc<Cluster>| {
            cluster.nodes.len() == totals.len()
                && cluster.nodes.iter().zip(&totals).all(|(node, total)| [node.cores_milli, node.memory_mb] == *total)
        };
        if self.cluster.as_ref().is_some_and(is_same) {
            return Ok(());
        }
        let node = |[cores_milli, memory_mb]: [i64; 2]| Node {
            cores_milli,
            memory_mb,
            gpus: 0,
            partition: None,
            gpu_type: None,
            speed_milli: 1000,
            rack: None,
            switch: None,
        };
        let nodes = totals.into_iter().map(node).collect();
        self.cluster = Some(Arc::new(Cluster::new(nodes, false, Default::default(), Default::default(), &[])?));
        Ok(())
    }

    /// The hosts for a job of one slot with so much memory, the best first, at most so many. Those without room are not
    /// among them.
    pub fn prefer(&self, memory_mb: i64, most: usize) -> Result<Vec<u32>, String> {
        let cluster = self.told()?;
        self.config.host_policy().map_or(Ok(()), |policy| policy.check(cluster.nodes.len()))?;
        let free = self.room.get_or_init(|| self.find_room(cluster));
        let shape = one_slot(memory_mb.max(0));
        let policy = self.config.host_policy();
        let search = Search {
            cluster,
            free,
            shape: &shape,
            seed: self.config.seed,
            job: 0,
            classes: &[],
            policy,
            spreads: None,
        };
        Ok(search.ranking(self.config.placement, most))
    }

    /// What is free, as placements search it.
    fn find_room(&self, cluster: &Cluster) -> Free {
        let mut room = cluster.empty.clone();
        for (host, (node, &[cores_milli, memory_mb])) in (0..).zip(cluster.nodes.iter().zip(&self.free)) {
            let taken = Shape {
                cores_milli: (node.cores_milli - cores_milli).max(0),
                memory_mb: taken_memory(node, memory_mb),
                ..one_slot(0)
            };
            room.take(&taken, &Placement::single(host, 1));
        }
        room
    }

    /// Which blocks are to be tried, the next first: all of them by a policy of the core's; by a learned one, those that it
    /// chooses at this instant. At `deadline` no further decision is begun. Blocks that never fit are left out.
    pub fn order(
        &mut self,
        blocks: &BlockColumns,
        runs: &RunColumns,
        now_ms: i64,
        deadline: Option<Instant>,
    ) -> Result<Turns, String> {
        let rows = self.rows(blocks, runs, now_ms)?;
        if !rows.iter().any(|row| row.run.is_none()) {
            return Ok(Turns { blocks: Vec::new(), is_complete: true });
        }
        let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let priority = scaled(rows.iter().map(|row| row.priority).collect());
        // The log begins with the first job of which anything is told.
        let told_ms = blocks.submit_ms.iter().chain(runs.submit_ms).min().copied();
        let mut simulation = self.simulation(&rows, now_ms, told_ms.unwrap_or(now_ms).min(now_ms))?;
        let mut turns = Turns::default();
        let mut add = |job: u32| {
            let &Row { block, times, .. } = &rows[job as usize];
            match turns.blocks.last_mut() {
                Some((last, before)) if *last == block => *before = before.saturating_add(times),
                _ => turns.blocks.push((block, times)),
            }
        };
        let Some(learned) = &self.learned else {
            // Past the deadline an order that is known would not be late any more than none.
            simulation.waiting_in_order().into_iter().for_each(add);
            turns.is_complete = true;
            return Ok(turns);
        };
        let env = learned.env.as_ref().ok_or("the policy says nothing of its environment")?;
        let mut asked = Consultation::begin(simulation, env, priority.into())?;
        let sizes = asked.sizes();
        check_sizes(&learned.network, sizes.observation, sizes.actions)?;
        let (mut observation, mut mask) = (vec![0.0; sizes.observation], vec![0; sizes.actions]);
        let (mut batch, mut workspace) = (Batch::default(), Workspace::default());
        while asked.is_due() {
            if is_late() {
                return Ok(turns);
            }
            asked.observe(&mut observation, &mut mask);
            let action = best_action(&learned.network, &mut batch, &mut workspace, &observation, &mask)? as usize;
            // The first action is to wait; the others are the rows.
            action.checked_sub(1).and_then(|row| asked.shown().nth(row)).into_iter().for_each(&mut add);
            asked.act(action)?;
        }
        turns.is_complete = true;
        Ok(turns)
    }

    /// Whether the order of two jobs depends on nothing but these: neither on who else waits or runs, nor on what is free.
    /// Then one job stands for its block.
    fn goes_by_the_job_alone(&self) -> bool {
        use Policy::{FairShare, Linear, Random, RandomFeasible};
        self.learned.is_none() && !matches!(self.config.policy, FairShare | Linear | Random | RandomFeasible)
    }

    fn told(&self) -> Result<&Arc<Cluster>, String> {
        self.cluster.as_ref().ok_or_else(|| "the hosts have not been told yet".to_string())
    }

    /// All jobs in the order of their submit times: those that run, what is taken by nobody who was told, those that wait.
    fn rows(&mut self, blocks: &BlockColumns, runs: &RunColumns, now_ms: i64) -> Result<Vec<Row>, String> {
        let mut rows = Vec::new();
        let mut left = MOST_WAITING;
        if self.goes_by_the_job_alone() {
            for block in 0..blocks.slots.len() {
                add_block(&mut rows, self.told()?, blocks, block, now_ms, (true, &mut left))?;
            }
            rows.sort_by_key(|row| row.submit_ms);
            return Ok(rows);
        }
        let mut taken = vec![[0i64; 2]; self.told()?.nodes.len()];
        for job in 0..runs.submit_ms.len() {
            add_run(&mut rows, &mut taken, runs, job, now_ms)?;
        }
        if self.learned.is_none() && self.config.policy != Policy::FairShare {
            // Who runs, and since when, does not matter to an order: what is taken does.
            rows.clear();
            taken.fill([0; 2]);
        }
        self.make_room(&taken)?;
        let cluster = self.told()?;
        for (host, (node, (taken, free))) in (0..).zip(cluster.nodes.iter().zip(taken.iter().zip(&self.free))) {
            let cores_milli = (node.cores_milli - taken[0] - free[0]).max(0);
            let memory_mb = (taken_memory(node, free[1]) - taken[1]).max(0);
            if cores_milli > 0 || memory_mb > 0 {
                let run = Some((now_ms - UNTOLD_MS, Placement::single(host, 1)));
                rows.push(Row { cores_milli, memory_mb, run, ..untold(now_ms) });
            }
        }
        for block in 0..blocks.slots.len() {
            add_block(&mut rows, cluster, blocks, block, now_ms, (false, &mut left))?;
        }
        rows.sort_by_key(|row| row.submit_ms);
        Ok(rows)
    }

    /// A host has at least what is in use there.
    fn make_room(&mut self, taken: &[[i64; 2]]) -> Result<(), String> {
        let at_least =
            |(node, taken): (&Node, &[i64; 2])| [node.cores_milli.max(taken[0]), node.memory_mb.max(taken[1])];
        let totals = self.told()?.nodes.iter().zip(taken).map(at_least).collect();
        self.build(totals)
    }

    fn simulation(&self, rows: &[Row], now_ms: i64, origin_ms: i64) -> Result<Simulation, String> {
        let jobs = table(rows)?;
        let config = Config { origin_ms, ..self.config.clone() };
        let given: Vec<f64> = match config.policy {
            // The highest priority first.
            Policy::Given => rows.iter().map(|row| if row.priority.is_nan() { 0.0 } else { -row.priority }).collect(),
            _ => Vec::new(),
        };
        let mut simulation = Simulation::new(self.told()?.clone(), Arc::new(jobs), 0..rows.len(), config, &given)?;
        let known = |row: &Row| match &row.run {
            None => JobSnapshot { phase: Phase::Waiting, ..JobSnapshot::to_come() },
            Some((start_ms, placement)) => JobSnapshot {
                phase: Phase::Running,
                start_ms: *start_ms,
                placement: placement.clone(),
                ..JobSnapshot::to_come()
            },
        };
        simulation.load(Snapshot { now_ms, jobs: rows.iter().map(known).collect(), ..Snapshot::default() })?;
        Ok(simulation)
    }
}

/// What is taken of a host's memory.
fn taken_memory(node: &Node, free_mb: i64) -> i64 {
    if node.memory_mb == UNTRACKED {
        return 0;
    }
    (node.memory_mb - free_mb).max(0)
}

/// A job of one slot.
fn one_slot(memory_mb: i64) -> Shape {
    Shape {
        tasks: 1,
        cores_milli: SLOT,
        memory_mb,
        gpu_milli: 0,
        partition: None,
        gpu_types: 0,
        kind: None,
        exclusive: false,
    }
}

/// What is taken by nobody who was told.
fn untold(now_ms: i64) -> Row {
    Row {
        submit_ms: now_ms - UNTOLD_MS,
        requested_ms: 2 * UNTOLD_MS,
        tasks: 1,
        cores_milli: 0,
        memory_mb: 0,
        user: UNKNOWN,
        priority: f64::NAN,
        run: None,
        block: u32::MAX,
        times: 1,
    }
}

/// Adds a job that runs: one row if its slots have equal memory everywhere, otherwise one for each host.
fn add_run(
    rows: &mut Vec<Row>,
    taken: &mut [[i64; 2]],
    runs: &RunColumns,
    job: usize,
    now_ms: i64,
) -> Result<(), String> {
    let parts = runs.offsets[job]..runs.offsets[job + 1];
    let (hosts, slots, memory_mb) =
        (&runs.host[parts.clone()], &runs.slots[parts.clone()], &runs.memory_mb[parts.clone()]);
    for (&host, (&slots, &memory_mb)) in hosts.iter().zip(slots.iter().zip(memory_mb)) {
        let here =
            taken.get_mut(host as usize).ok_or_else(|| format!("job {job} runs on host {host}, which is none"))?;
        if slots < 1 || memory_mb < 0 {
            return Err(format!("job {job} has {slots} slots and {memory_mb} MB on a host; expected 1 and 0, or more"));
        }
        here[0] = here[0].saturating_add(slots.saturating_mul(SLOT));
        here[1] = here[1].saturating_add(memory_mb);
    }
    let Some((&first_slots, &first_mb)) = slots.first().zip(memory_mb.first()) else { return Ok(()) };
    let start_ms = runs.start_ms[job].min(now_ms);
    let row = |tasks: i64, cores_milli: i64, memory_mb: i64, placement: Placement| Row {
        submit_ms: runs.submit_ms[job].min(start_ms),
        requested_ms: runs.requested_ms[job],
        user: runs.user[job],
        tasks,
        cores_milli,
        memory_mb,
        run: Some((start_ms, placement)),
        ..untold(now_ms)
    };
    let each_mb = first_mb / first_slots;
    if slots.iter().zip(memory_mb).all(|(slots, memory_mb)| slots.checked_mul(each_mb) == Some(*memory_mb)) {
        let mut placement = Placement::default();
        for (&node, &slots) in hosts.iter().zip(slots) {
            let tasks = u32::try_from(slots).map_err(|_| format!("job {job} has {slots} slots on a host"))?;
            placement.push(Part { node, tasks });
        }
        rows.push(row(slots.iter().sum(), SLOT, each_mb, placement));
        return Ok(());
    }
    for (&host, (&slots, &memory_mb)) in hosts.iter().zip(slots.iter().zip(memory_mb)) {
        rows.push(row(1, slots.saturating_mul(SLOT), memory_mb, Placement::single(host, 1)));
    }
    Ok(())
}

/// Adds the jobs of a block, if they fit on the cluster at all.
fn add_block(
    rows: &mut Vec<Row>,
    cluster: &Cluster,
    blocks: &BlockColumns,
    block: usize,
    now_ms: i64,
    (is_one_row, left): (bool, &mut i64),
) -> Result<(), String> {
    let (slots, pending) = (blocks.slots[block], blocks.pending[block].max(0));
    let rows_wanted = if is_one_row { pending.min(1) } else { pending }.min(*left);
    let times = if is_one_row { u32::try_from(pending).unwrap_or(u32::MAX) } else { 1 };
    let tasks = u32::try_from(slots).ok().filter(|&tasks| tasks > 0);
    let tasks = tasks.ok_or_else(|| format!("block {block} asks for {slots} slots; expected 1 or more"))?;
    let memory_mb = blocks.memory_mb[block].max(0);
    if reject_reason(cluster, &Shape { tasks, ..one_slot(memory_mb) }) != RejectReason::None {
        return Ok(());
    }
    *left -= rows_wanted;
    rows.extend((0..rows_wanted).map(|_| Row {
        submit_ms: blocks.submit_ms[block].min(now_ms),
        requested_ms: blocks.requested_ms[block],
        tasks: slots,
        cores_milli: SLOT,
        memory_mb,
        user: blocks.user[block],
        priority: blocks.priority[block],
        run: None,
        block: block as u32,
        times,
    }));
    Ok(())
}

fn table(rows: &[Row]) -> Result<Jobs, String> {
    let column = |value: &dyn Fn(&Row) -> i64| rows.iter().map(value).collect::<Vec<i64>>();
    let mut users: HashMap<i64, i64> = HashMap::new();
    let mut user = Vec::with_capacity(rows.len());
    for (place, row) in rows.iter().enumerate() {
        let next = users.len() as i64;
        let last = place.checked_sub(1).filter(|&last| rows[last].user == row.user).map(|last| user[last]);
        let number = || if row.user == UNKNOWN { UNKNOWN } else { *users.entry(row.user).or_insert(next) };
        user.push(last.unwrap_or_else(number));
    }
    let (zeros, unknown) = (vec![0; rows.len()], vec![UNKNOWN; rows.len()]);
    Jobs::new(&Columns {
        submit_ms: &column(&|row| row.submit_ms),
        run_ms: &column(&|row| row.requested_ms.max(0)),
        requested_ms: &column(&|row| row.requested_ms),
        tasks: &column(&|row| row.tasks),
        cores_milli: &column(&|row| row.cores_milli),
        memory_mb: &column(&|row| row.memory_mb),
        gpu_milli: &zeros,
        partition: &unknown,
        user: &user,
        logged_wait_ms: &unknown,
        gpu_types: &zeros,
        kind: &[],
        tier: &[],
        exclusive: &[],
        conditions: ConditionColumns::default(),
        rules: RuleColumns::default(),
    })
}

/// Priorities from 0 to 1; 0 for those that have none.
fn scaled(mut priority: Vec<f64>) -> Vec<f64> {
    let known = || priority.iter().filter(|value| value.is_finite());
    let low = known().fold(f64::INFINITY, |low, &value| low.min(value));
    let high = known().fold(f64::NEG_INFINITY, |high, &value| high.max(value));
    let span = (high - low).max(f64::MIN_POSITIVE);
    priority.iter_mut().for_each(|value| *value = if value.is_finite() { (*value - low) / span } else { 0.0 });
    priority
}
