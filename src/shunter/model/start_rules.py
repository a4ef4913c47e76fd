"""What a site's limits, licenses and advance reservations come to for the jobs of a log, in the core's numbers.

Limits and licenses are counters: each job takes a fixed amount from some of them while it runs, or while it waits and
runs. Advance reservations are windows, which bind all jobs but those of some users and accounts.
``docs/simulation.md`` says what the core does with both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.errors import InputError
from shunter.model.site import (
    DAY_S,
    ONCE,
    PER_JOB,
    QUEUED,
    RUNNING,
    WEEK_S,
    AdvanceReservation,
    Limit,
    SiteRules,
    day_of,
    wall_s,
)

from shunter.model.workload import UNIX_TIMES_FROM_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload

MILLI: Final = 1000
NO_HOURS: Final = -1
_MONDAY_S: Final = 3 * DAY_S
"""How long after the beginning of a week the calendar of Unix times begins: it was a Thursday."""
_PERIODS_S: Final = {ONCE: 0, "daily": DAY_S}
_WEEKDAYS: Final = {"weekdays": range(5), "weekends": range(5, 7)}


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


def compile_rules(workload: Workload, cluster: Cluster) -> StartRules | None:
    """Returns what limits, licenses and reservations of a cluster mean for the jobs of a workload.

    Returns:
        None if there are none of these.

    Raises:
        InputError: A job names a license that the cluster does not have, a reservation lies in the past, or a rule goes
            by a clock that nobody tells.
    """
    rules = cluster.rules
    if not (rules.limits or rules.licenses or rules.reservations):
        return None
    jobs = _Jobs.of(workload.jobs, rules)
    running, queued, hours = _Table(), _Table(), list[Limit]()
    for limit in rules.limits:
        _add_limit(limit, jobs, running, queued, hours)
    _add_licenses(rules, workload, running)
    offset_s = clock_offset_s(workload, cluster)
    if hours and offset_s is None:
        raise InputError(f"{hours[0].where or cluster.name}: {_no_clock('holds by hours')}")
    stretches = [(number, *stretch) for number, limit in enumerate(hours) for stretch in limit.hours_ms()]
    windows = [window for one in rules.reservations for window in _windows(one, offset_s, workload, cluster)]
    columns: dict[str, NDArray[Any]] = {
        **running.columns("", "take"),
        **queued.columns("queued_", "queued"),
        "counter_hours": np.array(running.hours, dtype=np.int64),
        "hours": np.array([number for number, _, _ in stretches], dtype=np.uint32),
        "hours_from_ms": np.array([from_ms for _, from_ms, _ in stretches], dtype=np.int64),
        "hours_to_ms": np.array([to_ms for _, _, to_ms in stretches], dtype=np.int64),
        **_window_columns(windows, jobs, cluster),
    }
    week_offset_ms = round(((offset_s or 0.0) + _MONDAY_S) * MILLI)
    reservations = tuple(window.reservation for window in windows)
    return StartRules(columns, week_offset_ms, tuple(running.counters), tuple(queued.counters), reservations)


def clock_offset_s(workload: Workload, cluster: Cluster) -> float | None:
    """Returns what is to be added to a log's seconds to have the site's clock, as seconds since 1970; None: unknown."""
    time_zero = cluster.rules.time_zero
    if time_zero is not None:
        return wall_s(time_zero)
    # Unix times without a zone are those of UTC.
    is_unix = float(workload.log.jobs["submit_s"][0]) >= UNIX_TIMES_FROM_S
    return 0.0 if workload.clock_offset_s is None and is_unix else workload.clock_offset_s


def _no_clock(what: str) -> str:
    return (
        f'{what}, but the log does not tell the time of day; add time_zero = "1996-09-23 14:00:31", what the clock '
        "showed at second 0 of the log, at the top of the cluster file"
    )


@dataclass(frozen=True)
class _Jobs:
    """What rules ask of jobs, one value a job."""

    rules: SiteRules
    names: Mapping[str, list[str | None]]
    """By the words of ``per``."""
    cores_milli: NDArray[np.int64]
    gpu_milli: NDArray[np.int64]
    memory_mb: NDArray[np.int64]
    requested_s: NDArray[np.float64]

    @classmethod
    def of(cls, jobs: pl.DataFrame, rules: SiteRules) -> _Jobs:
        tasks = jobs["tasks"].to_numpy()
        names: dict[str, list[str | None]] = {
            name: jobs[name].to_list() if name in jobs.columns else [None] * jobs.height
            for name in ("user", "account", "qos", "partition")
        }
        # A job that names no partition goes to the default one.
        names["partition"] = [name if name is not None else rules.default_partition for name in names["partition"]]

        def units(column: str, units: int) -> NDArray[np.int64]:
            values = jobs[column].fill_null(0).cast(pl.Float64).to_numpy()
            return tasks * np.rint(values * units).astype(np.int64)

        return cls(
            rules,
            names,
            units("cores_per_task", MILLI),
            units("gpus_per_task", MILLI),
            units("memory_mb_per_task", 1),
            jobs["requested_s"].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
        )

    def __len__(self) -> int:
        return len(self.cores_milli)

    def matching(self, name: str, allowed: Iterable[str]) -> NDArray[np.bool_]:
        """Returns which jobs have one of these names: an account also below one of them, a partition among several."""
        wanted = set(allowed)
        return self.where(name, lambda value: not wanted.isdisjoint(self._names_of(name, value)))

    def where(self, name: str, test: Any) -> NDArray[np.bool_]:  # noqa: ANN401 - of a name
        """Returns which jobs have a name of which this is so; those without one have not."""
        values = self.names[name]
        verdicts = {value: value is not None and bool(test(value)) for value in set(values)}
        return np.array([verdicts[value] for value in values], dtype=np.bool_)

    def _names_of(self, name: str, value: str) -> Iterable[str]:
        if name == "account":
            return self.rules.within(value)
        return (part.strip() for part in value.split(",")) if name == "partition" else (value,)

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
            ", ".join(f"no {name}" if value is None else f"{name} {value}" for name, value in zip(per, key, strict=True))
            for key in found
        ]
        return numbers, labels


_UNITS: Final = {"cores": MILLI, "gpus": MILLI}


def _add_limit(limit: Limit, jobs: _Jobs, running: _Table, queued: _Table, hours: list[Limit]) -> None:
    """Adds the counters of one entry; an entry that holds by hours joins `hours`."""
    applies = np.ones(len(jobs), dtype=np.bool_)
    for name, allowed in (
        ("partition", limit.partitions),
        ("qos", limit.qos),
        ("account", limit.accounts),
        ("user", limit.users),
    ):
        if allowed:
            applies &= jobs.matching(name, allowed)
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
    for bound in PER_JOB:
        most = getattr(limit, bound)
        if most is not None:
            # A job that asks for more takes one of nothing.
            is_over = _asked(jobs, bound)[rows] > most
            counter = Counter(bound, 0, limit)
            running.add([counter], 1, number, rows, np.zeros(len(rows), np.int64), is_over.astype(np.int64))


def _asked(jobs: _Jobs, bound: str) -> NDArray[np.float64]:
    """Returns what each job asks for, in the unit of a key of `PER_JOB`; an unknown request is over no bound."""
    if bound == "max_time_s":
        return jobs.requested_s
    return jobs.amounts(bound) / MILLI


def _add_licenses(rules: SiteRules, workload: Workload, running: _Table) -> None:
    if not rules.licenses or "licenses" not in workload.jobs.columns:
        return
    texts = workload.jobs["licenses"]
    wanted = {text: _parsed_licenses(text) for text in texts.drop_nulls().unique().to_list()}
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
        rows, amounts = (np.array(values, dtype=np.intp) for values in (zip(*pairs, strict=True) if pairs else ((), ())))
        counter = Counter(name, rules.licenses[name], None)
        running.add([counter], 1, NO_HOURS, rows, np.zeros(len(rows), np.int64), amounts.astype(np.int64))


def _parsed_licenses(text: str) -> dict[str, int | None]:
    """Returns how many of each license a cell names: ``matlab:2,ansys``; None where that is no number."""
    found: dict[str, int | None] = {}
    for part in text.split(","):
        name, colon, count = part.strip().rpartition(":") if ":" in part else (part.strip(), "", "1")
        if name:
            amount = int(count) if count.isdecimal() else None
            known = found.get(name, 0)
            found[name] = None if amount is None or known is None else known + amount
    return found


@dataclass(frozen=True)
class _Window:
    """A time at which nodes are closed, once or again and again."""

    reservation: AdvanceReservation
    start_ms: int
    period_ms: int
    nodes: tuple[int, ...]


def _windows(one: AdvanceReservation, offset_s: float | None, workload: Workload, cluster: Cluster) -> list[_Window]:
    where = one.where or cluster.name
    if offset_s is None and (isinstance(one.start, str) or one.repeat in _WEEKDAYS):
        raise InputError(f"{where}: {_no_clock('goes by the calendar')}")
    start_s = wall_s(one.start) - (offset_s or 0.0) if isinstance(one.start, str) else float(one.start)
    first_s = float(workload.log.jobs["submit_s"][0])
    if one.repeat == ONCE and start_s < first_s and start_s + one.duration_s <= first_s:
        raise InputError(
            f"{where}: lies in the past: it ends {first_s - start_s - one.duration_s:,.0f} s before the log's first job; "
            "mend start, or take it out"
        )
    nodes = tuple(
        number
        for number, node in enumerate(cluster.nodes)
        if (not one.nodes or node.name in one.nodes) and (one.partition is None or one.partition in node.partitions)
    )
    if one.repeat not in _WEEKDAYS:
        return [_Window(one, round(start_s * MILLI), MILLI * _PERIODS_S.get(one.repeat, WEEK_S), nodes)]
    begins = (start_s + days * DAY_S for days in range(7))
    on_days = (begin_s for begin_s in begins if day_of(begin_s + (offset_s or 0.0)) in _WEEKDAYS[one.repeat])
    return [_Window(one, round(begin_s * MILLI), MILLI * WEEK_S, nodes) for begin_s in on_days]


def _window_columns(windows: Sequence[_Window], jobs: _Jobs, cluster: Cluster) -> dict[str, NDArray[Any]]:
    binds = np.ones((len(jobs), len(windows)), dtype=np.uint8)
    for number, window in enumerate(windows):
        one = window.reservation
        for name, allowed in (("user", one.users), ("account", one.accounts)):
            if allowed:
                binds[jobs.matching(name, allowed), number] = 0
    classes, of_job = np.unique(binds, axis=0, return_inverse=True) if windows else (np.empty((0, 0)), np.empty(0))
    closed = [(number, node) for number, window in enumerate(windows) for node in window.nodes]
    return {
        "window_start_ms": np.array([window.start_ms for window in windows], dtype=np.int64),
        "window_duration_ms": np.array(
            [round(window.reservation.duration_s * MILLI) for window in windows], dtype=np.int64
        ),
        "window_period_ms": np.array([window.period_ms for window in windows], dtype=np.int64),
        "closed_window": np.array([window for window, _ in closed], dtype=np.uint32),
        "closed_node": np.array([node for _, node in closed], dtype=np.uint32),
        "class_": of_job.reshape(-1).astype(np.uint32),
        "binds": classes.astype(np.uint8),
    }


def _joined(parts: Sequence[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype) if parts else np.empty(0, dtype)
