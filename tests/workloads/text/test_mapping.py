"""Tables with column names of their own."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shunter.errors import InputError
from shunter.workloads import read_workload
from tests.workloads.formats.test_swf import line

TABLE = """job,arrival,begin,finish,took_ms,gpu count,who
a,2024-03-01 00:00:10,2024-03-01T00:00:20,2024-03-01T00:01:20,60000,2,ann
b,2024-03-01 01:00:00+01:00,2024-03-01T00:00:30,2024-03-01T00:00:45.500,15500,1,bob
"""
MAPPING = "job_id=job,submit_s=arrival,run_s=finish-begin,tasks=gpu count,user=who"


def _table(tmp_path: Path, text: str = TABLE) -> Path:
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    return path


def test_columns_dates_and_differences(tmp_path: Path) -> None:
    jobs = read_workload(_table(tmp_path), columns=MAPPING).jobs
    # 01:00 in a zone an hour ahead is midnight.
    assert jobs["job_id"].to_list() == ["b", "a"]
    assert jobs["submit_s"].to_list() == [1_709_251_200.0, 1_709_251_210.0]
    assert jobs["run_s"].to_list() == [15.5, 60.0]
    assert jobs["tasks"].to_list() == [1, 2]
    assert jobs["user"].to_list() == ["bob", "ann"]
    assert jobs["requested_s"].to_list() == [None, None]


def test_factors_and_parquet(tmp_path: Path) -> None:
    table = pl.read_csv(_table(tmp_path)).with_columns(half=pl.Series([3, 4]))
    table.write_parquet(tmp_path / "jobs.parquet")
    columns = {"submit_s": "half*0.5", "run_s": "took_ms/1000"}
    jobs = read_workload(tmp_path / "jobs.parquet", columns=columns).jobs
    assert jobs["submit_s"].to_list() == [1.5, 2.0]
    assert jobs["run_s"].to_list() == [60.0, 15.5]


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("2024-03-01", 1_709_251_200.0),
        ("2024-03-01 12:00", 1_709_294_400.0),
        ("2024-03-01T12:00Z", 1_709_294_400.0),
        ("2024-03-01 13:00 +01:00", 1_709_294_400.0),
        ("2024-03-01 13:00:00+01", 1_709_294_400.0),
        ("2024-03-01 12:00:00.123456", 1_709_294_400.123456),
        ("1709294400.5", 1_709_294_400.5),
    ],
)
def test_spellings_of_a_moment(tmp_path: Path, text: str, second: float) -> None:
    path = _table(tmp_path, f"when,took\n{text},5\n")
    assert read_workload(path, columns="submit_s=when,run_s=took").jobs["submit_s"].to_list() == [second]


def test_quotients_and_differences_are_exact(tmp_path: Path) -> None:
    text = "ms,a,b\n1711845000123,2024-03-31 00:00:00.250,2024-03-31 01:00:00.255\n"
    jobs = read_workload(_table(tmp_path, text), columns="submit_s=ms/1000,run_s=b-a").jobs
    assert jobs.select("submit_s", "run_s").rows() == [(1_711_845_000.123, 3600.005)]


@pytest.mark.parametrize("header", ["", "# made by hand\n", "arrived;who;began;ended;size\n"])
def test_columns_by_their_numbers(tmp_path: Path, header: str) -> None:
    text = f"{header}10;ann;0:00:20;0:01:20;4\n1;2;3;4;5\n"
    jobs = read_workload(_table(tmp_path, text), columns="submit_s=1,run_s=4-3,tasks=5,user=2").jobs
    assert jobs.select("submit_s", "run_s", "tasks", "user").rows() == [(1.0, 1.0, 5, "2"), (10.0, 60.0, 4, "ann")]
    with pytest.raises(InputError, match=r"run_s=6: unknown column '6'; .*known ones are 1, 2, 3, 4, 5"):
        read_workload(_table(tmp_path, text), columns="submit_s=1,run_s=6")


def test_a_row_of_a_table_without_a_header_names_its_line(tmp_path: Path) -> None:
    path = _table(tmp_path, "1,5\n2,soon\n")
    with pytest.raises(InputError, match=r'jobs\.csv:2: column "run_s" is "soon"; expected a number'):
        read_workload(path, columns="submit_s=1,run_s=2")
    path = _table(tmp_path, "1,5\n,5\n")
    with pytest.raises(InputError, match=r'jobs\.csv:2: column "submit_s" is empty; expected a value'):
        read_workload(path, columns="submit_s=1,run_s=2")


def test_a_table_that_looks_like_another_log_is_a_table_if_columns_are_numbered(tmp_path: Path) -> None:
    """Thirteen cells like those of Google's events."""
    path = _table(tmp_path, "600000000,,17,3,,0,u,2,9,0.025,0.08,0.0004,0\n")
    assert read_workload(path, columns="submit_s=1/1000000,run_s=3").jobs.select("submit_s", "run_s").rows() == [
        (600, 17)
    ]


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("submit=arrival", "unknown column of a workload 'submit'; did you mean 'submit_s'"),
        ("submit_s", '"submit_s" is no pair; expected OURS=THEIRS'),
        ("submit_s=a,submit_s=b", '"submit_s" is given twice'),
        ("submit_s=arival,run_s=took_ms", "submit_s=arival: unknown column 'arival'; did you mean 'arrival'"),
        ("submit_s=arrival,run_s=finish-start", "run_s=finish-start: unknown column 'start'"),
        ("submit_s=arrival,run_s=took_ms/zero", 'ends in "zero"; expected a number above 0'),
        ("submit_s=who,run_s=took_ms", r'jobs\.csv:2: column "submit_s" is "ann"; expected a number'),
    ],
)
def test_mistakes(tmp_path: Path, mapping: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_workload(_table(tmp_path), columns=mapping)


def test_a_mapping_is_for_tables_only(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is for tables, but .* is swf"):
        read_workload(_table(tmp_path), columns="submit_s=a", format="swf")
    swf = tmp_path / "log.txt"
    swf.write_text(line())
    with pytest.raises(InputError, match=r"is for tables, but .* is swf; leave it out, or force --format csv"):
        read_workload(swf, columns="submit_s=a")
    with pytest.raises(InputError, match="is a generator; leave it out"):
        read_workload("generate:lublin?jobs=5", columns="submit_s=a")


def test_kinds_may_come_from_what_any_format_tells(tmp_path: Path) -> None:
    swf = tmp_path / "log.swf"
    swf.write_text(line(f14=7))
    workload = read_workload(swf, columns="kind=executable")
    assert workload.jobs["kind"].to_list() == workload.jobs["executable"].to_list() != [None]
    with pytest.raises(InputError, match=r"--map \(columns\): kind=model: unknown column 'model'"):
        read_workload(swf, columns="kind=model")
    jobs = read_workload(_table(tmp_path), columns=f"{MAPPING},kind=who").jobs
    assert jobs["kind"].to_list() == ["bob", "ann"]
