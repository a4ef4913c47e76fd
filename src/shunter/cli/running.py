"""What a simulation is asked to do, and doing it: check the arguments, read the log, simulate and measure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

from shunter.checks import typed
from shunter.cli.outputs import step
from shunter.errors import InputError
from shunter.model.settings import CORES_ALONE, DECLARED, SETTING_NAMES, Settings

if TYPE_CHECKING:
    from shunter.cli.outputs import ReadFiles
    from shunter.metrics.run import Run
    from shunter.model.log import Log
    from shunter.policies.scheduler import Scheduler

DEFAULT_WORDS: Final = {name: None if said.is_open else getattr(Settings(), name) for name, said in DECLARED.items()}
"""The settings of those who ask for none; None where what goes with the policy stands in."""


@dataclass(frozen=True)
class RunArguments:
    """The options of ``shunter simulate`` that decide the schedule; the same options give the same schedule."""

    workload: str
    cluster: str | None = None
    """None: the one that the workload tells of."""
    load: float | None = None
    """None: the arrivals as they are."""
    start: int = 0
    length: int | None = None
    """None: to the end of the log."""
    format: str | None = None
    """None: told from the file's content."""
    columns: str | None = None
    """For tables: what gives our columns, as ``submit_s=arrival,run_s=duration``. None: the table's own names."""
    only: str | None = None
    """The statuses to keep, with commas between them. None: all jobs."""
    strict: bool = False
    given: Mapping[str, Any] = field(default_factory=dict)
    """The settings that the verb takes, by name; all others are those of `DEFAULT_WORDS`."""
    asked: Collection[str] = ()
    """The options that the user named."""

    @property
    def words(self) -> dict[str, Any]:
        """All settings, as `shunter.simulate` takes them; None where what goes with the policy stands in."""
        return {**DEFAULT_WORDS, **self.given}

    @property
    def seed(self) -> int:
        """The seed of everything random."""
        return int(self.words["seed"])

    def with_settings(self, **words: Any) -> RunArguments:  # noqa: ANN401 - the settings by name
        """Returns the same arguments with other settings."""
        return replace(self, given={**self.given, **words})

    def check_numbers(self) -> None:
        """Raises an error for a load or a window that cannot be, whatever the log is."""
        if self.load is not None:
            from shunter.workloads.load import check_load

            check_load(self.load)
        if self.start < 0:
            raise InputError(f"--start is {self.start}; expected 0 or more")
        if self.length is not None and self.length < 1:
            raise InputError(f"--length is {self.length}; expected 1 or more")

    def scheduler(self) -> Scheduler:
        """Returns the way to schedule that is asked for, having checked all that can be checked without the log.

        Raises:
            InputError: The first word or number that is wrong.
        """
        from shunter.policies.scheduler import resolve_scheduler

        self.check_numbers()
        return resolve_scheduler(**self.words, asked=self.asked)

    def inputs(self, scheduler: Scheduler) -> ReadFiles:
        """Returns the files that are read, for checks that none of them is overwritten."""
        return {"workload": self.workload, "cluster": self.cluster, **scheduler.files}

    def to_json(self) -> dict[str, Any]:
        """Returns the arguments as a plain object."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("given", "asked")}
        return own | self.words

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> RunArguments:
        """Returns the arguments that ``to_json`` gave; what this version does not know is an error."""
        hints = get_type_hints(cls)
        own = [one.name for one in fields(cls) if one.name not in ("given", "asked")]
        # A manifest of a later version may have arguments that this one would silently ignore.
        unknown = set(values) - {*own, *SETTING_NAMES}
        if unknown or "workload" not in values:
            raise InputError(f"arguments not understood: {', '.join(sorted(unknown)) or 'no workload'}")
        hints |= get_type_hints(Settings)
        hints |= {name: hints[name] | None for name, said in DECLARED.items() if said.is_open}
        for name, value in values.items():
            # JSON has a word of its own for None.
            if value is not None or type(None) not in get_args(hints[name]):
                typed(value, hints[name], f"argument {name}")
        settings = {name: value for name, value in values.items() if name in SETTING_NAMES}
        # What a manifest leaves out tells of which version it is: one that counted cores, or one whose policies stopped
        # jobs by other rules.
        if "preemption_overhead_per_gb_s" not in settings:
            from shunter.policies.native import of_before

            policy = settings.get("policy", Settings().policy)
            settings["policy"] = of_before(policy, with_origin="size_by" in settings)
            settings.setdefault("size_by", CORES_ALONE)
        return cls(**{name: value for name, value in values.items() if name in own}, given=settings)


@dataclass(frozen=True)
class Inputs:
    """What is simulated."""

    arguments: RunArguments
    """As given, with the format that was read and the cluster that the workload tells of."""
    log: Log
    """Whole, whatever window is asked for; at the load that is asked for."""


def read_inputs(arguments: RunArguments) -> Inputs:
    """Reads workload and cluster; the numbers that can be checked without the workload are checked first."""
    arguments.check_numbers()
    from shunter.model.log import FROM_WORKLOAD
    from shunter.workloads.reading import read_log

    with step(f"reading {arguments.workload}"):
        log = read_log(
            arguments.workload,
            arguments.cluster,
            load=arguments.load,
            format=arguments.format,
            strict=arguments.strict,
            only=arguments.only,
            columns=arguments.columns,
        )
    # A run is repeated from what is written down: a guess is written as what was found.
    arguments = replace(arguments, format=log.workload.format)
    if log.cluster_from == FROM_WORKLOAD:
        arguments = replace(arguments, cluster=log.workload.cluster_spec)
    return Inputs(arguments, log)


def run(
    arguments: RunArguments, scheduler: Scheduler | None = None, inspect: Callable[[Log], None] | None = None
) -> Run:
    """Reads, simulates and measures.

    Args:
        arguments: What to do.
        scheduler: What the arguments resolve to, if it is known already.
        inspect: Called with the whole log before the simulation; it may raise an error.
    """
    from shunter.metrics.run import run_log

    scheduler = arguments.scheduler() if scheduler is None else scheduler
    inputs = read_inputs(arguments)
    if inspect is not None:
        inspect(inputs.log)
    arguments = inputs.arguments
    with step("simulating") as progress:
        return run_log(
            inputs.log,
            scheduler,
            start=arguments.start,
            length=arguments.length,
            strict=arguments.strict,
            arguments=arguments.to_json(),
            progress=progress,
        )
