"""Rules of a cluster file: they are read, written, and refused in one line that says where and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shunter
from shunter.envs import PickJobEnv
from shunter.errors import InputError
from shunter.model.cluster import Cluster
from shunter.model.cluster_file import cluster_toml
from shunter.model.site import Limit, day_numbers, day_of, wall_s
from shunter.model.start_rules import compile_rules

NODES = "[[nodes]]\nname = 'n'\ncount = 2\ncores = 4\npartition = 'batch'\n"
LOG = "job_id,submit_s,run_s,user,account,licenses\n1,100,10,ann,optics,matlab\n2,200,10,bob,physics,matlab:2\n"
RULES = """
[[limits]]
per = "user"
running_jobs = 2
days = "mon-fri"
from_time = "18:00"
to_time = "06:00"

[[limits]]
accounts = ["physics"]
queued_jobs = 10
max_time_s = 3600.0

[[reservations]]
start = "2026-03-07 08:00"
duration_s = 7200.0
name = "maintenance"
nodes = ["n1"]
users = ["root"]

[licenses]
matlab = 2

[accounts]
optics = "physics"
"""


def read(tmp_path: Path, rules: str, top: str = "") -> Cluster:
    """Returns the cluster of a file with these rules."""
    path = tmp_path / "site.toml"
    path.write_text(f"{top}{NODES}{rules}")
    return Cluster.read(path)


def read_log(tmp_path: Path, text: str = LOG) -> shunter.Workload:
    """Returns the jobs of a table."""
    path = tmp_path / "log.csv"
    path.write_text(text)
    return shunter.read_workload(path)


def test_a_file_reads_back_as_it_was_written(tmp_path: Path) -> None:
    cluster = read(tmp_path, RULES, 'time_zero = "2026-03-02 08:00:00"\n')
    again = tmp_path / "again.toml"
    again.write_text(cluster_toml(cluster))
    assert Cluster.read(again).rules == cluster.rules
    assert Cluster.read(again).content_sha256 == cluster.content_sha256


def test_hours_over_midnight_belong_to_the_day_on_which_they_begin() -> None:
    limit = Limit(running_jobs=1, days="fri", from_time="18:00", to_time="06:00")
    hour_ms = 3_600_000
    assert limit.hours_ms() == [((4 * 24 + 18) * hour_ms, (5 * 24 + 6) * hour_ms)]


def test_days() -> None:
    assert day_numbers("sat-mon") == (0, 5, 6)
    assert day_of(wall_s("2026-03-02 00:00")) == 0
    assert day_of(wall_s("2026-03-01 23:59")) == 6


def test_counters_of_a_log(tmp_path: Path) -> None:
    """Each user has a counter of its own, a license has one; who asks for too much at all hours is not admitted."""
    cluster = read(tmp_path, RULES, 'time_zero = "2026-03-02 08:00:00"\n')
    rules = compile_rules(read_log(tmp_path), cluster)
    assert rules is not None
    assert [(one.what, one.group) for one in rules.counters] == [
        ("running_jobs", "user ann"),
        ("running_jobs", "user bob"),
        ("matlab", ""),
    ]
    assert rules.columns["take_job"].tolist() == [0, 1, 0, 1]
    assert rules.columns["take_counter"].tolist() == [0, 1, 2, 2]
    assert rules.columns["take_amount"].tolist() == [1, 1, 1, 2]
    assert rules.columns["queued_job"].tolist() == [0, 1]
    # Saturday 8:00 is five days after second 0.
    assert rules.columns["window_start_ms"].tolist() == [5 * 86_400_000]


def test_a_cluster_without_licenses_counts_none(tmp_path: Path) -> None:
    assert compile_rules(read_log(tmp_path), read(tmp_path, "")) is None


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("[[limits]]\nrunning_jobs = 5\nqueued_jobs = 3", ":6: [[limits]] 1: running_jobs is 5, above queued_jobs"),
        ("[[limits]]\nper = 'user'", ":6: [[limits]] 1: bounds nothing; give one of running_jobs"),
        ("[[limits]]\nrunning_jobs = 1\nfrom_time = '09:00'", "has only one of from_time and to_time"),
        ("[[limits]]\nrunning_jobs = 1\nper = 'usr'", "unknown word in per 'usr'; did you mean 'user'?"),
        ("[[limits]]\nrunning_jobs = 1\ndays = 'mo-xx'", "days is 'mo-xx'; expected weekdays"),
        ("[[limits]]\nqueued_jobs = 1\ndays = 'mon'", "bounds queued jobs by hours"),
        ("[[limits]]\nrunning_jobs = 1\ndays = 'mon'", "holds by hours, but the log does not tell the time of day"),
        ("[[limits]]\nrunning_jobs = 1\npartitions = 'gone'", 'no node is in a partition "gone"'),
        ("[[reservations]]\nstart = 5\nduration_s = 10", ":6: [[reservations]] 1: lies in the past: it ends 85 s"),
        ("[[reservations]]\nstart = 1e13", "start is 10000000000000.0; expected a number from"),
        ("[[reservations]]\nstart = 'noon'", "start is 'noon'; expected a time such as"),
        ("[[reservations]]\nstart = '2026-03-01 08:00'", "goes by the calendar, but the log does not tell"),
        ("[[reservations]]\nstart = 5\nrepeat = 'daily'\nduration_s = 100000", "longer than it takes to come again"),
        ("[[reservations]]\nstart = 500\nnodes = 'gone'", 'no node is called "gone"'),
        ("[[limits]]\nusers = [1]", ":6: [[limits]] 1: users is [1]; expected a list of names in quotes, as in"),
        ("[[limits]]\nusers = 2026-03-01", "users is 2026-03-01; expected a list of names in quotes"),
        ("[[limits]]\ndays = 2026-03-01", ":6: [[limits]] 1: days is 2026-03-01; expected text in quotes"),
        ("[[limits]]\nfrom_time = 09:00:00", "from_time is 09:00:00; expected text in quotes"),
        ("[[reservations]]\nstart = 2026-03-01T08:00:00", "start is 2026-03-01 08:00:00; expected text in quotes or a"),
        ("[licenses]\nansys = 1", 'job 1 asks for license "matlab", which the cluster does not have (it has ansys)'),
        ("[licenses]\nmatlab = -1", "[licenses] matlab is -1; expected a whole number"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused(tmp_path: Path, rules: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        shunter.simulate(read_log(tmp_path), read(tmp_path, rules))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_rules_for_nobody_are_told_once(tmp_path: Path) -> None:
    rules = """
[[limits]]
running_jobs = 1
users = ["ann", "nobody"]
[[limits]]
running_jobs = 1
users = "nobody"
[[limits]]
running_jobs = 1
users = "ann"
qos = "high"
[[limits]]
running_jobs = 1
accounts = "physics"
[accounts]
optics = "physics"
[licenses]
matlab = 2
ansys = 1
[partitions.main]
tier = 1
"""
    log = read_log(tmp_path, "job_id,submit_s,run_s,user,account,licenses\n1,0,1,ann,optics,matlab:1\n2,0,1,bob,,\n")
    path = tmp_path / "site.toml"
    path.write_text('[[nodes]]\ncores = 4\npartition = "main"\n' + rules)
    cluster = Cluster.read(path)
    ledger = shunter.simulate(log, cluster).ledger
    assert [
        (entry.rule, entry.count, entry.example) for entry in ledger.entries if "changes nothing" in entry.rule
    ] == [
        ("a limit for names that no job has: changes nothing", 2, f"{path}:8: [[limits]] 2: for user nobody"),
        ("rules of a partition that no job names: changes nothing", 1, f"{path}:23: [partitions.main]"),
        ("a license that no job asks for: changes nothing", 1, "[licenses] ansys"),
    ]
    # A window is part of a log whose other jobs may have the names.
    assert shunter.simulate(log.window(1), cluster).ledger.entries[-3:] == ledger.entries[-3:]
    path.write_text('default_partition = "main"\n' + path.read_text())
    assert "partition that" not in str(shunter.simulate(log, Cluster.read(path)).ledger)


def test_licenses_that_are_no_numbers(tmp_path: Path) -> None:
    log = read_log(tmp_path, "job_id,submit_s,run_s,licenses\n7,0,1,matlab:two\n")
    with pytest.raises(InputError, match=r'log.csv:2: licenses is "matlab:two"; expected names and counts'):
        shunter.simulate(log, read(tmp_path, "[licenses]\nmatlab = 1"))


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ({"dispatch": "committed"}, "--dispatch committed does not know limits, licenses and advance reservations"),
        ({"pairs": "eft", "dispatch": "easy"}, "--pairs eft does not know limits"),
    ],
)
def test_ways_that_do_not_know_rules_are_refused(tmp_path: Path, way: dict[str, Any], message: str) -> None:
    cluster = read(tmp_path, "[[limits]]\nrunning_jobs = 1")
    with pytest.raises(InputError, match=message):
        shunter.simulate(read_log(tmp_path), cluster, **way)


def test_environments_do_not_know_rules(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="an environment does not know limits"):
        PickJobEnv(read_log(tmp_path), read(tmp_path, "[[limits]]\nrunning_jobs = 1"), part=(0, 1), length=2)
