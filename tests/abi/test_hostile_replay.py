"""Whatever a hostile caller asks of a replay buffer is refused in one line, or answered soundly."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shunter.native import RESULTS, Handle, ffi, last_error, lib, opened, pointer
from tests.abi.hostile import ANY_INT32, HOSTILE
from tests.abi.saved import WORD, sealed

HOSTS, ENVIRONMENTS = 3, 2
SIZE = 4 * HOSTS + 2
OPTIONS = {
    "window": 0,
    "lookahead_size": 0,
    "job_features": 0,
    "hosts": HOSTS,
    "environments": ENVIRONMENTS,
    "capacity": 12,
    "n_step": 2,
    "gamma": 0.9,
    "priority_exponent": 0.5,
    "seed": 1,
}
ANY_FLOAT = st.floats(width=32) | st.sampled_from([0.0, 0.5, 1.0, -1.0, 3e38])
BYTES = st.integers(0, 1) | st.integers(0, 255)
NUMBERS = st.lists(st.floats(0, 1, width=32) | ANY_FLOAT, min_size=ENVIRONMENTS * SIZE, max_size=ENVIRONMENTS * SIZE)
MASKS = st.lists(BYTES, min_size=ENVIRONMENTS * HOSTS, max_size=ENVIRONMENTS * HOSTS)
REFUSALS = {RESULTS[name] for name in ("invalid-argument", "invalid-handle", "refused")}
DRAWN = (
    (SIZE, np.float32),
    (HOSTS, np.uint8),
    (1, np.int64),
    (1, np.float32),
    (1, np.float32),
    (SIZE, np.float32),
    (HOSTS, np.uint8),
    (1, np.float32),
    (1, np.uint64),
)
"""What a sample writes: how many of what."""


def refused(status: int) -> bool:
    """Returns whether a call was refused, which it must be in one line if it was."""
    assert status == 0 or status in REFUSALS, last_error()
    assert status == 0 or (last_error() and "\n" not in last_error())
    return status != 0


def sample_arrays(count: int) -> list[np.ndarray[Any, Any]]:
    return [np.empty(count * each, kind) for each, kind in DRAWN]


def open_replay(**options: Any) -> Handle:  # noqa: ANN401 - numbers
    return opened(lib.shunter_replay_open, ffi.new("ShunterReplayOptions *", OPTIONS | options))


def step(
    handle: int, numbers: list[float], masks: list[int], actions: list[int], rewards: list[float], ends: list[int]
) -> int:
    """Adds a step; final observations are the next ones."""
    seen, allowed = np.array(numbers, np.float32), np.array(masks, np.uint8)
    did, got = np.array(actions, np.int32), np.array(rewards, np.float64)
    ended, cut = np.array(ends[:ENVIRONMENTS], np.uint8), np.array(ends[ENVIRONMENTS:], np.uint8)
    both = pointer(seen), pointer(allowed)
    status: int = lib.shunter_replay_add(
        handle, pointer(did), *both, pointer(got), pointer(ended), pointer(cut), pointer(seen.copy()), both[1]
    )
    return status


def begin(handle: int) -> None:
    seen, allowed = np.full(ENVIRONMENTS * SIZE, 0.5, np.float32), np.ones(ENVIRONMENTS * HOSTS, np.uint8)
    assert lib.shunter_replay_begin(handle, pointer(seen), pointer(allowed)) == 0


@pytest.fixture
def filled() -> Handle:
    """A buffer that has dropped steps, with one episode that was cut and one that ended."""
    replay = open_replay()
    begin(replay.number)
    for place in range(9):
        ends = [place == 6, 0, 0, place == 7]
        numbers = [place / 10] * (ENVIRONMENTS * SIZE)
        assert step(replay.number, numbers, [1] * (ENVIRONMENTS * HOSTS), [0, 2], [1.0, 2.0], ends) == 0
    return replay


def state(handle: int) -> bytes:
    needed = ffi.new("uintptr_t *")
    assert lib.shunter_replay_state(handle, ffi.NULL, 0, needed) == 0
    buffer = np.empty(needed[0], np.uint8)
    assert lib.shunter_replay_state(handle, pointer(buffer), len(buffer), needed) == 0
    return buffer.tobytes()


def test_made_up_and_closed_handles(filled: Handle) -> None:
    filled.close()
    size, seen, allowed = ffi.new("uintptr_t *"), np.zeros(99, np.float32), np.ones(99, np.uint8)
    for handle in (0, 1, 2**64 - 1, filled.number):
        calls = [
            lib.shunter_replay_sizes(handle, size, ffi.new("uintptr_t *")),
            lib.shunter_replay_begin(handle, pointer(seen), pointer(allowed)),
            step(handle, [0.0] * 28, [1] * 6, [0, 0], [0.0, 0.0], [0] * 4),
            lib.shunter_replay_sample(handle, 1, 0.0, *map(pointer, sample_arrays(1))),
            lib.shunter_replay_prioritize(handle, ffi.NULL, ffi.NULL, 0),
            lib.shunter_replay_state(handle, ffi.NULL, 0, size),
            lib.shunter_replay_restore(handle, ffi.NULL, 0),
        ]
        assert calls == [RESULTS["invalid-handle"]] * len(calls)


@pytest.mark.parametrize(
    "options",
    [
        {"hosts": 0},
        {"window": 5},
        {"hosts": 0, "window": 5, "job_features": 20},
        {"hosts": 2**64 - 1},
        {"hosts": 2**21},
        {"hosts": 0, "window": 2**20, "job_features": 2**20},
        {"environments": 0},
        {"environments": 2**40, "capacity": 2**50},
        {"capacity": 2**64 - 1},
        {"capacity": 3},
        {"n_step": 0},
        {"n_step": 2**63},
        {"gamma": float("nan")},
        {"gamma": -0.5},
        {"priority_exponent": float("inf")},
    ],
)
def test_buffers_that_cannot_be(options: dict[str, Any]) -> None:
    number = ffi.new("uint64_t *")
    assert refused(lib.shunter_replay_open(ffi.new("ShunterReplayOptions *", OPTIONS | options), number))


def test_null_pointers_and_impossible_counts(filled: Handle) -> None:
    number, size = ffi.new("uint64_t *"), ffi.new("uintptr_t *")
    assert refused(lib.shunter_replay_open(ffi.NULL, number))
    assert refused(lib.shunter_replay_open(ffi.new("ShunterReplayOptions *", OPTIONS), ffi.NULL))
    before = state(filled.number)
    assert refused(lib.shunter_replay_sizes(filled.number, ffi.NULL, size))
    assert refused(lib.shunter_replay_begin(filled.number, ffi.NULL, ffi.NULL))
    assert refused(lib.shunter_replay_add(filled.number, *[ffi.NULL] * 8))
    assert refused(lib.shunter_replay_sample(filled.number, 1, 0.0, *[ffi.NULL] * 9))
    for missing in range(9):
        arrays = [pointer(array) for array in sample_arrays(2)]
        arrays[missing] = ffi.NULL
        assert refused(lib.shunter_replay_sample(filled.number, 2, 0.0, *arrays))
    for count in (2**63, 2**64 - 1, 2**60):
        assert refused(lib.shunter_replay_sample(filled.number, count, 0.0, *map(pointer, sample_arrays(1))))
    for exponent in (float("nan"), -1.0, 1.5):
        assert refused(lib.shunter_replay_sample(filled.number, 1, exponent, *map(pointer, sample_arrays(1))))
    assert refused(lib.shunter_replay_prioritize(filled.number, ffi.NULL, ffi.NULL, 1))
    assert refused(lib.shunter_replay_state(filled.number, ffi.NULL, 2**40, size))
    assert refused(lib.shunter_replay_state(filled.number, ffi.NULL, 0, ffi.NULL))
    assert refused(lib.shunter_replay_restore(filled.number, ffi.NULL, 8))
    assert state(filled.number) == before


@HOSTILE
@given(
    numbers=NUMBERS,
    masks=MASKS,
    actions=st.lists(st.integers(0, HOSTS) | ANY_INT32, min_size=ENVIRONMENTS, max_size=ENVIRONMENTS),
    rewards=st.lists(st.floats(), min_size=ENVIRONMENTS, max_size=ENVIRONMENTS),
    ends=st.lists(BYTES, min_size=2 * ENVIRONMENTS, max_size=2 * ENVIRONMENTS),
)
@example(numbers=[0.5] * 28, masks=[0, 7, 0] * 2, actions=[2, 1], rewards=[0.0, -1e30], ends=[0, 9, 255, 255])
def test_any_step_is_refused_or_taken(
    numbers: list[float], masks: list[int], actions: list[int], rewards: list[float], ends: list[int]
) -> None:
    replay = open_replay()
    begin(replay.number)
    before = state(replay.number)
    is_sound = (
        all(0 <= number <= 1 for number in numbers)
        and all(map(any, (masks[:HOSTS], masks[HOSTS:])))
        and all(0 <= action < HOSTS for action in actions)
        and np.isfinite(np.array(rewards).astype(np.float32)).all()
    )
    with np.errstate(over="ignore"):
        assert refused(step(replay.number, numbers, masks, actions, rewards, ends)) == (not is_sound)
    if not is_sound:
        assert state(replay.number) == before


@HOSTILE
@given(
    places=st.lists(st.integers(0, 20) | st.integers(0, 2**64 - 1), min_size=4, max_size=4),
    errors=st.lists(ANY_FLOAT, min_size=4, max_size=4),
)
def test_any_priorities_are_refused_or_taken(places: list[int], errors: list[float]) -> None:
    replay = open_replay()
    begin(replay.number)
    for _ in range(9):
        assert step(replay.number, [0.5] * 28, [1] * 6, [0, 0], [0.0, 0.0], [0] * 4) == 0
    where, wrong = np.array(places, np.uint64), np.array(errors, np.float32)
    before = state(replay.number)
    # Of nine steps each, all but the last have what they need; the first three were dropped.
    is_sound = all(place < 16 for place in places) and np.isfinite(wrong).all()
    assert refused(lib.shunter_replay_prioritize(replay.number, pointer(where), pointer(wrong), 4)) == (not is_sound)
    if not is_sound:
        assert state(replay.number) == before
    assert not refused(lib.shunter_replay_sample(replay.number, 5, 1.0, *map(pointer, sample_arrays(5))))


WORDS = (
    st.integers(-3, 20)
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats().map(lambda value: struct.unpack("<q", struct.pack("<d", value))[0])
)


@HOSTILE
@given(st.data())
def test_altered_states_with_the_right_checksum_are_refused_or_work(data: st.DataObject) -> None:
    """Whoever can compute the checksum can write any state; what does not hang together is refused."""
    replay = open_replay()
    begin(replay.number)
    for place in range(4):
        assert step(replay.number, [0.5] * 28, [1] * 6, [0, 0], [0.0, 0.0], [0, 0, place == 2, 0]) == 0
    saved = state(replay.number)
    words = list(struct.unpack(f"<{len(saved) // WORD - 1}q", saved[:-WORD]))
    assert sealed(words) == saved
    for place in data.draw(st.lists(st.integers(0, len(words) - 1), min_size=1, max_size=4), label="places"):
        words[place] = data.draw(WORDS, label="word")
    altered = np.frombuffer(sealed(words), np.uint8)
    if refused(lib.shunter_replay_restore(replay.number, pointer(altered), len(altered))):
        assert state(replay.number) == saved
        return
    arrays = sample_arrays(20)
    assert not refused(lib.shunter_replay_sample(replay.number, 20, 0.5, *map(pointer, arrays)))
    assert all(np.isfinite(array).all() for array in arrays)
    assert (arrays[6].reshape(20, HOSTS).sum(axis=1) > 0).all()


@HOSTILE
@given(st.binary(max_size=300))
@example(b"\0" * 8)
def test_random_bytes_are_no_state(noise: bytes) -> None:
    replay = open_replay()
    assert refused(lib.shunter_replay_restore(replay.number, noise, len(noise)))
