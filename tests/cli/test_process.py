"""What only a process of its own can show: start-up, signals, pipes, full disks."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.files import write_file
from tests.workloads.formats.test_swf import line

SHUNTER = [sys.executable, "-m", "shunter"]
HEAVY = ("numpy", "polars", "matplotlib", "torch", "rich")


def test_help_imports_nothing_heavy() -> None:
    """How long it takes is measured by ``benchmarks/startup.py``."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "shunter", "--help"], capture_output=True, text=True
    )
    assert "simulate" in done.stdout
    imported = {line.split("|")[-1].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert imported.isdisjoint(HEAVY)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["simulate", "--help"], ["replay", "--help"]])
def test_help(arguments: list[str]) -> None:
    done = subprocess.run([*SHUNTER, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: shunter")
    assert "For instance:" in done.stdout


def test_version() -> None:
    done = subprocess.run([*SHUNTER, "--version"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("shunter ")


def test_a_reader_that_goes_away_is_no_error(log: Path) -> None:
    command = [*SHUNTER, "simulate", "--workload", str(log), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_long_errors_are_not_folded(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 150) / "log.swf"
    environment = {**os.environ, "COLUMNS": "40"}
    done = subprocess.run([*SHUNTER, "simulate", "--workload", path], capture_output=True, text=True, env=environment)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert str(path) in done.stderr


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_text("old")

    def disk_full(file: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"cannot write .*file\.csv: No space left on device"):
        write_file(path, disk_full)
    assert [each.name for each in tmp_path.iterdir()] == ["file.csv"]
    assert path.read_text() == "old"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path: Path, log: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    done = subprocess.run(
        [*SHUNTER, "simulate", "--workload", str(log), "--out", str(folder / "run")], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert f"{folder} cannot be written to" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_standard_output_on_a_full_disk(log: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*SHUNTER, "simulate", "--workload", str(log), "--json"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["error: standard output: No space left on device"]


@pytest.mark.every(3)
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_standard_output_that_lacks_characters(log: Path, encoding: str) -> None:
    named = log.rename(log.with_name("log-\N{GREEK SMALL LETTER MU}.swf"))
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([*SHUNTER, "simulate", "--workload", named], capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    shown = "log-\N{GREEK SMALL LETTER MU}.swf on 8 cores".encode(encoding, errors="replace")
    assert done.stdout.startswith(shown)
    missing = [*SHUNTER, "simulate", "--workload", f"{named}.gone"]
    failed = subprocess.run(missing, capture_output=True, env=environment)
    assert failed.returncode == 2
    assert failed.stderr.startswith(b"error: ")


@pytest.mark.every(4)
@pytest.mark.skipif(os.name != "posix", reason="closing a stream takes a POSIX shell")
@pytest.mark.parametrize("options", ["", "--json"])
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_standard_streams_that_are_closed(log: Path, options: str, closed: str) -> None:
    def run(cluster: int) -> tuple[int, str]:
        command = [*SHUNTER, "simulate", "--workload", str(log), "--cluster", str(cluster)]
        done = subprocess.run(f"{shlex.join(command)} {options} {closed}", shell=True, capture_output=True, text=True)
        return done.returncode, done.stderr

    assert run(8) == (0, "")
    code, error = run(1)
    assert code == 2
    assert error.startswith("error: log.swf: none of the 4 jobs") is ("2>&-" not in closed)


def test_a_log_may_come_in_by_standard_input() -> None:
    command = [*SHUNTER, "trace", "info", "-", "--json"]
    text = "; MaxProcs: 8\n" + "".join(line(f1=number) for number in range(1, 4))
    answer = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout)["jobs"] == 3
