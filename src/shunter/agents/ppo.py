"""Proximal policy optimization with masked actions.

The idea: play with the present policy, see which actions turned out better than expected, and make these more likely,
but not by much at once. An update is

1. a rollout: some steps of many environments, their actions drawn from the policy (`Ppo._collect`);
2. advantages: how much better than expected each action was, which the value function judges (`Ppo._samples`);
3. a few epochs of gradient steps on minibatches of these samples (`Ppo._learn`), whose loss (`Ppo._loss`) has no
   gradient for actions that have already become more likely, or less, by more than the clip allows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from torch import Tensor, nn

from shunter.agents.algorithms import check_finite
from shunter.agents.common import masking
from shunter.agents.common.normalization import ValueNormalizer
from shunter.agents.common.returns import explained_variance, generalized_advantages
from shunter.agents.common.rollouts import Environments, Rollout, means
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
    from shunter.agents.algorithms import PpoOptions
    from shunter.agents.networks.base import Batch, Network

SMALL: Final = 1e-8


@dataclass(frozen=True)
class Samples:
    """Steps to learn from; the first dimension of all tensors is theirs."""

    batch: Batch
    actions: Tensor
    old_log_probs: Tensor
    """The log-probabilities that the actions had when they were taken."""
    advantages: Tensor
    returns: Tensor
    """The discounted rewards that followed, in the units of the value function."""
    old_values: Tensor
    """What the network said when the actions were taken, in the units of the value function."""

    def select(self, indices: Tensor) -> Samples:
        """Returns some of the samples."""
        tensors = (self.actions, self.old_log_probs, self.advantages, self.returns, self.old_values)
        return Samples(self.batch.select(indices), *(each.index_select(0, indices) for each in tensors))


class Ppo:
    """Learns a policy and a value function by playing."""

    def __init__(
        self,
        environments: Environments,
        network: Network,
        options: PpoOptions,
        *,
        steps: int,
        seed: int,
        device: torch.device | str = "cpu",
    ) -> None:
        """Begins an episode in each environment.

        Args:
            environments: Those that are played.
            network: The policy and the value function.
            options: How to learn.
            steps: How many steps the training is to have; schedules go by it.
            seed: For the drawing of actions and of minibatches.
            device: Where the network is.
        """
        self.network = network.to(device)
        self.steps = 0
        self._options = options
        self._device = torch.device(device)
        self._schedules = options.schedules(steps)
        self._random = torch.Generator().manual_seed(seed)
        # An eps of 1e-5 as in OpenAI's PPO, where PyTorch has 1e-8. Fused: all parameters in one call, which counts
        # with small networks.
        self._optimizer = torch.optim.Adam(network.parameters(), lr=options.learning_rate, eps=1e-5, fused=True)
        self._normalizer = ValueNormalizer().to(device)
        self._rollout = Rollout(environments, options.rollout_steps)
        shape = (options.rollout_steps, environments.num_envs)
        self._log_probs = torch.zeros(shape)
        self._values = torch.zeros(shape)
        """What the network expects of each observation, in the units of the reward."""
        self._normalized_values = torch.zeros(shape)
        """What the network expects of each observation, in the normalized units that values had when it was asked."""

    def update(self) -> dict[str, float]:
        """Plays and learns once; returns figures to be written down.

        Raises:
            DivergenceError: A reward, a loss or a gradient is not a number; that step has not been taken.
        """
        began = time.perf_counter()
        now = {name: schedule.at(self.steps) for name, schedule in self._schedules.items()}
        self._collect(now["exploration"])
        samples, explained = self._samples()
        figures = self._learn(samples, now["learning_rate"], now["entropy_weight"], now["exploration"])
        count = self._values.numel()
        self.steps += count
        speed = count / (time.perf_counter() - began)
        return figures | now | {"explained_variance": explained, "steps_per_s": speed} | self._rollout.figures()

    def _collect(self, exploration: float) -> None:
        """Plays with the present policy."""

        def act(step: int, observations: Tensor, masks: Tensor) -> Tensor:
            masks = masks.to(self._device)
            logits, values = self.network(observations.to(self._device), masks)
            distribution = masking.masked_distribution(logits, masks, exploration)
            actions = distribution.pick(self._draws(step, len(masks)))
            self._log_probs[step] = distribution.log_probs_of(actions)
            self._normalized_values[step] = values
            self._values[step] = self._normalizer.denormalize(values)
            return actions

        with torch.inference_mode():
            self._rollout.collect(act)

    def _draws(self, step: int, count: int) -> Tensor:
        """Returns a number from 0 to 1 for each environment: (environments, 1)."""
        return torch.rand(count, 1, generator=self._random)

    def _order(self, epoch: int, count: int) -> Tensor:
        """Returns the order in which an epoch goes through the samples."""
        # On the CPU, whatever the device: the same seed gives the same minibatches everywhere.
        return torch.randperm(count, generator=self._random)

    def _samples(self) -> tuple[Samples, float]:
        """Returns what there is to learn from, and how well the values had foreseen it."""
        options, rollout = self._options, self._rollout
        check_finite("the sum of the rewards", float(rollout.rewards.sum()))
        values = self._values.numpy()
        final_values = np.zeros_like(values)
        if rollout.truncated_at:
            final_values[tuple(np.concatenate(rollout.truncated_at, axis=1))] = self._values_of(
                *rollout.final_observations()
            )
        last = torch.from_numpy(rollout.observations[-1]), torch.from_numpy(rollout.masks[-1])
        advantages = generalized_advantages(
            rollout.rewards,
            values,
            self._values_of(*last),
            rollout.terminated,
            rollout.truncated,
            final_values,
            gamma=options.gamma,
            gae_lambda=options.gae_lambda,
        )
        # By definition of an advantage; so that both come from one pass over the rollout.
        returns = advantages + values
        if options.normalize_values:
            # Before the samples are made: their returns and the values to come are in the same new units.
            self._normalizer.update(self._flat(returns))
        if options.normalize_advantages:
            advantages = (advantages - advantages.mean()) / (advantages.std() + SMALL)
        samples = Samples(
            self.network.pack(self._flat(rollout.observations[:-1]), self._flat(rollout.masks[:-1])),
            self._flat(rollout.actions).long(),
            self._flat(self._log_probs.numpy()),
            self._flat(advantages),
            self._normalizer.normalize(self._flat(returns)),
            self._flat(self._normalized_values.numpy()),
        )
        return samples, explained_variance(values, returns)

    def _values_of(self, observations: Tensor, masks: Tensor) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        with torch.inference_mode():
            _, values = self.network(observations.to(self._device), masks.to(self._device))
            return self._normalizer.denormalize(values).numpy(force=True)

    def _flat(self, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Tensor:
        """Returns (steps, environments, ...) as (samples, ...), without a copy."""
        return torch.from_numpy(array).flatten(0, 1).to(self._device)

    def _learn(
        self, samples: Samples, learning_rate: float, entropy_coefficient: float, exploration: float
    ) -> dict[str, float]:
        """Takes gradient steps until all epochs are over, or the policy has moved far enough."""
        options = self._options
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate
        seen: list[dict[str, float]] = []
        for epoch in range(options.epochs):
            order = self._order(epoch, len(samples.actions)).to(self._device)
            for places in torch.split(order, options.minibatch * options.accumulate):
                self._optimizer.zero_grad()
                approx_kl = 0.0
                for part in torch.split(places, options.minibatch):
                    loss, figures = self._loss(samples.select(part), entropy_coefficient, exploration)
                    check_finite("the loss", loss.item())
                    # The last minibatch may be smaller: the sum is the mean over all samples.
                    share = len(part) / len(places)
                    (loss * share).backward()  # type: ignore[no-untyped-call]
                    approx_kl += share * figures["approximate_kl"]
                    seen.append(figures)
                # Before the step: one that would move the policy too far is not taken.
                if options.target_kl is not None and approx_kl > options.target_kl:
                    return means(seen)
                norm = nn.utils.clip_grad_norm_(self.network.parameters(), options.max_gradient_norm).item()
                # Before the step as well: one bad gradient would spoil all weights, and the optimizer's memory.
                check_finite("the norm of the gradient", norm)
                seen[-1]["gradient_norm"] = norm
                self._optimizer.step()
        return means(seen)

    def _loss(
        self, samples: Samples, entropy_coefficient: float, exploration: float
    ) -> tuple[Tensor, dict[str, float]]:
        """Returns the loss of a minibatch, and figures of it."""
        options = self._options
        logits, values = self.network.evaluate(samples.batch)
        distribution = masking.masked_distribution(logits, samples.batch.masks, exploration)
        log_ratio = distribution.log_probs_of(samples.actions) - samples.old_log_probs
        ratio = log_ratio.exp()
        clipped_ratio = ratio.clamp(1 - options.clip, 1 + options.clip)
        # The smaller of the two is a bound from below: there is nothing to gain from moving beyond the clip.
        policy_loss = -torch.minimum(ratio * samples.advantages, clipped_ratio * samples.advantages).mean()
        value_errors = (values - samples.returns).square()
        # The larger of both errors: a value that has moved far is not rewarded for having done so.
        if options.value_clip is not None:
            change = (values - samples.old_values).clamp(-options.value_clip, options.value_clip)
            clipped_values = samples.old_values + change
            value_errors = torch.maximum(value_errors, (clipped_values - samples.returns).square())
        value_loss = value_errors.mean()
        entropy = distribution.entropy().mean()
        loss = policy_loss + options.value_weight * value_loss - entropy_coefficient * entropy
        with torch.no_grad():
            # Always positive, and with less variance than the mean of -log_ratio (Schulman, "Approximating KL").
            approx_kl = (ratio - 1 - log_ratio).mean()
            clip_fraction = ((ratio - 1).abs() > options.clip).float().mean()
            figures = {
                "loss": loss.item(),
                "policy_loss": policy_loss.item(),
                "value_loss": value_loss.item(),
                "entropy": entropy.item(),
                "approximate_kl": approx_kl.item(),
                "clip_share": clip_fraction.item(),
            }
        return loss, figures

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
        tensors = {RANDOM: self._random.get_state().numpy(), "environments": self._rollout.state()}
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
        self._rollout.load_state(training.tensors["environments"])
        self.steps = int(training.facts["steps"])
