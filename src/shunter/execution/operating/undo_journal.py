"""The journal of what was changed: written and synced before each change, and read for nothing but undoing.

A line is a JSON object. ``set`` tells the job, the knob, the value from before Shunter, and the new one; ``close`` says
that nothing of it is left. A crash between a line and its change leaves a line too many, which undoing finds out by
looking at the present value.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, cast

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

    def __init__(self, folder: OperationFolder, scheduler: str, programs: str, *, is_lenient: bool = False) -> None:
        """Reads what an earlier process has left.

        Args:
            folder: Of the operation.
            scheduler: Its name.
            programs: The folder of its programs.
            is_lenient: Whether lines that make no sense are kept and told, and a full disk stops nothing: for undoing.

        Raises:
            InputError: The file belongs to another scheduler, or cannot be read.
        """
        self._folder = folder
        self._head = {"op": "head", "scheduler": scheduler, "programs": programs}
        self._is_lenient = is_lenient
        self._held: dict[tuple[int, Knob], Held] = {}
        self._damaged: dict[int, bytes] = {}
        """The lines that make no sense, by number."""
        self.trouble: list[str] = []
        """What is wrong with the file, so that undoing may have missed something."""
        self._read()
        self._compact()
        for number in self._damaged:
            self.trouble.append(f"{self._not_a_line(number)}; look whether a job is still changed, and remove the line")

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
        try:
            self._append([{"op": "close", "job": job, "knob": knob.value} for job, knob in keys])
        except OSError as error:
            # A line too many: undoing finds that out by looking at the present value.
            self._complain(error)

    def _complain(self, error: OSError) -> None:
        what = f"{self._folder.journal}: cannot be written ({error.strerror})"
        if what not in self.trouble:
            self.trouble.append(what)

    def _append(self, lines: list[dict[str, Any]]) -> None:
        if not lines:
            return
        path = self._folder.journal
        size = path.stat().st_size if path.exists() else 0
        try:
            with open_private(path) as file:
                file.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            # Half a line would spoil the next.
            with suppress(OSError):
                os.truncate(path, size)
            raise

    def _compact(self) -> None:
        """Writes the file anew with what is still held, so that it does not grow for ever."""
        # Where undoing finds no head, or lines that make no sense, the file goes on to say so until somebody looks.
        head = [] if self._is_lenient and self.trouble and not self._damaged else [self._head]
        lines = [*head, *(_set_line(held) for held in self._held.values())]
        whole = [json.dumps(line).encode() for line in lines]
        whole[1:1] = self._damaged.values()
        try:
            write_private(self._folder.journal, b"".join(line + b"\n" for line in whole))
            self._damaged = dict(enumerate(self._damaged.values(), start=2))
            sync_folder(self._folder.path)
        except OSError as error:
            if not self._is_lenient:
                raise InputError(f"{self._folder.journal}: cannot be written ({error.strerror}); mend that") from None
            self._complain(error)

    def _read(self) -> None:
        is_begun = not self._folder.journal.exists()
        for number, text, line in journal_lines(self._folder):
            try:
                self._take(line)
                is_begun = is_begun or line["op"] == "head"
            except InputError:
                raise
            except (KeyError, TypeError, ValueError):
                if not self._is_lenient:
                    do = f"undo what the others tell with: shunter operate undo --state {self._folder.path}"
                    raise InputError(f"{self._not_a_line(number)}; {do}") from None
                self._damaged[number] = text
        if self._is_lenient and not is_begun and not self._damaged:
            what = f"{self._folder.journal}:1: is no head of a journal, so that lines may be gone"
            self.trouble.append(f"{what}; look whether a job is still changed, and remove the file")

    def _not_a_line(self, number: int) -> str:
        return f"{self._folder.journal}:{number}: is no line of a journal"

    def _take(self, line: Any) -> None:  # noqa: ANN401 - whatever the line holds
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
        old, values = _value(key[1], line["old"]), [_value(key[1], value) for value in line["values"]]
        self._held[key] = Held(key[0], array, key[1], old, values, float(line["at_s"]), bool(line["foreign"]))


def _value(knob: Knob, value: object) -> Value:
    """Returns a value as a line has it: it becomes part of a command."""
    if isinstance(value, str) if knob == Knob.NODES else type(value) is int:
        return cast("Value", value)
    raise TypeError(f"{knob.value} is {value!r}")


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


def journal_lines(folder: OperationFolder) -> Iterator[tuple[int, bytes, Any]]:
    """Yields the lines of the journal with their numbers, as text and as JSON; None: it is none.

    Half a line at the end was never acted on.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        text = folder.journal.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"{folder.journal}: cannot be read ({error.strerror}); mend that") from None
    whole = text[: text.rfind(b"\n") + 1]
    for number, line in enumerate(whole.split(b"\n"), start=1):
        if line.strip():
            try:
                yield number, line, json.loads(line)
            except ValueError:
                yield number, line, None
