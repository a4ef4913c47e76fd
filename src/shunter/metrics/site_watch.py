"""What a site's limits, licenses and advance reservations kept a waiting job from, from the record of its run alone."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shunter.model.ruled_jobs import MILLI
from shunter.model.start_rules import counter_text, holds_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from shunter.metrics.record import Record
    from shunter.metrics.wait_sweep import Wait
    from shunter.model.start_rules import StartRules

WEEK_MS = 604_800_000


class SiteWatch:
    """Which limit a job was at, and which nodes were closed to it, while it waited."""

    def __init__(self, record: Record, row: int, rules: StartRules, waits: Sequence[Wait]) -> None:
        """Works out when anything changes."""
        self._rules = rules
        columns = rules.columns
        own = columns["take_job"] == row
        self._takes = list(
            zip(columns["take_counter"][own].tolist(), columns["take_amount"][own].tolist(), strict=True)
        )
        self._used = {counter: _use(record, row, rules, counter) for counter, _ in self._takes}
        begin_ms, until_ms = waits[0][0], waits[-1][1]
        self._span_ms = _span_ms(record, row)
        self._closed = list(_closures(rules, row, begin_ms, until_ms + self._span_ms))
        breaks = {time_ms for times, _ in self._used.values() for time_ms in times.tolist()}
        for start_ms, end_ms, _ in self._closed:
            breaks |= {start_ms - self._span_ms + 1, end_ms}
        for counter, _ in self._takes:
            breaks |= set(_hour_changes(rules, counter, begin_ms, until_ms))
        self._breaks = np.array(sorted(time_ms for time_ms in breaks if begin_ms < time_ms < until_ms))
        self.limited: Counter[str] = Counter()
        """What it waited for, and for how long."""
        self.reserved: Counter[str] = Counter()

    @classmethod
    def of(cls, record: Record, row: int, waits: Sequence[Wait]) -> SiteWatch | None:
        """Returns what there is to watch for a job; None if the site has no rules."""
        rules = record.start_rules
        return None if rules is None or not rules.bind_starts or not waits else cls(record, row, rules, waits)

    def stretches(self, from_ms: float, until_ms: float) -> Iterator[Wait]:
        """Returns the parts of a stretch of time in which no rule changes anything."""
        inside = self._breaks[(self._breaks > from_ms) & (self._breaks < until_ms)].tolist()
        yield from pairwise([from_ms, *inside, until_ms])

    def is_limited(self, from_ms: float, lasted_ms: float) -> bool:
        """Tells whether a limit kept the job from starting at a time, and counts which."""
        for counter, amount in self._takes:
            times, used = self._used[counter]
            place = int(np.searchsorted(times, from_ms, side="right"))
            is_full = (int(used[place - 1]) if place else 0) + amount > int(self._rules.columns["capacity"][counter])
            limit = self._rules.counters[counter].limit
            if is_full and (limit is None or holds_at(limit, from_ms, self._rules.week_offset_ms)):
                self.limited[counter_text(self._rules.counters[counter])] += int(lasted_ms)
                return True
        return False

    def closed_at(self, time_ms: float) -> set[int]:
        """Returns the nodes that are closed to the job if it starts at a time."""
        windows = [
            window
            for start_ms, end_ms, window in self._closed
            if start_ms < time_ms + self._span_ms and end_ms > time_ms
        ]
        columns = self._rules.columns
        return set(columns["closed_node"][np.isin(columns["closed_window"], windows)].tolist())

    def count_reserved(self, time_ms: float, lasted_ms: float, usable: Collection[int]) -> None:
        """Notes which window kept the job from starting at a time: the first that closes nodes which it may use."""
        columns = self._rules.columns
        for start_ms, end_ms, window in self._closed:
            closes = columns["closed_node"][columns["closed_window"] == window].tolist()
            if start_ms < time_ms + self._span_ms and end_ms > time_ms and not set(closes).isdisjoint(usable):
                name = self._rules.windows[window].name
                until = f" to {end_ms / MILLI:,.15g} s" if end_ms > start_ms else ""
                text = f"from {start_ms / MILLI:,.15g} s{until}{f' ({name})' if name else ''}"
                self.reserved[text] += int(lasted_ms)
                return


def _use(record: Record, row: int, rules: StartRules, counter: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Returns when the use of a counter by other jobs changes, and how much is used from then on."""
    columns, segments = rules.columns, record.segments
    here = (columns["take_counter"] == counter) & (columns["take_job"] != row)
    amount = np.zeros(len(record), dtype=np.int64)
    amount[columns["take_job"][here]] = columns["take_amount"][here]
    kept = np.flatnonzero((amount[segments.job] > 0) & (segments.length_ms > 0))
    taken = amount[segments.job[kept]]
    times, places = np.unique(np.concatenate([segments.start_ms[kept], segments.end_ms[kept]]), return_inverse=True)
    changes = np.zeros(len(times), dtype=np.int64)
    np.add.at(changes, places.reshape(-1), np.concatenate([taken, -taken]))
    return times, np.cumsum(changes)


def _span_ms(record: Record, row: int) -> float:
    """Returns for how long a job asks, or else how long it ran: for so long nodes must be open to it."""
    asked_s = record.rows["requested_s"][row] if "requested_s" in record.rows.columns else None
    ran_s = record.rows["duration_s"][row] if "duration_s" in record.rows.columns else None
    return float(max(1.0, MILLI * (asked_s if asked_s is not None else ran_s or 0.0)))


def _closures(rules: StartRules, row: int, from_ms: float, until_ms: float) -> Iterator[tuple[float, float, int]]:
    """Returns when windows begin and end that bind a job, and which they are: those that matter between two times."""
    columns = rules.columns
    if not rules.windows:
        return
    binds = columns["binds"][columns["class_"][row]]
    for window in np.flatnonzero(binds).tolist():
        start_ms, lasts_ms, period_ms = (
            int(columns[f"window_{name}_ms"][window]) for name in ("start", "duration", "period")
        )
        if period_ms:
            start_ms += max(0, int((from_ms - start_ms - lasts_ms) // period_ms)) * period_ms
        while start_ms < until_ms:
            if start_ms + lasts_ms > from_ms:
                yield start_ms, start_ms + lasts_ms, window
            if not period_ms:
                break
            start_ms += period_ms


def _hour_changes(rules: StartRules, counter: int, from_ms: float, until_ms: float) -> Iterator[float]:
    limit = rules.counters[counter].limit
    if limit is None or not limit.has_hours:
        return
    week_ms = from_ms - (from_ms + rules.week_offset_ms) % WEEK_MS
    while week_ms < until_ms:
        yield from (week_ms + edge_ms for stretch in limit.hours_ms() for edge_ms in stretch)
        week_ms += WEEK_MS
