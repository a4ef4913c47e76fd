"""The search for settings: what is drawn, who goes on, and that only validation days say so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shunter.agents.training.config import load_config
from shunter.studies.plan import Cell
from shunter.studies.runs import Record
from shunter.studies.search import Score, best_text, promoted, run_search, validation_score
from shunter.studies.search_space import Choice, Range, search_from
from shunter.studies.study import run_study
from shunter.studies.study_file import Study, read_study
from tests.studies.small import STUDY, InlineEngine, write_study

SPACE = "[search.options]\nppo.learning_rate = { low = 1e-4, high = 1e-1, log = true }\nppo.epochs = [1, 2]\n"


def small_search(tmp_path: Path, words: str = 'method = "halving"\ntrials = 4\neta = 2\n') -> Study:
    study = read_study(write_study(tmp_path, f"{STUDY}[search]\n{words}{SPACE}"))
    return replace(study, out=tmp_path / "out")


def options(words: dict[str, Any]) -> Any:  # noqa: ANN401 - what a search is
    return search_from({"options": {"ppo": {"clip": [0.1, 0.2]}}, **words}, "[search]", ["a"])


def test_what_is_drawn_lies_within_its_range() -> None:
    random = np.random.default_rng(0)
    logs = [math.log10(Range(1e-4, 1e-2, log=True).draw(random)) for _ in range(500)]
    assert -4 <= min(logs) < -3.9
    assert -2.1 < max(logs) <= -2
    assert abs(float(np.mean(logs)) + 3) < 0.1
    assert {Range(1, 3).draw(random) for _ in range(60)} == {1, 2, 3}
    assert {Range(1, 4, log=True).draw(random) for _ in range(60)} == {1, 2, 3, 4}
    assert all(isinstance(Range(0, 1.0).draw(random), float) for _ in range(5))
    assert {Choice(("a", "b")).draw(random) for _ in range(30)} == {"a", "b"}


def test_a_trial_is_the_same_however_many_there_are() -> None:
    few, many = options({"trials": 2}), options({"trials": 50})
    assert few.settings(1) == many.settings(1)
    assert len({str(many.settings(number)) for number in range(50)}) == 2
    assert [options({"seed": 1}).settings(number) for number in range(9)] != [
        few.settings(number) for number in range(9)
    ]


def test_rungs() -> None:
    assert options({"trials": 7}).rungs(900) == [(7, 900)]
    halving = {"method": "halving"}
    assert options({**halving, "trials": 9, "eta": 3}).rungs(900) == [(9, 300), (3, 900)]
    assert options({**halving, "trials": 8, "eta": 2}).rungs(1000) == [(8, 250), (4, 500), (2, 1000)]
    assert options({**halving, "trials": 1}).rungs(900) == [(1, 900)]


def test_bounds_come_first_then_the_metric_then_the_number() -> None:
    scores = {0: Score(0.0, 0.2), 1: Score(0.1, -1.0), 2: None, 3: Score(0.0, -0.1), 4: Score(0.0, 0.2)}
    assert promoted(scores, 9) == [3, 0, 4, 1]
    assert promoted(scores, 2) == [3, 0]


def test_the_score_of_a_run_is_its_best_trained_policy(tmp_path: Path) -> None:
    text = "steps,validation/objective,validation/bounds_broken\n0,-9,0\n64,0.3,0\n96,,\n128,-1,0.5\n192,0.2,0\n"
    (tmp_path / "progress.csv").write_text(text)
    assert validation_score(tmp_path) == Score(0.0, 0.2)


def test_halving_promotes_by_validation_alone(tmp_path: Path) -> None:
    study = small_search(tmp_path)
    validation = {"trial-0": 0.5, "trial-1": -0.2, "trial-2": 0.1, "trial-3": -0.3}
    seen: list[list[tuple[str, int]]] = []

    def run(cells: Sequence[Cell]) -> list[Record]:
        seen.append([(cell.variant, _steps(cell)) for cell in cells])
        for cell in cells:
            # None of them knows the days of the report.
            assert not cell.task.judge
            # On the longer rung the order turns round.
            sign = 1 if len(seen) == 1 else -1
            cell.task.folder.mkdir(parents=True)
            rows = f"steps,validation/objective\n0,-7\n64,{sign * validation[cell.variant]}\n"
            (cell.task.folder / "progress.csv").write_text(rows)
        # A report that says the opposite would go unheard.
        return [Record(cell.task, result={"parts": []}) for cell in cells]

    found = run_search(study, run)
    assert seen == [[(name, 64) for name in validation], [("trial-3", 128), ("trial-1", 128)]]
    assert found.best is not None
    assert found.best.number == 1
    assert [trial.number for trial in found.trials] == [1, 3, 0, 2]
    assert [score and score.objective for score in found.trials[0].scores] == [-0.2, 0.2]


def _steps(cell: Cell) -> int:
    return int(cell.task.request.changes["training"]["steps"])


def test_a_trial_that_fails_goes_no_further(tmp_path: Path) -> None:
    study = small_search(tmp_path, 'method = "random"\ntrials = 2\n')

    def run(cells: Sequence[Cell]) -> list[Record]:
        (tmp_path / "progress.csv").write_text("steps,validation/objective\n64,3.0\n")
        good = replace(cells[1].task, request=replace(cells[1].task.request, out=tmp_path))
        return [Record(cells[0].task, error="diverged"), Record(good, result={"parts": []})]

    found = run_search(study, run)
    assert found.best is not None
    assert found.best.number == 1
    assert [trial.error for trial in found.trials] == [None, "diverged"]


def test_a_search_that_has_not_ended_has_no_best(tmp_path: Path) -> None:
    found = run_search(small_search(tmp_path), lambda cells: [Record(cell.task) for cell in cells])
    assert found.best is None
    assert {trial.scores for trial in found.trials} == {(None,)}


@pytest.mark.usefixtures("few_classics")
def test_a_search_ends_with_a_training_file_and_a_variant(tmp_path: Path) -> None:
    study = small_search(tmp_path, 'method = "halving"\ntrials = 3\neta = 3\n')
    engine = InlineEngine()
    report = run_study(study, on=engine)
    assert report.search is not None
    assert report.search.best is not None
    assert report.variants == ["default", "searched"]
    assert len(engine.tasks) == 3 + 4
    # What was found is a training file; its settings are those of the trial.
    text = (study.out / "best.toml").read_text()
    assert text == best_text(study, report.search)
    config = load_config(study.out / "best.toml")
    drawn = report.search.best.settings["ppo"]
    assert (config.algorithm.learning_rate, config.algorithm.epochs) == (drawn["learning_rate"], drawn["epochs"])  # type: ignore[attr-defined]
    assert config.training.steps == 128
    assert config.data.workload == ()
    # Nothing of the report was worked out for a trial.
    trials = list((study.out / "search").rglob("result.json"))
    assert len(trials) == 3
    assert all('"parts": []' in path.read_text() for path in trials)
    # The same is found again from what is there.
    again = run_study(study, on=engine, only_read=True)
    assert again.to_json() == report.to_json()
    assert len(engine.tasks) == 3 + 4
