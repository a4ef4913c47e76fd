"""The reference simulator gives RLScheduler's own figures, to every digit, under the committed rules."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from tests.reference.model import Config, RefJob, RefNode, Score, Start
from tests.reference.simulator import simulate
from tests.support import reference_figures, trace

LUBLIN = trace("swf/lublin_256.swf.gz")
FIGURES = reference_figures("rlscheduler_lublin256.json")


@cache
def lublin_jobs() -> tuple[RefJob, ...]:
    """Returns the log's jobs as RLScheduler reads them."""
    jobs: list[tuple[int, RefJob]] = []
    for line in gzip.decompress(LUBLIN.read_bytes()).decode().splitlines():
        if not line.strip() or line.startswith(";"):
            continue
        field = [int(float(text)) for text in line.split()]
        run_s = 10 if field[3] < 0 else field[3]
        requested_s = run_s if field[8] == -1 else field[8]
        job = RefJob(field[1] * 1000, run_s * 1000, requested_s * 1000, tasks=max(field[4], field[7]))
        if run_s > 0:
            jobs.append((field[0], job))
    return tuple(job for _, job in sorted(jobs, key=lambda pair: pair[0]))


def wfp(place: int, job: RefJob, now_ms: int) -> float:
    """Returns the WFP score with RLScheduler's error in it: now is -1."""
    s, r = job.submit_ms // 1000, job.run_ms // 1000
    return float(((s + 1) / r) ** 3 * job.tasks)


def unicef(place: int, job: RefJob, now_ms: int) -> float:
    """Returns the UNICEF score with RLScheduler's error in it: now is -1."""
    s, r = job.submit_ms // 1000, job.run_ms // 1000
    return (s + 1 - 1e-15) / (math.log2(job.tasks + 1e-15) * r)


POLICIES: dict[str, str | Score] = {
    "wfp": wfp,
    "uni": unicef,
    # RLScheduler takes submit times as they are in the log.
    **{name: f"{name}?origin=absolute" for name in ("f1", "f2", "f3", "f4")},
}


def records() -> list[Any]:
    """Returns the figures of the short runs, all policies, with and without backfill."""
    if not FIGURES.exists():
        return []
    every = json.loads(FIGURES.read_text())["records"]
    starts = sorted({record["start"] for record in every})[:2]
    return [record for record in every if record["length"] == 256 and record["start"] in starts]


def name(record: dict[str, Any]) -> str:
    """Returns a test's name for one record."""
    return f"{record['start']}-{record['policy']}-{'backfill' if record['backfill'] else 'plain'}"


def mean_slowdown(jobs: Sequence[RefJob], starts_s: list[int], order: list[int]) -> float:
    """Returns the average bounded slowdown, added up one by one in an order: the last digit depends on it."""
    total = 0.0
    for place in order:
        run_s = jobs[place].run_ms // 1000
        wait_s = starts_s[place] - jobs[place].submit_ms // 1000
        total += max(1.0, (wait_s + run_s) / max(run_s, 10))
    return total / len(jobs)


@pytest.mark.every(6)
@pytest.mark.parametrize("record", records(), ids=name)
def test_start_times_and_slowdown_are_those_of_rlscheduler(record: dict[str, Any]) -> None:
    jobs = lublin_jobs()[record["start"] : record["start"] + record["length"]]
    config = Config(
        policy=POLICIES.get(record["policy"], record["policy"]),
        dispatch="committed-backfill" if record["backfill"] else "committed",
    )

    result = simulate(jobs, [RefNode(cores_milli=record["cluster_size"] * 1000)], config)

    starts_s = [start_ms // 1000 for start_ms in result.start_ms if start_ms is not None]
    digest = hashlib.sha256(",".join(map(str, starts_s)).encode()).hexdigest()
    assert digest[:16] == record["start_times_sha256_16"]
    in_start_order = [event.job for event in result.events if isinstance(event, Start)]
    assert mean_slowdown(jobs, starts_s, in_start_order) == record["avg_bsld"]
