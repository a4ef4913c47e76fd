"""A walk through the time that a job waited: what was free for it, and who held what it lacked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.metrics.nearness import Nearness
from shunter.metrics.occupancy import RESOURCES, WHOLE, Amounts, NodeRoom, Shape
from shunter.metrics.refusal import Refusal
from shunter.metrics.site_watch import SiteWatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.metrics.record import Record

ORDER: Final = "order"
"""There was room, but the order or a reservation of another job held it back."""
DOWN: Final = "nodes down"
"""There would have been room, but for nodes that had failed and on which nothing has started since."""
SCATTERED: Final = "fragmentation"
"""Enough was free of everything, but not together."""
LOCALITY: Final = "locality"
"""There was room, but not on nodes that were close enough together, and the job waited for these."""
REFUSED: Final = "type refused"
"""There was room, but on types of GPUs alone that the job refused."""
LIMIT: Final = "limit"
"""A limit of the site, or a license that others had, kept it from starting, whether there was room or not."""
RESERVED: Final = "reserved"
"""There was room, but on nodes alone that were reserved before it would have ended."""

Wait = tuple[float, float]
"""From when until when a job waited, in ms."""


@dataclass(frozen=True)
class Moment:
    """A stretch of time in which nothing changed for the job."""

    from_ms: float
    until_ms: float
    reason: str
    """One of those above, or the resource of which not enough was free: one of `RESOURCES`."""
    room: int
    """How many of its tasks would have fitted."""
    free: Amounts
    """What was free where most of them would have."""


@dataclass
class Sweep:
    """What the walk found."""

    moments: list[Moment] = field(default_factory=list)
    held_ms: dict[int, float] = field(default_factory=dict)
    """By job: for how long it held what was lacking, times the tasks of the waiting job that could have run there."""
    lacking_ms: float = 0.0
    """For how long there was no room."""
    waits_for: str = ""
    """What it waited for where locality was the reason: ``one node``."""
    refused: str = ""
    """Which types it refused, and why: ``refused V100: price 3.1 × its P100``."""
    limited: str = ""
    """The limit at which it was for longest: ``a limit of user ann (running_jobs 2)``."""
    reserved: str = ""
    """When the nodes were reserved that kept it waiting for longest: ``from 5 s to 8 s (maintenance)``."""


class Walker:
    """Goes through starts and ends on the nodes that a job may use."""

    def __init__(self, record: Record, row: int, waits: list[Wait]) -> None:
        """Starts with empty nodes."""
        self.record, self.row, self.waits = record, row, waits
        self.shape = Shape.of(record, row)
        cluster = record.cluster
        pools: dict[tuple[int, str | None], int] = {}
        # A job with GPUs takes nodes of one type only, unless the cluster mixes them: room is counted type by type. It
        # takes nodes of one partition, too; those in several count with the first that the job names.
        one_pool = bool(self.shape.each[0]) and not cluster.mix
        choice_of = record.choice_of(row)

        def pool_of(number: int) -> int:
            key = (choice_of[number], cluster.nodes[number].gpu_type if one_pool else None)
            return pools.setdefault(key, len(pools))

        self.places = {
            number: NodeRoom.empty(cluster.nodes[number], self.shape, pool_of(number)) for number in record.usable(row)
        }
        self.nearness = Nearness.of(record, row, self.places)
        self.type_of = {pool: name for (_, name), pool in pools.items() if name is not None}
        self.refusal = Refusal.of(record, row, list(dict.fromkeys(self.type_of.values())))
        self.watch = SiteWatch.of(record, row, waits)
        self.room = {place.pool: 0 for place in self.places.values()}
        self.free = {pool: [0, 0, 0] for pool in self.room}
        self.failed: set[int] = set()
        # By node: until when it was noted, and for how long each resource has bound, by a clock that goes while the
        # job waits for room.
        self.clock_ms = 0.0
        self.since = dict.fromkeys(self.places, 0.0)
        self.bound_ms = {number: [0.0, 0.0, 0.0] for number in self.places}
        self.taken: dict[int, tuple[list[tuple[int, int]], list[float]]] = {}
        self.held: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        self.counting = False
        columns = record.milli_gpus, record.milli_cores, record.memory_mb
        self.each: list[Amounts] = list(zip(*(column.tolist() for column in columns), strict=True))

    def walk(self) -> Sweep:
        """Returns what was free during the waits, and who held the rest."""
        sweep = Sweep()
        entries, times = self._entries()
        waits = iter(self.waits)
        wait = next(waits, None)
        now = -np.inf
        # All changes of one instant are made before anything is counted: what ends makes room for what starts.
        for time, changes in groupby(times, key=lambda change: change[0]):
            while wait is not None and wait[1] <= time:
                self._wait_through(sweep, max(now, wait[0]), wait[1])
                now, wait = wait[1], next(waits, None)
            if wait is None:
                break
            if time > wait[0]:
                self._wait_through(sweep, max(now, wait[0]), time)
            now = time
            for _, starts, entry in changes:
                self._change(entry, bool(starts), *entries[entry])
        while wait is not None:
            self._wait_through(sweep, max(now, wait[0]), wait[1])
            wait = next(waits, None)
        self._close(entries)
        sweep.lacking_ms = self.clock_ms
        if self.nearness is not None:
            sweep.waits_for = " or ".join(dict.fromkeys(pool.what for pool in self.nearness.pools.values()))
        if self.refusal is not None:
            sweep.refused = self.refusal.text
        if self.watch is not None:
            sweep.limited, sweep.reserved = (
                max(texts, key=lambda text: texts[text], default="")
                for texts in (self.watch.limited, self.watch.reserved)
            )
        sweep.held_ms = {
            job: max(amounts) for job, amounts in self.held.items() if max(amounts) > 0 and job != self.row
        }
        return sweep

    def _entries(self) -> tuple[list[tuple[int, int, int, bool]], list[tuple[float, int, int]]]:
        """Returns (job, node, tasks, by failure) of what ran on the nodes, and the changes in the order of time."""
        segments, record = self.record.segments, self.record
        kept = (segments.length_ms > 0) & (segments.start_ms < self.waits[-1][1])
        if not ((record.milli_gpus > 0) & (record.milli_gpus < WHOLE)).any():
            # On which devices a fraction lies depends on all that was there before; nothing else does.
            kept &= segments.end_ms > self.waits[0][0]
        usable = np.zeros(len(record.cluster.nodes), dtype=np.bool_)
        usable[list(self.places)] = True
        places = np.flatnonzero(kept[segments.entry] & usable[segments.nodes])
        of = segments.entry[places]
        columns = segments.job[of], segments.nodes[places], segments.tasks[places], segments.by_failure[of]
        entries = list(zip(*(column.tolist() for column in columns), strict=True))
        return entries, _in_order(segments.start_ms[of], segments.end_ms[of])

    def _wait_through(self, sweep: Sweep, from_ms: float, until_ms: float) -> None:
        if until_ms <= from_ms:
            return
        stretches = [(from_ms, until_ms)] if self.watch is None else self.watch.stretches(from_ms, until_ms)
        for stretch in stretches:
            self._wait_on(sweep, *stretch)

    def _wait_on(self, sweep: Sweep, from_ms: float, until_ms: float) -> None:
        """Counts a stretch in which nothing changes but that the job takes any nodes from some time on."""
        if self.nearness is not None and from_ms < self.nearness.until_ms < until_ms:
            # From then on the job takes any nodes, so that another reason may hold.
            self._wait_on(sweep, from_ms, self.nearness.until_ms)
            from_ms = self.nearness.until_ms
        if until_ms > from_ms:
            self._count_all()
            reason, room, pool = self._diagnosis()
            reason = self._ruled(reason, from_ms, until_ms - from_ms)
            if reason == ORDER and self.nearness is not None and from_ms < self.nearness.until_ms:
                reason = ORDER if self.nearness.has_room(self.places, self.failed) else LOCALITY
            if reason == ORDER and self.refusal is not None:
                with_room = [self.type_of[one] for one, tasks in self.room.items() if tasks >= self.shape.tasks]
                reason = REFUSED if self.refusal.note(with_room, until_ms - from_ms) else ORDER
            # Holders are charged for time without room only; while there was room, it was the order that held the job
            # back.
            if reason not in (ORDER, LIMIT, RESERVED):
                self.clock_ms += until_ms - from_ms
            free = self.free[pool]
            sweep.moments.append(Moment(from_ms, until_ms, reason, room, (free[0], free[1], free[2])))

    def _ruled(self, reason: str, from_ms: float, lasted_ms: float) -> str:
        """Returns the reason with the site's rules in mind: a limit goes before all else, closed nodes give no room."""
        if self.watch is None:
            return reason
        if self.watch.is_limited(from_ms, lasted_ms):
            return LIMIT
        closed = self.watch.closed_at(from_ms) if reason == ORDER else set()
        if not closed:
            return reason
        room = dict.fromkeys(self.room, 0)
        for number, place in self.places.items():
            room[place.pool] += place.room if number not in closed and number not in self.failed else 0
        if max(room.values()) >= self.shape.tasks:
            return reason
        self.watch.count_reserved(from_ms, lasted_ms, self.places)
        return RESERVED

    def _diagnosis(self) -> tuple[str, int, int]:
        """Returns why the job does not run, how many of its tasks fit, and in which pool most of them do."""
        tasks, total = self.shape.tasks, self.shape.total
        pool = max(self.room, key=lambda each: (self.room[each], -each))
        room = min(self.room[pool], tasks)
        if room >= tasks:
            return ORDER, room, pool
        # A failed node stays out until something starts on it again: when it came up is not recorded.
        if self.failed:
            with_failed = self.room.copy()
            for number in self.failed:
                with_failed[self.places[number].pool] += self.places[number].room
            if max(with_failed.values()) >= tasks:
                return DOWN, room, pool
        # If one pool had enough of everything, it was the scattering, even if most tasks would fit in another pool.
        lacking = [_lacking(free, total) for free in self.free.values()]
        if None in lacking:
            return SCATTERED, room, list(self.free)[lacking.index(None)]
        return _lacking(self.free[pool], total) or SCATTERED, room, pool

    def _count_all(self) -> None:
        """Counts what is free, and keeps count from now on; before the first wait nothing is counted."""
        if not self.counting:
            self.counting = True
            for number, place in self.places.items():
                place.count()
                if number not in self.failed:
                    self._add(place, 1)

    def _change(self, entry: int, starts: bool, job: int, number: int, tasks: int, by_failure: bool) -> None:
        place = self.places[number]
        tasks, each = self._held_by(job, number, tasks)
        if self.counting:
            self._tally(number)
            if number not in self.failed:
                self._add(place, -1)
        if starts:
            self.failed.discard(number)
            # What had bound before it came is not its doing, so the clocks of the node are noted.
            self.taken[entry] = place.take(tasks, each), self.bound_ms[number].copy()
        else:
            taken, before = self.taken.pop(entry)
            place.give_back(tasks, each, taken)
            self._hold(job, number, tasks, before)
            if by_failure:
                self.failed.add(number)
        if self.counting:
            place.count()
            if number not in self.failed:
                self._add(place, 1)

    def _held_by(self, job: int, number: int, tasks: int) -> tuple[int, Amounts]:
        """Returns how many tasks a job has on a node and what each holds: all of it, where it is there alone."""
        if not self.record.exclusive[job]:
            return tasks, self.each[job]
        node = self.record.cluster.nodes[number]
        return 1, (node.gpus * WHOLE, round(node.cores * 1000), node.memory_mb or 0)

    def _add(self, place: NodeRoom, sign: int) -> None:
        self.room[place.pool] += sign * place.room
        free = self.free[place.pool]
        for resource, amount in enumerate(place.free):
            free[resource] += sign * amount

    def _tally(self, number: int) -> None:
        """Notes until now for how long each resource has bound on a node: let it take fewer tasks than it could."""
        place, lasted = self.places[number], self.clock_ms - self.since[number]
        if lasted:
            for resource, room in enumerate(place.rooms):
                if room < place.most:
                    self.bound_ms[number][resource] += lasted
            self.since[number] = self.clock_ms

    def _hold(self, job: int, number: int, tasks: int, before: list[float]) -> None:
        """Charges a job with what it held on a node while that was lacking there."""
        bound = self.bound_ms[number]
        if bound == before:
            return
        most = self.places[number].most
        tasks, each = self._held_by(job, number, tasks)
        for resource, wanted in enumerate(self.shape.each):
            if wanted:
                # In tasks of the waiting job: what was held over what one task wants, but no more than the node could
                # have taken.
                self.held[job][resource] += min(tasks * each[resource] / wanted, most) * (
                    bound[resource] - before[resource]
                )

    def _close(self, entries: list[tuple[int, int, int, bool]]) -> None:
        for number in self.places:
            self._tally(number)
        for entry, (_, before) in self.taken.items():
            job, number, tasks, _ = entries[entry]
            self._hold(job, number, tasks, before)


def _lacking(free: list[int], total: Amounts) -> str | None:
    """Returns the first resource of which less is free than is needed in all; None if there is enough of each."""
    return next((name for name, has, needs in zip(RESOURCES, free, total, strict=True) if has < needs), None)


def _in_order(start_ms: NDArray[np.float64], end_ms: NDArray[np.float64]) -> list[tuple[float, int, int]]:
    """Returns (time, whether it starts, entry) by time; at one instant ends come first."""
    count = len(start_ms)
    time_ms = np.concatenate([end_ms, start_ms])
    starts = np.repeat([0, 1], count)
    order = np.lexsort((starts, time_ms))
    return list(zip(time_ms[order].tolist(), starts[order].tolist(), (order % max(count, 1)).tolist(), strict=True))


def rooms(moments: list[Moment]) -> Iterator[tuple[float, float]]:
    """Yields from when until when there was room for the job."""
    return ((moment.from_ms, moment.until_ms) for moment in moments if moment.reason == ORDER)
