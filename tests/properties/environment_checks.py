"""Plays an episode in the core and in the reference environment, and compares the two at every step."""

from __future__ import annotations

from random import Random

import numpy as np
from numpy.typing import NDArray

from shunter.envs.layout import Layout
from shunter.policies.catalog import PICK_JOB
from tests.properties import observed
from tests.properties.environment_adapter import CoreEnvironment, Play, reference_environment
from tests.reference.environment import Environment, Seen, Step
from tests.reference.environment_rewards import OBJECTIVES
from tests.simulation.driving import observe


def play_both(play: Play, random: Random, carelessness: float = 0.0) -> None:
    """Drives core and reference with the same random actions, and compares them at every step.

    Args:
        play: The episode.
        random: Where the actions come from.
        carelessness: How often an action is drawn from all, whatever the mask says.
    """
    core, reference = CoreEnvironment(play), reference_environment(play)
    first = reference.seen
    check_seen(play, core.observation, core.mask, reference.seen)
    while True:
        check_view(play, core, reference)
        if random.random() < 0.1:
            core.save_and_restore()
        action = random_action(random, reference.seen.mask, carelessness)
        step = reference.step(action)
        core.step(action)
        check_step(play, core, step)
        if step.terminated or step.truncated:
            break
        check_seen(play, core.observation, core.mask, step.seen)
    check_totals(play, core.totals, step)
    if play.autoreset:
        check_seen(play, core.final_observation, core.final_mask, step.seen)
        check_seen(play, core.observation, core.mask, first)
    else:
        check_seen(play, core.observation, core.mask, step.seen)
        check_schedule(core, reference, step)


def random_action(random: Random, mask: list[bool], carelessness: float) -> int:
    """Returns an action that the mask allows, the first more often than the others, or any action."""
    if random.random() < carelessness:
        return random.randrange(len(mask))
    allowed = [action for action, is_allowed in enumerate(mask) if is_allowed]
    return random.choice(allowed if random.random() < 0.7 else [allowed[0], *allowed[1:2]])


def check_seen(play: Play, observation: NDArray[np.float32], mask: NDArray[np.uint8], seen: Seen) -> None:
    """Asserts that the core shows and allows the same as the reference."""
    assert mask.astype(bool).tolist() == seen.mask
    expected = np.array(seen.observation)
    different = np.flatnonzero(~(np.abs(observation - expected) <= 1e-5))
    assert not len(different), [
        (number_name(play, int(number)), float(observation[number]), seen.observation[number]) for number in different
    ]


def number_name(play: Play, number: int) -> str:
    """Returns where a number of an observation stands, for messages."""
    if play.options is None:
        return f"host number {number}"
    options = play.options
    past, stops = options.history.intervals, options.stops
    layout = Layout(PICK_JOB, options.window, options.lookahead.size, counts="size", history=past, stops=stops)
    for name, part in layout.parts.items():
        if number < part.size:
            row = "" if part.rows is None else f"row {number // len(part.features)} "
            return f"{name} {row}{part.features[number % len(part.features)]}"
        number -= part.size
    raise AssertionError("an observation has fewer numbers")


def check_view(play: Play, core: CoreEnvironment, reference: Environment) -> None:
    """Asserts that both stand at the same instant, with the same jobs in the window."""
    state, jobs = reference.state, [state_job + len(play.before) for state_job in reference.seen.jobs]
    assert core.view() == {
        "jobs": jobs + [-1] * (play.rows - len(jobs)),
        "now_ms": state.now_ms,
        "waiting": len(state.waiting),
        "running": len(state.running),
    }


def check_step(play: Play, core: CoreEnvironment, step: Step) -> None:
    """Asserts that a step was worth the same, and ended the same way."""
    assert bool(core.invalid[0]) == step.invalid
    assert (bool(core.terminated[0]), bool(core.truncated[0])) == (step.terminated, step.truncated)
    check_reward(play, core.reward[0], step)


def check_reward(play: Play, reward: float, step: Step) -> None:
    """Asserts that a step was worth the same; a change is the difference of sums that may be far larger than it."""
    terms = [
        abs(weight)
        * (step.totals[OBJECTIVES.index(name)] + abs(play.reward.relative.get(name, 0.0)))
        / play.reward.scale.get(name, 1.0)
        for name, weight in play.reward.weights.items()
    ]
    assert abs(reward - step.reward) <= 1e-9 * (1 + sum(terms)), (reward, step.reward)


def check_totals(play: Play, totals: NDArray[np.float64], step: Step) -> None:
    """Asserts that both have the same objectives and counts at the end."""
    expected = np.array(step.totals)
    if play.options and "balance" not in play.reward.weights:
        # In PickJob the core works it out only where it counts.
        expected[OBJECTIVES.index("balance")] = 0.0
    np.testing.assert_allclose(totals, expected, rtol=1e-9, atol=1e-7)


def check_schedule(core: CoreEnvironment, reference: Environment, step: Step) -> None:
    """Asserts that the same jobs have started and ended, at the same times on the same nodes."""
    simulation, result = core.simulation(), reference.state.result
    if step.terminated:
        assert observe(simulation) == observed.observe(result)
        return
    started = [job for job, start_ms in enumerate(result.start_ms) if start_ms is not None]
    states = simulation.job_states()
    # One that was stopped waits again, and has started all the same.
    runs, stopped = np.isin(states.phase, (2, 3, 4)), (states.failures > 0) | (states.preemptions > 0)
    assert np.flatnonzero(runs | stopped).tolist() == started
    assert states.start_ms[started].tolist() == [result.start_ms[job] for job in started]
