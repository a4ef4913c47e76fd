"""REINFORCE (Williams, 1992): actions become more likely as far as what followed them was better than usual.

The idea is the oldest of all: play an episode in each environment, add up the rewards that followed each action, and
take one gradient step that makes actions more likely which were followed by more than the baseline says. Nothing is
estimated but the baseline, so there is no bias, and much noise. Actions are drawn in training; the best allowed one is
taken in use.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from shunter.agents.algorithms import check_finite
from shunter.agents.common import masking
from shunter.agents.common.normalization import ValueNormalizer
from shunter.agents.common.returns import explained_variance
from shunter.agents.common.rollouts import means, play_figures
from shunter.agents.common.tensors import (
    RANDOM,
    load_network,
    load_optimizer,
    network_tensors,
    optimizer_tensors,
    prefixed,
    to_tensor,
    without_prefix,
)
from shunter.agents.training.checkpoint_files import NORMALIZER, Part, Tensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.agents.algorithms import ReinforceOptions
    from shunter.agents.common.rollouts import Environments
    from shunter.agents.networks.base import Network


@dataclass(frozen=True)
class Episodes:
    """One episode of each environment: time first, then the environments."""

    observations: NDArray[np.float32]
    masks: NDArray[np.bool_]
    actions: NDArray[np.int32]
    rewards: NDArray[np.float64]
    alive: NDArray[np.bool_]
    """False where the episode was already over."""
    figures: dict[str, float]

    def returns(self, gamma: float) -> NDArray[np.float64]:
        """Returns the discounted rewards from each step to the end of its episode."""
        found = np.zeros_like(self.rewards)
        following = np.zeros(self.rewards.shape[1])
        for step in reversed(range(len(self.rewards))):
            following = np.where(self.alive[step], self.rewards[step] + gamma * following, 0.0)
            found[step] = following
        return found


class Reinforce:
    """Learns a policy by playing whole episodes."""

    def __init__(
        self,
        environments: Environments,
        network: Network,
        options: ReinforceOptions,
        *,
        steps: int,
        seed: int,
        device: torch.device | str = "cpu",
    ) -> None:
        """Makes ready; episodes begin with each update.

        Args:
            environments: Those that are played.
            network: The policy, and the value function where that is the baseline.
            options: How to learn.
            steps: How many steps the training is to have; schedules go by it.
            seed: For the drawing of actions.
            device: Where the network is.
        """
        self.network = network.to(device)
        self.steps = 0
        self._environments = environments
        self._options = options
        self._device = torch.device(device)
        self._schedules = options.schedules(steps)
        self._random = torch.Generator().manual_seed(seed)
        self._optimizer = torch.optim.Adam(network.parameters(), lr=options.learning_rate, eps=1e-5, fused=True)
        self._normalizer = ValueNormalizer().to(device)

    def update(self) -> dict[str, float]:
        """Plays an episode in each environment and learns once; returns figures to be written down.

        Raises:
            DivergenceError: A reward, a loss or a gradient is not a number; that step has not been taken.
        """
        began = time.perf_counter()
        now = {name: schedule.at(self.steps) for name, schedule in self._schedules.items()}
        for group in self._optimizer.param_groups:
            group["lr"] = now["learning_rate"]
        episodes = self._play()
        figures = self._learn(episodes)
        count = int(episodes.alive.sum())
        self.steps += count
        return figures | now | episodes.figures | {"steps_per_s": count / (time.perf_counter() - began)}

    def _play(self) -> Episodes:
        """Plays one episode in each environment; one that is over sooner is played on, but not learned from."""
        environments = self._environments
        arrays = environments.step_arrays()
        environments.reset_into(arrays.observations, arrays.masks)
        alive = np.ones(environments.num_envs, np.bool_)
        kept: list[tuple[NDArray[np.generic], ...]] = []
        totals: list[NDArray[np.float64]] = []
        while alive.any() and len(kept) < self._options.rollout_steps:
            seen = arrays.observations.copy(), arrays.masks.copy()
            with torch.inference_mode():
                actions = self._act(*(torch.from_numpy(one) for one in seen)).numpy(force=True).astype(np.int32)
            environments.step_into(actions, arrays)
            check_finite("the sum of the rewards", float(arrays.rewards.sum()))
            kept.append((*seen, actions, arrays.rewards.copy(), alive, arrays.invalid.copy()))
            ended = alive & (arrays.terminated | arrays.truncated)
            totals.append(arrays.totals[ended])
            alive = alive & ~ended
        observations, masks, actions, rewards, was_alive, invalid = (np.stack(each) for each in zip(*kept, strict=True))
        figures = play_figures(environments.layout, actions[was_alive], invalid[was_alive], totals)
        return Episodes(observations, masks, actions, rewards, was_alive, figures)

    def _act(self, observations: Tensor, masks: Tensor) -> Tensor:
        masks = masks.to(self._device)
        logits, _ = self.network(observations.to(self._device), masks)
        return masking.masked_distribution(logits, masks).pick(torch.rand(len(masks), 1, generator=self._random))

    def _learn(self, episodes: Episodes) -> dict[str, float]:
        """Takes one gradient step on all that was played."""
        options, alive = self._options, episodes.alive
        returns = episodes.returns(options.gamma)
        self._normalizer.update(torch.from_numpy(returns[alive]).to(self._device))
        batch = self.network.pack(self._tensor(episodes.observations[alive]), self._tensor(episodes.masks[alive]))
        actions = self._tensor(episodes.actions[alive]).long()
        targets = self._normalizer.normalize(self._tensor(returns[alive]))
        baselines = self._baselines(returns, alive, targets)
        self._optimizer.zero_grad()
        seen: list[dict[str, float]] = []
        expected: list[Tensor] = []
        for places in torch.split(torch.arange(len(actions), device=self._device), options.minibatch):
            some = batch.select(places)
            logits, values = self.network.evaluate(some)
            distribution = masking.masked_distribution(logits, some.masks)
            beyond = targets[places] - (values.detach() if baselines is None else baselines[places])
            policy_loss = -(distribution.log_probs_of(actions[places]) * beyond).mean()
            value_loss = (values - targets[places]).square().mean()
            entropy = distribution.entropy().mean()
            loss = policy_loss - options.entropy * entropy
            if baselines is None:
                loss = loss + options.value_weight * value_loss
            check_finite("the loss", loss.item())
            # The last minibatch may be smaller: the sum is the mean over all steps.
            (loss * (len(places) / len(actions))).backward()  # type: ignore[no-untyped-call]
            expected.append(values.detach())
            figures = {"loss": loss, "policy_loss": policy_loss, "value_loss": value_loss, "entropy": entropy}
            seen.append({name: figure.item() for name, figure in figures.items()})
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), options.max_gradient_norm).item()
        # Before the step: one bad gradient would spoil all weights, and the optimizer's memory.
        check_finite("the norm of the gradient", norm)
        self._optimizer.step()
        explained = explained_variance(torch.cat(expected).numpy(force=True), targets.numpy(force=True))
        return means(seen) | {"gradient_norm": norm, "explained_variance": explained}

    def _baselines(self, returns: NDArray[np.float64], alive: NDArray[np.bool_], targets: Tensor) -> Tensor | None:
        """Returns what returns are compared with, in the units of `targets`; None: what the network expects."""
        if self._options.baseline == "value":
            return None
        if self._options.baseline == "none":
            return torch.zeros_like(targets)
        # Over the environments whose episode is still going on at this step.
        counts = alive.sum(axis=1, keepdims=True)
        usual = np.where(alive, returns, 0.0).sum(axis=1, keepdims=True) / np.maximum(counts, 1)
        return self._normalizer.normalize(self._tensor(np.broadcast_to(usual, returns.shape)[alive]))

    def _tensor(self, values: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)

    def policy_tensors(self) -> Tensors:
        """Returns what a policy consists of, for a checkpoint."""
        return network_tensors(self.network) | prefixed(NORMALIZER, self._normalizer.state_dict())

    def begin_from(self, policy: Tensors) -> None:
        """Takes over what a checkpoint knows of the size of returns; its weights are the network's already."""
        known = without_prefix(NORMALIZER, policy)
        if known:
            self._normalizer.load_state_dict(known)

    def state(self) -> Part:
        """Returns what is needed beside the policy to go on as if nothing had happened."""
        environments = np.frombuffer(self._environments.state(), np.uint8)
        tensors = {RANDOM: self._random.get_state().numpy(), "environments": environments}
        return Part(tensors | optimizer_tensors(self._optimizer), {"steps": self.steps})

    def load_state(self, policy: Tensors, training: Part, where: str) -> None:
        """Goes back to a saved state.

        Raises:
            InputError: It is the state of another training.
        """
        load_network(self.network, policy, where)
        self.begin_from(policy)
        load_optimizer(self._optimizer, training.tensors, where)
        self._random.set_state(to_tensor(training.tensors[RANDOM]))
        arrays = self._environments.step_arrays()
        state = training.tensors["environments"].tobytes()
        self._environments.load_state(state, arrays.observations, arrays.masks)
        self.steps = int(training.facts["steps"])
