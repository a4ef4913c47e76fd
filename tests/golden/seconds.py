"""Golden schedules are written in whole seconds, cores and GPUs; one letter is one job."""

from __future__ import annotations

from tests.properties.observed import Observed
from tests.reference.model import RefJob, RefNode


def job(
    submit_s: float,
    run_s: float,
    *,
    requested_s: float | None = None,
    tasks: int = 1,
    cores: float = 1,
    memory_mb: int | None = None,
    gpus: float = 0,
) -> RefJob:
    """Returns a job; its request is its run time unless given."""
    request_s = run_s if requested_s is None else requested_s
    return RefJob(
        round(submit_s * 1000),
        round(run_s * 1000),
        round(request_s * 1000),
        tasks,
        round(cores * 1000),
        memory_mb,
        round(gpus * 1000),
    )


def pool(cores: int) -> list[RefNode]:
    """Returns one node with this many cores."""
    return [RefNode(cores * 1000)]


def starts_s(observed: Observed) -> list[float | None]:
    """Returns the start times in seconds."""
    return [None if job.start_ms is None else job.start_ms / 1000 for job in observed]


def nodes(observed: Observed) -> list[dict[int, int]]:
    """Returns the tasks on each node, job by job."""
    return [dict(job.nodes) for job in observed]
