"""A learned policy asked in any state: it sees and does what it would in its environment, and nothing of the future."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.model.schedule import Phase
from shunter.simulation import Decision
from shunter.simulation.decision import Reason
from tests.properties.consulting import Played, Step, ask, loaded, play_through
from tests.properties.environment_adapter import NO_LIMITS, Play
from tests.properties.environment_strategies import crowd_play, random_host_plays, random_plays
from tests.properties.test_decide import BLIND, SEEDS, with_another_future
from tests.reference.environment_jobs import MODES
from tests.support import examples


def endless(play: Play) -> Play:
    """Returns an episode that nothing cuts, and that is not followed by another."""
    dispatch = "strict" if play.options is None else play.config.dispatch
    return replace(play, limits=NO_LIMITS, autoreset=False, config=replace(play.config, dispatch=dispatch))


def is_committed(play: Play) -> bool:
    """Returns whether one job at a time is chosen, so that every decision is the first of a pass."""
    return play.options is not None and play.options.mode.startswith("committed")


def goes_on(play: Play, played: Played, now_ms: int) -> bool:
    """Returns whether more may happen at the same instant, one event after the other, once nothing more is asked."""
    ends_at_once = (played.states.start_ms == now_ms) & (played.states.end_ms == now_ms)
    return is_committed(play) or bool(ends_at_once.any())


def first_of_passes(play: Play, played: Played) -> Iterator[int]:
    """Returns which steps are the first of a pass: what was passed over before is known to the environment alone.

    Of steps that choose hosts, those for the first tasks of jobs: which hosts the others have is known likewise.
    """
    for place, step in enumerate(played.steps):
        before = played.steps[place - 1] if place else None
        if play.options is None:
            is_first = before is None or before.jobs != step.jobs
        else:
            is_first = is_committed(play) or before is None or before.snapshot.now_ms != step.snapshot.now_ms
        if is_first:
            yield place


def check_answers(play: Play, played: Played, place: int, decision: Decision) -> None:
    """Asserts that what was asked for and answered are the steps of the episode from this one on."""
    count = len(decision.answers)
    steps = played.steps[place : place + count]
    assert count == len(steps) >= 1
    for answer, step in zip(decision.answers, steps, strict=True):
        assert (answer.action, answer.jobs) == (step.action, step.jobs)
        assert (answer.observation.tobytes(), answer.mask.tobytes()) == (step.observation, step.mask)
    if not goes_on(play, played, steps[0].snapshot.now_ms) and place + count < len(played.steps):
        assert played.steps[place + count].snapshot.now_ms > steps[0].snapshot.now_ms


def check_starts(play: Play, played: Played, step: Step, decision: Decision) -> None:
    """Asserts that those start, and where, that start then in the episode; and that the rest is told why it waits."""
    waiting = {job for job, phase in enumerate(step.snapshot.phase.tolist()) if phase == Phase.WAITING}
    started = {job for job in waiting if played.states.start_ms[job] == step.snapshot.now_ms}
    assert set(decision.starts) <= started
    if not goes_on(play, played, step.snapshot.now_ms):
        assert set(decision.starts) == started
    placed = played.placed
    for job, place in decision.starts.items():
        nodes = slice(placed.node_offsets[job], placed.node_offsets[job + 1])
        devices = slice(placed.device_offsets[job], placed.device_offsets[job + 1])
        assert (place.nodes, place.tasks) == (tuple(placed.nodes[nodes]), tuple(placed.tasks[nodes]))
        assert (place.devices, place.millis) == (tuple(placed.devices[devices]), tuple(placed.millis[devices]))
    assert set(decision.order) == waiting
    assert set(decision.waiting) == waiting - set(decision.starts)
    check_reservations(play, decision)
    held_back = {job for job, why in decision.waiting.items() if why.reason is Reason.HELD_BACK}
    if play.options is None or decision.answers[-1].action != 0:
        assert not held_back or is_committed(play)
    assert held_back <= set(decision.answers[-1].jobs) or is_committed(play)


def check_reservations(play: Play, decision: Decision) -> None:
    """Asserts that those hold reservations who were chosen and did not fit."""
    if play.options is None:
        assert not decision.reservations
        return
    picked = {answer.jobs[answer.action - 1] for answer in decision.answers if answer.action}
    assert set(decision.reservations) == picked - set(decision.starts)
    for job in decision.reservations:
        assert decision.waiting[job].reason in (Reason.NO_ROOM, Reason.NODES_DOWN)


def check_play(play: Play, random: Random) -> int:
    """Asks at some steps of an episode, in three ways; returns at how many."""
    played, asked = play_through(play), 0
    blind = play.config.estimate in BLIND and play.config.missing_request_ms is not None
    for place in first_of_passes(play, played):
        if random.random() < 0.5:
            continue
        step, asked = played.steps[place], asked + 1
        decision = ask(play, step.simulation)
        check_answers(play, played, place, decision)
        check_starts(play, played, step, decision)
        check_same(ask(play, loaded(play, step.snapshot)), decision)
        if blind:
            other = replace(play, scene=with_another_future(play.scene, step.snapshot, random))
            check_same(ask(other, loaded(other, step.snapshot)), decision)
    return asked


def check_same(one: Decision, other: Decision) -> None:
    """Asserts that two decisions are the same, and so is all that was shown."""
    assert one == other
    for first, second in zip(one.answers, other.answers, strict=True):
        assert first.observation.tobytes() == second.observation.tobytes()
        assert first.mask.tobytes() == second.mask.tobytes()


@pytest.mark.every(4)
@pytest.mark.parametrize("mode", MODES)
@given(seed=SEEDS)
@examples(60)
def test_in_crowds_it_is_what_the_environment_does(mode: str, seed: int) -> None:
    random = Random(seed)
    play = crowd_play(random, mode)
    if random.random() < 0.7:
        play = replace(play, config=replace(play.config, estimate=random.choice(BLIND), missing_request_ms=4000))
    check_play(endless(play), random)


@pytest.mark.parametrize("mode", MODES)
@given(data=st.data(), seed=SEEDS)
@examples(25)
def test_it_is_what_the_environment_does(mode: str, data: st.DataObject, seed: int) -> None:
    check_play(endless(data.draw(random_plays(modes=[mode]))), Random(seed))


@given(play=random_host_plays(), seed=SEEDS)
@examples(60)
def test_hosts_are_those_of_the_environment(play: Play, seed: int) -> None:
    play = endless(play)
    check_play(replace(play, config=replace(play.config, missing_request_ms=4000)), Random(seed))


def test_there_is_much_to_ask() -> None:
    random = Random("much")
    for mode in MODES:
        assert sum(check_play(endless(crowd_play(random, mode)), random) for _ in range(10)) > 20
