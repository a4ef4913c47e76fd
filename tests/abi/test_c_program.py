"""C programs that include the header use the core rightly and wrongly, also under valgrind."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from shunter import Cluster, Workload, _core, read_workload
from shunter.envs.learned import order_alone
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import Simulation, decide
from tests.abi.declarations import HEADER
from tests.agents.untrained import LUBLIN, opinionated, write_policy

SOURCES = sorted(Path(__file__).parent.glob("*.c"))
PLUGIN = Path(__file__).parent / "plugin" / "decider.c"
MOST_KILOBYTES = 20_000
"""What a program that decides may take."""

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


def compiled(target: Path, *sources: Path) -> Path:
    """Returns the program that is made of some files."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    [library] = Path(str(_core.__file__)).parent.glob("lib_core.*")
    strict = ["-std=c99", "-g", "-Wall", "-Wextra", "-Werror", f"-I{HEADER.parent}"]
    linked = [str(library), f"-Wl,-rpath,{library.parent}", "-lm"]
    subprocess.run([compiler, *strict, *map(str, sources), *linked, "-o", str(target)], check=True)
    return target


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that tries everything."""
    return compiled(tmp_path_factory.mktemp("abi") / "program", *SOURCES)


@pytest.fixture(scope="module")
def decider(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that decides by a checkpoint."""
    return compiled(tmp_path_factory.mktemp("abi") / "decider", PLUGIN)


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


def watched(tmp_path: Path) -> list[str]:
    """Returns how a program is run under valgrind."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("valgrind is not installed")
    suppressions = tmp_path / "suppressions"
    suppressions.write_text(SUPPRESSIONS)
    return [valgrind, "--error-exitcode=9", "--leak-check=full", "-q", f"--suppressions={suppressions}"]


def test_no_call_reads_or_writes_astray_or_leaks(program: Path, tmp_path: Path) -> None:
    expect_all_passed(run(*watched(tmp_path), str(program)))


def decided(jobs: Workload, checkpoint: str, decisions: int) -> list[int]:
    """Returns who starts after so many decisions of the order, if the policy decides then in Python."""
    cluster, scheduler = Cluster.pool(64), resolve_scheduler(policy=checkpoint)
    simulation = Simulation(jobs, cluster, order_alone(scheduler))
    simulation.run(decisions)
    simulation.advance()
    return sorted(decide(simulation.snapshot(), jobs, cluster, scheduler).starts)


def write_jobs(path: Path, jobs: Workload) -> None:
    """Writes what the program reads."""
    cores = jobs.jobs["tasks"].to_numpy() * jobs.jobs["cores_per_task"].to_numpy()
    columns = [jobs.jobs[name].to_numpy() for name in ("submit_s", "run_s", "requested_s")]
    rows = np.round(1000 * np.stack([*columns, cores], axis=1)).astype(np.int64)
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in rows.tolist()))


def test_a_program_decides_by_a_checkpoint_as_python_does(decider: Path, tmp_path: Path) -> None:
    """In no more memory than a scheduler's plugin may take; in a microsecond it decides nothing."""
    checkpoint = write_policy(tmp_path / "best", change=opinionated, window=128)
    jobs, whole, starts = read_workload(LUBLIN), str(tmp_path / "jobs"), 0
    write_jobs(Path(whole), jobs)
    for decisions in range(20, 400, 24):
        outcome = run(str(decider), checkpoint, whole, "64", str(decisions))
        assert outcome.returncode == 0, outcome.stderr
        *printed, memory = outcome.stdout.splitlines()
        expected = decided(jobs, checkpoint, decisions)
        assert printed == [f"starts {job}" for job in expected]
        starts += len(expected)
        now, most = map(int, memory.split()[1:])
        assert 0 < now <= most < MOST_KILOBYTES
    assert starts > 3
    outcome = run(*watched(tmp_path), str(decider), checkpoint, whole, "64", "100")
    assert (outcome.returncode, outcome.stderr) == (0, "")
