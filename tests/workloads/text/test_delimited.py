"""Delimited text to frames: the quick way and the careful way give the same rows and places."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shunter.errors import InputError
from shunter.workloads.text import source as module
from shunter.workloads.text.delimited import read_frames
from shunter.workloads.text.lines import last_line_end
from shunter.workloads.text.repairs import PLACE, UNREADABLE, Repairs
from shunter.workloads.text.source import open_source


def _read(tmp_path: Path, text: str, **options: object) -> tuple[list[dict[str, object]], Repairs]:
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    source = open_source(path)
    repairs = Repairs([source])
    frames = list(read_frames(source, repairs, **options))  # type: ignore[arg-type]
    return (pl.concat(frames).to_dicts() if frames else []), repairs


def test_rows_with_their_lines(tmp_path: Path) -> None:
    rows, repairs = _read(tmp_path, "a,b\n1,x\n2,\n,y\n")
    assert rows == [{"a": "1", "b": "x", PLACE: 2}, {"a": "2", "b": None, PLACE: 3}, {"a": None, "b": "y", PLACE: 4}]
    assert not repairs.ledger


@pytest.mark.parametrize("extra", ["", "# comment\n", "\n", '"q","z"\n', "a,b\n", "too,long,row\n", "short\n"])
def test_what_is_irregular_changes_no_other_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: str) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", 64)
    lines = [f"{number},name{number}\n" for number in range(40)]
    expected = [(str(number), f"name{number}") for number in range(40)]
    rows, repairs = _read(tmp_path, "a,b\n" + "".join(lines[:20]) + extra + "".join(lines[20:]))
    seen = [(row["a"], row["b"]) for row in rows if row["a"] != "q"]
    assert seen == expected
    places = {row["a"]: row[PLACE] for row in rows}
    assert places["19"] == 21
    assert places["20"] == 22 + bool(extra)
    skipped = extra in ("too,long,row\n", "short\n")
    assert repairs.count(UNREADABLE) == skipped
    if skipped:
        (entry,) = repairs.ledger.entries
        assert entry.example.startswith("line 22: the row has ")


def test_a_row_may_be_mended(tmp_path: Path) -> None:
    rows, repairs = _read(
        tmp_path, "1|a|b|c\n2|d\n", columns=["number", "name"], separator="|", quoted=False,
        mend=lambda cells: [cells[0], "|".join(cells[1:])],
    )  # fmt: skip
    assert [(row["number"], row["name"]) for row in rows] == [("1", "a|b|c"), ("2", "d")]
    assert not repairs.ledger


def test_short_and_long_rows_that_add_up_are_both_skipped(tmp_path: Path) -> None:
    rows, repairs = _read(tmp_path, "1,2,3\n4\n5,6\n", columns=["a", "b"])
    assert [row["a"] for row in rows] == ["5"]
    assert repairs.count(UNREADABLE) == 2


@pytest.mark.parametrize(
    ("content", "names"), [(b"1,a\xe9\n2,a\xe8\n", ["aé", "aè"]), ("1,aé\n2,aè\n".encode(), ["aé", "aè"])]
)
def test_text_that_is_no_utf_8_is_read_as_latin_1(tmp_path: Path, content: bytes, names: list[str]) -> None:
    """Two users must never become one."""
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n" + content)
    source = open_source(path)
    (frame,) = read_frames(source, Repairs([source]))
    assert frame["b"].to_list() == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a,b\n1,"x\n2,y\n3,z\n', r"table\.csv:2: a quote is not closed in the row that begins here"),
        ('a,b\n1,"x\n2,y\n3,"z"\n4,w\n', r"table\.csv:2: a quote stands wrong"),
    ],
)
def test_a_quote_that_is_not_closed_swallows_no_rows(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _read(tmp_path, text)


@pytest.mark.parametrize("at", [0, 20_000, 39_999])
def test_a_stray_quote_costs_no_more_than_another_sign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Each sign is looked at a few times at most, wherever the quote is: the cost is counted, not timed."""
    looked_at = 0

    def counting(text: bytearray, filled: int, quoted: str | None) -> int:
        nonlocal looked_at
        looked_at += filled
        return last_line_end(text, filled, quoted)

    monkeypatch.setattr(module, "last_line_end", counting)
    monkeypatch.setattr(module, "BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr(module, "LINE_BYTES", 1 << 17)
    lines = [f"{number},name{number}\n" for number in range(40_000)]
    lines[at] = f'{at},"stray\n'
    text = "a,b\n" + "".join(lines)
    message = (
        "a quote is not closed within 0 MB" if at < 30_000 else "a quote is not closed in the row that begins here"
    )
    with pytest.raises(InputError, match=rf"table\.csv:{at + 2}: {message}"):
        _read(tmp_path, text)
    assert looked_at < 5 * len(text)


def test_a_table_of_very_many_columns_is_none(tmp_path: Path) -> None:
    header = ",".join(f"c{number}" for number in range(5000))
    with pytest.raises(InputError, match="the header has 5,000 columns; expected at most 4,096"):
        _read(tmp_path, header + "\n1\n")


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"table\.csv:3: the row has 3 fields, the header 2; mend or remove the row"):
        _read(tmp_path, "a,b\n1,2\n1,2,3\n", refuse=True)
    with pytest.raises(InputError, match='two columns are called "a"; rename one of them'):
        _read(tmp_path, "a, a\n1,2\n")
