"""Which rule a log's scheduler had that Shunter's fcfs with easy does not: a small EASY with the rules in question.

Run it as ``python benchmarks/calibration_rules.py SDSC KTH``, the paths of ``SDSC-SP2-1998.easy_sim_waits.swf.gz`` and
``KTH-SP2-1996-2.1-cln.swf.gz``. It prints figures of ``docs/calibrating.md``, and times nothing.
"""

from __future__ import annotations

import bisect
import heapq
import sys
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shunter.metrics.calibration import rank_correlation
from shunter.workloads import read_workload

DAY_S, HOUR_S = 86_400, 3_600
END, ARRIVAL, WALL = range(3)
"""What happens at an instant, in this order; completions in the order of the starts, arrivals in that of the table."""
KTH_WALL_CLOCK_S = 843_480_031 + 7_200
"""KTH's UnixStartTime; its log keeps the summer time in which it begins."""
MONDAY = 4
"""The number, modulo 7, of a Monday, where January 1, 1970, a Thursday, is day 0."""
KTH_HOURS = (9, 18)
LONGEST_STAY_S = 63 * HOUR_S
"""From Friday's last wall to Monday's first; longer requests are let through walls."""


@dataclass
class Pool:
    """EASY on one pool of cores, first come first served."""

    cores: int
    submit_s: list[int]
    run_s: list[int]
    requested_s: list[int]
    size: list[int]
    pass_at_each_event: bool = False
    """Whether a scheduling pass follows each completion and each arrival, instead of all those at one instant."""
    plan_frees_cores: bool = False
    """Whether a job whose request runs out now is gone before the instant's first event, as in a plan of slots."""
    walls_s: list[int] = field(default_factory=list)
    """Times across which no job may be expected to run."""

    def waits(self) -> NDArray[np.float64]:
        """Returns the wait of each job in seconds."""
        self.start_s = [-1] * len(self.submit_s)
        self.free, self.queue, self.running = self.cores, list[int](), set[int]()
        self.starts = 0
        self.events = [(time_s, ARRIVAL, job, job) for job, time_s in enumerate(self.submit_s)]
        self.events += [(time_s, WALL, 0, -1) for time_s in self.walls_s if time_s > self.submit_s[0]]
        heapq.heapify(self.events)
        while self.events:
            now = self.events[0][0]
            if self.plan_frees_cores:
                for job in [job for job in self.running if self.start_s[job] + self.requested_s[job] <= now]:
                    self._end(job)
            while self.events and self.events[0][0] == now:
                _, what, _, job = heapq.heappop(self.events)
                self._happen(what, job)
                if self.pass_at_each_event:
                    self._schedule(now)
            self._schedule(now)
        return np.subtract(self.start_s, self.submit_s).astype(np.float64)

    def _happen(self, what: int, job: int) -> None:
        if what == ARRIVAL:
            self.queue.append(job)
        elif what == END and job in self.running:
            self._end(job)

    def _end(self, job: int) -> None:
        self.running.remove(job)
        self.free += self.size[job]

    def _schedule(self, now: int) -> None:
        place = bisect.bisect_right(self.walls_s, now)
        wall_s = self.walls_s[place] if place < len(self.walls_s) else float("inf")
        allowed = [job for job in self.queue if now + self.requested_s[job] <= wall_s or self._is_exempt(job)]
        head = 0
        while head < len(allowed) and self.size[allowed[head]] <= self.free:
            self._start(allowed[head], now)
            head += 1
        if head < len(allowed):
            self._backfill(allowed[head], allowed[head + 1 :], now)

    def _is_exempt(self, job: int) -> bool:
        return self.requested_s[job] > LONGEST_STAY_S

    def _backfill(self, head: int, others: list[int], now: int) -> None:
        """Starts those of the others that end before the head's turn, or leave it the cores that it needs then."""
        ends = sorted((self.start_s[job] + self.requested_s[job], self.size[job]) for job in self.running)
        turn_s, free_then = now, self.free
        for end_s, size in ends:
            if free_then >= self.size[head] and end_s > turn_s:
                break
            turn_s, free_then = end_s, free_then + size
        spare = free_then - self.size[head]
        for job in others:
            overlaps = now + self.requested_s[job] > turn_s
            if self.size[job] > min(self.free, spare if overlaps else self.free):
                continue
            spare -= self.size[job] if overlaps else 0
            self._start(job, now)

    def _start(self, job: int, now: int) -> None:
        self.start_s[job] = now
        self.free -= self.size[job]
        self.queue.remove(job)
        self.running.add(job)
        self.starts += 1
        heapq.heappush(self.events, (now + self.run_s[job], END, self.starts, job))


def read(path: str, cores: int) -> tuple[Pool, NDArray[np.float64]]:
    """Returns the jobs of a log whose times are whole seconds, and its waits."""
    jobs = read_workload(path).jobs
    submit_s, run_s, requested_s, size = (
        jobs[name].cast(pl.Int64).to_list() for name in ("submit_s", "run_s", "requested_s", "tasks")
    )
    return Pool(cores, submit_s, run_s, requested_s, size), jobs["logged_wait_s"].to_numpy()


def kth_walls() -> list[int]:
    """Returns 9:00 and 18:00 of each weekday of KTH's log, in its seconds."""
    days = range(KTH_WALL_CLOCK_S // DAY_S, KTH_WALL_CLOCK_S // DAY_S + 400)
    weekdays = [day for day in days if (day - MONDAY) % 7 < 5]
    return [day * DAY_S + hour * HOUR_S - KTH_WALL_CLOCK_S for day in weekdays for hour in KTH_HOURS]


def report(name: str, simulated_s: NDArray[np.float64], logged_s: NDArray[np.float64]) -> None:
    """Prints how near a rule comes to the log."""
    same = int(np.count_nonzero(simulated_s == logged_s))
    ratio = simulated_s.mean() / logged_s.mean()
    correlation = rank_correlation(logged_s, simulated_s)
    figures = f"ratio of means {ratio:.4f}, rank correlation {correlation:.4f}"
    print(f"  {name:<30} same start {same:>6,} of {len(logged_s):,}, {figures}")


def report_instants(pool: Pool, simulated_s: NDArray[np.float64], logged_s: NDArray[np.float64]) -> None:
    """Prints how many instants have several events in the log, and who starts at the first one that differs."""
    submit_s, logged_start_s = np.array(pool.submit_s), np.array(pool.submit_s) + logged_s
    _, events = np.unique(np.concatenate([submit_s, logged_start_s + pool.run_s]), return_counts=True)
    print(f"  instants with several events: {np.count_nonzero(events > 1):,} of {len(events):,}")
    start_s = submit_s + simulated_s
    first_s = np.minimum(start_s, logged_start_s)[start_s != logged_start_s].min()
    for name, starts_s in (("logged", logged_start_s), ("simulated", start_s)):
        jobs = ", ".join(f"row {job + 1} ({pool.size[job]} cores)" for job in np.flatnonzero(starts_s == first_s))
        print(f"  first difference at {first_s:.0f} s, {name}: {jobs}")


def crossings(pool: Pool, wait_s: NDArray[np.float64], hour: int) -> int:
    """Returns how many jobs were started although their request reached across this hour of a weekday."""
    walls_s = np.array(kth_walls()[KTH_HOURS.index(hour) :: len(KTH_HOURS)])
    start_s = np.array(pool.submit_s) + wait_s
    wall_s = walls_s[np.searchsorted(walls_s, start_s, side="right")]
    return int(np.count_nonzero(start_s + np.array(pool.requested_s) > wall_s))


def main() -> None:
    """Prints what each rule explains."""
    pool, logged_s = read(sys.argv[1], 128)
    print("SDSC-SP2 sample")
    plain_s = pool.waits()
    report("one pass an instant (Shunter)", plain_s, logged_s)
    report_instants(pool, plain_s, logged_s)
    pool.pass_at_each_event = True
    report("a pass after each event", pool.waits(), logged_s)
    pool.plan_frees_cores = True
    report("and cores free by plan", pool.waits(), logged_s)
    pool, logged_s = read(sys.argv[2], 100)
    print("KTH-SP2")
    plain_s = pool.waits()
    report("no walls (Shunter)", plain_s, logged_s)
    pool.walls_s = kth_walls()
    report("no job across 9:00 and 18:00", pool.waits(), logged_s)
    for hour in KTH_HOURS:
        logged, plain = crossings(pool, logged_s, hour), crossings(pool, plain_s, hour)
        print(f"  requests across {hour}:00 of a weekday: {logged:,} logged, {plain:,} simulated")


if __name__ == "__main__":
    main()
