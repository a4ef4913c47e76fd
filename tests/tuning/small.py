"""A log small enough to be tuned in a test."""

from __future__ import annotations

from shunter.model.cluster import Cluster
from shunter.model.log import Log
from shunter.tuning.weights import Plan
from shunter.workloads import read_workload

SPEC = "generate:lublin?seed=3&jobs=600&cores=64&load=1.1&requests=factor"
PLAN = Plan(windows=6, drawn=6, length=50, warmup=0, generations=4, population=8)
"""All windows are drawn in each generation, so that costs can be compared."""


def small_log(spec: str = SPEC, cores: int = 64) -> Log:
    return Log(read_workload(spec), Cluster.pool(cores))
