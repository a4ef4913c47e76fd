"""Deep Q-learning: double, dueling, prioritized, over several steps; and Rainbow's other parts where asked for.

The idea: learn what each action is worth, as the rewards that follow it plus what the best action after them is worth,
and take the best. An update is some steps of many environments, each followed by a gradient step on a minibatch of all
that is remembered (`D3qn._learn`). Each part can be switched off by itself:

- double: the network that learns chooses the next action, a slower copy says what it is worth (`D3qn._targets`);
- dueling: what a state is worth is learned apart from how its actions differ (`common.q_values`);
- prioritized: steps that surprised are drawn more often, and count less (`common.replay`);
- several steps: so many rewards are added up before the rest is estimated (`common.replay`);
- distributional: quantiles of the return are learned instead of its mean (Dabney et al., 2018; `quantile_loss`);
- noisy: noise in the last layers explores, and is learned away where it does harm (`networks.heads`).

What is learned is a plain network whose best score is the best action: it decides as any other does.
"""

from __future__ import annotations

import copy
import time
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from shunter.agents.algorithms import check_finite
from shunter.agents.common import masking
from shunter.agents.common.experience import Experience, Transitions
from shunter.agents.common.normalization import units_of_scale
from shunter.agents.common.q_values import q_values
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
from shunter.agents.networks.heads import copy_plain, head_layers, with_heads
from shunter.agents.training.checkpoint_files import Part, Tensors

if TYPE_CHECKING:
    from shunter.agents.algorithms import D3qnOptions
    from shunter.agents.common.rollouts import Environments
    from shunter.agents.networks.base import Batch, Network

ONLINE, TARGET = "online.", "target."
"""What the names of the two networks' weights begin with, among those of a training."""


class D3qn:
    """Learns what actions are worth by playing and remembering."""

    def __init__(
        self,
        environments: Environments,
        network: Network,
        options: D3qnOptions,
        *,
        steps: int,
        seed: int,
        device: torch.device | str = "cpu",
    ) -> None:
        """Begins an episode in each environment.

        Args:
            environments: Those that are played.
            network: What it begins as; the plain network that is learned.
            options: How to learn.
            steps: How many steps the training is to have; schedules go by it.
            seed: For random actions, noise and minibatches.
            device: Where the networks are.

        Raises:
            InputError: The network has one score for each action, and a distribution is asked for.
        """
        self.steps = 0
        self._plain = network.to(device)
        self._options = options
        self._device = torch.device(device)
        self._schedules = options.schedules(steps)
        self._random = torch.Generator().manual_seed(seed)
        heads = options.quantiles if options.is_distributional else 1
        self._online = with_heads(self._plain, heads, noisy=options.is_noisy)
        self._target = copy.deepcopy(self._online)
        self._optimizer = torch.optim.Adam(self._online.parameters(), lr=options.learning_rate, eps=1e-5, fused=True)
        exponent = options.priority_exponent if options.prioritized else 0.0
        self._experience = Experience(environments, options, priority_exponent=exponent, seed=seed)
        self._gradient_steps = 0
        # The middles of as many equal parts from 0 to 1.
        self._quantiles = (torch.arange(heads, device=device) + 0.5) / heads

    @property
    def network(self) -> Network:
        """The plain network with what has been learned: the mean of quantiles, without noise."""
        copy_plain(self._online, self._plain)
        return self._plain

    def update(self) -> dict[str, float]:
        """Plays and learns once; returns figures to be written down.

        Raises:
            DivergenceError: A reward, a loss or a gradient is not a number; that step has not been taken.
        """
        began = time.perf_counter()
        now = {name: schedule.at(self.steps) for name, schedule in self._schedules.items()}
        for group in self._optimizer.param_groups:
            group["lr"] = now["learning_rate"]
        figures = self._experience.update(
            lambda observations, masks: self._act(observations, masks, now["exploration"]),
            lambda: self._learn(now["importance_exponent"]),
        )
        count = self._options.rollout_steps * self._options.num_envs
        self.steps += count
        return figures | now | {"steps_per_s": count / (time.perf_counter() - began)}

    def _act(self, observations: Tensor, masks: Tensor, exploration: float) -> Tensor:
        """Returns the best action of each, and a random one that is allowed with the probability of exploring."""
        self._draw_noise(self._online)
        masks = masks.to(self._device)
        values = self._values(self._online, self._online.pack(observations.to(self._device), masks))
        best = masking.greedy_actions(values.mean(dim=2), masks)
        random = masking.masked_distribution(torch.zeros(masks.shape, device=self._device), masks)
        explores = torch.rand(len(masks), generator=self._random).to(self._device) < exploration
        return torch.where(explores, random.sample(self._random), best)

    def _learn(self, importance_exponent: float) -> dict[str, float]:
        """Takes one gradient step; returns figures of it."""
        options = self._options
        drawn = self._experience.draw(self._online, importance_exponent, self._device)
        for network in (self._online, self._target):
            self._draw_noise(network)
        targets = self._targets(drawn)
        expected = _of(self._values(self._online, drawn.batch), drawn.actions)
        errors = (targets - expected).mean(dim=1)
        if options.is_distributional:
            losses = quantile_loss(expected, targets, self._quantiles)
        else:
            losses = functional.smooth_l1_loss(expected, targets, reduction="none").squeeze(1)
        loss = (drawn.weights * losses).mean()
        check_finite("the loss", loss.item())
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_(self._online.parameters(), options.max_gradient_norm).item()
        # Before the step: one bad gradient would spoil all weights, and the optimizer's memory.
        check_finite("the norm of the gradient", norm)
        self._optimizer.step()
        if options.prioritized:
            self._experience.replay.set_priorities(drawn.places, errors.detach().numpy(force=True))
        self._gradient_steps += 1
        if self._gradient_steps % options.target_every == 0:
            self._target.load_state_dict(self._online.state_dict())
        figures = {"loss": loss.item(), "td_error": errors.abs().mean().item(), "q_value": expected.mean().item()}
        return figures | {"gradient_norm": norm}

    @torch.no_grad()
    def _targets(self, drawn: Transitions) -> Tensor:
        """Returns what the actions turned out to be worth: (samples, heads)."""
        judged = self._values(self._target, drawn.next_batch)
        chooser = self._values(self._online, drawn.next_batch) if self._options.double else judged
        best = chooser.mean(dim=2).argmax(dim=1)
        return drawn.returns.unsqueeze(1) + drawn.discounts.unsqueeze(1) * _of(judged, best)

    def _values(self, network: Network, batch: Batch) -> Tensor:
        """Returns (samples, actions, heads)."""
        values = q_values(network, batch, dueling=self._options.dueling)
        return values if values.dim() == 3 else values.unsqueeze(2)

    def _draw_noise(self, network: Network) -> None:
        if self._options.is_noisy:
            for _, layer in head_layers(network):
                layer.draw(self._random)

    def policy_tensors(self) -> Tensors:
        """Returns what a policy consists of, for a checkpoint."""
        return network_tensors(self.network) | units_of_scale(self._experience.reward_deviation)

    def begin_from(self, policy: Tensors) -> None:
        """Does nothing: the network has its weights already, and rewards are measured anew."""

    def state(self) -> Part:
        """Returns what is needed beside the policy to go on as if nothing had happened."""
        tensors = optimizer_tensors(self._optimizer) | self._experience.state()
        for prefix, network in {ONLINE: self._online, TARGET: self._target}.items():
            tensors |= prefixed(prefix, network.state_dict())
        facts = {"steps": self.steps, "gradient_steps": self._gradient_steps}
        return Part(tensors | {RANDOM: self._random.get_state().numpy()}, facts)

    def load_state(self, policy: Tensors, training: Part, where: str) -> None:
        """Goes back to a saved state.

        Raises:
            InputError: It is the state of another training.
        """
        load_network(self._plain, policy, where)
        for prefix, network in {ONLINE: self._online, TARGET: self._target}.items():
            network.load_state_dict(without_prefix(prefix, training.tensors))
        load_optimizer(self._optimizer, training.tensors, where)
        self._random.set_state(to_tensor(training.tensors[RANDOM]))
        self._experience.load_state(training.tensors)
        self.steps, self._gradient_steps = (int(training.facts[name]) for name in ("steps", "gradient_steps"))


def quantile_loss(expected: Tensor, targets: Tensor, quantiles: Tensor) -> Tensor:
    """Returns the loss of each sample (Dabney et al., 2018): (samples,).

    Args:
        expected: (samples, heads): what is expected at each quantile.
        targets: (samples, heads): draws, as it were, from what came.
        quantiles: (heads,): from 0 to 1.
    """
    # Each target against each quantile: (samples, targets, quantiles).
    errors = targets.unsqueeze(2) - expected.unsqueeze(1)
    sizes = functional.smooth_l1_loss(
        expected.unsqueeze(1).expand_as(errors), targets.unsqueeze(2).expand_as(errors), reduction="none"
    )
    # What is too low weighs as the quantile says, what is too high as what is left to 1.
    weights = (quantiles - (errors.detach() < 0).float()).abs()
    return (weights * sizes).mean(dim=1).sum(dim=1)


def _of(values: Tensor, actions: Tensor) -> Tensor:
    """Returns (samples, heads) of one action each."""
    return values[torch.arange(len(actions), device=values.device), actions]
