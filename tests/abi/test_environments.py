"""Environments across the border: what is wrong is refused in words, and nothing is harmed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter._core import ffi, lib
from shunter.errors import InputError
from shunter.native import CoreError, Handle, check, opened, pointer
from tests.abi import opening
from tests.abi.hostile import HOSTILE
from tests.abi.opening import Config

WINDOW, AHEAD, NUM_ENVS = 4, 3, 2
SIZE, ACTIONS = 16 + AHEAD + WINDOW * 21, WINDOW + 1
PLAIN_ENV = {
    "mode": 0,
    "lookahead": 3,
    "lookahead_size": AHEAD,
    "window": WINDOW,
    "dense": 1,
    "autoreset": 1,
    "threads": 1,
    "weights": [-1.0] + [0.0] * 9,
}
PLAIN_EPISODE = {
    "count": 3,
    "horizon_ms": -1,
    "scale": [1.0] * 10,
    "wait_bound_s": -1.0,
    "utilization_bound": -1.0,
}


def open_env(
    env: dict[str, Any] | None = None,
    episode: dict[str, Any] | None = None,
    *,
    num_envs: int = NUM_ENVS,
    priority: tuple[float, ...] = (),
    relative_start_ms: tuple[int, ...] = (),
) -> Handle:
    cluster = opening.open_cluster([4000])
    jobs = opening.open_jobs([0, 1, 2], [10_000, 5000, 1000], [3000, 2000, 4000])
    tables, clusters = np.array([jobs.number], np.uint64), np.array([cluster.number], np.uint64)
    weights, starts = np.array(priority), np.array(relative_start_ms, np.int64)
    return opened(
        lib.shunter_env_open,
        ffi.from_buffer("uint64_t[]", tables),
        1,
        ffi.from_buffer("uint64_t[]", clusters),
        1,
        Config().pointer,
        ffi.new("ShunterEnvConfig *", PLAIN_ENV | (env or {})),
        pointer(weights),
        len(weights),
        ffi.NULL,
        0,
        ffi.new("ShunterEpisode[1]", [PLAIN_EPISODE | (episode or {})]),
        1,
        pointer(starts),
        len(starts),
        num_envs,
    )


class Play:
    """Two environments and the arrays that they write."""

    def __init__(self, env: Handle) -> None:
        self.env = env
        self.observations = np.zeros((NUM_ENVS, SIZE), np.float32)
        self.masks = np.zeros((NUM_ENVS, ACTIONS), np.uint8)
        self.rewards = np.zeros(NUM_ENVS)
        self.flags = np.zeros((3, NUM_ENVS), np.uint8)
        self.totals = np.zeros((NUM_ENVS, 18))
        self.last = np.zeros((NUM_ENVS, SIZE), np.float32), np.zeros((NUM_ENVS, ACTIONS), np.uint8)

    def reset(self, episodes: list[int]) -> None:
        places = np.array(episodes, np.int64)
        check(lib.shunter_env_reset(self.env.number, pointer(places), pointer(self.observations), pointer(self.masks)))

    def step(self, actions: list[int]) -> None:
        given = np.array(actions, np.int32)
        read = (given, self.observations, self.masks, self.rewards)
        arrays: list[Any] = [pointer(array) for array in (*read, *self.flags, *self.last, self.totals)]
        check(lib.shunter_env_step(self.env.number, *arrays))

    def state(self) -> bytes:
        length = ffi.new("uintptr_t *")
        check(lib.shunter_env_state(self.env.number, ffi.NULL, 0, length))
        buffer = np.zeros(length[0], np.uint8)
        check(lib.shunter_env_state(self.env.number, pointer(buffer), len(buffer), length))
        return buffer.tobytes()

    def restore(self, state: bytes) -> None:
        buffer = np.frombuffer(state, np.uint8)
        check(
            lib.shunter_env_restore(
                self.env.number, pointer(buffer), len(buffer), pointer(self.observations), pointer(self.masks)
            )
        )


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"mode": 6}, "mode is 6"),
        ({"lookahead": -1}, "lookahead is -1"),
        ({"window": 0}, "window is 0"),
        ({"window": 2**20}, "window is 1048576"),
        ({"dense": 2}, "dense is 2"),
        ({"weights": [float("nan")] * 10}, "a weight of the reward is NaN"),
        ({"bound_weight": float("inf")}, "a weight of the reward is inf"),
    ],
)
def test_a_wrong_configuration_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        open_env(wrong)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"table": 1}, "episode 0: table is 1"),
        ({"cluster": 7}, "episode 0: cluster is 7"),
        ({"count": 0}, "0 jobs from 0 on"),
        ({"first": 2, "count": 2}, "2 jobs from 2 on are not within a table of 3 jobs"),
        ({"first": 2**64 - 1, "count": 2}, "not within a table"),
        ({"warmup": 3}, "all of its 3 jobs are warm-up"),
        ({"scale": [0.0] * 10}, "a scale is 0"),
        ({"relative": [float("inf")] * 10}, "an objective to subtract is inf"),
    ],
)
def test_a_wrong_episode_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        open_env(episode=wrong)


def test_numbers_of_environments_and_priorities_are_checked() -> None:
    with pytest.raises(InputError, match="0 environments"):
        open_env(num_envs=0)
    with pytest.raises(InputError, match="too many"):
        open_env(num_envs=2**40)
    with pytest.raises(InputError, match="priority has 2 values; the tables have 3 jobs"):
        open_env(priority=(0.5, 0.5))
    with pytest.raises(InputError, match="not from 0 to 1"):
        open_env(priority=(0.5, 0.5, 2.0))


def test_starts_of_the_schedule_to_subtract_are_checked() -> None:
    with pytest.raises(InputError, match="relative_start_ms has 2 values; the episodes have 3 jobs"):
        open_env(relative_start_ms=(0, 1))
    with pytest.raises(InputError, match="job 2 starts at 1 in the schedule to subtract, and comes at 2"):
        open_env(relative_start_ms=(0, -(2**63), 1))
    with pytest.raises(InputError, match="job 0 starts at 9223372036854775807"):
        open_env(relative_start_ms=(2**63 - 1, -(2**63), 5))


def test_what_has_no_episode_cannot_go_on() -> None:
    play = Play(open_env())
    with pytest.raises(InputError, match="environment 0 has no episode under way"):
        play.step([0, 0])
    with pytest.raises(InputError, match="environment 1 has no episode to go on with"):
        play.reset([0, -1])
    with pytest.raises(InputError, match="episode 1 does not exist; there are 1"):
        play.reset([0, 1])
    with pytest.raises(InputError, match="an episode is -3"):
        play.reset([-3, 0])


def test_a_handle_of_another_kind_is_refused() -> None:
    jobs = opening.open_jobs([0], [1], [1])
    with pytest.raises(CoreError, match="not a vector of environments"):
        check(lib.shunter_env_reseed(jobs.number, 1))
    env = open_env()
    env.close()
    with pytest.raises(CoreError, match="not open"):
        check(lib.shunter_env_reseed(env.number, 1))


def test_null_arrays_are_refused() -> None:
    play = Play(open_env())
    play.reset([0, 0])
    nothing: list[Any] = [ffi.NULL] * 10
    with pytest.raises(InputError, match="actions is null"):
        check(lib.shunter_env_step(play.env.number, *nothing))


def test_a_copy_needs_an_environment_that_has_begun() -> None:
    play = Play(open_env())
    with pytest.raises(InputError, match="environment 0 does not exist, or has not begun"):
        opened(lib.shunter_env_fork, play.env.number, 0)
    play.reset([0, 0])
    opened(lib.shunter_env_fork, play.env.number, 1)
    with pytest.raises(InputError, match="environment 2"):
        opened(lib.shunter_env_fork, play.env.number, 2)


@HOSTILE
@given(st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(-1, ACTIONS)), max_size=12))
def test_any_action_is_survived(actions: list[tuple[int, int]]) -> None:
    play = Play(open_env())
    play.reset([0, 0])
    for pair in actions:
        before = play.masks.copy()
        play.step(list(pair))
        for row, action in enumerate(pair):
            allowed = 0 <= action < ACTIONS and bool(before[row, action])
            assert bool(play.flags[2, row]) != allowed
        assert play.masks.any(axis=1).all()
        assert ((play.observations >= 0) & (play.observations <= 1)).all()


@HOSTILE
@given(st.data())
def test_a_damaged_state_is_refused_or_is_a_state(data: st.DataObject) -> None:
    play = Play(open_env())
    play.reset([0, 0])
    play.step([1, 0])
    good = play.state()
    state = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        state[data.draw(st.integers(0, len(state) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(state)))
    try:
        play.restore(bytes(state[:cut]))
    except InputError:
        assert play.state() == good
    else:
        assert len(play.state()) == cut
