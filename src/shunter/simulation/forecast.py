"""What jobs are estimated at when they are submitted, had the others ended when the log says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shunter.model.cluster import Cluster
from shunter.native import check, lib, pointer
from shunter.policies.native_estimate import CODES, NativeEstimate
from shunter.simulation.core_config import core_config
from shunter.simulation.states import Estimates
from shunter.simulation.tables import open_jobs

if TYPE_CHECKING:
    from shunter.model.schedule import Settings
    from shunter.model.workload import Workload
    from shunter.policies.prior import Prior


def estimates_at_submit(workload: Workload, settings: Settings, prior: Prior | None = None) -> Estimates:
    """Returns the estimate of each job at its submit time; no schedule is simulated.

    A job is known to have ended at its submit time plus its logged wait and its run time, without a logged wait at its
    submit time plus its run time. The jobs before a window are known too.

    Args:
        workload: The jobs.
        settings: Checked settings, from `shunter.policies.settings`; the estimate and what stands in for unknown
            requests are what matters of them.
        prior: With it, the estimate is a posterior with this prior, whatever the settings say.
    """
    table = workload.whole()
    # Nothing is placed, and nothing fails, so any cluster without partitions will do.
    pool = Cluster.pool(1)
    settings = replace(settings, placement="first-fit", failures=None)
    jobs = open_jobs(table, pool)
    own = None if prior is None else NativeEstimate(CODES["posterior"], prior.numbers(), is_learned=True)
    config = core_config(settings, table, pool, estimate=own)
    count = len(table)
    estimates = Estimates(np.empty(count, dtype=np.int64), np.empty(count, dtype=np.uint8))
    check(
        lib.shunter_estimates_at_submit(
            jobs.number, config.pointer, pointer(estimates.estimate_ms), pointer(estimates.basis), count
        )
    )
    first = count - len(workload)
    return Estimates(estimates.estimate_ms[first:], estimates.basis[first:])
