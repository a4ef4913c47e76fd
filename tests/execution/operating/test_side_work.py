"""Beside the cycle: what comes of it is in audit, status and metrics, and whatever fails disturbs nobody."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.execution.operating import side_work
from shunter.execution.operating.configuration import read_configuration
from shunter.execution.operating.foreseeing import state_of_operation
from shunter.execution.operating.operation import Operation
from shunter.execution.operating.replaying import replay_audit
from shunter.execution.operating.site import Site, SiteNode
from shunter.simulation.asked_job import AskedJob
from shunter.simulation.eta import eta
from shunter.simulation.foresight import Foresight
from tests.execution.operating.beside import Beside
from tests.execution.operating.recorded import Recording, SimulatedSite
from tests.execution.operating.sites import NOW_S, running, site, waiting

HOUR = 3600.0
ON: dict[str, Any] = {"eta_every_s": 600.0, "counterfactual_every_s": HOUR}
Make = Callable[..., tuple[Operation, Beside]]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes an operation that reads what was recorded."""

    def made(sites: list[Site], **said: Any) -> tuple[Operation, Beside]:  # noqa: ANN401 - of the configuration
        beside = Beside(Recording(sites), {}, tmp_path)
        return beside.make("observe", **{**ON, **said}), beside

    return made


@pytest.fixture(scope="module")
def hours() -> list[Site]:
    """Readings of two and a half hours of a crowded site, every five minutes."""
    reality = SimulatedSite.crowded()
    begin_s = float(reality.jobs[200]["submit_s"])
    return [reality.read(begin_s + after_s) for after_s in range(0, int(2.5 * HOUR), 300)]


def go(operation: Operation, cycles: int) -> None:
    """Makes cycles, each of which finds what was begun in the one before."""
    for _ in range(cycles):
        operation.cycle()
        thread = operation._side_work._aside._thread
        if thread is not None:
            thread.join(60)
            assert not thread.is_alive()


def test_an_operation_looks_back_every_hour_and_scores_what_it_said(make: Make, hours: list[Site]) -> None:
    operation, beside = make(hours)
    go(operation, len(hours))
    audit = beside.audit()
    cycles = [line for line in audit if "kind" not in line]
    assert len(cycles) == len(hours)
    assert audit[-1] == cycles[-1], "the cycle's own line is its last"
    looks = [line for line in audit if line.get("kind") == "counterfactual"]
    assert [(line["from_s"], line["until_s"]) for line in looks] == [
        (hours[0].now_s, hours[12].now_s),
        (hours[12].now_s, hours[24].now_s),
    ]
    for line in looks:
        assert [line[name] for name in ("policy", "site_policy", "site_dispatch")] == ["sjf", "fcfs", "easy"]
        assert not line["is_changed"]
        assert line["mean_absolute_error_s"] == pytest.approx(0, abs=0.002), "the site is a simulation"
        assert line["gain"]["mean_wait_s"] == line["site"]["mean_wait_s"] - line["other"]["mean_wait_s"]
    status = beside.status()
    assert status["counterfactuals"] == 2
    assert {"schema": 1, **status["counterfactual"]} == looks[-1]
    scored = sum(len(line["new_scores"]) for line in audit if line.get("kind") == "eta")
    assert scored == status["eta"]["scored"] > 0
    assert status["etas"] == scored + status["eta"]["open"] + status["eta"]["left"]
    metrics = beside.folder.metrics.read_text()
    wait_s = looks[-1]["other"]["mean_wait_s"]
    assert f'shunter_operate_counterfactual_mean_wait_seconds{{way="policy simulated"}} {wait_s:g}\n' in metrics
    assert "shunter_operate_counterfactuals_total 2\n" in metrics
    assert f"shunter_operate_eta_inside_ratio {status['eta']['inside']:g}\n" in metrics
    assert f"shunter_operate_side_work_seconds_total {status['side_work_seconds']:g}\n" in metrics
    assert status["side_work_seconds"] > 0
    assert os.stat(beside.folder.predictions).st_mode & 0o777 == 0o640
    assert (status["failed_counterfactuals"], status["failed_etas"], status["last_failed_side_work"]) == (0, 0, "")


def test_one_reading_may_be_simulated_from_for_longer(make: Make, hours: list[Site]) -> None:
    operation, beside = make(hours, eta_every_s=None, counterfactual_stretch_s=2 * HOUR)
    go(operation, len(hours))
    looks = [line for line in beside.audit() if line.get("kind") == "counterfactual"]
    assert [(line["from_s"], line["until_s"]) for line in looks] == [
        (hours[0].now_s, hours[12].now_s),
        (hours[0].now_s, hours[24].now_s),
    ]
    assert looks[1]["real"]["mean_wait_s"] > looks[0]["real"]["mean_wait_s"]
    assert looks[1]["mean_absolute_error_s"] == pytest.approx(0, abs=0.002)
    assert operation._side_work._stretch is not None
    assert operation._side_work._stretch.begin_s == hours[24].now_s


def test_replays_pass_over_what_is_no_cycle_and_count_it(make: Make, hours: list[Site]) -> None:
    operation, beside = make(hours)
    go(operation, len(hours))
    found = replay_audit(beside.folder.audit, {"policy": "sjf"}, None)
    assert (found.decisions, found.failures, found.against) == (len(hours), 0, "sjf")
    assert found.counterfactuals == 2
    assert found.counterfactuals_gained == beside.status()["counterfactuals_gained"]


def test_a_replay_tells_two_ways_of_one_name_apart(make: Make, hours: list[Site]) -> None:
    operation, beside = make(hours, eta_every_s=None, counterfactual_every_s=None, policy="sjf", dispatch="strict")
    go(operation, len(hours))
    found = replay_audit(beside.folder.path, {"policy": "sjf", "dispatch": "easy"}, None)
    assert found.ways == {"policy": "sjf (easy, requested)", "against": "sjf (strict, requested)"}
    assert not found.is_same
    ours, theirs = (found.simulated[side]["mean_wait_s"] for side in ("policy", "against"))
    assert ours is not None
    assert theirs is not None
    assert ours < theirs, "backfilling starts jobs sooner"
    assert found.is_better
    back = replay_audit(beside.folder.audit, {"policy": "sjf", "dispatch": "strict"}, "sjf")
    assert back.ways == {"policy": "sjf (strict, requested)", "against": "sjf (easy, requested)"}
    assert not back.is_better
    assert replay_audit(beside.folder.audit, {"policy": "sjf", "dispatch": "strict"}, None).is_same


def test_a_replay_refuses_a_file_that_has_changed_since(make: Make, hours: list[Site], tmp_path: Path) -> None:
    tuned = tmp_path / "tuned.toml"
    tuned.write_text('[policy]\nkind = "sjf"\n')
    operation, beside = make(hours[:2], policy=str(tuned))
    go(operation, 2)
    assert replay_audit(beside.folder.audit, {"policy": str(tuned)}, None).is_same
    tuned.write_text('[policy]\nkind = "fcfs"\n')
    with pytest.raises(InputError, match=r"tuned\.toml as it was then, which is not what it is now"):
        replay_audit(beside.folder.audit, {"policy": str(tuned)}, None)


def test_a_replay_keeps_to_partitions_and_tiers(make: Make) -> None:
    # The queue of higher priority goes first, though job 3 is shorter and there is another node.
    jobs = [
        running(1, ("n1", 4)),
        running(2, ("n2", 4)),
        waiting(3, 1, cores=4, partitions=("low",)),
        waiting(4, 500, cores=4, partitions=("high",)),
    ]
    nodes = (SiteNode("n1", 4, 1000, partitions=("low", "high")), SiteNode("n2", 4, 1000, partitions=("other",)))
    operation, beside = make([site(*jobs, nodes=nodes, tiers={"low": 1, "high": 2})])
    go(operation, 1)
    found = replay_audit(beside.folder.audit, {"policy": "sjf"}, "fcfs")
    assert (found.jobs, found.unfit) == (4, 0)
    for side in ("policy", "against"):
        assert found.simulated[side]["max_wait_s"] == 500 * 60, "on n1 alone, job 3 waits for job 4"


def test_neither_is_done_where_it_is_off(make: Make, hours: list[Site], tmp_path: Path) -> None:
    file = tmp_path / "operate.toml"
    file.write_text(
        'eta_every_s = "off"\ncounterfactual_every_s = "off"\ncounterfactual_stretch_s = "4h"\nmax_wait_s = "off"\n'
    )
    read = read_configuration(file, {})
    assert read.max_wait_s is None
    assert (read.eta_every_s, read.counterfactual_every_s, read.counterfactual_stretch_s) == (None, None, 4 * HOUR)
    operation, beside = make(hours, eta_every_s=None, counterfactual_every_s=None)
    go(operation, len(hours))
    assert not any("kind" in line for line in beside.audit())
    assert beside.status()["counterfactual"] is None
    operation, beside = make(hours[:2])
    operation.run(once=True)
    assert operation._side_work._aside._thread is None, "who looks once does not wait for it"


def test_what_fails_is_counted_and_the_cycle_goes_on(
    make: Make, hours: list[Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no such luck")

    for name in ("predict", "counterfactual_of"):
        monkeypatch.setattr(side_work, name, fail)
    operation, beside = make(hours)
    go(operation, 14)
    status = beside.status()
    assert (status["cycles"], status["failed_cycles"]) == (14, 0)
    assert (status["failed_counterfactuals"], status["counterfactuals"]) == (1, 0)
    assert status["failed_etas"] > 1
    assert status["last_failed_side_work"].endswith("RuntimeError: no such luck")
    assert "eta: RuntimeError: no such luck; the operation goes on" in beside.said
    # Nor does a full disk.
    monkeypatch.setattr(operation._side_work._calibration, "see", fail)
    go(operation, 2)
    assert (beside.status()["cycles"], beside.status()["failed_cycles"]) == (16, 0)
    assert beside.status()["failed_etas"] >= status["failed_etas"] + 2


def test_a_stretch_that_contradicts_itself_is_given_up(
    make: Make, hours: list[Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    operation, beside = make(hours, eta_every_s=None)
    go(operation, 1)
    stretch = operation._side_work._stretch

    def fail() -> None:
        raise InputError("job 7 runs on nodes that do not have room for it")

    monkeypatch.setattr(stretch, "tables", fail)
    go(operation, 13)
    assert beside.status()["failed_counterfactuals"] == 1
    assert operation._side_work._stretch is not None
    assert operation._side_work._stretch is not stretch
    assert operation._side_work._stretch.begin_s == hours[13].now_s, "another begins with the next reading"


def test_changes_that_were_held_meanwhile_are_told(make: Make, hours: list[Site]) -> None:
    operation, _ = make(hours, eta_every_s=None)
    work, policy = operation._side_work, operation._judge.scheduler
    work.begin(hours[0], None, [], policy)
    for number, now in enumerate(hours[1:13]):
        work.see(now, is_changed=number == 5)
    work.begin(hours[12], None, [], policy)
    thread = work._aside._thread
    assert thread is not None
    thread.join(60)
    (line,) = work.see(hours[13], is_changed=False)
    assert line["is_changed"]


def test_a_gap_between_readings_begins_a_new_stretch(make: Make, hours: list[Site]) -> None:
    operation, _ = make([*hours[:6], *hours[-8:]], eta_every_s=None)
    go(operation, 6)
    assert operation._side_work._stretch is not None
    assert operation._side_work._stretch.begin_s == hours[0].now_s
    go(operation, 1)
    assert operation._side_work._stretch.begin_s == hours[-8].now_s


def test_a_stretch_begins_though_nobody_waits(make: Make) -> None:
    empty, idle = site(), site(running(1, ("n1", 4)))
    operation, _ = make([empty, idle])
    go(operation, 1)
    assert operation._side_work._stretch is None
    go(operation, 1)
    assert operation._side_work._stretch is not None


def test_a_site_policy_that_futures_cannot_follow_is_refused(make: Make, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown policy 'no-such'"):
        make([], site_policy="no-such")
    with pytest.raises(InputError, match="goes from event to event"):
        make([], site_dispatch="committed")
    tuned = tmp_path / "site.toml"
    tuned.write_text('[policy]\nkind = "multifactor"\n')
    make([], site_policy=str(tuned))


def test_the_latest_decision_is_a_state_for_eta(make: Make) -> None:
    jobs = (running(1, ("n1", 4), ("n2", 4)), waiting(2), waiting(3), waiting(4, barrier="held"))
    idle, empty = site(running(1, ("n1", 4), ("n2", 4)), now_s=NOW_S + 30), site(now_s=NOW_S + 60)
    operation, beside = make([site(*jobs), idle, empty, site(waiting(5), now_s=NOW_S + 90)])
    with pytest.raises(InputError, match="has an operation begun here"):
        state_of_operation(beside.folder)
    go(operation, 1)
    state, left_out = state_of_operation(beside.folder)
    assert left_out == 1
    assert state.settings == {"policy": "fcfs"}
    told = eta(state, foresight=Foresight(futures=9)).waiting
    assert told.job_ids == (2, 3)
    go(operation, 1)
    state, left_out = state_of_operation(beside.folder)
    assert (state.snapshot.now_ms, left_out) == ((NOW_S + 30) * 1000, 0)
    answered = eta(state, new=AskedJob(time_s=60, cores=4), foresight=Foresight(futures=9))
    assert answered.waiting.job_ids == (), "those that are gone are not told of"
    assert answered.new is not None
    assert answered.new.median_s[0] > 0, "both nodes are busy"
    go(operation, 1)
    with pytest.raises(InputError, match="ago nobody waited or ran"):
        state_of_operation(beside.folder)
    go(operation, 1)
    for file in beside.folder.inputs.iterdir():
        file.unlink()
    with pytest.raises(InputError, match="is not kept; give the operation room"):
        state_of_operation(beside.folder)
