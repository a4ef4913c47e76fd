"""What must hold of every schedule, whoever made it: recomputed from starts, ends and nodes alone."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.model.schedule import Outcome, RejectReason
from tests.properties.observed import Observed
from tests.properties.strategies import Scene
from tests.reference.model import DEVICE_MILLI, Config, RefJob, RefNode, Result, lasting_ms
from tests.reference.resources import empty, usable, without


def check_every_job_ends_once(scene: Scene, config: Config, observed: Observed) -> None:
    """Asserts that each job is rejected, or runs for its time on all its tasks, and not before it was submitted."""
    assert len(observed) == len(scene.jobs)
    for job, seen in zip(scene.jobs, observed, strict=True):
        if seen.outcome is Outcome.REJECTED:
            assert seen.reject_reason is not RejectReason.NONE
            assert (seen.start_ms, seen.end_ms, seen.nodes) == (None, None, ())
            continue
        assert seen.outcome in (Outcome.COMPLETED, Outcome.KILLED)
        assert seen.reject_reason is RejectReason.NONE
        assert seen.start_ms is not None
        assert seen.start_ms >= job.submit_ms
        assert seen.end_ms == seen.start_ms + lasting_ms(job, config)
        assert sum(tasks for _, tasks in seen.nodes) == job.tasks
        assert {node for node, _ in seen.nodes} <= set(usable(job, scene.nodes))


def check_no_node_is_overfull(scene: Scene, observed: Observed) -> None:
    """Asserts that at every start the jobs on each node fit into it, as far as can be told without devices."""
    for moment_ms in {seen.start_ms for seen in observed if seen.start_ms is not None}:
        for number, node in enumerate(scene.nodes):
            check_node(node, tasks_on_node(scene.jobs, observed, number, moment_ms))


def tasks_on_node(jobs: Sequence[RefJob], observed: Observed, number: int, moment_ms: int) -> list[tuple[RefJob, int]]:
    """Returns the jobs on a node at a moment, each with its tasks there."""
    return [
        (job, dict(seen.nodes)[number])
        for job, seen in zip(jobs, observed, strict=True)
        if seen.start_ms is not None and seen.end_ms is not None
        if seen.start_ms <= moment_ms < seen.end_ms and number in dict(seen.nodes)
    ]


def check_node(node: RefNode, present: list[tuple[RefJob, int]]) -> None:
    """Asserts that one node holds what is on it."""
    assert sum(job.cores_milli * tasks for job, tasks in present) <= node.cores_milli
    assert sum(job.gpu_milli * tasks for job, tasks in present) <= node.gpus * DEVICE_MILLI
    if node.memory_mb is not None:
        assert sum((job.memory_mb or 0) * tasks for job, tasks in present) <= node.memory_mb


def check_devices(scene: Scene, result: Result) -> None:
    """Asserts of the reference's schedule that no resource and no single device is ever overfull."""
    runs = [
        (start_ms, end_ms, job)
        for job, (start_ms, end_ms) in enumerate(zip(result.start_ms, result.end_ms, strict=True))
        if start_ms is not None and end_ms is not None
    ]
    for moment_ms, _, _ in runs:
        free = empty(scene.nodes)
        for start_ms, end_ms, job in runs:
            if start_ms <= moment_ms < end_ms:
                free = without(free, scene.jobs[job], result.allocation[job])
        for node in free:
            assert node.cores_milli >= 0
            assert node.memory_mb is None or node.memory_mb >= 0
            assert all(0 <= device <= DEVICE_MILLI for device in node.devices)


def check_clock(result: Result) -> None:
    """Asserts that events and passes come in the order of time."""
    event_times = [event.time_ms for event in result.events]
    pass_times = [one.time_ms for one in result.passes]
    assert event_times == sorted(event_times)
    assert pass_times == sorted(pass_times)


def check_promises(result: Result) -> None:
    """Asserts that no reservation ever moves to a later time, and that its job starts by then."""
    promised: dict[int, int] = {}
    for one in result.passes:
        for job, start_ms in one.reserved_start_ms.items():
            assert start_ms <= promised.get(job, start_ms), f"job {job} was promised {promised[job]}"
            promised[job] = start_ms
    for job, promised_ms in promised.items():
        started_ms = result.start_ms[job]
        assert started_ms is not None
        assert started_ms <= promised_ms
