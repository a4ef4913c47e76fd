"""``shunter trace check``: the ledger, the findings, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shunter.model.cluster import Cluster
from shunter.model.workload import Workload
from shunter.report.log_check import check_log
from shunter.workloads.statistics import describe
from tests.cli.conftest import Command, swf_line, write_log
from tests.cli.test_trace_info import flat
from tests.support import trace

DAY_S = 86_400.0


def found(cluster: Cluster | None = None, **columns: list[Any]) -> dict[str, str]:
    """Returns what is found in these jobs, by kind."""
    workload = Workload.from_frame(pl.DataFrame(columns), name="mine")
    findings = list(check_log(workload, describe(workload, cluster)).findings)
    assert len({finding.kind for finding in findings}) == len(findings)
    return {finding.kind: finding.what for finding in findings}


def test_a_clean_log(shunter: Command, tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.swf", [swf_line(1, 0, 10, 1, 20), swf_line(2, 5, 10, 1, 20)])
    answer = shunter("trace", "check", path)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == (
        "log.swf (swf): 2 jobs\nnot told: waits, memory, partitions, priorities\nclean\n"
    )  # fmt: skip
    result = shunter("trace", "check", path, "--json").json()
    assert (result["clean"], result["repairs"], result["jobs"], result["lines"]) == (True, 0, 2, 2)
    assert (result["ledger"], result["findings"]) == ([], [])
    assert result["absent"] == ["waits", "memory", "partitions", "priorities"]


def test_repairs_are_told_with_their_share(shunter: Command, tmp_path: Path) -> None:
    lines = [swf_line(1, 0, 10, 1), swf_line(2, 5, 0, 1), swf_line(3, 4, 10, 1), swf_line(4, 9, 0, 1)]
    path = write_log(tmp_path / "log.swf", [*lines, swf_line(5, 3, 10, 1)])
    answer = shunter("trace", "check", path)
    assert (answer.code, answer.err) == (1, "")
    assert "run time 0 s: job dropped 2 40.00 % line 3: run time 0" in flat(answer.out)
    assert "submit time before the 1 20.00 %" in flat(answer.out)
    assert answer.out.splitlines()[-1] == "3 repairs of 5 jobs"
    answer = shunter("trace", "check", path, "--json")
    assert (answer.code, answer.err) == (1, "")
    result = json.loads(answer.out)
    assert (result["clean"], result["repairs"], result["jobs"], result["lines"]) == (False, 3, 3, 5)
    assert [(entry["count"], entry["share"]) for entry in result["ledger"]] == [(2, 0.4), (1, 0.2)]


def test_what_is_left_out_but_no_mistake_is_clean(shunter: Command, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,run_s,status\n0,60,completed\n1,60,failed\n")
    answer = shunter("trace", "check", path, "--only", "completed")
    assert answer.code == 0
    assert "no mistakes, but to be known" in answer.out
    assert answer.out.splitlines()[-1] == "clean"
    result = shunter("trace", "check", path, "--only", "completed", "--json").json()
    assert (result["clean"], result["repairs"], result["lines"]) == (True, 0, 2)


STEPS = """JobID|Submit|Start|End|State|AllocCPUS
7|2024-01-01T00:00:00|2024-01-01T00:00:05|2024-01-01T00:01:00|COMPLETED|2
7.batch|2024-01-01T00:00:05|2024-01-01T00:00:05|2024-01-01T00:01:00|COMPLETED|2
7.0|2024-01-01T00:00:05|2024-01-01T00:00:05|2024-01-01T00:01:00|COMPLETED|2
"""
ZERO = "8|2024-01-01T00:00:00|2024-01-01T00:00:05|2024-01-01T00:00:05|COMPLETED|2\n"


def test_steps_are_lines_but_no_mistakes(shunter: Command, tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text(STEPS)
    result = shunter("trace", "check", path, "--json").json()
    assert (result["clean"], result["repairs"]) == (True, 0)
    assert (result["jobs"], result["read_jobs"], result["lines"]) == (1, 1, 3)
    path.write_text(STEPS + ZERO)
    answer = shunter("trace", "check", path)
    assert (answer.code, answer.out.splitlines()[-1]) == (1, "1 repair of 2 jobs")
    assert "2 50.00 %" in flat(answer.out)
    assert "1 25.00 %" in flat(answer.out)


def test_what_cannot_be_read(shunter: Command, tmp_path: Path) -> None:
    assert "nothing.swf" in shunter("trace", "check", tmp_path / "nothing.swf").error()
    path = write_log(tmp_path / "log.swf", [swf_line(1, 0, 10, 1), swf_line(2, 5, 0, 1)])
    assert "run without --strict" in shunter("trace", "check", path, "--strict").error()


def test_jobs_that_never_fit_are_found(shunter: Command, log: Path) -> None:
    answer = shunter("trace", "check", log, "--cluster", 4)
    assert answer.code == 0
    assert "– can never fit on 4 cores: 1 job (25 %)" in " ".join(answer.out.split())
    (_, finding) = shunter("trace", "check", log, "--cluster", 4, "--json").json()["findings"]
    assert (finding["kind"], finding["jobs"]) == ("never-fit", 1)
    first = f"{log}:4: job 3 asks for 8 tasks of 1 core; the cluster has 4 cores"
    assert finding["what"] == f"can never fit on 4 cores: 1 job (25 %); {first}"
    assert "never fit" not in shunter("trace", "check", log).out


def test_nothing_is_found_in_an_ordinary_log() -> None:
    jobs = {"submit_s": [0.0, 1.0, 2.0], "run_s": [5.0, 6.0, 6.0], "requested_s": [5.0, 9.0, 6.0]}
    assert found(Cluster.pool(1), **jobs) == {}


def test_jobs_that_run_longer_than_requested() -> None:
    what = found(submit_s=[0.0, 1.0, 2.0], run_s=[10.0, 7200.0, 4.0], requested_s=[5.0, 3600.0, 4.0])
    assert what == {"beyond-request": "run time longer than requested: 2 jobs (66.7 %), job 2 the most, by 1.00 h"}


def test_requests_that_are_the_run_times() -> None:
    what = found(submit_s=[0.0, 1.0], run_s=[5.0, 6.0], requested_s=[5.0, None])
    assert what["requests-are-run-times"] == (
        "requested time equal to the run time: 1 job (50 %), all that have one; these are nobody's estimates"
    )
    assert what["partly-told"] == "requested times: not told of 1 job (50 %)"


def test_gaps_of_more_than_a_week() -> None:
    times_s = [0.0, 7 * DAY_S]
    assert found(submit_s=times_s, run_s=[1.0] * 2) == {}
    what = found(submit_s=[*times_s, 14.5 * DAY_S], run_s=[1.0] * 3)
    assert what == {"long-gap": "no job arrives for more than a week: the gap before job 3, 7.50 d"}
    what = found(submit_s=[*times_s, 15 * DAY_S, 30 * DAY_S], run_s=[1.0] * 4)
    assert what == {"long-gap": "no job arrives for more than a week: 2 gaps, the longest before job 4, 15.0 d"}


def test_one_submit_time() -> None:
    what = found(submit_s=[5.0, 5.0], run_s=[1.0, 2.0])
    assert what == {"one-submit-time": "all jobs are submitted at one time: there are no arrivals to replay"}
    assert found(submit_s=[5.0], run_s=[1.0]) == {}


@pytest.mark.parametrize(("jobs", "longest", "clipped"), [(999, 5, True), (1000, 5, False), (8, 4, False)])
def test_run_times_that_were_cut(jobs: int, longest: int, clipped: bool) -> None:
    """More than half a percent of the jobs, and at least five."""
    times_s = [float(number) for number in range(jobs)]
    what = found(submit_s=times_s, run_s=times_s[longest:] + [7200.0] * longest)
    expected = "run time exactly the longest, 7,200 s (2 h): 5 jobs (0.501 %); longer ones were probably cut"
    assert what == ({"clipped-run-times": expected} if clipped else {})
    # Where all jobs are alike, nothing is cut.
    assert found(submit_s=times_s, run_s=[7200.0] * jobs) == {}


def test_help_tells_the_exit_code(shunter: Command) -> None:
    text = " ".join(shunter("trace", "check", "--help").out.split())
    assert (
        "The exit code is 0 if nothing had to be repaired, 1 if something had, and 2 if the log cannot be read" in text
    )


def test_real_run_times_that_were_cut(shunter: Command) -> None:
    result = shunter("trace", "check", trace("helios/venus_gpu_jobs_clip48h.csv.gz"), "--json").json()
    gap, clipped = result["findings"]
    assert gap["what"].endswith("the gap before job 394948#2, 7.54 d")
    assert (clipped["kind"], clipped["jobs"]) == ("clipped-run-times", 2379)
