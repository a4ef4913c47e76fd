"""How fast PPO learns, end to end: Shunter's beside sb3-contrib's MaskablePPO, on the same environment in one run.

    PYTHONPATH=. python benchmarks/train.py            about ten minutes
    PYTHONPATH=. python benchmarks/train.py --quick    fewer steps
    PYTHONPATH=. python benchmarks/train.py --only pick-host --envs 512
    PYTHONPATH=. python benchmarks/train.py --fifty-hosts    how long 50 million steps take with fifty hosts

All learn PickJob (window 128, mode reserve) on the same windows, or PickHost, with as many epochs and steps.
MaskablePPO, on one torch thread, in 16 environments of Stable-Baselines3's DummyVecEnv: with its own mlp (two towers of
64, 64, tanh), with its usual minibatch of 64 and with 1,024; and with each of Shunter's networks as a custom policy.
Then its mlp on as many native environments as Shunter has (Sb3VecEnv). Shunter with 256 environments: by PyTorch on one
thread, in the core on one thread and on two. Ratios are to MaskablePPO's faster mlp in DummyVecEnv, and to MaskablePPO
with the same network. Beside them stands where the time goes: environments, acting, learning. Compare ratios, for
machines are noisy.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import gymnasium
import torch
from rich.console import Console
from rich.table import Table

import shunter.envs
from benchmarks.simulate import lublin_256, verdict
from shunter import Cluster
from shunter.agents.algorithms import PpoOptions
from shunter.agents.native_ppo import NativePpo
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.networks.native import fresh_network
from shunter.agents.ppo import Ppo
from shunter.envs import PickHostOptions, PickJobOptions, RewardOptions, pick_host_vector, pick_job_vector
from shunter.envs.vector import NativeVectorEnv, StepArrays
from shunter.model.log import Log
from shunter.model.windows import choose_windows

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

EPOCHS: Final = 4
LENGTH: Final = 256
GOAL_RATIO: Final = 10.0
STUDIES: Final = ("pick-job", "pick-host")
MLP: Final = NetworkOptions(kind="mlp", hidden=(64, 64), activation="tanh")
NETWORKS: Final = {
    "pick-job": [MLP, NetworkOptions(kind="kernel"), NetworkOptions(kind="attention")],
    "pick-host": [MLP, NetworkOptions(kind="hosts")],
}
FIFTY_STEPS: Final = 2_000_000
"""So many steps are timed with fifty hosts."""


@dataclass
class Timed:
    """What a training took."""

    name: str
    network: str
    steps: int
    seconds: float
    parts: tuple[float, float, float] | None = None
    """Seconds in environments, acting and learning."""

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


def torch_ppo(env: NativeVectorEnv, network: NetworkOptions, steps: int) -> Timed:
    """Trains Shunter's PPO by PyTorch; the first update warms up and is not timed."""
    watched = Stopwatch(env)
    ppo = Ppo(watched, build(network, env.layout), _options(env), steps=10 * steps, seed=0)  # type: ignore[arg-type]
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
    parts = (watched.seconds, seconds - watched.seconds - learn_s, learn_s)
    return Timed("Shunter, PyTorch", network.kind, ppo.steps - begun_at, seconds, parts)


def native_ppo(
    env: NativeVectorEnv, network: NetworkOptions, steps: int, threads: int, options: PpoOptions | None = None
) -> Timed:
    """Trains Shunter's PPO in the core; the first update warms up and is not timed."""
    options = options or _options(env)
    ppo = NativePpo(env, fresh_network(network, env.layout, seed=0), options, steps=25 * steps, seed=0)
    ppo.update()
    begun_at, began, parts = ppo.steps, time.perf_counter(), [0.0, 0.0, 0.0]
    while ppo.steps - begun_at < steps:
        figures = ppo.update()
        parts = [
            sum(pair) for pair in zip(parts, (figures[name] for name in ("env_s", "act_s", "learn_s")), strict=True)
        ]
    seconds = time.perf_counter() - began
    name = f"Shunter, core, {threads} thread{'s' if threads > 1 else ''}"
    env_s, act_s, learn_s = parts
    # Threads play by themselves, and their seconds are added up; learning is timed as a whole.
    share = (seconds - learn_s) / (env_s + act_s) if threads > 1 else 1.0
    return Timed(name, network.kind, ppo.steps - begun_at, seconds, (share * env_s, share * act_s, learn_s))


def _options(env: NativeVectorEnv) -> PpoOptions:
    return replace(PpoOptions(), epochs=EPOCHS, num_envs=env.num_envs, target_kl=None)


def maskable_ppo(name: str, env: VecEnv, policy: Any, keywords: dict[str, Any], n_steps: int, steps: int) -> Timed:  # noqa: ANN401
    """Trains sb3-contrib's MaskablePPO; one rollout warms up and is not timed."""
    from sb3_contrib import MaskablePPO

    model = MaskablePPO(policy, env, n_steps=n_steps, n_epochs=EPOCHS, seed=0, device="cpu", **keywords)
    model.learn(1)
    begun_at, began = model.num_timesteps, time.perf_counter()
    model.learn(steps, reset_num_timesteps=False)
    return Timed(f"MaskablePPO, {name}", "mlp", model.num_timesteps - begun_at, time.perf_counter() - began)


def others(env_id: str, keywords: dict[str, Any], native: NativeVectorEnv, study: str, steps: int) -> list[Timed]:
    """Trains MaskablePPO in every way."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    from benchmarks.sb3_policy import SharedNetworkPolicy
    from shunter.envs.sb3 import Sb3VecEnv

    def dummy() -> VecEnv:
        def make() -> gymnasium.Env[object, object]:
            return gymnasium.make(env_id, **keywords)

        return DummyVecEnv([make] * 16)

    own = {"policy_kwargs": {"net_arch": [64, 64], "activation_fn": torch.nn.Tanh}}
    found = [
        maskable_ppo(f"its mlp, minibatch {size}", dummy(), "MlpPolicy", {"batch_size": size, **own}, 256, steps)
        for size in (64, 1024)
    ]
    for network in NETWORKS[study]:
        given = {"batch_size": 1024, "policy_kwargs": {"options": network, "layout": native.layout}}
        timed = maskable_ppo("the same network", dummy(), SharedNetworkPolicy, given, 256, steps)
        found.append(replace(timed, network=network.kind))
    found.append(
        maskable_ppo("its mlp, Sb3VecEnv", Sb3VecEnv(native), "MlpPolicy", {"batch_size": 1024, **own}, 16, steps)
    )
    return found


def pick_job_env(envs: int, threads: int) -> NativeVectorEnv:
    """Returns PickJob in windows of lublin_256."""
    workload = lublin_256()
    log, windows = Log(workload, Cluster.pool(256)), choose_windows(len(workload), count=100, length=LENGTH)
    options = PickJobOptions(order="sjf")
    return pick_job_vector([log], [windows], options, RewardOptions(), num_envs=envs, threads=threads)


def pick_host_env(envs: int, threads: int) -> NativeVectorEnv:
    """Returns PickHost as it is by default."""
    return pick_host_vector(PickHostOptions(), RewardOptions(), num_envs=envs, threads=threads)


def measure(study: str, envs: int, steps: int, theirs: int) -> None:
    """Measures one environment and prints it."""
    jobs: dict[str, Any] = {
        "workload": lublin_256(), "cluster": "256", "order": "sjf", "part": "0:1", "length": LENGTH, "windows": 100,
    }  # fmt: skip
    make, env_id, keywords, title = {
        "pick-job": (pick_job_env, "shunter/PickJob-v0", jobs, "PickJob, window 128, mode reserve"),
        "pick-host": (pick_host_env, "shunter/PickHost-v0", {}, "PickHost, 20 hosts"),
    }[study]
    found = others(env_id, keywords, make(envs, 1), study, theirs)
    for network in NETWORKS[study]:
        found.append(torch_ppo(make(envs, 1), network, steps // 4))
        found += [native_ppo(make(envs, threads), network, steps, threads) for threads in (1, 2)]
    print_table(title, found)
    print_arithmetic(make(envs, 1), found)


def fifty_hosts(steps: int) -> None:
    """Measures PickHost with fifty hosts on two threads, with the usual options, and prints it."""
    env = pick_host_vector(PickHostOptions(num_hosts=50), RewardOptions(), num_envs=256, threads=2)
    found = native_ppo(env, NetworkOptions(kind="hosts"), steps, 2, PpoOptions())
    assert found.parts is not None
    shares = [part / found.seconds for part in found.parts]
    print(f"PickHost, 50 hosts, 256 environments, network hosts, {found.name}: {found.steps:,} steps")
    print(f"{found.rate:,.0f} steps/s; 50 million steps in {50e6 / found.rate / 60:.1f} minutes")
    print("environments {:.0%}, acting {:.0%}, learning {:.0%} of the time".format(*shares))


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    parser.add_argument("--envs", type=int, default=256, help="how many native environments")
    parser.add_argument("--only", choices=STUDIES, help="one environment")
    parser.add_argument("--fifty-hosts", action="store_true", help="only the rate of PickHost with fifty hosts")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.fifty_hosts:
        fifty_hosts(FIFTY_STEPS // 20 if given.quick else FIFTY_STEPS)
        return
    steps, theirs = (2**16, 2**12) if given.quick else (2**19, 2**15)
    for study in STUDIES:
        if given.only in (None, study):
            measure(study, given.envs, steps, theirs)


def print_table(title: str, found: list[Timed]) -> None:
    """Prints what was measured; ratios are to MaskablePPO's faster mlp, and to MaskablePPO with the same network."""
    fastest = max((one for one in found if "its mlp, minibatch" in one.name), key=lambda one: one.rate)
    same = {one.network: one for one in found if "the same network" in one.name}
    table = Table(title=f"PPO end to end: {title}; {EPOCHS} epochs")
    columns = ("", "network", "steps/s", "to its mlp", "to the same", "environments", "acting", "learning", "")
    for column in columns:
        table.add_column(column, justify="right" if column else "left")
    for one in found:
        ratios = [one.rate / fastest.rate, one.rate / same[one.network].rate]
        parts = [f"{part / one.seconds:.0%}" for part in one.parts] if one.parts else [""] * 3
        judged = "core, 2" in one.name and one.network != "mlp"
        mark = verdict(min(ratios) >= GOAL_RATIO) if judged else ""
        table.add_row(one.name, one.network, f"{one.rate:,.0f}", *(f"{ratio:.1f}" for ratio in ratios), *parts, mark)
    console = Console(width=140)
    console.print(table)
    console.print(f"Goal for kernel, attention and hosts: {GOAL_RATIO:.0f} times both, on two threads.")


def print_arithmetic(env: NativeVectorEnv, found: list[Timed]) -> None:
    """Prints how near the mlp comes to what this core can multiply, and what leaving out empty rows gives."""
    weights = sum(parameter.numel() for parameter in build(MLP, env.layout).parameters())
    left, right = torch.rand(1024, 1024), torch.rand(1024, 1024)
    seconds = min(_seconds(left, right) for _ in range(20))
    peak = 2 * 1024**3 / seconds / 1e9
    print(f"\nlarge products of PyTorch, one thread: {peak:.0f} GFLOP/s")
    for one in found:
        # What can be multiplied was measured on one thread.
        if one.network == "mlp" and one.name.startswith("Shunter") and "2 threads" not in one.name and one.parts:
            # A layer costs a product forwards and two backwards, in each epoch, and one product to act.
            flops = 2 * weights * (3 * EPOCHS + 1) * one.rate
            share = (one.parts[1] + one.parts[2]) / one.seconds
            print(f"{one.name}, mlp: {flops / share / 1e9:.0f} GFLOP/s, as if every row of the window were filled")


def _seconds(left: torch.Tensor, right: torch.Tensor) -> float:
    began = time.perf_counter()
    torch.mm(left, right)
    return time.perf_counter() - began


if __name__ == "__main__":
    assert shunter.envs.IDS, "importing the package registers the environments"
    main()
