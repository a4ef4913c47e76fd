"""A learned policy, ready to decide. Networks that the core knows need no PyTorch for that."""

from __future__ import annotations

import secrets
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shunter.agents.networks import build
from shunter.agents.networks.weights import give_weights, weights_of
from shunter.agents.training.checkpoint_files import NORMALIZER, POLICY, PolicyRecord, network_weights, read_part
from shunter.checks import MOST_SEED, whole
from shunter.envs.network import NativeNetwork, is_native
from shunter.errors import InputError
from shunter.extras import LEARN, need
from shunter.policies.checkpoint import POLICY_FILE, WEIGHTS_FILE, checkpoint_folder, read_record
from shunter.policies.trust import trusting

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from shunter.agents.common.normalization import ValueNormalizer
    from shunter.agents.networks.base import Network
    from shunter.agents.training.checkpoint_files import Tensors
    from shunter.envs.layout import Layout
    from shunter.envs.sources import EnvironmentOptions
    from shunter.simulation.learned import Evaluator


class LearnedPolicy:
    """Says which action a network prefers."""

    def __init__(
        self,
        network: Network | NativeNetwork,
        record: PolicyRecord,
        normalizer: ValueNormalizer | None = None,
        folder: Path | None = None,
    ) -> None:
        """Takes a network that has its weights.

        Args:
            network: In the core, or in PyTorch.
            record: What it is.
            normalizer: In which units a network in PyTorch learned values; None: in those of the reward.
            folder: Of the checkpoint; None: it was not read from one.
        """
        self.record = record
        self.folder = folder
        if isinstance(network, NativeNetwork):
            self.evaluator: Evaluator = network
        else:
            from shunter.agents.torch_evaluator import TorchEvaluator

            self.evaluator = TorchEvaluator(network, normalizer)

    def __repr__(self) -> str:
        """Returns what it decides, by which network, from which run, and after how many steps."""
        steps = self.record.training.get("steps")
        parts = [f"{self.kind!r}", f"network={self.record.network.kind!r}"]
        parts += [] if self.folder is None else [f"folder={str(self.folder)!r}"]
        parts += [f"steps={steps}"] if isinstance(steps, int) else []
        return f"{type(self).__name__}({', '.join(parts)})"

    @cached_property
    def network(self) -> Network:
        """The network in PyTorch, with the same weights; of one in the core it is made when first asked for."""
        need(LEARN, "the network of a policy in Python")
        from shunter.agents.torch_evaluator import TorchEvaluator, imported

        if isinstance(self.evaluator, TorchEvaluator):
            return self.evaluator.network
        assert isinstance(self.evaluator, NativeNetwork), "there are networks in the core and in PyTorch"
        return imported(self.evaluator, self.record)

    @property
    def weights(self) -> Tensors:
        """Copies of the weights, by the network's names for them."""
        return weights_of(self.evaluator if isinstance(self.evaluator, NativeNetwork) else self.network)

    @property
    def layout(self) -> Layout:
        """What its observations are made of."""
        return self.record.layout

    @property
    def options(self) -> EnvironmentOptions:
        """In which environment it decides."""
        return self.record.options

    @property
    def kind(self) -> str:
        """``pick-job``, ``pick-job-and-type`` or ``pick-host``."""
        return self.record.layout.kind

    def action_probabilities(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Returns the probability of each action.

        Args:
            observations: (..., observation size): one, or many.
            masks: (..., actions).
        """
        logits, _ = self.evaluator.evaluate(*self._many(observations, masks))
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities: NDArray[np.float32] = odds / odds.sum(axis=1, keepdims=True)
        return probabilities.reshape(masks.shape)

    def actions(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Returns the most probable action of each; the first of those that are equal."""
        return self.evaluator.choose(*self._many(observations, masks)).reshape(masks.shape[:-1])

    def action(
        self,
        observation: NDArray[np.float32],
        mask: NDArray[np.bool_],
        deterministic: bool = True,
        seed: int | None = None,
    ) -> int:
        """Returns an action for one observation.

        Args:
            observation: (observation size,).
            mask: (actions,).
            deterministic: The most probable one; otherwise one is drawn.
            seed: Of the draw; None: another each time.

        Raises:
            InputError: The shapes are those of other observations, or the seed is no whole number.
        """
        # int() of several actions would be an error that names neither of them.
        if mask.ndim != 1:
            raise InputError(f"the mask has {mask.ndim} dimensions; expected 1, for actions() takes many observations")
        if deterministic:
            return int(self.actions(observation, mask))
        drawn = secrets.randbelow(MOST_SEED) if seed is None else whole("seed", seed, 0, MOST_SEED)
        return int(self.evaluator.choose(*self._many(observation, mask), seed=drawn)[0])

    def values(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Returns what is expected to come, discounted, in the units of the reward that was trained with.

        Args:
            observations: (..., observation size): one, or many.
            masks: (..., actions).
        """
        _, normalized = self.evaluator.evaluate(*self._many(observations, masks))
        return self.evaluator.denormalized(normalized).reshape(masks.shape[:-1])

    def active_units(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
        """Returns by layer that ends with a ReLU, (units,): which of its units act for any observation.

        Args:
            observations: (..., observation size): one, or many.
            masks: (..., actions).
        """
        return self.evaluator.active_units(*self._many(observations, masks))

    def _many(
        self, observations: NDArray[np.float32], masks: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Returns observations and masks as networks take them, one or many."""
        size, actions = self.layout.observation_size, self.layout.actions
        if observations.shape[-1] != size or masks.shape[-1] != actions:
            what = f"{observations.shape[-1]} numbers and {masks.shape[-1]} actions"
            raise InputError(f"observations have {what}; the policy was made for {size} and {actions}")
        seen = np.ascontiguousarray(observations, np.float32).reshape(-1, size)
        return seen, np.ascontiguousarray(masks, np.bool_).reshape(-1, actions)


def load_policy(path: str | Path, *, trust: bool = False) -> LearnedPolicy:
    """Returns the policy of a checkpoint, or of a run: its best, if there is one, else its last.

    Args:
        path: The folder of either.
        trust: Whether a Python file is run that the checkpoint names.

    Raises:
        InputError: There is no checkpoint, it cannot be read, or its weights are not finite.
    """
    folder, facts = checkpoint_folder(str(path)), read_record(str(path))
    where = folder / POLICY_FILE
    with trusting(trust):
        record = PolicyRecord.from_json(facts, str(where))
    # Both are written for people to read; one that was edited alone would shift every feature.
    if record.options.layout != record.layout:
        raise InputError(f"{where}: layout and options do not agree; take another copy")
    if is_native(facts):
        return LearnedPolicy(NativeNetwork.load(folder), record, folder=folder)
    return _load_torch(folder, record)


def load_evaluator(folder: Path) -> Evaluator:
    """Returns the network of a checkpoint that the core does not know; see `shunter.simulation.learned`."""
    return load_policy(folder).evaluator


def _load_torch(folder: Path, record: PolicyRecord) -> LearnedPolicy:
    """Returns a policy whose network the core does not know."""
    need(LEARN, f"{folder}: its network, which is not one of Shunter's own,")
    from shunter.agents.common.normalization import ValueNormalizer
    from shunter.agents.common.tensors import without_prefix

    part, file = read_part(folder, POLICY), folder / WEIGHTS_FILE
    network, weights = build(record.network, record.layout), network_weights(part.tensors)
    give_weights(network, weights, str(file))
    for name, values in weights.items():
        if not np.isfinite(values).all():
            raise InputError(f"{file}: {name} holds numbers that are not finite; take an earlier checkpoint")
    units, normalizer = without_prefix(NORMALIZER, part.tensors), ValueNormalizer()
    if units:
        normalizer.load_state_dict(units)
    return LearnedPolicy(network, record, normalizer, folder)
