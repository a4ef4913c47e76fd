"""Random rules of a site for the jobs of a scene: limits, hours, licenses, queued limits, advance reservations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from shunter.model.site import AdvanceReservation, Limit, SiteRules
from tests.properties.strategies import PARTITIONS, Scene, random_scenes
from tests.reference.resources import names_in

SORTS = ["running", "licenses", "hours", "windows", "repeating", "queued", "all"]
"""What kind of rules a scene has; ``all`` mixes them."""
PARENTS = {"optics": "physics", "lasers": "optics"}
ACCOUNTS = [None, "physics", "optics", "lasers", "chemistry"]
QOS = [None, "high", "low"]
LICENSES = {"matlab": 2, "ansys": 1}
DAY_S = 86_400


@st.composite
def filters(draw: st.DrawFn, scene: Scene) -> dict[str, Any]:
    """Draws whom a limit is about, mostly everybody, and how it counts."""
    found: dict[str, Any] = {"per": draw(st.sampled_from([(), ("user",), ("account",), ("user", "qos")]))}
    kind = draw(st.sampled_from(["all", "all", "users", "accounts", "qos", "partitions"]))
    if kind == "users":
        found["users"] = ("ann", "eve")
    if kind == "accounts":
        found["accounts"] = draw(st.sampled_from([("physics",), ("optics", "chemistry")]))
    if kind == "qos":
        found["qos"] = ("high",)
    there = [name for name in PARTITIONS if any(name in names_in(node.partition) for node in scene.nodes)]
    if kind == "partitions" and there:
        found["partitions"] = (draw(st.sampled_from(there)),)
    return found


RUNNING: list[dict[str, Any]] = [
    {"running_jobs": 1},
    {"running_jobs": 2},
    {"running_cores": 2},
    {"running_cores": 4, "running_jobs": 3},
    {"running_gpus": 1},
    {"running_memory_mb": 4},
]
PER_JOB: list[dict[str, Any]] = [{"max_time_s": 5.0}, {"max_time_s": 12.5}, {"max_cores": 2}, {"max_gpus": 1}]
QUEUED: list[dict[str, Any]] = [{"queued_jobs": 1}, {"queued_jobs": 3}, {"queued_cores": 4}, {"queued_gpus": 2}]
HOURS: list[dict[str, Any]] = [
    {"from_time": "09:00", "to_time": "09:01"},
    {"from_time": "08:59", "to_time": "09:00"},
    {"from_time": "09:01", "to_time": "08:59"},
    {"from_time": "00:00", "to_time": "24:00", "days": "mon"},
    {"days": "tue-sun"},
]


@st.composite
def random_window(draw: st.DrawFn, scene: Scene, repeating: bool) -> AdvanceReservation:
    """Draws nodes that are reserved, from the first job's submit time on, or somewhat later."""
    first_s = scene.jobs[0].submit_ms / 1000
    start_s = first_s + draw(st.sampled_from([0.0, 1.0, 4.0, 9.0, 15.5, 31.0]))
    repeat = draw(st.sampled_from(["daily", "weekdays", "weekends", "weekly"])) if repeating else "once"
    # Some gaps are so short that few jobs fit in.
    long_s = [DAY_S - 5.0, DAY_S - 1.0] if repeating else [40.0]
    duration_s = draw(st.sampled_from([0.0, 0.0, 1.0, 3.0, 8.0, *long_s]))
    nodes: tuple[str, ...] = ()
    if len(scene.nodes) > 1 and draw(st.booleans()):
        names = [f"n{number}" for number in range(len(scene.nodes))]
        nodes = tuple(draw(st.lists(st.sampled_from(names), min_size=1, unique=True)))
    who: dict[str, Any] = draw(st.sampled_from([{}, {}, {"users": ("ann",)}, {"accounts": ("optics",)}]))
    up_to_s = draw(st.sampled_from([None, None, 9.0]))
    return AdvanceReservation(start_s, duration_s, nodes=nodes, repeat=repeat, binds_up_to_s=up_to_s, **who)


@st.composite
def with_rules(draw: st.DrawFn, scene: Scene, sort: str) -> Scene:
    """Draws rules for a scene, and what its jobs have to do with them."""

    def some(one: str, make: Callable[[], Any]) -> list[Any]:
        if sort not in (one, "all"):
            return []
        return [make() for _ in range(draw(st.integers(1 if sort == one else 0, 2)))]

    def limit(bounds: list[dict[str, Any]], **more: object) -> Limit:
        return Limit(**{**draw(filters(scene)), **draw(st.sampled_from(bounds)), **more})

    limits = some("running", lambda: limit([*RUNNING, *PER_JOB]))
    limits += some("hours", lambda: limit([*RUNNING, *PER_JOB, {"running_jobs": 0}], **draw(st.sampled_from(HOURS))))
    limits += some("queued", lambda: limit(QUEUED))
    windows = some("windows", lambda: draw(random_window(scene, repeating=False)))
    windows += some("repeating", lambda: draw(random_window(scene, repeating=True)))
    licenses: dict[str, int] = LICENSES if sort in ("licenses", "all") else {}
    jobs = tuple(
        replace(
            job,
            account=draw(st.sampled_from(ACCOUNTS)),
            qos=draw(st.sampled_from(QOS)),
            licenses=draw(st.sampled_from([(), (("matlab", 1),), (("matlab", 2), ("ansys", 1)), (("ansys", 1),)]))
            if bool(licenses) and draw(st.booleans())
            else (),
        )
        for job in scene.jobs
    )
    if sort in ("licenses", "all") and draw(st.integers(0, 5)) == 0:
        jobs = (*jobs[:-1], replace(jobs[-1], licenses=(("ansys", 2),)))
    # The first job comes shortly before or after nine o'clock of a Monday.
    nine = datetime(2026, 3, 2, 9) + timedelta(seconds=draw(st.sampled_from([-70, -10, -3, 0, 30, 57])))
    zero = nine - timedelta(milliseconds=scene.jobs[0].submit_ms)
    rules = SiteRules({}, tuple(limits), licenses, tuple(windows), PARENTS, time_zero=f"{zero:%Y-%m-%d %H:%M:%S}")
    return replace(scene, jobs=jobs, rules=rules)


@st.composite
def ruled_scenes(draw: st.DrawFn, sorts: list[str] = SORTS) -> Scene:
    """Draws a scene with rules."""
    return draw(with_rules(draw(random_scenes()), draw(st.sampled_from(sorts))))
