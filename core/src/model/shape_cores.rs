//! How many cores each shape needs, and how many shapes a number of cores is enough for.

/// The longest table that is worth its memory: 4 MB.
const LONGEST_TABLE: i64 = 1 << 20;

/// The shapes of a table of jobs by their cores, the smallest first.
#[derive(Debug)]
pub struct ShapeCores {
    cores_milli: Vec<i64>,
    /// Every shape's cores are a multiple of it.
    unit_milli: u32,
    /// For each number of units, how many shapes need no more; empty if it would be too long.
    within: Vec<u32>,
}

impl ShapeCores {
    /// Keeps the cores of each shape, which must ascend.
    pub fn new(cores_milli: Vec<i64>) -> Self {
        let unit = cores_milli.iter().fold(0, |unit, &cores| greatest_common_divisor(unit, cores)).max(1);
        let units = cores_milli.last().map_or(0, |&most| most / unit);
        let unit_milli = u32::try_from(unit).unwrap_or(u32::MAX);
        let mut within = Vec::new();
        if units < LONGEST_TABLE && i64::from(unit_milli) == unit {
            within =
                (0..=units).map(|units| cores_milli.partition_point(|&cores| cores <= units * unit) as u32).collect();
        }
        ShapeCores { cores_milli, unit_milli, within }
    }

    /// What a shape needs, over all tasks.
    pub fn cores_milli(&self, shape: u32) -> i64 {
        self.cores_milli[shape as usize]
    }

    /// How many shapes, counted from the smallest, need no more than these cores.
    pub fn count_within(&self, cores_milli: i64) -> usize {
        if cores_milli < 0 {
            return 0;
        }
        match u32::try_from(cores_milli) {
            Ok(cores) if !self.within.is_empty() => {
                let units = (cores / self.unit_milli) as usize;
                self.within.get(units).map_or(self.cores_milli.len(), |&count| count as usize)
            }
            _ => self.cores_milli.partition_point(|&needed| needed <= cores_milli),
        }
    }
}

fn greatest_common_divisor(one: i64, other: i64) -> i64 {
    let (mut one, mut other) = (one, other);
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_agrees_with_a_search() {
        for sizes in [vec![0, 500, 1000, 64_000], vec![3, 7], vec![0], vec![1, 5_000_000_000], vec![6_000_000_000; 3]] {
            let table = ShapeCores::new(sizes.clone());
            for cores in [-1, 0, 1, 2, 3, 499, 500, 63_999, 64_000, 70_000, 4_999_999_999, 7_000_000_000] {
                let expected = sizes.iter().filter(|&&needed| needed <= cores).count();
                assert_eq!(table.count_within(cores), expected, "{sizes:?} {cores}");
            }
        }
    }
}
