"""``shunter compare``: what it prints and writes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Command

LUBLIN = "generate:lublin?seed=3&jobs=600&cores=64&load=1.1&requests=factor"
OWN_POLICY = """
from shunter import Policy

class Own(Policy):
    def score(self, queue):
        return -queue.cores
"""
SMALL = ("compare", "--workload", LUBLIN, "--windows", 6, "--length", 80)


def test_json_is_one_object(shunter: Command) -> None:
    result = shunter(*SMALL, "--policy", "fcfs,sjf", "--dispatch", "easy,strict", "--json").json()
    assert (result["metric"], result["sorted_by"]) == ("mean_bounded_slowdown", "geometric mean")
    assert (result["baseline"], result["cluster"], result["cluster_from"]) == ("fcfs/easy", "64", "the workload")
    labels = [row["label"] for row in result["combinations"]]
    assert sorted(labels) == ["fcfs/easy", "fcfs/strict", "sjf/easy", "sjf/strict"]
    assert [row["rank"] for row in result["combinations"]] == [1, 2, 3, 4]
    windows = result["windows"]
    assert (windows["count"], windows["length"], windows["warmup"], windows["blocks"]) == (6, 80, 0, 6)
    first = result["combinations"][0]
    assert first["jobs"] == 480
    assert first["estimated_from"] == {"request": 480}
    assert first["ratio_low"] <= first["ratio"] <= first["ratio_high"]


def test_the_same_seed_gives_the_same_and_another_does_not(shunter: Command) -> None:
    results = [shunter(*SMALL, "--policy", "fcfs,random", "--seed", seed, "--json").json() for seed in (1, 1, 2)]
    combinations = [result["combinations"] for result in results]
    assert combinations[0] == combinations[1] != combinations[2]
    assert results[0]["windows"]["first"] != results[2]["windows"]["first"]


def test_tables_for_people(shunter: Command) -> None:
    answer = shunter(*SMALL, "--policy", "fcfs,sjf,f2,laf", "--top", 2, "--baseline", "laf")
    assert (answer.code, answer.err) == (0, "")
    assert "6 windows of 80 jobs, in 6 blocks of 0:1 of the log, seed 0" in answer.out
    assert "4 combinations · first-fit · estimate requested, 24 simulations in" in answer.out
    assert "against laf/easy" in answer.out
    assert "baseline" in answer.out
    assert "not shown (--top): 1" in answer.out


@pytest.mark.parametrize(
    ("blocks", "note"),
    [
        (1, "the windows lie in 1 block: below 5 no interval is given, for it would be far too narrow"),
        (4, "the windows lie in 4 blocks: below 5 no interval is given"),
        (5, "the windows lie in 5 blocks: intervals from fewer than 10 are too narrow, so take them as hints"),
    ],
)
def test_few_blocks_are_told(shunter: Command, blocks: int, note: str) -> None:
    options = (*SMALL, "--policy", "fcfs,sjf", "--blocks", blocks)
    assert note in shunter(*options).out
    result = shunter(*options, "--json").json()
    assert result["interval_note"].startswith(note)
    for row in result["combinations"]:
        assert row["ratio"] is not None
        assert (row["ratio_low"] is None) == (row["difference_high"] is None) == (blocks < 5)


def test_many_blocks_need_no_note(shunter: Command) -> None:
    options = (*SMALL, "--policy", "fcfs", "--windows", 10, "--length", 60)
    assert shunter(*options, "--json").json()["interval_note"] is None
    assert "blocks:" not in shunter(*options).out


def test_names_may_look_like_markup(shunter: Command, tmp_path: Path) -> None:
    folder = tmp_path / "a["
    folder.mkdir()
    file = folder / "b].toml"
    file.write_text('[policy]\nkind = "linear"\n[estimate]\nkind = "last-two"\n')
    answer = shunter(*SMALL, "--policy", f"fcfs,{file}", "--estimate", file, "--baseline", "b].toml")
    assert (answer.code, answer.err) == (0, "")
    assert f"estimate {file}" in answer.out
    assert "against b].toml/easy" in answer.out


def test_what_cannot_be_is_skipped_and_said(shunter: Command) -> None:
    options = ("--policy", "fcfs,random-feasible", "--dispatch", "easy,greedy")
    assert shunter(*SMALL, *options).out.count("skipped: policy 'random-feasible' never waits") == 1
    result = shunter(*SMALL, *options, "--json").json()
    assert len(result["combinations"]) == 3
    assert len(result["skipped"]) == 1


def test_estimates_say_what_they_rest_on(shunter: Command, log: Path) -> None:
    """Of the four jobs one has no request."""
    result = shunter(
        "compare", "--workload", log, "--length", 4, "--policy", "fcfs", "--estimate", "requested,last-two", "--json"
    ).json()
    by_label = {row["label"]: row for row in result["combinations"]}
    assert by_label["fcfs/easy/requested"]["estimated_from"] == {"request": 3, "stand-in": 1}
    assert sum(by_label["fcfs/easy/last-two"]["estimated_from"].values()) == 4
    rules = [entry["rule"] for entry in by_label["fcfs/easy/requested"]["ledger"]]
    assert rules == ["no requested time: the run time stands in"]
    answer = shunter("compare", "--workload", log, "--length", 4, "--policy", "fcfs")
    assert "estimates rested on 3 request, 1 stand-in" in answer.out
    assert "20 windows were asked for; the log has room for 1" in answer.out


def test_files(shunter: Command, tmp_path: Path) -> None:
    out = tmp_path / "compared"
    plot = out / "figure.png"
    shunter(*SMALL, "--policy", "fcfs,sjf", "--seed", 4, "--out", out, "--plot", plot, "--json").json()
    names = [
        "comparison.csv",
        "comparison.json",
        "comparison.parquet",
        "figure.png",
        "manifest.json",
        "windows.csv",
        "windows.parquet",
    ]
    assert sorted(path.name for path in out.iterdir()) == names
    rows = pl.read_parquet(out / "comparison.parquet")
    assert rows.height == 2
    assert pl.read_csv(out / "comparison.csv")["label"].to_list() == rows["label"].to_list()
    windows = pl.read_parquet(out / "windows.parquet")
    assert windows.height == 2 * 6
    best = windows.filter(pl.col("label") == rows["label"][0])
    assert best["mean_bounded_slowdown"].mean() == pytest.approx(rows["mean"][0])
    assert pl.read_csv(out / "windows.csv").height == 12
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["seed"] == 4
    assert manifest["arguments"]["given"]["policy"] == "fcfs,sjf"
    resolved = manifest["arguments"]["resolved"]
    assert (resolved["windows"], resolved["length"], resolved["cluster"]) == (6, 80, "64")
    assert len(manifest["workload"]["sha256"]) == 64
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_folder_is_overwritten_only_when_asked_to(shunter: Command, tmp_path: Path) -> None:
    options = (*SMALL, "--policy", "fcfs", "--out", tmp_path / "out", "--json")
    shunter(*options).json()
    assert "the folder is not empty" in shunter(*options).error()
    shunter(*options, "--force").json()


def test_the_files_of_policies_are_in_the_manifest_and_safe(shunter: Command, tmp_path: Path) -> None:
    policy = tmp_path / "own.py"
    policy.write_text(OWN_POLICY)
    out = tmp_path / "out"
    shunter(*SMALL, "--policy", f"fcfs,{policy}", "--out", out, "--json").json()
    manifest = json.loads((out / "manifest.json").read_text())
    assert list(manifest["files"]) == [str(policy)]
    assert manifest["files"][str(policy)]["sha256"] == hashlib.sha256(policy.read_bytes()).hexdigest()
    (tmp_path / "fig.png").symlink_to(policy)
    error = shunter(*SMALL, "--policy", f"fcfs,{policy}", "--plot", tmp_path / "fig.png").error()
    assert "--plot would overwrite the file" in error


def test_load_and_warm_up(shunter: Command) -> None:
    calm, busy = (
        shunter(*SMALL, "--policy", "fcfs", "--load", load, "--warmup", 40, "--metric", "mean_wait_s", "--json").json()
        for load in (0.3, 2.0)
    )
    assert (calm["load"], busy["load"], busy["windows"]["warmup"]) == (0.3, 2.0, 40)
    assert calm["combinations"][0]["mean"] < busy["combinations"][0]["mean"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--length", 1024), "a window has 1024 jobs (--length), but the log has 600; give a shorter window"),
        (("--policy", "fcfs,,sjf"), "--policy is 'fcfs,,sjf'; expected names with single commas between them"),
        (("--policy", "fcfs,nothing"), "unknown policy 'nothing'"),
        (("--metric", "slowdown"), "unknown metric 'slowdown'"),
        (("--baseline", "nothing/easy"), "--baseline 'nothing/easy' is not among what is compared"),
        (("--part", "0.7"), "--part is '0.7'; expected two fractions"),
        (("--part", "0.9:0.1"), "--part is 0.9:0.1; expected two rising fractions"),
        (("--threads", 0), "--threads is 0; expected 1 to 1024"),
        (("--top", 0), "--top is 0; expected 1 or more"),
        (("--windows", 0), "--windows is 0; expected 1 to 10000000"),
        (("--blocks", 9), "--blocks is 9; expected 1 to 6"),
        (("--cluster", 32, "--strict"), "can never fit on 32; give a larger cluster, or leave --strict out"),
        (("--plot", "figure.bmp"), "unknown suffix '.bmp'"),
        (("--force",), "--force is given without --out"),
    ],
)
def test_mistakes_are_one_line(shunter: Command, options: tuple[object, ...], message: str) -> None:
    assert message in shunter(*SMALL, *options).error()


def test_mistakes_are_told_before_the_log_is_read(shunter: Command) -> None:
    for options, message in ((("--metric", "nothing"), "unknown metric"), (("--warmup", -1), "--warmup is -1")):
        assert message in shunter("compare", "--workload", "nowhere.swf", *options).error()


def test_where_nobody_waits_there_are_no_rows(shunter: Command) -> None:
    site = ("--workload", "generate:lublin?seed=3&jobs=300&cores=64&load=1.1", "--cluster", 64_000)
    options = ("compare", *site, "--policy", "fcfs,sjf", "--windows", 4, "--length", 60)
    answer = shunter(*options)
    assert "nobody waits: these days cannot rank policies" in answer.out
    assert "geom." not in answer.out
    assert "1.00" not in answer.out
    told = shunter(*options, "--json").json()
    assert told["contention_note"].startswith("nobody waits")
    assert len(told["combinations"]) == 2
