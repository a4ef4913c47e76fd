"""What is known when a window begins: the jobs of the log before it that had ended in reality by then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shunter import Cluster
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import Simulation
from tests.properties.core_adapter import workload_of
from tests.reference.model import RefJob
from tests.simulation.estimating import SECOND_MS, job, seen, told, write_prior


def before(*waits_s: float | None) -> list[RefJob]:
    """Returns two jobs of 10 s and 30 s that waited so long in reality."""
    waits_ms = [None if wait_s is None else round(wait_s * SECOND_MS) for wait_s in waits_s]
    past = [job(0, 10), job(5, 30)]
    return [replace(one, logged_wait_ms=wait_ms) for one, wait_ms in zip(past, waits_ms, strict=True)]


@pytest.mark.parametrize(
    ("waits_s", "begins_s", "expected"),
    [
        ((0, 0), 35, (20_000, "learned")),  # the second ends at 35 s
        ((0, 0), 34.999, (200_000, "request")),
        ((0, 65), 99.999, (200_000, "request")),
        ((0, 65), 100, (20_000, "learned")),
        ((None, None), 35, (20_000, "learned")),  # without a wait, by submit and run time alone
    ],
)
def test_what_had_ended_in_reality_is_known(
    waits_s: tuple[float | None, ...], begins_s: float, expected: tuple[int, str]
) -> None:
    assert seen([*before(*waits_s), job(begins_s, 1)], first=2, estimate="last-two") == [expected]


def test_the_past_is_known_in_the_order_of_its_ends() -> None:
    # The jobs of 10 s and 30 s end at 100 s and 35 s, and a third one of 60 s at 80 s: the last two are 60 s and 10 s.
    jobs = [*before(90, 0), replace(job(20, 60), logged_wait_ms=0), job(100, 1)]
    assert seen(jobs, first=3, estimate="last-two") == [(35_000, "learned")]


def test_what_had_not_ended_is_never_learned() -> None:
    jobs = [*before(0, 9999), job(50, 1), job(50, 1), job(50, 1)]
    assert [basis for _, basis in seen(jobs, first=2, estimate="last-two")] == ["request", "learned", "learned"]


def test_the_posterior_knows_the_past_too(tmp_path: Path) -> None:
    posterior = write_prior(tmp_path)
    past = [replace(job(0, 20), logged_wait_ms=0)]
    assert seen([*past, job(20, 1)], first=1, estimate=posterior) == [(25_820, "learned")]
    assert seen([*past, job(19, 1)], first=1, estimate=posterior) == [(100_000, "prior")]
    assert seen([*past, job(20, 1, 300, tasks=1)], first=1, estimate=posterior) == [(44_721, "learned")]


def test_a_window_of_a_window_knows_all_that_was_before() -> None:
    workload = workload_of([*before(0, 0), job(40, 1), job(100, 1), job(100, 1)])
    one, other = workload.window(3, 2), workload.window(1).window(1).window(1)
    assert one.earlier is not None
    assert other.earlier is not None
    assert one.earlier["run_s"].to_list() == other.earlier["run_s"].to_list() == [10, 30, 1]
    # The one of 1 s had ended at 41 s.
    for window in (one, other):
        simulation = Simulation(window, Cluster.pool(1), resolve_scheduler(estimate="last-two"))
        assert told(simulation) == [(15_500, "learned")] * 2


def test_the_jobs_behind_a_window_do_not_matter() -> None:
    jobs = [*before(0, 0), job(40, 1), job(41, 1)]
    behind = [job(41, 500), job(41, 500)]
    assert seen(jobs, first=2, estimate="last-two") == [(20_000, "learned"), (15_500, "learned")]
    window = workload_of([*jobs, *behind]).window(2, 2)
    simulation = Simulation(window, Cluster.pool(1), resolve_scheduler(estimate="last-two"))
    simulation.run()
    assert told(simulation) == [(20_000, "learned"), (15_500, "learned")]
