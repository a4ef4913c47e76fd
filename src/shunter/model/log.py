"""What belongs to a log besides its jobs: the cluster it is replayed on, the places of its jobs, and all repairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload

FROM_WORKLOAD = "the workload"
"""What told the cluster where nobody named one."""

Locate = Callable[[int], str]
"""Names the place of a row (counted from 0, or as its source counts) in its source: ``jobs.csv:12``."""


@dataclass(frozen=True)
class LedgerEntry:
    """One kind of repair or stand-in."""

    rule: str
    """What was done, as a short sentence: ``run time 0 s: job dropped``."""
    count: int
    """For how many jobs."""
    example: str
    """The first place where it was done: ``line 812: run time 0``."""
    mistake: bool = field(default=True, compare=False)
    """Whether the source was wrong; what is only left out, such as lines of another kind, is no mistake."""


@dataclass(frozen=True)
class Ledger:
    """All repairs and stand-ins behind a workload or a result, in the order in which they were made."""

    entries: tuple[LedgerEntry, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entries)

    def plus(self, rule: str, count: int, example: str, *, mistake: bool = True) -> Ledger:
        """Returns this ledger with a repair added, to the entry of the same rule if there is one; 0 adds nothing."""
        if not count:
            return self
        for place, entry in enumerate(self.entries):
            if entry.rule == rule:
                # The first example stays: it is the one nearest to the top of the file.
                grown = LedgerEntry(rule, entry.count + count, entry.example, entry.mistake)
                return Ledger((*self.entries[:place], grown, *self.entries[place + 1 :]))
        return Ledger((*self.entries, LedgerEntry(rule, count, example, mistake)))

    def to_json(self) -> list[dict[str, str | int]]:
        """Returns the entries as plain objects."""
        return [{"rule": entry.rule, "count": entry.count, "example": entry.example} for entry in self.entries]


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
        # Polars raises an error when it looks for text in a column of numbers.
        if isinstance(job_id, str) != (not self.ids.dtype.is_integer()):
            return None
        row = self.ids.index_of(job_id)
        return None if row is None else self.locate(self.lines[row])


@dataclass(frozen=True)
class Log:
    """A log and the cluster that it is replayed on."""

    workload: Workload
    cluster: Cluster
    cluster_from: str = "--cluster"
    """What told the cluster: `FROM_WORKLOAD`, or an option."""
    load: float | None = None
    """The load that the arrivals were scaled to; None: they are as they were."""
    cluster_word: str | None = None
    """What names the cluster on a command line, as the user did; None: nobody named it, or it was made in Python."""

    @property
    def words(self) -> list[str]:
        """What names the log and its cluster on a command line; in capitals what the user has to name."""
        cluster = [] if self.cluster_from == FROM_WORKLOAD else ["--cluster", self.cluster_word or "CLUSTER"]
        load = [] if self.load is None else ["--load", f"{self.load:.15g}"]
        return [*(self.workload.words or ["LOG"]), *cluster, *load]
