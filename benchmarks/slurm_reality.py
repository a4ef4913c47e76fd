"""Is a real Slurm with Shunter beside it as the simulator says? Mean waits of short jobs, under fcfs and another order.

    .venv/bin/python benchmarks/slurm_reality.py             # 500 jobs of 1 to 20 s: some 6 minutes
    .venv/bin/python benchmarks/slurm_reality.py --jobs 60   # a minute and a half
    .venv/bin/shunter tune 'generate:uniform?jobs=60000&cores=48&load=0.98&n_max=4&p_min=1&p_max=20' -o tuned.toml
    .venv/bin/python benchmarks/slurm_reality.py --policy tuned.toml

It starts a Slurm of its own on loopback (Debian: make services; root). Its nodes claim more cores than the machine has:
the jobs sleep. Slurm's own order is first come, first served here; the other one is that of the same Slurm with
`shunter operate slurm --mode nudge --policy sjf` beside it. Jobs ask for a minute for each second that they run, for
Slurm counts limits in minutes. The simulator is given the submit times that Slurm has noted, and the seconds that each
job was told to sleep.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

import polars as pl

import shunter
from shunter.model.cluster import Cluster, Node
from shunter.model.workload import Workload

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.execution.slurm.real_slurm import NODES, RealSlurm, why_not

CORES = 16
"""Of each node."""
LINES = ("MinJobAge=86400", "MaxJobCount=20000")


def main() -> None:
    """Runs both, and prints what was measured beside what is predicted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", default="sjf", help="towards which Slurm's order is nudged")
    arguments = parser.parse_args()
    if reason := why_not():
        raise SystemExit(f"error: {reason}")
    draw = random.Random(arguments.seed)
    jobs = [(draw.randint(1, 20), draw.choice((1, 1, 2, 4))) for _ in range(arguments.jobs)]
    with tempfile.TemporaryDirectory(prefix="shunter-slurm-") as text:
        slurm = RealSlurm(Path(text), CORES, LINES)
        try:
            slurm.start()
            for policy in ("fcfs", arguments.policy):
                report(policy, run(slurm, jobs, policy, Path(text) / f"state-{Path(policy).stem}"))
        finally:
            slurm.stop()


def run(slurm: RealSlurm, jobs: list[tuple[int, int]], policy: str, state: Path) -> pl.DataFrame:
    """Runs all jobs; returns what Slurm has noted of them."""
    beside = None
    if policy != "fcfs":
        config = state.with_suffix(".toml")
        config.write_text("period_s = 1.0\nchanges_per_minute = 6000\ndeadline_s = 1.0\n")
        words = [f"--policy={policy}", "--mode=nudge", f"--state={state}", f"--config={config}"]
        beside = subprocess.Popen(
            [sys.executable, "-m", "shunter", "operate", "slurm", *words], env=slurm.environment,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        ids = {}
        for seconds, cores in jobs:
            options = (f"--ntasks={cores}", "--nodes=1")
            ids[slurm.submit(*options, seconds=seconds, minutes=seconds)] = (seconds, cores)
        while slurm.states():
            time.sleep(1)
    finally:
        if beside is not None:
            beside.send_signal(signal.SIGTERM)
            beside.wait()
    told = [noted(line) for line in slurm.run("scontrol", "-o", "show", "job").splitlines()]
    rows = [(id, *ids[id], submit_s, start_s, end_s) for id, submit_s, start_s, end_s in told if id in ids]
    names = ["job_id", "asked_s", "cores", "submit_s", "start_s", "end_s"]
    return pl.DataFrame(rows, schema=names, orient="row")


def noted(line: str) -> tuple[int, float, float, float]:
    """Returns a job's id, submit time, start and end."""
    fields = dict(re.findall(r"(\w+)=(\S*)", line))
    times = (datetime.fromisoformat(fields[name]).timestamp() for name in ("SubmitTime", "StartTime", "EndTime"))
    submit_s, start_s, end_s = times
    return int(fields["JobId"]), submit_s, start_s, end_s


def report(policy: str, rows: pl.DataFrame) -> None:
    """Prints the real mean wait beside that of two simulations."""
    wait_s = (rows["start_s"] - rows["submit_s"]).to_numpy().mean()
    held_s = rows["end_s"] - rows["start_s"]
    slept, noted_s = (predicted(policy, rows, run_s) for run_s in (rows["asked_s"].cast(float), held_s))
    told = f"{policy}: {rows.height} jobs, real mean wait {float(wait_s):.1f} s; predicted {slept:.1f} s"
    print(f"{told} ({noted_s:.1f} s with the run times that Slurm noted)", flush=True)


def predicted(policy: str, rows: pl.DataFrame, run_s: pl.Series) -> float:
    """Returns the mean wait that the simulator predicts."""
    frame = rows.select(
        "job_id", "submit_s", requested_s=pl.col("asked_s") * 60.0, cores_per_task=pl.col("cores").cast(float)
    ).with_columns(run_s=run_s)
    workload = Workload.from_frame(frame, name="real", content_sha256="real")
    cluster = Cluster.from_nodes(tuple(Node(f"node{number}", float(CORES)) for number in range(NODES)), "trial")
    schedule = shunter.simulate(workload, cluster, policy=policy, dispatch="easy")
    return float((schedule.start_s - workload.jobs["submit_s"].to_numpy()).mean())


if __name__ == "__main__":
    main()
