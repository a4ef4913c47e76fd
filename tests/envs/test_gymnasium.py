"""Both environments as Gymnasium sees them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import shunter.envs
from shunter.envs import NativeVectorEnv, PickHostEnv, PickJobEnv
from shunter.envs.queue_options import LOOKAHEADS
from shunter.envs.single import SingleEnv
from shunter.errors import InputError
from tests.envs.small import MODES, allowed_action, crowded_log

LUBLIN = "generate:lublin?seed=1&jobs=200&cores=64&load=1.2"
SMALL: dict[str, dict[str, Any]] = {
    "shunter/PickJob-v0": {"workload": LUBLIN, "length": 20, "window": 8, "warmup": 4},
    "shunter/PickHost-v0": {"num_hosts": 3, "episode_length": 5, "episodes": 8},
}


def make(id: str, **keywords: object) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(id, **SMALL[id] | keywords)


def inner(env: gymnasium.Env[Any, Any]) -> SingleEnv:
    """Returns the environment inside of Gymnasium's wrappers."""
    assert isinstance(env.unwrapped, SingleEnv)
    return env.unwrapped


@pytest.mark.parametrize("mode", MODES)
def test_check_env_of_every_mode(mode: str) -> None:
    check_env(make("shunter/PickJob-v0", mode=mode).unwrapped)


@pytest.mark.parametrize("lookahead", ["off", "per_gpu", "sorted"])
def test_check_env_of_every_lookahead(lookahead: str) -> None:
    check_env(make("shunter/PickJob-v0", lookahead=lookahead).unwrapped)


def test_lookaheads_differ_as_they_should() -> None:
    ahead = {}
    for lookahead in LOOKAHEADS:
        env = make("shunter/PickJob-v0", lookahead=lookahead, lookahead_size=7)
        _, info = env.reset(options={"episode": 30})
        for _ in range(6):
            observation, _, _, _, info = env.step(int(info["action_mask"][1:].argmax()) + 1)
        ahead[lookahead] = inner(env).layout.split(observation)["lookahead"]
    assert not ahead["off"].any()
    assert (np.diff(ahead["cdf"]) >= 0).all()
    assert (np.diff(ahead["sorted"]) >= 0).all()
    assert sorted(ahead["per_gpu"]) == ahead["sorted"].tolist() != ahead["cdf"].tolist()
    assert ahead["sorted"].any()


def test_check_env_of_hosts() -> None:
    check_env(make("shunter/PickHost-v0").unwrapped)


@pytest.mark.parametrize("id", SMALL)
def test_a_whole_episode(id: str) -> None:
    env = make(id)
    observation, info = env.reset(seed=3)
    random, ended, steps = np.random.default_rng(0), False, 0
    while not ended:
        assert env.observation_space.contains(observation)
        assert np.array_equal(info["action_mask"], inner(env).action_masks())
        assert (info["jobs"] >= 0).any()
        assert info["waiting_jobs"] > 0
        observation, _, terminated, truncated, info = env.step(allowed_action(info["action_mask"][None], random)[0])
        assert not info["invalid_action"]
        ended, steps = terminated or truncated, steps + 1
    assert (terminated, truncated) == (True, False)
    assert info["totals"]["steps"] == steps
    assert info["totals"]["completion"] == 1.0
    assert info["waiting_jobs"] == info["running_jobs"] == 0
    with pytest.raises(InputError, match="no episode under way"):
        env.step(0)
    env.reset()
    env.step(0)


def test_an_action_that_the_mask_forbids_is_told() -> None:
    env = make("shunter/PickJob-v0", invalid_penalty=0.5, reward={"wait": 1e-9})
    _, info = env.reset(seed=0)
    forbidden = int(np.flatnonzero(~info["action_mask"])[-1])
    _, reward, _, _, info = env.step(forbidden)
    assert info["invalid_action"] is True
    assert reward == pytest.approx(-0.5, abs=1e-3)


def test_the_seed_chooses_the_episode_and_options_name_it() -> None:
    env = make("shunter/PickJob-v0")
    chosen = [env.reset(seed=seed)[1]["episode_number"] for seed in range(8)]
    assert chosen == [env.reset(seed=seed)[1]["episode_number"] for seed in range(8)]
    assert len(set(chosen)) > 4
    observation, info = env.reset(options={"episode": 7})
    assert info["episode_number"] == 7
    assert np.array_equal(observation, env.reset(seed=99, options={"episode": 7})[0])
    for episode in (-1, inner(env).episodes, "7"):
        with pytest.raises(InputError, match=r"episode is .*; expected a whole number from 0 to"):
            env.reset(options={"episode": episode})
    with pytest.raises(InputError, match="option 'episodes' is unknown; there is 'episode'"):
        env.reset(options={"episodes": 7})


def test_rows_name_the_jobs_of_the_log() -> None:
    log = crowded_log()
    env = PickJobEnv(log.workload, log.cluster, part=(0, 1), length=10, window=5, estimate="perfect")
    observation, info = env.reset(options={"episode": 4})
    job = log.workload.jobs.row(int(info["jobs"][0]), named=True)
    row = env.layout.split(observation)["jobs"][0]
    told = dict(zip(env.layout.job_features, row.tolist(), strict=True))
    assert told["present"] == told["confidence"] == 1.0
    assert told["log_estimate"] == pytest.approx(np.log1p(max(job["run_s"], 1)) / 14, rel=1e-5)
    assert told["cores"] == pytest.approx(job["tasks"] * job["cores_per_task"] / log.cluster.total_cores)
    assert info["now_s"] >= job["submit_s"]


def test_vectors_by_gymnasiums_own_function() -> None:
    for id, keywords in SMALL.items():
        vector: Any = gymnasium.make_vec(id, num_envs=2, vectorization_mode="vector_entry_point", **keywords)
        assert isinstance(vector.unwrapped, NativeVectorEnv)
        assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        observations, info = vector.reset(seed=1)
        assert observations in vector.observation_space
        assert info["action_mask"].shape == (2, vector.single_action_space.n)
        vector.close()
        vector.close()


def test_a_log_that_tells_of_no_machine_needs_one() -> None:
    with pytest.raises(InputError, match="crowd: does not tell how many cores its machine had; give --cluster with"):
        PickJobEnv(crowded_log().workload)


def test_names_are_imported_on_first_use() -> None:
    assert {shunter.envs.PickJobEnv, shunter.envs.PickHostEnv} == {PickJobEnv, PickHostEnv}
    for name in shunter.envs.__all__:
        assert getattr(shunter.envs, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'PickUser'"):
        shunter.envs.PickUser  # noqa: B018


@pytest.mark.parametrize(
    ("id", "keywords", "message"),
    [
        ("shunter/PickJob-v0", {}, 'workload=.*gymnasium.make."shunter/PickJob-v0", workload="generate:lublin'),
        ("shunter/PickJob-v0", {"worklaod": LUBLIN}, "unknown keyword 'worklaod'; did you mean 'workload'?"),
        ("shunter/PickJob-v0", {"workload": LUBLIN, "widnow": 8}, "unknown keyword 'widnow'; did you mean 'window'?"),
        ("shunter/PickJob-v0", {"workload": LUBLIN, "mode": "easy"}, "unknown mode 'easy'; .*reserve"),
        ("shunter/PickJob-v0", {"workload": LUBLIN, "reward": "waits"}, "unknown reward 'waits'; did you mean 'wait'?"),
        ("shunter/PickJob-v0", {"workload": 7}, "workload is 7; expected"),
        ("shunter/PickHost-v0", {"num_host": 3}, "unknown keyword 'num_host'; did you mean 'num_hosts'?"),
        ("shunter/PickHost-v0", {"clustr": "4"}, "unknown keyword 'clustr'; did you mean 'cluster'?"),
    ],
)
def test_mistakes_are_told_in_one_line_by_both_ways_to_make(id: str, keywords: dict[str, Any], message: str) -> None:
    for make_it in (gymnasium.make, lambda id, **given: gymnasium.make_vec(id, num_envs=2, **given)):
        with pytest.raises(InputError, match=message) as error:
            make_it(id, **keywords)
        assert "\n" not in str(error.value)


def test_the_example_in_the_error_works() -> None:
    with pytest.raises(InputError) as error:
        gymnasium.make("shunter/PickJob-v0")
    workload = str(error.value).partition('workload="')[2].partition('"')[0]
    gymnasium.make("shunter/PickJob-v0", workload=workload, length=20).reset(seed=1)
