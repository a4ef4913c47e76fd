"""The rules of a site beside its nodes: partitions, limits, licenses, advance reservations, opening hours.

A cluster file has them in the tables ``[partitions.NAME]``, ``[[limits]]``, ``[licenses]``, ``[[reservations]]`` and
``[accounts]``; what each of them means is in ``docs/simulation.md``. Here they are read, checked against the nodes, and
written. What they come to for the jobs of a log is worked out elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any, Final, TypeVar

from shunter.checks import as_written, check_fields, check_name, declarations, declared, from_table, number, whole
from shunter.errors import InputError
from shunter.files import toml_value

WEEK_S: Final = 604_800
DAY_S: Final = 86_400
DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ONCE: Final = "once"
REPEATS: Final = {
    ONCE: "one time",
    "daily": "every day",
    "weekdays": "Monday to Friday",
    "weekends": "Saturday and Sunday",
    "weekly": "every seven days",
}
PER: Final = ("user", "account", "qos", "partition")
COUNT_LIMIT: Final = 10**9
TIME_LIMIT_S: Final = 1e9
START_LIMIT_S: Final = 1e12
SITE_KEYS: Final = ("partitions", "limits", "licenses", "reservations", "accounts", "default_partition", "time_zero")
"""The keys of a cluster file that tell of rules."""

_CLOCK: Final = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)")
_TIME_ZERO: Final = "%Y-%m-%d %H:%M:%S"


@dataclass(frozen=True)
class PartitionRules:
    """What holds for the jobs of one partition: the table ``[partitions.NAME]``."""

    tier: int = declared(1, "Jobs of a higher tier stand before all jobs of lower ones.", low=0, high=65_535)
    factor: float | None = declared(
        None, "What the policy multifactor counts for it, if its own file does not say.", low=0
    )
    max_time_s: float | None = declared(None, "The longest time that a job may ask for.", low=0, above=True)
    default_time_s: float | None = declared(None, "What a job asks for that names no time.", low=0, above=True)
    max_nodes: int | None = declared(None, "The most nodes that a job may need.", low=1, high=COUNT_LIMIT)
    max_cores: int | None = declared(None, "The most cores that a job may ask for.", low=1, high=COUNT_LIMIT)
    accounts: tuple[str, ...] = declared((), "The accounts whose jobs may use it; none: all.")
    denied_accounts: tuple[str, ...] = declared((), "The accounts whose jobs may not.")
    users: tuple[str, ...] = declared((), "The users whose jobs may use it; none: all.")
    denied_users: tuple[str, ...] = declared((), "The users whose jobs may not.")
    qos: tuple[str, ...] = declared((), "The QOS whose jobs may use it; none: all.")
    exclusive: bool = declared(False, "Whether its jobs have their nodes for themselves.")
    where: str = field(default="", compare=False)
    """Where it stands, for errors."""


@dataclass(frozen=True)
class Limit:
    """What jobs may have at once, or what one may ask for: an entry of ``[[limits]]``."""

    partitions: tuple[str, ...] = declared((), "Only jobs of these partitions; none: of all.")
    qos: tuple[str, ...] = declared((), "Only jobs of these QOS.")
    accounts: tuple[str, ...] = declared((), "Only jobs of these accounts, and of accounts below them.")
    users: tuple[str, ...] = declared((), "Only jobs of these users.")
    per: tuple[str, ...] = declared((), "Counts separately for each of these; none: for all together.")
    days: str = declared("", "The weekdays on which it holds: 'mon-fri', 'sat,sun'; none: every day.")
    from_time: str = declared("", "The time of day from which it holds: '09:00'.")
    to_time: str = declared("", "The time of day up to which it holds; one that is earlier is of the next day.")
    running_jobs: int | None = declared(None, "The most jobs that run.", low=0, high=COUNT_LIMIT)
    running_cores: int | None = declared(None, "The most cores of running jobs.", low=0, high=COUNT_LIMIT)
    running_gpus: int | None = declared(None, "The most GPUs of running jobs.", low=0, high=COUNT_LIMIT)
    running_memory_mb: int | None = declared(None, "The most memory of running jobs.", low=0, high=10**15)
    queued_jobs: int | None = declared(None, "The most jobs that wait for nodes or run.", low=1, high=COUNT_LIMIT)
    queued_cores: int | None = declared(None, "The most cores of jobs that wait or run.", low=1, high=COUNT_LIMIT)
    queued_gpus: int | None = declared(None, "The most GPUs of jobs that wait or run.", low=1, high=COUNT_LIMIT)
    max_time_s: float | None = declared(None, "The longest time that one job may ask for.", low=0, above=True)
    max_cores: int | None = declared(None, "The most cores of one job.", low=0, high=COUNT_LIMIT)
    max_gpus: int | None = declared(None, "The most GPUs of one job.", low=0, high=COUNT_LIMIT)
    where: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        for name in self.per:
            check_name("word in per", name, PER, where=f"{self.where}: " if self.where else "")
        if bool(self.from_time) != bool(self.to_time):
            raise InputError("has only one of from_time and to_time; give both, or neither")
        if self.from_time and clock_s("from_time", self.from_time) == clock_s("to_time", self.to_time):
            raise InputError(f"from_time and to_time are both {self.from_time!r}; leave both out for whole days")
        day_numbers(self.days)
        if self.has_hours and any(getattr(self, name) is not None for name in QUEUED):
            raise InputError("bounds queued jobs by hours; what waits can be bounded only at all times")
        if not any(getattr(self, name) is not None for name in BOUNDS):
            raise InputError(f"bounds nothing; give one of {', '.join(BOUNDS)}")

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """By the words of ``per``, one of which names a job must have; a word is missing where any will do."""
        names = {"partition": self.partitions, "qos": self.qos, "account": self.accounts, "user": self.users}
        return {word: some for word, some in names.items() if some}

    @property
    def whose(self) -> str:
        """Whose jobs it is for, in words: ``partition gpu and user ann or bob``, ``all jobs``."""
        return " and ".join(f"{word} {' or '.join(names)}" for word, names in self.names.items()) or "all jobs"

    @property
    def has_hours(self) -> bool:
        """Whether it holds at some hours alone."""
        return bool(self.from_time or self.days)

    @property
    def binds_starts(self) -> bool:
        """Whether it keeps jobs waiting; one job's bounds at all hours reject it instead."""
        bounds = (*RUNNING, *PER_JOB) if self.has_hours else RUNNING
        return any(getattr(self, name) is not None for name in bounds)

    def hours_ms(self) -> list[tuple[int, int]]:
        """Returns the stretches of the week in which it holds, from Monday 0:00 on; one may end after the week."""
        from_s, to_s = 0, DAY_S
        if self.from_time:
            from_s, to_s = clock_s("from_time", self.from_time), clock_s("to_time", self.to_time)
            to_s += DAY_S if to_s < from_s else 0
        return [(1000 * (day * DAY_S + from_s), 1000 * (day * DAY_S + to_s)) for day in day_numbers(self.days)]


RUNNING: Final = ("running_jobs", "running_cores", "running_gpus", "running_memory_mb")
QUEUED: Final = ("queued_jobs", "queued_cores", "queued_gpus")
PER_JOB: Final = ("max_time_s", "max_cores", "max_gpus")
BOUNDS: Final = (*RUNNING, *QUEUED, *PER_JOB)


@dataclass(frozen=True)
class AdvanceReservation:
    """Nodes that are kept free for a time, for some or for nobody: an entry of ``[[reservations]]``."""

    start: str | float = declared("", "When it begins: '2026-03-01 08:00', or seconds on the log's clock.")
    duration_s: float = declared(
        0.0, "How long it lasts; 0: no job may run across its start.", low=0, high=TIME_LIMIT_S
    )
    name: str = declared("", "What explanations call it.")
    nodes: tuple[str, ...] = declared((), "The nodes; none: all of the partition, or of the cluster.")
    partition: str | None = declared(None, "All nodes of a partition.")
    repeat: str = declared(ONCE, "How often.", choices=REPEATS)
    users: tuple[str, ...] = declared((), "Users whose jobs may use the nodes all the same.")
    accounts: tuple[str, ...] = declared((), "Accounts whose jobs may.")
    binds_up_to_s: float | None = declared(
        None, "It does not bind jobs that ask for a longer time; none: whatever they ask for.", low=0, above=True
    )
    where: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.start, str):
            wall_s(self.start)
        else:
            number("start", self.start, -START_LIMIT_S, START_LIMIT_S)
        if self.nodes and self.partition is not None:
            raise InputError("has both nodes and partition; give one of them")
        period_s = {"weekly": WEEK_S}.get(self.repeat, DAY_S)
        if self.repeat != ONCE and self.duration_s > period_s:
            raise InputError(f"lasts {self.duration_s:g} s, longer than it takes to come again; shorten it")


@dataclass(frozen=True)
class SiteRules:
    """All rules of a site."""

    partitions: Mapping[str, PartitionRules] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    licenses: Mapping[str, int] = field(default_factory=dict)
    """How many of each license there are."""
    reservations: tuple[AdvanceReservation, ...] = ()
    accounts: Mapping[str, str] = field(default_factory=dict)
    """The parent of an account, where it has one."""
    default_partition: str | None = None
    """Where jobs go that name no partition; None: to any node."""
    time_zero: str | None = None
    """What the site's clock showed at second 0 of the log, ``1996-09-23 14:00:31``; None: the log tells."""

    def __bool__(self) -> bool:
        return self != NO_RULES

    @property
    def hold_jobs(self) -> bool:
        """Whether a limit keeps jobs from waiting for nodes."""
        return any(getattr(limit, name) is not None for limit in self.limits for name in QUEUED)

    @property
    def bind_starts(self) -> bool:
        """Whether limits, licenses or reservations keep waiting jobs from starting."""
        return bool(self.licenses or self.reservations) or any(limit.binds_starts for limit in self.limits)

    def within(self, account: str | None) -> Iterator[str]:
        """Yields an account and those above it, the nearest first."""
        seen: set[str] = set()
        while account is not None and account not in seen:
            seen.add(account)
            yield account
            account = self.accounts.get(account)


NO_RULES: Final = SiteRules()


def clock_s(name: str, text: str) -> int:
    """Returns the second of the day that a text means: ``09:00``, ``24:00``."""
    match = _CLOCK.fullmatch(text)
    seconds = None if match is None else 3600 * int(match[1]) + 60 * int(match[2])
    if seconds is None or seconds > DAY_S:
        raise InputError(f"{name} is {text!r}; expected a time of day such as 09:00")
    return seconds


def wall_s(text: str | float) -> float:
    """Returns the seconds since 1970 that the site's clock shows: of ``2026-03-01 08:00``, with or without seconds."""
    for pattern in ("%Y-%m-%d %H:%M", _TIME_ZERO, "%Y-%m-%dT%H:%M:%S"):
        try:
            return datetime.strptime(str(text), pattern).replace(tzinfo=timezone.utc).timestamp()
        except ValueError:
            continue
    raise InputError(f"start is {text!r}; expected a time such as '2026-03-01 08:00', or a number of seconds")


def wall_text(wall_clock_s: float) -> str:
    """Returns a time on the site's clock, in seconds since 1970, as a file has it: ``1996-09-23 14:00:31``."""
    return f"{datetime.fromtimestamp(wall_clock_s, timezone.utc):{_TIME_ZERO}}"


def day_of(wall_clock_s: float) -> int:
    """Returns the weekday of a time on the site's clock, in seconds since 1970; Monday is 0."""
    # The calendar of Unix times begins on a Thursday.
    return int(wall_clock_s // DAY_S + DAYS.index("thu")) % 7


def day_numbers(text: str) -> tuple[int, ...]:
    """Returns the weekdays that a text means, Monday being 0: ``mon-fri``, ``sat,sun``; every day for an empty one."""
    found: set[int] = set()
    for part in text.lower().split(",") if text else ("mon-sun",):
        first, _, last = part.strip().partition("-")
        numbers = [DAYS.index(day[:3]) if day[:3] in DAYS else None for day in (first, last or first)]
        low, high = numbers
        if low is None or high is None:
            raise InputError(f"days is {text!r}; expected weekdays such as mon-fri or sat,sun")
        # From Saturday to Monday goes over the end of the week.
        found.update(day % 7 for day in range(low, (high if high >= low else high + 7) + 1))
    return tuple(sorted(found))


def read_rules(content: Mapping[str, Any], text: str, where: str) -> SiteRules:
    """Returns the rules in a cluster file.

    Args:
        content: The file's tables.
        text: The file's text, to find lines in.
        where: What errors call the file.

    Raises:
        InputError: A rule has a mistake; the error names its line.
    """
    tables = content.get("partitions", {})
    if not isinstance(tables, dict):
        raise InputError(f"{where}: partitions is {str(tables)[:60]!r}; write tables [partitions.NAME]")
    partitions = {
        name: _entry(PartitionRules, table, _place(text, where, "partitions", name)) for name, table in tables.items()
    }
    licenses = content.get("licenses", {})
    if not isinstance(licenses, dict):
        raise InputError(f"{where}: licenses is {str(licenses)[:60]!r}; write a table [licenses] with name = count")
    return SiteRules(
        partitions,
        tuple(_entries(Limit, content, "limits", text, where)),
        {name: whole(f"{where}: [licenses] {name}", count, 0, COUNT_LIMIT) for name, count in licenses.items()},
        tuple(_entries(AdvanceReservation, content, "reservations", text, where)),
        _parents(content.get("accounts", {}), where),
        _text(content, "default_partition", where),
        _time_zero(content, where),
    )


_Rule = TypeVar("_Rule", PartitionRules, Limit, AdvanceReservation)


def _entry(kind: type[_Rule], table: object, place: str) -> _Rule:
    if isinstance(table, Mapping):
        for key in table:
            check_name("key", key, declarations(kind), where=f"{place}: ")
        lists = {one.name for one in fields(kind) if one.default == ()}
        # One name needs no brackets.
        table = {key: [value] if key in lists and isinstance(value, str) else value for key, value in table.items()}
    found = replace(from_table(kind, table, place), where=place)
    check_fields(found, f"{place}: ")
    return found


def _entries(kind: type[_Rule], content: Mapping[str, Any], key: str, text: str, where: str) -> Iterator[_Rule]:
    rows = content.get(key, [])
    if not isinstance(rows, list):
        raise InputError(f"{where}: {key} is {str(rows)[:60]!r}; write [[{key}]] tables")
    for place, row in enumerate(rows, start=1):
        yield _entry(kind, row, _place(text, where, key, place))


def _place(text: str, where: str, key: str, which: str | int) -> str:
    """Returns where a table begins: the file, the line if it has a heading of its own, and its heading."""
    name = "" if isinstance(which, int) else rf"\s*\.\s*[\"']?{re.escape(which)}[\"']?"
    found = _heading_lines(text, rf"^\s*\[\[?\s*{key}{name}\s*\]")
    at = which - 1 if isinstance(which, int) else 0
    line = f":{found[at]}" if at < len(found) else ""
    shown = f"[[{key}]] {which}" if isinstance(which, int) else f"[{key}.{which}]"
    return f"{where}{line}: {shown}"


@lru_cache(16)
def _heading_lines(text: str, pattern: str) -> tuple[int, ...]:
    """Returns the lines that headings stand in, sought once: a site may have tens of thousands of limits."""
    lines: list[int] = []
    line, at = 1, 0
    for match in re.finditer(pattern, text, re.MULTILINE):
        line += text.count("\n", at, match.end())
        at = match.end()
        lines.append(line)
    return tuple(lines)


def _parents(table: object, where: str) -> dict[str, str]:
    if not (isinstance(table, dict) and all(isinstance(parent, str) for parent in table.values())):
        raise InputError(f'{where}: accounts is {str(table)[:60]!r}; write a table [accounts] with account = "parent"')
    rules = SiteRules(accounts=table)
    for account, parent in table.items():
        if account in rules.within(parent):
            raise InputError(f'{where}: [accounts] {account} lies within itself; mend its parent "{parent}"')
    return dict(table)


def _text(content: Mapping[str, Any], key: str, where: str) -> str | None:
    value = content.get(key)
    if value is not None and not (isinstance(value, str) and value.strip()):
        raise InputError(f"{where}: {key} is {as_written(value)}; expected text in quotes")
    return value


def _time_zero(content: Mapping[str, Any], where: str) -> str | None:
    value = _text(content, "time_zero", where)
    if value is not None:
        try:
            wall_s(value)
        except InputError:
            raise InputError(f"{where}: time_zero is {value!r}; expected a time such as 1996-09-23 14:00:31") from None
    return value


def check_rules(rules: SiteRules, partitions: Collection[str], nodes: Collection[str], where: str) -> None:
    """Raises an error if rules name a partition or a node that a cluster does not have, or contradict each other."""
    for name, partition in rules.partitions.items():
        _check_partition(partition.where or f"{where}: [partitions.{name}]", name, partitions)
        _check_consistent(partition)
    if rules.default_partition is not None:
        _check_partition(f"{where}: default_partition", rules.default_partition, partitions)
    for limit in rules.limits:
        for name in limit.partitions:
            _check_partition(limit.where or where, name, partitions)
        for running, queued in zip(RUNNING, QUEUED, strict=False):
            least, most = getattr(limit, running), getattr(limit, queued)
            if least is not None and most is not None and least > most:
                raise InputError(f"{limit.where}: {running} is {least}, above {queued}, which is {most}; lower it")
    _check_reserved(rules.reservations, partitions, set(nodes), where)


def _check_consistent(partition: PartitionRules) -> None:
    default_s, most_s = partition.default_time_s, partition.max_time_s
    if default_s is not None and most_s is not None and default_s > most_s:
        raise InputError(
            f"{partition.where}: default_time_s is {default_s:g}, above max_time_s, which is {most_s:g}; lower it"
        )
    for key in ("accounts", "users"):
        if both := set(getattr(partition, key)) & set(getattr(partition, f"denied_{key}")):
            raise InputError(f"{partition.where}: {min(both)} is among {key} and denied_{key}; choose one")


def _check_reserved(
    reservations: Collection[AdvanceReservation], partitions: Collection[str], nodes: set[str], where: str
) -> None:
    for reservation in reservations:
        if reservation.partition is not None:
            _check_partition(reservation.where or where, reservation.partition, partitions)
        for name in reservation.nodes:
            if name not in nodes:
                raise InputError(f'{reservation.where}: no node is called "{name}"; see the names of [[nodes]]')


def _check_partition(where: str, name: str, partitions: Collection[str]) -> None:
    if name not in partitions:
        known = f"; the nodes have {', '.join(sorted(partitions))}" if partitions else ""
        raise InputError(f'{where}: no node is in a partition "{name}"{known}')


def written_rules(rules: SiteRules) -> list[str]:
    """Returns the lines of a cluster file that tell the rules; those of the top come first, see `written_top`."""
    lines: list[str] = []
    for name, partition in rules.partitions.items():
        lines += ["", f"[partitions.{toml_value(name)}]", *_written(partition)]
    for key, entries in (("limits", rules.limits), ("reservations", rules.reservations)):
        for entry in entries:
            lines += ["", f"[[{key}]]", *_written(entry)]
    for key, table in (("licenses", rules.licenses), ("accounts", rules.accounts)):
        if table:
            lines += ["", f"[{key}]", *(f"{toml_value(name)} = {toml_value(value)}" for name, value in table.items())]
    return lines


def written_top(rules: SiteRules) -> list[str]:
    """Returns the lines that stand above all tables."""
    told = {"default_partition": rules.default_partition, "time_zero": rules.time_zero}
    return [f"{key} = {toml_value(value)}" for key, value in told.items() if value is not None]


def _written(entry: PartitionRules | Limit | AdvanceReservation) -> list[str]:
    known = declarations(type(entry))
    defaults = {one.name: one.default for one in fields(entry)}
    values = {name: getattr(entry, name) for name in known}
    return [
        f"{name} = {toml_value(list(value) if isinstance(value, tuple) else value)}"
        for name, value in values.items()
        if value != defaults[name]
    ]


def rules_text(rules: SiteRules) -> str:
    """Returns the rules as a cluster file without nodes tells them."""
    return "\n".join([*written_top(rules), *written_rules(rules)])
