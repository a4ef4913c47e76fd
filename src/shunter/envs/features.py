"""Features of the user's own: a number for each job in the window, from what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.checks import check_name
from shunter.envs.layout import JOB_FEATURES
from shunter.envs.registry import Registry
from shunter.errors import InputError
from shunter.model.workload import COLUMNS
from shunter.simulation.core_inputs import numbers, user_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.workload import Workload

KNOWN_COLUMNS: Final = tuple(
    name for name in COLUMNS if name not in ("job_id", "run_s", "status", "logged_wait_s")
)  # fmt: skip
"""What is known of a job while it waits: how long it will run, and how it will end, is not."""

HOUR_S: Final = 3600.0
DAY_S: Final = 24 * HOUR_S


class JobColumns:
    """The columns of all tables of jobs, one after the other; each is made when it is first asked for."""

    def __init__(self, workloads: Sequence[Workload]) -> None:
        self._workloads = workloads
        self._made: dict[str, NDArray[np.float64]] = {}

    def column(self, name: str) -> NDArray[np.float64]:
        """Returns a column; text is numbered, and −1 where the log does not say; a number is NaN there."""
        # A column of a log of millions of jobs is made once, not at every step.
        if name not in self._made:
            check_name("column", name, KNOWN_COLUMNS)
            joined = pl.concat([workload.jobs[name] for workload in self._workloads])
            text = joined.dtype == pl.String
            self._made[name] = user_numbers(joined).astype(np.float64) if text else numbers(joined)
        return self._made[name]


class JobView:
    """What is known of the jobs in the window; arrays have the shape (environments, rows)."""

    def __init__(self, columns: JobColumns, places: NDArray[np.int64], now_s: NDArray[np.float64]) -> None:
        """Looks at some jobs.

        Args:
            columns: Of all tables.
            places: Of the jobs in them; −1 where a row is empty.
            now_s: (environments, 1): the clock.
        """
        self._columns = columns
        # Empty rows look at job 0: any job will do, since `present` masks them later.
        self._places = np.maximum(places, 0)
        self.present = places >= 0
        """Which rows hold a job; what other rows hold does not matter."""
        self.now_s = now_s
        """(environments, 1)"""

    def column(self, name: str) -> NDArray[np.float64]:
        """Returns a column of the workload by its name: numbers, NaN where the log does not say; text is numbered."""
        return self._columns.column(name)[self._places]

    @cached_property
    def submit_s(self) -> NDArray[np.float64]:
        """When the job was submitted."""
        return self.column("submit_s")

    @property
    def submit_hour(self) -> NDArray[np.float64]:
        """The hour of the day (UTC) at which the job was submitted, from 0 to below 24."""
        return (self.submit_s % DAY_S) / HOUR_S

    @property
    def wait_s(self) -> NDArray[np.float64]:
        """How long the job has waited."""
        return self.now_s - self.submit_s

    @property
    def requested_s(self) -> NDArray[np.float64]:
        """The requested time; NaN where the log has none."""
        return self.column("requested_s")

    @property
    def tasks(self) -> NDArray[np.float64]:
        """How many tasks the job has."""
        return self.column("tasks")

    @property
    def cores(self) -> NDArray[np.float64]:
        """The cores of all tasks."""
        return self.tasks * self.column("cores_per_task")

    @property
    def gpus(self) -> NDArray[np.float64]:
        """The GPUs of all tasks."""
        return self.tasks * self.column("gpus_per_task")

    @property
    def memory_mb(self) -> NDArray[np.float64]:
        """The memory of all tasks; NaN where the log does not say."""
        return self.tasks * self.column("memory_mb_per_task")

    @property
    def priority(self) -> NDArray[np.float64]:
        """The log's priority; NaN where it has none."""
        return self.column("priority")

    @property
    def user(self) -> NDArray[np.float64]:
        """The user's number; −1 where the log has none."""
        return self.column("user")


Feature = Callable[[JobView], Any]
"""Returns a number from 0 to 1 for each row of each environment."""

_OWN: Final = Registry[Feature]("feature", JOB_FEATURES)


def register_feature(name: str) -> Callable[[Feature], Feature]:
    """Returns a decorator that makes a function a feature of this name; it replaces one of the same name.

    Raises:
        InputError: It is no name, or one of Shunter's own has it.
    """
    return _OWN.decorator(name)


def own_features(names: Sequence[str]) -> dict[str, Feature]:
    """Returns the functions of these features.

    Raises:
        InputError: One is not registered.
    """
    for name in names:
        if name not in _OWN:
            known = ", ".join(_OWN) or "none"
            raise InputError(
                f"feature {name!r} is not registered ({known} so far); import what calls register_feature({name!r})"
            )
    return {name: _OWN[name] for name in names}


def write_features(features: Mapping[str, Feature], view: JobView, rows: NDArray[np.float32]) -> None:
    """Writes features of the user's own into the last columns of rows, (environments, rows, columns)."""
    for column, (name, feature) in enumerate(features.items(), start=-len(features)):
        rows[..., column] = values(name, feature, view)


def values(name: str, feature: Feature, view: JobView) -> NDArray[np.float32]:
    """Returns what a feature gives for the jobs in the window, checked; 0 in empty rows."""
    given = np.asarray(feature(view), dtype=np.float32)
    if given.shape != view.present.shape:
        raise InputError(f"feature {name!r} gave shape {given.shape}; expected {view.present.shape}, one for each row")
    # Written so that NaN counts as outside too.
    outside = view.present & ~((given >= 0) & (given <= 1))
    if outside.any():
        raise InputError(f"feature {name!r} gave {given[outside][0]}; expected numbers from 0 to 1")
    return np.where(view.present, given, np.float32(0))
