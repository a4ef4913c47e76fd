"""The objective, by numbers worked out by hand."""

from __future__ import annotations

import pytest

from shunter.errors import InputError
from shunter.policies.own import Request
from shunter.policies.placements.scene_objective import Weights
from tests.policies.placements.enumerate import all_splits, enumerate_best
from tests.policies.placements.plain_objective import can_host, objective
from tests.policies.placements.scenes import make_scene

NODES = 1e-4
"""More than the nodes of a job add."""
TWO = Request(2, 0, 0, 1000)


def test_partly_used_nodes_and_the_spread_of_free_gpus() -> None:
    scene = make_scene([8, 2, 5, 0], TWO, gpus=[8, 8, 8, 0])
    weights = Weights(1, 0.1, 0)
    # Before: nodes 1 and 2 are partly used. The last node has no GPUs, and does not count.
    assert objective(scene, [(1, 2)], weights) == pytest.approx(1 + 0.1 * 8, abs=NODES)
    assert objective(scene, [(0, 2)], weights) == pytest.approx(3 + 0.1 * 4, abs=NODES)
    assert objective(scene, [(0, 1), (2, 1)], weights) == pytest.approx(3 + 0.1 * 5, abs=NODES)


def test_hosts_are_averaged_over_the_next_waiting_jobs() -> None:
    waiting = [Request(4, 0, 0, 1000), Request(1, 0, 0, 8000), Request(1, 0, 0, 1000)]
    scene = make_scene([8, 4], TWO, waiting=waiting)
    # On node 0: 6 and 4 GPUs are left; the first fits on both, the second nowhere, the third on both.
    assert objective(scene, [(0, 2)], Weights(0, 0, 1)) == pytest.approx(-4 / 3, abs=NODES)
    assert objective(scene, [(1, 2)], Weights(0, 0, 1, k=2)) == pytest.approx(-2 / 2, abs=NODES)
    assert objective(scene, [(1, 2)], Weights(0, 0, 1, k=0)) == pytest.approx(0, abs=NODES)
    assert objective(make_scene([8, 4], TWO), [(0, 2)], Weights(0, 0, 1)) == pytest.approx(0, abs=NODES)


def test_ties_go_to_the_fewest_nodes() -> None:
    scene = make_scene([4, 4, 4], TWO)
    nothing = Weights(0, 0, 0)
    assert objective(scene, [(2, 2)], nothing) < objective(scene, [(0, 1), (1, 1)], nothing)
    best = enumerate_best(scene, nothing)
    assert best is not None
    assert len(best[1]) == 1


@pytest.mark.parametrize(
    ("job", "gpus", "hosts"),
    [
        (Request(20, 0, 0, 1000), 8, True),  # larger than the node: as much as an empty one would hold
        (Request(20, 0, 0, 1000), 7, False),
        (Request(20, 0, 0, 3000), 6, True),
        (Request(1, 0, 0, 9000), 8, False),  # no task fits
        (Request(8, 0, 0, 250), 2, True),  # four tasks share a device
        (Request(9, 0, 0, 250), 2, False),
        (Request(2, 0, 0, 600), 1, False),
        (Request(3, 0, 0, 0), 0, True),
        (Request(20, 8000, 0, 1000), 4, True),  # cores for four tasks only
        (Request(20, 0, 400, 1000), 2, True),  # memory for two
        (Request(20, 0, 400, 1000), 1, False),
    ],
)
def test_a_node_hosts_all_of_a_job_or_as_much_as_it_ever_could(job: Request, gpus: int, hosts: bool) -> None:
    scene = make_scene([8], TWO, cores=([32], [32]), memory_mb=([1000], [1000]))
    assert can_host(scene, 0, job, gpus, 32_000, 1000) == hosts


def test_cores_and_memory_bind_unless_memory_is_not_tracked() -> None:
    job = Request(2, 4000, 300, 1000)
    scene = make_scene([8], TWO, cores=([32], [32]), memory_mb=([1000], [1000]))
    assert can_host(scene, 0, job, 8, 8000, 600)
    assert not can_host(scene, 0, job, 8, 7999, 600)
    assert not can_host(scene, 0, job, 8, 8000, 599)
    assert can_host(make_scene([8], TWO), 0, job, 8, 8000, 0)


def test_enumeration_tries_every_split() -> None:
    assert sorted(all_splits(make_scene([2, 1, 2], TWO))) == [
        [(0, 1), (1, 1)],
        [(0, 1), (2, 1)],
        [(0, 2)],
        [(1, 1), (2, 1)],
        [(2, 2)],
    ]
    assert sorted(all_splits(make_scene([2, 1, 2], TWO, pool=[0, 0, 1]))) == [[(0, 1), (1, 1)], [(0, 2)], [(2, 2)]]
    assert enumerate_best(make_scene([1], TWO), Weights()) is None


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"alpha": float("inf")}, "alpha is inf; expected a finite number"),
        ({"beta": -0.5}, "beta is -0.5; expected a finite number, 0 or more"),
        ({"gamma": float("nan")}, "gamma is nan; expected a finite number, 0 or more"),
        ({"k": -1}, "k is -1; expected a whole number, 0 or more"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Weights(**weights)  # type: ignore[arg-type]
