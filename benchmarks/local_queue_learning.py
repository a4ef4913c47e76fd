"""Whether ``shunter run --train`` shortens waits: policies that learned on executed jobs, beside fifo and sjf.

    PYTHONPATH=. python benchmarks/local_queue_learning.py [--episodes 30] [--seeds 3] [--draws 8] [--fixed]

Jobs are made up and sleep, on four counted cores: each seed learns on draws of its own, and all are judged on the same
draws, which nobody has learned on. With --fixed the jobs are always the same twenty, of half a second and less: whether
a policy learns anything at all can be seen in more episodes. All runs of a step go on at once: jobs that sleep do not
disturb each other.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

CAPACITY = ["--capacity", "4"]
JOBS = ["--generate", "20", "--cores", "1:2", "--seconds", "0.5:5", "--simulate"]
FIRST_DRAW = 1000
SOME = 5
"""Of so many episodes the mean is told, at the beginning of a training and at its end."""


def fixed_jobs(folder: Path) -> list[str]:
    """Writes a file of jobs that ask for a hundred times the time that they take; returns the words that name it."""
    draw, path = random.Random(1), folder / "jobs.jsonl"
    times = [(draw.randint(1, 2), round(draw.uniform(0.05, 0.5), 3)) for _ in range(20)]
    jobs = [{"command": ["sleep", str(time_s)], "cores": cores, "time_s": 100 * time_s} for cores, time_s in times]
    path.write_text("".join(json.dumps(job) + "\n" for job in jobs))
    return [str(path)]


def start(words: list[str], out: Path) -> subprocess.Popen[str]:
    """Starts ``shunter run`` with some words."""
    command = [sys.executable, "-m", "shunter", "run", *words, *CAPACITY, "--out", str(out), "--json"]
    # Several at once: each on one core.
    there = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=there)


def mean_waits(runs: list[subprocess.Popen[str]]) -> list[float]:
    """Returns the mean wait of each run, when all have ended."""
    told = [json.loads(run.communicate()[0]) for run in runs]
    assert all(one["succeeded"] == one["jobs"] and not one["policy_failures"] for one in told), told
    return [float(one["mean_queue_wait_s"]) for one in told]


def main() -> None:
    """Learns, judges, and prints mean waits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--fixed", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        jobs = fixed_jobs(Path(folder)) if given.fixed else JOBS
        models = {f"learned, seed {seed}": Path(folder) / f"model-{seed}" for seed in range(given.seeds)}
        words = [*jobs, "--train", str(given.episodes), "--seed"]
        mean_waits([start([*words, str(seed)], model) for seed, model in enumerate(models.values())])
        print(
            f"mean wait in seconds; {given.episodes} episodes of {'the same jobs' if given.fixed else ' '.join(JOBS)}"
        )
        for name, model in models.items():
            with (model / "progress.csv").open() as file:
                waits = [float(row["episode/wait"]) for row in csv.DictReader(file) if row["episode/wait"]]
            begin, end = statistics.mean(waits[:SOME]), statistics.mean(waits[-SOME:])
            print(f"  {name:16} first {SOME} episodes {begin:6.2f}, last {SOME} {end:6.2f}")
        print(
            f"{given.draws} times the same jobs" if given.fixed else f"{given.draws} draws that nobody has learned on"
        )
        found: dict[str, list[float]] = {name: [] for name in ("fifo", "sjf", *models)}
        for draw in range(FIRST_DRAW, FIRST_DRAW + given.draws):
            policies = [str(models.get(name, name)) for name in found]
            runs = [
                start([*jobs, "--policy", policy, "--seed", str(draw)], Path(folder) / f"{draw}-{place}")
                for place, policy in enumerate(policies)
            ]
            for name, wait_s in zip(found, mean_waits(runs), strict=True):
                found[name].append(wait_s)
        for name, waits in found.items():
            ratios = [wait / fifo for wait, fifo in zip(waits, found["fifo"], strict=True)]
            spread = f"{min(ratios):.2f} – {max(ratios):.2f} of fifo"
            print(f"  {name:16} {statistics.mean(waits):6.2f}   {statistics.mean(ratios):.2f} ({spread})", flush=True)


if __name__ == "__main__":
    main()
