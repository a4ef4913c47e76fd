"""A job's size: its larger share of the cluster's cores or GPUs, counted in the resource of which more is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from shunter.model.schedule import RejectReason
from tests.reference.model import RefJob, RefNode
from tests.reference.resources import reject_reason

MICRO = 1_000_000


@dataclass(frozen=True)
class Sizes:
    """How large jobs count on a cluster."""

    by: str
    """``cores``, ``gpus`` or ``cores-alone``."""
    total_cores_milli: int
    total_gpu_milli: int
    policy: str = ""

    @property
    def by_gpus(self) -> bool:
        """Tells whether sizes are GPUs: those that are asked for, if the cluster has any."""
        if self.by == "cores":
            return self.total_cores_milli == 0 < self.total_gpu_milli
        return self.by == "gpus" and self.total_gpu_milli > 0

    @property
    def capacity_milli(self) -> int:
        """Returns all of the cluster's cores or GPUs."""
        return self.total_gpu_milli if self.by_gpus else self.total_cores_milli

    def amount_milli(self, job: RefJob) -> int:
        """Returns what the job asks of the resource in which sizes are counted."""
        return job.total_gpu_milli if self.by_gpus else job.total_cores_milli

    def micro(self, job: RefJob) -> int:
        """Returns a job's size in millionths."""
        if self.by == "cores-alone":
            # Before there was a choice, two policies for GPUs counted these.
            milli = job.asked_milli if self.policy in ("qssf", "las") else job.total_cores_milli
            return 1000 * milli
        pairs = [
            (job.total_cores_milli, self.total_cores_milli),
            (job.total_gpu_milli, self.total_gpu_milli),
        ]
        shares = [Fraction(asked, total) for asked, total in pairs if total]
        share = max(shares, default=Fraction(0))
        exact = share * self.capacity_milli * 1000
        return max(1000 * self.amount_milli(job), int(exact + Fraction(1, 2)))

    def size(self, job: RefJob) -> float:
        """Returns a job's size in cores or GPUs."""
        return self.micro(job) / MICRO


def sizes_of(by: str, jobs: Sequence[RefJob], nodes: Sequence[RefNode], mix: bool, policy: str) -> Sizes:
    """Returns the sizes of a log's jobs on a cluster; ``auto`` is whichever resource has the higher offered load."""
    cores, gpus = sum(node.cores_milli for node in nodes), 1000 * sum(node.gpus for node in nodes)
    if by == "auto":
        # A job that left the queue without a logged start has a run time that stands in for one: nobody saw that work.
        ran = [job for job in jobs if job.cancel_ms is None or job.logged_wait_ms is not None]
        fitting = [job for job in ran if reject_reason(job, nodes, mix) is RejectReason.NONE]
        core_work = sum(job.run_ms * job.total_cores_milli for job in fitting)
        gpu_work = sum(job.run_ms * job.total_gpu_milli for job in fitting)
        by = "gpus" if gpu_work * cores > core_work * gpus else "cores"
    return Sizes(by, cores, gpus, policy)
