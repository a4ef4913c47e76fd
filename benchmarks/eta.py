"""How well predicted start times hold, and how long they take.

    PYTHONPATH=. python benchmarks/eta.py [--quick] [--why] [--only KTH-SP2] [--policy fcfs] [--part 0.7:1] [--speed]

A log is simulated under one policy: that simulation is the reality, whose starts are known. Instants are drawn evenly
over the time of its last 30 % of jobs (without the last two days), and at each the start of every waiting job is
predicted from what was known then. Told are: the share of jobs that start within the 80 % interval (a start is inside
if it is off by less than a minute); the median error of the median; the same of a forward simulation with requests as
run times and nobody to come, which is what batch systems commonly show; and the intervals' median width. Jobs that wait
at one instant depend on each other: the interval of the share is from 1,000 draws of whole instants.

With --why, what is not known is put in piece by piece: the true run times, or the true arrivals. With --speed, only the
time for 1,000 or more waiting jobs in 100 futures is measured. Logs: SHUNTER_TRACES, or ../shared/traces.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from shunter.model.log import Log
from shunter.policies.scheduler import Scheduler, resolve_scheduler
from shunter.simulation import Simulation
from shunter.simulation.eta import StartTimes
from shunter.simulation.foresight import NEVER, Foresight, foresee
from shunter.workloads.reading import read_log

LOGS = {
    "KTH-SP2": "KTH-SP2-1996-2.1-cln.swf.gz",
    "HPC2N": "HPC2N-2002-2.2-cln.first30000.swf.gz",
    "SDSC-SP2": "SDSC-SP2-1998.easy_sim_waits.swf.gz",
    "SDSC-BLUE": "SDSC-BLUE-2000-4.2-cln.first30000.swf.gz",
    "Theta": "ALCF-Theta-2022-real_week_1.swf.gz",
    "CEA-Curie": "CEA-Curie-2011-2.1-cln.first30000.swf.gz",
}
USUAL = ("KTH-SP2", "HPC2N", "SDSC-SP2")
MINUTE_S = 60.0
LATEST_S = 2 * 86_400.0
GOAL_S = 2.0
WAYS = {
    "80 % interval": Foresight(),
    "requests, nobody comes": Foresight(futures=1, run_times="requested", arrivals="nobody"),
}
WHY = {
    "true arrivals": Foresight(arrivals="logged"),
    "true run times": Foresight(run_times="logged"),
    "nobody comes": Foresight(arrivals="nobody"),
    "run times independent": Foresight(correlation=0.0),
}


@dataclass(frozen=True)
class Predictions:
    """What was predicted of jobs, and what came; in seconds from the instant."""

    instant: NDArray[np.int64]
    real_s: NDArray[np.float64]
    low_s: NDArray[np.float64]
    median_s: NDArray[np.float64]
    high_s: NDArray[np.float64]
    seconds: float
    """How long predicting took, on average of all instants."""

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which jobs started within their intervals."""
        return (self.real_s >= self.low_s - MINUTE_S) & (self.real_s <= self.high_s + MINUTE_S)

    def share(self, draws: int = 1000) -> tuple[float, float, float]:
        """Returns the share of jobs inside, and its 95 % interval over draws of instants."""
        numbers, where = np.unique(self.instant, return_inverse=True)
        jobs = np.bincount(where)
        inside = np.bincount(where, weights=self.inside)
        chosen = np.random.default_rng(0).integers(len(numbers), size=(draws, len(numbers)))
        low, high = np.quantile(inside[chosen].sum(axis=1) / jobs[chosen].sum(axis=1), (0.025, 0.975))
        return float(self.inside.mean()), float(low), float(high)


def traces() -> Path:
    """Returns where the logs are."""
    return Path(os.environ.get("SHUNTER_TRACES", "../shared/traces"))


def predict(log: Log, scheduler: Scheduler, asked: Foresight, part: tuple[float, float], instants: int) -> Predictions:
    """Returns what is predicted at instants of a part of a log, and what the simulation then does."""
    whole = Simulation(log.workload, log.cluster, scheduler)
    whole.run_to_end()
    real_s = whole.job_states().start_ms / 1000
    submit_s = log.workload.jobs["submit_s"].to_numpy()
    first, last = (min(int(len(submit_s) * edge), len(submit_s) - 1) for edge in part)
    times = np.sort(np.random.default_rng(1).uniform(submit_s[first], submit_s[last] - LATEST_S, instants))
    simulation = Simulation(log.workload, log.cluster, scheduler)
    found: list[tuple[NDArray[np.float64], ...]] = []
    spent_s = 0.0
    for number, now_s in enumerate(times):
        simulation.run_until(now_s)
        waiting = simulation.waiting()
        if len(waiting):
            began = time.perf_counter()
            start_ms = foresee(simulation, waiting, asked)
            spent_s += time.perf_counter() - began
            # The core's clock counts milliseconds.
            now_ms = round(now_s * 1000)
            wait_s = np.where(start_ms == NEVER, np.inf, (start_ms - now_ms) / 1000)
            told = StartTimes(now_s, (), wait_s, asked.horizon_days * 86_400)
            each = np.full(len(waiting), float(number))
            found.append((each, real_s[waiting] - now_ms / 1000, told.low_s, told.median_s, told.high_s))
        # Nothing of this instant has been decided yet.
        simulation.dispatch()
    instant, came_s, low_s, median_s, high_s = (np.concatenate(column) for column in zip(*found, strict=True))
    return Predictions(instant.astype(np.int64), came_s, low_s, median_s, high_s, spent_s / len(found))


def crowded(jobs: int) -> tuple[Simulation, int]:
    """Returns a simulation in which so many jobs wait at least, and how many do."""
    spec = "generate:lublin?seed=1&jobs=12000&cores=256&load=1.6"
    log = read_log(spec)
    scheduler = resolve_scheduler(policy="fcfs", dispatch="easy")
    simulation = Simulation(log.workload, log.cluster, scheduler)
    for submit_s in log.workload.jobs["submit_s"].to_list()[::100]:
        simulation.run_until(submit_s)
        if (waiting := simulation.status().waiting) >= jobs:
            return simulation, waiting
        simulation.dispatch()
    raise SystemExit(f"never did {jobs} jobs wait in {spec}")


def measure_speed(console: Console) -> None:
    """Prints how long 100 futures of 1,000 waiting jobs take."""
    simulation, waiting = crowded(1000)
    jobs = simulation.waiting()
    for threads in (1, 2):
        best_s, cpu_s = min(_timed(simulation, jobs, threads) for _ in range(5))
        verdict = "" if threads == 1 else f" (goal {GOAL_S:g} s: {'met' if best_s < GOAL_S else 'missed'})"
        told = f"{waiting:,} jobs × 100 futures, {threads} threads: {best_s:.2f} s, {cpu_s:.2f} s of processors"
        console.print(f"{told}{verdict}", highlight=False)


def _timed(simulation: Simulation, jobs: NDArray[np.uint32], threads: int) -> tuple[float, float]:
    """Returns how long it took by the clock, and by that of the processors, which others on the machine leave alone."""
    began, began_cpu = time.perf_counter(), time.process_time()
    foresee(simulation, jobs, Foresight(), threads=threads)
    return time.perf_counter() - began, time.process_time() - began_cpu


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few instants")
    parser.add_argument("--why", action="store_true", help="also with what nobody knows")
    parser.add_argument("--speed", action="store_true", help="only how long it takes")
    parser.add_argument("--only", default=",".join(USUAL), help="logs by name: " + ", ".join(LOGS))
    parser.add_argument("--policy", default="fcfs")
    parser.add_argument("--dispatch", default="easy")
    parser.add_argument("--part", default="0.7:1", help="which part of the jobs, as 0.7:1")
    parser.add_argument("--instants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    console = Console(width=190)
    measure_speed(console)
    if given.speed:
        return
    low, high = map(float, given.part.split(":"))
    scheduler = resolve_scheduler(policy=given.policy, dispatch=given.dispatch)
    table = Table(title=f"{given.policy}/{given.dispatch}, jobs {given.part}")
    for name in ("log", "jobs", "instants", "futures of", "inside 80 %", "95 %", "below", "above", "median error",
                 "mean error", "width", "a prediction"):  # fmt: skip
        table.add_column(name, justify="left" if name in ("log", "futures of") else "right", no_wrap=True)
    for name in given.only.split(","):
        log = read_log(traces() / "swf" / LOGS[name])
        for way, asked in (WAYS | WHY if given.why else WAYS).items():
            seen = predict(
                log, scheduler, replace(asked, seed=given.seed), (low, high), 20 if given.quick else given.instants
            )
            share, least, most = seen.share()
            # What lies beyond the horizon counts as if it were there.
            low_s, median_s, high_s = (
                np.minimum(ends, asked.horizon_days * 86_400) for ends in (seen.low_s, seen.median_s, seen.high_s)
            )
            error_h = np.abs(median_s - seen.real_s) / 3600
            table.add_row(
                name, f"{len(seen.real_s):,}", str(len(set(seen.instant.tolist()))), way,
                f"{share:.1%}", f"{least:.0%} – {most:.0%}",
                f"{np.mean(seen.real_s < seen.low_s - MINUTE_S):.1%}",
                f"{np.mean(seen.real_s > seen.high_s + MINUTE_S):.1%}",
                f"{np.median(error_h):.2f} h", f"{error_h.mean():.2f} h",
                f"{np.median(high_s - low_s) / 3600:.2f} h", f"{1000 * seen.seconds:.0f} ms",
            )  # fmt: skip
    console.print(table)


if __name__ == "__main__":
    main()
