"""How the emulated programs print: columns of one's own choice, JSON, and times as a site shows them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence

Row = Mapping[str, str]


class UsageError(Exception):
    """A program was told something that it does not know; the text goes to standard error."""


def clock(at_s: float | None, *, shows_year: bool, suffix: str = "") -> str:
    """Returns a time as LSF shows it, without its year unless LSB_DISPLAY_YEAR is set."""
    if at_s is None:
        return ""
    form = "%b %e %H:%M:%S %Y" if shows_year else "%b %e %H:%M"
    return time.strftime(form, time.localtime(at_s)) + suffix


def chosen(program: str, rows: Sequence[Row], fields: str, *, is_json: bool, count: str) -> str:
    """Returns what ``-o`` prints.

    Args:
        program: Its name.
        rows: All cells of each thing, by the names of fields in lower case.
        fields: The text behind -o.
        is_json: Whether -json was said.
        count: What JSON calls the number of records.
    """
    between = re.search(r"delimiter=['\"](.)['\"]", fields)
    words = re.sub(r"delimiter=['\"].['\"]", "", fields).split()
    names = [word.partition(":")[0].lower() for word in words]
    for name in names:
        if rows and name not in rows[0]:
            raise UsageError(f"{program}: illegal field name: {name}")
    if is_json:
        records = [{name.upper(): row[name] for name in names} for row in rows]
        return json.dumps({"COMMAND": program, count: len(rows), "RECORDS": records}, indent=2) + "\n"
    sign = between[1] if between else " "
    lines = [sign.join(name.upper() for name in names)]
    lines += [sign.join(row[name] or "-" for name in names) for row in rows]
    return "\n".join(lines) + "\n"


def wrapped(text: str) -> str:
    """Returns a long line as ``bjobs -l`` breaks it: at 80 columns, in the middle of words."""
    lines, rest = [text[:79]], text[79:]
    while rest:
        lines.append(" " * 21 + rest[:58])
        rest = rest[58:]
    return "\n".join(lines)
