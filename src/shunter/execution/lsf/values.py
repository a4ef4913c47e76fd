"""How LSF writes values: times, amounts of memory, lists of hosts, ids of jobs, and why a job waits."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, timedelta
from typing import Final

from shunter.execution.operating.site import SiteError, State
from shunter.workloads.text.durations import limit_s
from shunter.workloads.text.published import MB_OF_UNIT

STATES: Final = {
    "PEND": State.PENDING,
    "PSUSP": State.PENDING,
    **dict.fromkeys(("RUN", "USUSP", "SSUSP", "UNKWN"), State.RUNNING),
    **dict.fromkeys(("DONE", "EXIT", "POST_DONE", "POST_ERR"), State.ENDED),
    **dict.fromkeys(("WAIT", "ZOMBI", "PROV", "FWD_PEND"), State.OTHER),
}
"""What a job does. One that LSF or a user has suspended keeps its slots."""
ENDS: Final = {"DONE": "completed", "POST_DONE": "completed", "EXIT": "failed", "POST_ERR": "failed"}
"""How a job ended, in the words of logs."""
OPEN_HOSTS: Final = ("ok", "closed_full")
"""In lower case: states of hosts on which jobs may start as soon as slots are free."""
INDEX_BITS: Final = 32
"""LSF's own number of an element of an array has the index above so many bits, and the array's id below."""

_ID: Final = re.compile(r"([1-9]\d{0,9})(?:\[([1-9]\d{0,8})\])?")
_NAME_INDEX: Final = re.compile(r"\[(\d{1,9})\](?:%\d+)?$")
_TIME: Final = re.compile(
    r"(?:[A-Z][a-z]{2} )?([A-Z][a-z]{2}) +(\d{1,2}) (\d{1,2}):(\d{2})(?::(\d{2}))?(?: (\d{4}))?(?: +[LEX])?"
)
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_AMOUNT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTPE]?)(?:b|bytes)?(?:/.*)?", re.IGNORECASE)
_OPEN_REASONS: Final = re.compile(
    r"new job is waiting for scheduling"
    r"|waiting for scheduling after resumed"
    r"|not enough (job |free )?(slot|processor|cpu|host|gpu|resource|memory)"
    r"|^job slot limit reached"
    r"|requirements?\b.*\bnot (satisfied|met)"
    r"|requirements? .*cannot be (met|satisfied)"
    r"|no suitable host|candidate host"
    r"|^(the )?hosts? (is|are|has|have|load|slot|closed)|\bhosts?:? .*(busy|full|unavail|unreach|closed|exclusive)"
    r"|^closed by lsf administrator|load information unavailable|just started a job recently"
    r"|exclusive job|reserved (for|by)|higher priority"
)
"""In lower case: reasons of jobs that only wait for room or for their turn."""
_OTHER_REASONS: Final = re.compile(r"dependenc|suspended|pre-exec|user|queue|project|group")
"""What no reason of room or turn speaks of."""
_HOSTS_REASON: Final = re.compile(r":\s*\d+ hosts?$|^not (specified in job submission|usable to the queue)")


def id_of(cell: str, index: str = "", name: str = "") -> tuple[int, str, int | None]:
    """Returns a job's number, how commands name it, and its array's id.

    Args:
        cell: ``123``, or ``123[4]`` for an element of an array.
        index: The field of its own in which LSF may tell the element; 0 for none.
        name: The job's name, which ends in ``[4]`` for an element, where LSF does not tell it otherwise.

    Raises:
        SiteError: It is no id.
    """
    match = _ID.fullmatch(cell.strip())
    if match is None or not (index == "" or re.fullmatch(r"\d{1,9}", index)):
        raise SiteError(f"bjobs tells of a job with the id {cell[:40]!r} and the index {index[:40]!r}")
    at_end = _NAME_INDEX.search(name)
    element = int(match[2] or index or (at_end[1] if at_end else 0))
    array = int(match[1])
    return (array, match[1], None) if element == 0 else (array | element << INDEX_BITS, f"{array}[{element}]", array)


def time_s(cell: str, now_s: float) -> float | None:
    """Returns a time in this machine's zone: ``May 28 12:45``, ``Apr 12 18:10:00 2026 L``; None for none.

    Without a year it is the latest such day that has begun; clocks may differ by a day.
    """
    match = _TIME.fullmatch(cell.strip())
    if match is None or match[1] not in _MONTHS:
        return None
    month, (day, hour, minute, second) = (
        _MONTHS.index(match[1]) + 1,
        (int(part or 0) for part in match.group(2, 3, 4, 5)),
    )
    if match[6]:
        years: tuple[int, ...] = (int(match[6]),)
    else:
        latest = datetime.fromtimestamp(now_s) + timedelta(days=1)
        # The 29th of February may be some years ago.
        years = tuple(range(latest.year, latest.year - 9, -1))
    for year in years:
        try:
            found = datetime(year, month, day, hour, minute, second).timestamp()
        except ValueError:
            continue
        if match[6] or found <= now_s + 86_400:
            return found
    return None


def seconds(cell: str) -> float | None:
    """Returns a duration: ``34 second(s)``, ``34``, ``00:01:30``; None for none."""
    text = cell.strip().removesuffix("second(s)").strip()
    return limit_s(text) if text else None


def run_limit_s(cell: str) -> float | None:
    """Returns a run limit: ``1440.0`` or ``1440.0/hostA`` are minutes, ``24:00:00`` hours; None for none."""
    text = cell.strip().partition("/")[0].strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", text):
        return 60 * float(text) or None
    return (limit_s(text) if text.count(":") != 1 else limit_s(f"{text}:00")) or None


def memory_mb(cell: str) -> float | None:
    """Returns an amount of memory in MB: ``9 Mbytes``, ``5.2 Gbytes``, ``4G``; None for none."""
    match = _AMOUNT.fullmatch(cell.strip())
    return float(match[1]) * MB_OF_UNIT[match[2].upper()] if match else None


def slots_of(cell: str) -> tuple[tuple[str, int], ...]:
    """Returns the hosts of a job with the slots on each: ``h1:h1:h2``, or ``4*h1:2*h2``."""
    slots: Counter[str] = Counter()
    for word in filter(None, re.split(r"[:\s]+", cell.strip())):
        times, star, host = word.partition("*")
        # A job of another cluster has its name behind the host's.
        name = (host if star else word).partition("@")[0]
        slots[name] += int(times) if star and re.fullmatch(r"\d{1,6}", times) else 1
    return tuple(slots.items())


def devices_of(cell: str) -> dict[str, list[int]] | None:
    """Returns the numbers of a job's GPUs by host: ``n1:0,1;n2:0``; None where they are not told."""
    found: dict[str, list[int]] = {}
    for item in filter(None, (part.strip() for part in cell.split(";"))):
        host, colon, numbers = item.rpartition(":")
        if not colon or not re.fullmatch(r"\d{1,4}(,\d{1,4})*", numbers):
            return None
        found.setdefault(host.partition("@")[0], []).extend(map(int, numbers.split(",")))
    return found or None


def barrier_of(reason: str) -> str:
    """Returns what keeps a pending job from starting whoever orders the queue, in LSF's own words; empty: nothing."""
    for one in filter(None, (part.strip() for part in reason.split(";"))):
        text = one.lower()
        # What speaks of a number of hosts is about those hosts, and the job may start on others.
        is_open = _HOSTS_REASON.search(text) or (_OPEN_REASONS.search(text) and not _OTHER_REASONS.search(text))
        if not is_open:
            return one
    return ""
