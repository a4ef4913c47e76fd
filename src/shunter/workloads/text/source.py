"""Files as they lie on disk: unpacked and cut into blocks of whole lines as they are read, never held whole."""

from __future__ import annotations

import atexit
import codecs
import gzip
import hashlib
import io
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, cast

import numpy as np

from shunter.errors import InputError
from shunter.parquet_check import PARQUET_MAGIC
from shunter.workloads.text.lines import as_utf_8, last_line_end, with_line_feeds

HEAD_BYTES: Final = 1 << 18
"""How much of a file is looked at to tell its format."""
BLOCK_BYTES: Final = 1 << 24
"""How much text is read at a time; what a reader holds besides its table is a few times this."""
LINE_BYTES: Final = 1 << 24
"""The longest line, quoted field or JSON object that is read; real ones are a thousand times shorter."""
BOMB_BYTES: Final = 1 << 25
BOMB_RATIO: Final = 64
"""A gzip file that unpacks to more than both of these is no log: text of jobs shrinks 4 to 12 times."""
SEPARATORS: Final = (",", ";", "\t", "|")
"""What may stand between the cells of a table of one's own."""
PIPE_BYTES: Final = 1 << 31
"""The most that is kept of what comes through a pipe, which may have no end."""
STANDARD_INPUT: Final = "-"
"""What stands for the path of standard input."""

_PIECE_BYTES: Final = 1 << 20
_PEEK_BYTES: Final = 1 << 20
"""How much of a pipe is read to look at its beginning: packed or not, it holds `HEAD_BYTES`."""
_MOST_PACKED: Final = 1100
"""How many times longer a gzip file can become at most when it is unpacked."""
_GZIP_MAGIC: Final = b"\x1f\x8b"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_FOREIGN: Final = {
    b"PK\x03\x04": "a zip archive",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"\xfd7zXZ\x00": "an xz file",
    b"BZh": "a bzip2 file",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
"""First bytes of what is not read, with what it is called."""


class Block(NamedTuple):
    """Some whole lines of a text."""

    text: bytes
    """Every line ends in a line feed, but the last line of the file may have none."""
    first_line: int
    """The number of its first line in the file, counted from 1."""


@dataclass(frozen=True)
class Source:
    """A file that can be read."""

    path: Path
    """The path that the user gave."""
    pipe: _Pipe | None = None
    """What comes through a pipe can be read once only, and is kept in another file."""

    @property
    def where(self) -> str:
        """How errors call the file."""
        return str(self.path)

    @cached_property
    def head(self) -> bytes:
        """The first bytes, unpacked."""
        # A pipe may have no end: what its beginning is decides whether the rest is worth waiting for.
        with _Stream(self.path, self._file(_PEEK_BYTES)) as stream:
            return stream.read(HEAD_BYTES).removeprefix(_BYTE_ORDER_MARK)

    @cached_property
    def head_lines(self) -> list[str]:
        """The first lines of the text that are neither blank nor comments, without blanks around them."""
        lines = self.head.decode("utf-8", errors="replace").splitlines()
        # The file goes on: its last line here is most likely cut, and would look like a broken row.
        if len(self.head) >= HEAD_BYTES - len(_BYTE_ORDER_MARK) and len(lines) > 1:
            lines.pop()
        stripped = (line.strip() for line in lines)
        return [line for line in stripped if line and not line.startswith(("#", ";"))]

    @cached_property
    def header(self) -> list[str]:
        """The first of `head_lines` cut at commas, in lower case, without blanks and quotes around the cells."""
        first = self.head_lines[0] if self.head_lines else ""
        # Good enough to tell formats apart; the readers cut rows as CSV has it.
        return [cell.strip().strip('"').lower() for cell in first.split(",")]

    @cached_property
    def separator(self) -> str:
        """What stands between the cells of a table: the one of the usual signs that its first line has most of."""
        first = self.head_lines[0] if self.head_lines else ""
        # The comma counts where none is ahead of the others.
        return max(SEPARATORS, key=first.count)

    @cached_property
    def columns(self) -> list[str]:
        """The first of `head_lines` cut at `separator`, as `header` is at commas."""
        first = self.head_lines[0] if self.head_lines else ""
        return [cell.strip().strip('"').lower() for cell in first.split(self.separator)]

    @cached_property
    def content_sha256(self) -> str:
        """The hash of the file as it lies on disk."""
        digest = hashlib.sha256()
        with _reading(self.path), self._file().open("rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
        return digest.hexdigest()

    def content(self) -> bytes:
        """Returns the whole file as it lies on disk, for formats that are no text."""
        with _reading(self.path):
            return self._file().read_bytes()

    def _file(self, least_bytes: int | None = None) -> Path:
        """Returns where the bytes lie: so many of them at least, by default all."""
        return self.path if self.pipe is None else self.pipe.kept(least_bytes)

    def blocks(self, *, quoted: str | None = None) -> Iterator[Block]:
        """Yields the text in blocks of whole lines, whatever its line ends are.

        Args:
            quoted: What stands between cells, if cells may stand in double quotes: a line end in such a cell is part of
                a line. None: quotes mean nothing.

        Raises:
            InputError: The file is damaged, no text, or a line is longer than any of a log is.
        """
        line, filled = 1, 0
        with _Stream(self.path, self._file()) as stream:
            # One buffer for all blocks: fresh memory for each would take longer than the reading.
            buffer = bytearray(min(BLOCK_BYTES, stream.largest_bytes + 1))
            while count := stream.read_into(buffer, filled):
                filled += count
                # No text has a zero byte, and every binary format has one soon.
                if buffer.find(b"\0", filled - count, filled) >= 0:
                    raise _binary(self.path)
                cut = last_line_end(buffer, filled, quoted)
                if cut:
                    block = self._block(buffer, cut, line)
                    # NumPy counts several times faster than bytes.count does.
                    line += int(np.count_nonzero(np.frombuffer(block.text, np.uint8) == ord("\n")))
                    # What is left begins the next block: a line that this one only has the beginning of.
                    buffer[: filled - cut] = buffer[cut:filled]
                    filled -= cut
                    yield block
                elif filled > LINE_BYTES:
                    limit = f"{LINE_BYTES >> 20} MB"
                    if quoted and buffer.find(b"\n", 0, filled) >= 0:
                        what = f"a quote is not closed within {limit} of the row that begins here"
                        raise InputError(f"{self.path}:{line}: {what}; mend the line")
                    raise InputError(f"{self.path}:{line}: the line is longer than {limit}; this is no log of jobs")
                # A line longer than the buffer, but not too long to be one.
                elif filled == len(buffer):
                    buffer.extend(bytes(BLOCK_BYTES))
        if filled:
            yield self._block(buffer, filled, line)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yields each line without its end, and its number in the file, counted from 1."""
        for block in self.blocks():
            yield from enumerate(block.text.decode("utf-8", errors="replace").split("\n"), start=block.first_line)

    def _block(self, buffer: bytearray, end: int, line: int) -> Block:
        with memoryview(buffer) as view:
            text = bytes(view[:end])
        if line == 1:
            text = text.removeprefix(_BYTE_ORDER_MARK)
        return Block(with_line_feeds(as_utf_8(text)), line)

    def pieces(self) -> Iterator[str]:
        """Yields the text in pieces that may end anywhere, for formats to which lines mean nothing."""
        # A character may be cut by the end of a piece: this decoder keeps its first half for the next one.
        decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        with _Stream(self.path, self._file()) as stream:
            while piece := stream.read(BLOCK_BYTES):
                yield decoder.decode(piece)
        yield decoder.decode(b"", final=True)


def are_numbers(cells: Iterable[str]) -> bool:
    """Returns whether all cells hold numbers."""
    try:
        for cell in cells:
            float(cell)
    except ValueError:
        return False
    return True


def open_source(path: str | Path) -> Source:
    """Returns a file, having looked at its beginning.

    Args:
        path: A file, a pipe, or ``-`` for what comes in by standard input.

    Raises:
        InputError: The file cannot be read, is damaged, is packed in a way that is not read, or is empty.
    """
    path = Path(path)
    # Formats look at the beginning, and then the file is read again, which a pipe does not allow.
    source = Source(path, _pipe(path) if _flows(path) else None)
    head = source.head
    if not head or head.isspace():
        is_short = len(head) < HEAD_BYTES - len(_BYTE_ORDER_MARK)
        what = "the file is empty" if is_short else f"the first {HEAD_BYTES >> 10} kB hold nothing but blanks"
        raise InputError(f"{source.path}: {what}; expected a job log")
    for magic, name in _FOREIGN.items():
        if head.startswith(magic):
            raise InputError(f"{source.path}: is {name}, which is not read; convert it to plain text or gzip")
    # Parquet is the only binary format that is read.
    if b"\0" in head and not head.startswith(PARQUET_MAGIC):
        raise _binary(path)
    return source


def _binary(path: Path) -> InputError:
    return InputError(f"{path}: looks like a binary file; expected a job log, as text or gzip")


def _flows(path: Path) -> bool:
    """Returns whether a path is that of a pipe or the like."""
    with _reading(path):
        return str(path) == STANDARD_INPUT or (path.exists() and not path.is_file() and not path.is_dir())


class _Pipe:
    """What comes through a pipe, kept in a file as far as it was read; the file is removed when the program ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._bytes = 0
        self._is_over = False
        # Others may read the file until the program ends.
        until_end = ExitStack()
        atexit.register(until_end.close)
        with _reading(path):
            self._pipe = until_end.enter_context(_piped(path))
            self._kept = until_end.enter_context(tempfile.NamedTemporaryFile(prefix="shunter-"))  # noqa: SIM115 - it is

    def kept(self, least_bytes: int | None) -> Path:
        """Returns a file with the first bytes, so many at least as far as there are any; None: with all of them."""
        with _reading(self._path):
            while not self._is_over and (least_bytes is None or self._bytes < least_bytes):
                self._keep(self._pipe.read(_PIECE_BYTES))
            self._kept.flush()
        if self._bytes > PIPE_BYTES:
            raise InputError(
                f"{self._path}: more than {PIPE_BYTES >> 30} GB came through the pipe, and it goes on; "
                "name the file itself, or pack it with gzip"
            )
        return Path(self._kept.name)

    def _keep(self, piece: bytes) -> None:
        self._kept.write(piece)
        self._bytes += len(piece)
        self._is_over = not piece or self._bytes > PIPE_BYTES
        if self._is_over and self._path.name != STANDARD_INPUT:
            # Whoever writes on is told that nobody reads.
            self._pipe.close()


@cache
def _pipe(path: Path) -> _Pipe:
    return _Pipe(path)


def _piped(path: Path) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if str(path) == STANDARD_INPUT else path.open("rb")


class _Stream:
    """A file's bytes in order, unpacked if its first ones say that it is gzip."""

    def __init__(self, path: Path, file: Path) -> None:
        self._path = path
        self._on_disk = file
        self._unpacked = 0

    def __enter__(self) -> _Stream:
        with _reading(self._path):
            self._file: BinaryIO = self._on_disk.open("rb")
            self._size = self._on_disk.stat().st_size
            is_gzip = self._file.read(2) == _GZIP_MAGIC
            self._file.seek(0)
        # The content decides, not the name: packed files are often called .log, and others .gz.
        self._unpacking = cast("io.BufferedIOBase", gzip.GzipFile(fileobj=self._file) if is_gzip else self._file)
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def largest_bytes(self) -> int:
        """The most bytes that a file of this size can unpack to."""
        # Deflate packs at most 1032 times, and its frame adds a little.
        return self._size * _MOST_PACKED

    def read(self, size: int) -> bytes:
        """Returns the next bytes; none at the end."""
        with _reading(self._path):
            piece = self._unpacking.read(size)
        self._count(len(piece))
        return piece

    def read_into(self, buffer: bytearray, begin: int) -> int:
        """Fills a buffer from a place on, and returns how many bytes were read; 0 at the end."""
        with _reading(self._path), memoryview(buffer) as view, view[begin:] as free:
            count = self._unpacking.readinto(free)
        self._count(count)
        return count

    def _count(self, unpacked: int) -> None:
        self._unpacked += unpacked
        # Checked while unpacking, so that a small file cannot fill the memory.
        if self._unpacked > max(BOMB_BYTES, BOMB_RATIO * self._size):
            raise InputError(
                f"{self._path}: unpacks to more than {BOMB_RATIO} times its size, as no log does; "
                "check what it is, and unpack it yourself if it is a log"
            )


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turns what can go wrong with a file into errors that name it."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a directory; name a file in it") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        what = f"the gzip file is damaged or cut short ({error})"
        raise InputError(f"{path}: {what}; fetch it again") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); check the path and its permissions") from None
