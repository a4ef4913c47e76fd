"""A policy of your own: copy this file, change `score`, and see how it does against fcfs and sjf.

python examples/my_policy.py
python examples/my_policy.py --workload LOG.swf.gz --cores 128 --dispatch conservative
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from shunter import Policy, QueueView, Schedule, ShunterError, compute_metrics, read_cluster, read_workload, simulate

WORKLOAD = "generate:lublin?seed=42&jobs=2000&cores=256&load=0.9&requests=factor"


class SmallestAreaWithAging(Policy):
    """Prefers jobs of a small area, for they delay the others least, and grows impatient for those that wait."""

    # What tables call it.
    name = "my-policy"

    # The wait changes the order, so `score` is asked whenever jobs could start. A policy that needs neither the clock
    # nor the free cores sets this to False: it is then asked once for all jobs, and runs at full speed.
    moves = True

    def __init__(self, patience_s: float = 3600.0) -> None:
        # After so long a wait, a job counts as half its area; after three times as long, as a quarter.
        self.patience_s = patience_s

    def score(self, queue: QueueView) -> NDArray[np.float64]:
        """Returns one number for each waiting job: the lowest goes first, equal ones go by submit time.

        `queue` has an array for each thing that a scheduler may know (see `QueueView`). The true run time is not
        among them, unless you simulate with ``estimate="perfect"`` or let it stand in for requests that the log lacks.
        """
        # The size counts cores or GPUs, whichever your jobs ask more of.
        area = queue.estimate_s * queue.size
        impatience = 1.0 + queue.wait_s / self.patience_s
        scores: NDArray[np.float64] = area / impatience
        return scores


def table(schedules: list[Schedule]) -> Table:
    """Returns one row for each policy."""
    first = schedules[0]
    cores, dispatch = first.cluster.total_cores, first.settings.dispatch
    result = Table(title=f"{len(first):,} jobs on {cores:g} cores, dispatch {dispatch}")
    result.add_column("policy")
    for heading in ("mean wait, h", "p95 wait, h", "max wait, h", "bounded slowdown"):
        result.add_column(heading, justify="right")
    for schedule in schedules:
        metrics = compute_metrics(schedule)
        hours = [f"{(metrics[name] or 0.0) / 3600:,.2f}" for name in ("mean_wait_s", "p95_wait_s", "max_wait_s")]
        result.add_row(schedule.settings.policy, *hours, f"{metrics['mean_bounded_slowdown'] or 0.0:,.2f}")
    return result


def main() -> None:
    """Runs the same jobs under each policy; dispatch, placement and estimates are the same for all."""
    parser = argparse.ArgumentParser(description="Compares a policy of your own with fcfs and sjf.")
    parser.add_argument("--workload", default=WORKLOAD, help="a job log, or generate:lublin?...")
    parser.add_argument("--cores", type=int, help="of the cluster; by default what the log says")
    parser.add_argument("--dispatch", default="easy", help="strict, greedy, easy, conservative, ...")
    parser.add_argument("--patience", type=float, default=3600.0, metavar="SECONDS")
    arguments = parser.parse_args()
    if not arguments.patience > 0:
        parser.error(f"--patience is {arguments.patience:g}; expected more than 0 seconds")
    try:
        workload = read_workload(arguments.workload)
        machine = workload.cluster_spec if arguments.cores is None else str(arguments.cores)
        if machine is None:
            parser.error("the log does not say how many cores the machine has; pass --cores")
        policies: list[str | Policy] = ["fcfs", "sjf", SmallestAreaWithAging(arguments.patience)]
        cluster = read_cluster(machine)
        schedules = [simulate(workload, cluster, policy=policy, dispatch=arguments.dispatch) for policy in policies]
    except ShunterError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    Console().print(table(schedules))


if __name__ == "__main__":
    main()
