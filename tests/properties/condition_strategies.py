"""Random conditions on the jobs of a scene: begin times, holds, cancellations, dependencies, arrays."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from tests.properties.strategies import Scene, random_scenes
from tests.reference.model import RefJob

KINDS = ["after", "afterok", "afterany", "afternotok"]
SORTS = ["begin", "hold", "cancel", "need", "delay", "follow", "singleton", "array", "all"]
"""What kind of conditions a scene has; ``all`` mixes them."""
LATER_MS = [0, 0, 1, 1000, 2000, 3000, 7000, 12_500]
DELAYS_MS = [0, 0, 1, 1000, 4000, 9500]


@st.composite
def with_conditions(draw: st.DrawFn, scene: Scene, sort: str) -> Scene:
    """Draws conditions for the jobs of a scene."""
    jobs = list(scene.jobs)

    def has(one: str) -> bool:
        return sort in (one, "all") and draw(st.sampled_from([True, False] if sort == one else [True, False, False]))

    def later(job: RefJob) -> int:
        return job.submit_ms + draw(st.sampled_from(LATER_MS))

    names = draw(st.sampled_from([["a"], ["a", "b"]]))
    limits = {array: draw(st.integers(1, 3)) for array in "xy"}
    # An order in which no job waits for one behind it has no circles; it need not be that of the table.
    rank = draw(st.permutations(range(len(jobs)))) if draw(st.booleans()) else list(range(len(jobs)))
    singles = sort in ("singleton", "all")
    for place, job in enumerate(jobs):
        changes: dict[str, object] = {"fails": draw(st.integers(0, 4)) == 0}
        if has("begin"):
            changes["begin_ms"] = later(job)
        if has("hold"):
            changes["release_ms"] = later(job)
        if has("cancel"):
            changes["cancel_ms"] = later(job)
        # Singletons wait for earlier jobs, so that with them no job may wait for a later one.
        before = [other for other in range(len(jobs)) if rank[other] < rank[place] and (other < place or not singles)]
        if (has("need") or has("delay") or has("follow")) and before:
            count = draw(st.integers(1, min(3, len(before))))
            others = draw(st.lists(st.sampled_from(before), min_size=count, max_size=count, unique=True))
            delays = [0] if sort == "need" else DELAYS_MS
            kinds = ["follows"] if sort == "follow" else KINDS if sort in ("need", "delay") else [*KINDS, "follows"]
            changes["needs"] = tuple(
                (draw(st.sampled_from(kinds)), other, draw(st.sampled_from(delays))) for other in others
            )
        if singles:
            changes |= {"name": draw(st.sampled_from(names)), "user": job.user or "ann"}
            changes["singleton"] = draw(st.booleans())
        if has("array"):
            array = draw(st.sampled_from(sorted(limits)))
            changes |= {"array": array, "array_limit": limits[array]}
        jobs[place] = replace(job, **changes)  # type: ignore[arg-type]
    return replace(scene, jobs=tuple(jobs))


@st.composite
def conditional_scenes(draw: st.DrawFn, sorts: list[str] = SORTS) -> Scene:
    """Draws a scene whose jobs have conditions."""
    return draw(with_conditions(draw(random_scenes()), draw(st.sampled_from(sorts))))
