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
    from shunter.model.workload import WholeLog, Workload

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


def rules_without_jobs(workload: Workload, cluster: Cluster) -> dict[str, list[str]]:
    """Returns the rules that change nothing, for no job of the log has a name that they are about.

    Returns:
        By what a ledger says of such rules, each of them with its place.
    """
    rules = cluster.rules
    if not (rules.limits or rules.partitions or rules.licenses):
        return {}
    known = _known_names(workload.log, rules)
    licenses = {name for text in workload.log.texts("licenses") for name in parsed_licenses(text)}
    found = {
        "a limit for names that no job has": [
            f"{limit.where or '[[limits]]'}: for {limit.whose}"
            for limit in rules.limits
            if any(known[word].isdisjoint(names) for word, names in limit.names.items())
        ],
        "rules of a partition that no job names": [
            one.where or f"[partitions.{name}]"
            for name, one in rules.partitions.items()
            if name not in known["partition"]
        ],
        "a license that no job asks for": [f"[licenses] {name}" for name in rules.licenses if name not in licenses],
    }
    return {f"{what}: changes nothing": places for what, places in found.items() if places}


def _known_names(log: WholeLog, rules: SiteRules) -> dict[str, set[str]]:
    """Returns the names that jobs of a log have, by the words of ``per``; with an account those above it."""
    partitions = {name for text in log.texts("partition") for name in partition_names(text)}
    if rules.default_partition is not None and log.jobs["partition"].has_nulls():
        partitions.add(rules.default_partition)
    accounts = {above for account in log.texts("account") for above in rules.within(account)}
    return {"partition": partitions, "account": accounts, "user": set(log.texts("user")), "qos": set(log.texts("qos"))}


def parsed_licenses(text: str) -> dict[str, int | None]:
    """Returns how many of each license a cell names: ``matlab:2,ansys``; None where that is no number."""
    found: dict[str, int | None] = {}
    for part in text.split(","):
        name, _, count = part.strip().rpartition(":") if ":" in part else (part.strip(), "", "1")
        if name:
            amount = int(count) if count.isdecimal() else None
            known = found.get(name, 0)
            found[name] = None if amount is None or known is None else known + amount
    return found


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
