"""The core's choices follow its networks: the best action, or one drawn by its probability."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from shunter.agents.common.masking import greedy_actions, masked_distribution
from shunter.agents.networks import NetworkOptions
from shunter.agents.networks.native import native_network
from tests.net.pairs import INSTRUCTIONS, Pair, actions, evaluated, exact_copy, use
from tests.net.played import Observations, played

KINDS = [("kernel", "own-features"), ("mlp", "few-nodes"), ("attention", "blind"), ("hosts", "twenty-hosts")]
LIVELY = {"kernel": 6.0, "mlp": 6.0, "attention": 30.0, "hosts": 30.0}
"""What the weights of the last layers are multiplied by: some actions are then clearly likelier than others."""
DRAWS = 20_000


def _lively(kind: str, seen: Observations) -> Pair:
    """Returns networks that prefer some actions clearly: even chances would hide a mistake."""
    pair = Pair.of(NetworkOptions(kind=kind), seen.layout, seed=3)
    with torch.no_grad():
        for layer in pair.torch.policy_layers():
            layer.weight.mul_(LIVELY[kind])
    pair.native.set({name: weight.numpy() for name, weight in pair.torch.state_dict().items()})
    return pair


def _repeated(seen: Observations, place: int, count: int) -> Observations:
    """Returns one observation many times."""
    observations = np.repeat(seen.observations[place : place + 1], count, axis=0)
    return Observations(seen.layout, observations, np.repeat(seen.masks[place : place + 1], count, axis=0))


def _chance_of(counts: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Returns how probable counts are that are as far from the expected ones, by Pearson's chi-square test."""
    expected = probabilities * counts.sum()
    # The test holds where five or more are expected; what is rarer is counted together.
    often = expected >= 5
    seen = np.append(counts[often], counts[~often].sum())
    wanted = np.append(expected[often], max(expected[~often].sum(), 1e-9))
    if wanted[-1] < 5:
        assert seen[-1] <= 20
        seen, wanted = seen[:-1], wanted[:-1]
    distance = float((np.square(seen - wanted) / wanted).sum())
    return float(torch.special.gammaincc(torch.tensor((len(seen) - 1) / 2), torch.tensor(distance / 2)))


@pytest.mark.every(2)
@pytest.mark.parametrize(("kind", "source"), KINDS)
def test_draws_are_as_frequent_as_they_are_probable(kind: str, source: str) -> None:
    seen = played(source).of_choices()
    pair = _lively(kind, seen)
    # Those with the most to choose from.
    for place in np.argsort(-seen.masks.sum(axis=1), kind="stable")[:3]:
        many = _repeated(seen, int(place), DRAWS)
        with torch.inference_mode():
            logits, _ = evaluated(exact_copy(pair.torch), _repeated(seen, int(place), 1))
        chances = masked_distribution(logits, torch.from_numpy(many.masks[:1])).probs[0].numpy()
        assert chances.max() > 2 / len(chances[many.masks[0]])
        counts = np.bincount(actions(pair.native, many, seed=5), minlength=seen.layout.actions)
        # Twelve draws with fixed seeds: one in a thousand would be chance once in eighty seeds.
        assert _chance_of(counts, chances) > 1e-3


@pytest.mark.parametrize(("kind", "source"), KINDS)
def test_masks_are_obeyed(kind: str, source: str) -> None:
    seen = played(source)
    native = _lively(kind, seen).native
    rows = np.arange(len(seen.masks))
    assert not seen.masks.all()
    for seed in (None, 1, 2):
        assert seen.masks[rows, actions(native, seen, seed=seed)].all()


@pytest.mark.parametrize("kind", ["hosts", "mlp"])
def test_whatever_a_mask_allows_can_be_drawn_and_nothing_else(kind: str) -> None:
    seen = _repeated(played("seven-hosts"), 0, 2000)
    native = native_network(NetworkOptions(kind=kind), seen.layout)
    for allowed in ([0], [6], [2, 4], [0, 6], [0, 1, 2, 3, 4, 5, 6]):
        masks = np.zeros_like(seen.masks)
        masks[:, allowed] = True
        drawn = actions(native, Observations(seen.layout, seen.observations, masks), seed=3)
        assert np.unique(drawn).tolist() == allowed


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize(("kind", "source"), KINDS)
def test_the_best_action_is_pytorch_s(kind: str, source: str, instructions: str) -> None:
    seen = played(source)
    pair = _lively(kind, seen)
    use(pair.native, instructions)
    chosen = actions(pair.native, seen)
    with torch.inference_mode():
        logits, _ = evaluated(exact_copy(pair.torch), seen)
        masks = torch.from_numpy(seen.masks)
        expected = greedy_actions(logits, masks).numpy()
    # Values are not worked out for a choice; it is the same as with them.
    own = np.where(seen.masks, pair.native.evaluate(seen.observations, seen.masks)[0], -np.inf)
    assert np.array_equal(chosen, own.argmax(axis=1))
    # Rows that are alike have scores that differ by rounding at most; elsewhere the choice is the same.
    rows = np.arange(len(chosen))
    others = np.flatnonzero(chosen != expected)
    assert len(others) < len(chosen) / 50
    gaps = logits.numpy()[rows, expected] - logits.numpy()[rows, chosen]
    assert float(gaps.max()) < 1e-5
    assert seen.masks[rows, chosen].all()


@pytest.mark.parametrize(("kind", "source"), KINDS)
def test_the_first_of_equals_is_taken(kind: str, source: str) -> None:
    seen = played(source)
    # All weights are 0: so are all scores.
    native = native_network(NetworkOptions(kind=kind), seen.layout)
    assert np.array_equal(actions(native, seen), seen.masks.argmax(axis=1))


def test_a_network_that_has_learned_nothing_is_the_rule_that_it_begins_as() -> None:
    seen = played("twenty-hosts")
    native = native_network(NetworkOptions(kind="hosts", order_temperature=4.0), seen.layout)
    hosts = seen.layout.split(seen.observations)["hosts"]
    free = (1 - hosts[..., :2]) * hosts[..., 2:]
    fewest = np.where(seen.masks, free[..., 0], np.inf).min(axis=1)
    chosen = free[np.arange(len(free)), actions(native, seen), 0]
    np.testing.assert_allclose(chosen, fewest, atol=1e-4)


@pytest.mark.parametrize(("kind", "source"), KINDS)
def test_the_same_seed_draws_the_same(kind: str, source: str) -> None:
    seen = played(source).of_choices()
    native = _lively(kind, seen).native
    drawn = actions(native, seen, seed=9)
    assert np.array_equal(drawn, actions(native, seen, seed=9))
    # A draw is known by its place: how many follow changes nothing.
    assert np.array_equal(drawn[:77], actions(native, seen.first(77), seed=9))
    other = actions(native, seen, seed=10)
    assert 0.1 < float((drawn != other).mean()) < 1.0


def test_draws_at_neighbouring_places_and_seeds_have_nothing_in_common() -> None:
    seen = _repeated(played("seven-hosts"), 0, DRAWS)
    seen.masks[:] = False
    seen.masks[:, :2] = True
    native = native_network(NetworkOptions(kind="hosts"), seen.layout)
    first, second = (actions(native, seen, seed=seed) for seed in (0, 1))
    # Pairs of coins: each of the four outcomes in a quarter of all cases.
    even = np.full(4, 0.25)
    for one, other in ((first[:-1], first[1:]), (first, second), (first[1:], second[:-1])):
        assert _chance_of(np.bincount(2 * one + other, minlength=4), even) > 1e-3
