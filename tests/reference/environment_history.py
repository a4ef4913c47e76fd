"""PickJob's recent past: what came, ended, ran and waited, interval by interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shunter.model.schedule import RejectReason
from tests.reference.environment_lookahead import scaled_log
from tests.reference.environment_rewards import runs_until_now
from tests.reference.resources import reject_reason
from tests.reference.state import State

HISTORY_FEATURES = 5
HOUR_S = 3600


@dataclass(frozen=True)
class History:
    """How many intervals are told of, and how long each is."""

    intervals: int = 0
    interval_ms: int = 3_600_000


NO_HISTORY = History()


def past_numbers(state: State, history: History) -> list[float]:
    """Returns what is told of each interval; the first ends now, which is not in it."""
    numbers = []
    for place in range(history.intervals):
        until_ms = state.now_ms - place * history.interval_ms
        numbers += interval_numbers(state, until_ms - history.interval_ms, until_ms)
    return numbers


def interval_numbers(state: State, from_ms: int, until_ms: int) -> list[float]:
    """Returns what is told of one interval."""
    came = [job for job in range(state.arrived) if from_ms <= state.jobs[job].submit_ms < until_ms]
    can_run = [job for job in came if reject_reason(state.jobs[job], state.nodes) is RejectReason.NONE]
    area = sum(max(state.estimate_s(job), 1.0) * state.sizes.size(state.jobs[job]) for job in can_run)
    started = [
        end_ms
        for end_ms, start_ms in zip(state.result.end_ms, state.result.start_ms, strict=True)
        if start_ms is not None
    ]
    ended = [end_ms for end_ms in started if end_ms is not None and from_ms <= end_ms < until_ms]
    waits_s = [
        (start_ms - state.since_ms(job)) / 1000
        for job, start_ms in enumerate(state.result.start_ms)
        if start_ms is not None and from_ms <= start_ms < until_ms
    ]
    used = sum(
        state.sizes.amount_milli(state.jobs[job]) * max(0, min(end_ms, until_ms) - max(start_ms, from_ms))
        for job, start_ms, end_ms, _ in runs_until_now(state)
    )
    return [
        math.log(1 + len(came)) / 10,
        math.log(1 + area / (state.sizes.capacity_milli / 1000 * HOUR_S)) / 10,
        math.log(1 + len(ended)) / 10,
        used / (state.sizes.capacity_milli * (until_ms - from_ms)),
        scaled_log(sum(waits_s) / len(waits_s)) if waits_s else 0.0,
    ]
