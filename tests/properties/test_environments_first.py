"""Who always chooses the next job that may be chosen does exactly what a dispatch rule does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.core_adapter import run_core
from tests.properties.environment_adapter import NO_LIMITS, CoreEnvironment, Play
from tests.properties.environment_strategies import random_plays
from tests.properties.strategies import POOL
from tests.reference.environment_features import JOB_FEATURES
from tests.reference.environment_jobs import MODES
from tests.simulation.driving import observe
from tests.support import examples

WIDE = 20
"""A window through which the whole queue is seen."""
PLAIN = ["fcfs", "sjf", "wfp3", "unicef", "fair-share", "linear?size=0.6&wait=900&queue_size=7"]


def undisturbed(play: Play) -> Play:
    """Returns an episode that goes on until every job has started, seen through a wide window."""
    assert play.options is not None
    return replace(play, limits=NO_LIMITS, autoreset=False, options=replace(play.options, window=WIDE))


def first_allowed(mask: list[bool]) -> int:
    """Returns the first job that may be chosen, or *wait*."""
    return next((action for action, is_allowed in enumerate(mask) if action and is_allowed), 0)


def check_same_as_rule(core: CoreEnvironment, play: Play) -> None:
    """Asserts that the schedule is that of the dispatch rule."""
    assert observe(core.simulation()) == run_core(play.scene.jobs, play.scene.nodes, play.config, play.before)


@pytest.mark.parametrize("mode", MODES)
@examples(15)
@given(data=st.data())
def test_the_first_that_may_be_chosen(mode: str, data: st.DataObject) -> None:
    """On a pool, without gates, whatever the window."""
    play = data.draw(random_plays(modes=[mode], palettes=(POOL,), orders=PLAIN))
    play = replace(play, limits=NO_LIMITS, autoreset=False)
    core = CoreEnvironment(play)
    while not core.terminated[0]:
        core.step(first_allowed(core.mask.astype(bool).tolist()))
    check_same_as_rule(core, play)


def first_of_the_order(core: CoreEnvironment) -> int:
    """Returns the first job that may be chosen and is not held back; otherwise *wait*, or what is allowed."""
    mask = core.mask.astype(bool)
    rows = core.observation[-WIDE * JOB_FEATURES :].reshape(WIDE, JOB_FEATURES)
    is_held_back = rows[:, JOB_FEATURES - 1] > 0
    return first_allowed([False, *(mask[1:] & ~is_held_back).tolist()]) or int(mask.argmax())


@pytest.mark.every(4)
@pytest.mark.parametrize("mode", MODES)
@examples(40)
@given(data=st.data())
def test_the_first_that_is_not_held_back(mode: str, data: st.DataObject) -> None:
    """On any cluster, with gates and the guard."""
    play = undisturbed(data.draw(random_plays(modes=[mode])))
    core = CoreEnvironment(play)
    while not core.terminated[0]:
        core.step(first_of_the_order(core))
    check_same_as_rule(core, play)
