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
            "validation": {"windows": 2, "length": 32},
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


@pytest.mark.parametrize("mode", ["reserve", "feasible"])
@pytest.mark.parametrize("classic", ["saf/easy", "fcfs/strict", "sjf/greedy", "f2/conservative"])
def test_the_teacher_reproduces_a_classic_under_any_rule(classic: str, mode: str) -> None:
    config = _config(classic, mode=mode)
    assert _taught(config).tolist() == pytest.approx(_waits(config, *classic.split("/")))


def test_the_teacher_reproduces_the_starts_of_a_log(tmp_path: Path) -> None:
    workload = shunter.read_workload(CROWDED)
    run = shunter.simulate(workload, shunter.read_cluster("64"), policy="fcfs", dispatch="strict")
    path = tmp_path / "jobs.parquet"
    workload.jobs.with_columns(pl.Series("logged_wait_s", run.wait_s)).write_parquet(path)
    config = load_config(
        changes={
            "data": {"workload": [str(path)], "cluster": ["64"]},
            "environment": {"window": 200},
            "episodes": {"windows": 1, "length": 540, "part": [0.0, 0.6]},
            "training": {"imitate": LOG},
        }
    )
    # The first window begins with the log, on an empty cluster, as the run did; nobody passes anybody, so that later
    # jobs change nothing.
    assert _taught(config).tolist() == pytest.approx([run.wait_s[:540].mean()])


def test_a_log_without_starts_cannot_be_imitated() -> None:
    with pytest.raises(InputError, match="tells no starts to imitate; give a policy, as in --imitate saf/easy"):
        _taught(_config(LOG))


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("kind", "mix", "steps", "wanted"),
    [
        ("kernel", 0.0, 60_000, 0.85),
        # What it is shown are its own mistakes as well, where it takes most decisions itself.
        ("kernel", 0.8, 60_000, 0.65),
        # Attention takes six times as long, and is stopped earlier.
        ("attention", 0.0, 16_000, 0.75),
    ],
)
def test_networks_learn_what_the_teacher_does(kind: str, mix: float, steps: int, wanted: float) -> None:
    torch.set_num_threads(1)
    config = _config("saf/easy")
    config = replace(config, training=replace(config.training, imitate_mix=mix, imitate_steps=steps))
    source = _source(config)
    networks = [build(NetworkOptions(kind=kind), config.environment.layout, seed=seed) for seed in (0, 0)]
    short = replace(config, training=replace(config.training, imitate_steps=1))
    untaught, taught = imitate(networks[0], source, short), imitate(networks[1], source, config)
    assert untaught < 0.6
    assert taught > wanted


def test_imitation_is_the_same_for_the_same_seed() -> None:
    config = _config("sjf/easy")
    config = replace(config, training=replace(config.training, imitate_steps=4_096, imitate_mix=0.5))
    networks = [build(NetworkOptions(), config.environment.layout, seed=1) for _ in range(2)]
    for network in networks:
        imitate(network, _source(config), config)
    pairs = zip(*(network.parameters() for network in networks), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


@pytest.mark.usefixtures("few_classics")
@pytest.mark.parametrize("algorithm", ["ppo", "d3qn"])
def test_a_training_begins_with_what_was_imitated(algorithm: str, tmp_path: Path) -> None:
    run = shunter.train(
        LUBLIN,
        out=tmp_path / "run",
        steps=64,
        config={
            "training": {"algorithm": algorithm, "imitate": "saf/easy", "imitate_steps": 4_096},
            algorithm: {"num_envs": 4, "rollout_steps": 16, "minibatch": 32},
            "episodes": {"windows": 4, "length": 24},
            "validation": {"windows": 2, "length": 24},
            "report": {"windows": 2},
            "environment": {"window": 8},
        },
    )
    training = shunter.load_policy(run.folder / "initial").record.training
    assert training["imitated"] == "saf/easy"
    assert 0.3 < training["agreement"] <= 1.0


def test_hosts_are_not_imitated() -> None:
    config = load_config(preset="pick-host", changes={"training": {"imitate": "saf/easy"}})
    with pytest.raises(InputError, match="--imitate is for policies that choose jobs of a log"):
        Site.of(config).check()


@pytest.mark.parametrize(
    ("imitated", "error"),
    [
        ("saff/easy", r"--imitate saff/easy: unknown policy 'saff'; did you mean 'saf'\?"),
        ("saf/eazy", r"--imitate saf/eazy: unknown dispatch rule 'eazy'; did you mean 'easy'\?"),
        ("runs/first", r"--imitate runs/first: unknown dispatch rule 'first'"),
        (LOG, "tells no starts to imitate; give a policy, as in --imitate saf/easy"),
    ],
)
def test_unknown_teachers_are_one_line_before_anything_is_begun(imitated: str, error: str) -> None:
    with pytest.raises(InputError, match=error):
        Site.of(_config(imitated)).check()


@pytest.mark.parametrize("imitated", ["saf", "saf/3", "f2?origin=absolute/easy", "saf/easy"])
def test_teachers_with_and_without_a_rule(imitated: str) -> None:
    config = _config(imitated)
    Site.of(config).check()
    assert np.isfinite(_taught(config)).all()


def test_mixing_needs_somebody_to_imitate() -> None:
    with pytest.raises(InputError, match="imitate_mix means nothing without imitate; say whom"):
        load_config(changes={"training": {"imitate_mix": 0.5}})
