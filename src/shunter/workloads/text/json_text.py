"""JSON to objects, one at a time: the elements of a list or object, however long it is, and lines of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from shunter.errors import InputError
from shunter.workloads.text.source import LINE_BYTES

if TYPE_CHECKING:
    from shunter.workloads.text.source import Source

_BLANK: Final = re.compile(r"[ \t\r\n]*")
_END: Final = ""


def read_elements(source: Source, key: str | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the objects of a list, or objects one after another (JSON lines), and the line in which each begins.

    Args:
        source: The file.
        key: The name of the list, if it stands in an outer object; by default the list or the objects stand alone.

    Raises:
        InputError: The text is no JSON, is cut short, or an element is no object.
    """
    text = _Text(source)
    if key is not None:
        text.enter(key)
    is_list = text.next_sign() == "["
    if is_list:
        text.take("[")
    while text.next_sign() not in ("]", _END):
        line = text.line
        element = text.value()
        if not isinstance(element, dict):
            raise InputError(f"{source.where}:{line}: is {str(element)[:40]!r}; expected an object for each job")
        yield line, element
        # Objects one after another (JSON lines) have no comma between them.
        if text.next_sign() == ",":
            text.take(",")
    if is_list:
        text.take("]")


def read_members(source: Source, key: str) -> Iterator[tuple[int, str, object]]:
    """Yields the members of an object that stands in an outer object: line, name and value of each.

    Args:
        source: The file.
        key: The name of the object.

    Raises:
        InputError: The text is no JSON, is cut short, or there is no such object.
    """
    text = _Text(source)
    text.enter(key)
    yield from text.members()


def read_value(source: Source, key: str) -> object:
    """Returns the value of a key of the outer object, or None if it has no such key.

    Raises:
        InputError: The text is no JSON, or is cut short.
    """
    text = _Text(source)
    return text.value() if text.find(key) else None


def encodable(text: str) -> str:
    """Returns a text without halves of characters, which JSON may hold but tables cannot."""
    return text.encode("utf-8", "replace").decode()


class _Text:
    """A JSON text, of which only a part is held."""

    def __init__(self, source: Source) -> None:
        self._where = source.where
        self._pieces = source.pieces()
        self._decoder = json.JSONDecoder(parse_constant=_refuse_constant)
        self._held = ""
        self._at = 0
        self.line = 1
        """The number of the line that is read next."""

    def next_sign(self) -> str:
        """Returns the next sign that is no blank, or nothing at the end."""
        while True:
            blanks = _BLANK.match(self._held, self._at)
            self._go_to(blanks.end() if blanks else self._at)
            if self._at < len(self._held):
                return self._held[self._at]
            if not self._more():
                return _END

    def take(self, sign: str) -> None:
        """Goes beyond a sign, which must be the next."""
        found = self.next_sign()
        if found != sign:
            what = f'"{found}"' if found else "cut short"
            raise InputError(f'{self._where}:{self.line}: the JSON text is {what} where "{sign}" is expected; mend it')
        self._go_to(self._at + 1)

    def enter(self, key: str) -> None:
        """Goes to the value of a key of the outer object, which must be there."""
        if not self.find(key):
            raise InputError(f'{self._where}: the outer object has no "{key}"; add it, or name another --format')

    def find(self, key: str) -> bool:
        """Goes to the value of a key of the outer object, and returns whether there is one; others are passed over."""
        self.take("{")
        while self.next_sign() == '"':
            name = self.value()
            self.take(":")
            if name == key:
                return True
            self._pass_over()
            if self.next_sign() == ",":
                self.take(",")
        return False

    def members(self) -> Iterator[tuple[int, str, object]]:
        """Yields line, name and value of each member of the next value, which must be an object."""
        self.take("{")
        while self.next_sign() == '"':
            line, name = self.line, str(self.value())
            self.take(":")
            yield line, name, self.value()
            if self.next_sign() == ",":
                self.take(",")
        self.take("}")

    def _pass_over(self) -> None:
        """Goes beyond the next value; what a list or an object holds is not held all at once."""
        sign = self.next_sign()
        if sign == "{":
            for _ in self.members():
                pass
        elif sign == "[":
            self.take("[")
            while self.next_sign() not in ("]", _END):
                self.value()
                if self.next_sign() == ",":
                    self.take(",")
            self.take("]")
        else:
            self.value()

    def value(self) -> object:
        """Returns the next value, and goes beyond it."""
        self.next_sign()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._held, self._at)
            except (ValueError, RecursionError) as error:
                # What is cut short is most often cut by the end of the part that is held.
                if len(self._held) - self._at > LINE_BYTES or not self._more():
                    raise InputError(f"{self._where}:{self.line}: is no JSON ({error}); mend the file") from None
                continue
            # A number at the very end may go on.
            if end == len(self._held) and self._more():
                continue
            self._go_to(end)
            return value

    def _go_to(self, end: int) -> None:
        self.line += self._held.count("\n", self._at, end)
        self._at = end

    def _more(self) -> bool:
        piece = next(self._pieces, None)
        if piece is None:
            return False
        # What was read is given up, so that no more than one element and one piece are held.
        self._held, self._at = self._held[self._at :] + piece, 0
        return True


def _refuse_constant(name: str) -> object:
    # NaN and Infinity, which Python would accept.
    raise ValueError(f"{name} is no number of JSON")
