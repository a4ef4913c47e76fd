"""The header of a SWF log: comments that tell the machine, when the log begins, and in which zone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import polars as pl
from polars.exceptions import PolarsError

from shunter.model.workload import CORES_LIMIT

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

ZONES: Final = "TimeZone contradicts TimeZoneString: the latter counts"
_DAYLIGHT_S: Final = 3600
_CALENDAR_S: Final = 2**32
_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t]*(?:;[^\r\n]*)?(?:\r\n|\r|\n))*")


def machine_cores(header: dict[str, str]) -> tuple[str | None, str | None]:
    """Returns the number with which MaxProcs begins, or else MaxNodes; or None, and why there is none."""
    note = None
    for key in ("MaxProcs", "MaxNodes"):
        number = re.match(r"[0-9]+", header.get(key, ""))
        # Headers add remarks behind the number: "MaxProcs: 338 (of 512)".
        if number and 1 <= int(number.group()[:20]) <= CORES_LIMIT:
            return str(int(number.group()[:20])), None
        if key in header and note is None:
            note = f'its header says "{key}: {header[key]}", which is no number of cores from 1 to {CORES_LIMIT:,.0f}'
    return None, note


def read_header(text: bytes) -> dict[str, str]:
    """Returns what the comments before the first job say: ``; MaxProcs: 338 (of 512)`` gives MaxProcs.

    A key that stands several times, such as Note, keeps its first value.
    """
    entries: dict[str, str] = {}
    block = _HEADER.match(text)
    for line in (block.group() if block else b"").decode("utf-8-sig", errors="replace").splitlines():
        key, colon, value = line.strip().lstrip(";").partition(":")
        if colon:
            entries.setdefault(key.strip(), value.strip())
    return entries


def whole_number(text: str | None) -> int | None:
    """Returns the whole number with which a header's entry begins."""
    number = re.match(r"-?[0-9]{1,12}\b", text or "")
    return int(number.group()) if number else None


def clock_offset_s(header: dict[str, str]) -> float | None:
    """Returns what the site's clock showed at a log's second 0, in seconds since 1970; None: the header does not say.

    Without a zone, the clock is that of UTC.
    """
    zero_s = whole_number(header.get("UnixStartTime"))
    return float(zero_s + (zone_offset_s(header) or 0)) if zero_s is not None and zero_s > 0 else None


def zone_offset_s(header: dict[str, str]) -> int | None:
    """Returns how far a log's clock is ahead of UTC, without daylight saving; None if its header does not say.

    ``TimeZoneString``, which names the zone, counts more than ``TimeZone``, whose seconds are wrong in some logs.
    """
    named_s = _named_offset_s(header)
    return whole_number(header.get("TimeZone")) if named_s is None else named_s


def _named_offset_s(header: dict[str, str]) -> int | None:
    zone = header.get("TimeZoneString")
    if not zone:
        return None
    start_s = whole_number(header.get("UnixStartTime")) or 0
    # Calendars have an end, beyond which polars panics.
    moment = pl.from_epoch(pl.Series([start_s if 0 < start_s < _CALENDAR_S else 0]), time_unit="s")
    try:
        local = moment.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    except PolarsError:
        return None
    return int(local.dt.base_utc_offset().dt.total_seconds()[0])


def tell_zones(source: Source, header: dict[str, str], repairs: Repairs) -> None:
    """Counts a header whose two zones contradict each other."""
    told_s, named_s = whole_number(header.get("TimeZone")), _named_offset_s(header)
    # Some headers give the seconds of the summer in which they were written.
    if told_s is None or named_s is None or told_s in (named_s, named_s + _DAYLIGHT_S):
        return
    lines = source.head.decode("utf-8", errors="replace").splitlines()
    line = next(number for number, text in enumerate(lines, start=1) if re.match(r"\s*;+\s*TimeZone\s*:", text))
    what = f"TimeZone {told_s}, but TimeZoneString {header['TimeZoneString']} is {named_s}"
    repairs.tell(ZONES, 1, repairs.place(source, line), what)
