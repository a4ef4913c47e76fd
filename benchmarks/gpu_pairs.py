"""Which job on which type of GPU: prices, earliest finish and a tuned score over pairs, against own-fastest.

    python -m benchmarks.gpu_results pairs                     Venus at load 0.9, about 2 minutes of CPU time
    python -m benchmarks.gpu_pairs --jobs venus philly drawn --load 0.7 0.9 1.0 --arrivals poisson bursty
    python -m benchmarks.gpu_pairs --estimate 'noisy?sigma=1' 'noisy?sigma=2'
    python -m benchmarks.gpu_pairs --control like one-speed half --generations 0      without a tuned score: quick
    python -m benchmarks.gpu_pairs --jobs venus --load 0.9 1.0 --write runs/pairs     logs to learn from

36 V100, 36 P100 and 36 K80, four to a node. Run times and GPUs are drawn from the jobs of a log (cut at 2 days; jobs of
more than 8 GPUs are left out), the kind of each job is drawn from a table of measured speeds, which is looked for in
SHUNTER_SPEEDS, or ../shared/reference/gavel_speeds.csv. A load of 1 is what the best fluid assignment of the jobs to
the types could just do. Prices and the score are fitted on other jobs, drawn with other seeds; eight seeds are judged,
each from an empty cluster. All run under `greedy`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shunter import Cluster, Workload, read_workload
from shunter.model.cluster import Node
from shunter.model.cluster_file import write_cluster
from shunter.model.kinds import KindTable
from shunter.model.log import Log
from shunter.policies.prices import mix_of, training_prices
from shunter.policies.scheduler import Scheduler, resolve_scheduler
from shunter.simulation import WindowRunner
from shunter.tuning.search import search
from shunter.tuning.space import SPACES, spec_text
from shunter.tuning.tuned_file import section
from shunter.workloads.write import write_table

SHARED = Path(__file__).parents[2] / "shared"
FILES = {"venus": "helios/venus_gpu_jobs_clip48h.csv.gz", "philly": "philly/philly_sia.csv.gz"}
TYPES = ("V100", "P100", "K80")
NODES, GPUS_PER_NODE = 9, 4
LONGEST_S, MOST_GPUS = 2 * 86_400.0, 8
JUDGED, TRAINED = range(8), range(100, 106)
"""The seeds of the jobs that are judged, and of those that prices and scores are fitted on."""
LEARNED, LEARNED_JOBS = range(100, 101), 72_000
"""The seed and the number of the jobs that a policy may learn from, which come one after the other."""
APART_S = 1e9
"""Between the beginnings of the jobs of two seeds."""
BURSTY_SHAPE = 0.1
"""Gaps between bursty arrivals have a gamma distribution of this shape: they vary 3.2 times as much as Poisson's."""
STOPPING = {"preemption_overhead_s": 30.0, "min_run_s": 300.0}
"""What it takes to start a job again that was stopped, and how long nobody is stopped: for policies that stop jobs."""
HOUR_S = 3600.0


def speed_rows(control: str | None) -> list[tuple[str, dict[str, object]]]:
    """Returns the rows of the table of kinds as measured, or as a control has them."""
    file = Path(os.environ.get("SHUNTER_SPEEDS", SHARED / "reference" / "gavel_speeds.csv"))
    table = pl.read_csv(file)
    speeds = table.select(f"speed_{name.lower()}" for name in TYPES).to_numpy()
    runs = speeds > 0
    if control == "like":
        speeds = np.where(runs, 1.0, 0.0)
    elif control == "one-speed":
        means = [np.exp(np.log(speeds[runs[:, one], one]).mean()) for one in range(len(TYPES))]
        speeds = np.where(runs, means, 0.0)
    elif control == "half":
        middles = np.array([np.log(speeds[runs[:, one], one]).mean() for one in range(len(TYPES))])
        speeds = np.where(runs, np.exp((np.log(np.maximum(speeds, 1e-9)) + middles) / 2), 0.0)
    rows = []
    for kind, gpus, row in zip(table["kind"], table["gpus"], speeds.tolist(), strict=True):
        told = {f"speed_{name}": speed for name, speed in zip(TYPES, row, strict=True)}
        rows.append((f"{kind} on {gpus}", {"kind": kind, "gpus": gpus, **told}))
    return rows


@dataclass(frozen=True)
class Cell:
    """One way to draw jobs, and to judge what is done with them."""

    jobs: str
    load: float
    arrivals: str = "poisson"
    estimate: str = "perfect"
    control: str | None = None
    count: int = 3000
    """How many jobs each seed has."""

    @cached_property
    def cluster(self) -> Cluster:
        """36 GPUs of each type, and how fast each kind is on them."""
        nodes = tuple(
            Node(f"{name}-{number}", 32, gpus=GPUS_PER_NODE, gpu_type=name) for name in TYPES for number in range(NODES)
        )
        return Cluster.from_nodes(nodes, "gavel", kinds=KindTable.of(speed_rows(self.control), TYPES, "gavel_speeds"))

    @cached_property
    def source(self) -> pl.DataFrame:
        """Run times and GPUs of the log's jobs."""
        folder = Path(os.environ.get("SHUNTER_TRACES", SHARED / "traces"))
        name = FILES.get(self.jobs)
        log = read_workload(folder / name if name else "generate:helios-like?seed=1&jobs=40000")
        jobs = log.jobs.select("run_s", gpus=(pl.col("tasks") * pl.col("gpus_per_task")).cast(pl.Int64))
        jobs = jobs.filter(pl.col("gpus").is_between(1, MOST_GPUS), pl.col("run_s") > 0)
        return jobs.with_columns(pl.col("run_s").clip(upper_bound=LONGEST_S))

    def drawn(self, seeds: range) -> Log:
        """Returns the jobs of some seeds, one after the other; each begins long after the one before."""
        kinds = self.cluster.kinds
        assert kinds is not None
        parts = []
        for seed in seeds:
            random = np.random.default_rng([seed, sum(map(ord, self.jobs))])
            rows = self.source[random.integers(0, len(self.source), self.count).tolist()]
            shape = BURSTY_SHAPE if self.arrivals == "bursty" else 1.0
            gaps = random.gamma(shape, 1 / shape, self.count)
            names = random.choice(kinds.kinds, self.count)
            parts.append(rows.with_columns(submit_s=pl.Series(np.cumsum(gaps)), kind=pl.Series(names)))
        # The gaps have a mean of 1: they are stretched until the fluid assignment is busy for this part of the time.
        gap_s = self.least_work_s(self._log(pl.concat(parts))) / self.load
        stretched = [
            part.with_columns(submit_s=pl.col("submit_s") * gap_s + place * APART_S) for place, part in enumerate(parts)
        ]
        return self._log(pl.concat(stretched))

    def _log(self, jobs: pl.DataFrame) -> Log:
        frame = jobs.select(
            "submit_s", "run_s", "kind", tasks="gpus", gpus_per_task=pl.lit(1.0), cores_per_task=pl.lit(0.0)
        )
        frame = frame.sort("submit_s").with_row_index("job_id", 1).with_columns(pl.col("job_id").cast(pl.Int64))
        return Log(Workload.from_frame(frame, name=self.jobs), self.cluster)

    def least_work_s(self, log: Log) -> float:
        """Returns for how long a job keeps the whole cluster busy, on average, in the best fluid assignment."""
        pairs, mix = training_prices([log], (0.0, 1.0)), mix_of(log, (0.0, 1.0))
        prices = np.array([pairs.prices[name] for name in TYPES])
        with np.errstate(divide="ignore"):
            cheapest = (prices / mix.speed).min(axis=1)
        # By duality: what all work costs at these prices, over what all GPUs are worth.
        return float((mix.work @ cheapest) / (prices @ mix.gpus) / len(log.workload))


class Judge:
    """Runs ways to schedule on the jobs of several seeds, each from an empty cluster."""

    def __init__(self, log: Log, seeds: range) -> None:
        self._runner = WindowRunner(log.workload, log.cluster)
        self._submit_ms = np.rint(log.workload.jobs["submit_s"].to_numpy() * 1000).reshape(len(seeds), -1)

    def turnaround_h(self, scheduler: Scheduler) -> NDArray[np.float64]:
        """Returns the mean turnaround of each seed's jobs, in hours."""
        seeds, count = self._submit_ms.shape
        found = self._runner.run(scheduler, [place * count for place in range(seeds)], count)
        assert found.ended.all(), "every job runs on some type"
        return np.asarray((found.end_ms.reshape(seeds, count) - self._submit_ms).mean(axis=1) / 1000 / HOUR_S)


def tuned_score(cells: list[Cell], pairs: str, generations: int, population: int) -> dict[str, float]:
    """Returns the weights of a score over pairs that are best on other jobs, against sjf on each job's fastest type."""
    judges, space = [(cell, Judge(cell.drawn(TRAINED), TRAINED)) for cell in cells], SPACES["pairs"]
    bases = [judge.turnaround_h(scheduler_of(cell, "sjf")) for cell, judge in judges]

    def cost(text: str) -> float:
        own = [judge.turnaround_h(scheduler_of(cell, text, pairs)) for cell, judge in judges]
        return float(np.log(np.divide(own, bases)).mean())

    def costs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([cost(spec_text("pairs", space.parameters(vector))) for vector in vectors])

    found = search(costs, space.center, space.spread, generations=generations, population=population, seed=0)
    return space.parameters(found)


def scheduler_of(cell: Cell, policy: str, pairs: str = "any") -> Scheduler:
    """Returns a way to schedule; reservations and expected ends go by the estimate, as everything does here."""
    common = {"dispatch": "greedy", "placement": "fastest", "reserve_by": "estimate", **STOPPING}
    return resolve_scheduler(policy=policy, estimate=cell.estimate, pairs=pairs, **common)  # type: ignore[arg-type]


def rows_of(cell: Cell, generations: int, population: int) -> dict[str, NDArray[np.float64]]:
    """Returns the mean turnaround of each seed under each way to schedule."""
    training, judged = cell.drawn(TRAINED), cell.drawn(JUDGED)
    prices = training_prices([training], (0.0, 1.0)).text
    judge = Judge(judged, JUDGED)
    ways = {
        "sjf, own fastest": ("sjf", "any"),
        "fcfs, own fastest": ("fcfs", "any"),
        "las, own fastest": ("las", "any"),
        "srtf, own fastest": ("srtf", "any"),
        "gittins, price": ("gittins", prices),
        "fcfs, price": ("fcfs", prices),
        "sjf, price": ("sjf", prices),
        "sjf, eft": ("sjf", "eft"),
    }
    if generations:
        tuned = spec_text("pairs", tuned_score([cell], prices, generations, population))
        print(f"{cell}: {prices}\n{tuned}", file=sys.stderr, flush=True)
        ways["pairs, tuned"] = (tuned, prices)
    return {name: judge.turnaround_h(scheduler_of(cell, policy, pairs)) for name, (policy, pairs) in ways.items()}


def print_cells(cells: list[Cell], generations: int = 12, population: int = 20) -> None:
    """Prints a row for each cell: the base in hours, and the others as parts of it, with their standard errors."""
    heads: list[str] = []
    for cell in cells:
        begin = time.process_time()
        found = rows_of(cell, generations, population)
        if not heads:
            heads = [name for name in found if name != "sjf, own fastest"]
            print(f"| jobs | load | arrivals | estimate | speeds | sjf, own fastest, h | {' | '.join(heads)} |")
            print(f"|---|---|---|---|---|---:|{'---:|' * len(heads)}", flush=True)
        base = found["sjf, own fastest"]
        ratios = [found[name] / base for name in heads]
        shown = [f"{ratio.mean():.2f} ± {ratio.std(ddof=1) / np.sqrt(len(ratio)):.2f}" for ratio in ratios]
        told = (cell.jobs, f"{cell.load:g}", cell.arrivals, cell.estimate, cell.control or "measured")
        print(f"| {' | '.join(told)} | {base.mean():.1f} | {' | '.join(shown)} |", flush=True)
        print(f"{cell}: {time.process_time() - begin:.0f} s of CPU time", file=sys.stderr, flush=True)
    print()


def write_logs(cells: list[Cell], folder: Path, generations: int, population: int) -> None:
    """Writes a log for each cell, with the jobs to learn from and then those that are judged; and a tuned score."""
    folder.mkdir(parents=True, exist_ok=True)
    write_cluster(cells[0].cluster, folder / "cluster.toml")
    for cell in cells:
        known = replace(cell, count=LEARNED_JOBS).drawn(LEARNED).workload
        judged = cell.drawn(JUDGED).workload
        later = judged.jobs.with_columns(pl.col("submit_s") + APART_S, pl.col("job_id") + len(known))
        file = folder / f"{cell.jobs}-{cell.load:g}-{cell.arrivals}.csv"
        write_table(replace(known, jobs=pl.concat([known.jobs, later])), file)
        print(file, flush=True)
    for jobs in dict.fromkeys(cell.jobs for cell in cells):
        alike = [cell for cell in cells if cell.jobs == jobs]
        # All loads have the same jobs, and so the same prices.
        prices = training_prices([alike[0].drawn(TRAINED)], (0.0, 1.0))
        weights = tuned_score(alike, prices.text, generations, population)
        sections = [
            section("policy", {"kind": "pairs", **weights, "size_by": "gpus"}),
            section("settings", {"dispatch": "greedy"}),
            section("estimate", {"kind": alike[0].estimate}),
            section("pairs", {"kind": "price", "factor": prices.factor}),
            section("pairs.prices", prices.prices),
        ]
        file = folder / f"{jobs}.toml"
        file.write_text("\n".join(sections))
        print(file, flush=True)


def pairs() -> None:
    """Prints the part of docs/results-gpu.md on pairs that takes least time."""
    print("### Which job on which type\n")
    print_cells([Cell("venus", 0.9)])


def main() -> None:
    """Prints the cells that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", nargs="+", default=["venus"], choices=[*FILES, "drawn"])
    parser.add_argument("--load", nargs="+", type=float, default=[0.9])
    parser.add_argument("--arrivals", nargs="+", default=["poisson"], choices=["poisson", "bursty"])
    parser.add_argument("--estimate", nargs="+", default=["perfect"])
    parser.add_argument("--control", nargs="+", default=[None], choices=["like", "one-speed", "half"])
    parser.add_argument("--count", type=int, default=3000, help="how many jobs each seed has")
    parser.add_argument("--generations", type=int, default=12, help="of the search; 0: without a tuned score")
    parser.add_argument("--population", type=int, default=20)
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write logs, the cluster and tuned scores instead")
    given = parser.parse_args()
    told = product(given.jobs, given.load, given.arrivals, given.estimate, given.control)
    cells = [Cell(*one, given.count) for one in told]
    if given.write:
        write_logs(cells, given.write, given.generations, given.population)
    else:
        print_cells(cells, given.generations, given.population)


if __name__ == "__main__":
    main()
