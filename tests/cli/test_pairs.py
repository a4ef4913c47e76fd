"""Prices of types of GPUs from a log to a decision: trace prices, simulate, explain, decide, tune."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

CLUSTER = """
speeds = "speeds.csv"
reference_gpu = "V100"

[[nodes]]
name = "v"
cores = 16
gpus = 1
gpu_type = "V100"

[[nodes]]
name = "k"
cores = 16
gpus = 1
gpu_type = "K80"
"""
SPEEDS = "kind,gpus,speed_V100,speed_K80\nbroad,1,10,5\nnarrow,1,10,1\n"
JOBS = "job_id,submit_s,run_s,requested_s,tasks,gpus_per_task,cores_per_task,kind\n" + "".join(
    f"{number},{95 * number},{100 + 7 * (number % 5)},200,1,1,0,{'narrow' if number % 3 == 0 else 'broad'}\n"
    for number in range(60)
)
# The last two come together, when all others have ended.
JOBS += "".join(f"{number},50000,100,200,1,1,0,narrow\n" for number in (60, 61))


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    (tmp_path / "lab.toml").write_text(CLUSTER)
    (tmp_path / "speeds.csv").write_text(SPEEDS)
    (tmp_path / "jobs.csv").write_text(JOBS)
    return [str(tmp_path / "jobs.csv"), "--cluster", str(tmp_path / "lab.toml")]


def test_prices_are_worked_out_and_kept_to(shunter: Command, inputs: list[str], tmp_path: Path, out: Path) -> None:
    file = tmp_path / "prices.toml"
    told = shunter("trace", "prices", *inputs, "--save", file, "--json").json()
    assert told["prices"] == pytest.approx({"V100": 2.0, "K80": 1.0})
    options = ("--policy", "sjf", "--dispatch", "greedy", "--placement", "fastest")
    shunter("simulate", *inputs, *options, "--pairs", file, "--out", out)
    resolved = json.loads((out / "manifest.json").read_text())["arguments"]["resolved"]
    assert resolved["pairs"] == told["pairs"]
    rows = [json.loads(line) for line in (out / "schedule.jsonl").read_text().splitlines()]
    narrow = [row["nodes"][0]["node"] for row in rows if row["kind"] == "narrow"]
    assert set(narrow) == {"v"}
    # The files that it was read from are not needed any more.
    file.unlink()
    assert shunter("replay", out).code == 0
    text = shunter("explain", out, "61").out
    assert text.startswith("Job 61 waited 1 min 40 s because it refused K80: price 5 × its V100 until job 60 ended")


def test_a_tuned_score_brings_its_prices(shunter: Command, inputs: list[str], tmp_path: Path, out: Path) -> None:
    file = tmp_path / "tuned.toml"
    windows = ("--windows", 3, "--report-windows", 2, "--length", 8, "--warmup", 0)
    search = (*windows, "--generations", 1, "--population", 4)
    told = shunter("tune", *inputs, "--kind", "pairs", "--estimate", "perfect", *search, "--out", file, "--json").json()
    assert told["training"]["score"].startswith("pairs?")
    rows = {row["role"]: row["label"] for row in told["logs"][0]["rows"]}
    assert rows["earliest-finish"] == "sjf/easy/eft"
    if not told["keeps_classic"]:
        assert "[pairs.prices]" in file.read_text()
    score = tmp_path / "score.toml"
    prices = '[pairs]\nkind = "price"\n[pairs.prices]\nV100 = 2\nK80 = 1\n'
    score.write_text(f'[policy]\nkind = "pairs"\naccept = 0.1\n\n{prices}')
    shunter("simulate", *inputs, "--policy", score, "--dispatch", "easy", "--out", out)
    resolved = json.loads((out / "manifest.json").read_text())["arguments"]["resolved"]
    assert resolved["pairs"] == "score?factor=1.2&V100=2.0&K80=1.0"


def test_a_type_that_is_refused_for_a_time_and_taken_at_last(
    shunter: Command, inputs: list[str], tmp_path: Path, out: Path
) -> None:
    log = tmp_path / "late.csv"
    # Job 2 refuses K80 until it has waited for an hour; job 3 comes then, so that it is asked again.
    log.write_text(
        "job_id,submit_s,run_s,tasks,gpus_per_task,kind\n1,0,9000,1,1,narrow\n2,1,100,1,1,narrow\n3,3700,9000,1,1,narrow\n"
    )
    cluster = inputs[inputs.index("--cluster") + 1]
    policy = "pairs?lost_slower=1&accept=0&accept_wait=5"
    shunter("simulate", log, "--cluster", cluster, "--policy", policy, "--dispatch", "greedy", "--out", out)
    text = shunter("explain", out, "2").out
    assert "because it refused K80: the score over pairs was against it for a time" in " ".join(text.split())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--pairs", "price?V100=2"), "the cluster's type K80 has no price; there are prices for V100"),
        (("--pairs", "cheap"), "unknown pairs 'cheap'"),
        (("--pairs", "eft", "--policy", "las"), "policy 'las' stops running jobs"),
        (("--policy", "pairs", "--dispatch", "conservative"), "policy 'pairs' goes with dispatch 'greedy' or 'easy'"),
    ],
)
def test_mistakes_are_told_in_one_line(
    shunter: Command, inputs: list[str], options: tuple[str, ...], told: str
) -> None:
    assert told in shunter("simulate", *inputs, *options).error()


def test_ways_to_choose_types_are_compared_in_a_list(shunter: Command, inputs: list[str]) -> None:
    prices = "price?V100=2&K80=1"
    words = ("--policy", "fcfs,las", "--dispatch", "greedy", "--windows", 2, "--length", 20, "--json")
    told = shunter("compare", *inputs, *words, "--pairs", f"any,eft,{prices}").json()
    plain = [row["label"] for row in told["combinations"] if "overhead" not in row["label"]]
    kinds = ("any", "eft", "price")
    expected = {f"{policy}/greedy/{kind}" for policy in ("fcfs", "las") for kind in kinds} - {"las/greedy/eft"}
    assert set(plain) == expected
    assert "policy 'las' stops running jobs" in told["skipped"][0]
    (one,) = (row for row in told["combinations"] if row["label"] == "fcfs/greedy/price")
    alone = shunter("compare", *inputs, *words, "--pairs", prices).json()["combinations"]
    assert one["mean"] == next(row["mean"] for row in alone if row["label"] == "fcfs/greedy")
    assert "unknown pairs 'etf'; did you mean 'eft'?" in shunter("compare", *inputs, "--pairs", "any,etf").error()


def test_a_cluster_without_types_to_choose_among_is_told(shunter: Command, inputs: list[str], tmp_path: Path) -> None:
    cluster = tmp_path / "one.toml"
    cluster.write_text('[[nodes]]\ncores = 16\ngpus = 1\ngpu_type = "V100"\n')
    for pairs in ("eft", "price?V100=2"):
        ledger = shunter("simulate", inputs[0], "--cluster", cluster, "--pairs", pairs, "--json").json()["ledger"]
        rule = "pairs: with one type of GPUs or none there is nothing to choose"
        assert {"rule": rule, "count": 1, "example": "V100"} in ledger


def test_a_price_that_changes_nothing_is_told(shunter: Command, inputs: list[str]) -> None:
    ledger = shunter("simulate", *inputs, "--pairs", "price?V100=2&K80=1&K8O=1", "--json").json()["ledger"]
    rule = "pairs: a price for a type that no node has changes nothing"
    assert {"rule": rule, "count": 1, "example": "K8O"} in ledger


def test_a_training_that_is_refused_leaves_no_folder(
    shunter: Command, inputs: list[str], tmp_path: Path, out: Path
) -> None:
    cluster = tmp_path / "lab.toml"
    cluster.write_text("mix = true\n" + cluster.read_text())
    error = shunter("train", *inputs, "--env", "pick-job-and-type", "--length", 5, "--steps", 8, "--out", out).error()
    assert "chooses one type of GPU for each job, but lab lets jobs mix types" in error
    assert not out.exists()


def test_a_cluster_without_types_has_no_prices(shunter: Command, inputs: list[str]) -> None:
    assert "has no types of GPUs" in shunter("trace", "prices", inputs[0], "--cluster", "64").error()
