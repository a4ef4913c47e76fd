"""No look into the future: what has not ended yet, nobody can have learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from tests.properties.core_adapter import run_core
from tests.properties.crowds import crowd, crowd_config
from tests.properties.observed import Observed
from tests.properties.strategies import DISPATCHES, GATED, LEARNED_ESTIMATES, MOVING, SECOND_MS, Scene
from tests.reference.model import Config

STOPPING = ["srtf", "srsf", "las", "gittins", "gittins?bins=6&shortest_s=1&growth=2&decay=0.8"]
POLICIES = ["sjf", "saf", "f1", "hybrid", *MOVING, *GATED]


def with_another_future(scene: Scene, seen: Observed, until_ms: int, random: Random) -> Scene:
    """Returns the scene with other run times of the jobs that have not ended by a moment, and still do not by then."""
    jobs = []
    for job, was in zip(scene.jobs, seen, strict=True):
        if was.end_ms is None or was.end_ms > until_ms:
            has_run_ms = max(0, until_ms - was.start_ms) if was.start_ms is not None else 0
            job = replace(job, run_ms=has_run_ms + random.choice([1, 1, 3, 20, 60]) * SECOND_MS)
        jobs.append(job)
    return replace(scene, jobs=tuple(jobs))


def started_by(seen: Observed, until_ms: int) -> dict[int, tuple[int, tuple[tuple[int, int], ...]]]:
    """Returns when and where the jobs started that have started by a moment."""
    return {
        job: (was.start_ms, was.nodes)
        for job, was in enumerate(seen)
        if was.start_ms is not None and was.start_ms <= until_ms
    }


def future_matters(scene: Scene, config: Config, random: Random) -> bool:
    """Tells whether another future changes any start before it."""
    seen = run_core(scene.jobs, scene.nodes, config)
    moments = sorted({moment for was in seen for moment in (was.start_ms, was.end_ms) if moment is not None})
    until_ms = random.choice(moments) + random.choice([0, 0, -1, 1, 500])
    other = with_another_future(scene, seen, until_ms, random)
    seen_then = run_core(other.jobs, other.nodes, config)
    before, then = started_by(seen, until_ms), started_by(seen_then, until_ms)
    # Of a job that was stopped only the last nodes are known, which it may have got later.
    if config.policy in STOPPING:
        return {job: start for job, (start, _) in before.items()} != {job: start for job, (start, _) in then.items()}
    return before != then


def how_often_the_future_matters(
    estimate: str, dispatch: str, tries: int, policies: Sequence[str] = tuple(POLICIES)
) -> int:
    """Returns in how many of so many random scenes the future changes the past."""
    random = Random(f"{estimate} {dispatch}")
    found = 0
    for _ in range(tries):
        config = replace(
            crowd_config(random, dispatch),
            policy=random.choice(policies),
            estimate=estimate,
            # Without a request the run time would stand in for it, and that is of the future.
            missing_request_ms=4000,
            reserve_by=random.choice(["requested", "estimate"]),
            kill_at_request=random.random() < 0.3,
            scan_depth=random.choice([3, 1000]),
            # "auto" is a choice that the whole log makes, once.
            size_by=random.choice(["cores", "gpus", "cores-alone"]),
        )
        found += future_matters(crowd(random), config, random)
    return found


@pytest.mark.every(5)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@pytest.mark.parametrize("estimate", ["requested", *LEARNED_ESTIMATES])
def test_the_future_does_not_matter(estimate: str, dispatch: str) -> None:
    assert how_often_the_future_matters(estimate, dispatch, tries=40) == 0


@pytest.mark.every(4)
@pytest.mark.parametrize("policy", STOPPING)
def test_who_stops_jobs_sees_no_future(policy: str) -> None:
    assert how_often_the_future_matters("history", "greedy", 40, [policy]) == 0


@pytest.mark.every(6)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@pytest.mark.parametrize("estimate", ["perfect", "noisy"])
def test_the_future_matters_to_those_who_see_it(estimate: str, dispatch: str) -> None:
    """Otherwise the test above could not fail."""
    assert how_often_the_future_matters(estimate, dispatch, tries=40) > 0
