"""The journal, the audit, the configuration, the lock and the switch: they last, and what is wrong is told."""

from __future__ import annotations

import errno
import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shunter.checks import declarations
from shunter.errors import InputError
from shunter.execution.operating.audit import Audit, audit_lines, latest_audit_lines, read_input
from shunter.execution.operating.configuration import Configuration, Configured, read_configuration
from shunter.execution.operating.ended_jobs import EndedJobs
from shunter.execution.operating.folder import OperationFolder, write_private
from shunter.execution.operating.judge import Judge, verdict_of
from shunter.execution.operating.modes import Mode
from shunter.execution.operating.neighbor import Knob
from shunter.execution.operating.picture import picture_of
from shunter.execution.operating.site import State
from shunter.execution.operating.undo_journal import UndoJournal
from shunter.execution.operating.undoing import scheduler_of
from shunter.policies.scheduler import resolve_scheduler
from tests.execution.operating.sites import NOW_S, running, site, waiting
from tests.support import PROJECT


@pytest.fixture
def folder(tmp_path: Path) -> OperationFolder:
    """The folder of an operation."""
    made = OperationFolder(tmp_path / "state")
    made.make()
    return made


def test_a_journal_tells_the_next_process_what_is_held(folder: OperationFolder) -> None:
    journal = UndoJournal(folder, "slurm", "/usr/bin")
    task = waiting(7, array=5)
    journal.set([(waiting(5, array=5), Knob.SITE_FACTOR, 0, 300), (waiting(6), Knob.NICE, 0, -4)], 1.0)
    journal.set([(waiting(5, array=5), Knob.SITE_FACTOR, 300, 400)], 2.0)
    journal.set([(waiting(5, array=5), Knob.SITE_FACTOR, 400, 500)], 3.0)
    again = UndoJournal(folder, "slurm", "/usr/bin")
    held = again.of(task, Knob.SITE_FACTOR)
    assert held is not None
    assert (held.old, held.values) == (0, [400, 500]), "a task that leaves its array has what that had"
    again.close([held])
    again.disown(again.all[0])
    assert [(one.job, one.is_foreign) for one in UndoJournal(folder, "slurm", "").all] == [(6, True)]
    assert len(again) == 0
    assert os.stat(folder.journal).st_mode & 0o777 == 0o640


def test_a_journal_that_is_written_anew_is_on_the_disk_before_it_takes_the_place_of_the_old_one(
    folder: OperationFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    UndoJournal(folder, "slurm", "").set([(waiting(5), Knob.SITE_FACTOR, 0, 300)], 1.0)
    steps: list[tuple[str, int]] = []
    synced, replaced = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        steps.append(("synced", os.fstat(descriptor).st_ino))
        synced(descriptor)

    def replace_(path: Path, target: Path) -> Path:
        steps.append(("replaced", path.stat().st_ino))
        return replaced(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace_)
    assert len(UndoJournal(folder, "slurm", "")) == 1
    new = folder.journal.stat().st_ino
    assert steps == [("synced", new), ("replaced", new), ("synced", folder.path.stat().st_ino)]


def test_a_file_that_cannot_be_written_leaves_nothing_beside_it(
    folder: OperationFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    write_private(folder.status, b"{}")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_private(folder.status, b'{"held": 1}')
    assert [path.name for path in folder.path.iterdir()] == ["status.json"]
    assert folder.status.read_bytes() == b"{}"


def test_half_a_line_was_never_acted_on_and_a_damaged_one_is_told(folder: OperationFolder) -> None:
    UndoJournal(folder, "slurm", "").set([(waiting(5), Knob.SITE_FACTOR, 0, 300)], 1.0)
    with folder.journal.open("ab") as file:
        file.write(b'{"op": "set", "job": 9, "kn')
    assert [held.job for held in UndoJournal(folder, "slurm", "").all] == [5]
    folder.journal.write_text('{"op": "set"}\n')
    with pytest.raises(InputError, match=r"held\.jsonl:1: is no line of a journal"):
        UndoJournal(folder, "slurm", "")
    folder.journal.write_text('{"op": "head", "scheduler": "lsf", "programs": ""}\n')
    with pytest.raises(InputError, match="was written beside lsf"):
        UndoJournal(folder, "slurm", "")


def test_a_second_process_is_refused_and_the_switch_is_seen(folder: OperationFolder) -> None:
    folder.lock()
    with pytest.raises(InputError, match=f"process {os.getpid()} operates here already"):
        OperationFolder(folder.path).lock()
    folder.unlock()
    OperationFolder(folder.path).lock()
    assert not folder.is_switched_off
    folder.switch.touch()
    assert folder.is_switched_off


def test_an_audit_is_rotated_and_read_in_order(folder: OperationFolder) -> None:
    audit = Audit(folder, most_mb=0.0001, most_files=2, inputs_mb=1)
    for number in range(12):
        audit.append({"cycle": number, "text": "x" * 60})
    told = [line["cycle"] for line in audit_lines(folder.audit)]
    assert told == list(range(told[0], 12))
    assert sorted(path.name for path in folder.path.glob("audit*")) == ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"]
    with folder.audit.open("ab") as file:
        file.write(b'{"schema": 1, "cyc')
    assert [line["cycle"] for line in audit_lines(folder.audit)] == told, "a line that was cut off says nothing"


def test_what_was_decided_on_is_read_back_as_it_was(folder: OperationFolder) -> None:
    jobs = [running(1, ("n1", 2), gpus=1, devices={"n1": [1]}), waiting(2, 9), waiting(3, 1, cores=8, tasks=8)]
    picture = picture_of(site(*jobs), [])
    audit = Audit(folder, 1, 1, inputs_mb=1)
    audit.keep(picture)
    again = read_input(folder.inputs / f"{picture.sha256}.json.gz")
    scheduler = resolve_scheduler(policy="sjf")
    assert verdict_of(again, scheduler) == verdict_of(picture, scheduler)
    assert again.sha256 == picture.sha256
    small = Audit(folder, 1, 1, inputs_mb=1e-6)
    small.keep(picture_of(site(waiting(8)), []))
    assert len(list(folder.inputs.iterdir())) == 1, "the oldest go"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("nodes", 0, 1), "x"),
        (("nodes", 0, 2), float("nan")),
        (("nodes", 0, 3), 2**70),
        (("nodes", 0, 5), [1]),
        (("jobs", "user", 0), [1]),
        (("times", 1, 0), "x"),
        (("tiers",), 1.5),
        (("snapshot", "down"), []),
        (("jobs",), None),
    ],
)
def test_an_input_that_was_damaged_is_named_in_one_line(
    folder: OperationFolder, path: tuple[Any, ...], value: object
) -> None:
    picture = picture_of(site(running(1, ("n1", 2)), waiting(2, 9)), [])
    Audit(folder, 1, 1, inputs_mb=1).keep(picture)
    file = folder.inputs / f"{picture.sha256}.json.gz"
    told = json.loads(gzip.decompress(file.read_bytes()))
    inner = told
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    file.write_bytes(gzip.compress(json.dumps(told).encode()))
    with pytest.raises(InputError, match="is no input of an audit") as error:
        read_input(file)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "change",
    [{"order": True}, {"order": ["x"]}, {"chosen": [1]}, {"chosen": {"x": []}}, {"time_s": "x"}, {"input_sha256": 5}],
)
def test_a_line_of_an_audit_that_was_damaged_is_named(folder: OperationFolder, change: dict[str, object]) -> None:
    line = {"time_s": 1.0, "candidates": [2], "order": [2], "chosen": {}, "policy": "sjf", "input_sha256": "a"}
    audit = Audit(folder, most_mb=1, most_files=2, inputs_mb=1)
    audit.append(line)
    # Copies beside it are nobody's business.
    folder.audit.with_name("audit.jsonl.bak").write_text("x")
    assert [one["order"] for one in audit_lines(folder.audit)] == [[2]]
    audit.append(line | change)
    with pytest.raises(InputError, match=r"audit\.jsonl:2: is no line of an audit"):
        list(audit_lines(folder.audit))


@pytest.mark.parametrize("change", [{"knob": ["nice"]}, {"old": {"a": 1}}, {"values": [[1]]}, {"values": ["0; rm"]}])
def test_a_value_that_is_none_never_becomes_part_of_a_command(
    folder: OperationFolder, change: dict[str, object]
) -> None:
    UndoJournal(folder, "slurm", "").set([(waiting(5), Knob.NICE, 0, 300)], 1.0)
    head, line = folder.journal.read_text().splitlines()
    folder.journal.write_text(json.dumps(json.loads(line) | change) + "\n" + head + "\n")
    journal = UndoJournal(folder, "slurm", "", is_lenient=True)
    assert journal.all == []
    assert "is no line of a journal" in journal.trouble[0]
    assert scheduler_of(folder) == ("slurm", "")


def test_a_configuration_says_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "operate.toml"
    file.write_text('polcy = "sjf"\n')
    with pytest.raises(InputError, match=r"unknown key 'polcy'; did you mean 'policy'"):
        read_configuration(file, {})
    file.write_text('period_s = "1h"\nmost_period_s = "2h"\nusers = ["ann"]\n')
    told = read_configuration(file, {"policy": "sjf", "period_s": 5.0})
    assert (told.period_s, told.policy, told.users) == (3600, "sjf", ("ann",)), "what the file says holds"
    for wrong in ({"canary_percent": 101.0}, {"mode": "advise"}, {"period_s": 900.0}, {"most_nudge": 0}):
        with pytest.raises(InputError):
            Configuration(**wrong)


def test_a_file_lowers_the_mode_and_never_raises_it(tmp_path: Path) -> None:
    file = tmp_path / "operate.toml"
    file.write_text('mode = "enforce"\nusers = ["ann"]\n')
    configured = Configured(file, {"policy": "sjf"}, Mode.NUDGE)
    assert configured.mode.word == "nudge"
    file.write_text('mode = "off"\n')
    assert configured.renew()
    assert configured.mode.word == "off"
    file.write_text("mode = 7\n")
    assert not configured.renew()
    assert "mode is 7" in configured.trouble
    assert configured.mode.word == "off"


def test_history_comes_from_a_log_of_sacct(tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    rows = ["JobID|User|State|Submit|Start|End|Elapsed|Timelimit|NCPUS|NodeList"]
    for place in range(300):
        submit_s, wait_s, run_s = NOW_S - 400_000 + 1000 * place, 60 * (place % 7), 30 + 10 * (place % 11)
        times = "|".join(f"{submit_s + after_s:.0f}" for after_s in (0, wait_s, wait_s + run_s))
        elapsed = f"00:{run_s // 60:02}:{run_s % 60:02}"
        rows.append(f"{place + 1}|{('ida', 'jon')[place % 2]}|COMPLETED|{times}|{elapsed}|01:00:00|1|n1")
    path.write_text("\n".join(rows) + "\n")
    jobs = EndedJobs(str(path)).see(site())
    assert len(jobs) == 300
    assert all(job.submit_s <= (job.start_s or 0) <= (job.end_s or 0) for job in jobs)
    assert (jobs[8].user, jobs[8].start_s, jobs[8].end_s) == ("ida", NOW_S - 391_940, NOW_S - 391_940 + 110)
    verdict = Judge(Configuration(policy="sjf", estimate="posterior", deadline_s=30.0)).decide(
        picture_of(site(waiting(10**9, user=jobs[-1].user), waiting(10**9 + 1)), jobs)
    )
    assert not verdict.fallback
    assert len(verdict.starts) == 2


def test_ended_jobs_are_told_apart_whatever_their_ids_are() -> None:
    ran = [replace(running(id, ("n1", 1)), state=State.ENDED, end_s=NOW_S - 5 - id) for id in (0, 0, 7, 7, 8)]
    found = picture_of(site(waiting(7), running(8, ("n1", 1))), ran)
    ids = found.workload.jobs["job_id"].to_list()
    assert sorted(ids)[-2:] == [7, 8]
    assert (len(ids), len(set(ids))) == (7, 7), "a job that was requeued, and logs whose ids are no numbers"


def test_the_page_has_every_key_with_its_meaning_and_default() -> None:
    page = (PROJECT / "docs" / "operating.md").read_text(encoding="utf-8")
    for name, said in declarations(Configuration).items():
        value = getattr(Configuration(), name)
        shown = f"{value:g}" if isinstance(value, float) else {None: "none", "": '""', (): "[]"}.get(value, str(value))
        assert f"| `{name}` | {said.help} | {shown} |" in page


def test_the_example_of_a_configuration_is_one() -> None:
    told = read_configuration(PROJECT / "deploy" / "operate.toml", {})
    assert (told.mode, told.max_wait_s) == ("nudge", 604_800)


def test_the_end_of_an_audit_is_read_without_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with pytest.raises(InputError, match=r"audit\.jsonl: there is no such file"):
        latest_audit_lines(path, 1000)
    lines = [json.dumps({"schema": 1, "time_s": number, "more": "x" * 50}) for number in range(100)]
    path.write_text("\n".join([*lines, '{"schema": 2}', "[]", '{"schema": 1, "time']))
    assert [line["time_s"] for line in latest_audit_lines(path, 10**6)] == list(range(100))
    # A line that is cut at its beginning is none; one that a crash has cut at its end is none either.
    found = [line["time_s"] for line in latest_audit_lines(path, 1000)]
    assert found == list(range(100 - len(found), 100))
    assert 5 < len(found) < 15
    assert latest_audit_lines(path, 20)[-1]["time_s"] == 99
