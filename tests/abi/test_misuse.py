"""Calls of which each is well formed, but that do not go together: the state stays sound, or the call is refused."""

from __future__ import annotations

from typing import Any

import pytest

from shunter._core import ffi, lib
from shunter.errors import InputError
from shunter.native import opened
from tests.abi import opening
from tests.abi.opening import Config
from tests.abi.saved import saved_words, sealed
from tests.abi.scene import COMPLETED, FUTURE, REJECTED, RUNNING, WAITING, Scene


def three_jobs(config: Config | None = None) -> Scene:
    """Opens a simulation of three jobs on a pool, of which the first leaves no room for the others."""
    jobs = opening.open_jobs([0, 1, 2], [10_000, 5000, 1000], [3000, 2000, 4000])
    return Scene(opening.open_cluster([4000]), jobs, 3, config)


def two_jobs() -> Scene:
    """Opens a simulation of two jobs on two nodes with a GPU each; the first job wants a GPU."""
    cluster = opening.open_cluster([4000, 4000], gpus=[1, 1])
    return Scene(cluster, opening.open_jobs([0, 1000], [10_000, 5000], [2000, 2000], gpu_milli=[1000, 0]), 2)


def reserved() -> Scene:
    """Opens a simulation in which job 0 runs and job 1 holds a reservation."""
    simulation = three_jobs(Config(reservation_depth=2))
    simulation.run(2)
    assert simulation.states()["reserved_ms"][1] == 10_000
    return simulation


# ---- driving ----


def test_a_committed_job_that_is_dispatched_again_starts_once() -> None:
    simulation = three_jobs(Config(dispatch=opening.COMMITTED))
    simulation.run(2)
    assert simulation.states()["phase"] == [RUNNING, WAITING, FUTURE]
    simulation.preempt(0)
    simulation.dispatch([1])
    simulation.advance()
    assert simulation.status()["starts"] == 2


def test_both_ways_of_dispatching_together_never_overbook() -> None:
    jobs = opening.open_jobs([0, 1, 2], [10_000, 30_000, 20_000], [3000, 4000, 1000])
    simulation = Scene(opening.open_cluster([4000]), jobs, 3, Config(policy=1))
    simulation.run(1)
    simulation.advance()
    simulation.dispatch([1])
    simulation.run(1)
    simulation.advance()
    simulation.dispatch([1])
    assert simulation.status()["free_cores_milli"] >= 0


@pytest.mark.parametrize("rule", [opening.COMMITTED, opening.COMMITTED_BACKFILL])
def test_an_empty_order_starts_nothing(rule: int) -> None:
    simulation = three_jobs(Config(dispatch=rule))
    simulation.advance()
    simulation.dispatch([])
    assert simulation.status()["starts"] == 0


def test_a_run_is_not_over_while_a_preempted_job_waits() -> None:
    simulation = Scene(opening.open_cluster([4000]), opening.open_jobs([0], [1000], [1000]), 1)
    simulation.run(1)
    simulation.preempt(0)
    simulation.run()
    assert simulation.states()["phase"] == [COMPLETED]


def test_a_job_of_another_partition_does_not_fit() -> None:
    jobs = opening.open_jobs([0], [1000], [1000], partition=[5])
    simulation = Scene(opening.open_cluster([4000], partition=[0]), jobs, 1)
    assert not simulation.fits(0)


@pytest.mark.parametrize("function", ["shunter_simulation_run", "shunter_simulation_advance"])
def test_a_refused_call_changes_nothing(function: str) -> None:
    simulation = three_jobs()
    before = simulation.serialize()
    arguments = [5] if function.endswith("run") else []
    assert getattr(lib, function)(simulation.number, *arguments, ffi.NULL) < 0
    assert simulation.serialize() == before


def test_a_handle_that_cannot_be_given_is_not_kept() -> None:
    simulation = three_jobs()
    slots = set()
    for _ in range(3):
        copy = opened(lib.shunter_simulation_fork, simulation.number)
        slots.add(copy.number % 2**32)
        copy.close()
        assert lib.shunter_simulation_fork(simulation.number, ffi.NULL) < 0
    assert len(slots) == 1, "the slot of a closed handle is the first to be used again"


def test_a_cluster_has_no_negative_number_of_cores() -> None:
    try:
        cluster = opening.open_cluster([10**15] * 9300)
    except InputError:
        return
    assert Scene(cluster, opening.open_jobs([0], [1], [1000]), 1).status()["free_cores_milli"] > 0


# ---- saving ----


def test_a_state_with_a_holder_started_from_outside_can_be_restored() -> None:
    simulation = reserved()
    simulation.preempt(0)
    simulation.start(1)
    assert simulation.restore(simulation.serialize()).states() == simulation.states()


def test_a_state_after_both_ways_of_dispatching_can_be_restored() -> None:
    simulation = three_jobs(Config(reservation_depth=1))
    simulation.run(1)
    simulation.advance()
    simulation.dispatch([1])
    while simulation.states()["phase"][1] == WAITING:
        simulation.run(1)
    assert simulation.restore(simulation.serialize()).states() == simulation.states()


def test_a_job_that_ran_too_long_before_the_snapshot_can_be_preempted_and_restored() -> None:
    simulation = two_jobs()
    places: dict[str, Any] = {"nodes": [[(0, 1)], []], "devices": [[(0, 1000)], []]}
    simulation.load(20_000, [RUNNING, WAITING], start_ms=[0, -1], **places)
    simulation.preempt(0)
    assert simulation.restore(simulation.serialize()).states() == simulation.states()


def test_the_checksum_is_understood() -> None:
    simulation = reserved()
    assert sealed(saved_words(simulation)) == simulation.serialize()


def test_a_saved_state_with_something_behind_it_is_refused() -> None:
    simulation = reserved()
    with pytest.raises(InputError):
        simulation.restore(sealed([*saved_words(simulation), 7]))


def test_a_saved_state_that_puts_a_job_first_without_a_guard_is_refused() -> None:
    simulation = Scene(
        opening.open_cluster([1000]),
        opening.open_jobs([0, 0, 0], [9, 8, 1], [1000] * 3),
        3,
        Config(policy=1, dispatch=opening.STRICT),
    )
    simulation.run(1)
    words = saved_words(simulation)
    # The fifth last of a waiting job's words says whether the guard has put it first; the running job has 22 words,
    # and the last two of all say that nobody looks at it again, and that nothing was stopped.
    is_first = len(words) - 2 - 22 - 5
    assert words[is_first : is_first + 5] == [0, 0, 0, 0, 0]
    words[is_first] = 1
    with pytest.raises(InputError):
        simulation.restore(sealed(words))


# ---- snapshots ----


IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "a job is to come whose submit time is past": {"now_ms": 5000, "phase": [FUTURE, FUTURE]},
    "a job waits before its submit time": {"now_ms": 0, "phase": [WAITING, WAITING]},
    "a job has ended on a node that is not there": {
        "phase": [COMPLETED, FUTURE],
        "start_ms": [0, -1],
        "end_ms": [10, -1],
        "nodes": [[(12_345, 1)], []],
    },
    "a job has ended before it started": {"phase": [COMPLETED, FUTURE], "start_ms": [99, -1], "end_ms": [5, -1]},
    "a job will have ended": {"phase": [COMPLETED, FUTURE], "start_ms": [0, -1], "end_ms": [10**12, -1]},
    "a job to come has a node": {"phase": [FUTURE, FUTURE], "nodes": [[(0, 1)], []]},
    "a job was rejected that fits": {"phase": [REJECTED, FUTURE]},
    "a job has a device of another node": {
        "phase": [RUNNING, FUTURE],
        "start_ms": [0, -1],
        "nodes": [[(0, 1)], []],
        "devices": [[(1, 1000)], []],
    },
    "a whole device is halves of two": {
        "phase": [RUNNING, FUTURE],
        "start_ms": [0, -1],
        "nodes": [[(0, 1)], []],
        "devices": [[(0, 500), (1, 500)], []],
    },
}


@pytest.mark.parametrize("told", IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_an_impossible_snapshot_is_refused(told: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        two_jobs().load(**{"now_ms": 100, **told})


def test_a_snapshot_names_each_node_of_a_job_once() -> None:
    simulation = Scene(opening.open_cluster([4000]), opening.open_jobs([0], [1000], [1000], tasks=[2]), 1)
    with pytest.raises(InputError):
        simulation.load(0, [RUNNING], start_ms=[0], nodes=[[(0, 1), (0, 1)]])


def test_jobs_that_wait_in_a_snapshot_are_run() -> None:
    simulation = two_jobs()
    simulation.load(5000, [WAITING, WAITING])
    simulation.run()
    assert simulation.states()["phase"] == [COMPLETED, COMPLETED]
