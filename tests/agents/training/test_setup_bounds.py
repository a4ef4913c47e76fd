"""Bounds in training refer to the classic that was chosen on training days, log by log."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shunter.agents.training.setup import Site
from shunter.comparison.combinations import combine
from tests.agents.small_training import HOSTS, LUBLIN, small_site
from tests.agents.trying import host_trials, job_trials, placement_combination

OTHER = LUBLIN.replace("seed=3", "seed=4")
BOUNDS = {"bounds": {"wait": 1.5, "utilization": 0.9}, "relative_to": "fcfs/easy"}


def bounds_of(site: Site, **keywords: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401 - those of `environments`
    vector = site.environments(**keywords)
    rows = vector.world.episodes[["wait_bound_s", "utilization_bound"]].copy()
    vector.close()
    return rows


def test_each_log_has_the_bounds_of_its_own_classic() -> None:
    """With the estimate that the classic sees, whatever the environment shows."""
    environment = {"estimate": "perfect", "order": "fcfs"}
    site = small_site(data={"workload": [LUBLIN, OTHER]}, reward=BOUNDS, environment=environment)
    chosen = combine(["sjf", "laf"], ["easy"]).possible
    rows = bounds_of(site, chosen=chosen)
    expected: list[float] = []
    for group, one in zip(site.source.groups(site.config.episodes), chosen, strict=True):
        ((log, windows),) = group.parts
        trials = job_trials([log], [windows], site.config.environment)
        (found,) = trials.of_schedulers([one.scheduler], ["mean_wait_s"])
        expected += (1.5 * found["mean_wait_s"]).tolist()
    np.testing.assert_allclose(rows["wait_bound_s"], expected)
    assert len(rows) == 24
    other = bounds_of(site, chosen=chosen[::-1])
    assert (other["wait_bound_s"] != rows["wait_bound_s"]).any()


def test_hosts_have_the_bounds_of_the_chosen_placement() -> None:
    reward = {"reward": {"wait": 1.0}, "relative_to": "fcfs/strict", "bounds": {"wait": 2.0}}
    site = small_site(HOSTS, reward=reward)
    chosen = [placement_combination("best-fit")]
    trials = host_trials(site.config.environment, 6)
    (found,) = trials.of_schedulers([chosen[0].scheduler], ["mean_wait_s"])
    rows = bounds_of(site, chosen=chosen)
    np.testing.assert_allclose(rows["wait_bound_s"], 2.0 * found["mean_wait_s"])
    assert (rows["utilization_bound"] == -1).all()


def test_a_missed_bound_costs_what_it_exceeds_the_classic_by() -> None:
    """The last reward of an episode that always waits falls by the part by which its wait is too long."""
    site = small_site(reward={"bounds": {"wait": 0.0}, "relative_to": "fcfs/easy"}, ppo={"num_envs": 1})
    plain = small_site(reward={"relative_to": "fcfs/easy"}, ppo={"num_envs": 1})
    chosen = combine(["sjf"], ["easy"]).possible
    assert last_reward(site, chosen=chosen) < last_reward(plain, chosen=chosen)


def last_reward(site: Site, **keywords: Any) -> float:  # noqa: ANN401 - those of `environments`
    vector = site.environments(**keywords)
    arrays = vector.step_arrays()
    vector.reset_into(arrays.observations, arrays.masks, np.zeros(1, dtype=np.int64))
    while True:
        actions = arrays.masks.argmax(axis=1).astype(np.int32)
        vector.step_into(actions, arrays)
        if arrays.terminated[0]:
            vector.close()
            return float(arrays.rewards[0])


@pytest.mark.parametrize("base", [{}, BOUNDS])
def test_environments_are_as_many_with_bounds_as_without(base: dict[str, Any]) -> None:
    site = small_site(reward=base)
    vector = site.environments(combine(["sjf"], ["easy"]).possible)
    assert (vector.num_envs, vector.episodes, vector.autoreset) == (4, 12, True)
    vector.close()
