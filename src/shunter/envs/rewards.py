"""Rewards: the objectives that they are made of, by name, their options, and rewards of the user's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.checks import check_fields, check_name, declared, distinct_names, numbers_by_name
from shunter.envs.registry import Registry
from shunter.errors import InputError
from shunter.policies.native import resolve_native
from shunter.policies.scheduler import names_native, resolve_scheduler, split_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.policies.native import NativePolicy

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
"""The objectives of which more is better; of all others less is."""

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


TIMINGS: Final = ("dense", "final")
BOUNDED: Final = ("wait", "utilization")
"""The objectives that can have a bound."""
NO_SCALE: Final = "none"
ORDER: Final = "order"
"""As a policy that a reward refers to: the order of the environment itself, under the rule that its mode is like."""


@dataclass(frozen=True)
class RewardOptions:
    """What the reward is: the section ``[reward]`` of a training file."""

    reward: Mapping[str, float] | str = declared(
        lambda: {"bounded_slowdown": 1.0},
        "What is rewarded, such as bounded_slowdown or wait; several with their weights as A=X,B=Y. Policies are "
        "compared by the one that weighs most.",
        option="reward",
        metavar="NAME|A=X,B=Y",
    )
    timing: str = declared("dense", "Whether rewards come as time passes, or all at the end.", choices=TIMINGS)
    log: bool | tuple[str, ...] = declared(
        False,
        "Whether each job counts with its logarithm: in all means over jobs, or in the objectives named.",
    )
    scale: str = declared(
        NO_SCALE,
        "Divide rewards by what this policy gets, as in fcfs/easy. none: do not.",
        option="scale",
        metavar="A/B",
    )
    relative_to: str | None = declared(
        None, "Subtract what this policy gets, as in fcfs/easy. none: do not.", option="relative-to", metavar="A/B"
    )
    bounds: Mapping[str, float] = declared(
        dict,
        "What must not become worse: mean-wait or utilization, and how many times the value of the classic chosen on "
        "training days it may be. Give it several times for several bounds.",
        option="bound",
        metavar="NAME=X",
    )
    bound_weight: float = declared(1.0, "What missing a bound costs.", low=0.0)
    invalid_penalty: float = declared(0.0, "What an action that the mask forbids costs.", low=0.0)

    def __post_init__(self) -> None:
        # One name is short for that name with the weight 1.
        given = {self.reward: 1.0} if isinstance(self.reward, str) else self.reward
        weights = numbers_by_name("reward", given, -math.inf)
        if not any(weights.values()):
            raise InputError(f"reward is {self.reward!r}; expected at least one name with a weight other than 0")
        object.__setattr__(self, "reward", weights)
        check_fields(self)
        if not isinstance(self.log, bool):
            object.__setattr__(self, "log", distinct_names("log", self.log))
            for name in self.logarithms:
                check_name("log", name, OF_JOBS)
        object.__setattr__(self, "bounds", numbers_by_name("bounds", self.bounds, 0.0))
        for name in self.bounds:
            check_name("bound", name, BOUNDED)
        # Checked here and not when the reward is used: that is after minutes of simulation.
        for policy in (self.scale_policy, self.relative_to):
            if policy not in (None, ORDER):
                check_only_starts(f"the reward refers to {policy!r}", reference_policy(policy)[0])
        # A bound is a factor, and means nothing without something to multiply.
        if self.bounds and self.bound_policy is None:
            raise InputError(
                "bounds are given without scale or relative_to; name the policy whose values they multiply"
            )

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each name."""
        assert isinstance(self.reward, dict)
        return self.reward

    @property
    def logarithms(self) -> tuple[str, ...]:
        """The objectives in which each job counts with its logarithm."""
        if isinstance(self.log, bool):
            return OF_JOBS if self.log else ()
        return self.log

    @property
    def scale_policy(self) -> str | None:
        """The policy whose objectives are divided by, if any."""
        return None if self.scale == NO_SCALE else self.scale

    @property
    def bound_policy(self) -> str | None:
        """The policy that bounds refer to."""
        return self.scale_policy or self.relative_to


def check_only_starts(given: str, policy: NativePolicy) -> None:
    """Raises an error for a policy that stops jobs: an environment, and what its reward refers to, only starts them."""
    if policy.known.preempts:
        why = "which stops running jobs; environments only start them"
        raise InputError(f"{given}, {why}; name a policy that only orders them, such as 'qssf'")


def reference_policy(text: str) -> tuple[NativePolicy, str]:
    """Returns the policy and the dispatch rule that ``fcfs/easy`` means; without a rule, the policy's own.

    Raises:
        InputError: Either is unknown, or they contradict each other, or the policy is one of the user's own.
    """
    policy, dispatch = split_text(text)
    if not names_native(policy):
        raise InputError(
            f"{text!r}: cannot be run natively, as scales are; name a policy of Shunter's own, or a TOML file"
        )
    found = resolve_native(policy)
    return found, resolve_scheduler(policy=found, dispatch=dispatch).settings.dispatch


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
    # The core adds up what is good: of most objectives less is better.
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
