"""Estimates on tiny workloads, worked out by hand: what is learned when, and what stands in until then."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shunter import Cluster, Policy, QueueView, Schedule
from shunter.simulation import simulate
from tests.properties.core_adapter import workload_of
from tests.reference.model import RefJob
from tests.simulation.estimating import job, opened, seen, told, write_prior


@pytest.fixture
def posterior(tmp_path: Path) -> str:
    """A posterior with a prior of few digits."""
    return write_prior(tmp_path)


def run(jobs: Sequence[RefJob], cores: int = 1, **settings: Any) -> Schedule:  # noqa: ANN401
    """Simulates the jobs, one after the other unless there are more cores."""
    return simulate(workload_of(jobs), Cluster.pool(cores), **settings)


def starts_s(schedule: Schedule) -> list[float]:
    """Returns when the jobs start."""
    times: list[float] = schedule.start_s.tolist()
    return times


# ---- last-two ----


def test_last_two_changes_when_the_second_job_has_ended() -> None:
    jobs = [job(0, 10), job(0, 20), job(1, 4)]
    simulation = opened(jobs, estimate="last-two")
    asked = (200_000, "request")
    passes = []
    while simulation.advance():
        passes.append((simulation.status().now_s, told(simulation)))
        simulation.dispatch()
    assert passes == [
        (0, [asked] * 3),
        (1, [asked] * 3),
        (10, [asked] * 3),
        # The run times of the first two were 10 s and 20 s; what was seen when they started stays.
        (30, [asked, asked, (15_000, "learned")]),
    ]


def test_last_two_forgets_all_but_the_last_two_in_the_order_of_their_ends() -> None:
    jobs = [job(0, 1), job(0, 2.001), job(0, 4), job(0, 100)]
    means_ms = [estimate_ms for estimate_ms, basis in seen(jobs, estimate="last-two") if basis == "learned"]
    assert means_ms == [1500, 3000], "whole milliseconds, rounded down"
    # On two cores the first one ends last: before it, the one of 2 s did.
    assert seen([job(0, 50), job(0, 1), job(0, 2), job(60, 1)], 2, estimate="last-two")[3] == (26_000, "learned")


def test_last_two_does_not_stop_at_the_request() -> None:
    assert seen([job(0, 30), job(0, 40), job(0, 1, 7)], estimate="last-two")[2] == (35_000, "learned")


def test_last_two_learns_of_each_user_alone_and_of_nobody_nothing() -> None:
    jobs = [job(0, 1), job(0, 1), job(0, 5, user="bob"), job(0, 5, user=None), job(0, 5, user=None)]
    late = [job(9, 1), job(9, 1, user="bob"), job(9, 1, user=None)]
    assert seen([*jobs, *late], estimate="last-two")[5:] == [
        (1000, "learned"),
        (200_000, "request"),
        (200_000, "request"),
    ]


@pytest.mark.parametrize(("missing_request", "stand_in_ms"), [("run-time", 3000), ("44", 44_000)])
def test_what_stands_in_for_a_request_that_is_not_there(missing_request: str, stand_in_ms: int) -> None:
    jobs = [job(0, 3, None), job(0, 3, None, user=None), job(0, 3, 8)]
    expected = [(stand_in_ms, "stand-in"), (stand_in_ms, "stand-in"), (8000, "request")]
    for estimate in ("requested", "last-two"):
        assert seen(jobs, estimate=estimate, missing_request=missing_request) == expected
    assert seen(jobs, estimate="perfect", missing_request=missing_request) == [(3000, "run-time")] * 3


def test_a_job_that_is_killed_has_run_for_its_request() -> None:
    jobs = [job(0, 100, 6), job(0, 100, 10), job(0, 1)]
    assert seen(jobs, estimate="last-two", kill_at_request=True)[2] == (8000, "learned")
    assert seen(jobs, estimate="last-two")[2] == (100_000, "learned")


def test_what_is_learned_changes_the_order() -> None:
    jobs = [job(0, 2, 1000), job(0, 2, 1000), job(1, 50, 50, user="bob", tasks=2), job(1, 1, 1000, tasks=2)]
    assert starts_s(run(jobs, 2, policy="sjf")) == [0, 0, 2, 52]
    # Both of ann's have taken 2 s: the third goes before bob's 50 s.
    assert starts_s(run(jobs, 2, policy="sjf", estimate="last-two")) == [0, 0, 3, 2]


def test_reservations_by_the_estimate_as_it_is_on_arrival() -> None:
    jobs = [
        *(job(0, 10, 1000), job(0, 10, 1000), job(20, 10, 1000)),
        job(21, 5, 5, user="bob", tasks=2),
        job(22, 100, 100, user="eve"),
    ]
    # By the request, bob's job is not expected to start before 1020 s: eve's passes it, and delays it.
    assert starts_s(run(jobs, 2, estimate="last-two")) == [0, 0, 20, 122, 22]
    # By the estimate, ann's third job takes 10 s, and bob's starts at 30 s.
    assert starts_s(run(jobs, 2, estimate="last-two", reserve_by="estimate")) == [0, 0, 20, 30, 35]


def test_a_policy_of_ones_own_sees_what_is_learned() -> None:
    class Recorder(Policy):
        def __init__(self) -> None:
            self.seen_s: list[list[float]] = []

        def score(self, queue: QueueView) -> NDArray[np.float64]:
            self.seen_s.append(queue.estimate_s.tolist())
            return queue.submit_s

    recorder = Recorder()
    run([job(0, 10), job(0, 20), job(1, 4)], policy=recorder, estimate="last-two")
    assert recorder.seen_s == [[200, 200], [200, 200], [200, 200], [15]]


# ---- posterior ----


def test_before_anything_has_ended_the_prior_decides(posterior: str) -> None:
    jobs = [job(0, 1, 300), job(0, 1, 40), job(0, 1, None), job(0, 1, 300, user=None), job(0, 1, None, user=None)]
    assert told(opened(jobs, estimate=posterior)) == [
        (100_000, "prior"),
        (40_000, "prior"),  # at most the request
        (54_772, "prior"),  # √(60 · 50)
        (100_000, "prior"),
        (1000, "stand-in"),
    ]


LIKE_IT = [job(50, 1), job(50, 1, tasks=2), job(50, 1, 300), job(50, 1, None), job(50, 1, user="bob")]
"""Jobs that have more and more in common with nothing that ann has run."""


def test_one_job_has_ended(posterior: str) -> None:
    simulation = opened([job(0, 20), *LIKE_IT], 2, estimate=posterior)
    while simulation.advance() and simulation.status().now_s < 50:
        simulation.dispatch()
    # Of 20 s, R is 20 and I 1/20: 0.2 and 5 times what is usual. R: 100·1.2/2 = 60, then (20+60)/2 = 40 and
    # (20+40)/2 = 30. I: 0.01·6/2 = 0.03, then 0.04 and 0.045.
    assert told(simulation)[1:] == [
        (25_820, "learned"),  # √(30/0.045)
        (31_623, "learned"),  # another size: √(40/0.04)
        (44_721, "learned"),  # another request: √(60/0.03)
        (24_495, "learned"),  # none: √(60·1.2/2 / (0.02·6/2))
        (100_000, "prior"),
    ]


def test_a_second_job_has_ended_and_the_first_counts_half(posterior: str) -> None:
    # Of 1 s, I is 1/10. For the user Σ1 = 1.5, ΣR = 0.2/2 + 0.01 = 0.11, ΣI = 5/2 + 10 = 12.5; for the narrower groups
    # ΣR = 20/2 + 1 = 11, ΣI = 0.05/2 + 0.1 = 0.125. R: 100·1.11/2.5 = 44.4, 22.16, 13.264; I: 0.054, 0.0716, 0.07864.
    assert seen([job(0, 20), job(0, 1), job(0, 1)], estimate=posterior)[2] == (12_987, "learned")


def test_a_run_beyond_the_request_counts_as_the_request(posterior: str) -> None:
    # R is 200, I 1/500: 2 and 0.2 times what is usual. R: 150, 175, 187.5; I: 0.006, 0.004, 0.003; √62500, cut at 200.
    assert seen([job(0, 500), job(0, 1)], estimate=posterior)[1] == (200_000, "learned")
    # Another request: √(150/0.006).
    assert seen([job(0, 500), job(0, 1, 400)], estimate=posterior)[1] == (158_114, "learned")
    # Killed at 200 s, I is 1/200 too: 2 and 0.5 times the usual, √(150/0.0075).
    killed = seen([job(0, 500), job(0, 1, 400)], estimate=posterior, kill_at_request=True)
    assert killed[1] == (141_421, "learned")


# ---- noise ----


def noisy(sigma: float, seed: int, first: int = 0) -> list[int]:
    """Returns the estimates of jobs that run for 1000 s."""
    jobs = [job(submit_s, 1000) for submit_s in range(400)]
    simulation = opened(jobs, first=first, estimate=f"noisy?sigma={sigma}", seed=seed)
    assert {basis for _, basis in told(simulation)} == {"noise"}
    return [estimate_ms for estimate_ms, _ in told(simulation)]


def test_noise_is_drawn_for_each_job_from_the_seed() -> None:
    assert noisy(1, seed=3) == noisy(1, seed=3) != noisy(1, seed=4)
    assert len(set(noisy(1, seed=3))) == 400
    assert noisy(1, seed=3, first=100) == noisy(1, seed=3)[100:], "a job's noise is the same in every window"
    assert noisy(0, seed=3) == [1_000_000] * 400


def test_noise_has_the_spread_that_was_asked_for() -> None:
    logs = np.log(np.array(noisy(0.5, seed=1)) / 1e6)
    assert abs(logs.mean()) < 0.06
    assert 0.45 < logs.std() < 0.55
    np.testing.assert_allclose(np.log(np.array(noisy(2, seed=1)) / 1e6), 4 * logs, atol=1e-3)


# ---- counts ----


def test_a_schedule_counts_what_its_jobs_started_on(posterior: str) -> None:
    jobs = [job(0, 1), job(0, 1), job(9, 1), job(9, 1, None, user=None), job(9, 1, user="bob"), job(9, 1, tasks=9)]
    assert run(jobs, estimate="last-two").bases() == {"request": 3, "stand-in": 1, "learned": 1}
    assert run(jobs, estimate=posterior).bases() == {"stand-in": 1, "learned": 2, "prior": 2}
    assert run(jobs, estimate="perfect").bases() == {"run-time": 5}, "the job that can never fit does not count"
    assert run(jobs, estimate="noisy").bases() == {"noise": 5}


def test_the_ledger_counts_the_jobs_for_which_something_may_stand_in(posterior: str) -> None:
    """Of three jobs without a request, one has no user either."""
    jobs = [job(0, 1), job(0, 1, None), job(0, 1, None), job(0, 1, None, user=None)]

    def entries(**settings: Any) -> list[tuple[str, int, str]]:  # noqa: ANN401
        return [(entry.rule, entry.count, entry.example) for entry in run(jobs, **settings).ledger.entries]

    rule = "no requested time: the run time stands in"
    for estimate in ("requested", "perfect", "noisy", "last-two", posterior):
        assert entries(estimate=estimate, reserve_by="requested") == [(rule, 3, "job 1")]
    for estimate in ("requested", "last-two"):
        assert entries(estimate=estimate, reserve_by="estimate") == [(rule, 3, "job 1")]
    for estimate in ("perfect", "noisy"):
        assert entries(estimate=estimate, reserve_by="estimate") == []
    # The prior knows what jobs without a request usually take, but only of those that have a user.
    assert entries(estimate=posterior, reserve_by="estimate") == [(rule, 1, "job 3")]
    seconds = entries(estimate=posterior, reserve_by="estimate", missing_request="60")
    assert seconds == [("no requested time: 60 s stands in", 1, "job 3")]
