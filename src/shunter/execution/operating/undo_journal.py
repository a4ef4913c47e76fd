"""The journal of what was changed: written and synced before each change, and read for nothing but undoing.

A line is a JSON object. ``set`` tells the job, the knob, the value from before Shunter, and the new one; ``close`` says
that nothing of it is left. A crash between a line and its change leaves a line too many, which undoing finds out by
looking at the present value.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from shunter.errors import InputError
from shunter.execution.operating.folder import OperationFolder, open_private, sync_folder, write_private
from shunter.execution.operating.neighbor import Knob, Value
from shunter.execution.operating.site import SiteJob

MOST_VALUES: Final = 2
"""The latest values of ours that a job may have: the last one, and the one before if the last was not set."""


@dataclass
class Held:
    """A knob of a job that Shunter has turned."""

    job: int
    array: int | None
    knob: Knob
    old: Value
    """The value from before Shunter."""
    values: list[Value] = field(default_factory=list)
    """Ours, the latest last."""
    at_s: float = 0.0
    """When the latest was set."""
    is_foreign: bool = False
    """Whether somebody else has turned it since: then it is not ours to touch any more."""


class UndoJournal:
    """What is held, in memory and on disk."""

    def __init__(self, folder: OperationFolder, scheduler: str, programs: str) -> None:
        """Reads what an earlier process has left.

        Raises:
            InputError: The file belongs to another scheduler, or cannot be read.
        """
        self._folder = folder
        self._head = {"scheduler": scheduler, "programs": programs}
        self._held: dict[tuple[int, Knob], Held] = {}
        self._read()
        self._compact()

    def __len__(self) -> int:
        return sum(not held.is_foreign for held in self._held.values())

    @property
    def all(self) -> list[Held]:
        """Everything that is held, and what was taken over by others."""
        return list(self._held.values())

    def of(self, job: SiteJob, knob: Knob) -> Held | None:
        """Returns what is held of a job; a task has what its array had when it left it."""
        found = self._held.get((job.id, knob))
        return found or (self._held.get((job.array, knob)) if job.array is not None else None)

    def set(self, changes: Iterable[tuple[SiteJob, Knob, Value, Value]], at_s: float) -> None:
        """Writes down what is going to be changed; when it returns, that is on the disk.

        Args:
            changes: Of each the job, the knob, its present value, and the new one.
            at_s: The time.
        """
        lines = []
        for job, knob, old, new in changes:
            held = self.of(job, knob)
            before = old if held is None or held.is_foreign else held.old
            values = [] if held is None or held.is_foreign else held.values
            one = Held(job.id, job.array, knob, before, [*values, new][-MOST_VALUES:], at_s)
            self._held[job.id, knob] = one
            lines.append(_set_line(one))
        self._append(lines)

    def disown(self, held: Held) -> None:
        """Says that somebody else has turned a knob since."""
        held.is_foreign = True
        self._append([_set_line(held)])

    def close(self, closed: Iterable[Held]) -> None:
        """Says that nothing is left of what was held."""
        keys = [(held.job, held.knob) for held in closed]
        for key in keys:
            self._held.pop(key, None)
        self._append([{"op": "close", "job": job, "knob": knob.value} for job, knob in keys])

    def _append(self, lines: list[dict[str, Any]]) -> None:
        if not lines:
            return
        with open_private(self._folder.journal) as file:
            file.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())

    def _compact(self) -> None:
        """Writes the file anew with what is still held, so that it does not grow for ever."""
        lines = [{"op": "head", **self._head}, *(_set_line(held) for held in self._held.values())]
        try:
            write_private(self._folder.journal, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
            sync_folder(self._folder.path)
        except OSError as error:
            raise InputError(f"{self._folder.journal}: cannot be written ({error.strerror}); mend that") from None

    def _read(self) -> None:
        for number, line in enumerate(journal_lines(self._folder), start=1):
            try:
                self._take(line)
            except InputError:
                raise
            except (KeyError, TypeError, ValueError):
                what = f"{self._folder.journal}:{number}: is no line of a journal"
                raise InputError(f"{what}; mend or remove it by hand: it tells what has to be undone") from None

    def _take(self, line: dict[str, Any]) -> None:
        if line["op"] == "head":
            if line["scheduler"] != self._head["scheduler"]:
                what = f"{self._folder.journal}: was written beside {line['scheduler']}"
                raise InputError(f"{what}; name another folder with --state")
            return
        key = (int(line["job"]), Knob(line["knob"]))
        if line["op"] == "close":
            self._held.pop(key, None)
            return
        array = None if line["array"] is None else int(line["array"])
        values = list(line["values"])
        self._held[key] = Held(key[0], array, key[1], line["old"], values, float(line["at_s"]), bool(line["foreign"]))


def _set_line(held: Held) -> dict[str, Any]:
    return {
        "op": "set",
        "job": held.job,
        "array": held.array,
        "knob": held.knob.value,
        "old": held.old,
        "values": held.values,
        "at_s": held.at_s,
        "foreign": held.is_foreign,
    }


def journal_lines(folder: OperationFolder) -> list[dict[str, Any]]:
    """Returns the lines of the journal; half a line at its end was never acted on.

    Raises:
        InputError: It cannot be read.
    """
    try:
        text = folder.journal.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"{folder.journal}: cannot be read ({error.strerror}); mend that") from None
    whole = text[: text.rfind(b"\n") + 1]
    try:
        return [json.loads(line) for line in whole.splitlines() if line.strip()]
    except ValueError as error:
        raise InputError(f"{folder.journal}: is damaged ({error}); mend or remove the line by hand") from None
