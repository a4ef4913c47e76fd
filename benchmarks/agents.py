"""What each agent reaches with as many steps, and how fast: Shunter's beside Stable-Baselines3's, in one run.

    PYTHONPATH=. python benchmarks/agents.py                        about twenty minutes
    PYTHONPATH=. python benchmarks/agents.py --only pick-host --steps 50000 --seeds 1

All learn PickJob (window 32, mode feasible) on windows of lublin_256, or PickHost, for as many steps, from nothing,
with one torch thread. Stable-Baselines3: DQN, which knows no masks (an action that is not allowed is replaced by one
that is), and sb3-contrib's MaskablePPO, both with their own mlp in 16 environments of DummyVecEnv. Shunter: all
algorithms, with their defaults and the network kernel, or hosts. Then each plays the same fresh episodes by its best
actions. The objective is the mean over them; drawing evenly from what is allowed, and the first row, stand beside it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.simulate import lublin_256
from shunter import Cluster
from shunter.agents.algorithms import ALGORITHMS, D3qnOptions
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.torch_evaluator import TorchEvaluator
from shunter.envs import PickHostOptions, PickJobOptions, RewardOptions, pick_host_vector, pick_job_vector
from shunter.envs.rewards import TOTALS
from shunter.envs.vector import NativeVectorEnv
from shunter.model.log import Log
from shunter.model.windows import choose_windows

Act = Callable[[NDArray[np.float32], NDArray[np.bool_]], NDArray[np.int32]]

STUDIES: Final = ("pick-job", "pick-host")
JUDGED: Final = 64
"""So many fresh episodes are played in the end."""
LENGTH: Final = 128
VARIANTS: Final[dict[str, tuple[str, Any]]] = {
    **{name: (name, kind.options()) for name, kind in ALGORITHMS.items()},
    "d3qn --rainbow": ("d3qn", D3qnOptions(rainbow=True)),
}


@dataclass(frozen=True)
class Study:
    """What is decided, and on what."""

    name: str

    @property
    def objective(self) -> str:
        """What is judged by."""
        return "bounded_slowdown" if self.name == "pick-job" else "wait"

    @property
    def network(self) -> NetworkOptions:
        """The network of Shunter's agents."""
        return NetworkOptions(kind="kernel" if self.name == "pick-job" else "hosts")

    def vector(self, num_envs: int, seed: int, part: tuple[float, float] = (0.0, 0.7)) -> NativeVectorEnv:
        """Returns environments."""
        if self.name == "pick-host":
            return pick_host_vector(
                PickHostOptions(seed=seed), RewardOptions(), num_envs=num_envs, threads=1, seed=seed
            )
        log, windows = self._log(part)
        options = PickJobOptions(mode="feasible", window=32)
        return pick_job_vector([log], [windows], options, RewardOptions(), num_envs=num_envs, threads=1, seed=seed)

    def single(self) -> gymnasium.Env[Any, Any]:
        """Returns one environment of the same kind, for others' agents."""
        if self.name == "pick-host":
            return gymnasium.make("shunter/PickHost-v0")
        log, _ = self._log((0.0, 0.7))
        shown: dict[str, Any] = {
            "mode": "feasible",
            "window": 32,
            "windows": JUDGED,
            "length": LENGTH,
            "part": (0.0, 0.7),
        }
        return gymnasium.make("shunter/PickJob-v0", workload=log.workload, cluster=log.cluster, **shown)

    def _log(self, part: tuple[float, float]) -> tuple[Log, Any]:
        workload = lublin_256()
        return Log(workload, Cluster.pool(256)), choose_windows(len(workload), count=JUDGED, length=LENGTH, part=part)

    def judged(self, act: Act) -> float:
        """Returns the objective over fresh episodes."""
        env = self.vector(JUDGED, seed=987, part=(0.7, 1.0))
        arrays = env.step_arrays()
        every = np.arange(JUDGED) if self.name == "pick-job" else None
        env.reset_into(arrays.observations, arrays.masks, every)
        found = np.full(JUDGED, np.nan)
        while np.isnan(found).any():
            env.step_into(act(arrays.observations, arrays.masks), arrays)
            ended = (arrays.terminated | arrays.truncated) & np.isnan(found)
            found[ended] = arrays.totals[ended, TOTALS.index(self.objective)]
        return float(found.mean())


@dataclass(frozen=True)
class Found:
    """What one agent did."""

    name: str
    rate: float
    objectives: tuple[float, ...]


def ours(study: Study, name: str, steps: int, seeds: int) -> Found:
    """Trains one of Shunter's agents."""
    algorithm, options = VARIANTS[name]
    kind = ALGORITHMS[algorithm]
    took, reached, total = 0.0, [], 0
    for seed in range(seeds):
        env = study.vector(options.num_envs, seed)
        network = build(study.network, env.layout, seed)
        native = {"kind": study.network} if kind.native_home else {}
        agent = kind.load(native=kind.native_home is not None)(env, network, options, steps=steps, seed=seed, **native)
        began = time.process_time()
        while agent.steps < steps:
            agent.update()
        took, total = took + time.process_time() - began, total + agent.steps
        learned = agent.network
        chooser = learned if kind.native_home else TorchEvaluator(learned)
        reached.append(study.judged(chooser.choose))
    return Found(name, total / took, tuple(reached))


def theirs(study: Study, name: str, steps: int, seeds: int) -> Found:
    """Trains one of Stable-Baselines3's agents."""
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import DQN
    from stable_baselines3.common.vec_env import DummyVecEnv

    took, reached, total = 0.0, [], 0
    for seed in range(seeds):
        env = DummyVecEnv([study.single] * 16)
        if name == "DQN":
            model: Any = DQN("MlpPolicy", env, seed=seed, buffer_size=100_000, learning_starts=5_000, verbose=0)
        else:
            model = MaskablePPO("MlpPolicy", env, seed=seed, n_steps=256, batch_size=1024, verbose=0)
        began = time.process_time()
        model.learn(steps)
        took, total = took + time.process_time() - began, total + model.num_timesteps
        reached.append(study.judged(_chooser(model, masks=name != "DQN")))
    return Found(f"sb3 {name}", total / took, tuple(reached))


def _chooser(model: Any, *, masks: bool) -> Act:  # noqa: ANN401 - one of two classes
    def act(observations: NDArray[np.float32], allowed: NDArray[np.bool_]) -> NDArray[np.int32]:
        given = {"action_masks": allowed} if masks else {}
        return np.asarray(model.predict(observations, deterministic=True, **given)[0], np.int32)

    return act


def references(study: Study) -> list[Found]:
    """Returns what needs no learning."""
    random = np.random.default_rng(0)

    def drawn(_: NDArray[np.float32], masks: NDArray[np.bool_]) -> NDArray[np.int32]:
        return np.asarray((random.random(masks.shape) * masks).argmax(axis=1), np.int32)

    def first(_: NDArray[np.float32], masks: NDArray[np.bool_]) -> NDArray[np.int32]:
        # The last of all actions to be considered is to wait.
        behind = np.roll(masks, -1, axis=1) if study.name == "pick-job" else masks
        found = behind.argmax(axis=1)
        return np.asarray((found + 1) % masks.shape[1] if study.name == "pick-job" else found, np.int32)

    return [Found(name, np.nan, (study.judged(act),)) for name, act in (("drawn evenly", drawn), ("the first", first))]


def main() -> None:
    """Runs the studies and prints a table of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=STUDIES)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--agents", help="some of them, with commas between them")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for name in [given.only] if given.only else STUDIES:
        study = Study(name)
        wanted = given.agents.split(",") if given.agents else [*VARIANTS, "DQN", "MaskablePPO"]
        found = [
            ours(study, one, given.steps, given.seeds)
            if one in VARIANTS
            else theirs(study, one, given.steps, given.seeds)
            for one in wanted
        ]
        table = Table(title=f"{name}: {given.steps:,} steps, {given.seeds} seeds", title_justify="left")
        for column in ("agent", "steps a CPU second", f"mean {study.objective}", "of each seed"):
            table.add_column(column, justify="left" if column == "agent" else "right")
        for one in [*found, *references(study)]:
            rate = "" if np.isnan(one.rate) else f"{one.rate:,.0f}"
            each = ", ".join(f"{value:.3g}" for value in one.objectives)
            table.add_row(one.name, rate, f"{np.mean(one.objectives):.4g}", each)
        Console().print(table)


if __name__ == "__main__":
    main()
