"""Networks of the user's own: made of plain layers the core decides with them, of anything else PyTorch does."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import shunter
from shunter import InputError
from shunter.agents.learned_policy import LearnedPolicy, load_policy
from shunter.agents.networks import NETWORKS, NetworkKind, NetworkOptions, build, register_network
from shunter.agents.networks.layers import LayeredNetwork, layers_of
from shunter.agents.torch_evaluator import exported
from shunter.agents.training.checkpoint_files import PolicyRecord
from shunter.envs.layout import Layout
from shunter.envs.network import NativeNetwork
from shunter.envs.pick_host import PickHostOptions
from shunter.envs.pick_job import PickJobOptions
from tests.agents.observing import random_hosts, random_jobs
from tests.agents.small_training import SMALL
from tests.support import PROJECT

NAME = "own"
JOBS = PickJobOptions(window=5, lookahead_size=3)
HOSTS = PickHostOptions(num_hosts=4)
Stack = list[nn.Module]


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """Forgets what a test has registered."""
    before = dict(NETWORKS)
    yield
    NETWORKS.clear()
    NETWORKS.update(before)


def stacks(layout: Layout, kind: str) -> tuple[Stack, Stack]:
    """Returns the layers of a policy and of a value."""
    size, actions = layout.observation_size, layout.actions
    found: dict[str, tuple[Stack, Stack]] = {
        "one": ([nn.Linear(size, actions)], [nn.Linear(size, 1)]),
        "plain": ([nn.Linear(size, 7), nn.Linear(7, actions)], [nn.Linear(size, 3), nn.Tanh(), nn.Linear(3, 1)]),
        "deep": (
            [nn.Linear(size, 20), nn.Tanh(), nn.Linear(20, 9), nn.ReLU(), nn.Linear(9, actions)],
            [nn.Linear(size, 33), nn.ReLU(), nn.Linear(33, 1)],
        ),
    }
    return found[kind]


def made(layout: Layout, policy: Stack, value: Stack) -> LayeredNetwork:
    """Returns a network of these layers, with weights that say something."""
    network = LayeredNetwork(nn.Sequential(*policy), nn.Sequential(*value))
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for tensor in network.parameters():
            tensor.copy_(0.3 * torch.randn(tensor.shape, generator=generator))
    return network


@pytest.mark.parametrize("temperature", [None, 2.0])
@pytest.mark.parametrize("kind", ["one", "plain", "deep"])
@pytest.mark.parametrize("options", [JOBS, HOSTS])
def test_the_core_computes_the_same(
    options: PickJobOptions | PickHostOptions, kind: str, temperature: float | None
) -> None:
    layout = options.layout
    register_network(NAME, NetworkKind(lambda *_: made(layout, *stacks(layout, kind)), (4,), (layout.kind,)))
    asked = NetworkOptions(kind=NAME, order_temperature=temperature)
    network = build(asked, layout)
    record = PolicyRecord(layout, options, asked, layers=layers_of(network))
    native = exported(network, record)
    assert native is not None
    observations, masks = (random_jobs if options is JOBS else random_hosts)(40, layout)
    with torch.inference_mode():
        logits, values = network(observations, masks)
    found, expected = native.evaluate(observations.numpy(), masks.numpy())
    np.testing.assert_allclose(found[masks.numpy()], logits[masks].numpy(), atol=2e-6, rtol=1e-5)
    np.testing.assert_allclose(expected, values.numpy(), atol=2e-6, rtol=1e-5)


def test_what_the_core_cannot_read_is_left_to_pytorch() -> None:
    layout = JOBS.layout
    size, actions = layout.observation_size, layout.actions
    value: Stack = [nn.Linear(size, 1)]
    strange: list[Stack] = [
        [nn.Linear(size, 4), nn.GELU(), nn.Linear(4, actions)],
        [nn.Linear(size, actions, bias=False)],
        [nn.Linear(size, 4), nn.ReLU(), nn.ReLU(), nn.Linear(4, actions)],
        [nn.ReLU(), nn.Linear(size, actions)],
    ]
    for policy in strange:
        assert layers_of(made(layout, policy, value)) is None

    class Louder(LayeredNetwork):
        def evaluate(self, batch: Any) -> tuple[torch.Tensor, torch.Tensor]:  # noqa: ANN401 - any batch
            logits, values = super().evaluate(batch)
            return 2 * logits, values

    plain, twice = (nn.Sequential(nn.Linear(size, count)) for count in (actions, 1))
    assert layers_of(LayeredNetwork(plain, twice)) == {"policy": [[actions, "none"]], "value": [[1, "none"]]}
    assert layers_of(Louder(plain, twice)) is None
    assert layers_of(nn.Linear(1, 1)) is None
    record = PolicyRecord(layout, JOBS, NetworkOptions(), layers=None)
    assert exported(build(NetworkOptions(), layout), record) is not None


def test_mistakes() -> None:
    with pytest.raises(InputError, match="the policy ends with ReLU"):
        LayeredNetwork(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), nn.Sequential(nn.Linear(2, 1)))
    with pytest.raises(InputError, match="the value ends with NoneType"):
        LayeredNetwork(nn.Sequential(nn.Linear(2, 2)), nn.Sequential())
    with pytest.raises(InputError, match="network 'mlp' is one of Shunter's own; give yours another name"):
        register_network("mlp", NETWORKS["mlp"])


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ({}, "layers: policy is no list of sizes"),
        ({"policy": [[6, "relu"]], "value": [[2, "none"]]}, "the value's last layer has the size 2; expected 1"),
        ({"policy": [[5, "none"]], "value": [[1, "none"]]}, "the policy's last layer has the size 5; expected 6"),
        ({"policy": [], "value": [[1, "none"]]}, "the policy has 0 layers; expected 1 to 64"),
        ({"policy": [[6, "gelu"]], "value": [[1, "none"]]}, "layers: policy is no list of sizes"),
        ({"policy": [[6]], "value": [[1, "none"]]}, "layers: policy is no list of sizes"),
        ({"policy": [[2**40, "relu"], [6, "none"]], "value": [[1, "none"]]}, "a layer of the policy has the size 1099"),
        (
            {"policy": [[2**20, "relu"], [6, "none"]], "value": [[1, "none"]]},
            "the network would have",
        ),
    ],
)
def test_a_description_that_is_wrong(layers: dict[str, Any], message: str) -> None:
    about = PolicyRecord(JOBS.layout, JOBS, NetworkOptions()).to_json() | {"layers": layers}
    with pytest.raises(InputError, match=message):
        NativeNetwork.open(about)


def documented(number: int) -> str:
    """Returns an example of the page on training."""
    page = (PROJECT / "docs" / "training.md").read_text(encoding="utf-8")
    section = page.split("## A network of your own")[1].split("\n## ")[0]
    examples: list[str] = re.findall(r"```python\n(.*?)```", section, flags=re.S)
    return examples[number]


def trained(kind: str, folder: Path) -> str:
    config = SMALL | {"network": {"kind": kind}}
    del config["data"]
    return str(shunter.train(SMALL["data"]["workload"][0], out=str(folder), config=config).folder)


SIMULATED = """
import sys
sys.modules["torch"] = None
import shunter
log = shunter.read_workload({log!r}).window(0, 150)
print(shunter.simulate(log, 64, policy={folder!r}).start_ms.sum())
"""


def test_the_documented_network_of_layers_decides_in_the_core(tmp_path: Path) -> None:
    exec(documented(0), {})
    folder = trained("tapered", tmp_path / "run")
    policy = load_policy(folder)
    assert isinstance(policy.evaluator, NativeNetwork)
    assert layers_of(policy.network) == policy.record.layers
    log = SMALL["data"]["workload"][0]
    alone = shunter.simulate(shunter.read_workload(log).window(0, 150), 64, policy=folder).start_ms.sum()
    # Neither PyTorch nor the code that made the network is there.
    script = SIMULATED.format(log=log, folder=folder)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stderr, done.stdout.strip()) == ("", str(alone))


def test_the_other_documented_network_is_asked_through_pytorch(tmp_path: Path) -> None:
    exec(documented(1), {})
    folder = trained("gated", tmp_path / "run")
    policy = load_policy(folder)
    assert isinstance(policy, LearnedPolicy)
    assert not isinstance(policy.evaluator, NativeNetwork)
    log = shunter.read_workload(SMALL["data"]["workload"][0]).window(0, 150)
    schedule = shunter.simulate(log, 64, policy=folder)
    assert schedule.ended.all()
    del NETWORKS["gated"]
    with pytest.raises(InputError, match=r"unknown \[network\] kind 'gated'"):
        load_policy(folder)
