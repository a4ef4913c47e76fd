"""Where each job may go: its partitions, the features that it asks for, and who is admitted where.

What is worked out here is defined in ``docs/simulation.md``. The core is handed it as *scopes*: lists of nodes, of
which one must hold all of a job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.model.capacity import fewest_nodes
from shunter.model.schedule import RejectReason
from shunter.model.site import PER_JOB, Limit, PartitionRules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster

_NO_PARTITION_RULES: Final = PartitionRules()
USUAL_TIER: Final = _NO_PARTITION_RULES.tier
_WHO: Final = {
    "accounts": "account",
    "denied_accounts": "account",
    "users": "user",
    "denied_users": "user",
    "qos": "qos",
}
"""The rules that name owners of jobs, and the columns that tell them."""
_SHAPE: Final = ("tasks", "cores_per_task", "memory_mb_per_task", "gpus_per_task", "gpu_type", "kind")

_ROWS: Final = "@rows"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Route:
    """Where some jobs may go, or why nowhere."""

    partitions: tuple[str, ...] = ()
    """Those that admit them, in the order in which they are tried; none: they are bound to no partition."""
    choices: tuple[tuple[int, ...], ...] = ()
    """The numbers of the nodes of each, one of which must hold all of a job."""
    reason: RejectReason = RejectReason.NONE
    refusals: tuple[str, ...] = ()
    """The rules that refuse them, where rules do: one of each partition that they name, or one limit."""


@dataclass(frozen=True)
class Access:
    """Where the jobs of a table may go on a cluster."""

    cluster: Cluster
    route: NDArray[np.int64]
    """By job, a place in `routes`."""
    routes: tuple[Route, ...]

    def of(self, row: int) -> Route:
        """Returns where one job may go."""
        return self.routes[int(self.route[row])]

    def _rules_of(self, route: Route) -> list[PartitionRules]:
        """Returns the rules of the partitions that admit some jobs."""
        told = self.cluster.rules.partitions
        return [told.get(name, _NO_PARTITION_RULES) for name in route.partitions]

    @cached_property
    def tier(self) -> NDArray[np.int64] | None:
        """By job, the highest tier of its partitions; None if all have the same."""
        tiers = [max((rules.tier for rules in self._rules_of(route)), default=USUAL_TIER) for route in self.routes]
        # Who is rejected stands nowhere.
        if len({tier for tier, route in zip(tiers, self.routes, strict=True) if not route.reason}) < 2:
            return None
        return np.array(tiers, dtype=np.int64)[self.route]

    def exclusive(self, jobs: pl.DataFrame) -> NDArray[np.uint8] | None:
        """By job, whether it has its nodes for itself, for it asks so or one of its partitions does; None: none has."""
        of_route = [any(rules.exclusive for rules in self._rules_of(route)) for route in self.routes]
        found = np.array(of_route, dtype=np.bool_)[self.route]
        if "exclusive" in jobs.columns:
            found = found | jobs["exclusive"].fill_null(False).to_numpy()
        return found.astype(np.uint8) if found.any() else None

    def requested_s(self, jobs: pl.DataFrame) -> pl.Series:
        """Returns what jobs ask for; for those that name no time, what their first partition has for them."""
        firsts = [self._rules_of(route)[:1] for route in self.routes]
        default_s = [first[0].default_time_s if first else None for first in firsts]
        if all(one is None for one in default_s):
            return jobs["requested_s"]
        of_route = pl.Series(default_s, dtype=pl.Float64)
        return jobs["requested_s"].fill_null(of_route.gather(self.route))

    @cached_property
    def is_plain(self) -> bool:
        """Whether every job goes anywhere or to all nodes of one partition, and no node is in several."""
        if any(len(node.partitions) > 1 for node in self.cluster.nodes):
            return False
        whole: dict[tuple[str, ...], tuple[tuple[int, ...], ...]] = {
            (name,): (_members(self.cluster, name),) for name in self.cluster.partitions
        }
        whole[()] = (tuple(range(len(self.cluster.nodes))),)
        return all(route.reason or whole.get(route.partitions) == route.choices for route in self.routes)


def access_of(jobs: pl.DataFrame, cluster: Cluster) -> Access:
    """Returns where each job may go.

    Args:
        jobs: The workload's table; the columns ``features``, ``account``, ``qos`` may be absent.
        cluster: The nodes, and the rules of the site.
    """
    columns = access_columns(jobs, cluster)
    if not columns:
        everywhere = Route((), (tuple(range(len(cluster.nodes))),))
        return Access(cluster, np.zeros(jobs.height, dtype=np.int64), (everywhere,))
    # Jobs that are alike in these columns go to the same nodes, and logs have few kinds of jobs.
    cases = jobs.select(columns).with_row_index(_ROWS).group_by(columns, maintain_order=True).agg(_ROWS)
    routes: dict[Route, int] = {}
    find = _Finder(cluster)
    route = np.empty(jobs.height, dtype=np.int64)
    for case in cases.iter_rows(named=True):
        route[case[_ROWS]] = routes.setdefault(find.route(case), len(routes))
    return Access(cluster, route, tuple(routes))


def access_columns(jobs: pl.DataFrame, cluster: Cluster) -> list[str]:
    """Returns the columns of a table that decide where its jobs may go on a cluster."""
    rules = cluster.rules
    told = list(rules.partitions.values()) if cluster.partitions else []
    limits = standing_limits(cluster)
    bounds: list[PartitionRules | Limit] = [*told, *limits]
    wanted = {"partition"} if cluster.partitions else set()
    wanted |= {"features"} if any(node.features for node in cluster.nodes) else set()
    wanted |= {column for rule, column in _WHO.items() for one in bounds if getattr(one, rule, ())}
    wanted |= {"requested_s"} if any(one.max_time_s is not None for one in bounds) else set()
    if any(one.max_cores is not None or getattr(one, "max_gpus", None) is not None for one in bounds):
        wanted |= {"tasks", "cores_per_task", "gpus_per_task"}
    wanted |= set(_SHAPE) if any(one.max_nodes is not None for one in told) else set()
    return [name for name in jobs.columns if name in wanted]


def standing_limits(cluster: Cluster) -> list[Limit]:
    """Returns the limits of one job that hold at all hours."""
    bounds = [limit for limit in cluster.rules.limits if not limit.has_hours]
    return [limit for limit in bounds if any(getattr(limit, name) is not None for name in PER_JOB)]


def partition_factors(jobs: pl.DataFrame, cluster: Cluster, given: Mapping[str, float]) -> NDArray[np.float64]:
    """Returns what each job's partitions count for in a priority: the highest of those that admit it.

    Args:
        jobs: The workload's table.
        cluster: The nodes and the rules, which may tell factors.
        given: Factors by partition that go before those of the cluster.
    """
    factors = {name: rules.factor for name, rules in cluster.rules.partitions.items() if rules.factor is not None}
    factors |= given
    if not factors:
        return np.zeros(jobs.height)
    if cluster.partitions:
        access = access_of(jobs, cluster)
        names, place = [route.partitions for route in access.routes], access.route
    else:
        # What logs call the place where a job ran counts on a cluster without partitions as well.
        texts = jobs["partition"].fill_null("")
        distinct = texts.unique(maintain_order=True)
        names = [partition_names(text) for text in distinct.to_list()]
        place = texts.replace_strict(distinct, pl.Series(range(len(distinct)), dtype=pl.Int64)).to_numpy()
    highest = [max((factors.get(name, 0.0) for name in some), default=0.0) for some in names]
    return np.array(highest, dtype=np.float64)[place]


def partition_names(text: str | None) -> tuple[str, ...]:
    """Returns the partitions that a job names: ``gpu, long`` are two."""
    return tuple(dict.fromkeys(part.strip() for part in (text or "").split(",") if part.strip()))


def feature_sets(text: str | None) -> list[set[str]]:
    """Returns the sets of features of which a node must have one whole: ``a&b|c`` are two."""
    alternatives = [set(_split(part.replace(",", "&"), "&")) for part in (text or "").split("|")]
    return [one for one in alternatives if one]


def _split(text: str, mark: str) -> Iterator[str]:
    return (part.strip() for part in text.split(mark) if part.strip())


def _members(cluster: Cluster, name: str) -> tuple[int, ...]:
    return tuple(number for number, node in enumerate(cluster.nodes) if name in node.partitions)


class _Finder:
    """Finds where jobs may go, one after the other."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._members = {name: _members(cluster, name) for name in cluster.partitions}
        self._has_features = any(node.features for node in cluster.nodes)
        self._limits = standing_limits(cluster)
        self._with_features: dict[tuple[str | None, str | None], tuple[int, ...]] = {}

    def route(self, job: Row) -> Route:
        """Returns where a job may go, or the first reason why it may not."""
        named = partition_names(job.get("partition"))
        default = self._cluster.rules.default_partition
        if not self._members:
            named = ()
        elif not named and default is not None:
            named = (default,)
        route = self._admitted(job, named)
        if not route.reason:
            refusals = (self._over(job, limit, route.partitions) for limit in self._limits)
            if over := next(filter(None, refusals), ""):
                return Route(reason=RejectReason.OVER_JOB_LIMIT, refusals=(over,))
        return route

    def _admitted(self, job: Row, named: tuple[str, ...]) -> Route:
        if not named:
            nodes = self._nodes(None, job)
            return Route((), (nodes,)) if nodes else Route(reason=RejectReason.NO_SUCH_FEATURES)
        left: tuple[str, ...] = named
        steps: list[tuple[RejectReason, Callable[[str], str | None]]] = [
            (RejectReason.NO_SUCH_PARTITION, lambda name: None if name in self._members else ""),
            (RejectReason.NOT_ADMITTED, lambda name: self._not_admitting(job, name)),
            (RejectReason.NO_SUCH_FEATURES, lambda name: None if self._nodes(name, job) else ""),
            (RejectReason.OVER_JOB_LIMIT, lambda name: self._too_small(job, name)),
        ]
        for reason, refusal in steps:
            refusals = {name: refusal(name) for name in left}
            left = tuple(name for name in left if refusals[name] is None)
            if not left:
                return Route(reason=reason, refusals=tuple(filter(None, refusals.values())))
        return Route(left, tuple(self._nodes(name, job) for name in left))

    def _rules(self, name: str) -> PartitionRules:
        return self._cluster.rules.partitions.get(name, _NO_PARTITION_RULES)

    def _place(self, name: str) -> str:
        """Returns what errors call the rules of a partition."""
        return self._rules(name).where or f"[partitions.{name}]"

    def _nodes(self, partition: str | None, job: Row) -> tuple[int, ...]:
        """Returns the nodes of a partition, or of the cluster, that have the features that a job asks for."""
        text = job.get("features") if self._has_features else None
        key = (partition, text)
        if key not in self._with_features:
            nodes = range(len(self._cluster.nodes)) if partition is None else self._members[partition]
            wanted = feature_sets(text)
            self._with_features[key] = tuple(
                number
                for number in nodes
                if not wanted or any(one <= set(self._cluster.nodes[number].features) for one in wanted)
            )
        return self._with_features[key]

    def _not_admitting(self, job: Row, name: str) -> str | None:
        """Returns the rule by which a partition does not admit the owner of a job; None: it does."""
        rules, accounts = self._rules(name), set(self._cluster.rules.within(job.get("account")))
        names: dict[str, set[Any]] = {"account": accounts, "user": {job.get("user")}, "qos": {job.get("qos")}}
        for key, word in _WHO.items():
            told, is_denial = getattr(rules, key), key.startswith("denied_")
            if told and names[word].isdisjoint(told) != is_denial:
                return f"{self._place(name)}: {key} {'names' if is_denial else 'does not name'} its {word}"
        return None

    def _too_small(self, job: Row, name: str) -> str | None:
        """Returns the rule by which a job asks for more than one job may have in a partition; None: there is none."""
        rules = self._rules(name)
        over = {
            "max_time_s": _is_longer(job, rules.max_time_s),
            "max_cores": _is_more(job, "cores_per_task", rules.max_cores),
            "max_nodes": rules.max_nodes is not None and self._needs_more(job, name, rules.max_nodes),
        }
        key = next((key for key, is_over in over.items() if is_over), None)
        return None if key is None else f"{self._place(name)}: {key} is {getattr(rules, key):,.15g}"

    def _needs_more(self, job: Row, name: str, most: int) -> bool:
        needed = fewest_nodes(job, [self._cluster.nodes[number] for number in self._nodes(name, job)], self._cluster)
        # One that does not fit at all is rejected for what it asks for.
        return needed is not None and needed > most

    def _over(self, job: Row, limit: Limit, partitions: tuple[str, ...]) -> str:
        """Returns what a limit says of a job that asks for more; nothing where it does not apply, or is kept to."""
        if partitions and job.get("requested_s") is None:
            job = {**job, "requested_s": self._rules(partitions[0]).default_time_s}
        accounts = set(self._cluster.rules.within(job.get("account")))
        applies = (
            (not limit.partitions or not set(partitions).isdisjoint(limit.partitions))
            and (not limit.qos or job.get("qos") in limit.qos)
            and (not limit.accounts or not accounts.isdisjoint(limit.accounts))
            and (not limit.users or job.get("user") in limit.users)
        )
        over = {
            "max_time_s": applies and _is_longer(job, limit.max_time_s),
            "max_cores": applies and _is_more(job, "cores_per_task", limit.max_cores),
            "max_gpus": applies and _is_more(job, "gpus_per_task", limit.max_gpus),
        }
        key = next((key for key, is_over in over.items() if is_over), None)
        return (
            ""
            if key is None
            else f"{limit.where or '[[limits]]'}: {key} is {getattr(limit, key):,.15g} for {limit.whose}"
        )


def _is_longer(job: Row, most_s: float | None) -> bool:
    """Tells whether a job asks for a longer time; one that names none asks for the default, which is not longer."""
    return most_s is not None and job["requested_s"] is not None and job["requested_s"] > most_s


def _is_more(job: Row, per_task: str, most: int | None) -> bool:
    # As the core counts: in thousandths of each task.
    return most is not None and job["tasks"] * round(job[per_task] * 1000) > most * 1000
