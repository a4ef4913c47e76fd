"""Learned policies, as simulations use them: whatever can run them is provided by a higher layer."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from shunter.model.cluster import Cluster
    from shunter.model.snapshot import Snapshot
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.decision import Decision
    from shunter.simulation.simulation import Simulation
    from shunter.simulation.windows import WindowResults

    # Only types need it, and every start of the command line comes through here.
    class LearnedRunner(Protocol):
        """What runs a scheduler whose policy is a checkpoint."""

        def run_learned(
            self,
            workload: Workload,
            cluster: Cluster,
            scheduler: Scheduler,
            progress: Callable[[int, int], None] | None = None,
        ) -> Simulation:
            """Returns the simulation of a whole workload, at its end."""

        def run_learned_windows(
            self, workload: Workload, cluster: Cluster, windows: Windows, scheduler: Scheduler, threads: int = 1
        ) -> WindowResults:
            """Returns what happens in windows; the result does not depend on the number of threads."""

        def decide_learned(
            self, snapshot: Snapshot, workload: Workload, cluster: Cluster, scheduler: Scheduler
        ) -> Decision:
            """Returns what is decided in the state of a snapshot, and what the policy was shown."""


runner_module = ""
"""The module that has the functions of `LearnedRunner`; `shunter` itself, which may open on every room, names it."""


def learned_runner() -> LearnedRunner:
    """Returns what runs learned policies; the module is imported when it is first asked for."""
    return cast("LearnedRunner", import_module(runner_module))
