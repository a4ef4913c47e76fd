"""Files: text and TOML that is read whole, files that are written whole or not at all, and values in TOML."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from shunter.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Writer = Callable[[BinaryIO], object]
"""Writes a file's content to an open file."""


def read_text(path: Path, what: str, expected: str) -> str:
    """Returns a file's text.

    Args:
        path: The file.
        what: What it is to the user: ``cluster file``.
        expected: What it should be, for the error: ``a TOML file``.

    Raises:
        InputError: There is no such file, or it is no text.
    """
    try:
        # Editors on Windows put a mark before UTF-8, which is no part of the text.
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such {what}; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a directory; name {expected} in it") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as text ({error}); expected {expected}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """Returns what a TOML file holds, or raises an error that says why it cannot be read."""
    return parse_toml(read_text(path, "file", "a TOML file"), str(path))


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Returns what a text in TOML holds; errors call it as `where` says.

    Raises:
        InputError: It is not TOML.
    """
    try:
        return tomllib.loads(text)
    # A number with too many digits is no decoding error but a ValueError, and lists in lists in lists go too deep.
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is not TOML ({error}); mend the file") from None


def write_file(path: Path, write: Writer) -> None:
    """Writes a file under a temporary name beside it and renames it, so that there is never half a file."""
    # Whoever only reads a text need not load Polars.
    import polars as pl

    try:
        with _temporary_beside(path) as temporary:
            with temporary.open("wb") as file:
                write(file)
            # Renaming within a folder is atomic: whoever looks sees the old file or the new one.
            temporary.replace(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot write {path}: {reason}; nothing is left of this file") from error


@contextmanager
def _temporary_beside(path: Path) -> Iterator[Path]:
    """Yields a name in the same folder, with the same suffix, and removes what is left there."""
    # The process's number lets two runs write to one folder. The suffix stays, for some writers go by it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def toml_value(value: Any) -> str:  # noqa: ANN401 - whatever a section holds
    """Returns text, a number, a truth value, a list or a table as TOML writes it; reading it gives the same again."""
    if isinstance(value, str):
        # TOML's strings are JSON's, except that it wants one more character escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_value(key)} = {toml_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, Sequence):
        return f"[{', '.join(toml_value(each) for each in value)}]"
    return str(value).lower() if isinstance(value, bool) else repr(value)
