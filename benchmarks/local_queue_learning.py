"""Whether ``shunter run --train`` shortens waits: policies that learned on executed jobs, beside fifo and sjf.

    PYTHONPATH=. python benchmarks/local_queue_learning.py [--episodes 30] [--seeds 3] [--draws 8]

Jobs are made up and sleep, on four counted cores: each seed learns on draws of its own, and all are judged on the same
draws, which nobody has learned on. All runs of a step go on at once: jobs that sleep do not disturb each other.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

JOBS = ["--generate", "20", "--cores", "1:2", "--seconds", "0.5:5", "--capacity", "4", "--simulate"]
FIRST_DRAW = 1000
SOME = 5
"""Of so many episodes the mean is told, at the beginning of a training and at its end."""


def start(words: list[str], out: Path) -> subprocess.Popen[str]:
    """Starts ``shunter run`` with some words."""
    command = [sys.executable, "-m", "shunter", "run", *JOBS, *words, "--out", str(out), "--json"]
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
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = {f"learned, seed {seed}": Path(folder) / f"model-{seed}" for seed in range(given.seeds)}
        words = ["--train", str(given.episodes), "--seed"]
        mean_waits([start([*words, str(seed)], model) for seed, model in enumerate(models.values())])
        print(f"mean wait in seconds; {given.episodes} episodes of {' '.join(JOBS)}")
        for name, model in models.items():
            with (model / "progress.csv").open() as file:
                waits = [float(row["episode/wait"]) for row in csv.DictReader(file) if row["episode/wait"]]
            begin, end = statistics.mean(waits[:SOME]), statistics.mean(waits[-SOME:])
            print(f"  {name:16} first {SOME} episodes {begin:6.2f}, last {SOME} {end:6.2f}")
        print(f"the same {given.draws} draws, which nobody has learned on")
        found: dict[str, list[float]] = {name: [] for name in ("fifo", "sjf", *models)}
        for draw in range(FIRST_DRAW, FIRST_DRAW + given.draws):
            policies = [str(models.get(name, name)) for name in found]
            runs = [
                start(["--policy", policy, "--seed", str(draw)], Path(folder) / f"{draw}-{place}")
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
