"""What a run wrote down as it went on, by column."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.agents.training.progress_log import CSV_FILE, STEPS
from shunter.comparison.rows import COMPARISON
from shunter.errors import InputError
from shunter.metrics.labels import counted
from shunter.metrics.run_folder import MANIFEST, SCHEDULE, read_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

IS_BEST: Final = "validation/is_best"
"""The figure that is 1 where a policy became the best."""
SEED_FOLDER: Final = "seed-"
"""How the folders of runs that differ in their seeds begin."""
BOUNDS_MISSED: Final = "validation/bounds_missed"


@dataclass(frozen=True)
class Curves:
    """What a run wrote down, by column; NaN where a row has nothing."""

    name: str
    columns: dict[str, NDArray[np.float64]]
    seeds: tuple[Curves, ...] = ()
    """The runs whose means these are; none: it is one run."""

    def of(self, column: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns the steps at which there is a value, and the values."""
        values = self.columns.get(column)
        if values is None:
            return np.empty(0), np.empty(0)
        known = np.isfinite(values)
        return self.columns[STEPS][known], values[known]

    def range_of(self, column: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Returns the steps at which there is a value, and the least and the largest of all seeds there."""
        steps, _ = self.of(column)
        known = (run.of(column) for run in self.seeds)
        values = [own[np.isin(at, steps)] for at, own in known]
        return steps, np.min(values, axis=0), np.max(values, axis=0)

    @property
    def missed(self) -> set[float]:
        """The steps at which validation missed a bound."""
        return set(self.where(BOUNDS_MISSED).tolist())

    def where(self, column: str) -> NDArray[np.float64]:
        """Returns the steps at which a value is above 0."""
        steps, values = self.of(column)
        return steps[values > 0]


def read_curves(folder: Path) -> Curves:
    """Returns what a run wrote down, or the means of what the runs of several seeds wrote down.

    Raises:
        InputError: There is no run, or its file cannot be read.
    """
    if not (folder / CSV_FILE).exists():
        runs = sorted(folder.glob(f"{SEED_FOLDER}*/{CSV_FILE}"), key=lambda path: (len(path.parent.name), path))
        if runs:
            return mean_curves(folder.resolve().name, [_read_run(path.parent) for path in runs])
    return _read_run(folder)


def mean_curves(name: str, runs: Sequence[Curves]) -> Curves:
    """Returns the means of runs that differ in their seeds, at the steps that all of them have.

    Args:
        name: What they are called together.
        runs: At least one.
    """
    steps = reduce(np.intersect1d, [run.columns[STEPS] for run in runs])
    places = [np.searchsorted(run.columns[STEPS], steps) for run in runs]
    # Which of a run's policies became its best has no mean.
    shared = [column for column in runs[0].columns if all(column in run.columns for run in runs) and column != IS_BEST]
    # NaN where a seed has none: a mean over other seeds at each step would jump as they come and go.
    columns = {
        column: _mean(column, [run.columns[column][place] for run, place in zip(runs, places, strict=True)])
        for column in shared
    }
    return Curves(f"{name}, {counted(len(runs), 'seed')}", columns, tuple(runs))


def _mean(column: str, values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Returns the mean over runs; of ratios the geometric one, as tables have it: one bad run hides nothing."""
    if not column.endswith("ratio"):
        return np.asarray(np.mean(values, axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.exp(np.mean(np.log(values), axis=0)))


def _read_run(folder: Path) -> Curves:
    path = folder / CSV_FILE
    if not path.exists():
        _check_no_other_run(folder)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: cannot be read ({reason}); give the folder of a run of 'shunter train'") from None
    if not rows or STEPS not in rows[0]:
        raise InputError(f"{path}: has no rows with steps; give the folder of a run that has begun")
    try:
        # An update that was not validated has empty cells.
        columns = {name: np.array([float(row[name] or "nan") for row in rows]) for name in rows[0]}
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: a value is not a number ({error}); mend the file") from None
    return Curves(folder.resolve().name, columns)


def _check_no_other_run(folder: Path) -> None:
    """Raises an error that says what draws the folder of a simulation or a comparison: nothing was learned there."""
    if not (folder / MANIFEST).is_file():
        return
    if (folder / SCHEDULE).is_file():
        given = read_manifest(folder)["arguments"].get("given", {})
        draw = shlex.join(["shunter", "simulate", *_words(given), "--plot", str(folder / "schedule.png")])
        what = f"a run of 'shunter simulate', which has no learning curves; to draw its schedule: {draw}"
    elif (folder / f"{COMPARISON}.parquet").is_file():
        what = "a comparison, which has no learning curves; to draw it, give compare or evaluate --plot FILE"
    else:
        return
    raise InputError(f"{folder}: {what}")


def _words(given: Mapping[str, Any]) -> Iterator[str]:
    """Yields the words of the command line that gave these options; what wrote or printed something is left out."""
    yield str(given.get("workload", "LOG"))
    for name, value in given.items():
        if name in ("workload", "out", "force", "plot", "json") or value is False:
            continue
        option = f"--{'map' if name == 'columns' else name.replace('_', '-')}"
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        yield from [option] if value is True else [option, text]
