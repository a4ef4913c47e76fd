"""The folder of a policy that chooses hosts, wherever a placement's name may stand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.untrained import LUBLIN, most_free_cores, opinionated, write_host_policy, write_policy
from tests.cli.conftest import Command

NODES = """name = "five"
[[nodes]]
count = 4
cores = 12
[[nodes]]
count = 1
cores = 16
"""


@pytest.fixture
def site(tmp_path: Path) -> tuple[str, ...]:
    """A log on five nodes."""
    (tmp_path / "five.toml").write_text(NODES)
    return ("--workload", LUBLIN, "--cluster", str(tmp_path / "five.toml"))


@pytest.fixture
def hosts(tmp_path: Path) -> str:
    """A run whose best policy chooses hosts."""
    write_host_policy(tmp_path / "runs" / "hosts" / "best", change=opinionated)
    return str(tmp_path / "runs" / "hosts")


def test_simulate_and_replay(shunter: Command, site: tuple[str, ...], hosts: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ("--length", 60, "--placement", hosts)
    result = shunter("simulate", *site, *options, "--out", out, "--json").json()
    assert (result["placement"], result["dispatch"]) == (hosts, "easy")
    recorded = json.loads((out / "manifest.json").read_text())["placement"]["path"]
    assert recorded == str(Path(hosts).resolve() / "best" / "policy.json")
    assert shunter("replay", out, "--json").json()["same"] is True
    write_host_policy(Path(hosts) / "best", change=most_free_cores)
    assert "the placement has changed since the run" in shunter("replay", out).error()


def test_compare_calls_it_by_the_name_of_its_run(shunter: Command, site: tuple[str, ...], hosts: str) -> None:
    options = ("--windows", 3, "--length", 50, "--placement", f"best-fit,{hosts}", "--policy", "fcfs,sjf")
    rows = shunter("compare", *site, *options, "--json").json()["combinations"]
    assert {row["label"] for row in rows} == {
        f"{policy}/easy/{placement}" for policy in ("fcfs", "sjf") for placement in ("best-fit", "hosts")
    }
    assert {row["placement"] for row in rows} == {"best-fit", hosts}
    alone = shunter("compare", *site, "--windows", 3, "--length", 50, "--placement", hosts).out
    assert "· hosts ·" in alone


def test_what_if(shunter: Command, site: tuple[str, ...], hosts: str) -> None:
    changes = ("--change", f"placement={hosts}", "--change", "cores=+50%")
    result = shunter("what-if", *site, "--length", 60, *changes, "--json").json()
    assert [case["placement"] for case in result["cases"]] == [hosts, "first-fit"]


def test_beside_a_policy_that_chooses_jobs(shunter: Command, site: tuple[str, ...], hosts: str, tmp_path: Path) -> None:
    jobs = write_policy(tmp_path / "runs" / "jobs" / "best", order="sjf", mode="feasible")
    options = ("--length", 60, "--placement", hosts, "--json")
    learned = shunter("simulate", *site, *options, "--policy", jobs).json()
    plain = shunter("simulate", *site, *options, "--policy", "sjf", "--dispatch", "greedy").json()
    assert learned["metrics"] == plain["metrics"]
    judged = ("--placement", hosts, "--against", "sjf/greedy,fcfs/easy", "--part", "0:1")
    rows = shunter("evaluate", jobs, *site, *judged, "--windows", 3, "--length", 50, "--json").json()["combinations"]
    means = {row["label"]: row["mean"] for row in rows}
    assert {row["placement"] for row in rows} == {hosts}
    assert means[jobs] == means["sjf/greedy"]


def test_it_is_no_policy_by_itself(shunter: Command, site: tuple[str, ...], hosts: str) -> None:
    error = shunter("simulate", *site, "--policy", hosts).error()
    assert "this policy chooses hosts (pick-host), not jobs; give it as --placement" in error
    error = shunter("simulate", *site, "--placement", "runs/nowhere").error()
    assert "placement 'runs/nowhere': there is no such folder or file" in error


def test_no_torch_is_loaded(site: tuple[str, ...], hosts: str) -> None:
    words = ["simulate", *site, "--length", "60", "--placement", hosts]
    script = (
        "import sys\nfrom shunter.cli import main\n"
        f"sys.argv = ['shunter', *{words!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "hosts" in done.stdout
    assert "torch" not in done.stdout.split()
