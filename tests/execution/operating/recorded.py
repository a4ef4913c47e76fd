"""A site that is a simulation: readings of it at any time, and an operation that reads them one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shunter.execution.operating.neighbor import Knob, Value
from shunter.execution.operating.site import Site, SiteJob, SiteNode, State
from shunter.model.cluster import Cluster, Node
from shunter.model.log import Log
from shunter.simulation.run import simulate
from shunter.workloads.reading import read_log

ORIGIN_S = 1_800_000_000.0
"""When the log begins, on the clock of today's schedulers."""
FORGET_S = 1800.0
"""So long jobs that have ended are still told of, longer than from one reading to the next."""


class SimulatedSite:
    """A log on its machine under a policy, as the scheduler of a site would tell of it."""

    def __init__(self, log: Log, **settings: Any) -> None:  # noqa: ANN401 - settings of the policy
        self.schedule = simulate(log.workload, log.cluster, **{"policy": "fcfs", "dispatch": "easy", **settings})
        self.cluster, self.jobs = log.cluster, log.workload.jobs.to_dicts()
        self._submit_s = log.workload.jobs["submit_s"].to_numpy()
        self.nodes = tuple(SiteNode(node.name, int(node.cores), None) for node in log.cluster.nodes)

    @classmethod
    def crowded(cls, jobs: int = 400) -> SimulatedSite:
        """Returns a crowded machine of 16 nodes with 4 cores each; users ask for twice what they need, and more."""
        log = read_log(f"generate:lublin?seed=7&jobs={jobs}&cores=64&load=1.2")
        asked = log.workload.jobs.with_columns(requested_s=2 * log.workload.jobs["run_s"] + 60.0)
        cluster = Cluster.from_nodes(tuple(Node(f"n{number}", 4.0) for number in range(16)), "site")
        return cls(Log(replace(log.workload, jobs=asked), cluster))

    def read(self, time_s: float) -> Site:
        """Returns what a scheduler would tell at a time of the log's own clock."""
        # A job that never started has no end, and is told of for ever.
        is_told = (self._submit_s <= time_s) & ~(self.schedule.end_s < time_s - FORGET_S)
        told = [self._job(place, self.jobs[place], time_s) for place in np.flatnonzero(is_told).tolist()]
        return Site(ORIGIN_S + time_s, tuple(told), self.nodes, is_memory_shared=False)

    def _job(self, place: int, row: dict[str, Any], time_s: float) -> SiteJob:
        start_s, end_s = float(self.schedule.start_s[place]), float(self.schedule.end_s[place])
        cores = round(row["tasks"] * row["cores_per_task"])
        fields: dict[str, Any] = {"state": State.PENDING}
        if start_s <= time_s:
            fields = {"state": State.RUNNING, "start_s": ORIGIN_S + start_s, "allocation": self._allocation(place)}
        if end_s <= time_s:
            fields |= {"state": State.ENDED, "end_s": ORIGIN_S + end_s, "allocation": ()}
        id = int(row["job_id"])
        asked = {"requested_s": row["requested_s"], "user": row["user"] or "", "cores": cores, "tasks": cores}
        submit_s = ORIGIN_S + row["submit_s"]
        return SiteJob(id=id, address=str(id), submit_s=submit_s, priority=-place, **asked, **fields)

    def _allocation(self, place: int) -> tuple[tuple[str, int], ...]:
        schedule = self.schedule
        entries = slice(schedule.placement_offsets[place], schedule.placement_offsets[place + 1])
        pairs = zip(schedule.placement_nodes[entries], schedule.placement_tasks[entries], strict=True)
        return tuple((self.nodes[node].name, int(tasks)) for node, tasks in pairs)


class Recording:
    """A scheduler that answers with readings that were made before."""

    name = "slurm"

    def __init__(self, sites: Sequence[Site]) -> None:
        self._sites = list(sites)

    def read(self, *, with_knobs: bool) -> Site:
        """Returns the next reading."""
        return self._sites.pop(0)

    def knob(self, job: SiteJob) -> Knob | None:
        """Returns None: nothing is ever changed."""

    def refuse(self, knob: Knob) -> None:
        """Does nothing."""

    def value(self, job: SiteJob, knob: Knob) -> Value | None:
        """Returns None: nobody knows."""

    def look(self, knob: Knob, jobs: Sequence[SiteJob]) -> dict[int, SiteJob]:
        """Returns nothing."""
        return {}

    def commands(self, job: SiteJob, knob: Knob, value: Value, mark: str | None) -> list[list[str]]:
        """Returns nothing to do."""
        return []

    def run(self, words: Sequence[str]) -> None:
        """Is never called."""
        raise AssertionError(words)

    def usage(self) -> dict[str, Any]:
        """Returns that nothing was run."""
        return {}
