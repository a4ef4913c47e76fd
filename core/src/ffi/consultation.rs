//! Consultations across the border: a learned policy is asked, in any state of a simulation.

use std::sync::Mutex;

use super::decide::Decision;
use super::environments::{read_env_config, ShunterEnvConfig};
use super::handles::{locked, open};
use super::simulation::with;
use super::{borrow, guard, Failure};
use crate::decide::consultation::Consultation;
use crate::envs::decision::Sizes;

/// Runs a function on the consultation behind a handle.
fn consulted<T>(handle: u64, body: impl FnOnce(&mut Consultation) -> Result<T, Failure>) -> Result<T, Failure> {
    locked(handle, "consultation", body)
}

/// Opens a consultation on a copy of a simulation, whose rule must be the one that the mode stands for. `priority` has a
/// number from 0 to 1 for each job of the table, or is empty.
///
/// # Safety
/// Non-null pointers must be readable for their lengths; `handle` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_simulation_consult(
    simulation: u64,
    env_config: *const ShunterEnvConfig,
    priority: *const f64,
    priority_length: usize,
    handle: *mut u64,
) -> i32 {
    guard(|| {
        borrow!(target; handle);
        let env = unsafe { read_env_config(env_config) }?;
        borrow!(read priority_length; priority);
        // Whoever places may be asked: the simulation is not held meanwhile.
        let copy = with(simulation, |simulation| Ok(simulation.clone()))?;
        let begun = Consultation::begin(copy, &env, priority.into()).map_err(Failure::argument)?;
        *handle = open(Mutex::new(begun));
        Ok(())
    })
}

/// Tells how many numbers an observation has, how many actions there are, and how many jobs are shown at most.
///
/// # Safety
/// The pointers must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_consultation_sizes(
    consultation: u64,
    observation: *mut usize,
    actions: *mut usize,
    rows: *mut usize,
) -> i32 {
    guard(|| {
        borrow!(target; observation, actions, rows);
        let sizes = consulted(consultation, |consultation| Ok(consultation.sizes()))?;
        (*observation, *actions, *rows) = (sizes.observation, sizes.actions, sizes.rows);
        Ok(())
    })
}

/// Tells whether an answer is wanted, what is seen then, which actions are allowed, and which job each row shows (−1:
/// none). All is 0, and no job is shown, where none is wanted.
///
/// # Safety
/// The pointers must be writable, for what `shunter_consultation_sizes` says.
#[no_mangle]
pub unsafe extern "C" fn shunter_consultation_observe(
    consultation: u64,
    due: *mut i32,
    observation: *mut f32,
    mask: *mut u8,
    jobs: *mut i64,
) -> i32 {
    guard(|| {
        borrow!(target; due);
        consulted(consultation, |consultation| {
            let Sizes { observation: size, actions, rows } = consultation.sizes();
            borrow!(write size; observation);
            borrow!(write actions; mask);
            borrow!(write rows; jobs);
            consultation.observe(observation, mask);
            jobs.fill(-1);
            jobs.iter_mut().zip(consultation.shown()).for_each(|(row, job)| *row = job.into());
            *due = i32::from(consultation.is_due());
            Ok(())
        })
    })
}

/// Carries out an action, which the mask must allow; tells whether another answer is wanted.
///
/// # Safety
/// `due` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_consultation_act(consultation: u64, action: u32, due: *mut i32) -> i32 {
    guard(|| {
        borrow!(target; due);
        consulted(consultation, |consultation| {
            consultation.act(action as usize).map_err(Failure::refused)?;
            *due = i32::from(consultation.is_due());
            Ok(())
        })
    })
}

/// Opens what was decided, for `shunter_decision_read`. Refused as long as an answer is wanted.
///
/// # Safety
/// `handle` must be writable.
#[no_mangle]
pub unsafe extern "C" fn shunter_consultation_decision(consultation: u64, handle: *mut u64) -> i32 {
    guard(|| {
        borrow!(target; handle);
        let verdicts = consulted(consultation, |consultation| consultation.verdicts().map_err(Failure::refused))?;
        *handle = open(Decision(verdicts));
        Ok(())
    })
}
