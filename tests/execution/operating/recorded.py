"""A site that is a simulation: readings of it at any time, and an operation that reads them one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shunter.execution.operating.neighbor import Knob, Value
from shunter.execution.operating.site import Site, SiteJob, SiteNode, State
from shunter.model.cluster import Cluster, Node
from shunter.simulation.run import simulate
from shunter.workloads.reading import read_log

ORIGIN_S = 1_800_000_000.0
"""When the log begins, on the clock of today's schedulers."""
FORGET_S = 1800.0
"""So long jobs that have ended are still told of, longer than from one reading to the next."""


class SimulatedSite:
    """A crowded machine of 16 nodes with 4 cores each, under fcfs/easy or another policy."""

    def __init__(self, seed: int = 7, jobs: int = 400, load: float = 1.2, **settings: Any) -> None:  # noqa: ANN401
        self.cluster = Cluster.from_nodes(tuple(Node(f"n{number}", 4.0) for number in range(16)), "site")
        log = read_log(f"generate:lublin?seed={seed}&jobs={jobs}&cores=64&load={load}")
        # Users ask for twice what they need, and some more.
        asked = log.workload.jobs.with_columns(requested_s=2 * log.workload.jobs["run_s"] + 60.0)
        self.schedule = simulate(
            replace(log.workload, jobs=asked), self.cluster, **{"policy": "fcfs", "dispatch": "easy", **settings}
        )
        self.jobs = self.schedule.workload.jobs.to_dicts()
        self.nodes = tuple(SiteNode(node.name, int(node.cores), None) for node in self.cluster.nodes)

    def read(self, time_s: float) -> Site:
        """Returns what a scheduler would tell at a time of the log's own clock."""
        found = []
        for place, row in enumerate(self.jobs):
            job = self._job(place, row, time_s)
            if job is not None:
                found.append(job)
        return Site(ORIGIN_S + time_s, tuple(found), self.nodes, is_memory_shared=False)

    def _job(self, place: int, row: dict[str, Any], time_s: float) -> SiteJob | None:
        start_s, end_s = float(self.schedule.start_s[place]), float(self.schedule.end_s[place])
        if row["submit_s"] > time_s or end_s < time_s - FORGET_S:
            return None
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

    def look(self, knob: Knob, jobs: Sequence[SiteJob]) -> dict[int, Value]:
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
