"""A study: logs, variants and seeds, each trained once; tables with intervals over seeds of what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.engines.choice import LOCAL, check_on
from shunter.files import locked, parse_json, read_text, write_file
from shunter.metrics.run_folder import to_json_text
from shunter.metrics.table import higher_is_better
from shunter.policies.trust import trusting
from shunter.studies.aggregates import Estimate, interquartile_mean, mean, probability_of_improvement
from shunter.studies.plan import RUNS, Cell, cells_of
from shunter.studies.runs import DONE, HELD_AGAINST, Record, Told, read_all, run_all, training_engine
from shunter.studies.search import BEST_FILE, Search, best_text, run_search
from shunter.studies.study_file import SEARCHED, Study, merged

if TYPE_CHECKING:
    from shunter.engines.base import Engine

STUDY_FILE: Final = "study.json"
"""What a study came to the last time that it ran."""
ERRORS_FILE: Final = "errors.json"
"""Why runs failed that did, by their folders."""


@dataclass(frozen=True)
class StudyReport:
    """How a study stands."""

    study: Study
    runs: tuple[tuple[Cell, Record], ...]
    search: Search | None = None

    @property
    def variants(self) -> list[str]:
        """All variants, also the one that a search has found."""
        return list(dict.fromkeys(cell.variant for cell, _ in self.runs))

    @property
    def failed(self) -> list[Record]:
        """The runs that failed."""
        return [record for _, record in self.runs if record.error is not None]

    @property
    def objectives(self) -> list[str]:
        """By which metrics the runs that have ended are judged; usually one."""
        return list(dict.fromkeys(record.result["objective"] for _, record in self.runs if record.result is not None))

    def records(self, variant: str, log: str) -> list[Record]:
        """Returns the runs of a variant on a log, one for each seed."""
        return [record for cell, record in self.runs if (cell.variant, cell.log) == (variant, log)]

    def scores(self, variant: str, log: str, against: str) -> list[float]:
        """Returns the logarithms of ratios of the runs that have ended."""
        known = (record.score(against) for record in self.records(variant, log))
        return [score for score in known if score is not None]

    def ratio(self, variant: str, log: str, against: str) -> Estimate | None:
        """Returns the geometric mean of the ratio over seeds; None: no run has ended."""
        scores = self.scores(variant, log, against)
        return mean(scores).exp() if scores else None

    def _strata(self, variant: str, against: str) -> list[list[float]] | None:
        """Returns the scores of a variant by log; None where it has none on a log: it could not be compared."""
        strata = [self.scores(variant, log, against) for log in self.study.logs]
        return strata if all(strata) else None

    def aggregate(self, variant: str, against: str) -> Estimate | None:
        """Returns the interquartile mean of the ratio over logs and seeds; None: a log has no run that ended."""
        strata = self._strata(variant, against)
        return None if strata is None else interquartile_mean(strata).exp()

    def improvement(self, variant: str, against: str) -> Estimate | None:
        """Returns how likely a run of a variant beats one of the base; None for the base, or where there are none."""
        ours, theirs = self._strata(variant, against), self._strata(self.study.base, against)
        if variant == self.study.base or ours is None or theirs is None or len(self.objectives) != 1:
            return None
        if higher_is_better(self.objectives[0]):
            ours, theirs = theirs, ours
        return probability_of_improvement(ours, theirs)

    def notes(self) -> list[str]:
        """Returns what a reader must know."""
        found = []
        if len(self.objectives) > 1:
            metrics = ", ".join(self.objectives)
            found.append(f"variants are judged by different metrics ({metrics}): their ratios cannot be compared")
        versions = sorted({str(one.result["version"]) for _, one in self.runs if one.result is not None})
        if len(versions) > 1:
            words = f"runs are of several versions of Shunter ({', '.join(versions)})"
            found.append(f"{words}; to train all anew, give another folder (--out)")
        return [*found, *dict.fromkeys(note for _, one in self.runs for note in one.notes)]

    def to_json(self) -> dict[str, Any]:
        """Returns the report as a plain object."""
        study = self.study

        def plain(of: Any) -> dict[str, Any]:  # noqa: ANN401 - a method of a role
            found = {role: of(role) for role in HELD_AGAINST}
            return {role: None if one is None else one.to_json() for role, one in found.items()}

        return {
            "study": study.name,
            "folder": str(study.out),
            "objectives": self.objectives,
            "base": study.base,
            "seeds": list(study.seeds),
            "rows": [
                {
                    "variant": variant,
                    "log": log,
                    "runs": len(self.records(variant, log)),
                    "done": sum(one.status == DONE for one in self.records(variant, log)),
                    "ratio": plain(partial(self.ratio, variant, log)),
                }
                for variant in self.variants
                for log in study.logs
            ],
            "aggregates": [
                {
                    "variant": variant,
                    "interquartile_mean": plain(partial(self.aggregate, variant)),
                    "probability_of_improvement": plain(partial(self.improvement, variant)),
                }
                for variant in self.variants
            ],
            "runs": [
                {"variant": cell.variant, "log": cell.log, "seed": cell.seed, **record.to_json()}
                for cell, record in self.runs
            ],
            "search": None if self.search is None else self.search.to_json(),
            "notes": self.notes(),
        }


def run_study(
    study: Study,
    *,
    threads: int = 1,
    trust: bool = False,
    on: str | Engine = LOCAL,
    told: Told | None = None,
    only_read: bool = False,
) -> StudyReport:
    """Trains what is not done yet, and returns how the study stands.

    Args:
        study: From `shunter.studies.study_file.read_study`.
        threads: How many cores there are: so many runs go at a time.
        trust: Run Python files that a training file or a checkpoint names.
        on: Where trainings run: ``local``, in processes of this machine; ``ray``, in as many workers as there are
            cores; or the address of a Ray cluster, on one core each.
        told: Hears of each run that ends.
        only_read: Train nothing.

    Raises:
        InputError: What can be known before the first training is wrong.
    """
    check_on(on)
    errors = _errors_of_before(study.out)

    def run(cells: Sequence[Cell]) -> list[Record]:
        tasks = [cell.task for cell in cells]
        if only_read:
            return read_all(tasks, errors)
        left = sum(not task.request.is_done(task.folder) for task in tasks)
        with training_engine(on, threads, left) as (engine, each):
            records = run_all([cell.on_threads(each).task for cell in cells], engine, told)
        for one in records:
            errors.pop(str(one.task.folder), None)
            if one.error is not None:
                errors[str(one.task.folder)] = one.error
        _write(study.out / ERRORS_FILE, to_json_text(errors))
        return records

    with trusting(trust):
        # All variants are made before the first is trained: what is wrong with the last is told at once.
        cells = cells_of(study, study.variants, study.out / RUNS, trust=trust)
        if not only_read:
            study.out.mkdir(parents=True, exist_ok=True)
        with nullcontext() if only_read else locked(study.out):
            search = None if study.search is None else run_search(study, run, trust=trust)
            if search is not None and search.best is not None:
                settings = merged(study.variants[search.base], search.best.settings)
                cells += cells_of(study, {SEARCHED: settings}, study.out / RUNS, trust=trust)
            report = StudyReport(study, tuple(zip(cells, run(cells), strict=True)), search)
            if not only_read:
                _write(study.out / STUDY_FILE, to_json_text(report.to_json()))
                if search is not None and search.best is not None:
                    _write(study.out / BEST_FILE, best_text(study, search))
    return report


def _write(path: Path, text: str) -> None:
    write_file(path, lambda file: file.write(text.encode()))


def _errors_of_before(folder: Path) -> dict[str, str]:
    """Returns why runs failed the last time, by their folders."""
    path = folder / ERRORS_FILE
    if not path.is_file():
        return {}
    errors: dict[str, str] = parse_json(read_text(path, "file", "one that 'shunter study' has written"), str(path))
    return errors
