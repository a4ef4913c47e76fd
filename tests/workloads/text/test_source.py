"""Files: unpacked, cut into blocks of whole lines, and what is no log refused before it fills the memory."""

from __future__ import annotations

import gzip
import hashlib
import os
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from shunter.errors import InputError
from shunter.workloads import read_workload
from shunter.workloads.text import source as module
from shunter.workloads.text.lines import _field_quotes
from shunter.workloads.text.source import Source, open_source


def _source(tmp_path: Path, content: bytes) -> Source:
    path = tmp_path / "log.txt"
    path.write_bytes(content)
    return open_source(path)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", 16)
    monkeypatch.setattr(module, "LINE_BYTES", 64)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("packed", [False, True])
def test_blocks_are_whole_lines_with_their_numbers(tmp_path: Path, ending: str, packed: bool) -> None:
    lines = [f"line {number} " + "x" * (number % 13) for number in range(1, 40)]
    content = ending.join(lines).encode()
    blocks = list(_source(tmp_path, gzip.compress(content) if packed else content).blocks())
    assert len(blocks) > 5
    seen: list[str] = []
    for block in blocks:
        assert block.first_line == len(seen) + 1
        seen += block.text.decode().splitlines()
    assert seen == lines


@pytest.mark.usefixtures("small_blocks")
def test_a_quoted_line_end_is_no_line_end(tmp_path: Path) -> None:
    text = b'a,"one\ntwo\nthree and much more of it"\nb,"four\nfive"\nc,six\n'
    blocks = list(_source(tmp_path, text).blocks(quoted=","))
    assert b"".join(block.text for block in blocks) == text
    assert all(block.text.count(b'"') % 2 == 0 for block in blocks)
    assert [block.first_line for block in blocks] == [1, 4, 6][: len(blocks)]


def test_head_lines_leave_out_comments_and_half_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEAD_BYTES", 32)
    source = _source(tmp_path, b"\xef\xbb\xbf# comment\n; other\n\n A , b\nc,d\nhalf of this line is cut")
    assert source.head_lines == ["A , b"]
    assert source.header == ["a", "b"]


def test_the_hash_is_that_of_the_file_on_disk(tmp_path: Path) -> None:
    content = gzip.compress(b"text\n")
    assert _source(tmp_path, content).content_sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.usefixtures("small_blocks")
def test_pieces_decode_signs_that_are_cut(tmp_path: Path) -> None:
    text = "é" * 50
    assert "".join(_source(tmp_path, text.encode()).pieces()) == text


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("content", "quoted", "message"),
    [
        (b"short\n" + b"x" * 200, None, r"log\.txt:2: the line is longer than 0 MB; this is no log of jobs"),
        (b'a\n"b\n' + b"c\n" * 100, ",", r"log\.txt:2: a quote is not closed within 0 MB of the row that begins here"),
        (b"a\n" * 200_000 + b"\0", None, "looks like a binary file"),
    ],
)
def test_what_is_no_text_of_lines(tmp_path: Path, content: bytes, quoted: str | None, message: str) -> None:
    source = _source(tmp_path, content)
    with pytest.raises(InputError, match=message):
        list(source.blocks(quoted=quoted))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04rest", "is a zip archive, which is not read; convert it to plain text or gzip"),
        (b"\x28\xb5\x2f\xfdrest", "is a zstd file"),
        (b"\xfd7zXZ\x00rest", "is an xz file"),
        (b"BZh9rest", "is a bzip2 file"),
        ("jobs".encode("utf-16"), "is UTF-16 text"),
        (b" \n", "the file is empty; expected a job log"),
        (b"a\n\0b\n", "looks like a binary file; expected a job log, as text or gzip"),
        (gzip.compress(b"x" * 1000, mtime=0)[:-9], "the gzip file is damaged or cut short"),
    ],
)
def test_files_that_are_not_read(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _source(tmp_path, content)


def test_a_gzip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BOMB_BYTES", 1 << 20)
    source = _source(tmp_path, gzip.compress(b"x" + b"\n" * 5_000_000))
    with pytest.raises(InputError, match="unpacks to more than 64 times its size"):
        list(source.blocks())


def test_a_pipe_is_read_once_and_kept(tmp_path: Path) -> None:
    """Process substitution of a shell gives such a path; reading it twice would lose its beginning."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = b"".join(b"line %d\n" % number for number in range(100_000))
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    source = open_source(pipe)
    writer.join()
    assert b"".join(block.text for block in source.blocks()) == content
    assert b"".join(block.text for block in open_source(pipe).blocks()) == content
    assert source.content_sha256 == hashlib.sha256(content).hexdigest()
    assert source.where == str(pipe)


@pytest.mark.usefixtures("small_blocks")
def test_a_quote_within_a_plain_field_closes_nothing(tmp_path: Path) -> None:
    lines = [b'5,6" disk,%d\n' % number for number in range(40)]
    text = b'a,b""c,d\n, "x\ny",2\n' + b"".join(lines)
    blocks = list(_source(tmp_path, text).blocks(quoted=","))
    assert b"".join(block.text for block in blocks) == text
    assert len(blocks) > 5
    assert all(block.text.count(b"\n") for block in blocks)


@pytest.mark.parametrize("text", [b'"', b'a\n"', b'"a""b",c\n"', b'x"y,"z', b' "a"\n', b'a, "b\nc"\nd\n', b'"" ""\n'])
def test_field_quotes_agree_with_a_scan_sign_by_sign(text: bytes) -> None:
    expected: list[int] = []
    inside, at_begin = False, True
    for place, sign in enumerate(text):
        if sign == ord('"') and (inside or at_begin or (expected and expected[-1] == place - 1)):
            inside = not inside
            expected.append(place)
        at_begin = sign in b",\n" or (at_begin and sign == ord(" "))
    assert _field_quotes(np.frombuffer(text, np.uint8), ord(",")).tolist() == expected


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_device_without_end_is_refused_at_once(device: str) -> None:
    if not Path(device).exists():
        pytest.skip(f"this system has no {device}")
    with pytest.raises(InputError, match=f"{device}: looks like a binary file"):
        open_source(device)


def test_a_pipe_without_end_is_looked_at_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    is_over = threading.Event()
    writer = threading.Thread(target=_write_on, args=(pipe, is_over))
    writer.start()
    try:
        with pytest.raises(InputError, match=r"pipe: the content is of no known format \(it begins with 'y'\)"):
            read_workload(pipe)
    finally:
        is_over.set()
        open_source(pipe).content()
        writer.join()


def test_no_more_than_so_much_is_kept_of_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIPE_BYTES", 3 << 20)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    is_over = threading.Event()
    writer = threading.Thread(target=_write_on, args=(pipe, is_over))
    writer.start()
    try:
        with pytest.raises(
            InputError,
            match=r"^/.*pipe: more than 0 GB came through the pipe, and it goes on; name the file itself, or pack it",
        ):
            open_source(pipe).content()
    finally:
        is_over.set()
        writer.join()


def _write_on(pipe: Path, is_over: threading.Event) -> None:
    # The reader may go away first.
    with suppress(BrokenPipeError), pipe.open("wb") as file:
        while not is_over.is_set():
            file.write(b"y\n" * 30_000)
