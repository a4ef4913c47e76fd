"""Windows spread over the workers of an engine, in chunks of a second or more.

A chunk is some ways to schedule on some windows of a log. How long a window takes is measured: the first way to
schedule goes in as many equal parts as there are workers, and all later chunks are cut by what has been measured so
far. A worker that has a log keeps it, with what the core has made of it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.comparison.log_windows import Found, LogWindows, Measurement
from shunter.engines.base import Done, Failed
from shunter.errors import InputError, ShunterError
from shunter.policies.checkpoint import Checkpoint
from shunter.policies.parcel import pack, unpacked
from shunter.simulation.windows import WindowRunner

if TYPE_CHECKING:
    from shunter.engines.base import Engine, Shared
    from shunter.model.log import Log
    from shunter.model.windows import Windows
    from shunter.policies.scheduler import Scheduler

LEAST_S: Final = 1.0
MOST_S: Final = 10.0
"""How long a chunk should take: below, what it costs to send it would count; above, workers would wait for the last."""
CHUNKS_EACH: Final = 4
"""So many chunks each worker should have, if they are long enough: the more, the more evenly they all end."""
KEPT: Final = 4
"""So many logs a worker keeps."""

Progress = Callable[[int, int], None]


@dataclass
class Pace:
    """How long windows have taken."""

    windows: int = 0
    seconds: float = 0.0

    @property
    def window_s(self) -> float:
        """How long one takes in the mean."""
        return self.seconds / self.windows

    def windows_in_chunk(self, windows: int, workers: int) -> int:
        """Returns how many windows a chunk should have where so many are to be run."""
        chunk_s = min(max(self.window_s * windows / (CHUNKS_EACH * workers), LEAST_S), MOST_S)
        return max(1, round(min(chunk_s / self.window_s, windows)))


@dataclass(frozen=True)
class Chunk:
    """Some ways to schedule on some windows of a log."""

    log: Shared[Log]
    windows: Windows
    schedulers: bytes
    """From `shunter.policies.parcel.pack`."""
    measurement: Measurement[Any]


@dataclass(frozen=True)
class _Piece:
    """What a chunk is to the one who sends it."""

    part: int
    """The place of the log."""
    begin: int
    end: int
    """The windows of that log."""
    contenders: range
    """The places of the ways to schedule."""


def spread(
    engine: Engine,
    parts: Sequence[LogWindows],
    schedulers: Sequence[Scheduler],
    measurement: Measurement[Found],
    pace: Pace,
    progress: Progress | None = None,
) -> Iterator[Found]:
    """Yields what a measurement finds of each of some ways to schedule, in their order.

    Args:
        engine: Where chunks run.
        parts: The windows of each log.
        schedulers: The ways to schedule.
        measurement: What is worked out.
        pace: What is known of how long windows take; what is learned is added.
        progress: Called after each way to schedule with how many are done, and of how many.

    Raises:
        ShunterError: A chunk failed.
    """
    run = partial(_run, engine, parts, measurement=measurement, pace=pace)
    first = 0
    if not pace.windows:
        tell = None if progress is None else lambda done, _: progress(done, len(schedulers))
        yield from run(schedulers[:1], progress=tell)
        first = 1
    if len(schedulers) > first:
        tell = None if progress is None else lambda done, _: progress(first + done, len(schedulers))
        yield from run(schedulers[first:], progress=tell)


def _run(
    engine: Engine,
    parts: Sequence[LogWindows],
    schedulers: Sequence[Scheduler],
    measurement: Measurement[Found],
    pace: Pace,
    progress: Progress | None,
) -> list[Found]:
    """Runs all chunks, and returns what was found of each way to schedule."""
    pieces = _pieces(parts, schedulers, engine.workers, pace)
    chunks = [
        Chunk(
            engine.share(parts[one.part].log, _as_sent),
            parts[one.part].windows.take(np.arange(one.begin, one.end)),
            pack([schedulers[contender] for contender in one.contenders]),
            measurement,
        )
        for one in pieces
    ]
    left = Counter(contender for one in pieces for contender in one.contenders)

    def told(place: int, outcome: Done[tuple[float, list[Found]]] | Failed) -> None:
        if isinstance(outcome, Failed):
            raise _failure(outcome)
        one = pieces[place]
        pace.windows += (one.end - one.begin) * len(one.contenders)
        pace.seconds += outcome.value[0]
        left.subtract(one.contenders)
        if progress is not None:
            progress(sum(not count for count in left.values()), len(schedulers))

    outcomes = engine.map(run_chunk, chunks, told, alone=False)
    found: list[list[Found]] = [[] for _ in schedulers]
    # Pieces stand in the order of logs and windows, so that what is joined does too.
    for one, outcome in zip(pieces, outcomes, strict=True):
        assert isinstance(outcome, Done), "failures were raised when they were told"
        for contender, each in zip(one.contenders, outcome.value[1], strict=True):
            found[contender].append(each)
    return [measurement.joined(several) for several in found]


def _pieces(parts: Sequence[LogWindows], schedulers: Sequence[Scheduler], workers: int, pace: Pace) -> list[_Piece]:
    """Returns what each chunk has: several ways to schedule on all windows of a log, or one on some of them."""
    windows = sum(len(part.windows) for part in parts) * len(schedulers)
    size = pace.windows_in_chunk(windows, workers) if pace.windows else -(-windows // workers)
    pieces = []
    for place, part in enumerate(parts):
        count = len(part.windows)
        together = max(1, size // count)
        for some in np.array_split(np.arange(len(schedulers)), -(-len(schedulers) // together)):
            contenders = range(int(some[0]), int(some[-1]) + 1)
            # A learned policy decides in all windows together: PyTorch rounds by how many there are.
            is_whole = any(isinstance(schedulers[one].policy, Checkpoint) for one in contenders)
            cuts = 1 if is_whole else -(-count // size)
            edges = np.linspace(0, count, max(1, cuts) + 1).round().astype(int).tolist()
            pieces += [_Piece(place, *pair, contenders) for pair in pairwise(edges)]
    return pieces


def _failure(failed: Failed) -> ShunterError:
    """Returns the error for a chunk that failed: one that the user can mend, or a fault of the program."""
    if not failed.detail:
        return InputError(failed.reason)
    error = ShunterError(f"a worker failed: {failed.reason}")
    error.__cause__ = RuntimeError(failed.detail)
    return error


def _as_sent(log: Log) -> Log:
    """Returns what workers need of a log: not where its jobs stand in a file that they do not have."""
    return replace(log, workload=replace(log.workload, places=None))


_logs: dict[str, tuple[Log, WindowRunner]] = {}
"""The logs that this process keeps, with what the core has made of them; the one used last is the last."""


def _kept(shared: Shared[Log]) -> tuple[Log, WindowRunner]:
    found = _logs.pop(shared.key, None)
    if found is None:
        log = shared.get()
        found = log, WindowRunner(log.workload, log.cluster)
    _logs[shared.key] = found
    while len(_logs) > KEPT:
        del _logs[next(iter(_logs))]
    return found


def run_chunk(chunk: Chunk) -> tuple[float, list[Any]]:
    """Runs a chunk in a worker; returns how long it took, and what was found of each way to schedule."""
    log, runner = _kept(chunk.log)
    began = time.perf_counter()
    part = LogWindows(log, chunk.windows, runner)
    with unpacked(chunk.schedulers) as schedulers:
        found = [chunk.measurement.of(part, scheduler, 1) for scheduler in schedulers]
    return time.perf_counter() - began, found
