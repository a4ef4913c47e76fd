"""Slurm's advance reservations to ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from shunter.errors import InputError
from shunter.model.site import ONCE, TIME_LIMIT_S, AdvanceReservation, wall_s
from shunter.workloads.machines.slurm_partitions import partition_nodes
from shunter.workloads.machines.slurm_values import NOTHING, names, time_s, tres

if TYPE_CHECKING:
    from shunter.model.cluster import Node
    from shunter.workloads.machines.site import Record, Site, Told

_NAME: Final = "reservationname"
_REPEATS: Final = {"DAILY": "daily", "WEEKLY": "weekly", "WEEKDAY": "weekdays", "WEEKEND": "weekends"}
_HARMLESS: Final = (
    *(
        "MAINT",
        "IGNORE_JOBS",
        "SPEC_NODES",
        "ALL_NODES",
        "PART_NODES",
        "ANY_NODES",
        "OVERLAP",
        "STATIC",
        "STATIC_ALLOC",
    ),
    *("FIRST_CORES", "REPLACE", "REPLACE_DOWN", "NO_HOLD_JOBS_AFTER", "NO_HOLD_JOBS_AFTER_END", "SPEC_LIC"),
)
"""Flags that say how nodes were chosen, or what happens afterwards."""
_UNTAKABLE: Final = {
    "HOURLY": "comes every hour, which is not simulated",
    "TIME_FLOAT": "moves with the clock, which is not simulated",
}
"""Flags with which a reservation is left out."""
_RUNS_ON: Final = 1e8
"""So long lasts what has no end: three years, longer than any log."""


def reservations(site: Site, nodes: Sequence[Node]) -> Iterator[AdvanceReservation]:
    """Yields the reservations of nodes that bind somebody.

    Raises:
        InputError: A value makes no sense.
    """
    for record in site.reservations:
        if (found := _reservation(site, record, nodes)) is not None:
            yield found


def _reservation(site: Site, record: Record, nodes: Sequence[Node]) -> AdvanceReservation | None:
    name = record[_NAME]
    flags = names(record.get("flags"))
    why = next((reason for flag, reason in _UNTAKABLE.items() if flag in flags), None)
    users, accounts = names(record.get("users")), names(record.get("accounts"))
    if any(one.startswith("-") for one in (*users, *accounts)):
        why = "is closed to some alone, and open to all others"
    reserved = partition_nodes(site, record.get("nodes"), nodes)
    if why is None and not reserved:
        why = "reserves no node that is known"
    if why is not None:
        site.leave(name, why)
        return None
    start = _start(site, record)
    duration_s = _duration_s(site, record, start)
    repeat = next((word for flag, word in _REPEATS.items() if flag in flags), ONCE)
    try:
        found = AdvanceReservation(
            start=start,
            duration_s=duration_s,
            name=name.value,
            # All nodes of the cluster need no names.
            nodes=() if len(reserved) == len(nodes) else tuple(reserved),
            repeat=repeat,
            users=users,
            accounts=accounts,
            where=site.where(record),
        )
    except InputError as error:
        raise InputError(f"{site.where(record)}: {name.value} {error}") from None
    _leave_rest(site, record, flags, sum(node.cores for node in nodes if node.name in set(reserved)))
    return found


def _start(site: Site, record: Record) -> str:
    told = _needed(site, record, "starttime")
    try:
        wall_s(told.value)
    except InputError:
        raise site.wrong(told, "a time such as 2026-03-01T08:00:00") from None
    return told.value.replace("T", " ")


def _duration_s(site: Site, record: Record, start: str) -> float:
    """Returns how long it lasts: until its end, or as long as it says."""
    end = record.get("endtime")
    if end is not None and end.value.lower() not in NOTHING:
        try:
            seconds = wall_s(end.value) - wall_s(start)
        except InputError:
            raise site.wrong(end, "a time such as 2026-03-01T12:00:00") from None
        if seconds < 0:
            raise site.wrong(end, f"a time after its start, {start}")
        return min(seconds, TIME_LIMIT_S)
    told = _needed(site, record, "duration")
    seconds_told = time_s(site, told)
    return _RUNS_ON if seconds_told is None else seconds_told


def _needed(site: Site, record: Record, key: str) -> Told:
    if key not in record:
        raise site.wrong(record[_NAME], f"its {key} behind it")
    return record[key]


def _leave_rest(site: Site, record: Record, flags: Sequence[str], cores: float) -> None:
    for flag in flags:
        if flag not in _HARMLESS and flag not in _REPEATS:
            site.leave(record["flags"]._replace(value=flag), "the flag is not simulated")
    if "groups" in record and names(record["groups"]):
        site.leave(record["groups"], "groups of Unix are not known")
    if names(record.get("users")) and names(record.get("accounts")):
        site.leave(record["accounts"], "either its users or its accounts are enough here, not both")
    if "licenses" in record and names(record["licenses"]):
        site.leave(record["licenses"], "licenses cannot be reserved")
    told = record.get("tres")
    if told is not None and names(told) and tres(site, told).get("cpu", cores) < cores:
        site.leave(told, "whole nodes are reserved, not some of their cores")
