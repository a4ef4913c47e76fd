"""An engine whose workers have none of the files of this machine."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

from shunter.engines.base import Done, Failed, Result, Task, Told, Value, answer
from shunter.engines.local import Held


class ElsewhereEngine:
    """Runs tasks in this process, one after the other, while a folder is not there."""

    workers = 2
    is_here = False

    def __init__(self, folder: Path) -> None:
        """Takes the folder that only the one who asks has."""
        self.folder = folder
        self.tasks = 0

    def share(self, value: Value, send: Callable[[Value], Value] | None = None) -> Held[Value]:
        """Returns what goes with each task."""
        return Held(str(id(value)), value if send is None else send(value))

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        told: Told[Result] | None = None,
        *,
        alone: bool = True,
    ) -> list[Done[Result] | Failed]:
        """Runs a function on copies of tasks."""
        sent = [pickle.dumps(task) for task in tasks]
        self.tasks += len(sent)
        away = self.folder.with_name(f"{self.folder.name}-away")
        outcomes = []
        for place, task in enumerate(sent):
            self.folder.rename(away)
            try:
                outcome = answer(function, pickle.loads(task))
            finally:
                away.rename(self.folder)
            outcomes.append(outcome)
            if told is not None:
                told(place, outcome)
        return outcomes
