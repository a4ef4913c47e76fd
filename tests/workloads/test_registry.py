"""`read_workload`: which reader a spec means, and files that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.workloads import FORMATS, read_workload
from shunter.workloads.write import write_table
from tests.workloads.test_swf import FIVE_JOBS, line


def test_the_name_tells_the_format(tmp_path: Path) -> None:
    swf = tmp_path / "A.SWF"
    swf.write_text(FIVE_JOBS)
    workload = read_workload(str(swf))
    for ending in ("csv", "CSV.gz", "parquet"):
        path = tmp_path / f"a.b.{ending}"
        write_table(workload, path)
        assert read_workload(path).jobs.equals(workload.jobs)


def test_a_parquet_file_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    swf = tmp_path / "a.swf"
    swf.write_text(line())
    write_table(read_workload(swf), tmp_path / "a.parquet")
    other = (tmp_path / "a.parquet").rename(tmp_path / "a.bin")
    assert len(read_workload(other)) == 1


def test_the_content_tells_the_format_whatever_the_name_is(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(line())
    assert read_workload(path).format == "swf"


def test_unknown_content_shows_its_beginning_and_lists_the_formats(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("once upon a time\n")
    known = ", ".join(FORMATS)
    with pytest.raises(
        InputError, match=rf"a\.log: .* no known format \(it begins with 'once upon.*\({known}\).*--map"
    ):
        read_workload(path)


def test_an_unknown_format_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='format "sfw" is unknown; expected one of ' + ", ".join(FORMATS)):
        read_workload(tmp_path / "a.swf", format="sfw")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("absent.swf", "no such file; check the path"),
        ("", "is a directory; name a file in it"),
        ("a\0b.swf", "cannot be read"),
        ("n" * 300 + ".swf", "cannot be read"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_workload(f"{tmp_path}/{spec}")
