"""Start times that were predicted in operation, and what came of them: how far the intervals hold what they say."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.errors import InputError
from shunter.execution.operating.folder import write_private
from shunter.execution.operating.picture import Picture
from shunter.execution.operating.site import Site, SiteJob, State
from shunter.files import parse_json
from shunter.metrics.labels import brief_seconds, counted, percent
from shunter.model.state import State as QueueState
from shunter.simulation.eta import eta_of
from shunter.simulation.foresight import Foresight

if TYPE_CHECKING:
    from shunter.policies.scheduler import Scheduler

KIND: Final = "eta"
"""What its lines of the audit are called."""
SCHEMA: Final = 1
"""Of the file."""
MOST_JOBS: Final = 5_000
"""With more jobs in the queue nothing is predicted."""
MOST_OPEN: Final = 10_000
"""With more open predictions, jobs that have one already get no other."""
MOST_SCORED: Final = 5_000
"""Calibration is over the latest of those that have been scored."""
NEAR_S: Final = 60.0
"""A start that misses its interval by less counts as inside, as in benchmarks/eta.py."""
HORIZON_S: Final = Foresight().horizon_days * 86_400


@dataclass(frozen=True)
class Prediction:
    """When a job was predicted to start, in seconds since 1970."""

    job: int
    made_s: float
    low_s: float
    median_s: float
    high_s: float
    """The ends of the 80 % interval; what lies beyond the horizon counts as if it were there."""

    def row(self) -> list[float]:
        """Returns it as files tell it."""
        return [self.job, *(round(one, 1) for one in (self.made_s, self.low_s, self.median_s, self.high_s))]

    @classmethod
    def of(cls, row: Iterable[Any]) -> Prediction:
        """Returns what `row` has written."""
        job, *times = row
        return cls(int(job), *map(float, times))


@dataclass(frozen=True)
class Score:
    """A prediction, and when the job really started."""

    prediction: Prediction
    start_s: float

    @property
    def side(self) -> int:
        """Whether the start was inside the interval (0), before it (-1) or after it (1)."""
        if self.start_s < self.prediction.low_s - NEAR_S:
            return -1
        beyond = self.prediction.high_s >= self.prediction.made_s + HORIZON_S
        return int(not beyond and self.start_s > self.prediction.high_s + NEAR_S)


def predict(picture: Picture, scheduler: Scheduler) -> list[Prediction]:
    """Returns when those that wait will start, under the site's own policy.

    Raises:
        InputError: There are too many, or the reading contradicts itself.
    """
    if len(picture.candidates) > MOST_JOBS:
        raise InputError(f"{len(picture.candidates):,} jobs wait, more than {MOST_JOBS:,}; nothing is predicted")
    # One thread: the other cores belong to whoever works here.
    times = eta_of(QueueState(picture.workload, picture.cluster, picture.snapshot), scheduler, threads=1).waiting
    ends = [np.minimum(one, HORIZON_S) + times.now_s for one in (times.low_s, times.median_s, times.high_s)]
    return [
        Prediction(int(job), times.now_s, *(float(one[place]) for one in ends))
        for place, job in enumerate(times.job_ids)
    ]


class Calibration:
    """Remembers predictions, in a file too, and scores them when their jobs start."""

    def __init__(self, path: Path) -> None:
        """Takes over what an earlier process has remembered; a file that cannot be read is begun anew."""
        self._path = path
        self.trouble = ""
        """Why what was remembered is gone; empty: nothing is."""
        self._open: list[Prediction] = []
        self._scores: list[Score] = []
        self.scored = 0
        """How many were scored, with those that are not kept any more."""
        self.left = 0
        """How many will never be: their jobs left the queue without starting."""
        try:
            self._read()
        except (InputError, OSError, AttributeError, KeyError, TypeError, ValueError) as error:
            self.trouble = f"{path}: is begun anew ({error})"

    def add(self, predictions: Iterable[Prediction]) -> int:
        """Remembers predictions; returns how many."""
        has_open = {one.job for one in self._open}
        kept = [one for one in predictions if len(self._open) < MOST_OPEN or one.job not in has_open]
        self._open += kept
        self._write()
        return len(kept)

    def see(self, site: Site) -> list[Score]:
        """Scores the predictions of jobs that have started; forgets those of jobs that have left the queue."""
        if not self._open:
            return []
        jobs = {job.id: job for job in site.jobs}
        still, found = [], []
        for one in self._open:
            job = jobs.get(one.job)
            # A reading may be older than a prediction that was made beside it.
            if (job is not None and job.state == State.PENDING and not job.barrier) or site.now_s < one.made_s:
                still.append(one)
            elif job is not None and _has_started(job, one):
                assert job.start_s is not None
                found.append(Score(one, job.start_s))
            else:
                self.left += 1
        if len(still) == len(self._open):
            return []
        self._open = still
        self._scores = [*self._scores, *found][-MOST_SCORED:]
        self.scored += len(found)
        self._write()
        return found

    def told(self) -> dict[str, Any]:
        """Returns how far the latest predictions held, as status and audit tell it."""
        scores = self._scores
        told: dict[str, Any] = {"open": len(self._open), "scored": self.scored, "left": self.left, "over": len(scores)}
        if not scores:
            return told
        sides = np.array([one.side for one in scores])
        made = [one.prediction for one in scores]
        errors_s = [abs(one.start_s - one.prediction.median_s) for one in scores]
        return told | {
            "jobs": len({one.job for one in made}),
            "times": len({one.made_s for one in made}),
            "inside": float(np.mean(sides == 0)),
            "before": float(np.mean(sides < 0)),
            "after": float(np.mean(sides > 0)),
            "median_error_s": float(np.median(errors_s)),
            "median_width_s": float(np.median([one.high_s - one.low_s for one in made])),
        }

    def _read(self) -> None:
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return
        told = parse_json(text, str(self._path))
        if told["schema"] != SCHEMA:
            raise ValueError("another version has written it")
        opened = [Prediction.of(row) for row in told["open"]]
        scores = [Score(Prediction.of(row), float(start_s)) for start_s, *row in told["scores"]]
        self._open, self._scores = opened[-MOST_OPEN:], scores[-MOST_SCORED:]
        self.scored, self.left = int(told["scored"]), int(told["left"])

    def _write(self) -> None:
        told = {
            "schema": SCHEMA,
            "scored": self.scored,
            "left": self.left,
            "open": [one.row() for one in self._open],
            "scores": [score_row(one) for one in self._scores],
        }
        write_private(self._path, json.dumps(told, separators=(",", ":")).encode() + b"\n")


def score_row(score: Score) -> list[float]:
    """Returns a score as files tell it: the start, and the prediction."""
    return [round(score.start_s, 1), *score.prediction.row()]


def calibration_lines(told: dict[str, Any]) -> list[str]:
    """Returns what people are told of `Calibration.told`."""
    waiting = f"{counted(told['open'], 'prediction')} open, {told['scored']:,} scored, {told['left']:,} left the queue"
    if not told["over"]:
        return [waiting]
    over = f"of the latest {told['over']:,} ({counted(told['jobs'], 'job')}, {counted(told['times'], 'time')})"
    sides = f"{percent(told['before'])} before, {percent(told['after'])} after"
    error, width = brief_seconds(told["median_error_s"]), brief_seconds(told["median_width_s"])
    held = f"{over}, {percent(told['inside'])} started inside the 80 % interval ({sides})"
    return [waiting, held, f"median error {error}, median width {width}"]


def _has_started(job: SiteJob, prediction: Prediction) -> bool:
    """Returns whether a job has started since, or just before: readings are not instants."""
    has_run = job.state == State.RUNNING or job.has_run
    return has_run and job.start_s is not None and job.start_s >= prediction.made_s - NEAR_S
