"""What keeps jobs from waiting, as C hands it over: what is wrong with it is an error, never a crash."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shunter.errors import InputError
from shunter.native import ffi, pointer
from tests.abi import opening
from tests.abi.opening import Config
from tests.abi.scene import CANCELLED, COMPLETED, FUTURE, Scene

NO_TIME = -(2**63)
TYPES = {
    **dict.fromkeys(("fails", "single", "dependency"), np.uint8),
    **dict.fromkeys(("dependent", "depends_on"), np.uint32),
}
"""Of the arrays that do not hold 64 bits."""


def conditions(**arrays: list[int]) -> tuple[Any, list[Any]]:
    """Returns the structure, and what it points to."""
    made = {name: np.array(values, dtype=TYPES.get(name, np.int64)) for name, values in arrays.items()}
    counts = {"arrays": len(arrays.get("array_limit", [])), "dependencies": len(arrays.get("dependent", []))}
    told = ffi.new("ShunterConditions *", {**{name: pointer(array) for name, array in made.items()}, **counts})
    return told, list(made.values())


def run(**arrays: list[int]) -> Scene:
    """Runs three jobs of 10 s and one core, all submitted at 0, on three cores."""
    told, kept = conditions(**arrays)
    jobs = opening.open_jobs([0, 0, 0], [10_000] * 3, [1000] * 3, conditions=told)
    del kept
    scene = Scene(opening.open_cluster([3000]), jobs, 3, Config())
    scene.run(1000)
    return scene


def test_jobs_wait_for_their_time_for_others_and_for_a_place() -> None:
    scene = run(not_before_ms=[5000, NO_TIME, NO_TIME])
    assert scene.states()["start_ms"] == [5000, 0, 0]
    scene = run(dependent=[0, 1], depends_on=[1, 2], dependency=[1, 2])
    assert scene.states()["start_ms"] == [20_000, 10_000, 0]
    scene = run(array=[0, 0, 0], array_limit=[1])
    assert scene.states()["start_ms"] == [0, 10_000, 20_000]
    scene = run(group=[0, 0, 0], single=[0, 1, 1])
    assert scene.states()["start_ms"] == [0, 10_000, 20_000]


def test_jobs_wait_longer_than_for_others_and_come_after_others() -> None:
    scene = run(dependent=[0, 1], depends_on=[1, 2], dependency=[0, 2], delay_ms=[7000, 1000])
    assert scene.states()["start_ms"] == [18_000, 11_000, 0]
    scene = run(dependent=[0, 1], depends_on=[1, 2], dependency=[4, 4])
    assert scene.states()["start_ms"] == [20_000, 10_000, 0]
    # One that follows itself never comes.
    assert run(dependent=[0], depends_on=[0], dependency=[4]).states()["phase"] == [FUTURE, COMPLETED, COMPLETED]


def test_jobs_leave() -> None:
    scene = run(not_before_ms=[5000, NO_TIME, NO_TIME], cancel_ms=[4000, 20_000, NO_TIME])
    assert scene.states()["phase"] == [CANCELLED, COMPLETED, COMPLETED]
    # Two jobs that wait for each other are no matter of the core's: nothing more happens.
    assert run(dependent=[0, 1], depends_on=[1, 0], dependency=[2, 2]).states()["phase"][2] == COMPLETED


@pytest.mark.parametrize(
    "arrays",
    [
        {"not_before_ms": [2**60, 0, 0]},
        {"cancel_ms": [0, -(2**62), 0]},
        {"dependent": [0], "depends_on": [3], "dependency": [0]},
        {"dependent": [2**32 - 1], "depends_on": [0], "dependency": [0]},
        {"dependent": [0], "depends_on": [1], "dependency": [5]},
        {"dependent": [0], "depends_on": [1], "dependency": [2], "delay_ms": [-1]},
        {"dependent": [0], "depends_on": [1], "dependency": [2], "delay_ms": [2**60]},
        {"dependent": [0, 0], "depends_on": [1, 1], "dependency": [4, 4], "delay_ms": [5, 6]},
        {"group": [0, 3, 0], "single": [0, 0, 1]},
        {"group": [0, -2, 0]},
        {"single": [0, 0, 1]},
        {"group": [0, -1, 0], "single": [0, 1, 0]},
        {"array": [0, 0, 0]},
        {"array": [0, 1, 0], "array_limit": [1]},
        {"array": [0, 0, 0], "array_limit": [0]},
        {"array": [0, 0, 0], "array_limit": [2**40]},
    ],
)
def test_what_is_wrong_is_an_error(arrays: dict[str, list[int]]) -> None:
    with pytest.raises(InputError):
        run(**arrays)


def test_a_dependency_without_its_arrays_is_an_error() -> None:
    told, _ = conditions(dependent=[0])
    with pytest.raises(InputError, match="depends_on is null"):
        opening.open_jobs([0, 0, 0], [10_000] * 3, [1000] * 3, conditions=told)
