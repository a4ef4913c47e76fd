//! What has become of what jobs need of others, and what follows from it for those that need it.

use crate::model::conditions::Dependency;
use crate::sim::job_state::{JobState, Phase};
use crate::sim::setup::Setup;

/// What has become of a dependency.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Open,
    /// Since this time.
    Met(i64),
    Never,
}

/// What has become of a need of this job of the table. What is not simulated is over.
pub(crate) fn verdict(setup: &Setup, states: &[JobState], job: u32, kind: Dependency) -> Verdict {
    if !setup.window.contains(&(job as usize)) {
        return Verdict::Met(i64::MIN);
    }
    let state = &states[job as usize - setup.window.start];
    let met = |is_met: bool| if is_met { Verdict::Met(over_ms(state)) } else { Verdict::Never };
    let fails = || setup.jobs.conditions.as_ref().is_some_and(|conditions| conditions.fails(job as usize));
    let ended_well = || state.phase == Phase::Completed && !fails();
    match kind {
        Dependency::After if state.has_started() => Verdict::Met(state.start_ms),
        _ if !state.phase.is_over() => Verdict::Open,
        Dependency::After | Dependency::AfterAny | Dependency::Follows => Verdict::Met(over_ms(state)),
        Dependency::AfterOk => met(ended_well()),
        Dependency::AfterNotOk => met(!ended_well()),
    }
}

/// When a job was over that is.
fn over_ms(state: &JobState) -> i64 {
    // One that is rejected is so when it comes; it has no end.
    if state.phase == Phase::Rejected {
        state.eligible_ms
    } else {
        state.end_ms
    }
}

/// When a job is submitted, as far as that is known: some time after all that it follows are over. One that follows nobody
/// who is simulated comes when the table says. Before anything has happened there are no states.
pub(crate) fn submitted_ms(setup: &Setup, states: &[JobState], job: u32) -> Option<i64> {
    let conditions = setup.jobs.conditions.as_ref()?;
    let needs = conditions.needs(setup.place(job)).iter();
    let followed = needs.filter(|need| need.kind == Dependency::Follows && setup.window.contains(&(need.job as usize)));
    let mut latest_ms = None;
    for need in followed {
        let state = states.get(need.job as usize - setup.window.start).filter(|state| state.phase.is_over())?;
        latest_ms = latest_ms.max(Some(over_ms(state).saturating_add(need.delay_ms)));
    }
    Some(latest_ms.unwrap_or_else(|| setup.submit_ms(job)))
}
