"""A network in PyTorch, asked with NumPy's arrays: as the core's networks are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from shunter.agents.common import masking
from shunter.agents.networks import build
from shunter.agents.networks.weights import give_weights, weights_of
from shunter.envs.network import NativeNetwork, is_native

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from shunter.agents.common.normalization import ValueNormalizer
    from shunter.agents.networks.base import Network
    from shunter.agents.training.checkpoint_files import PolicyRecord


class TorchEvaluator:
    """Says what a network in PyTorch thinks of observations; see `shunter.simulation.learned.Evaluator`."""

    def __init__(self, network: Network, normalizer: ValueNormalizer | None = None) -> None:
        """Takes a network that has its weights, on any device.

        Args:
            network: Who is asked.
            normalizer: In which units it learned values; None: in those of the reward.
        """
        self.network = network
        self._normalizer = normalizer

    def evaluate(
        self, observations: NDArray[np.float32], masks: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns logits (samples, actions), −1e30 where an action is forbidden, and values (samples,).

        Raises:
            ShunterError: A mask allows nothing.
        """
        with _one_thread(), torch.inference_mode():
            logits, values, allowed = self._evaluate(observations, masks)
            return masking.masked_logits(logits, allowed).numpy(force=True), values.numpy(force=True)

    def choose(
        self, observations: NDArray[np.float32], masks: NDArray[np.bool_], seed: int | None = None
    ) -> NDArray[np.int32]:
        """Returns the best action of each, of equal ones the first; with a seed, one that is drawn.

        Raises:
            ShunterError: A mask allows nothing.
        """
        with _one_thread(), torch.inference_mode():
            logits, _, allowed = self._evaluate(observations, masks)
            if seed is None:
                chosen = masking.greedy_actions(logits, allowed)
            else:
                generator = torch.Generator().manual_seed(seed)
                chosen = masking.masked_distribution(logits, allowed).sample(generator)
            return chosen.numpy(force=True).astype(np.int32)

    def denormalized(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns values of `evaluate` in the units of the reward."""
        if self._normalizer is None:
            return values
        found: NDArray[np.float32] = self._normalizer.denormalize(torch.from_numpy(values)).numpy()
        return found

    def active_units(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
        """Returns by ReLU, (units,): which of its units act for any observation."""
        alive: dict[str, NDArray[np.bool_]] = {}

        def watching(name: str) -> Any:  # noqa: ANN401 - a hook of PyTorch
            def watch(_module: nn.Module, _inputs: object, output: Tensor) -> None:
                acted = (output.reshape(-1, output.shape[-1]) > 0).any(dim=0).numpy(force=True)
                alive[name] = acted | alive.get(name, np.zeros_like(acted))

            return watch

        layers = [(name, module) for name, module in self.network.named_modules() if isinstance(module, nn.ReLU)]
        hooks = [module.register_forward_hook(watching(name)) for name, module in layers]
        try:
            self.evaluate(observations, masks)
        finally:
            for hook in hooks:
                hook.remove()
        return alive

    @property
    def size(self) -> int:
        """How many weights it has."""
        return sum(each.numel() for each in self.network.parameters())

    def _evaluate(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> tuple[Tensor, Tensor, Tensor]:
        # Callers have NumPy arrays, wherever the network is.
        device = next(self.network.parameters()).device
        seen, allowed = torch.from_numpy(observations).to(device), torch.from_numpy(masks).to(device)
        return *self.network(seen, allowed), allowed


def exported(network: Network, record: PolicyRecord) -> NativeNetwork | None:
    """Returns a network in the core with the weights of one in PyTorch.

    Args:
        network: That a record tells of.
        record: What it is.

    Returns:
        None where the core knows no such network.
    """
    about = record.to_json()
    if not is_native(about):
        return None
    native = NativeNetwork.open(about)
    native.set(weights_of(network))
    return native


def imported(native: NativeNetwork, record: PolicyRecord) -> Network:
    """Returns a network in PyTorch with the weights of one in the core."""
    network = build(record.network, record.layout)
    give_weights(network, weights_of(native), "the core's network")
    return network


@contextmanager
def _one_thread() -> Iterator[None]:
    """Has PyTorch work in one thread: sums must not depend on the number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
