"""Checkpoints for tests: of networks that nobody has trained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from shunter.agents.common.tensors import network_tensors
from shunter.agents.networks import NETWORKS, NetworkKind, NetworkOptions, build, register_network
from shunter.agents.networks.base import Network
from shunter.agents.networks.hosts import Hosts
from shunter.agents.networks.layers import LayeredNetwork, layers_of
from shunter.agents.training.checkpoint_files import POLICY, Part, PolicyRecord, write_checkpoint
from shunter.envs.layout import Layout
from shunter.envs.pick_host import PickHostOptions
from shunter.envs.pick_job import PickJobOptions
from shunter.envs.pick_job_and_type import PickJobAndTypeOptions
from shunter.envs.sources import EnvironmentOptions
from shunter.policies.catalog import PICK_JOB
from shunter.policies.checkpoint import OWN_HASH, POLICY_FILE

LUBLIN = "generate:lublin?seed=3&jobs=600&cores=64&load=1.1&requests=factor"

LAYERED = "layered"
"""What a network of the user's own is called."""

Change = Callable[[Network], None]


def write_policy(
    folder: Path,
    *,
    begins_as_order: bool = True,
    change: Change | None = None,
    training: dict[str, Any] | None = None,
    network: NetworkOptions | None = None,
    **options: Any,  # noqa: ANN401 - the fields of the environment's options
) -> str:
    """Writes a policy that chooses jobs, and returns its folder.

    Args:
        folder: Of the checkpoint.
        begins_as_order: Whether it decides as the order of its window does.
        change: What is done to the network's weights.
        training: Where the policy comes from.
        network: What decides; None: the usual network, which may begin as the order.
        options: Of the environment.
    """
    environment = PickJobOptions(**{"window": 16} | options)
    network = network or NetworkOptions(order_temperature=1.0 if begins_as_order else None)
    return _write(folder, environment, network, change, training or {})


def write_pair_policy(
    folder: Path,
    types: tuple[str, ...],
    *,
    network: NetworkOptions | None = None,
    change: Change | None = None,
    **options: Any,  # noqa: ANN401 - the fields of the environment's options
) -> str:
    """Writes a policy that chooses jobs and types of GPUs, and returns its folder; it begins as the order."""
    chosen: dict[str, Any] = {"window": 16, "types": types} | options
    environment = PickJobAndTypeOptions(**chosen)
    return _write(folder, environment, network or NetworkOptions(order_temperature=4.0), change, {})


def edit_policy(folder: Path, how: Callable[[dict[str, Any]], object]) -> None:
    """Changes what a checkpoint says of itself. It tells its own hash no more, as those of earlier versions do not."""
    path = folder / POLICY_FILE
    about = json.loads(path.read_text())
    about.pop(OWN_HASH, None)
    how(about)
    path.write_text(json.dumps(about))


def write_host_policy(
    folder: Path,
    change: Change | None = None,
    *,
    num_hosts: int = 4,
    **network: Any,  # noqa: ANN401 - the fields of the network's options
) -> str:
    """Writes a policy that chooses hosts, and returns its folder."""
    environment = PickHostOptions(num_hosts=num_hosts, episode_length=10)
    return _write(folder, environment, NetworkOptions(**{"kind": "hosts"} | network), change, {})


def write_layered_policy(folder: Path) -> str:
    """Writes a policy that chooses jobs by a network of the user's own, made of layers; returns its folder."""

    def made(layout: Layout, _: NetworkOptions) -> LayeredNetwork:
        size = layout.observation_size
        return LayeredNetwork(
            policy=nn.Sequential(nn.Linear(size, 5), nn.Tanh(), nn.Linear(5, layout.actions)),
            value=nn.Sequential(nn.Linear(size, 1)),
        )

    register_network(LAYERED, NetworkKind(made, (5,), (PICK_JOB,)))
    try:
        return _write(folder, PickJobOptions(window=16), NetworkOptions(kind=LAYERED), opinionated, {})
    finally:
        del NETWORKS[LAYERED]


def _write(
    folder: Path,
    environment: EnvironmentOptions,
    options: NetworkOptions,
    change: Change | None,
    training: dict[str, Any],
) -> str:
    network = build(options, environment.layout, seed=1)
    if change is not None:
        with torch.no_grad():
            change(network)
    record = PolicyRecord(environment.layout, environment, options, training, layers_of(network))
    write_checkpoint(folder, {POLICY: Part(network_tensors(network), record.to_json())}, record.files)
    return str(folder)


def opinionated(network: Network, seed: int = 2) -> None:
    """Gives the last layers of the policy large weights: the network prefers something everywhere."""
    generator = torch.Generator().manual_seed(seed)
    for layer in network.policy_layers():
        layer.weight.copy_(3 * torch.randn(layer.weight.shape, generator=generator))


def waiting(network: Network) -> None:
    """Makes *wait* the best action wherever it is allowed."""
    network.policy_layers()[-1].bias.fill_(100.0)


FREE_CORES = 5
"""The place of a host's free cores in what the network ``hosts`` works out for it."""


def most_free_cores(network: Network) -> None:
    """Makes a network that chooses hosts prefer the one with the most free cores, and of equal ones the first."""
    assert isinstance(network, Hosts)
    for weights in network.parameters():
        weights.zero_()
    network.sum.weight[0, FREE_CORES] = 1.0
