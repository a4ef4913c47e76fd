"""Advantages, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from shunter.agents.common.returns import explained_variance, generalized_advantages

GAMMA, LAMBDA = 0.9, 0.5


def _advantages(terminated: list[bool], truncated: list[bool], final: list[float], rewards: list[float]) -> list[float]:
    values = np.array([[1.0], [2.0], [4.0]], np.float32)
    column = [np.array(each)[:, None] for each in (rewards, terminated, truncated, final)]
    result = generalized_advantages(
        column[0],
        values,
        np.array([8.0], np.float32),
        column[1],
        column[2],
        column[3].astype(np.float32),
        gamma=GAMMA,
        gae_lambda=LAMBDA,
    )
    return [float(each) for each in result[:, 0]]


def test_an_episode_that_goes_on() -> None:
    none = [False] * 3
    last = 30 + 0.9 * 8 - 4
    middle = 20 + 0.9 * 4 - 2 + 0.45 * last
    first = 10 + 0.9 * 2 - 1 + 0.45 * middle
    assert _advantages(none, none, [0.0] * 3, [10, 20, 30]) == pytest.approx([first, middle, last])


def test_nothing_follows_a_termination() -> None:
    last = 30 + 0.9 * 8 - 4
    middle = 20 - 2
    first = 10 + 0.9 * 2 - 1 + 0.45 * middle
    found = _advantages([False, True, False], [False] * 3, [0.0, 77.0, 0.0], [10, 20, 30])
    assert found == pytest.approx([first, middle, last])


def test_a_truncation_is_worth_what_its_final_observation_promises() -> None:
    last = 30 + 0.9 * 8 - 4
    middle = 20 + 0.9 * 5 - 2
    first = 10 + 0.9 * 2 - 1 + 0.45 * middle
    found = _advantages([False] * 3, [False, True, False], [0.0, 5.0, 0.0], [10, 20, 30])
    assert found == pytest.approx([first, middle, last])


def test_termination_outweighs_truncation() -> None:
    both = _advantages([False, True, False], [False, True, False], [0.0, 5.0, 0.0], [10, 20, 30])
    assert both == pytest.approx(_advantages([False, True, False], [False] * 3, [0.0] * 3, [10, 20, 30]))


def test_environments_do_not_touch_each_other() -> None:
    random = np.random.default_rng(0)
    rewards, values = random.normal(size=(5, 3)), random.normal(size=(5, 3)).astype(np.float32)
    last, final = random.normal(size=3).astype(np.float32), random.normal(size=(5, 3)).astype(np.float32)
    terminated, truncated = random.random((2, 5, 3)) < 0.3
    together = generalized_advantages(rewards, values, last, terminated, truncated, final, gamma=0.97, gae_lambda=0.9)
    for one in range(3):
        at = slice(one, one + 1)
        alone = generalized_advantages(
            rewards[:, at],
            values[:, at],
            last[at],
            terminated[:, at],
            truncated[:, at],
            final[:, at],
            gamma=0.97,
            gae_lambda=0.9,
        )
        assert np.array_equal(alone[:, 0], together[:, one])


def test_explained_variance() -> None:
    returns = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    assert explained_variance(returns + 5, returns) == pytest.approx(1.0)
    assert explained_variance(np.zeros(4, np.float32), returns) == pytest.approx(0.0)
    assert explained_variance(-returns, returns) == pytest.approx(-3.0)
    assert explained_variance(returns, np.ones(4, np.float32)) == 0.0
