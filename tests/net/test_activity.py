"""Which units of a network act: the core says what hooks in PyTorch see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from shunter.agents.networks import NetworkOptions, build
from shunter.agents.networks.native import native_network
from shunter.agents.torch_evaluator import TorchEvaluator
from shunter.errors import InputError
from tests.net.played import HOST_SOURCES, JOB_SOURCES, Observations, played

SAMPLES = 40
DEAD = -50.0
"""A bias that nothing makes up for."""

# By the name of a ReLU in PyTorch: the layers before it. One function may stand behind several.
RELUS = {
    "kernel": {"activation": ["row_layer"], "job_tower.1": ["job_tower.0"], "wait_tower.1": ["wait_tower.0"],
               "value_tower.1": ["value_tower.0"]},
    "mlp": {"activation": ["first"], "policy_tower.1": ["policy_tower.0"], "value_tower.1": ["value_tower.0"]},
    "attention": {"blocks.0.tower.1": ["blocks.0.tower.0"]},
    "hosts": {"activation": ["pooled_layer", "own"],
              "own_tower.1": ["own_tower.0"], "value_tower.1": ["value_tower.0"]},
}  # fmt: skip


def with_dead_units(network: nn.Module) -> None:
    """Silences every third unit of each layer."""
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.Linear) and module.bias is not None:
                module.bias[::3] = DEAD


def seen_by_hooks(network: nn.Module, seen: Observations) -> dict[str, NDArray[np.bool_]]:
    """Returns what hooks see, sample by sample: side by side, PyTorch fills up short windows with empty rows."""
    found: dict[str, NDArray[np.bool_]] = {}
    for place in range(SAMPLES):
        rows = slice(place, place + 1)
        active = TorchEvaluator(network).active_units(seen.observations[rows], seen.masks[rows])  # type: ignore[arg-type]
        found = {name: acted | found.get(name, False) for name, acted in active.items()}
    return found


@pytest.mark.every(4)
@pytest.mark.parametrize("prefix", ["", "inner."])
@pytest.mark.parametrize("kind", RELUS)
def test_the_same_units_act_as_in_pytorch(kind: str, prefix: str) -> None:
    seen = played((HOST_SOURCES if kind == "hosts" else JOB_SOURCES)[0])
    options = NetworkOptions(kind=kind, order_temperature=2.0 if prefix else None)
    if kind == "hosts":
        # The core does not work out what it thinks of hosts that may not be chosen.
        seen = replace(seen, masks=np.ones_like(seen.masks))
    network = build(options, seen.layout, 1)
    with_dead_units(network)
    native = native_network(options, seen.layout)
    native.set({name: weight.numpy() for name, weight in network.state_dict().items()})
    found = native.active_units(seen.observations[:SAMPLES].copy(), seen.masks[:SAMPLES].copy())
    expected = seen_by_hooks(network, seen)
    assert set(expected) == {prefix + name for name in RELUS[kind]}
    assert set(found) == {prefix + name for those in RELUS[kind].values() for name in those}
    for relu, layers in RELUS[kind].items():
        both = np.logical_or.reduce([found[prefix + name] for name in layers])
        np.testing.assert_array_equal(both, expected[prefix + relu], err_msg=relu)
        assert 0 < both.sum() < len(both)


def test_what_cannot_die_is_not_told() -> None:
    seen = played(JOB_SOURCES[0])
    native = native_network(NetworkOptions(kind="mlp", activation="tanh"), seen.layout)
    assert native.active_units(seen.observations[:3].copy(), seen.masks[:3].copy()) == {}


def test_other_observations_are_refused() -> None:
    seen = played(JOB_SOURCES[0])
    native = native_network(NetworkOptions(kind="mlp"), seen.layout)
    with pytest.raises(InputError, match="observations have the shape"):
        native.active_units(seen.observations[:3, 1:].copy(), seen.masks[:3].copy())
