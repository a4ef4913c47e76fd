"""Small clusters, tables and simulations, handed to the core without the checks of the Python layers above it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shunter._core import ffi, lib
from shunter.native import Handle, check, opened, pointer

UNKNOWN = -1
STRICT, RESERVE, COMMITTED, COMMITTED_BACKFILL = range(4)
FUTURE, WAITING, RUNNING, COMPLETED, KILLED, REJECTED = range(6)


def integers(values: Sequence[int]) -> NDArray[np.int64]:
    """Returns a column of the core's."""
    return np.array(values, dtype=np.int64)


def open_cluster(
    cores_milli: Sequence[int],
    memory_mb: Sequence[int] | None = None,
    gpus: Sequence[int] | None = None,
    partition: Sequence[int] | None = None,
) -> Handle:
    """Opens a cluster; what is not given is untracked, or not there."""
    nodes = len(cores_milli)
    columns = [
        integers(cores_milli),
        integers(memory_mb or [UNKNOWN] * nodes),
        integers(gpus or [0] * nodes),
        integers(partition or [UNKNOWN] * nodes),
    ]
    return opened(lib.shunter_cluster_open, *map(pointer, columns), nodes)


def open_jobs(
    submit_ms: Sequence[int],
    run_ms: Sequence[int],
    cores_milli: Sequence[int],
    *,
    tasks: Sequence[int] | None = None,
    gpu_milli: Sequence[int] | None = None,
    partition: Sequence[int] | None = None,
    user: Sequence[int] | None = None,
    logged_wait_ms: Sequence[int] | None = None,
) -> Handle:
    """Opens a table of jobs that request what they run; what is not given is 1 task, unknown, or nothing."""
    jobs = len(submit_ms)
    columns = [
        integers(submit_ms),
        integers(run_ms),
        integers(run_ms),
        integers(tasks or [1] * jobs),
        integers(cores_milli),
        integers([UNKNOWN] * jobs),
        integers(gpu_milli or [0] * jobs),
        integers(partition or [UNKNOWN] * jobs),
        integers(user or [UNKNOWN] * jobs),
        integers(logged_wait_ms or [UNKNOWN] * jobs),
    ]
    return opened(lib.shunter_jobs_open, *map(pointer, columns), jobs)


PLAIN = {
    "dispatch": RESERVE,
    "reservation_depth": 1,
    "keep_progress": 1,
    "missing_request_ms": UNKNOWN,
    "max_wait_ms": UNKNOWN,
    "scan_depth": 1000,
}
"""First come, first served, EASY."""


class Config:
    """A configuration for the core, and the arrays that it points to."""

    def __init__(
        self, policy_parameters: Sequence[float] = (), estimate_parameters: Sequence[float] = (), /, **changes: int
    ) -> None:
        """Makes the plain configuration with these changes."""
        self._parameters = [np.array(values, dtype=np.float64) for values in (policy_parameters, estimate_parameters)]
        policy, estimate = self._parameters
        self.pointer = ffi.new(
            "ShunterConfig *",
            {
                **PLAIN,
                **changes,
                "policy_parameters": pointer(policy),
                "policy_parameters_length": len(policy),
                "estimate_parameters": pointer(estimate),
                "estimate_parameters_length": len(estimate),
            },
        )


class Scene:
    """A simulation with its cluster and its jobs; every call that fails raises."""

    def __init__(
        self,
        cluster: Handle,
        jobs: Handle,
        count: int,
        config: Config | None = None,
        *,
        scores: Sequence[float] = (),
        simulation: Handle | None = None,
    ) -> None:
        """Opens a simulation of all jobs, unless one is given; without a configuration, by the plain one."""
        self.cluster, self.jobs, self.count = cluster, jobs, count
        config = config or Config()
        column = np.array(scores, dtype=np.float64)
        arguments = (cluster.number, jobs.number, 0, count, config.pointer, pointer(column), len(column))
        self.simulation = simulation or opened(lib.shunter_simulation_open, *arguments)

    @property
    def number(self) -> int:
        """The simulation's handle."""
        return self.simulation.number

    def status(self) -> dict[str, int]:
        """Returns the clock and the counts."""
        told = ffi.new("ShunterStatus *")
        check(lib.shunter_simulation_status(self.number, told))
        return {name: getattr(told, name) for name, _ in ffi.typeof("ShunterStatus").fields}

    def advance(self) -> bool:
        """Moves to the next decision; returns whether there is one."""
        due = ffi.new("int32_t *")
        check(lib.shunter_simulation_advance(self.number, due))
        return bool(due[0])

    def run(self, most_decisions: int = 2**64 - 1) -> bool:
        """Makes so many decisions; returns whether nothing more can happen."""
        over = ffi.new("int32_t *")
        check(lib.shunter_simulation_run(self.number, most_decisions, over))
        return bool(over[0])

    def dispatch(self, order: Sequence[int] | None = None) -> None:
        """Decides by the policy, or by an order."""
        if order is None:
            check(lib.shunter_simulation_dispatch(self.number))
            return
        jobs = np.array(order, dtype=np.uint32)
        check(lib.shunter_simulation_dispatch_order(self.number, pointer(jobs), len(jobs)))

    def start(self, job: int) -> None:
        """Starts a job where the placement rule puts it."""
        check(lib.shunter_simulation_start(self.number, job, ffi.NULL, ffi.NULL, 0))

    def preempt(self, job: int) -> None:
        """Stops a running job."""
        check(lib.shunter_simulation_preempt(self.number, job))

    def fits(self, job: int) -> bool:
        """Returns whether a job could start now."""
        answer = ffi.new("int32_t *")
        check(lib.shunter_simulation_fits(self.number, job, answer))
        return bool(answer[0])

    def states(self) -> dict[str, list[int]]:
        """Returns what each job is doing."""
        columns: dict[str, NDArray[Any]] = {
            "phase": np.empty(self.count, dtype=np.uint8),
            "start_ms": np.empty(self.count, dtype=np.int64),
            "latest_start_ms": np.empty(self.count, dtype=np.int64),
            "end_ms": np.empty(self.count, dtype=np.int64),
            "reserved_ms": np.empty(self.count, dtype=np.int64),
            "reject_reason": np.empty(self.count, dtype=np.uint8),
            "preemptions": np.empty(self.count, dtype=np.uint32),
        }
        phase, start, latest, end, reserved, reason, preemptions = map(pointer, columns.values())
        check(
            lib.shunter_simulation_jobs(
                self.number, phase, start, latest, end, reserved, reason, preemptions, self.count
            )
        )
        return {name: column.tolist() for name, column in columns.items()}

    def estimates(self) -> list[tuple[int, int]]:
        """Returns each job's estimate in ms, and the number of what it rests on."""
        estimate_ms, basis = np.empty(self.count, dtype=np.int64), np.empty(self.count, dtype=np.uint8)
        check(lib.shunter_simulation_estimates(self.number, pointer(estimate_ms), pointer(basis), self.count))
        return list(zip(estimate_ms.tolist(), basis.tolist(), strict=True))

    def serialize(self) -> bytes:
        """Returns the state as bytes."""
        needed = ffi.new("uintptr_t *")
        check(lib.shunter_simulation_serialize(self.number, ffi.NULL, 0, needed))
        saved = bytearray(needed[0])
        target = ffi.from_buffer("uint8_t[]", saved)
        check(lib.shunter_simulation_serialize(self.number, target, len(saved), needed))
        return bytes(saved)

    def restore(self, saved: bytes) -> Scene:
        """Returns the simulation that was saved."""
        source = ffi.from_buffer("uint8_t[]", saved) if saved else ffi.NULL
        tables = (self.cluster.number, self.jobs.number)
        simulation = opened(lib.shunter_simulation_restore, *tables, source, len(saved))
        return Scene(self.cluster, self.jobs, self.count, simulation=simulation)

    def load(
        self,
        now_ms: int,
        phase: Sequence[int],
        *,
        start_ms: Sequence[int] | None = None,
        end_ms: Sequence[int] | None = None,
        nodes: Sequence[Sequence[tuple[int, int]]] | None = None,
        devices: Sequence[Sequence[tuple[int, int]]] | None = None,
    ) -> None:
        """Puts the simulation into a state; `nodes` has (node, tasks) and `devices` (device, milli-GPUs) by job."""
        jobs = len(phase)
        node_offsets, node_numbers, tasks = _ragged(nodes or [[]] * jobs)
        device_offsets, device_numbers, millis = _ragged(devices or [[]] * jobs)
        check(
            lib.shunter_simulation_load(
                self.number,
                now_ms,
                pointer(np.array(phase, dtype=np.uint8)),
                pointer(integers(start_ms or [UNKNOWN] * jobs)),
                pointer(integers(end_ms or [UNKNOWN] * jobs)),
                pointer(node_offsets),
                pointer(device_offsets),
                jobs,
                pointer(node_numbers),
                pointer(tasks),
                len(node_numbers),
                pointer(device_numbers),
                pointer(millis),
                len(device_numbers),
            )
        )


def _ragged(rows: Sequence[Sequence[tuple[int, int]]]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    pairs = np.array([pair for row in rows for pair in row], dtype=np.int32).reshape(-1, 2)
    return offsets, np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
