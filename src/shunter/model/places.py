"""Where jobs stand in the source that they were read from, so that what is said of one can name its line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

Locate = Callable[[int], str]
"""Names the place of a row (counted from 0, or as its source counts) in its source: ``jobs.csv:12``."""


@dataclass(frozen=True)
class Places:
    """The places of all jobs of a source; found by their ids, they hold for every window and part of it."""

    ids: pl.Series
    """The ids of the jobs, in any order."""
    lines: pl.Series
    """Where each stands, as the source counts; in the order of the ids."""
    locate: Locate

    def of(self, job_id: int | str) -> str | None:
        """Returns where a job stands: ``jobs.csv:12``; None for one that the source does not have."""
        if isinstance(job_id, str) != (not self.ids.dtype.is_integer()):
            return None
        row = self.ids.index_of(job_id)
        return None if row is None else self.locate(self.lines[row])
