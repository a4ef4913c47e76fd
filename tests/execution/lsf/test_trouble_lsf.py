"""An LSF that is down, hangs, is slow, or talks nonsense: the breaker opens, nothing is lost, and it goes on."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.execution.lsf.neighbor import Lsf
from shunter.execution.lsf.programs import Programs
from shunter.execution.operating import undo_journal
from shunter.execution.operating.folder import OperationFolder
from shunter.execution.operating.operation import Operation
from shunter.execution.operating.undoing import undo_all
from tests.execution.lsf.emulation import EmulatedLsf
from tests.execution.operating.beside import Beside


def _recovers(beside: Beside, operation: Operation) -> bool:
    operation.cycle()
    return bool(beside.status()["up"])


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("hang", "did not answer within 2 s"),
        ("down", "did not answer within 2 s: LSF is down. Please wait ..."),
        ("dead", "failed (255): Cannot connect to LSF. Please wait ... batch daemon is not responding"),
    ],
)
def test_an_lsf_that_does_not_answer_opens_the_breaker_and_is_found_again(
    lsf: EmulatedLsf, beside: Beside, kind: str, said: str
) -> None:
    nine, one = lsf.crowd(9, 1)
    operation = beside.make(most_failures=2, probe_s=0.2, most_period_s=8.0, period_s=1.0)
    operation.cycle()
    assert lsf.line() == [one, nine]
    held = len(operation._journal)
    beside.neighbor._programs.timeout_s = 2.0  # type: ignore[attr-defined]
    lsf.trouble(kind)
    for _ in range(3):
        operation.cycle()
    told = beside.status()
    assert told["scheduler_breaker_open"]
    assert told["up"] == 0
    assert told["failed_reads"] == 2
    assert said in told["last_failed_read"]
    assert told["held"] == held, "what is held is not forgotten"
    lsf.mend()
    beside.neighbor._programs.timeout_s = 20.0  # type: ignore[attr-defined]
    time.sleep(0.2)
    lsf.wait(lambda: _recovers(beside, operation), "a cycle that works")
    assert not beside.status()["scheduler_breaker_open"]
    assert lsf.line() == [one, nine]
    assert beside.undo() == held
    assert lsf.line() == [nine, one]


def test_an_lsf_that_comes_back_while_a_program_waits_is_read(lsf: EmulatedLsf, beside: Beside) -> None:
    lsf.crowd(9, 1)
    lsf.trouble("down", "bjobs")
    back = threading.Timer(0.5, lsf.mend)
    back.start()
    operation = beside.make("observe")
    operation.cycle()
    back.join()
    assert operation.tally.failed_reads == 0
    assert len(beside.audit()[-1]["candidates"]) == 2


def test_a_slow_lsf_is_asked_less_often(lsf: EmulatedLsf, beside: Beside) -> None:
    lsf.crowd(9)
    operation = beside.make("observe", period_s=1.0, slow_s=0.3, most_period_s=3.0)
    lsf.trouble("slow", "bhosts", seconds=0.4)
    operation.cycle()
    assert beside.status()["period_seconds"] == 2.0
    operation.cycle()
    assert beside.status()["period_seconds"] == 3.0


@pytest.mark.every(5)
@pytest.mark.parametrize(
    ("program", "nonsense"),
    [
        ("bjobs", "{"),
        ("bjobs", '{"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [{"JOBID": "12; rm -rf /", "STAT": "PEND"}]}'),
        ("bjobs", '{"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [{"JOBID": "0"}]}'),
        ("bjobs", '{"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [{"STAT": "RUN"}]}'),
        ("bjobs", '{"COMMAND": "bjobs", "JOBS": 2, "RECORDS": [{"JOBID": "5"}, {"JOBID": "5"}]}'),
        ("bjobs", '{"RECORDS": 7}'),
        ("bjobs", "Segmentation fault\n"),
        ("bhosts", '{"COMMAND": "bhosts", "HOSTS": 0, "RECORDS": []}'),
        ("bhosts", "\x00\x01\x02"),
        ("bqueues", '{"COMMAND": "bqueues"}'),
    ],
)
def test_nonsense_changes_nothing_and_is_counted(lsf: EmulatedLsf, beside: Beside, program: str, nonsense: str) -> None:
    lsf.crowd(9, 1)
    operation = beside.make("observe")
    operation.cycle()
    lsf.trouble("garbage", program, text=nonsense)
    operation.cycle()
    assert operation.tally.failed_reads == 1
    assert lsf.changes() == []
    lsf.mend()
    operation.cycle()
    assert beside.status()["up"] == 1


@pytest.mark.slow
def test_an_answer_without_jobs_makes_nothing_forgotten(lsf: EmulatedLsf, beside: Beside) -> None:
    nine, one = lsf.crowd(9, 1)
    operation = beside.make()
    operation.cycle()
    assert lsf.line() == [one, nine]
    lsf.trouble("refuse", "bjobs", text="No job found")
    operation.cycle()
    assert operation.tally.failed_reads == 0, "an empty queue is no failure"
    assert beside.undo() == 0
    lsf.mend()
    assert beside.undo() == 1
    assert not any(job.admin for job in lsf.jobs())
    for id in (nine, one):
        lsf.run("bkill", str(id))
    operation = beside.make("observe")
    operation.cycle()
    assert operation._journal.all == [], "a job that has ended is not looked after any more"


@pytest.mark.slow
def test_a_command_that_is_refused_is_told_and_the_rest_is_left(lsf: EmulatedLsf, beside: Beside) -> None:
    lsf.crowd(9, 8, 7, 6, 5, 4, 3)
    lsf.trouble("refuse", "bmod", text="User permission denied")
    operation = beside.make()
    operation.cycle()
    assert len(lsf.calls("bmod")) == 3
    assert operation.tally.changes == 0
    assert any("User permission denied" in line for line in beside.said)
    lsf.mend()
    operation.cycle()
    assert operation.tally.changes > 3
    beside.undo()
    assert not any(job.admin for job in lsf.jobs())


@pytest.mark.slow
def test_a_job_that_is_always_refused_does_not_keep_others_from_their_turn(lsf: EmulatedLsf, beside: Beside) -> None:
    jobs = lsf.crowd(9, 9, 9, 9, 9, 1, 2, 3, 4)
    refused, last = jobs[5:8], jobs[8]
    real = (lsf.programs / "bmod").read_text()
    cases = "|".join(map(str, refused))
    refuse = f'for last; do :; done; case "$last" in {cases}) echo "Bad job" >&2; exit 255;; esac'
    (lsf.programs / "bmod").write_text(real.replace("#!/bin/sh\n", f"#!/bin/sh\n{refuse}\n"))
    operation = beside.make()
    for _ in range(4):
        operation.cycle()
    assert beside.audit()[-1]["masked"] == {str(id): "changing it failed 3 times" for id in refused}
    assert lsf.line()[0] == last
    beside.undo()
    assert not any(job.admin for job in lsf.jobs())


def test_a_host_that_goes_and_a_queue_that_stops_are_seen(lsf: EmulatedLsf, beside: Beside) -> None:
    nine, one = lsf.crowd(9, 1)
    operation = beside.make("observe")
    operation.cycle()
    lsf.run("badmin", "qinact", "normal")
    lsf.run("badmin", "hclose", "host2")
    operation.cycle()
    assert set(beside.audit()[-1]["masked"].values()) == {"The queue is inactivated by the administrator"}
    site = beside.neighbor.read(with_knobs=False)
    assert {node.name: node.is_closed for node in site.nodes} == {"host1": False, "host2": True, "host3": False}
    assert [job.id for job in site.pending] == [nine, one]


@pytest.mark.slow
def test_without_json_the_same_is_read_from_text(lsf: EmulatedLsf, beside: Beside) -> None:
    lsf.crowd(9, 1)
    lsf.submit("-n", "2", "-R", "rusage[mem=2000] span[hosts=1]", "-sp", "70", minutes=2)
    lsf.submit("-J", "many[1-2]", "-H")
    lsf.submit(queue="plain")
    by_json = beside.neighbor.read(with_knobs=True)
    lsf.set(is_old=True)
    beside.neighbor = Lsf(Programs(str(lsf.programs)))
    by_text = beside.neighbor.read(with_knobs=True)
    assert by_text.nodes == by_json.nodes
    assert by_text.tiers == by_json.tiers
    same = ["address", "array", "state", "barrier", "requested_s", "cores", "nodes", "is_on_one_node", "memory_mb"]
    same += ["partitions", "user", "priority", "place", "line", "aps", "is_moved", "allocation", "submit_s", "account"]
    of_text = {job.id: [getattr(job, name) for name in same] for job in by_text.jobs}
    assert of_text == {job.id: [getattr(job, name) for name in same] for job in by_json.jobs}
    operation = beside.make("enforce", users=("ann",))
    operation.cycle()
    assert operation.tally.changes > 0
    # Which hosts a user asked for is not told there: nobody is bound.
    assert not any(call.startswith("bmod -m") for call in lsf.changes())
    beside.undo()
    assert not any(job.admin for job in lsf.jobs())


def test_one_form_can_be_told(lsf: EmulatedLsf, beside: Beside) -> None:
    lsf.crowd(9)
    Lsf(Programs(str(lsf.programs)), has_json=False).read(with_knobs=False)
    assert not any("-json" in call for call in lsf.calls("bjobs"))
    lsf.set(is_old=True)
    operation = Operation(
        Lsf(Programs(str(lsf.programs)), has_json=True), beside.make("observe")._configured, beside.folder, tell=print
    )
    operation.cycle()
    assert operation.tally.failed_reads == 1


def test_one_cycle_that_reads_nothing_says_so_and_nothing_else(lsf: EmulatedLsf, beside: Beside) -> None:
    lsf.crowd(9, 1)
    lsf.trouble("dead")
    assert not beside.make().run(once=True)
    assert len(beside.said) == 1
    assert beside.said[0].startswith("lsf was not read: ")
    beside.said.clear()
    assert beside.make("off").run(once=True), "nothing has to be read"
    assert beside.said == ["Mode off: nothing is decided; 0 undone, 0 still changed"]


@pytest.mark.every(2)
@pytest.mark.parametrize("damage", ["head", "line"])
def test_a_damaged_journal_is_undone_as_far_as_it_tells_and_that_is_an_error(
    lsf: EmulatedLsf, beside: Beside, damage: str
) -> None:
    nine, one = lsf.crowd(9, 1)
    beside.make().cycle()
    assert lsf.line() == [one, nine]
    journal = beside.folder.journal
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[1:] if damage == "head" else [lines[0], '{"x": 1}\n', *lines[1:]]))
    words = [sys.executable, "-m", "shunter", "operate", "undo", f"--state={beside.folder.path}"]
    for said in ("Undone: 1 change\n", "Undone: 0 changes\n"):
        done = subprocess.run(words, env=lsf.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 2, "also the second time: something may still be changed"
        assert f"held.jsonl:{1 if damage == 'head' else 2}: is no" in done.stderr
        assert done.stdout == said
        assert lsf.line() == [nine, one]
    journal.write_text('{"x": 1}\n')
    done = subprocess.run(words, env=lsf.environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "held.jsonl:1: is no head of a journal" in done.stderr) == (2, True)


def test_a_full_disk_keeps_nobody_from_undoing(
    lsf: EmulatedLsf, beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    nine, one = lsf.crowd(9, 1)
    operation = beside.make()
    operation.cycle()
    assert lsf.line() == [one, nine]
    before = beside.folder.journal.read_bytes()

    def full(*_words: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(undo_journal, "open_private", full)
    monkeypatch.setattr(undo_journal, "write_private", full)
    found = undo_all(beside.folder, beside.neighbor, is_dry=False, tell=beside.said.append)
    assert lsf.line() == [nine, one]
    assert (len(found.changes), found.left) == (len(before.splitlines()) - 1, 0)
    assert found.trouble == [f"{beside.folder.journal}: cannot be written (No space left on device)"]
    assert beside.folder.journal.read_bytes() == before


def test_a_disk_that_can_only_be_read_keeps_nobody_from_undoing(
    lsf: EmulatedLsf, beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    nine, one = lsf.crowd(9, 1)
    operation = beside.make()
    with beside.folder.locked():
        operation.cycle()
    assert lsf.line() == [one, nine]
    opened = os.open

    def only_read(path: str, flags: int, *more: Any, **others: Any) -> int:  # noqa: ANN401 - as os.open takes them
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and str(path).startswith(str(beside.folder.path)):
            raise OSError(errno.EROFS, "Read-only file system")
        return opened(path, flags, *more, **others)

    monkeypatch.setattr(os, "open", only_read)
    with beside.folder.locked():
        found = undo_all(beside.folder, beside.neighbor, is_dry=False, tell=beside.said.append)
        with pytest.raises(InputError, match="operates here already"):
            OperationFolder(beside.folder.path).lock()
    assert lsf.line() == [nine, one]
    assert (found.left, found.trouble) == (0, [f"{beside.folder.journal}: cannot be written (Read-only file system)"])


def test_a_cycle_that_fails_says_which_file_and_why(
    lsf: EmulatedLsf, beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    lsf.crowd(9, 1)
    operation = beside.make()

    def full(*_words: object) -> None:
        operation.stop()
        raise OSError(errno.ENOSPC, "No space left on device", str(beside.folder.audit))

    monkeypatch.setattr(operation._audit, "keep", full)
    assert operation.run()
    assert f"the cycle failed, everything is undone: {beside.folder.audit}: No space left on device" in beside.said
