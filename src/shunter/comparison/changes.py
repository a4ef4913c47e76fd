"""What one can ask about a site: ``cores=+25%``, ``load=1.2x``, ``limit=3600``, ``policy=sjf``, alone or together."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

from shunter.checks import check_name, seconds_of
from shunter.comparison.believability import Believability, believe_schedule, quiet_note
from shunter.comparison.marks import Marks, marks_of
from shunter.errors import InputError
from shunter.metrics.labels import counted
from shunter.metrics.run import run_log
from shunter.model.cluster import CORES_LIMIT, Cluster, Node
from shunter.model.settings import SETTING_NAMES, Settings, plain_request
from shunter.policies.scheduler import resolve_scheduler
from shunter.workloads import read_cluster
from shunter.workloads.load import offered_load, parse_load, scale_arrivals, scale_to_load
from shunter.workloads.reading import read_log
from shunter.workloads.variants import limit_requests, scale_requests

if TYPE_CHECKING:
    from shunter.metrics.run import Run
    from shunter.model.log import Log
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler


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
    return Cluster.from_nodes(tuple(nodes), f"{cluster.name} with {count} nodes", cluster.mix)


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


@dataclass(frozen=True)
class Case:
    """One simulation of a what-if."""

    name: str
    """``base``, or the change."""
    notes: tuple[str, ...]
    """What the change amounts to."""
    run: Run

    @property
    def marks(self) -> Marks:
        """What it has that no real scheduler has."""
        schedule = self.run.schedule
        return marks_of(self.run.scheduler, schedule.workload.jobs, schedule.bases())


@dataclass(frozen=True)
class WhatIf:
    """A log as it is, and with changes."""

    base: Case
    changed: tuple[Case, ...]

    @property
    def cases(self) -> tuple[Case, ...]:
        """The base, and then every change."""
        return (self.base, *self.changed)

    @cached_property
    def believability(self) -> Believability | None:
        """Whether the base explains the log's own waits; None where the log does not tell them."""
        return believe_schedule(self.base.run.log, self.base.run.schedule)

    @property
    def quiet_note(self) -> str | None:
        """That nobody waits in any case; None where people wait."""
        worst = [
            max((value for case in self.cases if (value := case.run.metrics[name]) is not None), default=None)
            for name in ("mean_bounded_slowdown", "max_wait_s")
        ]
        return quiet_note(worst[0], worst[1])

    def to_json(self) -> dict[str, Any]:
        """Returns the base as ``shunter simulate --json`` tells it, and each case with its differences."""
        base = self.base.run.result()
        return {
            "base": base | {"marks": [mark.name for mark in self.base.marks]},
            "believability": None if self.believability is None else self.believability.to_json(),
            "contention_note": self.quiet_note,
            "cases": [
                {
                    "change": case.name,
                    "notes": list(case.notes),
                    "marks": [mark.name for mark in case.marks],
                    **case.run.result(),
                    "difference": {
                        name: _difference(base["metrics"][name], new) for name, new in case.run.metrics.items()
                    },
                }
                for case in self.changed
            ],
        }


def _difference(old: float | None, new: float | None) -> dict[str, float | None]:
    """Returns the difference of a metric to the base, and in percent of it; null where there is none."""
    absolute = None if old is None or new is None else new - old
    # Of the size of the base, so that the sign is that of the difference.
    percent = 100 * absolute / abs(old) if absolute is not None and old else None
    return {"absolute": absolute, "percent": percent}


def resolve_changes(changes: Sequence[str], **settings: Any) -> list[tuple[Change, Scheduler]]:  # noqa: ANN401 - by name
    """Returns what changes mean, and the way to schedule of each.

    Raises:
        InputError: A change is wrong, or does not go with the settings.
    """
    if not changes:
        raise InputError("changes is empty; give at least one, such as cores=+25%")
    parsed = [parse_change(text) for text in changes]
    return [(change, resolve_scheduler(**{**settings, **change.settings})) for change in parsed]


def what_if(
    workload: str | Path | Workload | Log,
    cluster: str | int | Cluster | None = None,
    *,
    changes: str | Sequence[str],
    start: int = 0,
    length: int | None = None,
    strict: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **settings: Any,  # noqa: ANN401 - the settings by name, each with a type of its own
) -> WhatIf:
    """Simulates a log as it is and with each of some changes.

    Args:
        workload: A file, a generator, or what was read before.
        cluster: A number of cores, a preset, a file, or a cluster; None: the one that the workload tells of.
        changes: One or several, such as ``cores=+25%``, ``load=1.2x`` or ``limit=3600,policy=sjf``, whose parts act
            together.
        start: The place of the first job that is simulated.
        length: How many jobs are; None: all to the end of the log.
        strict: Whether a job that can never fit is an error.
        progress: Called after each simulation with how many are done, and of how many.
        settings: The policy and other settings of the base, as in `shunter.simulate`.

    Raises:
        InputError: A change, a name or a number is wrong, or no job can ever fit.
    """
    # What can be checked without the log is checked before it is read.
    parsed = resolve_changes([changes] if isinstance(changes, str) else changes, **settings)
    words = resolve_scheduler(**settings)
    # As resolved, and not as given: a change of one setting must not change what stood in for another.
    base = Situation(read_log(workload, cluster), words.settings.words())

    def run(site: Situation, scheduler: Scheduler, done: int) -> Run:
        result = run_log(site.log, scheduler, start=start, length=length, strict=strict)
        if progress:
            progress(done, len(parsed) + 1)
        return result

    first = Case("base", (), run(base, words, 1))
    cases = []
    for done, (change, scheduler) in enumerate(parsed, start=2):
        site, notes = change.apply(base)
        cases.append(Case(change.text, tuple(notes), run(site, scheduler, done)))
    return WhatIf(first, tuple(cases))
