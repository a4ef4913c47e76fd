"""Every command of the README runs and prints what the README shows; its Python runs, too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from shunter.workloads import read_workload
from tests.cli.test_operate import Pretended

ROOT: Final = Path(__file__).parents[1]
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS: Final = re.findall(r"```(\w*)\n(.*?)```", README, flags=re.S)
SLURM_CONF: Final = "ClusterName=a\nNodeName=n[1-4] CPUs=16 RealMemory=64000\nPartitionName=all Nodes=ALL Default=YES\n"


class Shown(NamedTuple):
    """A command of the README and the output that follows it."""

    command: str
    output: str


def shown_commands() -> Iterator[Shown]:
    """Commands of blocks that show output, which begin with ``$``."""
    for language, text in BLOCKS:
        if language == "console":
            for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
                command, _, output = part.partition("\n")
                yield Shown(command, output)


def plain_commands() -> list[str]:
    """Commands of blocks without output, without comments."""
    lines = [line for language, text in BLOCKS if not language for line in text.splitlines()]
    return [line.partition("  #")[0].strip() for line in lines if line.strip()]


def pattern(output: str) -> re.Pattern[str]:
    """An expression that matches the output shown; ``...`` stands for the rest of a line, or for any lines."""
    lines = []
    for line in output.rstrip("\n").split("\n"):
        start, dots, _ = line.partition("...")
        lines.append(r"(?:.*\n)*?" if line == "..." else re.escape(start.rstrip(" ")) + (".*\n" if dots else " *\n"))
    return re.compile("".join(lines))


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Environment in which a reader types: Shunter is installed, and nothing is there yet."""
    environment = os.environ | {
        "PATH": f"{tmp_path / 'programs'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "COLUMNS": "80",
        "NO_COLOR": "1",
    }
    python = [text for language, text in BLOCKS if language == "python"]
    (tmp_path / "mine.py").write_text(python[0])
    yield environment
    subprocess.run(["shunter", "queue", "stop"], env=environment, capture_output=True, check=False)


def run(command: str, shell: dict[str, str], folder: Path) -> str:
    """Output of a command that succeeds."""
    done = subprocess.run(command, shell=True, env=shell, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def check(commands: list[Shown], shell: dict[str, str], folder: Path) -> None:
    """Asserts that commands print what is shown."""
    for command, expected in commands:
        output = run(command, shell, folder)
        assert pattern(expected).match(output), f"{command}\nprinted:\n{output}\nthe README shows:\n{expected}"


def test_the_commands_of_the_queue_and_of_experiments_print_what_is_shown(
    shell: dict[str, str], tmp_path: Path
) -> None:
    commands = [each for each in shown_commands() if each.command.split()[1] in ("queue", "compare")]
    assert len(commands) == 5
    check(commands, shell, tmp_path)


@pytest.mark.slow
def test_the_advice_prints_what_is_shown(shell: dict[str, str], tmp_path: Path) -> None:
    (command,) = [each for each in shown_commands() if each.command.split()[1] == "advise"]
    check([command], shell, tmp_path)
    # The next step that it names runs, too.
    Pretended(tmp_path / "programs")
    step = next(line.strip() for line in command.output.splitlines() if line.startswith("  shunter operate"))
    run(f"{step} --once", shell, tmp_path)


@pytest.mark.slow
def test_the_training_runs(shell: dict[str, str], tmp_path: Path) -> None:
    (command,) = [each for each in shown_commands() if each.command.split()[1] == "train"]
    check([command], shell, tmp_path)
    assert (tmp_path / "runs" / "first" / "best").is_dir()


def test_commands_on_a_log_of_slurm_run(shell: dict[str, str], tmp_path: Path) -> None:
    sacct, advise = [line for line in plain_commands() if "sacct.txt" in line]
    columns = sacct.partition(" -o ")[2].split()[0].split(",")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "table").write_text(sacct_table(columns))
    (programs / "sacct").write_text(f"#!/bin/sh\ncat {programs}/table\n")
    (programs / "sacct").chmod(0o755)
    (tmp_path / "slurm.conf").write_text(SLURM_CONF)
    run(sacct, shell, tmp_path)
    output = run(advise.replace("/etc/slurm", str(tmp_path)), shell, tmp_path)
    assert output.startswith("No advice: 300 jobs are too few")


def sacct_table(columns: list[str]) -> str:
    """Rows as sacct prints them for the columns of the README's command."""
    jobs = read_workload("generate:lublin?jobs=300&cores=64&load=0.8&requests=factor&site=fcfs/easy").jobs
    rows = ["|".join(columns)]
    for number, job in enumerate(jobs.iter_rows(named=True), start=1):
        start_s = 1_767_000_000 + int(job["submit_s"] + job["logged_wait_s"])
        cores = int(job["tasks"] * job["cores_per_task"])
        cells = {
            "JobID": str(number),
            "User": "ann",
            "Account": "lab",
            "QOS": "normal",
            "Partition": "all",
            "State": "COMPLETED",
            "Submit": time_text(1_767_000_000 + int(job["submit_s"])),
            "Eligible": time_text(1_767_000_000 + int(job["submit_s"])),
            "Start": time_text(start_s),
            "End": time_text(start_s + int(job["run_s"])),
            "Elapsed": duration_text(int(job["run_s"])),
            "Timelimit": duration_text(int(job["requested_s"])),
            "NNodes": str(-(-cores // 16)),
            "NCPUS": str(cores),
            "ReqMem": "1G",
            "AllocTRES": f"cpu={cores},mem=1G,node={-(-cores // 16)}",
        }
        rows.append("|".join(cells.get(column, "") for column in columns))
    return "\n".join(rows) + "\n"


def time_text(second: int) -> str:
    """A time as sacct prints it."""
    return datetime.fromtimestamp(second, tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")


def duration_text(seconds: int) -> str:
    """A duration as sacct prints it."""
    days, rest = divmod(max(seconds, 1), 86_400)
    return f"{days}-{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def test_the_commands_beside_slurm_run(shell: dict[str, str], tmp_path: Path) -> None:
    slurm = Pretended(tmp_path / "programs")
    commands = [line for line in plain_commands() if line.startswith("shunter operate")]
    assert len(commands) == 3
    for command in commands:
        run(command, shell, tmp_path)
    # The first only reads, the second changes nothing, and the third has nothing to restore.
    assert slurm.commands() == []


def test_no_other_command_is_shown() -> None:
    assert {each.command.split()[1] for each in shown_commands()} == {"advise", "queue", "compare", "train"}
    tested = ("make ", "pip install ", "sacct ", "shunter advise sacct.txt", "shunter operate ")
    assert [line for line in plain_commands() if not line.startswith(tested)] == []
    for line in plain_commands():
        if line.startswith("make "):
            assert re.search(rf"^{line.split()[1]}:", (ROOT / "Makefile").read_text(), flags=re.M), line


def test_the_python_of_the_readme_runs() -> None:
    blocks = [text for language, text in BLOCKS if language == "python"]
    assert len(blocks) == 2
    for block in blocks:
        exec(block.replace("jobs=5000", "jobs=1000"), {})


def test_every_link_and_figure_is_in_the_checkout() -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", README):
        assert (ROOT / target).exists(), target
    for script in re.findall(r"`(benchmarks/\w+\.py)`", README):
        assert (ROOT / script).is_file(), script
