"""Beside a real Slurm: observing changes nothing, nudging makes the policy's order Slurm's, and all of it is undone."""

from __future__ import annotations

import os
import signal
import time

import pytest

from shunter.errors import InputError
from shunter.execution.operating.configuration import Configured
from shunter.execution.operating.folder import OperationFolder
from shunter.execution.operating.modes import Mode
from shunter.execution.operating.neighbor import Knob
from shunter.execution.operating.operation import Operation
from tests.execution.operating.beside import Beside
from tests.execution.operating.looking import look_until
from tests.execution.slurm.real_slurm import RealSlurm

pytestmark = pytest.mark.slow


def test_observing_changes_nothing(slurm: RealSlurm, beside: Beside) -> None:
    slurm.crowd(9, 1, 5)
    slurm.submit("--hold")
    slurm.submit("--array=1-4%2", "--nice=3")
    slurm.submit("--gres=gpu:1")
    before = slurm.all_jobs()
    operation = beside.make("observe")
    operation.cycle()
    operation.cycle()
    assert slurm.all_jobs() == before
    assert set(beside.neighbor.usage()) == {"squeue", "sinfo", "scontrol"}
    assert beside.neighbor.usage()["scontrol"]["runs"] == 1, "the configuration is read once"
    line = beside.audit()[-1]
    assert line["decided_by"] == "sjf"
    assert not line["fallback"]
    assert line["changes"] == []
    assert line["order"] != line["candidates"]
    assert line["disagreement"] > 0
    assert "JobHeldUser" in line["masked"].values()
    assert beside.status()["up"] == 1
    assert beside.status()["held"] == 0
    assert os.stat(beside.folder.audit).st_mode & 0o777 == 0o640


def test_nudging_makes_the_policys_order_slurms_and_undo_restores_it(slurm: RealSlurm, beside: Beside) -> None:
    nine, one, five, three = slurm.crowd(9, 1, 5, 3)
    array = slurm.submit("--array=1-4%2", "--ntasks=1", minutes=2)
    slurm.wait(lambda: "Unknown" not in slurm.field(array, "EligibleTime"), "the array to be eligible")
    own_order = slurm.line()
    before = slurm.all_jobs()
    operation = beside.make()
    operation.cycle()
    assert slurm.line() == [one, array, three, five, nine] != own_order
    assert slurm.field(one, "AdminComment") == "shunter"
    assert slurm.field(array, "ArrayTaskThrottle") == "2", "the array is one record still"
    changes = operation.tally.changes
    operation.cycle()
    assert operation.tally.changes == changes, "an order that holds is not touched again"
    late = slurm.submit("--ntasks=1", minutes=4)
    operation.cycle()
    assert slurm.line() == [one, array, three, late, five, nine]
    assert operation.tally.changes == changes + 1, "a newcomer moves nobody else"
    slurm.run("scancel", str(late))
    assert beside.undo() == changes
    assert [line for line in slurm.all_jobs() if f"JobId={late} " not in line] == before
    assert slurm.line() == own_order


def test_jobs_start_in_the_order_of_the_policy(slurm: RealSlurm, beside: Beside) -> None:
    jobs = [slurm.submit("--ntasks=12", seconds=1, minutes=minutes) for minutes in (60, 9, 1, 5)]
    slurm.wait(lambda: slurm.states().get(jobs[0]) == "RUNNING", "the first job")
    beside.make().cycle()
    slurm.wait(lambda: not slurm.states(), "the end of all jobs")
    assert sorted(jobs[1:], key=lambda job: slurm.field(job, "StartTime")) == [jobs[2], jobs[3], jobs[1]]


def test_what_users_and_administrators_set_is_never_touched(slurm: RealSlurm, beside: Beside) -> None:
    long, short, mine = slurm.crowd(9, 1, 5)
    held = slurm.submit("--hold", minutes=1)
    nice = slurm.submit("--nice=50", minutes=2)
    slurm.run("scontrol", "update", f"JobId={short}", "SiteFactor=7", "AdminComment=hands_off")
    operation = beside.make()
    operation.cycle()
    assert slurm.site_factors()[short] == 7
    assert slurm.field(short, "AdminComment") == "hands_off"
    assert slurm.field(held, "Priority") == "0"
    assert slurm.field(nice, "Nice") == "50"
    assert beside.audit()[-1]["masked"][str(short)] == "its site_factor is set by others"
    # Somebody turns a knob that Shunter has turned: from then on it is theirs.
    assert slurm.site_factors()[mine] > 0
    slurm.run("scontrol", "update", f"JobId={mine}", "SiteFactor=3")
    operation.cycle()
    operation.cycle()
    beside.undo()
    assert slurm.site_factors()[mine] == 3
    assert slurm.site_factors()[short] == 7
    assert slurm.site_factors()[long] == 0


def test_what_is_set_between_reading_and_changing_is_not_written_over(slurm: RealSlurm, beside: Beside) -> None:
    nine, one, five = slurm.crowd(9, 1, 5)
    hand = beside.make()._hand
    site = beside.neighbor.read(with_knobs=True)
    changes = hand.nudges(site, [five, one, nine], {})
    assert changes
    slurm.run("scontrol", "update", f"JobId={changes[0].job.id}", "SiteFactor=7")
    hand.apply(changes)
    assert changes[0].trouble == "left, for its site_factor has changed meanwhile"
    assert slurm.site_factors()[changes[0].job.id] == 7
    assert all(change.applied for change in changes[1:])
    site = beside.neighbor.read(with_knobs=True)
    for change in changes[1:]:
        slurm.run("scontrol", "update", f"JobId={change.job.id}", "SiteFactor=8")
    hand.undo(site)
    assert {slurm.site_factors()[change.job.id] for change in changes} <= {7, 8}


def test_nice_is_turned_where_the_site_factor_is_refused(slurm: RealSlurm, beside: Beside) -> None:
    nine, one, five = slurm.crowd(9, 1, 5)
    own = slurm.submit("--nice=50", minutes=2)
    beside.neighbor.refuse(Knob.SITE_FACTOR)
    beside.make().cycle()
    assert [job for job in slurm.line() if job != own] == [one, five, nine]
    assert int(slurm.field(one, "Nice")) < int(slurm.field(nine, "Nice"))
    assert slurm.field(own, "Nice") == "50"
    assert set(slurm.site_factors().values()) == {0}
    beside.undo()
    assert {slurm.field(job, "Nice") for job in (nine, one, five)} == {"0"}
    assert slurm.field(own, "Nice") == "50"


def test_bounds_rates_lists_and_canaries_hold(slurm: RealSlurm, beside: Beside) -> None:
    jobs = slurm.crowd(9, 1, 5, 3, 7)
    few = beside.make(changes_per_minute=2)
    few.cycle()
    few.cycle()
    assert few.tally.changes == 2
    beside.undo()
    beside.make(most_nudge=5, step=100).cycle()
    assert max(abs(factor) for factor in slurm.site_factors().values()) in range(1, 6)
    assert slurm.line() == [jobs[place] for place in (1, 3, 2, 4, 0)], "the steps are as small as the bound wants"
    beside.undo()
    for said in ({"users": ("nobody",)}, {"partitions": ("small",)}, {"canary_percent": 0.0}):
        operation = beside.make(**said)
        operation.cycle()
        assert operation.tally.changes == 0
        assert set(beside.audit()[-1]["masked"]) == set(map(str, jobs))
    half = beside.make(canary_percent=50.0)
    half.cycle()
    drawn = {job for job in jobs if str(job) not in beside.audit()[-1]["masked"]}
    assert {job for job, factor in slurm.site_factors().items() if factor} <= drawn
    beside.undo()


def test_a_dry_run_prints_the_commands_and_runs_none(slurm: RealSlurm, beside: Beside) -> None:
    _, one = slurm.crowd(9, 1)
    before = slurm.all_jobs()
    beside.make(is_dry=True).cycle()
    assert any(line.startswith(f"scontrol update JobId={one} SiteFactor=") for line in beside.said)
    assert slurm.all_jobs() == before
    assert "scontrol" not in beside.neighbor.usage() or beside.neighbor.usage()["scontrol"]["runs"] == 1


def test_a_process_undoes_everything_at_sigterm_and_forbids_a_second(slurm: RealSlurm, beside: Beside) -> None:
    nine, one = slurm.crowd(9, 1)
    beside.start()
    slurm.wait(lambda: slurm.line() == [one, nine], "the policy's order")
    with pytest.raises(InputError, match="operates here already"):
        OperationFolder(beside.folder.path).lock()
    said = beside.end()
    assert beside.process is not None
    assert beside.process.returncode == 0, said
    assert set(slurm.site_factors().values()) == {0}
    assert slurm.line() == [nine, one]
    assert slurm.field(one, "AdminComment") == ""
    assert beside.status()["mode_word"] == "off"


def test_the_kill_switch_undoes_everything_and_lets_it_observe(slurm: RealSlurm, beside: Beside) -> None:
    nine, one = slurm.crowd(9, 1)
    beside.start()
    slurm.wait(lambda: slurm.line() == [one, nine], "the policy's order")
    beside.folder.switch.touch()
    slurm.wait(lambda: set(slurm.site_factors().values()) == {0}, "undoing")
    slurm.wait(lambda: beside.status()["mode_word"] == "observe", "observing")
    beside.folder.switch.unlink()
    slurm.wait(lambda: slurm.line() == [one, nine], "the policy's order again")
    beside.end()
    assert set(slurm.site_factors().values()) == {0}


def test_after_a_kill_the_next_start_undoes_what_is_left(slurm: RealSlurm, beside: Beside) -> None:
    nine, one = slurm.crowd(9, 1)
    beside.start()
    slurm.wait(lambda: slurm.line() == [one, nine], "the policy's order")
    beside.end(signal.SIGKILL)
    assert slurm.site_factors()[one] > 0, "nobody was there to undo it"
    beside.make("observe").cycle()
    assert set(slurm.site_factors().values()) == {0}
    assert slurm.line() == [nine, one]
    assert slurm.field(one, "AdminComment") == ""


def test_a_crash_between_the_journal_and_the_change_leaves_nothing(slurm: RealSlurm, beside: Beside) -> None:
    _nine, one = slurm.crowd(9, 1)
    operation = beside.make()
    site = beside.neighbor.read(with_knobs=True)
    jobs = {job.id: job for job in site.jobs}
    # As if the process had died right after the line was on the disk.
    operation._journal.set([(jobs[one], Knob.SITE_FACTOR, 0, 500)], time.time())
    assert beside.undo() == 0
    assert set(slurm.site_factors().values()) == {0}
    assert len(beside.make()._journal.all) == 0


def test_a_changed_file_is_followed_and_never_raises_the_mode(slurm: RealSlurm, beside: Beside) -> None:
    nine, one = slurm.crowd(9, 1)
    beside.folder.make()
    beside.config.write_text('mode = "observe"\n')
    configured = Configured(beside.config, {"policy": "sjf"}, Mode.NUDGE)
    operation = Operation(beside.neighbor, configured, beside.folder, tell=beside.said.append)
    operation.cycle()
    assert slurm.line() == [nine, one]
    beside.config.write_text('mode = "enforce"\nusers = ["root"]\n')
    operation.cycle()
    assert slurm.line() == [one, nine]
    assert configured.mode == Mode.NUDGE
    assert slurm.field(one, "ReqNodeList") == "(null)"
    beside.config.write_text('mode = "observe"\npolicy = "ljf"\nmost_nudge = -1\n')
    operation.cycle()
    assert "most_nudge" in configured.trouble
    assert slurm.line() == [one, nine], "a file that is wrong changes nothing"
    beside.config.write_text('mode = "observe"\n')
    operation.cycle()
    assert set(slurm.site_factors().values()) == {0}


def test_enforcing_places_jobs_on_the_named_nodes(slurm: RealSlurm, beside: Beside) -> None:
    for number in (1, 2):
        slurm.run("scontrol", "update", f"NodeName=node{number}", "State=DRAIN", "Reason=trial")
    jobs = [slurm.submit("--ntasks=1", "--hold", minutes=minutes) for minutes in (5, 3)]
    mine = slurm.submit("--ntasks=1", "--hold", "--nodelist=node2")
    operation = beside.make("enforce", users=("root",), most_pins=5)
    # Slurm would start them at once: the pass of enforcing comes between their release and Slurm's.
    slurm.run("scontrol", "update", "PartitionName=main", "State=DOWN")
    for job in [*jobs, mine]:
        slurm.run("scontrol", "release", str(job))
    try:
        site = beside.neighbor.read(with_knobs=True)
        waiting = {job.id: job for job in site.jobs}
        changes = [operation._hand._change(waiting[job], Knob.NODES, "node3", "shunter") for job in jobs]
        operation._hand.apply(changes)
        assert all(change.applied for change in changes)
        assert [slurm.field(job, "ReqNodeList") for job in [*jobs, mine]] == ["node3", "node3", "node2"]
        assert {held.knob for held in operation._journal.all} == {Knob.NODES}, "the holds are over"
    finally:
        slurm.run("scontrol", "update", "PartitionName=main", "State=UP")
        for number in (1, 2):
            slurm.run("scontrol", "update", f"NodeName=node{number}", "State=RESUME")
    slurm.wait(lambda: [slurm.states().get(job) for job in jobs] == ["RUNNING", "RUNNING"], "the jobs")
    assert [slurm.field(job, "NodeList") for job in jobs] == ["node3", "node3"]


def test_it_is_found_out_what_the_policy_would_have_done_and_whether_start_times_hold(
    slurm: RealSlurm, beside: Beside
) -> None:
    first = slurm.submit("--ntasks=12", seconds=8)
    slurm.wait(lambda: slurm.states().get(first) == "RUNNING", "the first job")
    jobs = [slurm.submit("--ntasks=12", seconds=seconds, minutes=minutes) for minutes, seconds in ((9, 4), (1, 1))]
    found, status = look_until(beside, len(jobs))
    assert (found["jobs"], found["ended"], found["site_policy"]) == (2, 2, "fcfs")
    assert found["gain"]["mean_wait_s"] > 0, "the short job would have gone first"
    assert found["real"]["mean_wait_s"] > found["other"]["mean_wait_s"]
    assert found["lines"][-1].startswith("sjf would have cut the mean wait by ")
    assert status["eta"]["left"] == 0
    assert status["failed_counterfactuals"] == status["failed_etas"] == 0, status["last_failed_side_work"]
