"""What must hold of every schedule under a site's rules, whoever made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given

from shunter.model.schedule import Outcome
from shunter.model.site import RUNNING
from tests.properties.core_adapter import run_core
from tests.properties.observed import Observed
from tests.properties.rule_strategies import ruled_scenes
from tests.properties.strategies import Scene, random_configs
from tests.properties.test_rules import DISPATCHES
from tests.reference.conservation import check_conservation
from tests.reference.model import Config, RefJob, request_ms
from tests.reference.simulator import simulate
from tests.reference.site_rules import QUEUED, amount, applies, asks_too_much, binds, capacity, group, holds_at, windows
from tests.support import examples


def run(scene: Scene, config: Config) -> Observed:
    """Returns what the core does."""
    return run_core(scene.jobs, scene.nodes, replace(config, rules=scene.rules))


def beside(scene: Scene, seen: Observed, time_ms: int, since: str) -> list[RefJob]:
    """Returns the jobs that run at a time, or have waited since then; those that end then do not."""
    found = []
    for job, one in zip(scene.jobs, seen, strict=True):
        from_ms = getattr(one, since)
        if from_ms is not None and one.end_ms is not None and from_ms <= time_ms < one.end_ms:
            found.append(job)
    return found


def total(scene: Scene, jobs: Sequence[RefJob], like: RefJob, bound: str, place: int) -> int:
    """Returns what the jobs have that are counted with one under a limit."""
    limit = scene.rules.limits[place]
    alike = [job for job in jobs if applies(limit, job, scene.rules)]
    own = group(limit, like, scene.rules)
    return sum(amount(bound, job) for job in alike if group(limit, job, scene.rules) == own)


@examples(200)
@given(scene=ruled_scenes(), config=random_configs(dispatches=DISPATCHES))
def test_no_counter_is_overdrawn(scene: Scene, config: Config) -> None:
    """When a job starts, no counter that it takes from has more taken than there is; nor when it begins to wait."""
    seen = run(scene, config)
    for job, one in zip(scene.jobs, seen, strict=True):
        # A job that runs for no time takes nothing for any time.
        if one.start_ms is None or one.eligible_ms is None or one.end_ms == one.start_ms:
            continue
        running = beside(scene, seen, one.start_ms, "start_ms")
        queued = beside(scene, seen, one.eligible_ms, "eligible_ms")
        for place, limit in enumerate(scene.rules.limits):
            if not applies(limit, job, scene.rules):
                continue
            if not limit.has_hours or holds_at(limit, scene.rules, one.start_ms):
                assert not asks_too_much(limit, job)
                for bound in RUNNING:
                    most = capacity(bound, limit)
                    if most is not None and amount(bound, job):
                        assert total(scene, running, job, bound, place) <= most
            for bound in QUEUED:
                most = capacity(bound, limit)
                assert most is None or total(scene, queued, job, bound, place) <= most or not amount(bound, job)
        for name, _ in job.licenses:
            assert sum(dict(other.licenses).get(name, 0) for other in running) <= scene.rules.licenses[name]


@examples(200)
@given(scene=ruled_scenes(["windows", "repeating", "all"]), config=random_configs(dispatches=DISPATCHES))
def test_nobody_is_expected_to_run_into_a_window(scene: Scene, config: Config) -> None:
    config = replace(config, reserve_by="requested")
    for job, one in zip(scene.jobs, run(scene, config), strict=True):
        if one.start_ms is None:
            continue
        expected_ms = one.start_ms + max(1, request_ms(job, config))
        for reserved in (reserved for reserved in scene.rules.reservations if binds(reserved, job, scene.rules)):
            nodes = {f"n{node}" for node, _ in one.nodes}
            if not reserved.nodes or nodes & set(reserved.nodes):
                there = windows(reserved, scene.rules, expected_ms)
                assert not any(end_ms > one.start_ms for _, end_ms in there)


@examples(60)
@given(scene=ruled_scenes(), config=random_configs(dispatches=DISPATCHES))
def test_conservation(scene: Scene, config: Config) -> None:
    """Every job is accounted for, and no node is overdrawn."""
    result = simulate(scene.jobs, scene.nodes, replace(config, rules=scene.rules))
    check_conservation(scene.jobs, scene.nodes, config, result)
    assert [one.outcome for one in run(scene, config)] == result.outcome


@examples(150)
@given(
    scene=ruled_scenes(["running", "licenses", "windows"]),
    config=random_configs(dispatches=["easy", "2", "conservative"]),
)
def test_promises_are_kept(scene: Scene, config: Config) -> None:
    """First come first served, and nobody outlives its request: no job starts after the first time that it is promised.

    A job that a limit has passed over stands before those behind it as soon as the limit lets it: then it may delay
    them, as one that arrives late does in any other order.
    """
    scene = scene.honest()
    config = replace(
        config, policy="fcfs", reserve_by="requested", missing_request_ms=None, max_wait_ms=None, rules=scene.rules
    )
    result = simulate(scene.jobs, scene.nodes, config)
    promised: dict[int, int] = {}
    for one in result.passes:
        for job, start_ms in one.reserved_start_ms.items():
            passed_over = [
                other for other in one.waiting[: one.waiting.index(job)] if other not in one.reserved_start_ms
            ]
            if not passed_over:
                promised.setdefault(job, start_ms)
    for job, start_ms in promised.items():
        began_ms = result.start_ms[job]
        assert began_ms is not None
        assert began_ms <= start_ms
        assert result.outcome[job] is Outcome.COMPLETED
