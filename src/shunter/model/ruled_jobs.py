"""What a site's rules ask of the jobs of a log: who they belong to, what they take, and what its clock shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from shunter.model.access import access_of, partition_names
from shunter.model.site import SiteRules, wall_s, wall_text
from shunter.model.workload import UNIX_TIMES_FROM_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload

MILLI: Final = 1000


@dataclass(frozen=True)
class RuledJobs:
    """What rules ask of jobs, one value a job."""

    rules: SiteRules
    names: Mapping[str, list[str | None]]
    """By the words of ``per``."""
    cores_milli: NDArray[np.int64]
    gpu_milli: NDArray[np.int64]
    memory_mb: NDArray[np.int64]
    requested_s: NDArray[np.float64]

    @classmethod
    def of(cls, jobs: pl.DataFrame, cluster: Cluster) -> RuledJobs:
        """Returns what a workload's table tells; of a job's partitions, those that admit it."""
        tasks = jobs["tasks"].to_numpy()
        names: dict[str, list[str | None]] = {
            name: jobs[name].to_list() if name in jobs.columns else [None] * jobs.height
            for name in ("user", "account", "qos")
        }
        access = access_of(jobs, cluster)
        admitted = [",".join(route.partitions) or None for route in access.routes]
        names["partition"] = [admitted[route] for route in access.route.tolist()]

        def units(column: str, units: int) -> NDArray[np.int64]:
            values = jobs[column].fill_null(0).cast(pl.Float64).to_numpy()
            return np.asarray(tasks * np.rint(values * units).astype(np.int64), dtype=np.int64)

        return cls(
            cluster.rules,
            names,
            units("cores_per_task", MILLI),
            units("gpus_per_task", MILLI),
            units("memory_mb_per_task", 1),
            access.requested_s(jobs).cast(pl.Float64).fill_null(float("nan")).to_numpy(),
        )

    def __len__(self) -> int:
        return len(self.cores_milli)

    def matching(self, name: str, allowed: Iterable[str]) -> NDArray[np.bool_]:
        """Returns which jobs have one of these names: an account also below one of them, a partition among several."""
        wanted = set(allowed)
        return self.where(name, lambda value: not wanted.isdisjoint(self._names_of(name, value)))

    def where(self, name: str, test: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Returns which jobs have a name of which this is so; those without one have not."""
        values = self.names[name]
        verdicts = {value: value is not None and test(value) for value in set(values)}
        return np.array([verdicts[value] for value in values], dtype=np.bool_)

    def _names_of(self, name: str, value: str) -> Iterable[str]:
        if name == "account":
            return self.rules.within(value)
        return partition_names(value) if name == "partition" else (value,)

    def amounts(self, bound: str) -> NDArray[np.int64]:
        """Returns what each job takes of what a key such as ``running_cores`` bounds."""
        resource = bound.partition("_")[2]
        found = {"cores": self.cores_milli, "gpus": self.gpu_milli, "memory_mb": self.memory_mb}
        return found.get(resource, np.ones(len(self), dtype=np.int64))

    def groups(self, per: Sequence[str], rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], list[str]]:
        """Returns the group of each of these jobs, and what the groups are called."""
        found: dict[tuple[str | None, ...], int] = {}
        keys = (tuple(self.names[name][row] for name in per) for row in rows.tolist())
        numbers = np.array([found.setdefault(key, len(found)) for key in keys], dtype=np.int64)
        labels = [
            ", ".join(
                f"no {name}" if value is None else f"{name} {value}" for name, value in zip(per, key, strict=True)
            )
            for key in found
        ]
        return numbers, labels


def clock_offset_s(workload: Workload, cluster: Cluster) -> float | None:
    """Returns what is to be added to a log's seconds to have the site's clock, as seconds since 1970; None: unknown."""
    time_zero = cluster.rules.time_zero
    if time_zero is not None:
        return wall_s(time_zero)
    # Unix times without a zone are those of UTC.
    is_unix = float(workload.log.jobs["submit_s"][0]) >= UNIX_TIMES_FROM_S
    return 0.0 if workload.clock_offset_s is None and is_unix else workload.clock_offset_s


def clocked_rules(workload: Workload, cluster: Cluster) -> SiteRules:
    """Returns the rules of a cluster with the clock that the log tells, if it tells one and the cluster does not."""
    offset_s = clock_offset_s(workload, cluster)
    if cluster.rules.time_zero is not None or offset_s is None:
        return cluster.rules
    return replace(cluster.rules, time_zero=wall_text(offset_s))


def no_clock(what: str) -> str:
    """Returns the error for a rule that goes by a clock which nobody tells."""
    return (
        f'{what}, but the log does not tell the time of day; add time_zero = "1996-09-23 14:00:31", what the clock '
        "showed at second 0 of the log, at the top of the cluster file"
    )
