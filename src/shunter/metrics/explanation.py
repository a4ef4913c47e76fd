"""Why a job started when and where it did, from the record of its run alone (``docs/explaining.md``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.metrics.holds import Hold, holds_of
from shunter.metrics.occupancy import Amounts, Shape
from shunter.metrics.wait_sweep import Moment, Sweep, Wait, Walker, rooms
from shunter.model.schedule import whole_milliseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.metrics.record import Record

HELD, AHEAD = "held", "ahead"
"""A blocker had what the job lacked, or waited at the same time and stood before it."""
FIRST_COME: Final = "fcfs"
MOST_PHASES: Final = 8
FIRST_SHARE: Final = 1 / 128
"""Phases shorter than this part of the wait are the first to be joined with others."""


@dataclass(frozen=True)
class Stay:
    """A stretch of time for which the job ran."""

    start_ms: float
    end_ms: float
    nodes: dict[str, int]
    """Tasks by node."""
    ended: str
    """``preempted``, ``node failed``, or how the job ended."""


@dataclass(frozen=True)
class Blocker:
    """A job that kept another waiting."""

    row: int
    how: str
    """`HELD` or `AHEAD`."""
    share: float
    """What it held of the job's need, over the wait; ahead: for which part of the wait there was room meanwhile."""
    since_ms: float
    """When it started (ahead: was submitted, or stopped)."""
    until_ms: float
    """When it ended or was stopped (ahead: started)."""
    let_go: bool
    """Whether it left at the moment at which the job started."""


@dataclass(frozen=True)
class WaitPhase:
    """A stretch of a wait."""

    from_ms: float
    until_ms: float
    lasted_ms: dict[str, float]
    """For how long which reason held."""
    room: int
    """The most tasks that would have fitted while its main reason held."""
    free: Amounts
    """The most that was free meanwhile, of each resource."""

    @property
    def reason(self) -> str:
        """The reason that held longest."""
        return max(self.lasted_ms, key=lambda reason: self.lasted_ms[reason])

    @property
    def waited_ms(self) -> float:
        """How long the job waited in it; it may have run in between."""
        return sum(self.lasted_ms.values())

    @property
    def share(self) -> float:
        """For which part of the phase the main reason held."""
        return self.lasted_ms[self.reason] / self.waited_ms

    def joined(self, other: WaitPhase) -> WaitPhase:
        """Returns this phase together with the next."""
        lasted = Counter(self.lasted_ms)
        lasted.update(other.lasted_ms)
        reason = max(lasted, key=lambda each: lasted[each])
        # Room and free amounts are told of the main reason alone: under another one they would contradict it.
        told = [phase for phase in (self, other) if phase.reason == reason]
        free = [max(amounts) for amounts in zip(*(phase.free for phase in told), strict=True)]
        return WaitPhase(
            self.from_ms,
            other.until_ms,
            dict(lasted),
            max(phase.room for phase in told),
            (free[0], free[1], free[2]),
        )


@dataclass(frozen=True)
class Explanation:
    """All that there is to say of one job."""

    record: Record
    row: int
    shape: Shape
    stays: list[Stay]
    waits: list[Wait]
    moments: list[Moment]
    phases: list[WaitPhase]
    blockers: list[Blocker]
    """By share, the largest first."""
    passed_by: NDArray[np.int64]
    """Jobs submitted later that started while it waited."""
    in_front: NDArray[np.int64]
    """Jobs submitted earlier that started while it waited."""
    waits_for: str = ""
    """What it waited for where locality was the reason: ``one node``."""
    refused: str = ""
    """Which types of GPUs it refused, and why."""
    limited: str = ""
    """The limit of the site, or the license, for which it waited."""
    reserved: str = ""
    """When nodes were reserved that it could otherwise have had."""
    holds: tuple[Hold, ...] = ()
    """What kept it from waiting before that."""

    @property
    def waited_ms(self) -> float:
        """How long it waited in all, before its first start and after each stop."""
        return sum(until - begin for begin, until in self.waits)

    @property
    def stops(self) -> int:
        """How often it was stopped before its end."""
        return int(np.count_nonzero((self.record.segments.job == self.row) & ~self.record.segments.last))

    @property
    def has_started_last(self) -> bool:
        """Whether its last wait ended with a start, and not with the run."""
        return bool(self.stays) and self.record.rows["end_s"][self.row] is not None


def explain(record: Record, row: int) -> Explanation:
    """Returns why a job started when and where it did.

    Args:
        record: The run.
        row: The job's row in it, as `Record.find` tells it.
    """
    own = np.flatnonzero(record.segments.job == row)
    stays = [_stay(record, int(segment)) for segment in own]
    shape = Shape.of(record, row)
    rejected = record.rows["outcome"][row] == "rejected"
    waits = [] if rejected else _waits(record, row, stays)
    holds = () if rejected else tuple(holds_of(record, row))
    if not waits:
        nobody = np.zeros(0, dtype=np.int64)
        return Explanation(record, row, shape, stays, [], [], [], [], nobody, nobody, holds=holds)
    sweep = Walker(record, row, waits).walk()
    # Who held what was lacking, and who stood before it while there was room.
    blockers = _holders(record, sweep, waits, shape.tasks) + _ahead(record, row, sweep.moments, waits)
    started = _started_during(record, row, waits)
    return Explanation(
        record,
        row,
        shape,
        stays,
        waits,
        sweep.moments,
        phases_of(sweep.moments),
        sorted(blockers, key=lambda each: (-each.share, -sweep.held_ms.get(each.row, 0.0), each.row)),
        passed_by=started[started > row],
        in_front=started[started < row],
        waits_for=sweep.waits_for,
        refused=sweep.refused,
        limited=sweep.limited,
        reserved=sweep.reserved,
        holds=holds,
    )


def _stay(record: Record, segment: int) -> Stay:
    segments = record.segments
    places = slice(segments.node_offsets[segment], segments.node_offsets[segment + 1])
    names = [record.cluster.nodes[number].name for number in segments.nodes[places].tolist()]
    if segments.last[segment]:
        ended = str(record.rows["outcome"][int(segments.job[segment])])
    else:
        ended = "node failed" if segments.by_failure[segment] else "preempted"
    tasks = dict(zip(names, segments.tasks[places].tolist(), strict=True))
    return Stay(float(segments.start_ms[segment]), float(segments.end_ms[segment]), tasks, ended)


def _waits(record: Record, row: int, stays: list[Stay]) -> list[Wait]:
    """Returns from when until when the job waited; one that never started, until it left, or nothing more happens."""
    begins = [float(record.eligible_ms[row]), *(stay.end_ms for stay in stays)]
    ends = [stay.start_ms for stay in stays]
    if record.rows["outcome"][row] == "cancelled":
        ends.append(float(record.rows["end_s"][row]) * 1000)
    elif not stays or record.rows["end_s"][row] is None:
        ends.append(float(record.segments.end_ms.max(initial=begins[-1])))
    return [(begin, end) for begin, end in zip(begins, ends, strict=False) if end > begin]


def _holders(record: Record, sweep: Sweep, waits: list[Wait], tasks: int) -> list[Blocker]:
    segments, last_ms, held_ms = record.segments, waits[-1][1], sweep.held_ms
    total_ms = tasks * sum(until - begin for begin, until in waits)
    # One blocker can at most have held all of the need for all of the time.
    most_ms = tasks * sweep.lacking_ms
    meanwhile = (segments.end_ms > waits[0][0]) & (segments.start_ms < last_ms) & (segments.length_ms > 0)
    holds = np.zeros(len(record), dtype=np.bool_)
    holds[list(held_ms)] = True
    chosen = np.flatnonzero(meanwhile & holds[segments.job])
    jobs, first = np.unique(segments.job[chosen], return_index=True)
    # A job that was stopped has several segments: it is told from the first of them to the end of the last.
    since = segments.start_ms[chosen][first]
    until = np.maximum.reduceat(segments.end_ms[chosen], first) if len(first) else first
    return [
        Blocker(job, HELD, min(held_ms[job], most_ms) / total_ms, begin, end, end == last_ms)
        for job, begin, end in zip(jobs.tolist(), since.tolist(), until.tolist(), strict=True)
    ]


def _ahead(record: Record, row: int, moments: list[Moment], waits: list[Wait]) -> list[Blocker]:
    """Returns who waited at the same time, and stood before the job as far as the record can tell."""
    job, begin_ms, until_ms = _all_waits(record)
    roomy_ms = _overlap(begin_ms, until_ms, list(rooms(moments)))
    # The record does not tell the order: whoever came first may stand before it, or hold a reservation.
    ahead = job < row
    if record.policy != FIRST_COME:
        # By first come, who came later and went first has filled a gap; by other orders it may have been ahead.
        ahead |= (job > row) & (until_ms < waits[-1][1])
    chosen = ahead & (_overlap(begin_ms, until_ms, waits) > 0)
    total_ms = sum(until - begin for begin, until in waits)
    columns = (values[chosen].tolist() for values in (job, roomy_ms / total_ms, begin_ms, until_ms))
    return [Blocker(who, AHEAD, share, begin, until, False) for who, share, begin, until in zip(*columns, strict=True)]


def _overlap(begin_ms: NDArray[np.float64], until_ms: NDArray[np.float64], spans: list[Wait]) -> NDArray[np.float64]:
    """Returns how much of each stretch of time lies in the spans, which are in the order of time and apart."""
    if not spans:
        return np.zeros(len(begin_ms))
    edges = np.array(spans, dtype=np.float64)
    lasted = np.concatenate([[0.0], np.cumsum(edges[:, 1] - edges[:, 0])])
    # A clock that goes only within the spans: its reading at the end less that at the beginning is the overlap.
    clock = np.repeat(lasted, 2)[1:-1]
    overlap = np.interp(until_ms, edges.ravel(), clock) - np.interp(begin_ms, edges.ravel(), clock)
    return np.asarray(overlap, dtype=np.float64)


def _all_waits(record: Record) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Returns the job of every wait, and from when until when it lasted; the last moment for one without an end."""
    segments = record.segments
    waiting = np.flatnonzero((record.rows["outcome"] != "rejected").to_numpy() & np.isfinite(record.eligible_ms))
    job = np.concatenate([waiting, segments.job[~segments.last]])
    begin_ms = np.concatenate([record.eligible_ms[waiting], segments.end_ms[~segments.last]])
    order = np.lexsort((begin_ms, job))
    job, begin_ms = job[order], begin_ms[order]
    # A job's nth wait ends with its nth segment, if there is one.
    number = np.arange(len(job)) - np.searchsorted(job, job)
    first_segment = np.searchsorted(segments.job, job)
    started = number < np.searchsorted(segments.job, job, side="right") - first_segment
    until_ms = np.full(len(job), segments.end_ms.max(initial=0.0))
    until_ms[started] = segments.start_ms[(first_segment + number)[started]]
    left = (record.rows["outcome"] == "cancelled").to_numpy()[job]
    until_ms[left] = whole_milliseconds(record.rows["end_s"].fill_null(0.0).to_numpy())[job][left]
    return job, begin_ms, until_ms


def _started_during(record: Record, row: int, waits: list[Wait]) -> NDArray[np.int64]:
    """Returns the jobs that started for the first time while the job waited, on nodes that its partitions have."""
    segments = record.segments
    jobs, first = np.unique(segments.job, return_index=True)
    start_ms = segments.start_ms[first]
    meanwhile = np.zeros(len(jobs), dtype=np.bool_)
    for begin, until in waits:
        # Of those that started together with the job, the ones that came first went first.
        meanwhile |= (start_ms >= begin) & ((start_ms < until) | ((start_ms == until) & (jobs < row)))
    usable = record.choice_of(row)
    if len(usable) < len(record.cluster.nodes):
        here = np.array([number in usable for number in range(len(record.cluster.nodes))])
        touches = np.zeros(len(segments), dtype=np.bool_)
        touches[segments.entry[here[segments.nodes]]] = True
        meanwhile &= touches[first]
    return np.asarray(jobs[meanwhile & (jobs != row)])


def largest(record: Record, rows: NDArray[np.int64]) -> int | None:
    """Returns the largest of some jobs: by GPUs, then by cores, then the first; None if there are none."""
    if not len(rows):
        return None
    size = np.lexsort((-rows, (record.tasks * record.milli_cores)[rows], (record.tasks * record.milli_gpus)[rows]))
    return int(rows[size[-1]])


def phases_of(moments: list[Moment], most: int = MOST_PHASES) -> list[WaitPhase]:
    """Returns at most `most` phases: the shortest are joined with the ones before them until few enough are left."""
    phases = _alike(
        WaitPhase(each.from_ms, each.until_ms, {each.reason: each.until_ms - each.from_ms}, each.room, each.free)
        for each in moments
    )
    shortest_ms = FIRST_SHARE * sum(phase.waited_ms for phase in phases)
    while len(phases) > most:
        phases = _alike(_without_short(phases, shortest_ms))
        shortest_ms *= 1.5
    return phases


def _alike(phases: Iterable[WaitPhase]) -> list[WaitPhase]:
    """Returns the phases with neighbors of one reason joined."""
    kept: list[WaitPhase] = []
    for phase in phases:
        if kept and kept[-1].reason == phase.reason:
            kept[-1] = kept[-1].joined(phase)
        else:
            kept.append(phase)
    return kept


def _without_short(phases: list[WaitPhase], shortest_ms: float) -> list[WaitPhase]:
    kept: list[WaitPhase] = []
    for phase in phases:
        if kept and min(phase.waited_ms, kept[-1].waited_ms) < shortest_ms:
            kept[-1] = kept[-1].joined(phase)
        else:
            kept.append(phase)
    return kept
