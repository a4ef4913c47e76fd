"""One training as the task of an engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shunter.agents.training.request import TrainRequest
from shunter.agents.training.train import run_request
from shunter.errors import ShunterError


@dataclass(frozen=True)
class RunTask:
    """One training as an engine takes it; its folder is all that it writes to."""

    name: str
    """What lines call it."""
    request: TrainRequest
    trust: bool = False
    judge: bool = True
    """False: the days of the report stay unseen."""

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self.request.folder()


def train_task(task: RunTask) -> dict[str, Any]:
    """Trains in a process of an engine; returns what ``shunter train --json`` prints.

    Raises:
        ShunterError: The training cannot be, has diverged, or was interrupted.
    """
    training = run_request(task.request, trust=task.trust, judge=task.judge)
    if training.is_interrupted:
        raise ShunterError("was interrupted; run the same command again to go on")
    return training.result()


def with_threads(request: TrainRequest, threads: int) -> TrainRequest:
    """Returns the same request with another number of threads."""
    training = {**request.changes.get("training", {}), "threads": threads}
    return replace(request, changes={**request.changes, "training": training})
