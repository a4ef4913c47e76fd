"""Slurm's ``sacct --parsable2``: every repair, what is refused, and what is not recognized."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.workloads import read_workload
from shunter.workloads.formats import sacct
from shunter.workloads.formats.sacct import COMMAND
from shunter.workloads.text.source import open_source
from tests.workloads.formats.test_sacct import read, rules, table

JOB = "2024-03-01T12:00:00|2024-03-01T12:00:10|2024-03-01T12:01:10|00:01:00"
COLUMNS = "JobID|State|NodeList|Submit|Start|End|Elapsed|NCPUS|NNodes|ReqMem|Timelimit|Priority|AllocTRES|MaxRSS"


@pytest.mark.parametrize(
    ("row", "rule", "is_dropped"),
    [
        (f"5|PENDING|None assigned|{JOB.replace('2024-03-01T12:00:10', 'Unknown')}|1|1|||||", "never started", True),
        ("5_[1-9%2]|PENDING||2024-03-01T12:00:00|Unknown|Unknown|00:00:00|1|1|||||", "never started", True),
        ("5_[1,3,...]|PENDING||2024-03-01T12:00:00|Unknown|Unknown|00:00:00|1|1|||||", "never started", True),
        (f"5|CANCELLED|None assigned|{JOB[:-2]}00|1|1|||||".replace("00:01:00", "00:00:00"), "never started", True),
        (f"5|RUNNING|a1|{JOB}|1|1|||||", "still running: run time unknown", True),
        (f"5|COMPLETED|a1|{JOB.replace('2024-03-01T12:01:10', 'Unknown')}|1|1|||||", "still running", True),
        (f"5|COMPLETED|a1|{JOB.replace('00:01:00', '00:00:00')}|1|1|||||", "run time 0 s", True),
        (f"5|COMPLETED|a1|{JOB}|0|1|||||", "size unknown", True),
        (f"5|COMPLETED|a1|{JOB}|x|1|||||", "not readable: line skipped", True),
        (f"5|COMPLETED|a1|{JOB.replace('00:01:00', 'soon')}|1|1|||||", "not readable: line skipped", True),
        (f"5|COMPLETED|a1|yesterday{JOB[19:]}|1|1|||||", "not readable: line skipped", True),
        (f"x5|COMPLETED|a1|{JOB}|1|1|||||", "not readable: line skipped", True),
        (f"|COMPLETED|a1|{JOB}|1|1|||||", "not readable: line skipped", True),
        (f"5|COMPLETED|a1|{JOB}|1|1|||||surplus|", "not readable: line skipped", True),
        ("5|COMPLETED", "not readable: line skipped", True),
        (f"5|COMPLETED|a1|{JOB.replace('2024-03-01T12:00:10', 'later')}|1|1|||||", "start not readable", False),
        (f"5|COMPLETED|a1|{JOB}|1|1|100Mcd||||", "reqmem not readable: taken as unknown", False),
        (f"5|COMPLETED|a1|{JOB}|1|1||long|||", "timelimit not readable: taken as unknown", False),
        (f"5|COMPLETED|a1|{JOB}|1|1|||high||", "priority not readable: taken as unknown", False),
        (f"5|COMPLETED|a1|{JOB}|1|1||||cpu|", "alloctres not readable: taken as unknown", False),
        (f"5|COMPLETED|a1|{JOB}|1|1|||||much", "maxrss not readable: taken as unknown", False),
        (f"5|COMPLETED|a1|{JOB}|1|many|||||", "nnodes not readable: taken as unknown", False),
        (f"5|COMPLETED|a1|{JOB.replace('12:00:10', '11:00:00')}|1|1|||||", "wait negative or absurd", False),
    ],
)
def test_every_repair(tmp_path: Path, row: str, rule: str, is_dropped: bool) -> None:
    good = f"1|COMPLETED|a1|{JOB}|1|1|1G|10:00|5|cpu=1,node=1|5M"
    text = table(COLUMNS, good, row)
    workload = read(tmp_path, text)
    (entry,) = workload.ledger.entries
    assert entry.rule.startswith(rule)
    assert entry.count == 1
    assert entry.example.split(": ")[0].endswith("3")
    assert len(workload) == (1 if is_dropped else 2)
    with pytest.raises(InputError, match=rule):
        read(tmp_path, text, strict=True)


def test_a_list_of_nodes_that_cannot_be_counted(tmp_path: Path) -> None:
    workload = read(tmp_path, table("JobID|Submit|Elapsed|NCPUS|NodeList", "5|100000000|01:00|6|a[1-"))
    assert workload.jobs.select("tasks", "nodes").rows() == [(6, None)]
    assert rules(workload) == {"nodelist not readable: taken as unknown": 1}


def test_memory_per_node_of_unknown_nodes(tmp_path: Path) -> None:
    workload = read(tmp_path, table("JobID|Submit|Elapsed|NCPUS|ReqMem", "5|100000000|01:00|6|100Mn"))
    assert workload.jobs.select("tasks", "memory_mb_per_task").rows() == [(6, None)]
    assert rules(workload) == {"memory per node, but nodes unknown: taken as unknown": 1}


def test_no_nodes_and_no_list_of_them(tmp_path: Path) -> None:
    rows = ("5|100000000|01:00|6|1", "6|100000000|00:00|6|0", "7|100000000|00:00|6|1", "8|100000000|00:00|6|")
    workload = read(tmp_path, table("JobID|Submit|Elapsed|ReqCPUS|AllocNodes", *rows))
    assert rules(workload) == {"never started: job dropped": 1, "run time 0 s: job dropped": 2}


@pytest.mark.parametrize(
    ("columns", "missing"),
    [
        ("JobID|State", "Submit, NCPUS, Elapsed (or Start and End)"),
        ("JobID|Submit|Start|NCPUS", "Elapsed (or Start and End)"),
        ("JobIDRaw|Submit|Elapsed|AllocNodes", "NCPUS"),
    ],
)
def test_missing_columns_are_named_with_the_command(tmp_path: Path, columns: str, missing: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, table(columns, "1|2|3"))
    assert str(caught.value) == f"{tmp_path / 'jobs.log'}: lacks {missing}; run {COMMAND}"


def test_refusals(tmp_path: Path) -> None:
    path = tmp_path / "jobs.log"
    path.write_text("what|is|this\n")
    with pytest.raises(InputError, match="no header line with JobID, and no layout that is known; run sacct"):
        read_workload(path, format="sacct")
    with pytest.raises(InputError, match='two columns are called "jobid"; remove one'):
        read(tmp_path, table("JobID|jobid|Submit|Elapsed|NCPUS", "1|1|1|00:01|1"))
    with pytest.raises(InputError, match=r"no job is left after repairs: step of a job: folded into it \(1\)"):
        read(tmp_path, table("JobID|Submit|Elapsed|NCPUS", "1.batch|100000000|00:01|1"))
    with pytest.raises(InputError, match="no job is left; expected jobs that ran"):
        read(tmp_path, "JobID|Submit|Elapsed|NCPUS\n")


@pytest.mark.parametrize(
    "text",
    [
        "JobID,Submit,Elapsed,NCPUS\n1,2,3,4\n",
        "JobID|Name\n1|2\n",
        "a|b|c\n",
        "|" * 30 + "\n",
        "x|" * 30 + "\n",
        "\n#\n",
        "\1\2|",
    ],
)
def test_what_is_not_recognized(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a"
    path.write_text(text)
    assert not sacct.recognizes(open_source(path))
