"""Learned policies beside the classics: who is the best in hindsight, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shunter
from shunter import Cluster, InputError, Workload, read_workload
from shunter.comparison.combinations import Combination, combine
from shunter.comparison.comparison import Comparison, compare_combinations
from shunter.comparison.evaluation import Entrants, Evaluation, find_entrants, settings_warnings
from shunter.comparison.objective import Objective
from shunter.comparison.report import BETTER, UNCLEAR, WORSE
from shunter.comparison.roles import ALSO, BEST, BEST_SAME, CLASSIC, LEARNED
from shunter.model.log import Log
from shunter.model.windows import choose_windows
from tests.agents.untrained import LUBLIN, write_policy

CLUSTER = Cluster.pool(64)


@cache
def workload() -> Workload:
    return read_workload(LUBLIN)


def compared(combinations: tuple[Combination, ...], baseline: str | None = None) -> Comparison:
    windows = choose_windows(600, count=10, length=50, seed=1)
    return compare_combinations(Log(workload(), CLUSTER), combinations, windows, baseline=baseline)


@cache
def classics() -> tuple[Combination, ...]:
    return combine(["fcfs", "sjf", "laf", "f2"], ["easy", "strict"], estimates=["requested", "perfect"]).possible


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """A policy that is sjf with perfect estimates, one that is fcfs, and saf beside them."""
    runs = tmp_path_factory.mktemp("runs")
    learned = [
        write_policy(runs / "short" / "best", order="sjf", estimate="perfect"),
        write_policy(runs / "plain" / "best", order="fcfs"),
    ]
    entrants = Entrants(combine(learned).possible, combine(["saf"]).possible, classics())
    return Evaluation.of(compared(entrants.all), entrants)


def test_held_against_another_baseline_is_compared_with_it() -> None:
    combinations = combine(["fcfs", "sjf", "f2"]).possible
    changed = compared(combinations).held_against(combinations[2].label)
    expected = compared(combinations, baseline="f2/easy")
    assert changed.baseline == expected.baseline
    assert [one.against for one in changed.scored] == [one.against for one in expected.scored]
    assert changed.against.against[changed.reference].ratio == 1.0


def test_everything_is_held_against_the_best_classic_in_hindsight(evaluation: Evaluation) -> None:
    comparison = evaluation.comparison
    means = {one.combination.label: one.summary.geometric_mean for one in comparison.scored}
    requested = {key: value for key, value in means.items() if key.endswith("/requested") and value is not None}
    assert comparison.baseline.label == min(requested, key=lambda label: requested[label])
    best = evaluation.best("perfect")
    assert best is not None
    perfect = {key: value for key, value in means.items() if key.endswith("/perfect") and value is not None}
    assert best.combination.label == min(perfect, key=lambda label: perfect[label])
    assert evaluation.best("posterior") is None


def test_roles(evaluation: Evaluation) -> None:
    roles = {row["label"]: row["role"] for row in evaluation.rows()}
    assert (roles["short/easy"], roles["plain/easy"], roles["saf/easy"]) == (LEARNED, LEARNED, ALSO)
    counts = [list(roles.values()).count(role) for role in (BEST, BEST_SAME, CLASSIC)]
    assert counts == [1, 1, len(classics()) - 2]
    assert roles[evaluation.comparison.baseline.label] == BEST


def test_a_learned_policy_that_is_a_classic_has_its_figures(evaluation: Evaluation) -> None:
    rows = {row["label"]: row for row in evaluation.rows()}
    for own, classic in (("short/easy", "sjf/easy/perfect"), ("plain/easy", "fcfs/easy/requested")):
        for name in ("geometric_mean", "p95", "win_rate", "ratio", "mean_wait_ratio", "max_wait_s", "core_utilization"):
            assert rows[own][name] == rows[classic][name]
    base = rows[evaluation.comparison.baseline.label]
    assert base["mean_wait_ratio"] == 1.0
    expected = rows["plain/easy"]["mean_wait_s"] / base["mean_wait_s"]
    assert rows["plain/easy"]["mean_wait_ratio"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("classics_shown", [0, 3])
def test_what_a_table_has_room_for(evaluation: Evaluation, classics_shown: int) -> None:
    shown = [evaluation.role(one.combination) for one in evaluation.shown(classics_shown)]
    for role, count in ((LEARNED, 2), (ALSO, 1), (BEST, 1), (BEST_SAME, 1)):
        assert shown.count(role) == count
    # The best two may be among the best three.
    assert shown.count(CLASSIC) in ((0,) if classics_shown == 0 else (1, 2))
    ranks = [evaluation.comparison.scored.index(one) for one in evaluation.shown(classics_shown)]
    assert ranks == sorted(ranks)


def test_without_classics_there_is_no_verdict(tmp_path: Path) -> None:
    learned = combine([write_policy(tmp_path / "best")]).possible
    evaluation = Evaluation.of(compared(learned), Entrants(learned, (), ()))
    assert evaluation.findings() == []
    assert evaluation.comparison.baseline == learned[0]
    assert evaluation.best() is None


def with_values(evaluation: Evaluation, factor: float, spread: float = 0.0, metric: str | None = None) -> Evaluation:
    """Returns an evaluation in which plain/easy has so many times the best classic's values, more or less."""
    comparison = evaluation.comparison
    if metric is not None:
        comparison = replace(comparison, objective=Objective(metric))
    base = comparison.against.metrics[comparison.metric]
    values = base * factor * np.exp(spread * np.linspace(-1, 1, len(base)))
    own = comparison.contenders["plain/easy"]
    changed = replace(own, metrics=own.metrics | {comparison.metric: values})
    comparison = replace(comparison, contenders={**comparison.contenders, "plain/easy": changed})
    return replace(evaluation, comparison=comparison.held_against(comparison.reference, own.against))


def verdict(evaluation: Evaluation) -> tuple[str, str]:
    (found,) = [one for one in evaluation.findings() if one.label == "plain/easy"]
    assert (found.against, found.workload) == (BEST, LUBLIN)
    return found.result, found.sentence


def test_verdicts(evaluation: Evaluation) -> None:
    name = evaluation.comparison.baseline.label
    better = verdict(with_values(evaluation, 0.92))
    assert better == (
        BETTER,
        f"plain/easy is better than the best classic in hindsight ({name}): ratio 0.92 (95 %: 0.92 to 0.92)",
    )
    result, sentence = verdict(with_values(evaluation, 1.5, 0.1))
    assert result == WORSE
    assert sentence.startswith(f"plain/easy is WORSE than the best classic in hindsight ({name}): ratio 1.5 (95 %: 1.4")
    result, sentence = verdict(with_values(evaluation, 1.0, 0.3))
    assert result == UNCLEAR
    assert "cannot be told apart: ratio 1 (95 %: 0." in sentence


def test_of_utilization_more_is_better(evaluation: Evaluation) -> None:
    assert verdict(with_values(evaluation, 1.1, metric="core_utilization"))[0] == BETTER
    assert verdict(with_values(evaluation, 0.9, metric="core_utilization"))[0] == WORSE


def test_few_blocks_tell_nothing_and_the_difference_decides_where_there_is_no_ratio(evaluation: Evaluation) -> None:
    comparison = evaluation.comparison
    few = replace(comparison, block=np.zeros(10, np.int64))
    result, sentence = verdict(with_values(replace(evaluation, comparison=few), 0.5))
    assert (result, "cannot be judged: ratio 0.5 (no interval: fewer than 5 blocks)" in sentence) == (UNCLEAR, True)
    result, sentence = verdict(with_values(evaluation, 0.0))
    assert result == BETTER
    assert ": difference -" in sentence


def test_with_another_estimate_there_is_a_second_verdict(evaluation: Evaluation) -> None:
    found = [one for one in evaluation.findings() if one.label == "short/easy"]
    assert [one.against for one in found] == [BEST, BEST_SAME]
    assert "the best classic in hindsight with the same estimate" in found[1].sentence
    assert found[0].to_json()["against"] == found[0].against


def test_other_conditions_than_the_classics_are_told(tmp_path: Path) -> None:
    learned = [write_policy(tmp_path / "a"), write_policy(tmp_path / "b", placement="pack")]
    found = settings_warnings(Entrants(combine(learned).possible, (), ()))
    assert found == [
        "b/easy runs with placement pack, and a/easy and all classics with first-fit; evaluate it alone",
    ]
    assert settings_warnings(Entrants(combine(learned[:1]).possible, (), ())) == []


def test_policies_are_judged_by_what_they_were_trained_for(tmp_path: Path) -> None:
    waits = write_policy(tmp_path / "waits" / "best", training={"objective": "mean_wait_s"})
    plain = write_policy(tmp_path / "plain" / "best", training={"objective": "gone"})
    terms: dict[str, Any] = {"against": "fcfs/easy", "windows": 2, "length": 50, "threads": 1}

    def judged(*checkpoints: str, **more: str) -> str:
        return shunter.evaluate(checkpoints, workload(), 64, **{**terms, **more}).comparison.metric

    assert judged(waits) == judged(waits, plain) == "mean_wait_s"
    assert judged(plain) == judged(plain, waits) == "mean_bounded_slowdown"
    assert judged(waits, metric="p95_wait_s") == "p95_wait_s"
    assert settings_warnings(Entrants(combine([waits, plain]).possible, (), ())) == [
        "plain/easy was trained for mean_bounded_slowdown, and waits/easy for mean_wait_s; evaluate it alone"
    ]


def test_a_checkpoint_is_compared_once(tmp_path: Path) -> None:
    """It brings its rule, its placement and its estimate, whatever others are combined."""
    checkpoint = write_policy(tmp_path / "runs" / "first" / "best", estimate="perfect")
    found = combine([checkpoint, "sjf"], ["easy", "greedy"], ["first-fit"], ["requested", "perfect"])
    labels = [one.label for one in found.possible]
    assert labels.count("first/easy/perfect") == 1
    assert sum(label.startswith("first/") for label in labels) == 1
    assert len(labels) == 5
    (reason,) = found.skipped
    assert "was trained with dispatch easy, but dispatch is greedy" in reason
    assert found.possible[0].files == {checkpoint: Path(checkpoint) / "policy.json"}


def test_runs_of_the_same_name_as_a_policy_keep_their_paths(tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "sjf")
    assert [one.label for one in combine([checkpoint, "sjf"]).possible] == [f"{checkpoint}/easy", "sjf/easy"]


def test_a_contradiction_alone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="was trained with dispatch easy"):
        combine([write_policy(tmp_path / "best")], ["strict"])


def test_a_python_user_compares_and_evaluates_in_one_call(tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "runs" / "first" / "best")
    terms: dict[str, Any] = {"windows": 6, "length": 50, "seed": 1, "threads": 1}
    comparison = shunter.compare(workload(), 64, policy=["fcfs", "sjf"], dispatch="easy", **terms)
    assert sorted(row["label"] for row in comparison.rows()) == ["fcfs/easy", "sjf/easy"]
    assert comparison.to_json()["windows"]["count"] == 6
    found = shunter.evaluate(checkpoint, workload(), 64, against=["fcfs/easy"], part="0.5:1", **terms)
    assert [finding.against for finding in found.findings()] == [BEST]
    assert found.to_json()["part"] == "0.5:1"
    with pytest.raises(InputError, match="--windows is 0"):
        shunter.compare("no such file", windows=0)


def test_files_of_one_name_in_several_folders_are_told_apart(tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "runs" / "first" / "best")
    files: list[str] = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / "tuned.toml"
        file.write_text(f'[policy]\nkind = "linear"\nestimate = 1.0\ncores = {len(files)}.0\n')
        files.append(str(file))
    entrants = find_entrants([checkpoint], ["fcfs/easy"], files)
    assert [one.label for one in entrants.also] == ["tuned.toml/easy", files[1]]
    assert len({one.label for one in entrants.all}) == len(entrants.all) == 4
