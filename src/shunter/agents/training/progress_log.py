"""The diary of a training: a CSV file and TensorBoard's events."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from shunter.agents.training.event_file import EventFile
from shunter.errors import InputError
from shunter.files import write_file

if TYPE_CHECKING:
    from pathlib import Path

STEPS: Final = "steps"
CSV_FILE: Final = "progress.csv"
TENSORBOARD_FOLDER: Final = "tensorboard"


class Tag(NamedTuple):
    """How a curve in TensorBoard is called, and what a figure is multiplied by to be what others call so."""

    name: str
    factor: float = 1.0


TAGS: Final[dict[str, tuple[Tag, ...]]] = {
    "return": (Tag("rollout/ep_rew_mean"), Tag("charts/episodic_return")),
    "episode/steps": (Tag("rollout/ep_len_mean"), Tag("charts/episodic_length")),
    "steps_per_s": (Tag("time/fps"), Tag("charts/SPS")),
    "learning_rate": (Tag("train/learning_rate"), Tag("charts/learning_rate")),
    "loss": (Tag("train/loss"),),
    "policy_loss": (Tag("train/policy_gradient_loss"), Tag("losses/policy_loss")),
    # CleanRL halves the squared error.
    "value_loss": (Tag("train/value_loss"), Tag("losses/value_loss", 0.5)),
    "entropy": (Tag("train/entropy_loss", -1.0), Tag("losses/entropy")),
    "approximate_kl": (Tag("train/approx_kl"), Tag("losses/approx_kl")),
    "clip_share": (Tag("train/clip_fraction"), Tag("losses/clipfrac")),
    "explained_variance": (Tag("train/explained_variance"), Tag("losses/explained_variance")),
}
"""Our figures that Stable-Baselines3 and CleanRL write too, with the tag of each: curves of all lie on each other."""
TAGS_OF_ALGORITHMS: Final[dict[str, dict[str, tuple[Tag, ...]]]] = {
    "d3qn": {
        "loss": (Tag("train/loss"), Tag("losses/td_loss")),
        "q_value": (Tag("losses/q_values"),),
        "exploration": (Tag("rollout/exploration_rate"), Tag("charts/epsilon")),
        "importance_exponent": (Tag("charts/beta"),),
    },
    "sac": {
        "policy_loss": (Tag("train/actor_loss"), Tag("losses/actor_loss")),
        # Ours is the sum over both critics, theirs the mean.
        "critic_loss": (Tag("train/critic_loss", 0.5), Tag("losses/qf_loss", 0.5)),
        "temperature": (Tag("train/ent_coef"), Tag("losses/alpha")),
        "q_value": (Tag("losses/qf1_values"),),
    },
}
"""Those that are called otherwise, or are there at all, with one algorithm only."""


class ProgressLog:
    """Writes a row for each update. A figure that an update does not have stays empty."""

    def __init__(self, folder: Path, algorithm: str, resumed_at: int | None = None) -> None:
        """Begins a diary, or goes on with one.

        Args:
            folder: Of the run.
            algorithm: What learns, by name: some tags depend on it.
            resumed_at: The steps that the resumed checkpoint had seen: what was written of later ones is dropped.
        """
        self._path = folder / CSV_FILE
        self._tags = TAGS | TAGS_OF_ALGORITHMS.get(algorithm, {})
        self._columns: list[str] = []
        rows: list[dict[str, str]] = []
        if resumed_at is not None and self._path.is_file():
            # A row that was cut short is one of a later step.
            rows = [row for row in self._read() if None not in row.values() and int(row[STEPS]) <= resumed_at]
        self._columns = list(rows[0]) if rows else []
        self._rewrite(rows)
        self._events = EventFile(folder / TENSORBOARD_FOLDER, resumed_at)

    def write(self, steps: int, figures: Mapping[str, float]) -> None:
        """Adds a row."""
        row = {STEPS: str(steps), **{name: repr(float(value)) for name, value in figures.items()}}
        fresh = [name for name in row if name not in self._columns]
        # A column that comes later, such as that of the first validation: the file is written anew with it.
        if fresh:
            rows = self._read() if self._columns else []
            self._columns += fresh
            self._rewrite([*rows, row])
        else:
            # Appended and closed at once: whoever looks at the file during a training sees whole rows.
            with self._path.open("a", newline="", encoding="utf-8") as file:
                self._writer(file).writerow(row)
        points = {
            tag.name: tag.factor * value
            for name, value in figures.items()
            for tag in self._tags.get(name, (Tag(name),))
            # The CSV file holds NaN; a curve has no place for it.
            if math.isfinite(value)
        }
        self._events.add(points, steps)

    def flush(self) -> None:
        """Has everything written."""
        self._events.flush()

    def close(self) -> None:
        """Ends the diary."""
        self._events.close()

    def _read(self) -> list[dict[str, str]]:
        with self._path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for line, row in enumerate(rows, start=2):
            if not (row.get(STEPS) or "").isdecimal():
                raise InputError(f"{self._path}, line {line}: has no number of steps; mend the file, or remove it")
        return rows

    def _rewrite(self, rows: list[dict[str, str]]) -> None:
        text = io.StringIO(newline="")
        if self._columns:
            writer = self._writer(text)
            writer.writeheader()
            writer.writerows(rows)
        write_file(self._path, lambda file: file.write(text.getvalue().encode()))

    def _writer(self, file: io.TextIOBase | io.TextIOWrapper | io.StringIO) -> csv.DictWriter[str]:
        return csv.DictWriter(file, self._columns, restval="", lineterminator="\n")
