//! Hours of the week in which a rule holds.

/// How long a week is.
pub(crate) const WEEK_MS: i64 = 604_800_000;

/// When in the week something holds; times are counted from the beginning of the week.
#[derive(Clone, Debug)]
pub(crate) struct Hours {
    /// From a time up to another; one may reach into the next week.
    stretches: Vec<(i64, i64)>,
    /// Where it begins or ends to hold, ascending.
    changes: Vec<i64>,
}

impl Hours {
    /// Stretches of a week, which may touch and overlap.
    pub(crate) fn new(stretches: Vec<(i64, i64)>) -> Result<Self, String> {
        let is_wrong = |&(from_ms, to_ms): &(i64, i64)| {
            !(0..WEEK_MS).contains(&from_ms) || !(from_ms + 1..=from_ms + WEEK_MS).contains(&to_ms)
        };
        if let Some((from_ms, to_ms)) = stretches.iter().copied().find(is_wrong) {
            return Err(format!("hours from {from_ms} to {to_ms} ms are not a stretch of a week"));
        }
        let mut changes: Vec<i64> = stretches.iter().flat_map(|&(from_ms, to_ms)| [from_ms, to_ms % WEEK_MS]).collect();
        let mut hours = Hours { stretches, changes: Vec::new() };
        changes.sort_unstable();
        changes.dedup();
        changes.retain(|&at_ms| hours.hold_at(at_ms) != hours.hold_at((at_ms - 1).rem_euclid(WEEK_MS)));
        hours.changes = changes;
        Ok(hours)
    }

    /// Whether it holds at a time of the week.
    pub(crate) fn hold_at(&self, week_ms: i64) -> bool {
        let is_within = |&(from_ms, to_ms): &(i64, i64)| {
            (from_ms..to_ms).contains(&week_ms) || (from_ms..to_ms).contains(&(week_ms + WEEK_MS))
        };
        self.stretches.iter().any(is_within)
    }

    /// How long it takes from a time of the week until it begins or ends to hold; none: it always does.
    pub(crate) fn until_change_ms(&self, week_ms: i64) -> Option<i64> {
        let next = self.changes.iter().find(|&&at_ms| at_ms > week_ms);
        Some(next.copied().or_else(|| self.changes.first().map(|first_ms| first_ms + WEEK_MS))? - week_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_over_the_end_of_the_week_is_one() -> Result<(), String> {
        let hours = Hours::new(vec![(WEEK_MS - 10, WEEK_MS + 5), (5, 7)])?;
        assert!(hours.hold_at(0) && hours.hold_at(6) && !hours.hold_at(7) && hours.hold_at(WEEK_MS - 10));
        assert_eq!(hours.until_change_ms(WEEK_MS - 1), Some(8));
        assert_eq!(hours.until_change_ms(7), Some(WEEK_MS - 17));
        Ok(())
    }

    #[test]
    fn whole_weeks_never_change() -> Result<(), String> {
        assert_eq!(Hours::new(vec![(0, WEEK_MS)])?.until_change_ms(3), None);
        assert!(Hours::new(vec![(5, 5)]).is_err());
        Ok(())
    }
}
