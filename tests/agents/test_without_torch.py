"""Learned policies are simulated, compared and asked where PyTorch cannot be loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.untrained import LUBLIN, opinionated, write_host_policy, write_policy

LOG = f"--workload={LUBLIN}"
WITHOUT = "import sys; sys.modules['torch'] = None; "
"""Makes every import of PyTorch an error."""


def shunter(*arguments: str) -> str:
    """Runs a command without PyTorch; returns what it printed."""
    script = WITHOUT + f"sys.argv = {['shunter', *arguments]!r}; from shunter.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    return write_policy(tmp_path / "best", begins_as_order=False, change=opinionated)


def test_a_run_is_simulated_explained_and_replayed(checkpoint: str, tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    shunter("simulate", LOG, "--policy", checkpoint, "--out", run)
    assert json.loads(shunter("explain", run, "40", "--json"))
    assert "same schedule" in shunter("replay", run)


@pytest.mark.slow
def test_policies_are_compared_judged_and_asked_about_changes(checkpoint: str) -> None:
    few = ("--windows", "3", "--length", "60")
    assert json.loads(shunter("compare", LOG, "--policy", "fcfs", "--policy", checkpoint, *few, "--json"))
    assert json.loads(shunter("evaluate", checkpoint, LOG, *few, "--json"))
    changed = ("--length", "100", "--change", "cores=80")
    assert json.loads(shunter("what-if", LOG, "--policy", checkpoint, *changed, "--json"))


ASKED = """
import numpy as np
import shunter
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import Simulation, decide

workload, cluster = shunter.read_workload({log!r}).window(0, 80), shunter.read_cluster("64")
scheduler = resolve_scheduler(policy={checkpoint!r})
simulation = Simulation(workload, cluster, resolve_scheduler(policy="fcfs", dispatch="easy"))
simulation.run(30)
simulation.advance()
assert decide(simulation.snapshot(), workload, cluster, scheduler).answers
for folder in ({checkpoint!r}, {hosts!r}):
    policy = shunter.load_policy(folder)
    observation = np.full(policy.layout.observation_size, 0.5, np.float32)
    mask = np.ones(policy.layout.actions, bool)
    print(policy.action(observation, mask), policy.action(observation, mask, deterministic=False))
    print(policy.values(observation, mask), policy.action_probabilities(observation, mask).sum())
"""


def test_a_policy_is_asked_in_python(checkpoint: str, tmp_path: Path) -> None:
    hosts = write_host_policy(tmp_path / "hosts")
    script = WITHOUT + ASKED.format(log=LUBLIN, checkpoint=checkpoint, hosts=hosts)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
