"""Naming hosts beside an emulated LSF: jobs run where the policy says, and are let go when that does not come true."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from shunter.execution.lsf.neighbor import Lsf
from shunter.execution.lsf.programs import Programs
from shunter.execution.operating.neighbor import Knob
from shunter.execution.operating.site import SiteError
from tests.execution.lsf.emulation import EmulatedLsf
from tests.execution.operating.beside import Beside


def test_enforcing_places_jobs_on_the_named_hosts(lsf: EmulatedLsf, beside: Beside) -> None:
    lsf.set(is_paused=True)
    jobs = [lsf.submit("-n", "4", "-R", "span[hosts=1]", minutes=minutes) for minutes in (9, 5)]
    lsf.run("badmin", "hclose", "host1")
    operation = beside.make("enforce", users=("ann",))
    operation.cycle()
    named = {int(id): hosts[0] for id, hosts in beside.audit()[-1]["chosen"].items()}
    assert set(named) == set(jobs)
    assert set(named.values()) == {"host2", "host3"}
    assert {id: lsf.job(id).asked for id in jobs} == named
    assert [held.knob for held in operation._journal.all if held.knob == Knob.HOLD] == [], "nobody is held meanwhile"
    lsf.run("badmin", "hopen", "host1")
    lsf.set(is_paused=False)
    assert {id: list(lsf.job(id).places) for id in jobs} == {id: [host] for id, host in named.items()}


@pytest.mark.slow
def test_a_job_that_does_not_start_is_let_go_in_time(lsf: EmulatedLsf, beside: Beside) -> None:
    lsf.set(is_paused=True)
    waiting = lsf.submit(minutes=5)
    operation = beside.make("enforce", users=("ann",), pin_s=600.0)
    operation.cycle()
    assert lsf.job(waiting).asked.startswith("host")
    operation.cycle()
    assert lsf.job(waiting).asked.startswith("host")
    patient, hand = operation._hand.configuration, operation._hand
    hand.configuration = replace(patient, pin_s=1.0)
    time.sleep(1.1)
    operation.cycle()
    assert lsf.job(waiting).asked == ""
    assert lsf.changes()[-1] == f"bmod -mn {waiting}"
    hand.configuration = patient
    operation.cycle()
    assert lsf.job(waiting).asked == "", "it is not bound again at once"


def test_undo_unbinds_but_leaves_what_a_user_asked_for(lsf: EmulatedLsf, beside: Beside) -> None:
    lsf.set(is_paused=True)
    own = lsf.submit("-m", "host2", minutes=1)
    element = lsf.submit("-J", "many[1-2]", minutes=2)
    wide = lsf.submit("-n", "8", minutes=3)
    operation = beside.make("enforce", users=("ann",))
    operation.cycle()
    assert lsf.job(own).asked == "host2"
    assert lsf.job(wide).asked == "", "a job on several hosts is not bound"
    bound = [call for call in lsf.changes() if call.startswith("bmod -m ")]
    assert sorted(call.split()[-1] for call in bound) == [f"{element}[1]", f"{element}[2]"]
    # Somebody binds a job that Shunter has bound: from then on it is theirs.
    lsf.run("bmod", "-m", "host1 host2", f"{element}[1]")
    beside.undo()
    assert lsf.job(own).asked == "host2"
    assert lsf.job(element, 1).asked == "host1 host2"
    assert lsf.job(element, 2).asked == ""


def test_only_queues_that_the_file_names_are_run_by_force(lsf: EmulatedLsf, beside: Beside) -> None:
    lsf.set(is_paused=True)
    forced, bound = lsf.submit("-n", "2", "-R", "span[hosts=1]", queue="plain"), lsf.submit()
    beside.neighbor = Lsf(Programs(str(lsf.programs)), brun_queues=("plain",))
    beside.make("enforce", users=("ann",)).cycle()
    [host] = lsf.job(forced).places
    assert lsf.job(forced).stat == "RUN", "though nothing else is started now"
    assert f"brun -m {host}#2 {forced}" in lsf.changes()
    assert lsf.job(bound).stat == "PEND"
    assert lsf.job(bound).asked
    beside.undo()
    assert lsf.job(forced).stat == "RUN"
    assert lsf.job(bound).asked == ""


def test_what_a_user_writes_is_never_a_word_of_a_command(lsf: EmulatedLsf, beside: Beside) -> None:
    lsf.crowd(9)
    lsf.submit("-J", "$(reboot); -x", "-P", "`id`", minutes=1)
    neighbor = beside.neighbor
    site = neighbor.read(with_knobs=True)
    job = next(job for job in site.pending if job.account == "`id`")
    for knob, value in ((Knob.APS, 5), (Knob.APS, -5), (Knob.POSITION, 2), (Knob.POSITION, -2), (Knob.NODES, "host1")):
        for words in neighbor.commands(job, knob, value, "shunter"):
            assert all(word.replace("=", "").replace("-", "").isalnum() for word in words[1:]), words
    for host in ("host1 host2", "host9", "all", "-x", "host1;", "../x", "host1!"):
        with pytest.raises(SiteError, match="is no value"):
            neighbor.commands(job, Knob.NODES, host, None)
