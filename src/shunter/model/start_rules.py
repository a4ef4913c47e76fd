"""What a site's limits, licenses and advance reservations come to for the jobs of a log, in the core's numbers.

Limits and licenses are counters: each job takes a fixed amount from some of them while it runs, or while it waits and
runs. Advance reservations are windows, which bind all jobs but those of some users and accounts.
``docs/simulation.md`` says what the core does with both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.errors import InputError
from shunter.model.ruled_jobs import MILLI, RuledJobs, clock_offset_s, no_clock, parsed_licenses
from shunter.model.site import DAY_S, PER_JOB, QUEUED, RUNNING, WEEK_S, Limit
from shunter.model.start_windows import window_columns, windows_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.site import AdvanceReservation, SiteRules
    from shunter.model.workload import Workload

NO_HOURS: Final = -1
_MONDAY_S: Final = 3 * DAY_S
"""How long after the beginning of a week the calendar of Unix times begins: it was a Thursday."""


@dataclass(frozen=True)
class Counter:
    """What one counter counts, for explanations."""

    what: str
    """The key of the limit, such as ``running_jobs``, or the name of a license."""
    capacity: int
    """In the unit of the key."""
    limit: Limit | None
    """None: a license."""
    group: str = ""
    """Whose it is, where a limit counts separately: ``user ann``."""


@dataclass
class _Table:
    """Counters, and what jobs take of them."""

    counters: list[Counter] = field(default_factory=list)
    capacity: list[int] = field(default_factory=list)
    hours: list[int] = field(default_factory=list)
    job: list[NDArray[np.uint32]] = field(default_factory=list)
    counter: list[NDArray[np.uint32]] = field(default_factory=list)
    amount: list[NDArray[np.int64]] = field(default_factory=list)

    def add(
        self,
        counters: Sequence[Counter],
        units: int,
        hours: int,
        rows: NDArray[np.intp],
        group: NDArray[np.int64],
        amount: NDArray[np.int64],
    ) -> None:
        """Adds counters of one limit, and what the jobs in these rows take; `group` is the place among the counters."""
        first = len(self.counters)
        self.counters += counters
        self.capacity += [units * counter.capacity for counter in counters]
        self.hours += [hours] * len(counters)
        # Who asks for none of a resource is not bound by its limit.
        asks = amount > 0
        self.job.append(rows[asks].astype(np.uint32))
        self.counter.append((first + group[asks]).astype(np.uint32))
        self.amount.append(amount[asks])

    def columns(self, prefix: str, taken: str) -> dict[str, NDArray[Any]]:
        """Returns the arrays by the core's names for them."""
        return {
            f"{prefix}capacity": np.array(self.capacity, dtype=np.int64),
            f"{taken}_job": _joined(self.job, np.uint32),
            f"{taken}_counter": _joined(self.counter, np.uint32),
            f"{taken}_amount": _joined(self.amount, np.int64),
        }


@dataclass(frozen=True)
class StartRules:
    """The rules for the jobs of one table."""

    columns: Mapping[str, NDArray[Any]]
    """By the core's names for them."""
    week_offset_ms: int
    counters: tuple[Counter, ...]
    """Of running jobs, by the core's numbers."""
    queued: tuple[Counter, ...]
    """Of those that wait for nodes or run."""
    windows: tuple[AdvanceReservation, ...]
    """By the core's numbers of windows: the reservation of which each is a part."""

    @property
    def bind_starts(self) -> bool:
        """Whether they say when a job may start that waits for nodes."""
        return bool(self.counters or self.windows)


def counter_text(counter: Counter) -> str:
    """Returns what a counter is, for sentences: ``a limit of user ann (running_jobs 10)``, ``a license: matlab``."""
    if counter.limit is None:
        return f"a license: {counter.what}"
    limit = counter.limit
    most = getattr(limit, counter.what)
    hours = f" from {limit.from_time} to {limit.to_time}" if limit.from_time else ""
    hours += f" on {limit.days}" if limit.days else ""
    return f"a limit of {counter.group or limit.whose} ({counter.what} {most:.15g}{hours})"


def holds_at(limit: Limit, time_ms: float, week_offset_ms: int) -> bool:
    """Returns whether a limit holds at a time of the log."""
    if not limit.has_hours:
        return True
    week_ms = (time_ms + week_offset_ms) % (MILLI * WEEK_S)
    later_ms = week_ms + MILLI * WEEK_S
    return any(from_ms <= week_ms < to_ms or from_ms <= later_ms < to_ms for from_ms, to_ms in limit.hours_ms())


def compile_rules(workload: Workload, cluster: Cluster, *, past_is_wrong: bool = True) -> StartRules | None:
    """Returns what limits, licenses and reservations of a cluster mean for the jobs of a workload.

    Args:
        workload: The jobs.
        cluster: The nodes and their rules.
        past_is_wrong: Whether a reservation before the first job is an error.

    Returns:
        None if there are none of these.

    Raises:
        InputError: A job names a license that the cluster does not have, a reservation lies in the past, or a rule goes
            by a clock that nobody tells.
    """
    rules = cluster.rules
    if not (rules.limits or rules.licenses or rules.reservations):
        return None
    jobs = RuledJobs.of(workload.jobs, cluster)
    running, queued, hours = _Table(), _Table(), list[Limit]()
    for limit in rules.limits:
        _add_limit(limit, jobs, running, queued, hours)
    _add_licenses(rules, workload, running)
    offset_s = clock_offset_s(workload, cluster)
    if hours and offset_s is None:
        raise InputError(f"{hours[0].where or cluster.name}: {no_clock('holds by hours')}")
    stretches = [(number, *stretch) for number, limit in enumerate(hours) for stretch in limit.hours_ms()]
    windows = [
        window for one in rules.reservations for window in windows_of(one, offset_s, workload, cluster, past_is_wrong)
    ]
    columns: dict[str, NDArray[Any]] = {
        **running.columns("", "take"),
        **queued.columns("queued_", "queued"),
        "counter_hours": np.array(running.hours, dtype=np.int64),
        "hours": np.array([number for number, _, _ in stretches], dtype=np.uint32),
        "hours_from_ms": np.array([from_ms for _, from_ms, _ in stretches], dtype=np.int64),
        "hours_to_ms": np.array([to_ms for _, _, to_ms in stretches], dtype=np.int64),
        **window_columns(windows, jobs, cluster),
    }
    week_offset_ms = round(((offset_s or 0.0) + _MONDAY_S) * MILLI)
    reservations = tuple(window.reservation for window in windows)
    return StartRules(columns, week_offset_ms, tuple(running.counters), tuple(queued.counters), reservations)


_UNITS: Final = {"cores": MILLI, "gpus": MILLI}


def _add_limit(limit: Limit, jobs: RuledJobs, running: _Table, queued: _Table, hours: list[Limit]) -> None:
    """Adds the counters of one entry; an entry that holds by hours joins `hours`."""
    applies = np.ones(len(jobs), dtype=np.bool_)
    for word, names in limit.names.items():
        applies &= jobs.matching(word, names)
    rows = np.flatnonzero(applies)
    number = NO_HOURS
    if limit.has_hours:
        number = len(hours)
        hours.append(limit)
    group, labels = jobs.groups(limit.per, rows)
    for bound in (*RUNNING, *QUEUED):
        capacity = getattr(limit, bound)
        if capacity is not None:
            counters = [Counter(bound, capacity, limit, label) for label in labels]
            table = queued if bound in QUEUED else running
            units = _UNITS.get(bound.partition("_")[2], 1)
            table.add(counters, units, number, rows, group, jobs.amounts(bound)[rows])
    # What one job may ask for at all hours decides where it is admitted, see `shunter.model.access`.
    for bound in PER_JOB if limit.has_hours else ():
        most = getattr(limit, bound)
        if most is not None:
            # A job that asks for more takes one of nothing.
            is_over = _asked(jobs, bound)[rows] > most
            counter = Counter(bound, 0, limit)
            running.add([counter], 1, number, rows, np.zeros(len(rows), np.int64), is_over.astype(np.int64))


def _asked(jobs: RuledJobs, bound: str) -> NDArray[np.float64]:
    """Returns what each job asks for, in the unit of a key of `PER_JOB`; an unknown request is over no bound."""
    if bound == "max_time_s":
        return jobs.requested_s
    return jobs.amounts(bound) / MILLI


def _add_licenses(rules: SiteRules, workload: Workload, running: _Table) -> None:
    if not rules.licenses or "licenses" not in workload.jobs.columns:
        return
    texts = workload.jobs["licenses"]
    wanted = {text: parsed_licenses(text) for text in texts.drop_nulls().unique().to_list()}
    taken: dict[str, list[tuple[int, int]]] = {name: [] for name in rules.licenses}
    for row, text in enumerate(texts.to_list()):
        for name, amount in wanted.get(text, {}).items():
            if name not in taken or amount is None:
                job = workload.jobs["job_id"][row]
                where = workload.name if workload.places is None else workload.places.of(job)
                if amount is None:
                    raise InputError(f'{where}: licenses is "{text}"; expected names and counts such as matlab:2,ansys')
                known = ", ".join(rules.licenses)
                raise InputError(
                    f'{where}: job {job} asks for license "{name}", which the cluster does not have (it has {known}); '
                    "add it to [licenses] of the cluster file"
                )
            taken[name].append((row, amount))
    for name, pairs in taken.items():
        rows, amounts = (
            np.array(values, dtype=np.intp) for values in (zip(*pairs, strict=True) if pairs else ((), ()))
        )
        counter = Counter(name, rules.licenses[name], None)
        running.add([counter], 1, NO_HOURS, rows, np.zeros(len(rows), np.int64), amounts.astype(np.int64))


def _joined(parts: Sequence[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype) if parts else np.empty(0, dtype)
