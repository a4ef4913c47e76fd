"""The base needs no extra: its verbs never ask for one, and what needs one says so in one line, before any work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.agents.untrained import (
    LUBLIN,
    edit_policy,
    opinionated,
    write_host_policy,
    write_layered_policy,
    write_policy,
)
from tests.cli.conftest import Command
from tests.cli.conftest import shunter as shunter

BLOCKED = (
    *("torch", "tensorboard", "matplotlib", "highspy", "ray"),
    *("fastapi", "uvicorn", "httptools", "prometheus_client", "starlette", "pydantic"),
)
WITHOUT = f"""
import builtins, os, sys

sys.modules.update(dict.fromkeys({BLOCKED!r}))
real = builtins.__import__


def noted(name, *arguments, **keywords):
    if name.partition(".")[0] in {BLOCKED!r}:
        with open(os.environ["ASKED_FOR"], "a") as file:
            file.write(name + chr(10))
    return real(name, *arguments, **keywords)


builtins.__import__ = noted
"""
"""Runs when Python starts: the extras are not there, and who imports one all the same is noted."""
FEW = ("--windows", "3", "--length", "60")
SHORT = (
    "--windows", "6", "--validation-windows", "3", "--length", "24", "--num-envs", "4", "--rollout-steps", "16",
    "--minibatch", "32", "--epochs", "1", "--steps", "64", "--report-windows", "3", "--report-length", "30",
    "--window", "8", "--hidden", "8",
)  # fmt: skip


@dataclass(frozen=True)
class Base:
    """An installation without extras."""

    folder: Path

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs Python; its children lack the extras, too."""
        start = self.folder / "start"
        start.mkdir(exist_ok=True)
        (start / "sitecustomize.py").write_text(WITHOUT)
        environment = os.environ | {"PYTHONPATH": str(start), "ASKED_FOR": str(self.folder / "asked")}
        words = [sys.executable, *arguments]
        return subprocess.run(words, capture_output=True, text=True, cwd=self.folder, env=environment)

    def shunter(self, *arguments: str) -> str:
        """Runs a verb, which must go well and ask for no extra; returns what it printed."""
        done = self.python("-m", "shunter", *arguments)
        assert done.returncode == 0, done.stderr
        assert self.asked_for == "", arguments
        return done.stdout

    def error(self, *arguments: str) -> str:
        """Runs a verb that must fail in one line; returns it."""
        done = self.python("-m", "shunter", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        return done.stderr

    @property
    def asked_for(self) -> str:
        """Which of the missing modules were imported."""
        asked = self.folder / "asked"
        return asked.read_text() if asked.exists() else ""


@pytest.fixture
def base(tmp_path: Path) -> Base:
    return Base(tmp_path)


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    return write_policy(tmp_path / "best", begins_as_order=False, change=opinionated)


def test_what_is_missing_is_noted(base: Base) -> None:
    done = base.python("-c", "import torch.nn")
    assert done.returncode == 1
    assert "torch.nn" in base.asked_for


def test_every_module_but_those_of_an_extra_can_be_imported(base: Base) -> None:
    script = (
        "import importlib, json, pkgutil, shunter; failed = []\n"
        "for found in pkgutil.walk_packages(shunter.__path__, 'shunter.'):\n"
        "    if found.name != 'shunter.__main__' and not found.name.startswith('shunter._core.'):\n"
        "        try: importlib.import_module(found.name)\n"
        "        except ImportError: failed.append(found.name)\n"
        "        except Exception as error: assert 'Stable-Baselines3' in str(error), found.name\n"
        "print(json.dumps(failed))"
    )
    done = base.python("-c", script)
    assert done.returncode == 0, done.stderr
    failed = json.loads(done.stdout)
    of_extras = {
        *(f"shunter.agents.{name}" for name in ("cloning", "d3qn", "ppo", "reinforce", "sac", "torch_evaluator")),
        "shunter.execution.local.learning",
        "shunter.report.plain_figure",
    }
    inside = ("shunter.agents.common.", "shunter.agents.networks.", "shunter.service.")
    others = {name for name in failed if not name.startswith(inside) and not name.endswith("_figure")}
    assert others <= of_extras
    assert {"shunter.agents.ppo", "shunter.service.app", "shunter.report.learning_figure"} <= set(failed)


def test_a_policy_is_trained_judged_and_looked_into(base: Base) -> None:
    base.shunter("train", "--workload", LUBLIN, *SHORT, "--out", "run")
    base.shunter("train", "--out", "run", "--resume", "--steps", "128")
    base.shunter("train", "--workload", LUBLIN, *SHORT, "--init", "run", "--out", "second")
    assert json.loads(base.shunter("evaluate", "run", LUBLIN, *FEW, "--json"))
    assert json.loads(base.shunter("inspect", "run", LUBLIN, *FEW, "--json"))
    assert json.loads(base.shunter("compare", LUBLIN, "--policy", "fcfs,run", *FEW, "--json"))
    base.shunter("report", "run")


@pytest.mark.slow
@pytest.mark.parametrize("network", ["mlp", "attention"])
def test_every_network_of_the_core_is_trained(base: Base, network: str) -> None:
    base.shunter("train", "--workload", LUBLIN, *SHORT[:-2], "--network", network, "--out", "run")


@pytest.mark.slow
def test_a_policy_that_chooses_hosts_is_trained(base: Base) -> None:
    few = ("--num-hosts", "3", "--episode-length", "10", "--max-jobs-per-step", "9")
    base.shunter("train", "--env", "pick-host", *SHORT[:-4], *few, "--seeds", "2", "--threads", "2", "--out", "run")


@pytest.mark.slow
def test_a_log_is_looked_at_and_a_policy_tuned(base: Base) -> None:
    base.shunter("trace", "info", LUBLIN)
    base.shunter(
        "tune", LUBLIN, "--out", "tuned.toml", *FEW, "--generations", "1", "--population", "4", "--report-windows", "2"
    )
    assert json.loads(base.shunter("compare", LUBLIN, "--policy", "sjf,tuned.toml", *FEW, "--threads", "2", "--json"))


@pytest.mark.slow
def test_a_run_is_simulated_explained_replayed_and_shown(base: Base, checkpoint: str) -> None:
    base.shunter("simulate", LUBLIN, "--policy", checkpoint, "--out", "run")
    assert json.loads(base.shunter("explain", "run", "40", "--json"))
    assert "same schedule" in base.shunter("replay", "run")
    base.shunter("report", "run")
    changed = ("--length", "100", "--change", "cores=80")
    assert json.loads(base.shunter("what-if", LUBLIN, "--policy", checkpoint, *changed, "--json"))


def test_a_queue_is_decided_on_by_a_learned_policy(base: Base, checkpoint: str) -> None:
    queue = ("--queue", str(base.folder / "queue"))
    base.shunter("queue", "start", *queue, "--cores", "2")
    try:
        base.shunter("queue", "policy", *queue, checkpoint)
        base.shunter("queue", "submit", *queue, "--", sys.executable, "-c", "print(1)")
        assert "1" in base.shunter("queue", "list", "--all", *queue)
    finally:
        base.shunter("queue", "stop", *queue)


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


def test_a_policy_is_asked_in_python(base: Base, checkpoint: str) -> None:
    hosts = write_host_policy(base.folder / "hosts")
    done = base.python("-c", ASKED.format(log=LUBLIN, checkpoint=checkpoint, hosts=hosts))
    assert (done.returncode, done.stderr, base.asked_for) == (0, "", "")


TRAIN = ("train", LUBLIN, *SHORT, "--out", "run")
MISSING = [
    (("train", LUBLIN, "--algorithm", "d3qn"), "--algorithm d3qn needs PyTorch", "learn"),
    (("train", LUBLIN, "--algorithm", "reinforce", "--seeds", "2"), "--algorithm reinforce needs PyTorch", "learn"),
    ((*TRAIN, "--engine", "torch"), "--engine torch needs PyTorch", "learn"),
    ((*TRAIN, "--imitate", "saf/easy"), "--imitate saf/easy needs PyTorch", "learn"),
    ((*TRAIN, "--device", "cuda"), "--device cuda needs PyTorch", "learn"),
    (("run", "--generate", "2", "--simulate", "--train", "1"), "--train needs PyTorch", "learn"),
    (("plot", "run"), "plot needs Matplotlib", "plot"),
    (("simulate", LUBLIN, "--plot", "x.png"), "--plot needs Matplotlib", "plot"),
    (("compare", LUBLIN, "--plot", "x.png"), "--plot needs Matplotlib", "plot"),
    (("tune", LUBLIN, "--out", "x.toml", "--plot", "x.png"), "--plot needs Matplotlib", "plot"),
    (("calibrate", LUBLIN, "--plot", "x.png"), "--plot needs Matplotlib", "plot"),
    (("trace", "info", LUBLIN, "--plot", "x.png"), "--plot needs Matplotlib", "plot"),
    (("trace", "estimate", LUBLIN, "--plot", "x.png"), "--plot needs Matplotlib", "plot"),
    (("eta", LUBLIN, "--at", "1000", "--plot", "x.png"), "--plot needs Matplotlib", "plot"),
    (("simulate", LUBLIN, "--placement", "milp"), "placement milp needs highspy", "milp"),
    (("trace", "prices", LUBLIN), "trace prices needs highspy", "milp"),
    (("tune", LUBLIN, "--out", "x.toml", "--kind", "pairs"), "--kind pairs needs highspy", "milp"),
    (("compare", LUBLIN, "--on", "ray"), "--on ray needs Ray", "ray"),
    (("serve",), "serve needs FastAPI, httptools, prometheus-client, Uvicorn", "serve"),
    (("dashboard",), "dashboard needs FastAPI, httptools, prometheus-client, Uvicorn", "serve"),
]


@pytest.mark.parametrize(("arguments", "what", "extra"), MISSING, ids=lambda value: str(value)[:40])
def test_what_needs_an_extra_names_it(
    arguments: tuple[str, ...],
    what: str,
    extra: str,
    shunter: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in BLOCKED:
        monkeypatch.setitem(sys.modules, name, None)
    assert shunter(*arguments).error() == f"{what}: pip install 'shunter[{extra}]'"
    assert not list(tmp_path.iterdir())


REGISTERED = """
import shunter
from shunter.agents.networks import NetworkKind, register_network

register_network("layered", NetworkKind("no_such:Layered", (5,), ("pick-job",)))
shunter.load_policy({folder!r})
"""


def test_a_policy_whose_network_is_the_users_own_names_it(base: Base) -> None:
    folder = write_layered_policy(base.folder / "own")
    # The core reads its layers; without them it is PyTorch's.
    base.shunter("simulate", LUBLIN, "--policy", folder)
    edit_policy(Path(folder), lambda about: about.pop("layers"))
    done = base.python("-c", REGISTERED.format(folder=folder))
    line = f"{folder}: its network, which is not one of Shunter's own, needs PyTorch: pip install 'shunter[learn]'"
    assert done.stderr.splitlines()[-1] == f"shunter.errors.InputError: {line}"


@pytest.mark.usefixtures("few_classics")
def test_a_run_that_pytorch_began_names_it(shunter: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shunter(*TRAIN, "--engine", "torch").code == 0
    monkeypatch.setitem(sys.modules, "torch", None)
    line = shunter("train", "--resume", "--out", "run", "--steps", "128").err
    assert line == "error: [training] engine torch needs PyTorch: pip install 'shunter[learn]'\n"


def test_a_picture_of_an_environment_names_it(base: Base) -> None:
    script = f"import shunter.envs as envs; envs.PickJobEnv({LUBLIN!r}, render_mode='rgb_array')"
    done = base.python("-c", script)
    assert "render_mode rgb_array needs Matplotlib: pip install 'shunter[plot]'" in done.stderr.splitlines()[-1]
