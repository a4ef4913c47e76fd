"""How fast PPO learns, end to end: Shunter's beside sb3-contrib's MaskablePPO, on the same environment in one run.

    PYTHONPATH=. python benchmarks/train.py            about five minutes
    PYTHONPATH=. python benchmarks/train.py --quick    fewer steps
    PYTHONPATH=. python benchmarks/train.py --only pick-host --envs 512

Both learn PickJob (window 128, mode reserve) on the same windows with the same mlp (two towers of 64, 64, tanh), as
many epochs and as many steps, on one torch thread. MaskablePPO is measured with its usual minibatch of 64 and with
1,024, in 16 environments of Stable-Baselines3's DummyVecEnv; Shunter with 256 environments. Then MaskablePPO with 1,024
on as many native environments (Sb3VecEnv), Shunter's other networks, and where their time goes: stepping the
environments, choosing actions, learning. Ratios are to the faster one in DummyVecEnv. Compare these, for machines are
noisy.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import gymnasium
import torch
from rich.console import Console
from rich.table import Table

import shunter.envs
from benchmarks.simulate import lublin_256, verdict
from shunter import Cluster
from shunter.agents.algorithms import PpoOptions
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.ppo import Ppo
from shunter.envs import PickHostOptions, PickJobOptions, RewardOptions, pick_host_vector, pick_job_vector
from shunter.envs.vector import NativeVectorEnv, StepArrays
from shunter.model.log import Log
from shunter.model.windows import choose_windows

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

EPOCHS = 4
LENGTH = 256
GOAL_RATIO = 5.0
NETWORKS = ("kernel", "attention")
STUDIES = ("pick-job", "pick-host")


@dataclass
class Timed:
    """What a training took."""

    name: str
    steps: int
    seconds: float
    env_s: float | None = None
    learn_s: float | None = None

    @property
    def rate(self) -> float:
        """Steps a second."""
        return self.steps / self.seconds


class Stopwatch:
    """Environments whose steps are timed."""

    def __init__(self, env: NativeVectorEnv) -> None:
        self._env = env
        self.seconds = 0.0

    def __getattr__(self, name: str) -> object:
        return getattr(self._env, name)

    def step_into(self, actions: object, arrays: StepArrays) -> None:
        """Steps, and notes how long it took."""
        began = time.perf_counter()
        self._env.step_into(actions, arrays)  # type: ignore[arg-type]
        self.seconds += time.perf_counter() - began


def shunter_ppo(name: str, env: NativeVectorEnv, network: NetworkOptions, steps: int) -> Timed:
    """Trains Shunter's PPO; the first update warms up and is not timed."""
    watched = Stopwatch(env)
    options = replace(PpoOptions(), epochs=EPOCHS, num_envs=env.num_envs, target_kl=None)
    ppo = Ppo(watched, build(network, env.layout), options, steps=10 * steps, seed=0)  # type: ignore[arg-type]
    ppo.update()
    learn_s = 0.0
    learn = ppo._learn

    def timed_learn(*arguments: object, **keywords: object) -> dict[str, float]:
        nonlocal learn_s
        began = time.perf_counter()
        figures = learn(*arguments, **keywords)  # type: ignore[arg-type]
        learn_s += time.perf_counter() - began
        return figures

    ppo._learn = timed_learn  # type: ignore[method-assign]
    watched.seconds, begun_at, began = 0.0, ppo.steps, time.perf_counter()
    while ppo.steps - begun_at < steps:
        ppo.update()
    seconds = time.perf_counter() - began
    return Timed(name, ppo.steps - begun_at, seconds, watched.seconds, learn_s)


def maskable_ppo(name: str, env: VecEnv, n_steps: int, minibatch: int, steps: int) -> Timed:
    """Trains sb3-contrib's MaskablePPO; one rollout warms up and is not timed."""
    from sb3_contrib import MaskablePPO

    policy = {"net_arch": [64, 64], "activation_fn": torch.nn.Tanh}
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=n_steps, batch_size=minibatch, n_epochs=EPOCHS, policy_kwargs=policy, seed=0,
        device="cpu",
    )  # fmt: skip
    model.learn(1)
    begun_at, began = model.num_timesteps, time.perf_counter()
    model.learn(steps, reset_num_timesteps=False)
    return Timed(
        f"MaskablePPO, {name}, minibatch {minibatch}", model.num_timesteps - begun_at, time.perf_counter() - began
    )


def in_dummy(env_id: str, keywords: dict[str, Any], steps: int) -> list[Timed]:
    """Trains it in single environments, as its users do."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    def make() -> gymnasium.Env[object, object]:
        return gymnasium.make(env_id, **keywords)

    return [maskable_ppo("DummyVecEnv", DummyVecEnv([make] * 16), 256, minibatch, steps) for minibatch in (64, 1024)]


def in_native(env: NativeVectorEnv, steps: int) -> Timed:
    """Trains it in native environments."""
    from shunter.envs.sb3 import Sb3VecEnv

    return maskable_ppo("Sb3VecEnv", Sb3VecEnv(env), 16, 1024, steps)


def pick_job(given: argparse.Namespace, mlp: NetworkOptions, steps: int, theirs: int) -> None:
    """Measures PickJob."""
    workload = lublin_256()
    log, windows = Log(workload, Cluster.pool(256)), choose_windows(len(workload), count=100, length=LENGTH)

    def env() -> NativeVectorEnv:
        return pick_job_vector([log], [windows], PickJobOptions(order="sjf"), RewardOptions(), num_envs=given.envs)

    keywords: dict[str, Any] = {
        "workload": workload, "cluster": "256", "order": "sjf", "part": "0:1", "length": LENGTH, "windows": 100,
    }  # fmt: skip
    own = [shunter_ppo("Shunter, mlp", env(), mlp, steps)]
    others = in_dummy("shunter/PickJob-v0", keywords, theirs)
    own += [shunter_ppo(f"Shunter, {kind}", env(), NetworkOptions(kind=kind), steps) for kind in NETWORKS]
    print_table("PickJob, window 128, mode reserve", [in_native(env(), theirs), *own], others)


def pick_host(given: argparse.Namespace, mlp: NetworkOptions, steps: int, theirs: int) -> None:
    """Measures PickHost."""

    def env() -> NativeVectorEnv:
        return pick_host_vector(PickHostOptions(), RewardOptions(), num_envs=given.envs)

    own = [shunter_ppo("Shunter, mlp", env(), mlp, steps)]
    others = in_dummy("shunter/PickHost-v0", {}, theirs)
    own.append(shunter_ppo("Shunter, hosts", env(), NetworkOptions(kind="hosts"), steps))
    print_table("PickHost, 20 hosts", [in_native(env(), theirs), *own], others)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    parser.add_argument("--envs", type=int, default=256, help="how many native environments")
    parser.add_argument("--only", choices=STUDIES, help="one environment")
    given = parser.parse_args()
    torch.set_num_threads(1)
    steps, theirs = (2**15, 2**12) if given.quick else (2**18, 2**15)
    mlp = NetworkOptions(kind="mlp", hidden=(64, 64), activation="tanh")
    for name, study in zip(STUDIES, (pick_job, pick_host), strict=True):
        if given.only in (None, name):
            study(given, mlp, steps, theirs)


def print_table(title: str, own: list[Timed], others: list[Timed]) -> None:
    """Prints what was measured; ratios are to the faster of the other trainings."""
    fastest = max(others, key=lambda one: one.rate)
    table = Table(title=f"PPO end to end: {title}; {EPOCHS} epochs, one torch thread")
    for column in ("", "steps/s", "ratio", "environments", "acting", "learning", ""):
        table.add_column(column, justify="right" if column else "left")
    for one in [*others, *own]:
        ratio = one.rate / fastest.rate
        parts = [""] * 3
        if one.env_s is not None and one.learn_s is not None:
            acting_s = one.seconds - one.env_s - one.learn_s
            parts = [f"{part / one.seconds:.0%}" for part in (one.env_s, acting_s, one.learn_s)]
        judged = one.name == "Shunter, mlp"
        table.add_row(
            one.name, f"{one.rate:,.0f}", f"{ratio:.1f}", *parts, verdict(ratio >= GOAL_RATIO) if judged else ""
        )
    console = Console()
    console.print(table)
    console.print(f"Goal for the mlp: {GOAL_RATIO:.0f} times the faster MaskablePPO in DummyVecEnv.")


if __name__ == "__main__":
    assert shunter.envs.IDS, "importing the package registers the environments"
    main()
