"""One of Shunter's networks as a policy of sb3-contrib's MaskablePPO, for `benchmarks/train.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import Tensor

from shunter.agents.networks import NetworkOptions, build

if TYPE_CHECKING:
    from sb3_contrib.common.maskable.distributions import MaskableDistribution

    from shunter.envs.layout import Layout


class SharedNetworkPolicy(MaskableActorCriticPolicy):
    """Scores and values come from one network of Shunter's."""

    def __init__(self, *arguments: Any, options: NetworkOptions, layout: Layout, **keywords: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments, **{**keywords, "net_arch": []})
        self._layout = layout
        self.network = build(options, layout)
        rate = self.optimizer.param_groups[0]["lr"]
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=rate, eps=1e-5)

    def _evaluated(self, obs: Tensor, action_masks: Any) -> tuple[MaskableDistribution, Tensor]:  # noqa: ANN401
        masks = self._masks(obs, action_masks)
        logits, values = self.network(obs.float(), masks)
        distribution = self.action_dist.proba_distribution(action_logits=logits)
        distribution.apply_masking(masks.numpy())
        return distribution, values.unsqueeze(1)

    def _masks(self, obs: Tensor, action_masks: Any) -> Tensor:  # noqa: ANN401 - an array, a tensor or None
        if action_masks is not None:
            return torch.as_tensor(np.asarray(action_masks), dtype=torch.bool).view(len(obs), -1)
        # Asked for values alone, it is told no mask: all rows that are filled may be looked at.
        masks = torch.ones(len(obs), self._layout.actions, dtype=torch.bool)
        if self._layout.may_wait:
            masks[:, 1:] = self._layout.split(obs)["jobs"][..., 0] > 0
        return masks

    def forward(
        self, obs: Tensor, deterministic: bool = False, action_masks: np.ndarray[Any, Any] | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Returns actions, values and log-probabilities."""
        distribution, values = self._evaluated(obs, action_masks)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, values, distribution.log_prob(actions)

    def evaluate_actions(
        self, obs: Tensor, actions: Tensor, action_masks: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Returns values, log-probabilities and entropies of actions."""
        distribution, values = self._evaluated(obs, action_masks)
        return values, distribution.log_prob(actions), distribution.entropy()

    def predict_values(self, obs: Tensor | dict[str, Tensor]) -> Tensor:
        """Returns values."""
        assert isinstance(obs, Tensor), "observations are flat"
        return self._evaluated(obs, None)[1]
