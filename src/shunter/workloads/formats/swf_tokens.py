"""SWF text to numbers: hands each block of text to the core once, and gets columns back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter import _core
from shunter.errors import InputError
from shunter.native import check

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.workloads.text.source import Block

FIELDS: Final = 18
"""How many fields a line has; further ones are ignored."""

_SHORTEST_LINE = 2 * FIELDS
"""In bytes: a digit and a blank or line end for each field."""

_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t]*(?:;[^\r\n]*)?(?:\r\n|\r|\n))*")


def tokenize(block: Block, where: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Returns the fields (18, rows) of all jobs in a block of a SWF text, and the number of each row's line.

    Raises:
        InputError: A line has fewer than 18 fields, or a field is not a number.
    """
    core: Any = _core
    text = block.text
    # Memory that no row reaches is never touched, and so costs nothing; counting the lines would. NumPy would ask
    # for huge pages, whose first touch takes longer than all the rest.
    capacity = len(text) // _SHORTEST_LINE + 1
    allocate = core.ffi.new_allocator(should_clear_after_alloc=False)
    columns, lines = allocate("double[]", FIELDS * capacity), allocate("int64_t[]", capacity)
    rows = core.ffi.new("uintptr_t *")
    status = core.lib.shunter_swf_read(
        core.ffi.from_buffer("uint8_t[]", text), len(text), columns, lines, capacity, rows
    )
    try:
        check(status)
    except InputError as error:
        # The core counts the lines of what it was given.
        line, _, what = str(error).partition(":")
        raise InputError(f"{where}:{int(line) + block.first_line - 1}:{what}") from None
    fields = np.frombuffer(core.ffi.buffer(columns), dtype=np.float64).reshape(FIELDS, capacity)
    numbers = np.frombuffer(core.ffi.buffer(lines), dtype=np.int64)[: rows[0]]
    return fields[:, : rows[0]], numbers + (block.first_line - 1)


def header(text: bytes) -> dict[str, str]:
    """Returns what the comments before the first job say: ``; MaxProcs: 338 (of 512)`` gives MaxProcs.

    A key that stands several times, such as Note, keeps its first value.
    """
    entries: dict[str, str] = {}
    block = _HEADER.match(text)
    for line in (block.group() if block else b"").decode("utf-8-sig", errors="replace").splitlines():
        key, colon, value = line.strip().lstrip(";").partition(":")
        if colon:
            entries.setdefault(key.strip(), value.strip())
    return entries
