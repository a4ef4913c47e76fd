"""Every reader against damaged files: a clear error or an entry in the ledger, no crash and no silent wrong number."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from shunter.errors import InputError
from shunter.model.workload import Workload
from shunter.workloads import FORMATS, read_workload
from shunter.workloads.text import source as source_module
from tests.workloads.samples import SAMPLES

ROUNDS: Final = 40
"""Mutations of each kind and layout; all of them take about a minute."""
NUMBERS: Final = (
    "submit_s", "run_s", "requested_s", "tasks", "cores_per_task", "gpus_per_task", "memory_mb_per_task",
    "logged_wait_s",
)  # fmt: skip
WORDS: Final = ("abc", "NaN", "inf", "1e999", "--5", "0x10", "12:99:99", "٣", "-9999999999999999999999", "9" * 400)
"""What stands in no numeric cell of a log."""
HEADED: Final = ("sacct", "philly flat", "helios", "helios list", "pai list", "openb", "alibaba-dlrm", "csv")
TEXTS: Final = [name for name, (_, content) in SAMPLES.items() if content[:1] not in b"[{P"]
JSONS: Final = [name for name, (_, content) in SAMPLES.items() if content[:1] in b"[{"]

Mutation = Callable[[bytes, random.Random], bytes]


def _cut(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content))]


def _noise(content: bytes, draw: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.randint(1, 8)):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def _line_ends(content: bytes, draw: random.Random) -> bytes:
    pieces = content.split(b"\n")
    return b"".join(piece + draw.choice([b"\n", b"\r\n", b"\r", b"\n\n", b" \n"]) for piece in pieces)


def _lines_twice(content: bytes, draw: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    draw.shuffle(lines)
    return b"".join(lines + lines[: draw.randrange(len(lines) + 1)])


def _swapped_columns(content: bytes, draw: random.Random) -> bytes:
    separator = draw.choice([b",", b"|", b" "])
    rows = [line.split(separator) for line in content.split(b"\n")]
    width = max(len(row) for row in rows)
    one, other = draw.randrange(width), draw.randrange(width)
    for row in rows:
        if max(one, other) < len(row):
            row[one], row[other] = row[other], row[one]
    return b"\n".join(separator.join(row) for row in rows)


def _huge_numbers(content: bytes, draw: random.Random) -> bytes:
    def grow(match: re.Match[bytes]) -> bytes:
        return match.group() + b"0" * draw.choice([0, 0, 0, 3, 20]) if draw.random() < 0.2 else match.group()

    return re.sub(rb"[0-9]+", grow, content)


def _zones(content: bytes, draw: random.Random) -> bytes:
    zone = draw.choice([b"Z", b"+0100", b"+99:99", b" PDT", b" Europe/Berlin"])
    return re.sub(rb"(\d\d:\d\d:\d\d)", lambda match: match.group() + zone, content)


MUTATIONS: Final[dict[str, Mutation]] = {
    "cut": _cut,
    "noise": _noise,
    "line ends": _line_ends,
    "lines twice": _lines_twice,
    "swapped columns": _swapped_columns,
    "huge numbers": _huge_numbers,
    "zones": _zones,
}


def _read(path: Path, content: bytes, format_name: str | None) -> Workload | str:
    """Returns the workload, or the error's text, having checked that it is one line that names the file."""
    path.write_bytes(content)
    try:
        workload = read_workload(path, format=format_name)
    except InputError as error:
        text = str(error)
        assert "\n" not in text
        assert str(path) in text or "format" in text
        assert len(text) < 2000
        return text
    assert len(workload) > 0
    assert workload.jobs["run_s"].is_finite().all()
    assert workload.jobs["submit_s"].is_finite().all()
    assert workload.jobs["submit_s"].is_sorted()
    return workload


@pytest.mark.every(12)
@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("layout", SAMPLES)
def test_damaged_files(tmp_path: Path, layout: str, mutation: str) -> None:
    format_name, content = SAMPLES[layout]
    draw = random.Random(f"{layout} {mutation}")
    for round_ in range(ROUNDS):
        damaged = MUTATIONS[mutation](content, draw)
        # As the user who knows the format, and as the one who does not.
        _read(tmp_path / "log.bin", damaged, format_name if round_ % 2 else None)


@pytest.mark.every(5)
@pytest.mark.parametrize("format_name", FORMATS)
def test_random_bytes(tmp_path: Path, format_name: str) -> None:
    draw = random.Random(format_name)
    signs = [b'{}[]",|:;=#. \n\r\t0123456789abcdefJOB_FINISH-+TZ', bytes(range(256))]
    for round_ in range(2 * ROUNDS):
        content = bytes(draw.choices(signs[round_ % 2], k=draw.randint(1, 400)))
        assert isinstance(_read(tmp_path / "log.bin", content, format_name), str)


@pytest.mark.every(6)
@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("layout", SAMPLES)
def test_a_log_of_another_format_is_no_log_of_this_one(tmp_path: Path, layout: str, format_name: str) -> None:
    own, content = SAMPLES[layout]
    if own == format_name:
        assert isinstance(_read(tmp_path / "log.bin", content, None), Workload)
        return
    assert isinstance(_read(tmp_path / "log.bin", content, format_name), str)


@pytest.mark.parametrize("layout", [name for name in SAMPLES if name != "parquet"])
def test_half_a_gzip_file(tmp_path: Path, layout: str) -> None:
    format_name, content = SAMPLES[layout]
    packed = gzip.compress(content)
    assert isinstance(_read(tmp_path / "log.gz", packed, None), Workload)
    for end in range(len(packed) // 2, len(packed), 7):
        assert "damaged or cut short" in str(_read(tmp_path / "log.gz", packed[:end], format_name))


@pytest.mark.parametrize("layout", [name for name in SAMPLES if name != "parquet"])
def test_an_endless_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str) -> None:
    """Stands for a line of a gigabyte: whatever its length, no more is read than the limit."""
    monkeypatch.setattr(source_module, "LINE_BYTES", 1 << 16)
    monkeypatch.setattr("shunter.workloads.text.json_text.LINE_BYTES", 1 << 16)
    monkeypatch.setattr(source_module, "BLOCK_BYTES", 1 << 14)
    format_name, content = SAMPLES[layout]
    message = _read(tmp_path / "log.txt", content.rstrip(b"]}\n \r") + b"7" * (1 << 20), format_name)
    if isinstance(message, Workload):
        assert message.ledger
    else:
        assert "longer than" in message or "no JSON" in message


def _with_word(layout: str, content: bytes, draw: random.Random) -> bytes:
    """Returns a text with a word in the place of one cell."""
    lines = content.decode().split("\n")
    first = 1 if layout in HEADED else 0
    candidates = [n for n in range(first, len(lines)) if lines[n] and not lines[n].startswith((";", "#"))]
    number = draw.choice(candidates)
    cells = re.split(r"([,|\s]+)", lines[number])
    place = 2 * draw.randrange((len(cells) + 1) // 2)
    key, equals, _ = cells[place].partition("=")
    cells[place] = key + equals + draw.choice(WORDS) if equals else draw.choice(WORDS)
    lines[number] = "".join(cells)
    return "\n".join(lines).encode()


def _numbers(workload: Workload) -> list[tuple[Any, ...]]:
    return sorted(workload.jobs.select("job_id", *NUMBERS).rows(), key=repr)


def _check_not_silent(before: Workload, after: Workload | str, damaged: bytes) -> None:
    """Checks that where a number changed, the ledger says so."""
    if isinstance(after, str) or after.ledger != before.ledger:
        return
    ids = set(before.jobs["job_id"].to_list())
    for row in _numbers(after):
        # A job whose id is the word is the same job under another name.
        if row[0] in ids:
            assert row in _numbers(before), damaged.decode(errors="replace")
    assert len(after) == len(before), damaged.decode(errors="replace")


@pytest.mark.every(6)
@pytest.mark.parametrize("layout", TEXTS)
def test_a_word_in_a_cell_never_changes_a_number_silently(tmp_path: Path, layout: str) -> None:
    format_name, content = SAMPLES[layout]
    draw = random.Random(layout)
    before = _read(tmp_path / "log.txt", content, format_name)
    assert isinstance(before, Workload)
    for _ in range(3 * ROUNDS):
        damaged = _with_word(layout, content, draw)
        _check_not_silent(before, _read(tmp_path / "log.txt", damaged, format_name), damaged)


@pytest.mark.every(4)
@pytest.mark.parametrize("layout", JSONS)
def test_a_word_in_json_never_changes_a_number_silently(tmp_path: Path, layout: str) -> None:
    format_name, content = SAMPLES[layout]
    before = _read(tmp_path / "log.json", content, format_name)
    assert isinstance(before, Workload)
    leaves = [match.span() for match in re.finditer(rb'(?<=: )("[^"]*"|[0-9.]+)', content)]
    others = ("null", "true", "[]", "{}", "-5", "1e999", '"9e99"')
    for number, (begin, end) in enumerate(leaves):
        for word in ('"abc"', others[number % len(others)]):
            damaged = content[:begin] + word.encode() + content[end:]
            after = _read(tmp_path / "log.json", damaged, format_name)
            if word == '"abc"':
                _check_not_silent(before, after, damaged)


def test_the_samples_are_read_whole() -> None:
    """The mutations above mean little if the samples themselves are not sound."""
    assert json.loads(SAMPLES["sacct-json"][1])["jobs"]
    assert {format_name for format_name, _ in SAMPLES.values()} == set(FORMATS)
