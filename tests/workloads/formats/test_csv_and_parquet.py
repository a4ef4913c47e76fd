"""CSV and Parquet: what a table may look like, and where an error is."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from shunter.errors import InputError
from shunter.model.workload import COLUMNS, Workload
from shunter.workloads import read_workload
from shunter.workloads.write import write_table
from tests.support import examples
from tests.workloads.formats.test_swf import FIVE_JOBS, read_or_message, read_text


def read_csv(folder: Path, text: str, *, strict: bool = False) -> Workload:
    path = folder / "jobs.csv"
    path.write_bytes(text.encode())
    return read_workload(path, strict=strict)


def test_two_columns_are_enough(tmp_path: Path) -> None:
    workload = read_csv(tmp_path, "submit_s,run_s\n0,10\n2.5,3e2\n")
    assert list(workload.jobs.columns) == list(COLUMNS)
    assert workload.jobs.select("job_id", "submit_s", "run_s", "tasks", "cores_per_task", "gpus_per_task").rows() == [
        (1, 0.0, 10.0, 1, 1.0, 0.0),
        (2, 2.5, 300.0, 1, 1.0, 0.0),
    ]
    assert workload.jobs["requested_s"].null_count() == workload.jobs["memory_mb_per_task"].null_count() == 2


def test_every_column_is_read_and_others_are_ignored(tmp_path: Path) -> None:
    header = "note," + ",".join(reversed(COLUMNS))
    workload = read_csv(tmp_path, f"{header}\nhello,4,-2.5,failed,p,q,g,u,0.5,1024,2,3,60,50,7,a-1\n")
    assert workload.jobs.row(0) == (
        "a-1", 7.0, 50.0, 60.0, 3, 2.0, 1024.0, 0.5, "u", "g", "q", "p", "failed", -2.5, 4.0,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["jobs.csv", "jobs.parquet"])
def test_a_column_that_seems_to_tell_sizes_is_not_passed_over_in_silence(tmp_path: Path, name: str) -> None:
    table = pl.DataFrame({"submit_s": [0, 1], "run_s": [5, 5], "cores": [4, 8]})
    path = tmp_path / name
    table.write_csv(path) if name.endswith(".csv") else table.write_parquet(path)
    (entry,) = read_workload(path).ledger.entries
    assert entry.rule == "column cores is not read; if it is of each task: --map cores_per_task=cores"
    assert (entry.count, entry.example.partition(": ")[2]) == (2, "cores 4")
    with pytest.raises(InputError, match="column cores is not read"):
        read_workload(path, strict=True)
    # Who says what it means, or has our own column, hears nothing.
    for mapping in ("cores_per_task=cores", "tasks=cores"):
        workload = read_workload(path, columns=mapping, strict=True)
        assert (workload.jobs["tasks"] * workload.jobs["cores_per_task"]).to_list() == [4.0, 8.0]


def test_blank_cells_lines_and_blanks_around_values(tmp_path: Path) -> None:
    text = "\n\nsubmit_s , run_s,tasks,requested_s,user\r\n 1 ,2, 4 ,,\r\n\r\n3,4,,9,x\r\n"
    workload = read_csv(tmp_path, text)
    assert workload.jobs.select("submit_s", "run_s", "tasks", "requested_s", "user").rows() == [
        (1.0, 2.0, 4, None, None),
        (3.0, 4.0, 1, 9.0, "x"),
    ]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [("7 3", [7, 3]), ("07 7", ["07", "7"]), ("a 3", ["a", "3"]), ("1.0 2", ["1.0", "2"])],
)
def test_ids_are_numbers_only_if_all_are(tmp_path: Path, ids: str, expected: list[object]) -> None:
    first, second = ids.split()
    workload = read_csv(tmp_path, f"job_id,submit_s,run_s\n{first},0,1\n{second},0,1\n")
    assert workload.jobs["job_id"].to_list() == expected


@pytest.mark.parametrize("name", ["jobs.csv", "jobs.parquet"])
def test_tasks_of_an_array_may_share_an_id(tmp_path: Path, name: str) -> None:
    table = pl.DataFrame({"job_id": [7, 7, 8, 7], "submit_s": [0, 0, 1, 2], "run_s": [1, 2, 3, 4]})
    path = tmp_path / name
    table.write_csv(path) if name.endswith(".csv") else table.write_parquet(path)
    workload = read_workload(path)
    assert workload.jobs["job_id"].to_list() == ["7", "7#2", "8", "7#3"]
    (entry,) = workload.ledger.entries
    unit = "line 3" if name.endswith(".csv") else "row 2"
    what = ("id missing or that of an earlier job: numbered anew", 2, f"{unit}: job_id 7")
    assert (entry.rule, entry.count, entry.example) == what
    with pytest.raises(InputError, match=r"jobs\..*job_id 7 .*run without --strict"):
        read_workload(path, strict=True)


def test_a_table_with_columns_of_its_own_whose_array_tasks_share_an_id(tmp_path: Path) -> None:
    text = "job_id,nodes_req,wallclock_req,submit_time,run_time,state,part\n"
    text += "81,2,3600,2020-01-01 00:00:00,60,COMPLETED,a\n81,2,3600,2020-01-01 00:00:00,90,TIMEOUT,b\n"
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    columns = "submit_s=submit_time,run_s=run_time,requested_s=wallclock_req,tasks=nodes_req,status=state"
    workload = read_workload(path, columns=columns)
    assert workload.jobs.select("job_id", "submit_s", "run_s", "requested_s", "tasks").rows() == [
        ("81", 1_577_836_800.0, 60.0, 3600.0, 2),
        ("81#2", 1_577_836_800.0, 90.0, 3600.0, 2),
    ]
    (entry,) = workload.ledger.entries
    assert (entry.count, entry.example) == (1, "line 3: job_id 81")


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators(tmp_path: Path, separator: str) -> None:
    text = 'submit_s,run_s,user\n1,2,"a,b"\n3,4,c\n'.replace('"a,b"', "@").replace(",", separator).replace("@", '"a,b"')
    workload = read_csv(tmp_path, text)
    assert workload.format == "csv"
    assert workload.jobs.select("submit_s", "run_s", "user").rows() == [(1.0, 2.0, "a,b"), (3.0, 4.0, "c")]
    with pytest.raises(InputError, match=r"jobs\.csv:2: the row has 4 fields, the header 3"):
        read_csv(tmp_path, text.replace("1", f"1{separator}1", 1))


def test_durations_need_no_map(tmp_path: Path) -> None:
    text = "submit_s,run_s,requested_s\n0,0:01:30,1-00:00:00\n5,26:00:00,90:00\n2024-03-01,7,\n"
    workload = read_csv(tmp_path, text)
    rows = [(0.0, 90.0, 86_400.0), (5.0, 93_600.0, 5_400.0), (1_709_251_200.0, 7.0, None)]
    assert workload.jobs.select("submit_s", "run_s", "requested_s").rows() == rows
    with pytest.raises(InputError, match=r'jobs\.csv:2: column "run_s" is "0:99:99"; expected a number'):
        read_csv(tmp_path, "submit_s,run_s\n0,0:99:99\n")


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("submit_s", "soon", '"soon"; expected a number;'),
        ("submit_s", "", "empty; expected a value;"),
        ("submit_s", "nan", '"nan"; expected a number from -1,000,000,000,000 to 1,000,000,000,000;'),
        ("submit_s", "-2e12", '"-2e12"; expected a number from -1,000,000,000,000 to 1,000,000,000,000;'),
        ("run_s", "-1", '"-1"; expected a number from 0 to 1,000,000,000;'),
        ("run_s", "inf", '"inf"; expected a number from 0 to 1,000,000,000;'),
        ("run_s", "1e10", '"1e10"; expected a number from 0 to 1,000,000,000;'),
        ("requested_s", "-1", '"-1"; expected a number from 0 to 1,000,000,000;'),
        ("tasks", "0", '"0"; expected a number from 1 to 2,147,483,647;'),
        ("tasks", "2.5", '"2.5"; expected a whole number;'),
        ("tasks", "1e30", '"1e30"; expected a whole number;'),
        ("tasks", "nan", '"nan"; expected a whole number;'),
        ("cores_per_task", "-0.5", '"-0.5"; expected a number from 0 to 1,000,000,000;'),
        ("memory_mb_per_task", "-1", '"-1"; expected a number from 0 to 1,000,000,000,000,000;'),
        ("gpus_per_task", "1.5", '"1.5"; expected a fraction below 1, or a whole number;'),
        ("priority", "high", '"high"; expected a number;'),
    ],
)
def test_bad_values_name_line_column_and_value(tmp_path: Path, column: str, value: str, expected: str) -> None:
    others = [name for name in ("job_id", "submit_s", "run_s") if name != column]
    good = {"job_id": "second", "submit_s": "5", "run_s": "1"}
    first = {"job_id": "first", "submit_s": "5", "run_s": "1", "tasks": "1"}
    rows = [
        ",".join([*others, column]),
        ",".join([*(first[name] for name in others), first.get(column, "")]),
        "",
        ",".join([*(good[name] for name in others), value]),
    ]
    with pytest.raises(InputError) as caught:
        read_csv(tmp_path, "\n".join(rows) + "\n")
    assert f'jobs.csv:4: column "{column}" is {expected} mend or remove the row' in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("submit,run_s\n1,2\n", r'column submit_s is missing \(did you mean it by "submit"\?\)'),
        ("submit_s\n1\n", "column run_s is missing; add it"),
        ("submit_s,run_s\n", "the table holds no job"),
        ("submit_s,run_s\n1,2,3\n", r"jobs\.csv:2: the row has 3 fields, the header 2; mend or remove the row"),
        ('\n\nsubmit_s,user,run_s\n1,"a,b",2\n\n1,c,2,3\n', r"jobs\.csv:6: the row has 4 fields, the header 3"),
        ("submit_s,run_s,run_s\n1,2,3\n", 'two columns are called "run_s"'),
        ("submit_s,run_s,run_s \n1,2,3\n", 'two columns are called "run_s"'),
        ("submit_s,run_s\n1,\0\n", "looks like a binary file"),
        ('submit_s,run_s,user\n1,2,"a\nb"\n1,x,c\n', r'jobs\.csv:4: column "run_s" is "x"'),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_csv(tmp_path, text)


def test_rows_out_of_order_are_sorted_and_strict_refuses_them(tmp_path: Path) -> None:
    text = "submit_s,run_s\n5,1\n3,2\n"
    workload = read_csv(tmp_path, text)
    assert workload.jobs["job_id"].to_list() == [2, 1]
    assert [entry.count for entry in workload.ledger.entries] == [1]
    with pytest.raises(InputError, match=r"jobs\.csv:3: submit time 3 after 5; .*run without --strict"):
        read_csv(tmp_path, text, strict=True)


@pytest.mark.parametrize("name", ["jobs.csv", "jobs.csv.gz", "jobs.parquet"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    workload = read_text(tmp_path, FIVE_JOBS)
    write_table(workload, tmp_path / name)
    again = read_workload(tmp_path / name, strict=True)
    assert again.jobs.equals(workload.jobs)
    assert again.jobs.schema == workload.jobs.schema
    first = (tmp_path / name).read_bytes()
    write_table(again, tmp_path / name)
    assert (tmp_path / name).read_bytes() == first


@pytest.mark.parametrize(
    ("name", "message"), [("jobs.xlsx", "end the name in"), ("no/jobs.csv", "cannot write .*No such")]
)
def test_what_cannot_be_written(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        write_table(read_text(tmp_path, FIVE_JOBS), tmp_path / name)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pl.Series("run_s", [1, None]), r'row 2: column "run_s" is empty'),
        (pl.Series("run_s", [datetime(2024, 1, 1)] * 2), r'column "run_s" holds Datetime.*; expected numbers'),
        (pl.Series("run_s", [[1], [2]]), r'column "run_s" holds List.*; expected numbers'),
        (pl.Series("run_s", [True, False]), r'column "run_s" holds Boolean; expected numbers'),
    ],
)
def test_parquet_types(tmp_path: Path, column: pl.Series, message: str) -> None:
    path = tmp_path / "jobs.parquet"
    pl.DataFrame([pl.Series("submit_s", [1, 2]), column]).write_parquet(path)
    with pytest.raises(InputError, match=message):
        read_workload(path)


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1" + bytes(40) + b"PAR1", b"hello"])
def test_damaged_parquet(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "jobs.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not a Parquet file"):
        read_workload(path)


@pytest.mark.parametrize("pattern", ["*", "^.*$"])
def test_a_column_that_is_called_like_a_pattern_of_names(tmp_path: Path, pattern: str) -> None:
    path = tmp_path / "jobs.csv"
    # The short row sends the block through the slower of the two ways.
    path.write_text(f"submit_s,run_s,{pattern}\n1,2,3\n\n4,5,\n")
    assert read_workload(path).jobs["run_s"].to_list() == [2.0, 5.0]
    path.write_text(f"{pattern},")
    with pytest.raises(InputError, match="the table holds no job"):
        read_workload(path)


@examples(200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.one_of(st.binary(max_size=200), st.binary(max_size=80).map(lambda tail: b"submit_s,run_s\n1,2\n" + tail))
)
def test_no_bytes_crash_the_reader(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fuzz.csv"
    path.write_bytes(content)
    outcome = read_or_message(path)
    if isinstance(outcome, str):
        assert "fuzz.csv" in outcome
        assert "\n" not in outcome
    else:
        assert len(outcome) >= 1


@pytest.mark.parametrize("width", [8, 13])
def test_our_own_names_win_over_what_the_numbers_look_like(tmp_path: Path, width: int) -> None:
    """The cells below look like events of Google's machines."""
    names = ["job_id", "submit_s", "run_s", "tasks", "cores_per_task", "gpus_per_task", "gpu_type", "partition"]
    names += ["user", "queue", "status", "name", "account"]
    cells = ["1", "0", "1000", "1", "1", "2", "A100", "", "u", "q", "s", "n", "a"]
    path = tmp_path / "jobs.csv"
    path.write_text(",".join(names[:width]) + "\n" + ",".join(cells[:width]) + "\n")
    workload = read_workload(path)
    assert workload.format == "csv"
    assert workload.jobs["run_s"].to_list() == [1000.0]
