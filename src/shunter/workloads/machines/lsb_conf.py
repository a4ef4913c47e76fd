"""LSF's configuration: the sections of lsb.queues, lsb.hosts, lsb.params and lsb.users."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from shunter.errors import InputError
from shunter.workloads.machines.site import Record, Told

if TYPE_CHECKING:
    from shunter.workloads.machines.site import Site
    from shunter.workloads.text.source import Source

_BEGIN: Final = re.compile(r"begin\s+(\w+)", re.IGNORECASE)
_END: Final = re.compile(r"end\s+(\w+)", re.IGNORECASE)
_KNOWN: Final = ("queue", "host", "hostgroup", "parameters", "usergroup", "user")
_PAIR: Final = re.compile(r"([A-Za-z]\w*)\s*=\s*(.*)")
_CELL: Final = re.compile(r"\([^)]*\)|\S+")
_CONDITION: Final = re.compile(r"#\s*(if|elif|else|endif)\b(.*)", re.IGNORECASE)


class _Line(NamedTuple):
    """A line that is no comment, whole."""

    place: int
    text: str
    condition: str
    """What it stands under: ``#if time(8:30-18:00)``; empty for what always holds."""


def recognizes(source: Source) -> bool:
    """Returns whether a section of one of the files begins."""
    matches = (_BEGIN.match(line) for line in source.head_lines)
    return any(match is not None and match[1].lower() in _KNOWN for match in matches)


def note(source: Source, site: Site) -> None:
    """Notes each section.

    Raises:
        InputError: A section has no end, or a queue has no name.
    """
    section, begun, lines = "", 0, list[_Line]()
    for line in _lines(source, site):
        if not section and (match := _BEGIN.match(line.text)):
            section, begun, lines = match[1].lower(), line.place, []
        elif section and (match := _END.match(line.text)) and match[1].lower() == section:
            _note_section(section, begun, lines, site)
            section = ""
        elif section:
            lines.append(line)
        else:
            site.repairs.skip(line.place, f"the line {line.text[:40]!r} is in no section")
    if section:
        raise InputError(
            f"{site.repairs.locate(begun)}: Begin {section} has no End {section}; the file is cut, or wrong"
        )


def _lines(source: Source, site: Site) -> Iterator[_Line]:
    begun, conditions = "", list[str]()
    for number, raw in source.lines():
        text = begun + raw.strip()
        if not begun and (match := _CONDITION.match(text)):
            word = match[1].lower()
            if word != "if" and conditions:
                conditions.pop()
            if word != "endif":
                conditions.append(f"#{word}{match[2].rstrip()}")
            continue
        if text.startswith("#"):
            continue
        text = re.sub(r"\s#.*", "", text)
        # A backslash at the end: the line goes on.
        begun = text[:-1] + " " if text.endswith("\\") else ""
        if text and not begun:
            yield _Line(site.repairs.place(source, number), text, " ".join(conditions))


def _note_section(section: str, begun: int, lines: list[_Line], site: Site) -> None:
    if section in ("queue", "parameters"):
        record = _pairs(lines, site)
        if section == "parameters":
            site.settings |= record
            return
        name = record.pop("queue_name", None)
        if name is None:
            raise InputError(f"{site.repairs.locate(begun)}: the queue has no QUEUE_NAME; add one")
        # What bqueues prints of it is in force, and stays.
        own = site.name_of(name)
        site.partitions[own] = record | site.partitions.get(own, {})
    elif section in ("hostgroup", "usergroup"):
        groups = site.host_groups if section == "hostgroup" else site.user_groups
        for line, cells in _rows(lines, site):
            groups[cells[0]] = Told(line.place, cells[0], cells[1].strip("()"))
    elif section == "host":
        for line, cells in _rows(lines, site):
            site.slots[cells[0]] = Told(line.place, "MXJ", cells[1])
    else:
        first = lines[0] if lines else _Line(begun, "", "")
        site.leave(Told(begun, f"section {section}", first.text), "the section is not read")


def _pairs(lines: list[_Line], site: Site) -> Record:
    record: Record = {}
    for line in lines:
        match = _PAIR.fullmatch(line.text)
        if match is None:
            site.repairs.skip(line.place, f"the line {line.text[:40]!r} is no KEY = value")
            continue
        told = Told(line.place, match[1], match[2].strip().strip('"'))
        if line.condition:
            site.leave(told, f"holds at some hours alone: {line.condition[:60]}")
        elif told.value:
            record[told.key.lower()] = told
    return record


def _rows(lines: list[_Line], site: Site) -> Iterator[tuple[_Line, list[str]]]:
    """Yields the rows of a table, behind the line with its columns."""
    for line in lines[1:]:
        cells = _CELL.findall(line.text)
        if len(cells) < 2:
            site.repairs.skip(line.place, f"the line {line.text[:40]!r} has no second cell")
        elif line.condition:
            site.leave(Told(line.place, cells[0], cells[1]), f"holds at some hours alone: {line.condition[:60]}")
        else:
            yield line, cells
