"""What environments are asked to be, checked; ``docs/environments.md`` says what each option means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from shunter.checks import (
    MOST_SEED,
    check_fields,
    check_name,
    declared,
    distinct_names,
    from_table,
    numbers_by_name,
    pair,
    to_table,
)
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
    """What a policy that chooses jobs must remember to decide in the same way again."""

    mode: str = declared(
        "reserve",
        "What choosing a job does: reserve leaves the freedom that EASY backfilling has.",
        choices=PICK_JOB_MODES,
        option="mode",
        metavar="NAME",
    )
    order: str = declared(
        "fcfs", "The policy that sorts the jobs that can be chosen.", option="order", metavar="NAME|FILE"
    )
    window: int = declared(
        128, "How many waiting jobs the policy sees.", low=1, high=_LARGEST, option="window", metavar="N"
    )
    lookahead: str = declared(
        "cdf", "How the policy sees future capacity.", choices=LOOKAHEADS, option="lookahead", metavar="NAME"
    )
    lookahead_size: int = declared(16, "How many numbers describe future capacity.", low=1, high=_LARGEST)
    features: tuple[str, ...] = declared((), "Features of your own, by the names they were registered by.")
    placement: str | None = declared(None, "Which nodes a job gets.")
    estimate: str = declared(
        "requested",
        "The run time that the policy sees: requested, posterior, or another estimate.",
        option="estimate",
        metavar="NAME",
    )
    missing_request: str | float = declared("run-time", "What stands in for a requested time that the log lacks.")
    reserve_by: str = declared("requested", "The run time that reservations count with.")
    kill_at_request: bool = declared(False, "Whether a job ends when its requested time is over.")
    max_wait_s: float | None = declared(
        None,
        "A job that has waited this many seconds must be chosen before all others. none: no such rule.",
        option="max-wait",
        metavar="S",
    )
    scan_depth: int = declared(1000, "How many waiting jobs are looked at in each pass.")
    seed: int = declared(0, "The seed of everything random in the simulation.")

    def __post_init__(self) -> None:
        check_fields(self)
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

    num_hosts: int = declared(20, "How many hosts there are.", low=1, high=_LARGEST)
    max_jobs_per_step: int = declared(10, "How many jobs arrive in a second at most.", low=1, high=_LARGEST)
    episode_length: int = declared(100, "In how many seconds jobs arrive.", low=1, high=_LARGEST)
    host_cores: tuple[int, int] = declared(eda.HOST_CORES, "The cores of a host.")
    host_memory_gb: tuple[int, int] = declared(eda.HOST_MEMORY_GB, "The memory of a host, in GB.")
    job_cores: tuple[int, int] = declared(eda.JOB_CORES, "The cores of a job.")
    job_memory_mb: tuple[int, int] = declared(eda.JOB_MEMORY_MB, "The memory of a job, in MB.")
    job_run_s: tuple[int, int] = declared((1, 60), "How long a job runs, in seconds.")
    seed: int = declared(0, "The seed that episodes are drawn from.", low=0, high=MOST_SEED)

    def __post_init__(self) -> None:
        check_fields(self)
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


EnvironmentOptions = PickJobOptions | PickHostOptions

ENVIRONMENTS: Final[dict[str, type[PickJobOptions] | type[PickHostOptions]]] = {
    PICK_JOB: PickJobOptions,
    PICK_HOST: PickHostOptions,
}
"""What ``[environment] kind`` may be, and what its other keys are."""


def environment_table(options: EnvironmentOptions) -> dict[str, Any]:
    """Returns the section of an environment; `environment_from` reads the same again."""
    return {"kind": options.layout.kind, **to_table(options)}


def environment_from(table: object, where: str) -> EnvironmentOptions:
    """Returns what an environment is to be.

    Raises:
        InputError: A key is unknown, or a value is wrong.
    """
    if not isinstance(table, Mapping):
        raise InputError(f"{where} is {table!r}; expected a table of keys and values")
    kind = table.get("kind", PICK_JOB)
    if not isinstance(kind, str) or kind not in ENVIRONMENTS:
        raise InputError(f"{where}: kind is {kind!r}; expected one of {', '.join(ENVIRONMENTS)}")
    return from_table(ENVIRONMENTS[kind], {key: value for key, value in table.items() if key != "kind"}, where)


@dataclass(frozen=True)
class RewardOptions:
    """What the reward is."""

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


def _max_steps() -> Any:  # noqa: ANN401 - as `dataclasses.field` is typed
    return declared(None, "After how many decisions an episode is cut.", low=1, high=2**31)


def _horizon_factor() -> Any:  # noqa: ANN401 - as `dataclasses.field` is typed
    what = "An episode is cut after this many times the span of its submits plus its jobs' time at full use."
    return declared(None, what, low=0.0, above=True)


@dataclass(frozen=True)
class Ending:
    """What ends an episode before all its jobs have started."""

    max_steps: int | None = _max_steps()
    horizon_factor: float | None = _horizon_factor()

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class EpisodeOptions:
    """Which windows of a log are episodes, and when these end."""

    part: tuple[float, float] | str = declared(
        PARTS["train"],
        "The part of the log that windows are taken from: train, validation, report, or two fractions of its jobs.",
        metavar="A:B",
    )
    windows: int | None = declared(
        None,
        "How many windows there are.",
        low=1,
        high=MOST_COUNT,
        metavar="K",
        shown_default=f"none: as many as there are, at most {MOST_WINDOWS}",
    )
    length: int = declared(256, "How many jobs of each window are measured.", low=1, high=MOST_COUNT, metavar="N")
    warmup: int = declared(
        0, "How many jobs before each window are simulated too.", low=0, high=MOST_COUNT, metavar="N"
    )
    max_steps: int | None = _max_steps()
    horizon_factor: float | None = _horizon_factor()
    seed: int = declared(0, "The seed that windows are chosen by.", low=0, high=MOST_SEED)

    def __post_init__(self) -> None:
        part = self.part
        if isinstance(part, str):
            part = PARTS[part] if part in PARTS else parse_part(part, f"part (one of {', '.join(PARTS)}, or a:b)")
        object.__setattr__(self, "part", tuple(part))
        check_fields(self)
        check_numbers(count=self.count, length=self.length, blocks=None, part=self.bounds, warmup=self.warmup)

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
