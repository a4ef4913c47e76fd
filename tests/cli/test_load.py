"""``--load``, and clusters that a workload brings along."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Command, swf_line, write_log


def test_arrivals_are_stretched(shunter: Command, log: Path, tmp_path: Path) -> None:
    """The log has 400 + 240 + 400 + 60 = 1,100 core-seconds in 20 s; at load 0.5, 8 cores have 275 s for them."""
    result = shunter("simulate", "--workload", log, "--load", 0.5, "--out", tmp_path / "run", "--json").json()
    assert (result["load"], result["workload"], result["cluster"]) == (0.5, "log.swf at load 0.5", "8")
    rows = pl.read_parquet(tmp_path / "run" / "schedule.parquet")
    assert rows["submit_s"].to_list() == [0.0, 0.0, 137.5, 275.0]
    assert rows["queue_wait_s"].to_list() == [0.0, 0.0, 0.0, 0.0]


def test_the_title_tells_the_load(shunter: Command, log: Path) -> None:
    assert "log.swf at load 0.5 on 8 cores" in shunter("simulate", "--workload", log, "--load", 0.5).out
    assert shunter("simulate", "--workload", log, "--json").json()["load"] is None


def test_a_window_is_taken_from_the_stretched_log(shunter: Command, log: Path, tmp_path: Path) -> None:
    window = ("--start", 2, "--load", 0.5, "--out", tmp_path / "run")
    assert shunter("simulate", "--workload", log, *window).code == 0
    assert pl.read_parquet(tmp_path / "run" / "schedule.parquet")["submit_s"].to_list() == [137.5, 275.0]


def test_a_run_at_a_load_is_replayed(shunter: Command, log: Path, tmp_path: Path) -> None:
    cluster, run = tmp_path / "nodes.toml", tmp_path / "run"
    cluster.write_text("[[nodes]]\ncount = 4\ncores = 2\n")
    assert shunter("simulate", "--workload", log, "--cluster", cluster, "--load", 2, "--out", run).code == 0
    assert json.loads((run / "manifest.json").read_text())["arguments"]["resolved"]["load"] == 2
    assert shunter("replay", run).code == 0
    cluster.write_text("[[nodes]]\ncount = 5\ncores = 2\n")
    assert "nodes.toml: the cluster has changed since the run" in shunter("replay", run).error()
    cluster.write_text("[[nodes]]\ncount = 4\ncores = 2\n")
    log.write_text(log.read_text().replace(" 100 4 ", " 101 4 "))
    assert "log.swf: the workload has changed since the run" in shunter("replay", run).error()


@pytest.mark.parametrize(
    ("spec", "cluster"),
    [
        ("generate:eda?seed=42&jobs=50", "generate:eda?hosts=20&seed=42"),
        ("generate:bursty-gpu?jobs=50&nodes=2", "generate:bursty-gpu?nodes=2"),
        ("generate:uniform?jobs=50&cores=64", "64"),
    ],
)
def test_a_generators_cluster_stands_in_and_is_replayed(
    shunter: Command, tmp_path: Path, spec: str, cluster: str
) -> None:
    result = shunter("simulate", "--workload", spec, "--out", tmp_path / "run", "--json").json()
    assert (result["cluster"], result["cluster_from"], result["rejected"]) == (cluster, "the workload", 0)
    assert shunter("replay", tmp_path / "run").code == 0


def test_a_generated_cluster_for_other_jobs(shunter: Command, log: Path, tmp_path: Path) -> None:
    options = ("--cluster", "generate:eda?hosts=2", "--out", tmp_path / "run", "--json")
    result = shunter("simulate", "--workload", log, *options).json()
    assert (result["cluster"], result["cluster_from"]) == ("generate:eda?hosts=2", "--cluster")
    assert shunter("replay", tmp_path / "run").code == 0
    message = shunter("replay", tmp_path / "run", "--cluster", "generate:eda?hosts=none").error()
    assert message.startswith("generate:eda: hosts is 'none'")


@pytest.mark.parametrize(
    ("load", "part"),
    [
        ("0", "--load (load) is 0; expected 0.001 to 10"),
        ("nan", "--load (load) is nan"),
        ("high", "'high' is not a load"),
    ],
)
def test_bad_loads_are_told_before_the_workload_is_read(shunter: Command, tmp_path: Path, load: str, part: str) -> None:
    assert part in shunter("simulate", "--workload", tmp_path / "missing.swf", "--load", load).error()


def test_a_log_that_has_no_load(shunter: Command, tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.swf", [swf_line(1, 8, 100, 4), swf_line(2, 8, 100, 4)])
    message = shunter("simulate", "--workload", path, "--load", 0.5).error()
    assert message.startswith("log.swf: cannot be scaled to a load on 8: no work, or no two arrival times")


def test_the_help_names_every_generator(shunter: Command) -> None:
    from shunter.workloads.generators import GENERATORS

    text = "".join(shunter("simulate", "--help").out.split())  # lines may break within a name
    assert all(name in text for name in GENERATORS)
