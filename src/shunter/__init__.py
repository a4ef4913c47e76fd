"""Shunter learns to schedule your cluster."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import shunter.hooks as _hooks

if TYPE_CHECKING:
    __version__: str
    from shunter.advice.advise import advise
    from shunter.agents.learned_policy import load_policy
    from shunter.agents.training.train import train
    from shunter.comparison.contest import compare
    from shunter.comparison.evaluation import evaluate
    from shunter.comparison.what_if import what_if
    from shunter.errors import InputError, ShunterError
    from shunter.metrics.calibration_report import calibrate
    from shunter.metrics.table import compute_metrics
    from shunter.model.cluster import Cluster
    from shunter.model.schedule import Schedule
    from shunter.model.workload import Workload
    from shunter.policies.own import Placer, Policy, QueueView, Scene
    from shunter.policies.scheduler import resolve
    from shunter.simulation.asked_job import AskedJob
    from shunter.simulation.eta import eta
    from shunter.simulation.foresight import Foresight
    from shunter.simulation.run import simulate
    from shunter.tuning.tune import tune
    from shunter.workloads import read_cluster, read_workload

__all__ = [
    "AskedJob",
    "Cluster",
    "Foresight",
    "InputError",
    "Placer",
    "Policy",
    "QueueView",
    "Scene",
    "Schedule",
    "ShunterError",
    "Workload",
    "__version__",
    "advise",
    "calibrate",
    "compare",
    "compute_metrics",
    "eta",
    "evaluate",
    "load_policy",
    "read_cluster",
    "read_workload",
    "resolve",
    "simulate",
    "train",
    "tune",
    "what_if",
]

_HOMES = {
    "AskedJob": "simulation.asked_job",
    "Cluster": "model.cluster",
    "Foresight": "simulation.foresight",
    "InputError": "errors",
    "Placer": "policies.own",
    "Policy": "policies.own",
    "QueueView": "policies.own",
    "Scene": "policies.own",
    "Schedule": "model.schedule",
    "ShunterError": "errors",
    "Workload": "model.workload",
    "advise": "advice.advise",
    "calibrate": "metrics.calibration_report",
    "compare": "comparison.contest",
    "compute_metrics": "metrics.table",
    "eta": "simulation.eta",
    "evaluate": "comparison.evaluation",
    "load_policy": "agents.learned_policy",
    "read_cluster": "workloads",
    "read_workload": "workloads",
    "resolve": "policies.scheduler",
    "simulate": "simulation.run",
    "train": "agents.training.train",
    "tune": "tuning.tune",
    "what_if": "comparison.what_if",
}

# Lower layers need a few functions of higher ones, and must not import them: they are named here.
_hooks.learned_runner = "shunter.envs.learned"
_hooks.evaluator_loader = "shunter.agents.learned_policy"
_hooks.site_simulator = "shunter.simulation.site_waits"


def __getattr__(name: str) -> object:
    """Imports on first use: `import shunter` itself loads nothing heavy."""
    if name == "__version__":
        # The metadata has to be searched for on disk, which `import shunter` need not wait for.
        return import_module("importlib.metadata").version("shunter")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
