//! Jobs: a table of requests, its columns checked once.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::model::conditions::{ConditionColumns, Conditions};
use crate::model::peaks::{asked, Amounts};
use crate::model::rule_columns::RuleColumns;
use crate::model::rules::Rules;
use crate::model::shape_cores::ShapeCores;
use crate::model::shape_tree::ShapeTree;
use crate::order::gittins::KnownRuns;
use crate::order::learner::Known;
use crate::order::window_cache::WindowCache;
use crate::place::fragments::Class;
use crate::place::gang_rules::classes;

/// Stands for a value that the log does not have.
pub(crate) const UNKNOWN: i64 = -1;

/// The latest submit time: 10^12 seconds.
pub(crate) const MAX_TIME_MS: i64 = 1_000_000_000_000_000;

/// The longest run time or request: 10^9 seconds.
pub(crate) const MAX_DURATION_MS: i64 = 1_000_000_000_000;

/// The largest request for one resource, summed over a job's tasks, in the resource's smallest unit.
pub(crate) const MAX_AMOUNT: i64 = 1_000_000_000_000_000;

/// The highest tier.
const MOST_TIER: i64 = 65_535;

/// What a job asks for. Jobs with the same shape fit on the same nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// How many identical tasks start together.
    pub tasks: u32,
    /// Milli-cores per task.
    pub cores_milli: i64,
    /// Memory per task; 0 where the log does not say.
    pub memory_mb: i64,
    /// Milli-GPUs per task: below 1,000 a fraction of one device, otherwise whole devices.
    pub gpu_milli: i64,
    /// The partition that the job names.
    pub partition: Option<u32>,
    /// A bit for each type of GPU that would do; 0: any.
    pub gpu_types: u64,
    /// The row of the cluster's table that says how fast it runs on each type; none: as fast as its nodes are.
    pub kind: Option<u32>,
    /// Whether it has its nodes for itself: it goes only where nothing is taken, and takes all that is there.
    pub exclusive: bool,
}

impl Shape {
    /// Milli-GPUs over all tasks.
    pub fn total_gpu_milli(&self) -> i64 {
        i64::from(self.tasks) * self.gpu_milli
    }

    /// How many devices a task has a part in.
    pub fn devices_per_task(&self) -> usize {
        (self.gpu_milli as usize).div_ceil(1000)
    }

    /// What estimates tell like jobs by: milli-GPUs over all tasks; milli-cores of a job that has none.
    pub fn asked_milli(&self) -> i64 {
        if self.gpu_milli > 0 {
            self.total_gpu_milli()
        } else {
            self.total_cores_milli()
        }
    }

    /// What a task asks for.
    #[inline]
    pub(crate) fn asked(&self) -> Amounts {
        asked(self.cores_milli, self.memory_mb, self.gpu_milli)
    }

    /// Milli-cores over all tasks.
    pub fn total_cores_milli(&self) -> i64 {
        i64::from(self.tasks) * self.cores_milli
    }
}

/// The columns of a table of jobs, as they come from outside; all of one length.
pub struct Columns<'a> {
    /// Absolute submit times, ascending.
    pub submit_ms: &'a [i64],
    /// True run times.
    pub run_ms: &'a [i64],
    /// Requested times, or `UNKNOWN`.
    pub requested_ms: &'a [i64],
    /// Tasks, at least 1.
    pub tasks: &'a [i64],
    /// Milli-cores per task.
    pub cores_milli: &'a [i64],
    /// Memory per task, or `UNKNOWN`.
    pub memory_mb: &'a [i64],
    /// Milli-GPUs per task.
    pub gpu_milli: &'a [i64],
    /// A partition's number, or `UNKNOWN` for any.
    pub partition: &'a [i64],
    /// A user's number, below the number of jobs, or `UNKNOWN`.
    pub user: &'a [i64],
    /// How long the job waited in reality, or `UNKNOWN`.
    pub logged_wait_ms: &'a [i64],
    /// A bit for each type of GPU that would do; 0: any.
    pub gpu_types: &'a [i64],
    /// A row of the cluster's table of speeds, or `UNKNOWN` for none; empty if no job has one.
    pub kind: &'a [i64],
    /// The tier of each job, the highest before all others; empty if all have the same.
    pub tier: &'a [i64],
    /// 1 for jobs that have their nodes for themselves; empty if none does.
    pub exclusive: &'a [u8],
    /// What keeps jobs from waiting for nodes.
    pub conditions: ConditionColumns<'a>,
    /// What the site lets start.
    pub rules: RuleColumns<'a>,
}

impl Columns<'_> {
    /// A job's row of the table of speeds; jobs without GPUs have none.
    fn kind_of(&self, job: usize) -> Option<u32> {
        let kind = self.kind.get(job).filter(|_| self.gpu_milli[job] > 0)?;
        u32::try_from(*kind).ok()
    }
}

/// A job of a table that is made from another: like one of that table, but for these.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LikeJob {
    /// The job of the other table.
    pub(crate) source: u32,
    pub(crate) submit_ms: i64,
    pub(crate) run_ms: i64,
    /// When it leaves if it has not started, or `NO_TIME`.
    pub(crate) cancel_ms: i64,
    /// It does not end well.
    pub(crate) fails: bool,
}

/// A checked table of jobs in the order of their submit times.
#[derive(Debug)]
pub struct Jobs {
    /// Absolute submit times, ascending.
    pub submit_ms: Vec<i64>,
    /// True run times.
    pub run_ms: Vec<i64>,
    /// Requested times, or `UNKNOWN`.
    pub requested_ms: Vec<i64>,
    /// For each job, a place in `shapes`.
    pub shape: Vec<u32>,
    /// The distinct shapes, those with the fewest cores first.
    pub shapes: Vec<Shape>,
    /// How many cores each shape needs.
    pub shape_cores: Arc<ShapeCores>,
    /// What keeps jobs from waiting for nodes, where anything does.
    pub conditions: Option<Conditions>,
    /// What the site lets start, where it has rules.
    pub rules: Option<Rules>,
    /// Tells this table from any other.
    pub fingerprint: u64,
    /// For each job, its user; all that are unknown have the last number.
    pub user: Vec<u32>,
    /// How many numbers of users there are, that of the unknown included if there are such jobs.
    pub users: usize,
    unknown_user: u32,
    /// By job, how many tiers are above its own; empty if all have the same.
    tiers_above: Vec<u32>,
    /// How long each job waited in reality, or `UNKNOWN`.
    logged_wait_ms: Vec<i64>,
    /// The jobs by the ends that the log tells; worked out when first asked for.
    by_logged_end: OnceLock<Vec<u32>>,
    /// What learned estimates know at the beginning of a window.
    pub(crate) known: WindowCache<Known>,
    /// What is known of run times then, where the policy goes by their distribution.
    pub(crate) known_runs: WindowCache<KnownRuns>,
    /// What the jobs ask for; worked out when first asked for.
    classes: OnceLock<Vec<Class>>,
    /// The shapes arranged by what they ask for; worked out when first asked for.
    shape_tree: OnceLock<ShapeTree>,
}

impl Jobs {
    /// Checks the columns and keeps them; an error names the job, the column and the value.
    pub fn new(columns: &Columns) -> Result<Self, String> {
        check(columns)?;
        let unknown_user = columns.user.iter().max().map_or(0, |&most| (most + 1) as u32);
        let count = columns.submit_ms.len();
        let mut numbers: HashMap<Shape, u32> = HashMap::new();
        let mut shapes: Vec<Shape> = Vec::new();
        let mut shape = Vec::with_capacity(count);
        for job in 0..count {
            let wanted = Shape {
                tasks: columns.tasks[job] as u32,
                cores_milli: columns.cores_milli[job],
                memory_mb: columns.memory_mb[job].max(0),
                gpu_milli: columns.gpu_milli[job],
                partition: u32::try_from(columns.partition[job]).ok(),
                gpu_types: if columns.gpu_milli[job] > 0 { columns.gpu_types[job] as u64 } else { 0 },
                kind: columns.kind_of(job),
                exclusive: columns.exclusive.get(job) == Some(&1),
            };
            // Like jobs often come together.
            let last = shape.last().copied().filter(|&number: &u32| shapes[number as usize] == wanted);
            let number = last.unwrap_or_else(|| {
                *numbers.entry(wanted).or_insert_with_key(|new| {
                    shapes.push(new.clone());
                    shapes.len() as u32 - 1
                })
            });
            shape.push(number);
        }
        let mut by_cores: Vec<u32> = (0..shapes.len() as u32).collect();
        by_cores.sort_by_key(|&number| shapes[number as usize].total_cores_milli());
        let mut place = vec![0; shapes.len()];
        for (new, &old) in by_cores.iter().enumerate() {
            place[old as usize] = new as u32;
        }
        shape.iter_mut().for_each(|number| *number = place[*number as usize]);
        let shapes: Vec<Shape> = by_cores.iter().map(|&old| shapes[old as usize].clone()).collect();
        let rules = Rules::new(&columns.rules, count)?;
        let are_held = rules.as_ref().is_some_and(Rules::bind_queues);
        Ok(Jobs {
            submit_ms: columns.submit_ms.to_vec(),
            run_ms: columns.run_ms.to_vec(),
            requested_ms: columns.requested_ms.to_vec(),
            conditions: Conditions::new(&columns.conditions, count, are_held)?,
            rules,
            fingerprint: fingerprint(columns),
            user: columns.user.iter().map(|&user| if user == UNKNOWN { unknown_user } else { user as u32 }).collect(),
            users: unknown_user as usize + usize::from(columns.user.contains(&UNKNOWN)),
            unknown_user,
            tiers_above: tiers_above(columns.tier),
            logged_wait_ms: columns.logged_wait_ms.to_vec(),
            by_logged_end: OnceLock::new(),
            known: WindowCache::default(),
            known_runs: WindowCache::default(),
            classes: OnceLock::new(),
            shape_tree: OnceLock::new(),
            shape_cores: Arc::new(ShapeCores::new(shapes.iter().map(Shape::total_cores_milli).collect())),
            shape,
            shapes,
        })
    }

    /// A table of jobs like those of this one, in the order of their submit times. The first `same` are the very jobs of
    /// this table, and what they wait for is, too; the others wait for nobody.
    pub(crate) fn like(&self, rows: &[LikeJob], same: usize) -> Result<Self, String> {
        let sources = || rows.iter().map(|row| row.source as usize);
        let conditions = self.conditions.as_ref().map(|own| own.like(rows, same, self.len())).transpose()?;
        Ok(Jobs {
            submit_ms: rows.iter().map(|row| row.submit_ms).collect(),
            run_ms: rows.iter().map(|row| row.run_ms).collect(),
            requested_ms: sources().map(|job| self.requested_ms[job]).collect(),
            shape: sources().map(|job| self.shape[job]).collect(),
            shapes: self.shapes.clone(),
            shape_cores: self.shape_cores.clone(),
            conditions: conditions.flatten(),
            rules: self.rules.as_ref().map(|rules| rules.like(rows)),
            tiers_above: match self.has_tiers() {
                true => sources().map(|job| self.tiers_above[job]).collect(),
                false => Vec::new(),
            },
            // It lives as long as a forecast, and is never saved.
            fingerprint: self.fingerprint,
            user: sources().map(|job| self.user[job]).collect(),
            users: self.users,
            unknown_user: self.unknown_user,
            logged_wait_ms: sources().map(|job| self.logged_wait_ms[job]).collect(),
            by_logged_end: OnceLock::new(),
            known: WindowCache::default(),
            known_runs: WindowCache::default(),
            // What is asked for most often is what it is in this table, however many jobs are in the new one.
            classes: OnceLock::from(self.classes().to_vec()),
            shape_tree: OnceLock::new(),
        })
    }

    /// How many jobs there are.
    pub fn len(&self) -> usize {
        self.submit_ms.len()
    }

    /// How many tiers are above a job's own.
    #[inline]
    pub(crate) fn tiers_above(&self, job: usize) -> u32 {
        self.tiers_above.get(job).copied().unwrap_or(0)
    }

    /// Whether jobs have different tiers.
    pub(crate) fn has_tiers(&self) -> bool {
        !self.tiers_above.is_empty()
    }

    /// A job's user, if the log names one.
    pub fn known_user(&self, job: usize) -> Option<u32> {
        Some(self.user[job]).filter(|&user| user != self.unknown_user)
    }

    /// When a job ended in reality; without a logged wait, when it could have ended at the earliest. One that left
    /// before it had started never did.
    pub fn logged_end_ms(&self, job: usize) -> i64 {
        let waited_ms = self.logged_wait_ms[job];
        let conditions = self.conditions.as_ref();
        if waited_ms == UNKNOWN && conditions.is_some_and(|conditions| conditions.cancel_ms(job).is_some()) {
            return i64::MAX;
        }
        // Waits count from when a job might run.
        let not_before_ms = conditions.map_or(i64::MIN, |conditions| conditions.not_before_ms(job));
        self.submit_ms[job].max(not_before_ms) + waited_ms.max(0) + self.run_ms[job]
    }

    /// The shapes, arranged by what they ask for.
    pub(crate) fn shape_tree(&self) -> &ShapeTree {
        self.shape_tree.get_or_init(|| ShapeTree::new(&self.shapes))
    }

    /// The requests for GPUs that jobs make most often.
    pub fn classes(&self) -> &[Class] {
        self.classes.get_or_init(|| classes(self))
    }

    /// The jobs in the order in which they ended in reality.
    pub fn by_logged_end(&self) -> &[u32] {
        self.by_logged_end.get_or_init(|| {
            let mut jobs: Vec<u32> = (0..self.len() as u32).collect();
            jobs.sort_by_key(|&job| self.logged_end_ms(job as usize));
            jobs
        })
    }

    /// Whether there is no job at all.
    pub fn is_empty(&self) -> bool {
        self.submit_ms.is_empty()
    }
}

fn check(columns: &Columns) -> Result<(), String> {
    let count = columns.submit_ms.len();
    let others = [
        ("run_ms", columns.run_ms),
        ("requested_ms", columns.requested_ms),
        ("tasks", columns.tasks),
        ("cores_milli", columns.cores_milli),
        ("memory_mb", columns.memory_mb),
        ("gpu_milli", columns.gpu_milli),
        ("partition", columns.partition),
        ("user", columns.user),
        ("logged_wait_ms", columns.logged_wait_ms),
        ("gpu_types", columns.gpu_types),
        ("kind", columns.kind),
        ("tier", columns.tier),
    ];
    for (name, column) in others {
        if column.len() != count && !(matches!(name, "kind" | "tier") && column.is_empty()) {
            return Err(format!(
                "{name} has {} values, submit_ms has {count}; they must be equally long",
                column.len()
            ));
        }
    }
    if !(columns.exclusive.is_empty() || columns.exclusive.len() == count) {
        return Err(format!("exclusive has {} values, submit_ms has {count}", columns.exclusive.len()));
    }
    if let Some(job) = columns.exclusive.iter().position(|&value| value > 1) {
        return Err(format!("job {job}: exclusive is {}; expected 0 or 1", columns.exclusive[job]));
    }
    if count > i32::MAX as usize {
        return Err(format!("{count} jobs are more than one table holds ({})", i32::MAX));
    }
    let bounds: [(&str, &[i64], i64, i64); 13] = [
        ("submit_ms", columns.submit_ms, -MAX_TIME_MS, MAX_TIME_MS),
        ("run_ms", columns.run_ms, 0, MAX_DURATION_MS),
        ("requested_ms", columns.requested_ms, UNKNOWN, MAX_DURATION_MS),
        ("tasks", columns.tasks, 1, i64::from(i32::MAX)),
        ("cores_milli", columns.cores_milli, 0, MAX_AMOUNT),
        ("memory_mb", columns.memory_mb, UNKNOWN, MAX_AMOUNT),
        ("gpu_milli", columns.gpu_milli, 0, MAX_AMOUNT),
        ("partition", columns.partition, UNKNOWN, i64::from(i32::MAX)),
        ("user", columns.user, UNKNOWN, count as i64 - 1),
        ("logged_wait_ms", columns.logged_wait_ms, UNKNOWN, MAX_DURATION_MS),
        ("gpu_types", columns.gpu_types, 0, i64::MAX),
        ("kind", columns.kind, UNKNOWN, i64::from(i32::MAX)),
        ("tier", columns.tier, 0, MOST_TIER),
    ];
    for (name, column, least, most) in bounds {
        if let Some(job) = column.iter().position(|value| !(least..=most).contains(value)) {
            return Err(format!("job {job}: {name} is {}; expected {least} to {most}", column[job]));
        }
    }
    check_jobs(columns)
}

fn check_jobs(columns: &Columns) -> Result<(), String> {
    if let Some(job) = columns.submit_ms.windows(2).position(|pair| pair[1] < pair[0]) {
        return Err(format!("job {}: submit_ms is earlier than that of the job before; sort by submit time", job + 1));
    }
    for job in 0..columns.submit_ms.len() {
        let gpu = columns.gpu_milli[job];
        if gpu > 1000 && gpu % 1000 != 0 {
            return Err(format!("job {job}: gpu_milli is {gpu}; expected a fraction of one device or whole devices"));
        }
        let amounts = [columns.cores_milli[job], columns.memory_mb[job], gpu];
        if amounts.iter().any(|&amount| amount.max(0) > MAX_AMOUNT / columns.tasks[job]) {
            return Err(format!("job {job}: what its {} tasks ask for together is absurd", columns.tasks[job]));
        }
    }
    let total: i128 = columns.run_ms.iter().map(|&run| i128::from(run)).sum();
    if total > i128::from(i64::MAX / 4) {
        return Err("run_ms: the jobs together run longer than the clock can count".to_string());
    }
    Ok(())
}

/// By job, how many tiers are above its own; empty if all have the same.
fn tiers_above(tier: &[i64]) -> Vec<u32> {
    let mut tiers = tier.to_vec();
    tiers.sort_unstable();
    tiers.dedup();
    if tiers.len() < 2 {
        return Vec::new();
    }
    let above = |one: &i64| (tiers.len() - tiers.partition_point(|other| other <= one)) as u32;
    tier.iter().map(above).collect()
}

fn fingerprint(columns: &Columns) -> u64 {
    let mut hash = Fingerprint::default();
    // A table without kinds has the fingerprint from before there were any.
    let has_kinds = columns.kind.iter().any(|&kind| kind != UNKNOWN);
    let kinds = has_kinds.then_some(columns.kind);
    let others = [
        columns.submit_ms,
        columns.run_ms,
        columns.requested_ms,
        columns.tasks,
        columns.cores_milli,
        columns.memory_mb,
        columns.gpu_milli,
        columns.partition,
        columns.user,
        columns.logged_wait_ms,
        columns.gpu_types,
    ];
    // Nor does a table in which all have one tier differ from one without.
    let tiers = Some(columns.tier).filter(|_| !tiers_above(columns.tier).is_empty());
    for column in others.into_iter().chain(kinds).chain(tiers) {
        hash.add(column.len() as u64);
        column.iter().for_each(|&value| hash.add(value as u64));
    }
    columns.conditions.add_to(&mut hash);
    columns.rules.add_to(&mut hash);
    if columns.exclusive.contains(&1) {
        columns.exclusive.iter().for_each(|&value| hash.add(u64::from(value)));
    }
    hash.finish()
}

/// A fast hash of numbers (the multiply-and-rotate family), to tell tables apart and to notice damage.
#[derive(Default)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Takes in one number.
    pub fn add(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517C_C1B7_2722_0A95);
    }

    /// The hash of all that was taken in.
    pub fn finish(&self) -> u64 {
        crate::model::random::mix(self.0)
    }
}
