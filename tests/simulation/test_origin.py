"""f1 to f4 count from the log's beginning: when the clock of a log began changes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from shunter import Cluster, InputError, Workload, read_workload, simulate
from shunter.cli.running import RunArguments
from shunter.model.snapshot import NO_TIME, Snapshot
from shunter.policies.checkpoint import read_record
from shunter.policies.native import resolve_native
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import Simulation, decide
from tests.agents.untrained import edit_policy, write_policy

CLUSTER = Cluster.pool(64)
LATER_S = 1_600_000_000.0
FOUR = ("f1", "f2", "f3", "f4")


def workload(later_s: float = 0.0) -> Workload:
    """Returns a crowded log whose clock began at another time."""
    log = read_workload("generate:lublin?seed=4&jobs=400&cores=64&load=1.6")
    return Workload.from_frame(log.jobs.with_columns(pl.col("submit_s") + later_s), name="log")


def order_of(policy: str, later_s: float, first: int = 0) -> list[int]:
    """Returns in which order the jobs of a log, or of a window of it, start."""
    schedule = simulate(workload(later_s).window(first), CLUSTER, policy=policy)
    return [round((start_s - later_s) * 1000) for start_s in schedule.start_s.tolist()]


@pytest.mark.parametrize("first", [0, 150])
@pytest.mark.parametrize("policy", [*FOUR, "hybrid", "lcfs", "wfp3", "linear?size=1&wait=1"])
def test_unix_times_give_the_same_schedule(policy: str, first: int) -> None:
    assert order_of(policy, 0.0, first) == order_of(policy, LATER_S, first)


@pytest.mark.parametrize("policy", FOUR)
def test_absolute_times_can_be_asked_for(policy: str) -> None:
    """With Unix times they hardly tell one job from another; at a log that begins at 0 they are the same."""
    absolute = f"{policy}?origin=absolute"
    assert order_of(absolute, 0.0) != order_of(absolute, LATER_S)
    begins_s = workload().jobs["submit_s"][0]
    assert order_of(absolute, -begins_s) == order_of(policy, -begins_s)


def test_a_window_counts_from_the_beginning_of_its_log() -> None:
    log = workload()
    alone = Workload.from_frame(log.jobs[150:], name="alone")
    own = simulate(alone, CLUSTER, policy="f2").content_sha256
    assert simulate(log.window(150), CLUSTER, policy="f2").content_sha256 != own


def test_a_snapshot_keeps_the_beginning() -> None:
    """A live scheduler sees only the jobs that are there."""
    simulation = Simulation(workload().window(150), CLUSTER, resolve_scheduler(policy="f2", dispatch="strict"))
    while simulation.status().waiting < 30 and simulation.advance():
        simulation.dispatch()
    told = Snapshot.from_json(simulation.snapshot().to_json())
    assert told.origin_ms == round(workload().jobs["submit_s"][0] * 1000)
    alone = Workload.from_frame(workload().jobs[150:], name="alone")
    scheduler = resolve_scheduler(policy="f2", dispatch="strict")
    expected = simulation.waiting().tolist()
    assert len(expected) > 20
    assert list(decide(told, alone, CLUSTER, scheduler).order) == expected
    assert list(decide(replace(told, origin_ms=NO_TIME), alone, CLUSTER, scheduler).order) != expected


def test_files_of_earlier_versions_keep_absolute_times(tmp_path: Path) -> None:
    old = RunArguments.from_json({"workload": "log.swf", "policy": "f2"})
    assert old.words["policy"] == "f2?origin=absolute"
    new = RunArguments.from_json({"workload": "log.swf", "policy": "f2", "size_by": "cores"})
    assert new.words["policy"] == "f2"
    folder = Path(write_policy(tmp_path / "best", order="f3"))
    assert read_record(str(folder))["options"]["order"] == "f3"
    edit_policy(folder, lambda about: about["options"].pop("size_by"))
    assert read_record(str(folder))["options"]["order"] == "f3?origin=absolute"


def test_another_word_is_refused() -> None:
    with pytest.raises(InputError, match="absolut"):
        resolve_native("f2?origin=absolut")
    assert resolve_native("f2?origin=log").spec.parameters == resolve_native("f2").spec.parameters
