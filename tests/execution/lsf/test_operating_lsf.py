"""Beside an emulated LSF: observing changes nothing, nudging makes the policy's order LSF's, and all is undone."""

from __future__ import annotations

import os
import signal
import time

import pytest

from shunter.errors import InputError
from shunter.execution.operating.folder import OperationFolder
from shunter.execution.operating.neighbor import Knob
from shunter.execution.operating.stopping import signals_caught
from tests.execution.lsf.emulation import EmulatedLsf
from tests.execution.operating.beside import Beside
from tests.execution.operating.looking import look_until

FIRST_ELEMENT = 1 << 32


def test_observing_changes_nothing(lsf: EmulatedLsf, beside: Beside) -> None:
    nine, one, five = lsf.crowd(9, 1, 5)
    held = lsf.submit("-H")
    after = lsf.submit("-w", f"done({nine})")
    before = lsf.jobs()
    operation = beside.make("observe")
    operation.cycle()
    operation.cycle()
    assert lsf.jobs() == before
    assert lsf.changes() == []
    used = beside.neighbor.usage()
    assert {name: used[name]["runs"] for name in used} == {
        "bjobs": 4, "bhosts": 2, "bqueues": 3, "lshosts": 2, "bmgroup": 1,
    }, "what seldom changes is read once"  # fmt: skip
    line = beside.audit()[-1]
    assert line["decided_by"] == "sjf"
    assert line["candidates"] == [nine, one, five]
    assert line["order"] == [one, five, nine]
    assert line["masked"] == {
        str(held): "The job was suspended by the user while pending;",
        str(after): "Job dependency condition not satisfied",
    }
    assert line["changes"] == []
    assert beside.status()["up"] == 1
    assert beside.status()["waiting_for"] == {
        "Not enough job slot": 3,
        "The job was suspended by the user while pending": 1,
        "Job dependency condition not satisfied": 1,
    }


def test_nudging_makes_the_policys_order_lsfs_and_undo_restores_it(lsf: EmulatedLsf, beside: Beside) -> None:
    nine, one, five, three = lsf.crowd(9, 1, 5, 3)
    before = lsf.jobs()
    operation = beside.make()
    operation.cycle()
    assert lsf.line() == [one, three, five, nine]
    assert all(call.startswith("bmod -aps admin=") for call in lsf.changes())
    changes = operation.tally.changes
    operation.cycle()
    assert operation.tally.changes == changes, "an order that holds is not touched again"
    late = lsf.submit(minutes=4)
    operation.cycle()
    assert lsf.line() == [one, three, late, five, nine]
    assert operation.tally.changes == changes + 1, "a newcomer moves nobody else"
    assert beside.undo() == changes + 1
    assert [job for job in lsf.jobs() if job.id != late] == before
    assert lsf.changes()[-1].startswith("bmod -apsn ")
    assert lsf.line() == [nine, one, five, three, late]


@pytest.mark.slow
def test_positions_are_moved_where_a_queue_has_no_aps(lsf: EmulatedLsf, beside: Beside) -> None:
    nine, one, five, three = lsf.crowd(9, 1, 5, 3, queue="plain")
    operation = beside.make()
    operation.cycle()
    assert lsf.line("plain") == [one, three, five, nine]
    assert lsf.changes() == [f"btop {one} 1", f"btop {three} 2", f"btop {five} 3"]
    operation.cycle()
    assert len(lsf.changes()) == 3
    late = lsf.submit(minutes=4, queue="plain")
    operation.cycle()
    assert lsf.changes()[3:] == [f"btop {late} 3"]
    assert beside.undo() == 4
    assert lsf.line("plain") == [nine, one, five, three, late], "as they came"
    assert all(call.startswith("bbot ") for call in lsf.changes()[4:])
    assert beside.make("observe")._journal.all == []


def test_a_queue_of_higher_priority_stays_before_the_others(lsf: EmulatedLsf, beside: Beside) -> None:
    nine, one = lsf.crowd(9, 1)
    short = lsf.submit(minutes=20, queue="short")
    beside.make().cycle()
    assert beside.audit()[-1]["order"] == [short, one, nine]
    assert {call.split()[-1] for call in lsf.changes()} == {str(one)}


def test_queues_with_fair_share_and_without_aps_are_left(lsf: EmulatedLsf, beside: Beside) -> None:
    jobs = lsf.crowd(9, 1, queue="shared")
    beside.make().cycle()
    assert lsf.changes() == []
    assert set(beside.audit()[-1]["masked"]) == set(map(str, jobs))


def test_elements_of_an_array_are_named_one_by_one(lsf: EmulatedLsf, beside: Beside) -> None:
    others = lsf.crowd(9, 9, 9, 9)
    array = lsf.submit("-J", "many[1-3]", minutes=2)
    beside.make().cycle()
    assert lsf.line() == [array, array, array, *others]
    told = [call.split()[-1] for call in lsf.changes()]
    assert sorted(told) == [f"{array}[{index}]" for index in (1, 2, 3)]
    assert lsf.job(array, 2).admin
    assert array + 2 * FIRST_ELEMENT in beside.audit()[-1]["candidates"], "as LSF numbers them itself"
    assert beside.undo() == 3
    assert not any(job.admin for job in lsf.jobs())


def test_jobs_start_in_the_order_of_the_policy(lsf: EmulatedLsf, beside: Beside) -> None:
    first = lsf.submit("-n", "12")
    jobs = [lsf.submit("-n", "12", seconds=0.2, minutes=minutes) for minutes in (9, 1, 5)]
    beside.make().cycle()
    lsf.run("bkill", str(first))
    lsf.wait(lambda: {lsf.job(id).stat for id in jobs} == {"DONE"}, "the end of all jobs")
    assert sorted(jobs, key=lambda id: lsf.job(id).start_s or 0) == [jobs[1], jobs[2], jobs[0]]


@pytest.mark.slow
def test_what_administrators_set_is_never_touched(lsf: EmulatedLsf, beside: Beside) -> None:
    nine, one, five, three = lsf.crowd(9, 1, 5, 3)
    lsf.run("bmod", "-aps", "admin=7", str(one))
    lsf.run("bmod", "-aps", "system=3", str(three))
    operation = beside.make()
    operation.cycle()
    assert lsf.job(one).admin == 7
    assert (lsf.job(three).admin, lsf.job(three).system) == (None, 3)
    masked = beside.audit()[-1]["masked"]
    assert masked[str(one)] == masked[str(three)] == "its aps is set by others"
    # Somebody turns a knob that Shunter has turned: from then on it is theirs.
    assert lsf.job(five).admin
    lsf.run("bmod", "-aps", "admin=2.5", str(five))
    operation.cycle()
    operation.cycle()
    beside.undo()
    assert (lsf.job(five).admin, lsf.job(one).admin, lsf.job(nine).admin) == (2.5, 7, None)


def test_a_job_that_somebody_moved_is_left_where_it_is(lsf: EmulatedLsf, beside: Beside) -> None:
    nine, one, five = lsf.crowd(9, 1, 5, queue="plain")
    lsf.run("btop", str(five))
    beside.make().cycle()
    assert beside.audit()[-1]["masked"] == {str(five): "its position is set by others"}
    assert lsf.line("plain") == [five, one, nine]
    beside.undo()
    assert lsf.line("plain") == [five, nine, one]


def test_what_is_set_between_reading_and_changing_is_not_written_over(lsf: EmulatedLsf, beside: Beside) -> None:
    nine, one, five = lsf.crowd(9, 1, 5)
    hand = beside.make()._hand
    site = beside.neighbor.read(with_knobs=True)
    changes = hand.nudges(site, [five, one, nine], {})
    lsf.run("bmod", "-aps", "admin=7", str(changes[0].job.id))
    hand.apply(changes)
    assert changes[0].trouble == "left, for its aps has changed meanwhile"
    assert lsf.job(changes[0].job.id).admin == 7
    assert all(change.applied for change in changes[1:])


@pytest.mark.slow
def test_jobs_go_back_to_where_they_came_though_others_come_and_go_meanwhile(lsf: EmulatedLsf, beside: Beside) -> None:
    nine, one, five, three = lsf.crowd(9, 1, 5, 3, queue="plain")
    operation = beside.make()
    operation.cycle()
    site = beside.neighbor.read(with_knobs=True)
    late = lsf.submit(minutes=7, queue="plain")
    lsf.run("bkill", str(one))
    operation._hand.undo(site)
    assert lsf.line("plain") == [nine, five, three, late]
    # One that now waits in another line is nobody's to send back.
    operation = beside.make()
    operation.cycle()
    assert lsf.line("plain") == [three, five, late, nine]
    site = beside.neighbor.read(with_knobs=True)
    lsf.run("bmod", "-q", "normal", str(three))
    changes = {change.job.id: change for change in operation._hand.undo(site)}
    assert changes[three].trouble == "left, for it does not wait any more"
    assert lsf.line("plain") == [nine, five, late]


@pytest.mark.slow
def test_a_job_that_comes_in_the_very_instant_does_not_put_another_too_low(lsf: EmulatedLsf, beside: Beside) -> None:
    nine, one, five = lsf.crowd(9, 1, 5, queue="plain")
    beside.make().cycle()
    assert lsf.line("plain") == [one, five, nine]
    real, flag = (lsf.programs / "bbot").read_text(), lsf.folder / "came"
    comes = f"[ -e {flag} ] || {{ touch {flag}; {lsf.programs}/bsub -q plain -W 7 sleep 9 >/dev/null; }}"
    (lsf.programs / "bbot").write_text(real.replace("#!/bin/sh\n", f"#!/bin/sh\n{comes}\n"))
    beside.undo()
    assert lsf.line("plain") == [nine, one, five, five + 1]


def test_a_way_up_that_became_one_down_is_not_gone(lsf: EmulatedLsf, beside: Beside) -> None:
    jobs = lsf.crowd(1, 2, 3, 9, 4, queue="plain")
    operation = beside.make()
    site = beside.neighbor.read(with_knobs=True)
    changes = operation._hand.nudges(site, [jobs[at] for at in (0, 1, 2, 4, 3)], {})
    assert [change.goal for change in changes] == [4]
    for gone in jobs[:3]:
        lsf.run("bkill", str(gone))
    operation._hand.apply(changes)
    assert changes[0].trouble == "left, for its position has changed meanwhile"
    assert lsf.line("plain") == [jobs[3], jobs[4]]


@pytest.mark.slow
def test_bounds_rates_lists_and_canaries_hold(lsf: EmulatedLsf, beside: Beside) -> None:
    jobs = lsf.crowd(9, 1, 5, 3, 7)
    few = beside.make(changes_per_minute=2)
    few.cycle()
    few.cycle()
    assert few.tally.changes == 2
    beside.undo()
    beside.make(most_nudge=5, step=100).cycle()
    assert max(abs(job.admin or 0) for job in lsf.jobs()) in range(1, 6)
    assert lsf.line() == [jobs[place] for place in (1, 3, 2, 4, 0)]
    beside.undo()
    for said in ({"users": ("nobody",)}, {"partitions": ("short",)}, {"canary_percent": 0.0}):
        operation = beside.make(**said)
        operation.cycle()
        assert operation.tally.changes == 0
        assert set(beside.audit()[-1]["masked"]) == set(map(str, jobs))


def test_a_dry_run_prints_the_commands_and_runs_none(lsf: EmulatedLsf, beside: Beside) -> None:
    _, one = lsf.crowd(9, 1)
    _, last = lsf.crowd(9, 1, queue="plain")
    beside.make(is_dry=True).cycle()
    assert any(line.startswith(f"{lsf.programs}/bmod -aps admin=") and line.endswith(f" {one}") for line in beside.said)
    assert f"{lsf.programs}/btop {last} 1" in beside.said
    assert lsf.changes() == []


def test_a_process_undoes_everything_at_sigterm_and_forbids_a_second(lsf: EmulatedLsf, beside: Beside) -> None:
    nine, one = lsf.crowd(9, 1)
    long, short = lsf.crowd(9, 1, queue="plain")
    beside.start()
    lsf.wait(lambda: lsf.line() == [one, nine] and lsf.line("plain") == [short, long], "the policy's order")
    with pytest.raises(InputError, match="operates here already"):
        OperationFolder(beside.folder.path).lock()
    said = beside.end()
    assert beside.process is not None
    assert beside.process.returncode == 0, said
    assert lsf.line() == [nine, one]
    assert lsf.line("plain") == [long, short]
    assert not any(job.admin for job in lsf.jobs())
    assert beside.status()["mode_word"] == "off"


def test_a_signal_before_an_operation_begins_is_not_lost(lsf: EmulatedLsf, beside: Beside) -> None:
    lsf.crowd(9, 1)
    before = lsf.calls()
    with signals_caught() as stopping:
        os.kill(os.getpid(), signal.SIGTERM)
        operation = beside.make()
        stopping.attach(operation.stop, operation.wake)
        assert operation.run()
    assert operation.tally.cycles == 0
    assert lsf.calls() == before
    assert beside.status()["mode_word"] == "off"


def test_the_kill_switch_undoes_everything_and_lets_it_observe(lsf: EmulatedLsf, beside: Beside) -> None:
    nine, one = lsf.crowd(9, 1)
    beside.start()
    lsf.wait(lambda: lsf.line() == [one, nine], "the policy's order")
    beside.folder.switch.touch()
    lsf.wait(lambda: not any(job.admin for job in lsf.jobs()), "undoing")
    lsf.wait(lambda: beside.status()["mode_word"] == "observe", "observing")
    beside.folder.switch.unlink()
    lsf.wait(lambda: lsf.line() == [one, nine], "the policy's order again")
    beside.end()
    assert not any(job.admin for job in lsf.jobs())


@pytest.mark.slow
def test_after_a_kill_the_next_start_undoes_what_is_left(lsf: EmulatedLsf, beside: Beside) -> None:
    nine, one = lsf.crowd(9, 1)
    long, short = lsf.crowd(9, 1, queue="plain")
    beside.start()
    lsf.wait(lambda: lsf.line() == [one, nine] and lsf.line("plain") == [short, long], "the policy's order")
    beside.end(signal.SIGKILL)
    assert lsf.job(one).admin, "nobody was there to undo it"
    beside.make("observe").cycle()
    assert not any(job.admin for job in lsf.jobs())
    assert lsf.line("plain") == [long, short]


def test_a_crash_between_the_journal_and_the_change_leaves_nothing(lsf: EmulatedLsf, beside: Beside) -> None:
    _nine, one = lsf.crowd(9, 1)
    operation = beside.make()
    jobs = {job.id: job for job in beside.neighbor.read(with_knobs=True).jobs}
    # As if the process had died right after the line was on the disk.
    operation._journal.set([(jobs[one], Knob.APS, 0, 500)], time.time())
    assert beside.undo() == 0
    assert lsf.changes() == []
    assert beside.make()._journal.all == []


@pytest.mark.slow
def test_it_is_found_out_what_the_policy_would_have_done_and_whether_start_times_hold(
    lsf: EmulatedLsf, beside: Beside
) -> None:
    lsf.submit("-n", "12", seconds=8)
    jobs = [lsf.submit("-n", "12", seconds=seconds, minutes=minutes) for minutes, seconds in ((9, 4), (1, 0.2))]
    found, status = look_until(beside, len(jobs))
    assert (found["jobs"], found["ended"], found["site_policy"]) == (2, 2, "fcfs")
    assert found["gain"]["mean_wait_s"] > 0, "the short job would have gone first"
    assert found["real"]["mean_wait_s"] > found["other"]["mean_wait_s"]
    assert found["lines"][-1].startswith("sjf would have cut the mean wait by ")
    assert status["eta"]["left"] == 0
    assert lsf.changes() == []
    assert status["failed_counterfactuals"] == status["failed_etas"] == 0, status["last_failed_side_work"]
