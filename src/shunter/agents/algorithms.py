"""The algorithms that learn, by name, and the options of each.

Nothing here loads PyTorch. A new algorithm is one file, and here its options and one line of `ALGORITHMS`: its section
of a training file has its name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from shunter.agents.common.schedules import SHAPES, ParameterSchedule
from shunter.checks import check_fields, declared
from shunter.errors import ShunterError

if TYPE_CHECKING:
    from shunter.agents.training.checkpoint_files import Part, Tensors

BASELINES: Final = ("value", "mean", "none")
"""What REINFORCE compares returns with."""

_MOST: Final = 10**9


class AlgorithmOptions(Protocol):
    """What a training asks of the options of any algorithm."""

    @property
    def num_envs(self) -> int:
        """How many environments are played at once."""
        ...

    def schedules(self, steps: int) -> dict[str, ParameterSchedule]:
        """Returns the numbers that change over a training of so many steps, by name.

        Raises:
            InputError: A schedule has no meaning.
        """
        ...


@dataclass(frozen=True)
class PpoOptions:
    """Proximal policy optimization: the section ``[ppo]`` of a training file."""

    num_envs: int = declared(
        256, "How many environments are played at once.", low=1, high=_MOST, option="num-envs", metavar="N"
    )
    rollout_steps: int = declared(
        64,
        "How many steps of each environment are played before each update.",
        low=1,
        high=_MOST,
        option="rollout-steps",
        metavar="N",
    )
    epochs: int = declared(
        4, "How often each update goes through these steps.", low=1, high=_MOST, option="epochs", metavar="N"
    )
    minibatch: int = declared(
        4096, "How many steps a gradient is taken from.", low=1, high=_MOST, option="minibatch", metavar="N"
    )
    accumulate: int = declared(1, "How many minibatches one gradient step adds up.", low=1, high=_MOST)
    gamma: float = declared(0.99, "The discount of later rewards.", low=0.0, high=1.0, option="gamma", metavar="X")
    gae_lambda: float = declared(
        0.95, "Advantages rely on the value function (0), on rewards alone (1), or on both.", low=0.0, high=1.0
    )
    clip: float = declared(
        0.2, "How far the probability of an action may move in one update, as a ratio.", low=0.0, above=True
    )
    value_clip: float | None = declared(
        None,
        "How far a value may move in one update, in standard deviations of the returns. None: without limit.",
        low=0.0,
        above=True,
    )
    value_weight: float = declared(0.5, "The weight of the value function's loss.", low=0.0)
    entropy: float = declared(
        0.01,
        "The weight of the policy's entropy: more of it tries more.",
        low=0.0,
        option="entropy",
        metavar="X",
    )
    entropy_schedule: str = declared(
        "constant", "How the weight of the entropy changes during training.", choices=SHAPES
    )
    entropy_end: float = declared(0.0, "The weight of the entropy at the end of training.", low=0.0)
    exploration: float = declared(
        0.0, "The probability with which an action is drawn evenly from those allowed.", low=0.0, high=1.0
    )
    exploration_schedule: str = declared("linear", "How the exploration changes during training.", choices=SHAPES)
    exploration_end: float = declared(0.0, "The exploration at the end of training.", low=0.0, high=1.0)
    learning_rate: float = declared(3e-4, "The learning rate.", low=0.0, above=True, option="lr", metavar="X")
    lr_schedule: str = declared(
        "constant",
        "How the learning rate changes during training.",
        choices=SHAPES,
        option="lr-schedule",
        metavar="NAME",
    )
    lr_end: float = declared(0.0, "The learning rate at the end of training.", low=0.0)
    lr_warmup_steps: int = declared(
        0,
        "For warmup-cosine: over how many steps the learning rate rises from 0.",
        low=0,
        high=10**12,
        option="lr-warmup-steps",
        metavar="N",
    )
    max_gradient_norm: float = declared(0.5, "Gradients longer than this are shortened to it.", low=0.0, above=True)
    target_kl: float | None = declared(
        0.02,
        "End an update early when the policy has moved this far (KL divergence). none: never.",
        low=0.0,
        above=True,
        option="target-kl",
        metavar="X",
    )
    normalize_values: bool = declared(True, "Learn values in standard deviations of the returns.")
    normalize_advantages: bool = declared(True, "Scale the advantages of each update to mean 0 and deviation 1.")

    def __post_init__(self) -> None:
        check_fields(self, "[ppo] ")

    def schedules(self, steps: int) -> dict[str, ParameterSchedule]:
        """Returns the numbers that change over a training of so many steps.

        Raises:
            InputError: A schedule has no meaning.
        """
        return {
            "learning_rate": ParameterSchedule(
                self.lr_schedule, self.learning_rate, self.lr_end, steps, self.lr_warmup_steps
            ),
            "entropy_weight": ParameterSchedule(self.entropy_schedule, self.entropy, self.entropy_end, steps),
            "exploration": ParameterSchedule(self.exploration_schedule, self.exploration, self.exploration_end, steps),
        }


@dataclass(frozen=True)
class LearningOptions:
    """What the other algorithms have in common."""

    num_envs: int = declared(
        64, "How many environments are played at once.", low=1, high=_MOST, option="num-envs", metavar="N"
    )
    rollout_steps: int = declared(
        64,
        "How many steps of each environment are played before each update.",
        low=1,
        high=_MOST,
        option="rollout-steps",
        metavar="N",
    )
    gamma: float = declared(0.99, "The discount of later rewards.", low=0.0, high=1.0, option="gamma", metavar="X")
    learning_rate: float = declared(1e-3, "The learning rate.", low=0.0, above=True, option="lr", metavar="X")
    lr_schedule: str = declared(
        "constant",
        "How the learning rate changes during training.",
        choices=SHAPES,
        option="lr-schedule",
        metavar="NAME",
    )
    lr_end: float = declared(0.0, "The learning rate at the end of training.", low=0.0)
    max_gradient_norm: float = declared(10.0, "Gradients longer than this are shortened to it.", low=0.0, above=True)

    def schedules(self, steps: int) -> dict[str, ParameterSchedule]:
        """Returns the numbers that change over a training of so many steps.

        Raises:
            InputError: A schedule has no meaning.
        """
        return {"learning_rate": ParameterSchedule(self.lr_schedule, self.learning_rate, self.lr_end, steps)}


@dataclass(frozen=True)
class ReplayOptions(LearningOptions):
    """What algorithms have in common that learn from all that they remember."""

    minibatch: int = declared(
        256, "How many steps a gradient is taken from.", low=1, high=_MOST, option="minibatch", metavar="N"
    )
    replay_size: int = declared(
        200_000,
        "How many of the last steps are remembered.",
        low=1,
        # As many as the core's buffer can have.
        high=2**26,
        option="replay-size",
        metavar="N",
    )
    learn_after: int = declared(
        5_000,
        "How many steps are played before the first gradient step.",
        low=1,
        high=_MOST,
        option="learn-after",
        metavar="N",
    )
    play_steps: int = declared(
        1, "How many steps of each environment lie between two times of learning.", low=1, high=_MOST
    )
    gradient_steps: int = declared(
        1, "How many gradient steps follow each other then.", low=1, high=_MOST, option="gradient-steps", metavar="N"
    )
    n_step: int = declared(
        1,
        "How many rewards are added up before the rest is estimated.",
        low=1,
        high=1000,
        option="n-step",
        metavar="N",
    )


@dataclass(frozen=True)
class D3qnOptions(ReplayOptions):
    """Deep Q-learning with Rainbow's parts, each of which can be switched off: the section ``[d3qn]``."""

    gamma: float = declared(0.95, "The discount of later rewards.", low=0.0, high=1.0, option="gamma", metavar="X")
    n_step: int = declared(
        10,
        "How many rewards are added up before the rest is estimated.",
        low=1,
        high=1000,
        option="n-step",
        metavar="N",
    )
    double: bool = declared(
        True,
        "The network that learns chooses the next action, and the slower one judges it. Off: the slower one does both, "
        "which expects too much.",
        option="double",
    )
    dueling: bool = declared(True, "Learn what a state is worth apart from how its actions differ.", option="dueling")
    prioritized: bool = declared(True, "Draw steps that surprised more often than others.", option="prioritized")
    priority_exponent: float = declared(
        0.6, "How much more often: 0 means all alike, 1 in proportion to the surprise.", low=0.0, high=1.0
    )
    importance_exponent: float = declared(
        0.4, "How far the weight of a step makes up for that at first. At the end it does so fully.", low=0.0, high=1.0
    )
    rainbow: bool = declared(
        False, "Switch on --distributional and --noisy, unless one of them is switched off.", option="rainbow"
    )
    distributional: bool | None = declared(
        None,
        "Learn the distribution of returns, as quantiles, instead of their mean.",
        option="distributional",
        shown_default="off; on with --rainbow",
    )
    noisy: bool | None = declared(
        None,
        "Explore by noise in the last layers, which is learned, instead of by random actions.",
        option="noisy",
        shown_default="off; on with --rainbow",
    )
    quantiles: int = declared(32, "How many quantiles the distribution has.", low=2, high=1024)
    target_every: int = declared(100, "After how many gradient steps the slower network catches up.", low=1, high=_MOST)
    exploration: float = declared(
        1.0, "The probability of a random action at first. With noise it is 0 all the time.", low=0.0, high=1.0
    )
    exploration_end: float = declared(0.02, "The probability of a random action later.", low=0.0, high=1.0)
    exploration_part: float = declared(
        0.3, "The part of the training after which it has fallen to that.", low=0.0, high=1.0, above=True
    )

    def __post_init__(self) -> None:
        check_fields(self, "[d3qn] ")

    @property
    def is_distributional(self) -> bool:
        """Whether quantiles are learned."""
        return self.rainbow if self.distributional is None else self.distributional

    @property
    def is_noisy(self) -> bool:
        """Whether noise explores."""
        return self.rainbow if self.noisy is None else self.noisy

    def schedules(self, steps: int) -> dict[str, ParameterSchedule]:
        """Returns the numbers that change over a training of so many steps.

        Raises:
            InputError: A schedule has no meaning.
        """
        falling = max(1, round(steps * self.exploration_part))
        first, last = (0.0, 0.0) if self.is_noisy else (self.exploration, self.exploration_end)
        return super().schedules(steps) | {
            "exploration": ParameterSchedule("linear", first, last, falling),
            "importance_exponent": ParameterSchedule("linear", self.importance_exponent, 1.0, steps),
        }


@dataclass(frozen=True)
class SacOptions(ReplayOptions):
    """Soft actor-critic for actions that are chosen from a list: the section ``[sac]``."""

    target_rate: float = declared(
        0.005, "By which part the slower critics follow in each gradient step.", low=0.0, high=1.0, above=True
    )
    target_entropy: float = declared(
        0.3,
        "How undecided the policy is to be, as a part of what drawing evenly from the allowed actions would be.",
        low=0.0,
        high=1.0,
        option="target-entropy",
        metavar="X",
    )
    temperature: float = declared(
        0.1,
        "The weight of the entropy at first, in deviations of the return. It is learned from there on.",
        low=0.0,
        above=True,
    )
    temperature_rate: float = declared(1e-3, "The learning rate of that weight. 0: it stays as it is.", low=0.0)

    def __post_init__(self) -> None:
        check_fields(self, "[sac] ")


@dataclass(frozen=True)
class ReinforceOptions(LearningOptions):
    """REINFORCE: the section ``[reinforce]`` of a training file."""

    rollout_steps: int = declared(
        100_000, "An episode that is not over after so many steps is cut there.", low=1, high=_MOST
    )
    max_gradient_norm: float = declared(0.5, "Gradients longer than this are shortened to it.", low=0.0, above=True)
    minibatch: int = declared(
        4096,
        "How many steps are worked on together; each update is one gradient step on all.",
        low=1,
        high=_MOST,
        option="minibatch",
        metavar="N",
    )
    baseline: str = declared(
        "value",
        "What returns are compared with: a value that is learned, the mean of all environments at the same step, or "
        "nothing.",
        choices=BASELINES,
        option="baseline",
        metavar="NAME",
    )
    value_weight: float = declared(0.5, "The weight of the value function's loss.", low=0.0)
    entropy: float = declared(
        0.0,
        "The weight of the policy's entropy: more of it tries more.",
        low=0.0,
        option="entropy",
        metavar="X",
    )

    def __post_init__(self) -> None:
        check_fields(self, "[reinforce] ")


@dataclass(frozen=True)
class AlgorithmKind:
    """An algorithm that can be asked for by its name."""

    home: str | type[Any]
    """The class, or where it is: ``ppo:Ppo`` in this package. `Algorithm` says what it must do."""
    options: type[Any]
    """A dataclass of declared fields; `AlgorithmOptions` says what it must have."""
    native_home: str | None = None
    """Where the class is that learns in the core; None: there is none."""
    brings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Keys of other sections that are otherwise with this algorithm, unless they are given."""
    learns_values: bool = False
    """Whether its network tells what actions are worth; otherwise it tells which are preferred."""

    def load(self, *, native: bool = False) -> type[Any]:
        """Returns the class that learns by PyTorch, or in the core."""
        home = self.native_home if native else self.home
        assert home is not None, "an algorithm without a native class learns by PyTorch"
        if not isinstance(home, str):
            return home
        # Imported when it is asked for: the command line reads the options of all algorithms for its help, without
        # PyTorch.
        module, _, name = home.partition(":")
        loaded: type[Any] = getattr(import_module(f"shunter.agents.{module}"), name)
        return loaded


ALGORITHMS: Final = {
    "ppo": AlgorithmKind("ppo:Ppo", PpoOptions, native_home="native_ppo:NativePpo"),
    # Scores are what actions are worth: those of a rule that a policy could begin as mean something else.
    "d3qn": AlgorithmKind(
        "d3qn:D3qn", D3qnOptions, brings={"network": {"order_temperature": "none"}}, learns_values=True
    ),
    "sac": AlgorithmKind("sac:Sac", SacOptions),
    # A short window that slides along the queue, as in the first schedulers that learned this way.
    "reinforce": AlgorithmKind("reinforce:Reinforce", ReinforceOptions, brings={"environment": {"window": 7}}),
}
"""All algorithms by name, which is also that of their section."""


def register_algorithm(name: str, kind: AlgorithmKind) -> None:
    """Makes an algorithm of your own known by a name, which is also that of its section; it replaces one of that name.

    Args:
        name: As ``[training] algorithm`` takes it.
        kind: The class, and the class of its options.
    """
    ALGORITHMS[name] = kind


class DivergenceError(ShunterError):
    """A number that training rests on is no longer one; what was good is to be kept."""


def check_finite(what: str, value: float) -> None:
    """Raises a `DivergenceError` if a number is infinite or NaN."""
    if not math.isfinite(value):
        raise DivergenceError(
            f"{what} is {value}: training has diverged; take a smaller learning rate, or scale rewards"
        )


def check_tensors(tensors: Tensors) -> None:
    """Raises a `DivergenceError` if a weight is infinite or NaN."""
    for name, tensor in tensors.items():
        if np.issubdtype(tensor.dtype, np.floating) and not np.isfinite(tensor).all():
            check_finite(name, math.nan)


class Algorithm(Protocol):
    """What learns. It is made with environments, a network and its options, and ``steps``, ``seed`` and ``device``."""

    network: Any
    steps: int
    """How many steps have been seen."""

    def update(self) -> dict[str, float]:
        """Plays and learns once; returns figures to be written down."""
        ...

    def policy_tensors(self) -> Tensors:
        """Returns what a policy consists of."""
        ...

    def begin_from(self, policy: Tensors) -> None:
        """Takes over what a checkpoint holds besides the weights of the network, which are loaded already."""
        ...

    def state(self) -> Part:
        """Returns what is needed beside the policy to go on as if nothing had happened."""
        ...

    def load_state(self, policy: Tensors, training: Part, where: str) -> None:
        """Goes back to a saved state."""
        ...
