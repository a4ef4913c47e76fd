"""What a scheduler knows at an instant, in the core's units."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from shunter.errors import InputError
from shunter.files import parse_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NO_TIME: Final = -(2**63)
"""Stands in an array of times, which may be negative, for none."""
UNKNOWN: Final = -1

ARRAYS: Final[dict[str, type[np.integer[Any]]]] = {
    "phase": np.uint8,
    "start_ms": np.int64,
    "end_ms": np.int64,
    "node_offsets": np.int64,
    "nodes": np.int32,
    "tasks": np.int32,
    "device_offsets": np.int64,
    "devices": np.int32,
    "millis": np.int32,
    "down": np.uint8,
    "reserved_ms": np.int64,
    "done_ms": np.int64,
    "limit_ms": np.int64,
    "start_number": np.int64,
    "eligible_ms": np.int64,
    "stop_job": np.uint32,
    "stop_start_ms": np.int64,
    "stop_end_ms": np.int64,
    "stop_by_failure": np.uint8,
}
"""The arrays, each with the type of its values."""
_MAY_LACK: Final = ("size_by", "origin_ms", "eligible_ms")
"""Fields that snapshots of earlier versions do not have."""
WHOLE_GPU: Final = 1000
"""A whole device, in thousandths."""
PLACES: Final = ("node_offsets", "nodes", "tasks", "device_offsets", "devices", "millis")
"""The arrays that tell where jobs are."""


class LiveJob(NamedTuple):
    """What a live scheduler knows of a job."""

    phase: int
    """A `shunter.model.schedule.Phase`."""
    start_s: float | None = None
    end_s: float | None = None
    parts: Sequence[tuple[int, int]] = ()
    """The nodes that it is on, each with its tasks there."""
    devices: Sequence[int] = ()
    """The GPUs that it has, numbered through the whole cluster."""


@dataclass(frozen=True)
class Snapshot:
    """What is known at an instant: nothing of jobs to come, and no run time of a job that has not ended.

    A live scheduler knows the fields up to `down`, and the runs that were stopped. The others are Shunter's own state:
    what it has promised, what it learned when a job came, and in which order it started jobs at one instant. What users
    have used and what estimates have learned is not here: it follows from what the jobs have been through.
    """

    now_ms: int
    phase: NDArray[np.uint8]
    """Of each job: its `shunter.model.schedule.Phase`."""
    start_ms: NDArray[np.int64]
    """Of each job: its latest start, if it runs or has ended."""
    end_ms: NDArray[np.int64]
    """Of each job: its end, if it has ended."""
    node_offsets: NDArray[np.int64]
    """(jobs + 1): job i's nodes are the entries offsets[i] to offsets[i + 1] of `nodes` and `tasks`.

    A waiting job that holds a reservation has the nodes of the reservation here.
    """
    nodes: NDArray[np.int32]
    tasks: NDArray[np.int32]
    device_offsets: NDArray[np.int64]
    """(jobs + 1): job i's devices are the entries offsets[i] to offsets[i + 1] of `devices` and `millis`."""
    devices: NDArray[np.int32]
    millis: NDArray[np.int32]
    down: NDArray[np.uint8]
    """Of each node: 1 if it is down."""
    reserved_ms: NDArray[np.int64]
    """Of each job: when its reservation begins; `NO_TIME` for none."""
    done_ms: NDArray[np.int64]
    """Of each job: the work that it has done in runs that were stopped, and kept."""
    limit_ms: NDArray[np.int64]
    """Of each job: how long its reservations last, where that was learned when the job came; else `UNKNOWN`."""
    start_number: NDArray[np.int64]
    """Of each job: the number of its latest start, which breaks ties among ends; else `UNKNOWN`."""
    stop_job: NDArray[np.uint32]
    """Of each run that did not end its job, in the order in which they were stopped: the job."""
    stop_start_ms: NDArray[np.int64]
    stop_end_ms: NDArray[np.int64]
    stop_by_failure: NDArray[np.uint8]
    """1: a node failed; 0: another job needed the room."""
    committed_job: int = UNKNOWN
    """The job that a committed rule starts next."""
    committed_ms: int = 0
    """When it was expected to start."""
    size_by: int = UNKNOWN
    """What sizes are counted in, by the core's number: decisions from here on are by this. `UNKNOWN`: the simulation
    that is loaded decides, by its settings and its log."""
    origin_ms: int = NO_TIME
    """When the log begins, from which f1 to f4 count. `NO_TIME`: the simulation that is loaded decides, by its log."""
    eligible_ms: NDArray[np.int64] | None = None
    """Of each job: since when it waits for nodes; `NO_TIME`: since its submit time, or not yet. None: nobody knows."""

    @classmethod
    def live(cls, now_s: float, jobs: Sequence[LiveJob], is_down: Sequence[bool]) -> Snapshot:
        """Returns what a scheduler knows that promises nothing, stops nobody, and gives out whole GPUs.

        Args:
            now_s: The instant.
            jobs: In the order of the workload's table.
            is_down: Of each node.
        """
        count = len(jobs)
        parts = [part for job in jobs for part in job.parts]
        devices = [device for job in jobs for device in job.devices]
        return cls(
            now_ms=_ms(now_s),
            phase=np.array([job.phase for job in jobs], np.uint8),
            start_ms=np.array([_ms(job.start_s) for job in jobs], np.int64),
            end_ms=np.array([_ms(job.end_s) for job in jobs], np.int64),
            node_offsets=_offsets([len(job.parts) for job in jobs]),
            nodes=np.array([node for node, _ in parts], np.int32),
            tasks=np.array([tasks for _, tasks in parts], np.int32),
            device_offsets=_offsets([len(job.devices) for job in jobs]),
            devices=np.array(devices, np.int32),
            millis=np.full(len(devices), WHOLE_GPU, np.int32),
            down=np.array(is_down, np.uint8),
            reserved_ms=np.full(count, NO_TIME, np.int64),
            done_ms=np.zeros(count, np.int64),
            limit_ms=np.full(count, UNKNOWN, np.int64),
            start_number=np.full(count, UNKNOWN, np.int64),
            stop_job=np.empty(0, np.uint32),
            stop_start_ms=np.empty(0, np.int64),
            stop_end_ms=np.empty(0, np.int64),
            stop_by_failure=np.empty(0, np.uint8),
        )

    def to_json(self) -> str:
        """Returns the snapshot as a JSON object: a number or a list of whole numbers by the name of each field."""
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        lists = {name: array.tolist() for name, array in self.arrays().items()}
        return json.dumps({**told, **lists})

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Returns the arrays by name, each with the type of its values."""
        eligible_ms = np.full(len(self.phase), NO_TIME) if self.eligible_ms is None else self.eligible_ms
        told = {name: getattr(self, name) for name in ARRAYS} | {"eligible_ms": eligible_ms}
        return {name: np.ascontiguousarray(array, ARRAYS[name]) for name, array in told.items()}

    @classmethod
    def from_json(cls, text: str) -> Snapshot:
        """Returns the snapshot in a JSON object; when it is loaded, the core checks whether such a state is possible.

        Raises:
            InputError: It is no such object.
        """
        told = parse_json(text, "snapshot")
        if not isinstance(told, dict):
            raise InputError(f"snapshot: is a {type(told).__name__}; expected an object with the fields of a snapshot")
        # A field that is missing would take its default, and one too many would be a slip that nobody sees.
        names = {field.name for field in fields(cls)}
        if wrong := sorted(names ^ {*told, *_MAY_LACK}):
            what = f"{wrong[0]!r} is {'missing' if wrong[0] in names else 'no field of it'}"
            raise InputError(f"snapshot: expected an object with just the fields of a snapshot; {what}")
        return cls(**{name: _read(name, value) for name, value in told.items()})


def _ms(time_s: float | None) -> int:
    return 0 if time_s is None else round(time_s * 1000)


def _offsets(counts: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(np.array(counts, np.int64)))).astype(np.int64)


def _read(name: str, value: Any) -> Any:  # noqa: ANN401 - whatever the file has
    """Returns one field of a snapshot."""
    values = value if name in ARRAYS else [value]
    # Neither true nor 1.0 is a whole number here, though Python takes both for one.
    if not isinstance(values, list) or not all(type(one) is int for one in values):
        raise InputError(f"snapshot: {name} is not {'a list of whole numbers' if name in ARRAYS else 'a whole number'}")
    bounds = np.iinfo(ARRAYS.get(name, np.int64))
    # NumPy would wrap around what its type cannot hold, or raise an error that names no field.
    for one in values:
        if not bounds.min <= one <= bounds.max:
            raise InputError(f"snapshot: {name} has {one}; expected {bounds.min} to {bounds.max}")
    return np.array(values, dtype=ARRAYS[name]) if name in ARRAYS else value


def check_lengths(arrays: dict[str, NDArray[Any]]) -> None:
    """Checks that the arrays of a snapshot belong together.

    Raises:
        InputError: One is longer or shorter than it must be.
    """
    jobs, stops = len(arrays["phase"]), len(arrays["stop_job"])
    wanted = {
        "node_offsets": jobs + 1,
        "device_offsets": jobs + 1,
        "nodes": len(arrays["nodes"]),
        "tasks": len(arrays["nodes"]),
        "devices": len(arrays["devices"]),
        "millis": len(arrays["devices"]),
        "down": len(arrays["down"]),
        **dict.fromkeys(("stop_start_ms", "stop_end_ms", "stop_by_failure", "stop_job"), stops),
    }
    for name, array in arrays.items():
        if array.shape != (wanted.get(name, jobs),):
            raise InputError(f"snapshot: {name} has {len(array)} values; expected {wanted.get(name, jobs)}")
