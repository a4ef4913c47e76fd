"""Files that are damaged, and names that mean something to a terminal, a spreadsheet or a figure."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from shunter.errors import visible
from shunter.files import csv_writer, plain_text
from shunter.workloads import read_workload
from shunter.workloads.write import write_table
from tests.agents.untrained import write_policy
from tests.cli.conftest import Command

ESCAPE = "\x1b[2J\x1b]0;mine\x07"
SHOWN = r"\x1b[2J\x1b]0;mine\x07"
FORMULAS = ("=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "'=1", "''-x", "'plain", "-", "=", "'")
NUMBERS = ("-5", "+5", "-1.5e3", "12", "-.5")


@pytest.fixture
def folder(shunter: Command, log: Path, out: Path) -> Path:
    """Returns the folder of a run."""
    assert shunter("simulate", log, "-o", out).code == 0
    return out


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def noisy(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[20 : len(content) : 7] = bytes(len(content[20 : len(content) : 7]))
    path.write_bytes(content)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def text(path: Path) -> None:
    path.write_text("no table at all\n")


@pytest.mark.every(4)
@pytest.mark.parametrize("damage", [truncated, noisy, emptied, text])
@pytest.mark.parametrize("name", ["schedule.parquet", "manifest.json"])
@pytest.mark.parametrize("verb", ["replay", "explain"])
def test_a_damaged_run_folder(
    shunter: Command, folder: Path, verb: str, name: str, damage: Callable[[Path], None]
) -> None:
    damage(folder / name)
    message = shunter(verb, folder, *(["1"] if verb == "explain" else [])).error()
    assert message.startswith(str(folder / name))
    assert "Error(" not in message, "a repr of Python's"


@pytest.mark.every(4)
@pytest.mark.parametrize("value", [None, float("nan"), "x", [], {"a": 1}, -1, 10**400])
@pytest.mark.parametrize("key", ["nodes", "name", "mix", "sha256"])
def test_a_manifest_with_something_else_in_it(shunter: Command, folder: Path, key: str, value: object) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["cluster"][key] = value
    path.write_text(json.dumps(manifest))
    for words in (["replay", folder], ["explain", folder, "1"]):
        answer = shunter(*words)
        # What a reader does not need may be anything.
        assert answer.code in (0, 1, 2)
        assert answer.code != 2 or answer.error()


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "change",
    [
        pl.lit(None).alias("nodes"),
        pl.lit("x").alias("submit_s"),
        pl.lit(float("nan")).alias("submit_s"),
        pl.lit(0).alias("tasks"),
        pl.lit(-1).alias("tasks"),
        pl.lit(float("nan")).alias("cores"),
        pl.lit(1e300).alias("end_s"),
        pl.lit(["a"]).alias("nodes"),
        pl.lit(7).alias("outcome"),
        pl.lit([7]).alias("outcome"),
        pl.lit(b"\xff").alias("reason"),
        pl.lit(7).alias("partition"),
        pl.lit([[7]]).alias("gpu_type"),
    ],
    ids=str,
)
def test_a_schedule_of_other_types_or_values(shunter: Command, folder: Path, change: pl.Expr) -> None:
    path = folder / "schedule.parquet"
    pl.read_parquet(path).with_columns(change).write_parquet(path)
    for words in (["replay", folder], ["explain", folder, "3"]):
        answer = shunter(*words)
        assert answer.code in (0, 1, 2)
        assert answer.code != 2 or answer.error()


@pytest.mark.parametrize("column", ["outcome", "reason", "partition"])
def test_a_schedule_without_a_column_that_explanations_need(shunter: Command, folder: Path, column: str) -> None:
    path = folder / "schedule.parquet"
    pl.read_parquet(path).drop(column).write_parquet(path)
    assert shunter("explain", folder, "3").error().startswith(f"{path}: has no column {column}")


@pytest.mark.parametrize("damage", [truncated, noisy, emptied, text])
@pytest.mark.parametrize("name", ["policy.json", "policy.safetensors"])
def test_a_damaged_checkpoint(
    shunter: Command, log: Path, tmp_path: Path, name: str, damage: Callable[[Path], None]
) -> None:
    write_policy(tmp_path / "run" / "best")
    damage(tmp_path / "run" / "best" / name)
    for words in (["simulate", log, "--policy", tmp_path / "run"], ["inspect", tmp_path / "run", log]):
        assert str(tmp_path / "run" / "best" / name) in shunter(*words).error()


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "{log}", "--format", "a/b"],
        ["simulate", "{log}", "--format", "../csv"],
        ["simulate", "{log}", "--format", "__init__"],
        ["trace", "info", "{log}", "--format", "nope"],
        ["trace", "convert", "{log}", "--format", "", "-o", "x.csv"],
        ["trace", "cluster", "{log}", "--format", "nope"],
    ],
    ids=" ".join,
)
def test_a_wrong_name_of_a_format(shunter: Command, log: Path, words: list[str]) -> None:
    assert "unknown" in shunter(*(word.format(log=log) for word in words)).error()


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """Returns a log whose names do things to terminals and figures."""
    path = tmp_path / "named.csv"
    rows = [["submit_s", "run_s", "tasks", "user", "queue", "status"]]
    for job, user in enumerate([ESCAPE, r"$\frac{1}$", "$x", "$$", "[red]ann[/]", "a" * 300]):
        rows.append([str(job), "100", "4", user, f"q{user}", f"s{user}"])
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.mark.every(4)
@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "{log}", "--cluster", "8", "--plot", "{plot}"],
        ["trace", "info", "{log}", "--cluster", "8", "--plot", "{plot}"],
        ["trace", "check", "{log}", "--cluster", "8"],
        [
            "compare",
            "{log}",
            "--cluster",
            "8",
            "--policy",
            "fcfs,sjf",
            "--windows",
            "1",
            "--length",
            "6",
            "--plot",
            "{plot}",
        ],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_names_that_do_things(shunter: Command, named: Path, tmp_path: Path, words: list[str]) -> None:
    plot = tmp_path / "figure.svg"
    answer = shunter(*(word.format(log=named, plot=plot) for word in words))
    assert answer.code in (0, 1), answer.err
    assert "\x1b" not in answer.out + answer.err
    if "{plot}" in words:
        assert plot.read_text().startswith("<?xml")


def test_an_escape_in_a_name_is_shown_in_tables_and_errors(shunter: Command, named: Path, tmp_path: Path) -> None:
    assert r"\x1b" in shunter("trace", "info", named, "--cluster", "8").out
    strange = tmp_path / f"log{ESCAPE.replace('/', '')}.swf"
    message = shunter("simulate", strange).error()
    assert SHOWN in message
    assert "\x1b" not in message
    assert visible("a\tb\nc") == "a\tb\nc"
    assert visible("a\u202eb\x9bc") == r"a\u202eb\x9bc"


def test_formulas_are_no_formulas_in_csv_and_come_back_exactly(tmp_path: Path) -> None:
    texts = [*FORMULAS, *NUMBERS, "ann", None]
    frame = pl.DataFrame({"user": texts, "wait_s": [-1.5] * len(texts)})
    path = tmp_path / "table.csv"
    with path.open("wb") as file:
        csv_writer(frame)(file)
    with path.open(newline="") as lines:
        cells = [row[0] for row in csv.reader(lines)][1:]
    for cell, given in zip(cells, texts, strict=True):
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")) or given in NUMBERS
    assert plain_text(pl.read_csv(path, schema_overrides={"user": pl.String}))["user"].to_list() == texts
    # Numbers stay numbers.
    assert pl.read_csv(path)["wait_s"].to_list() == frame["wait_s"].to_list()


def test_a_log_with_formulas_comes_back_exactly(shunter: Command, tmp_path: Path) -> None:
    table = tmp_path / "log.parquet"
    # A lone carriage return ends a line in some files, and becomes a line feed.
    users = [one for one in FORMULAS if "\r" not in one]
    pl.DataFrame({"submit_s": range(len(users)), "run_s": 10.0, "user": users, "queue": users}).write_parquet(table)
    workload = read_workload(table)
    write_table(workload, tmp_path / "log.csv")
    assert read_workload(tmp_path / "log.csv").jobs.equals(workload.jobs)
    assert shunter("simulate", table, "--cluster", 8, "-o", tmp_path / "run").code == 0
    with (tmp_path / "run" / "schedule.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert not any(row["user"].startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows)
