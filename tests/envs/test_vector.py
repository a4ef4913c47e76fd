"""Many environments at once do what each would do alone."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from numpy.typing import NDArray

from shunter.envs import EpisodeOptions, NativeVectorEnv, PickJobOptions, RewardOptions, make_vec, pick_job_vector
from shunter.envs.pick_host import PickHostEnv
from shunter.envs.pick_job import PickJobEnv
from shunter.envs.resets import LEAVE
from shunter.envs.rewards import TOTALS
from shunter.errors import InputError
from shunter.model.log import Log
from tests.envs.small import MODES, allowed_action, crowded_log, play, vector_of

LOG = crowded_log(3)
JOB: dict[str, Any] = {
    "workload": LOG.workload, "cluster": LOG.cluster, "part": (0, 1), "length": 9, "window": 5, "warmup": 2,
    "order": "sjf", "reward": {"bounded_slowdown": 1.0, "balance": 3.0}, "invalid_penalty": 0.25,
}  # fmt: skip
HOST: dict[str, Any] = {"num_hosts": 3, "episode_length": 4, "episodes": 7, "reward": "balance"}

Trajectory = list[tuple[NDArray[Any], ...]]


def rolled(vector: NativeVectorEnv, steps: int, seed: int | None = 5, forbidden: bool = False) -> Trajectory:
    """Returns everything that steps with random actions give, allowed ones or any."""
    random = np.random.default_rng(1)
    observations, info = vector.reset(seed=seed)
    seen: Trajectory = [(observations, info["action_mask"])]
    for _ in range(steps):
        any_action = random.integers(0, vector.layout.actions, vector.num_envs)
        chosen = any_action if forbidden else allowed_action(seen[-1][-1], random)
        observations, rewards, terminated, truncated, info = vector.step(chosen)
        seen.append((rewards, terminated, truncated, info["invalid_action"], observations, info["action_mask"]))
    return seen


def same(left: Trajectory, right: Trajectory) -> bool:
    return all(
        np.array_equal(one, other)
        for step, step_of_other in zip(left, right, strict=True)
        for one, other in zip(step, step_of_other, strict=True)
    )


@pytest.mark.parametrize("mode", MODES)
def test_equal_to_single_environments_step_for_step(mode: str) -> None:
    vector = make_vec("shunter/PickJob-v0", 5, mode=mode, **JOB)
    _check_equal(vector, [PickJobEnv(mode=mode, **JOB) for _ in range(5)])


def test_hosts_are_equal_to_single_environments_step_for_step() -> None:
    _check_equal(make_vec("shunter/PickHost-v0", 5, **HOST), [PickHostEnv(**HOST) for _ in range(5)])


def _check_equal(vector: NativeVectorEnv, singles: list[Any]) -> None:
    """Steps both; where an episode ends, the single one is put into the episode that the vector has drawn."""
    random, endings = np.random.default_rng(0), 0
    observations, info = vector.reset(seed=1)
    episodes = vector.view().episode
    for single, episode, observation in zip(singles, episodes, observations, strict=True):
        assert np.array_equal(single.reset(options={"episode": int(episode)})[0], observation)
    for _ in range(60):
        actions = random.integers(0, vector.layout.actions, vector.num_envs)
        observations, rewards, terminated, truncated, info = vector.step(actions)
        episodes = vector.view().episode
        for index, single in enumerate(singles):
            observation, reward, *ended, told = single.step(actions[index])
            assert (reward, *ended) == (rewards[index], terminated[index], truncated[index])
            assert told["invalid_action"] == info["invalid_action"][index]
            if any(ended):
                endings += 1
                assert info["_final_obs"][index]
                assert np.array_equal(info["final_obs"][index], observation)
                final = info["final_info"]
                assert np.array_equal(final["action_mask"][index], told["action_mask"])
                assert {name: final["totals"][name][index] for name in TOTALS} == told["totals"]
                observation, told = single.reset(options={"episode": int(episodes[index])})
            assert np.array_equal(observation, observations[index])
            assert np.array_equal(told["action_mask"], info["action_mask"][index])
    assert endings > 5


@pytest.mark.parametrize("id_and_keywords", [("shunter/PickJob-v0", JOB), ("shunter/PickHost-v0", HOST)])
def test_the_same_seed_gives_the_same_trajectory_whatever_the_threads(id_and_keywords: tuple[str, Any]) -> None:
    id, keywords = id_and_keywords
    one, two = (make_vec(id, 7, threads=threads, **keywords) for threads in (1, 2))
    trajectory = rolled(one, 80, forbidden=True)
    assert same(trajectory, rolled(two, 80, forbidden=True))
    assert same(trajectory, rolled(one, 80, forbidden=True))
    assert not same(trajectory, rolled(one, 80, seed=6, forbidden=True))
    assert sum(step[1].sum() for step in trajectory[1:]) > 10


def test_without_a_seed_the_drawing_goes_on() -> None:
    vector = make_vec("shunter/PickHost-v0", 16, **HOST)
    vector.reset(seed=1)
    first = vector.view().episode
    vector.reset()
    assert not np.array_equal(first, vector.view().episode)
    vector.reset(seed=1)
    assert np.array_equal(first, vector.view().episode)


@pytest.mark.parametrize("id_and_keywords", [("shunter/PickJob-v0", JOB), ("shunter/PickHost-v0", HOST)])
def test_the_seed_that_environments_are_made_with_draws_too(id_and_keywords: tuple[str, Any]) -> None:
    id, keywords = id_and_keywords
    drawn = []
    for seed in (8, 8, 9):
        vector = make_vec(id, 32, seed=seed, **keywords)
        vector.reset()
        drawn.append(vector.view().episode.tolist())
    assert drawn[0] == drawn[1] != drawn[2]


def test_episodes_by_name() -> None:
    vector = make_vec("shunter/PickHost-v0", 3, **HOST)
    vector.reset(options={"episode": 6})
    assert vector.view().episode.tolist() == [6, 6, 6]
    vector.reset(options={"episode": [1, 2, 3]})
    assert vector.view().episode.tolist() == [1, 2, 3]


@pytest.mark.parametrize("id_and_keywords", [("shunter/PickJob-v0", JOB), ("shunter/PickHost-v0", HOST)])
def test_a_saved_state_goes_on_identically(id_and_keywords: tuple[str, Any]) -> None:
    id, keywords = id_and_keywords
    vector, other = (make_vec(id, 4, **keywords) for _ in range(2))
    random = np.random.default_rng(2)
    arrays, loaded = vector.step_arrays(), other.step_arrays()
    vector.reset_into(arrays.observations, arrays.masks)
    for _ in range(17):
        vector.step_into(allowed_action(arrays.masks, random), arrays)
    other.load_state(vector.state(), loaded.observations, loaded.masks)
    assert np.array_equal(arrays.observations, loaded.observations)
    for _ in range(40):
        assert np.array_equal(arrays.masks, loaded.masks)
        actions = allowed_action(arrays.masks, random)
        vector.step_into(actions, arrays)
        other.step_into(actions, loaded)
        assert np.array_equal(arrays.rewards, loaded.rewards)
        assert np.array_equal(arrays.observations, loaded.observations)
        assert np.array_equal(arrays.totals[arrays.terminated], loaded.totals[loaded.terminated])
    assert vector.state() == other.state()


def test_damaged_and_foreign_states_are_refused() -> None:
    vector, other = make_vec("shunter/PickHost-v0", 2, **HOST), make_vec("shunter/PickHost-v0", 3, **HOST)
    vector.reset(seed=1)
    other.reset(seed=1)
    arrays = vector.step_arrays()
    for state in (b"", vector.state()[:-1], other.state()):
        with pytest.raises(InputError):
            vector.load_state(state, arrays.observations, arrays.masks)


@pytest.mark.parametrize(
    "other",
    [
        {"mode": "feasible"},
        {"order": "wfp3"},
        {"estimate": "perfect"},
        {"reward": "wait"},
        {"log": True},
        {"lookahead": "off"},
        {"relative_to": "fcfs/easy"},
        {"horizon_factor": 5.0},
        {"max_steps": 40},
        {"warmup": 3},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_state_of_environments_with_other_options_is_refused(other: dict[str, Any]) -> None:
    vector, changed = make_vec("shunter/PickJob-v0", 2, **JOB), make_vec("shunter/PickJob-v0", 2, **JOB | other)
    vector.reset(seed=1)
    arrays = changed.step_arrays()
    with pytest.raises(InputError, match="belongs to other environments"):
        changed.load_state(vector.state(), arrays.observations, arrays.masks)


def test_a_reset_clears_what_stood_in_the_array() -> None:
    vector = make_vec("shunter/PickJob-v0", 2, **JOB)
    arrays, dirty = vector.step_arrays(), vector.step_arrays()
    dirty.observations[:] = 7.0
    vector.layout.split(dirty.observations)["jobs"][..., 0] = 0.0
    places = np.zeros(2, np.int64)
    vector.reset_into(arrays.observations, arrays.masks, places)
    vector.reset_into(dirty.observations, dirty.masks, places)
    assert (dirty.observations == arrays.observations).all()


def test_without_autoreset_one_begins_again_by_hand() -> None:
    vector = vector_of(LOG, num_envs=2)
    assert vector.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    random, arrays = np.random.default_rng(0), vector.step_arrays()
    _, infos = vector.reset(options={"episode": [0, 20]})
    terminated = np.zeros(2, np.bool_)
    while not terminated.any():
        observations, _, terminated, _, infos = vector.step(allowed_action(infos["action_mask"], random))
    assert np.array_equal(infos["_totals"], terminated)
    assert (infos["totals"]["completion"] == 1.0)[terminated].all()
    with pytest.raises(InputError, match="no episode under way; reset it"):
        vector.step_into(np.ones(2, np.int32), arrays)
    going, done = int(terminated.argmin()), int(terminated.argmax())
    vector.reset_into(arrays.observations, arrays.masks, np.where(terminated, 5, LEAVE))
    assert vector.view().episode[done] == 5
    assert np.array_equal(arrays.observations[going], observations[going])
    vector.step_into(allowed_action(arrays.masks, random), arrays)


def test_what_a_step_returns_is_the_callers_own() -> None:
    vector = make_vec("shunter/PickHost-v0", 6, **HOST)
    random, (_, infos) = np.random.default_rng(0), vector.reset(seed=3)
    kept: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
    for _ in range(40):
        *told, infos = vector.step(allowed_action(infos["action_mask"], random))
        seen: dict[Any, Any] = {**dict(enumerate(told)), **infos}
        kept.append((seen, deepcopy(seen)))
    assert any("final_obs" in seen for seen, _ in kept)
    for seen, copied in kept:
        assert data_equivalence(seen, copied)


def test_infos_say_of_which_environments_they_tell() -> None:
    vector = make_vec("shunter/PickHost-v0", 4, **HOST)
    singles = SyncVectorEnv([lambda: PickHostEnv(**HOST)] * 4, autoreset_mode=AutoresetMode.SAME_STEP)
    random, (_, infos) = np.random.default_rng(0), vector.reset(seed=3)
    singles.reset(options={"episode": 0})
    assert infos["_action_mask"].tolist() == [True] * 4
    ended = 0
    for _ in range(60):
        _, _, terminated, _, infos = vector.step(allowed_action(infos["action_mask"], random))
        *_, others = singles.step(singles.call("action_masks")[0].argmax().repeat(4))
        assert infos["_action_mask"].all()
        assert infos["_invalid_action"].all()
        assert ("final_info" in infos) == bool(terminated.any())
        if "final_info" in infos:
            ended += 1
            last = infos["final_info"]
            assert all(np.array_equal(infos[key], terminated) for key in ("_final_obs", "_final_info"))
            assert all(np.array_equal(last[key], terminated) for key in ("_action_mask", "_invalid_action", "_totals"))
            assert np.array_equal(last["totals"]["_wait"], terminated)
            assert not last["totals"]["steps"][~terminated].any()
            assert [one is None for one in infos["final_obs"]] == (~terminated).tolist()
        if "final_info" in infos and "final_info" in others:
            assert last["totals"].keys() == others["final_info"]["totals"].keys()
            assert last.keys() <= others["final_info"].keys()
    assert ended > 3


def test_gymnasiums_statistics_of_episodes() -> None:
    vector = RecordEpisodeStatistics(make_vec("shunter/PickHost-v0", 3, **HOST))
    random, (_, infos) = np.random.default_rng(0), vector.reset(seed=3)
    returns = np.zeros(3)
    for _ in range(40):
        _, rewards, terminated, _, infos = vector.step(allowed_action(infos["action_mask"], random))
        returns += rewards
        if terminated.any():
            assert np.array_equal(infos["_episode"], terminated)
            assert infos["episode"]["r"][terminated] == pytest.approx(returns[terminated])
            assert returns[terminated] == pytest.approx(infos["final_info"]["totals"]["reward"][terminated])
        returns[terminated] = 0.0


def test_simulations_are_copies() -> None:
    vector = vector_of(LOG)
    arrays, _ = play(vector, 3)
    simulation = vector.simulation(0)
    assert set(simulation.job_states().phase.tolist()) <= {3, 5}
    assert len(simulation.job_states().phase) == 15
    vector.reset_into(arrays.observations, arrays.masks, np.array([3]))
    assert simulation.status().waiting == 0
    assert vector.simulation(0).status().waiting > 0


def test_several_logs_are_numbered_through() -> None:
    logs = [crowded_log(1, jobs=20), crowded_log(2, jobs=30, hosts=3)]
    windows = [EpisodeOptions(part=(0, 1), length=10).windows_of(log) for log in logs]
    options = PickJobOptions(window=4, order="multifactor?priority=5")
    vector = pick_job_vector(logs, windows, options, RewardOptions(), num_envs=2)
    last = len(windows[0]) - 1
    assert vector.episodes == last + 1 + len(windows[1])
    vector.reset(options={"episode": [last, last + 1]})
    first = [int(windows[0].first[last]), int(windows[1].first[0])]
    assert [row[row >= 0].min() for row in vector.view().jobs] == first
    free = [vector.simulation(index).status().free_cores for index in range(2)]
    assert free == [log.cluster.total_cores for log in logs]


def test_an_order_with_shares_of_users_takes_one_log(tmp_path: Path) -> None:
    file = tmp_path / "fair.toml"
    file.write_text('[policy]\nkind = "fair-share"\n[policy.shares]\nada = 2.0\n')
    logs = [crowded_log(1), Log(crowded_log(1).workload.window(0, 2), crowded_log(1).cluster)]
    windows = [EpisodeOptions(part=(0, 1), length=1).windows_of(log) for log in logs]
    options = PickJobOptions(window=4, order=str(file))
    pick_job_vector(logs[:1], windows[:1], options, RewardOptions(), num_envs=1)
    with pytest.raises(InputError, match="the order has shares by user, and the logs have different users"):
        pick_job_vector(logs, windows, options, RewardOptions(), num_envs=1)


def test_a_window_of_a_workload_keeps_what_came_before() -> None:
    log = crowded_log(4)
    later = Log(log.workload.window(15, 20), log.cluster)
    vector = vector_of(later, episodes=EpisodeOptions(part=(0, 1), length=10))
    vector.reset(options={"episode": 0})
    first = int(EpisodeOptions(part=(0, 1), length=10).windows_of(later).first[0])
    assert vector.view().jobs[0, 0] == 15 + first
