"""Tables that ``sacctmgr show … -P`` prints: a line with the names of columns, bars between the cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shunter.workloads.machines.site import Record, Told

if TYPE_CHECKING:
    from shunter.workloads.machines.site import Site
    from shunter.workloads.text.source import Source

_SHORT: Final = (("peruser", "pu"), ("peraccount", "pa"), ("peracct", "pa"), ("perjob", ""), ("submitjobs", "submit"))
_SAME: Final = {
    **dict.fromkeys(("share", "shares"), "fairshare"),
    "defqos": "defaultqos",
    "parent": "parentname",
    "maxtrespj": "maxtres",
    "maxtrespn": "maxtrespernode",
    **dict.fromkeys(("maxwallduration", "maxwallpj"), "maxwall"),
}
"""Columns that versions, and the options of format=, call otherwise."""


def columns(source: Source) -> list[str]:
    """Returns the names of the columns in lower case, as the manual has them; none if there is no table."""
    first = source.head_lines[0] if source.head_lines else ""
    # -p puts a bar at the end of each line as well, -P does not.
    return [column(name) for name in first.removesuffix("|").split("|")] if "|" in first else []


def column(name: str) -> str:
    """Returns a column's name in lower case, however long the version spells it."""
    short = re.sub(r"[^a-z]", "", name.lower())
    for long, abbreviation in _SHORT:
        short = short.replace(long, abbreviation)
    return _SAME.get(short, short)


def records(source: Source, site: Site) -> Iterator[Record]:
    """Yields the rows, without empty cells; blanks in front of a cell stay, for a tree is drawn by them."""
    header: list[str] = []
    for number, line in source.lines():
        if not line.strip():
            continue
        cells = line.removesuffix("|").split("|") if header and line.count("|") >= len(header) else line.split("|")
        if not header:
            header = [name.strip() for name in line.removesuffix("|").split("|")]
            continue
        place = site.repairs.place(source, number)
        if len(cells) != len(header):
            site.repairs.skip(place, f"the row has {len(cells)} fields, the header {len(header)}")
            continue
        told = zip(header, cells, strict=True)
        yield {column(name): Told(place, name, cell.rstrip()) for name, cell in told if cell.strip()}
