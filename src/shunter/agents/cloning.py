"""A network in PyTorch that learns to do what a teacher does: `shunter.agents.imitation` says who teaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from shunter.agents.common import masking

if TYPE_CHECKING:
    from torch import Tensor

    from shunter.agents.imitation import Teacher
    from shunter.agents.networks.base import Network
    from shunter.envs.vector import NativeVectorEnv

ROUND_STEPS: Final = 32
"""So many steps of each environment are played before what was seen is learned from."""
EPOCHS: Final = 4
MINIBATCH: Final = 512
LEARNING_RATE: Final = 3e-3


class Cloning:
    """A network at school."""

    def __init__(self, network: Network, environments: NativeVectorEnv, teacher: Teacher, seed: int) -> None:
        self._network = network
        self._environments = environments
        self._teacher = teacher
        self._random = torch.Generator().manual_seed(seed)
        self._optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
        self._arrays = environments.step_arrays()

    def run(self, steps: int, mix: float) -> float:
        """Plays and learns; returns the agreement in the last quarter."""
        self._environments.reset_into(self._arrays.observations, self._arrays.masks)
        rounds = max(1, steps // (self._environments.num_envs * ROUND_STEPS))
        agreements = []
        for number in range(rounds):
            observations, masks, wanted, agreed = self._play(mix * number / rounds)
            agreements.append(agreed)
            self._learn(observations, masks, wanted)
        last = agreements[-max(1, rounds // 4) :]
        return float(np.mean(last))

    def _play(self, own_share: float) -> tuple[Tensor, Tensor, Tensor, float]:
        """Returns what was seen, what was to be done, and how often the network would have done it."""
        seen: list[tuple[Tensor, Tensor, Tensor]] = []
        for _ in range(ROUND_STEPS):
            arrays = self._arrays
            observations, masks = (torch.from_numpy(one.copy()) for one in (arrays.observations, arrays.masks))
            wanted = torch.from_numpy(self._teacher.actions(self._environments, arrays.masks))
            with torch.inference_mode():
                own = masking.greedy_actions(self._network(observations, masks)[0], masks)
            plays_itself = torch.rand(len(own), generator=self._random) < own_share
            taken = torch.where(plays_itself, own, wanted).numpy().astype(np.int32)
            # Where there is one action only there is nothing to learn.
            choice = masks.sum(dim=1) > 1
            seen.append((observations[choice], masks[choice], torch.stack([wanted, own], dim=1)[choice]))
            self._environments.step_into(taken, arrays)
        observations, masks, both = (torch.cat(each) for each in zip(*seen, strict=True))
        wanted, own = both.unbind(dim=1)
        return observations, masks, wanted, float((wanted == own).double().mean()) if len(wanted) else 1.0

    def _learn(self, observations: Tensor, masks: Tensor, wanted: Tensor) -> None:
        """Makes what was to be done more likely."""
        if not len(wanted):
            return
        batch = self._network.pack(observations, masks)
        for _ in range(EPOCHS):
            for places in torch.split(torch.randperm(len(wanted), generator=self._random), MINIBATCH):
                some = batch.select(places)
                distribution = masking.masked_distribution(self._network.evaluate(some)[0], some.masks)
                loss = -distribution.log_probs_of(wanted[places]).mean()
                self._optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                self._optimizer.step()
