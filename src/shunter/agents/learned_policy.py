"""A learned policy, ready to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from shunter.agents.common import masking
from shunter.agents.common.normalization import ValueNormalizer
from shunter.agents.networks import build
from shunter.agents.ppo import NORMALIZER
from shunter.agents.training.checkpoint_files import POLICY, PolicyRecord, load_network, read_part
from shunter.checks import MOST_SEED, whole
from shunter.errors import InputError
from shunter.policies.checkpoint import POLICY_FILE, checkpoint_folder, read_record
from shunter.policies.trust import trusting

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from shunter.agents.networks.base import Network
    from shunter.envs.layout import Layout
    from shunter.envs.sources import EnvironmentOptions


class LearnedPolicy:
    """Says which action a network prefers."""

    def __init__(self, network: Network, record: PolicyRecord, normalizer: ValueNormalizer | None = None) -> None:
        """Takes a network that has its weights, and in which units it learned values; None: in those of the reward."""
        self.network = network
        self.record = record
        self._normalizer = ValueNormalizer() if normalizer is None else normalizer

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
        """``pick-job`` or ``pick-host``."""
        return self.record.layout.kind

    def action_probabilities(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Returns the probability of each action.

        Args:
            observations: (..., observation size): one, or many.
            masks: (..., actions).
        """
        with torch.inference_mode():
            logits, _, allowed = self._evaluate(observations, masks)
            probabilities: NDArray[np.float32] = masking.masked_distribution(logits, allowed).probs.numpy(force=True)
        return probabilities.reshape(masks.shape)

    def actions(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Returns the most probable action of each; the first of those that are equal."""
        with torch.inference_mode():
            logits, _, allowed = self._evaluate(observations, masks)
            best = masking.greedy_actions(logits, allowed).numpy(force=True)
        return best.astype(np.int32).reshape(masks.shape[:-1])

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
        generator = torch.Generator()
        if seed is None:
            generator.seed()
        else:
            generator.manual_seed(whole("seed", seed, 0, MOST_SEED))
        with torch.inference_mode():
            logits, _, allowed = self._evaluate(observation, mask)
            return int(masking.masked_distribution(logits, allowed).sample(generator))

    def values(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Returns what is expected to come, discounted, in the units of the reward that was trained with.

        Args:
            observations: (..., observation size): one, or many.
            masks: (..., actions).
        """
        with torch.inference_mode():
            _, normalized, _ = self._evaluate(observations, masks)
            values: NDArray[np.float32] = self._normalizer.denormalize(normalized.cpu()).numpy()
        return values.reshape(masks.shape[:-1])

    def _evaluate(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> tuple[Tensor, Tensor, Tensor]:
        """Returns logits, values in the network's units, and the masks, all for many observations."""
        size, actions = self.layout.observation_size, self.layout.actions
        if observations.shape[-1] != size or masks.shape[-1] != actions:
            what = f"{observations.shape[-1]} numbers and {masks.shape[-1]} actions"
            raise InputError(f"observations have {what}; the policy was made for {size} and {actions}")
        # Callers have NumPy arrays, wherever the network is.
        device = next(self.network.parameters()).device
        seen = torch.from_numpy(np.ascontiguousarray(observations, np.float32)).view(-1, size).to(device)
        allowed = torch.from_numpy(np.ascontiguousarray(masks, np.bool_)).view(-1, actions).to(device)
        return *self.network(seen, allowed), allowed


def load_policy(path: str | Path, *, trust: bool = False) -> LearnedPolicy:
    """Returns the policy of a checkpoint, or of a run: its best, if there is one, else its last.

    Args:
        path: The folder of either.
        trust: Whether a Python file is run that the checkpoint names.

    Raises:
        InputError: There is no checkpoint, it cannot be read, or its weights are not finite.
    """
    folder = checkpoint_folder(str(path))
    where, weights = folder / POLICY_FILE, folder / f"{POLICY}.safetensors"
    part = read_part(folder, POLICY)
    with trusting(trust):
        record = PolicyRecord.from_json({**part.facts, "options": read_record(str(path))["options"]}, str(where))
    # Both are written for people to read; one that was edited alone would shift every feature.
    if record.options.layout != record.layout:
        raise InputError(f"{where}: layout and options do not agree; take another copy")
    network = build(record.network, record.layout)
    load_network(network, part.tensors, str(weights))
    for name, tensor in network.state_dict().items():
        if not bool(tensor.isfinite().all()):
            raise InputError(f"{weights}: {name} holds numbers that are not finite; take an earlier checkpoint")
    prefix = len(NORMALIZER)
    units = {name[prefix:]: tensor for name, tensor in part.tensors.items() if name.startswith(NORMALIZER)}
    normalizer = ValueNormalizer()
    if units:
        normalizer.load_state_dict(units)
    return LearnedPolicy(network, record, normalizer)
