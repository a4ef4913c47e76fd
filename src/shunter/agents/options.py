"""What training is asked to do, checked. Each class is a section of a training file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shunter.agents.schedules import SHAPES, Schedule
from shunter.checks import check_name
from shunter.envs.checks import number, whole
from shunter.envs.options import PARTS
from shunter.errors import InputError
from shunter.model.windows import MOST_COUNT, check_numbers, parse_part

HIDDEN: Final = {"kernel": (32, 16), "mlp": (64, 64), "hosts": (32, 32), "attention": (32, 64)}
"""The networks, and the sizes of their hidden layers where none are asked for."""
ACTIVATIONS: Final = ("relu", "tanh")
DEVICES: Final = ("cpu", "cuda", "auto")
ALGORITHMS: Final = ("ppo",)

_MOST: Final = 10**12


@dataclass(frozen=True)
class DataOptions:
    """What is learned from; nothing for pick-host, which draws its own."""

    workload: tuple[str, ...] = ()
    """Logs, or ``generate:`` specifications."""
    cluster: tuple[str, ...] = ()
    """One for each log, or none where the logs tell of theirs."""


@dataclass(frozen=True)
class NetworkOptions:
    """How the network is built."""

    kind: str = "kernel"
    hidden: tuple[int, ...] = ()
    """The sizes of the hidden layers; none: those of `HIDDEN`. Of ``attention``: a token's, then its tower's."""
    activation: str = "relu"
    heads: int = 2
    """Of ``attention`` alone, as is the next."""
    blocks: int = 1
    order_temperature: float | None = None
    """Begin as the order that sorts the window (PickHost: as best-fit), whose scores count so many times; None: begin
    from nothing."""

    def __post_init__(self) -> None:
        check_name("[network] kind", self.kind, HIDDEN)
        check_name("[network] activation", self.activation, ACTIVATIONS)
        for size in self.hidden:
            whole("[network] hidden", size, 1, 65536)
        whole("[network] heads", self.heads, 1, 64)
        whole("[network] blocks", self.blocks, 1, 64)
        if self.kind == "attention" and self.layers_hidden[0] % self.heads:
            what = f"{self.layers_hidden[0]} by {self.heads} heads"
            raise InputError(f"[network] hidden: cannot divide a token's {what}; take a multiple of the heads")
        if self.order_temperature is not None:
            number("[network] order_temperature", self.order_temperature, 0.0)

    @property
    def layers_hidden(self) -> tuple[int, ...]:
        """The sizes of the hidden layers."""
        return self.hidden or HIDDEN[self.kind]


@dataclass(frozen=True)
class PpoOptions:
    """Proximal policy optimization."""

    num_envs: int = 256
    rollout_steps: int = 64
    """How many steps of each environment are seen before each update."""
    epochs: int = 4
    minibatch: int = 4096
    accumulate: int = 1
    """The gradients of so many minibatches make one step."""
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    """How far the probability of an action may move in one update."""
    value_clip: float | None = None
    """The same for values, in standard deviations of the returns; None: as far as they like."""
    value_weight: float = 0.5
    entropy: float = 0.01
    """The weight of the policy's entropy."""
    entropy_schedule: str = "constant"
    entropy_end: float = 0.0
    exploration: float = 0.0
    """With which probability an action is drawn evenly from those allowed."""
    exploration_schedule: str = "linear"
    exploration_end: float = 0.0
    learning_rate: float = 3e-4
    lr_schedule: str = "constant"
    lr_end: float = 0.0
    lr_warmup_steps: int = 0
    max_gradient_norm: float = 0.5
    target_kl: float | None = 0.02
    """An update ends early when the policy has moved so far; None: never."""
    normalize_values: bool = True
    normalize_advantages: bool = True

    def __post_init__(self) -> None:
        for name in ("num_envs", "rollout_steps", "epochs", "minibatch", "accumulate"):
            whole(f"[ppo] {name}", getattr(self, name), 1, 10**9)
        whole("[ppo] lr_warmup_steps", self.lr_warmup_steps, 0, _MOST)
        for name in ("gamma", "gae_lambda", "exploration", "exploration_end"):
            if number(f"[ppo] {name}", getattr(self, name), 0.0) > 1:
                raise InputError(f"[ppo] {name} is {getattr(self, name)!r}; expected a number from 0 to 1")
        for name in ("value_weight", "entropy", "entropy_end", "lr_end"):
            number(f"[ppo] {name}", getattr(self, name), 0.0)
        for name in ("clip", "value_clip", "learning_rate", "max_gradient_norm", "target_kl"):
            value = getattr(self, name)
            if value is not None and number(f"[ppo] {name}", value, 0.0) == 0.0:
                raise InputError(f"[ppo] {name} is 0; expected a number above 0")
        for name in ("entropy_schedule", "exploration_schedule", "lr_schedule"):
            check_name(f"[ppo] {name}", getattr(self, name), SHAPES)

    def schedules(self, steps: int) -> dict[str, Schedule]:
        """Returns the numbers that change over a training of so many steps.

        Raises:
            InputError: A schedule has no meaning.
        """
        return {
            "learning_rate": Schedule(self.lr_schedule, self.learning_rate, self.lr_end, steps, self.lr_warmup_steps),
            "entropy_weight": Schedule(self.entropy_schedule, self.entropy, self.entropy_end, steps),
            "exploration": Schedule(self.exploration_schedule, self.exploration, self.exploration_end, steps),
        }


@dataclass(frozen=True)
class TrainingOptions:
    """How long to train, and what to do on the way."""

    algorithm: str = "ppo"
    steps: int = 2_000_000
    """Decisions, over all environments."""
    seed: int = 0
    eval_every: int = 200_000
    """Steps from one evaluation on validation episodes to the next."""
    save_every: int = 200_000
    patience: int | None = None
    """Stop after so many evaluations in a row that did not become better; None: never."""
    threshold: float = 0.0
    """By how much the objective must fall to count as better for the patience."""
    margin_se: float = 1.0
    """A later policy takes the place of the beginning as the best if it is better by more than so many standard errors;
    0: if it is better at all."""
    device: str = "cpu"
    threads: int = 1
    init: str | None = None
    """Where to begin: a checkpoint's folder, or the file of a tuned policy."""

    def __post_init__(self) -> None:
        check_name("[training] algorithm", self.algorithm, ALGORITHMS)
        check_name("[training] device", self.device, DEVICES)
        for name in ("steps", "eval_every", "save_every"):
            whole(f"[training] {name}", getattr(self, name), 1, _MOST)
        whole("[training] seed", self.seed, 0, 2**63 - 1)
        whole("[training] threads", self.threads, 1, 1024)
        for name in ("threshold", "margin_se"):
            number(f"[training] {name}", getattr(self, name), 0.0)
        if self.patience is not None:
            whole("[training] patience", self.patience, 1, _MOST)


@dataclass(frozen=True)
class ReportOptions:
    """On which episodes the result is judged; what is not said here is as in validation."""

    part: tuple[float, float] | str = PARTS["report"]
    """From which fraction of each log to which one."""
    windows: int = 20
    length: int | None = None
    """How many jobs of each window are measured; None: as many as in validation."""

    def __post_init__(self) -> None:
        part = parse_part(self.part, "[report] part") if isinstance(self.part, str) else self.part
        object.__setattr__(self, "part", tuple(part))
        whole("[report] windows", self.windows, 1, MOST_COUNT)
        if self.length is not None:
            whole("[report] length", self.length, 1, MOST_COUNT)
        check_numbers(count=self.windows, length=self.length or 1, blocks=None, part=self.bounds, warmup=0)

    @property
    def bounds(self) -> tuple[float, float]:
        """The part of each log as two fractions."""
        assert isinstance(self.part, tuple)
        return self.part
