//! The C ABI: checks every pointer, length and handle, turns a panic into an error, and decides nothing.
//!
//! Every function returns 0, or a negative `Status`, with one line to read from `shunter_last_error`.
//! Objects are known outside by a handle (a number), never by an address, so that a stale or
//! made-up handle is an error and not a crash. Of the other modules only `envs::thread_pool`, `net::matmul`,
//! `net::simd` and `supervise` (`system.rs`, and one descriptor in `spawner.rs`) have `unsafe`: they and this folder are all there is to audit.

pub mod blocks;
pub mod config;
pub mod consultation;
pub mod decide;
pub mod environments;
pub mod foresee;
pub mod handles;
pub mod learner;
pub mod placer;
pub mod policy;
pub mod replay;
pub mod results;
pub mod rules;
pub mod simulation;
pub mod snapshot;
pub mod supervise;
pub mod swf;
pub mod tables;
pub mod tiers;

use std::any::Any;
use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// What a call across the border can answer; mirrored in `core/include/shunter.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// All went well.
    Ok = 0,
    /// An argument is null, out of range, of the wrong length or not finite.
    InvalidArgument = -1,
    /// A handle was never given out, has been closed, or is of another kind.
    InvalidHandle = -2,
    /// The request is well formed, but the state does not allow it.
    Refused = -3,
    /// The core has a defect: it panicked, and the object concerned must not be used further.
    Panicked = -4,
    /// There was not enough time, and nothing was done.
    Timeout = -5,
}

/// A failure on its way to the caller: a status and one line that says what, which value, what to do.
#[derive(Debug)]
pub struct Failure {
    /// What the function returns.
    pub status: Status,
    /// What `shunter_last_error` returns.
    pub message: String,
}

impl Failure {
    /// A failure that the caller's arguments caused.
    pub fn argument(message: impl Into<String>) -> Self {
        Failure { status: Status::InvalidArgument, message: message.into() }
    }

    /// A failure of a well-formed request in the wrong state.
    pub fn refused(message: impl Into<String>) -> Self {
        Failure { status: Status::Refused, message: message.into() }
    }
}

thread_local! {
    static LAST_ERROR: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The longest message; those that quote a stranger's file may be of any length.
const LONGEST_MESSAGE: usize = 2000;

/// A message as one line that a terminal shows and does not obey.
fn one_line(message: &str) -> String {
    let mut line = String::with_capacity(message.len().min(LONGEST_MESSAGE));
    for character in message.chars().take(LONGEST_MESSAGE) {
        match character.is_control() {
            true => line.extend(character.escape_default()),
            false => line.push(character),
        }
    }
    line
}

/// Runs the body of an exported function: errors and panics become a status and a message.
pub(crate) fn guard(body: impl FnOnce() -> Result<(), Failure>) -> i32 {
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        Err(Failure { status: Status::Panicked, message: format!("defect in the core: {}", panic_text(&*panic)) })
    });
    match outcome {
        Ok(()) => Status::Ok as i32,
        Err(failure) => {
            LAST_ERROR.with(|slot| *slot.borrow_mut() = one_line(&failure.message));
            failure.status as i32
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown panic")
}

/// Borrows a caller's arrays, each under its own name, which errors then tell: arguments (`borrow!(read jobs; user)`),
/// fields of a structure (`borrow!(write jobs; told => phase, end_ms)`), or places for one result (`borrow!(target; due)`).
macro_rules! borrow {
    (target; $($place:ident),+) => {
        $(let $place = unsafe { $crate::ffi::target(stringify!($place), $place) }?;)+
    };
    ($how:ident $length:expr; $($array:ident),+) => {
        $(let $array = unsafe { $crate::ffi::$how(stringify!($array), $array, $length) }?;)+
    };
    ($how:ident $length:expr; $from:ident => $($array:ident),+) => {
        $(let $array = unsafe { $crate::ffi::$how(stringify!($array), $from.$array, $length) }?;)+
    };
}
pub(crate) use borrow;

/// Borrows a caller's array for reading.
///
/// # Safety
/// A non-null `pointer` must be readable for `length` elements until the function returns.
pub(crate) unsafe fn read<'a, T>(name: &str, pointer: *const T, length: usize) -> Result<&'a [T], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    check_pointer(name, pointer as usize, std::mem::align_of::<T>())?;
    check_length::<T>(name, length)?;
    Ok(unsafe { std::slice::from_raw_parts(pointer, length) })
}

/// Borrows a caller's array for writing.
///
/// # Safety
/// A non-null `pointer` must be writable for `length` elements, and belong to no one else, until the function returns.
pub(crate) unsafe fn write<'a, T>(name: &str, pointer: *mut T, length: usize) -> Result<&'a mut [T], Failure> {
    if length == 0 {
        return Ok(&mut []);
    }
    check_pointer(name, pointer as usize, std::mem::align_of::<T>())?;
    check_length::<T>(name, length)?;
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, length) })
}

/// Borrows the place for one result. To be called before anything is done: a result that cannot be told must not happen.
///
/// # Safety
/// A non-null `pointer` must be writable for one element, and belong to no one else, until the function returns.
pub(crate) unsafe fn target<'a, T>(name: &str, pointer: *mut T) -> Result<&'a mut T, Failure> {
    check_pointer(name, pointer as usize, std::mem::align_of::<T>())?;
    Ok(unsafe { &mut *pointer })
}

/// Writes a state that was saved, if there is room for it; `needed` says how much it takes.
///
/// # Safety
/// A non-null `bytes` must be writable for `capacity`.
unsafe fn hand_over(saved: &[u8], bytes: *mut u8, capacity: usize, needed: &mut usize) -> Result<(), Failure> {
    *needed = saved.len();
    if capacity >= saved.len() {
        unsafe { write("bytes", bytes, saved.len()) }?.copy_from_slice(saved);
    }
    Ok(())
}

fn check_pointer(name: &str, address: usize, alignment: usize) -> Result<(), Failure> {
    if address == 0 {
        return Err(Failure::argument(format!("{name} is null; pass a pointer to an array")));
    }
    if address % alignment != 0 {
        return Err(Failure::argument(format!("{name} is not aligned to {alignment} bytes")));
    }
    Ok(())
}

fn check_length<T>(name: &str, length: usize) -> Result<(), Failure> {
    let most = isize::MAX as usize / std::mem::size_of::<T>().max(1);
    if length > most {
        return Err(Failure::argument(format!("{name} has an impossible length, {length}")));
    }
    Ok(())
}

/// Copies the last error message of this thread, without a terminating zero, into `buffer`.
/// Returns the message's full length in bytes, which may be more than `capacity`.
///
/// # Safety
/// A non-null `buffer` must be writable for `capacity` bytes.
#[no_mangle]
pub unsafe extern "C" fn shunter_last_error(buffer: *mut u8, capacity: usize) -> usize {
    LAST_ERROR.with(|slot| {
        let message = slot.borrow();
        if let Ok(target) = unsafe { write("buffer", buffer, capacity.min(message.len())) } {
            target.copy_from_slice(&message.as_bytes()[..target.len()]);
        }
        message.len()
    })
}
