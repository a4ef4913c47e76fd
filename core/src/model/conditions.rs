//! What keeps jobs of a table from waiting for nodes: times, other jobs, arrays; and when they leave the queue.

use std::collections::HashMap;

use crate::model::codes::from_code;
use crate::model::job::{Fingerprint, LikeJob, MAX_DURATION_MS, MAX_TIME_MS};

/// Stands for a time that a job does not have; times may be negative.
pub(crate) const NO_TIME: i64 = i64::MIN;

/// Stands for no group and no array.
const NONE: i64 = -1;

/// What one job needs of another before it may wait for nodes; the numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Dependency {
    /// It has started, or will never start.
    After = 0,
    /// It has ended well.
    AfterOk = 1,
    /// It has ended, however.
    AfterAny = 2,
    /// It has ended, but not well.
    AfterNotOk = 3,
    /// It has ended: only then is the job that follows it submitted, whatever its submit time.
    Follows = 4,
}

from_code!(Dependency: After, AfterOk, AfterAny, AfterNotOk, Follows);

/// The columns of conditions, as they come from outside; an empty one stands for nothing in each job.
#[derive(Clone, Copy, Default)]
pub struct ConditionColumns<'a> {
    /// Before this time a job may not wait for nodes, or `NO_TIME`.
    pub not_before_ms: &'a [i64],
    /// When it leaves if it has not started, or `NO_TIME`.
    pub cancel_ms: &'a [i64],
    /// 1: it does not end well, though it runs to its end.
    pub fails: &'a [u8],
    /// By dependency, in ascending order: the job that depends.
    pub dependent: &'a [u32],
    /// By dependency: the job on which it depends.
    pub depends_on: &'a [u32],
    /// By dependency: a `Dependency`.
    pub dependency: &'a [u8],
    /// By dependency: so long after it is met the job may wait, or is submitted; empty: at once.
    pub delay_ms: &'a [i64],
    /// The number of its group, in which some run only one after the other, or −1.
    pub group: &'a [i64],
    /// 1: it waits until all earlier jobs of its group have ended.
    pub single: &'a [u8],
    /// The number of its array, or −1.
    pub array: &'a [i64],
    /// By array: how many of its jobs may wait for nodes or run at once.
    pub array_limit: &'a [i64],
}

/// One job's need of another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// Seen from the job that depends, the one on which it does; and the other way round.
    pub(crate) job: u32,
    pub(crate) kind: Dependency,
    pub(crate) delay_ms: i64,
}

/// Lists of one kind, one after the other.
#[derive(Debug)]
pub(crate) struct Lists<T> {
    offsets: Vec<u32>,
    entries: Vec<T>,
}

impl<T: Copy> Lists<T> {
    /// Sorts entries into the lists that they belong to; within a list they keep their order.
    pub(crate) fn new(count: usize, entries: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        let mut offsets = vec![0u32; count + 1];
        entries.clone().for_each(|(list, _)| offsets[list as usize + 1] += 1);
        for list in 0..count {
            offsets[list + 1] += offsets[list];
        }
        let mut sorted: Vec<(u32, T)> = entries.collect();
        sorted.sort_by_key(|&(list, _)| list);
        Lists { offsets, entries: sorted.into_iter().map(|(_, entry)| entry).collect() }
    }

    pub(crate) fn of(&self, list: usize) -> &[T] {
        &self.entries[self.offsets[list] as usize..self.offsets[list + 1] as usize]
    }
}

/// The checked conditions of a table of jobs; jobs are counted from the first of the table.
#[derive(Debug)]
pub struct Conditions {
    not_before_ms: Vec<i64>,
    cancel_ms: Vec<i64>,
    fails: Vec<bool>,
    needs: Lists<Need>,
    dependents: Lists<Need>,
    group: Vec<Option<u32>>,
    single: Vec<bool>,
    members: Lists<u32>,
    array: Vec<Option<u32>>,
    array_limit: Vec<u32>,
    moves_arrivals: bool,
}

impl Conditions {
    /// Checks the columns of a table of so many jobs and keeps them; none if they say nothing, unless jobs may be held for
    /// other reasons.
    pub fn new(columns: &ConditionColumns, jobs: usize, are_held: bool) -> Result<Option<Self>, String> {
        check(columns, jobs)?;
        if !columns.says_something() && !are_held {
            return Ok(None);
        }
        let full = |column: &[i64]| if column.is_empty() { vec![NO_TIME; jobs] } else { column.to_vec() };
        let flags = |column: &[u8]| match column.is_empty() {
            true => vec![false; jobs],
            false => column.iter().map(|&flag| flag != 0).collect(),
        };
        let numbers = |column: &[i64]| match column.is_empty() {
            true => vec![None; jobs],
            false => column.iter().map(|&number| u32::try_from(number).ok()).collect(),
        };
        let kinds = columns.dependency.iter().map(|&code| Dependency::from_code(code.into()));
        let kinds: Vec<Dependency> = kinds.collect::<Option<_>>().ok_or("dependency: an unknown kind")?;
        let edges = || {
            let delays = columns.delay_ms.iter().copied().chain(std::iter::repeat(0));
            columns.dependent.iter().zip(columns.depends_on).zip(kinds.iter().copied().zip(delays))
        };
        let group: Vec<Option<u32>> = numbers(columns.group);
        let groups = group.iter().flatten().max().map_or(0, |&most| most as usize + 1);
        let members = (0..).zip(&group).filter_map(|(job, group)| group.map(|group| (group, job)));
        Ok(Some(Conditions {
            not_before_ms: full(columns.not_before_ms),
            cancel_ms: full(columns.cancel_ms),
            fails: flags(columns.fails),
            needs: Lists::new(
                jobs,
                edges().map(|((&job, &other), (kind, delay_ms))| (job, Need { job: other, kind, delay_ms })),
            ),
            dependents: Lists::new(
                jobs,
                edges().map(|((&job, &other), (kind, delay_ms))| (other, Need { job, kind, delay_ms })),
            ),
            moves_arrivals: kinds.contains(&Dependency::Follows),
            members: Lists::new(groups, members.clone()),
            group,
            single: flags(columns.single),
            array: numbers(columns.array),
            array_limit: columns.array_limit.iter().map(|&limit| limit as u32).collect(),
        }))
    }

    /// The conditions of a table that is made of jobs of this one, which has so many: see `Jobs::like`. What a job needs
    /// of one that is not in that table is no longer needed.
    pub(crate) fn like(&self, rows: &[LikeJob], same: usize, jobs: usize) -> Result<Option<Self>, String> {
        const GONE: u32 = u32::MAX;
        let (mut place, mut groups) = (vec![GONE; jobs], HashMap::new());
        for (number, row) in rows[..same].iter().enumerate() {
            place[row.source as usize] = number as u32;
        }
        let kept = |row: usize| (row < same).then_some(rows[row].source as usize);
        let numbers = 0..rows.len();
        let not_before_ms: Vec<i64> =
            numbers.clone().map(|row| kept(row).map_or(NO_TIME, |job| self.not_before_ms[job])).collect();
        let cancel_ms: Vec<i64> = rows.iter().map(|row| row.cancel_ms).collect();
        let fails: Vec<u8> = rows.iter().map(|row| u8::from(row.fails)).collect();
        // Groups are numbered anew, since there may be fewer jobs than numbers.
        let mut renumbered = |group: u32| {
            let next = groups.len() as i64;
            *groups.entry(group).or_insert(next)
        };
        let group: Vec<i64> = numbers
            .clone()
            .map(|row| kept(row).and_then(|job| self.group[job]).map_or(NONE, &mut renumbered))
            .collect();
        let single: Vec<u8> =
            numbers.clone().map(|row| kept(row).map_or(0, |job| u8::from(self.single[job]))).collect();
        let array: Vec<i64> =
            numbers.clone().map(|row| kept(row).and_then(|job| self.array[job]).map_or(NONE, i64::from)).collect();
        let array_limit: Vec<i64> = self.array_limit.iter().map(|&limit| i64::from(limit)).collect();
        let (mut dependent, mut depends_on, mut dependency) = (Vec::new(), Vec::new(), Vec::new());
        let mut delay_ms = Vec::new();
        for (number, row) in (0u32..).zip(&rows[..same]) {
            for need in self.needs(row.source as usize).iter().filter(|need| place[need.job as usize] != GONE) {
                dependent.push(number);
                depends_on.push(place[need.job as usize]);
                dependency.push(need.kind as u8);
                delay_ms.push(need.delay_ms);
            }
        }
        let columns = ConditionColumns {
            not_before_ms: &not_before_ms,
            cancel_ms: &cancel_ms,
            fails: &fails,
            dependent: &dependent,
            depends_on: &depends_on,
            dependency: &dependency,
            delay_ms: &delay_ms,
            group: &group,
            single: &single,
            array: &array,
            array_limit: &array_limit,
        };
        // This table has conditions, and so has that one, whether its rows say something or limits hold them.
        Conditions::new(&columns, rows.len(), true)
    }

    /// The time before which a job may not wait for nodes.
    pub(crate) fn not_before_ms(&self, job: usize) -> i64 {
        self.not_before_ms[job]
    }

    /// When a job leaves if it has not started.
    pub(crate) fn cancel_ms(&self, job: usize) -> Option<i64> {
        Some(self.cancel_ms[job]).filter(|&time_ms| time_ms != NO_TIME)
    }

    /// Whether a job does not end well, though it runs to its end.
    pub(crate) fn fails(&self, job: usize) -> bool {
        self.fails[job]
    }

    /// Whether jobs are submitted when others have ended, so that they do not come in the order of the table.
    pub(crate) fn moves_arrivals(&self) -> bool {
        self.moves_arrivals
    }

    /// What a job needs of others.
    pub(crate) fn needs(&self, job: usize) -> &[Need] {
        self.needs.of(job)
    }

    /// Who needs something of a job.
    pub(crate) fn dependents(&self, job: usize) -> &[Need] {
        self.dependents.of(job)
    }

    /// The number of a job's group.
    pub(crate) fn group(&self, job: usize) -> Option<u32> {
        self.group[job]
    }

    /// The jobs of a group, in the order of the table.
    pub(crate) fn members(&self, group: u32) -> &[u32] {
        self.members.of(group as usize)
    }

    /// How many groups there are.
    pub(crate) fn groups(&self) -> usize {
        self.members.offsets.len() - 1
    }

    /// Whether a job waits for all earlier ones of its group.
    pub(crate) fn is_single(&self, job: usize) -> bool {
        self.single[job]
    }

    /// The number of a job's array.
    pub(crate) fn array(&self, job: usize) -> Option<u32> {
        self.array[job]
    }

    /// By array: how many of its jobs may wait for nodes or run at once.
    pub(crate) fn array_limits(&self) -> &[u32] {
        &self.array_limit
    }
}

impl ConditionColumns<'_> {
    fn says_something(&self) -> bool {
        let has_time = |column: &[i64]| column.iter().any(|&time_ms| time_ms != NO_TIME);
        has_time(self.not_before_ms)
            || has_time(self.cancel_ms)
            || !self.dependent.is_empty()
            || self.single.contains(&1)
            || self.array.iter().any(|&array| array != NONE)
    }

    /// Adds all of it to the hash of the table; nothing if nothing is said.
    pub(crate) fn add_to(&self, hash: &mut Fingerprint) {
        if !self.says_something() {
            return;
        }
        let mut add = |values: &mut dyn Iterator<Item = u64>| {
            let values: Vec<u64> = values.collect();
            hash.add(values.len() as u64);
            values.into_iter().for_each(|value| hash.add(value));
        };
        for column in [self.not_before_ms, self.cancel_ms, self.group, self.array, self.array_limit] {
            add(&mut column.iter().map(|&value| value as u64));
        }
        // States that were saved before there were delays are still those of their tables.
        if !self.delay_ms.is_empty() {
            add(&mut self.delay_ms.iter().map(|&value| value as u64));
        }
        for column in [self.dependent, self.depends_on] {
            add(&mut column.iter().map(|&value| u64::from(value)));
        }
        for column in [self.fails, self.dependency, self.single] {
            add(&mut column.iter().map(|&value| u64::from(value)));
        }
    }
}

fn check(columns: &ConditionColumns, jobs: usize) -> Result<(), String> {
    let lengths = [
        ("not_before_ms", columns.not_before_ms.len(), jobs),
        ("cancel_ms", columns.cancel_ms.len(), jobs),
        ("fails", columns.fails.len(), jobs),
        ("group", columns.group.len(), jobs),
        ("single", columns.single.len(), jobs),
        ("array", columns.array.len(), jobs),
        ("depends_on", columns.depends_on.len(), columns.dependent.len()),
        ("dependency", columns.dependency.len(), columns.dependent.len()),
        ("delay_ms", columns.delay_ms.len(), columns.dependent.len()),
    ];
    if let Some((name, length, wanted)) =
        lengths.into_iter().find(|&(_, length, wanted)| length != 0 && length != wanted)
    {
        return Err(format!("{name} has {length} values; expected {wanted} or none"));
    }
    for (name, column) in [("not_before_ms", columns.not_before_ms), ("cancel_ms", columns.cancel_ms)] {
        let is_wrong = |&time_ms: &i64| time_ms != NO_TIME && !(-MAX_TIME_MS..=MAX_TIME_MS).contains(&time_ms);
        if let Some(job) = column.iter().position(is_wrong) {
            return Err(format!("job {job}: {name} is {}, an absurd time", column[job]));
        }
    }
    check_dependencies(columns, jobs)?;
    let arrays = columns.array_limit.len() as i64;
    for (name, column, most) in [("group", columns.group, jobs as i64), ("array", columns.array, arrays)] {
        if let Some(job) = column.iter().position(|number| !(NONE..most).contains(number)) {
            return Err(format!("job {job}: {name} is {}; expected −1 to {}", column[job], most - 1));
        }
    }
    if let Some(array) = columns.array_limit.iter().position(|limit| !(1..=i64::from(i32::MAX)).contains(limit)) {
        return Err(format!("array {array}: its limit is {}; expected 1 or more", columns.array_limit[array]));
    }
    if let Some(job) = (0..columns.single.len())
        .find(|&job| columns.single[job] != 0 && columns.group.get(job).is_none_or(|&group| group == NONE))
    {
        return Err(format!("job {job} waits for the earlier jobs of its group, but has none"));
    }
    Ok(())
}

fn check_dependencies(columns: &ConditionColumns, jobs: usize) -> Result<(), String> {
    if columns.depends_on.len() != columns.dependent.len() || columns.dependency.len() != columns.dependent.len() {
        return Err("dependent, depends_on and dependency are not equally long".to_string());
    }
    if let Some(wrong_ms) = columns.delay_ms.iter().find(|delay_ms| !(0..=MAX_DURATION_MS).contains(*delay_ms)) {
        return Err(format!("delay_ms is {wrong_ms}; expected 0 to {MAX_DURATION_MS}"));
    }
    let is_there = |&job: &u32| (job as usize) < jobs;
    if !columns.dependent.iter().chain(columns.depends_on).all(is_there) {
        return Err(format!("a dependency names a job that is not among the {jobs} of the table"));
    }
    // A job is submitted once.
    let edges = columns.dependent.iter().zip(columns.depends_on).zip(columns.dependency);
    let follows = edges.filter(|(_, &kind)| kind == Dependency::Follows as u8);
    let mut followed: Vec<(u32, u32)> = follows.map(|((&job, &other), _)| (job, other)).collect();
    followed.sort_unstable();
    if let Some(pair) = followed.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("job {} follows job {} twice", pair[0].0, pair[0].1));
    }
    Ok(())
}
