//! What was worked out for windows before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::job::Fingerprint;

/// A pure cache of what is known when a window begins, which saves going through the log for every simulation.
#[derive(Debug)]
pub struct WindowCache<T>(Mutex<Kept<T>>);

#[derive(Debug)]
struct Kept<T> {
    windows: HashMap<WindowKey, Arc<T>>,
    /// How many jobs all of them have.
    jobs: usize,
}

/// First job, end, what is known, fingerprint of its parameters.
type WindowKey = (usize, usize, i64, u64);

/// When windows with so many jobs together are kept, all are forgotten: at most about 200 MB.
const MOST_KEPT_JOBS: usize = 4_000_000;

impl<T> Default for WindowCache<T> {
    fn default() -> Self {
        WindowCache(Mutex::new(Kept { windows: HashMap::new(), jobs: 0 }))
    }
}

impl<T> WindowCache<T> {
    /// What is known of a window; `code` and the parameters tell apart what may be known.
    pub(crate) fn get(
        &self,
        window: &std::ops::Range<usize>,
        code: i64,
        parameters: &[f64],
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        let mut fingerprint = Fingerprint::default();
        parameters.iter().for_each(|value| fingerprint.add(value.to_bits()));
        let key = (window.start, window.end, code, fingerprint.finish());
        if let Some(known) = self.kept().windows.get(&key) {
            return known.clone();
        }
        let known = Arc::new(make());
        let mut kept = self.kept();
        // All at once, not the oldest: whoever goes through many windows does not come back to the first.
        if kept.jobs > MOST_KEPT_JOBS {
            *kept = Kept { windows: HashMap::new(), jobs: 0 };
        }
        // Two threads may have made the same one: that costs time, and changes nothing.
        kept.jobs += window.len();
        kept.windows.insert(key, known.clone());
        known
    }

    fn kept(&self) -> MutexGuard<'_, Kept<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
