"""What is done to a file: bytes, lines and cells, numbers, leaves of JSON, and words of a saved state."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any, Final

from tests.abi.saved import sealed

Mutation = Callable[[bytes, Random], bytes]

HOSTILE: Final = (
    b"", b"-1", b"0", b"1e999", b"NaN", b"inf", b"-9223372036854775808", b"9" * 40,
    b"\x00", b"\xff\xfe", b'"', b"'",
    b"\n", b"\r", b",", b";", b"|", b"=", b"[", b"{", b"}", b"]]", b"null", b"true", b"../../etc/passwd",
    b"$x$", b"\x1b[2J",
    "٣é→".encode(), b"%s%n",
)  # fmt: skip
"""What stands in no sound file."""
LEAVES: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 2**31, 2**63, 10**400, -(2**63), 0.5, float("nan"), float("inf"),
    "", "x", "\x00", "9" * 50, [], {},
    [[]],    {"a": {}}, [1, "x"], "$x$", "theirs.py",
)  # fmt: skip
WORDS: Final = (0, 1, -1, 2, 3, 10**12, 10**15, -(10**15), 2**31, 2**32, 2**62, -(2**62), 2**63 - 1, -(2**63))
WORD: Final = 8


def cut(content: bytes, draw: Random) -> bytes:
    """Keeps a beginning or an end."""
    place = draw.randrange(len(content) + 1)
    return content[:place] if draw.random() < 0.7 else content[place:]


def noise(content: bytes, draw: Random) -> bytes:
    """Changes some bytes."""
    changed = bytearray(content or b"\x00")
    for _ in range(draw.choice((1, 1, 2, 4, 8, 32))):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def moved(content: bytes, draw: Random) -> bytes:
    """Repeats, removes or moves a piece."""
    first, last = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    place = draw.randrange(len(content) + 1)
    piece = content[first:last]
    rest = content if draw.random() < 0.5 else content[:first] + content[last:]
    return rest[:place] + piece * draw.choice((0, 1, 1, 2, 9)) + rest[place:]


def inserted(content: bytes, draw: Random) -> bytes:
    """Puts something hostile somewhere, in the place of as many bytes or before them."""
    for _ in range(draw.choice((1, 1, 2, 5))):
        place, word = draw.randrange(len(content) + 1), draw.choice(HOSTILE)
        content = content[:place] + word + content[place + draw.choice((0, len(word))) :]
    return content


def cells(content: bytes, draw: Random) -> bytes:
    """Puts something hostile in the place of a whole cell, number or word."""
    spans = [match.span() for match in re.finditer(rb"[^\s,;|=:\"\[\]{}]+", content)]
    for first, last in sorted(draw.sample(spans, min(len(spans), draw.choice((1, 1, 2, 4)))), reverse=True):
        content = content[:first] + draw.choice(HOSTILE) + content[last:]
    return content


def lines(content: bytes, draw: Random) -> bytes:
    """Shuffles, repeats and drops lines, and ends them otherwise."""
    pieces = content.split(b"\n")
    draw.shuffle(pieces) if draw.random() < 0.3 else None
    kept = [piece for piece in pieces for _ in range(draw.choice((0, 1, 1, 1, 1, 2)))]
    return draw.choice((b"\n", b"\r\n", b"\r", b"\n\n")).join(kept)


def leaves(content: bytes, draw: Random) -> bytes:
    """Puts something else in the place of leaves or branches of JSON; what is no JSON gets noise."""
    try:
        tree = json.loads(content)
    except ValueError:
        return noise(content, draw)
    for _ in range(draw.choice((1, 1, 2, 4))):
        _change(tree, draw)
    return json.dumps(tree).encode()


def tensors(content: bytes, draw: Random) -> bytes:
    """Changes the header of a safetensors file, whose length is put right."""
    length = int.from_bytes(content[:WORD], "little")
    if length > len(content):
        return noise(content, draw)
    header = leaves(content[WORD : WORD + length], draw)
    return struct.pack("<Q", len(header)) + header + content[WORD + length :]


def _change(node: Any, draw: Random) -> None:  # noqa: ANN401 - whatever JSON holds
    while isinstance(node, dict | list) and node:
        key = draw.choice(list(node)) if isinstance(node, dict) else draw.randrange(len(node))
        below = node[key]
        if not isinstance(below, dict | list) or not below or draw.random() < 0.15:
            if draw.random() < 0.2:
                del node[key]
            else:
                node[key] = deepcopy(draw.choice(LEAVES))
            return
        node = below


def words(content: bytes, draw: Random) -> bytes:
    """Changes words of a saved state, whose checksum is put right."""
    count = len(content) // WORD - 1
    if count < 1:
        return content
    given = list(struct.unpack(f"<{count}q", content[: count * WORD]))
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        place, other = draw.randrange(count), draw.randrange(count)
        given[place] = draw.choice(
            (
                draw.choice(WORDS),
                given[place] + draw.choice((-1000, -2, -1, 1, 2, 1000)),
                given[other],
                given[place] ^ 1 << draw.randrange(63),
                draw.randrange(40),
                draw.randrange(-(2**63), 2**63),
            )
        )
    return sealed([(word + 2**63) % 2**64 - 2**63 for word in given])


OF_TEXT: Final[tuple[Mutation, ...]] = (cut, noise, moved, inserted, cells, cells, lines)
OF_BYTES: Final[tuple[Mutation, ...]] = (cut, noise, noise, moved, inserted)
OF_TENSORS: Final[tuple[Mutation, ...]] = (tensors, tensors, *OF_BYTES)
OF_JSON: Final[tuple[Mutation, ...]] = (leaves, leaves, leaves, cells, noise, cut)
OF_STATES: Final[tuple[Mutation, ...]] = (words, words, words, words, cut, noise)
