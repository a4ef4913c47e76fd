"""What a simulation is asked to do: the options of the command line, checked before anything long is begun."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from shunter.errors import InputError

_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "None": (type(None),),
}
"""What JSON gives for each part of an annotation."""


@dataclass(frozen=True)
class RunArguments:
    """The options of ``shunter simulate`` that decide the schedule; the same options give the same schedule."""

    workload: str
    cluster: str | None = None
    """None: the one that the workload tells of."""
    load: float | None = None
    """None: the arrivals as they are."""
    policy: str = "fcfs"
    dispatch: str | None = None
    """None: ``easy``, or ``greedy`` if the policy never waits."""
    placement: str | None = None
    """None: ``first-fit``."""
    estimate: str | None = None
    """None: ``requested``, or ``history`` with the policy ``qssf``."""
    start: int = 0
    length: int | None = None
    """None: to the end of the log."""
    preemption_overhead_s: float = 0.0
    preempted_progress: str = "kept"
    min_run_s: float = 0.0
    failures: str | None = None
    """A failures file."""
    mtbf_s: float | None = None
    mttr_s: float | None = None
    failed_progress: str = "lost"
    max_wait_s: float | None = None
    missing_request: str = "run-time"
    reserve_by: str = "requested"
    kill_at_request: bool = False
    scan_depth: int = 1000
    seed: int = 0
    format: str | None = None
    """None: told from the file's content."""
    columns: str | None = None
    """For tables: what gives our columns, as ``submit_s=arrival,run_s=duration``. None: the table's own names."""
    only: str | None = None
    """The statuses to keep, with commas between them. None: all jobs."""
    strict: bool = False

    def settings(self) -> dict[str, Any]:
        """Returns what `shunter.simulation.simulate` takes besides the workload and the cluster."""
        names = (
            "policy", "dispatch", "placement", "estimate", "missing_request", "reserve_by", "kill_at_request",
            "max_wait_s", "scan_depth", "seed", "preemption_overhead_s", "preempted_progress", "min_run_s", "failures",
            "mtbf_s", "mttr_s", "failed_progress",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

    @property
    def files(self) -> dict[str, str | Path | None]:
        """What is read, by what errors call it; a name that is not that of a file does no harm."""
        from shunter.policies.policy_file import policy_path, python_path
        from shunter.policies.specs import spec_file

        return {
            "workload": self.workload,
            "cluster": self.cluster,
            "policy": policy_path(self.policy) or spec_file(self.policy),
            "estimate": spec_file(self.estimate or ""),
            "placement": python_path(self.placement or ""),
            "failures": self.failures,
        }

    def checked(self) -> RunArguments:
        """Returns the arguments with what stands in for those not given; the first that is wrong is an error."""
        from shunter.policies.settings import check_settings
        from shunter.workloads.load import check_load

        if self.load is not None:
            check_load(self.load)
        if self.start < 0:
            raise InputError(f"--start is {self.start}; expected 0 or more")
        if self.length is not None and self.length < 1:
            raise InputError(f"--length is {self.length}; expected 1 or more")
        settings = check_settings(**self.settings())
        return replace(self, dispatch=settings.dispatch, placement=settings.placement, estimate=settings.estimate)

    def to_json(self) -> dict[str, Any]:
        """Returns the arguments as a plain object."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> RunArguments:
        """Returns the arguments that ``to_json`` gave; what this version does not know is an error."""
        unknown = set(values) - {field.name for field in fields(cls)}
        if unknown or "workload" not in values:
            raise InputError(f"arguments not understood: {', '.join(sorted(unknown)) or 'no workload'}")
        for field in fields(cls):
            if field.name in values and not _is_of_type(values[field.name], str(field.type)):
                raise InputError(f"argument {field.name} is {values[field.name]!r}; expected {field.type}")
        return cls(**values)


def _is_of_type(value: object, annotation: str) -> bool:
    """Returns whether a value from JSON is of one of the types that an annotation such as ``int | None`` names."""
    # By the exact type, for a bool is also an int.
    return any(type(value) in _JSON_TYPES[part] for part in annotation.split(" | "))
