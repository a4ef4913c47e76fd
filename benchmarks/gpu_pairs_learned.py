"""Which job on which type of GPU, learned: PPO from a tuned score over pairs, against that score on fresh jobs.

    python -m benchmarks.gpu_pairs_learned runs/pairs                 three seeds each on Venus and Philly
    python -m benchmarks.gpu_pairs_learned runs/pairs --again         judge the runs in the folder once more

The cells are named here, before anything is trained: Venus and Philly, loads 0.9 and 1.0, Poisson arrivals, perfect run
times, episodes of 3,000 jobs from an empty cluster, as `benchmarks/gpu_pairs.py` draws them. For each log one score is
tuned on both loads, and a policy is trained on both, three times. They are judged on eight seeds that neither has seen.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gpu_pairs import HOUR_S, JUDGED, Cell, scheduler_of, write_logs
from shunter import train
from shunter.comparison import classics
from shunter.comparison.bench import Bench
from shunter.model.windows import choose_windows
from shunter.policies.scheduler import resolve_scheduler
from shunter.studies.aggregates import mean

CELLS = [Cell(jobs, load) for jobs in ("venus", "philly") for load in (0.9, 1.0)]
SEEDS = range(3)
Sections = Mapping[str, Mapping[str, Any]]
METRIC = "mean_turnaround_s"
SETTINGS: dict[str, dict[str, Any]] = {
    "environment": {"window": 32, "placement": "fastest"},
    "episodes": {"part": [0.0, 0.5], "length": 3000},
    "validation": {"part": [0.5, 0.75], "length": 3000, "windows": 16},
    "training": {"decide_windows": 64},
    "report": {"part": [0.75, 1.0], "length": 3000, "windows": 8},
}
"""What is as it is judged: the length of episodes, the loads, and where jobs stand."""


def learn(folder: Path, jobs: str, seed: int, steps: int, changes: Sections, from_nothing: bool) -> Path:
    """Trains once on the logs of some jobs, from the score that was tuned on them, and returns the run's folder."""
    logs = [folder / f"{cell.jobs}-{cell.load:g}-{cell.arrivals}.csv" for cell in CELLS if cell.jobs == jobs]
    out = folder / f"{jobs}-seed-{seed}"
    train(
        logs,
        cluster=[folder / "cluster.toml"] * len(logs),
        env="pick-job-and-type",
        init=None if from_nothing else folder / f"{jobs}.toml",
        out=out,
        steps=steps,
        seed=seed,
        config=SETTINGS,
        changes=changes,
        force=True,
    )
    return out


def turnaround_s(cell: Cell, policy: Path) -> NDArray[np.float64]:
    """Returns the mean turnaround of the jobs of each seed that is judged."""
    log = cell.drawn(JUDGED)
    windows = choose_windows(len(log.workload), count=len(JUDGED), length=cell.count, blocks=len(JUDGED))
    is_score = policy.suffix == ".toml"
    scheduler = scheduler_of(cell, str(policy), str(policy)) if is_score else resolve_scheduler(policy=str(policy))
    return np.asarray(Bench.on(log, windows).measure(scheduler, [METRIC])[METRIC])


def judge(folder: Path, jobs: Sequence[str], seeds: Sequence[int]) -> None:
    """Prints what was learned beside the tuned score, cell by cell and pooled."""
    print("| jobs | load | tuned, h | " + " | ".join(f"seed {seed}" for seed in seeds) + " | all seeds |")
    print(f"|---|---|---:|{'---:|' * (len(seeds) + 1)}")
    pooled = []
    for cell in CELLS:
        if cell.jobs not in jobs:
            continue
        tuned = turnaround_s(cell, folder / f"{cell.jobs}.toml")
        logs = [np.log(turnaround_s(cell, folder / f"{cell.jobs}-seed-{seed}") / tuned) for seed in seeds]
        pooled.append(logs)
        shown = [f"{np.exp(one.mean()):.3f}" for one in logs]
        print(f"| {cell.jobs} | {cell.load:g} | {tuned.mean() / HOUR_S:.2f} | {' | '.join(shown)} | {ratio(logs)} |")
    print(f"\nall cells: {ratio(np.mean(pooled, axis=0))}")


def ratio(logs: list[NDArray[np.float64]] | NDArray[np.float64]) -> str:
    """Returns the geometric mean of ratios with Student's 95 % interval over the seeds of jobs."""
    found = mean(np.mean(logs, axis=0).tolist())
    assert found.interval is not None, "eight seeds are enough for one"
    low, high = np.exp(found.interval)
    return f"{np.exp(found.value):.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Tunes, trains and judges."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=300_000, help="decisions of each training")
    parser.add_argument("--changes", type=json.loads, default={}, help="sections of a training file, as JSON")
    parser.add_argument("--jobs", nargs="+", default=["venus", "philly"])
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--from-nothing", action="store_true", help="begin with random weights, not as the tuned score")
    parser.add_argument("--again", action="store_true", help="judge what is there")
    given = parser.parse_args()
    # What is judged here is the tuned score; all classics under all rules on windows of 3,000 jobs would take an hour.
    classics.ALL, classics.DISPATCHES = "sjf", ("greedy",)  # type: ignore[misc, assignment, attr-defined]
    if not given.again:
        if not (given.folder / "cluster.toml").exists():
            write_logs(CELLS, given.folder, generations=12, population=20)
        for jobs in given.jobs:
            for seed in given.seeds:
                began = time.process_time()
                out = learn(given.folder, jobs, seed, given.steps, given.changes, given.from_nothing)
                print(f"{out}: {time.process_time() - began:.0f} s of CPU time", flush=True)
    judge(given.folder, given.jobs, given.seeds)


if __name__ == "__main__":
    main()
