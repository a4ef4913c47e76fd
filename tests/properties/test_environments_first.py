"""Who always chooses the next job that may be chosen does exactly what a dispatch rule does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.core_adapter import CORE_IS_BUILT, run_core
from tests.properties.environment_adapter import (
    NO_LIMITS,
    CoreEnvironment,
    Play,
    check_view,
    reference_environment,
)
from tests.properties.environment_strategies import random_plays
from tests.properties.strategies import POOL
from tests.reference.environment import Environment, Seen
from tests.reference.environment_features import JOB_FEATURES
from tests.reference.environment_jobs import MODES
from tests.simulate.driving import observe

pytestmark = pytest.mark.skipif(not CORE_IS_BUILT, reason="the compiled core shunter._core is not built")

WIDE = 20
"""A window through which the whole queue is seen."""
PLAIN = ["fcfs", "sjf", "wfp3", "unicef", "fair-share", "linear?cores=0.6&wait=900&queue_cores=7"]


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
@settings(max_examples=15)
@given(data=st.data())
def test_the_first_that_may_be_chosen(mode: str, data: st.DataObject) -> None:
    """On a pool, without gates, whatever the window."""
    play = data.draw(random_plays(modes=[mode], palettes=(POOL,), orders=PLAIN))
    play = replace(play, limits=NO_LIMITS, autoreset=False)
    core = CoreEnvironment(play)
    while not core.terminated[0]:
        core.step(first_allowed(core.mask.astype(bool).tolist()))
    check_same_as_rule(core, play)


def next_in_turn(seen: Seen, place: int) -> int:
    """Returns the first job in the order behind a place that may be chosen and is not held back, or *wait*."""
    for job in seen.ranked[place:]:
        action = seen.jobs.index(job) + 1 if job in seen.jobs else 0
        if action and seen.mask[action] and not is_held_back(seen, action):
            return action
    return 0


def is_held_back(seen: Seen, action: int) -> bool:
    """Tells whether the last feature of a row says so."""
    behind = (WIDE - action) * JOB_FEATURES
    return bool(seen.observation[len(seen.observation) - behind - 1])


def follow_the_order(play: Play, core: CoreEnvironment, reference: Environment) -> None:
    """Goes through the order once in each pass, as a dispatch rule does."""
    ranked, place = reference.seen.ranked, 0
    over = False
    while not over:
        check_view(play, core, reference)
        seen = reference.seen
        if seen.ranked is not ranked:
            ranked, place = seen.ranked, 0
        action = next_in_turn(seen, place)
        if action:
            place = ranked.index(seen.jobs[action - 1]) + 1
        core.step(action)
        over = reference.step(action).terminated


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=15)
@given(data=st.data())
def test_each_in_turn(mode: str, data: st.DataObject) -> None:
    """On any cluster, with gates too: jobs that are held back, or whose turn is over, are passed over."""
    play = undisturbed(data.draw(random_plays(modes=[mode])))
    if mode == "reserve":
        # Where a job is placed may change with those that start, so that it no longer delays the reservation. The rule
        # has passed it over by then, but a job beyond the bound has to be chosen.
        play = replace(play, config=replace(play.config, max_wait_ms=None))
    core = CoreEnvironment(play)
    follow_the_order(play, core, reference_environment(play))
    assert core.terminated[0]
    check_same_as_rule(core, play)
