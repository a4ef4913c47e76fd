"""A job that somebody thinks of submitting, and what else it could ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from shunter.checks import number
from shunter.errors import InputError
from shunter.model.workload import CORES_LIMIT, DURATION_LIMIT_S

SMALLER: Final = (2, 4)
"""By what the time and the size of such a job are divided, to see what that gains."""


@dataclass(frozen=True)
class AskedJob:
    """A job that somebody thinks of submitting now."""

    time_s: float
    """The time that it asks for."""
    cores: float = 1.0
    """Over all nodes."""
    nodes: int | None = None
    """On so many nodes, evenly; None: wherever cores are free, or on one node if it has GPUs or memory."""
    gpus: float = 0.0
    memory_mb: float | None = None
    """Over all nodes."""
    user: str | None = None
    partition: str | None = None

    def __post_init__(self) -> None:
        """Checks the numbers.

        Raises:
            InputError: One cannot be.
        """
        number("time", self.time_s, 0, DURATION_LIMIT_S, above=True, unit="seconds")
        number("cores", self.cores, 0, CORES_LIMIT)
        number("gpus", self.gpus, 0, CORES_LIMIT)
        if not self.cores and not self.gpus:
            raise InputError("cores is 0, and so is gpus; a new job needs one of them")
        if self.nodes is not None:
            number("nodes", self.nodes, 1, CORES_LIMIT)
        if self.memory_mb is not None:
            number("memory", self.memory_mb, 0, 1e15, unit="MB")

    @property
    def tasks(self) -> int:
        """In how many equal parts it may be placed."""
        if self.nodes is not None:
            return self.nodes
        is_free = not self.gpus and self.memory_mb is None and float(self.cores).is_integer() and self.cores >= 1
        return int(self.cores) if is_free else 1

    def row(self) -> dict[str, Any]:
        """Returns the job as a row of a table, without its id and its submit time."""
        return {
            "run_s": 0.0,
            "requested_s": float(self.time_s),
            "tasks": self.tasks,
            "cores_per_task": self.cores / self.tasks,
            "gpus_per_task": self.gpus / self.tasks,
            "memory_mb_per_task": None if self.memory_mb is None else self.memory_mb / self.tasks,
            "user": self.user,
            "partition": self.partition,
        }

    def smaller(self) -> dict[str, AskedJob]:
        """Returns what else could be asked for: half and a quarter of the time, and of the size."""
        found = {}
        for part in SMALLER:
            found[f"time / {part}"] = replace(self, time_s=self.time_s / part)
        for part in SMALLER:
            # Whole parts alone: nobody asks for half a node.
            if self.nodes is not None and self.nodes % part == 0:
                found[f"size / {part}"] = replace(
                    self,
                    nodes=self.nodes // part,
                    cores=self.cores / part,
                    gpus=self.gpus / part,
                    memory_mb=None if self.memory_mb is None else self.memory_mb / part,
                )
            elif self.nodes is None and self.cores % part == 0 and self.gpus % part == 0:
                memory_mb = None if self.memory_mb is None else self.memory_mb / part
                smaller = replace(self, cores=self.cores / part, gpus=self.gpus / part, memory_mb=memory_mb)
                found[f"size / {part}"] = smaller
        return found
