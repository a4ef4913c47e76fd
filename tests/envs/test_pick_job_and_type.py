"""``shunter/PickJobAndType-v0``: its contract, and what it says of clusters on which there is nothing to choose."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import shunter.envs
from shunter import Cluster, InputError
from shunter.envs import PickJobAndTypeEnv
from shunter.model.cluster import Node

JOBS = "generate:helios-like?jobs=300&nodes=3&seed=5&kinds=gavel-like"
GIVEN: dict[str, Any] = {"workload": JOBS, "cluster": "gavel-like", "length": 60, "window": 5}


def test_it_keeps_gymnasiums_contract() -> None:
    env = gymnasium.make("shunter/PickJobAndType-v0", **GIVEN).unwrapped
    assert isinstance(env, PickJobAndTypeEnv)
    check_env(env, skip_render_check=True)
    layout = env.layout
    assert layout.types == ("V100", "P100", "K80")
    assert layout.actions == 5 * 3 + 1
    assert env.observation_space.shape == (layout.observation_size,)


def test_a_seed_gives_the_same_episode() -> None:
    one, other = (PickJobAndTypeEnv(**GIVEN) for _ in range(2))
    for _ in range(2):
        np.testing.assert_array_equal(one.reset(seed=7)[0], other.reset(seed=7)[0])
    steps = [env.step(1 + int(np.flatnonzero(env.action_masks()[1:])[0])) for env in (one, other)]
    np.testing.assert_array_equal(steps[0][0], steps[1][0])


def test_it_renders() -> None:
    env = gymnasium.make("shunter/PickJobAndType-v0", render_mode="ansi", **GIVEN)
    env.reset(seed=1)
    assert "*" in str(env.render())


def test_each_row_is_a_job_on_a_type() -> None:
    env = PickJobAndTypeEnv(**GIVEN)
    observation, info = env.reset(seed=3)
    layout = env.layout
    rows = layout.split(observation)["jobs"]
    flags = rows[:, [layout.job_features.index(f"on_type_{place}") for place in (1, 2, 3)]]
    shown = info["jobs"] >= 0
    np.testing.assert_array_equal(flags[shown], np.tile(np.eye(3), (int(shown.sum()) // 3, 1)))
    assert (info["jobs"].reshape(-1, 3)[:, :1] == info["jobs"].reshape(-1, 3)).all()
    fits = rows[:, layout.job_features.index("fits")] > 0
    np.testing.assert_array_equal(info["action_mask"][1:], fits)


@pytest.mark.parametrize(
    ("gpu_type", "told"),
    [
        ("V100", "the cluster has V100: give a cluster with two or more, or take pick-job"),
        (None, "node a of alike has GPUs without a type; give its gpu_type"),
    ],
)
def test_a_cluster_without_a_choice(gpu_type: str | None, told: str) -> None:
    alike = Cluster.from_nodes(tuple(Node(name, 64, None, 8, gpu_type=gpu_type) for name in "ab"), "alike")
    with pytest.raises(InputError, match=told):
        gymnasium.make("shunter/PickJobAndType-v0", workload="generate:philly-like?jobs=2000", cluster=alike)


def test_types_in_another_order_are_another_cluster() -> None:
    with pytest.raises(InputError, match="chooses among the GPUs K80, V100, in this order; the cluster has V100, P100"):
        shunter.envs.make_vec("shunter/PickJobAndType-v0", 2, types=["K80", "V100"], **GIVEN)


def test_a_log_is_needed() -> None:
    with pytest.raises(InputError, match=r'PickJobAndType needs a log .*gymnasium.make\("shunter/PickJobAndType-v0"'):
        gymnasium.make("shunter/PickJobAndType-v0")
