"""What environments are asked to be, checked; ``docs/environments.md`` says what each option means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from shunter.checks import check_name
from shunter.envs.checks import distinct_names, number, numbers_by_name, pair, whole
from shunter.envs.layout import PICK_HOST, PICK_JOB, Layout
from shunter.envs.rewards import OF_JOBS
from shunter.errors import InputError
from shunter.model.windows import MOST_COUNT, Windows, check_numbers, choose_windows, parse_part
from shunter.policies.catalog import DISPATCHES, PICK_JOB_MODES
from shunter.policies.native import NativePolicy, resolve_native
from shunter.policies.scheduler import Scheduler, names_native, resolve_scheduler
from shunter.workloads.generators import eda

if TYPE_CHECKING:
    from shunter.model.log import Log

LOOKAHEADS: Final = ("off", "per_gpu", "sorted", "cdf")
"""In the order of the core's numbers."""
TIMINGS: Final = ("dense", "final")
BOUNDED: Final = ("wait", "utilization")
"""The objectives that can have a bound."""
NO_SCALE: Final = "none"
ORDER: Final = "order"
"""As a policy that a reward refers to: the order of the environment itself, under the rule that its mode is like."""

PARTS: Final = {"train": (0.0, 0.6), "validation": (0.6, 0.7), "report": (0.7, 1.0)}
"""The parts of a log, disjoint in time."""
MOST_WINDOWS: Final = 1000
"""So many windows of a log there are at most, unless the user says otherwise."""

_LARGEST: Final = 2**16
"""More rows, hosts or numbers are a slip of the finger."""
_MOST: Final = 10**6


@dataclass(frozen=True)
class PickJobOptions:
    """What a policy must remember to decide in the same way again."""

    mode: str = "reserve"
    order: str = "fcfs"
    window: int = 128
    lookahead: str = "cdf"
    lookahead_size: int = 16
    features: tuple[str, ...] = ()
    placement: str | None = None
    estimate: str = "requested"
    missing_request: str | float = "run-time"
    reserve_by: str = "requested"
    kill_at_request: bool = False
    max_wait_s: float | None = None
    scan_depth: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        check_name("mode", self.mode, PICK_JOB_MODES)
        check_name("lookahead", self.lookahead, LOOKAHEADS)
        whole("window", self.window, 1, _LARGEST)
        whole("lookahead_size", self.lookahead_size, 1, _LARGEST)
        object.__setattr__(self, "features", distinct_names("features", self.features))
        _ = self.scheduler  # what is wrong in the settings is told now

    @cached_property
    def scheduler(self) -> Scheduler:
        """How the simulation schedules; the dispatch rule is the one that the mode is like."""
        if not names_native(self.order):
            raise InputError(f"order is {self.order!r}; expected a policy of Shunter's own, or a TOML file")
        order = resolve_native(self.order)
        _check_starts(f"order is {self.order!r}", order)
        return resolve_scheduler(
            policy=order,
            dispatch=PICK_JOB_MODES[self.mode],
            placement=self.placement,
            estimate=self.estimate,
            missing_request=str(self.missing_request),
            reserve_by=self.reserve_by,
            kill_at_request=self.kill_at_request,
            max_wait_s=self.max_wait_s,
            scan_depth=self.scan_depth,
            seed=self.seed,
        )

    @property
    def layout(self) -> Layout:
        """The layout of the observations."""
        return Layout(PICK_JOB, self.window, self.lookahead_size, self.features)


@dataclass(frozen=True)
class PickHostOptions:
    """Which hosts and jobs are drawn; ranges include both ends."""

    num_hosts: int = 20
    max_jobs_per_step: int = 10
    episode_length: int = 100
    host_cores: tuple[int, int] = eda.HOST_CORES
    host_memory_gb: tuple[int, int] = eda.HOST_MEMORY_GB
    job_cores: tuple[int, int] = eda.JOB_CORES
    job_memory_mb: tuple[int, int] = eda.JOB_MEMORY_MB
    job_run_s: tuple[int, int] = (1, 60)
    seed: int = 0

    def __post_init__(self) -> None:
        whole("num_hosts", self.num_hosts, 1, _LARGEST)
        whole("max_jobs_per_step", self.max_jobs_per_step, 1, _LARGEST)
        whole("episode_length", self.episode_length, 1, _LARGEST)
        whole("seed", self.seed, 0, 2**64 - 1)
        for name in ("host_cores", "host_memory_gb", "job_cores", "job_memory_mb", "job_run_s"):
            object.__setattr__(self, name, pair(name, getattr(self, name), 1, _MOST))
        for asked, most, has, least in (
            ("job_cores", self.job_cores[1], "host_cores", self.host_cores[0]),
            ("job_memory_mb", self.job_memory_mb[1], "host_memory_gb", self.host_memory_gb[0] * eda.GB),
        ):
            if most > least:
                raise InputError(f"{asked} goes up to {most}, {has} down to {least}; expected jobs that fit everywhere")

    @property
    def layout(self) -> Layout:
        """The layout of the observations."""
        return Layout(PICK_HOST, num_hosts=self.num_hosts)


@dataclass(frozen=True)
class RewardOptions:
    """What the reward is."""

    reward: Mapping[str, float] | str = field(default_factory=lambda: {"bounded_slowdown": 1.0})
    """A name, or names with their weights; better is larger whatever the name."""
    timing: str = "dense"
    log: bool | tuple[str, ...] = False
    """Whether each job counts with its logarithm: in all objectives that are means over jobs, or in those named."""
    scale: str = NO_SCALE
    relative_to: str | None = None
    bounds: Mapping[str, float] = field(default_factory=dict)
    bound_weight: float = 1.0
    invalid_penalty: float = 0.0

    def __post_init__(self) -> None:
        given = {self.reward: 1.0} if isinstance(self.reward, str) else self.reward
        weights = numbers_by_name("reward", given, -math.inf)
        if not any(weights.values()):
            raise InputError(f"reward is {self.reward!r}; expected at least one name with a weight other than 0")
        object.__setattr__(self, "reward", weights)
        check_name("timing", self.timing, TIMINGS)
        if not isinstance(self.log, bool):
            object.__setattr__(self, "log", distinct_names("log", self.log))
            for name in self.logarithms:
                check_name("log", name, OF_JOBS)
        object.__setattr__(self, "bounds", numbers_by_name("bounds", self.bounds, 0.0))
        for name in self.bounds:
            check_name("bound", name, BOUNDED)
        number("bound_weight", self.bound_weight, 0.0)
        number("invalid_penalty", self.invalid_penalty, 0.0)
        for policy in (self.scale_policy, self.relative_to):
            if policy not in (None, ORDER):
                _check_starts(f"the reward refers to {policy!r}", reference_policy(policy)[0])
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


def _check_starts(given: str, policy: NativePolicy) -> None:
    """Raises an error for a policy that stops jobs: an environment, and what its reward refers to, only starts them."""
    if policy.known.preempts:
        why = "which stops running jobs; environments only start them"
        raise InputError(f"{given}, {why}; name a policy that only orders them, such as 'qssf'")


def reference_policy(text: str) -> tuple[NativePolicy, str]:
    """Returns the policy and the dispatch rule that ``fcfs/easy`` means; without a rule, the policy's own.

    Raises:
        InputError: Either is unknown, or they contradict each other, or the policy is one of the user's own.
    """
    policy, slash, dispatch = text.rpartition("/")
    if not slash or not (dispatch in DISPATCHES or dispatch.isdecimal()):
        # The slash is one of a file's name.
        policy, dispatch = text, ""
    if not names_native(policy):
        raise InputError(
            f"{text!r}: cannot be run natively, as scales are; name a policy of Shunter's own, or a TOML file"
        )
    found = resolve_native(policy)
    return found, resolve_scheduler(policy=found, dispatch=dispatch or None).settings.dispatch


@dataclass(frozen=True)
class EpisodeOptions:
    """Which windows of a log are episodes, and when these end."""

    part: tuple[float, float] | str = PARTS["train"]
    """From which fraction of the log to which one, or a name of `PARTS`."""
    windows: int | None = None
    """How many; None: as many as there are, `MOST_WINDOWS` at most."""
    length: int = 256
    warmup: int = 0
    max_steps: int | None = None
    horizon_factor: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        part = self.part
        if isinstance(part, str):
            part = PARTS[part] if part in PARTS else parse_part(part, f"part (one of {', '.join(PARTS)}, or a:b)")
        object.__setattr__(self, "part", tuple(part))
        for name, value, least in (("windows", self.count, 1), ("length", self.length, 1), ("warmup", self.warmup, 0)):
            whole(name, value, least, MOST_COUNT)
        whole("seed", self.seed, 0, 2**64 - 1)
        check_numbers(count=self.count, length=self.length, blocks=None, part=self.bounds, warmup=self.warmup)
        check_ending(self.max_steps, self.horizon_factor)

    @property
    def bounds(self) -> tuple[float, float]:
        """The part of the log as two fractions."""
        assert isinstance(self.part, tuple)
        return self.part

    @property
    def count(self) -> int:
        """How many windows are wanted at most."""
        return MOST_WINDOWS if self.windows is None else self.windows

    def windows_of(self, log: Log) -> Windows:
        """Returns the windows of a log.

        Raises:
            InputError: The part has fewer jobs than a window.
        """
        return choose_windows(
            len(log.workload),
            count=self.count,
            length=self.length,
            seed=self.seed,
            part=self.bounds,
            warmup=self.warmup,
            log=log.workload.name,
            part_option="part",
        )


def check_ending(max_steps: int | None, horizon_factor: float | None) -> None:
    """Raises an error for an ending that nobody means."""
    if max_steps is not None:
        whole("max_steps", max_steps, 1, 2**31)
    if horizon_factor is not None and number("horizon_factor", horizon_factor, 0.0) == 0.0:
        raise InputError("horizon_factor is 0; expected a number above 0, or None")
