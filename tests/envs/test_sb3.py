"""Stable-Baselines3's maskable PPO learns in both environments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from shunter.envs import PickHostEnv, PickJobEnv
from shunter.envs.single import SingleEnv
from tests.envs.small import crowded_log

maskable = pytest.importorskip("sb3_contrib", reason="stable-baselines3 is for comparison only")


def pick_job() -> SingleEnv:
    log = crowded_log()
    return PickJobEnv(log.workload, log.cluster, part=(0, 1), length=12, window=6, lookahead_size=4)


def pick_host() -> SingleEnv:
    return PickHostEnv(num_hosts=3, episode_length=6, episodes=4, reward="balance")


@pytest.mark.parametrize("make", [pick_job, pick_host])
def test_maskable_ppo_trains(make: Callable[[], SingleEnv]) -> None:
    model = maskable.MaskablePPO("MlpPolicy", make(), n_steps=64, batch_size=32, n_epochs=2, seed=0, device="cpu")
    model.learn(256)
    assert model.num_timesteps == 256
    assert len(model.ep_info_buffer) > 3
    env = make()
    observation, _ = env.reset(seed=1)
    ended = False
    while not ended:
        action, _ = model.predict(observation, action_masks=env.action_masks(), deterministic=True)
        assert env.action_masks()[action]
        observation, _, ended, _, info = env.step(action)
    assert info["totals"]["invalid_actions"] == 0
    assert np.isfinite(info["totals"]["reward"])
