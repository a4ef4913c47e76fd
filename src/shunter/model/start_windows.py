"""Advance reservations as windows: from when, for how long, how often, on which nodes, and whom they bind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.errors import InputError
from shunter.model.ruled_jobs import MILLI, no_clock
from shunter.model.site import DAY_S, ONCE, WEEK_S, AdvanceReservation, day_of, wall_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.ruled_jobs import RuledJobs
    from shunter.model.workload import Workload

_PERIODS_S: Final = {ONCE: 0, "daily": DAY_S}
_WEEKDAYS: Final = {"weekdays": range(5), "weekends": range(5, 7)}


@dataclass(frozen=True)
class Window:
    """A time at which nodes are closed, once or again and again."""

    reservation: AdvanceReservation
    start_ms: int
    period_ms: int
    nodes: tuple[int, ...]


def windows_of(
    one: AdvanceReservation, offset_s: float | None, workload: Workload, cluster: Cluster, past_is_wrong: bool
) -> list[Window]:
    """Returns the windows of a reservation: one, or one for each weekday.

    Raises:
        InputError: It lies in the past, or goes by a clock that nobody tells.
    """
    where = one.where or cluster.name
    if offset_s is None and (isinstance(one.start, str) or one.repeat in _WEEKDAYS):
        raise InputError(f"{where}: {no_clock('goes by the calendar')}")
    start_s = wall_s(one.start) - (offset_s or 0.0) if isinstance(one.start, str) else float(one.start)
    first_s = float(workload.log.jobs["submit_s"][0])
    if past_is_wrong and one.repeat == ONCE and start_s < first_s and start_s + one.duration_s <= first_s:
        raise InputError(
            f"{where}: lies in the past: it ends {first_s - start_s - one.duration_s:,.0f} s before the log's first "
            "job; mend start, or take it out"
        )
    nodes = tuple(
        number
        for number, node in enumerate(cluster.nodes)
        if (not one.nodes or node.name in one.nodes) and (one.partition is None or one.partition in node.partitions)
    )
    if one.repeat not in _WEEKDAYS:
        return [Window(one, round(start_s * MILLI), MILLI * _PERIODS_S.get(one.repeat, WEEK_S), nodes)]
    begins = (start_s + days * DAY_S for days in range(7))
    on_days = (begin_s for begin_s in begins if day_of(begin_s + (offset_s or 0.0)) in _WEEKDAYS[one.repeat])
    return [Window(one, round(begin_s * MILLI), MILLI * WEEK_S, nodes) for begin_s in on_days]


def window_columns(windows: Sequence[Window], jobs: RuledJobs, cluster: Cluster) -> dict[str, NDArray[Any]]:
    """Returns the windows, their nodes and whom they bind by the core's names for them."""
    binds = np.ones((len(jobs), len(windows)), dtype=np.uint8)
    for number, window in enumerate(windows):
        one = window.reservation
        for name, allowed in (("user", one.users), ("account", one.accounts)):
            if allowed:
                binds[jobs.matching(name, allowed), number] = 0
        if one.binds_up_to_s is not None:
            binds[jobs.requested_s > one.binds_up_to_s, number] = 0
    classes, of_job = np.unique(binds, axis=0, return_inverse=True) if windows else (np.empty((0, 0)), np.empty(0))
    closed = [(number, node) for number, window in enumerate(windows) for node in window.nodes]
    return {
        "window_start_ms": np.array([window.start_ms for window in windows], dtype=np.int64),
        "window_duration_ms": np.array(
            [round(window.reservation.duration_s * MILLI) for window in windows], dtype=np.int64
        ),
        "window_period_ms": np.array([window.period_ms for window in windows], dtype=np.int64),
        "closed_window": np.array([window for window, _ in closed], dtype=np.uint32),
        "closed_node": np.array([node for _, node in closed], dtype=np.uint32),
        "class_": of_job.reshape(-1).astype(np.uint32),
        "binds": classes.astype(np.uint8),
    }
