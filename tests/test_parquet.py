"""Parquet files that are damaged: one line says so, and nothing else happens."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import polars as pl
import pytest

from shunter.errors import InputError
from shunter.parquet import read_parquet
from shunter.parquet_check import check_parquet
from shunter.thrift import MalformedError

TABLE = pl.DataFrame({"submit_s": [1, 2, 3], "run_s": [5.0, None, 7.0], "user": ["a", None, "a"]})
PAGE = re.compile(rb"\x15\x00\x15.\x15.\x2c\x15(\x06)", re.DOTALL)
"""The header of a page of data: its kind, its two sizes, and that it holds three values."""
CODECS = ("uncompressed", "snappy", "zstd", "gzip", "brotli", "lz4")


def written(table: pl.DataFrame = TABLE, codec: str = "uncompressed") -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression=codec, statistics=False, metadata={"whose": "mine"})  # type: ignore[arg-type]
    return buffer.getvalue()


def changed(content: bytes, at: int, *values: int) -> bytes:
    return content[:at] + bytes(values) + content[at + len(values) :]


def with_footer(footer: bytes, body: bytes = b"") -> bytes:
    return b"PAR1" + body + footer + len(footer).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize("codec", CODECS)
def test_sound_files(codec: str) -> None:
    nested = TABLE.with_columns(
        places=pl.Series([[{"node": "n1", "tasks": 2}], [], None]), none=pl.lit(None), kind=pl.lit("x", pl.Categorical)
    )
    for table in (TABLE, nested, TABLE.clear(), pl.concat([nested] * 100)):
        frame, metadata = read_parquet(written(table, codec), "here")
        assert frame.equals(table)
        assert metadata["whose"] == "mine"


def test_several_groups_of_rows() -> None:
    buffer = io.BytesIO()
    table = pl.concat([TABLE] * 40)
    table.write_parquet(buffer, row_group_size=7, data_page_size=16)
    assert read_parquet(buffer.getvalue(), "here")[0].equals(table)


def test_a_page_of_fewer_values_than_none_does_not_end_the_process(tmp_path: Path) -> None:
    """Polars takes the number for one near 2**64, asks for as much memory, and ends the process with code 134."""
    path = tmp_path / "jobs.parquet"
    content = written()
    for page in PAGE.finditer(content):
        # Zigzag: odd numbers are negative.
        path.write_bytes(changed(content, page.start(1), 5))
        done = subprocess.run(
            [sys.executable, "-m", "shunter", "trace", "info", path], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) == 1
        assert "is not a Parquet file, or is damaged (column" in done.stderr
        assert "a page of -3 values" in done.stderr
    assert len(PAGE.findall(content)) == len(TABLE.columns)


def test_what_polars_says_of_its_panics_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    content = written()
    first = next(PAGE.finditer(content)).start()
    messages = []
    # The rest of the header, and the page behind it: it panics at some of them.
    for at in range(first + 5, first + 25):
        try:
            read_parquet(changed(content, at, 0), "here")
        except InputError as error:
            messages.append(str(error))
    assert messages
    for message in messages:
        assert re.fullmatch(r"here: is not a Parquet file, or is damaged \(.*\); take another copy", message)
        assert "unwrap" not in message
    assert capfd.readouterr() == ("", "")


def test_what_others_write_meanwhile_is_shown(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(_: object) -> pl.DataFrame:
        os.write(2, b"of another thread\n")
        return TABLE

    monkeypatch.setattr(pl, "read_parquet", read)
    read_parquet(written(), "here")
    os.write(2, b"afterwards\n")
    assert capfd.readouterr().err == "of another thread\nafterwards\n"


def test_without_a_standard_error(tmp_path: Path) -> None:
    path = tmp_path / "jobs.parquet"
    path.write_bytes(written())
    script = "import os, pathlib, sys; from shunter.parquet import read_parquet; os.close(2); "
    script += "print(len(read_parquet(pathlib.Path(sys.argv[1]).read_bytes(), 'here')[0]))"
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "3\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not begin and end as one"),
        (b"PAR1", "does not begin and end as one"),
        (b"PAR1\x00PAR1", "does not begin and end as one"),
        (written()[:-1], "does not begin and end as one"),
        (with_footer(b"")[:-8] + b"\xff\xff\xff\x7fPAR1", "footer is longer than the file"),
        (with_footer(b""), "ends too early"),
        (with_footer(b"\x00"), "the footer: schema is missing"),
        (with_footer(b"\x15\x02\x15\x02\x00"), "the footer: schema is not what it should be"),
        (with_footer(b"\x15\x02\x04\x02\x02\x00"), "the footer: version is not what it should be"),
        (with_footer(b"\x15" + b"\xff" * 5 + b"\x0f\x00"), "a number of more than 32 bits"),
        (with_footer(b"\x29\xfc\xff\xff\xff\xff\x07"), "ends too early"),
        (with_footer(b"\xf0"), "a value of kind 0"),
        (with_footer(b"\xfc" + b"\x1c" * 100 + b"\x00" * 101), "too deep"),
        (with_footer(b"\xf9" + b"\x19" * 100), "too deep"),
        # No column, no rows, and a struct where the way of encryption stands.
        (with_footer(b"\x29\x1c\x48\x01r\x00\x16\x00\x19\x0c\x4c\x00\x00"), "it is encrypted"),
    ],
)
def test_what_is_no_file_of_this_kind(content: bytes, message: str) -> None:
    with pytest.raises(MalformedError, match=message):
        check_parquet(content)


def test_a_file_without_columns() -> None:
    assert check_parquet(with_footer(b"\x29\x1c\x48\x01r\x00\x16\x00\x19\x0c\x00")) == {}


def column(numbers: Mapping[str, int] = MappingProxyType({}), header: bytes = b"") -> bytes:
    """Returns a file of one group, row and column; the header of its page and all numbers can be set."""
    given = {"children": 1, "rows": 1, "group": 1, "values": 1, "at": 4, "page": 1, "unpacked": 9, "width": 0}
    given.update(numbers)
    header = header or page(b"\x2c\x15%b\x00" % zigzag(given["page"]), unpacked=given["unpacked"])
    packed = numbers.get("packed", len(header))
    root = b"\x48\x01r\x15%b\x00" % zigzag(given["children"])
    leaf = b"\x15\x02\x15%b\x15\x00\x18\x01c\x00" % zigzag(given["width"])
    described = b"\x56%b\x26%b\x26%b\x00" % (zigzag(given["values"]), zigzag(packed), zigzag(given["at"]))
    group = b"\x19\x1c\x3c%b\x00\x26%b\x00" % (described, zigzag(given["group"]))
    return with_footer(b"\x29\x2c%b%b\x16%b\x19\x1c%b\x00" % (root, leaf, zigzag(given["rows"]), group), header)


def page(kind: bytes, number: int = 0, unpacked: int = 9, packed: int = 0) -> bytes:
    """Returns the header of a page of a kind, and nothing that it holds."""
    return b"\x15%b\x15%b\x15%b%b\x00" % (zigzag(number), zigzag(unpacked), zigzag(packed), kind)


def second(values: int = 1, nulls: int = 0, rows: int = 1, definition: int = 0, repetition: int = 0) -> bytes:
    """Returns the header of a page of the second version."""
    numbers = (zigzag(each) for each in (values, nulls, rows, 0, definition, repetition))
    return page(b"\x5c\x15%b\x15%b\x15%b\x15%b\x15%b\x15%b\x00" % tuple(numbers), number=3)


def zigzag(value: int) -> bytes:
    return _varint(value * 2 if value >= 0 else -2 * value - 1)


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _varint(value >> 7)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"children": 2}, "its schema is no tree"),
        ({"children": -1}, "its schema is no tree"),
        ({"rows": 2}, "its groups of rows do not have 2 rows together"),
        ({"group": -1}, "column c: 1 values for -1 rows"),
        ({"values": 2}, "column c: 2 values for 1 rows"),
        ({"values": 2**50, "group": 2**50}, "would unpack to more than 512 times its size"),
        ({"width": 2**30}, "would unpack to more than 512 times its size"),
        ({"unpacked": 2**30}, "would unpack to more than 512 times its size"),
        ({"unpacked": -1}, "column c: a size of -1 bytes"),
        ({"at": 0}, "column c: it lies outside the file"),
        ({"at": 2**40}, "column c: it lies outside the file"),
        ({"packed": -1}, "column c: it lies outside the file"),
        ({"packed": 2**40}, "column c: it lies outside the file"),
        ({"packed": 3}, "column c: ends too early"),
        ({"page": 2}, "column c: its pages hold 2 values and not 1"),
        ({"page": 0}, "column c: its pages hold 0 values and not 1"),
        ({"page": -1}, "column c: a page of -1 values, 0 of them missing"),
    ],
)
def test_numbers_that_contradict_each_other(numbers: dict[str, int], message: str) -> None:
    assert check_parquet(column()) == {}
    with pytest.raises(MalformedError, match=message):
        check_parquet(column(numbers))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (page(b"", number=1), "a page of kind 1"),
        (page(b"", number=0), "a page of kind 0"),
        (page(b"", number=3), "a page of kind 3"),
        (page(b"\x2c\x15\x02\x00", number=7), "a page of kind 7"),
        (page(b"\x2c\x15\x02\x00", packed=-1), "a page of -1 bytes"),
        (page(b"\x2c\x15\x02\x00", packed=1), "a page goes on where the column ends"),
        # The fifth field, a struct, whose third one is -1 and 2.
        (page(b"\x2c\x15\x02\x4c\x36\x01\x00\x00"), "a page of 1 values, -1 of them missing"),
        (page(b"\x2c\x15\x02\x4c\x36\x04\x00\x00"), "a page of 1 values, 2 of them missing"),
        (page(b"\x4c\x15\x01\x00", number=2), "a dictionary of -1 values"),
        (page(b"\x4c\x15\x14\x00", number=2), "a dictionary of 10 values"),
        (second(nulls=-1), "a page of 1 values, -1 of them missing"),
        (second(nulls=2), "a page of 1 values, 2 of them missing"),
        (second(rows=2), "a page contradicts itself"),
        (second(definition=-1), "a page contradicts itself"),
        (second(repetition=-1), "a page contradicts itself"),
        (second(definition=1), "a page contradicts itself"),
    ],
)
def test_pages_that_cannot_be(header: bytes, message: str) -> None:
    assert check_parquet(column(header=second())) == {}
    with pytest.raises(MalformedError, match=f"column c: {message}"):
        check_parquet(column(header=header))
