"""What policies and placements do to the jobs of public GPU logs: the tables of docs/results-gpu.md, in Markdown.

    python -m benchmarks.gpu_results                       everything, about 25 minutes of CPU time
    python -m benchmarks.gpu_results venus failures        some parts (--help names them)
    python -m benchmarks.gpu_results preemption            policies that stop jobs, about 4 minutes
    python -m benchmarks.gpu_results backlog               gittins on short and long logs, about 3 minutes
    python -m benchmarks.gpu_results pairs                 which job on which type of GPU (see gpu_pairs.py)

The logs are looked for in SHUNTER_TRACES, or ../shared/traces. All policies run under `greedy`, which the preemptive
ones demand, unless a row says otherwise. Nothing here is random but the failures, whose rows name their seeds.

Jobs come in two forms. As logged, a job has a task for each GPU, and these may stand anywhere. In node form, a job of
up to 8 GPUs has them on one node; a larger one has tasks of 8 GPUs, or of as many as divide both its own and 8.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.gpu_pairs import Cell, pairs
from shunter import Cluster, Workload, read_cluster, read_workload
from shunter.errors import InputError
from shunter.metrics.table import compute_metrics
from shunter.model.schedule import Schedule
from shunter.simulation import simulate
from shunter.workloads.load import offered_load, scale_arrivals

HOUR_S = 3600.0
GPUS_PER_NODE = 8
WINDOW_JOBS = 5_000
WINDOW_STEP = 10_000
LEVELS = "las?first_s=3600&second_s=36000"
POLICIES = ("fcfs", "sjf", "srtf", LEVELS, "qssf")
OUTLIVED = {"srtf": "srtf?outlived=ends"}
"""The tables of placements keep the rules under which they were made."""
PLACEMENTS = ("pack", "tiered-defrag", "tiered-balance", "fgd")
COLUMNS = (
    "policy", "placement", "turnaround, h", "median, h", "queued, h", "p95, h", "GPU utilization", "fragmentation",
    "partly used nodes", "nodes per job", "preemptions", "lost GPU hours",
)  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """A log, its cluster, and what is done to it."""

    title: str
    file: str
    cluster: str
    factor: float
    """The load is multiplied by this."""
    jobs: tuple[int, int | None] = (0, None)
    """The first job, and how many; None: all that follow."""
    solver: tuple[int, int] | None = None
    """The first of those jobs for which `milp` is asked, and how many, in a table of their own; None: all of them."""


SAMPLES = {
    "venus": Sample(
        "Helios Venus", "helios/venus_gpu_jobs_clip48h.csv.gz", "helios-venus", 1.8, solver=(105_000, 10_000)
    ),
    "venus-2vc": Sample("Two virtual clusters of Venus", "helios/helios_venus_2vc_sept.csv", "helios-venus-2vc", 1.5),
    "philly": Sample("Philly", "philly/philly_sia.csv.gz", "philly", 4.0, solver=(0, 0)),
    "philly-36": Sample("Philly on 36 nodes", "philly/philly_sia.csv.gz", "philly-rltune", 0.35, jobs=(30_000, 10_000)),
}


@dataclass(frozen=True)
class Run:
    """One row of a table."""

    policy: str
    placement: str = "pack"
    note: str = ""
    workload: Workload | None = None
    """What takes the place of the table's workload."""
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def label(self) -> str:
        """What the row is called."""
        return self.policy.partition("?")[0] + (f" ({self.note})" if self.note else "")

    def simulate(self, workload: Workload, cluster: Cluster) -> Schedule:
        """Runs the simulation that the row is about."""
        options = {"dispatch": "greedy", **dict(self.options)}
        return simulate(self.workload or workload, cluster, policy=self.policy, placement=self.placement, **options)


def read_sample(sample: Sample) -> tuple[Workload, Cluster]:
    """Returns a sample's jobs as logged, and its cluster."""
    folder = Path(os.environ.get("SHUNTER_TRACES", Path(__file__).parents[2] / "shared" / "traces"))
    return read_workload(folder / sample.file), read_cluster(sample.cluster)


def node_form(workload: Workload) -> Workload:
    """Returns the jobs with as many GPUs in each task as can stand on one node."""
    gpus = pl.col("tasks")
    shares = [pl.when(gpus % size == 0).then(size) for size in (8, 4, 2)]
    per_task = pl.when(gpus <= GPUS_PER_NODE).then(gpus).otherwise(pl.coalesce(*shares, 1))
    jobs = workload.jobs.with_columns(tasks=gpus // per_task, gpus_per_task=per_task.cast(pl.Float64))
    return replace(workload, jobs=jobs, name=f"{workload.name}, node form")


def queued_h(schedule: Schedule) -> NDArray[np.float64]:
    """Returns for how long each job that ended held no nodes, before its first start and after stops."""
    return (schedule.turnaround_s - schedule.held_ms / 1000)[schedule.ended] / HOUR_S


def cells(run: Run, schedule: Schedule) -> list[str]:
    """Returns what a table says of a schedule."""
    metrics = compute_metrics(schedule)
    ended = schedule.ended
    turnaround_h, waited_h = schedule.turnaround_s[ended] / HOUR_S, queued_h(schedule)
    times = (turnaround_h.mean(), np.median(turnaround_h), waited_h.mean(), np.quantile(waited_h, 0.95))
    shares = ("gpu_utilization", "mean_fragmentation")
    counts = ("preemptions", "lost_gpu_hours")
    return [
        run.label,
        run.placement,
        *(f"{value:,.2f}" for value in times),
        *(f"{metrics[name] or 0.0:.3f}" for name in shares),
        f"{metrics['mean_partly_used_nodes'] or 0.0:.1f}",
        f"{metrics['nodes_per_job'] or 0.0:.2f}",
        *(f"{metrics[name] or 0.0:,.0f}" for name in counts),
    ]


def print_table(title: str, workload: Workload, cluster: Cluster, runs: Iterable[Run]) -> None:
    """Prints a table with a row a run; how long each took goes to the standard error."""
    print(f"**{title}**\n\n| {' | '.join(COLUMNS)} |\n|---|---|{'---:|' * (len(COLUMNS) - 2)}", flush=True)
    ledgers: dict[str, int] = {}
    for run in runs:
        begin = time.perf_counter()
        schedule = run.simulate(workload, cluster)
        print(f"| {' | '.join(cells(run, schedule))} |", flush=True)
        for entry in schedule.ledger.to_json():
            if str(entry["rule"]).startswith("milp"):
                ledgers[f"{run.policy}: {entry['rule']}"] = int(entry["count"])
        print(f"{title}: {run.policy} {run.placement}: {time.perf_counter() - begin:.1f} s", file=sys.stderr)
    print("".join(f"\n{rule}, {count:,} times" for rule, count in ledgers.items()) + "\n", flush=True)


def policy_runs(placement: str = "pack") -> list[Run]:
    """Returns a row for each policy, and for those that know run times also one for what could be known."""
    estimate = (("estimate", "history"),)
    history = [Run(OUTLIVED.get(name, name), placement, "history", options=estimate) for name in ("sjf", "srtf")]
    return [*(Run(policy, placement) for policy in POLICIES), *history]


def compare(sample: Sample) -> None:
    """Prints the tables of a log."""
    log, cluster = read_sample(sample)
    logged, scaled = (jobs.window(*sample.jobs) for jobs in (log, scale_arrivals(log, 1 / sample.factor)))
    loads = [offered_load(workload, cluster) or 0.0 for workload in (logged, scaled)]
    size = f"{len(logged):,} jobs, {len(cluster.nodes)} nodes, {cluster.total_gpus:,} GPUs"
    load = f"offered load {loads[0]:.2f} as logged, {loads[1]:.2f} with arrivals {sample.factor:g} times as dense"
    print(f"### {sample.title}\n\n{size}; {load}.\n")
    quiet = Run("fcfs", note="load as logged", workload=logged)
    others = [Run("fcfs", placement) for placement in PLACEMENTS[1:]]
    print_table("As logged: a task for each GPU, anywhere", scaled, cluster, [quiet, *policy_runs(), *others])
    by_node = node_form(scaled)
    matrix = [Run(policy, placement) for policy in POLICIES for placement in (*PLACEMENTS, "milp")]
    whole = [run for run in matrix if sample.solver is None or run.placement != "milp"]
    easy = [Run(policy, note="easy", options=(("dispatch", "easy"),)) for policy in ("fcfs", "sjf", "qssf")]
    quiet = replace(quiet, workload=node_form(logged))
    print_table("Node form", by_node, cluster, [quiet, *whole, *policy_runs()[len(POLICIES) :], *easy])
    if sample.solver and sample.solver[1]:
        first, length = sample.solver
        title = f"Node form, jobs {first:,} to {first + length - 1:,} alone, with milp"
        print_table(title, by_node.window(first, length), cluster, matrix)


def raised_venus() -> tuple[Workload, Cluster]:
    """Returns the jobs of Venus in node form, with the load raised."""
    workload, cluster = read_sample(SAMPLES["venus"])
    return node_form(scale_arrivals(workload, 1 / SAMPLES["venus"].factor)), cluster


def windows() -> None:
    """Prints how the placements compare over many parts of Venus, each from an empty cluster."""
    workload, cluster = raised_venus()
    parts = [workload.window(first, WINDOW_JOBS) for first in range(0, len(workload) - WINDOW_JOBS, WINDOW_STEP)]
    print(f"### Parts of Venus\n\n{len(parts)} parts of {WINDOW_JOBS:,} jobs in node form, one in {WINDOW_STEP:,}.\n")
    print("| policy | placement | queued, times pack: geometric mean | least | most | longer than with pack |")
    print("|---|---|---:|---:|---:|---:|")
    for policy in ("fcfs", "srtf"):
        by_pack = [queued_h(Run(policy).simulate(part, cluster)).mean() for part in parts]
        for placement in (*PLACEMENTS[1:], "milp"):
            means = [queued_h(Run(policy, placement).simulate(part, cluster)).mean() for part in parts]
            ratios = np.array([mean / pack for mean, pack in zip(means, by_pack, strict=True) if pack > 0])
            longer = f"{np.count_nonzero(ratios > 1)} of {len(ratios)}"
            shown = [f"{value:.2f}" for value in (np.exp(np.log(ratios).mean()), ratios.min(), ratios.max())]
            print(f"| {policy} | {placement} | {' | '.join(shown)} | {longer} |", flush=True)
    print()


def failures() -> None:
    """Prints what nodes that fail cost."""
    nodes = (("mtbf_s", 30 * 24 * HOUR_S), ("mttr_s", 4 * HOUR_S))
    runs = [
        Run(policy, note=f"{progress}, seed {seed}", options=(*nodes, ("failed_progress", progress), ("seed", seed)))
        for policy in ("fcfs", "srtf")
        for progress in ("lost", "kept")
        for seed in ((1, 2, 3) if policy == "fcfs" else (1,))
    ]
    print("### Failures\n")
    print_table("Venus, node form: a node is up for 30 days and down for 4 hours on average", *raised_venus(), runs)


def overhead() -> None:
    """Prints what it costs to stop a job and to start it again."""
    runs = [
        Run("srtf", note=f"{overhead_s} s", options=(("preemption_overhead_s", overhead_s),))
        for overhead_s in (0, 60, 600)
    ]
    held = (("preemption_overhead_s", 600), ("min_run_s", HOUR_S))
    print("### Overhead of preemption\n")
    runs += [
        Run("srtf", note="600 s, at least 1 h", options=held),
        Run("srtf", note="0 s, progress lost", options=(("preempted_progress", "lost"),)),
    ]
    print_table("Venus, node form: what each start after a stop costs", *raised_venus(), runs)


@dataclass(frozen=True)
class Squeezed:
    """Some jobs of a log, at several loads on a cluster."""

    title: str
    file: str
    cluster: str
    jobs: tuple[int, int | None]
    """The first, and how many; None: all that follow."""
    loads: tuple[float | None, ...] = (0.7, 0.9, 1.0)
    """Offered by these jobs; None: as logged."""
    partition: str | None = None
    """The only one whose jobs are taken; None: all are."""


STOPPED = (
    Squeezed("Venus, first 40,000 jobs", SAMPLES["venus"].file, "helios-venus", (0, 40_000)),
    Squeezed("Venus, all jobs", SAMPLES["venus"].file, "helios-venus", (0, None), (1.0,)),
    Squeezed("Philly on 36 nodes of 8 GPUs", SAMPLES["philly"].file, "generate:helios-like?nodes=36", (30_000, 20_000)),
    Squeezed(
        "One virtual cluster of Venus, with wide jobs",
        SAMPLES["venus-2vc"].file,
        "helios-venus-2vc",
        (0, None),
        (0.95, 1.05, None),
        "vcvGl",
    ),
)
COSTS = (("preemption_overhead_s", 30), ("min_run_s", 300))
STOPPING = (
    Run("fcfs"),
    Run(LEVELS, note="levels", options=COSTS),
    Run("las", options=COSTS),
    Run("srtf", note="history", options=(*COSTS, ("estimate", "history"))),
    Run("srsf", note="history", options=(*COSTS, ("estimate", "history"))),
    Run("gittins", options=COSTS),
    Run("srtf", note="perfect", options=(*COSTS, ("estimate", "perfect"))),
    Run("srsf", note="perfect", options=(*COSTS, ("estimate", "perfect"))),
)
"""The last is what the others are measured by."""
BACKLOGS, BACKLOG_SEEDS = (3_000, 6_000, 12_000, 24_000), 8
BACKLOG_RUNS = (STOPPING[0], STOPPING[2], STOPPING[5], STOPPING[-1])


def preemption() -> None:
    """Prints what the policies that stop jobs make of several loads, 30 s a restart and 300 s the shortest run."""
    print("### Policies that stop jobs\n")
    for cell in STOPPED:
        folder = Path(os.environ.get("SHUNTER_TRACES", Path(__file__).parents[2] / "shared" / "traces"))
        jobs, cluster = read_workload(folder / cell.file).window(*cell.jobs), read_cluster(cell.cluster)
        if cell.partition is not None:
            jobs = replace(jobs, jobs=jobs.jobs.filter(pl.col("partition") == cell.partition))
        logged = offered_load(jobs, cluster) or 0.0
        turnaround_h: dict[Run, list[float]] = {run: [] for run in STOPPING}
        stops: dict[Run, int] = {}
        for load in cell.loads:
            squeezed = jobs if load is None else scale_arrivals(jobs, logged / load)
            for run in STOPPING:
                begin = time.process_time()
                schedule = run.simulate(squeezed, cluster)
                turnaround_h[run].append(float(schedule.turnaround_s[schedule.ended].mean()) / HOUR_S)
                stops[run] = int(schedule.preemptions.sum())
                taken_s = time.process_time() - begin
                print(f"{cell.title} {load}: {run.policy} {run.note}: {taken_s:.1f} s", file=sys.stderr, flush=True)
        size = f"{len(jobs):,} jobs, {cluster.total_gpus:,} GPUs, offered load {logged:.2f} as logged"
        heads = ["as logged" if load is None else f"{load:g}" for load in cell.loads]
        print(f"**{cell.title}**: {size}. Mean turnaround in hours by offered load\n")
        print(f"| policy | {' | '.join(heads)} | times srsf (perfect), {heads[-1]} | stops, {heads[-1]} |")
        print(f"|---|{'---:|' * (len(heads) + 2)}")
        for run, means in turnaround_h.items():
            ratio = means[-1] / turnaround_h[STOPPING[-1]][-1]
            print(f"| {run.label} | {' | '.join(f'{mean:.2f}' for mean in means)} | {ratio:.2f} | {stops[run]:,} |")
        print(flush=True)


def backlog() -> None:
    """Prints how far `gittins` is behind srsf that knows run times, at load 1.0, the longer the log is."""
    print("### Gittins, and how long the queue has grown\n")
    cluster = read_cluster("generate:helios-like?nodes=36")
    print(f"Load 1.0 on {cluster.total_gpus} GPUs, Poisson arrivals; mean of seeds 0 - {BACKLOG_SEEDS - 1}\n")
    print("| jobs drawn from | jobs | fcfs, h | las, h | gittins, h | srsf (perfect), h | gittins to srsf |")
    print(f"|---|{'---:|' * 6}")
    for name in ("venus", "philly"):
        source = Cell(name, 1.0).source
        for count in BACKLOGS:
            found = np.array([turnarounds_h(source, cluster, count, seed) for seed in range(BACKLOG_SEEDS)])
            ratios = found[:, 2] / found[:, 3]
            spread = f"{ratios.mean():.3f} ± {ratios.std(ddof=1) / np.sqrt(len(ratios)):.3f}"
            print(
                f"| {name} | {count:,} | {' | '.join(f'{h:.2f}' for h in found.mean(axis=0))} | {spread} |", flush=True
            )
    print()


def turnarounds_h(source: pl.DataFrame, cluster: Cluster, count: int, seed: int) -> list[float]:
    """Returns the mean turnaround of jobs that are drawn from others, under four policies."""
    random = np.random.default_rng([seed, count])
    rows = source[random.integers(0, len(source), count).tolist()]
    jobs = rows.select("run_s", tasks="gpus", gpus_per_task=pl.lit(1.0), cores_per_task=pl.lit(0.0)).with_columns(
        job_id=pl.Series(np.arange(1, count + 1)), submit_s=pl.Series(np.cumsum(random.exponential(1.0, count)))
    )
    drawn = Workload.from_frame(jobs, name="drawn")
    squeezed = scale_arrivals(drawn, offered_load(drawn, cluster) or 1.0)
    schedules = [run.simulate(squeezed, cluster) for run in BACKLOG_RUNS]
    return [float(schedule.turnaround_s[schedule.ended].mean()) / HOUR_S for schedule in schedules]


PARTS: dict[str, Callable[[], None]] = {
    **{name: lambda sample=sample: compare(sample) for name, sample in SAMPLES.items()},  # type: ignore[misc]
    "windows": windows,
    "failures": failures,
    "overhead": overhead,
    "preemption": preemption,
    "backlog": backlog,
    "pairs": pairs,
}


def main() -> None:
    """Prints the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all without one")
    names = parser.parse_args().parts or list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise InputError(f"there is no part {unknown[0]!r}; expected one of {', '.join(PARTS)}")
    for name in names:
        PARTS[name]()


if __name__ == "__main__":
    main()
