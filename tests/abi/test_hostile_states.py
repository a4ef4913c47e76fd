"""Saved states and snapshots of any kind: refused with an error, or gone on from; never a crash."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shunter.errors import InputError
from tests.abi import scene
from tests.abi.hostile import HOSTILE, JOBS, KINDS, TIMES, open_scene
from tests.abi.saved import saved_words, sealed
from tests.abi.scene import Scene

DECISIONS = {"plain": 2, "learning": 2, "placing": 2, "failing": 4, "remaining": 5, "attained": 5}
"""After so many, there is something of everything that a state holds."""


@pytest.fixture(scope="module", params=sorted(KINDS))
def half_done(request: pytest.FixtureRequest) -> Scene:
    """A simulation in which jobs run, wait, and hold reservations, or were stopped for others or by a node."""
    depth = {} if request.param in ("remaining", "attained") else {"reservation_depth": 2}
    simulation = open_scene(KINDS[request.param](**depth))
    simulation.run(DECISIONS[request.param])
    return simulation


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
    assert restored.stops() == half_done.stops()


@pytest.mark.parametrize("kind", sorted(KINDS))
@HOSTILE
@given(decisions=st.integers(0, 12), moved=st.booleans(), seed=st.integers(0, 5))
def test_what_is_restored_at_any_time_goes_on_the_same(kind: str, decisions: int, moved: bool, seed: int) -> None:
    simulation = open_scene(KINDS[kind](seed=seed))
    simulation.run(decisions)
    due = moved and simulation.advance()
    restored = simulation.restore(simulation.serialize())
    assert restored.serialize() == simulation.serialize()
    if due:
        simulation.dispatch()
        restored.dispatch()
    assert simulation.run()
    assert restored.run()
    assert restored.states() == simulation.states()
    assert restored.stops() == simulation.stops()
    assert restored.serialize() == simulation.serialize()


def test_what_is_restored_before_a_decision_that_is_left_out_goes_on_the_same() -> None:
    simulation = open_scene(KINDS["attained"]())
    simulation.run(2)
    simulation.advance()
    restored = simulation.restore(simulation.serialize())
    assert simulation.run()
    assert restored.run()
    assert restored.states() == simulation.states()


FLOATS = st.floats().map(lambda value: struct.unpack("<q", struct.pack("<d", value))[0])
WORDS = st.integers(-3, 20) | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([10**12, 10**15]) | FLOATS


@HOSTILE
@given(st.data())
def test_altered_states_with_the_right_checksum_are_refused_or_run(half_done: Scene, data: st.DataObject) -> None:
    """Whoever can compute the checksum can write any state; what does not hang together is refused."""
    words = saved_words(half_done)
    places = data.draw(st.lists(st.integers(0, len(words) - 1), min_size=1, max_size=4), label="places")
    for place in places:
        words[place] = data.draw(WORDS, label="word")
    try:
        restored = half_done.restore(sealed(words))
    except InputError:
        return
    restored.estimates()
    restored.run(1000)
    assert sum(phase == scene.RUNNING for phase in restored.states()["phase"]) == restored.status()["running"]


def test_a_state_with_any_word_set_to_zero_is_refused_or_runs(half_done: Scene) -> None:
    words = saved_words(half_done)
    messages = set()
    for place in range(len(words)):
        try:
            half_done.restore(sealed([*words[:place], 0, *words[place + 1 :]])).run(1000)
        except InputError as error:
            messages.add(str(error))
    runs = scene.RUNNING in half_done.states()["phase"]
    assert any("impossible start numbers" in message for message in messages) == runs


@pytest.mark.parametrize("word", [-(10**15), 10**15])
def test_a_state_with_any_word_set_to_a_far_time_is_refused_or_runs(
    half_done: Scene, word: int, request: pytest.FixtureRequest
) -> None:
    """Drawn failures from a far time until now, one by one, would take years."""
    words = saved_words(half_done)
    messages = set()
    for place in range(len(words)):
        try:
            half_done.restore(sealed([*words[:place], word, *words[place + 1 :]])).run(1000)
        except InputError as error:
            messages.add(str(error))
    draws_failures = request.node.callspec.params["half_done"] in ("failing", "remaining")
    assert any("fail in the past" in message for message in messages) == draws_failures


def test_promises_that_the_rule_does_not_make_are_refused() -> None:
    """Under a rule without reservations, one that was saved under another would be waited for without end."""
    simulation = open_scene(KINDS["failing"](reservation_depth=2))
    simulation.run(2)
    words = saved_words(simulation)
    dispatch = 6
    assert words[dispatch] == 1
    words[dispatch] = 0
    with pytest.raises(InputError, match="makes promises that its rule does not make"):
        simulation.restore(sealed(words))


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
