"""How versions of Slurm write values in JSON: a plain number here, an object with ``set`` and ``number`` there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from shunter.execution.operating.site import State
from shunter.workloads.formats.slurm import gpus_of_gres
from shunter.workloads.text.hosts import node_names

OPEN_REASONS: Final = {"", "none", "priority", "resources", "reqnodenotavail", "(null)"}
"""In lower case: reasons of jobs that only wait for room or for their turn."""
RUNNING: Final = {"RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING", "STAGE_OUT", "STOPPED", "SIGNALING", "RESIZING"}
"""States in which a job holds nodes."""
ENDED: Final = {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "DEADLINE"}
CLOSED: Final = {
    "DOWN", "ERROR", "UNKNOWN", "FUTURE", "FAIL", "FAILING", "DRAIN", "DRAINED", "DRAINING", "RESERVED", "MAINT",
    "MAINTENANCE", "NOT_RESPONDING", "NO_RESPOND", "REBOOT", "REBOOT_REQUESTED", "REBOOT_ISSUED", "BLOCKED",
    "POWER_DOWN", "POWERING_DOWN", "POWER_DRAIN", "INVALID", "INVALID_REG", "PERFCTRS",
}  # fmt: skip
"""States and flags of nodes on which no further job starts."""
_TASKS: Final = re.compile(r"\d+(-\d+(:\d+)?)?(,\d+(-\d+(:\d+)?)?)*")
_INDEX: Final = re.compile(r"IDX:([\d,-]+)")
_MOST_SECONDS: Final = 1 << 40


def whole(value: Any) -> int | None:  # noqa: ANN401 - whatever stands there
    """Returns a whole number, however a version writes it; None where nothing is set."""
    if isinstance(value, Mapping):
        value = value.get("number") if value.get("set", True) and not value.get("infinite", False) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return int(value) if abs(value) < _MOST_SECONDS else None


def text(value: Any) -> str:  # noqa: ANN401 - whatever stands there
    """Returns a text; nothing else is one."""
    return value if isinstance(value, str) else ""


def words(value: Any) -> list[str]:  # noqa: ANN401 - whatever stands there
    """Returns states in capitals: one version writes a text, another a list, and flags may end in a blank."""
    several = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return [one.strip().upper() for one in several if isinstance(one, str) and one.strip()]


def state_of(states: Sequence[str]) -> State:
    """Returns what a job does."""
    if not RUNNING.isdisjoint(states):
        return State.RUNNING
    if "PENDING" in states:
        return State.PENDING
    return State.ENDED if not ENDED.isdisjoint(states) else State.OTHER


def tasks_text(told: str) -> str | None:
    """Returns the tasks of an array without the limit behind them: ``1-3%2`` is ``1-3``; None: they are not told."""
    tasks = told.partition("%")[0].strip("[]")
    return tasks if _TASKS.fullmatch(tasks) else None


def allocation_of(job: Mapping[str, Any], cores: int) -> tuple[tuple[str, int], ...]:
    """Returns the nodes of a running job with the cores on each; versions tell these in different places."""
    names = node_names(text(job.get("nodes"))) if text(job.get("nodes")) else None
    if not names:
        return ()
    weights = _weights(job.get("job_resources"), names)
    total = sum(weights)
    shares = [cores * weight // total for weight in weights] if total else [cores // len(names)] * len(names)
    # What does not divide goes to the first ones, so that the sum is right.
    for place in range(cores - sum(shares)):
        shares[place % len(shares)] += 1
    return tuple((name, share) for name, share in zip(names, shares, strict=True))


def _weights(told: Any, names: Sequence[str]) -> list[int]:  # noqa: ANN401 - whatever stands there
    """Returns how much of the job each node has, in the unit of the version; zeros where it is not told."""
    found = dict.fromkeys(names, 0)
    resources = told if isinstance(told, Mapping) else {}
    inner = resources.get("nodes")
    entries = inner.get("allocation") if isinstance(inner, Mapping) else resources.get("allocated_nodes")
    if isinstance(entries, Mapping):
        # The oldest version has the nodes by their places, as texts.
        entries = [{"name": name, **_mapping(entries.get(str(place)))} for place, name in enumerate(names)]
    for entry in entries if isinstance(entries, list) else []:
        one = _mapping(entry)
        name = text(one.get("nodename")) or text(one.get("name"))
        if name in found:
            cpus = one.get("cpus")
            counted = whole(_mapping(cpus).get("count")) if isinstance(cpus, Mapping) else whole(cpus)
            found[name] = counted or _allocated_cores(one.get("sockets"))
    return list(found.values()) if len(found) == len(names) else [0] * len(names)


def _mapping(value: Any) -> Mapping[str, Any]:  # noqa: ANN401 - whatever stands there
    return value if isinstance(value, Mapping) else {}


def _allocated_cores(sockets: Any) -> int:  # noqa: ANN401 - whatever stands there
    each = [_mapping(socket).get("cores") for socket in _mapping(sockets).values()]
    return sum(str(state).lower() == "allocated" for cores in each for state in _mapping(cores).values())


def devices_of(details: Any, names: Sequence[str]) -> dict[str, list[int]] | None:  # noqa: ANN401 - whatever stands
    """Returns the numbers of a job's GPUs by node; None where they are not told for each node."""
    if not isinstance(details, list) or len(details) != len(names):
        return None
    found = {}
    for name, detail in zip(names, details, strict=True):
        items = [item for item in re.split(r",(?![^(]*\))", text(detail)) if item.startswith("gpu")]
        numbers = [number for item in items for match in _INDEX.findall(item) for number in _numbers(match)]
        if len(numbers) != gpus_of_gres(text(detail))[0]:
            return None
        found[name] = numbers
    return found


def _numbers(listed: str) -> list[int]:
    bounds = [item.partition("-") for item in listed.split(",") if re.fullmatch(r"\d{1,4}(-\d{1,4})?", item)]
    return [number for first, _, last in bounds for number in range(int(first), int(last or first) + 1)]
