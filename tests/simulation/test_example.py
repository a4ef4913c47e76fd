"""The template of a policy of one's own runs from the command line, and compares itself with fcfs and sjf."""

from __future__ import annotations

import subprocess
import sys

from tests.support import PROJECT

EXAMPLE = PROJECT / "examples" / "my_policy.py"
SMALL = "generate:lublin?seed=42&jobs=300&cores=64&load=1.1"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, EXAMPLE, *arguments], capture_output=True, text=True)


def rows(output: str) -> dict[str, list[float]]:
    """Returns the figures of each row of the table, by policy."""
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if "│" in line]
    return {policy: [float(figure.replace(",", "")) for figure in figures] for policy, *figures in cells}


def test_compares_with_fcfs_and_sjf() -> None:
    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    assert "2,000 jobs on 256 cores, dispatch easy" in done.stdout
    figures = rows(done.stdout)
    assert list(figures) == ["fcfs", "sjf", "my-policy"]
    assert len({tuple(row) for row in figures.values()}) == 3
    bounded_slowdown = {policy: row[-1] for policy, row in figures.items()}
    assert 1.0 <= bounded_slowdown["my-policy"] < bounded_slowdown["fcfs"]


def test_takes_another_workload_and_rule() -> None:
    done = run("--workload", SMALL, "--cores", "128", "--dispatch", "conservative", "--patience", "60")
    assert (done.returncode, done.stderr) == (0, "")
    assert "300 jobs on 128 cores, dispatch conservative" in done.stdout
    assert len(rows(done.stdout)) == 3


def test_says_what_is_wrong_in_one_line() -> None:
    done = run("--workload", SMALL, "--dispatch", "eazy")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: unknown dispatch 'eazy'; did you mean 'easy'?")
    assert done.stderr.count("\n") == 1
