"""Soft actor-critic for actions that are chosen from a list, with masks (Haarnoja et al., 2018; Christodoulou, 2019).

The idea: a policy that gets as much reward as it can while it stays as undecided as is asked for. Two critics learn
what actions are worth, and the more doubtful one counts, since a single one comes to expect too much. The policy is
drawn towards what the critics favor (`Sac._policy_loss`), and the weight of its entropy, the temperature, towards the
entropy that is wanted (`Sac._temperature_loss`). All learn from draws of everything that is remembered.

The policy decides afterwards; the critics stay behind.
"""

from __future__ import annotations

import copy
import math
import time
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from shunter.agents.algorithms import check_finite
from shunter.agents.common import masking
from shunter.agents.common.experience import Experience, Transitions
from shunter.agents.common.normalization import units_of_scale
from shunter.agents.common.q_values import q_values
from shunter.agents.common.tensors import (
    OPTIMIZER,
    RANDOM,
    load_network,
    load_optimizer,
    network_tensors,
    optimizer_tensors,
    prefixed,
    to_tensor,
    without_prefix,
)
from shunter.agents.networks.heads import fresh, own_batch
from shunter.agents.training.checkpoint_files import Part, Tensors

if TYPE_CHECKING:
    from shunter.agents.algorithms import SacOptions
    from shunter.agents.common.masking import ActionDistribution
    from shunter.agents.common.rollouts import Environments
    from shunter.agents.networks.base import Batch, Network

CRITICS, TARGETS = "critics.", "targets."
"""What the names of the critics' weights begin with, among those of a training."""


class Sac:
    """Learns a policy, and what actions are worth, by playing and remembering."""

    def __init__(
        self,
        environments: Environments,
        network: Network,
        options: SacOptions,
        *,
        steps: int,
        seed: int,
        device: torch.device | str = "cpu",
    ) -> None:
        """Begins an episode in each environment.

        Args:
            environments: Those that are played.
            network: The policy; critics are networks of the same kind, and begin with weights of their own.
            options: How to learn.
            steps: How many steps the training is to have; schedules go by it.
            seed: For the critics' first weights, the drawing of actions, and minibatches.
            device: Where the networks are.
        """
        self.network = network.to(device)
        self.steps = 0
        self._options = options
        self._device = torch.device(device)
        self._schedules = options.schedules(steps)
        self._random = torch.Generator().manual_seed(seed)
        # Critics must differ: two that are alike are no more doubtful than one.
        self._critics = nn.ModuleList([fresh(network, seed * 2 + number + 1) for number in range(2)]).to(device)
        self._targets = copy.deepcopy(self._critics)
        self._log_temperature = torch.tensor(math.log(options.temperature), device=device, requires_grad=True)
        self._optimizers = {
            "policy": torch.optim.Adam(self.network.parameters(), lr=options.learning_rate, eps=1e-5, fused=True),
            "critics": torch.optim.Adam(self._critics.parameters(), lr=options.learning_rate, eps=1e-5, fused=True),
            "temperature": torch.optim.Adam([self._log_temperature], lr=options.temperature_rate),
        }
        self._experience = Experience(environments, options, priority_exponent=0.0, seed=seed)

    def update(self) -> dict[str, float]:
        """Plays and learns once; returns figures to be written down.

        Raises:
            DivergenceError: A reward, a loss or a gradient is not a number; that step has not been taken.
        """
        began = time.perf_counter()
        now = {name: schedule.at(self.steps) for name, schedule in self._schedules.items()}
        for name in ("policy", "critics"):
            for group in self._optimizers[name].param_groups:
                group["lr"] = now["learning_rate"]
        figures = self._experience.update(self._act, self._learn)
        count = self._options.rollout_steps * self._options.num_envs
        self.steps += count
        return figures | now | {"steps_per_s": count / (time.perf_counter() - began)}

    def _act(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Draws an action for each from the policy."""
        masks = masks.to(self._device)
        distribution = self._distribution(self.network.pack(observations.to(self._device), masks))
        return distribution.pick(torch.rand(len(masks), 1, generator=self._random))

    def _distribution(self, batch: Batch) -> ActionDistribution:
        logits, _ = self.network.evaluate(batch)
        return masking.masked_distribution(logits, batch.masks)

    def _learn(self) -> dict[str, float]:
        """Takes one gradient step of each: critics, policy and temperature; returns figures of it."""
        drawn = self._experience.draw(self.network, 0.0, self._device)
        temperature = self._log_temperature.exp().detach()
        expected = self._expected(drawn, temperature)
        values = self._values(self._critics, drawn.batch)
        chosen = [one.gather(1, drawn.actions.unsqueeze(1)).squeeze(1) for one in values]
        critic_loss = sum(((one - expected).square().mean() for one in chosen), torch.zeros(()))
        norm = self._step("critics", critic_loss, self._critics)
        distribution = self._distribution(drawn.batch)
        doubtful = torch.minimum(*(one.detach() for one in values))
        policy_loss = self._policy_loss(distribution, doubtful, temperature)
        self._step("policy", policy_loss, self.network)
        entropy = distribution.entropy().detach()
        if self._options.temperature_rate > 0:
            self._step("temperature", self._temperature_loss(entropy, drawn.batch.masks), None)
        self._follow()
        return {
            "critic_loss": critic_loss.item(),
            "policy_loss": policy_loss.item(),
            "entropy": entropy.mean().item(),
            "temperature": temperature.item(),
            "q_value": chosen[0].mean().item(),
            "gradient_norm": norm,
        }

    @torch.no_grad()
    def _expected(self, drawn: Transitions, temperature: Tensor) -> Tensor:
        """Returns what the actions turned out to be worth: rewards, and the soft value of what followed."""
        following = self._distribution(drawn.next_batch)
        judged = torch.minimum(*self._values(self._targets, drawn.next_batch))
        # What is forbidden has no probability; its value may be anything.
        allowed = drawn.next_batch.masks
        soft = torch.where(allowed, judged - temperature * following.log_probs, 0.0)
        return drawn.returns + drawn.discounts * (following.probs * soft).sum(dim=1)

    def _policy_loss(self, distribution: ActionDistribution, values: Tensor, temperature: Tensor) -> Tensor:
        """Returns what the policy is to make small: its expected cost, less the worth of being undecided."""
        allowed = distribution.probs > 0
        costs = torch.where(allowed, temperature * distribution.log_probs - values, 0.0)
        return (distribution.probs * costs).sum(dim=1).mean()

    def _temperature_loss(self, entropy: Tensor, masks: Tensor) -> Tensor:
        """Returns what makes the temperature rise where the policy is too sure of itself, and fall where it is not."""
        wanted = self._options.target_entropy * masks.sum(dim=1).float().log()
        return self._log_temperature.exp() * (entropy - wanted).mean()

    def _step(self, name: str, loss: Tensor, module: nn.Module | None) -> float:
        """Takes one gradient step; returns the gradient's length."""
        check_finite("the loss", loss.item())
        optimizer = self._optimizers[name]
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        parameters = [self._log_temperature] if module is None else list(module.parameters())
        norm = nn.utils.clip_grad_norm_(parameters, self._options.max_gradient_norm).item()
        # Before the step: one bad gradient would spoil all weights, and the optimizer's memory.
        check_finite("the norm of the gradient", norm)
        optimizer.step()
        return norm

    @torch.no_grad()
    def _follow(self) -> None:
        """Moves the slower critics a little towards the others."""
        for slow, fast in zip(self._targets.parameters(), self._critics.parameters(), strict=True):
            slow.lerp_(fast, self._options.target_rate)

    @staticmethod
    def _values(critics: nn.ModuleList, batch: Batch) -> list[Tensor]:
        """Returns what each critic finds actions worth."""
        return [q_values(cast("Network", critic), own_batch(batch)) for critic in critics]

    def policy_tensors(self) -> Tensors:
        """Returns what a policy consists of, for a checkpoint."""
        return network_tensors(self.network) | units_of_scale(self._experience.reward_deviation)

    def begin_from(self, policy: Tensors) -> None:
        """Does nothing: the policy has its weights already, and rewards are measured anew."""

    def state(self) -> Part:
        """Returns what is needed beside the policy to go on as if nothing had happened."""
        tensors = self._experience.state() | {RANDOM: self._random.get_state().numpy()}
        tensors["log_temperature"] = self._log_temperature.detach().numpy(force=True).copy()
        for prefix, modules in ((CRITICS, self._critics), (TARGETS, self._targets)):
            tensors |= prefixed(prefix, modules.state_dict())
        for name, optimizer in self._optimizers.items():
            tensors |= optimizer_tensors(optimizer, f"{OPTIMIZER}{name}.")
        return Part(tensors, {"steps": self.steps})

    def load_state(self, policy: Tensors, training: Part, where: str) -> None:
        """Goes back to a saved state.

        Raises:
            InputError: It is the state of another training.
        """
        load_network(self.network, policy, where)
        for prefix, modules in ((CRITICS, self._critics), (TARGETS, self._targets)):
            modules.load_state_dict(without_prefix(prefix, training.tensors))
        with torch.no_grad():
            self._log_temperature.copy_(to_tensor(training.tensors["log_temperature"]))
        for name, optimizer in self._optimizers.items():
            load_optimizer(optimizer, training.tensors, where, f"{OPTIMIZER}{name}.")
        self._random.set_state(to_tensor(training.tensors[RANDOM]))
        self._experience.load_state(training.tensors)
        self.steps = int(training.facts["steps"])
