"""Whatever a caller hands to the core: it answers with an error, or does what it was asked; it never crashes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shunter._core import ffi, lib
from shunter.errors import InputError
from shunter.native import check, opened, pointer
from shunter.policies.catalog import ESTIMATE_CODES as ESTIMATES
from shunter.policies.catalog import GIVEN, PLACEMENT_CODES
from tests.abi import opening, scene
from tests.abi.hostile import (
    ANY_INT32,
    HOSTILE,
    JOB_NUMBERS,
    JOBS,
    KINDS,
    NODE_EVENTS,
    POLICIES,
    PRIOR,
    TIMES,
    USERS,
    open_scene,
)
from tests.abi.opening import Config
from tests.abi.scene import Scene

WITH_SCORES = (GIVEN, POLICIES["multifactor"])
STOPPING = tuple(POLICIES[name] for name in ("srtf", "las", "srsf", "gittins"))
MOST_DECISIONS = 200_000
"""Jobs are given up after a thousand failures: whoever decides more often does not come to an end."""


@pytest.fixture(scope="module")
def half_done() -> Scene:
    """A simulation in which jobs run, wait, and hold reservations."""
    simulation = open_scene(Config(reservation_depth=2))
    simulation.run(2)
    return simulation


# ---- settings and calls ----


NUMBERS = st.sampled_from([0.0, 1.0, 0.5, 3.0]) | st.floats(allow_nan=False) | st.just(float("nan"))
POLICY_LENGTHS = {
    POLICIES["hybrid"]: (1,),
    POLICIES["fair-share"]: (1, 1 + USERS),
    POLICIES["multifactor"]: (6, 6 + USERS),
    POLICIES["linear"]: (12,),
    POLICIES["las"]: (0, 1, 3),
    POLICIES["srtf"]: (0, 1),
    POLICIES["gittins"]: (6,),
}
ESTIMATE_LENGTHS = {ESTIMATES["noisy"]: (1,), ESTIMATES["posterior"]: (9, len(PRIOR))}


@st.composite
def parameters(draw: st.DrawFn, right_lengths: tuple[int, ...]) -> list[float]:
    """Draws parameters, mostly as many as belong there, and often in ascending order."""
    rising = draw(st.booleans())
    length = draw(st.sampled_from([*right_lengths * 9, 0, 2, 7]))
    drawn = draw(st.lists(NUMBERS, min_size=length, max_size=length))
    return sorted(drawn) if rising else drawn


FLAGS = st.integers(0, 1)
DURATIONS_MS = st.sampled_from([-1, 0, 700, 3000])
RIGHT = {
    "policy": st.sampled_from([*POLICIES.values(), GIVEN]),
    "estimate": st.sampled_from([*ESTIMATES.values()]),
    "dispatch": st.integers(0, 3),
    "placement": st.sampled_from([*PLACEMENT_CODES.values()]),
    "reserve_by_estimate": FLAGS,
    "kill_at_request": FLAGS,
    "keep_progress": FLAGS,
    "failure_keeps_progress": FLAGS,
    "missing_request_ms": DURATIONS_MS,
    "max_wait_ms": DURATIONS_MS,
    "preemption_overhead_ms": st.sampled_from([0, 0, 30]),
    "preemption_overhead_per_gb_ms": st.sampled_from([0, 0, 5000]),
    "minimum_run_ms": st.sampled_from([0, 150]),
    "mtbf_ms": st.sampled_from([-1, -1, 900, 8000]),
    "mttr_ms": st.sampled_from([-1, 40, 700]),
    "reservation_depth": st.integers(0, 3) | st.integers(0, 2**32 - 1),
    "scan_depth": st.sampled_from([1, 2, 1000, 2**32 - 1]),
    "seed": st.integers(0, 2**64 - 1),
}
WRONG = {
    **dict.fromkeys(["policy", "estimate", "dispatch", "placement"], st.integers(-2, 31) | ANY_INT32),
    **dict.fromkeys(["reserve_by_estimate", "kill_at_request", "keep_progress"], st.integers(-1, 2) | ANY_INT32),
    **dict.fromkeys(["missing_request_ms", "max_wait_ms", "preemption_overhead_ms", "minimum_run_ms"], TIMES),
    "preemption_overhead_per_gb_ms": TIMES,
    **dict.fromkeys(["mtbf_ms", "mttr_ms"], st.integers(-2, 2) | TIMES),
    "failure_keeps_progress": st.integers(-1, 2) | ANY_INT32,
    "scan_depth": st.just(0),
}


@HOSTILE
@given(
    changes=st.fixed_dictionaries(RIGHT),
    wrong=st.lists(st.sampled_from(sorted(WRONG)), max_size=2),
    node_events=st.sampled_from([(), NODE_EVENTS]),
    data=st.data(),
)
def test_settings_are_refused_or_followed_to_the_end(
    changes: dict[str, int], wrong: list[str], node_events: tuple[tuple[int, int, int], ...], data: st.DataObject
) -> None:
    changes |= {name: data.draw(WRONG[name], label=name) for name in wrong}
    if changes["policy"] in STOPPING:
        changes |= {"max_wait_ms": -1, "dispatch": opening.RESERVE}
    config = Config(
        data.draw(parameters(POLICY_LENGTHS.get(changes["policy"], (0,)))),
        data.draw(parameters(ESTIMATE_LENGTHS.get(changes["estimate"], (0,)))),
        node_events,
        **changes,
    )
    try:
        simulation = open_scene(config, [3.0, 1.0, 2.0, 5.0, 4.0] if changes["policy"] in WITH_SCORES else [])
    except InputError:
        return
    assert simulation.run(MOST_DECISIONS)
    assert simulation.status()["ended"] == JOBS, "every node comes up again, so that every job ends"
    assert simulation.status()["free_cores_milli"] == 5000
    states, stops = simulation.states(), simulation.stops()
    assert sum(states["preemptions"]) == sum(not stop.by_failure for stop in stops)
    given_up = sum(phase == scene.FAILED for phase in states["phase"])
    assert sum(states["failures"]) == sum(stop.by_failure for stop in stops) + given_up, "the last failure is an end"
    assert all(stop.start_ms <= stop.end_ms and stop.nodes for stop in stops)
    assert all(0 <= estimate_ms <= 10**12 and basis <= 5 for estimate_ms, basis in simulation.estimates())


@HOSTILE
@given(
    users=st.lists(st.integers(-1, JOBS - 1), min_size=JOBS, max_size=JOBS),
    waits_ms=st.lists(st.integers(-1, 3000) | st.just(10**12), min_size=JOBS, max_size=JOBS),
    runs_ms=st.lists(st.integers(0, 3000) | st.just(10**12), min_size=JOBS, max_size=JOBS),
    estimate=st.sampled_from([*ESTIMATES.values()]),
    data=st.data(),
)
def test_any_log_is_estimated(
    users: list[int], waits_ms: list[int], runs_ms: list[int], estimate: int, data: st.DataObject
) -> None:
    submit_ms = [0, 0, 1, 1000, 2000]
    jobs = opening.open_jobs(submit_ms, runs_ms, [1000] * JOBS, user=users, logged_wait_ms=waits_ms)
    config = Config((), data.draw(parameters(ESTIMATE_LENGTHS.get(estimate, (0,)))), estimate=estimate)
    estimate_ms, basis = np.full(JOBS, -1, dtype=np.int64), np.full(JOBS, 255, dtype=np.uint8)
    try:
        check(lib.shunter_estimates_at_submit(jobs.number, config.pointer, pointer(estimate_ms), pointer(basis), JOBS))
    except InputError:
        return
    assert ((estimate_ms >= 0) & (estimate_ms <= 10**12)).all()
    assert (basis <= 5).all()


@pytest.mark.parametrize("estimate", ["requested", "last-two", "posterior", "history"])
def test_a_log_without_jobs_has_no_estimates(estimate: str) -> None:
    jobs = opening.open_jobs([], [], [])
    config = Config((), PRIOR if estimate == "posterior" else (), estimate=ESTIMATES[estimate])
    check(lib.shunter_estimates_at_submit(jobs.number, config.pointer, ffi.NULL, ffi.NULL, 0))


@HOSTILE
@given(first=st.integers(0, 2**64 - 1) | st.integers(0, 6), count=st.integers(0, 2**64 - 1) | st.integers(0, 6))
def test_windows_lie_in_the_table(half_done: Scene, first: int, count: int) -> None:
    tables = (half_done.cluster.number, half_done.jobs.number)
    arguments = (*tables, first, count, Config().pointer, ffi.NULL, 0)
    if 0 < count <= JOBS - first:
        opened(lib.shunter_simulation_open, *arguments).close()
    else:
        with pytest.raises(InputError, match="window"):
            opened(lib.shunter_simulation_open, *arguments)


@pytest.mark.parametrize("policy", WITH_SCORES)
@HOSTILE
@given(st.lists(st.floats(), max_size=JOBS + 1))
def test_scores_are_finite_and_as_many_as_jobs(half_done: Scene, policy: int, scores: list[float]) -> None:
    tables = (half_done.cluster.number, half_done.jobs.number)
    column = np.array(scores, dtype=np.float64)
    config = Config([1.0] * 6 if policy != GIVEN else [], policy=policy)
    arguments = (*tables, 0, JOBS, config.pointer, pointer(column), len(column))
    if len(scores) == JOBS and np.isfinite(column).all():
        opened(lib.shunter_simulation_open, *arguments).close()
    else:
        with pytest.raises(InputError, match="score"):
            opened(lib.shunter_simulation_open, *arguments)


ALWAYS = st.one_of(
    st.tuples(st.just("advance")),
    st.tuples(st.just("start"), JOB_NUMBERS),
    st.tuples(st.just("preempt"), JOB_NUMBERS),
    st.tuples(st.just("fits"), JOB_NUMBERS),
)
DECISIONS = st.one_of(
    st.tuples(st.just("dispatch")),
    st.tuples(st.just("run"), st.integers(0, 2)),
    st.tuples(st.just("dispatch"), st.lists(JOB_NUMBERS, max_size=JOBS)),
)
PREEMPTIVE = ("remaining", "attained")
"""Policies that stop jobs, and commit none."""
RULES = [
    {"dispatch": opening.STRICT},
    *({"dispatch": opening.RESERVE, "reservation_depth": depth} for depth in range(4)),
    {"dispatch": opening.COMMITTED},
    {"dispatch": opening.COMMITTED_BACKFILL},
]


@pytest.mark.parametrize("kind", sorted(KINDS))
@HOSTILE
@given(
    rule=st.sampled_from(RULES),
    max_wait_ms=st.sampled_from([-1, 0, 700]),
    scan_depth=st.sampled_from([1, 2, 1000]),
    calls=st.lists(ALWAYS | DECISIONS, max_size=25),
)
def test_any_calls_leave_a_sound_state(
    kind: str, rule: dict[str, int], max_wait_ms: int, scan_depth: int, calls: list[Any]
) -> None:
    changes = {**rule, "max_wait_ms": max_wait_ms, "scan_depth": scan_depth}
    assume(kind not in PREEMPTIVE or rule["dispatch"] in (opening.STRICT, opening.RESERVE))
    simulation = open_scene(KINDS[kind](**changes))
    now_ms = simulation.status()["now_ms"]
    for name, *arguments in calls:
        with suppress(InputError):
            getattr(simulation, name)(*arguments)
        status, phases = simulation.status(), simulation.states()["phase"]
        assert status["now_ms"] >= now_ms
        assert (status["waiting"], status["running"]) == (phases.count(scene.WAITING), phases.count(scene.RUNNING))
        assert status["ended"] == sum(phase > scene.RUNNING for phase in phases)
        assert 0 <= status["free_cores_milli"] <= 5000
        assert status["stops"] == len(simulation.stops())
        now_ms = status["now_ms"]
