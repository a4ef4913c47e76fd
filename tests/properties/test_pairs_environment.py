"""PickJobAndType in the core equals the reference, and a policy that takes the order's choice equals the classic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shunter.envs.log_source import log_vector
from shunter.envs.pick_job_and_type import PickJobAndTypeOptions
from shunter.envs.rewards import TOTALS, RewardOptions
from shunter.envs.vector import NativeVectorEnv
from shunter.model.log import Log
from shunter.model.windows import Windows
from shunter.simulation.simulation import Simulation
from tests.properties.gpu_adapter import gpu_cluster, gpu_settings, gpu_workload
from tests.properties.gpu_strategies import gpu_configs, gpu_scenes
from tests.properties.strategies import Scene
from tests.reference.environment_pairs import SeenPairs, pair_decisions, types_of
from tests.reference.model import Config, Result
from tests.reference.state import State
from tests.support import examples

POLICIES = ["fcfs", "sjf", "saf", "largest", "wfp3", "qssf", "linear?estimate=1&size=0.3&wait=0.1"]
PLACEMENTS = ["fastest", "first-fit", "pack", "spread", "best-fit"]
SEEDS = st.integers(0, 2**32)
NO_WINDOW = 20
"""More than any scene has jobs."""


@st.composite
def pair_scenes(draw: st.DrawFn) -> tuple[Scene, Config]:
    """Draws a scene with two or more types of GPUs, of which every GPU has one."""
    scene = draw(gpu_scenes())
    types = {node.gpu_type for node in scene.nodes if node.gpus}
    assume(len(types) > 1 and None not in types)
    assume(all(node.gpus for node in scene.nodes if node.gpu_type is not None))
    # A type has one speed, as in every cluster file: what a job loses apart is told by it.
    assume(len({(node.gpu_type, node.speed_milli) for node in scene.nodes if node.gpus}) == len(types))
    config = draw(gpu_configs(POLICIES, ["greedy"], PLACEMENTS))
    # The reference does not tell how sure the estimate `history` is.
    estimate = "last-two" if config.estimate == "history" else config.estimate
    # Locality costs speed here, but nobody waits for it: the options of environments have no such setting.
    settled = replace(config, mix=False, locality_wait_ms=0, locality_loss_micro=0, seed=config.seed % 2**53)
    return scene, replace(settled, estimate=estimate)


def open_pairs(scene: Scene, config: Config, window: int, num_envs: int = 1) -> NativeVectorEnv:
    """Returns environments on the scene."""
    assert isinstance(config.policy, str)
    told = gpu_settings(config).settings
    options = PickJobAndTypeOptions(
        order=config.policy,
        window=window,
        lookahead="off",
        lookahead_size=1,
        placement=config.placement,
        estimate=config.estimate,
        missing_request=told.missing_request,
        reserve_by=config.reserve_by,
        kill_at_request=config.kill_at_request,
        max_wait_s=told.max_wait_s,
        size_by=config.size_by,
        seed=config.seed,
    )
    log = Log(gpu_workload(scene), gpu_cluster(scene, config))
    reward = RewardOptions(reward={"turnaround": 1.0})
    whole = Windows.whole(len(scene.jobs))
    return log_vector([log], [whole], options, reward, num_envs=num_envs, autoreset=False)


def can_run(scene: Scene, config: Config) -> bool:
    """Tells whether any job can: otherwise there is no episode."""
    simulation = Simulation(gpu_workload(scene), gpu_cluster(scene, config), gpu_settings(config))
    return not (simulation.job_states().reject_reason > 0).all() and any(
        simulation.fits(job) for job in range(len(scene.jobs))
    )


Choose = Callable[[NDArray[np.float32], NDArray[np.bool_]], int]
Look = Callable[[NDArray[np.float32], NDArray[np.bool_]], None]


def played(
    env: NativeVectorEnv, choose: Choose, look: Callable[[NDArray[np.float32], NDArray[np.bool_]], None]
) -> dict[str, float]:
    """Plays an episode; returns what it came to, with the simulation left at its end."""
    arrays = env.step_arrays()
    env.reset_into(arrays.observations, arrays.masks, np.zeros(env.num_envs, np.int64))
    while True:
        look(arrays.observations[0], arrays.masks[0])
        actions = np.full(env.num_envs, choose(arrays.observations[0], arrays.masks[0]), np.int32)
        env.step_into(actions, arrays)
        if arrays.terminated[0]:
            return dict(zip(TOTALS, arrays.totals[0].tolist(), strict=True)) | {"reward": float(arrays.totals[0][-1])}


def schedule_of(simulation: Simulation) -> tuple[list[int], list[int], list[int]]:
    """Returns starts, ends and nodes."""
    states, placed = simulation.job_states(), simulation.snapshot()
    return states.start_ms.tolist(), states.end_ms.tolist(), placed.nodes.tolist()


def turnaround_s(simulation: Simulation, scene: Scene) -> float:
    """Returns the mean time from submit to end."""
    states = simulation.job_states()
    submit_ms = np.array([job.submit_ms for job in scene.jobs])
    ran = states.start_ms >= 0
    return float((states.end_ms - submit_ms)[ran].mean() / 1000)


@examples(15)
@given(drawn=pair_scenes(), window=st.sampled_from([NO_WINDOW, NO_WINDOW, 2]), seed=SEEDS)
def test_core_equals_reference(drawn: tuple[Scene, Config], window: int, seed: int) -> None:
    (scene, config), random = drawn, Random(seed)
    assume(can_run(scene, config))
    state = State(scene.jobs, scene.nodes, config, Result.blank(len(scene.jobs)), now_ms=scene.jobs[0].submit_ms)
    decisions = pair_decisions(state, window)
    expected: list[SeenPairs | None] = [next(decisions)]
    env = open_pairs(scene, config, window)
    types = len(types_of(state))

    def look(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> None:
        seen = expected[-1]
        assert seen is not None, "the core asks, and the reference does not"
        parts = env.layout.split(observation)
        assert mask.tolist() == seen.mask
        names = env.layout.cluster_features
        for name, value, right in zip(names, parts["cluster"].tolist(), seen.context, strict=True):
            assert abs(value - right) <= 1e-5, (name, value, right)
        for number, (values, rights) in enumerate(zip(parts["jobs"].tolist(), seen.rows, strict=True)):
            for name, value, right in zip(env.layout.job_features, values, rights, strict=True):
                assert abs(value - right) <= 1e-5, (divmod(number, types), name, value, right)

    def choose(_: NDArray[np.float32], mask: NDArray[np.bool_]) -> int:
        action = int(random.choice(np.flatnonzero(mask).tolist()))
        expected.append(next_seen(action))
        return action

    def next_seen(action: int) -> SeenPairs | None:
        try:
            return decisions.send(action)
        except StopIteration:
            return None

    totals = played(env, choose, look)
    assert expected[-1] is None
    simulation = env.simulation(0)
    states, result = simulation.job_states(), state.result
    assert states.start_ms.tolist() == [-1 if one is None else one for one in result.start_ms] or all(
        own == one for own, one in zip(states.start_ms.tolist(), result.start_ms, strict=True) if one is not None
    )
    assert [own for own, one in zip(states.end_ms.tolist(), result.end_ms, strict=True) if one is not None] == [
        one for one in result.end_ms if one is not None
    ]
    np.testing.assert_allclose(totals["turnaround"], turnaround_s(simulation, scene), rtol=1e-9)
    np.testing.assert_allclose(totals["reward"], -totals["turnaround"], rtol=1e-9)
    env.close()


@examples(20)
@given(drawn=pair_scenes())
def test_the_first_job_on_its_fastest_type_with_room_is_greedy_with_fastest(drawn: tuple[Scene, Config]) -> None:
    scene, config = drawn[0], replace(drawn[1], placement="fastest")
    assume(can_run(scene, config))
    env = open_pairs(scene, config, NO_WINDOW)
    types, speed = len(env.layout.types), env.layout.job_features.index("speed_of_best")

    def choose(observation: NDArray[np.float32], mask: NDArray[np.bool_]) -> int:
        speeds = env.layout.split(observation)["jobs"][:, speed].reshape(-1, types)
        allowed = mask[1:].reshape(-1, types)
        job = int(allowed.any(axis=1).argmax())
        return 1 + job * types + int(np.where(allowed[job], speeds[job], -1.0).argmax())

    played(env, choose, lambda *_: None)
    simulation = Simulation(gpu_workload(scene), gpu_cluster(scene, config), gpu_settings(config))
    assert simulation.run()
    assert schedule_of(env.simulation(0)) == schedule_of(simulation)
    env.close()


@examples(10)
@given(drawn=pair_scenes(), seed=SEEDS)
def test_a_saved_state_comes_back_and_a_vector_plays_as_one(drawn: tuple[Scene, Config], seed: int) -> None:
    (scene, config), random = drawn, Random(seed)
    assume(can_run(scene, config))
    one, two = (open_pairs(scene, config, 4, count) for count in (1, 2))
    own, both = one.step_arrays(), two.step_arrays()
    one.reset_into(own.observations, own.masks, np.zeros(1, np.int64))
    two.reset_into(both.observations, both.masks, np.zeros(2, np.int64))
    while not own.terminated[0]:
        np.testing.assert_array_equal(both.observations, np.repeat(own.observations, 2, axis=0))
        np.testing.assert_array_equal(both.masks, np.repeat(own.masks, 2, axis=0))
        if random.random() < 0.3:
            state, seen, allowed = one.state(), own.observations.copy(), own.masks.copy()
            one.reset_into(own.observations, own.masks, np.zeros(1, np.int64))
            one.load_state(state, own.observations, own.masks)
            np.testing.assert_array_equal(own.observations, seen)
            np.testing.assert_array_equal(own.masks, allowed)
        action = int(random.choice(np.flatnonzero(own.masks[0]).tolist()))
        one.step_into(np.array([action], np.int32), own)
        two.step_into(np.array([action] * 2, np.int32), both)
    np.testing.assert_array_equal(both.totals, np.repeat(own.totals, 2, axis=0))
    one.close()
    two.close()
