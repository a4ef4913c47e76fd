//! A pool of threads that lives as long as its owner: work begins within microseconds, and the caller works too.
//!
//! Threads that wait look out for work for a moment, then sleep. `ffi` says where the crate's `unsafe` is.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// How often a waiting thread looks before it sleeps: some ten microseconds.
const LOOKS: usize = 4_000;

/// How many items a thread takes at a time, at most: enough to be worth the taking.
const TAKEN: usize = 8;

/// Each thread takes at least so often: what is left at the end is shared out evenly.
const TURNS: usize = 4;

/// More threads are never of use.
const MOST_THREADS: usize = 256;

/// What all threads run. The pointer is only followed by threads that `Pool::run` waits for.
#[derive(Clone, Copy)]
struct Task(*const (dyn Fn() + Sync));

// SAFETY: the closure behind the pointer is `Sync`, so that any thread may call it.
unsafe impl Send for Task {}

struct Shared {
    /// Grows with every task.
    round: AtomicUsize,
    /// Threads of the pool that have taken up the task and not finished it.
    busy: AtomicUsize,
    panicked: AtomicBool,
    closing: AtomicBool,
    task: Mutex<Option<Task>>,
    wake: Condvar,
}

/// Threads that wait for work.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// A pool in which so many threads work, the caller's included.
    pub fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared {
            round: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            task: Mutex::new(None),
            wake: Condvar::new(),
        });
        let spawn = |_| {
            let shared = shared.clone();
            std::thread::spawn(move || shared.serve())
        };
        let threads = (1..threads.clamp(1, MOST_THREADS)).map(spawn).collect();
        Pool { shared, threads }
    }

    /// Does something with every item, each on one thread. Items are taken in turn, by whoever is free. One call at a
    /// time: a pool has one task.
    ///
    /// # Panics
    /// If `body` does, on any thread.
    pub fn each<T: Send>(&mut self, items: &mut [T], body: impl Fn(&mut T) + Sync) {
        if self.threads.is_empty() || items.len() <= 1 {
            return items.iter_mut().for_each(body);
        }
        let next = AtomicUsize::new(0);
        let count = items.len();
        let first = Items(items.as_mut_ptr());
        let taken = (count / (TURNS * (self.threads.len() + 1))).clamp(1, TAKEN);
        self.run(&|| loop {
            let from = next.fetch_add(taken, Ordering::Relaxed);
            if from >= count {
                return;
            }
            for place in from..(from + taken).min(count) {
                // SAFETY: `next` gives each place out once, and `items` is borrowed until all threads are done.
                body(unsafe { first.item(place) });
            }
        });
    }

    /// Runs a closure on every thread, the caller's included, and waits until all have returned.
    fn run(&mut self, body: &(dyn Fn() + Sync)) {
        let shared = &*self.shared;
        // SAFETY: only the lifetime is forgotten; no thread follows the pointer after this function has returned: it takes
        // the task back, and waits for all that have taken it up, also when `body` panics here.
        let task =
            Task(unsafe { std::mem::transmute::<*const (dyn Fn() + Sync + '_), *const (dyn Fn() + Sync)>(body) });
        {
            // Under the lock, so that a thread about to sleep cannot miss it.
            let mut place = shared.task.lock().unwrap_or_else(PoisonError::into_inner);
            *place = Some(task);
            shared.round.fetch_add(1, Ordering::Release);
        }
        shared.wake.notify_all();
        let own = catch_unwind(AssertUnwindSafe(body));
        // Nothing is left to do: a thread that has not come yet, on a busy machine, is not waited for.
        *shared.task.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut looks = 0;
        while shared.busy.load(Ordering::Acquire) > 0 {
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        let panicked = shared.panicked.swap(false, Ordering::Relaxed);
        if let Err(panic) = own {
            std::panic::resume_unwind(panic);
        }
        assert!(!panicked, "a thread of the pool panicked");
    }
}

/// The items of one call; each is touched by one thread alone.
struct Items<T>(*mut T);

// SAFETY: threads get disjoint items, and `T` may be sent to them.
unsafe impl<T: Send> Sync for Items<T> {}

impl<T> Items<T> {
    /// # Safety
    /// `place` is within the slice, and nobody else has this item.
    #[allow(clippy::mut_from_ref)]
    unsafe fn item(&self, place: usize) -> &mut T {
        unsafe { &mut *self.0.add(place) }
    }
}

impl Shared {
    fn serve(&self) {
        let mut done = 0;
        while let Some(task) = self.next_task(&mut done) {
            // SAFETY: `run` waits for `busy` to fall to 0 before the closure goes away.
            let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { (*task.0)() }));
            if outcome.is_err() {
                self.panicked.store(true, Ordering::Relaxed);
            }
            self.busy.fetch_sub(1, Ordering::Release);
        }
    }

    /// Waits for a round that this thread has not done; none: the pool closes.
    fn next_task(&self, done: &mut usize) -> Option<Task> {
        for _ in 0..LOOKS {
            if self.round.load(Ordering::Acquire) != *done {
                break;
            }
            std::hint::spin_loop();
        }
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.closing.load(Ordering::Relaxed) {
                return None;
            }
            let round = self.round.load(Ordering::Acquire);
            if round != *done {
                *done = round;
                if task.is_some() {
                    // Under the lock, so that the caller cannot take the task back in between.
                    self.busy.fetch_add(1, Ordering::Relaxed);
                    return *task;
                }
            }
            task = self.wake.wait(task).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        {
            let _task = self.shared.task.lock().unwrap_or_else(PoisonError::into_inner);
            self.shared.closing.store(true, Ordering::Relaxed);
        }
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // A thread's panic was told when it happened.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_done_once_on_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let mut pool = Pool::new(threads);
            let mut items: Vec<u64> = (0..1000).collect();
            for _ in 0..200 {
                pool.each(&mut items, |item| *item += 1);
            }
            assert!(items.iter().enumerate().all(|(place, &item)| item == place as u64 + 200));
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
        let mut pool = Pool::new(3);
        let mut items: Vec<u32> = (0..100).collect();
        let outcome = catch_unwind(AssertUnwindSafe(|| pool.each(&mut items, |item| assert_ne!(*item, 50))));
        assert!(outcome.is_err());
        pool.each(&mut items, |item| *item = 0);
        assert!(items.iter().all(|&item| item == 0));
    }
}
