"""The settings of a simulation, each declared once: type, default, range, meaning, and the core's field.

The options of the command line, the arguments of `shunter.simulate`, the checks, the manifest of a run and the core's
configuration follow from the fields of `Settings`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from shunter.checks import TIME, check_fields, declarations, declared, seconds_of, timed
from shunter.errors import InputError
from shunter.model.locality import NEVER, locality_terms

FailureEvent = tuple[float, str, str]
"""When (absolute, as the workload's submit times), the node's name, and ``down`` or ``up``."""

RESERVE_BY: Final[dict[str, str]] = {
    "requested": "reservations last as long as the user asked for",
    "estimate": "reservations last as long as the estimate",
}
"""Which run time a reservation, and a running job's expected end, goes by."""

PROGRESS: Final[dict[str, str]] = {
    "kept": "the job goes on from where it was",
    "lost": "what the job has done since its latest start is lost",
}
"""What becomes of the work of a job that is stopped, by a policy or by the failure of a node."""

AUTO: Final = "auto"
CORES_ALONE: Final = "cores-alone"
"""How sizes were counted before there was a choice: what files of that time mean."""
SIZE_BY: Final[dict[str, str]] = {
    AUTO: "cores or GPUs, whichever the log's jobs ask more of than the cluster has",
    "cores": "cores; a job's GPUs count as that share of all cores, where it is larger",
    "gpus": "GPUs; a job's cores count as that share of all GPUs, where it is larger",
    CORES_ALONE: "cores, whatever GPUs a job has: how earlier versions counted",
}
"""What a job's size is counted in."""

RUN_TIME: Final = "run-time"
LONGEST_S: Final = 1e9
UNKNOWN_MS: Final = -1
"""The core's number for a time that is not known, or not wanted."""


def _to_ms(seconds: float | None) -> int:
    # The core counts whole milliseconds; see docs/architecture.md, "Integers".
    return UNKNOWN_MS if seconds is None else round(seconds * 1000)


def _request_to_ms(missing_request: str) -> int:
    return UNKNOWN_MS if missing_request == RUN_TIME else _to_ms(float(missing_request))


def _is_kept(progress: str) -> bool:
    return progress == "kept"


_SECONDS: Final[dict[str, Any]] = {"metavar": TIME, "low": 0.0, "high": LONGEST_S, "to_core": _to_ms}
"""What is declared of every time."""
# The core counts milliseconds, and a mean of none would be no failure at all.
_MEAN: Final = _SECONDS | {"low": 0.001, "shown_default": "no failures are drawn"}
_KEPT: Final[dict[str, Any]] = {"metavar": "kept|lost", "choices": PROGRESS, "to_core": _is_kept}


@dataclass(frozen=True)
class Settings:
    """What a simulation is asked to do, in the words of the command line.

    Where no dispatch rule, placement or estimate is asked for, some policies bring another one than stands here.
    """

    policy: str = declared("fcfs", "The order in which waiting jobs are considered.", metavar="NAME")
    dispatch: str = declared("easy", "What happens when the next job does not fit.", metavar="NAME", is_open=True)
    placement: str = declared("first-fit", "The nodes that a job gets.", metavar="NAME", is_open=True)
    estimate: str = declared(
        "requested",
        "The run time that the policy sees.",
        metavar="NAME",
        is_open=True,
        shown_default="requested; history with qssf",
    )
    missing_request: str = declared(
        RUN_TIME,
        "What stands in for a requested time that the log does not have: the run time, or a time such as 12h. The "
        "ledger counts these jobs.",
        metavar="run-time|TIME",
        core="missing_request_ms",
        to_core=_request_to_ms,
    )
    reserve_by: str = declared(
        "requested",
        "How long reservations last: as long as the user asked for, or as long as the estimate.",
        metavar="requested|estimate",
        choices=RESERVE_BY,
        core="reserve_by_estimate",
        to_core=lambda given: given == "estimate",
    )
    kill_at_request: bool = declared(False, "Kill a job that outlives its requested time.", core="kill_at_request")
    max_wait_s: float | None = declared(
        None,
        "Starvation guard: a job that has waited so long goes before all others: --max-wait 36h.",
        shown_default="off",
        core="max_wait_ms",
        **_SECONDS,
    )
    size_by: str = declared(
        AUTO,
        "What a job's size is counted in, by which policies tell large jobs from small ones: cores or GPUs, whichever "
        "the log's jobs ask more of than the cluster has.",
        metavar="|".join(SIZE_BY),
        choices=SIZE_BY,
    )
    scan_depth: int = declared(
        1000,
        "How many waiting jobs one pass looks at, where it has two or more reservations or the order moves with time.",
        metavar="N",
        low=1,
        high=2**32 - 1,
        core="scan_depth",
    )
    seed: int = declared(0, "The seed of everything random.", metavar="N", low=0, high=2**64 - 1, core="seed")
    preemption_overhead_s: float = declared(
        0.0,
        "What each restart of a stopped job costs before it makes progress: --preemption-overhead 30s.",
        core="preemption_overhead_ms",
        **_SECONDS,
    )
    preemption_overhead_per_gb_s: float = declared(
        0.0,
        "What it costs on top for each GB of the job's memory: --preemption-overhead-per-gb 2s.",
        core="preemption_overhead_per_gb_ms",
        **_SECONDS,
    )
    preempted_progress: str = declared(
        "kept",
        "Whether a job that the policy stops (gittins, las, srsf, srtf) keeps or loses its work of its latest start.",
        core="keep_progress",
        **_KEPT,
    )
    min_run_s: float = declared(
        0.0,
        "How long a job runs at least before the policy may stop it: --min-run 5m.",
        core="minimum_run_ms",
        **_SECONDS,
    )
    wait_for_locality: str = declared(
        NEVER,
        "Whether a job with GPUs waits, though it fits, until its tasks can be close together: never, always, up to "
        "10m since it was submitted, or only where it would otherwise run longer by more than 10%.",
        metavar="never|always|TIME|LOSS",
    )
    pairs: str = declared("any", "Which types of GPUs a job takes.", metavar="NAME")
    failures: str | tuple[FailureEvent, ...] | None = declared(
        None,
        "A CSV file of failures with the columns time_s, node and event (down or up): --failures failures.csv.",
        metavar="FILE",
        shown_default="none",
    )
    mtbf_s: float | None = declared(
        None,
        "Draw failures: the mean time until a node fails, as in --mtbf 30d --mttr 2h.",
        core="mtbf_ms",
        **_MEAN,
    )
    mttr_s: float | None = declared(
        None,
        "The mean time until a failed node is up again. Goes with --mtbf.",
        core="mttr_ms",
        **_MEAN,
    )
    failed_progress: str = declared(
        "lost",
        "Whether a job whose node fails keeps or loses its work since its latest start.",
        core="failure_keeps_progress",
        **_KEPT,
    )

    def checked(self) -> Settings:
        """Checks the settings and returns them; names of policies and the like are not looked up here.

        Raises:
            InputError: A value is out of range, or two of them contradict each other.
        """
        given = {name: timed(name, value, option_of(name)) for name, value in self.words().items()}
        # From Python, missing_request=3600 is as good as "3600".
        given["missing_request"] = plain_request(str(self.missing_request))
        given["wait_for_locality"] = str(self.wait_for_locality)
        check_fields(Settings(**given), names=_OPTIONS)
        locality_terms(given["wait_for_locality"])
        for name, other in (("mtbf_s", "mttr_s"), ("mttr_s", "mtbf_s")):
            if given[name] is not None and given[other] is None:
                what = f"{option_of(name)} is {given[name]:g}, but {option_of(other)} is not given"
                raise InputError(f"{what}; give both or none")
        if self.failures is not None:
            # The command line reads this module for its help, which must not wait for NumPy.
            from shunter.model.failures import check_given

            given["failures"] = check_given(self.failures)
        return Settings(**given)

    def words(self) -> dict[str, Any]:
        """Returns the settings by name, as `shunter.simulate` takes them."""
        return {name: getattr(self, name) for name in SETTING_NAMES}

    def options(self) -> list[str]:
        """Returns the words of a command line that ask for them; the policy and the rule always, others if need be."""
        words: list[str] = []
        for name, value in self.words().items():
            option = option_of(name).partition(" ")[0]
            # Failures that were given in Python have no file that could be named.
            if isinstance(value, tuple) or (value == getattr(Settings(), name) and name not in ("policy", "dispatch")):
                continue
            text = f"{value:.15g}" if isinstance(value, float) else str(value)
            words += [option] if value is True else [option, text]
        return words

    def core_fields(self) -> dict[str, Any]:
        """Returns what the settings fill in the core's configuration by themselves."""
        given = ((one, getattr(self, name)) for name, one in DECLARED.items() if one.core)
        return {one.core: one.to_core(value) if one.to_core else value for one, value in given}


DECLARED: Final = declarations(Settings)
SETTING_NAMES: Final = tuple(DECLARED)


def option_of(name: str) -> str:
    """Returns what errors call a setting: its option on the command line, and its name in Python."""
    return f"--{name.removesuffix('_s').replace('_', '-')} ({name})"


_OPTIONS: Final = {name: option_of(name) for name in SETTING_NAMES}


def plain_request(value: str) -> str:
    """Returns what stands in for missing requests: `RUN_TIME`, or a number of seconds as text.

    Raises:
        InputError: It is neither of them, nor a time such as ``12h``.
    """
    if value == RUN_TIME:
        return value
    seconds = seconds_of(value)
    if seconds is None or not 0 <= seconds <= LONGEST_S:
        expected = f"{RUN_TIME!r}, a time such as 12h, or 0 to {LONGEST_S:.0f} seconds"
        raise InputError(f"{option_of('missing_request')} is {value!r}; expected {expected}")
    return f"{seconds:.15g}"
