"""Policies written in Python order like the built-in ones, and like the reference where the order moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shunter import InputError, Policy, QueueView, Schedule
from shunter.simulation import simulate
from tests.properties.core_adapter import observe_row
from tests.properties.crowds import crowd, crowd_config
from tests.properties.observed import run_reference
from tests.properties.strategies import DISPATCHES, LEARNED_ESTIMATES, Scene, random_configs, random_scenes
from tests.reference.model import Config, RefJob, RefNode, Score
from tests.simulation.driving import settings_of, tables_of
from tests.support import examples

PAIR = Scene((RefNode(2000),), (RefJob(0, 5000), RefJob(0, 3000, requested_ms=4000, tasks=2)))


class Scored(Policy):
    """Scores by the very function that the reference is given."""

    def __init__(self, score: Score, jobs: Sequence[RefJob], moves: bool) -> None:
        self._score = score
        self._jobs = jobs
        self.moves = moves

    def score(self, queue: QueueView) -> NDArray[np.float64]:
        now_ms = round(queue.now_s * 1000)
        return np.array([self._score(place, self._jobs[place], now_ms) for place in queue.index.tolist()], dtype=float)


class Column(Policy):
    """Scores by one of the view's columns."""

    def __init__(self, column: str, moves: bool) -> None:
        self._column = column
        self.moves = moves

    def score(self, queue: QueueView) -> NDArray[np.float64]:
        return np.asarray(getattr(queue, self._column), dtype=np.float64)


COLUMNS = {"fcfs": "submit_s", "sjf": "estimate_s", "smallest": "size"}


def aging(place: int, job: RefJob, now_ms: int) -> float:
    """Shorter jobs first, but a wait counts three times."""
    return float(job.run_ms * job.tasks - 3 * (now_ms - job.submit_ms))


def restless(place: int, job: RefJob, now_ms: int) -> float:
    """An order that is another one at every instant, with many ties."""
    return float((now_ms * 7919 + place * 104_729) % 17)


def run_own(scene: Scene, config: Config, policy: Policy | str) -> Schedule:
    """Runs a scene under a policy; all else is as in the configuration."""
    settings_ = settings_of(replace(config, policy="fcfs")).settings.words()
    return simulate(*tables_of(scene), **{**settings_, "policy": policy})


def check_against_reference(scene: Scene, config: Config, score: Score, moves: bool) -> None:
    """Asserts that core and reference agree on a score written in Python."""
    schedule = run_own(scene, config, Scored(score, scene.jobs, moves))
    expected = run_reference(scene.jobs, scene.nodes, replace(config, policy=score, moving=moves))
    assert [observe_row(schedule, row) for row in range(len(schedule))] == expected


@pytest.mark.parametrize("moves", [True, False])
@examples(50)
@given(policy=st.sampled_from(list(COLUMNS)), scene=random_scenes(), config=random_configs())
def test_equals_the_built_in_policy(moves: bool, policy: str, scene: Scene, config: Config) -> None:
    config = replace(config, scan_depth=1000)
    own = run_own(scene, config, Column(COLUMNS[policy], moves))
    built_in = run_own(scene, config, policy)
    assert own.content_sha256 == built_in.content_sha256
    assert own.reject_reason.tolist() == built_in.reject_reason.tolist()


@examples(50)
@given(scene=random_scenes(), config=random_configs(estimates=LEARNED_ESTIMATES))
def test_equals_the_built_in_policy_where_estimates_are_learned(scene: Scene, config: Config) -> None:
    own, built_in = run_own(scene, config, Column("estimate_s", moves=True)), run_own(scene, config, "sjf")
    assert own.content_sha256 == built_in.content_sha256
    assert own.bases() == built_in.bases()


@pytest.mark.parametrize("score", [aging, restless])
@examples(50)
@given(scene=random_scenes(), config=random_configs())
def test_a_moving_order_equals_the_reference(score: Score, scene: Scene, config: Config) -> None:
    check_against_reference(scene, config, score, moves=True)


@pytest.mark.every(4)
@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_a_moving_order_equals_the_reference_in_crowds(dispatch: str) -> None:
    random = Random(dispatch)
    for _ in range(30):
        config = replace(crowd_config(random, dispatch), scan_depth=random.choice([1, 2, 3, 5, 1000]))
        check_against_reference(crowd(random), config, random.choice([aging, restless]), moves=True)


@examples(50)
@given(scene=random_scenes(), config=random_configs(), divisor=st.integers(1, 9))
def test_an_order_that_stands_still_equals_the_reference(scene: Scene, config: Config, divisor: int) -> None:
    """Negative scores and ties among them."""

    def score(place: int, job: RefJob, now_ms: int) -> float:
        return float(-(place % divisor) * job.cores_milli)

    check_against_reference(scene, config, score, moves=False)


class Recorder(Policy):
    """Keeps what it is shown."""

    def __init__(self, moves: bool) -> None:
        self.moves = moves
        self.seen: list[QueueView] = []

    def score(self, queue: QueueView) -> NDArray[np.float64]:
        self.seen.append(queue)
        return queue.submit_s


def test_what_a_moving_policy_sees() -> None:
    recorder = Recorder(moves=True)
    run_own(PAIR, Config(), recorder)
    first, second = recorder.seen
    assert (first.now_s, first.free_cores, first.total_cores) == (0.0, 2.0, 2.0)
    assert first.index.tolist() == [0, 1]
    assert first.estimate_s.tolist() == [5.0, 4.0]
    assert first.cores.tolist() == [1.0, 2.0]
    assert np.isnan(first.requested_s).tolist() == [True, False]
    assert first.user.tolist() == [-1, -1]
    assert (second.now_s, second.index.tolist(), second.wait_s.tolist()) == (5.0, [1], [5.0])


def test_a_policy_that_stands_still_is_asked_once() -> None:
    recorder = Recorder(moves=False)
    run_own(PAIR, Config(), recorder)
    (only,) = recorder.seen
    assert only.index.tolist() == [0, 1]


@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize(
    ("scores", "message"), [([1.0], "shape"), ([1.0, np.nan], "gave nan as a score"), ([1.0, np.inf], "gave inf")]
)
def test_scores_that_are_no_order_are_refused(moves: bool, scores: list[float], message: str) -> None:
    class Wrong(Policy):
        name = "wrong"

        def score(self, queue: QueueView) -> NDArray[np.float64]:
            return np.array(scores)

    wrong = Wrong()
    wrong.moves = moves
    with pytest.raises(InputError, match=f"policy 'wrong' .*{message}"):
        run_own(PAIR, Config(), wrong)


class Failing(Policy):
    """Has a mistake in it."""

    name = "failing"

    def score(self, queue: QueueView) -> NDArray[np.float64]:
        return np.array([float("one")] * len(queue.index))


def test_a_mistake_in_a_policy_is_told_in_one_line() -> None:
    workload, cluster = tables_of(PAIR)
    with pytest.raises(
        InputError,
        match=r"policy 'failing': score\(\) failed on a queue of 2 jobs \(.*py:\d+: ValueError: could",
    ):
        simulate(workload, cluster, policy=Failing())
