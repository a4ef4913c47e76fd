"""What a run wrote down as it went on, by column."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.agents.training.config import FILE_KEYS, file_sections
from shunter.agents.training.progress_log import CSV_FILE, STEPS
from shunter.agents.training.request import CONFIG_FILE
from shunter.comparison.rows import COMPARISON
from shunter.errors import InputError
from shunter.files import read_toml
from shunter.metrics.labels import counted
from shunter.metrics.run_folder import MANIFEST, SCHEDULE, read_manifest
from shunter.policies.native import spec_file

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


def read_bands(folders: Sequence[Path]) -> list[Curves]:
    """Returns what runs wrote down; of those that differ only in their seeds, the means.

    Raises:
        InputError: There is no run, no two differ only in their seeds, or two have the same seed.
    """
    groups: dict[str, dict[object, Path]] = {}
    for folder in folders:
        settings, seed = _settings_of(folder)
        group = groups.setdefault(json.dumps(settings, sort_keys=True), {})
        if seed in group:
            raise InputError(f"--band: {folder} has the settings and the seed of {group[seed]}; leave one of them out")
        group[seed] = folder
    bands = [_band_of(list(group.values())) for group in groups.values()]
    if not any(band.seeds for band in bands):
        raise InputError(
            f"--band: needs runs that differ only in their seeds{_first_difference(list(groups))}; leave it out"
        )
    return bands


def _settings_of(folder: Path) -> tuple[dict[str, Any], object]:
    """Returns what a run was given except its seed, files by what they hold; and its seed."""
    config = folder / CONFIG_FILE
    if not config.is_file():
        # Runs of several seeds, or something else: it stands for itself.
        return {"": {"folder": str(folder.resolve())}}, None
    sections = file_sections(config)
    for section, key in FILE_KEYS:
        file = spec_file(str(sections.get(section, {}).get(key)))
        if file is not None and file.is_file():
            sections[section][key] = read_toml(file)
    training = sections.get("training", {})
    # How many threads compute is no part of what comes out.
    training.pop("threads", None)
    return sections, training.pop("seed", None)


def _band_of(runs: Sequence[Path]) -> Curves:
    """Returns the means of runs that differ only in their seeds, or the one run."""
    if len(runs) == 1:
        return read_curves(runs[0])
    places = [folder.resolve() for folder in runs]
    named_by_seed = all(place.name.startswith(SEED_FOLDER) for place in places)
    # As `shunter train --seeds` calls them; others go by the name of the first.
    name = places[0].parent.name if named_by_seed else places[0].name
    return mean_curves(name, [_read_run(folder) for folder in runs])


def _first_difference(settings: Sequence[str]) -> str:
    """Returns the key in which the first two of some runs differ, as a part of a sentence; nothing for one run."""
    if len(settings) < 2:
        return ""
    one, other = (
        {
            f"{section}.{key}".lstrip("."): value
            for section, table in json.loads(text).items()
            for key, value in table.items()
        }
        for text in settings[:2]
    )
    return f" (the first two differ in {next(key for key in {**one, **other} if one.get(key) != other.get(key))})"


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
