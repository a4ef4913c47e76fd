"""Pages of what commands have written: what a folder is, by the files in it, and the page that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from shunter.agents.training.curves import SEED_FOLDER, Curves, read_curves
from shunter.agents.training.progress_log import CSV_FILE
from shunter.agents.training.request import RESULT_FILE
from shunter.comparison.roles import CHOSEN
from shunter.comparison.rows import COMPARISON, COMPARISON_JSON
from shunter.errors import InputError
from shunter.files import parse_json
from shunter.metrics.labels import counted
from shunter.metrics.run_folder import CALIBRATION, MANIFEST, SCHEDULE
from shunter.parquet import read_parquet
from shunter.report.learning_columns import RATIO
from shunter.report.page.calibrations import calibration_sections, calibration_summary
from shunter.report.page.comparisons import comparison_sections, comparison_summary
from shunter.report.page.learning import (
    learning_sections,
    seeds_sections,
    standings_sections,
    study_sections,
    training_summary,
    tuning_summary,
)
from shunter.report.page.log import log_section
from shunter.report.page.parts import Beside, Commands, Details, Page, Part, Section, Summary
from shunter.report.page.provenance import command_of, provenance_section
from shunter.report.page.runs import ShownRun, log_of_run
from shunter.report.page.schedules import runs_summary, schedule_sections
from shunter.report.page.words import metric_words
from shunter.studies.plan import RUNS
from shunter.studies.seeds import SEEDS_FILE
from shunter.studies.study import STUDY_FILE

WAITS = "waits.parquet"
MOST_CURVES: Final = 7
"""So many variants of a study have learning curves."""
_WITH_PATHS: Final = ("arguments", "files", "workload", "cluster")
"""What of a manifest tells where files lie."""
_WRONG: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, pl.exceptions.PolarsError)
"""What comes of files that were changed by hand, or are damaged."""


@dataclass(frozen=True)
class Kind:
    """A kind of folder of which there are pages."""

    name: str
    """As the page and errors have it."""
    written_by: str
    """The command that writes such folders."""
    is_one: Callable[[Path], bool]
    page: Callable[[Sequence[Path], bool], Page]
    """Makes the page of one folder, or of several; the second argument says whether users become numbers."""
    takes_several: bool = False


def find_kind(folder: Path, kinds: Sequence[Kind]) -> Kind:
    """Returns what a folder is.

    Raises:
        InputError: There is no such folder, or nothing that a page can be made of.
    """
    if not folder.exists():
        raise InputError(f"{folder}: no such folder; check the path")
    found = next((kind for kind in kinds if kind.is_one(folder)), None)
    if found is None:
        accepted = ", ".join(kind.written_by for kind in kinds)
        raise InputError(
            f"{folder}: nothing here that a report can be made of; give what one of these wrote: {accepted}"
        )
    return found


def page_of(folders: Sequence[Path], kinds: Sequence[Kind], anonymous: bool = False) -> Page:
    """Returns the page of a folder, or of several of one kind side by side.

    Args:
        folders: At least one.
        kinds: Which there are.
        anonymous: Whether users become numbers.

    Raises:
        InputError: A folder is nothing that a page can be made of, is damaged, or does not go with the others.
    """
    found = [find_kind(folder, kinds) for folder in folders]
    kind = found[0]
    for folder, other in zip(folders, found, strict=True):
        if other is not kind:
            raise InputError(
                f"{folder} is {other.name}, {folders[0]} is {kind.name}; name folders of one kind, or one alone"
            )
    if len(folders) > 1 and not kind.takes_several:
        raise InputError(f"{folders[1]}: a report holds one folder of this kind ({kind.name}); name one")
    try:
        page = kind.page(folders, anonymous)
        return without_commands(page) if anonymous else page
    except InputError:
        raise
    except _WRONG as error:
        where = ", ".join(map(str, folders))
        raise InputError(
            f"{where}: a file is damaged, or of another version ({type(error).__name__}: {error}); write it again"
        ) from error


def without_commands(page: Page) -> Page:
    """Returns a page without commands, in which paths and names stand."""
    sections = tuple(replace(section, parts=_without_commands(section.parts)) for section in page.sections)
    return replace(page, summary=replace(page.summary, steps=_without_commands(page.summary.steps)), sections=sections)


def _without_commands(parts: Sequence[Part]) -> tuple[Part, ...]:
    kept = [part for part in parts if not isinstance(part, Commands)]
    return tuple(
        replace(part, parts=_without_commands(part.parts)) if isinstance(part, Details | Beside) else part
        for part in kept
    )


def read_object(path: Path) -> dict[str, Any]:
    """Returns the JSON object that a file holds.

    Raises:
        InputError: It cannot be read, or holds no object.
    """
    try:
        found = parse_json(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); take another copy") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: expected a JSON object; take another copy")
    return found


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    return read_object(path) if path.is_file() else {}


def _provenance(folder: Path, verb: str, result: dict[str, Any], anonymous: bool) -> Section:
    manifest = _manifest(folder) or result
    if anonymous:
        manifest = {name: value for name, value in manifest.items() if name not in _WITH_PATHS}
    commands = [command_of(verb, manifest)] if manifest.get("arguments", {}).get("given") else []
    return provenance_section({folder.resolve().name: manifest}, commands)


def _runs(folders: Sequence[Path], anonymous: bool) -> Page:
    runs = [ShownRun.read(folder) for folder in folders]
    if anonymous:
        runs = [run.anonymous() for run in runs]
    manifests = {folder.resolve().name: run.manifest for folder, run in zip(folders, runs, strict=True)}
    commands = [] if anonymous else [command_of("simulate", run.manifest) for run in runs]
    sections = (log_section(log_of_run(runs[0])), *schedule_sections(runs), provenance_section(manifests, commands))
    return Page(runs[0].workload, "run" if len(runs) == 1 else "runs", runs_summary(runs), sections)


def _comparison(folders: Sequence[Path], anonymous: bool) -> Page:
    folder = folders[0]
    path = folder / COMPARISON_JSON
    if not path.is_file():
        raise InputError(
            f"{folder}: has no {COMPARISON_JSON}, for an earlier version wrote it; compare again with --out"
        )
    result = read_object(path)
    kind = "evaluation" if "judged" in result else "comparison"
    verb = "evaluate" if kind == "evaluation" else "compare"
    sections = (*comparison_sections(result), _provenance(folder, verb, result, anonymous))
    return Page(f"{result['workload']} on {result['cluster']}", kind, comparison_summary(result), sections)


def _calibration(folders: Sequence[Path], anonymous: bool) -> Page:
    folder = folders[0]
    result = read_object(folder / CALIBRATION)
    path = folder / WAITS
    waits = read_parquet(path.read_bytes(), str(path))[0] if path.is_file() else None
    sections = (*calibration_sections(result, waits), _provenance(folder, "calibrate", result, anonymous))
    return Page(f"{result['workload']} on {result['cluster']}", "calibration", calibration_summary(result), sections)


def _trainings(folders: Sequence[Path], anonymous: bool) -> Page:
    curves = [read_curves(folder) for folder in folders]
    names = ", ".join(folder.resolve().name for folder in folders)
    results = [read_object(folder / RESULT_FILE) if (folder / RESULT_FILE).is_file() else {} for folder in folders]
    if len(folders) == 1:
        (result,) = results
        own = standings_sections(result) if result else ()
        summary = training_summary(names, result)
        about = {names: {"version": result.get("version"), "arguments": {} if anonymous else result.get("config", {})}}
        return Page(names, "training", summary, (*learning_sections(curves), *own, provenance_section(about)))
    summary = Summary(
        f"{counted(len(folders), 'training')} side by side: {names}.", tuple(_best_of(one) for one in curves)
    )
    return Page(names, "trainings", summary, learning_sections(curves))


def _best_of(curves: Curves) -> str:
    _, ratio = curves.of(RATIO)
    return (
        f"{curves.name}: best ratio in validation {ratio.min():.3f}."
        if len(ratio)
        else f"{curves.name}: not validated yet."
    )


def _seeds(folders: Sequence[Path], anonymous: bool) -> Page:
    folder = folders[0]
    result = read_object(folder / SEEDS_FILE)
    done = sum(one["status"] == "done" for one in result["seeds"])
    headline = f"{folder.resolve().name}: {done} of {counted(len(result['seeds']), 'seed')} ended."
    sections = (*seeds_sections(result), *learning_sections([read_curves(folder)]))
    return Page(
        folder.resolve().name,
        "training with seeds",
        Summary(headline, tuple(map(str, result.get("notes", ())))),
        sections,
    )


def _study(folders: Sequence[Path], anonymous: bool) -> Page:
    folder = folders[0]
    result = read_object(folder / STUDY_FILE)
    done = sum(one["status"] == "done" for one in result["runs"])
    known = [row for row in result["rows"] if (row["ratio"].get(CHOSEN) or {}).get("value") is not None]
    headline = f"Study {result['study']}: {done} of {counted(len(result['runs']), 'run')} ended."
    if known:
        best = min(known, key=lambda row: float(row["ratio"][CHOSEN]["value"]))
        ratio = f"{best['ratio'][CHOSEN]['value']:.3g} times the classic's {metric_words(str(result['objectives'][0]))}"
        headline = f"{headline[:-1]}; the least is {best['variant']} on {best['log']}: {ratio}."
    places = [folder / RUNS / row["variant"] / row["log"] for row in result["rows"]][:MOST_CURVES]
    curves = [
        replace(read_curves(place), name=f"{place.parent.name}, {place.name}") for place in places if _has_curves(place)
    ]
    notes = tuple(map(str, result.get("notes", ())))
    sections = (*study_sections(result), *learning_sections(curves))
    return Page(str(result["study"]), "study", Summary(headline, notes), sections)


def _has_curves(folder: Path) -> bool:
    return any(folder.glob(f"{SEED_FOLDER}*/{CSV_FILE}"))


def _printed(files: Sequence[Path], anonymous: bool) -> Page:
    """Returns the page of what ``--json`` has printed."""
    result = read_object(files[0])
    if "combinations" in result:
        kind, summary, sections = "comparison", comparison_summary(result), comparison_sections(result)
    elif "agreement" in result:
        kind, summary, sections = "calibration", calibration_summary(result), calibration_sections(result)
    elif {"objective", "logs", "training"} <= result.keys():
        kind, summary, sections = "tuning", tuning_summary(result), standings_sections(result)
    else:
        raise InputError(f"{files[0]}: expected what compare, evaluate, calibrate or tune prints with --json")
    name = str(result.get("workload") or ", ".join(str(log["workload"]) for log in result["logs"]))
    return Page(name, kind, summary, (*sections, provenance_section({files[0].name: {} if anonymous else result})))


def _has(*names: str) -> Callable[[Path], bool]:
    return lambda folder: any((folder / name).is_file() for name in names)


def _has_seeds(folder: Path) -> bool:
    return (folder / SEEDS_FILE).is_file() and _has_curves(folder)


KINDS: Final = (
    Kind("a calibration", "calibrate --out", _has(CALIBRATION), _calibration),
    Kind("a comparison", "compare --out, evaluate --out", _has(COMPARISON_JSON, f"{COMPARISON}.parquet"), _comparison),
    Kind("a run", "simulate --out", _has(SCHEDULE), _runs, takes_several=True),
    Kind("a training", "train --out", _has(CSV_FILE), _trainings, takes_several=True),
    Kind("a training with several seeds", "train --seeds", _has_seeds, _seeds),
    Kind("a study", "study --out", _has(STUDY_FILE), _study),
    Kind("a result", "compare, evaluate, calibrate or tune --json", lambda path: path.suffix == ".json", _printed),
)
"""The kinds of folders that this layer knows; the first that fits counts."""
