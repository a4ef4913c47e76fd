"""The parts of an observation, as views of arrays and tensors."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from shunter.envs import Layout
from shunter.errors import InputError

JOBS = Layout("pick-job", window=3, lookahead_size=2, extra_features=("night", "big"))
HOSTS = Layout("pick-host", num_hosts=5)


def test_sizes_and_actions() -> None:
    assert (JOBS.observation_size, JOBS.actions) == (16 + 2 + 3 * (21 + 2), 4)
    assert (HOSTS.observation_size, HOSTS.actions) == (5 * 4 + 2, 5)
    assert JOBS.job_features[-3:] == ("held_back", "night", "big")
    assert (JOBS.cluster_features[0], HOSTS.cluster_features, HOSTS.job_features) == (
        "free_cores",
        (),
        ("cores", "memory"),
    )


def test_split_of_a_flat_observation() -> None:
    observation = np.arange(JOBS.observation_size, dtype=np.float32)
    parts = JOBS.split(observation)
    assert {name: part.shape for name, part in parts.items()} == {"cluster": (16,), "lookahead": (2,), "jobs": (3, 23)}
    assert parts["lookahead"].tolist() == [16, 17]
    assert parts["jobs"][1, 0] == 18 + 23


def test_split_gives_views_whatever_the_leading_dimensions() -> None:
    observations = np.zeros((4, 7, JOBS.observation_size), dtype=np.float32)
    JOBS.split(observations)["jobs"][2, 3, 1, -1] = 5
    assert observations[2, 3, 18 + 2 * 23 - 1] == 5
    hosts = np.zeros((6, HOSTS.observation_size), dtype=np.float32)
    parts = HOSTS.split(hosts)
    parts["hosts"][0, 4, 3], parts["job"][0, 1] = 8, 9
    assert hosts[0, -3:].tolist() == [8, 0, 9]


def test_split_of_tensors() -> None:
    import torch

    observations = torch.zeros((2, JOBS.observation_size))
    JOBS.split(observations)["jobs"][1, 0, 0] = 3.0
    assert observations[1, 18] == 3.0


def test_a_layout_survives_json() -> None:
    assert Layout(**json.loads(json.dumps(asdict(JOBS)))) == JOBS


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"layout kind is 'pick-me'; expected one of pick-job, pick-job-and-type, pick-host"
    ):
        Layout("pick-me")
