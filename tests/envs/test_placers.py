"""Environments whose placement lives in Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shunter.envs import EpisodeOptions, NativeVectorEnv, PickJobOptions, RewardOptions, make_vec, pick_job_vector
from shunter.envs.log_source import episode_windows
from shunter.errors import InputError
from shunter.model.log import Log
from shunter.model.schedule import Phase
from shunter.simulation.simulation import Simulation
from tests.envs.small import MODES, allowed_action, play, vector_of
from tests.simulation.driving import state_of
from tests.simulation.placers import CLUSTER, gpu_log, write_placers

LOG = Log(gpu_log(), CLUSTER)
OTHERS = """
from tests.simulation.placers import Declines, FirstFit


class Mine(FirstFit):
    name = "mine"


class Never(Declines):
    name = "never"
"""


@pytest.fixture
def others(tmp_path: Path) -> Path:
    """Returns a file with a first-fit in Python, ``Mine``, and with ``Never``, which declines."""
    path = tmp_path / "others.py"
    path.write_text(OTHERS)
    return path


def opened(placement: str, mode: str, **keywords: Any) -> NativeVectorEnv:  # noqa: ANN401 - passed on as they came
    """Returns environments on the GPU log."""
    options = PickJobOptions(window=6, lookahead_size=4, placement=placement, mode=mode)
    return vector_of(LOG, options=options, **keywords)


def played(vector: NativeVectorEnv, steps: int = 40) -> list[Any]:
    """Steps environments with allowed actions from a seed; returns all that can be seen on the way and at the end."""
    _, infos = vector.reset(seed=3)
    random = np.random.default_rng(0)
    seen: list[Any] = []
    for _ in range(steps):
        observations, rewards, *_, infos = vector.step(allowed_action(infos["action_mask"], random))
        seen.append((observations.tolist(), rewards.tolist()))
    return [*seen, *(state_of(vector.simulation(index)) for index in range(vector.num_envs))]


@pytest.mark.parametrize("mode", MODES)
def test_first_fit_in_python_is_the_cores(mode: str, others: Path) -> None:
    python, core = (opened(name, mode, num_envs=3, autoreset=True) for name in (f"{others}:Mine", "first-fit"))
    assert played(python) == played(core)


@pytest.mark.every(4)
@pytest.mark.parametrize("placement", ["milp", "my.py:LastFit"])
@pytest.mark.parametrize("mode", MODES)
def test_threads_change_nothing(mode: str, placement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_placers(tmp_path)
    monkeypatch.chdir(tmp_path)
    one, four = (opened(placement, mode, num_envs=5, threads=threads, autoreset=True) for threads in (1, 4))
    assert played(one) == played(four)


def test_the_placement_is_obeyed(tmp_path: Path) -> None:
    """What comes first on an empty cluster goes to the last nodes."""
    for placement, node in ((f"{write_placers(tmp_path)}:LastFit", 4), ("first-fit", 0)):
        vector = opened(placement, "feasible")
        _, infos = vector.reset(options={"episode": 0})
        random = np.random.default_rng(0)
        while not (nodes := vector.simulation(0).snapshot().nodes).size:
            *_, infos = vector.step(allowed_action(infos["action_mask"], random))
        assert nodes[0] == node


@pytest.mark.parametrize("mode", MODES)
def test_one_that_fails_is_an_error_of_the_step(mode: str, tmp_path: Path) -> None:
    vector = opened(f"{write_placers(tmp_path)}:Broken", mode)
    with pytest.raises(InputError, match=r"place\(\) failed \(.*my.py:28: RuntimeError: no idea\)"):
        play(vector, 0)


def test_one_that_fails_is_an_error_of_what_a_reward_needs(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"part": (0.0, 1.0), "length": 10, "placement": f"{write_placers(tmp_path)}:Broken"}
    make_vec("shunter/PickJob-v0", 1, workload=gpu_log(), cluster=CLUSTER, **asked)
    with pytest.raises(InputError, match=r"place\(\) failed \(.*my.py:28: RuntimeError: no idea\)"):
        make_vec("shunter/PickJob-v0", 1, workload=gpu_log(), cluster=CLUSTER, relative_to="fcfs", **asked)


@pytest.mark.parametrize("mode", MODES)
def test_an_episode_ends_where_one_always_declines(mode: str, others: Path) -> None:
    vector = opened(f"{others}:Never", mode)
    last, _ = play(vector, 0)
    assert last.terminated[0]
    assert set(vector.simulation(0).job_states().phase.tolist()) == {Phase.WAITING}


def test_a_saved_state_is_gone_on_from(others: Path) -> None:
    vector = opened(f"{others}:Mine", "reserve", num_envs=2, autoreset=True)
    played(vector, 25)
    state = vector.state()
    ends = []
    for _ in range(2):
        arrays, random = vector.step_arrays(), np.random.default_rng(5)
        vector.load_state(state, arrays.observations, arrays.masks)
        for _ in range(15):
            vector.step_into(allowed_action(arrays.masks, random), arrays)
        ends.append([state_of(vector.simulation(index)) for index in range(2)])
    assert ends[0] == ends[1]


def test_several_logs_are_refused(others: Path) -> None:
    windows = [episode_windows(LOG, EpisodeOptions(part=(0.0, 1.0), length=12))] * 2
    options = PickJobOptions(window=6, placement=f"{others}:Mine")
    with pytest.raises(InputError, match="placement 'mine' lives in Python, and knows one log and one cluster; train"):
        pick_job_vector([LOG, LOG], windows, options, RewardOptions(), num_envs=1)


def test_who_picks_hosts_has_no_placement() -> None:
    with pytest.raises(InputError, match="unknown keyword 'placement'"):
        make_vec("shunter/PickHost-v0", 2, placement="milp")


@pytest.mark.parametrize("mode", MODES)
def test_qssf_sorts_the_window_by_service(mode: str) -> None:
    """Always taking the first row that the order itself would take gives the schedule of qssf under the mode's rule."""
    options = PickJobOptions(window=len(LOG.workload), order="qssf", estimate="history", mode=mode)
    vector = vector_of(LOG, options=options, episodes=EpisodeOptions(part=(0.0, 1.0), length=len(LOG.workload)))
    held_back = vector.layout.job_features.index("held_back")
    arrays = vector.step_arrays()
    vector.reset_into(arrays.observations, arrays.masks, np.array([0]))
    while not arrays.terminated[0]:
        rows = arrays.masks[0, 1:] & (vector.layout.split(arrays.observations[0])["jobs"][:, held_back] == 0)
        action = int(rows.argmax()) + 1 if rows.any() else 0
        vector.step_into(np.array([action], dtype=np.int32), arrays)
    alone = Simulation(LOG.workload, LOG.cluster, options.scheduler)
    alone.run()
    assert state_of(vector.simulation(0)) == state_of(alone)
    first_come = Simulation(LOG.workload, LOG.cluster, replace(options, order="fcfs").scheduler)
    first_come.run()
    assert state_of(alone) != state_of(first_come)
