"""``shunter trace convert``, ``slice``, ``scale``, ``anonymize``, ``generate`` and ``split``."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shunter.model.cluster import Cluster
from shunter.workloads import read_workload
from shunter.workloads.load import offered_load
from tests.cli.conftest import Command
from tests.workloads.formats.test_swf import FIVE_JOBS, line


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Returns a log of five jobs."""
    path = tmp_path / "log.swf"
    path.write_text(FIVE_JOBS)
    return path


@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz", "swf", "swf.gz"])
def test_convert(shunter: Command, log: Path, tmp_path: Path, ending: str) -> None:
    output = tmp_path / f"jobs.{ending}"
    answer = shunter("trace", "convert", log, "-o", output)
    assert (answer.code, answer.err) == (0, "")
    assert f"written: {output} (5 jobs)" in answer.out.replace("\n", "")
    again = read_workload(output)
    assert again.jobs.equals(read_workload(log).jobs)
    if ending.startswith("csv"):
        assert "not carried: the cluster: give --cluster 338" in answer.out
    else:
        assert again.cluster_spec == "338"


def test_the_date_of_the_first_second_is_named_as_lost(shunter: Command, tmp_path: Path) -> None:
    log = tmp_path / "dated.swf"
    log.write_text("; UnixStartTime: 844423200\n" + line())
    answer = shunter("trace", "convert", log, "-o", tmp_path / "x.parquet")
    assert "not carried: the date of the log's second 0 (Unix time 844423200, UTC)" in answer.out.replace("\n", " ")


def test_several_files_are_one_log(shunter: Command, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        (tmp_path / f"part-{number}.swf").write_text(line(f1=number, f2=100 - number))
    output = tmp_path / "all.csv"
    assert shunter("trace", "convert", tmp_path / "part-*.swf", "-o", output).code == 0
    assert read_workload(output).jobs["job_id"].to_list() == [3, 2, 1]
    parts = [tmp_path / "part-1.swf", tmp_path / "part-2.swf"]
    assert shunter("trace", "convert", *parts, "-o", output, "--force").code == 0
    assert read_workload(output).jobs["job_id"].to_list() == [2, 1]


def test_options_of_reading(shunter: Command, tmp_path: Path) -> None:
    table = tmp_path / "jobs.csv"
    table.write_text("arrival,took,status\n5,10,completed\n6,20,failed\n")
    output = tmp_path / "out.parquet"
    mapping = ("--map", "submit_s=arrival", "--map", "run_s=took")
    assert shunter("trace", "convert", table, *mapping, "--only", "failed", "-o", output).code == 0
    assert read_workload(output).jobs.select("submit_s", "run_s").rows() == [(6.0, 20.0)]
    assert (
        "column submit_s is missing"
        in shunter("trace", "convert", table, "--format", "csv", "-o", tmp_path / "x.csv").error()
    )
    repaired = tmp_path / "bad.swf"
    repaired.write_text(line() + line(f1=2, f4=0))
    assert "run time 0 s: job dropped" in shunter("trace", "convert", repaired, "-o", tmp_path / "x.csv").out
    strict = shunter("trace", "convert", repaired, "--strict", "-o", tmp_path / "y.csv")
    assert "bad.swf:2: run time 0" in strict.error()
    assert not (tmp_path / "y.csv").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "jobs.xlsx"], "end the name in .csv, .csv.gz, .parquet, .swf, .swf.gz"),
        (["-o", "no/jobs.csv"], "there is no folder"),
        (["-o", "there.csv"], "the file exists; give another name, or --force to overwrite it"),
        (["-o", "log.swf", "--force"], "would overwrite the log"),
        ([], "Missing option '--output'"),
    ],
)
def test_wrong_outputs(
    shunter: Command, log: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(log.parent)
    Path("there.csv").write_text("precious")
    assert message in shunter("trace", "convert", "log.swf", *options).error()
    assert Path("there.csv").read_text() == "precious"
    assert log.read_text() == FIVE_JOBS


def test_slice_by_number_and_by_time(shunter: Command, log: Path, tmp_path: Path) -> None:
    jobs = read_workload(log).jobs
    output = tmp_path / "part.parquet"
    assert shunter("trace", "slice", log, "--start", 1, "--length", 2, "-o", output).code == 0
    assert read_workload(output).jobs.equals(jobs.slice(1, 2))
    second = jobs["submit_s"][1]
    assert shunter("trace", "slice", log, "--from", second, "-o", output, "--force").code == 0
    assert read_workload(output).jobs.equals(jobs.filter(pl.col("submit_s") >= second))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "say which part: either --start and --length, or --from and --to"),
        (["--start", "1", "--from", "+1d"], "say which part"),
        (["--start", "-1"], "--start is -1; expected 0 or more"),
        (["--length", "0"], "--length is 0; expected 1 or more"),
        (["--start", "99"], "the window starts at job 99, but the workload has 5"),
        (["--from", "soon"], "--from is 'soon'; expected seconds"),
        (["--to", "-1"], "no job is submitted"),
    ],
)
def test_wrong_slices(shunter: Command, log: Path, tmp_path: Path, options: list[str], message: str) -> None:
    assert message in shunter("trace", "slice", log, *options, "-o", tmp_path / "x.csv").error()


def test_scale(shunter: Command, log: Path, tmp_path: Path) -> None:
    output = tmp_path / "scaled.parquet"
    assert shunter("trace", "scale", log, "--factor", 2, "-o", output).code == 0
    submit_s = read_workload(log).jobs["submit_s"]
    assert read_workload(output).jobs["submit_s"].to_list() == (submit_s[0] + (submit_s - submit_s[0]) / 2).to_list()
    assert shunter("trace", "scale", log, "--cluster", 400, "--load", 0.5, "-o", output, "--force").code == 0
    assert offered_load(read_workload(output), Cluster.pool(400)) == pytest.approx(0.5)
    for options, message in (
        ([], "say how much: either --load"),
        (["--load", 1, "--factor", 2], "say how much"),
        (["--factor", 0], "--factor is 0; expected a number above 0"),
    ):
        assert message in shunter("trace", "scale", log, *options, "-o", tmp_path / "x.csv").error()


def test_anonymize(shunter: Command, log: Path, tmp_path: Path) -> None:
    output = tmp_path / "public.csv"
    answer = shunter("trace", "anonymize", log, "--seed", 5, "--shift", "-o", output)
    assert answer.code == 0
    assert "drawn from a secret" not in answer.out
    jobs = read_workload(output).jobs
    assert jobs["submit_s"][0] == 0
    assert all(user is None or user.startswith("user") for user in jobs["user"])


def test_anonymize_says_that_it_cannot_be_repeated(shunter: Command, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("submit_s,run_s,user\n" + "".join(f"{number},5,name{number}\n" for number in range(30)))
    outputs = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for output in outputs:
        answer = shunter("trace", "anonymize", log, "-o", output)
        assert answer.code == 0
        assert "names were drawn from a secret that is kept nowhere: nobody can draw them again" in answer.out
    assert outputs[0].read_text() != outputs[1].read_text()


def test_generate(shunter: Command, tmp_path: Path) -> None:
    output = tmp_path / "made.parquet"
    spec = "lublin?jobs=50&cores=64&seed=3"
    assert shunter("trace", "generate", spec, "-o", output).code == 0
    made = read_workload(output)
    assert made.jobs.equals(read_workload(f"generate:{spec}").jobs)
    assert made.cluster_spec == "64"
    assert (
        "unknown generator 'lubin'; did you mean 'lublin'?"
        in shunter("trace", "generate", "lubin", "-o", tmp_path / "x.csv").error()
    )


def test_split(shunter: Command, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    answer = shunter("trace", "split", "generate:lublin?jobs=100", "-o", folder)
    assert answer.code == 0
    lengths = {file.name: len(read_workload(file)) for file in folder.iterdir()}
    assert lengths == {"train.parquet": 60, "validation.parquet": 10, "report.parquet": 30}
    again = shunter("trace", "split", "generate:lublin?jobs=100", "-o", folder)
    assert "the file exists" in again.error()
    options = ("--shares", "0.5,0,0.5", "--by", "time", "--as", "swf")
    assert shunter("trace", "split", "generate:lublin?jobs=100", *options, "-o", folder).code == 0
    assert {file.name for file in folder.glob("*.swf")} == {"train.swf", "report.swf"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shares", "a,b"], "--shares is 'a,b'; expected three numbers"),
        (["--shares", "0.5,0.5"], "expected three from 0 to 1 that add up to 1"),
        (["--by", "size"], "--by is 'size'; expected jobs or time"),
        (["--as", "xlsx"], "end the name in"),
    ],
)
def test_wrong_splits(shunter: Command, tmp_path: Path, options: list[str], message: str) -> None:
    answer = shunter("trace", "split", "generate:lublin?jobs=100", *options, "-o", tmp_path / "parts")
    assert message in answer.error()
    assert not (tmp_path / "parts").exists()


@pytest.mark.parametrize("verb", ["convert", "slice", "scale", "anonymize", "generate", "split", "cluster"])
def test_help_has_examples(shunter: Command, verb: str) -> None:
    answer = shunter("trace", verb, "--help")
    assert answer.code == 0
    assert f"shunter trace {verb} " in answer.out.split("For instance:")[1]
