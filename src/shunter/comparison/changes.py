"""What one can ask about a site: ``cores=+25%``, ``load=1.2x``, ``limit=3600``, ``policy=sjf``, alone or together."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

from shunter.checks import check_name, seconds_of
from shunter.errors import InputError
from shunter.metrics.labels import counted
from shunter.model.cluster import CORES_LIMIT, Cluster, Node
from shunter.model.settings import SETTING_NAMES, Settings, plain_request
from shunter.workloads import read_cluster
from shunter.workloads.load import offered_load, parse_load, scale_arrivals, scale_to_load
from shunter.workloads.variants import limit_requests, scale_requests

if TYPE_CHECKING:
    from shunter.model.log import Log
    from shunter.model.workload import Workload


_NUMBER = r"\d+(?:\.\d*)?|\.\d+"
_AMOUNT = re.compile(
    rf"(?P<value>{_NUMBER})|(?P<times>{_NUMBER})x|x(?P<factor>{_NUMBER})|(?P<added>[+-](?:{_NUMBER}))%?"
)


@dataclass(frozen=True)
class Adjustment:
    """A factor, a number to add, or the new value itself: one of the three."""

    factor: float | None = None
    added: float | None = None
    value: float | None = None

    @classmethod
    def parse(cls, what: str, text: str) -> Adjustment:
        """Returns what ``1.2x``, ``x1.2``, ``+20%``, ``-64`` or ``512`` means.

        Args:
            what: What is changed, for the error message: ``cores``.
            text: What the user gave.

        Raises:
            InputError: It is none of these.
        """
        match = _AMOUNT.fullmatch(text)
        if match is None:
            raise InputError(f"--change {what}={text}: expected a number as in 1.2x, +20%, -64 or 512")
        if match["added"]:
            added = float(match["added"])
            return cls(factor=1 + added / 100) if text.endswith("%") else cls(added=added)
        if match["value"]:
            return cls(value=float(match["value"]))
        return cls(factor=float(match["times"] or match["factor"]))

    def of(self, old: float) -> float:
        """Returns the new value."""
        if self.value is not None:
            return self.value
        return old + self.added if self.added is not None else old * (self.factor or 0.0)


@dataclass(frozen=True)
class Situation:
    """What is simulated."""

    log: Log
    settings: Mapping[str, Any]
    """What `shunter.simulate` takes besides, by name."""

    def with_workload(self, workload: Workload) -> Situation:
        """Returns the same with other jobs."""
        return replace(self, log=replace(self.log, workload=workload))

    def with_cluster(self, cluster: Cluster) -> Situation:
        """Returns the same with other nodes."""
        return replace(self, log=replace(self.log, cluster=cluster, cluster_from="--change"))


Step = Callable[[Situation], tuple[Situation, str]]
"""Returns what a change makes of a site, and what it amounts to: ``125 cores (+25)``."""


@dataclass(frozen=True)
class Change:
    """Some changes that act together."""

    text: str
    """As the user gave it."""
    settings: Mapping[str, Any]
    """Settings that take the place of others."""
    steps: tuple[Step, ...]
    """What is done to workload and cluster."""

    def apply(self, site: Situation) -> tuple[Situation, list[str]]:
        """Returns the changed site, and notes on what the changes amount to."""
        site = replace(site, settings={**site.settings, **self.settings})
        notes = []
        for step in self.steps:
            site, note = step(site)
            notes.append(note)
        return site, notes


def parse_change(text: str) -> Change:
    """Returns the changes that a text such as ``cores=+25%,policy=sjf`` means.

    Raises:
        InputError: A name is unknown or given twice, or a value is not what its name takes.
    """
    given: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not (equals and value):
            raise InputError(f"--change {text}: {part.strip()!r} is not NAME=VALUE, as in cores=+25%")
        check_name("change", name, (*STEPS, *SETTING_OF))
        if name in given:
            raise InputError(f"--change {text}: {name} is given twice")
        given[name] = value
    # The cluster comes first, for a load is one on a cluster; so does the scale of requests before their limit.
    steps = tuple(STEPS[name](given[name]) for name in STEPS if name in given)
    settings = {SETTING_OF[name]: _to_setting(name, value) for name, value in given.items() if name in SETTING_OF}
    return Change(text, settings, steps)


def _to_cluster(text: str) -> Step:
    cluster = read_cluster(text)
    return lambda site: (site.with_cluster(cluster), _cluster_note(site.log.cluster, cluster))


def _to_cores(text: str) -> Step:
    amount = Adjustment.parse("cores", text)

    def step(site: Situation) -> tuple[Situation, str]:
        old = site.log.cluster
        wanted = amount.of(old.total_cores)
        if not 1 <= wanted <= CORES_LIMIT:
            raise InputError(f"--change cores={text}: gives {wanted:g} cores; expected 1 to {CORES_LIMIT}")
        # A pool can have any number of cores; nodes come whole.
        cluster = Cluster.pool(round(wanted)) if _is_pool(old) else _with_nodes(old, wanted / old.total_cores)
        return site.with_cluster(cluster), _cluster_note(old, cluster)

    return step


def _cluster_note(old: Cluster, new: Cluster) -> str:
    cores = f"{new.total_cores:,.15g} cores ({new.total_cores - old.total_cores:+,.15g})"
    if old.total_gpus or new.total_gpus:
        cores += f", {new.total_gpus:,} GPUs ({new.total_gpus - old.total_gpus:+,})"
    if len(old.nodes) == len(new.nodes) == 1:
        return cores
    return f"{cores} on {counted(len(new.nodes), 'node')} ({len(new.nodes) - len(old.nodes):+,})"


def _is_pool(cluster: Cluster) -> bool:
    """Returns whether a cluster is one node that has nothing but cores, so that any number of cores will do."""
    return [replace(node, name="") for node in cluster.nodes] == [Node("", cluster.total_cores)]


def _with_nodes(cluster: Cluster, factor: float) -> Cluster:
    """Returns about so many times the nodes, in the old order and mix; a copy is called ``name+1``."""
    old = cluster.nodes
    # Whole nodes, as near as that comes to the cores that were asked for: the note says what came of it.
    count = max(1, round(len(old) * factor))
    nodes = []
    for place in range(count):
        number = place * len(old) // count
        # The first node that stands for an old one keeps its name; -(-a // b) is a division rounded up.
        copy = place - -(-number * count // len(old))
        nodes.append(replace(old[number], name=f"{old[number].name}+{copy}") if copy else old[number])
    return Cluster.from_nodes(
        tuple(nodes), f"{cluster.name} with {count} nodes", cluster.mix, cluster.kinds, cluster.slowdown
    )


def _to_load(text: str) -> Step:
    # 90% is a load by itself, unlike +90%.
    is_share = text.endswith("%") and text[:1] not in ("+", "-")
    amount = Adjustment(value=parse_load(text)) if is_share else Adjustment.parse("load", text)

    def step(site: Situation) -> tuple[Situation, str]:
        workload, cluster = site.log.workload, site.log.cluster
        before = offered_load(workload, cluster) or 0.0
        if amount.factor is None:
            workload = scale_to_load(workload, cluster, amount.of(before))
        # Twice the load is half the time between arrivals.
        elif amount.factor > 0:
            workload = scale_arrivals(workload, 1 / amount.factor)
        else:
            raise InputError(f"--change load={text}: expected a factor above 0")
        after = offered_load(workload, cluster) or 0.0
        return site.with_workload(workload), f"offered load {before:.3g} becomes {after:.3g}"

    return step


def _to_request(text: str) -> Step:
    factor = Adjustment.parse("request", text).factor
    if factor is None or factor <= 0:
        raise InputError(f"--change request={text}: expected a factor above 0, as in 0.5x or +20%")

    def step(site: Situation) -> tuple[Situation, str]:
        workload, count = scale_requests(site.log.workload, factor)
        return site.with_workload(workload), f"{count:,} requests scaled by {factor:g}"

    return step


def _to_limit(text: str) -> Step:
    limit_s = _seconds("limit", text)

    def step(site: Situation) -> tuple[Situation, str]:
        workload, count = limit_requests(site.log.workload, limit_s, str(site.settings["missing_request"]))
        # A limit on requests does not stop a job that outlives it, unless jobs are killed: people expect otherwise, so
        # it is said.
        longer = int((workload.jobs["run_s"] > limit_s).sum())
        fate = "are killed at it" if site.settings["kill_at_request"] else "go on (kill-at-request=yes stops them)"
        note = f"{count:,} requests cut to {limit_s:g} s; {longer:,} jobs that run longer {fate}"
        return site.with_workload(workload), note

    return step


STEPS: dict[str, Callable[[str], Step]] = {
    "cluster": _to_cluster,
    "cores": _to_cores,
    "load": _to_load,
    "request": _to_request,
    "limit": _to_limit,
}
"""Changes of workload and cluster, in the order in which they are made."""


def _seconds(name: str, text: str) -> float:
    found = seconds_of(text)
    if found is None:
        raise InputError(f"--change {name}={text}: expected a time such as 36h, or a number of seconds")
    return found


_HINTS: Final = get_type_hints(Settings)
SETTING_OF: Final = {name.removesuffix("_s").replace("_", "-"): name for name in SETTING_NAMES}
"""By what a change calls it: the setting."""


def _to_setting(name: str, text: str) -> Any:  # noqa: ANN401 - each setting has a type of its own
    """Returns the value that a change gives a setting, by the setting's type."""
    hint = _HINTS[SETTING_OF[name]]
    kinds = get_args(hint) or (hint,)
    # Several settings are off by default; a change must be able to say so.
    if types.NoneType in kinds and text == "off":
        return None
    if bool in kinds:
        if text not in ("yes", "no"):
            raise InputError(f"--change {name}={text}: expected yes or no")
        return text == "yes"
    if float in kinds:
        return _seconds(name, text)
    if int in kinds:
        try:
            return int(text)
        except ValueError:
            raise InputError(f"--change {name}={text}: expected a whole number") from None
    return plain_request(text) if SETTING_OF[name] == "missing_request" else text
