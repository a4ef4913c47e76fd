//! What a site lets start: limits and licenses as counters, hours, and nodes that are reserved in advance.

use crate::model::closures::{Closures, Window};
use crate::model::conditions::Lists;
use crate::model::hours::{Hours, WEEK_MS};
use crate::model::job::LikeJob;
use crate::model::rule_columns::RuleColumns;

/// What a job takes of a counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Take {
    pub(crate) counter: u32,
    pub(crate) amount: i64,
}

#[derive(Clone, Debug)]
struct Counter {
    capacity: i64,
    /// Which hours it binds in; none: always.
    hours: Option<u32>,
}

/// The checked rules for a table of jobs; jobs are counted from the first of the table.
#[derive(Debug)]
pub struct Rules {
    week_offset_ms: i64,
    hours: Vec<Hours>,
    counters: Vec<Counter>,
    takes: Lists<Take>,
    queued_capacity: Vec<i64>,
    queued: Lists<Take>,
    class: Vec<u32>,
    closures: Vec<Closures>,
    /// From then on each window is over, or comes again and again.
    settled_ms: Option<i64>,
    /// No window has a node with a higher number.
    last_node: Option<u32>,
}

impl Rules {
    /// Checks the columns for a table of so many jobs and keeps them; none if they say nothing.
    pub fn new(columns: &RuleColumns, jobs: usize) -> Result<Option<Self>, String> {
        if !columns.say_something() {
            return Ok(None);
        }
        columns.check(jobs)?;
        let count = columns.hours.iter().max().map_or(0, |&most| most as usize + 1);
        let mut stretches = vec![Vec::new(); count];
        for (place, &hours) in columns.hours.iter().enumerate() {
            stretches[hours as usize].push((columns.hours_from_ms[place], columns.hours_to_ms[place]));
        }
        let counters = columns.capacity.iter().zip(columns.counter_hours);
        let windows = windows(columns);
        let binding = |class: usize| {
            let binds = &columns.binds[class * windows.len()..(class + 1) * windows.len()];
            (0..windows.len() as u32).filter(|&window| binds[window as usize] != 0).collect()
        };
        let classes = columns.binds.len().checked_div(windows.len()).unwrap_or(0);
        Ok(Some(Rules {
            week_offset_ms: columns.week_offset_ms,
            hours: stretches.into_iter().map(Hours::new).collect::<Result<_, _>>()?,
            counters: counters
                .map(|(&capacity, &hours)| Counter { capacity, hours: u32::try_from(hours).ok() })
                .collect(),
            takes: lists(jobs, columns.take_job, columns.take_counter, columns.take_amount),
            queued_capacity: columns.queued_capacity.to_vec(),
            queued: lists(jobs, columns.queued_job, columns.queued_counter, columns.queued_amount),
            class: columns.class.to_vec(),
            closures: (0..classes).map(|class| Closures::new(binding(class), &windows)).collect(),
            settled_ms: windows.iter().map(Window::settled_ms).max(),
            last_node: columns.closed_node.iter().copied().max(),
        }))
    }

    /// The rules for a table that is made of jobs of this one: see `Jobs::like`.
    pub(crate) fn like(&self, rows: &[LikeJob]) -> Self {
        let of = |lists: &Lists<Take>| {
            let takes = |(row, job): (u32, &LikeJob)| {
                lists.of(job.source as usize).iter().map(move |&take| (row, take)).collect::<Vec<_>>()
            };
            let all: Vec<(u32, Take)> = (0..).zip(rows).flat_map(takes).collect();
            Lists::new(rows.len(), all.into_iter())
        };
        let class = |job: &LikeJob| self.class.get(job.source as usize).copied();
        Rules {
            takes: of(&self.takes),
            queued: of(&self.queued),
            class: rows.iter().filter_map(class).collect(),
            week_offset_ms: self.week_offset_ms,
            hours: self.hours.clone(),
            counters: self.counters.clone(),
            queued_capacity: self.queued_capacity.clone(),
            closures: self.closures.clone(),
            settled_ms: self.settled_ms,
            last_node: self.last_node,
        }
    }

    /// Whether they say anything of when a job may start that waits for nodes.
    pub(crate) fn bind_starts(&self) -> bool {
        !self.counters.is_empty() || self.has_windows()
    }

    pub(crate) fn has_windows(&self) -> bool {
        !self.closures.is_empty()
    }

    /// Whether they hold jobs that would wait for nodes.
    pub(crate) fn bind_queues(&self) -> bool {
        !self.queued_capacity.is_empty()
    }

    pub(crate) fn has_hours(&self) -> bool {
        !self.hours.is_empty()
    }

    pub(crate) fn last_node(&self) -> Option<u32> {
        self.last_node
    }

    /// How many counters running jobs take from.
    pub(crate) fn counters(&self) -> usize {
        self.counters.len()
    }

    /// How many counters those take from that wait or run.
    pub(crate) fn queued_counters(&self) -> usize {
        self.queued_capacity.len()
    }

    /// What a job takes while it runs.
    pub(crate) fn takes(&self, job: usize) -> &[Take] {
        self.takes.of(job)
    }

    /// What a job takes while it waits or runs.
    pub(crate) fn queued(&self, job: usize) -> &[Take] {
        self.queued.of(job)
    }

    /// Whether there is room for one more who waits or runs.
    pub(crate) fn may_queue(&self, job: usize, used: &[i64]) -> bool {
        let has_room =
            |take: &Take| used[take.counter as usize] + take.amount <= self.queued_capacity[take.counter as usize];
        self.queued(job).iter().all(has_room)
    }

    /// The first counter that has too little left for a job at an instant, if so much is used of each.
    pub(crate) fn barring(&self, job: usize, instant_ms: i64, used: impl Fn(usize) -> i64) -> Option<u32> {
        let bars = |take: &&Take| {
            let Counter { capacity, hours } = self.counters[take.counter as usize];
            used(take.counter as usize) + take.amount > capacity
                && hours.is_none_or(|hours| self.hours[hours as usize].hold_at(self.week_ms(instant_ms)))
        };
        self.takes(job).iter().find(bars).map(|take| take.counter)
    }

    /// Whether a job alone asks for more than a limit ever lets it have.
    pub(crate) fn refuse(&self, job: usize) -> bool {
        let is_over = |take: &Take| {
            let Counter { capacity, hours } = self.counters[take.counter as usize];
            hours.is_none() && take.amount > capacity
        };
        let is_too_large = |take: &Take| take.amount > self.queued_capacity[take.counter as usize];
        self.takes(job).iter().any(is_over) || self.queued(job).iter().any(is_too_large)
    }

    /// The windows that bind a job.
    pub(crate) fn closures(&self, job: usize) -> Option<&Closures> {
        let class = *self.class.get(job)?;
        Some(&self.closures[class as usize]).filter(|closures| !closures.is_empty())
    }

    /// When hours under which one of these jobs is begin or end next, or a window ends that binds one.
    pub(crate) fn next_change_ms(&self, jobs: impl Iterator<Item = usize>, instant_ms: i64) -> Option<i64> {
        let mut hours = vec![false; self.hours.len()];
        let mut classes = vec![false; self.closures.len()];
        let mut unseen = hours.len() + classes.len();
        for job in jobs {
            // Mostly a few jobs are under all that there is.
            if unseen == 0 {
                break;
            }
            let of_job = self.takes(job).iter().filter_map(|take| self.counters[take.counter as usize].hours);
            of_job.for_each(|one| unseen -= usize::from(!std::mem::replace(&mut hours[one as usize], true)));
            if let Some(&class) = self.class.get(job) {
                unseen -= usize::from(!std::mem::replace(&mut classes[class as usize], true));
            }
        }
        let week_ms = self.week_ms(instant_ms);
        let changes = self.hours.iter().zip(&hours).filter(|(_, &seen)| seen);
        let changes =
            changes.filter_map(|(hours, _)| hours.until_change_ms(week_ms)).map(|after_ms| instant_ms + after_ms);
        let ends = self.closures.iter().zip(&classes).filter(|(_, &seen)| seen);
        changes.chain(ends.filter_map(|(closures, _)| closures.next_end_ms(instant_ms))).min()
    }

    /// If from an instant on nothing but hours and windows changes, all that they do has been seen at this time.
    pub(crate) fn all_seen_ms(&self, instant_ms: i64) -> i64 {
        self.settled_ms.map_or(instant_ms, |settled_ms| instant_ms.max(settled_ms)) + WEEK_MS
    }

    fn week_ms(&self, instant_ms: i64) -> i64 {
        (instant_ms + self.week_offset_ms).rem_euclid(WEEK_MS)
    }
}

fn windows(columns: &RuleColumns) -> Vec<Window> {
    let one = |window: usize| Window {
        start_ms: columns.window_start_ms[window],
        duration_ms: columns.window_duration_ms[window],
        period_ms: columns.window_period_ms[window],
        nodes: Vec::new(),
    };
    let mut windows: Vec<Window> = (0..columns.window_start_ms.len()).map(one).collect();
    for (&window, &node) in columns.closed_window.iter().zip(columns.closed_node) {
        windows[window as usize].nodes.push(node);
    }
    windows.iter_mut().for_each(|window| window.nodes.sort_unstable());
    windows
}

fn lists(jobs: usize, job: &[u32], counter: &[u32], amount: &[i64]) -> Lists<Take> {
    let takes = job.iter().zip(counter.iter().zip(amount));
    Lists::new(jobs, takes.map(|(&job, (&counter, &amount))| (job, Take { counter, amount })))
}
