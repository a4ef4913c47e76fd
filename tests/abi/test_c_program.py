"""A C program that includes the header uses the core rightly and then wrongly, also under valgrind."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from shunter import _core
from tests.abi.declarations import HEADER

SOURCES = sorted(Path(__file__).parent.glob("*.c"))

SUPPRESSIONS = """\
{
   the handle of the main thread, which Rust's standard library keeps by a pointer into its middle
   Memcheck:Leak
   match-leak-kinds: possible
   fun:malloc
   ...
   fun:*init_current*
   ...
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled program."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    [library] = Path(str(_core.__file__)).parent.glob("lib_core.*")
    target = tmp_path_factory.mktemp("abi") / "program"
    strict = ["-std=c99", "-g", "-Wall", "-Wextra", "-Werror", f"-I{HEADER.parent}"]
    linked = [str(library), f"-Wl,-rpath,{library.parent}", "-lm"]
    subprocess.run([compiler, *strict, *map(str, SOURCES), *linked, "-o", str(target)], check=True)
    return target


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


def expect_all_passed(outcome: subprocess.CompletedProcess[str]) -> None:
    assert outcome.returncode == 0, outcome.stderr
    passed = re.fullmatch(r"(\d+) checks passed\n", outcome.stdout)
    assert passed
    assert int(passed[1]) > 20_000


def test_every_wrong_call_is_answered(program: Path) -> None:
    outcome = run(str(program))
    expect_all_passed(outcome)
    assert outcome.stderr == "", "the core panicked, or wrote to the error stream of its own accord"


def test_no_call_reads_or_writes_astray_or_leaks(program: Path, tmp_path: Path) -> None:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("valgrind is not installed")
    suppressions = tmp_path / "suppressions"
    suppressions.write_text(SUPPRESSIONS)
    options = ["--error-exitcode=9", "--leak-check=full", "-q", f"--suppressions={suppressions}"]
    expect_all_passed(run(valgrind, *options, str(program)))
