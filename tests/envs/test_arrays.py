"""Arrays for `step_into` and its kin: what cannot be used is refused in one line."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shunter.envs import NativeVectorEnv, StepArrays, make_vec
from shunter.envs.arrays import as_actions
from shunter.errors import InputError

WAIT = np.zeros(2, np.int32)


@pytest.fixture
def vector() -> NativeVectorEnv:
    """Returns two environments with three hosts, under way."""
    made = make_vec("shunter/PickHost-v0", 2, num_hosts=3, episode_length=4, episodes=2)
    made.reset(seed=0)
    return made


def shifted(array: NDArray[Any]) -> NDArray[Any]:
    """Returns a copy whose values do not lie where numbers of their size should."""
    buffer = np.zeros(array.nbytes + 1, np.uint8)[1:]
    return buffer.view(array.dtype).reshape(array.shape)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


@pytest.mark.every(6)
@pytest.mark.parametrize("name", [field.name for field in fields(StepArrays)])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda array: array[:1], r": the array is \w+ \(1.*; expected \w+ \(2.*\), contiguous"),
        (lambda array: array.astype(np.float16), r": the array is float16 .*; expected"),
        (lambda array: array.astype(array.dtype.newbyteorder() if array.itemsize > 1 else "i1"), ": the array is "),
        (lambda array: np.repeat(array, 2, axis=0)[::2], ": the array is .*, not contiguous; expected"),
        (read_only, ": the array is read-only; give one that can be written, or a copy"),
        (lambda array: array.tolist(), ": this is list; expected an array, "),
    ],
    ids=["shape", "type", "byte order", "stride", "read-only", "list"],
)
def test_arrays_that_cannot_be_used(
    vector: NativeVectorEnv, name: str, change: Callable[[NDArray[Any]], Any], message: str
) -> None:
    arrays = vector.step_arrays()
    wrong = replace(arrays, **{name: change(getattr(arrays, name))})
    with pytest.raises(InputError, match=name + message):
        vector.step_into(WAIT, wrong)
    vector.step_into(WAIT, vector.step_arrays())


def test_arrays_that_are_not_aligned(vector: NativeVectorEnv) -> None:
    arrays = vector.step_arrays()
    with pytest.raises(InputError, match=r"rewards: the array is float64 \(2,\), not aligned; expected"):
        vector.step_into(WAIT, replace(arrays, rewards=shifted(arrays.rewards)))


def test_arrays_that_share_memory(vector: NativeVectorEnv) -> None:
    arrays = vector.step_arrays()
    with pytest.raises(InputError, match="observations share memory; give each an array of its own"):
        vector.step_into(WAIT, replace(arrays, final_observations=arrays.observations))
    flags = np.zeros(3, np.bool_)
    with pytest.raises(InputError, match="terminated and truncated share memory"):
        vector.step_into(WAIT, replace(arrays, terminated=flags[:2], truncated=flags[1:]))
    both = np.zeros(4, np.bool_)
    vector.step_into(WAIT, replace(arrays, terminated=both[:2], truncated=both[2:]))
    with pytest.raises(InputError, match="share memory"):
        vector.step_into(arrays.rewards.view(np.int32)[1:3], arrays)
    whole = arrays.observations.view(np.uint8).reshape(-1)
    with pytest.raises(InputError, match="observations and masks share memory"):
        vector.reset_into(arrays.observations, whole[4:10].view(np.bool_).reshape(2, 3))


@pytest.mark.parametrize(
    "actions",
    [np.zeros(3, np.int32), np.zeros(2, np.int64), np.zeros((2, 1), np.int32), np.zeros(4, np.int32)[::2], [0, 0]],
)
def test_actions_that_cannot_be_used(vector: NativeVectorEnv, actions: Any) -> None:  # noqa: ANN401 - many kinds
    with pytest.raises(InputError, match=r"actions: .*; expected .*int32 \(2,\), contiguous"):
        vector.step_into(actions, vector.step_arrays())


def test_actions_may_be_read_only(vector: NativeVectorEnv) -> None:
    vector.step_into(read_only(np.zeros(2, np.int32)), vector.step_arrays())


def test_resets_and_states_check_their_arrays_too(vector: NativeVectorEnv) -> None:
    arrays = vector.step_arrays()
    state, frozen = vector.state(), read_only(arrays.masks.copy())
    with pytest.raises(InputError, match="masks: the array is read-only"):
        vector.load_state(state, arrays.observations, frozen)
    with pytest.raises(InputError, match="masks: the array is read-only"):
        vector.reset_into(arrays.observations, frozen)
    with pytest.raises(InputError, match=r"episodes: the array is float64 \(2,\); expected int64 \(2,\)"):
        vector.reset_into(arrays.observations, arrays.masks, np.zeros(2))  # type: ignore[arg-type]


def test_arrays_are_checked_once_and_forgotten_with_their_object(vector: NativeVectorEnv) -> None:
    known = vector._arrays._steps
    before = len(known)
    arrays = vector.step_arrays()
    vector.step_into(WAIT, arrays)
    checked = known[arrays]
    vector.step_into(WAIT, arrays)
    assert known[arrays] is checked
    del arrays
    gc.collect()
    assert len(known) == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0.0, 1.0], "actions are float64; expected whole numbers"),
        ([2**40, 1], "an action is 1099511627776; expected the number of an action"),
        ([2**70, 1], "actions are object; expected whole numbers"),
        (["a", "b"], "actions are <U1; expected whole numbers"),
    ],
)
def test_actions_of_gymnasiums_step(vector: NativeVectorEnv, given: Any, message: str) -> None:  # noqa: ANN401 - any
    with pytest.raises(InputError, match=message):
        vector.step(given)
    assert as_actions(np.array([2, 1], np.uint8)).tolist() == [2, 1]
