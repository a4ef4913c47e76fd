"""A strict reader of Thrift's compact protocol, in which Parquet files say what they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

TRUE: Final = 1
FALSE: Final = 2
I8: Final = 3
I16: Final = 4
I32: Final = 5
I64: Final = 6
DOUBLE: Final = 7
BINARY: Final = 8
LIST: Final = 9
SET: Final = 10
MAP: Final = 11
STRUCT: Final = 12
"""The kinds of values, as the protocol numbers them. A truth value has two: its kind is the value."""
BOOL: Final = TRUE

_BITS: Final = {I16: 16, I32: 32, I64: 64}
_DOUBLE_BYTES: Final = 8
_DEEPEST: Final = 32
"""How deep structs and lists may lie in each other; those of Parquet are 6 deep."""


class MalformedError(ValueError):
    """The bytes are not what they should be; the message says why, without saying where."""


@dataclass(frozen=True)
class Struct:
    """What a struct may hold."""

    name: str
    """How errors call it."""
    fields: Mapping[int, tuple[str, Kind]]
    """Its fields by their numbers: the name, and what the value is."""
    needed: Sequence[str] = ()
    """The names of the fields that must be there."""

    @cached_property
    def wires(self) -> dict[int, tuple[str, Kind, int]]:
        """The fields with the number of their kind."""
        return {number: (name, kind, _wire(kind)) for number, (name, kind) in self.fields.items()}


@dataclass(frozen=True)
class ListOf:
    """A list of values of one kind."""

    kind: Kind


Kind = int | Struct | ListOf


def _wire(kind: Kind) -> int:
    return kind if isinstance(kind, int) else STRUCT if isinstance(kind, Struct) else LIST


class Reader:
    """Reads structs from a part of some bytes.

    A field that a struct is known to have must be of the kind that it is known to be, and there once. Readers that
    trust what they know, and not what the bytes say, then see the same values as this one.
    """

    def __init__(self, content: bytes, begin: int, end: int) -> None:
        self._content = content
        self.at = begin
        self._end = end

    def struct(self, shape: Struct, depth: int = 0) -> dict[str, Any]:
        """Returns the values of the fields that are known, by their names.

        Raises:
            MalformedError: The bytes are no such struct.
        """
        if depth > _DEEPEST:
            raise MalformedError("structs lie too deep in each other")
        values: dict[str, Any] = {}
        number, wires = 0, shape.wires
        while head := self._byte():
            wire = head & 15
            number = number + (head >> 4) if head >> 4 else self._number(16)
            known = wires.get(number)
            if known is None:
                self._skip(wire, depth + 1)
                continue
            name, kind, expected = known
            if name in values or (wire != expected and (expected, wire) != (BOOL, FALSE)):
                raise MalformedError(f"{shape.name}: {name} is not what it should be")
            values[name] = wire == TRUE if expected == BOOL else self._value(kind, depth + 1)
        for name in shape.needed:
            if name not in values:
                raise MalformedError(f"{shape.name}: {name} is missing")
        return values

    def _value(self, kind: Kind, depth: int) -> object:
        if isinstance(kind, Struct):
            return self.struct(kind, depth)
        if isinstance(kind, ListOf):
            return self._list(kind.kind, depth)
        if kind == BINARY:
            return self._take(self._unsigned(32))
        if kind in _BITS:
            return self._number(_BITS[kind])
        return self._take(_DOUBLE_BYTES if kind == DOUBLE else 1)

    def _list(self, kind: Kind, depth: int) -> list[object]:
        count, wire = self._list_head()
        if count and wire != _wire(kind):
            raise MalformedError("a list is not what it should be")
        return [self._value(kind, depth + 1) for _ in range(count)]

    def _list_head(self) -> tuple[int, int]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._unsigned(31)
        return self._at_most(count), head & 15

    def _skip(self, wire: int, depth: int) -> None:
        """Goes past a value that nothing is known of."""
        if depth > _DEEPEST:
            raise MalformedError("structs lie too deep in each other")
        if wire in (LIST, SET):
            count, inside = self._list_head()
            for _ in range(count):
                self._take(1) if inside in (TRUE, FALSE) else self._skip(inside, depth + 1)
        elif wire == STRUCT:
            self.struct(_UNKNOWN, depth + 1)
        elif wire in _SIMPLE:
            self._value(wire, depth)
        elif wire not in (TRUE, FALSE):
            raise MalformedError(f"a value of kind {wire}, which is none of Parquet's")

    def _byte(self) -> int:
        if self.at >= self._end:
            raise MalformedError("ends too early")
        self.at += 1
        return self._content[self.at - 1]

    def _take(self, count: int) -> bytes:
        begin = self.at
        self.at += self._at_most(count)
        return self._content[begin : self.at]

    def _at_most(self, count: int) -> int:
        """Returns a count of what takes a byte each at least, unless there are fewer bytes left."""
        if count > self._end - self.at:
            raise MalformedError("ends too early")
        return count

    def _unsigned(self, bits: int) -> int:
        byte = self._byte()
        value, shift = byte & 127, 7
        # Seven bits a byte, the lowest first; the eighth says whether there are more.
        while byte > 127 and shift <= bits:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
        if byte > 127 or value >> bits:
            raise MalformedError(f"a number of more than {bits} bits")
        return value

    def _number(self, bits: int) -> int:
        # Zigzag: 0, -1, 1, -2 and so on.
        value = self._unsigned(bits)
        return value >> 1 ^ -(value & 1)


_UNKNOWN: Final = Struct("a struct", {})
_SIMPLE: Final = (I8, I16, I32, I64, DOUBLE, BINARY)
