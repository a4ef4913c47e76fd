"""What jobs print: a file each, which must not fill the disk.

A job writes into its file itself, so that nothing stands between the two that could die. What is too long is given back
to the disk from the front: the file keeps its length, and the job can go on writing all the while.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

LONGEST_OUTPUT: Final = 256 << 20
"""A running job's output takes about so many bytes of the disk at most; then the first half of that is dropped."""
_PAGE: Final = 4096
_BLOCK: Final = 512
_KEEP_SIZE, _PUNCH_HOLE = 0x01, 0x02
"""Flags of Linux's ``fallocate``."""


@cache
def _libc() -> Any:  # noqa: ANN401 - a library
    return ctypes.CDLL(None, use_errno=True)


def trim(path: Path, most: int = LONGEST_OUTPUT) -> bool:
    """Drops the beginning of an output that takes more than so many bytes; returns whether something was dropped."""
    # There is none yet, or the file system cannot do this: then the output stays whole.
    with suppress(OSError):
        about = path.stat()
        if about.st_blocks * _BLOCK > most:
            end = (about.st_size - most // 2) // _PAGE * _PAGE
            descriptor = os.open(path, os.O_RDWR)
            try:
                places = (ctypes.c_longlong(0), ctypes.c_longlong(end))
                done: int = _libc().fallocate(descriptor, _KEEP_SIZE | _PUNCH_HOLE, *places)
            finally:
                os.close(descriptor)
            return end > 0 and done == 0
    return False


def read_output(path: Path, place: int) -> tuple[bytes, int]:
    """Returns what an output holds from a place on, and how many bytes before that were dropped.

    Raises:
        FileNotFoundError: There is none.
    """
    with path.open("rb") as file:
        try:
            begin = os.lseek(file.fileno(), place, os.SEEK_DATA)
        except OSError:
            # Nothing comes behind this place.
            begin = place
        file.seek(begin)
        return file.read(), begin - place
