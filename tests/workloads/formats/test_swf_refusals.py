"""SWF: each bad input is one line that names the place, the value and the remedy."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from shunter.errors import InputError
from shunter.workloads import read_workload
from tests.support import examples
from tests.workloads.formats.test_swf import line, read_or_message, read_text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"f4": "abc"}, 'run time (field 4) is "abc"; expected a number; mend the line or remove it'),
        ({"f4": "nan"}, 'run time (field 4) is "nan"; expected a number; mend the line or remove it'),
        ({"f18": "1e999"}, 'think time (field 18) is "1e999"; expected a number that is not absurd'),
        ({"f1": "9" * 30}, f'job number (field 1) is "{"9" * 30}"; expected a number that is not absurd'),
        ({"f4": -5}, "run time (field 4) is -5; expected seconds, or -1 for unknown; mend"),
        ({"f4": "2e9"}, "run time (field 4) is 2000000000; expected at most 1,000,000,000 (an absurd value); mend"),
        ({"f2": -3}, "submit time (field 2) is -3; expected seconds from 0 on; mend"),
        (
            {"f2": "1e13"},
            "submit time (field 2) is 10000000000000; expected at most 1,000,000,000,000 (an absurd value); mend",
        ),
        ({"f9": "1e10"}, "requested time (field 9) is 10000000000; expected at most 1,000,000,000"),
        ({"f3": "1e10"}, "wait time (field 3) is 10000000000; expected at most 1,000,000,000"),
        ({"f5": 0, "f8": 0}, "allocated processors (field 5) is 0; expected at least 1 processor; mend"),
        ({"f5": 0, "f8": -1}, "allocated processors (field 5) is 0; expected at least 1 processor; mend"),
        ({"f5": -1, "f8": 0}, "requested processors (field 8) is 0; expected at least 1 processor; mend"),
        ({"f5": -4}, "allocated processors (field 5) is -4; expected a number of processors, or -1 for unknown; mend"),
        ({"f8": 2**31}, "requested processors (field 8) is 2147483648; expected at most 2,147,483,647"),
        ({"f8": 2**31 - 1}, 'column "cores_per_task" is "1"; expected at most 1,000,000,000 cores over all tasks'),
        ({"f8": 4.5}, "requested processors (field 8) is 4.5; expected a whole number; mend"),
        ({"f1": 1.5}, "job number (field 1) is 1.5; expected a whole number; mend"),
        ({"f12": 7.5}, "user (field 12) is 7.5; expected a whole number; mend"),
        ({"f7": "\x01\x02"}, "looks like a binary file; expected a SWF log"),
    ],
)
def test_bad_values(tmp_path: Path, fields: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_text(tmp_path, "; header\n" + line() + line(**{"f1": 2, **fields}))
    assert f"log.swf:3: {message}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_zero_processors_are_reported_in_the_field_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"log\.swf:1: allocated processors \(field 5\) is 0"):
        read_text(tmp_path, line(f5=0, f8=-1) + line(f1=2, f5=-1, f8=0))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "the file is empty", id="empty"),
        pytest.param(b" \n\t\r\n", "the file is empty", id="blank"),
        pytest.param(gzip.compress(b"", mtime=0), "the file is empty", id="empty-gzip"),
        pytest.param(b"; MaxProcs: 4\n", "the file holds no job", id="no-job"),
        pytest.param(
            line(f4=0).encode(), "no job is left after repairs: run time 0 s: job dropped (1)", id="none-left"
        ),
        pytest.param(b"1 2 3\n", ":1: the line has 3 fields; expected 18; mend the line or remove it", id="short-line"),
        pytest.param(line().encode() + line().encode()[:-8], ":2: the line has 15 fields", id="cut-line"),
        pytest.param(b"\0\0\0", ": looks like a binary file", id="zeros"),
        pytest.param(line().encode("utf-16"), ": is UTF-16 text, which is not read", id="utf-16"),
        pytest.param(b"\x89PNG\r\n\x1a\n\0", "looks like a binary file", id="png"),
        pytest.param(
            gzip.compress(line().encode() * 100, mtime=0)[:-20], "the gzip file is damaged or cut short", id="cut-gzip"
        ),
        pytest.param(
            gzip.compress(line().encode(), mtime=0)[:-1], "the gzip file is damaged or cut short", id="gzip-without-end"
        ),
        pytest.param(b"\x1f\x8bnonsense", "the gzip file is damaged or cut short", id="no-gzip"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "log.swf"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_corrupt_gzip_content(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"".join(line(f1=number).encode() for number in range(1000)), mtime=0))
    packed[len(packed) // 2] ^= 0xFF
    path = tmp_path / "log.swf.gz"
    path.write_bytes(packed)
    with pytest.raises(InputError, match="the gzip file is damaged"):
        read_workload(path)


_FRAGMENTS = st.one_of(
    st.sampled_from(
        [line().encode(), b"; MaxProcs: 4\n", b"\n", b"\r", b" ", b"-1 ", b"1e5 ", b"-", b";", b"\xef\xbb\xbf"]
    ),
    st.integers(-(10**20), 10**20).map(lambda number: f"{number} ".encode()),
    st.floats().map(lambda number: f"{number} ".encode()),
    st.binary(max_size=30),
)


@examples(300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(st.binary(max_size=300), st.lists(_FRAGMENTS, max_size=40).map(b"".join)))
def test_no_bytes_crash_the_reader(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fuzz.swf"
    path.write_bytes(content)
    outcome = read_or_message(path)
    if isinstance(outcome, str):
        assert outcome.startswith(str(path))
        assert "\n" not in outcome
    else:
        assert len(outcome) >= 1
        assert outcome.jobs["submit_s"].is_sorted()
