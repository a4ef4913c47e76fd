"""LSF's windows of time, in which a queue is open, as the hours in which it is closed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shunter.model.site import DAYS

if TYPE_CHECKING:
    from shunter.workloads.machines.site import Site, Told

_DAY_MINUTES: Final = 1440
_WEEK_MINUTES: Final = 7 * _DAY_MINUTES
_MOMENT: Final = re.compile(r"(?:([0-7]):(?=\d+:))?(\d{1,2})(?::(\d{2}))?", re.ASCII)
"""A day, an hour and a minute; without the day; or the hour alone."""


def closed_hours(site: Site, told: Told) -> list[dict[str, str]]:
    """Returns the hours of the week outside of all windows, by the words of limits.

    Windows are such as ``20:00-8:30``, every day, or ``5:19:00-1:8:30``, from Friday to Monday; 0 and 7 are Sunday.

    Raises:
        InputError: A window makes no sense.
    """
    is_open = [False] * _WEEK_MINUTES
    for window in told.value.strip("()").split():
        for start, end in _stretches(site, told, window):
            for minute in range(start, end):
                is_open[minute % _WEEK_MINUTES] = True
    alike: dict[tuple[int, int], list[int]] = {}
    for day in range(7):
        minutes = is_open[day * _DAY_MINUTES : (day + 1) * _DAY_MINUTES]
        for stretch in _closed(minutes):
            alike.setdefault(stretch, []).append(day)
    return [_hours(stretch, days) for stretch, days in alike.items()]


def _stretches(site: Site, told: Told, window: str) -> list[tuple[int, int]]:
    """Returns when a window is open, in minutes from Monday on: one stretch with days, seven without."""
    first, _, last = window.partition("-")
    moments = [_MOMENT.fullmatch(text) for text in (first, last)]
    if any(match is None for match in moments):
        raise _wrong(site, told)
    parts = [match.groups() for match in moments if match is not None]
    minutes = [_minute(hour, minute) for _, hour, minute in parts]
    days = [day for day, _, _ in parts]
    if any(one > _DAY_MINUTES for one in minutes) or (days[0] is None) != (days[1] is None):
        raise _wrong(site, told)
    # LSF counts days from Sunday, the week here begins on Monday.
    offsets = [(int(day) - 1) % 7 * _DAY_MINUTES for day in days if day is not None]
    period, starts = (_WEEK_MINUTES, [offsets[0]]) if offsets else (_DAY_MINUTES, [d * _DAY_MINUTES for d in range(7)])
    length = (minutes[1] - minutes[0] + (offsets[1] - offsets[0] if offsets else 0)) % period or period
    return [(start + minutes[0], start + minutes[0] + length) for start in starts]


def _minute(hour: str, minute: str | None) -> int:
    return int(hour) * 60 + int(minute or 0)


def _closed(is_open: list[bool]) -> list[tuple[int, int]]:
    """Returns the stretches of a day that are not open."""
    found: list[tuple[int, int]] = []
    start = None
    for minute, one in enumerate([*is_open, True]):
        if not one and start is None:
            start = minute
        elif one and start is not None:
            found.append((start, minute))
            start = None
    return found


def _hours(stretch: tuple[int, int], days: list[int]) -> dict[str, str]:
    said = {} if len(days) == 7 else {"days": ",".join(DAYS[day] for day in days)}
    if stretch != (0, _DAY_MINUTES):
        clock = [f"{minute // 60:02d}:{minute % 60:02d}" for minute in stretch]
        said |= {"from_time": clock[0], "to_time": clock[1]}
    return said


def _wrong(site: Site, told: Told) -> Exception:
    return site.wrong(told, "windows such as 20:00-8:30 or 5:19:00-1:8:30")
