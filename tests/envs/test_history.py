"""The recent past in observations: nothing else changes with it, and it follows from the schedule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shunter.envs import Layout, PickJobEnv, PickJobOptions
from shunter.envs.layout import CLUSTER_FEATURES, HISTORY_FEATURES, JOB_FEATURES
from shunter.errors import InputError
from tests.envs.small import crowded_log

LOG = crowded_log(jobs=50, hosts=3)
WHOLE: dict[str, Any] = {"part": (0, 1), "length": 50}


def played(steps: int, **options: Any) -> tuple[PickJobEnv, Any]:  # noqa: ANN401 - options, and an array
    """Returns an environment after some decisions, always for the first row that may be chosen, and what it shows."""
    env = PickJobEnv(LOG.workload, LOG.cluster, **WHOLE, **options)
    observation, info = env.reset(options={"episode": 0})
    for _ in range(steps):
        observation, _, _, _, info = env.step(int(info["action_mask"][1:].argmax()) + 1)
    return env, observation


def test_the_rest_of_an_observation_stays_as_it_was() -> None:
    (plain, before), (telling, after) = played(25), played(25, history=3, history_interval_s="1m")
    assert plain.layout.cluster_features == CLUSTER_FEATURES
    assert plain.layout.job_features == JOB_FEATURES
    parts, others = plain.layout.split(before), telling.layout.split(after)
    assert np.array_equal(parts["cluster"], others["cluster"][:16])
    assert np.array_equal(parts["lookahead"], others["lookahead"])
    assert np.array_equal(parts["jobs"], others["jobs"])
    assert telling.layout.cluster_features[16:] == tuple(f"{name}_{k}" for k in (1, 2, 3) for name in HISTORY_FEATURES)
    assert others["cluster"][16:].any()


def test_what_is_told_follows_from_the_schedule() -> None:
    """A plain statement of each number, for one interval that holds all of the past."""
    env, observation = played(30, history=1, history_interval_s=100_000.0, estimate="perfect", order="sjf")
    told = dict(zip(env.layout.cluster_features, env.layout.split(observation)["cluster"].tolist(), strict=True))
    simulation = env.vector.simulation(0)
    states, now_ms = simulation.job_states(), simulation.status().now_s * 1000
    submit_ms = LOG.workload.jobs["submit_s"].to_numpy() * 1000
    came, ended = (submit_ms < now_ms).sum(), ((states.phase == 3) & (states.end_ms < now_ms)).sum()
    started = np.isin(states.phase, (2, 3)) & (states.start_ms < now_ms)
    assert told["arrivals_1"] == pytest.approx(np.log1p(came) / 10)
    assert told["ended_1"] == pytest.approx(np.log1p(ended) / 10)
    wait_s = (states.start_ms - submit_ms)[started].mean() / 1000
    assert told["started_wait_1"] == pytest.approx(np.log1p(wait_s) / 14, rel=1e-5)
    assert 0 < told["utilization_1"] < 1
    assert 0 < told["arrived_size_area_1"] < 1


def test_mistakes() -> None:
    with pytest.raises(InputError, match="history is -1; expected a whole number from 0"):
        PickJobOptions(history=-1)
    with pytest.raises(InputError, match=r"history_interval_s is 0; expected a number from 0\.001"):
        PickJobOptions(history_interval_s=0)
    assert Layout("pick-job", window=2, history=2).observation_size == 16 + 10 + 2 * 21
