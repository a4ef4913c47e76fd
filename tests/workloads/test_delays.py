"""Dependencies with a delay, and jobs that are submitted after others have ended: what is written, and what it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.metrics.explanation import explain
from shunter.metrics.explanation_text import conclusion
from shunter.metrics.record import Record
from shunter.model.cluster import Cluster
from shunter.model.needs import Need, parse_needs, with_other_names, written
from shunter.model.schedule import Outcome
from shunter.simulation import simulate
from shunter.workloads.reading import read_workload
from shunter.workloads.variants import anonymize
from tests.workloads.test_conditions import write

HEADER = "job_id,submit_s,run_s,tasks,depends_on"


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("after:12+30", [Need("after", "12", 1_800_000)]),
        ("after:12+30:13", [Need("after", "12", 1_800_000), Need("after", "13")]),
        ("after:12+90s", [Need("after", "12", 90_000)]),
        ("afterany:12+0.5s", [Need("afterany", "12", 500)]),
        # A part of a heterogeneous job, for Slurm has minutes behind after: alone.
        ("afterok:12+1", [Need("afterok", "12+1")]),
        ("afterok:12+1+7s", [Need("afterok", "12+1", 7_000)]),
        ("follows:12", [Need("follows", "12")]),
        ("follows:12+0.001s,singleton", [Need("follows", "12", 1), Need("singleton", "")]),
    ],
)
def test_how_delays_are_written(text: str, needs: list[Need]) -> None:
    assert list(parse_needs(text)) == needs
    assert list(parse_needs(written(needs))) == needs


def test_an_id_that_looks_like_a_delay_is_not_one() -> None:
    (text,) = with_other_names(["after:1,afterok:1"], lambda need: "12+3")
    assert text == "after:12+3+0s,afterok:12+3"
    assert [(need.on, need.delay_ms) for need in parse_needs(text)] == [("12+3", 0), ("12+3", 0)]


def test_when_delayed_jobs_may_run(tmp_path: Path) -> None:
    """On two cores: job 1 runs from 0 to 100 and job 2 from 0 to 400."""
    lines = ["1,0,100,1,", "2,0,400,1,", "3,5,10,1,after:1+3", "4,6,10,1,afterany:1+30s", "5,7,1,1,afterok:1:2+1s"]
    workload = read_workload(write(tmp_path, *lines, header=HEADER))
    schedule = simulate(workload, Cluster.pool(2))
    assert schedule.eligible_ms.tolist() == [0, 0, 180_000, 130_000, 401_000]
    assert schedule.start_s.tolist() == [0, 0, 180, 130, 401]
    told = conclusion(explain(Record.of(schedule), 3))
    assert "for it waits for job 1, on which it depends, and 30 s more" in told


def test_jobs_that_follow_others_come_earlier_or_later_than_the_table_says(tmp_path: Path) -> None:
    """Job 3 was submitted at 500 in the log, and job 4 at 600; the order of the table stays."""
    lines = [
        "1,0,100,2,",
        "2,0,100,2,",
        "3,500,10,1,follows:1+20s",
        "4,600,10,1,follows:2",
        "5,700,10,1,follows:4+1000s",
    ]
    schedule = simulate(read_workload(write(tmp_path, *lines, header=HEADER)), Cluster.pool(2))
    assert schedule.eligible_ms.tolist() == [0, 0, 120_000, 200_000, 1_210_000]
    assert schedule.start_s.tolist() == [0, 100, 200, 200, 1210]
    assert schedule.queue_wait_s.tolist() == [0, 100, 80, 0, 0]
    assert "after whose end it is submitted" in conclusion(explain(Record.of(schedule), 4))


def test_one_that_follows_a_job_that_can_never_run_comes_after_its_rejection(tmp_path: Path) -> None:
    lines = ["1,0,10,1,", "2,50,10,9,", "3,100,10,1,follows:2+7s"]
    schedule = simulate(read_workload(write(tmp_path, *lines, header=HEADER)), Cluster.pool(2))
    assert schedule.outcome[1] == Outcome.REJECTED
    assert schedule.eligible_ms.tolist()[2] == 57_000


def test_anonymous_jobs_keep_their_delays(tmp_path: Path) -> None:
    workload = read_workload(write(tmp_path, "7,0,10,1,", "8,1,10,1,after:7+2", header=HEADER))
    assert anonymize(workload, seed=1).jobs["depends_on"].to_list() == [None, "after:1+2"]


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        ("follows:2", "job 2 cannot depend on itself"),
        ("after:2+5", "job 2 cannot depend on itself"),
        ("follows:9+5s", "there is no job 9"),
        ("afterok:1+5", r"there is no job 1\+5 \(a delay stands there in seconds, 1\+300s\)"),
        ("after:1+999999999999", "expected a delay of at most 1,000,000,000 s"),
        ("after:1+-5", r"there is no job 1\+-5"),
    ],
)
def test_what_is_refused(tmp_path: Path, cell: str, what: str) -> None:
    path = write(tmp_path, "1,0,10,1,", f"2,1,10,1,{cell}", header=HEADER)
    with pytest.raises(InputError, match=rf"jobs\.csv:3: column \"depends_on\" is .*{what}"):
        read_workload(path)


def test_jobs_that_follow_each_other_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "1,0,10,1,follows:2", "2,1,10,1,follows:1", header=HEADER)
    with pytest.raises(InputError, match="jobs wait for each other"):
        read_workload(path)
