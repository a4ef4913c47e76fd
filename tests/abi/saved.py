"""Saved states as words, and words as saved states with the checksum that belongs to them."""

from __future__ import annotations

import struct

from tests.abi.scene import Scene

WORD = 8
MASK = 2**64 - 1


def sealed(words: list[int]) -> bytes:
    """Returns a saved state of these words with the checksum that belongs to it."""
    total = 0
    for word in words:
        total = ((total << 5 | total >> 59) & MASK ^ word & MASK) * 0x517C_C1B7_2722_0A95 & MASK
    total = total + 0x9E37_79B9_7F4A_7C15 & MASK
    total = (total ^ total >> 30) * 0xBF58_476D_1CE4_E5B9 & MASK
    total = (total ^ total >> 27) * 0x94D0_49BB_1331_11EB & MASK
    return struct.pack(f"<{len(words)}q", *words) + struct.pack("<Q", total ^ total >> 31)


def saved_words(simulation: Scene) -> list[int]:
    """Returns the words of a saved state, without the checksum."""
    saved = simulation.serialize()[:-WORD]
    return list(struct.unpack(f"<{len(saved) // WORD}q", saved))
