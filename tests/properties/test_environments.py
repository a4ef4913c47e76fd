"""The core's environments equal the reference environment, step by step, whatever is chosen."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.environment_adapter import Play
from tests.properties.environment_checks import play_both
from tests.properties.environment_strategies import (
    LOOKAHEADS,
    crowd_play,
    random_host_plays,
    random_plays,
    with_failures,
    with_history,
    with_stops,
)
from tests.reference.environment_jobs import MODES
from tests.support import examples

SEEDS = st.integers(0, 2**32)


@pytest.mark.every(4)
@pytest.mark.parametrize("mode", MODES)
@examples(20)
@given(data=st.data(), seed=SEEDS)
def test_mode(mode: str, data: st.DataObject, seed: int) -> None:
    play_both(data.draw(random_plays(modes=[mode])), Random(seed))


@examples(20)
@given(play=random_plays(), seed=SEEDS)
def test_actions_that_the_mask_forbids(play: Play, seed: int) -> None:
    play_both(play, Random(seed), carelessness=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_crowds(mode: str) -> None:
    random = Random(mode)
    for _ in range(40 if mode == "reserve" else 20):
        play_both(crowd_play(random, mode), random, carelessness=0.1)


@pytest.mark.slow
def test_those_whose_turn_is_over_in_crowds() -> None:
    """Jobs that were held back when one behind them was chosen stay so, though they may not fit any more."""
    random = Random("turns")
    for _ in range(15):
        play = crowd_play(random, random.choice(["reserve", "feasible"]))
        config = replace(play.config, policy="linear?hold_share=0.3&hold_from_s=0.5", max_wait_ms=None, scan_depth=1000)
        play_both(replace(play, config=config), random)


@pytest.mark.every(4)
@pytest.mark.parametrize("lookahead", LOOKAHEADS)
def test_lookahead_in_crowds(lookahead: str) -> None:
    random = Random(lookahead)
    for _ in range(10):
        play_both(crowd_play(random, "feasible", lookahead), random)


@examples(40)
@given(play=random_host_plays(), seed=SEEDS)
def test_hosts(play: Play, seed: int) -> None:
    play_both(play, Random(seed), carelessness=0.1)


@pytest.mark.every(4)
@pytest.mark.parametrize("mode", MODES)
@examples(20)
@given(data=st.data(), seed=SEEDS)
def test_nodes_that_fail(mode: str, data: st.DataObject, seed: int) -> None:
    random = Random(seed)
    play_both(with_failures(data.draw(random_plays(modes=[mode])), random), random, carelessness=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_nodes_that_fail_in_crowds(mode: str) -> None:
    random = Random(f"failures {mode}")
    for _ in range(15):
        play_both(with_failures(crowd_play(random, mode), random), random, carelessness=0.1)


@examples(40)
@given(play=random_host_plays(), seed=SEEDS)
def test_hosts_that_fail(play: Play, seed: int) -> None:
    play_both(with_failures(play, Random(seed)), Random(seed), carelessness=0.1)


@pytest.mark.every(4)
@pytest.mark.parametrize("mode", MODES)
def test_the_recent_past(mode: str) -> None:
    random = Random(f"past {mode}")
    for _ in range(10):
        play = with_history(crowd_play(random, mode), random)
        play_both(with_failures(play, random) if random.random() < 0.3 else play, random)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["reserve", "feasible"])
def test_stopping_those_who_run(mode: str) -> None:
    random = Random(f"stops {mode}")
    for _ in range(20):
        play = with_stops(crowd_play(random, mode), random)
        play_both(with_failures(play, random) if random.random() < 0.3 else play, random, carelessness=0.1)


@examples(20)
@given(play=random_plays(modes=["reserve", "feasible"]), seed=SEEDS)
def test_stopping_on_all_kinds_of_clusters(play: Play, seed: int) -> None:
    random = Random(seed)
    play_both(with_history(with_stops(play, random), random), random)
