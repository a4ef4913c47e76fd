"""Which Python files are run: those that the user names, and those that the user trusts.

A manifest, a checkpoint or a training file may name a Python file too, and may come from a stranger. Whoever reads one
says so with `words_of_a_file`. What it names is run only if the user trusts it (``--trust``, or ``trust=True``), or has
named that very file himself before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from shunter.errors import InputError

_in_file: ContextVar[bool] = ContextVar("in_file", default=False)
"""Whether the words that are being resolved stand in a file."""
_is_trusting: ContextVar[bool] = ContextVar("is_trusting", default=False)
"""Whether files that a file names are run."""
_allowed: ContextVar[frozenset[Path]] = ContextVar("allowed", default=frozenset())
"""The Python files that the user has named, or has trusted already."""


class UntrustedError(InputError):
    """A file names Python that nobody has said to trust."""


@contextmanager
def words_of_a_file() -> Iterator[None]:
    """Lets Python files that are named in this block be such as a file names: they are run only if they are trusted."""
    token = _in_file.set(True)
    try:
        yield
    finally:
        _in_file.reset(token)


@contextmanager
def trusting(trust: bool) -> Iterator[None]:
    """Lets Python files be run in this block whoever names them, if the user trusts them."""
    token = _is_trusting.set(trust or _is_trusting.get())
    try:
        yield
    finally:
        _is_trusting.reset(token)


def trust_files() -> None:
    """Lets Python files be run whoever names them, until this context ends; a command line is one."""
    _is_trusting.set(True)


def allow_named(words: Mapping[str, object]) -> None:
    """Lets Python files be run that the user's own settings name, also where those of a file stand beside them."""
    named = {Path(value) for value in words.values() if isinstance(value, str | Path)}
    _allowed.set(_allowed.get() | {path.resolve() for path in named if path.suffix == ".py"})


def check_trusted(path: Path, what: str) -> None:
    """Raises an error if a Python file is named by a file that need not be the user's, and is not trusted.

    Args:
        path: The Python file.
        what: What it defines, for the error: ``placement``.

    Raises:
        UntrustedError: It must not be run.
    """
    whole_path = path.resolve()
    if _in_file.get() and not _is_trusting.get() and whole_path not in _allowed.get():
        remedy = "look at it, and give --trust (trust=True) if you trust it"
        # Whoever reads the file puts its name before this.
        raise UntrustedError(f"names {path} as its {what}, which is Python that would be run; {remedy}")
    # A checkpoint is read several times: what was allowed once stays so.
    _allowed.set(_allowed.get() | {whole_path})
