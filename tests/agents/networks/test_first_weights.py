"""Networks begin with the same weights in the core and in PyTorch, and with those that PPO usually begins with."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shunter.agents.networks import NETWORKS, OWN, NetworkOptions, build
from shunter.agents.networks.first_weights import orthogonal
from shunter.agents.networks.native import POLICY_LAYERS, VALUE_LAYER, fresh_network
from shunter.agents.networks.weights import weights_of
from shunter.envs.pick_host import PickHostOptions
from shunter.envs.pick_job import PickJobOptions
from shunter.envs.pick_job_and_type import PickJobAndTypeOptions
from shunter.policies.catalog import PICK_HOST, PICK_JOB, PICK_JOB_AND_TYPE

LAYOUTS = {
    PICK_JOB: PickJobOptions().layout,
    PICK_JOB_AND_TYPE: PickJobAndTypeOptions(types=("a100", "v100")).layout,
    PICK_HOST: PickHostOptions().layout,
}
CASES = [
    (kind, decision, temperature)
    for kind in sorted(OWN)
    for decision in NETWORKS[kind].decisions
    for temperature in (None, 16.0)
]


@pytest.mark.every(6)
@pytest.mark.parametrize(("kind", "decision", "temperature"), CASES)
def test_both_engines_begin_with_the_same_weights(kind: str, decision: str, temperature: float | None) -> None:
    options, layout = NetworkOptions(kind=kind, order_temperature=temperature), LAYOUTS[decision]
    in_core, in_torch = (weights_of(make(options, layout, seed=3)) for make in (fresh_network, build))
    assert in_core.keys() == in_torch.keys()
    assert all(np.array_equal(in_core[name], in_torch[name]) for name in in_core)
    assert any(values.any() for values in in_core.values())
    other = weights_of(fresh_network(options, layout, seed=4))
    assert any(not np.array_equal(in_core[name], other[name]) for name in in_core)


@pytest.mark.every(6)
@pytest.mark.parametrize(("kind", "decision", "temperature"), CASES)
def test_last_layers_are_those_that_the_network_names(kind: str, decision: str, temperature: float | None) -> None:
    network = build(NetworkOptions(kind=kind, order_temperature=temperature), LAYOUTS[decision])
    names = {module: name.removeprefix("inner.") for name, module in network.named_modules()}
    policy = {names[layer] for layer in network.policy_layers()}
    assert policy == set(POLICY_LAYERS) & set(names.values())
    assert names[network.value_layer()] == VALUE_LAYER


@pytest.mark.parametrize("shape", [(5, 5), (3, 8), (8, 3), (1, 4), (4, 1)])
def test_a_layer_is_orthogonal(shape: tuple[int, int]) -> None:
    weight = orthogonal(shape, math.sqrt(2), "first", seed=1).astype(float)
    rows = weight if shape[0] <= shape[1] else weight.T
    assert rows @ rows.T == pytest.approx(2 * np.eye(min(shape)), abs=1e-6)
    assert weight.shape == shape
    assert not np.array_equal(weight, orthogonal(shape, math.sqrt(2), "second", seed=1))


def test_signs_are_drawn_evenly() -> None:
    corners = [orthogonal((3, 3), 1.0, "first", seed)[0, 0] for seed in range(400)]
    assert abs(float(np.mean(corners))) < 0.1
    # The entry of an orthogonal matrix that is drawn evenly has the variance 1 / size.
    assert float(np.var(corners)) == pytest.approx(1 / 3, abs=0.05)
