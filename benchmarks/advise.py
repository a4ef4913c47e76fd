"""Advice on the first four fifths of generated logs, judged on the last fifth, which is cut off before.

    python benchmarks/advise.py [--quick] [--count 20] [--seed 0] [--out FOLDER]

A loss is an advice under which the days that were cut off are worse than under what the site runs, beyond the 95 %
interval. More than two losses in twenty end with code 1. `docs/advising.md` holds what this printed.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import shunter
from shunter.advice.advise import Advice
from shunter.comparison.combinations import Combination, combine_like
from shunter.comparison.comparison import Comparison, run_combinations
from shunter.comparison.objective import Objective
from shunter.comparison.report import judge_contrast
from shunter.comparison.stretches import stretched
from shunter.model.log import Log
from shunter.model.workload import Workload
from shunter.policies.scheduler import Scheduler, resolve_scheduler
from shunter.workloads.reading import read_log
from shunter.workloads.write import write_table

KEPT = 0.8
"""The part of the jobs that an advice may look at."""
METRIC = "mean_bounded_slowdown"
MOST_LOSSES = 0.1
PARTS = 10
USERS = 24


@dataclass(frozen=True)
class Case:
    """One log, and what its site runs."""

    spec: str
    site: str = "fcfs/easy"
    has_users: bool = False
    options: tuple[tuple[str, object], ...] = ()


CASES = (
    Case("lublin?jobs=12000&cores=256&load=0.9&requests=factor"),
    Case("lublin?jobs=12000&cores=256&load=0.7&requests=factor", has_users=True),
    Case("lublin?jobs=12000&cores=256&load=0.3&requests=factor"),
    Case("lublin?jobs=12000&cores=128&load=1.0&requests=accurate"),
    Case("lublin?jobs=12000&cores=1024&load=0.85&requests=factor&factor=20", "fcfs/conservative", has_users=True),
    Case("lublin?jobs=12000&cores=256&load=0.8&kind=batch&requests=factor", has_users=True),
    Case("lublin?jobs=6000&cores=64&load=0.9&requests=factor", "fcfs/strict"),
    Case("lublin?jobs=12000&cores=256&load=0.9&requests=factor", "sjf/easy", has_users=True),
    Case("poisson?jobs=12000&cores=64&load=0.9&requests=factor"),
    Case("poisson?jobs=12000&cores=256&load=0.6&requests=factor"),
    Case("poisson?jobs=12000&cores=64&load=0.95&n_max=1&requests=factor", has_users=True),
    Case("uniform?jobs=8000&load=0.9&requests=factor"),
    Case("uniform?jobs=8000&load=0.2&requests=factor"),
    Case("uniform?jobs=8000&load=1.1&requests=accurate", "fcfs/strict"),
    Case("bursty-gpu?jobs=6000&load=0.9&requests=factor"),
    Case("bursty-gpu?jobs=6000&load=0.6&requests=factor", "fcfs/greedy"),
    Case("eda?jobs=8000&load=0.9&requests=factor"),
    Case("helios-like?jobs=8000&nodes=16&load=0.9&requests=factor"),
    Case("helios-like?jobs=8000&nodes=16&load=0.5&requests=factor", "fcfs/strict"),
    Case("philly-like?jobs=8000&load=0.9&requests=factor", "fcfs/greedy"),
)


def main() -> None:
    """Advises and judges, a row a log."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="quick advice, without training")
    parser.add_argument("--count", type=int, default=len(CASES), help="how many logs")
    parser.add_argument("--seed", type=int, default=0, help="of the generators; another one draws other logs")
    parser.add_argument("--budget", default="2m", help="for each advice that is not quick")
    given = parser.parse_args()
    losses = gains = 0
    print(f"{'log':<68} {'site':<18} {'advice':<44} {'on days cut off: ratio (95 %)':<36} {'':<8} seconds")
    for number in range(given.count):
        case = CASES[number % len(CASES)]
        began = time.perf_counter()
        spec = f"generate:{case.spec}&seed={given.seed * 1000 + number + 1}"
        with TemporaryDirectory() as folder:
            advice, told, result = judged(case, spec, Path(folder), quick=given.quick, budget=given.budget)
        losses, gains = losses + (result == "worse"), gains + (result == "better")
        seconds = time.perf_counter() - began
        print(f"{spec[9:]:<68} {case.site:<18} {advice:<44} {told:<36} {result:<8} {seconds:.0f}", flush=True)
    print(f"{given.count} logs: better {gains}, losses {losses} (at most {MOST_LOSSES * given.count:.0f} allowed)")
    sys.exit(losses > MOST_LOSSES * given.count)


def judged(case: Case, spec: str, folder: Path, *, quick: bool, budget: str) -> tuple[str, str, str]:
    """Returns what is advised on the first days of a log, and what that does on the days that were cut off."""
    log = read_log(_workload(case, spec))
    kept = round(KEPT * len(log.workload))
    first = log.workload.derived("cut", jobs=log.workload.jobs.head(kept))
    write_table(first, folder / "log.parquet")
    advice = shunter.advise(
        folder / "log.parquet", out=folder / "advice", site=case.site, quick=quick, budget=None if quick else budget
    )
    kind = str(advice.conclusion["kind"])
    if kind != "change":
        return kind, "", "same"
    later = advice.stages["later"]
    found = _compared(log, kept, _scheduler(case, advice), case.site)
    contrast = found.contenders["advised"].against["today"]
    result, sentence = judge_contrast("advised", "today", contrast, METRIC)
    return str(later["advised"]), sentence.rpartition(": ratio ")[2], result


def _workload(case: Case, spec: str) -> Workload:
    workload = shunter.read_workload(spec)
    if not case.has_users:
        return workload
    # Users have run times of their own, as in most logs: seven of ten jobs are by the one for their length.
    jobs = workload.jobs
    random = np.random.default_rng(len(jobs))
    by_length = (jobs["run_s"].rank("ordinal").to_numpy() * USERS // (len(jobs) + 1)).astype(int)
    user = np.where(random.random(len(jobs)) < 0.7, by_length, random.integers(0, USERS, len(jobs)))
    return workload.derived("with users", jobs=jobs.with_columns(user=pl.Series([f"user{one}" for one in user])))


def _scheduler(case: Case, advice: Advice) -> Scheduler:
    """Returns what is advised, as somebody would run it who has nothing but the folder."""
    choice = advice.stages["later"]
    if choice["kind"] == "learned":
        return resolve_scheduler(policy=str(advice.folder / "learned"), max_wait_s=choice["max_wait_s"])
    file = str(advice.folder / "advised.toml")
    return resolve_scheduler(policy=file, estimate=file)


def _compared(log: Log, first: int, advised: Scheduler, site: str) -> Comparison:
    bench = stretched(log, first, len(log.workload), stretches=1, parts=PARTS, warmup=1024)
    today = combine_like(site, resolve_scheduler())[0]
    those = {"today": Combination("today", today.scheduler), "advised": Combination("advised", advised)}
    windows = bench.parts[0].windows
    runs = run_combinations(log, list(those.values()), windows, METRIC, bench=bench)
    return Comparison.of(
        {name: runs[one] for name, one in those.items()}, log, windows, Objective(METRIC), "today", None
    )


if __name__ == "__main__":
    main()
