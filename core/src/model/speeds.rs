//! Speeds: how long work takes, and how fast each kind of job runs on each type of GPU.

/// The speed that run times are given for, in millionths.
pub(crate) const FULL_SPEED: i64 = 1_000_000;

/// The highest speed, in millionths.
pub(crate) const MOST_SPEED: i64 = 1000 * FULL_SPEED;

/// The lowest speed of a kind on a type that it runs on, in millionths.
const LEAST_SPEED: i64 = FULL_SPEED / 1000;

/// How fast each kind of job runs on each type of GPU; a kind here is one row of the cluster's table.
#[derive(Debug, Default)]
pub struct KindSpeeds {
    types: usize,
    /// Kind by kind, the speed on each type in millionths; 0: it does not run there.
    micro: Vec<i64>,
    /// By kind: a bit for each type that it runs on.
    runs_on: Vec<u64>,
}

impl KindSpeeds {
    /// A table of so many types a row; an error names the row, the type and the value.
    pub fn new(micro: &[i64], types: usize) -> Result<Self, String> {
        let mut runs_on = Vec::with_capacity(micro.len() / types.max(1));
        for (kind, row) in micro.chunks(types.max(1)).enumerate() {
            let is_speed = |speed: i64| speed == 0 || (LEAST_SPEED..=MOST_SPEED).contains(&speed);
            if let Some(gpu_type) = row.iter().position(|&speed| !is_speed(speed)) {
                let speed = row[gpu_type];
                return Err(format!(
                    "kind {kind}: its speed on type {gpu_type} is {speed}; expected 0, or {LEAST_SPEED} to {MOST_SPEED}"
                ));
            }
            runs_on.push(row.iter().enumerate().map(|(gpu_type, &speed)| u64::from(speed > 0) << gpu_type).sum());
        }
        Ok(KindSpeeds { types, micro: micro.to_vec(), runs_on })
    }

    /// How many kinds there are.
    pub fn len(&self) -> usize {
        self.runs_on.len()
    }

    /// Whether there is no table.
    pub fn is_empty(&self) -> bool {
        self.runs_on.is_empty()
    }

    /// How many types the table knows.
    pub(crate) fn types(&self) -> usize {
        self.types
    }

    /// All of it, kind by kind.
    pub(crate) fn micro(&self) -> &[i64] {
        &self.micro
    }

    /// A bit for each type that a kind runs on.
    #[inline]
    pub(crate) fn runs_on(&self, kind: u32) -> u64 {
        self.runs_on[kind as usize]
    }

    /// How fast a kind runs on a type.
    #[inline]
    pub(crate) fn on_type(&self, kind: u32, gpu_type: u32) -> i64 {
        self.micro[kind as usize * self.types + gpu_type as usize]
    }
}

/// How long work takes at a speed, rounded up.
#[inline]
pub(crate) fn stretched_ms(work_ms: i64, speed_micro: i64) -> i64 {
    if speed_micro == FULL_SPEED {
        return work_ms;
    }
    match work_ms.checked_mul(FULL_SPEED) {
        Some(product) if product <= i64::MAX - MOST_SPEED => (product + speed_micro - 1) / speed_micro,
        // An estimate may be longer than any run time.
        _ => narrowed(
            (i128::from(work_ms) * i128::from(FULL_SPEED) + i128::from(speed_micro - 1)) / i128::from(speed_micro),
        ),
    }
}

/// How much work is done in a time at a speed, rounded down.
#[inline]
pub(crate) fn worked_ms(elapsed_ms: i64, speed_micro: i64) -> i64 {
    if speed_micro == FULL_SPEED {
        return elapsed_ms;
    }
    match elapsed_ms.checked_mul(speed_micro) {
        Some(product) => product / FULL_SPEED,
        None => narrowed(i128::from(elapsed_ms) * i128::from(speed_micro) / i128::from(FULL_SPEED)),
    }
}

/// A time that the clock can count.
fn narrowed(time_ms: i128) -> i64 {
    i64::try_from(time_ms).unwrap_or(i64::MAX / 4).min(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_rounded_up_and_progress_down() {
        assert_eq!(stretched_ms(1000, 2_700_000), 371);
        assert_eq!(worked_ms(371, 2_700_000), 1001);
        assert_eq!(worked_ms(370, 2_700_000), 999);
        assert_eq!(stretched_ms(7, FULL_SPEED), 7);
        assert_eq!(stretched_ms(1_000_000_000_000, 1000), 1_000_000_000_000_000);
        assert_eq!(stretched_ms(i64::MAX / 8, 500_000), (i64::MAX / 8) * 2);
        assert_eq!(worked_ms(i64::MAX / 8, 2_000_000), (i64::MAX / 8) * 2);
    }

    #[test]
    fn a_kind_does_not_run_where_its_speed_is_nothing() {
        let table = KindSpeeds::new(&[1_000_000, 0, 500_000, 2_000_000], 2).expect("a table");
        assert_eq!((table.len(), table.runs_on(0), table.runs_on(1)), (2, 0b01, 0b11));
        assert_eq!((table.on_type(0, 1), table.on_type(1, 0)), (0, 500_000));
        assert!(KindSpeeds::new(&[1_000_000, -1], 2).is_err_and(|error| error.contains("kind 0: its speed on type 1")));
        assert!(KindSpeeds::new(&[999], 1).is_err());
    }
}
