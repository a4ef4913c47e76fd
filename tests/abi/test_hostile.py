"""Whatever a caller hands to the core: it answers with an error, or does what it was asked; it never crashes."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from shunter._core import ffi, lib
from shunter.errors import InputError
from shunter.native import CoreError, check, last_error, opened, pointer
from tests.abi import scene
from tests.abi.scene import Scene

HOSTILE = settings(
    deadline=None, max_examples=200, derandomize="CI" in os.environ, suppress_health_check=[HealthCheck.too_slow]
)

NODES = 2
JOBS = 5
CODES = st.integers(-2, 10) | st.integers(-(2**31), 2**31 - 1)
COUNTS = st.integers(0, 3) | st.integers(0, 2**32 - 1)
TIMES = st.integers(-3, 20_000) | st.integers(-(2**63), 2**63 - 1)
JOB_NUMBERS = st.integers(0, JOBS) | st.just(2**32 - 1)


def open_scene(**changes: int) -> Scene:
    """Opens a simulation on two unlike nodes, in which the third job can never run."""
    cluster = scene.open_cluster([2000, 3000], memory_mb=[4096, scene.UNKNOWN], gpus=[1, 2], partition=[0, 1])
    jobs = scene.open_jobs(
        [0, 0, 1000, 2000, 2500],
        [4000, 3000, 10, 0, 1500],
        [1000, 500, 9000, 2000, 1000],
        tasks=[2, 4, 1, 1, 2],
        gpu_milli=[0, 250, 0, 1000, 0],
        partition=[scene.UNKNOWN, scene.UNKNOWN, scene.UNKNOWN, 1, scene.UNKNOWN],
    )
    return Scene(cluster, jobs, JOBS, **changes)


@pytest.fixture(scope="module")
def half_done() -> Scene:
    """A simulation in which jobs run, wait, and hold reservations."""
    simulation = open_scene(reservation_depth=2)
    simulation.run(2)
    return simulation


# ---- saved states ----


@HOSTILE
@given(st.binary(max_size=2000))
@example(b"")
@example(b"\0" * 8)
def test_random_bytes_are_no_saved_state(half_done: Scene, noise: bytes) -> None:
    with pytest.raises(InputError, match="saved"):
        half_done.restore(noise)


@HOSTILE
@given(st.data())
def test_flipped_bits_are_noticed(half_done: Scene, data: st.DataObject) -> None:
    saved = bytearray(half_done.serialize())
    bits = data.draw(st.sets(st.integers(0, 8 * len(saved) - 1), min_size=1, max_size=20), label="bits")
    for bit in bits:
        saved[bit // 8] ^= 1 << bit % 8
    with pytest.raises(InputError, match="saved"):
        half_done.restore(bytes(saved))


@HOSTILE
@given(st.data())
def test_pieces_of_a_saved_state_are_noticed(half_done: Scene, data: st.DataObject) -> None:
    saved = half_done.serialize()
    ends = st.integers(0, len(saved))
    pieces = data.draw(st.lists(st.tuples(ends, ends), max_size=4), label="pieces")
    put_together = b"".join(saved[first:last] for first, last in pieces)
    if put_together == saved:
        assert half_done.restore(put_together).serialize() == saved
    else:
        with pytest.raises(InputError, match="saved"):
            half_done.restore(put_together)


def test_a_saved_state_comes_back_equal(half_done: Scene) -> None:
    restored = half_done.restore(half_done.serialize())
    assert restored.serialize() == half_done.serialize()
    assert restored.states() == half_done.states()


# ---- settings and calls ----


@HOSTILE
@given(
    changes=st.fixed_dictionaries(
        {},
        optional={
            "policy": CODES,
            "dispatch": CODES,
            "reservation_depth": COUNTS,
            "placement": CODES,
            "estimate": CODES,
            "reserve_by_estimate": CODES,
            "kill_at_request": CODES,
            "keep_progress": CODES,
            "missing_request_ms": TIMES,
            "max_wait_ms": TIMES,
            "preemption_overhead_ms": TIMES,
            "scan_depth": COUNTS,
            "seed": st.integers(0, 2**64 - 1),
        },
    )
)
def test_settings_are_refused_or_followed_to_the_end(changes: dict[str, int]) -> None:
    try:
        simulation = open_scene(**changes)
    except InputError:
        return
    assert simulation.run()
    assert simulation.status()["ended"] == JOBS
    assert simulation.status()["free_cores_milli"] == 5000


@HOSTILE
@given(first=st.integers(0, 2**64 - 1) | st.integers(0, 6), count=st.integers(0, 2**64 - 1) | st.integers(0, 6))
def test_windows_lie_in_the_table(half_done: Scene, first: int, count: int) -> None:
    tables = (half_done.cluster.number, half_done.jobs.number)
    arguments = (*tables, first, count, scene.config(), ffi.NULL, 0)
    if 0 < count <= JOBS - first:
        opened(lib.shunter_simulation_open, *arguments).close()
    else:
        with pytest.raises(InputError, match="window"):
            opened(lib.shunter_simulation_open, *arguments)


@HOSTILE
@given(st.lists(st.floats(), max_size=JOBS + 1))
def test_scores_are_finite_and_as_many_as_jobs(half_done: Scene, scores: list[float]) -> None:
    tables = (half_done.cluster.number, half_done.jobs.number)
    column = np.array(scores, dtype=np.float64)
    arguments = (*tables, 0, JOBS, scene.config(policy=8), pointer(column), len(column))
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
RULES = [
    {"dispatch": scene.STRICT},
    *({"dispatch": scene.RESERVE, "reservation_depth": depth} for depth in range(4)),
    {"dispatch": scene.COMMITTED},
    {"dispatch": scene.COMMITTED_BACKFILL},
]


@HOSTILE
@given(
    rule=st.sampled_from(RULES),
    max_wait_ms=st.sampled_from([-1, 0, 700]),
    calls=st.lists(ALWAYS | DECISIONS, max_size=25),
)
def test_any_calls_leave_a_sound_state(rule: dict[str, int], max_wait_ms: int, calls: list[Any]) -> None:
    simulation = open_scene(**rule, max_wait_ms=max_wait_ms)
    now_ms = simulation.status()["now_ms"]
    for name, *arguments in calls:
        with suppress(InputError):
            getattr(simulation, name)(*arguments)
        status, phases = simulation.status(), simulation.states()["phase"]
        assert status["now_ms"] >= now_ms
        assert (status["waiting"], status["running"]) == (phases.count(scene.WAITING), phases.count(scene.RUNNING))
        assert status["ended"] == sum(phase > scene.RUNNING for phase in phases)
        assert 0 <= status["free_cores_milli"] <= 5000
        now_ms = status["now_ms"]


# ---- snapshots ----


RIGHT: dict[str, list[Any]] = {
    "phase": [scene.RUNNING, scene.RUNNING, scene.REJECTED, scene.FUTURE, scene.FUTURE],
    "start_ms": [0, 0, -1, -1, -1],
    "end_ms": [-1] * JOBS,
    "nodes": [[(0, 2)], [(1, 4)], [], [], []],
    "devices": [[], [(1, 250)] * 4, [], [], []],
}
PAIRS = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 1001) | st.integers(-(2**31), 2**31 - 1)), max_size=4)
VALUES = {"phase": st.integers(0, 6), "start_ms": TIMES, "end_ms": TIMES, "nodes": PAIRS, "devices": PAIRS}


def test_the_right_snapshot_is_loaded() -> None:
    simulation = open_scene()
    simulation.load(1500, **RIGHT)
    assert simulation.run()
    assert simulation.status()["ended"] == JOBS


@HOSTILE
@given(now_ms=st.just(1500) | TIMES, data=st.data())
def test_other_snapshots_are_refused_or_loaded(now_ms: int, data: st.DataObject) -> None:
    told = {name: list(column) for name, column in RIGHT.items()}
    for name in data.draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3), label="columns"):
        told[name][data.draw(st.integers(0, JOBS - 1), label="job")] = data.draw(VALUES[name], label=name)
    simulation = open_scene()
    before = simulation.serialize()
    try:
        simulation.load(now_ms, **told)
    except InputError:
        assert simulation.serialize() == before
        return
    assert simulation.states()["phase"] == told["phase"]
    simulation.run()
    assert simulation.status()["running"] == 0


# ---- logs ----


@HOSTILE
@given(st.binary(max_size=300) | st.text("0123456789 \n\r\t;.-+eE", max_size=300).map(str.encode))
def test_any_bytes_are_a_log_or_refused_with_the_line(text: bytes) -> None:
    capacity = len(text) // 36 + 1
    columns, lines = np.full(18 * capacity, np.nan), np.zeros(capacity, dtype=np.int64)
    rows = ffi.new("uintptr_t *")
    source = ffi.from_buffer("uint8_t[]", text) if text else ffi.NULL
    if lib.shunter_swf_read(source, len(text), pointer(columns), pointer(lines), capacity, rows) == 0:
        assert np.isfinite(columns.reshape(18, capacity)[:, : rows[0]]).all()
        assert (lines[: rows[0]] > 0).all()
    else:
        line, colon, message = last_error().partition(":")
        assert 1 <= int(line) <= len(text.splitlines()) + 1
        assert colon
        assert message


# ---- arrays and handles ----


@pytest.mark.parametrize("dtype", ["f4", "i2", "u2", "i1", "f2", "c16", "?", ">i8", ">f8", "O", "S8", "M8[s]"])
def test_an_array_of_another_type_is_refused(dtype: str) -> None:
    with pytest.raises((CoreError, KeyError)):
        pointer(np.zeros(3, dtype=dtype))


@pytest.mark.parametrize(
    "array",
    [np.zeros(6, dtype=np.int64)[::2], np.zeros(6)[::-1], np.zeros((3, 2)).T, np.broadcast_to(np.zeros(1), (4,))],
    ids=["every second", "backwards", "transposed", "broadcast"],
)
def test_an_array_that_is_not_contiguous_is_refused(array: NDArray[Any]) -> None:
    with pytest.raises(CoreError, match="contiguous"):
        pointer(array)


def test_an_empty_array_is_null() -> None:
    assert pointer(np.empty(0, dtype=np.int64)) == ffi.NULL


def test_a_pointer_of_another_type_is_refused(half_done: Scene) -> None:
    with pytest.raises(TypeError):
        lib.shunter_simulation_waiting(half_done.number, pointer(np.zeros(9, dtype=np.int64)), 9)


@HOSTILE
@given(number=st.integers(0, 2**64 - 1) | st.integers(0, 20).map(lambda index: index << 32))
def test_made_up_handles_are_refused(half_done: Scene, number: int) -> None:
    if number in (half_done.number, half_done.cluster.number, half_done.jobs.number):
        return
    with pytest.raises(CoreError, match=f"{number} is"):
        check(lib.shunter_simulation_dispatch(number))


def test_a_closed_handle_is_refused_by_every_call() -> None:
    simulation = open_scene()
    simulation.simulation.close()
    simulation.simulation.close()
    for call in (simulation.status, simulation.advance, simulation.run, simulation.dispatch, simulation.serialize):
        with pytest.raises(CoreError, match="not open"):
            call()
    assert lib.shunter_close(simulation.number) == -2


def test_a_handle_of_another_kind_is_refused() -> None:
    simulation = open_scene()
    for other in (simulation.cluster, simulation.jobs):
        with pytest.raises(CoreError, match="not a simulation"):
            check(lib.shunter_simulation_dispatch(other.number))
