"""Many trainings on an engine, and what each came to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.agents.training.request import RESULT_FILE
from shunter.comparison.roles import BEGINNING, CHOSEN, LEARNED
from shunter.engines.base import Done, Failed
from shunter.engines.choice import LOCAL, engine_on
from shunter.engines.local import LocalEngine
from shunter.files import parse_json, read_text
from shunter.studies.carrying import Carried, carried, train_carried
from shunter.studies.training_task import RunTask, train_task

if TYPE_CHECKING:
    from shunter.engines.base import Engine

HELD_AGAINST: Final = (CHOSEN, BEGINNING)
"""What learned policies are held against, by role; the first is what tables and aggregates count by."""
DONE, FAILED, MISSING = "done", "failed", "missing"
"""How a run stands."""


@dataclass(frozen=True)
class Ratio:
    """What one training came to on the days of the report: its metric to that of another."""

    ratio: float
    interval: tuple[float, float] | None
    """95 %, over the windows of the report; None: they lie in too few blocks."""

    def to_json(self) -> dict[str, Any]:
        """Returns the ratio as a plain object."""
        low, high = self.interval or (None, None)
        return {"ratio": self.ratio, "low": low, "high": high}


@dataclass(frozen=True)
class Record:
    """How one run stands."""

    task: RunTask
    result: dict[str, Any] | None = None
    """What it came to; None: it has not ended."""
    error: str | None = None
    """Why it failed; None: it did not."""

    @property
    def status(self) -> str:
        """`DONE`, `FAILED` or `MISSING`."""
        return DONE if self.result is not None else MISSING if self.error is None else FAILED

    @property
    def notes(self) -> list[str]:
        """What the training told, but for whether it began or went on."""
        told = [] if self.result is None else self.result["notes"]
        return [note for note in told if not note.startswith(f"{self.task.folder}: ")]

    def ratio(self, against: str) -> Ratio | None:
        """Returns the ratio of the learned policy to another on the days of the report; None: there is none.

        It is the geometric mean over windows, or where some window has none, as where nobody waits, the ratio of means.

        Args:
            against: The role of the other.
        """
        parts = [] if self.result is None else self.result["parts"]
        report = next((part for part in parts if part["part"] == "report"), None)
        if report is None:
            return None
        # Of several logs each counts the same.
        rows = {row["role"]: row for row in report["pooled"] or report["logs"][0]["rows"]}
        found = rows[LEARNED]["against"].get(against)
        if found is None:
            return None
        if not found["ratio"]:
            # Where nobody waits in some window there is no mean of ratios.
            ours, theirs = (rows.get(role, {}).get("mean") for role in (LEARNED, against))
            return Ratio(ours / theirs, None) if ours and theirs else None
        bounds = (found["ratio_low"], found["ratio_high"])
        return Ratio(found["ratio"], None if None in bounds else bounds)

    def score(self, against: str) -> float | None:
        """Returns the natural logarithm of that ratio."""
        found = self.ratio(against)
        return None if found is None else math.log(found.ratio)

    def to_json(self) -> dict[str, Any]:
        """Returns the record as a plain object."""
        ratios = {role: self.ratio(role) for role in HELD_AGAINST}
        result = self.result or {}
        return {
            "run": str(self.task.folder),
            "status": self.status,
            "error": self.error,
            "against": {role: None if one is None else one.to_json() for role, one in ratios.items()},
            "outcome": result.get("outcome"),
            "chosen": result.get("chosen"),
            "version": result.get("version"),
        }


Told = Callable[[Record, int, int], None]
"""Is called when a run has ended, with how many have, and of how many."""


def run_all(tasks: Sequence[RunTask], engine: Engine, told: Told | None = None) -> list[Record]:
    """Runs what is not done, and returns how all runs stand, in the order of the tasks.

    Args:
        tasks: The runs; each has a folder of its own.
        engine: Where they run.
        told: Hears of each run that ends, after those that had ended before.

    Raises:
        KeyboardInterrupt: The user interrupted; runs have been saved.
    """
    records = read_all(tasks)
    places = [place for place, one in enumerate(records) if one.result is None]

    def heard(place: int, outcome: Done[dict[str, Any]] | Failed) -> None:
        own = places[place]
        records[own] = _after(tasks[own], outcome)
        if told is not None:
            told(records[own], sum(one.status != MISSING for one in records), len(tasks))

    left = [tasks[place] for place in places]
    if engine.is_here:
        engine.map(train_task, left, heard)
        return records

    def settled(place: int, outcome: Done[Carried] | Failed) -> None:
        heard(place, outcome if isinstance(outcome, Failed) else Done(outcome.value.settle(left[place].folder)))

    with carried(left, engine) as sent:
        engine.map(train_carried, sent, settled)
    return records


def read_all(tasks: Sequence[RunTask], errors: dict[str, str] | None = None) -> list[Record]:
    """Returns how runs stand, without running any.

    Args:
        tasks: The runs.
        errors: Why runs failed that did, by their folders.
    """
    return [
        Record(task, result=read_result(task.folder))
        if task.request.is_done(task.folder)
        else Record(task, error=(errors or {}).get(str(task.folder)))
        for task in tasks
    ]


def read_result(folder: Path) -> dict[str, Any]:
    """Returns what a training that has ended came to.

    Raises:
        InputError: Its file cannot be read.
    """
    path = folder / RESULT_FILE
    result: dict[str, Any] = parse_json(read_text(path, "result", "a file that 'shunter train' has written"), str(path))
    return result


def _after(task: RunTask, outcome: Done[dict[str, Any]] | Failed) -> Record:
    if isinstance(outcome, Done):
        return Record(task, result=outcome.value)
    return Record(task, error=outcome.reason)


@contextmanager
def training_engine(on: str | Engine, threads: int, runs: int) -> Iterator[tuple[Engine, int]]:
    """Yields where trainings run, and on how many threads each.

    Args:
        on: As `shunter.engines.choice.engine_on` takes it.
        threads: How many cores of this machine may be used.
        runs: How many trainings there are.
    """
    at_once, each = shared_threads(threads, runs)
    # Nothing to train: then nothing is started either.
    with engine_on(on if runs else LOCAL, threads) as engine:
        yield (LocalEngine(at_once), each) if engine is None else (engine, 1)


def shared_threads(threads: int, runs: int) -> tuple[int, int]:
    """Returns how many runs go at a time, and on how many threads each.

    Processes with a thread each use all cores from the first step to the last; the threads of one training wait for
    each other at every update, and for the parts that only one of them does. So threads of a run come last.
    """
    at_once = max(1, min(threads, runs))
    return at_once, max(1, threads // at_once)
