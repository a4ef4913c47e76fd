"""``shunter train --seeds``: a run for each seed, one table over all, and what is not done twice."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command

TRAIN = (
    "train", "generate:lublin?seed=3&jobs=400&cores=64&load=1.1", "--engine", "native", "--windows", 12,
    "--validation-windows", 4, "--length", 24, "--num-envs", 4, "--rollout-steps", 16, "--minibatch", 32, "--epochs", 1,
    "--steps", 128, "--eval-every", 64, "--save-every", 64, "--report-windows", 6, "--report-length", 30,
    "--window", 8, "--hidden", "8", "--margin-se", 0, "--lr", "1e-2",
)  # fmt: skip
TIMES = {"elapsed_s", "steps_per_s", "env_s", "act_s", "learn_s"}


def weights(run: Path) -> list[bytes]:
    return [(run / name / "policy.safetensors").read_bytes() for name in ("initial", "best", "last")]


def figures(run: Path) -> list[dict[str, str]]:
    with (run / "progress.csv").open(newline="") as file:
        return [{name: value for name, value in row.items() if name not in TIMES} for row in csv.DictReader(file)]


def judged(result: dict[str, Any]) -> float:
    return float(result["parts"][1]["logs"][0]["rows"][0]["against"]["chosen"]["ratio"])


@pytest.mark.slow
def test_each_seed_is_the_run_that_it_is_alone(shunter: Command, tmp_path: Path) -> None:
    report = shunter(*TRAIN, "--seeds", "0,3", "--threads", 2, "--out", tmp_path / "both", "--json").json()
    ratios = []
    for row in report["seeds"]:
        alone = tmp_path / f"alone-{row['seed']}"
        result = shunter(*TRAIN, "--seed", row["seed"], "--out", alone, "--json").json()
        run = tmp_path / "both" / f"seed-{row['seed']}"
        assert row["run"] == str(run)
        assert weights(run) == weights(alone)
        assert figures(run) == figures(alone)
        assert row["against"]["chosen"]["ratio"] == judged(result)
        ratios.append(judged(result))
    assert weights(tmp_path / "both" / "seed-0") != weights(tmp_path / "both" / "seed-3")
    over = report["over_seeds"]["chosen"]
    assert over["value"] == pytest.approx(math.sqrt(ratios[0] * ratios[1]))
    # Two seeds tell too little for an interval.
    assert (over["low"], over["high"]) == (None, None)
    # A run of a seed is a policy like any other.
    policy = tmp_path / "both" / "seed-3"
    assert shunter("simulate", "generate:lublin?jobs=50&cores=64", "--policy", policy, "--json").json()["jobs"] == 50


@pytest.mark.slow
def test_the_table_tells_of_failures_and_what_is_done_is_not_done_again(shunter: Command, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    answer = shunter(*TRAIN, "--seeds", 2, "--threads", 2, "--out", out)
    assert answer.code == 0
    assert "over seeds" in answer.out
    assert "2 seeds of 2 ended" in answer.out
    assert (out / "seeds.json").is_file()
    written = (out / "seed-0" / "result.json").stat().st_mtime_ns
    # The second seed has lost its last checkpoint's weights, the third is new.
    (out / "seed-1" / "result.json").unlink()
    (out / "seed-1" / "last" / "policy.safetensors").write_bytes(b"no")
    answer = shunter(*TRAIN, "--seeds", 3, "--threads", 2, "--out", out, "--resume")
    assert answer.code == 1
    assert "seed 1 failed: " in answer.err
    assert "2 seeds of 3 ended" in answer.out
    assert "seed 1 failed: " in answer.out
    assert (out / "seed-0" / "result.json").stat().st_mtime_ns == written
    assert (out / "seed-2" / "result.json").is_file()
    answer = shunter("plot", out)
    assert (answer.code, answer.out) == (0, f"written: {out / 'learning.png'}\n")


def test_mistakes_are_told_before_anything_is_trained(shunter: Command, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    for given, words in (
        ("0", "--seeds is 0; expected 1 to 10,000 seeds"),
        ("five", "--seeds is 'five'; expected how many (5), or which (0,1,7)"),
        ("1,1", "--seeds is [1, 1]; expected each seed once"),
    ):
        assert shunter(*TRAIN, "--seeds", given, "--out", out).error() == words
    assert "is given with --seeds" in shunter(*TRAIN, "--seeds", 2, "--seed", 1, "--out", out).error()
    message = shunter(*TRAIN, "--seeds", 2, "--out", out, "--set", "ppo.clp=1").error()
    assert "unknown key 'clp'; did you mean 'clip'?" in message
    assert "nowhere.swf" in shunter("train", tmp_path / "nowhere.swf", "--seeds", 2, "--out", out).error()
    (out / "seed-1").mkdir(parents=True)
    (out / "seed-1" / "config.toml").write_text("")
    assert "seed-1: the folder holds a run" in shunter(*TRAIN, "--seeds", 2, "--out", out).error()
    assert "holds the run of one seed" in shunter(*TRAIN, "--seeds", 2, "--out", out / "seed-1").error()


@pytest.mark.slow
def test_one_seed_after_a_comma_is_that_seed(shunter: Command, tmp_path: Path) -> None:
    report = shunter(*TRAIN, "--seeds", "7,", "--out", tmp_path / "runs", "--json").json()
    assert [row["seed"] for row in report["seeds"]] == [7]
    assert report["over_seeds"]["chosen"]["low"] is None
