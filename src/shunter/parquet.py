"""Tables in Parquet, read so that a damaged file gives one line and no more."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from shunter.errors import InputError
from shunter.parquet_check import check_parquet
from shunter.thrift import MalformedError

if TYPE_CHECKING:
    import polars as pl

_STDERR: Final = 2
_SILENCE_S: Final = 0.05
_ONE_AT_A_TIME: Final = threading.Lock()


def read_parquet(content: bytes, where: str) -> tuple[pl.DataFrame, dict[str, str]]:
    """Returns a table and the metadata that it was written with; errors call the file as `where` says.

    Raises:
        InputError: It is no Parquet file, or is damaged.
    """
    # Whoever only looks at the beginning of a file need not load Polars.
    import polars as pl

    try:
        metadata = check_parquet(content)
        with _without_panics():
            return pl.read_parquet(io.BytesIO(content)), metadata
    except (MalformedError, pl.exceptions.PolarsError, OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
    # Polars panics at some damaged pages, and a panic is no Exception. What it says is for the authors of Polars.
    except pl.exceptions.PanicException:
        reason = "the values of a column cannot be unpacked"
    raise InputError(f"{where}: is not a Parquet file, or is damaged ({reason}); take another copy")


@contextmanager
def _without_panics() -> Iterator[None]:
    """Keeps from standard error what is written there during the block, if it fails.

    Before a panic becomes an exception, Rust tells of it on standard error, past everything that Python could replace
    and without a switch for it. If the block does not fail, what others have written meanwhile is written after all.
    """
    with ExitStack() as kept:
        try:
            kept.enter_context(_ONE_AT_A_TIME)
            hidden = kept.enter_context(tempfile.TemporaryFile())
            shown = kept.enter_context(os.fdopen(os.dup(_STDERR), "wb"))
        # Without a standard error there is nothing to keep from it; without a place for the text, it is shown.
        except OSError:
            yield
            return
        _turn_to(hidden.fileno())
        try:
            yield
        except BaseException:
            _wait_for_silence(hidden.fileno())
            raise
        finally:
            _turn_to(shown.fileno())
        hidden.seek(0)
        shutil.copyfileobj(hidden, shown)


def _wait_for_silence(descriptor: int) -> None:
    """Waits until nothing more is written to a file: other threads of Polars may panic after the first."""
    size = -1
    while size < (size := os.fstat(descriptor).st_size):
        time.sleep(_SILENCE_S)


def _turn_to(descriptor: int) -> None:
    """Lets standard error lead to another file from here on."""
    # It may be missing, closed, or something of the user's own.
    with suppress(AttributeError, ValueError, OSError):
        sys.stderr.flush()
    os.dup2(descriptor, _STDERR)
