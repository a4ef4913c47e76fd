"""A decision: who starts where, who holds which reservation, and why the rest waits."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.model.snapshot import NO_TIME
from shunter.native import Handle, check, core_numbers, ffi, lib, pointer

if TYPE_CHECKING:
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


_REASONS: Final = tuple(Reason)
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


def _known(number: np.int64) -> int | None:
    return None if number < 0 else int(number)


def read_decision(handle: Handle, now_s: float, answers: tuple[Answer, ...] = ()) -> Decision:
    """Returns a decision of the core's; `answers` are those of the learned policy that made it, if one did."""
    # Asked without arrays, the core tells how long they must be; asked again, it fills them.
    told = ffi.new("ShunterDecision *")
    check(lib.shunter_decision_read(handle.number, told))
    jobs = int(told.jobs)
    outcome, reason = np.empty(jobs, np.uint8), np.empty(jobs, np.uint8)
    blocker, rule, place, reserved_ms = (np.empty(jobs, np.int64) for _ in range(4))
    node_offsets, device_offsets = np.empty(jobs + 1, np.int64), np.empty(jobs + 1, np.int64)
    nodes, tasks = (np.empty(told.places.node_count, np.int32) for _ in range(2))
    devices, millis = (np.empty(told.places.device_count, np.int32) for _ in range(2))
    told.outcome, told.reason, told.blocker = pointer(outcome), pointer(reason), pointer(blocker)
    told.rule, told.place, told.reserved_ms = pointer(rule), pointer(place), pointer(reserved_ms)
    places = told.places
    places.node_offsets, places.nodes, places.tasks = pointer(node_offsets), pointer(nodes), pointer(tasks)
    places.device_offsets, places.devices, places.millis = pointer(device_offsets), pointer(devices), pointer(millis)
    check(lib.shunter_decision_read(handle.number, told))

    def part(values: NDArray[np.int32], offsets: NDArray[np.int64], job: int) -> tuple[int, ...]:
        return tuple(values[offsets[job] : offsets[job + 1]].tolist())

    def place_of(job: int) -> Place:
        on_nodes = (part(nodes, node_offsets, job), part(tasks, node_offsets, job))
        return Place(*on_nodes, part(devices, device_offsets, job), part(millis, device_offsets, job))

    def who(*outcomes: str) -> list[int]:
        # A job may be stopped and start again elsewhere at one instant ("moves"): it is in both lists.
        chosen: list[int] = np.flatnonzero(np.isin(outcome, [_OUTCOMES[name] for name in outcomes])).tolist()
        return chosen

    in_line = np.flatnonzero(place >= 0)
    return Decision(
        now_s=now_s,
        starts={job: place_of(job) for job in who("starts", "moves")},
        stops=tuple(who("stops", "moves")),
        reservations={
            job: Reservation(None if reserved_ms[job] == NO_TIME else int(reserved_ms[job]) / 1000, place_of(job))
            for job in who("reserves")
        },
        # `place` has each job's place in line, or −1; here it is turned around.
        order=tuple(in_line[np.argsort(place[in_line])].tolist()),
        waiting={
            job: Waiting(_REASONS[reason[job]], _known(blocker[job]), _known(rule[job]))
            for job in np.flatnonzero(reason > 0).tolist()
        },
        answers=answers,
    )
