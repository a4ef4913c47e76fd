//! The history estimate: means of the run times of jobs that have ended.

use std::collections::HashMap;

use crate::model::job::Jobs;

/// What a job is estimated at as long as none has ended.
pub(crate) const UNHEARD_MS: i64 = 3_600_000;

/// The jobs that have ended of one group.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mean {
    pub(crate) count: i64,
    pub(crate) sum_ms: i64,
}

impl Mean {
    pub(crate) fn add(&mut self, run_ms: i64) {
        self.count += 1;
        self.sum_ms += run_ms;
    }

    fn get(self) -> Option<i64> {
        (self.count > 0).then(|| self.sum_ms / self.count)
    }
}

/// A user, if the group is one user's, and a size, if it is one size's.
type GroupKey = (Option<u32>, Option<i64>);

/// The groups of all jobs, and which of them each job belongs to, the narrowest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    numbers: HashMap<GroupKey, u32>,
}

impl Groups {
    /// The numbers of a job's groups.
    pub(crate) fn of(&mut self, jobs: &Jobs, job: usize) -> Vec<u32> {
        let number = |numbers: &mut HashMap<GroupKey, u32>, key| {
            let next = numbers.len() as u32;
            *numbers.entry(key).or_insert(next)
        };
        keys(jobs, job).map(|key| number(&mut self.numbers, key)).collect()
    }

    /// Of a job's groups, those that some job asked for before.
    pub(crate) fn known(&self, jobs: &Jobs, job: usize) -> Vec<u32> {
        keys(jobs, job).filter_map(|key| self.numbers.get(&key).copied()).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }
}

fn keys(jobs: &Jobs, job: usize) -> impl Iterator<Item = GroupKey> {
    let user = jobs.known_user(job);
    let size = jobs.shapes[jobs.shape[job] as usize].asked_milli();
    let of_user = user.map(|user| [(Some(user), Some(size)), (Some(user), None)]);
    of_user.into_iter().flatten().chain([(None, Some(size)), (None, None)])
}

/// The mean of the narrowest group in which a job has ended.
pub(crate) fn mean_ms(groups: &[u32], means: &[Mean]) -> Option<i64> {
    groups.iter().find_map(|&group| means[group as usize].get())
}
