"""The native vector environment as Stable-Baselines3 sees it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

from shunter.envs import PickHostEnv, make_vec
from shunter.errors import InputError
from tests.envs.small import allowed_action, crowded_log

maskable = pytest.importorskip("sb3_contrib", reason="stable-baselines3 is for comparison only")

from sb3_contrib.common.maskable.evaluation import evaluate_policy  # noqa: E402
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported  # noqa: E402
from stable_baselines3.common.monitor import Monitor  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize  # noqa: E402

from shunter.envs.sb3 import Sb3VecEnv  # noqa: E402

LOG = crowded_log()
JOB: dict[str, Any] = {
    "id": "shunter/PickJob-v0", "workload": LOG.workload, "cluster": LOG.cluster,
    "part": (0, 1), "length": 12, "window": 6, "lookahead_size": 4,
}  # fmt: skip
HOST: dict[str, Any] = {
    "id": "shunter/PickHost-v0", "num_hosts": 3, "episode_length": 6, "episodes": 4, "reward": "balance",
}  # fmt: skip


def hosts(count: int = 4, **keywords: Any) -> Sb3VecEnv:  # noqa: ANN401 - passed on as they came
    return Sb3VecEnv(make_vec(num_envs=count, **HOST | keywords))


@pytest.mark.parametrize("keywords", [JOB, HOST], ids=["PickJob", "PickHost"])
def test_maskable_ppo_trains(keywords: dict[str, Any]) -> None:
    env = Sb3VecEnv(make_vec(num_envs=4, **keywords))
    model = maskable.MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=2, seed=0, device="cpu")
    model.learn(256)
    assert model.num_timesteps == 256
    ended = list(model.ep_info_buffer)
    assert len(ended) > 3
    assert all(one["l"] > 1 and np.isfinite(one["r"]) for one in ended)
    returns, lengths = evaluate_policy(model, env, n_eval_episodes=4, return_episode_rewards=True)
    assert np.shape(returns) == np.shape(lengths) == (4,)


def test_it_does_what_single_environments_do() -> None:
    """Steps both with Stable-Baselines3's own vector; where an episode ends, the single ones follow the native draw."""
    env: Any = hosts(3, max_steps=28)
    others: Any = DummyVecEnv([lambda: Monitor(single_host())] * 3)
    env.set_options([{"episode": place} for place in (0, 3, 1)])
    others.set_options([{"episode": place} for place in (0, 3, 1)])
    assert np.array_equal(env.reset(), others.reset())
    random, ended, cut = np.random.default_rng(0), 0, 0
    for _ in range(90):
        masks = get_action_masks(env)
        assert np.array_equal(masks, get_action_masks(others))
        actions = allowed_action(masks, random)
        observations, rewards, dones, infos = env.step(actions)
        _, expected, other_dones, other_infos = others.step(actions)
        assert rewards.dtype == expected.dtype
        assert np.array_equal(rewards, expected)
        assert np.array_equal(dones, other_dones)
        for place in np.flatnonzero(dones):
            told, other = infos[place], other_infos[place]
            assert np.array_equal(told["terminal_observation"], other["terminal_observation"])
            assert told["TimeLimit.truncated"] == other["TimeLimit.truncated"]
            assert told["episode"]["l"] == other["episode"]["l"]
            assert told["episode"]["r"] == pytest.approx(other["episode"]["r"], abs=1e-5)
            ended, cut = ended + 1, cut + int(told["TimeLimit.truncated"])
        if dones.any():
            for place in np.flatnonzero(dones):
                episode = int(env.vector.view().episode[place])
                others.buf_obs[None][place] = others.envs[place].reset(options={"episode": episode})[0]
        assert np.array_equal(observations, others.buf_obs[None])
    assert ended > cut > 0


def single_host() -> PickHostEnv:
    keywords = {key: value for key, value in HOST.items() if key != "id"}
    return PickHostEnv(max_steps=28, **keywords)


def test_what_is_returned_is_the_callers_own() -> None:
    env: Any = hosts()
    seen = [env.reset(), env.action_masks()]
    kept = [array.copy() for array in seen]
    for _ in range(40):
        observations, rewards, dones, infos = env.step(allowed_action(env.action_masks(), np.random.default_rng(0)))
        last = [info["terminal_observation"] for info in infos if info]
        told = [observations, rewards, dones, env.action_masks(), *env.env_method("action_masks"), *last]
        seen += told
        kept += [array.copy() for array in told]
    assert all(np.array_equal(one, other) for one, other in zip(seen, kept, strict=True))


def test_seeds_are_those_of_single_environments() -> None:
    env, single = hosts(), single_host()
    assert env.seed(5) == [5, 6, 7, 8]
    env.reset()
    expected = [single.reset(seed=seed)[1]["episode_number"] for seed in (5, 6, 7, 8)]
    assert env.vector.view().episode.tolist() == expected
    env.set_options({"episode": 2})
    env.reset()
    assert env.vector.view().episode.tolist() == [2] * 4
    env.seed(-3)
    with pytest.raises(InputError, match="seed is -3; expected a whole number"):
        env.reset()


def test_options_are_used_once_and_checked() -> None:
    env = hosts(16)
    env.set_options({"episode": 2})
    env.reset()
    env.reset()
    assert len(set(env.vector.view().episode.tolist())) > 1
    env.set_options({"episodes": 2})
    with pytest.raises(InputError, match="unknown reset option 'episodes'"):
        env.reset()


def test_methods_and_attributes() -> None:
    env = hosts()
    env.reset()
    assert is_masking_supported(env)
    assert np.array_equal(np.stack(env.env_method("action_masks", indices=[2, 0])), env.action_masks()[[2, 0]])
    assert np.array_equal(env.get_attr("action_masks", indices=1)[0](), env.action_masks()[1])
    assert env.get_attr("layout") == [env.vector.layout] * 4
    assert not env.has_attr("hosts")
    assert env.env_is_wrapped(Monitor) == [True] * 4
    assert env.env_is_wrapped(TimeLimit, indices=0) == [False]
    with pytest.raises(AttributeError, match="no method 'render' of their own"):
        env.env_method("render")
    with pytest.raises(InputError, match="layout cannot be set"):
        env.set_attr("layout", None)
    env.close()
    env.close()


def test_wrappers_of_stable_baselines_go_over_it() -> None:
    env = VecNormalize(hosts(), norm_obs=False)
    env.reset()
    env.step(allowed_action(np.stack(env.env_method("action_masks")), np.random.default_rng(0)))


def test_environments_that_stop_when_they_are_done_are_refused() -> None:
    with pytest.raises(InputError, match="make them with autoreset"):
        hosts(autoreset=False)


def test_without_stable_baselines_one_line_says_what_to_install() -> None:
    script = "import sys; sys.modules['stable_baselines3'] = None\nimport shunter.envs.sb3"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "InputError: shunter.envs.sb3 needs Stable-Baselines3, which is not installed; pip install" in done.stderr
