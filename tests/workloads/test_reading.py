"""`read_workload`: which reader a spec means, and files that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.workloads import FORMATS, read_workload
from shunter.workloads.reading import drawn_again
from shunter.workloads.write import write_table
from tests.workloads.formats.test_swf import FIVE_JOBS, line


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
    with pytest.raises(
        InputError, match="unknown format 'sfw'; did you mean 'swf'. The known ones are " + ", ".join(FORMATS)
    ):
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


def test_files_of_one_log_count_from_the_first_ones_beginning(tmp_path: Path) -> None:
    for name, zero_s, cores in (("a", 1000, 50), ("b", 605_800, 50), ("c", 1_210_600, 100)):
        text = f"; UnixStartTime: {zero_s}\n; MaxProcs: {cores}\n" + line(f1=ord(name), f2=5)
        (tmp_path / f"{name}.swf").write_text(text)
    both = read_workload([tmp_path / "a.swf", tmp_path / "b.swf"])
    assert both.jobs["submit_s"].to_list() == [5.0, 604_805.0]
    assert both.cluster_spec == "50"
    all_three = read_workload(str(tmp_path / "*.swf"))
    assert all_three.jobs["submit_s"].to_list() == [5.0, 604_805.0, 1_209_605.0]
    assert all_three.cluster_spec is None
    assert all_three.cluster_note == "its files tell of machines of different sizes (50, 100 cores)"


def test_one_file_is_not_taken_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.swf"
    path.write_text(line())
    with pytest.raises(InputError, match="is given twice; its jobs would count twice"):
        read_workload([path, path])


def test_files_of_two_formats_are_no_log(tmp_path: Path) -> None:
    (tmp_path / "a.swf").write_text(line())
    (tmp_path / "b.csv").write_text("submit_s,run_s\n1,2\n")
    with pytest.raises(InputError, match=r"the files are not of one log: .*a\.swf is swf, .*b\.csv is csv"):
        read_workload([tmp_path / "a.swf", tmp_path / "b.csv"])
    with pytest.raises(InputError, match="no file has such a name; check the pattern"):
        read_workload(str(tmp_path / "*.log"))


@pytest.mark.parametrize("spec", ["generate:poisson?jobs=30", "generate:poisson?seed=18446744073709551615&jobs=30"])
def test_a_generator_draws_again_and_a_log_does_not(tmp_path: Path, spec: str) -> None:
    workload = read_workload(spec)
    first, second = drawn_again(workload, 1), drawn_again(workload, 2)
    assert first is not None
    assert second is not None
    assert len(first) == len(workload)
    assert not first.jobs.equals(workload.jobs)
    assert not first.jobs.equals(second.jobs)
    write_table(workload, tmp_path / "a.csv")
    assert drawn_again(read_workload(tmp_path / "a.csv"), 1) is None
