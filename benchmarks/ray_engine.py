"""What it costs to run a comparison in Ray workers, and from that what more workers would do.

    PYTHONPATH=. python benchmarks/ray_engine.py [--jobs 20000] [--windows 40] [--length 1024] [--workers 2]

In one run: the same comparison here, on as many threads as there are workers, and in Ray workers of this machine. Every
chunk is timed where it runs, by the process's own clock, which does not count what other processes took. So is the
driver: a chunk that was really sent is sent a hundred times more, with what came of it for its result, and nothing to
do. The results are compared to the last digit.

What 10 and 100 workers would do follows from these figures: a worker does a chunk in the time measured, the driver
handles one chunk after the other, the first way to schedule goes before the others, and the end waits for a chunk that
is longer than the mean by as much as the longest here. It leaves out the network: a log goes to each machine once. What
Ray's own servers take of a core is not counted either.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from shunter.comparison.combinations import combine
from shunter.comparison.contest import Contest
from shunter.comparison.spreading import CHUNKS_EACH, LEAST_S, MOST_S
from shunter.engines.base import Done, Failed, Result, Shared, Task, Told, Value
from shunter.engines.choice import RAY, engine_on
from shunter.workloads.reading import read_log

AGAIN: Final = 100
"""So often a chunk is sent again, with nothing to do."""
WORKERS: Final = (2, 10, 100)
POLICIES: Final = ("fcfs", "sjf", "saf", "f1", "f2", "f3", "f4", "wfp3")
DISPATCHES: Final = ("easy", "conservative", "strict", "greedy")


@dataclass(frozen=True)
class Timed:
    """What a task returned, and how much of a core it took."""

    value: Any
    seconds: float


def timed(task: tuple[Callable[[Any], Any], Any]) -> Timed:
    """Runs a task in a worker, and times it by the process's own clock."""
    function, given = task
    began = time.process_time()
    value = function(given)
    return Timed(value, time.process_time() - began)


def returned(task: tuple[Any, Any]) -> Any:  # noqa: ANN401 - whatever came of a task
    """Returns in a worker what came of a task before."""
    return task[1]


@dataclass
class Watched:
    """An engine that notes how long each chunk and the driver took."""

    engine: Any
    chunk_s: list[float] = field(default_factory=list)
    map_s: float = 0.0
    """What the driver took of a core while chunks ran: handing over, waiting, fetching."""
    share_s: float = 0.0
    is_here: bool = False
    last: tuple[Any, Any] = (None, None)
    """The last task, and what came of it."""

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""
        return int(self.engine.workers)

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        told: Told[Result] | None = None,
        *,
        alone: bool = True,
    ) -> list[Done[Result] | Failed]:
        """Runs a function on each task, and notes how long it took."""
        began = time.process_time()

        def heard(place: int, outcome: Done[Timed] | Failed) -> None:
            assert isinstance(outcome, Done), outcome
            self.chunk_s.append(outcome.value.seconds)
            if told is not None:
                told(place, Done(outcome.value.value))

        found = self.engine.map(timed, [(function, task) for task in tasks], heard, alone=alone)
        self.map_s += time.process_time() - began
        self.last = tasks[-1], found[-1].value.value
        return [Done(one.value.value) for one in found]

    def share(self, value: Value, send: Callable[[Value], Value] | None = None) -> Shared[Value]:
        """Puts something large where workers find it."""
        began = time.process_time()
        shared: Shared[Value] = self.engine.share(value, send)
        self.share_s += time.process_time() - began
        return shared

    def overhead_s(self) -> float:
        """Returns what the driver takes of a core for a chunk: packed, handed over, waited for and fetched."""
        began = time.process_time()
        self.engine.map(returned, [self.last] * AGAIN, alone=False)
        return (time.process_time() - began) / AGAIN


@dataclass(frozen=True)
class Measured:
    """What one run came to."""

    seconds: float
    cpu_s: float
    """What this process took of a core."""
    result: dict[str, Any]


def measured(run: Callable[[], Any]) -> Measured:
    """Runs a comparison."""
    began, cpu = time.perf_counter(), time.process_time()
    comparison = run()
    seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    return Measured(seconds, cpu_s, {**comparison.to_json(), "seconds": 0})


@contextmanager
def started(workers: int) -> Iterator[tuple[Watched, float]]:
    """Yields a cluster whose workers have run something, and how long it took to start."""
    began = time.perf_counter()
    with engine_on(RAY, workers) as engine:
        assert engine is not None
        engine.map(len, [[]] * 2 * workers, alone=False)
        yield Watched(engine), time.perf_counter() - began


def predicted(
    work_s: float, first_s: float, longest: float, chunk_driver_s: float, once_s: float, workers: int
) -> tuple[int, float]:
    """Returns how many chunks there would be, and how many seconds the comparison would take.

    Args:
        work_s: What all chunks take of a core, but for the first way to schedule.
        first_s: What the first way to schedule takes.
        longest: How many times as long as the mean the longest chunk is.
        chunk_driver_s: What the driver takes for a chunk.
        once_s: What the driver takes in all, however many chunks there are.
        workers: How many there are.
    """
    chunk_s = min(max(work_s / (CHUNKS_EACH * workers), LEAST_S), MOST_S)
    chunks = max(1, round(work_s / chunk_s))
    rounds = -(-chunks // workers)
    workers_s = max(rounds * work_s / chunks, longest * work_s / chunks)
    return chunks, once_s + first_s / workers + max(workers_s, chunks * chunk_driver_s)


def main() -> int:
    """Measures, predicts and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--windows", type=int, default=40)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    log = read_log(f"generate:lublin?seed=1&jobs={given.jobs}&cores=256&load=1.0&requests=factor")
    combinations = combine(POLICIES, DISPATCHES)
    contest = Contest(windows=given.windows, length=given.length, warmup=given.length // 2, threads=given.workers)
    run = partial(contest.run, log, combinations)
    here = measured(run)
    with started(given.workers) as (engine, start_s):
        there = measured(partial(run, on=engine))
        chunk_driver_s = engine.overhead_s()
    same = there.result == here.result
    report(here, there, engine, start_s, chunk_driver_s)
    print(f"results are {'the same to the last digit' if same else 'NOT the same'}")
    return 0 if same else 1


def report(here: Measured, there: Measured, engine: Watched, start_s: float, chunk_driver_s: float) -> None:
    """Prints what was measured, and what follows for more workers."""
    chunks, work_s, workers = len(engine.chunk_s), sum(engine.chunk_s), engine.workers
    first_s = sum(engine.chunk_s[:workers])
    # Statistics, tables and what else comes once: what the driver took outside of the engine.
    once_s = there.cpu_s - engine.map_s - engine.share_s
    console = Console(width=100)
    table = Table("what", "seconds", title=f"{len(here.result['combinations'])} ways to schedule, {workers} workers")
    rows = {
        f"here, on {workers} threads": here.seconds,
        f"in {workers} Ray workers, started before": there.seconds,
        "ratio": there.seconds / here.seconds,
        "here, core time": here.cpu_s,
        "with Ray, core time of workers and driver": work_s + there.cpu_s,
        "ratio of core times": (work_s + there.cpu_s) / here.cpu_s,
        "to start the cluster and its workers": start_s,
        f"work of a core in {chunks} chunks": work_s,
        "chunk, mean": work_s / chunks,
        "chunk, longest": max(engine.chunk_s),
        "driver: to put the log into the object store": engine.share_s,
        "driver: a chunk (hand over, wait, fetch), ms": chunk_driver_s,
        "driver: all else (join, statistics)": once_s,
    }
    for name, value in rows.items():
        table.add_row(name, f"{1000 * value if name.endswith('ms') else value:.3f}")
    console.print(table)
    more = Table("workers", "chunks", "seconds", "times as fast as one", "of the driver's time", title="what follows")
    longest = max(engine.chunk_s) * chunks / work_s
    for factor, words in ((1, "this work"), (100, "windows that take 100 times as long")):
        rest_s = factor * (work_s - first_s)
        alone_s = factor * work_s + once_s
        for count in WORKERS:
            number, seconds = predicted(rest_s, factor * first_s, longest, chunk_driver_s, once_s, count)
            busy = min(1.0, (number * chunk_driver_s + once_s) / seconds)
            more.add_row(f"{count} ({words})", str(number), f"{seconds:.1f}", f"{alone_s / seconds:.1f}", f"{busy:.0%}")
    console.print(more)
    for chunk_s in (LEAST_S, MOST_S):
        print(f"with chunks of {chunk_s:g} s the driver can serve {chunk_s / chunk_driver_s:,.0f} workers")


if __name__ == "__main__":
    sys.exit(main())
