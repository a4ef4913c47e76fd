"""The rules that hold for every format, and the ledger that tells of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shunter.errors import InputError
from shunter.model.workload import Workload
from shunter.workloads.text.log import build_workload
from shunter.workloads.text.repairs import PLACE, UNREADABLE, Repairs
from shunter.workloads.text.source import open_source

SCHEMA: Any = {
    "job_id": pl.String, "submit_s": pl.Float64, "run_s": pl.Float64, "requested_s": pl.Float64, "tasks": pl.Int64,
    "cores_per_task": pl.Float64, "gpus_per_task": pl.Float64, "memory_mb_per_task": pl.Float64,
    "logged_wait_s": pl.Float64, "priority": pl.Float64, "unknown column": pl.Int64,
}  # fmt: skip
GOOD: dict[str, Any] = {
    "submit_s": 5.0, "run_s": 10.0, "requested_s": 20.0, "tasks": 2, "cores_per_task": 1.0, "gpus_per_task": 0.5,
    "memory_mb_per_task": 100.0, "logged_wait_s": 0.0, "priority": 3.0, "unknown column": 1,
}  # fmt: skip


def _build(tmp_path: Path, rows: list[dict[str, Any]], *, strict: bool = False, skip: int = 0) -> Workload:
    path = tmp_path / "log.txt"
    path.write_text("text\n")
    source = open_source(path)
    repairs = Repairs([source], strict)
    for line in range(skip):
        repairs.skip(1000 + line, "no row")
    full = [GOOD | {"job_id": str(number)} | row for number, row in enumerate(rows, start=1)]
    frame = pl.DataFrame(full, schema=SCHEMA).with_columns(repairs.places(source, range(11, 11 + len(rows))))
    return build_workload(frame, repairs, cluster_spec="8", cluster_note="a note")


@pytest.mark.parametrize(
    ("wrong", "rule", "example"),
    [
        ({"submit_s": None}, "submit time unknown: job dropped", "submit_s empty"),
        ({"run_s": None}, "run time unknown: job dropped", "run_s empty"),
        ({"run_s": -2.0}, "run time negative: job dropped", "run_s -2"),
        ({"run_s": 0.0}, "run time 0 s: job dropped", "run_s 0"),
        ({"tasks": None}, "size unknown: job dropped", "tasks empty"),
        ({"tasks": 0}, "size unknown: job dropped", "tasks 0"),
        ({"submit_s": 2e12}, "submit time absurd: job dropped", "submit_s 2000000000000"),
        ({"submit_s": float("nan")}, "submit time absurd: job dropped", "submit_s nan"),
        ({"run_s": float("inf")}, "run time absurd: job dropped", "run_s inf"),
        ({"run_s": float("nan")}, "run time absurd: job dropped", "run_s nan"),
        ({"tasks": 2**40}, "size absurd: job dropped", f"tasks {2**40}"),
        ({"cores_per_task": 1e9}, "cores_per_task absurd: job dropped", "cores_per_task 1000000000"),
        ({"gpus_per_task": -1.0}, "gpus_per_task absurd: job dropped", "gpus_per_task -1"),
    ],
)
def test_what_cannot_be_a_job_is_dropped(tmp_path: Path, wrong: dict[str, Any], rule: str, example: str) -> None:
    workload = _build(tmp_path, [{}, wrong, {}])
    assert workload.jobs["job_id"].to_list() == [1, 3]
    assert workload.ledger.to_json() == [{"rule": rule, "count": 1, "example": f"line 12: {example}"}]
    with pytest.raises(InputError) as caught:
        _build(tmp_path, [{}, wrong, {}], strict=True)
    assert str(caught.value).endswith(f"log.txt:12: {example} ({rule}); mend the line, or run without --strict")


@pytest.mark.parametrize(
    ("column", "value", "becomes", "rule"),
    [
        ("requested_s", 0.0, None, "requested_s not positive or absurd: taken as unknown"),
        ("requested_s", 1e12, None, "requested_s not positive or absurd: taken as unknown"),
        ("memory_mb_per_task", -5.0, None, "memory_mb_per_task not positive or absurd: taken as unknown"),
        ("logged_wait_s", -1.0, None, "wait negative or absurd: taken as unknown"),
        ("priority", float("inf"), None, "priority absurd: taken as unknown"),
        ("gpus_per_task", 1.5, 2.0, "GPUs per task above 1 and not whole: rounded up"),
        ("gpus_per_task", 0.0001, 0.001, "gpus_per_task below 0.001: raised to it"),
        ("cores_per_task", 0.0001, 0.001, "cores_per_task below 0.001: raised to it"),
    ],
)
def test_what_says_nothing_is_mended(
    tmp_path: Path, column: str, value: float, becomes: float | None, rule: str
) -> None:
    workload = _build(tmp_path, [{}, {column: value}])
    assert workload.jobs[column].to_list() == [GOOD[column], becomes]
    assert [(entry.rule, entry.count) for entry in workload.ledger.entries] == [(rule, 1)]


def test_ids_that_stand_twice_are_numbered_anew(tmp_path: Path) -> None:
    ids = ["7", "7", "8", None, "7", "7#2", None]
    workload = _build(tmp_path, [{"job_id": name} for name in ids])
    assert workload.jobs["job_id"].to_list() == ["7", "7#2", "8", "unknown#1", "7#3", "7#2#2", "unknown#2"]
    (entry,) = workload.ledger.entries
    assert (entry.rule, entry.count) == ("id missing or that of an earlier job: numbered anew", 5)


def test_a_sound_log_has_no_ledger_and_only_known_columns(tmp_path: Path) -> None:
    workload = _build(tmp_path, [{}, {}], strict=True)
    assert not workload.ledger
    assert "unknown column" not in workload.jobs.columns
    assert PLACE not in workload.jobs.columns
    assert (workload.name, workload.cluster_spec, workload.cluster_note) == ("log.txt", "8", "a note")


def test_no_job_left_names_why(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"no job is left after repairs: run time 0 s: job dropped \(2\); expected jobs"
    ):
        _build(tmp_path, [{"run_s": 0.0}, {"run_s": 0.0}])
    with pytest.raises(InputError, match=r"log\.txt: no job is left; expected jobs that ran"):
        _build(tmp_path, [])


def test_a_file_of_mostly_other_lines_is_no_log(tmp_path: Path) -> None:
    assert _build(tmp_path, [{}, {}], skip=2).ledger.entries[0].rule == UNREADABLE
    with pytest.raises(
        InputError, match="3 of 5 lines are not readable, the first at line 1000: no row; check the file"
    ):
        _build(tmp_path, [{}, {}], skip=3)


def test_files_are_told_apart(tmp_path: Path) -> None:
    sources = []
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("text\n")
        sources.append(open_source(tmp_path / name))
    repairs = Repairs(sources)
    frame = pl.DataFrame({"submit_s": [1.0, 2.0], "run_s": [1.0, 0.0]}).with_columns(repairs.places(sources[1], [4, 5]))
    workload = build_workload([frame], repairs)
    assert workload.ledger.to_json()[0]["example"] == "b.txt:5: run_s 0"
    assert workload.name == "a.txt and 1 more"
    assert repairs.locate(frame[PLACE][0]) == f"{tmp_path}/b.txt:4"
