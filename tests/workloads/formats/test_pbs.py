"""Accounting logs of PBS: how sizes are written, what other records tell, what is dropped, and the real sample."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.model.workload import Workload
from shunter.workloads import read_workload
from shunter.workloads.formats.pbs import DELETED, NO_END, WHOLE_ARRAY, recognizes
from shunter.workloads.formats.pbs_values import exec_hosts, memory_mb, sum_chunks
from shunter.workloads.text.records import NEVER_STARTED, ODD, OTHER_KIND
from shunter.workloads.text.repairs import UNREADABLE
from shunter.workloads.text.source import open_source

TIMES = "ctime=1600000000 qtime=1600000000 etime=1600000000 start=1600000060 end=1600003660"


def _record(rest: str = "", kind: str = "E", job: str = "7.server", times: str = TIMES) -> str:
    head = f"user=ann group=staff account=physics jobname=run queue=batch {times} " if kind in "SE" else ""
    return f"09/13/2020 14:26:40;{kind};{job};{head}{rest}"


def _read(tmp_path: Path, *lines: str, strict: bool = False) -> Workload:
    path = tmp_path / "20200913"
    path.write_text("\n".join(lines) + "\n")
    return read_workload(path, strict=strict)


def _job(tmp_path: Path, rest: str) -> dict[str, Any]:
    return _read(tmp_path, _record(rest)).jobs.row(0, named=True)


def test_a_job_of_torque(tmp_path: Path) -> None:
    rest = (
        "owner=ann@login exec_host=n1/0+n1/1+n2/0+n2/1 Resource_List.nodes=2:ppn=2 Resource_List.mem=4gb "
        "Resource_List.walltime=02:00:00 Exit_status=0 resources_used.mem=2097152kb resources_used.walltime=01:00:00"
    )
    workload = _read(tmp_path, _record(rest), strict=True)
    assert workload.format == "pbs"
    assert not workload.ledger
    job = workload.jobs.row(0, named=True)
    expected = {
        "job_id": 7,
        "submit_s": 1_600_000_000.0,
        "logged_wait_s": 60.0,
        "run_s": 3600.0,
        "requested_s": 7200.0,
        "tasks": 2,
        "cores_per_task": 2.0,
        "memory_mb_per_task": 2048.0,
        "gpus_per_task": 0.0,
        "used_memory_mb_per_task": 1024.0,
        "nodes": 2,
        "hosts": "n1*2,n2*2",
        "user": "ann",
        "group": "staff",
        "account": "physics",
        "queue": "batch",
        "name": "run",
        "status": "completed",
    }
    assert {name: job[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("Resource_List.nodes=4:ppn=8", {"tasks": 4, "cores_per_task": 8}),
        ("Resource_List.nodes=1:ppn=4:gpus=2:k80", {"tasks": 1, "cores_per_task": 4, "gpus_per_task": 2}),
        ("Resource_List.nodes=n1:ppn=2+n2:ppn=2", {"tasks": 2, "cores_per_task": 2}),
        ("Resource_List.nodes=2:ppn=8+1:ppn=4", {"tasks": 20, "cores_per_task": 1}),
        ("Resource_List.nodes=1:ppn=4 Resource_List.ncpus=1", {"tasks": 1, "cores_per_task": 4}),
        ("Resource_List.nodes=1 Resource_List.ncpus=8 exec_host=n1/0", {"cores_per_task": 8, "hosts": None}),
        (
            "Resource_List.nodect=2 Resource_List.select=2:ncpus=16:ngpus=1:mem=4gb:mpiprocs=16",
            {"tasks": 2, "cores_per_task": 16, "gpus_per_task": 1, "memory_mb_per_task": 4096},
        ),
        ("Resource_List.nodect=1 Resource_List.select=2:ncpus=4:mem=1gb+1:ncpus=1:mem=2gb",
         {"tasks": 1, "cores_per_task": 9, "memory_mb_per_task": 4096}),
        ("Resource_List.ncpus=12 Resource_List.nodect=1", {"tasks": 1, "cores_per_task": 12}),
        ("Resource_List.ncpus=4 Resource_List.ngpus=2 Resource_List.nodect=1", {"tasks": 1, "gpus_per_task": 2}),
        ("Resource_List.nodes=1:ppn=2 Resource_List.pmem=500mb", {"memory_mb_per_task": 1000}),
        ("exec_host=c1/0*13+c2/0*13 Resource_List.ncpus=26", {"tasks": 2, "hosts": "c1*13,c2*13"}),
        ("exec_host=c1/0-3+c2/0-7 Resource_List.ncpus=12", {"tasks": 12, "nodes": 2, "hosts": "c1*4,c2*8"}),
        ("exec_host=c1/0-1,4,6-7", {"tasks": 1, "cores_per_task": 5, "hosts": "c1*5"}),
        (
            "exec_host=h/0*0 exec_vnode=(h[0]:ncpus=24:ngpus=2+h[1]:ncpus=24:ngpus=2:mem=9kb) Resource_List.nodect=1 "
            "Resource_List.select=1:ncpus=48:ngpus=4",
            {"tasks": 1, "cores_per_task": 48, "gpus_per_task": 4, "hosts": None},
        ),
        (
            "exec_host=nid7/24 Resource_List.mppwidth=64 Resource_List.mppdepth=2 Resource_List.ncpus=1",
            {"tasks": 128, "cores_per_task": 1, "nodes": None, "hosts": None},
        ),
        ("exec_host=n1/0 exec_gpus=n1-gpu/0+n1-gpu/1", {"tasks": 1, "cores_per_task": 1, "gpus_per_task": 2}),
        ("Resource_List.nodect=1:ppn=24:gpu=4:reqmem=128849018880:gpu",
         {"tasks": 1, "cores_per_task": 24, "gpus_per_task": 4, "memory_mb_per_task": 122_880}),
    ],
)  # fmt: skip
def test_spellings_of_a_size(tmp_path: Path, rest: str, expected: Mapping[str, object]) -> None:
    job = _job(tmp_path, rest)
    assert {name: job[name] for name in expected} == pytest.approx(dict(expected))


@pytest.mark.parametrize(
    ("rest", "status"),
    [
        ("Exit_status=0", "completed"),
        ("Exit_status=1", "failed"),
        ("Exit_status=271", "cancelled"),
        ("Exit_status=271 Resource_List.walltime=01:00:00", "timeout"),
        ("Exit_status=271 Resource_List.walltime=1:30:00", "cancelled"),
        ("Exit_status=-11 Resource_List.walltime=3600", "timeout"),
        ("Exit_status=-29", "timeout"),
        ("Exit_status=-27", "out_of_memory"),
        ("Exit_status=1 Resource_List.walltime=60", "failed"),
        ("", None),
    ],
)
def test_how_a_job_ended(tmp_path: Path, rest: str, status: str | None) -> None:
    assert _job(tmp_path, f"Resource_List.ncpus=1 {rest}")["status"] == status


def test_arrays_other_records_and_what_is_left_out(tmp_path: Path) -> None:
    one = "Resource_List.ncpus=1 Exit_status=265"
    workload = _read(
        tmp_path,
        "09/13/2020 14:00:00;L;license;floating license hour:0",
        _record(kind="Q", job="123[4].host", rest="queue=batch"),
        _record(kind="S", job="123[4].host"),
        _record(kind="D", job="123[4].host", rest="requestor=ann@login"),
        _record(one, job="123[4].host"),
        _record(one, job="123[].host"),
        _record(kind="R", job="124.host"),
        _record(f"{one} run_count=3", job="125.host"),
        _record(one, job="124.host"),
        _record(kind="S", job="126.host"),
        _record(kind="D", job="127.host"),
        _record(one, job="128.host", times="ctime=1600000000 start=0 end=0"),
        "this is no record",
    )
    rows = workload.jobs.select("job_id", "status", "attempts").rows()
    assert rows == [("123[4]", "cancelled", None), ("125", "failed", 3), ("124", "failed", 2)]
    ledger = {entry.rule: (entry.count, entry.example, entry.mistake) for entry in workload.ledger.entries}
    assert ledger == {
        OTHER_KIND: (2, "line 1: record L", False),
        WHOLE_ARRAY: (1, "line 6: job 123[]", False),
        UNREADABLE: (1, "line 13: 'this is no record' is not a record of PBS", True),
        NEVER_STARTED: (1, "line 12: job_id 128", True),
        NO_END: (1, "line 10: job 126", False),
        DELETED: (1, "line 11: job 127", False),
    }


def test_jobs_begin_in_one_file_and_end_in_the_next(tmp_path: Path) -> None:
    (tmp_path / "20200913").write_text(
        _record(kind="S", job="1") + "\n" + _record("Resource_List.ncpus=2", job="2") + "\n"
    )
    (tmp_path / "20200914").write_text(_record("Resource_List.ncpus=2", job="1") + "\n")
    workload = read_workload(str(tmp_path / "2020091*"), strict=True)
    assert workload.jobs["job_id"].to_list() == [2, 1]
    assert not workload.ledger


def test_values_in_quotes_and_stray_quotes(tmp_path: Path) -> None:
    rest = 'project="deep sea" submit_arguments="-l start=5 -v end=1" Resource_List.ncpus=2'
    record = _record(rest).replace("account=physics ", "")
    job = _read(tmp_path, record).jobs.row(0, named=True)
    assert (job["account"], job["run_s"]) == ("deep sea", 3600.0)
    assert _job(tmp_path, 'comment="open Resource_List.ncpus=2')["cores_per_task"] == 2


@pytest.mark.parametrize(
    ("record", "what"),
    [
        (_record("Resource_List.ncpus=1", times="ctime=soon start=5 end=6"), "ctime is 'soon', not a number of a log"),
        (_record("Resource_List.ncpus=1", times="ctime=5 start=nan end=6"), "start is 'nan', not a number"),
        (_record("Exit_status=abc"), "Exit_status is 'abc'"),
        (_record("Resource_List.ncpus=1", job=".server"), "the record has no job id"),
        ("09/13/2020;E;7;user=a", "'09/13/2020;E;7;user=a' is not a record of PBS"),
    ],
)
def test_malformed_lines_are_skipped_and_counted(tmp_path: Path, record: str, what: str) -> None:
    good = _record("Resource_List.ncpus=1", job="8")
    workload = _read(tmp_path, good, record)
    (entry,) = workload.ledger.entries
    assert (entry.rule, entry.count) == (UNREADABLE, 1)
    assert entry.example.startswith(f"line 2: {what}")
    with pytest.raises(InputError, match=r"20200913:2: .*mend the line, or run without --strict"):
        _read(tmp_path, good, record, strict=True)


def test_a_log_of_which_no_job_is_left(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no job is left after repairs: size unknown: job dropped"):
        _read(tmp_path, _record("Exit_status=0"))
    with pytest.raises(InputError, match="3 of 4 lines are not readable, the first at line 2"):
        read_workload(_written(tmp_path, [_record("Resource_List.ncpus=1"), "a", "b", "c"]), format="pbs")


def _written(tmp_path: Path, lines: list[str]) -> Path:
    path = tmp_path / "log"
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n1/0*8", {"n1": 8}),
        ("n1/7+n1/6+n2/0", {"n1": 2, "n2": 1}),
        ("n1/0*0", {}),
        ("n1", None),
        ("n1/x", None),
        ("/0", None),
    ],
)
def test_lists_of_hosts(text: str, hosts: Mapping[str, int] | None) -> None:
    assert exec_hosts(text) == hosts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4gb", 4096.0),
        ("1048576", 1.0),
        ("1024kb", 1.0),
        ("12.5M", 12.5),
        ("131072w", 1.0),
        ("0", 0.0),
        ("much", None),
    ],
)
def test_amounts_of_memory(text: str, expected: float | None) -> None:
    assert memory_mb(text) == expected


def test_chunks_without_memory_have_no_sum() -> None:
    chunks = sum_chunks("1:ncpus=2:mem=1gb+1:ncpus=2")
    assert chunks is not None
    assert chunks.memory_mb is None


@pytest.mark.parametrize(
    ("rest", "what"),
    [
        ("Resource_List.ncpus=2 Resource_List.walltime=soon", "Resource_List.walltime soon"),
        ("Resource_List.ncpus=2 Resource_List.mem=much", "Resource_List.mem much"),
        ("Resource_List.ncpus=2 exec_host=n1", "exec_host n1"),
        ("Resource_List.ncpus=2 Resource_List.select=many", "Resource_List.select many"),
        ("Resource_List.ncpus=2 Resource_List.nodes=1:ppn=x", "Resource_List.nodes 1:ppn=x"),
        ("Resource_List.ncpus=2 Resource_List.nodes=1:ppn=2:mem=x", "Resource_List.nodes 1:ppn=2:mem=x"),
    ],
)
def test_values_that_cannot_be_read_are_counted(tmp_path: Path, rest: str, what: str) -> None:
    workload = _read(tmp_path, _record(rest))
    assert workload.jobs.select("tasks", "cores_per_task").row(0) == (1, 2.0)
    (entry,) = workload.ledger.entries
    assert (entry.rule, entry.count, entry.example) == (ODD, 1, f"line 1: {what}")


def test_ids_that_several_servers_gave(tmp_path: Path) -> None:
    """Without the name of its server, the second job has the id of the first."""
    first = _record("Resource_List.ncpus=2")
    assert first.count(";7.server;") == 1
    workload = _read(tmp_path, first, first.replace(";7.server;", ";7;"))
    assert workload.jobs["job_id"].to_list() == ["7", "7#2"]
    assert [entry.rule for entry in workload.ledger.entries] == ["id missing or that of an earlier job: numbered anew"]


@pytest.mark.parametrize("text", ["a;b;c;d", "2020-09-13 10:00:00;E;7;user=a", "1;2;3", ";E;7;x"])
def test_what_is_not_recognized(tmp_path: Path, text: str) -> None:
    assert not recognizes(open_source(_written(tmp_path, [text, text])))
