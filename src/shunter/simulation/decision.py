"""A decision: who starts where, who holds which reservation, and why the rest waits."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.model.snapshot import NO_TIME, PLACES
from shunter.native import Handle, check, core_numbers, ffi, lib, pointer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


_OUTCOMES: Final = core_numbers("Outcome")


class Reason(str, Enum):
    """Why a job waits."""

    NONE = "it does not wait"
    NO_ROOM = "it does not fit beside those that run and those that start now"
    DELAYS = "it fits, but would delay a reservation"
    BEHIND = "it fits, but stands behind a job that lets nobody pass"
    HELD_BACK = "it fits, but the policy holds it back"
    NOT_LOOKED_AT = "the pass does not look so far"
    NODES_DOWN = "it would not fit though all jobs had ended, for nodes are down"
    DECLINED = "it fits, but the placement gives it no nodes now"
    LOCALITY = "it fits, but waits for nodes that are closer together"
    REFUSED = "it fits, but on types of GPUs alone that it refuses"
    LIMIT = "a limit of the site keeps it from starting"
    RESERVED = "it fits, but on nodes alone that are reserved before it would end"


REASONS: Final = tuple(Reason)
"""By the core's numbers."""


@dataclass(frozen=True)
class Place:
    """A job's nodes."""

    nodes: tuple[int, ...]
    tasks: tuple[int, ...]
    """How many of the job's tasks are on each node."""
    devices: tuple[int, ...] = ()
    millis: tuple[int, ...] = ()
    """Which part of each device, in thousandths."""


@dataclass(frozen=True)
class Reservation:
    """A waiting job's reservation."""

    start_s: float | None
    """When it begins; None where the rule works out no time."""
    place: Place
    """Where it is, as far as that is worked out."""


@dataclass(frozen=True)
class Waiting:
    """Why a job waits."""

    reason: Reason
    blocker: int | None
    """The job that the reason is about, if it is about one."""
    rule: int | None = None
    """The core's number of the counter, or the window, that the reason is about, if it is about a rule of the site."""
    rule_name: str = ""
    """The same in words, where `shunter.simulation.decide` was asked."""


@dataclass(frozen=True)
class Answer:
    """One answer of a learned policy, with what it was shown."""

    action: int
    jobs: tuple[int, ...]
    """The jobs that were shown, row by row; for a policy that chooses hosts, the one at the head of the queue."""
    observation: NDArray[np.float32] = field(compare=False, repr=False)
    mask: NDArray[np.bool_] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Decision:
    """What would happen now. Jobs are known by their places in the workload."""

    now_s: float
    starts: dict[int, Place]
    """Who starts, and where."""
    stops: tuple[int, ...]
    """Running jobs that are stopped to make room."""
    reservations: dict[int, Reservation]
    """Who waits and holds a reservation, or is committed."""
    order: tuple[int, ...]
    """Those that wait before the decision, the next first."""
    waiting: dict[int, Waiting]
    """Why those wait that do not start."""
    answers: tuple[Answer, ...] = ()
    """What a learned policy was shown and chose, in this order; nothing of any other policy."""

    def to_json(self) -> str:
        """Returns the decision as a JSON object; jobs are keys."""
        return json.dumps(asdict(self), default=np.ndarray.tolist)


@dataclass(frozen=True)
class DecisionArrays:
    """A decision as the core tells it, an entry for each job: whoever decides very often reads only what is needed."""

    outcome: NDArray[np.uint8]
    """By the core's numbers (`who`)."""
    reason: NDArray[np.uint8]
    """By the place in `REASONS`."""
    blocker: NDArray[np.int64]
    """The job that the reason is about; negative: it is about none."""
    rule: NDArray[np.int64]
    """Likewise, the rule of the site."""
    place: NDArray[np.int64]
    """Its place in line; negative: it does not wait."""
    reserved_ms: NDArray[np.int64]
    node_offsets: NDArray[np.int64]
    nodes: NDArray[np.int32]
    tasks: NDArray[np.int32]
    device_offsets: NDArray[np.int64]
    devices: NDArray[np.int32]
    millis: NDArray[np.int32]

    @cached_property
    def starts(self) -> list[int]:
        """Who starts."""
        return self.who("starts", "moves")

    @cached_property
    def order(self) -> list[int]:
        """Those that wait before the decision, the next first."""
        in_line = np.flatnonzero(self.place >= 0)
        # `place` has each job's place in line, or −1; here it is turned around.
        found: list[int] = in_line[np.argsort(self.place[in_line])].tolist()
        return found

    def who(self, *outcomes: str) -> list[int]:
        """Returns the jobs of which one of these is decided."""
        # A job may be stopped and start again elsewhere at one instant ("moves"): it is in both lists.
        chosen = np.logical_or.reduce([self.outcome == _OUTCOMES[name] for name in outcomes])
        return np.flatnonzero(chosen).tolist()

    def places(self, jobs: Sequence[int]) -> list[Place]:
        """Returns the nodes and devices of jobs."""
        rows = np.asarray(jobs, dtype=np.intp)
        # Lists are cut much faster than arrays are.
        nodes, tasks, devices, millis = (one.tolist() for one in (self.nodes, self.tasks, self.devices, self.millis))
        bounds = (
            offsets[rows + more].tolist() for offsets in (self.node_offsets, self.device_offsets) for more in (0, 1)
        )
        return [
            Place(tuple(nodes[a:b]), tuple(tasks[a:b]), tuple(devices[c:d]), tuple(millis[c:d]))
            for a, b, c, d in zip(*bounds, strict=True)
        ]

    @cached_property
    def waits(self) -> list[tuple[int, int, int, int]]:
        """Each job that goes on waiting, with the place of its reason in `REASONS`.

        Then come the job and the rule that the reason is about, negative where it is about none.
        """
        jobs = np.flatnonzero(self.reason)
        told = (jobs, self.reason[jobs], self.blocker[jobs], self.rule[jobs])
        return list(zip(*(one.tolist() for one in told), strict=True))

    def reserved_s(self, job: int) -> float | None:
        """Returns when a job's reservation begins; None where the rule works out no time."""
        return None if self.reserved_ms[job] == NO_TIME else int(self.reserved_ms[job]) / 1000

    def decision(self, now_s: float, answers: tuple[Answer, ...] = ()) -> Decision:
        """Returns the decision; `answers` are those of the learned policy that made it, if one did."""
        starts, reserved = self.starts, self.who("reserves")
        reservations = zip(reserved, self.places(reserved), strict=True)
        return Decision(
            now_s=now_s,
            starts=dict(zip(starts, self.places(starts), strict=True)),
            stops=tuple(self.who("stops", "moves")),
            reservations={job: Reservation(self.reserved_s(job), place) for job, place in reservations},
            order=tuple(self.order),
            waiting={
                job: Waiting(REASONS[reason], None if blocker < 0 else blocker, None if rule < 0 else rule)
                for job, reason, blocker, rule in self.waits
            },
            answers=answers,
        )


def read_arrays(handle: Handle) -> DecisionArrays:
    """Returns a decision of the core's as it stands there."""
    # Asked without arrays, the core tells how long they must be; asked again, it fills them.
    told = ffi.new("ShunterDecision *")
    check(lib.shunter_decision_read(handle.number, told))
    jobs, places = int(told.jobs), told.places
    found = DecisionArrays(
        outcome=np.empty(jobs, np.uint8),
        reason=np.empty(jobs, np.uint8),
        blocker=np.empty(jobs, np.int64),
        rule=np.empty(jobs, np.int64),
        place=np.empty(jobs, np.int64),
        reserved_ms=np.empty(jobs, np.int64),
        node_offsets=np.empty(jobs + 1, np.int64),
        nodes=np.empty(places.node_count, np.int32),
        tasks=np.empty(places.node_count, np.int32),
        device_offsets=np.empty(jobs + 1, np.int64),
        devices=np.empty(places.device_count, np.int32),
        millis=np.empty(places.device_count, np.int32),
    )
    for name, array in vars(found).items():
        setattr(places if name in PLACES else told, name, pointer(array))
    check(lib.shunter_decision_read(handle.number, told))
    return found


def read_decision(handle: Handle, now_s: float, answers: tuple[Answer, ...] = ()) -> Decision:
    """Returns a decision of the core's; `answers` are those of the learned policy that made it, if one did."""
    return read_arrays(handle).decision(now_s, answers)
