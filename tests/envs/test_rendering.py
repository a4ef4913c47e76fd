"""What `render` shows: a picture or a text of what runs and waits."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import shunter.envs  # noqa: F401 - registers the ids
from shunter.envs import PickHostEnv, PickJobEnv
from shunter.envs.rendering import as_text
from shunter.envs.scene import look_at
from shunter.envs.single import SingleEnv
from shunter.errors import InputError
from tests.envs.small import crowded_log
from tests.envs.test_gymnasium import SMALL

MODES = ["rgb_array", "ansi"]


def played(env: SingleEnv, steps: int) -> SingleEnv:
    """Returns the environment after some decisions, always for the first that is allowed but *wait*."""
    _, info = env.reset(seed=1)
    for _ in range(steps):
        _, _, terminated, _, info = env.step(int(info["action_mask"][1:].argmax()) + 1 if env.layout.may_wait else
                                             int(info["action_mask"].argmax()))  # fmt: skip
        assert not terminated
    return env


def small(id: str, **keywords: object) -> SingleEnv:
    env = gymnasium.make(id, **SMALL[id] | keywords).unwrapped
    assert isinstance(env, SingleEnv)
    return env


@pytest.mark.every(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("id", SMALL)
@pytest.mark.filterwarnings("error")
def test_gymnasium_finds_nothing_wrong(id: str, mode: str) -> None:
    keywords: dict[str, Any] = SMALL[id]
    env = gymnasium.make(id, render_mode=mode, **keywords)
    assert env.metadata["render_modes"] == MODES
    check_env(env.unwrapped)


@pytest.mark.parametrize("id", SMALL)
def test_a_picture_is_drawn_and_changes(id: str) -> None:
    env = small(id, render_mode="rgb_array")
    first, later = played(env, 1).render(), played(env, 8).render()
    assert first.shape == later.shape
    assert first.shape[2] == 3
    assert first.dtype == np.uint8
    # Something other than the paper is there, and it does not stand still.
    assert (first < 250).any(axis=2).mean() > 0.01
    assert (first != later).any()


def test_the_text_tells_who_runs_and_who_waits() -> None:
    log = crowded_log()
    env = PickJobEnv(log.workload, log.cluster, part=(0, 1), length=10, estimate="perfect", render_mode="ansi")
    text = played(env, 4).render()
    scene, (states, now_s) = look_at(env.vector, env.action_masks()), now(env)
    running = np.flatnonzero(states.phase == 2)
    assert scene.used == sum(cores_of(log, env, job) for job in running.tolist())
    assert [job.job_id for job in scene.running] == [job_id(log, env, int(job)) for job in running]
    for seen, job in zip(scene.running, running, strict=True):
        end_s = states.start_ms[job] / 1000 + log.workload.jobs["run_s"][first_of(env) + int(job)]
        assert seen.estimate_s == pytest.approx(end_s - now_s)
    waiting = np.flatnonzero(states.phase == 1)
    assert sorted(job.job_id for job in scene.waiting) == [job_id(log, env, int(job)) for job in waiting]
    assert [job.allowed for job in scene.waiting] == env.action_masks()[1 : 1 + len(waiting)].tolist()
    lines = text.splitlines()
    assert lines[1].startswith(f"{scene.used:g} of {log.cluster.total_cores:g} cores in use")
    assert f"{len(waiting)} waiting" in lines
    assert f"{len(running)} running" in lines
    assert all(any(str(job.job_id) in line for line in lines) for job in scene.running)


def now(env: SingleEnv) -> tuple[Any, float]:
    simulation = env.vector.simulation(0)
    return simulation.job_states(), simulation.status().now_s


def first_of(env: SingleEnv) -> int:
    return int(env.vector.world.episodes[int(env.vector.view().episode[0])]["first"])


def job_id(log: Any, env: SingleEnv, job: int) -> int:  # noqa: ANN401 - a log
    return int(log.workload.jobs["job_id"][first_of(env) + job])


def cores_of(log: Any, env: SingleEnv, job: int) -> float:  # noqa: ANN401 - a log
    row = log.workload.jobs.row(first_of(env) + int(job), named=True)
    return float(row["tasks"] * row["cores_per_task"])


def test_long_lists_are_cut() -> None:
    env = small("shunter/PickHost-v0", num_hosts=2, max_jobs_per_step=40, render_mode="ansi")
    text = played(env, 5).render()
    assert "more" in text
    assert max(map(len, text.splitlines())) < 100


def test_nothing_is_rendered_without_a_mode() -> None:
    assert played(small("shunter/PickHost-v0"), 1).render() is None


def test_an_episode_that_is_over_can_be_rendered() -> None:
    env = PickHostEnv(num_hosts=2, episode_length=1, max_jobs_per_step=1, episodes=1, render_mode="ansi")
    env.reset(seed=0)
    env.step(0)
    assert "0 running" in env.render()
    assert "0 waiting" in as_text(look_at(env.vector, env.action_masks()))


def test_mistakes() -> None:
    with pytest.raises(InputError, match=r"unknown render_mode 'rgb'; .* known ones are rgb_array, ansi"):
        PickHostEnv(render_mode="rgb")
    env = PickHostEnv(episodes=1, render_mode="ansi")
    with pytest.raises(InputError, match=r"nothing to render yet; call reset\(\) first"):
        env.render()
