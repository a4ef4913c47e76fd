"""``shunter what-if``: the log as it is, and with changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.metrics.table import METRICS
from tests.cli.conftest import Command

TWO_CHANGES = ("--change", "cores=2x", "--change", "cores=7")


def test_the_base_is_what_simulate_gives(shunter: Command, log: Path) -> None:
    options = ("--workload", log, "--dispatch", "strict", "--json")
    base = shunter("what-if", *options, "--change", "cores=2x").json()["base"]
    simulated = shunter("simulate", *options).json()
    assert base.pop("seconds") >= 0
    assert base.pop("marks") == []
    assert {key: value for key, value in simulated.items() if key != "seconds"} == base


def test_differences_by_hand(shunter: Command, log: Path) -> None:
    """On 8 cores jobs 3 and 4 wait for 90 and 130 s under strict; on 16 only job 4 waits, from 20 to 60.

    ```
    1 1 1 1 1 1 1 1 1 1 .      16 cores, a column is 10 s: job 3 of 8 cores has room at 10 beside jobs 1 and 2,
    2 2 2 2 2 2 . . . . .      job 4 of 2 cores finds none until 60, when job 2 ends
    . 3 3 3 3 3 4 4 4 . .
    ```
    """
    result = shunter("what-if", "--workload", log, "--dispatch", "strict", "--change", "cores=2x", "--json").json()
    (case,) = result["cases"]
    assert (case["change"], case["notes"], case["cluster"]) == ("cores=2x", ["16 cores (+8)"], "16")
    assert case["metrics"]["mean_wait_s"] == (0 + 0 + 0 + 40) / 4
    assert case["difference"]["mean_wait_s"] == {"absolute": 10 - 55, "percent": pytest.approx(-100 * 45 / 55)}
    assert case["difference"]["makespan_s"]["absolute"] == 100 - 180
    assert case["difference"]["memory_utilization"] == {"absolute": None, "percent": None}
    assert list(case["difference"]) == list(METRICS)


def test_several_cases_and_changes_that_act_together(shunter: Command, log: Path) -> None:
    changes = ("policy=sjf", "dispatch=greedy,load=2x", "limit=40,kill-at-request=yes")
    options = [word for change in changes for word in ("--change", change)]
    result = shunter("what-if", "--workload", log, *options, "--json").json()
    first, second, third = result["cases"]
    assert (first["policy"], first["dispatch"], first["notes"]) == ("sjf", "easy", [])
    assert (second["policy"], second["dispatch"]) == ("fcfs", "greedy")
    assert "becomes" in second["notes"][0]
    # Jobs 1, 2 and 3 run for more than 40 s, of which job 2 has no request: its run time stands in and is limited.
    assert third["metrics"]["completion_rate"] == 0.25
    assert third["notes"] == ["3 requests cut to 40 s; 3 jobs that run longer are killed at it"]


def test_what_stands_in_for_options_not_given_follows_the_change(shunter: Command, log: Path) -> None:
    changes = ("--change", "policy=random-feasible", "--change", "policy=first-available", "--json")
    result = shunter("what-if", "--workload", log, "--policy", "sjf", *changes).json()
    rules = [(one["policy"], one["dispatch"]) for one in (result["base"], *result["cases"])]
    assert rules == [("sjf", "easy"), ("random-feasible", "greedy"), ("first-available", "easy")]
    options = ("--workload", log, "--policy", "random-feasible", "--change", "policy=sjf")
    result = shunter("what-if", *options, "--json").json()
    assert (result["base"]["dispatch"], result["cases"][0]["dispatch"]) == ("greedy", "easy")
    assert (
        "'random-feasible' never waits, but dispatch is 'easy'"
        in shunter("what-if", "--workload", log, "--dispatch", "easy", "--change", "policy=random-feasible").error()
    )


def test_it_is_told_where_the_cluster_comes_from(shunter: Command, log: Path) -> None:
    changes = ("--change", "cluster=32", "--change", "cores=2x", "--change", "policy=sjf", "--json")
    result = shunter("what-if", "--workload", log, *changes).json()
    told = [(one["cluster"], one["cluster_from"]) for one in (result["base"], *result["cases"])]
    assert told == [("8", "the workload"), ("32", "--change"), ("16", "--change"), ("8", "the workload")]
    given = shunter("what-if", "--workload", log, "--cluster", 9, *changes).json()["cases"][2]
    assert (given["cluster"], given["cluster_from"]) == ("9", "--cluster")


def test_a_window_of_the_log(shunter: Command, log: Path) -> None:
    result = shunter("what-if", "--workload", log, "--start", 1, "--length", 2, "--change", "cores=2x", "--json").json()
    assert (result["base"]["jobs"], result["cases"][0]["jobs"]) == (2, 2)


def test_the_table(shunter: Command, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    answer = shunter("what-if", "--workload", log, "--dispatch", "strict", *TWO_CHANGES)
    assert (answer.code, answer.err) == (0, "")
    assert "cores=2x: 16 cores (+8)" in answer.out
    rows = {line.split("│")[1].strip(): line for line in answer.out.splitlines() if line.startswith("│")}
    assert "55.0 s" in rows["mean_wait_s"]
    assert "10.0 s −82 %" in rows["mean_wait_s"]
    assert "100.00 % =" in rows["completion_rate"]
    assert [cell.strip() for cell in rows["rejected jobs"].split("│")[2:5]] == ["0", "0", "1"]


def test_a_narrow_terminal_has_the_differences_below(
    shunter: Command, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    answer = shunter("what-if", "--workload", log, "--dispatch", "strict", *TWO_CHANGES)
    lines = answer.out.splitlines()
    place = next(number for number, line in enumerate(lines) if "mean_wait_s" in line)
    assert "10.0 s" in lines[place]
    assert "−82 %" not in lines[place]
    assert "−82 %" in lines[place + 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("cors=2x", "unknown change 'cors'; did you mean 'cores'?"),
        ("policy=nothing", "unknown policy 'nothing'"),
        ("max-wait=-1", "--max-wait (max_wait_s) is -1.0; expected"),
        ("cores=-100%", "--change cores=-100%: gives 0 cores; expected 1 to"),
    ],
)
def test_mistakes_are_one_line(shunter: Command, log: Path, change: str, message: str) -> None:
    assert message in shunter("what-if", "--workload", log, "--change", change).error()


def test_a_change_is_needed(shunter: Command, log: Path) -> None:
    assert "--change" in shunter("what-if", "--workload", log).error()


def test_mistakes_in_changes_are_told_before_the_log_is_read(shunter: Command) -> None:
    error = shunter("what-if", "--workload", "nowhere.swf", "--change", "policy=sjf", "--change", "seed=x").error()
    assert "--change seed=x: expected a whole number" in error


def test_think_times(shunter: Command, tmp_path: Path) -> None:
    """On 2 cores job 2 ends 50 s earlier, and so comes job 3, which was submitted 10 s after its end."""
    path = tmp_path / "jobs.csv"
    rows = ["1,ann,0,0,50", "2,ann,0,50,50", "3,ann,110,0,5", "4,bob,400,0,5"]
    path.write_text("job_id,user,submit_s,logged_wait_s,run_s\n" + "\n".join(rows) + "\n")
    options = ("what-if", path, "--cluster", "1", "--change", "cores=2")
    told = shunter(*options, "--think-times", "--json").json()
    assert told["think_times"] == {"jobs": 1, "of_jobs": 4, "limit_s": 1200.0}
    assert told["cases"][0]["metrics"]["mean_wait_s"] == 0
    assert shunter(*options, "--json").json()["think_times"] is None
    line = "1 of 4 jobs arrive after their user's last job ends, as long after it as in the log (up to 20.0 min)"
    assert line in shunter(*options, "--think-times").out.replace("\n", " ")
    none = shunter(*options, "--think-times", "--think-limit", "9", "--json").json()
    assert none["think_times"] == {"jobs": 0, "of_jobs": 4, "limit_s": 9.0}
    assert "add --think-times" in shunter(*options, "--think-limit", "9").error()
    path.write_text("job_id,user,submit_s,run_s\n1,ann,0,50\n")
    assert "does not say when jobs ended" in shunter(*options, "--think-times").error()
