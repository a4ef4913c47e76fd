"""Puts a vector environment together: native alone, or with features and rewards of the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.envs.checks import MOST_SEED, whole
from shunter.envs.custom import CustomVectorEnv
from shunter.envs.features import own_features
from shunter.envs.options import check_ending
from shunter.envs.rewards import own_rewards
from shunter.envs.vector import NativeVectorEnv

if TYPE_CHECKING:
    from collections.abc import Callable

    from shunter.envs.options import PickHostOptions, PickJobOptions, RewardOptions
    from shunter.envs.world import CoreMode, World

MOST_ENVIRONMENTS = 1_000_000
MOST_THREADS = 4096


def build_vector(
    make_world: Callable[[], World],
    core_mode: CoreMode,
    options: PickJobOptions | PickHostOptions,
    reward: RewardOptions,
    *,
    num_envs: int,
    threads: int,
    seed: int,
    autoreset: bool,
    max_steps: int | None,
    horizon_factor: float | None,
) -> NativeVectorEnv:
    """Returns a vector environment; whatever can be checked is checked before the world is made.

    Args:
        make_world: Returns jobs, clusters and episodes.
        core_mode: The core's numbers.
        options: What the environments are.
        reward: What the reward is.
        num_envs: How many environments.
        threads: How many threads step them.
        seed: Where the drawing of episodes begins.
        autoreset: Whether an environment that is done begins its next episode in the same step.
        max_steps: After how many decisions an episode is cut.
        horizon_factor: Checked here, and used by the world.

    Raises:
        InputError: A number is out of range, or a feature or a reward is unknown.
    """
    whole("num_envs", num_envs, 1, MOST_ENVIRONMENTS)
    whole("threads", threads, 1, MOST_THREADS)
    whole("seed", seed, 0, MOST_SEED)
    check_ending(max_steps, horizon_factor)
    layout = options.layout
    features, rewards = own_features(layout.extra_features), own_rewards(reward)
    own = bool(features or rewards)
    world = make_world()
    handle = world.open(
        core_mode,
        layout,
        reward,
        environments=num_envs,
        threads=threads,
        seed=seed,
        autoreset=autoreset and not own,
        max_steps=max_steps,
    )
    if not own:
        return NativeVectorEnv(world, layout, options, handle, num_envs=num_envs, autoreset=autoreset)
    return CustomVectorEnv(
        world,
        layout,
        options,
        handle,
        num_envs=num_envs,
        autoreset=autoreset,
        features=features,
        rewards=rewards,
        final=reward.timing == "final",
    )
