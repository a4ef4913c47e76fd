//! Handles: numbers that stand for objects, checked on every use.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{guard, Failure, Status};

type Shared = Arc<dyn Any + Send + Sync>;

/// A slot is used again after it is closed; its generation tells an old handle from a new one.
struct Slot {
    generation: u32,
    object: Option<Shared>,
}

struct Registry {
    slots: Vec<Slot>,
    vacant: Vec<u32>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { slots: Vec::new(), vacant: Vec::new() });

fn registry() -> MutexGuard<'static, Registry> {
    // A panic while the registry is held cannot leave it half changed: each change is one assignment.
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn invalid(handle: u64) -> Failure {
    Failure {
        status: Status::InvalidHandle,
        message: format!("handle {handle} is not open; it was closed, or never given out"),
    }
}

fn split(handle: u64) -> (u32, u32) {
    ((handle >> 32) as u32, handle as u32)
}

/// Keeps an object and returns its handle, which is never 0.
pub(crate) fn open<T: Any + Send + Sync>(object: T) -> u64 {
    let mut registry = registry();
    let index = registry.vacant.pop().unwrap_or_else(|| {
        registry.slots.push(Slot { generation: 0, object: None });
        registry.slots.len() as u32 - 1
    });
    let slot = &mut registry.slots[index as usize];
    slot.generation += 1;
    slot.object = Some(Arc::new(object));
    (u64::from(slot.generation) << 32) | u64::from(index)
}

/// Finds the object behind a handle; `kind` names what the caller wanted.
pub(crate) fn find<T: Any + Send + Sync>(handle: u64, kind: &str) -> Result<Arc<T>, Failure> {
    let (generation, index) = split(handle);
    let object = registry()
        .slots
        .get(index as usize)
        .filter(|slot| slot.generation == generation)
        .and_then(|slot| slot.object.clone())
        .ok_or_else(|| invalid(handle))?;
    object.downcast::<T>().map_err(|_| Failure {
        status: Status::InvalidHandle,
        message: format!("handle {handle} is open, but is not a {kind}"),
    })
}

/// Runs a function on the object behind a handle, which nobody else uses meanwhile.
pub(super) fn locked<O: Any + Send, T>(
    handle: u64,
    kind: &str,
    body: impl FnOnce(&mut O) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let shared = find::<Mutex<O>>(handle, kind)?;
    // A panic inside is told to the caller, who may go on with what is left, or close it.
    let mut object = shared.lock().unwrap_or_else(PoisonError::into_inner);
    body(&mut object)
}

/// Closes any handle. The object itself lives on as long as another object needs it.
#[no_mangle]
pub extern "C" fn shunter_close(handle: u64) -> i32 {
    guard(|| {
        let (generation, index) = split(handle);
        let mut registry = registry();
        let object = registry
            .slots
            .get_mut(index as usize)
            .filter(|slot| slot.generation == generation)
            .and_then(|slot| slot.object.take())
            .ok_or_else(|| invalid(handle))?;
        // A slot whose generations are used up is not used again: no old handle may ever come to life.
        if generation < u32::MAX {
            registry.vacant.push(index);
        }
        drop(registry);
        drop(object);
        Ok(())
    })
}
