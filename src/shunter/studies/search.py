"""The search for settings: trials that are judged on validation days alone, and a training file of the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.agents.training.best import BOUNDS_BROKEN, OBJECTIVE
from shunter.agents.training.config import toml_text
from shunter.agents.training.curves import read_curves
from shunter.agents.training.progress_log import STEPS
from shunter.agents.training.request import TrainRequest
from shunter.studies.plan import NOWHERE, Cell, make_cell
from shunter.studies.runs import FAILED, MISSING
from shunter.studies.study_file import Sections, Study, merged

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.studies.runs import Record

FOLDER: Final = "search"
"""Where in the folder of a study the trials are."""
BEST_FILE: Final = "best.toml"

Run = Callable[[Sequence[Cell]], Sequence["Record"]]
"""Runs what is not done, or reads what is there."""


@dataclass(frozen=True, order=True)
class Score:
    """How good a trial is on validation days; the lower, the better, and bounds come first."""

    broken: float
    """By how much bounds are broken, in the logarithm; 0: they are kept."""
    objective: float
    """The logarithm of the metric to that of the classic chosen on training days."""

    def to_json(self) -> dict[str, Any]:
        """Returns the score as a plain object."""
        return {"bounds_broken": self.broken, "objective": self.objective, "ratio": math.exp(self.objective)}


@dataclass(frozen=True)
class Trial:
    """Settings that were drawn, and what came of them."""

    number: int
    settings: Sections
    """What differs from the base."""
    scores: tuple[Score | None, ...] = ()
    """On each rung that it was trained for; None: it failed there, or has not ended."""
    error: str | None = None

    def to_json(self, rungs: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """Returns the trial as a plain object."""
        steps = [each for _, each in rungs[: len(self.scores)]]
        return {
            "trial": self.number,
            "settings": self.settings,
            "rungs": [
                {"steps": each, "validation": None if score is None else score.to_json()}
                for each, score in zip(steps, self.scores, strict=True)
            ],
            "error": self.error,
        }


@dataclass(frozen=True)
class Search:
    """What a search came to."""

    method: str
    base: str
    rungs: tuple[tuple[int, int], ...]
    """How many trials, and for how many steps."""
    trials: tuple[Trial, ...]
    """The best first: those that came to the last rung, then the others."""
    best: Trial | None
    """None: it has not ended, or all trials failed."""

    def to_json(self) -> dict[str, Any]:
        """Returns the search as a plain object."""
        return {
            "method": self.method,
            "base": self.base,
            "rungs": [{"trials": count, "steps": steps} for count, steps in self.rungs],
            "trials": [trial.to_json(self.rungs) for trial in self.trials],
            "best": None if self.best is None else self.best.number,
        }


def run_search(study: Study, run: Run, *, trust: bool = False) -> Search:
    """Searches, rung by rung; what has been trained before is not trained again.

    Every rung trains from the beginning: schedules of a training end with it, and one that went on would have had
    another schedule than a training of that length.

    Args:
        study: With a search.
        run: Runs trainings, or reads what is there.
        trust: Run Python files that a training file or a checkpoint names.
    """
    assert study.search is not None, "asked for without a search"
    options, words = study.search, study.search.words
    base = study.variants[options.base]
    rungs = options.rungs(_steps(study, base))
    trials = {number: Trial(number, options.settings(number)) for number in range(words.trials)}
    alive, is_whole = list(trials), True
    for rung, (count, steps) in enumerate(rungs):
        alive = alive[:count]
        cells = {number: _cells(study, trials[number], base, steps, trust) for number in alive}
        records = iter(run([cell for several in cells.values() for cell in several]))
        for number, several in cells.items():
            own = [next(records) for _ in several]
            is_whole &= all(record.status != MISSING for record in own)
            trials[number] = _scored(trials[number], own)
        # Whoever could not be judged goes no further, and a rung that has not ended promotes nobody.
        alive = promoted({number: trials[number].scores[rung] for number in alive}, count)
        if not alive or not is_whole:
            break
    ranks = {number: place for place, number in enumerate(alive)}
    order = sorted(trials.values(), key=lambda one: (-len(one.scores), ranks.get(one.number, len(trials)), one.number))
    best = trials[alive[0]] if alive and is_whole else None
    return Search(words.method, options.base, tuple(rungs), tuple(order), best)


def _cells(study: Study, trial: Trial, base: Sections, steps: int, trust: bool) -> list[Cell]:
    """Returns the runs of a trial on a rung; the days of the report stay unseen."""
    assert study.search is not None, "asked for without a search"
    sections = merged(base, trial.settings, {"training": {"steps": steps}})
    name, folder, seeds = f"trial-{trial.number}", study.out / FOLDER, study.seeds[: study.search.words.seeds]
    return [
        make_cell(study, log, name, sections, seed, folder, trust=trust, judge=False)
        for log in study.logs
        for seed in seeds
    ]


def promoted(scores: Mapping[int, Score | None], count: int) -> list[int]:
    """Returns the best trials, the best first; of equals the one that was drawn first.

    Args:
        scores: By trial; None: it failed.
        count: How many at most.
    """
    known = {number: score for number, score in scores.items() if score is not None}
    return sorted(known, key=lambda number: (known[number], number))[:count]


def _scored(trial: Trial, records: Sequence[Record]) -> Trial:
    """Returns a trial with what a rung said of it: the mean over logs and seeds."""
    error = next((one.error for one in records if one.status == FAILED), None)
    score = None
    if all(one.result is not None for one in records):
        found = [validation_score(one.task.folder) for one in records]
        score = Score(
            *(float(np.mean(each)) for each in zip(*((one.broken, one.objective) for one in found), strict=True))
        )
    return Trial(trial.number, trial.settings, (*trial.scores, score), error)


def validation_score(folder: Path) -> Score:
    """Returns how good the best trained policy of a run was on validation days.

    The beginning does not count: it is the same for all trials, and says nothing of them.
    """
    columns = read_curves(folder).columns
    objective = columns[f"validation/{OBJECTIVE}"]
    broken = columns.get(f"validation/{BOUNDS_BROKEN}", np.zeros_like(objective))
    trained = np.isfinite(objective) & (columns[STEPS] > 0)
    return min(Score(*pair) for pair in zip(broken[trained].tolist(), objective[trained].tolist(), strict=True))


def best_text(study: Study, search: Search) -> str:
    """Returns the training file of the best trial, for ``shunter train LOG --config``."""
    assert search.best is not None, "asked for without a best trial"
    sections = merged(study.variants[search.base], search.best.settings)
    whole = TrainRequest(sections, study.preset).resolved(NOWHERE).config.sections()
    # The logs are those of the study; whoever trains names one, and a seed.
    del whole["data"], whole["training"]["seed"]
    head = (
        f"# Found by the search of study {study.name}: trial {search.best.number}, judged on validation days alone.\n"
    )
    return f"{head}# shunter train LOG --config {BEST_FILE}\n\n{toml_text(whole)}"


def _steps(study: Study, base: Sections) -> int:
    """Returns how many steps the trainings of the study have."""
    return TrainRequest(base, study.preset).resolved(NOWHERE).config.training.steps
