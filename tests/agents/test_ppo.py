"""Proximal policy optimization: its loss, its options, and what it writes down."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from shunter.agents.algorithms import DivergenceError, PpoOptions
from shunter.agents.common.masking import masked_distribution
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.networks.base import DenseBatch
from shunter.agents.ppo import Ppo, Samples
from tests.agents import toy
from tests.agents.fixed import Fixed

OPTIONS = PpoOptions(num_envs=16, rollout_steps=8, minibatch=64, epochs=2, learning_rate=1e-3)


def _ppo(options: PpoOptions = OPTIONS, max_steps: int = toy.JOBS) -> Ppo:
    environments = toy.Toy(options.num_envs, seed=1, max_steps=max_steps)
    return Ppo(environments, build(NetworkOptions(), toy.LAYOUT, seed=2), options, steps=10_000, seed=3)


def _loss(options: PpoOptions, exploration: float = 0.0) -> tuple[Tensor, dict[str, float], Fixed]:
    """Returns the loss of three samples whose first action has become 1.5, 1.1 and 0.5 times as probable."""
    now = torch.tensor([0.6, 0.44, 0.2])
    network = Fixed(torch.stack([now, 1 - now], dim=1).log(), torch.tensor([1.0, 2.0, 3.0]))
    ppo = _ppo(options)
    ppo.network = network
    samples = Samples(
        DenseBatch(torch.zeros(3, 1), torch.ones(3, 2, dtype=torch.bool)),
        actions=torch.zeros(3, dtype=torch.int64),
        old_log_probs=torch.tensor([0.4, 0.4, 0.4]).log(),
        advantages=torch.tensor([2.0, -1.0, -1.0]),
        returns=torch.tensor([1.5, 0.0, 3.0]),
        old_values=torch.tensor([0.0, 2.0, 3.0]),
    )
    return *ppo._loss(samples, entropy_coefficient=0.1, exploration=exploration), network


def test_the_loss_of_a_minibatch() -> None:
    loss, figures, network = _loss(OPTIONS)
    # The first is clipped at 1.2; the third at 0.8, which is the worse of the two.
    policy_loss = -(1.2 * 2 - 1.1 - 0.8) / 3
    value_loss = (0.25 + 4 + 0) / 3
    entropy = -sum(p * math.log(p) + (1 - p) * math.log(1 - p) for p in (0.6, 0.44, 0.2)) / 3
    assert loss.item() == pytest.approx(policy_loss + 0.5 * value_loss - 0.1 * entropy, rel=1e-5)
    assert figures["policy_loss"] == pytest.approx(policy_loss, rel=1e-5)
    assert figures["value_loss"] == pytest.approx(value_loss, rel=1e-5)
    assert figures["entropy"] == pytest.approx(entropy, rel=1e-5)
    assert figures["clip_share"] == pytest.approx(2 / 3)
    divergence = sum(ratio - 1 - math.log(ratio) for ratio in (1.5, 1.1, 0.5)) / 3
    assert figures["approximate_kl"] == pytest.approx(divergence, rel=1e-5)
    (loss + 0.1 * figures["entropy"]).backward()  # type: ignore[no-untyped-call]
    assert network.values.grad is not None
    assert network.values.grad.tolist() == pytest.approx([-1 / 6, 4 / 6, 0])


def test_values_that_move_too_far_are_clipped() -> None:
    _, figures, _ = _loss(replace(OPTIONS, value_clip=0.3))
    # The first one's value rose from 0 to 1, of which 0.3 counts: (0.3 - 1.5)² is more than (1 - 1.5)².
    assert figures["value_loss"] == pytest.approx((1.44 + 4 + 0) / 3, rel=1e-5)


def test_exploration_is_part_of_the_policy_that_learns() -> None:
    _, figures, _ = _loss(OPTIONS, exploration=0.5)
    ratios = [(0.5 * p + 0.25) / 0.4 for p in (0.6, 0.44, 0.2)]
    assert figures["approximate_kl"] == pytest.approx(sum(r - 1 - math.log(r) for r in ratios) / 3, rel=1e-4)


def _weights(ppo: Ppo) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in ppo.network.parameters()])


def test_accumulated_minibatches_step_as_one_large_one() -> None:
    large = _ppo(replace(OPTIONS, minibatch=128, target_kl=None))
    small = _ppo(replace(OPTIONS, minibatch=32, accumulate=4, target_kl=None))
    other = _ppo(replace(OPTIONS, minibatch=32, target_kl=None))
    for ppo in (large, small, other):
        ppo.update()
    torch.testing.assert_close(_weights(small), _weights(large), rtol=1e-4, atol=1e-6)
    assert not torch.allclose(_weights(other), _weights(large), rtol=1e-4, atol=1e-6)


def test_an_update_ends_where_the_policy_has_moved_far_enough() -> None:
    eager = replace(OPTIONS, learning_rate=0.02, epochs=10, target_kl=None)
    far, near = _ppo(eager).update(), _ppo(replace(eager, target_kl=0.003)).update()
    assert far["approximate_kl"] > 0.01
    assert near["approximate_kl"] < far["approximate_kl"] / 2


def test_small_gradients_pass_and_large_ones_are_clipped() -> None:
    ppo = _ppo(replace(OPTIONS, max_gradient_norm=1e-9, epochs=1, minibatch=128))
    seen = []
    step = ppo._optimizer.step

    def spy() -> None:
        norms = [p.grad.norm() for p in ppo.network.parameters() if p.grad is not None]
        seen.append(torch.stack(norms).norm().item())
        step()

    ppo._optimizer.step = spy  # type: ignore[method-assign, assignment]
    assert ppo.update()["gradient_norm"] > 1e-3
    assert seen == [pytest.approx(1e-9, rel=0.01)]


def test_figures_follow_the_schedules() -> None:
    options = replace(
        OPTIONS, lr_schedule="linear", entropy_schedule="linear", exploration=0.4, exploration_schedule="linear"
    )
    ppo = Ppo(toy.Toy(16), build(NetworkOptions(), toy.LAYOUT), options, steps=256, seed=0)
    first, second = ppo.update(), ppo.update()
    assert (first["learning_rate"], second["learning_rate"]) == pytest.approx((1e-3, 5e-4))
    assert (first["entropy_weight"], second["entropy_weight"]) == pytest.approx((0.01, 0.005))
    assert (first["exploration"], second["exploration"]) == pytest.approx((0.4, 0.2))
    assert ppo._optimizer.param_groups[0]["lr"] == pytest.approx(5e-4)


def test_what_is_written_down() -> None:
    figures = _ppo().update()
    # 16 environments, 8 steps, 4 steps an episode.
    assert figures["episodes"] == 32
    assert figures["return"] == pytest.approx(-figures["episode/slowdown"])
    assert (figures["invalid_share"], figures["wait_share"]) == (0, 0)
    assert figures["steps_per_s"] > 0
    assert figures["explained_variance"] < 1
    assert {"policy_loss", "value_loss", "entropy", "approximate_kl", "clip_share", "gradient_norm"} <= figures.keys()


def test_the_values_of_truncated_episodes_are_those_of_their_final_observations() -> None:
    ppo = _ppo(replace(OPTIONS, gae_lambda=0.0, gamma=0.9), max_steps=3)
    ppo._collect(0.0)
    rollout = ppo._rollout
    assert bool(rollout.truncated[2].all())
    # The final observations are those of the third step, which the next step's arrays do not show.
    final, masks = rollout.final_observations()
    assert toy.LAYOUT.split(final)["jobs"][:16, :, 0].sum(dim=1).tolist() == [1] * 16
    with torch.inference_mode():
        worth = ppo.network(final[:16], masks[:16])[1].numpy()
    samples, _ = ppo._samples()
    surprise = rollout.rewards[2] + 0.9 * worth - ppo._values[2].numpy()
    everything = _plain_advantages(ppo)
    assert everything[2] == pytest.approx(surprise, abs=1e-5)
    normal = (everything - everything.mean()) / everything.std()
    assert samples.advantages.view(8, 16)[2].tolist() == pytest.approx(normal[2].tolist(), abs=1e-4)


def _plain_advantages(ppo: Ppo) -> Any:  # noqa: ANN401 - an array
    """Returns the advantages with λ = 0, step by step."""
    rollout, values = ppo._rollout, ppo._values.numpy()
    result = np.empty_like(values)
    with torch.inference_mode():
        final, masks = rollout.final_observations()
        places = np.concatenate(rollout.truncated_at, axis=1).T.tolist()
        cut = dict(zip(map(tuple, places), ppo.network(final, masks)[1].tolist(), strict=True))
        last = ppo.network(torch.from_numpy(rollout.observations[-1]), torch.from_numpy(rollout.masks[-1]))[1].numpy()
    for step in range(8):
        for one in range(16):
            following = values[step + 1, one] if step < 7 else last[one]
            following = cut.get((step, one), following)
            result[step, one] = rollout.rewards[step, one] + 0.9 * following - values[step, one]
    return result


def test_stored_log_probabilities_are_those_of_the_policy_that_acted() -> None:
    ppo = _ppo()
    ppo._collect(0.25)
    rollout = ppo._rollout
    with torch.inference_mode():
        masks = torch.from_numpy(rollout.masks[5])
        logits, _ = ppo.network(torch.from_numpy(rollout.observations[5]), masks)
        expected = masked_distribution(logits, masks, 0.25).log_probs_of(torch.from_numpy(rollout.actions[5]).long())
    torch.testing.assert_close(ppo._log_probs[5], expected)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("rewards", "the sum of the rewards is nan"),
        ("observations", "the sum of the policy's probabilities is nan"),
        ("values", "the loss is nan"),
    ],
)
def test_what_is_no_number_stops_before_the_network_is_spoiled(what: str, message: str) -> None:
    ppo = _ppo()
    ppo.update()
    before = ppo.policy_tensors()
    before = {name: tensor for name, tensor in before.items() if name.startswith("network")}
    step_into = ppo._rollout._environments.step_into

    def poisoned(actions: Any, arrays: Any) -> None:  # noqa: ANN401 - passed on
        step_into(actions, arrays)
        if what == "values":
            ppo._normalizer.mean.fill_(math.nan)
        else:
            getattr(arrays, what)[3] = math.nan

    ppo._rollout._environments.step_into = poisoned  # type: ignore[method-assign]
    with pytest.raises(DivergenceError, match=message):
        ppo.update()
    assert all(np.array_equal(ppo.policy_tensors()[name], before[name]) for name in before)
