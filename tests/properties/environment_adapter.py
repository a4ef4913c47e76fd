"""Episodes as the core and the reference environment play them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shunter.envs.baselines import NEVER_MS
from shunter.native import Handle, check, ffi, lib, opened, pointer
from shunter.simulation.core_inputs import core_config, open_tables
from shunter.simulation.simulation import Simulation
from tests.properties.core_adapter import cluster_of, workload_of
from tests.properties.strategies import Scene
from tests.reference.environment import Environment, Limits
from tests.reference.environment_features import CLUSTER_FEATURES, JOB_FEATURES, RUNNING_FEATURES
from tests.reference.environment_history import HISTORY_FEATURES
from tests.reference.environment_hosts import pick_host
from tests.reference.environment_jobs import PickJobOptions, pick_job
from tests.reference.environment_rewards import BETTER, OBJECTIVES, Reward
from tests.reference.model import Config, RefJob, Result
from tests.reference.state import State
from tests.simulation.driving import settings_of

MODE_NUMBERS = {"reserve": 0, "feasible": 1, "committed": 2, "committed-backfill": 3}
PICK_HOST_NUMBER = 4
LOOKAHEAD_NUMBERS = {"off": 0, "per_gpu": 1, "sorted": 2, "cdf": 3}
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
        return len(self.scene.nodes) if self.options is None else self.rows + 1

    @property
    def rows(self) -> int:
        """How many jobs are shown at most."""
        return 1 if self.options is None else self.options.window + self.options.stops

    @property
    def numbers(self) -> int:
        """How many numbers an observation has."""
        if self.options is None:
            return HOST_FEATURES * len(self.scene.nodes) + 2
        context = CLUSTER_FEATURES + HISTORY_FEATURES * self.options.history.intervals + self.options.lookahead.size
        return context + self.rows * (JOB_FEATURES + (RUNNING_FEATURES if self.options.stops else 0))


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
        self._tables = open_tables(workload, cluster)
        config = core_config(settings_of(play.config), workload, cluster)
        starts = np.array([NEVER_MS if ms is None else ms for ms in play.reward.relative_start_ms], dtype=np.int64)
        priority = np.array([*[0.0] * len(play.before), *play.reward.priority], dtype=np.float64)
        self._handle = opened(
            lib.shunter_env_open,
            *(ffi.new("uint64_t[]", [self._tables[1].number]), 1),
            *(ffi.new("uint64_t[]", [self._tables[0].number]), 1),
            *(config.pointer, environment_config(play)),
            *(pointer(priority), len(priority), pointer(config.policy.scores), len(config.policy.scores)),
            *(episode(play, config.pointer), 1, pointer(starts), len(starts), 1),
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
            "log": 0b11_1111_1111 if reward.log else 0,
            "autoreset": play.autoreset,
            "threads": 1,
            "seed": 0,
            "weights": weights,
            "invalid_penalty": reward.invalid_penalty,
            "bound_weight": reward.bound_weight,
            "history": options.history.intervals if options else 0,
            "history_interval_ms": options.history.interval_ms if options else 0,
            "stops": options.stops if options else 0,
        },
    )


def episode(play: Play, config: Any) -> Any:  # noqa: ANN401 - as above
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
            "size_by": config.size_by,
            "origin_ms": config.origin_ms,
        },
    )
