"""Values as Slurm's configuration and its commands write them, each with the place that an error names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shunter.model.site import COUNT_LIMIT, TIME_LIMIT_S
from shunter.workloads.formats.slurm import NO_LIMIT_WORDS, memory
from shunter.workloads.machines.site import Record, Told

if TYPE_CHECKING:
    from shunter.workloads.machines.site import Site
    from shunter.workloads.text.source import Source

NOTHING: Final = (*NO_LIMIT_WORDS, "", "-1")
"""Words, in lower case, that bound nothing."""
_DAYS: Final = re.compile(r"(\d{1,6})-(\d{1,6})(?::(\d{1,6}))?(?::(\d{1,6}))?", re.ASCII)
_CLOCK: Final = re.compile(r"(\d{1,9})(?::(\d{1,6}))?(?::(\d{1,6}))?", re.ASCII)
_PAIR: Final = re.compile(r"([A-Za-z]\w*)=(\S*)")
TRES_COUNTS: Final = {"cpu": "cores", "gres/gpu": "gpus", "mem": "memory_mb"}
"""The resources that limits count, with the ends of the names of their bounds."""


def time_s(site: Site, told: Told) -> float | None:
    """Returns a time in seconds: ``90`` minutes, ``4:00:00``, ``2-12``; None for one that bounds nothing.

    Raises:
        InputError: It is none of Slurm's times.
    """
    text = told.value.strip()
    if text.lower() in NOTHING:
        return None
    seconds = _seconds(text)
    if seconds is None or seconds > TIME_LIMIT_S:
        raise site.wrong(told, "a time such as 30 (minutes), 4:00:00 or 2-12:00:00, or UNLIMITED")
    return float(seconds)


def _seconds(text: str) -> int | None:
    if match := _DAYS.fullmatch(text):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if match := _CLOCK.fullmatch(text):
        first, second, third = match.groups()
        # One number is minutes, two are minutes and seconds, three have hours before them.
        if third is not None:
            return (int(first) * 60 + int(second)) * 60 + int(third)
        return int(first) * 60 + int(second or 0)
    return None


def names(told: Told | None) -> tuple[str, ...]:
    """Returns a list of names; none for ALL and for what is not told."""
    if told is None or told.value.strip().lower() in ("all", "n/a", *NOTHING):
        return ()
    return tuple(dict.fromkeys(name.strip() for name in told.value.split(",") if name.strip()))


def tres(site: Site, told: Told) -> dict[str, float]:
    """Returns amounts by resource: ``cpu=24,gres/gpu=2,mem=20G``, memory in MB; what has no bound is left out.

    Raises:
        InputError: An amount makes no sense.
    """
    found = {}
    for item in told.value.split(","):
        name, sign, text = (part.strip() for part in item.partition("="))
        if not item.strip() or (sign and text in ("-1", "")):
            continue
        size = memory(text) if sign else None
        if size is None or size.memory_mb > 1e15 or (name != "mem" and not re.fullmatch(r"\d+", text, re.ASCII)):
            raise site.wrong(told, "amounts such as cpu=24,gres/gpu=2,mem=20G")
        # Only memory has units; elsewhere the number alone counts.
        found[name.lower()] = size.memory_mb if name == "mem" else float(min(int(text), COUNT_LIMIT))
    return found


def printed_records(source: Source, site: Site, start: str) -> Iterator[Record]:
    """Yields what scontrol prints of each thing, on one line or on several.

    Args:
        source: The file.
        site: Takes lines that belong to nothing.
        start: The key with which each begins.
    """
    record: Record = {}
    for number, line in source.lines():
        place = site.repairs.place(source, number)
        if line.startswith(f"{start}="):
            if record:
                yield record
            record = {}
        elif not record:
            if line.strip():
                site.repairs.skip(place, f"the line {line[:40]!r} belongs to no {start}")
            continue
        for key, value in _PAIR.findall(line):
            # The first of equal keys counts: comments, which may hold anything, stand at the end.
            record.setdefault(key.lower(), Told(place, key, value))
    if record:
        yield record
