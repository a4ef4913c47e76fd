"""Lines of a text: where whole ones end, whatever the line ends and the characters are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_QUOTE: Final = ord('"')
_BLANK: Final = ord(" ")


def last_line_end(text: bytearray, filled: int, quoted: str | None) -> int:
    """Returns the length of the whole lines at the beginning of a text.

    Args:
        text: It may go on behind what counts.
        filled: How much of it counts.
        quoted: What stands between cells, if a line end in a cell in double quotes is part of a line.
    """
    # A carriage return at the very end may be half of a line end.
    end = text.rfind(b"\n", 0, filled) + 1 or text.rfind(b"\r", 0, filled - 1) + 1
    if quoted is None or text.find(b'"', 0, end) < 0:
        return end
    quotes = _field_quotes(np.frombuffer(text, np.uint8, count=end), ord(quoted))
    if quotes.size % 2 == 0:
        return end
    # The last quote opens a field that is not closed here: its row is left for the next block.
    return text.rfind(b"\n", 0, int(quotes[-1])) + 1


def _field_quotes(signs: NDArray[np.uint8], separator: int) -> NDArray[np.int64]:
    """Returns the places of the quotes that open and close fields, in turn; one within a plain field does neither."""
    quotes = np.flatnonzero(signs == _QUOTE)
    before = np.where(quotes > 0, signs[quotes - 1], ord("\n"))
    # Blanks between a separator and a quote mean nothing.
    for place in np.flatnonzero(before == _BLANK).tolist():
        begin = int(quotes[place - 1]) + 1 if place else 0
        filled = np.flatnonzero(signs[begin : quotes[place]] != _BLANK)
        # Behind a quote and blanks nothing opens.
        before[place] = signs[begin + filled[-1]] if filled.size else _BLANK if place else ord("\n")
    opens = np.isin(before, (separator, ord("\n"), ord("\r")))
    # Two quotes in a quoted field stand for one: as it were, they close and open it.
    if (opens | (before == _QUOTE))[::2].all():
        return quotes
    found: list[int] = []
    for place, can_open in zip(quotes.tolist(), opens.tolist(), strict=True):
        if len(found) % 2 or can_open or (found and found[-1] == place - 1):
            found.append(place)
    return np.array(found, np.int64)


def as_utf_8(text: bytes) -> bytes:
    """Returns a text as UTF-8; other bytes are taken as Latin-1, in which different names stay different."""
    if text.isascii():
        return text
    try:
        # Only to see whether it can be decoded; readers work on bytes.
        text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("latin-1").encode("utf-8")
    return text


def with_line_feeds(text: bytes) -> bytes:
    """Returns a text with one kind of line ends."""
    # The core and Polars know line feeds only.
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text
