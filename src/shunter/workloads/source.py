"""Files as they lie on disk: read once, hashed, and unpacked."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shunter.errors import InputError

_GZIP_MAGIC: Final = b"\x1f\x8b"


@dataclass(frozen=True)
class Source:
    """A file's content."""

    path: Path
    data: bytes
    """Unpacked, if the file is gzip."""
    content_sha256: str
    """Of the file as it lies on disk."""

    @property
    def where(self) -> str:
        """How errors call the file."""
        return str(self.path)


def load(path: str | Path) -> Source:
    """Reads a file, and unpacks it if its first bytes say that it is gzip.

    Raises:
        InputError: The file cannot be read, is damaged, or is empty.
    """
    path = Path(path)
    raw = _read(path)
    data = _unpack(raw, path) if raw.startswith(_GZIP_MAGIC) else raw
    if not data or data.isspace():
        raise InputError(f"{path}: the file is empty; expected a job log")
    return Source(path, data, hashlib.sha256(raw).hexdigest())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a directory; name a file in it") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); check the path and its permissions") from None


def _unpack(raw: bytes, path: Path) -> bytes:
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: the gzip file is damaged or cut short ({error}); fetch it again") from None
