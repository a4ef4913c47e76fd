//! The columns of a site's rules, as they come from outside, and their checks.

use crate::model::hours::WEEK_MS;
use crate::model::job::{Fingerprint, MAX_AMOUNT, MAX_DURATION_MS, MAX_TIME_MS};

/// The columns of rules, as they come from outside.
#[derive(Clone, Copy, Default)]
pub struct RuleColumns<'a> {
    /// To be added to a time: whole weeks of the sum begin as the site's weeks do.
    pub week_offset_ms: i64,
    /// By stretch of hours: which hours it is a part of.
    pub hours: &'a [u32],
    /// By stretch: from when, counted from the beginning of the week.
    pub hours_from_ms: &'a [i64],
    /// By stretch: up to when.
    pub hours_to_ms: &'a [i64],
    /// By counter: how much running jobs may take of it.
    pub capacity: &'a [i64],
    /// By counter: the hours in which it binds, or −1 for all.
    pub counter_hours: &'a [i64],
    /// By what a job takes of a counter while it runs: the job, ascending.
    pub take_job: &'a [u32],
    /// The counter.
    pub take_counter: &'a [u32],
    /// How much.
    pub take_amount: &'a [i64],
    /// By counter of those that wait or run: how much they may take.
    pub queued_capacity: &'a [i64],
    /// By what a job takes of such a counter: the job, ascending.
    pub queued_job: &'a [u32],
    /// The counter.
    pub queued_counter: &'a [u32],
    /// How much.
    pub queued_amount: &'a [i64],
    /// By window: when it begins for the first time.
    pub window_start_ms: &'a [i64],
    /// By window: how long it lasts.
    pub window_duration_ms: &'a [i64],
    /// By window: how long it takes to begin again, or 0.
    pub window_period_ms: &'a [i64],
    /// By node of a window: the window.
    pub closed_window: &'a [u32],
    /// The node.
    pub closed_node: &'a [u32],
    /// By job: its class; empty where there are no windows.
    pub class: &'a [u32],
    /// Class by class, for each window: 1 if it binds.
    pub binds: &'a [u8],
}

impl RuleColumns<'_> {
    /// Whether there is any rule.
    pub(crate) fn say_something(&self) -> bool {
        !(self.capacity.is_empty() && self.queued_capacity.is_empty() && self.window_start_ms.is_empty())
    }

    /// Adds all of it to the hash of the table; nothing if nothing is said.
    pub(crate) fn add_to(&self, hash: &mut Fingerprint) {
        if !self.say_something() {
            return;
        }
        let mut add = |values: &mut dyn Iterator<Item = u64>| {
            let values: Vec<u64> = values.collect();
            hash.add(values.len() as u64);
            values.into_iter().for_each(|value| hash.add(value));
        };
        add(&mut std::iter::once(self.week_offset_ms as u64));
        for column in self.amounts() {
            add(&mut column.iter().map(|&value| value as u64));
        }
        for column in self.numbers() {
            add(&mut column.iter().map(|&value| u64::from(value)));
        }
        add(&mut self.binds.iter().map(|&value| u64::from(value)));
    }

    fn amounts(&self) -> [&[i64]; 10] {
        [
            self.hours_from_ms,
            self.hours_to_ms,
            self.capacity,
            self.counter_hours,
            self.take_amount,
            self.queued_capacity,
            self.queued_amount,
            self.window_start_ms,
            self.window_duration_ms,
            self.window_period_ms,
        ]
    }

    fn numbers(&self) -> [&[u32]; 8] {
        [
            self.hours,
            self.take_job,
            self.take_counter,
            self.queued_job,
            self.queued_counter,
            self.closed_window,
            self.closed_node,
            self.class,
        ]
    }

    /// An error says what contradicts itself.
    pub(crate) fn check(&self, jobs: usize) -> Result<(), String> {
        self.check_lengths(jobs)?;
        self.check_values()?;
        self.check_places(jobs)?;
        self.check_windows()
    }

    fn check_lengths(&self, jobs: usize) -> Result<(), String> {
        let windows = self.window_start_ms.len();
        let lengths = [
            ("hours_from_ms", self.hours_from_ms.len(), self.hours.len()),
            ("hours_to_ms", self.hours_to_ms.len(), self.hours.len()),
            ("counter_hours", self.counter_hours.len(), self.capacity.len()),
            ("take_counter", self.take_counter.len(), self.take_job.len()),
            ("take_amount", self.take_amount.len(), self.take_job.len()),
            ("queued_counter", self.queued_counter.len(), self.queued_job.len()),
            ("queued_amount", self.queued_amount.len(), self.queued_job.len()),
            ("window_duration_ms", self.window_duration_ms.len(), windows),
            ("window_period_ms", self.window_period_ms.len(), windows),
            ("closed_node", self.closed_node.len(), self.closed_window.len()),
            ("class", self.class.len(), if windows == 0 { 0 } else { jobs }),
        ];
        match lengths.into_iter().find(|(_, length, wanted)| length != wanted) {
            Some((name, length, wanted)) => Err(format!("{name} has {length} values; expected {wanted}")),
            None => Ok(()),
        }
    }

    fn check_values(&self) -> Result<(), String> {
        let hours = self.hours.iter().max().map_or(0, |&most| i64::from(most) + 1);
        let bounds: [(&str, &[i64], i64, i64); 8] = [
            ("capacity", self.capacity, 0, MAX_AMOUNT),
            ("counter_hours", self.counter_hours, -1, hours - 1),
            ("take_amount", self.take_amount, 0, MAX_AMOUNT),
            ("queued_capacity", self.queued_capacity, 0, MAX_AMOUNT),
            ("queued_amount", self.queued_amount, 0, MAX_AMOUNT),
            ("window_start_ms", self.window_start_ms, -MAX_TIME_MS, MAX_TIME_MS),
            ("window_duration_ms", self.window_duration_ms, 0, MAX_DURATION_MS),
            ("window_period_ms", self.window_period_ms, 0, WEEK_MS),
        ];
        for (name, column, least, most) in bounds {
            if let Some(value) = column.iter().find(|value| !(least..=most).contains(value)) {
                return Err(format!("{name} is {value}; expected {least} to {most}"));
            }
        }
        match self.week_offset_ms.unsigned_abs() <= 2 * MAX_TIME_MS as u64 {
            true => Ok(()),
            false => Err(format!("week_offset_ms is {}, which is absurd", self.week_offset_ms)),
        }
    }

    fn check_places(&self, jobs: usize) -> Result<(), String> {
        let windows = self.window_start_ms.len();
        let places: [(&str, &[u32], usize); 7] = [
            ("hours", self.hours, self.hours.len()),
            ("take_job", self.take_job, jobs),
            ("take_counter", self.take_counter, self.capacity.len()),
            ("queued_job", self.queued_job, jobs),
            ("queued_counter", self.queued_counter, self.queued_capacity.len()),
            ("closed_window", self.closed_window, windows),
            ("class", self.class, self.binds.len().checked_div(windows).unwrap_or(0)),
        ];
        for (name, column, count) in places {
            if let Some(value) = column.iter().find(|&&value| value as usize >= count) {
                return Err(format!("{name} is {value}; expected a number below {count}"));
            }
        }
        Ok(())
    }

    fn check_windows(&self) -> Result<(), String> {
        let windows = self.window_start_ms.len();
        let is_wrong = |&window: &usize| {
            let (period_ms, duration_ms) = (self.window_period_ms[window], self.window_duration_ms[window]);
            period_ms > 0 && (WEEK_MS % period_ms != 0 || duration_ms > period_ms)
        };
        match (0..windows).find(is_wrong) {
            Some(window) => {
                Err(format!("window {window} comes again out of step with the weeks, or before it is over"))
            }
            None if windows > 0 && self.binds.len() % windows != 0 => {
                Err(format!("binds has {} values; expected {windows} for each class", self.binds.len()))
            }
            None => Ok(()),
        }
    }
}
