"""What jobs are estimated at when they are submitted, had the others ended when the log says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shunter.model.cluster import Cluster
from shunter.native import check, lib, pointer
from shunter.policies.placement import FIRST_FIT, resolve_placement
from shunter.simulation.core_config import core_config
from shunter.simulation.core_tables import open_jobs
from shunter.simulation.states import Estimates

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler


def estimates_at_submit(workload: Workload, scheduler: Scheduler) -> Estimates:
    """Returns the estimate of each job at its submit time; no schedule is simulated.

    A job is known to have ended at its submit time plus its logged wait and its run time, without a logged wait at its
    submit time plus its run time. The jobs before a window are known too.

    Args:
        workload: The jobs.
        scheduler: From `shunter.policies.scheduler.resolve_scheduler`; the estimate and what stands in for unknown
            requests are what matters of it.
    """
    table = workload.whole()
    # Nothing is placed, and nothing fails, so any cluster without partitions will do.
    pool = Cluster.pool(1)
    scheduler = replace(
        scheduler,
        settings=replace(scheduler.settings, placement=FIRST_FIT, failures=None),
        placement=resolve_placement(FIRST_FIT),
    )
    jobs = open_jobs(table, pool)
    config = core_config(scheduler, table, pool)
    count = len(table)
    estimates = Estimates(np.empty(count, dtype=np.int64), np.empty(count, dtype=np.uint8))
    check(
        lib.shunter_estimates_at_submit(
            jobs.number, config.pointer, pointer(estimates.estimate_ms), pointer(estimates.basis), count
        )
    )
    first = count - len(workload)
    return Estimates(estimates.estimate_ms[first:], estimates.basis[first:])
