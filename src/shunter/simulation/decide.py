"""What would be decided now, from what a live scheduler knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.policies.checkpoint import Checkpoint
from shunter.policies.own import PythonPolicy
from shunter.simulation.learned import learned_runner
from shunter.simulation.run import OwnOrder
from shunter.simulation.simulation import Simulation

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.model.snapshot import Snapshot
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.decision import Decision


def decide(snapshot: Snapshot, workload: Workload, cluster: Cluster, scheduler: Scheduler) -> Decision:
    """Returns what a scheduler would do now with the jobs and nodes that a snapshot tells of.

    Args:
        snapshot: What is known. Run times of jobs that have not ended, and jobs to come, do not matter.
        workload: The jobs; the snapshot tells of each, in the same order.
        cluster: The nodes.
        scheduler: From `shunter.policies.scheduler.resolve_scheduler`; with ``hosts=True`` its policy may be a
            checkpoint that chooses hosts.

    Raises:
        InputError: The snapshot contradicts itself, or the jobs and nodes.
    """
    policy = scheduler.policy
    if isinstance(policy, Checkpoint):
        return learned_runner().decide_learned(snapshot, workload, cluster, scheduler)
    if isinstance(policy, PythonPolicy):
        own = OwnOrder(policy.policy, workload, cluster, scheduler)
        own.simulation.load(snapshot)
        return own.simulation.decide(own.order() if policy.policy.moves else None)
    simulation = Simulation(workload, cluster, scheduler)
    simulation.load(snapshot)
    return simulation.decide()
