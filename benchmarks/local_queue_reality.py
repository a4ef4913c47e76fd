"""The simulator judged by reality: 200 jobs that really run, and the mean wait that the simulator predicts for them.

Jobs of five kinds arrive over about two minutes on four counted cores. Most sleep; every fifth keeps a core busy by
stress-ng, where there is one. All ask for the same time, so that policies know nothing of a job but what the posterior
learns of its kind. Each way to schedule runs them once for real, by the local queue, and once in the simulator, which
is told the arrivals, the cores, and how long each job should run.

In the simulator a job starts in the instant in which another one ends. A real queue has to hear of the end, to decide,
to bring the start to the disk and to start a process. A second prediction counts with that: each job runs as long as it
did, and holds its cores for the time that its start took, too.

    PYTHONPATH=. python benchmarks/local_queue_reality.py
"""

from __future__ import annotations

import argparse
import random
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shunter.execution.local.foreground import Foreground, temporary_queue
from shunter.execution.local.run_metrics import job_rows
from shunter.execution.local.spec import JobSpec
from shunter.model.workload import Workload
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation.run import simulate

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS_S = {"parse": 0.4, "fit": 0.9, "render": 1.6, "train": 2.6, "archive": 4.5}
"""How long jobs of each kind run in the middle, in seconds."""
LOAD = 1.15
REQUESTED_S = 60.0
WAYS = ({"policy": "fifo"}, {"policy": "sjf", "estimate": "posterior"})


@dataclass(frozen=True)
class Planned:
    """A job, when it comes, and how long it should run."""

    after_s: float
    run_s: float
    spec: JobSpec


def planned_jobs(count: int, cores: int, seed: int) -> list[Planned]:
    """Returns jobs that arrive at random, a little faster than the cores can work."""
    source = random.Random(seed)
    stress = shutil.which("stress-ng")
    found, now_s = [], 0.0
    between_s = float(np.mean(list(KINDS_S.values()))) * 1.75 / cores / LOAD
    for number in range(count):
        kind = source.choice(list(KINDS_S))
        run_s = round(KINDS_S[kind] * source.lognormvariate(0.0, 0.3), 2)
        wanted = source.choice((1, 1, 2, 3))
        command: tuple[str, ...] = ("sleep", f"{run_s:g}")
        if stress and number % 5 == 0:
            # It knows whole seconds alone.
            run_s, wanted = float(max(1, round(run_s))), 1
            command = (stress, "--quiet", "--cpu", "1", "--timeout", f"{run_s:.0f}s")
        spec = JobSpec(command, "/tmp", name=kind, cores=wanted, time_s=REQUESTED_S)
        found.append(Planned(now_s, run_s, spec))
        now_s += source.expovariate(1 / between_s)
    return found


def measured(jobs: list[Planned], cores: int, words: dict[str, Any]) -> pl.DataFrame:
    """Runs jobs for real; returns a row for each."""
    with temporary_queue() as folder:
        queue = Foreground(folder, {"cores": cores, "policy": words})
        ids: list[int] = []
        began, wait_s = time.monotonic(), 0.0
        while len(ids) < len(jobs) or not queue.is_over(ids):
            queue.hear(wait_s)
            now_s = time.monotonic() - began
            while len(ids) < len(jobs) and jobs[len(ids)].after_s <= now_s:
                ids += queue.submit([jobs[len(ids)].spec])
            wait_s = queue.loop.turn()
            queue.queue.flush()
            if len(ids) < len(jobs):
                wait_s = min(wait_s, max(0.0, jobs[len(ids)].after_s - (time.monotonic() - began)))
        rows = job_rows(queue.queue.journal, ids)
        failures = queue.loop.decider.failures
        queue.close()
    assert all(row["success"] for row in rows), [row for row in rows if not row["success"]]
    assert failures == 0, "the policy failed, and fcfs decided"
    return pl.DataFrame(rows)


def predicted(frame: pl.DataFrame, runs_s: list[float], cores: int, words: dict[str, Any]) -> float:
    """Returns the mean wait that the simulator predicts for jobs that arrive as they did."""
    workload = Workload.from_frame(
        pl.DataFrame(
            {
                "job_id": frame["job_id"],
                "submit_s": frame["submit_s"] - frame["submit_s"].min(),
                "run_s": runs_s,
                "requested_s": frame["requested_s"],
                "cores_per_task": frame["cores"].cast(pl.Float64),
                "user": frame["name"],
            }
        ),
        name="queue",
        content_sha256="queue",
    )
    schedule = simulate(workload, cores, resolve_scheduler(**words))
    return float(np.mean(schedule.start_s - workload.jobs["submit_s"].to_numpy()))


def start_delays(frame: pl.DataFrame) -> NDArray[np.float64]:
    """Returns how long each start took: since the last arrival or end before it, which made it possible."""
    starts = frame["start_s"].to_numpy()
    events = np.sort(np.concatenate([frame["submit_s"].to_numpy(), frame["end_s"].to_numpy()]))
    delays: NDArray[np.float64] = starts - events[np.searchsorted(events, starts, side="right") - 1]
    return delays


def main() -> None:
    """Prints measured and predicted waits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--cores", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    jobs = planned_jobs(given.jobs, given.cores, given.seed)
    print(f"{given.jobs} jobs, {given.cores} cores, seed {given.seed}: mean wait in seconds")
    for words in WAYS:
        frame = measured(jobs, given.cores, words)
        real = float(frame["queue_wait_s"].mean())  # type: ignore[arg-type]
        plan = predicted(frame, [job.run_s for job in jobs], given.cores, words)
        delays = start_delays(frame)
        held = (frame["duration_s"].to_numpy() + delays).tolist()
        known = predicted(frame, held, given.cores, words) + float(delays.mean())
        longer_s = float(np.mean(frame["duration_s"].to_numpy() - [job.run_s for job in jobs]))
        print(", ".join(words.values()))
        print(f"  measured                                       {real:6.2f}")
        print(f"  predicted                                      {plan:6.2f}   measured to this {real / plan:.3f}")
        print(f"  predicted, with what starts and ends took      {known:6.2f}   measured to this {real / known:.3f}")
        took = f"a start took {1000 * delays.mean():.0f} ms, a job {1000 * longer_s:.0f} ms longer than it should"
        print(f"  on average {took}", flush=True)


if __name__ == "__main__":
    main()
