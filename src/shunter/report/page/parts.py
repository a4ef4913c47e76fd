"""What a report page is made of: small frozen objects, which `writing.py` turns into one file of HTML.

Texts are plain texts: the page shows them letter by letter, whatever they hold. Only what Plotly draws understands a
few tags, so names that go into a `Chart` pass through `charts.chart_text`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

PLAIN, GOOD, BAD, NOTE = "plain", "good", "bad", "note"
TONES: Final = (PLAIN, GOOD, BAD, NOTE)
"""How a text or a cell is colored; a tone is never all that tells something."""


@dataclass(frozen=True)
class Toned:
    """A cell of a table with a tone."""

    text: str
    tone: str = PLAIN


Cell = str | int | float | Toned | None
"""Of a table: numbers are written with about three digits, None as a dash."""


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

    text: str
    tone: str = PLAIN
    kind: ClassVar[str] = "prose"


@dataclass(frozen=True)
class Table:
    """A table; columns that hold only numbers are set to the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str
    shown: int = 12
    """So many rows are seen at once; the rest is folded."""
    right: tuple[int, ...] | None = None
    """The places of the columns that are set to the right; None: those of numbers."""
    kind: ClassVar[str] = "table"


@dataclass(frozen=True)
class Chart:
    """A figure of Plotly, with its numbers as a table beside it (the page makes that table itself)."""

    figure: dict[str, Any]
    """``data`` and ``layout`` as Plotly's JSON has them; see `charts.figure`, which knows the page's colors."""
    caption: str
    """What is to be seen, and how to read it."""
    alt: str
    """The same for those who cannot see it: what it shows, in one sentence with its main figures."""
    kind: ClassVar[str] = "chart"


@dataclass(frozen=True)
class Gantt:
    """A Gantt chart that can be zoomed; `gantt_data.pack` makes its data of a run's record."""

    title: str
    packed: dict[str, Any]
    caption: str
    kind: ClassVar[str] = "gantt"


@dataclass(frozen=True)
class Commands:
    """Lines for a shell or a configuration file, with a button that copies them."""

    lines: tuple[str, ...]
    caption: str = ""
    kind: ClassVar[str] = "commands"


@dataclass(frozen=True)
class Details:
    """Parts that are folded until somebody opens them."""

    title: str
    parts: tuple[Part, ...]
    kind: ClassVar[str] = "details"


@dataclass(frozen=True)
class Beside:
    """Parts that stand beside each other where the window is wide enough."""

    parts: tuple[Part, ...]
    kind: ClassVar[str] = "beside"


Part = Prose | Table | Chart | Gantt | Commands | Details | Beside


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading and a line in the navigation."""

    key: str
    """Its address in the page: ``#waits``. Two sections of one page have different keys."""
    title: str
    lead: str
    """What it says, in a sentence or two."""
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Fact:
    """One figure of the summary."""

    label: str
    """What it is: ``mean wait``."""
    value: str
    """With its unit: ``2.4 h``."""
    note: str = ""
    """Its interval, what it is held against."""
    tone: str = PLAIN


@dataclass(frozen=True)
class Summary:
    """What a reader should find within ten seconds."""

    headline: str
    """The answer, in one sentence."""
    sentences: tuple[str, ...] = ()
    """How sure it is, who pays, what it rests on."""
    facts: tuple[Fact, ...] = ()
    """Three or four."""
    steps: tuple[Part, ...] = ()
    """What to do next: prose and commands."""
    tone: str = PLAIN


@dataclass(frozen=True)
class Page:
    """A whole page."""

    title: str
    kind: str
    """What it is a report of: ``comparison``."""
    summary: Summary
    sections: tuple[Section, ...]
