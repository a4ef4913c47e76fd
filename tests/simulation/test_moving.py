"""Orders that move, worked out by hand: who has used how much, what is drawn, who is held back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from shunter import Cluster
from shunter.simulation import simulate
from tests.properties.core_adapter import workload_of
from tests.properties.crowds import crowd, crowd_config
from tests.reference.model import Config, RefJob
from tests.simulation.driving import open_scene
from tests.simulation.estimating import job, opened


def starts_s(jobs: Sequence[RefJob], cores: int, policy: str, dispatch: str = "strict", **more: Any) -> list[float]:  # noqa: ANN401
    """Returns when the jobs start."""
    schedule = simulate(workload_of(jobs), Cluster.pool(cores), policy=policy, dispatch=dispatch, **more)
    times: list[float] = schedule.start_s.tolist()
    return times


# ---- fair share ----

AGED = [job(0, 10), job(1, 8, user="bob"), job(12, 1, user="bob"), job(12, 1)]
"""On one core: ann's from 0 to 10 s, bob's from 10 to 18 s, then one of each."""


def test_use_that_does_not_fade() -> None:
    # At 18 s, ann has used 10 core-seconds and bob 8.
    assert starts_s(AGED, 1, "fair-share?half_life_s=1e9") == [0, 10, 18, 19]


def test_use_that_fades() -> None:
    # With a half-life of 10 s, ann's use is 10/ln 2 · (1 - 2^-1) · 2^-0.8 = 4.14, bob's 10/ln 2 · (1 - 2^-0.8) = 6.14.
    assert starts_s(AGED, 1, "fair-share?half_life_s=10") == [0, 10, 19, 18]


def test_running_jobs_are_being_used() -> None:
    jobs = [job(0, 100), job(0, 20, user="bob"), job(1, 39, user="eve"), job(30, 1), job(30, 1, user="bob")]
    # At 59 s, ann's first job still runs, and has used 59 core-seconds; bob's 20.
    assert starts_s(jobs, 2, "fair-share?half_life_s=1e9") == [0, 0, 20, 60, 59]


def test_cores_count_not_jobs() -> None:
    jobs = [job(0, 4, tasks=3), job(1, 10, user="bob", tasks=1), job(2, 1, tasks=3), job(2, 1, user="bob", tasks=3)]
    # At 14 s, ann has used 12 core-seconds in 4 s, bob 10 in 10 s.
    assert starts_s(jobs, 3, "fair-share?half_life_s=1e9") == [0, 4, 15, 14]


def test_jobs_without_a_user_are_one_users() -> None:
    jobs = [job(0, 5, user=None), job(1, 5, user="bob"), job(2, 1, user=None), job(2, 1)]
    assert starts_s(jobs, 1, "fair-share") == [0, 5, 11, 10]


def test_shares(tmp_path: Path) -> None:
    jobs = [job(0, 10), job(1, 16, user="bob"), job(2, 1, user="bob"), job(2, 1)]
    assert starts_s(jobs, 1, "fair-share?half_life_s=1e9") == [0, 10, 27, 26]
    path = tmp_path / "shares.toml"
    path.write_text('[policy]\nkind = "fair-share"\nhalf_life_s = 1e9\n[policy.shares]\nbob = 2\n')
    # 10 core-seconds of a third are more than 16 of two thirds.
    assert starts_s(jobs, 1, str(path)) == [0, 10, 26, 27]


def test_a_preempted_job_is_charged_for_what_it_ran() -> None:
    jobs = [job(0, 50), job(1, 9, user="bob"), job(1, 9, user="eve")]
    simulation = opened(jobs, policy="fair-share?half_life_s=1e9", dispatch="strict")
    simulation.run(1)
    simulation.advance()
    assert simulation.status().now_s == 1
    simulation.preempt(0)
    # Ann has used a second, the others nothing.
    assert simulation.waiting().tolist() == [1, 2, 0]
    simulation.dispatch()
    simulation.advance()
    assert (simulation.status().now_s, simulation.waiting().tolist()) == (10, [2, 0])


def test_age_counts_no_more_than_the_oldest() -> None:
    jobs = [job(0, 20), job(1, 1), job(8, 1), job(15, 1, tasks=1)]
    jobs[2] = replace(jobs[2], tasks=2)
    policy = "multifactor?age=10&max_age_s=10&size=2&fair_share=0"
    # At 20 s the waits are 19, 12 and 5 s: the first two are equally old, so that the larger one goes first.
    assert starts_s([replace(jobs[0], tasks=2), *jobs[1:]], 2, policy) == [0, 21, 20, 21]


# ---- random-feasible ----


def test_no_job_that_fits_is_left_waiting() -> None:
    random = Random("feasible")
    for seed in range(40):
        scene = crowd(random)
        config = replace(crowd_config(random, "greedy"), policy="random-feasible", seed=seed, max_wait_ms=None)
        simulation = open_scene(scene, config)
        while simulation.advance():
            simulation.dispatch()
            assert not any(simulation.fits(waiting) for waiting in simulation.waiting().tolist())
        assert simulation.status().ended == len(scene.jobs)


def test_each_job_that_fits_is_as_likely_as_another() -> None:
    jobs = [job(0, 1), job(0, 1, 9), job(0, 1, tasks=1, user=None), job(0, 1, tasks=2)]
    firsts = Counter(starts_s(jobs, 1, "random-feasible", "greedy", seed=seed)[:3].index(0) for seed in range(300))
    assert sorted(firsts) == [0, 1, 2]
    assert all(75 < count < 125 for count in firsts.values())


def test_orders_are_drawn_anew_at_every_pass() -> None:
    jobs = [job(0, 100, tasks=4), *(job(1, 1) for _ in range(9)), *(job(second, 1) for second in range(2, 9))]
    simulation = opened(jobs, 4, policy="random-feasible")
    orders = []
    while simulation.advance() and simulation.status().now_s < 100:
        orders.append(tuple(waiting for waiting in simulation.waiting().tolist() if 1 <= waiting <= 9))
        simulation.dispatch()
    assert [sorted(order) for order in orders] == [[], *[list(range(1, 10))] * 8]
    assert len(set(orders)) == len(orders)


# ---- linear: who may hold a reservation ----

BLOCKED = [job(0, 100, 100, tasks=3), job(1, 50, 50, tasks=4), job(2, 200, 200)]
"""On 4 cores: the second waits for the first, the third would fit beside that one but delay the second."""
BY_SIZE = "linear?estimate=0&cores=-1"
"""The score is -ln(n/N): 0 for the second job, 1.39 for the third."""


@pytest.mark.parametrize("dispatch", ["easy", "conservative", "strict"])
@pytest.mark.parametrize(
    ("threshold", "expected"), [("inf", [0, 100, 150]), ("0", [0, 100, 150]), ("-0.001", [0, 202, 2])]
)
def test_a_job_above_the_threshold_is_passed_over(dispatch: str, threshold: str, expected: list[float]) -> None:
    assert starts_s(BLOCKED, 4, f"{BY_SIZE}&reserve_below={threshold}", dispatch) == expected


@pytest.mark.parametrize("dispatch", ["2", "conservative"])
@pytest.mark.parametrize(("threshold", "reserved"), [("inf", [-1, 100_000, 150_000]), ("0", [-1, 100_000, -1])])
def test_a_job_above_the_threshold_holds_none(dispatch: str, threshold: str, reserved: list[int]) -> None:
    # The third fits beside the first, but would delay the second.
    simulation = opened(BLOCKED, 4, policy=f"{BY_SIZE}&reserve_below={threshold}", dispatch=dispatch)
    simulation.run(3)
    assert simulation.job_states().reserved_ms.tolist() == reserved


def test_a_job_that_starves_holds_one_whatever_its_score() -> None:
    late = [*BLOCKED[:2], job(20, 200, 200)]
    assert starts_s(late, 4, f"{BY_SIZE}&reserve_below=-9", "easy") == [0, 220, 20]
    assert starts_s(late, 4, f"{BY_SIZE}&reserve_below=-9", "easy", max_wait_s=10.0) == [0, 100, 150]


# ---- linear: who is held back ----

HOLD = "linear?hold_share=0.2&hold_from_s=100"
"""A job of 1000 s leaves 0.2·ln 10 = 0.46 of the cores free."""


def held(cores: int, estimate_s: float = 1000, *more: RefJob, **settings: Any) -> float:  # noqa: ANN401
    """Returns when a job starts on 10 cores, of which another one holds 1 until 500 s, submitted at 1 s."""
    jobs = [job(0, 500, 1), job(1, 10, estimate_s, tasks=cores), *more]
    return starts_s(jobs, 10, settings.pop("policy", HOLD), settings.pop("dispatch", "easy"), **settings)[1]


@pytest.mark.parametrize("dispatch", ["strict", "greedy", "easy", "conservative"])
def test_a_long_job_leaves_room(dispatch: str) -> None:
    assert held(4, dispatch=dispatch) == 1, "0.5 of the cores stay free"
    assert held(5, dispatch=dispatch) == 500, "0.4 would; it starts when nothing else runs"


@pytest.mark.parametrize(("estimate_s", "expected"), [(100, 1), (164, 1), (166, 500)])
def test_how_long_is_long(estimate_s: float, expected: float) -> None:
    # 9 cores leave none: whatever has to stay free is too much, unless the estimate is not above 100 s. With 8 cores,
    # 0.1 stays free: 0.2·ln(r/100) is more from r = 164.9 s on.
    assert held(9, 100.0) == 1
    assert held(9, 100.5) == 500
    assert held(8, estimate_s) == expected


def test_patience_ends_it() -> None:
    policy = f"{HOLD}&hold_patience_s=50"
    ticks = [job(second, 0) for second in (30, 50, 51, 60)]
    # Nothing happens at 51 s unless somebody comes: the gate makes no instants.
    assert held(5, 1000, *ticks, policy=policy) == 51
    assert held(5, 1000, *ticks[:2], ticks[3], policy=policy) == 60
    assert held(5, 1000, policy=policy) == 500


def test_the_starvation_guard_opens_the_gate() -> None:
    assert held(5, 1000, max_wait_s=70.0) == 71


@pytest.mark.parametrize("rule", ["committed", "committed-backfill"])
def test_the_committed_rules_know_no_gate(rule: str) -> None:
    assert held(5, 1000, dispatch=rule) == 1
    assert starts_s(BLOCKED, 4, f"{BY_SIZE}&reserve_below=-9", rule)[1] == 100


def test_the_gate_sees_what_is_free_when_a_job_has_its_turn() -> None:
    # Both would leave half of the cores free alone; the shorter estimate goes first, and the other would leave 0.1.
    jobs = [job(0, 500, 1), job(1, 10, 999, tasks=4), job(1, 10, 1000, tasks=4)]
    assert starts_s(jobs, 10, HOLD, "easy") == [0, 1, 11]


def test_a_plain_linear_policy_is_sjf() -> None:
    random = Random("linear")
    for _ in range(20):
        scene = crowd(random)
        # A logarithm takes no estimate for shorter than a second.
        jobs = tuple(replace(one, requested_ms=max(1000, one.requested_ms or 0)) for one in scene.jobs)
        ended = []
        for policy in ("linear", "sjf"):
            simulation = open_scene(replace(scene, jobs=jobs), Config(policy=policy, dispatch="easy"))
            simulation.run()
            ended.append(simulation.job_states().end_ms.tolist())
        assert ended[0] == ended[1]
