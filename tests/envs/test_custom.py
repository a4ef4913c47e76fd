"""Features and rewards of the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shunter.envs import (
    EpisodeOptions,
    JobView,
    NativeVectorEnv,
    PickJobOptions,
    RewardOptions,
    StepView,
    make_vec,
    pick_job_vector,
    register_feature,
    register_reward,
)
from shunter.envs import features as features_module
from shunter.envs import rewards as rewards_module
from shunter.envs.features import Feature
from shunter.envs.rewards import TOTALS, Reward
from shunter.errors import InputError
from tests.envs.small import allowed_action, crowded_log, play, vector_of

LOG = crowded_log(2)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Lets no test see what another has registered."""
    yield
    features_module._OWN.clear()
    rewards_module._OWN.clear()


def with_features(*names: str, **keywords: Any) -> NativeVectorEnv:  # noqa: ANN401 - passed on as they came
    return vector_of(LOG, options=PickJobOptions(window=6, lookahead_size=4, features=names), **keywords)


@pytest.mark.parametrize("autoreset", [False, True])
def test_a_feature_is_a_column_at_the_end_of_each_row(autoreset: bool) -> None:
    @register_feature("waited")
    def waited(view: JobView) -> NDArray[np.float64]:
        return view.wait_s / (view.wait_s + 3600)

    @register_feature("ben")
    def of_ben(view: JobView) -> NDArray[np.bool_]:
        return np.asarray(view.user == 1)

    vector = with_features("waited", "ben", num_envs=3, autoreset=autoreset)
    random, arrays = np.random.default_rng(0), vector.step_arrays()
    vector.reset_into(arrays.observations, arrays.masks)
    users = LOG.workload.jobs["user"].to_list()
    ended = 0
    for _ in range(60):
        jobs = vector.layout.split(arrays.observations)["jobs"]
        named = dict(zip(vector.layout.job_features, np.moveaxis(jobs, -1, 0), strict=True))
        assert np.allclose(named["waited"], named["wait_hours"], atol=1e-6)
        places = vector.view().jobs
        assert np.array_equal(named["ben"], [[p >= 0 and users[p] == "ben" for p in row] for row in places])
        vector.step_into(allowed_action(arrays.masks, random), arrays)
        done = arrays.terminated | arrays.truncated
        ended += int(done.sum())
        if not autoreset and done.any():
            break
    assert ended > 0


def test_features_change_nothing_else() -> None:
    register_feature("one")(lambda view: np.ones(view.present.shape))
    plain, own = vector_of(LOG, num_envs=4, autoreset=True), with_features("one", num_envs=4, autoreset=True)
    random = np.random.default_rng(0)
    arrays, with_column = plain.step_arrays(), own.step_arrays()
    plain.reset_into(arrays.observations, arrays.masks)
    own.reset_into(with_column.observations, with_column.masks)
    for _ in range(80):
        shown = own.layout.split(with_column.observations)["jobs"]
        assert np.array_equal(plain.layout.split(arrays.observations)["jobs"], shown[..., :-1])
        assert np.array_equal(shown[..., -1], shown[..., 0])
        actions = allowed_action(arrays.masks, random)
        plain.step_into(actions, arrays)
        own.step_into(actions, with_column)
        for name in ("masks", "rewards", "terminated", "totals", "final_masks"):
            assert np.array_equal(getattr(arrays, name), getattr(with_column, name))
        last = own.layout.split(with_column.final_observations)["jobs"][..., :-1]
        assert np.array_equal(plain.layout.split(arrays.final_observations)["jobs"], last)
    assert arrays.totals.any(axis=1).all()


def test_final_observations_have_the_column_too() -> None:
    register_feature("one")(lambda view: np.ones(view.present.shape))
    vector = with_features("one", num_envs=2, autoreset=True, max_steps=2)
    arrays, random = vector.step_arrays(), np.random.default_rng(0)
    vector.reset_into(arrays.observations, arrays.masks)
    for _ in range(2):
        vector.step_into(allowed_action(arrays.masks, random), arrays)
    assert arrays.truncated.all()
    jobs = vector.layout.split(arrays.final_observations)["jobs"]
    assert np.array_equal(jobs[..., -1], jobs[..., 0])
    assert jobs[..., -1].any(axis=1).all()


def test_a_feature_sees_the_jobs_of_its_own_log() -> None:
    seen: list[NDArray[np.float64]] = []

    @register_feature("spy")
    def spy(view: JobView) -> NDArray[np.float64]:
        seen.append(np.where(view.present, view.submit_s, np.nan))
        return np.zeros(view.present.shape)

    logs = [LOG, crowded_log(9, jobs=25)]
    windows = [EpisodeOptions(part=(0, 1), length=10, windows=2).windows_of(log) for log in logs]
    options = PickJobOptions(window=4, features=("spy",))
    vector = pick_job_vector(logs, windows, options, RewardOptions(), num_envs=2)
    vector.reset(options={"episode": [0, len(windows[0])]})
    for log, places, submit_s in zip(logs, vector.view().jobs, seen[-1], strict=True):
        expected = [log.workload.jobs["submit_s"][int(place)] for place in places if place >= 0]
        assert submit_s[~np.isnan(submit_s)].tolist() == expected != []


def test_what_is_known_of_a_job() -> None:
    views: list[JobView] = []

    @register_feature("spy")
    def spy(view: JobView) -> NDArray[np.float64]:
        views.append(view)
        return np.zeros(view.present.shape)

    play(with_features("spy"), 4)
    view = max(views, key=lambda one: int(one.present.sum()))
    assert view.present.sum() > 2
    place = 0
    job = {name: view.column(name)[0, place] for name in ("submit_s", "requested_s", "memory_mb_per_task", "priority")}
    row = LOG.workload.jobs.filter(submit_s=job["submit_s"]).row(0, named=True)
    assert view.submit_hour[0, place] == pytest.approx(row["submit_s"] % 86400 / 3600)
    assert view.gpus[0, place] == row["tasks"] * row["gpus_per_task"]
    for name, told in (("requested_s", view.requested_s), ("priority", view.priority)):
        expected = np.nan if row[name] is None else row[name]
        assert told[0, place] == pytest.approx(expected, nan_ok=True)
    assert np.isnan(view.memory_mb[0, place]) == (row["memory_mb_per_task"] is None)
    for secret in ("run_s", "logged_wait_s", "status"):
        with pytest.raises(InputError, match=f"unknown column '{secret}'"):
            view.column(secret)


def test_a_reward_is_a_term() -> None:
    @register_reward("waiting_users")
    def waiting_users(view: StepView) -> NDArray[np.float64]:
        return -view.waiting_jobs * view.elapsed_s / 3600

    plain, own = (
        vector_of(LOG, reward=RewardOptions(reward)) for reward in ({"wait": 1.0}, {"wait": 1.0, "waiting_users": 0.5})
    )
    _, rewards = play(plain, 7, seed=3)
    arrays, with_term = play(own, 7, seed=3)
    assert arrays.totals[0, TOTALS.index("reward")] == pytest.approx(sum(with_term))
    assert sum(with_term) < sum(rewards)
    final = vector_of(LOG, reward=RewardOptions({"wait": 1.0, "waiting_users": 0.5}, timing="final"))
    arrays, at_the_end = play(final, 7, seed=3)
    assert set(at_the_end[:-1]) == {0.0}
    assert at_the_end[-1] == pytest.approx(sum(with_term))
    assert arrays.totals[0, TOTALS.index("reward")] == pytest.approx(sum(with_term))


def test_elapsed_time_and_counts_of_a_step() -> None:
    seen: list[tuple[float, float, int, bool]] = []

    @register_reward("spy")
    def spy(view: StepView) -> NDArray[np.float64]:
        seen.append((view.now_s[0], view.elapsed_s[0], int(view.waiting_jobs[0]), bool(view.terminated[0])))
        return np.zeros(1)

    arrays, rewards = play(vector_of(LOG, reward=RewardOptions("spy")), 7)
    assert set(rewards) == {0.0}
    now_s, elapsed_s, waiting, terminated = zip(*seen, strict=True)
    assert sum(elapsed_s) == pytest.approx(arrays.totals[0, TOTALS.index("elapsed_s")])
    assert np.cumsum((now_s[0], *elapsed_s[:-1])) == pytest.approx(now_s)
    assert min(waiting) > 0
    assert terminated == (False,) * (len(seen) - 1) + (True,)


def test_each_episode_counts_for_itself() -> None:
    register_reward("steps")(lambda view: np.ones(view.now_s.shape))
    vector = vector_of(LOG, reward=RewardOptions("steps"), num_envs=3, autoreset=True)
    arrays, random = vector.step_arrays(), np.random.default_rng(0)
    vector.reset_into(arrays.observations, arrays.masks)
    ended = 0
    for _ in range(120):
        vector.step_into(allowed_action(arrays.masks, random), arrays)
        steps, reward = (arrays.totals[arrays.terminated, TOTALS.index(name)] for name in ("steps", "reward"))
        assert np.array_equal(steps, reward)
        ended += len(steps)
    assert ended > 6


def test_a_reward_of_hosts() -> None:
    register_reward("low_host")(lambda view: -view.action.astype(float))
    vector = make_vec("shunter/PickHost-v0", 2, num_hosts=3, episode_length=5, episodes=3, reward="low_host")
    _, info = vector.reset(seed=0)
    actions = allowed_action(info["action_mask"], np.random.default_rng(0))
    assert vector.step(actions)[1].tolist() == (-actions).tolist()


def test_a_saved_state_keeps_what_rewards_have_come_to() -> None:
    register_reward("steps")(lambda view: np.ones(view.now_s.shape))
    vector, other = (vector_of(LOG, reward=RewardOptions("steps", timing="final"), num_envs=2) for _ in range(2))
    arrays, loaded = vector.step_arrays(), other.step_arrays()
    vector.reset_into(arrays.observations, arrays.masks, np.array([0, 1]))
    random = np.random.default_rng(0)
    for _ in range(6):
        vector.step_into(allowed_action(arrays.masks, random), arrays)
    state = vector.state()
    other.load_state(state, loaded.observations, loaded.masks)
    while not loaded.terminated.any():
        other.step_into(allowed_action(loaded.masks, random), loaded)
    assert np.array_equal(loaded.rewards, np.where(loaded.terminated, loaded.totals[:, TOTALS.index("steps")], 0))
    with pytest.raises(InputError, match="cut short"):
        other.load_state(b"123", loaded.observations, loaded.masks)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda view: np.zeros(3), r"feature 'bad' gave shape \(3,\); expected \(1, 6\), one for each row"),
        (lambda view: np.full(view.present.shape, 2.0), "feature 'bad' gave 2.0; expected numbers from 0 to 1"),
        (lambda view: np.full(view.present.shape, np.nan), "feature 'bad' gave nan; expected numbers from 0 to 1"),
    ],
)
def test_mistakes_of_features(given: Feature, message: str) -> None:
    register_feature("bad")(given)
    with pytest.raises(InputError, match=message):
        with_features("bad").reset()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda view: 1.0, r"reward 'bad' gave shape \(\); expected \(1,\), one each"),
        (lambda view: np.full(1, np.inf), "reward 'bad' gave inf; expected finite numbers"),
    ],
)
def test_mistakes_of_rewards(given: Reward, message: str) -> None:
    register_reward("bad")(given)
    vector = vector_of(LOG, reward=RewardOptions("bad"))
    vector.reset()
    with pytest.raises(InputError, match=message):
        vector.step(np.ones(1, np.int64))


def test_names_of_shunters_own_are_taken() -> None:
    with pytest.raises(InputError, match="one of Shunter's own features has this name"):
        register_feature("priority")
    with pytest.raises(InputError, match="one of Shunter's own rewards has this name"):
        register_reward("wait")


def test_what_cannot_be_registered() -> None:
    def forgotten(view: JobView) -> float:
        return 0.0

    with pytest.raises(InputError, match=r"forgotten.* is no name; expected one in brackets, as in @register_feature"):
        register_feature(forgotten)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'' is no name"):
        register_feature("")
    with pytest.raises(InputError, match=r"register_feature\('three'\): 3 cannot be called; expected a function"):
        register_feature("three")(3)  # type: ignore[arg-type]
