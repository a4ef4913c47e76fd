"""A folder of runs: simulations, comparisons, calibrations, trainings, studies and operations, the newest first."""

from __future__ import annotations

import csv
import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from shunter.advice.kept import STAGES, read_stages
from shunter.agents.training.curves import SEED_FOLDER
from shunter.agents.training.progress_log import CSV_FILE
from shunter.comparison.rows import COMPARISON
from shunter.errors import ShunterError
from shunter.execution.operating.folder import OperationFolder
from shunter.metrics.labels import brief_seconds, counted
from shunter.metrics.run_folder import CALIBRATION, METRICS
from shunter.service.live.panels import Column, Fact, facts, table
from shunter.service.live.sources import Panels, no_questions

REPORT: Final = "report.html"
ADVICE, OPERATION = "an advice", "an operation"
MOST_RUNS: Final = 300
MOST_FOLDERS: Final = 5000
"""So many folders are looked at, at most."""
MOST_DEPTH: Final = 3


class Found(NamedTuple):
    """One run of the folder."""

    path: Path
    name: str
    kind: str
    changed_s: float
    words: str


class RunsSource:
    """One folder in which runs are."""

    kind = "runs"
    period_s = 3.0

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder
        self._known: dict[tuple[Path, float], str] = {}
        self._reports: dict[str, Path] = {}
        """By the name of a run, as of the latest reading."""

    def read(self) -> Panels:
        """Returns the runs, the newest first."""
        found = sorted(self._found(), key=lambda one: -one.changed_s)
        shown = found[:MOST_RUNS]
        columns = [
            Column("Run"),
            Column("What"),
            Column("Changed", "since"),
            Column("What came of it"),
            Column("Report", "report"),
        ]
        self._reports = {one.name: one.path / REPORT for one in shown if _is_report(one.path / REPORT)}
        rows = [
            [one.name, one.kind, one.changed_s, one.words, self._address(one.name) if one.name in self._reports else ""]
            for one in shown
        ]
        counts: dict[str, int] = {}
        for one in found:
            counts[one.kind] = counts.get(one.kind, 0) + 1
        said = [Fact(kind, count, "number") for kind, count in sorted(counts.items())]
        lead = f"Make a report of a run with: shunter report {self._folder.name}/RUN"
        return {
            "facts": facts(f"Runs in {self._folder.name}", said or [Fact("Runs", 0, "number")]),
            "runs": table("Runs", columns, rows, lead, more=len(found) - len(shown)),
        }

    def ask(self, question: Mapping[str, Any]) -> Panels:
        """Refuses: a folder is asked nothing."""
        return no_questions(self)

    def report(self, name: str) -> Path | None:
        """Returns the report of a run that is listed; a name is never taken for a path."""
        return self._reports.get(name)

    def _address(self, name: str) -> str:
        """Returns where the page finds a report, from its place on."""
        return f"reports/{quote(self.name, safe='')}/{quote(name, safe='')}"

    def _found(self) -> list[Found]:
        found, known = [], {}
        for path in _folders(self._folder):
            kind = _kind(path)
            if not kind:
                continue
            key = (path, _changed_s(path))
            known[key] = self._known.get(key) or _words(WORDS_OF[kind], path)
            name = str(path.relative_to(self._folder)) if path != self._folder else path.name
            found.append(Found(path, name, kind.removeprefix("a ").removeprefix("an "), key[1], known[key]))
        # What is gone is forgotten.
        self._known = known
        return found


def _folders(root: Path) -> Iterator[Path]:
    """Yields a folder and those in it. What is inside a run is part of it, and links are not followed.

    Raises:
        OSError: There is no such folder.
    """
    left: deque[tuple[Path, int]] = deque([(root, 0)])
    seen = 0
    while left and seen < MOST_FOLDERS:
        path, depth = left.popleft()
        seen += 1
        yield path
        if depth == MOST_DEPTH or (depth and _kind(path)):
            continue
        try:
            inside = sorted(path.iterdir())
        except OSError:
            if not depth:
                raise
            continue
        left += [(one, depth + 1) for one in inside if one.is_dir() and not one.is_symlink()]


def _kind(path: Path) -> str:
    """Returns what a folder is, as reports call it; nothing if it is none of these."""
    # What makes reports draws figures, too, which takes long to load.
    from shunter.report.page.folders import KINDS

    if OperationFolder(path).status.is_file():
        return OPERATION
    if (path / f"{STAGES[-1]}.json").is_file():
        return ADVICE
    return next((kind.name for kind in KINDS if kind.name in WORDS_OF and kind.is_one(path)), "")


def _changed_s(path: Path) -> float:
    """Returns when a file of a run was written last. A report that was made later does not make a run newer."""
    times = [0.0]
    for file in path.iterdir():
        with suppress(OSError):
            times += [file.stat().st_mtime] if file.name != REPORT else []
    return max(times)


def _is_report(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _words(words_of: Callable[[Path], str], path: Path) -> str:
    """Returns what came of a run; of one that somebody is writing, or that is damaged, nothing."""
    try:
        return words_of(path)
    except (ShunterError, OSError, ValueError, LookupError, TypeError, AttributeError):
        return "not readable yet"


def _of_simulation(path: Path) -> str:
    told = json.loads((path / METRICS).read_text(encoding="utf-8"))
    metrics = told["metrics"]
    wait, slowdown = metrics["mean_wait_s"], metrics["mean_bounded_slowdown"]
    said = "" if wait is None else f": mean wait {brief_seconds(wait)}, slowdown {slowdown:,.1f}"
    return f"{told['policy']}, {told['dispatch']}, {told['jobs']:,} jobs{said}"


def _of_comparison(path: Path) -> str:
    with (path / f"{COMPARISON}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    best = rows[0]
    names = [best[name] for name in ("policy", "dispatch") if best.get(name)]
    return f"{len(rows):,} combinations; the best: {', '.join(names)}"


def _of_calibration(path: Path) -> str:
    told = json.loads((path / CALIBRATION).read_text(encoding="utf-8"))
    return f"{told['policy']}, {told['dispatch']}: {told['verdict']}"


def _of_training(path: Path) -> str:
    with (path / CSV_FILE).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ratios = [float(row["validation/ratio"]) for row in rows if row.get("validation/ratio")]
    best = f"; lowest ratio to the classic {min(ratios):.3f}" if ratios else ""
    return f"{int(rows[-1]['steps']):,} steps{best}"


def _of_seeds(path: Path) -> str:
    return counted(len([*path.glob(f"{SEED_FOLDER}*/{CSV_FILE}")]), "seed")


def _of_study(path: Path) -> str:
    return counted(len([*path.rglob(CSV_FILE)]), "training")


def _of_advice(path: Path) -> str:
    return str(read_stages(path)[STAGES[-1]]["headline"])


def _of_operation(path: Path) -> str:
    told = json.loads(OperationFolder(path).status.read_text(encoding="utf-8"))
    return f"{told['policy']} beside {told['scheduler']}, {told['decisions']:,} decisions, mode {told['mode_word']}"


WORDS_OF: Final[Mapping[str, Callable[[Path], str]]] = {
    "a run": _of_simulation,
    "a comparison": _of_comparison,
    "a calibration": _of_calibration,
    "a training": _of_training,
    "a training with several seeds": _of_seeds,
    "a study": _of_study,
    ADVICE: _of_advice,
    OPERATION: _of_operation,
}
"""What makes a few words of a folder, by what reports call it."""
