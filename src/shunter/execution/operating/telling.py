"""A verdict as the audit and as people are told it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shunter.execution.operating.judge import Verdict, disagreement
from shunter.execution.operating.picture import Picture
from shunter.execution.operating.site import SiteJob

LISTED: Final = 10
"""How many jobs are told to people."""


def verdict_lines(scheduler: str, decided: tuple[Verdict, list[SiteJob]] | None) -> list[str]:
    """Returns what people who look once are told.

    Args:
        scheduler: Its name.
        decided: The verdict, and the scheduler's own order; None: nobody may start.
    """
    if decided is None:
        return ["Nobody waits for room or for a turn alone: there is nothing to decide"]
    verdict, jobs = decided
    order, names = [job.id for job in jobs], {job.id: job.address or str(job.id) for job in jobs}
    swapped = f"{disagreement(verdict.order, order):.0%} of pairs the other way round"
    ours = [names[id] for id in verdict.order]
    starts = [f"{names[id]} on {','.join(nodes)}" for id, nodes in verdict.starts.items()]
    return [
        f"{scheduler} has {_listed(list(names.values()))}; {verdict.policy} has {_listed(ours)} ({swapped})",
        f"{verdict.policy} would start now: {_listed(starts) or 'nobody'}",
    ]


def _listed(things: Sequence[object]) -> str:
    """Returns the first of some things in a line."""
    return ", ".join(map(str, things[:LISTED])) + (", …" if len(things) > LISTED else "")


def scores_of(picture: Picture, verdict: Verdict) -> dict[str, list[float | None]]:
    """Returns what orders tell of each candidate: its place, its request, its size, and how long it has waited."""
    place = {id: number for number, id in enumerate(verdict.order)}
    return {
        str(job.id): [place.get(job.id), job.requested_s, job.cores, round(picture.site.now_s - job.submit_s, 1)]
        for job in picture.site.candidates
    }
