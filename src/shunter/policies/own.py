"""A policy of one's own: a score for each waiting job, in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.simulation.tables import MILLI, numbers, user_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.workload import Workload


@dataclass(frozen=True)
class QueueView:
    """What a policy may see of some jobs at one instant; one value a job in each array."""

    now_s: float
    """The clock, in the log's absolute seconds."""
    free_cores: float
    """Cores that are free now, on all nodes together."""
    total_cores: float
    index: NDArray[np.uint32]
    """Each job's place in the workload."""
    submit_s: NDArray[np.float64]
    estimate_s: NDArray[np.float64]
    """The run time that the chosen estimate tells. It is the true one only if the estimate is `perfect`, or where the
    log has no request and the run time stands in for it (the default, counted in the ledger)."""
    requested_s: NDArray[np.float64]
    """What the user asked for; NaN where the log does not say."""
    tasks: NDArray[np.int64]
    cores: NDArray[np.float64]
    """Over all tasks, as are the next two."""
    memory_mb: NDArray[np.float64]
    """NaN where the log does not say."""
    gpus: NDArray[np.float64]
    priority: NDArray[np.float64]
    """NaN where the log does not say."""
    user: NDArray[np.int64]
    """A number for each user; −1 where the log does not say."""

    @property
    def wait_s(self) -> NDArray[np.float64]:
        """How long each job has waited."""
        return self.now_s - self.submit_s


class Policy(ABC):
    """Decides who is next by a score: the lowest goes first, equal scores go by submit time.

    The core keeps everything else: the dispatch rule, the placement, the starvation guard. So what a policy
    is compared by is its order alone. Derive from this class and write `score`.
    """

    name = "own"
    """What tables call the policy."""
    moves = True
    """Whether the order moves with time. If not, `score` is asked once for all jobs, and all else runs natively."""

    @abstractmethod
    def score(self, queue: QueueView) -> NDArray[np.float64]:
        """Returns one finite number for each job of the queue."""


class Views:
    """Cuts views of a workload's jobs, from columns that are made once."""

    def __init__(self, workload: Workload, estimate_ms: NDArray[np.int64], total_cores: float) -> None:
        jobs = workload.jobs
        tasks = jobs["tasks"].to_numpy()
        self._total_cores = total_cores
        self._columns: dict[str, NDArray[Any]] = {
            "submit_s": numbers(jobs["submit_s"]),
            "estimate_s": estimate_ms / MILLI,
            "requested_s": numbers(jobs["requested_s"]),
            "tasks": tasks,
            "cores": tasks * numbers(jobs["cores_per_task"]),
            "memory_mb": tasks * numbers(jobs["memory_mb_per_task"]),
            "gpus": tasks * numbers(jobs["gpus_per_task"]),
            "priority": numbers(jobs["priority"]),
            "user": user_numbers(jobs["user"]),
        }

    def refresh(self, estimate_ms: NDArray[np.int64]) -> None:
        """Takes over estimates that have changed."""
        self._columns["estimate_s"] = estimate_ms / MILLI

    def of(self, index: NDArray[np.uint32], now_s: float, free_cores: float) -> QueueView:
        """Returns a view of these jobs."""
        columns = {name: column[index] for name, column in self._columns.items()}
        return QueueView(now_s=now_s, free_cores=free_cores, total_cores=self._total_cores, index=index, **columns)
