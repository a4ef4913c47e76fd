"""Environments to learn in: importing this package registers them with Gymnasium."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from gymnasium.envs.registration import register

from shunter.checks import check_name

if TYPE_CHECKING:
    from shunter.envs.build import VectorOptions
    from shunter.envs.episodes import EpisodeOptions
    from shunter.envs.features import JobView, register_feature
    from shunter.envs.layout import Layout
    from shunter.envs.pick_host import PickHostEnv, PickHostOptions, pick_host_vector
    from shunter.envs.pick_job import PickJobEnv, PickJobOptions, pick_job_vector
    from shunter.envs.pick_job_and_type import PickJobAndTypeEnv, PickJobAndTypeOptions
    from shunter.envs.rewards import RewardOptions, StepView, register_reward
    from shunter.envs.vector import NativeVectorEnv, StepArrays

__all__ = [
    "IDS",
    "EpisodeOptions",
    "JobView",
    "Layout",
    "NativeVectorEnv",
    "PickHostEnv",
    "PickHostOptions",
    "PickJobAndTypeEnv",
    "PickJobAndTypeOptions",
    "PickJobEnv",
    "PickJobOptions",
    "RewardOptions",
    "StepArrays",
    "StepView",
    "VectorOptions",
    "make_vec",
    "pick_host_vector",
    "pick_job_vector",
    "register_feature",
    "register_reward",
]

IDS: Final = {
    "shunter/PickJob-v0": "pick_job:PickJobEnv",
    "shunter/PickJobAndType-v0": "pick_job_and_type:PickJobAndTypeEnv",
    "shunter/PickHost-v0": "pick_host:PickHostEnv",
}
"""The ids that Gymnasium knows, and where their classes are."""

# Importing this package must only register ids: NumPy and Polars are loaded when a name is first used.
_HOMES = {
    "EpisodeOptions": "episodes",
    "JobView": "features",
    "Layout": "layout",
    "NativeVectorEnv": "vector",
    "PickHostEnv": "pick_host",
    "PickHostOptions": "pick_host",
    "PickJobAndTypeEnv": "pick_job_and_type",
    "PickJobAndTypeOptions": "pick_job_and_type",
    "PickJobEnv": "pick_job",
    "PickJobOptions": "pick_job",
    "RewardOptions": "rewards",
    "StepArrays": "vector",
    "StepView": "rewards",
    "VectorOptions": "build",
    "pick_host_vector": "pick_host",
    "pick_job_vector": "pick_job",
    "register_feature": "features",
    "register_reward": "rewards",
}

# Gymnasium imports an entry point when it makes an environment. By the second one gymnasium.make_vec gives the native
# vector, and no wrapper around single environments.
for _id, _home in IDS.items():
    register(
        id=_id,
        entry_point=f"{__name__}.{_home}",
        vector_entry_point=f"{__name__}.{_home.partition(':')[0]}:make_vector",
    )


def make_vec(id: str, num_envs: int, **keywords: Any) -> NativeVectorEnv:  # noqa: ANN401 - checked there
    """Returns many environments as one, stepped natively.

    Args:
        id: One of `IDS`.
        num_envs: How many environments.
        keywords: As for ``gymnasium.make``, and ``threads``: how many threads step the environments.

    Raises:
        InputError: The id or a keyword is unknown, or a value is wrong.
    """
    check_name("id", id, IDS)
    module = import_module(f"{__name__}.{IDS[id].partition(':')[0]}")
    vector: NativeVectorEnv = module.make_vector(num_envs, **keywords)
    return vector


def __getattr__(name: str) -> object:
    """Imports on first use: registering the ids itself loads neither NumPy's nor Polars' users."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
