"""Plays episodes in the core's environment, as the reference environment plays them, and compares the two."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shunter.native import Handle, check, ffi, lib, opened, pointer
from shunter.simulate.core_config import core_config
from shunter.simulate.simulation import Simulation
from shunter.simulate.tables import open_cluster, open_jobs
from tests.properties import observed
from tests.properties.core_adapter import cluster_of, workload_of
from tests.properties.strategies import Scene
from tests.reference.environment import Environment, Limits, Seen, Step
from tests.reference.environment_features import JOB_FEATURES
from tests.reference.environment_hosts import pick_host
from tests.reference.environment_jobs import PickJobOptions, pick_job
from tests.reference.environment_rewards import BETTER, OBJECTIVES, Reward
from tests.reference.model import Config, RefJob, Result
from tests.reference.state import State
from tests.simulate.driving import observe, settings_of

MODE_NUMBERS = {"reserve": 0, "feasible": 1, "committed": 2, "committed-backfill": 3}
PICK_HOST_NUMBER = 4
LOOKAHEAD_NUMBERS = {"off": 0, "per_gpu": 1, "sorted": 2, "cdf": 3}
CLUSTER_FEATURES = 14
HOST_FEATURES = 4
TOTALS = len(OBJECTIVES) + 8
NO_LIMITS = Limits()


@dataclass(frozen=True)
class Play:
    """An episode and all that it needs to be told."""

    scene: Scene
    config: Config
    reward: Reward
    options: PickJobOptions | None = None
    """None: PickHost."""
    limits: Limits = NO_LIMITS
    before: tuple[RefJob, ...] = ()
    autoreset: bool = False

    @property
    def actions(self) -> int:
        """How many actions there are."""
        return len(self.scene.nodes) if self.options is None else self.options.window + 1

    @property
    def rows(self) -> int:
        """How many jobs are shown at most."""
        return 1 if self.options is None else self.options.window

    @property
    def numbers(self) -> int:
        """How many numbers an observation has."""
        if self.options is None:
            return HOST_FEATURES * len(self.scene.nodes) + 2
        return CLUSTER_FEATURES + self.options.lookahead.size + self.options.window * JOB_FEATURES


def reference_environment(play: Play) -> Environment:
    """Returns the reference environment at its first decision."""
    jobs = play.scene.jobs
    state = State(
        jobs, play.scene.nodes, play.config, Result.blank(len(jobs)), now_ms=jobs[0].submit_ms, before=play.before
    )
    if play.options is None:
        return pick_host(state, play.reward, play.limits)
    return pick_job(state, play.options, play.reward, play.limits)


class CoreEnvironment:
    """One environment of the core with one episode, at its first decision."""

    def __init__(self, play: Play) -> None:
        self.play = play
        workload, cluster = workload_of([*play.before, *play.scene.jobs]), cluster_of(play.scene.nodes)
        self._tables = (open_cluster(cluster), open_jobs(workload, cluster))
        config = core_config(settings_of(play.config), workload)
        priority = np.array([*[0.0] * len(play.before), *play.reward.priority], dtype=np.float64)
        self._handle = opened(
            lib.shunter_env_open,
            *(ffi.new("uint64_t[]", [self._tables[1].number]), 1),
            *(ffi.new("uint64_t[]", [self._tables[0].number]), 1),
            *(config.pointer, environment_config(play)),
            *(pointer(priority), len(priority), pointer(config.scores), len(config.scores)),
            *(episode(play), 1, 1),
        )
        self.observation, self.final_observation = (np.zeros(play.numbers, dtype=np.float32) for _ in range(2))
        self.mask, self.final_mask = (np.zeros(play.actions, dtype=np.uint8) for _ in range(2))
        self.reward = np.zeros(1)
        self.terminated, self.truncated, self.invalid = (np.zeros(1, dtype=np.uint8) for _ in range(3))
        self.totals = np.zeros(TOTALS)
        self.reset()

    def reset(self) -> None:
        """Begins the episode."""
        which = np.zeros(1, dtype=np.int64)
        check(lib.shunter_env_reset(self._handle.number, pointer(which), pointer(self.observation), pointer(self.mask)))

    def step(self, action: int) -> None:
        """Takes an action."""
        arrays: tuple[NDArray[Any], ...] = (
            *(np.array([action], dtype=np.int32), self.observation, self.mask, self.reward, self.terminated),
            *(self.truncated, self.invalid, self.final_observation, self.final_mask, self.totals),
        )
        check(lib.shunter_env_step(self._handle.number, *map(pointer, arrays)))

    def view(self) -> dict[str, Any]:
        """Returns the jobs shown, by their places in the table, the clock and the counts."""
        jobs = np.zeros(self.play.rows, dtype=np.int64)
        now_ms, episode, waiting, running = (np.zeros(1, dtype=np.int64) for _ in range(4))
        check(lib.shunter_env_view(self._handle.number, *map(pointer, (jobs, now_ms, episode, waiting, running))))
        return {
            "jobs": jobs.tolist(),
            "now_ms": int(now_ms[0]),
            "waiting": int(waiting[0]),
            "running": int(running[0]),
        }

    def save_and_restore(self) -> None:
        """Saves everything, begins anew, and goes back to what was saved."""
        needed = ffi.new("uintptr_t *")
        check(lib.shunter_env_state(self._handle.number, ffi.NULL, 0, needed))
        saved = np.zeros(needed[0], dtype=np.uint8)
        check(lib.shunter_env_state(self._handle.number, pointer(saved), len(saved), needed))
        self.reset()
        check(
            lib.shunter_env_restore(
                self._handle.number, pointer(saved), len(saved), pointer(self.observation), pointer(self.mask)
            )
        )

    def simulation(self) -> Simulation:
        """Returns a copy of the simulation behind the environment."""
        handle: Handle = opened(lib.shunter_env_fork, self._handle.number, 0)
        return Simulation._from_handle(self._tables, handle)


def environment_config(play: Play) -> Any:  # noqa: ANN401 - cffi's structures have no static type
    """Returns the core's configuration of the environment."""
    options, reward = play.options, play.reward
    lookahead = options.lookahead if options else None
    weights = [reward.weights.get(name, 0.0) * BETTER[name] for name in OBJECTIVES]
    return ffi.new(
        "ShunterEnvConfig *",
        {
            "mode": MODE_NUMBERS[options.mode] if options else PICK_HOST_NUMBER,
            "lookahead": LOOKAHEAD_NUMBERS[lookahead.kind] if lookahead else 0,
            "lookahead_size": lookahead.size if lookahead else 0,
            "window": options.window if options else 0,
            "extra_features": 0,
            "max_steps": play.limits.max_steps or 0,
            "dense": reward.dense,
            "log": reward.log,
            "autoreset": play.autoreset,
            "threads": 1,
            "seed": 0,
            "weights": weights,
            "invalid_penalty": reward.invalid_penalty,
            "bound_weight": reward.bound_weight,
        },
    )


def episode(play: Play) -> Any:  # noqa: ANN401 - as above
    """Returns the one episode in the core's terms."""
    reward, limits = play.reward, play.limits
    return ffi.new(
        "ShunterEpisode *",
        {
            "table": 0,
            "cluster": 0,
            "first": len(play.before),
            "count": len(play.scene.jobs),
            "warmup": reward.warmup,
            "horizon_ms": -1 if limits.horizon_ms is None else limits.horizon_ms,
            "scale": [reward.scale.get(name, 1.0) for name in OBJECTIVES],
            "relative": [reward.relative.get(name, 0.0) for name in OBJECTIVES],
            "wait_bound_s": -1.0 if reward.wait_bound_s is None else reward.wait_bound_s,
            "utilization_bound": -1.0 if reward.utilization_bound is None else reward.utilization_bound,
        },
    )


def play_both(play: Play, random: Random, carelessness: float = 0.0) -> None:
    """Drives core and reference with the same random actions, and compares them at every step.

    Args:
        play: The episode.
        random: Where the actions come from.
        carelessness: How often an action is drawn from all, whatever the mask says.
    """
    core, reference = CoreEnvironment(play), reference_environment(play)
    first = reference.seen
    check_seen(play, core.observation, core.mask, reference.seen)
    while True:
        check_view(play, core, reference)
        if random.random() < 0.1:
            core.save_and_restore()
        action = random_action(random, reference.seen.mask, carelessness)
        step = reference.step(action)
        core.step(action)
        check_step(play, core, step)
        if step.terminated or step.truncated:
            break
        check_seen(play, core.observation, core.mask, step.seen)
    check_totals(play, core.totals, step)
    if play.autoreset:
        check_seen(play, core.final_observation, core.final_mask, step.seen)
        check_seen(play, core.observation, core.mask, first)
    else:
        check_seen(play, core.observation, core.mask, step.seen)
        check_schedule(core, reference, step)


def random_action(random: Random, mask: list[bool], carelessness: float) -> int:
    """Returns an action that the mask allows, the first more often than the others, or any action."""
    if random.random() < carelessness:
        return random.randrange(len(mask))
    allowed = [action for action, is_allowed in enumerate(mask) if is_allowed]
    return random.choice(allowed if random.random() < 0.7 else [allowed[0], *allowed[1:2]])


def check_seen(play: Play, observation: NDArray[np.float32], mask: NDArray[np.uint8], seen: Seen) -> None:
    """Asserts that the core shows and allows the same as the reference."""
    assert mask.astype(bool).tolist() == seen.mask
    expected = np.array(seen.observation)
    different = np.flatnonzero(~(np.abs(observation - expected) <= 1e-5))
    assert not len(different), [
        (number_name(play, int(number)), float(observation[number]), seen.observation[number]) for number in different
    ]


def number_name(play: Play, number: int) -> str:
    """Returns where a number of an observation stands, for messages."""
    if play.options is None:
        return f"host number {number}"
    from shunter.envs.layout import CLUSTER_FEATURES as CLUSTER_NAMES
    from shunter.envs.layout import JOB_FEATURES as JOB_NAMES

    if number < len(CLUSTER_NAMES):
        return CLUSTER_NAMES[number]
    behind = number - len(CLUSTER_NAMES) - play.options.lookahead.size
    if behind < 0:
        return f"look-ahead {behind + play.options.lookahead.size}"
    return f"row {behind // JOB_FEATURES} {JOB_NAMES[behind % JOB_FEATURES]}"


def check_view(play: Play, core: CoreEnvironment, reference: Environment) -> None:
    """Asserts that both stand at the same instant, with the same jobs in the window."""
    state, jobs = reference.state, [state_job + len(play.before) for state_job in reference.seen.jobs]
    assert core.view() == {
        "jobs": jobs + [-1] * (play.rows - len(jobs)),
        "now_ms": state.now_ms,
        "waiting": len(state.waiting),
        "running": len(state.running),
    }


def check_step(play: Play, core: CoreEnvironment, step: Step) -> None:
    """Asserts that a step was worth the same, and ended the same way."""
    assert bool(core.invalid[0]) == step.invalid
    assert (bool(core.terminated[0]), bool(core.truncated[0])) == (step.terminated, step.truncated)
    check_reward(play, core.reward[0], step)


def check_reward(play: Play, reward: float, step: Step) -> None:
    """Asserts that a step was worth the same; a change is the difference of sums that may be far larger than it."""
    terms = [
        abs(weight)
        * (step.totals[OBJECTIVES.index(name)] + abs(play.reward.relative.get(name, 0.0)))
        / play.reward.scale.get(name, 1.0)
        for name, weight in play.reward.weights.items()
    ]
    assert abs(reward - step.reward) <= 1e-9 * (1 + sum(terms)), (reward, step.reward)


def check_totals(play: Play, totals: NDArray[np.float64], step: Step) -> None:
    """Asserts that both have the same objectives and counts at the end."""
    expected = np.array(step.totals)
    if play.options and "balance" not in play.reward.weights:
        # In PickJob the core works it out only where it counts.
        expected[OBJECTIVES.index("balance")] = 0.0
    np.testing.assert_allclose(totals, expected, rtol=1e-9, atol=1e-7)


def check_schedule(core: CoreEnvironment, reference: Environment, step: Step) -> None:
    """Asserts that the same jobs have started and ended, at the same times on the same nodes."""
    simulation, result = core.simulation(), reference.state.result
    if step.terminated:
        assert observe(simulation) == observed.observe(result)
        return
    started = [job for job, start_ms in enumerate(result.start_ms) if start_ms is not None]
    states = simulation.job_states()
    assert np.flatnonzero((states.phase >= 2) & (states.phase <= 4)).tolist() == started
    assert states.start_ms[started].tolist() == [result.start_ms[job] for job in started]
