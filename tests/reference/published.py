"""Figures of other simulators, from the tables in ``figures``; its page says where they are from."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final

import polars as pl

FIGURES: Final = Path(__file__).parent / "figures"


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (FIGURES / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


@dataclass(frozen=True)
class PyssJob:
    """A job and when it ends; times in seconds."""

    submit_s: int
    run_s: int
    requested_s: int
    cores: int
    end_s: int


@dataclass(frozen=True)
class PyssWorkload:
    """A workload for 100 cores, and under which dispatch rules its jobs end at these times."""

    name: str
    rules: tuple[str, ...]
    jobs: tuple[PyssJob, ...]


@cache
def pyss_workloads() -> tuple[PyssWorkload, ...]:
    """Returns the workloads of pyss, with the end times that it expects under first come, first served."""
    workloads = []
    for (name, rules), rows in groupby(_rows("pyss_schedules.csv"), lambda row: (row["workload"], row["rules"])):
        columns = ("submit_s", "run_s", "requested_s", "cores", "end_s")
        jobs = tuple(PyssJob(*(int(row[column]) for column in columns)) for row in rows)
        workloads.append(PyssWorkload(name, tuple(rules.split()), jobs))
    return tuple(workloads)


def pyss_curie() -> pl.DataFrame:
    """Returns 10,000 jobs of CEA-Curie with the waits that pyss's EASY gives them on 80,640 cores."""
    return pl.read_csv(FIGURES / "pyss_curie.csv.gz")


@dataclass(frozen=True)
class RlschedulerRun:
    """What RLScheduler's simulator measured of so many jobs, from a position on, under a policy."""

    start: int
    length: int
    policy: str
    backfill: bool
    mean_bounded_slowdown: float
    mean_wait_s: float
    max_wait_s: int
    mean_turnaround_s: float
    median_bounded_slowdown: float
    makespan_s: int
    start_times_sha256_16: str
    sum_of_waits_s: int

    @property
    def dispatch(self) -> str:
        """What Shunter calls its dispatch rule."""
        return "committed-backfill" if self.backfill else "committed"

    def __str__(self) -> str:
        return f"{self.start}-{self.length}-{self.policy}-{'backfill' if self.backfill else 'plain'}"


@cache
def rlscheduler_runs() -> tuple[RlschedulerRun, ...]:
    """Returns the 180 runs of RLScheduler's simulator on 256 processors."""
    return tuple(
        RlschedulerRun(
            int(row["start"]), int(row["length"]), row["policy"], row["backfill"] == "true", float(row["avg_bsld"]),
            float(row["avg_wait"]), int(row["max_wait"]), float(row["avg_turnaround"]), float(row["median_bsld"]),
            int(row["makespan"]), row["start_times_sha256_16"], int(row["sum_start_minus_submit"]),
        )
        for row in _rows("rlscheduler_runs.csv")
    )  # fmt: skip


@cache
def rlscheduler_jobs() -> tuple[tuple[int, int, int], ...]:
    """Returns submit time, run time and processors of the jobs that these runs schedule, in seconds."""
    rows = _rows("rlscheduler_jobs.csv")
    return tuple((int(row["submit_s"]), int(row["run_s"]), int(row["cores"])) for row in rows)


@dataclass(frozen=True)
class Tier:
    """The assignment of GPUs that RLTune finds best: (node, GPUs), and what it changes."""

    assignment: tuple[tuple[int, int], ...]
    frag_delta: int
    waste_delta: int
    variance_delta: float


@dataclass(frozen=True)
class TierPool:
    """A pool of nodes, a request for GPUs, and what RLTune finds for it by tier and order; None: it finds nothing."""

    gpus_per_node: int
    free: tuple[int, ...]
    request: int
    min_nodes: int
    best: dict[tuple[int, str], Tier | None]


@cache
def rltune_pools() -> tuple[TierPool, ...]:
    """Returns the 200 pools of RLTune's search."""
    pools = []
    for _, rows in groupby(_rows("rltune_tiers.csv"), lambda row: row["pool"]):
        group = list(rows)
        free = tuple(map(int, group[0]["free"].split()))
        sizes = (int(group[0][column]) for column in ("gpus_per_node", "request", "min_nodes"))
        gpus_per_node, request, min_nodes = sizes
        best = {(int(row["tier"]), row["order"]): _tier(row) for row in group}
        pools.append(TierPool(gpus_per_node, free, request, min_nodes, best))
    return tuple(pools)


def _tier(row: dict[str, str]) -> Tier | None:
    if not row["assignment"]:
        return None
    pairs = (pair.split(":") for pair in row["assignment"].split())
    assignment = tuple((int(node), int(gpus)) for node, gpus in pairs)
    return Tier(assignment, int(row["frag_delta"]), int(row["waste_delta"]), float(row["variance_delta"]))
