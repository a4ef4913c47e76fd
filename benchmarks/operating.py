"""How far an operation's counterfactuals and scored start times can be trusted, where the truth is known.

    PYTHONPATH=. python benchmarks/operating.py [--only KTH-SP2] [--policy sjf] [--stretches 60] [--days 10]

A log is simulated, and that simulation is taken for the site: readings of it every five minutes are all that the
operation sees. Stretches are drawn evenly over the last 30 % of the jobs. What is told of a stretch is held against the
truth: the real mean wait, less that of the policy simulated with the true run times of all jobs, which no operation
knows. The site really schedules by fcfs/easy, as the operation is told, or by another policy, of which it is not told.
Then start times are predicted every ten minutes of some days, and scored. Logs: SHUNTER_TRACES, or ../shared/traces.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from benchmarks.eta import LOGS, traces
from shunter.execution.deciding import queue_scheduler
from shunter.execution.operating.calibration import Calibration, calibration_lines, predict
from shunter.execution.operating.counterfactual import Counterfactual, counterfactual_of, starts_of
from shunter.execution.operating.ended_jobs import EndedJobs
from shunter.execution.operating.picture import picture_of
from shunter.execution.operating.stretch import Stretch, Tables
from shunter.model.log import Log
from shunter.workloads.reading import read_log
from tests.execution.operating.recorded import SimulatedSite

READ_S = 300.0
PREDICT_S = 600.0
HOURS = (1, 4, 24)
DAY_S = 86_400.0
PART = 0.7


def stretches(site: SimulatedSite, count: int, hours: int) -> Iterator[Stretch]:
    """Yields stretches of a site's life in which anybody was there when they began."""
    submit_s = site.schedule.workload.jobs["submit_s"].to_numpy()
    first, last = submit_s[int(PART * len(submit_s))], submit_s[-1] - 2 * DAY_S
    for begin_s in np.sort(np.random.default_rng(2).uniform(first, last, count)).tolist():
        now = site.read(begin_s)
        if not now.jobs:
            continue
        one = Stretch(picture_of(now, []))
        for time_s in np.arange(begin_s + READ_S, begin_s + hours * 3600 + 1, READ_S).tolist():
            one.see(site.read(time_s))
        yield one


def true_gain_s(tables: Tables, site: SimulatedSite, policy: str) -> float:
    """Returns what the policy would really have saved: all run times are known."""
    ids = tables.workload.jobs["job_id"].to_list()
    run_s = {row["job_id"]: row["run_s"] for row in site.jobs}
    jobs = tables.workload.jobs.with_columns(pl.Series("run_s", [run_s[id] for id in ids], pl.Float64))
    known = replace(tables, workload=replace(tables.workload, jobs=jobs))
    starts_s = starts_of(known, queue_scheduler({"policy": policy}), lambda: True)[tables.measured]
    ends_s = [np.where(np.isnan(one), tables.until_s, one) for one in (tables.start_s, starts_s)]
    return float(np.mean(ends_s[0] - ends_s[1]))


def look_back(name: str, log: Log, real: str, policy: str, count: int, table: Table) -> list[str]:
    """Adds a row for each length of stretches; returns what is told of the stretch with most jobs."""
    site = SimulatedSite(log, policy=real)
    found: Counterfactual | None = None
    for hours in HOURS:
        rows, spent_s = [], 0.0
        for one in stretches(site, count, hours):
            began = time.process_time()
            tables = one.tables()
            ways = queue_scheduler({"policy": "fcfs"}), queue_scheduler({"policy": policy})
            told = counterfactual_of(tables, *ways, is_changed=False, may_go_on=lambda: True)
            spent_s += time.process_time() - began
            if told.jobs:
                found = told if found is None or told.jobs > found.jobs else found
                rows.append((told, true_gain_s(tables, site, policy)))
        gains = np.array([(told.gain.mean_wait_s, true_s) for told, true_s in rows]) / 60
        error = np.array([told.error.mean_wait_s for told, _ in rows]) / 60
        clear = [true_s for told, true_s in rows if told.is_gain]
        table.add_row(
            name, f"{real}/easy", f"{hours} h", f"{len(rows)}",
            f"{np.mean([told.real.mean_wait_s for told, _ in rows]) / 60:.1f}",
            f"{np.abs(error).mean():.2f}", f"{gains[:, 0].mean():.2f}", f"{gains[:, 1].mean():.2f}",
            f"{np.abs(gains[:, 0] - gains[:, 1]).mean():.2f}",
            f"{len(clear)}, {sum(true_s > 0 for true_s in clear)}", f"{1000 * spent_s / max(1, len(rows)):.0f} ms",
        )  # fmt: skip
    return [] if found is None else found.lines


def foretell(log: Log, days: float) -> list[str]:
    """Predicts starts all the time, as an operation does; returns what it tells of them."""
    site, ended = SimulatedSite(log), EndedJobs(None)
    submit_s = site.schedule.workload.jobs["submit_s"].to_numpy()
    first = float(submit_s[int(PART * len(submit_s))])
    # What the scheduler forgets after half an hour, the operation has seen in four weeks before.
    for time_s in np.arange(first - 28 * DAY_S, first, 1500.0).tolist():
        ended.see(site.read(time_s))
    with tempfile.TemporaryDirectory() as folder:
        kept = Calibration(Path(folder) / "predictions.json")
        for time_s in np.arange(first, first + days * DAY_S, PREDICT_S).tolist():
            now = site.read(time_s)
            kept.see(now)
            latest = ended.see(now)
            if now.candidates:
                kept.add(predict(picture_of(now, latest), queue_scheduler({"policy": "fcfs"})))
        return calibration_lines(kept.told())


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="KTH-SP2", help="logs by name: " + ", ".join(LOGS))
    parser.add_argument("--policy", default="sjf", help="whose counterfactuals")
    parser.add_argument("--unknown", default="wfp3", help="how the site schedules without saying so")
    parser.add_argument("--stretches", type=int, default=60)
    parser.add_argument("--days", type=float, default=10.0, help="of predicting; 0: none")
    given = parser.parse_args()
    console = Console(width=190)
    table = Table(title=f"what {given.policy} would have gained in mean wait, in minutes")
    for name in ("log", "site", "stretch", "n", "real wait", "error", "gain told", "true gain", "told - true",
                 "clear gains, true ones", "CPU"):  # fmt: skip
        table.add_column(name, justify="left" if name in ("log", "site") else "right", no_wrap=True)
    lines: list[str] = []
    for name in given.only.split(","):
        log = read_log(traces() / "swf" / LOGS[name])
        for real in ("fcfs", given.unknown):
            lines = look_back(name, log, real, given.policy, given.stretches, table) or lines
        if given.days:
            lines += [f"{name}: {line}" for line in foretell(log, given.days)]
    console.print(table)
    for line in lines:
        console.print(line, highlight=False)


if __name__ == "__main__":
    main()
