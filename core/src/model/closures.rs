//! Advance reservations: times at which nodes are closed to most jobs.

use crate::model::hours::WEEK_MS;

/// A time at which some nodes are closed, once or again and again.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// When it begins for the first time.
    pub(crate) start_ms: i64,
    /// How long it lasts; 0: no job may run across its beginning.
    pub(crate) duration_ms: i64,
    /// How long it takes to begin again, a part of a week; 0: it does not.
    pub(crate) period_ms: i64,
    /// Ascending.
    pub(crate) nodes: Vec<u32>,
}

impl Window {
    /// The first time that ends after an instant: when it begins and ends.
    fn next(&self, instant_ms: i64) -> Option<(i64, i64)> {
        let mut start_ms = self.start_ms;
        if start_ms + self.duration_ms <= instant_ms {
            if self.period_ms == 0 {
                return None;
            }
            let past_ms = instant_ms - start_ms - self.duration_ms;
            start_ms += (past_ms / self.period_ms + 1) * self.period_ms;
        }
        Some((start_ms, start_ms + self.duration_ms))
    }

    /// From then on it is over, or comes again and again.
    pub(crate) fn settled_ms(&self) -> i64 {
        if self.period_ms == 0 {
            self.start_ms + self.duration_ms
        } else {
            self.start_ms
        }
    }

    /// When it ends that keeps a job from running from an instant on for so long.
    fn closes_until_ms(&self, instant_ms: i64, span_ms: i64) -> Option<i64> {
        let (start_ms, end_ms) = self.next(instant_ms)?;
        (start_ms < instant_ms + span_ms).then_some(end_ms)
    }
}

/// The windows that bind jobs of one class.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closures {
    /// Their places among all windows, ascending.
    numbers: Vec<u32>,
    windows: Vec<Window>,
}

impl Closures {
    pub(crate) fn new(numbers: Vec<u32>, all: &[Window]) -> Self {
        let windows = numbers.iter().map(|&number| all[number as usize].clone()).collect();
        Closures { numbers, windows }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// The nodes that are closed to a job from an instant on for so long; one may be there twice.
    pub(crate) fn closed(&self, instant_ms: i64, span_ms: i64) -> impl Iterator<Item = u32> + '_ {
        let closes = move |window: &&Window| window.closes_until_ms(instant_ms, span_ms).is_some();
        self.windows.iter().filter(closes).flat_map(|window| window.nodes.iter().copied())
    }

    /// The first window that keeps a job from running from an instant on for so long.
    pub(crate) fn first_closing(&self, instant_ms: i64, span_ms: i64) -> Option<u32> {
        let closes = |window: &Window| window.closes_until_ms(instant_ms, span_ms).is_some();
        self.windows.iter().position(closes).map(|place| self.numbers[place])
    }

    /// The next end of a window after an instant.
    pub(crate) fn next_end_ms(&self, instant_ms: i64) -> Option<i64> {
        self.windows.iter().filter_map(|window| window.next(instant_ms)).map(|(_, end_ms)| end_ms).min()
    }

    /// If from an instant on nothing but these windows changes, everything that they do has been seen at this time.
    pub(crate) fn all_seen_ms(&self, instant_ms: i64) -> i64 {
        self.windows.iter().map(Window::settled_ms).fold(instant_ms, i64::max) + WEEK_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closures(windows: &[(i64, i64, i64)]) -> Closures {
        let window = |&(start_ms, duration_ms, period_ms): &(i64, i64, i64)| Window {
            start_ms,
            duration_ms,
            period_ms,
            nodes: vec![0],
        };
        let all: Vec<Window> = windows.iter().map(window).collect();
        Closures::new((0..all.len() as u32).collect(), &all)
    }

    #[test]
    fn a_wall_lets_jobs_end_and_begin_at_it() {
        let wall = closures(&[(100, 0, 0)]);
        assert_eq!(wall.first_closing(40, 60), None);
        assert_eq!(wall.first_closing(41, 60), Some(0));
        assert_eq!(wall.first_closing(100, 60), None);
        assert_eq!((wall.next_end_ms(99), wall.next_end_ms(100)), (Some(100), None));
    }

    #[test]
    fn windows_come_again() {
        let day_ms = WEEK_MS / 7;
        let daily = closures(&[(0, 10, day_ms)]);
        assert_eq!(daily.next_end_ms(5), Some(10));
        assert_eq!(daily.next_end_ms(10), Some(day_ms + 10));
        assert_eq!(daily.first_closing(10, day_ms - 10), None);
        assert_eq!(daily.first_closing(10, day_ms - 9), Some(0));
        assert_eq!(daily.all_seen_ms(-5), WEEK_MS);
    }
}
