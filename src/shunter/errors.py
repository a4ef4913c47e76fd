"""The errors that Shunter raises for what a user can mend, and how a text is shown that a stranger wrote."""

from __future__ import annotations

import re
from typing import Final

_OBEYED: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What a terminal does not show but does: move the cursor, change colors, turn the direction of writing."""


def visible(text: str) -> str:
    r"""Returns a text in which signs that a terminal would obey are written out: ``\x1b[2J`` for a cleared screen."""
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def failure_text(error: Exception) -> str:
    """Returns the kind of an error and what it says in one line, whatever code of a user's own has raised it."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


class ShunterError(Exception):
    """Anything that Shunter reports in one line instead of a traceback."""


class OutOfTimeError(ShunterError):
    """There was not enough time to decide; nothing was done."""


class InputError(ShunterError, ValueError):
    """Bad input: the message names what, where, which value, and what to do."""
