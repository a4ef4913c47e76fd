"""How much better than the classics a scheduler can be that knows run times better and has a tuned score.

python benchmarks/headroom.py TRACES [--seeds 0,1,2] [--report-seed 1] [--logs KTH-SP2,...] [--out results.json]

TRACES is a folder with the SWF logs named below. For each log: every classic under strict, greedy, easy and
conservative with each estimate, and `linear` tuned with each estimate, on twenty windows of 1,024 jobs from the last
30 % of the log, once from an empty cluster (cold) and once with 512 jobs before (warm). Priors, tuning and the choice
of a classic see the first 60 % alone. Prints Markdown; `docs/results-classics.md` holds what it printed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shunter import Workload, read_cluster, read_workload
from shunter.comparison.bench import Bench
from shunter.comparison.classics import DISPATCHES, Choice, choose_classic, classics
from shunter.comparison.combinations import Combination, combine
from shunter.comparison.objective import parse_objective
from shunter.comparison.statistics import RESAMPLES, drawn_means, interval_of
from shunter.model.log import Log
from shunter.model.windows import choose_windows
from shunter.policies.prior import fit_prior, save_prior
from shunter.policies.scheduler import resolve_scheduler
from shunter.tuning.space import SPACES
from shunter.tuning.weights import Plan, find_weights, training_benches

LOGS = {
    "SDSC-SP2": ["SDSC-SP2-1998.easy_sim_waits.swf.gz"],
    "KTH-SP2": ["KTH-SP2-1996-2.1-cln.swf.gz"],
    "Theta": ["ALCF-Theta-2022-real_week_2.swf.gz", "ALCF-Theta-2022-real_week_1.swf.gz"],
    "HPC2N": ["HPC2N-2002-2.2-cln.first30000.swf.gz"],
    "lublin_256": ["lublin_256.swf.gz"],
}
"""The logs by name; one in several files is put together in the order of time."""
ESTIMATES = ("requested", "last-two", "posterior", "perfect")
STARTS = {"cold": 0, "warm": 512}
TRAIN, REPORT = (0.0, 0.6), (0.7, 1.0)
METRICS = ("mean_bounded_slowdown", "mean_wait_s", "max_wait_s", "core_utilization")
OBJECTIVE = parse_objective("bounded-slowdown", ["mean-wait=1.1"])

Measured = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Row:
    """One way to schedule on the report windows of one log."""

    log: str
    start: str
    method: str
    estimate: str
    seed: int | None
    policy: str
    measured: Measured
    block: NDArray[np.int64]

    @property
    def log_metric(self) -> NDArray[np.float64]:
        """The logarithm of the bounded slowdown in each window."""
        return np.log(self.measured["mean_bounded_slowdown"])


def main() -> None:
    """Runs everything and prints it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--report-seed", type=int, default=1, help="for the windows on which all is judged")
    parser.add_argument("--logs", default=",".join(LOGS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    rows: list[Row] = []
    for name in arguments.logs.split(","):
        begin = time.perf_counter()
        log = read_log(arguments.traces, name)
        reports = {
            start: report_case(log, warmup, arguments.report_seed, arguments.threads)
            for start, warmup in STARTS.items()
        }
        rows += study(name, log, reports, seeds, arguments.threads)
        print(f"{name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    for start in STARTS:
        print_start([row for row in rows if row.start == start], start)
    if arguments.out:
        arguments.out.write_text(json.dumps([to_json(row) for row in rows], indent=1))


def read_log(folder: Path, name: str) -> Log:
    """Reads a log, in as many files as it has."""
    parts = [read_workload(folder / file) for file in LOGS[name]]
    workload = parts[0]
    if len(parts) > 1:
        jobs = pl.concat([part.jobs for part in parts])
        workload = Workload.from_frame(jobs, name=name, cluster_spec=parts[0].cluster_spec)
    return Log(workload, read_cluster(str(workload.cluster_spec)))


def study(name: str, log: Log, reports: dict[str, Bench], seeds: list[int], threads: int) -> list[Row]:
    """Returns what every method did on the report windows of one log."""
    with tempfile.TemporaryDirectory() as folder:
        prior = Path(folder) / "prior.toml"
        save_prior(fit_prior(log.workload, part=TRAIN), prior)
        specs = {name: str(prior) if name == "posterior" else name for name in ESTIMATES}
        rows = [row for estimate, spec in specs.items() for row in classic_rows(name, reports, estimate, spec)]
        for seed in seeds:
            rows += tuned_rows(name, log, reports, specs, Plan(train=TRAIN, seed=seed, threads=threads))
    return rows


def report_case(log: Log, warmup: int, seed: int, threads: int) -> Bench:
    """Returns the windows on which all methods are judged."""
    windows = choose_windows(len(log.workload), count=20, length=1024, part=REPORT, warmup=warmup, seed=seed)
    return Bench.on(log, windows, threads)


def classic_rows(name: str, reports: dict[str, Bench], estimate: str, spec: str) -> list[Row]:
    """Returns every classic under every dispatch rule."""
    combinations = combine(["all"], DISPATCHES, estimates=[spec]).possible
    return [
        Row(name, start, "classic", estimate, None, label(one), case.measure(one.scheduler, METRICS), case.block)
        for one in combinations
        for start, case in reports.items()
    ]


def label(combination: Combination) -> str:
    """Returns policy and dispatch rule."""
    return f"{combination.settings.policy}/{combination.settings.dispatch}"


def tuned_rows(name: str, log: Log, reports: dict[str, Bench], specs: dict[str, str], plan: Plan) -> list[Row]:
    """Returns, for each estimate, the classic chosen on training days, and the score tuned there."""
    rows: list[Row] = []
    reference: Choice | None = None
    for estimate, spec in specs.items():
        scheduler = resolve_scheduler(estimate=spec)
        (bench,) = training_benches([log], plan)
        choice = choose_classic(bench, classics(scheduler, [spec]), OBJECTIVE)
        # The bounds refer to the classic that sees requested times, whatever the tuned score sees.
        reference = reference or choice
        found = find_weights([bench], [reference], scheduler, SPACES["linear"], OBJECTIVE, plan)
        for start, report in reports.items():
            methods = {
                "chosen": (label(choice.combination), choice.combination.scheduler),
                "tuned": (found.spec, scheduler.changed(policy=found.spec)),
            }
            for method, (policy, way) in methods.items():
                measured = report.measure(way, METRICS)
                rows.append(Row(name, start, method, estimate, plan.seed, policy, measured, report.block))
    return rows


def hindsight(rows: list[Row], log: str, estimate: str) -> Row:
    """Returns the classic that did best on the report windows."""
    those = [row for row in rows if (row.log, row.method, row.estimate) == (log, "classic", estimate)]
    return min(those, key=lambda row: row.log_metric.mean())


def print_start(rows: list[Row], start: str) -> None:
    """Prints the tables of one kind of start."""
    logs = list(dict.fromkeys(row.log for row in rows))
    best = {log: hindsight(rows, log, "requested") for log in logs}
    print(f"\n### {start.capitalize()} start\n")
    print("| log | " + " | ".join(f"best classic, {estimate}" for estimate in ESTIMATES) + " |")
    print("|---" * (1 + len(ESTIMATES)) + "|")
    for log in logs:
        cells = [describe(hindsight(rows, log, estimate), best[log]) for estimate in ESTIMATES]
        print(f"| {log} | " + " | ".join(cells) + " |")
    print("\n| log | method | " + " | ".join(ESTIMATES) + " |")
    print("|---" * (2 + len(ESTIMATES)) + "|")
    for log in logs:
        for method in ("chosen", "tuned"):
            cells = [over_seeds(select(rows, log, method, estimate), best[log]) for estimate in ESTIMATES]
            print(f"| {log} | {method} | " + " | ".join(cells) + " |")
    print("\n| pooled over logs, against the best classic in hindsight | " + " | ".join(ESTIMATES) + " |")
    print("|---" * (1 + len(ESTIMATES)) + "|")
    saf = {
        estimate: [row for row in rows if (row.policy, row.estimate) == ("saf/easy", estimate)]
        for estimate in ESTIMATES
    }
    print("| saf/easy | " + " | ".join(pooled([saf[estimate]], best) for estimate in ESTIMATES) + " |")
    for method in ("chosen", "tuned"):
        cells = []
        for estimate in ESTIMATES:
            found = [row for row in rows if (row.method, row.estimate) == (method, estimate)]
            cells.append(pooled([[row for row in found if row.seed == seed] for seed in seeds_of(found)], best))
        print(f"| {method} | " + " | ".join(cells) + " |")


def seeds_of(rows: list[Row]) -> list[int | None]:
    """Returns the seeds in their order."""
    return list(dict.fromkeys(row.seed for row in rows))


def select(rows: list[Row], log: str, method: str, estimate: str) -> list[Row]:
    """Returns the rows of one method on one log, one for each seed."""
    return [row for row in rows if (row.log, row.method, row.estimate) == (log, method, estimate)]


def ratios(row: Row, base: Row) -> tuple[float, float]:
    """Returns the ratio of geometric means of the bounded slowdown, and that of mean waits."""
    wait = row.measured["mean_wait_s"].mean() / base.measured["mean_wait_s"].mean()
    return float(np.exp((row.log_metric - base.log_metric).mean())), float(wait)


def describe(row: Row, base: Row) -> str:
    """Returns policy, geometric mean, mean, and the mean wait against the baseline's."""
    metric = row.measured["mean_bounded_slowdown"]
    return f"{row.policy} {np.exp(row.log_metric.mean()):.2f} / {metric.mean():.1f}, wait ×{ratios(row, base)[1]:.2f}"


def over_seeds(rows: list[Row], base: Row) -> str:
    """Returns the ratio to the best classic for each seed, and the mean waits."""
    pairs = [ratios(row, base) for row in rows]
    return ", ".join(f"{ratio:.2f}" for ratio, _ in pairs) + "; wait " + ", ".join(f"×{wait:.2f}" for _, wait in pairs)


def pooled(by_seed: list[list[Row]], best: dict[str, Row]) -> str:
    """Returns the ratio pooled over logs and seeds, with an interval from drawing blocks of each log.

    A log whose windows lie in one block (Theta) counts as much as the others, and adds nothing to the spread.
    """
    random = np.random.default_rng(0)
    total, wait = np.zeros(RESAMPLES), 0.0
    center = 0.0
    for log, base in best.items():
        those = [row for rows in by_seed for row in rows if row.log == log]
        gain = np.mean([row.log_metric - base.log_metric for row in those], axis=0)
        total += drawn_means(gain, base.block, random) / len(best)
        center += gain.mean() / len(best)
        wait += float(np.mean([np.log(ratios(row, base)[1]) for row in those])) / len(best)
    low, high = np.exp(interval_of(total))
    return f"{np.exp(center):.3f} [{low:.3f}, {high:.3f}], wait ×{np.exp(wait):.2f}"


def to_json(row: Row) -> dict[str, object]:
    """Returns a row as a plain object."""
    plain = {name: values.tolist() for name, values in row.measured.items()}
    return row.__dict__ | {"measured": plain, "block": row.block.tolist()}


if __name__ == "__main__":
    main()
