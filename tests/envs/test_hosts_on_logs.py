"""PickHost on windows of a log, and learned placements in environments: what is learned is what a simulation does."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest

from shunter import Cluster, InputError, Workload, read_workload
from shunter.envs import EpisodeOptions, NativeVectorEnv, PickHostOptions, RewardOptions, make_vec
from shunter.envs.log_source import episode_windows, log_vector
from shunter.envs.network import NativeNetwork
from shunter.model.cluster import Node
from shunter.model.log import Log
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import Simulation
from tests.agents.untrained import opinionated, write_host_policy
from tests.envs.small import allowed_action
from tests.simulation.placers import CLUSTER, gpu_log

GANGS = Log(
    read_workload("generate:lublin?seed=3&jobs=300&cores=64&load=1.2&requests=factor"),
    Cluster.from_nodes(tuple(Node(f"n{number}", cores) for number, cores in enumerate((16, 8, 8, 24))), "four"),
)
GPUS = Log(gpu_log(3, jobs=120), CLUSTER)


def on_log(log: Log) -> NativeVectorEnv:
    """Returns one environment on windows of a log."""
    windows = episode_windows(log, EpisodeOptions(part=(0, 1), length=60, windows=4))
    options = PickHostOptions().on([log])
    return log_vector([log], [windows], options, RewardOptions("wait"), num_envs=1, autoreset=False)


@pytest.mark.parametrize("log", [GANGS, GPUS], ids=["gangs", "gpus"])
def test_an_episode_is_the_simulation_with_the_policy_as_placement(log: Log, tmp_path: Path) -> None:
    folder = Path(write_host_policy(tmp_path / "best", change=opinionated, num_hosts=len(log.cluster.nodes)))
    network, vector = NativeNetwork.load(folder), on_log(log)
    arrays = vector.step_arrays()
    scheduler = resolve_scheduler(dispatch="strict", placement=str(folder))
    for episode in range(vector.episodes):
        vector.reset_into(arrays.observations, arrays.masks, np.array([episode], dtype=np.int64))
        arrays.terminated[:] = False
        steps = 0
        while not arrays.terminated[0]:
            logits, _ = network.evaluate(arrays.observations, arrays.masks)
            vector.step_into(logits.argmax(axis=1).astype(np.int32), arrays)
            steps += 1
        played = vector.simulation(0).snapshot()
        first = int(vector.world.episodes["first"][episode])
        alone = Simulation(log.workload.window(first, 60), log.cluster, scheduler)
        alone.run()
        placed = alone.snapshot()
        for name in ("start_ms", "node_offsets", "nodes", "tasks", "devices", "millis"):
            assert np.array_equal(getattr(played, name), getattr(placed, name)), name
        assert steps > 60, "jobs of several tasks take several steps"


def test_environments_by_name() -> None:
    env = gymnasium.make("shunter/PickHost-v0", workload=GANGS.workload, cluster=GANGS.cluster, length=40, part=(0, 1))
    observation, info = env.reset(seed=1)
    assert observation.shape == (4 * 4 + 2,)
    assert info["action_mask"].shape == (4,)
    vector = make_vec("shunter/PickHost-v0", num_envs=3, workload="generate:eda?seed=1&jobs=400", length=20)
    assert vector.single_action_space == gymnasium.spaces.Discrete(20)
    with pytest.raises(InputError, match="host_cores is given with a workload, which has its own jobs and hosts"):
        make_vec("shunter/PickHost-v0", num_envs=1, workload=GANGS.workload, host_cores=(1, 2))
    with pytest.raises(InputError, match="leave cluster out, or give a workload with it"):
        make_vec("shunter/PickHost-v0", num_envs=1, cluster="64")
    with pytest.raises(InputError, match="64 is one node: there is no host to choose"):
        make_vec("shunter/PickHost-v0", num_envs=1, workload=GANGS.workload, cluster="64")
    with pytest.raises(InputError, match="unknown keyword 'episodes'"):
        make_vec("shunter/PickHost-v0", num_envs=1, workload=GANGS.workload, cluster=GANGS.cluster, episodes=3)


def test_a_state_knows_the_policy_that_places(tmp_path: Path) -> None:
    """Weights that differ decide otherwise: a state of environments with one policy is not one of another."""
    folder = tmp_path / "best"

    def opened() -> NativeVectorEnv:
        words = {"workload": GANGS.workload, "cluster": GANGS.cluster, "placement": str(folder), "window": 4}
        return make_vec("shunter/PickJob-v0", num_envs=2, length=30, **words)

    write_host_policy(folder, change=opinionated)
    one, same = opened(), opened()
    random = np.random.default_rng(0)
    _, infos = one.reset(seed=3)
    for _ in range(25):
        *_, infos = one.step(allowed_action(infos["action_mask"], random))
    arrays = same.step_arrays()
    same.load_state(one.state(), arrays.observations, arrays.masks)
    assert same.state() == one.state()
    write_host_policy(folder)
    other = opened()
    with pytest.raises(InputError, match="the state belongs to other environments"):
        other.load_state(one.state(), arrays.observations, arrays.masks)


def test_jobs_of_one_task_take_one_step_each() -> None:
    jobs = GPUS.workload.jobs.with_columns(tasks=1)
    vector = on_log(Log(Workload.from_frame(jobs, name="singles"), CLUSTER))
    arrays, random = vector.step_arrays(), np.random.default_rng(1)
    vector.reset_into(arrays.observations, arrays.masks, np.zeros(1, dtype=np.int64))
    steps = 0
    while not arrays.terminated[0]:
        vector.step_into(allowed_action(arrays.masks, random), arrays)
        steps += 1
    states = vector.simulation(0).job_states()
    assert steps == np.count_nonzero(states.start_ms >= 0)
