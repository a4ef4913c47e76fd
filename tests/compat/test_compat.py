"""What an earlier version wrote is read as it was: runs, tuned files, checkpoints, saved states, tables.

The folder beside this file was written by version 0.1.0, by the commands in it. ``expected.json`` is
what that version said of the files. Figures must be equal to the last digit; a later version may say more than was
said, but nothing else. Only what a network computes may differ in its last digits, for PyTorch computed it then, and
the core does now. Fresh weights were others then: of a training that began with them it is not said what was learned.
What is learned in steps is not looked at where PyTorch adds in another order than it did then, which
`same_arithmetic` tells.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from shunter import Cluster, load_policy, read_workload
from shunter.cli import main
from shunter.envs import make_vec
from shunter.policies.native import of_before
from shunter.simulation import Simulation

FOLDER = Path(__file__).resolve().with_name("saved")
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
PLACE = "COMPAT"
"""Stands in the manifests of runs for the folder of the fixtures, for the paths in them are absolute."""
TOLERANCE = 1e-5
"""How far apart what a network computes may be."""


@pytest.fixture(autouse=True)
def fixtures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a copy of all files, which is also the working folder: relative paths in the files are from there."""
    copy = tmp_path / "compat"
    shutil.copytree(FOLDER, copy)
    for manifest in copy.glob("runs/*/manifest.json"):
        manifest.write_text(manifest.read_text().replace(PLACE, str(copy.resolve())))
    monkeypatch.chdir(copy)
    return copy


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Lets torch compute on one thread, as it did then: sums over several have other last digits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@cache
def same_arithmetic() -> bool:
    """Returns whether torch computes here to the same last digit as where the fixtures were made."""
    random = torch.Generator().manual_seed(0)
    seen, weights = torch.rand(32, 70, generator=random), torch.rand(70, 12, generator=random) - 0.5
    weights.requires_grad_()
    chosen = torch.log_softmax(torch.tanh(seen @ weights), dim=-1)[:, 0].exp().mean()
    chosen.backward()  # type: ignore[no-untyped-call]
    assert weights.grad is not None
    digest = hashlib.sha256(chosen.detach().numpy().tobytes() + weights.grad.numpy().tobytes())
    return bool(digest.hexdigest() == EXPECTED["arithmetic"])


def differences(expected: Any, told: Any, tolerance: float = 0.0, where: str = "") -> list[str]:  # noqa: ANN401 - JSON
    """Returns where something else is told than is expected; more than is expected may be told."""
    if isinstance(expected, dict) and isinstance(told, dict):
        missing = [f"{where}.{key} is missing" for key in expected if key not in told]
        both = [key for key in expected if key in told]
        return missing + [
            line for key in both for line in differences(expected[key], told[key], tolerance, f"{where}.{key}")
        ]
    if isinstance(expected, list) and isinstance(told, list) and len(expected) == len(told):
        pairs = enumerate(zip(expected, told, strict=True))
        return [line for at, (one, two) in pairs for line in differences(one, two, tolerance, f"{where}[{at}]")]
    if tolerance and isinstance(expected, float) and isinstance(told, float):
        same = math.isclose(expected, told, rel_tol=tolerance, abs_tol=tolerance)
    else:
        same = type(expected) is type(told) and expected == told
    return [] if same else [f"{where}: expected {expected!r}, told {told!r}"]


def shunter(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """Runs a command, which must go well, and returns what it printed."""
    monkeypatch.setattr(sys, "argv", ["shunter", *arguments])
    with pytest.raises(SystemExit) as exit_:
        main()
    printed = capsys.readouterr()
    assert exit_.value.code == 0, printed.err
    return printed.out


@pytest.mark.every(4)
@pytest.mark.parametrize("name", EXPECTED["commands"])
def test_commands_say_the_same(
    name: str, fixtures: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reads some of the files: replayed, explained, simulated with, judged, looked into, trained from."""
    case = EXPECTED["commands"][name]
    if case["rests_on"] == "learning" and not same_arithmetic():
        pytest.skip("torch computes otherwise here than where the fixtures were made")
    arguments = case["arguments"]
    if arguments[0] == "train":
        # Those versions learned by PyTorch.
        arguments = [*arguments, *([] if "--resume" in arguments else ["--engine", "torch"])]
    told = json.loads(shunter(capsys, monkeypatch, *arguments))
    tolerance = TOLERANCE if case["rests_on"] == "network" else 0.0
    # An option that came later is told as well.
    told.get("config", {}).get("training", {}).pop("engine", None)
    # What was skipped counts; why, people are told in other words since.
    told, expected = ({**one, "skipped": len(one.get("skipped", []))} for one in (told, case["told"]))
    # Layers were called by the function behind them, and one that two layers share was counted once.
    units = [Counter(map(str, one.pop("dead_units", {}).values())) for one in (expected, told)]
    assert not units[0] - units[1]
    assert differences(expected, told, tolerance) == []
    if "weights" in case:
        assert hashlib.sha256((fixtures / case["weights"]).read_bytes()).hexdigest() == case["weights_sha256"]


@pytest.mark.parametrize("name", EXPECTED["policies"])
def test_networks_compute_the_same(name: str) -> None:
    """Actions, their probabilities and values of a few observations that are drawn."""
    policy = load_policy(f"trained/{name}")
    random = np.random.default_rng(2)
    observations = random.random((6, policy.layout.observation_size), dtype=np.float32)
    masks = random.random((6, policy.layout.actions)) < 0.6
    masks[:, 1] = True
    told = {
        "kind": policy.kind,
        "actions": policy.actions(observations, masks).tolist(),
        "probabilities": policy.action_probabilities(observations, masks).tolist(),
        "values": policy.values(observations, masks).tolist(),
    }
    assert differences(EXPECTED["policies"][name], told, TOLERANCE) == []


def test_learning_curves_are_drawn(
    fixtures: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the tables of two runs."""
    shunter(capsys, monkeypatch, "plot", "trained/kernel", "trained/mlp", "--out", "curves.svg")
    assert (fixtures / "curves.svg").read_text(encoding="utf-8").startswith("<?xml")


def names(folder: str) -> list[str]:
    """Returns what is in a folder of the fixtures, by the names of its descriptions."""
    return sorted(path.stem for path in (FOLDER / folder).glob("*.json"))


@pytest.mark.parametrize("name", names("states"))
def test_saved_simulations_end_as_they_did(name: str) -> None:
    """A state in the middle of a run, with everything that was drawn, learned and reserved, gives the same schedule."""
    about = json.loads(Path(f"states/{name}.json").read_text(encoding="utf-8"))
    window = read_workload(about["workload"]).window(about.get("start", 0), about.get("length"))
    cluster = Cluster.parse(about["cluster"])
    simulation = Simulation.restore(window, cluster, gzip.decompress(Path(f"states/{name}.bin.gz").read_bytes()))
    assert differences(about["status"], vars(simulation.status())) == []
    assert simulation.run()
    assert schedule_hash(simulation) == about["final_sha256"]


def schedule_hash(simulation: Simulation) -> str:
    """Returns the hash of what became of each job: phase, starts, end, stops, nodes and devices."""
    jobs, placed, stops = simulation.job_states(), simulation.snapshot(), simulation.stops()
    arrays = (
        jobs.phase, jobs.start_ms, jobs.latest_start_ms, jobs.end_ms, jobs.preemptions, jobs.failures,
        placed.node_offsets, placed.nodes, placed.tasks, placed.device_offsets, placed.devices, placed.millis,
        stops.job, stops.start_ms, stops.end_ms, stops.by_failure, stops.node_offsets, stops.nodes, stops.tasks,
    )  # fmt: skip
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.astype("<i8").tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("name", names("environments"))
def test_saved_environments_go_on_as_they_did(name: str) -> None:
    """The same actions give the same observations, masks, rewards and endings, over the ends of episodes."""
    about = json.loads(Path(f"environments/{name}.json").read_text(encoding="utf-8"))
    # A state is of environments that count as those did from which it was taken.
    options = about["options"]
    if "PickHost" not in about["id"]:
        options |= {"size_by": "cores-alone", "order": of_before(options.get("order", "fcfs"))}
    env = make_vec(about["id"], num_envs=about["num_envs"], **options)
    observations = np.zeros((env.num_envs, env.layout.observation_size), dtype=np.float32)
    masks = np.zeros((env.num_envs, env.layout.actions), dtype=np.bool_)
    env.load_state(Path(f"environments/{name}.bin").read_bytes(), observations, masks)
    seen = hashlib.sha256(observations.astype("<f4").tobytes() + masks.tobytes())
    rewards, terminated = [], []
    for actions in about["actions"]:
        observed, reward, ended, _, info = env.step(np.array(actions, dtype=np.int32))
        seen.update(observed.astype("<f4").tobytes() + info["action_mask"].tobytes())
        rewards.append(reward.tolist())
        terminated.append(ended.tolist())
    env.close()
    expected = about["expected"]
    assert (rewards, terminated) == (expected["rewards"], expected["terminated"])
    assert seen.hexdigest() == expected["seen_sha256"]
