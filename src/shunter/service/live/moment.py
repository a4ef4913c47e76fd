"""A state as panels: who has which part of the machine, when those start that wait, and who would start next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.metrics.lanes import stacked
from shunter.model.schedule import Phase
from shunter.model.snapshot import WHOLE_GPU
from shunter.service.live.panels import Bar, Column, Expected, Lane, NodeState, Panel, bars, table
from shunter.simulation.eta import StartTimes, eta_of
from shunter.simulation.foresight import Foresight
from shunter.simulation.loading import loaded

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.model.state import State
    from shunter.policies.scheduler import Scheduler

MILLI: Final = 1000
MOST_LINE: Final = 40
"""So many of those that wait are drawn and listed."""
FUTURES: Final = 60
"""Of which start times are quantiles: enough for a picture, and soon there."""
MOST_FORESEEN: Final = 2000
"""With more jobs in the queue no start times are worked out: it would take minutes."""
MOST_JOBS_OF_A_NODE: Final = 12


@dataclass(frozen=True)
class Piece:
    """A job's part of one node, for a time."""

    node: int
    cores: float
    start_s: float
    end_s: float
    state: str
    job: str
    note: str = ""


class Moment:
    """A state, and the way to schedule that is at work in it."""

    def __init__(self, state: State, scheduler: Scheduler) -> None:
        self.state = state
        self.scheduler = scheduler
        self.rows: dict[str, list[Any]] = state.workload.jobs.to_dict(as_series=False)

    @property
    def now_s(self) -> float:
        """The time that it is of."""
        return self.state.snapshot.now_ms / MILLI

    @cached_property
    def waiting(self) -> list[int]:
        """The rows of those that may start."""
        return [int(row) for row in np.flatnonzero(self.state.snapshot.phase == Phase.WAITING)]

    @cached_property
    def running(self) -> list[int]:
        """The rows of those that run."""
        return [int(row) for row in np.flatnonzero(self.state.snapshot.phase == Phase.RUNNING)]

    def note(self, row: int) -> str:
        """Returns what a job asks for, in words."""
        tasks = self.rows["tasks"][row]
        cores, gpus = tasks * self.rows["cores_per_task"][row], tasks * self.rows["gpus_per_task"][row]
        user = self.rows["user"][row]
        said = f"{cores:g} {'core' if cores == 1 else 'cores'}"
        if gpus:
            said += f", {gpus:g} {'GPU' if gpus == 1 else 'GPUs'}"
        return f"{said}, {user}" if user else said

    def nodes(self) -> list[NodeState]:
        """Returns the nodes with what is taken of each."""
        shot, cluster = self.state.snapshot, self.state.cluster
        used = np.zeros(len(cluster.nodes))
        taken = np.zeros(sum(int(node.gpus) for node in cluster.nodes))
        jobs: list[list[str]] = [[] for _ in cluster.nodes]
        for row in self.running:
            for entry in range(shot.node_offsets[row], shot.node_offsets[row + 1]):
                node = int(shot.nodes[entry])
                used[node] += shot.tasks[entry] * self.rows["cores_per_task"][row]
                jobs[node].append(str(self.rows["job_id"][row]))
            for entry in range(shot.device_offsets[row], shot.device_offsets[row + 1]):
                taken[int(shot.devices[entry])] += int(shot.millis[entry]) / WHOLE_GPU
        found, first = [], 0
        for number, one in enumerate(cluster.nodes):
            last = first + int(one.gpus)
            shown = jobs[number][:MOST_JOBS_OF_A_NODE]
            part = tuple(taken[first:last].tolist())
            is_down = bool(shot.down[number])
            found.append(NodeState(one.name, one.cores, float(used[number]), int(one.gpus), part, is_down, shown))
            first = last
        return found

    def pieces(self) -> list[Piece]:
        """Returns who runs, node by node, until each must have ended."""
        shot = self.state.snapshot
        found = []
        for row in self.running:
            start_s = int(shot.start_ms[row]) / MILLI
            asked_s = self.rows["requested_s"][row]
            end_s = max(start_s + asked_s if asked_s else 0.0, self.now_s)
            for entry in range(shot.node_offsets[row], shot.node_offsets[row + 1]):
                cores = int(shot.tasks[entry]) * self.rows["cores_per_task"][row]
                job, note = str(self.rows["job_id"][row]), self.note(row)
                found.append(Piece(int(shot.nodes[entry]), cores, start_s, end_s, "running", job, note))
        return found

    @cached_property
    def start_times(self) -> StartTimes | None:
        """When those start that wait; None where that would take too long, or nobody waits."""
        if not 0 < len(self.waiting) <= MOST_FORESEEN:
            return None
        return eta_of(self.state, self.scheduler, foresight=Foresight(futures=FUTURES), threads=1).waiting

    def line(self, order: Sequence[int]) -> list[Expected]:
        """Returns the first of those that wait, in an order, with when they are expected to start."""
        times, now_s = self.start_times, self.now_s
        place = {} if times is None else {str(job): number for number, job in enumerate(times.job_ids)}
        found = []
        for row in order[:MOST_LINE]:
            job = str(self.rows["job_id"][row])
            ends: dict[str, float | None] = {}
            if times is not None and job in place:
                each = {"low_s": times.low_s, "median_s": times.median_s, "high_s": times.high_s}
                ends = {name: _clock(now_s, float(one[place[job]])) for name, one in each.items()}
            submit_s, run_s = self.rows["submit_s"][row], self.rows["requested_s"][row]
            found.append(Expected(job, submit_s, run_s=run_s, note=self.note(row), **ends))
        return found

    @cached_property
    def decision(self) -> Any:  # noqa: ANN401 - a decision of the core's
        """What would be decided now."""
        return loaded(self.state, self.scheduler).decide()

    def reasons(self) -> Panel:
        """Returns why those wait that wait."""
        counts = Counter(one.reason.value for one in self.decision.waiting.values())
        counts["it starts now"] += len(self.decision.starts)
        return bars("Why jobs wait", +counts, "jobs", "Each job that waits, by what keeps it from starting.")

    def choices(self) -> Panel:
        """Returns who would start next, and why each of the others waits."""
        rows = []
        for place, row in enumerate(self.decision.order[:MOST_LINE], start=1):
            waiting = self.decision.waiting.get(row)
            starts = self.decision.starts.get(row)
            where = ", ".join(self.state.cluster.nodes[node].name for node in starts.nodes[:4]) if starts else ""
            why = f"starts now on {where}" if starts else waiting.reason.value if waiting else ""
            behind = waiting.blocker if waiting else None
            name = "" if behind is None else str(self.rows["job_id"][behind])
            waited_s = self.now_s - self.rows["submit_s"][row]
            asked_s = self.rows["requested_s"][row]
            rows.append([place, str(self.rows["job_id"][row]), self.note(row), asked_s, waited_s, why, name])
        columns = [Column("Place", "number"), Column("Job"), Column("Asks for"), Column("Time asked", "seconds"),
                   Column("Has waited", "seconds"), Column("What happens"), Column("Because of job")]  # fmt: skip
        policy = f"{self.scheduler.settings.policy}, {self.scheduler.settings.dispatch}"
        more = max(0, len(self.decision.order) - MOST_LINE)
        return table("The decision", columns, rows, f"The order of the policy ({policy}), the next first.", more=more)


def _clock(now_s: float, wait_s: float) -> float | None:
    return now_s + wait_s if np.isfinite(wait_s) else None


def lanes_of(cluster: Cluster) -> list[Lane]:
    """Returns a lane for each node, as high as it has cores."""
    ends = np.cumsum([node.cores for node in cluster.nodes])
    return [Lane(node.name, float(end - node.cores), float(end)) for node, end in zip(cluster.nodes, ends, strict=True)]


def bars_of(cluster: Cluster, pieces: Sequence[Piece]) -> list[Bar]:
    """Returns who has which cores of which node; which ones nobody records: the lowest that are free."""
    kept = [one for one in pieces if one.end_s > one.start_s and one.cores > 0]
    if not kept:
        return []
    rectangles, owners = stacked(
        [round(node.cores * MILLI) for node in cluster.nodes],
        np.array([one.node for one in kept]),
        np.array([round(one.cores * MILLI) for one in kept]),
        np.array([one.start_s for one in kept]),
        np.array([one.end_s for one in kept]),
        np.arange(len(kept)),
    )
    return [
        Bar(top, bottom, start_s, end_s, kept[owner].state, kept[owner].job, kept[owner].note)
        for (start_s, end_s, top, bottom), owner in zip(rectangles.tolist(), owners.tolist(), strict=True)
    ]


def wait_facts(line: Sequence[Expected], now_s: float) -> Mapping[str, float | None]:
    """Returns how long those in line are expected to wait from now on, in the mean and at most."""
    waits = [one.median_s - now_s for one in line if one.median_s is not None]
    return {"mean": sum(waits) / len(waits) if waits else None, "most": max(waits, default=None)}
