"""Folders that several processes would write to, and what killed ones leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.files import LOCK, locked, write_file
from tests.cli.conftest import Command

LOG = "generate:lublin?seed=3&jobs=600&cores=64&load=1.1"
TRAIN = ("train", LOG, "--preset", "quick", "--steps", "100000000", "--length", "16", "--windows", "4")
HOLD = """
import sys, time
from pathlib import Path
from shunter.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""
HALF_WRITTEN = """
import os, signal, sys
from pathlib import Path
from shunter.files import write_file
def write(file):
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
write_file(Path(sys.argv[1]), write)
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks are those of POSIX")


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lets another process have the folder, and kills it in the end."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield
        finally:
            process.kill()


def test_a_folder_is_one_process_at_a_time_and_a_killed_one_keeps_nothing(tmp_path: Path) -> None:
    expected = f"{tmp_path}: another process is writing to this folder; wait until it has ended"
    with held(tmp_path), pytest.raises(InputError, match=expected), locked(tmp_path):
        pytest.fail("two processes have it")
    assert (tmp_path / LOCK).exists(), "the file is left, but not its lock"
    with locked(tmp_path):
        pass
    assert not (tmp_path / LOCK).exists()


@pytest.mark.parametrize("words", [["simulate", LOG], ["compare", LOG, "--windows", "2", "--length", "8"]], ids=str)
def test_a_run_is_not_written_beside_another(shunter: Command, tmp_path: Path, words: list[str]) -> None:
    out = tmp_path / "run"
    out.mkdir()
    with held(out):
        message = shunter(*words, "-o", out, "--force").error()
        assert message.startswith(f"{out}: another process is writing to this folder")
        assert [path.name for path in out.iterdir()] == [LOCK]
    # What the killed one has left is in nobody's way.
    assert shunter(*words, "-o", out).code == 0
    assert LOCK not in {path.name for path in out.iterdir()}


@pytest.mark.slow
def test_a_second_training_does_not_touch_the_first_ones_folder(shunter: Command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [sys.executable, "-m", "shunter", *TRAIN, "-o", str(run)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        try:
            rows = run / "progress.csv"
            until = time.monotonic() + 90
            while not ((run / "last" / "policy.json").is_file() and rows.read_bytes().count(b"\n") > 2):
                assert time.monotonic() < until, "the training has not begun"
                assert first.poll() is None
                time.sleep(0.2)
            for words in (["--resume"], ["--force"]):
                message = shunter("train", *(() if "--resume" in words else TRAIN[1:]), *words, "-o", run).error()
                assert message.startswith(f"{run}: another process is writing to this folder")
            assert first.poll() is None
        finally:
            first.send_signal(signal.SIGKILL)
            first.wait()
    before = rows.read_text().splitlines()
    assert len({line.count(",") for line in before}) == 1, "no row was broken"
    steps = int(before[-1].partition(",")[0])
    answer = shunter("train", "--resume", "-o", run, "--steps", steps + 1, "--json")
    assert answer.code == 0, answer.err
    assert LOCK not in {path.name for path in run.iterdir()}


def test_half_a_file_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    target = tmp_path / "tuned.toml"
    killed = subprocess.run([sys.executable, "-c", HALF_WRITTEN, str(target)], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".tuned.")
    # A file of a process that lives is not touched: this one's own number stands for one.
    alive = tmp_path / f".tuned.{os.getpid()}1.toml"
    mine = tmp_path / f".tuned.{os.getppid()}.toml"
    mine.touch()
    write_file(target, lambda file: file.write(b"whole"))
    assert {path.name for path in tmp_path.iterdir()} == {target.name, mine.name}
    assert target.read_bytes() == b"whole"
    assert not alive.exists()


@pytest.mark.parametrize("left", [".manifest.999999999.json", ".schedule.999999999.parquet", LOCK])
def test_what_a_killed_run_has_left_does_not_block_force(shunter: Command, tmp_path: Path, left: str) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / "schedule.parquet").write_bytes(b"half")
    (out / left).touch()
    assert "--force" in shunter("simulate", LOG, "-o", out).error()
    assert shunter("simulate", LOG, "-o", out, "--force").code == 0
    assert left not in {path.name for path in out.iterdir()}


def test_what_a_killed_training_has_left_does_not_block_force(shunter: Command, tmp_path: Path) -> None:
    out = tmp_path / "run"
    for name in ("last.new", "best.old"):
        (out / name).mkdir(parents=True)
    for name in (".progress.999999999.csv", ".config.999999999.toml", LOCK):
        (out / name).touch()
    words = ("train", LOG, "--preset", "quick", "--steps", "64", "--length", "8", "--windows", "2", "-o", out)
    assert "the folder holds a run" in shunter(*words).error()
    answer = shunter(*words, "--force", "--set", "ppo.num_envs=2", "--json")
    assert answer.code == 0, answer.err
    names = {path.name for path in out.iterdir()}
    assert "config.toml" in names
    assert not any(name.startswith(".") or name.endswith((".new", ".old")) for name in names)
