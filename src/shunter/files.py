"""Files: small ones that are read as text, and others that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from shunter.errors import InputError

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
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such {what}; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a directory; name {expected} in it") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as text ({error}); expected {expected}") from None


def write_file(path: Path, write: Writer) -> None:
    """Writes a file under a temporary name beside it and renames it, so that there is never half a file."""
    import polars as pl

    try:
        with _temporary_beside(path) as temporary:
            with temporary.open("wb") as file:
                write(file)
            temporary.replace(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot write {path}: {reason}; nothing is left of this file") from error


@contextmanager
def _temporary_beside(path: Path) -> Iterator[Path]:
    """Yields a name in the same folder, with the same suffix, and removes what is left there."""
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
