"""The core's networks say what PyTorch's say, on observations that were played."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from _pytest.mark.structures import ParameterSet
from numpy.typing import NDArray

from shunter.agents.networks import NetworkOptions
from shunter.agents.networks.native import native_network
from shunter.envs.layout import Layout
from shunter.errors import InputError
from tests.agents.observing import HOST_LAYOUT, JOB_LAYOUT
from tests.net.pairs import INSTRUCTIONS, Pair, evaluated, exact_copy, use
from tests.net.played import HOST_SOURCES, JOB_SOURCES, OBSERVATIONS, Observations, played, played_with

TOLERANCE = 1e-5
"""Of the largest number that a network says of an observation; 1 where it is smaller."""
SOME = 500
"""So many observations of each source show what an unusual network does."""

JOB_KINDS = ("kernel", "mlp", "attention")
HOST_KINDS = ("hosts", "mlp")

# Sizes that fill no vector, towers that are deep or hardly there, and both ways to begin.
UNUSUAL: list[dict[str, Any]] = [
    {"hidden": (5, 3)},
    {"hidden": (5, 3), "activation": "tanh", "order_temperature": 4.0},
    {"hidden": (7,)},
    {"hidden": (7,), "order_temperature": 0.5},
    {"hidden": (9, 17, 33, 6), "activation": "tanh"},
    {"hidden": (24, 12, 8), "order_temperature": 1.0},
    {"activation": "tanh"},
    {"order_temperature": 4.0},
]
UNUSUAL_ATTENTION: list[dict[str, Any]] = [
    {"hidden": (6,), "heads": 2},
    {"hidden": (6, 5), "heads": 3, "blocks": 3},
    {"hidden": (6, 5), "heads": 2, "blocks": 2, "activation": "tanh", "order_temperature": 4.0},
    {"hidden": (5, 3), "heads": 1},
    {"hidden": (5, 3), "heads": 5, "blocks": 2},
    {"hidden": (24, 10, 17), "heads": 3, "activation": "tanh"},
    {"order_temperature": 1.0, "blocks": 2},
]


def _cases() -> list[ParameterSet]:
    cases = []
    for kind in ("kernel", "mlp", "attention", "hosts"):
        for more in UNUSUAL_ATTENTION if kind == "attention" else UNUSUAL:
            sources = [*(JOB_SOURCES if kind in JOB_KINDS else ()), *(HOST_SOURCES if kind in HOST_KINDS else ())]
            name = "-".join(str(value) for value in more.values())
            cases.append(pytest.param(kind, more, sources, id=f"{kind}-{name}"))
    return cases


def _equal(found: NDArray[np.float32], expected: NDArray[np.floating], allowed: NDArray[np.bool_]) -> None:
    """Holds numbers (samples, some) to others where they are allowed, each sample's to their largest."""
    difference = np.abs(np.where(allowed, found - expected, 0.0))
    largest = np.abs(np.where(allowed, expected, 0.0)).max(axis=1, keepdims=True, initial=1.0)
    assert bool(np.isfinite(found[allowed]).all())
    assert float((difference / largest).max()) <= TOLERANCE


def _agree(pair: Pair, seen: Observations) -> None:
    with torch.inference_mode():
        logits, values = evaluated(exact_copy(pair.torch), seen)
    found_logits, found_values = pair.native.evaluate(seen.observations, seen.masks)
    _equal(found_logits, logits.numpy(), seen.masks)
    assert bool((found_logits[~seen.masks] == np.float32(-1e30)).all())
    _equal(found_values[:, None], values.numpy()[:, None], np.ones((len(values), 1), dtype=bool))


def test_there_are_enough_observations_of_all_lengths() -> None:
    for sources in (JOB_SOURCES, HOST_SOURCES):
        assert sum(len(played(source).masks) for source in sources) >= OBSERVATIONS
    for source in JOB_SOURCES:
        seen = played(source)
        assert seen.filled.max() == seen.layout.window
        assert seen.filled.min() == 1
    # Rows that are filled and may not be chosen: some networks look at them, others do not.
    assert any((played(source).filled > played(source).masks[:, 1:].sum(axis=1)).any() for source in JOB_SOURCES)
    slots = [played(source).layout.split(played(source).observations)["lookahead"] for source in JOB_SOURCES]
    assert [part.shape[1] for part in slots] == [16, 5, 6, 1, 0]
    assert [bool(part.any()) for part in slots] == [True, True, True, False, False]


@pytest.mark.parametrize(("history", "stops"), [(3, 0), (0, 4), (2, 3)])
@pytest.mark.parametrize("kind", JOB_KINDS)
def test_networks_agree_on_the_recent_past_and_on_running_jobs(kind: str, history: int, stops: int) -> None:
    seen = played_with(history, stops)
    for more in ({}, {"order_temperature": 1.0}):
        _agree(Pair.of(NetworkOptions(kind=kind, **more), seen.layout), seen)  # type: ignore[arg-type]
    assert seen.layout.split(seen.observations)["cluster"][:, 16:].any() == bool(history)


@pytest.mark.every(7)
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize(
    ("kind", "source"),
    [(kind, source) for kind in JOB_KINDS for source in JOB_SOURCES]
    + [(kind, source) for kind in HOST_KINDS for source in HOST_SOURCES],
)
def test_the_usual_networks_agree_on_ten_thousand_observations(kind: str, source: str, instructions: str) -> None:
    seen = played(source)
    pair = Pair.of(NetworkOptions(kind=kind), seen.layout)
    use(pair.native, instructions)
    _agree(pair, seen)


@pytest.mark.every(6)
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize(("kind", "more", "sources"), _cases())
def test_unusual_networks_agree(kind: str, more: dict[str, Any], sources: list[str], instructions: str) -> None:
    for source in sources:
        seen = played(source).first(SOME)
        pair = Pair.of(NetworkOptions(kind=kind, **more), seen.layout, seed=2)
        use(pair.native, instructions)
        _agree(pair, seen)


@pytest.mark.every(4)
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("kind", [*JOB_KINDS, "hosts"])
def test_an_observation_is_judged_alike_alone_and_among_others(kind: str, instructions: str) -> None:
    source = "twenty-hosts" if kind == "hosts" else "long-queues"
    seen = played(source).first(100)
    native = Pair.of(NetworkOptions(kind=kind, order_temperature=1.0), seen.layout).native
    use(native, instructions)
    logits, values = native.evaluate(seen.observations, seen.masks)
    for place in range(0, 100, 3):
        alone = native.evaluate(seen.observations[place : place + 1], seen.masks[place : place + 1])
        # To the last bit: what a policy decides must not depend on who else asks.
        assert np.array_equal(alone[0][0], logits[place])
        assert alone[1][0] == values[place]


@pytest.mark.parametrize(("kind", "layout"), [("kernel", JOB_LAYOUT), ("mlp", JOB_LAYOUT), ("attention", JOB_LAYOUT)])
def test_an_empty_queue_and_a_mask_of_wait_alone(kind: str, layout: Layout) -> None:
    pair = Pair.of(NetworkOptions(kind=kind), layout)
    random = np.random.default_rng(0)
    observations = np.zeros((3, layout.observation_size), np.float32)
    observations[:, : -layout.split(observations)["jobs"][0].size] = random.random((3, 20))
    # The second has jobs, none of which may be chosen; the third has none between two that have some.
    layout.split(observations)["jobs"][1] = random.random((layout.window, len(layout.job_features)))
    masks = np.zeros((3, layout.actions), dtype=bool)
    masks[:, 0] = True
    for order in ([0, 1, 2], [1, 2, 1]):
        _agree(pair, Observations(layout, observations[order], masks[order]))


@pytest.mark.parametrize("kind", ["kernel", "attention", "hosts"])
def test_rows_that_change_places_take_their_scores_along(kind: str) -> None:
    source = "fifty-hosts" if kind == "hosts" else "own-features"
    seen = played(source).first(200)
    native = Pair.of(NetworkOptions(kind=kind), seen.layout).native
    logits, values = native.evaluate(seen.observations, seen.masks)
    random, first = np.random.default_rng(3), int(seen.layout.may_wait)
    changed = Observations(seen.layout, seen.observations.copy(), seen.masks.copy())
    rows = changed.layout.split(changed.observations)["jobs" if first else "hosts"]
    lengths = changed.filled if first else np.full(200, seen.layout.num_hosts)
    moved = logits.copy()
    for place, length in enumerate(lengths):
        order = random.permutation(length)
        rows[place, :length] = rows[place, order]
        for array in (changed.masks, moved):
            array[place, first : first + length] = array[place, first + order]
    found, found_values = native.evaluate(changed.observations, changed.masks)
    _equal(found, moved, changed.masks)
    np.testing.assert_allclose(found_values, values, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("temperature", [None, 2.0])
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
def test_what_was_learned_on_twenty_hosts_holds_for_any_number(temperature: float | None, instructions: str) -> None:
    options = NetworkOptions(kind="hosts", order_temperature=temperature)
    made = Pair.of(options, played("twenty-hosts").layout)
    weights, units = made.native.get()
    for source in ("seven-hosts", "fifty-hosts"):
        seen = played(source).first(SOME)
        native = native_network(options, seen.layout)
        native.set(weights, units)
        use(native, instructions)
        # The network in PyTorch is still the one that was made for twenty.
        _agree(Pair(made.torch, native), seen)


def test_one_host_is_enough() -> None:
    layout = replace(HOST_LAYOUT, num_hosts=1)
    observations = np.random.default_rng(1).random((9, layout.observation_size), dtype=np.float32)
    seen = Observations(layout, observations, np.ones((9, 1), dtype=bool))
    for options in (NetworkOptions(kind="hosts"), NetworkOptions(kind="mlp", order_temperature=1.0)):
        _agree(Pair.of(options, layout), seen)


def test_what_is_no_observation_is_refused() -> None:
    native = native_network(NetworkOptions(), JOB_LAYOUT)
    observations = np.zeros((2, JOB_LAYOUT.observation_size), np.float32)
    masks = np.ones((2, JOB_LAYOUT.actions), dtype=bool)
    masks[1] = False
    with pytest.raises(InputError, match="allows no action"):
        native.evaluate(observations, masks)
    observations[1, 3] = np.nan
    with pytest.raises(InputError, match="observation 1 holds NaN"):
        native.evaluate(observations, masks)
