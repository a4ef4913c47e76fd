"""A simulation that one can drive: the core's primitives, in seconds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.errors import InputError
from shunter.model.snapshot import ARRAYS, PLACES, Snapshot, check_lengths
from shunter.native import RESULTS, Handle, check, ffi, lib, opened, pointer, pointers
from shunter.policies.native import CorePolicy
from shunter.simulation.core_inputs import core_config, open_tables
from shunter.simulation.states import CoreStops, Estimates, HeldTimes, JobStates, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.core_inputs import AskedPlacer
    from shunter.simulation.decision import Decision, DecisionArrays

_SINGLE: Final = ("now_ms", "committed_job", "committed_ms", "size_by", "origin_ms")
"""The fields of a snapshot that are no arrays."""
OK: Final = RESULTS["ok"]
ALL_DECISIONS: Final = 2**64 - 1
CALL_S: Final = 0.1
"""About so long a call of the core lasts: progress is smooth, and Ctrl-C is answered at once."""
MOST_GROWTH: Final = 8
"""How many times as many decisions a call may make as the one before it."""


class Simulation:
    """Jobs of a workload on a cluster, from the empty cluster at the first submit time.

    `advance` moves the clock, `dispatch` decides; `run` does both until the end. Jobs are known by their place in the
    workload.
    """

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        scheduler: Scheduler,
        *,
        scores: NDArray[np.float64] | None = None,
    ) -> None:
        """Opens a simulation.

        Args:
            workload: The jobs.
            cluster: The nodes.
            scheduler: From `shunter.policies.scheduler.resolve_scheduler`. With a policy of the user's own, the caller
                gives `dispatch` an order at every pass, or the scores once. With a checkpoint it is the order of the
                policy's window that decides; `shunter.envs.consultation` asks the policy itself.
            scores: An order of the user's own, the lowest first; it takes the place of the policy's.
        """
        # Jobs before a window are part of the table: what is drawn and what is learned is the same in every window.
        table = workload.whole()
        count = len(workload)
        first = len(table) - count
        config = core_config(scheduler, table, cluster, policy=None if scores is None else CorePolicy.given(scores))
        self._asked = config.asked
        # Scores of a policy are for the whole table, those of the caller for the jobs of the window.
        given = config.policy.scores[first if scores is None else 0 :]
        self._given = given
        nodes, jobs = self._tables = open_tables(table, cluster)
        self._handle = opened(
            lib.shunter_simulation_open,
            nodes.number,
            jobs.number,
            first,
            count,
            config.pointer,
            pointer(given),
            len(given),
        )

    @classmethod
    def _from_handle(
        cls,
        tables: tuple[Handle, Handle],
        handle: Handle,
        asked: AskedPlacer | None = None,
        given: NDArray[np.float64] | None = None,
    ) -> Simulation:
        simulation = cls.__new__(cls)
        simulation._asked = asked
        # The core keeps what it needs of scores, except for futures.
        simulation._given = np.empty(0) if given is None else given
        simulation._tables = tables
        simulation._handle = handle
        return simulation

    def close(self) -> None:
        """Frees the simulation's memory now; using it afterwards is an error."""
        self._handle.close()

    def status(self) -> Status:
        """Returns the clock and the counts."""
        told = self._told()
        return Status(
            now_s=told.now_ms / 1000,
            jobs=told.jobs,
            waiting=told.waiting,
            running=told.running,
            ended=told.ended,
            starts=told.starts,
            free_cores=told.free_cores_milli / 1000,
        )

    def _told(self) -> Any:  # noqa: ANN401 - a structure of the core's
        """Returns the clock and the counts as the core tells them."""
        told = ffi.new("ShunterStatus *")
        self._call(lib.shunter_simulation_status, told)
        return told

    def run(self, most_decisions: int = ALL_DECISIONS) -> bool:
        """Makes at most `most_decisions` decisions; returns whether nothing more can happen."""
        return self._flag(lib.shunter_simulation_run, most_decisions)

    def run_to_end(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Makes all decisions, in calls of the core that last about `CALL_S` each.

        Args:
            progress: Called now and then with the number of jobs that have ended, and of all jobs.
        """
        decisions = 16
        told_at = begin = time.perf_counter()
        while not self.run(decisions):
            now = time.perf_counter()
            # Decisions grow dearer with the queue, so their number follows the clock: it grows by steps, and is cut at
            # once.
            decisions = max(1, min(MOST_GROWTH * decisions, int(decisions * CALL_S / max(now - begin, 1e-9))))
            # The first calls are much shorter than the others.
            if progress and now - told_at > CALL_S / 2:
                told, told_at = self._told(), now
                progress(told.ended, told.jobs)
            begin = time.perf_counter()

    def advance(self) -> bool:
        """Moves to the next instant at which a decision is due; returns False if nothing is to come."""
        return self._flag(lib.shunter_simulation_advance)

    def run_until(self, time_s: float) -> None:
        """Makes the decisions before a time and stops there: what happens then has happened, and nothing is decided.

        Raises:
            InputError: The time is over, or the rule is a committed one, which goes from event to event.
        """
        self._call(lib.shunter_simulation_run_until, round(time_s * 1000))

    def dispatch(self, order: Sequence[int] | NDArray[np.uint32] | None = None) -> None:
        """Decides: starts what the dispatch rule lets start now, by the policy's order or by this one."""
        if order is None:
            self._call(lib.shunter_simulation_dispatch)
            return
        jobs = np.ascontiguousarray(order, dtype=np.uint32)
        self._call(lib.shunter_simulation_dispatch_order, pointer(jobs), len(jobs))

    def fits(self, job: int) -> bool:
        """Returns whether a job could start now."""
        return self._flag(lib.shunter_simulation_fits, job)

    def start(self, job: int, nodes: Sequence[int] = (), tasks: Sequence[int] = ()) -> None:
        """Starts a waiting job: on these nodes, with this number of tasks on each, or where the placement puts it."""
        # The core is told one length for both.
        if len(nodes) != len(tasks):
            raise ValueError(f"{len(nodes)} nodes, but {len(tasks)} numbers of tasks")
        on, many = np.array(nodes, dtype=np.uint32), np.array(tasks, dtype=np.uint32)
        self._call(lib.shunter_simulation_start, job, pointer(on), pointer(many), len(nodes))

    def preempt(self, job: int) -> None:
        """Stops a running job; it waits again."""
        self._call(lib.shunter_simulation_preempt, job)

    def waiting(self) -> NDArray[np.uint32]:
        """Returns the waiting jobs in the order of the policy."""
        jobs = np.empty(self.status().waiting, dtype=np.uint32)
        self._call(lib.shunter_simulation_waiting, pointer(jobs), len(jobs))
        return jobs

    def fork(self) -> Simulation:
        """Returns an independent copy."""
        copy = opened(lib.shunter_simulation_fork, self._handle.number)
        return self._from_handle(self._tables, copy, self._asked, self._given)

    def serialize(self) -> bytes:
        """Returns the whole state as bytes, for `restore` on the same workload and cluster.

        Raises:
            InputError: The placement lives in Python, and has a state of which the core knows nothing.
        """
        if self._asked is not None:
            raise InputError(
                f"placement {self._asked.placer.name!r} lives in Python: a simulation with it has no bytes"
            )
        needed = ffi.new("uintptr_t *")
        self._call(lib.shunter_simulation_serialize, ffi.NULL, 0, needed)
        buffer = bytearray(needed[0])
        self._call(lib.shunter_simulation_serialize, ffi.from_buffer("uint8_t[]", buffer), len(buffer), needed)
        return bytes(buffer)

    @classmethod
    def restore(cls, workload: Workload, cluster: Cluster, saved: bytes) -> Simulation:
        """Returns the simulation that `serialize` saved; damaged bytes, or another workload's, are an error."""
        nodes, jobs = tables = open_tables(workload.whole(), cluster)
        buffer = ffi.from_buffer("uint8_t[]", saved) if saved else ffi.NULL
        return cls._from_handle(
            tables, opened(lib.shunter_simulation_restore, nodes.number, jobs.number, buffer, len(saved))
        )

    def job_states(self) -> JobStates:
        """Returns what each job is doing."""
        count = self._told().jobs
        states = JobStates.empty(count)
        self._call(lib.shunter_simulation_jobs, *states.pointers(), count)
        return states

    def eligible_ms(self) -> NDArray[np.int64]:
        """Returns since when each job waits for nodes; of one that left before, when it left."""
        times = np.empty(self._told().jobs, dtype=np.int64)
        self._call(lib.shunter_simulation_eligible, pointer(times), len(times))
        return times

    def held(self) -> HeldTimes:
        """Returns how long each job has held nodes in runs that are over."""
        count = self._told().jobs
        held = HeldTimes.empty(count)
        self._call(lib.shunter_simulation_held, *held.pointers(), count)
        return held

    def estimates(self) -> Estimates:
        """Returns the run times that the policy saw when jobs started, or sees now, and what they rest on."""
        count = self._told().jobs
        estimates = Estimates.empty(count)
        self._call(lib.shunter_simulation_estimates, *estimates.pointers(), count)
        return estimates

    def snapshot(self) -> Snapshot:
        """Returns what a scheduler knows in this state."""
        told = ffi.new("ShunterSnapshot *")
        self._call(lib.shunter_simulation_snapshot, told)
        lengths = {
            "node_offsets": told.jobs + 1,
            "nodes": told.places.node_count,
            "tasks": told.places.node_count,
            "device_offsets": told.jobs + 1,
            "devices": told.places.device_count,
            "millis": told.places.device_count,
            "down": told.nodes,
            **dict.fromkeys(("stop_job", "stop_start_ms", "stop_end_ms", "stop_by_failure"), told.stops),
        }
        arrays = {name: np.empty(lengths.get(name, told.jobs), dtype) for name, dtype in ARRAYS.items()}
        _point(told, arrays)
        self._call(lib.shunter_simulation_snapshot, told)
        fields: dict[str, Any] = {**arrays, **{name: getattr(told, name) for name in _SINGLE}}
        return Snapshot(**fields)

    def load(self, snapshot: Snapshot) -> None:
        """Puts this simulation, which must not have begun, into the state of a snapshot."""
        arrays = snapshot.arrays()
        check_lengths(arrays)
        told = ffi.new("ShunterSnapshot *")
        for name in _SINGLE:
            try:
                setattr(told, name, getattr(snapshot, name))
            # Some of these numbers have fewer bits in the core.
            except OverflowError:
                raise InputError(f"snapshot: {name} is {getattr(snapshot, name)}, which cannot be") from None
        told.jobs, told.nodes, told.stops = len(snapshot.phase), len(snapshot.down), len(snapshot.stop_job)
        told.places.node_count, told.places.device_count = len(snapshot.nodes), len(snapshot.devices)
        _point(told, arrays)
        self._call(lib.shunter_simulation_load, told)

    def decide(self, order: Sequence[int] | NDArray[np.uint32] | None = None) -> Decision:
        """Returns what `dispatch` would do now, and why the rest would wait; this simulation stays as it is."""
        return self.decide_arrays(order).decision(self.status().now_s)

    def decide_arrays(self, order: Sequence[int] | NDArray[np.uint32] | None = None) -> DecisionArrays:
        """Returns the same as `decide`, as the core tells it."""
        # A simulation that runs to its end never asks.
        from shunter.simulation.decision import read_arrays

        jobs = np.ascontiguousarray([] if order is None else order, dtype=np.uint32)
        # A null order means the policy's own: an empty one of the caller's is told from it by its address.
        given = ffi.NULL if order is None else ffi.from_buffer("uint32_t[]", jobs)
        number = ffi.new("uint64_t *")
        self._call(lib.shunter_simulation_decide, given, len(jobs), number)
        return read_arrays(Handle(number[0]))

    def open_consultation(self, env_config: Any, priority: NDArray[np.float64]) -> Handle:  # noqa: ANN401 - cffi's
        """Opens a consultation of a learned policy in this state; `shunter.envs.consultation` leads it."""
        number = ffi.new("uint64_t *")
        self._call(lib.shunter_simulation_consult, env_config, pointer(priority), len(priority), number)
        return Handle(number[0])

    def open_policy_decision(self, policy: Handle, priority: NDArray[np.float64], budget_us: int) -> Handle:
        """Opens what a learned policy in the core decides now; `shunter.envs.network` asks for it."""
        number = ffi.new("uint64_t *")
        given = (self._handle.number, pointer(priority), len(priority), budget_us)
        check(lib.shunter_policy_decide(policy.number, *given, number))
        handle = Handle(number[0])
        self.raise_failure()
        return handle

    def foresee(self, *told: Any) -> None:  # noqa: ANN401 - pointers and lengths
        """Has the core fill in when jobs start in futures; `shunter.simulation.foresight` asks for it."""
        self._call(lib.shunter_simulation_foresee, pointer(self._given), len(self._given), *told)

    def stops(self) -> CoreStops:
        """Returns the runs that did not end their jobs, in the order in which they were stopped."""
        count = self._told().stops
        job, by_failure = np.empty(count, np.uint32), np.empty(count, np.uint8)
        start_ms, end_ms, node_offsets = (
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.zeros(count + 1, np.int64),
        )
        each = pointers(job, start_ms, end_ms, by_failure, node_offsets)
        nodes, tasks = np.empty(0, np.int32), np.empty(0, np.int32)
        # Without room for nodes the core writes all else, and with it how much room they need.
        self._call(lib.shunter_simulation_stops, *each, count, *pointers(nodes, tasks), 0)
        if room := int(node_offsets[-1]):
            nodes, tasks = np.empty(room, np.int32), np.empty(room, np.int32)
            self._call(lib.shunter_simulation_stops, *each, count, *pointers(nodes, tasks), room)
        return CoreStops(job, start_ms, end_ms, by_failure, node_offsets, nodes, tasks)

    def placement_ledger(self) -> list[tuple[str, int, str]]:
        """Returns what a placement in Python has to say of its work: rule, how often, and the first example."""
        return [] if self._asked is None else self._asked.placer.ledger()

    def _call(self, function: Any, *arguments: Any) -> None:  # noqa: ANN401 - one of the core's functions
        """Calls a function of the core on this simulation.

        Raises:
            InputError: The core, or a placement in Python that it asked, has something to complain about.
        """
        status = function(self._handle.number, *arguments)
        # All is well nearly always; only an error needs words.
        if status != OK:
            check(status)
        self.raise_failure()

    def raise_failure(self) -> None:
        """Raises what went wrong in a placement that lives in Python, if anything did."""
        if self._asked is not None:
            self._asked.raise_failure()

    def _flag(self, function: Any, *arguments: Any) -> bool:  # noqa: ANN401 - one of the core's functions
        answer = ffi.new("int32_t *")
        self._call(function, *arguments, answer)
        return bool(answer[0])


def _point(told: Any, arrays: dict[str, NDArray[Any]]) -> None:  # noqa: ANN401 - a structure of the core's
    """Has a snapshot of the core's point to arrays, which must live as long as it is used."""
    for name, place in zip(arrays, pointers(*arrays.values()), strict=True):
        setattr(told.places if name in PLACES else told, name, place)
