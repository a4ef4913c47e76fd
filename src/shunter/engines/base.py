"""What every engine does: it runs one function on many tasks, and keeps one task's failure from the others.

An engine that runs tasks elsewhere is one more class with a `map`. So function, tasks and results must be picklable,
a task names the files that it reads and writes, and a task that is begun a second time goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Done(Generic[Result]):
    """What a task returned."""

    value: Result


@dataclass(frozen=True)
class Failed:
    """Why a task returned nothing."""

    reason: str
    """One line for the user."""
    detail: str = ""
    """The traceback, where the reason is a fault of the program."""


Told = Callable[[int, "Done[Result] | Failed"], None]
"""Is called when a task has ended, with its place among the tasks and what came of it."""


class Engine(Protocol):
    """Runs tasks."""

    def map(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], told: Told[Result] | None = None
    ) -> list[Done[Result] | Failed]:
        """Runs a function on each task, and returns what came of each, in the order of the tasks.

        A worker that dies is replaced, and its task is begun again; a task whose workers die again has failed.

        Args:
            function: A function of a module, so that it can be pickled.
            tasks: What it is called with.
            told: Called as each task ends, in the process that called.

        Raises:
            KeyboardInterrupt: The user interrupted; the tasks that ran were asked to stop, and have stopped.
        """
        ...
