"""Readings of a small site, for tests."""

from __future__ import annotations

from typing import Any

from shunter.execution.operating.site import Site, SiteJob, SiteNode, State

NOW_S = 1_800_000_000.0


def waiting(id: int, minutes: float = 10, **said: Any) -> SiteJob:  # noqa: ANN401 - fields of a job
    """Returns a job that waits since a minute."""
    fields = {"submit_s": NOW_S - 60, "cores": 1, "requested_s": minutes * 60, "priority": 1000 - id, "site_factor": 0}
    return SiteJob(**{"id": id, "address": str(id), "state": State.PENDING, **fields, **said})


def running(id: int, *places: tuple[str, int], **said: Any) -> SiteJob:  # noqa: ANN401 - fields of a job
    """Returns a job that runs since half a minute."""
    fields: dict[str, Any] = {"submit_s": NOW_S - 60, "start_s": NOW_S - 30, "requested_s": 600.0, "nodes": len(places)}
    fields |= {"cores": sum(cores for _, cores in places), "allocation": places}
    return SiteJob(**{"id": id, "address": str(id), "state": State.RUNNING, **fields, **said})


def site(*jobs: SiteJob, **said: Any) -> Site:  # noqa: ANN401 - fields of a site
    """Returns a reading of two nodes of four cores and two GPUs with these jobs."""
    nodes = tuple(SiteNode(name, 4, 1000, 2, "a100", ("main",)) for name in ("n1", "n2"))
    return Site(**{"now_s": NOW_S, "jobs": jobs, "nodes": nodes, "is_memory_shared": False, **said})
