"""Failures from a file or from Python: which node went down or came up again, and when."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.checks import check_name, number
from shunter.errors import InputError
from shunter.files import csv_rows
from shunter.model.settings import FailureEvent
from shunter.model.workload import SUBMIT_LIMIT_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster

COLUMNS: Final = ("time_s", "node", "event")
DOWN, UP = "down", "up"


@dataclass(frozen=True)
class Failures:
    """Events in the order in which they happen; the arrays have the same length."""

    time_ms: NDArray[np.int64]
    node: NDArray[np.int64]
    """The number of the node in its cluster."""
    up: NDArray[np.bool_]
    """Whether it came up again, or else went down."""

    def __len__(self) -> int:
        return len(self.time_ms)


@dataclass(frozen=True)
class _Event:
    time_ms: int
    node: str
    up: bool
    where: str


def given_failures(given: str | Sequence[FailureEvent], cluster: Cluster) -> Failures:
    """Returns the failures that settings ask for, from a file or as events, sorted by time; ties keep their order.

    The format of a file is described in ``docs/workloads.md``.

    Raises:
        InputError: The file cannot be read, or an event is not one that this cluster can have.
    """
    return _of_cluster(_events(given), cluster)


def check_given(given: str | Path | Sequence[FailureEvent]) -> str | tuple[FailureEvent, ...]:
    """Returns a file's path as text, or events as tuples, having checked all that can be checked without a cluster.

    Raises:
        InputError: The file cannot be read, or an event is not a time, a node's name, and ``down`` or ``up``.
    """
    given = str(given) if isinstance(given, Path) else given
    # A mistake should be told before a long log is read, not when the simulation begins.
    _check_turns(_events(given))
    return given if isinstance(given, str) else tuple((float(time_s), node, event) for time_s, node, event in given)


def _events(given: str | Sequence[FailureEvent]) -> list[_Event]:
    if isinstance(given, str):
        return _read(Path(given))
    events = []
    for place, one in enumerate(given, start=1):
        where = f"failures: event {place}"
        if not (isinstance(one, Sequence) and not isinstance(one, str) and len(one) == len(COLUMNS)):
            raise InputError(f"{where} is {one!r}; expected (time in seconds, name of a node, {DOWN!r} or {UP!r})")
        events.append(_event(where, *one))
    return events


def _read(path: Path) -> list[_Event]:
    places: dict[str, int] = {}
    events = []
    for where, cells in csv_rows(path, "failures file"):
        if not places:
            places = _header(cells, where)
        elif len(cells) <= max(places.values()):
            raise InputError(f"{where}: has {len(cells)} cells; expected {','.join(COLUMNS)}; mend the line")
        else:
            events.append(_event(where, *(cells[places[name]] for name in COLUMNS)))
    if not events:
        raise InputError(f"{path}: holds no event; write a line {','.join(COLUMNS)}, and one for each event")
    return events


def _header(cells: Sequence[str], where: str) -> dict[str, int]:
    for name in COLUMNS:
        if name not in cells:
            found = ",".join(cells)[:60]
            raise InputError(f'{where}: column {name} is missing in "{found}"; expected {",".join(COLUMNS)}')
    return {name: cells.index(name) for name in COLUMNS}


def _event(where: str, time_s: object, node: object, event: object) -> _Event:
    if isinstance(time_s, str):
        with suppress(ValueError):
            time_s = float(time_s)
    seconds = number(f"{where}: time_s", time_s, -SUBMIT_LIMIT_S, SUBMIT_LIMIT_S, unit="seconds")
    check_name("event", str(event), (DOWN, UP), where=f"{where}: ")
    if not isinstance(node, str):
        raise InputError(f"{where}: node is {node!r}; expected the name of a node")
    # Whole milliseconds, as the core counts them: two events that it cannot tell apart are one moment here, too.
    return _Event(round(seconds * 1000), node, event == UP, where)


def _of_cluster(events: Sequence[_Event], cluster: Cluster) -> Failures:
    numbers = {node.name: place for place, node in enumerate(cluster.nodes)}
    for event in events:
        # `check_name` would list every node of the cluster.
        if event.node not in numbers:
            close = get_close_matches(event.node, numbers, n=1, cutoff=0.4)
            hint = f'did you mean "{close[0]}"?' if close else f'its first is "{cluster.nodes[0].name}"'
            what = f'node "{event.node}" is not in the cluster {cluster.name}'
            raise InputError(f"{event.where}: {what}; {hint}")
    ordered = _check_turns(events)
    return Failures(
        time_ms=np.array([event.time_ms for event in ordered], dtype=np.int64),
        node=np.array([numbers[event.node] for event in ordered], dtype=np.int64),
        up=np.array([event.up for event in ordered], dtype=np.bool_),
    )


def _check_turns(events: Sequence[_Event]) -> list[_Event]:
    """Returns events by time, or raises an error if a node does not go down and up in turn."""
    # Python's sort is stable: events of one moment stay in the order of the file.
    ordered = sorted(events, key=lambda event: event.time_ms)
    last: dict[str, _Event] = {}
    for event in ordered:
        before = last.get(event.node)
        # A node starts up; so the first event of each must be a failure, and then they alternate.
        if event.up == (before is None or before.up):
            now = f"goes {DOWN}" if not event.up else f"comes {UP}"
            since = "was never down" if before is None else f"is {UP if before.up else DOWN} since {_said(before)}"
            raise InputError(f'{event.where}: node "{event.node}" {now} at {_time(event)}, but {since}; mend one line')
        last[event.node] = event
    return ordered


def _said(event: _Event) -> str:
    return f"{_time(event)} ({event.where})"


def _time(event: _Event) -> str:
    return f"{event.time_ms / 1000:.15g} s"
