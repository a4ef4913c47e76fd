"""Files: text, TOML and tables that are read whole, files that are written whole or not at all, and locked folders."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from shunter.errors import InputError

if TYPE_CHECKING:
    import polars as pl

try:
    import fcntl
except ImportError:  # Windows has other locks; there, nothing is locked.
    fcntl = None  # type: ignore[assignment]

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Writer = Callable[[BinaryIO], object]
"""Writes a file's content to an open file."""
LOCK: Final = ".lock"
"""The file in a folder by which it is locked."""

_TEMPORARY: Final = re.compile(r"\.(?P<stem>.+)\.(?P<process>[0-9]{1,9})(?P<suffix>\.[^.]*|)")
"""The names under which files are written."""
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME: Final = 100
_RUN_BY_SPREADSHEETS: Final = r"^'*[=+\-@\t\r\n]"
_NUMBER: Final = r"^[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?$"


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


def csv_rows(path: Path, what: str) -> Iterator[tuple[str, list[str]]]:
    """Yields, for each line of a CSV file, what errors call it and its cells; the header is the first.

    Empty lines, and those that begin with ``#``, say nothing.

    Raises:
        InputError: There is no such file, or it is no text.
    """
    for number, line in enumerate(read_text(path, what, "a CSV file").splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield f"{path}:{number}", [cell.strip() for cell in next(csv.reader([line]))]


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


def parse_json(text: str | bytes, where: str) -> Any:  # noqa: ANN401 - whatever the text holds
    """Returns what a text in JSON holds; errors call it as `where` says.

    Raises:
        InputError: It is not JSON.
    """
    try:
        return json.loads(text)
    # Lists in lists in lists go too deep.
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is not JSON ({error}); take another copy") from None


def csv_writer(frame: pl.DataFrame) -> Writer:
    """Returns what writes a table as CSV in which a spreadsheet takes no text for a formula.

    A text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return gets an apostrophe before it, unless
    it is a number. `plain_text` takes it away again.
    """
    import polars as pl

    texts = pl.col(pl.String)
    is_run = texts.str.contains(_RUN_BY_SPREADSHEETS) & ~texts.str.contains(_NUMBER)
    return frame.with_columns(pl.when(is_run).then("'" + texts).otherwise(texts).name.keep()).write_csv


def plain_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns a table of texts from CSV without the apostrophes that `csv_writer` put before some of them."""
    import polars as pl

    # Hardly any table has them, and looking for them is quick.
    texts = pl.col(one.name for one in frame if one.dtype == pl.String and one.str.starts_with("'").any())
    has_mark = texts.str.starts_with("'") & texts.str.contains(_RUN_BY_SPREADSHEETS)
    return frame.with_columns(pl.when(has_mark).then(texts.str.slice(1)).otherwise(texts).name.keep())


def write_file(path: Path, write: Writer) -> None:
    """Writes a file under a temporary name beside it and renames it, so that there is never half a file."""
    # Whoever only reads a text need not load Polars.
    import polars as pl

    try:
        remove_left_overs(path.parent, [path.name])
        with _temporary_beside(path) as temporary:
            with temporary.open("wb") as file:
                _try_lock(file.fileno())
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


def file_meant(name: str) -> str:
    """Returns the name of the file that a temporary one was to become; any other name stays."""
    match = _TEMPORARY.fullmatch(name)
    return match["stem"] + match["suffix"] if match else name


def remove_left_overs(folder: Path, names: Sequence[str]) -> None:
    """Removes what killed processes have left of files of these names that they were writing in a folder."""
    # A folder that cannot be listed, or a file that somebody else removes at the same time, is no reason to stop.
    with suppress(OSError):
        for path in folder.iterdir():
            match = _TEMPORARY.fullmatch(path.name)
            if match and match["stem"] + match["suffix"] in names and not _is_written(path, int(match["process"])):
                path.unlink(missing_ok=True)


def _is_written(path: Path, process: int) -> bool:
    """Returns whether a process is still writing a temporary file."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        # On a shared disk, it may be the process of another machine: then the file is locked.
        with path.open("rb") as file:
            return not _try_lock(file.fileno())
    except OSError:
        return True
    return True


def _try_lock(descriptor: int) -> bool:
    """Locks an open file until it is closed, at the latest when the process ends; returns whether nobody else has."""
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            # Some file systems have no locks. Whoever works on one is no worse off than without.
            return True
    return True


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps a folder for this process as long as the block runs; a process that is killed keeps nothing.

    Raises:
        InputError: Another process has it, or it cannot be written to.
    """
    path = folder / LOCK
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise InputError(f"{folder}: cannot be used ({error.strerror}); give another folder") from None
        try:
            if not _try_lock(descriptor):
                what = "another process is writing to this folder"
                raise InputError(f"{folder}: {what}; wait until it has ended, or give another folder")
            # Whoever held it before may have removed the file between our two steps: then the lock is one on nothing.
            if not (path.exists() and os.path.samestat(os.fstat(descriptor), path.stat())):
                continue
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return
        finally:
            os.close(descriptor)


def names_of_copies(paths: Iterable[Path]) -> dict[Path, str]:
    """Returns what copies of files are called that lie in one folder: as the files are, if any folder may have that."""
    names: dict[Path, str] = {}
    for path in dict.fromkeys(paths):
        # No blanks, no signs that a shell or a policy's text would take for something, nothing hidden.
        stem = _NOT_IN_NAMES.sub("-", path.stem).strip("-.")[:_LONGEST_NAME] or "file"
        # Some file systems take a.toml and A.toml for one.
        taken = {name.casefold() for name in names.values()}
        numbered = (f"{stem}{'' if number == 1 else f'-{number}'}{path.suffix}" for number in count(1))
        names[path] = next(name for name in numbered if name.casefold() not in taken)
    return names


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
