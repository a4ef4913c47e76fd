"""The diary of a training: a CSV file and TensorBoard's events."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from shunter.errors import InputError
from shunter.files import write_file

if TYPE_CHECKING:
    from pathlib import Path

STEPS: Final = "steps"
CSV_FILE: Final = "progress.csv"
TENSORBOARD_FOLDER: Final = "tensorboard"
USUAL_TAGS: Final = {
    "return": "rollout/ep_rew_mean",
    "episode/steps": "rollout/ep_len_mean",
    "steps_per_s": "time/fps",
    "loss": "train/loss",
    "policy_loss": "train/policy_gradient_loss",
    "value_loss": "train/value_loss",
    "approximate_kl": "train/approx_kl",
    "clip_share": "train/clip_fraction",
    "explained_variance": "train/explained_variance",
    "learning_rate": "train/learning_rate",
}
"""Our figures whose tags in TensorBoard are those of Stable-Baselines3: curves of both lie on each other."""
NEGATED_TAGS: Final = {"entropy": "train/entropy_loss"}
"""Those that Stable-Baselines3 writes with the opposite sign, beside ours."""


class ProgressLog:
    """Writes a row for each update. A figure that an update does not have stays empty."""

    def __init__(self, folder: Path, resumed_at: int | None = None) -> None:
        """Begins a diary, or goes on with one.

        Args:
            folder: Of the run.
            resumed_at: The steps that the resumed checkpoint had seen: what was written of later ones is dropped.
        """
        from torch.utils.tensorboard import SummaryWriter

        self._path = folder / CSV_FILE
        self._columns: list[str] = []
        rows: list[dict[str, str]] = []
        if resumed_at is not None and self._path.is_file():
            # A row that was cut short is one of a later step.
            rows = [row for row in self._read() if None not in row.values() and int(row[STEPS]) <= resumed_at]
        self._columns = list(rows[0]) if rows else []
        self._rewrite(rows)
        purge = None if resumed_at is None else resumed_at + 1
        self._events = SummaryWriter(str(folder / TENSORBOARD_FOLDER), purge_step=purge)

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
        for name, value in figures.items():
            # The CSV file holds NaN; a curve has no place for it.
            if math.isfinite(value):
                self._events.add_scalar(USUAL_TAGS.get(name, name), value, steps)
                if name in NEGATED_TAGS:
                    self._events.add_scalar(NEGATED_TAGS[name], -value, steps)

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
