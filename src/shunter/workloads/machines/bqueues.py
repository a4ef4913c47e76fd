"""LSF's queues as ``bqueues -l`` prints them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shunter.workloads.machines.site import Record, Told

if TYPE_CHECKING:
    from shunter.workloads.machines.site import Site
    from shunter.workloads.text.source import Source

_QUEUE: Final = re.compile(r"QUEUE:\s*(\S+)")
_COLUMNS: Final = {
    "prio": "PRIORITY",
    "max": "QJOB_LIMIT",
    "jl/u": "UJOB_LIMIT",
    "jl/p": "PJOB_LIMIT",
    "jl/h": "HJOB_LIMIT",
}
_MINUTES: Final = r"\s*([\d.]+)\s*min(?:\s+of\s+\S+)?"
_LIMITS: Final = {
    "RUNLIMIT": _MINUTES,
    "CPULIMIT": _MINUTES,
    "PROCLIMIT": r"\s*(\d+(?:\s+\d+){0,2})(?!\S)",
    "TASKLIMIT": r"\s*(\d+(?:\s+\d+){0,2})(?!\S)",
    **dict.fromkeys(
        ("MEMLIMIT", "SWAPLIMIT", "STACKLIMIT", "CORELIMIT", "DATALIMIT", "FILELIMIT"), r"\s*([\d.]+\s*[KMGT]?B?)(?!\S)"
    ),
    **dict.fromkeys(("PROCESSLIMIT", "THREADLIMIT"), r"\s*(\d+)(?!\S)"),
}
"""The limits that stand in a line above their values, with what a value looks like."""
_NAMED: Final = re.compile(
    r"(USERS|HOSTS|RUN_WINDOWS?|DISPATCH_WINDOWS?|USER_SHARES|SCHEDULING POLICIES|RES_REQ|PREEMPTION|QUEUE_GROUP):"
    r"\s*(.*)"
)
_POLICIES: Final = ("FAIRSHARE", "BACKFILL", "EXCLUSIVE", "APS_PRIORITY")


def recognizes(source: Source) -> bool:
    """Returns whether the text begins with a queue."""
    return bool(source.head_lines) and _QUEUE.match(source.head_lines[0]) is not None


def note(source: Source, site: Site) -> None:
    """Notes each queue; what is printed is in force, and goes before what a configuration says."""
    record: Record = {}
    is_default, header = False, list[str]()
    for number, line in source.lines():
        text, place = line.strip(), site.repairs.place(source, number)
        if match := _QUEUE.match(text):
            record = site.partitions.setdefault(match[1], {})
            is_default, header = False, []
        elif not text:
            header = []
        elif text.endswith("LIMITS:"):
            is_default = text.startswith("DEFAULT")
        elif match := _NAMED.match(text):
            _note_named(record, place, match[1], match[2])
        elif header:
            _note_row(record, place, header, text, is_default)
            header = []
        elif text.startswith("PRIO ") or all(word in _LIMITS for word in text.split()):
            header = text.split()


def _note_named(record: Record, place: int, key: str, value: str) -> None:
    if key == "SCHEDULING POLICIES":
        for word in _POLICIES:
            if word in value.split():
                record.setdefault(word.lower(), Told(place, word, "Y"))
    elif key == "USER_SHARES":
        record["fairshare"] = Told(place, key, f"USER_SHARES[{value.strip()}]")
    elif value.strip():
        # A window is called in the singular in the configuration.
        name = re.sub(r"WINDOWS$", "WINDOW", key)
        record[name.lower()] = Told(place, name, value.strip())


def _note_row(record: Record, place: int, header: list[str], text: str, is_default: bool) -> None:
    if header[0] == "PRIO":
        for name, cell in zip(header, text.split(), strict=False):
            key = _COLUMNS.get(name.lower())
            if key is not None and cell != "-":
                record[key.lower()] = Told(place, key, cell)
        return
    rest = text
    for name in header:
        match = re.match(_LIMITS[name], rest)
        if match is None:
            record[name.lower()] = Told(place, name, rest.strip())
            return
        rest = rest[match.end() :]
        key = f"DEFAULT {name}" if is_default else name
        record[key.lower()] = Told(place, key, match[1])
