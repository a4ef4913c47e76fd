"""What the text of a policy resolves to, whatever kind of text it is, and how often it is read in a run."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shunter import InputError, Policy, QueueView
from shunter.cli import app
from shunter.policies import native
from shunter.policies.checkpoint import Checkpoint
from shunter.policies.native import NativePolicy
from shunter.policies.own import PythonPolicy
from shunter.policies.scheduler import resolve, resolve_scheduler
from tests.agents.untrained import write_policy

OWN = """
from shunter import Policy

class Shortest(Policy):
    name = "shortest"

    def score(self, queue):
        return queue.estimate_s

class Widest(Policy):
    name = "widest"

    def score(self, queue):
        return -queue.cores
"""


class Eldest(Policy):
    """First come, first served, in Python."""

    name = "eldest"

    def score(self, queue: QueueView) -> NDArray[np.float64]:
        return queue.submit_s


def test_a_name() -> None:
    policy = resolve("sjf")
    assert isinstance(policy, NativePolicy)
    assert (policy.text, policy.label, policy.file, policy.kind) == ("sjf", "sjf", None, "sjf")
    assert policy.order is policy


def test_a_name_with_parameters() -> None:
    policy = resolve("hybrid?aging=0.5")
    assert isinstance(policy, NativePolicy)
    assert (policy.text, policy.label, policy.file) == ("hybrid?aging=0.5", "hybrid?aging=0.5", None)
    assert (policy.kind, policy.spec.parameters) == ("hybrid", {"aging": 0.5})
    assert policy.order is policy


def test_a_file_in_toml(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text('[policy]\nkind = "hybrid"\naging = 3\n')
    policy = resolve(str(file))
    assert isinstance(policy, NativePolicy)
    assert (policy.text, policy.label, policy.file) == (str(file), "site.toml", file)
    assert (policy.kind, policy.spec.parameters) == ("hybrid", {"aging": 3.0})
    assert policy.order is policy


def test_a_file_in_python(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    policy = resolve(f"{file}:Widest")
    assert isinstance(policy, PythonPolicy)
    assert (policy.text, policy.label, policy.file) == (f"{file}:Widest", "mine.py:Widest", file)
    assert policy.policy.name == "widest"
    assert policy.order is None
    with pytest.raises(InputError, match=r"mine\.py: defines 2 policies \(Shortest, Widest\); name one: .*:Shortest"):
        resolve(str(file))
    with pytest.raises(InputError, match=r"there is no such file; expected FILE\.py or FILE\.py:CLASS"):
        resolve(str(tmp_path / "none.py"))


def test_a_folder_of_a_run(tmp_path: Path) -> None:
    best = Path(write_policy(tmp_path / "first" / "best", order="f2", mode="feasible"))
    policy = resolve(str(tmp_path / "first"))
    assert isinstance(policy, Checkpoint)
    assert (policy.text, policy.label, policy.file) == (str(tmp_path / "first"), "first", best / "policy.json")
    assert (policy.order.kind, policy.settings.policy, policy.settings.dispatch) == ("f2", "f2", "greedy")


def test_what_is_no_text() -> None:
    own = Eldest()
    policy = resolve(own)
    assert isinstance(policy, PythonPolicy)
    assert (policy.text, policy.label, policy.file, policy.order) == ("eldest", "eldest", None, None)
    assert policy.policy is own
    for resolved in (policy, resolve("sjf")):
        assert resolve(resolved) is resolved
        assert resolve_scheduler(policy=resolved).policy is resolved


# ---- each text is read once ----


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str]]:
    """Returns how often each text has been read, by what it describes."""
    counts: Counter[tuple[str, str]] = Counter()
    read_spec = native.read_spec

    def counting(what: str, text: str, *rest: Any, **named: Any) -> native.Spec:  # noqa: ANN401 - whatever it takes
        counts[what, text] += 1
        return read_spec(what, text, *rest, **named)

    # Modules have it under their own names.
    for module in list(sys.modules.values()):
        if vars(module).get("read_spec") is read_spec:
            monkeypatch.setattr(module, "read_spec", counting)
    return counts


def run(*arguments: object) -> None:
    """Runs the command line in this process."""
    with pytest.raises(SystemExit) as exit_:
        app([str(argument) for argument in arguments])
    assert exit_.value.code == 0


LOG = ("--workload", "generate:lublin?seed=3&jobs=60&cores=16&requests=factor", "--cluster", "16")


@pytest.mark.parametrize("policy", ["sjf", "hybrid?aging=0.5", "site.toml"])
def test_a_simulation_reads_its_policy_once(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Counter[tuple[str, str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("site.toml").write_text('[policy]\nkind = "multifactor"\n[policy.shares]\nann = 2\n')
    run("simulate", *LOG, "--policy", policy, "--out", "run", "--json")
    assert read == {("policy", policy): 1, ("estimate", "requested"): 1}


def test_a_comparison_reads_each_policy_once(read: Counter[tuple[str, str]]) -> None:
    run("compare", *LOG, "--policy", "fcfs,sjf", "--dispatch", "easy,strict", "--windows", 2, "--length", 10, "--json")
    assert {text: count for (what, text), count in read.items() if what == "policy"} == {"fcfs": 1, "sjf": 1}
