"""The objectives that a reward is made of, by name, and rewards of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.checks import check_name
from shunter.envs.registry import Registry
from shunter.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.envs.options import RewardOptions

OBJECTIVES: Final = (
    "bounded_slowdown",
    "wait",
    "turnaround",
    "slowdown",
    "utilization",
    "makespan",
    "completion",
    "queue",
    "balance",
    "priority",
)
"""In the order of the core's numbers; ``docs/environments.md`` has the formulas."""

OF_JOBS: Final = ("bounded_slowdown", "wait", "turnaround", "slowdown", "priority")
"""Means over jobs, each of which costs more the longer it waits."""

HIGHER_IS_BETTER: Final = frozenset({"utilization", "completion"})
"""Of these more is better, of the others less."""

TOTALS: Final = (
    *OBJECTIVES,
    "max_wait_s",
    "steps",
    "waits",
    "invalid_actions",
    "measured_jobs",
    "started_jobs",
    "elapsed_s",
    "reward",
)
"""What is told of an episode that has ended, by the core's columns; the objectives are without logarithms or scales."""


@dataclass(frozen=True)
class StepView:
    """What a step did; all arrays have the shape (environments,), and may change with the next step."""

    action: NDArray[np.int32]
    invalid: NDArray[np.bool_]
    """Whether the mask forbade the action."""
    now_s: NDArray[np.float64]
    """The clock when the step began."""
    waiting_jobs: NDArray[np.int64]
    """How many jobs waited when the step began."""
    running_jobs: NDArray[np.int64]
    """How many jobs ran when the step began."""
    elapsed_s: NDArray[np.float64]
    """How far the clock moved."""
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


Reward = Callable[[StepView], Any]
"""Returns what a step is worth to each environment."""

_OWN: Final = Registry[Reward]("reward", OBJECTIVES)


def register_reward(name: str) -> Callable[[Reward], Reward]:
    """Returns a decorator that makes a function a reward of this name; it replaces one of the same name.

    Raises:
        InputError: It is no name, or one of Shunter's own rewards has it.
    """
    return _OWN.decorator(name)


def core_weights(options: RewardOptions) -> NDArray[np.float64]:
    """Returns the core's weights of the objectives: negative where less is better."""
    weights = np.zeros(len(OBJECTIVES))
    for place, name in enumerate(OBJECTIVES):
        weights[place] = options.weights.get(name, 0.0) * (1.0 if name in HIGHER_IS_BETTER else -1.0)
    # Adding 0.0 turns -0.0 into 0.0.
    return weights + 0.0


def core_logarithms(options: RewardOptions) -> int:
    """Returns the core's bits for the objectives in which each job counts with its logarithm."""
    return sum(1 << OBJECTIVES.index(name) for name in options.logarithms)


def own_rewards(options: RewardOptions) -> dict[str, tuple[float, Reward]]:
    """Returns the weights and functions of the user's own rewards.

    Raises:
        InputError: A name is neither one of Shunter's own nor registered.
    """
    for name in options.weights:
        check_name("reward", name, [*OBJECTIVES, *_OWN], also="; register_reward() adds your own")
    return {name: (weight, _OWN[name]) for name, weight in options.weights.items() if name not in OBJECTIVES}


def worth(name: str, reward: Reward, view: StepView) -> NDArray[np.float64]:
    """Returns what a reward of the user's own gives for a step, checked."""
    given = np.asarray(reward(view), dtype=np.float64)
    if given.shape != view.now_s.shape:
        raise InputError(f"reward {name!r} gave shape {given.shape}; expected {view.now_s.shape}, one each")
    if not np.isfinite(given).all():
        raise InputError(f"reward {name!r} gave {given[~np.isfinite(given)][0]}; expected finite numbers")
    return given
