"""What every engine does: it runs one function on many tasks, and keeps one task's failure from the others.

An engine that runs tasks elsewhere is one more class with these methods. So function, tasks and results must be
picklable, a task names the files that it reads and writes, and a task that is begun a second time goes on where it
stopped.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from shunter.errors import ShunterError

Task = TypeVar("Task")
Result = TypeVar("Result")
Value = TypeVar("Value")
Got = TypeVar("Got", covariant=True)


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


class Shared(Protocol[Got]):
    """Something large that many tasks hold; it is sent to workers once, and not with each task."""

    @property
    def key(self) -> str:
        """The same for the same thing, in all processes; another for any other thing."""
        ...

    def get(self) -> Got:
        """Returns the thing, in whichever process."""
        ...


class Engine(Protocol):
    """Runs tasks."""

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""
        ...

    @property
    def is_here(self) -> bool:
        """Whether workers are surely on this machine, and see its files."""
        ...

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        told: Told[Result] | None = None,
        *,
        alone: bool = True,
    ) -> list[Done[Result] | Failed]:
        """Runs a function on each task, and returns what came of each, in the order of the tasks.

        A worker that dies is replaced, and its task is begun again; a task whose workers die again has failed.

        Args:
            function: A function of a module, so that it can be pickled.
            tasks: What it is called with.
            told: Called as each task ends, in the process that called; what it raises stops everything.
            alone: Whether each task has a fresh process; if not, a process may run one task after the other.

        Raises:
            KeyboardInterrupt: The user interrupted; the tasks that ran were asked to stop, and have stopped.
        """
        ...

    def share(self, value: Value, send: Callable[[Value], Value] | None = None) -> Shared[Value]:
        """Returns what tasks can hold in the place of something large.

        Args:
            value: The thing; asked for again, the same object is not sent again.
            send: Returns what is sent in its place; None: itself.
        """
        ...


def answer(function: Callable[[Any], Any], task: object) -> Done[Any] | Failed:
    """Runs a task where it is to run, and returns what came of it; only an interruption comes through."""
    try:
        return Done(function(task))
    except ShunterError as error:
        return Failed(" ".join(str(error).split("\n")))
    except MemoryError as error:
        return Failed(f"there is not enough memory ({error}); run fewer at a time")
    except OSError as error:
        return Failed(f"{error.filename or 'a file'}: {error.strerror or error}", traceback.format_exc())
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}", traceback.format_exc())
