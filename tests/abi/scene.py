"""Small simulations, driven and read without the checks of the Python layers above the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shunter._core import ffi, lib
from shunter.model.schedule import Phase
from shunter.native import Handle, check, opened, pointer
from tests.abi.opening import UNKNOWN, Config, integers

FUTURE, WAITING, RUNNING, COMPLETED, KILLED, REJECTED, FAILED, HELD, CANCELLED = Phase


@dataclass(frozen=True)
class Stop:
    """A run that did not end its job."""

    job: int
    start_ms: int
    end_ms: int
    by_failure: int
    nodes: tuple[tuple[int, int], ...]
    """(node, tasks)"""


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
            "failures": np.empty(self.count, dtype=np.uint32),
        }
        phase, start, latest, end, reserved, reason, preemptions, failures = map(pointer, columns.values())
        check(
            lib.shunter_simulation_jobs(
                self.number, phase, start, latest, end, reserved, reason, preemptions, failures, self.count
            )
        )
        return {name: column.tolist() for name, column in columns.items()}

    def stops(self) -> list[Stop]:
        """Returns the runs that did not end their jobs."""
        count = self.status()["stops"]
        job, by_failure = np.empty(count, dtype=np.uint32), np.empty(count, dtype=np.uint8)
        start_ms, end_ms, offsets = (np.empty(length, dtype=np.int64) for length in (count, count, count + 1))
        told = [pointer(column) for column in (job, start_ms, end_ms, by_failure, offsets)]
        stops: Any = lib.shunter_simulation_stops
        check(stops(self.number, *told, count, ffi.NULL, ffi.NULL, 0))
        nodes, tasks = (np.empty(offsets[-1], dtype=np.int32) for _ in range(2))
        check(stops(self.number, *told, count, pointer(nodes), pointer(tasks), len(nodes)))
        parts = list(zip(nodes.tolist(), tasks.tolist(), strict=True))
        spans = [tuple(parts[first:last]) for first, last in pairwise(offsets.tolist())]
        columns = (column.tolist() for column in (job, start_ms, end_ms, by_failure))
        return [Stop(*row) for row in zip(*columns, spans, strict=True)]

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
        arrays: dict[str, NDArray[Any]] = {
            "phase": np.array(phase, dtype=np.uint8),
            "start_ms": integers(start_ms or [UNKNOWN] * jobs),
            "end_ms": integers(end_ms or [UNKNOWN] * jobs),
        }
        places = {
            "node_offsets": node_offsets,
            "nodes": node_numbers,
            "tasks": tasks,
            "device_offsets": device_offsets,
            "devices": device_numbers,
            "millis": millis,
        }
        told = ffi.new("ShunterSnapshot *", {name: pointer(array) for name, array in arrays.items()})
        told.now_ms, told.jobs, told.committed_job = now_ms, jobs, UNKNOWN
        told.places.node_count, told.places.device_count = len(node_numbers), len(device_numbers)
        for name, array in places.items():
            setattr(told.places, name, pointer(array))
        check(lib.shunter_simulation_load(self.number, told))


def _ragged(rows: Sequence[Sequence[tuple[int, int]]]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    pairs = np.array([pair for row in rows for pair in row], dtype=np.int32).reshape(-1, 2)
    return offsets, np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
