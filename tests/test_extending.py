"""Adding something takes as few files as ``docs/architecture.md`` says, in a copy of the package.

What is registered instead of written into a file has its test beside what it extends: metrics
(``tests/metrics/test_table.py``), rewards and features (``tests/envs/test_custom.py``), networks
(``tests/agents/networks/test_networks.py``), algorithms (``tests/agents/test_algorithms.py``), log formats, generators
and lists of machines (``tests/workloads/test_adding.py``).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import shunter

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
HELLO = '''"""``shunter hello``: greets."""

from shunter.cli.parsing import echo


def hello(name: str = "you") -> None:
    """Greet somebody."""
    echo(f"hello {name}")
'''
POLICY = """
import shunter

class Widest(shunter.Policy):
    name = "widest"

    def score(self, queue):
        return -queue.cores
"""
PLACEMENT = """
import shunter

class Last(shunter.Placer):
    name = "last"

    def place(self, scene):
        node = max(node for node, room in enumerate(scene.capacity) if room >= scene.request.tasks)
        return [(node, scene.request.tasks)]
"""
NEW_NUMBERS = """
_built = core_numbers


def core_numbers(name):
    return _built(name) | {"Estimate": {"mine": 6}, "Placement": {"cozy": 14}}.get(name, {})
"""
"""Stands for a core that was built with two names more in its enums."""


class House:
    """A copy of the package, in which files may be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "shunter"
        shutil.copytree(Path(shunter.__file__).parent, self.package, ignore=shutil.ignore_patterns("__pycache__"))

    def add_line(self, file: str, behind: str, line: str) -> None:
        """Adds a line behind the one that begins like this."""
        path = self.package / file
        text = path.read_text(encoding="utf-8")
        changed = re.sub(rf"^{re.escape(behind)}.*\n", lambda found: found[0] + line + "\n", text, count=1, flags=re.M)
        assert changed != text
        path.write_text(changed, encoding="utf-8")

    def run(self, *arguments: object) -> str:
        """Returns what the copy's command line prints."""
        command = [sys.executable, "-m", "shunter", *map(str, arguments)]
        there = os.environ | {"PYTHONPATH": str(self.folder)}
        done = subprocess.run(command, capture_output=True, text=True, env=there, cwd=self.folder)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def simulate(self, *options: object) -> dict[str, Any]:
        """Returns what ``shunter simulate`` tells of a small log."""
        workload = "generate:lublin?seed=1&jobs=200&cores=64&load=1.1"
        told: dict[str, Any] = json.loads(self.run("simulate", "--workload", workload, *options, "--json"))
        return told


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Returns a copy of the package."""
    return House(tmp_path)


@pytest.mark.slow
def test_a_policy_of_the_core_is_an_entry_in_the_catalog(house: House) -> None:
    # The new name shares a formula that the core has; a formula of its own is an arm in the core's scores.rs.
    house.add_line(
        "policies/catalog.py",
        '    "hybrid": ',
        '    "patient": KnownPolicy("sjf with strong aging", 16, {"aging": 10.0}, dispatch="greedy", why="is greedy"),',
    )
    names = json.loads(house.run("policies", "--json"))["policy"]
    assert names["patient"] == "sjf with strong aging"
    assert "patient" in house.run("simulate", "--help")
    own, same = (
        house.simulate("--policy", "patient"),
        house.simulate("--policy", "hybrid?aging=10", "--dispatch", "greedy"),
    )
    assert own["dispatch"] == "greedy"
    assert own["metrics"] == same["metrics"]
    assert house.simulate("--policy", "patient?aging=0")["metrics"] != own["metrics"]


def test_an_estimate_and_a_placement_of_the_core_are_lines_in_the_catalog(house: House) -> None:
    with (house.package / "native.py").open("a") as file:
        file.write(NEW_NUMBERS)
    house.add_line("policies/catalog.py", '    "history": ', '    "mine": "what I know",')
    house.add_line("policies/catalog.py", '    "topology": ', '    "cozy": "close together",')
    script = (
        "from shunter.policies import catalog; import json;"
        "print(json.dumps([catalog.ESTIMATE_CODES['mine'], catalog.PLACEMENT_CODES['cozy']]))"
    )
    there = os.environ | {"PYTHONPATH": str(house.folder)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=there, check=True)
    assert json.loads(done.stdout) == [6, 14]
    assert "cozy" in house.run("policies")


def test_a_verb_is_a_file_and_a_line(house: House) -> None:
    (house.package / "cli" / "hello.py").write_text(HELLO)
    house.add_line("cli/commands.py", '    "policies": ', '    "hello": Verb(LOOK, "Greet somebody."),')
    assert "hello      Greet somebody." in house.run("--help")
    assert house.run("hello", "--name", "Ada") == "hello Ada\n"


def test_a_setting_is_a_field(house: House) -> None:
    house.add_line(
        "model/settings.py",
        "    seed: int",
        '    mood: str = declared("calm", "How it feels.", metavar="M", choices=("calm", "merry"))',
    )
    house.add_line("cli/commands.py", '        "size_by", "scan_depth", "seed"', '        "mood",')
    shown = house.run("simulate", "--help")
    assert "--mood M" in shown
    assert "How it feels.  [default: calm]" in shown
    out = house.folder / "run"
    house.simulate("--mood", "merry", "--out", out)
    assert json.loads((out / "manifest.json").read_text())["arguments"]["resolved"]["mood"] == "merry"


def test_a_policy_and_a_placement_of_ones_own_are_a_file_each(tmp_path: Path) -> None:
    for name, text in (("policy.py", POLICY), ("placement.py", PLACEMENT)):
        (tmp_path / name).write_text(text)
    workload = shunter.read_workload("generate:lublin?seed=1&jobs=50&cores=64&load=1.1")
    policy, placement = str(tmp_path / "policy.py"), str(tmp_path / "placement.py")
    schedule = shunter.simulate(workload, shunter.Cluster.pool(64), policy=policy, placement=placement)
    assert schedule.settings.policy == "widest"
    assert shunter.compute_metrics(schedule)["completion_rate"] == 1


def test_the_table_names_files_that_are_there_and_at_most_three_of_them() -> None:
    section = PAGE.split("## To add something, touch these files")[1].split("\n## ")[0]
    rows = [line.split("|")[1:4] for line in section.splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) >= 10
    for what, files, _ in rows:
        named = [name for name in re.findall(r"`([^`]+)`", files) if name.endswith((".py", ".rs", ".md"))]
        assert 1 <= len(named) <= 3, what
        for file in named:
            assert "NAME" in file or (ROOT / file).exists(), f"{what}: there is no {file}"
            assert (ROOT / file).parent.is_dir(), f"{what}: there is no folder for {file}"
