"""Changes to a site: how they are read, and what they do."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shunter
from shunter import Cluster, InputError, Workload
from shunter.comparison.changes import Adjustment, Situation, parse_change
from shunter.model.cluster import Node
from shunter.model.log import Log
from shunter.workloads.load import offered_load
from shunter.workloads.reading import read_log

SETTINGS: dict[str, Any] = {"policy": "fcfs", "missing_request": "run-time", "kill_at_request": False}


def site(cluster: Cluster | None = None) -> Situation:
    """Returns 2 jobs a 100 s, 100 s apart, of 4 cores each, on 16 cores: a load of 0.5."""
    frame = pl.DataFrame({"submit_s": [50.0, 150.0], "run_s": [100.0] * 2, "requested_s": [200.0] * 2, "tasks": [4, 4]})
    return Situation(Log(Workload.from_frame(frame, name="two"), cluster or Cluster.pool(16)), SETTINGS)


def mixed() -> Cluster:
    large = tuple(Node(f"large{number}", 8.0, 1000) for number in range(4))
    return Cluster.from_nodes((*large, Node("small0", 2.0), Node("small1", 2.0)), "mixed")


@pytest.mark.parametrize(
    ("text", "new"), [("1.5x", 150.0), ("x2", 200.0), ("+25%", 125.0), ("-10%", 90.0), ("+64", 164.0), ("-4.5", 95.5)]
)
def test_amounts_of_a_hundred(text: str, new: float) -> None:
    assert Adjustment.parse("cores", text).of(100.0) == pytest.approx(new)


def test_a_plain_number_is_the_new_value() -> None:
    assert Adjustment.parse("cores", "512").of(100.0) == 512.0
    assert Adjustment.parse("load", ".9").of(100.0) == 0.9


@pytest.mark.parametrize("text", ["", "x", "1.5 x", "+-3", "25%", "1e3", "nan", "+1x", "1,5"])
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(InputError, match=r"--change cores=.*: expected a number as in 1.2x, \+20%, -64 or 512"):
        Adjustment.parse("cores", text)


def test_cores_of_a_pool() -> None:
    changed, notes = parse_change("cores=+25%").apply(site())
    assert (changed.log.cluster.total_cores, len(changed.log.cluster.nodes)) == (20.0, 1)
    assert notes == ["20 cores (+4)"]


def test_whole_nodes_in_the_mix_that_there_is() -> None:
    changed, notes = parse_change("cores=1.5x").apply(site(mixed()))
    assert [node.cores for node in changed.log.cluster.nodes] == [8.0] * 6 + [2.0] * 3
    assert [node.name for node in changed.log.cluster.nodes][:4] == ["large0", "large0+1", "large1", "large2"]
    assert notes == ["54 cores (+18) on 9 nodes (+3)"]


def test_fewer_nodes() -> None:
    changed, notes = parse_change("cores=-50%").apply(site(mixed()))
    assert [node.name for node in changed.log.cluster.nodes] == ["large0", "large2", "small0"]
    assert notes == ["18 cores (-18) on 3 nodes (-3)"]


def test_a_node_with_memory_is_no_pool() -> None:
    one = Cluster.from_nodes((Node("big", 16.0, 64_000),), "one")
    changed, _ = parse_change("cores=2x").apply(site(one))
    assert [(node.name, node.memory_mb) for node in changed.log.cluster.nodes] == [("big", 64_000), ("big+1", 64_000)]


def test_another_cluster() -> None:
    changed, notes = parse_change("cluster=8").apply(site())
    assert (changed.log.cluster.total_cores, notes) == (8.0, ["8 cores (-8)"])


def test_load_by_a_factor_and_by_value() -> None:
    base = site()
    assert offered_load(base.log.workload, base.log.cluster) == 0.5
    faster, notes = parse_change("load=1.25x").apply(base)
    assert faster.log.workload.jobs["submit_s"].to_list() == [50.0, 130.0]
    assert notes == ["offered load 0.5 becomes 0.625"]
    fixed, _ = parse_change("load=0.25").apply(base)
    assert fixed.log.workload.jobs["submit_s"].to_list() == [50.0, 250.0]


def test_a_load_is_one_on_the_changed_cluster() -> None:
    changed, notes = parse_change("load=0.25,cores=2x").apply(site())
    assert changed.log.workload.jobs["submit_s"].to_list() == [50.0, 150.0]
    assert notes == ["32 cores (+16)", "offered load 0.25 becomes 0.25"]


def test_requests_are_scaled_before_they_are_limited() -> None:
    changed, notes = parse_change("limit=300,request=2x").apply(site())
    assert changed.log.workload.jobs["requested_s"].to_list() == [300.0, 300.0]
    assert notes[0] == "2 requests scaled by 2"
    assert notes[1].startswith("2 requests cut to 300 s; 0 jobs that run longer go on")


def test_a_limit_says_who_is_killed() -> None:
    _, (note,) = parse_change("limit=60,kill-at-request=yes").apply(site())
    assert note == "2 requests cut to 60 s; 2 jobs that run longer are killed at it"


def test_settings() -> None:
    text = "policy=hybrid?aging=0.5,dispatch=conservative,max-wait=86400,scan-depth=50,seed=3,kill-at-request=no"
    change = parse_change(text)
    assert change.settings == {
        "policy": "hybrid?aging=0.5",
        "dispatch": "conservative",
        "max_wait_s": 86400.0,
        "scan_depth": 50,
        "seed": 3,
        "kill_at_request": False,
    }
    assert change.steps == ()
    assert parse_change("max-wait=off").settings == {"max_wait_s": None}
    changed, _ = parse_change("policy=sjf").apply(site())
    assert (changed.settings["policy"], changed.settings["missing_request"]) == ("sjf", "run-time")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cores", "'cores' is not NAME=VALUE, as in cores="),
        ("cores=", "'cores=' is not NAME=VALUE"),
        ("cores=2x,,policy=sjf", "'' is not NAME=VALUE"),
        ("cors=2x", "unknown change 'cors'; did you mean 'cores'"),
        ("cores=2x,cores=3x", "cores is given twice"),
        ("cluster=nowhere.toml", "no such cluster file"),
        ("request=600", "request=600: expected a factor above 0, as in 0.5x"),
        ("request=0x", "request=0x: expected a factor above 0"),
        ("limit=day", "limit=day: expected a time such as 36h"),
        ("seed=1.5", "seed=1.5: expected a whole number"),
        ("kill-at-request=true", "kill-at-request=true: expected yes or no"),
    ],
)
def test_mistakes_are_told_before_the_log_is_read(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_change(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cores=0x", "cores=0x: gives 0 cores; expected 1 to"),
        ("cores=-20", "cores=-20: gives -4 cores"),
        ("load=0x", "load=0x: expected a factor above 0"),
        ("load=0", r"--load \(load\) is 0"),
        ("limit=0", "the limit is 0"),
    ],
)
def test_mistakes_that_only_the_site_tells(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_change(text).apply(site())


def test_a_python_user_asks_what_if() -> None:
    found = shunter.what_if(site().log, changes=["cores=+25%", "policy=sjf"])
    assert [case.name for case in found.cases] == ["base", "cores=+25%", "policy=sjf"]
    assert found.changed[0].notes == ("20 cores (+4)",)
    assert found.to_json()["cases"][1]["policy"] == "sjf"


def test_a_note_tells_of_gpus_too() -> None:
    site = Situation(read_log("generate:bursty-gpu?seed=1&jobs=20&load=0.9"), {})
    _, notes = parse_change("cores=1.5x").apply(site)
    assert notes == ["768 cores (+256), 96 GPUs (+32) on 12 nodes (+4)"]
