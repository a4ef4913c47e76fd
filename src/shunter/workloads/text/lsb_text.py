"""Records of LSF's files lsb.acct and lsb.events: one a line, blanks between fields, text in double quotes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

RUSAGE_FIELDS: Final = 19
"""How many numbers tell what a job has used."""

_FIELD: Final = re.compile(r'"[^"]*(?:""[^"]*)*"|[^\s"]+')
_LARGEST: Final = 1e18
_BEGINNING: Final = re.compile(r'"([A-Z][A-Z0-9_]*)"\s+"[0-9]{1,9}(?:\.[0-9.]*)?"\s+[0-9]+\s')
_OTHER_KIND: Final = "record of another kind: left out"


class BrokenRecord(Exception):
    """A record does not hold what its kind has."""


class Record:
    """The fields of a record, read one after another."""

    def __init__(self, line: str) -> None:
        if line.count('"') % 2:
            raise BrokenRecord("a quote is not closed")
        self._fields: list[str] = _FIELD.findall(line)
        self._at = 0
        self.parted: str | None = None
        """The field that `part_counts` took apart."""

    @property
    def at_end(self) -> bool:
        """Whether no field is left, as in records of older versions."""
        return self._at >= len(self._fields)

    @property
    def next_is_text(self) -> bool:
        """Whether the next field stands in quotes."""
        return not self.at_end and self._fields[self._at].startswith('"')

    def text(self) -> str:
        """Returns the next field, which must stand in quotes."""
        field = self._next()
        if field[0] != '"':
            raise BrokenRecord(f"field {self._at} is {field[:40]}, not a text")
        return field[1:-1].replace('""', '"')

    def major_version(self) -> int:
        """Returns the next field, the version of LSF that wrote the record, as far as the first point."""
        return int(self.text().partition(".")[0])

    def number(self) -> float:
        """Returns the next field, which must be a number."""
        field = self._next()
        try:
            number = float(field)
        except ValueError:
            number = math.inf
        if not -_LARGEST < number < _LARGEST:
            raise BrokenRecord(f"field {self._at} is {field[:40]}, not a number of a log")
        return number

    def whole(self) -> int:
        """Returns the next field, which must be a whole number."""
        number = self.number()
        if number % 1:
            raise BrokenRecord(f"field {self._at} is {number}, not a whole number")
        return int(number)

    def numbers(self) -> list[float]:
        """Returns the numbers from here to the next text, or to the end."""
        found = []
        while not self.at_end and not self.next_is_text:
            found.append(self.number())
        return found

    def names(self) -> list[str]:
        """Returns as many names as the next field says."""
        found = [self.text() for _ in range(self.count())]
        if not all(found):
            raise BrokenRecord(f"a name before field {self._at + 1} is empty")
        return found

    def count(self, width: int = 1) -> int:
        """Returns the next field, which says how many times so many fields follow."""
        count = self.whole()
        if not 0 <= count * width <= len(self._fields) - self._at:
            raise BrokenRecord(f"field {self._at} is {count}, but {len(self._fields) - self._at} fields follow")
        return count

    def part_counts(self) -> None:
        """Takes two counts apart that stand without a blank between them: ``02`` is 0, with no name, and 2."""
        field = "" if self.at_end else self._fields[self._at]
        if len(field) > 1 and field.startswith("0") and field.isdigit():
            self._fields[self._at : self._at + 1] = ["0", field[1:]]
            self.parted = field

    def skip(self, fields: int) -> None:
        """Passes over fields, which must be there."""
        self._at += fields
        if self._at > len(self._fields):
            raise self._short()

    def _next(self) -> str:
        at = self._at
        if at >= len(self._fields):
            raise self._short()
        self._at = at + 1
        return self._fields[at]

    def _short(self) -> BrokenRecord:
        return BrokenRecord(f"the record ends after {len(self._fields)} fields")


def kind_of(line: str) -> str | None:
    """Returns the kind of record that a line is: ``JOB_FINISH``; None if it is none."""
    beginning = _BEGINNING.match(line)
    return beginning.group(1) if beginning else None


def read_records(
    source: Source, repairs: Repairs, kinds: frozenset[str], *, tell_others: bool = False
) -> Iterator[tuple[int, str, Record]]:
    """Yields the line, the kind and the fields from the version on of each record of these kinds.

    Lines that begin with ``#`` are passed over, and what is no record is skipped and counted.

    Args:
        source: The file.
        repairs: Takes what is skipped.
        kinds: The kinds that are wanted.
        tell_others: Whether records of other kinds are counted.
    """
    for block in source.blocks():
        lines = block.text.decode("utf-8", errors="replace").split("\n")
        for number, text in enumerate(lines, start=block.first_line):
            line = text.strip()
            if not line or line.startswith("#"):
                continue
            kind = kind_of(line)
            if kind in kinds:
                try:
                    record = Record(line)
                    record.skip(1)
                except BrokenRecord as error:
                    skip(source, repairs, number, error)
                    continue
                yield number, kind or "", record
            elif kind is None:
                skip(source, repairs, number, BrokenRecord(f"no record of LSF begins with {line[:40]}"))
            elif tell_others:
                repairs.tell(_OTHER_KIND, 1, repairs.places(source, [number])[0], kind)


def skip(source: Source, repairs: Repairs, line: int, error: BrokenRecord) -> None:
    """Records a line that is no record, or not a whole one."""
    repairs.skip(repairs.places(source, [line])[0], str(error))
