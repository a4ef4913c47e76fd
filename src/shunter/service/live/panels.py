"""What a live page shows: panels of a few kinds, as plain objects that the page draws.

A panel holds times of the clock, never how long ago they are: the page counts on by itself, and a panel is sent again
only when something has happened.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

KINDS: Final = ("facts", "bars", "table", "lines", "gantt", "nodes", "log", "replay", "what-if")
"""Each has a module of its own among the scripts of the page."""
FORMATS: Final = ("text", "number", "share", "seconds", "clock", "since")
"""How a value is shown; ``clock`` and ``since`` are seconds since 1970."""


@dataclass(frozen=True)
class Panel:
    """One part of the page of a source."""

    kind: str
    title: str
    content: Mapping[str, Any]
    lead: str = ""
    """One sentence for those who see it for the first time."""
    wide: bool = False
    """Whether it takes the whole width."""

    def to_json(self) -> dict[str, Any]:
        """Returns it as a plain object."""
        return {"kind": self.kind, "title": self.title, "lead": self.lead, "wide": self.wide, "content": self.content}


@dataclass(frozen=True)
class Fact:
    """One figure with its name."""

    label: str
    value: Any
    format: str = "text"
    note: str = ""
    tone: str = ""
    """``bad`` for what somebody should look at."""


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    format: str = "text"


@dataclass(frozen=True)
class Line:
    """One curve."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Lane:
    """A node, or a core, of a Gantt chart: from one height to another, in cores from the top."""

    name: str
    top: float
    bottom: float


@dataclass(frozen=True)
class Bar:
    """A job, or a part of one, that has or had a place. Times are seconds of the clock that the chart has."""

    top: float
    bottom: float
    start_s: float
    end_s: float
    """Of one that runs: when it must have ended."""
    state: str
    """``ended``, ``failed`` or ``running``."""
    job: str
    note: str = ""


@dataclass(frozen=True)
class Expected:
    """A job that waits, and when it is expected to start: the median of many futures, in an 80 % interval."""

    job: str
    submit_s: float
    low_s: float | None = None
    median_s: float | None = None
    high_s: float | None = None
    """None: beyond the horizon, or not known."""
    run_s: float | None = None
    """How long it asks to run."""
    note: str = ""


@dataclass(frozen=True)
class NodeState:
    """One node as it is now."""

    name: str
    cores: float
    used_cores: float
    gpus: int = 0
    gpus_used: Sequence[float] = ()
    """Of each GPU the share that is taken."""
    is_down: bool = False
    jobs: Sequence[str] = ()


def facts(title: str, found: Sequence[Fact], lead: str = "") -> Panel:
    """Returns figures with their names."""
    return Panel("facts", title, {"facts": [vars(one) for one in found]}, lead, wide=True)


def bars(title: str, counts: Mapping[str, float], what: str, lead: str = "") -> Panel:
    """Returns how much there is of each name, the most first.

    Args:
        title: Of the panel.
        counts: By name.
        what: Is counted: ``jobs``.
        lead: One sentence.
    """
    rows = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return Panel("bars", title, {"what": what, "rows": rows}, lead)


def table(
    title: str, columns: Sequence[Column], rows: Sequence[Sequence[Any]], lead: str = "", *, more: int = 0
) -> Panel:
    """Returns a table.

    Args:
        title: Of the panel.
        columns: From left to right.
        rows: Each with a value for each column.
        lead: One sentence.
        more: How many rows there are that are not shown.
    """
    content = {"columns": [vars(one) for one in columns], "rows": rows, "more": more}
    return Panel("table", title, content, lead, wide=True)


def lines(
    title: str,
    curves: Sequence[Line],
    axes: tuple[str, str],
    lead: str = "",
    *,
    reference: tuple[str, float] | None = None,
) -> Panel:
    """Returns curves over one axis.

    Args:
        title: Of the panel.
        curves: Those without a value are left out.
        axes: What is along both axes, with its unit. ``clock`` along the first: seconds since 1970.
        lead: One sentence.
        reference: A level to compare with, and its name.
    """
    told = [{"name": one.name, "x": list(one.x), "y": list(one.y)} for one in curves if len(one.x)]
    return Panel("lines", title, {"curves": told, "x": axes[0], "y": axes[1], "reference": reference}, lead)


def gantt(
    title: str,
    lanes: Sequence[Lane],
    bars: Sequence[Bar],
    line: Sequence[Expected] = (),
    lead: str = "",
    *,
    now_s: float | None = None,
) -> Panel:
    """Returns a Gantt chart: past, now, and what is expected.

    Args:
        title: Of the panel.
        lanes: From top to bottom.
        bars: Who ran and runs.
        line: Those that wait, the next first.
        lead: One sentence.
        now_s: Where the line of now is, on the clock of a log; None: times are since 1970, and now goes on.
    """
    content = {"lanes": [vars(one) for one in lanes], "bars": _columns(Bar, bars), "line": _columns(Expected, line)}
    return Panel("gantt", title, {**content, "now_s": now_s}, lead, wide=True)


def _columns(kind: type[Bar] | type[Expected], rows: Sequence[Bar] | Sequence[Expected]) -> dict[str, list[Any]]:
    """Returns rows by column, which is a third of the text."""
    return {one.name: [getattr(row, one.name) for row in rows] for one in fields(kind)}


def node_map(title: str, nodes: Sequence[NodeState], lead: str = "") -> Panel:
    """Returns the nodes, with how scattered their free parts are."""
    return Panel("nodes", title, {"nodes": [vars(one) for one in nodes], "scattered": scattered(nodes)}, lead)


def scattered(nodes: Sequence[NodeState]) -> dict[str, float | None]:
    """Returns which share of the free cores and of the free whole GPUs stands on partly used nodes.

    None where nothing is free. Whole nodes that are free take every job; what is left beside others takes small ones.
    """
    up = [one for one in nodes if not one.is_down]
    cores = [(one.cores - one.used_cores, one.used_cores > 0) for one in up]
    # As the metric mean_fragmentation has it, at this instant.
    gpus = [(math.floor(one.gpus - sum(one.gpus_used)), sum(one.gpus_used) > 0) for one in up if one.gpus]
    return {"cores": _share(cores), "gpus": _share(gpus)}


def _share(free: Sequence[tuple[float, bool]]) -> float | None:
    total = sum(amount for amount, _ in free)
    return sum(amount for amount, is_partly in free if is_partly) / total if total > 0 else None


def log(title: str, entries: Sequence[tuple[float, str, str]], lead: str = "") -> Panel:
    """Returns what has happened, the latest first: time, what kind, and words."""
    return Panel("log", title, {"entries": list(entries)}, lead)


def encoded(panels: Mapping[str, Panel]) -> dict[str, bytes]:
    """Returns panels as JSON, by key."""
    return {key: to_json_bytes(panel.to_json()) for key, panel in panels.items()}


def to_json_bytes(content: Any) -> bytes:  # noqa: ANN401 - whatever JSON holds
    """Returns JSON without blanks; what is no finite number is none."""
    # Names of files may hold bytes that are no text; as escapes they are.
    try:
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
    except ValueError:
        return json.dumps(_finite(content), separators=(",", ":"), allow_nan=False).encode()


def _finite(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, (list, tuple)) else value
