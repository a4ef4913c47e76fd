"""``shunter replay``: the same schedule, or what is different."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Command


@pytest.fixture
def folder(shunter: Command, log: Path, tmp_path: Path) -> Path:
    """Returns the folder of a run of the log on four nodes of 2 cores."""
    cluster = tmp_path / "nodes.toml"
    cluster.write_text("[[nodes]]\ncount = 4\ncores = 2\n")
    run = tmp_path / "run"
    options = ("--cluster", cluster, "--policy", "random", "--placement", "random", "--seed", 9, "--out", run)
    answer = shunter("simulate", "--workload", log, *options)
    assert answer.code == 0
    return run


def test_the_same_schedule(shunter: Command, folder: Path) -> None:
    sha256 = json.loads((folder / "manifest.json").read_text())["schedule_sha256"]
    answer = shunter("replay", folder)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == f"same schedule: 4 jobs of {folder}, sha256 {sha256}\n"
    report = shunter("replay", folder, "--json").json()
    assert (report["same"], report["jobs"], report["schedule_sha256"]) == (True, 4, sha256)
    assert report["first_difference"] is None


def test_a_changed_workload_is_said(shunter: Command, folder: Path, log: Path) -> None:
    log.write_text(log.read_text().replace(" 100 4 ", " 101 4 "))
    message = shunter("replay", folder).error()
    assert message.startswith(f"{log}: the workload has changed since the run")


def test_a_workload_that_has_become_too_short_is_said(shunter: Command, log: Path, tmp_path: Path) -> None:
    shunter("simulate", "--workload", log, "--start", 3, "--out", tmp_path / "run")
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:3]))
    assert "the workload has changed since the run" in shunter("replay", tmp_path / "run").error()


def test_a_changed_cluster_is_said(shunter: Command, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "nodes.toml").write_text("[[nodes]]\ncount = 5\ncores = 2\n")
    assert "nodes.toml: the cluster has changed since the run" in shunter("replay", folder).error()


def test_inputs_that_have_moved(shunter: Command, folder: Path, log: Path, tmp_path: Path) -> None:
    moved, nodes = tmp_path / "elsewhere.swf", tmp_path / "moved.toml"
    shutil.move(log, moved)
    shutil.move(tmp_path / "nodes.toml", nodes)
    assert f"its workload {log} is gone; say where it is now with --workload" in shunter("replay", folder).error()
    assert "its cluster" in shunter("replay", folder, "--workload", moved).error()
    assert shunter("replay", folder, "--workload", moved, "--cluster", nodes).code == 0


def test_a_path_given_relative_is_found_from_elsewhere(
    shunter: Command, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shunter("simulate", "--workload", "log.swf", "--out", "run")
    (tmp_path / "deeper").mkdir()
    monkeypatch.chdir(tmp_path / "deeper")
    assert shunter("replay", "../run").code == 0


def test_generated_workloads_are_generated_again(shunter: Command, tmp_path: Path) -> None:
    shunter("simulate", "--workload", "generate:lublin?jobs=50&cores=64", "--out", tmp_path / "run")
    assert shunter("replay", tmp_path / "run", "--json").json()["jobs"] == 50


def test_the_first_job_that_differs_is_named(shunter: Command, folder: Path) -> None:
    path = folder / "schedule.parquet"
    rows = pl.read_parquet(path)
    rows.with_columns(start_s=pl.when(pl.col("job_id") > 2).then(999.0).otherwise("start_s")).write_parquet(path)
    answer = shunter("replay", folder)
    assert answer.code == 1
    assert "different: the first job that differs is 3" in answer.out
    report = json.loads(shunter("replay", folder, "--json").out)
    assert report["same"] is False
    assert report["first_difference"]["job_id"] == 3
    assert report["first_difference"]["recorded"]["start_s"] == 999.0


def test_a_column_of_another_type_is_a_difference(shunter: Command, folder: Path) -> None:
    path = folder / "schedule.parquet"
    pl.read_parquet(path).with_columns(pl.col("job_id").cast(pl.String)).write_parquet(path)
    answer = shunter("replay", folder)
    assert (answer.code, answer.err) == (1, "")
    assert answer.out.splitlines()[1:] == ["  recorded job_id of type String", "  replayed job_id of type Int64"]


def test_a_hash_that_differs_is_a_difference(shunter: Command, folder: Path) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "schedule_sha256": "0" * 64, "shunter": "0.0.1"}))
    answer = shunter("replay", folder)
    assert answer.code == 1
    assert "recorded by shunter 0.0.1" in answer.out
    assert f"but not the hash: schedule.parquet or manifest.json was changed in {folder}" in answer.out


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "is not JSON"),
        ("\x00", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("{}", "workload.sha256 is missing; expected a manifest"),
        ("[1]", "workload.sha256 is missing; expected a manifest"),
        ('{"workload": 3}', "workload.sha256 is missing; expected a manifest"),
        ('{"workload": {"sha256": 3}}', "workload.sha256 is 3; expected a manifest"),
    ],
)
def test_a_broken_manifest(shunter: Command, folder: Path, content: str, complaint: str) -> None:
    (folder / "manifest.json").write_text(content)
    assert f"manifest.json: {complaint}" in shunter("replay", folder).error()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("colour", "blue", "arguments not understood: colour"),
        ("start", "x", "argument start is 'x'; expected a whole number"),
        ("start", True, "argument start is True; expected a whole number"),
        ("scan_depth", None, "argument scan_depth is None; expected a whole number"),
        ("length", 1.5, "argument length is 1.5; expected a whole number"),
        ("max_wait_s", [], "argument max_wait_s is []; expected a number"),
        ("strict", 0, "argument strict is 0; expected true or false"),
        ("workload", None, "argument workload is None; expected text"),
        ("policy", "sfj", "unknown policy 'sfj'"),
        ("seed", -1, "--seed (seed) is -1"),
        ("start", 7, "log.swf: the window starts at job 7, but the workload has 4"),
        ("format", "doc", "unknown format 'doc'"),
    ],
)
def test_wrong_arguments_in_a_manifest(shunter: Command, folder: Path, name: str, value: object, message: str) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["arguments"]["resolved"][name] = value
    path.write_text(json.dumps(manifest))
    assert shunter("replay", folder).error().startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("policy", 3),
        ("policy", {"path": 3}),
        ("estimate", "prior.toml"),
        ("estimate", {"path": None}),
        ("workload", {"path": 3, "sha256": ""}),
        ("cluster", {"path": [], "sha256": ""}),
    ],
    ids=str,
)
def test_files_that_a_manifest_does_not_name_by_text(shunter: Command, folder: Path, what: str, value: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {what: value}))
    assert shunter("replay", folder).error().startswith(f"{path}: {what}")


def test_a_file_that_cannot_be_read_again_is_named_itself(shunter: Command, folder: Path, log: Path) -> None:
    log.write_text("1 2 3\n")
    assert shunter("replay", folder).error().startswith(f"{log}:1: the line has 3 fields")
    assert shunter("replay", folder, "--cluster", "nowhere").error().startswith("unknown cluster 'nowhere'")


def test_the_format_is_remembered(shunter: Command, folder: Path, log: Path, tmp_path: Path) -> None:
    assert json.loads((folder / "manifest.json").read_text())["arguments"]["resolved"]["format"] == "swf"
    moved = tmp_path / "keep.old"
    shutil.move(log, moved)
    assert shunter("replay", folder, "--workload", moved).code == 0
    assert "--workload" in shunter("replay", folder, "--workload", "").error()


def test_a_folder_that_is_no_run(shunter: Command, tmp_path: Path) -> None:
    assert "no manifest.json here" in shunter("replay", tmp_path).error()
    assert "no manifest.json here" in shunter("replay", tmp_path / "missing").error()


def test_a_broken_table(shunter: Command, folder: Path) -> None:
    (folder / "schedule.parquet").write_bytes(b"PAR1 and nothing else")
    assert "schedule.parquet: is not a Parquet file, or is damaged" in shunter("replay", folder).error()


SPECS = {
    "policy": '[policy]\nkind = "fair-share"\n[policy.shares]\n3 = 2\n',
    "estimate": '[estimate]\nkind = "posterior"\ndecay = 0.5\n',
}
"""Files that say what a policy or an estimate is, by the option that takes them."""


@pytest.fixture(params=SPECS)
def spec(request: pytest.FixtureRequest, shunter: Command, log: Path, tmp_path: Path) -> tuple[str, Path]:
    """Returns an option and its file, from which the run in the folder was made."""
    option, path = str(request.param), tmp_path / "spec.toml"
    path.write_text(SPECS[option])
    shunter("simulate", "--workload", log, f"--{option}", path, "--out", tmp_path / "run", "--json").json()
    return option, path


def test_the_file_of_a_policy_or_an_estimate_is_recorded(spec: tuple[str, Path], tmp_path: Path) -> None:
    option, path = spec
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    sha256 = hashlib.sha256(SPECS[option].encode()).hexdigest()
    assert manifest[option] == {"path": str(path), "sha256": sha256}
    assert manifest["arguments"]["resolved"][option] == str(path)
    (other,) = SPECS.keys() - {option}
    assert manifest[other] is None


def test_a_replay_wants_the_same_file(shunter: Command, spec: tuple[str, Path], tmp_path: Path) -> None:
    option, path = spec
    assert shunter("replay", tmp_path / "run", "--json").json()["same"]
    path.write_text(SPECS[option] + "# as good as before\n")
    changed = f"{path}: the {option} has changed since the run; put the original back"
    assert shunter("replay", tmp_path / "run").error() == changed
    path.unlink()
    assert (
        shunter("replay", tmp_path / "run").error() == f"{tmp_path / 'run'}: its {option} {path} is gone; put it back"
    )


def test_a_file_given_relative_is_found_from_elsewhere(
    shunter: Command, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "both.toml").write_text("".join(SPECS.values()))
    options = ("--policy", "both.toml", "--estimate", "both.toml")
    shunter("simulate", "--workload", log, *options, "--out", "run", "--json").json()
    (tmp_path / "deeper").mkdir()
    monkeypatch.chdir(tmp_path / "deeper")
    assert shunter("replay", "../run", "--json").json()["same"]


def test_a_manifest_from_before_estimates_were_recorded(shunter: Command, folder: Path) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    assert manifest.pop("estimate") is None
    path.write_text(json.dumps(manifest))
    assert shunter("replay", folder).code == 0
