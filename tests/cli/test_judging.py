"""A run is judged by ``train`` and by ``evaluate`` alike: in the same windows, against where it began."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shunter.comparison.contest import Contest
from shunter.comparison.evaluation import LATER
from tests.cli.conftest import Command

# 30 % of it have room for a window of the usual length.
LOG = "generate:lublin?seed=3&jobs=3600&cores=64&load=1.1&requests=factor"
SHORT = (
    "--windows", 12, "--validation-windows", 4, "--length", 24, "--num-envs", 4, "--rollout-steps", 16,
    "--minibatch", 32, "--epochs", 1, "--steps", 128, "--eval-every", 64, "--save-every", 64, "--hidden", "8",
)  # fmt: skip
TUNED = '[policy]\nkind = "linear"\nestimate = 1.0\ncores = 0.5\n\n[estimate]\nkind = "last-two"\n'
FIGURES = ("geometric_mean", "mean", "mean_wait_s", "max_wait_s", "mean_wait_ratio", "core_utilization", "bounds")

pytestmark = pytest.mark.usefixtures("few_classics")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("judging") / "run"


@pytest.fixture
def trained(shunter: Command, run: Path) -> dict[str, Any]:
    """Returns what training a policy that begins as a tuned file prints; it is trained once for all tests."""
    tuned, kept = run.with_name("found.toml"), run.with_name("printed.json")
    if not kept.exists():
        tuned.write_text(TUNED)
        options = ("--init", tuned, "--bound", "mean-wait=1.1", "--out", run, "--json")
        kept.write_text(shunter("train", "--workload", LOG, *SHORT, *options).out)
    result: dict[str, Any] = json.loads(kept.read_text())
    return result


@pytest.mark.slow
def test_train_and_evaluate_print_the_same_figures(shunter: Command, run: Path, trained: dict[str, Any]) -> None:
    """With no option that says in which windows: the same ones, of the same length."""
    evaluated = shunter("evaluate", run, "--workload", LOG, "--json").json()
    (log,) = trained["parts"][1]["logs"]
    assert (log["windows"], trained["parts"][1]["part"], evaluated["part"]) == (Contest.windows, "report", LATER)
    assert (evaluated["windows"]["count"], evaluated["windows"]["length"]) == (Contest.windows, Contest.length)
    (judged,) = evaluated["judged"]
    ours = {row["role"]: row for row in log["rows"] if row["role"] != "baseline"}
    theirs = {row["role"]: row for row in judged["rows"]}
    assert list(ours) == list(theirs) == ["learned", "beginning", "tuned", "chosen", "best", "best-same-estimate"]
    for role, row in ours.items():
        assert {name: row[name] for name in FIGURES} == {name: theirs[role][name] for name in FIGURES}, role
        contrasts = {base: row["against"][base] for base in theirs}
        assert contrasts == theirs[role]["against"], role
    sentences = [one["result"] for one in trained["parts"][1]["verdict"] if one["against"] != "baseline"]
    assert sentences == [one["result"] for one in evaluated["verdict"]]


@pytest.mark.slow
def test_evaluate_leads_with_where_a_policy_began(shunter: Command, run: Path, trained: dict[str, Any]) -> None:
    """Its beginning, the tuned file, the classic of its training days, the best in hindsight; and its bound."""
    small = ("--workload", LOG, "--windows", 6, "--length", 100)
    evaluated = shunter("evaluate", run, *small, "--json").json()
    against = [one["against"] for one in evaluated["verdict"]]
    assert against == ["beginning", "tuned", "chosen", "best", "best-same-estimate", "mean_wait_s"]
    rows = {row["role"]: row for row in evaluated["judged"][0]["rows"]}
    assert rows["beginning"]["label"] == str(run / "initial")
    assert rows["tuned"]["label"] == "found.toml/easy"
    assert rows["chosen"]["label"].startswith(f"{trained['chosen'][0]}/")
    assert [bound["metric"] for bound in rows["learned"]["bounds"]] == ["mean_wait_s"]
    answer = shunter("evaluate", run, *small)
    lead = answer.out.partition("best geometric mean first")[0]
    assert "the beginning" in lead
    assert "longest" in lead
    assert f"{run} and the beginning ({run / 'initial'})" in lead
    assert "kept" in lead or "broken" in lead


def test_a_run_that_kept_its_beginning_is_identical_with_it(shunter: Command, tmp_path: Path) -> None:
    out = tmp_path / "still"
    log = LOG.replace("jobs=3600", "jobs=600")
    options = (*SHORT, "--report-windows", 6, "--report-length", 30, "--lr", "1e-12", "--window", 200, "--out", out)
    answer = shunter("train", "--workload", log, *options)
    assert "the learned policy and the beginning (initial) are identical: the same in every window" in answer.out
    evaluated = shunter("evaluate", out, "--workload", log, "--windows", 6, "--length", 30, "--json").json()
    first = evaluated["verdict"][0]
    assert (first["against"], first["result"]) == ("beginning", "identical")
    assert evaluated["judged"][0]["rows"][0]["against"]["beginning"]["identical"] is True


def test_a_tuned_file_named_beside_its_run_is_run_once(shunter: Command, run: Path, trained: dict[str, Any]) -> None:
    small = ("--workload", LOG, "--windows", 2, "--length", 50, "--also", run.with_name("found.toml"), "--json")
    evaluated = shunter("evaluate", run, *small).json()
    labels = [row["label"] for row in evaluated["combinations"]]
    assert labels.count("found.toml/easy") == sum("toml/easy" in label for label in labels) == 1
    assert [one["label"] for one in evaluated["judged"]] == [str(run), "found.toml/easy"]
