//! A job's size, by which policies, shares and features count: its larger share of the cluster's cores or GPUs.

use crate::model::cluster::{Cluster, DEVICE_MILLI};
use crate::model::codes::from_code;
use crate::model::free::Free;
use crate::model::job::{Jobs, Shape};
use crate::order::scores::Policy;

/// What sizes are counted in; the numbers are part of the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum SizeBy {
    /// Cores; a job's GPUs count as that share of all cores, if it is larger.
    Cores = 0,
    /// GPUs; a job's cores count as that share of all GPUs, if it is larger.
    Gpus = 1,
    /// Cores, whatever GPUs a job has: as before there was a choice.
    CoresAlone = 2,
}

from_code!(SizeBy: Cores, Gpus, CoresAlone);

/// Millionths of a core or a GPU, in a thousandth.
const MICRO: i64 = 1000;

/// The sizes of all shapes of a table of jobs on a cluster; worked out once.
#[derive(Debug)]
pub struct JobSizes {
    /// By shape, in millionths: fine enough for a share, and sums of them are exact.
    micro: Vec<i64>,
    /// What sizes are counted in, where the cluster has any of it.
    pub(crate) by_gpus: bool,
    /// All of the cluster's cores or GPUs, in thousandths.
    pub(crate) capacity_milli: i64,
}

impl JobSizes {
    /// The sizes for a policy.
    pub(crate) fn new(cluster: &Cluster, jobs: &Jobs, size_by: SizeBy, policy: Policy) -> Self {
        let cores = cluster.empty.total_cores_milli();
        let gpus = cluster.device_offsets.last().map_or(0, |&devices| i64::from(devices) * i64::from(DEVICE_MILLI));
        let by_gpus = match size_by {
            SizeBy::Cores => cores == 0 && gpus > 0,
            SizeBy::Gpus => gpus > 0,
            SizeBy::CoresAlone => false,
        };
        let micro = |shape: &Shape| match size_by {
            SizeBy::CoresAlone if matches!(policy, Policy::Qssf | Policy::Las) => shape.asked_milli() * MICRO,
            SizeBy::CoresAlone => shape.total_cores_milli() * MICRO,
            _ if by_gpus => larger(shape.total_gpu_milli(), shape.total_cores_milli(), gpus, cores),
            _ => larger(shape.total_cores_milli(), shape.total_gpu_milli(), cores, gpus),
        };
        JobSizes {
            micro: jobs.shapes.iter().map(micro).collect(),
            by_gpus,
            capacity_milli: if by_gpus { gpus } else { cores },
        }
    }

    /// The size of a shape, in millionths.
    #[inline]
    pub(crate) fn micro(&self, shape: u32) -> i64 {
        self.micro[shape as usize]
    }

    /// The size of a shape: cores or GPUs over all tasks.
    pub(crate) fn of(&self, shape: u32) -> f64 {
        units(self.micro(shape))
    }

    /// The size of a job that takes the whole cluster.
    pub(crate) fn capacity(&self) -> f64 {
        self.capacity_milli as f64 / 1000.0
    }

    /// What is free of it on nodes that are up, in thousandths.
    pub(crate) fn free_milli(&self, free: &Free) -> i64 {
        if self.by_gpus {
            free.up_gpu_milli()
        } else {
            free.up_cores_milli()
        }
    }

    /// What nobody uses of it, on nodes that are up or down.
    pub(crate) fn idle_milli(&self, free: &Free) -> i64 {
        if self.by_gpus {
            free.total_gpu_milli()
        } else {
            free.total_cores_milli()
        }
    }

    /// Which part of the cluster would be left beside a job of this size.
    pub(crate) fn part_left(&self, free: &Free, micro: i64) -> f64 {
        let milli = MICRO as f64;
        (self.free_milli(free) as f64 * milli - micro as f64) / (self.capacity_milli as f64 * milli)
    }

    /// Whether any size is not just the number of cores.
    pub(crate) fn count_more_than_cores(&self, jobs: &Jobs) -> bool {
        self.by_gpus
            || self.micro.iter().zip(&jobs.shapes).any(|(&micro, one)| micro != one.total_cores_milli() * MICRO)
    }
}

/// Millionths as cores or GPUs.
pub(crate) fn units(micro: i64) -> f64 {
    micro as f64 / 1e6
}

/// The same in the precision of observations.
pub(crate) fn units_f32(micro: i64) -> f32 {
    (micro as f64 / MICRO as f64) as f32 / 1000.0
}

/// What a job asks of the resource that counts, or the share that it asks of the other one, in millionths.
fn larger(own_milli: i64, other_milli: i64, all_own: i64, all_other: i64) -> i64 {
    if all_other == 0 || other_milli == 0 {
        return own_milli * MICRO;
    }
    let (share, all) = (i128::from(other_milli) * i128::from(MICRO) * i128::from(all_own), i128::from(all_other));
    // Rounded to the nearest, half up. A job that asks for more than there is never runs.
    let share = i64::try_from((2 * share + all) / (2 * all)).unwrap_or(i64::MAX);
    share.max(own_milli * MICRO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_share_counts() {
        // 8 GPUs beside 100 cores: a GPU is worth 12.5 cores, and a core 0.08 GPUs.
        assert_eq!(larger(4_000, 1_000, 100_000, 8_000), 12_500_000);
        assert_eq!(larger(64_000, 1_000, 100_000, 8_000), 64_000_000);
        assert_eq!(larger(1_000, 64_000, 8_000, 100_000), 5_120_000);
        assert_eq!(larger(1_000, 1_000, 8_000, 3_000_000), 1_000_000);
        assert_eq!(larger(0, 1_000, 8_000, 3_000_000), 2_667);
        assert_eq!(larger(1_500, 0, 8_000, 0), 1_500_000);
    }
}
