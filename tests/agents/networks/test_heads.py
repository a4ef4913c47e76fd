"""Several heads and noise: they begin as the plain network, and a plain network can be made of them again."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from shunter.agents.networks import NetworkOptions, build
from shunter.agents.networks.base import Network
from shunter.agents.networks.heads import copy_plain, fresh, head_layers, with_heads
from shunter.agents.networks.residual import Residual
from shunter.envs.layout import Layout
from shunter.errors import InputError
from tests.agents.fixed import Fixed
from tests.agents.networks.test_networks import KINDS
from tests.agents.observing import random_hosts, random_jobs

HEADS = 5


def _seen(layout: Layout) -> tuple[Tensor, Tensor]:
    return random_jobs(12, layout) if layout.window else random_hosts(12, layout)


def _built(kind: str, layout: Layout, temperature: float | None = None) -> Network:
    network = build(NetworkOptions(kind=kind, order_temperature=temperature), layout, seed=3)
    for layer in network.policy_layers():
        nn.init.normal_(layer.weight, generator=torch.Generator().manual_seed(5))
    return network


@pytest.mark.every(4)
@pytest.mark.parametrize("temperature", [None, 4.0])
@pytest.mark.parametrize(("kind", "layout"), KINDS)
def test_heads_begin_alike(kind: str, layout: Layout, temperature: float | None) -> None:
    network = _built(kind, layout, temperature)
    observations, masks = _seen(layout)
    logits, values = network(observations, masks)
    several, several_values = with_heads(network, HEADS)(observations, masks)
    assert several.shape == (*masks.shape, HEADS)
    assert several_values.shape == (len(masks), HEADS)
    for head in range(HEADS):
        torch.testing.assert_close(several[..., head][masks], logits[masks], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(several_values[:, head], values, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("kind", "layout"), KINDS)
def test_the_mean_of_heads_is_a_plain_network(kind: str, layout: Layout) -> None:
    network = _built(kind, layout)
    several = with_heads(network, HEADS, noisy=True)
    generator = torch.Generator().manual_seed(1)
    for parameter in several.parameters():
        nn.init.normal_(parameter, std=0.5, generator=generator)
    observations, masks = _seen(layout)
    logits, values = several(observations, masks)
    copy_plain(several, network)
    plain, plain_values = network(observations, masks)
    torch.testing.assert_close(plain[masks], logits.mean(dim=2)[masks], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(plain_values, values.mean(dim=1), rtol=1e-4, atol=1e-4)
    assert network.state_dict().keys() == _built(kind, layout).state_dict().keys()


def test_noise_is_drawn_learned_and_silenced() -> None:
    kind, layout = KINDS[0]
    observations, masks = _seen(layout)
    network = with_heads(_built(kind, layout), noisy=True)
    quiet = network(observations, masks)[0][masks]
    generator = torch.Generator().manual_seed(1)
    for _, layer in head_layers(network):
        layer.draw(generator)
    first = network(observations, masks)[0][masks]
    assert torch.equal(network(observations, masks)[0][masks], first), "noise stays until the next draw"
    first.sum().backward()
    slopes = {name: one.grad for name, one in network.named_parameters() if name.endswith("weight_noise")}
    assert slopes.keys() == {"score.weight_noise", "wait.weight_noise", "value.weight_noise"}
    assert all(slopes[name] is not None for name in ("score.weight_noise", "wait.weight_noise"))
    for _, layer in head_layers(network):
        layer.draw(generator)
    assert not torch.equal(network(observations, masks)[0][masks], first)
    for _, layer in head_layers(network):
        layer.quiet()
    assert torch.equal(network(observations, masks)[0][masks], quiet)


def test_noise_is_as_strong_as_it_says() -> None:
    kind, layout = KINDS[0]
    ((_, layer), *_) = head_layers(with_heads(_built(kind, layout), noisy=True))
    generator = torch.Generator().manual_seed(1)
    rows = torch.ones(1, layer.in_features)
    drawn = []
    for _ in range(4000):
        layer.draw(generator)
        drawn.append(layer(rows).item())
    layer.quiet()
    assert sum(drawn) / len(drawn) == pytest.approx(layer(rows).item(), abs=0.05)
    # Factorized: the variance of f(x) f(y) is the square of E|x| = √(2/π), for each input and once for the bias; noises
    # of inputs share f(y).
    inputs, strength = layer.in_features, 0.5 / layer.in_features**0.5
    size = (2 / torch.pi) ** 0.5
    expected = strength**2 * (inputs * size**2 + size)
    assert torch.tensor(drawn).var().item() == pytest.approx(expected, rel=0.1)


def test_a_network_of_ones_own_has_one_head() -> None:
    own = Fixed(torch.zeros(1, 2), torch.zeros(1))
    with pytest.raises(InputError, match="Fixed, has one score for each action; train it without a distribution"):
        with_heads(own, 2)


def test_a_fresh_network_knows_nothing_of_the_beginning() -> None:
    kind, layout = KINDS[0]
    network = _built(kind, layout, temperature=4.0)
    assert isinstance(network, Residual)
    made = fresh(network, seed=3)
    assert type(made) is type(network.inner)
    plain = build(NetworkOptions(kind=kind), layout, seed=3)
    assert all(torch.equal(one, other) for one, other in zip(made.parameters(), plain.parameters(), strict=True))
