"""Waits of generated jobs under the policy of a site: generated logs can then be used like real ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from shunter.checks import check_name
from shunter.errors import InputError
from shunter.model.log import Log
from shunter.policies.catalog import KNOWN_POLICIES, POLICIES, SYNONYMS
from shunter.policies.scheduler import resolve_scheduler, split_text
from shunter.simulation.run import simulate

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload


def simulated_waits(workload: Workload, cluster: Cluster, site: str) -> pl.Series:
    """Wait of each job in seconds under a policy and dispatch rule such as ``fcfs/easy``; null if it never starts.

    Raises:
        InputError: The policy or the rule is unknown, stops running jobs, or is not one of Shunter's own.
    """
    policy, dispatch = split_text(site)
    name = policy.partition("?")[0]
    # A file could change, and the jobs with it, under the same name.
    check_name("policy", name, POLICIES, synonyms=SYNONYMS)
    scheduler = resolve_scheduler(policy=policy, dispatch=dispatch)
    if KNOWN_POLICIES[name].preempts:
        raise InputError(f"{name} stops running jobs, but a log has one wait for each job; give another policy")
    schedule = simulate(Log(workload, cluster), scheduler=scheduler)
    return pl.Series(schedule.queue_wait_s).fill_nan(None)
