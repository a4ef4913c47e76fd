//! The spawner of the local queue across the border.

use super::{guard, Failure};

/// Starts a supervisor for each request that comes over a socket, until its other side is closed. The descriptor then
/// belongs to the core. The calling process must have one thread.
///
/// # Safety
/// `descriptor` must be an open socket of which nobody else makes use.
#[no_mangle]
pub unsafe extern "C" fn shunter_spawner_serve(descriptor: i32) -> i32 {
    guard(|| {
        if descriptor < 0 {
            return Err(Failure::argument(format!("descriptor is {descriptor}; pass an open socket")));
        }
        unsafe { serve(descriptor) }
    })
}

#[cfg(target_os = "linux")]
unsafe fn serve(descriptor: i32) -> Result<(), Failure> {
    unsafe { crate::supervise::spawner::serve(descriptor) }
        .map_err(|error| Failure::refused(format!("spawner: {error}")))
}

#[cfg(not(target_os = "linux"))]
unsafe fn serve(_descriptor: i32) -> Result<(), Failure> {
    Err(Failure::refused("jobs are supervised on Linux alone"))
}
