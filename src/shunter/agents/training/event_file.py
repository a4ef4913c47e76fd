"""Curves for TensorBoard, in the files that it reads; TensorBoard itself is only needed to look at them.

A file is a list of records (TFRecord): the length of an event, the event as a protocol buffer (``event.proto`` and
``summary.proto`` of TensorBoard), and a checksum of each of the two.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VERSION: Final = b"brain.Event:2"
# Wire types of protocol buffers, and the numbers of fields.
_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5
_WALL_TIME, _STEP, _FILE_VERSION, _SUMMARY, _SESSION_LOG = 1, 2, 3, 5, 7
_VALUE, _TAG, _SIMPLE_VALUE = 1, 1, 2
_STATUS, _START = 1, 1

_POLYNOMIAL: Final = 0x82F63B78
"""That of CRC-32C (Castagnoli), with its bits reversed."""
_MASK: Final = 0xA282EAD8
"""What a TFRecord adds to a checksum, so that checksums of checksums are not alike."""


class EventFile:
    """Writes events to a new file."""

    def __init__(self, folder: Path, resumed_at: int | None = None) -> None:
        """Begins a file in a folder, beside those that are there.

        Args:
            folder: Is made if it is not there.
            resumed_at: What files beside it tell of steps after this one is no longer shown; None: all is.
        """
        folder.mkdir(parents=True, exist_ok=True)
        # TensorBoard knows files by the word tfevents, and reads them in the order of their names: by time.
        name = f"events.out.tfevents.{time.time():017.6f}.{socket.gethostname()}.{os.getpid()}"
        self._file = (folder / name).open("ab")
        self._write(_field(_FILE_VERSION, _BYTES, VERSION))
        if resumed_at is not None:
            session = _field(_STATUS, _VARINT, _START)
            self._write(_field(_STEP, _VARINT, resumed_at + 1) + _field(_SESSION_LOG, _BYTES, session))
        self.flush()

    def add(self, values: Mapping[str, float], step: int) -> None:
        """Adds a point to each curve, by its tag."""
        summary = b"".join(
            _field(_VALUE, _BYTES, _field(_TAG, _BYTES, tag.encode()) + _field(_SIMPLE_VALUE, _FLOAT, value))
            for tag, value in values.items()
        )
        self._write(_field(_STEP, _VARINT, step) + _field(_SUMMARY, _BYTES, summary))

    def flush(self) -> None:
        """Has everything written."""
        self._file.flush()

    def close(self) -> None:
        """Ends the file."""
        self._file.close()

    def _write(self, event: bytes) -> None:
        told = _field(_WALL_TIME, _DOUBLE, time.time()) + event
        length = struct.pack("<Q", len(told))
        self._file.write(length + _checksum(length) + told + _checksum(told))


def _field(number: int, wire: int, value: float | bytes) -> bytes:
    """Returns a field of a protocol buffer."""
    key = _varint(number << 3 | wire)
    if wire == _BYTES:
        assert isinstance(value, bytes)
        return key + _varint(len(value)) + value
    if wire == _VARINT:
        return key + _varint(int(value))
    return key + struct.pack("<d" if wire == _DOUBLE else "<f", value)


def _varint(number: int) -> bytes:
    """Returns a whole number, not negative, in groups of seven bits, the lowest first."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _checksum(data: bytes) -> bytes:
    """Returns the masked CRC-32C of some bytes."""
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder = _TABLE[(remainder ^ byte) & 0xFF] ^ (remainder >> 8)
    found = remainder ^ 0xFFFFFFFF
    return struct.pack("<I", ((found >> 15 | found << 17) + _MASK) & 0xFFFFFFFF)


def _table() -> list[int]:
    """Returns the remainder of each byte."""
    table = []
    for remainder in range(256):
        for _ in range(8):
            remainder = remainder >> 1 ^ (_POLYNOMIAL if remainder & 1 else 0)
        table.append(remainder)
    return table


_TABLE: Final = _table()
