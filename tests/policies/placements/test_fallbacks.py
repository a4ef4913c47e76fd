"""What stands in where the solver has no optimum, and how it is told."""

from __future__ import annotations

import sys

import pytest

from shunter.model.cluster import Cluster
from shunter.policies.own import Request
from shunter.policies.placements.milp import MilpPlacer, fewest_nodes, tiered_defrag
from shunter.policies.placements.solver import Model, NoSolution, Solver
from shunter.workloads import read_workload
from tests.policies.placements.scenes import make_scene

# The first tier of the defrag order fills node 1.
SCENE = make_scene([8, 4, 6], Request(4, 0, 0, 1000))


@pytest.mark.parametrize("full", [False, True])
def test_no_time_falls_back_and_is_counted(full: bool) -> None:
    placer = MilpPlacer(full=full, time_limit_s=0)
    assert placer.place(SCENE) == placer.place(SCENE) == [(1, 4)]
    assert placer.fallbacks == {"no optimum in time": 2}
    rule = f"{placer.name}: no optimum in time: tiered-defrag stands in"
    assert placer.ledger() == [(rule, 2, "job 7 at 100 s: time_limit_s is 0")]


@pytest.mark.parametrize("full", [False, True])
def test_an_absent_solver_falls_back_and_is_counted(full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    placer = MilpPlacer(full=full)
    assert placer.place(SCENE) == [(1, 4)]
    assert placer.fallbacks == {"the solver is absent": 1}
    assert "highspy" in placer.ledger()[0][2]


def test_a_job_that_needs_many_nodes_has_no_option_and_gets_the_fewest() -> None:
    placer = MilpPlacer()
    scattered = make_scene([2, 3, 1, 2], Request(7, 0, 0, 1000))
    assert placer.place(scattered) == [(0, 2), (1, 3), (3, 2)]
    assert placer.fallbacks == {"no feasible placement in the model": 1}
    assert MilpPlacer(full=True).solve(scattered)[0] == pytest.approx(1 + 0.1 * 1, abs=1e-4)


@pytest.mark.parametrize("full", [False, True])
def test_a_job_that_does_not_fit_does_not_start(full: bool) -> None:
    placer = MilpPlacer(full=full)
    assert placer.place(make_scene([2, 3], Request(6, 0, 0, 1000))) is None
    assert placer.place(make_scene([0, 0], Request(1, 0, 0, 1000))) is None
    assert placer.place(make_scene([2, 2], Request(3, 0, 0, 1000), pool=[0, 1])) is None
    assert placer.fallbacks == {"no feasible placement in the model": 3}


def test_a_failure_of_the_solver_is_told() -> None:
    broken = Model(cost=[1.0], lower=[0.0], upper=[1.0], whole=[1])
    broken.add_row([5], [1.0], 0, 1)
    with pytest.raises(NoSolution, match="the solver has failed"):
        Solver(1.0).solve(broken)


def test_what_the_solver_raises_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr("highspy.Highs.run", fail)
    placer = MilpPlacer(full=True)
    assert placer.place(SCENE) == [(1, 4)]
    assert placer.ledger() == [
        (
            "milp-full: the solver has failed: tiered-defrag stands in",
            1,
            "job 7 at 100 s: RuntimeError: out of memory",
        )
    ]


def test_a_run_starts_with_nothing_counted() -> None:
    placer = MilpPlacer(time_limit_s=0)
    placer.place(SCENE)
    placer.begin(read_workload("generate:lublin?seed=3&jobs=10&cores=64"), Cluster.pool(64))
    assert placer.fallbacks == {}
    assert placer.ledger() == []


@pytest.mark.parametrize("gpu_milli", [0, 250])
def test_jobs_without_whole_gpus_get_the_fewest_nodes(gpu_milli: int) -> None:
    scene = make_scene([8, 8, 8], Request(5, 1000, 0, gpu_milli), cores=([3, 4, 2], [8, 8, 8]))
    placer = MilpPlacer()
    # Node 1 is the greatest; the last task goes where it is tightest.
    assert placer.place(scene) == [(1, 4), (2, 1)]
    assert placer.fallbacks == {}


def test_fractions_keep_to_one_type_and_jobs_without_gpus_need_not() -> None:
    cores = ([2, 2], [8, 8])
    assert fewest_nodes(make_scene([8, 8], Request(3, 1000, 0, 100), pool=[0, 1], cores=cores)) is None
    assert fewest_nodes(make_scene([8, 8], Request(3, 1000, 0, 0), pool=[0, 1], cores=cores)) == [(0, 2), (1, 1)]


def test_the_second_tier_and_the_fewest_nodes_stand_in_in_this_order() -> None:
    first = make_scene([8, 4], Request(8, 0, 0, 1000))
    assert tiered_defrag(first) == [(0, 8)]
    second = make_scene([3, 5, 1], Request(8, 0, 0, 1000))
    assert tiered_defrag(second) == [(0, 3), (1, 5)]
    neither = make_scene([8, 8, 2], Request(3, 0, 0, 6000))
    assert tiered_defrag(neither) is None
    two_sizes = make_scene([4, 4, 8], Request(8, 0, 0, 1000), gpus=[4, 4, 8])
    assert tiered_defrag(two_sizes) == [(2, 8)]
