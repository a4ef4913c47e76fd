"""Runs the command line in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shunter.cli import app
from tests.cli.gpu_site import Site

SWF_HEADER = "; MaxProcs: 8\n"


@dataclass(frozen=True)
class Answer:
    """What a command gave."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        """Returns the object on standard output, having checked that the command went well."""
        assert (self.code, self.err) == (0, "")
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value

    def error(self) -> str:
        """Returns the one line on standard error, having checked that it is one and that nothing else was said."""
        assert self.code == 2
        assert self.out == ""
        (line,) = self.err.splitlines()
        assert line.startswith("error: ")
        return line.removeprefix("error: ")


Command = Callable[..., Answer]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Returns a folder for a run, which is not there yet."""
    return tmp_path / "run"


@pytest.fixture
def shunter(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Returns a function that runs ``shunter`` with these arguments."""
    # On a machine that is busy, work that is long would be told of on standard error.
    monkeypatch.setattr("shunter.cli.outputs.LINES_AFTER_S", (1e6,))

    def run(*arguments: object) -> Answer:
        with pytest.raises(SystemExit) as exit_:
            app([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert isinstance(exit_.value.code, int)
        return Answer(exit_.value.code, captured.out, captured.err)

    return run


def swf_line(job: int, submit: object, run: object, processors: object, requested: object = -1) -> str:
    """Returns one line of a SWF log by user 3 of group 1."""
    return f"{job} {submit} -1 {run} {processors} -1 -1 {processors} {requested} -1 1 3 1 -1 1 -1 -1 -1\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Returns a log of four jobs for a machine of 8 cores; the third has to wait for the first two."""
    lines = [swf_line(1, 0, 100, 4, 200), swf_line(2, 0, 60, 4), swf_line(3, 10, 50, 8, 50), swf_line(4, 20, 30, 2, 30)]
    return write_log(tmp_path / "log.swf", lines)


def write_log(path: Path, lines: list[str]) -> Path:
    """Writes a SWF log."""
    path.write_text(SWF_HEADER + "".join(lines))
    return path


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Returns a folder with a cluster of two types of GPUs, and a log."""
    return Site(tmp_path)
