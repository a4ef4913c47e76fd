"""What it is worth to wait for one node where scattered gangs are slower: a table of docs/results-gpu.md.

    PYTHONPATH=. python benchmarks/locality.py [--seeds 8] [--jobs 6000] [--load 0.9]

16 nodes of 8 GPUs. Jobs of 1, 2, 4 and 8 GPUs are drawn from Helios Venus and from Philly, each with a task for every
GPU; run times are cut at two days, arrivals are Poisson. Each job has a kind of Gavel's measurements, drawn among those
with its number of GPUs; the kind tells how much longer it takes when its GPUs are scattered. The logs are looked for in
SHUNTER_TRACES, or ../shared/traces, the measurements (gavel_speeds.csv) in ../shared/reference.

All rows are sjf with perfect run times under greedy, placed by pack. tuned is the best of some times and losses on
three other seeds than those on which it is judged. Ratios are of mean turnarounds, geometric means over the seeds, with
Student's 95 % interval; so give three seeds or more.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from shunter import Cluster, Workload, read_cluster, read_workload
from shunter.simulation import simulate
from shunter.studies.aggregates import mean
from shunter.workloads.load import offered_load, scale_arrivals

SHARED = Path(__file__).parents[2] / "shared"
LOGS = {"Venus": "helios/venus_gpu_jobs_clip48h.csv.gz", "Philly": "philly/philly_sia.csv.gz"}
LONGEST_S = 2 * 86_400.0
FLAT = 1.17
TABLES = {"V100's": "scatter_slowdown_v100", "P100's": "scatter_slowdown_p100", f"{FLAT:g} for all": None}
GATES = ("1m", "5m", "15m", "1h", "4h", "1d", "5%", "10%", "20%", "30%", "50%", "100%")
TUNING_SEED = 1_000
"""The seeds on which the gate is chosen begin here."""


@dataclass(frozen=True)
class Cell:
    """What is drawn from: a log's jobs, and the kinds that there are for each number of GPUs."""

    jobs: pl.DataFrame
    kinds: dict[int, list[str]]
    cluster: Cluster

    def draw(self, seed: int, count: int, load: float) -> Workload:
        """Returns jobs of the log with kinds, coming at random times at a load."""
        random = np.random.default_rng(seed)
        chosen = self.jobs[random.integers(len(self.jobs), size=count)]
        kinds = [random.choice(self.kinds[gpus]) for gpus in chosen["tasks"]]
        submit_s = np.cumsum(random.exponential(60.0, count))
        jobs = chosen.with_columns(
            job_id=pl.int_range(count, dtype=pl.Int64), submit_s=pl.Series(submit_s), kind=pl.Series(kinds)
        )
        workload = Workload.from_frame(jobs, name=f"seed {seed}")
        return scale_arrivals(workload, (offered_load(workload, self.cluster) or 1.0) / load)


def cell_of(log: str, column: str | None, folder: Path) -> Cell:
    """Returns the jobs of a log, with a cluster on which scattered gangs are slower."""
    table = pl.read_csv(SHARED / "reference" / "gavel_speeds.csv")
    slowdown = pl.lit(FLAT) if column is None else pl.col(column)
    # Kinds are named with their GPUs: each row is a kind of its own.
    name = pl.col("kind") + "/" + pl.col("gpus").cast(pl.String)
    rows = table.select(kind=name, gpus="gpus", speed_V100=pl.lit(1.0), slowdown_nodes=slowdown)
    rows.write_csv(folder / "speeds.csv")
    (folder / "nodes.toml").write_text(
        'name = "sixteen"\nspeeds = "speeds.csv"\n\n[[nodes]]\nname = "n"\ncount = 16\ncores = 64\ngpus = 8\n'
        'gpu_type = "V100"\n'
    )
    traces = Path(os.environ.get("SHUNTER_TRACES", SHARED / "traces"))
    kinds = {int(gpus): list(rows.filter(pl.col("gpus") == gpus)["kind"]) for gpus in rows["gpus"].unique()}
    jobs = read_workload(traces / LOGS[log]).jobs.filter(pl.col("tasks").is_in(list(kinds)))
    kept = jobs.select("tasks", "gpus_per_task", run_s=pl.col("run_s").clip(1.0, LONGEST_S))
    return Cell(kept.with_columns(cores_per_task=pl.lit(1)), kinds, read_cluster(str(folder / "nodes.toml")))


def turnaround_h(cell: Cell, workload: Workload, gate: str) -> float:
    """Returns the mean turnaround of a schedule."""
    schedule = simulate(
        workload,
        cell.cluster,
        policy="sjf",
        dispatch="greedy",
        placement="pack",
        estimate="perfect",
        wait_for_locality=gate,
    )
    return float(schedule.turnaround_s[schedule.ended].mean()) / 3600


def row(log: str, table: str, seeds: int, count: int, load: float) -> str:
    """Returns a row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        cell = cell_of(log, TABLES[table], Path(folder))
        others = [cell.draw(TUNING_SEED + seed, count, load) for seed in range(3)]
        costs = {gate: np.mean([np.log(turnaround_h(cell, one, gate)) for one in others]) for gate in GATES}
        tuned = min(costs, key=lambda gate: costs[gate])
        drawn = [cell.draw(seed, count, load) for seed in range(seeds)]
        never, always, chosen = (
            np.array([turnaround_h(cell, one, gate) for one in drawn]) for gate in ("never", "always", tuned)
        )
    cells = [log, table, f"{never.mean():.2f}"]
    for hours in (always, chosen):
        ratio = mean(list(np.log(hours / never))).exp()
        assert ratio.interval is not None
        cells.append(f"{ratio.value:.2f} [{ratio.interval[0]:.2f}, {ratio.interval[1]:.2f}]")
    return "| " + " | ".join([*cells, f"`{tuned}`"]) + " |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=6_000)
    parser.add_argument("--load", type=float, default=0.9)
    given = parser.parse_args()
    print("| log | slowdowns | never waiting, h | always waiting | tuned | what it is |\n|---|---|---:|---:|---:|---|")
    for log in LOGS:
        for table in TABLES:
            print(row(log, table, given.seeds, given.jobs, given.load), flush=True)


if __name__ == "__main__":
    main()
