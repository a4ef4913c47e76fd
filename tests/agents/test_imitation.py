"""Imitation: the teacher does exactly what the classic does, and networks learn it, from their own mistakes too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from numpy.typing import NDArray

import shunter
from shunter.agents.imitation import LOG, imitate, teacher_of
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.training.config import TrainConfig, load_config
from shunter.agents.training.setup import Site
from shunter.envs import RewardOptions
from shunter.envs.log_source import LogSource
from shunter.envs.rewards import TOTALS
from shunter.errors import InputError
from tests.agents.small_training import LUBLIN

CROWDED = "generate:lublin?seed=5&jobs=900&cores=64&load=1.1&requests=factor"


def _config(imitated: str, workload: str = CROWDED, **environment: object) -> TrainConfig:
    return load_config(
        changes={
            "data": {"workload": [workload]},
            "environment": {"window": 96, **environment},
            "episodes": {"windows": 6, "length": 96, "part": [0.0, 0.6]},
            "training": {"imitate": imitated, "imitate_steps": 60_000},
        }
    )


def _source(config: TrainConfig) -> LogSource:
    source = Site.of(config).source
    assert isinstance(source, LogSource)
    return source


def _taught(config: TrainConfig) -> NDArray[np.float64]:
    """Returns the mean wait of each window as the teacher plays it."""
    source = _source(config)
    (log,), (windows,) = source.logs, source.windows(config.episodes)
    environments = source.vector(config.episodes, RewardOptions(), num_envs=len(windows))
    assert config.training.imitate is not None
    teacher = teacher_of(environments, [(log, windows)], source.options.scheduler, config.training.imitate, 1)
    arrays = environments.step_arrays()
    environments.reset_into(arrays.observations, arrays.masks, np.arange(len(windows)))
    waits = np.full(len(windows), np.nan)
    while np.isnan(waits).any():
        environments.step_into(teacher.actions(environments, arrays.masks).astype(np.int32), arrays)
        assert not arrays.invalid.any()
        ended = (arrays.terminated | arrays.truncated) & np.isnan(waits)
        waits[ended] = arrays.totals[ended, TOTALS.index("wait")]
    return waits


def _waits(config: TrainConfig, policy: str, dispatch: str) -> list[float]:
    """Returns the mean wait of each window under a classic."""
    source = _source(config)
    (log,), (windows,) = source.logs, source.windows(config.episodes)
    jobs = [log.workload.window(int(first), windows.simulated_length) for first in windows.simulated_first]
    runs = [shunter.simulate(each, log.cluster, policy=policy, dispatch=dispatch) for each in jobs]
    return [float(run.wait_s.mean()) for run in runs]


@pytest.mark.parametrize("mode", ["reserve", "free"])
@pytest.mark.parametrize("classic", ["saf/easy", "fcfs/strict", "sjf/greedy", "f2/conservative"])
def test_the_teacher_reproduces_a_classic_under_any_rule(classic: str, mode: str) -> None:
    config = _config(classic, mode=mode)
    assert _taught(config).tolist() == pytest.approx(_waits(config, *classic.split("/")))
