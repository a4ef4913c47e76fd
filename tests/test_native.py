"""The door to the core: what is said where there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

STAND_IN = """
import importlib.util
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_file_location(name, file) if name == "shunter._core" else None

file = sys.argv[1]
sys.meta_path.insert(0, Finder())
sys.argv = ["shunter", "policies"]
from shunter.cli import main
main()
"""
"""Runs the command line with a file in the place of the core."""


@pytest.mark.parametrize(
    ("core", "message"),
    [
        ("", "error: the compiled core is missing; build it on this machine with 'make install'"),
        ("raise OSError('version GLIBC_2.99 not found')", "cannot be loaded (version GLIBC_2.99 not found); build it"),
    ],
)
def test_a_core_that_cannot_be_used_is_one_line(tmp_path: Path, core: str, message: str) -> None:
    (tmp_path / "core.py").write_text(core)
    command = [sys.executable, "-c", STAND_IN, str(tmp_path / "core.py")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("error: the compiled core")
    assert ended.stderr.count("\n") == 1
    assert message in ended.stderr
