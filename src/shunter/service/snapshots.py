"""Snapshots that were sent: each held ready to be decided on, a bounded number of them by name."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from shunter.model.schedule import Phase
from shunter.model.snapshot import NO_TIME
from shunter.service.refusals import RefusedError

if TYPE_CHECKING:
    from shunter.model.state import State
    from shunter.service.deciders import Decider

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What names of snapshots, policies, logs and clusters look like."""

JobId = int | str


@dataclass(eq=False)
class Held:
    """A snapshot, with what every decision on it needs. Jobs are known by their rows, as the core knows them."""

    state: State
    own_order: Sequence[int] | None = None
    """The rows of those that wait in the order of the scheduler that was read; None: by their submit times."""
    masked: Mapping[JobId, str] = field(default_factory=dict)
    """Jobs that wait and that nobody decides on, each with the reason."""
    loaded: WeakKeyDictionary[Decider, Any] = field(default_factory=WeakKeyDictionary)
    """What each decider has made of it: a simulation in its state. It goes when the decider does."""
    seconds: WeakKeyDictionary[Decider, float] = field(default_factory=WeakKeyDictionary)
    """How long the latest decision of each took."""

    @cached_property
    def ids(self) -> list[JobId]:
        """The ids of jobs, row by row."""
        return self.state.workload.jobs["job_id"].to_list()

    @cached_property
    def node_names(self) -> list[str]:
        """The names of nodes."""
        return [node.name for node in self.state.cluster.nodes]

    @cached_property
    def waiting(self) -> list[int]:
        """Those that may start."""
        return np.flatnonzero(self.state.snapshot.phase == Phase.WAITING).tolist()

    @cached_property
    def waiting_set(self) -> frozenset[int]:
        """The same, to look up."""
        return frozenset(self.waiting)

    @cached_property
    def baseline(self) -> list[int]:
        """The order to which others are held: the scheduler's own, or first come, first served."""
        return list(self.waiting if self.own_order is None else self.own_order)

    @cached_property
    def masked_told(self) -> list[dict[str, Any]]:
        """Those that nobody decides on, as clients are told."""
        return [{"job_id": id, "reason": why} for id, why in self.masked.items()]

    @cached_property
    def since_s(self) -> dict[int, float]:
        """Since when each of those waits."""
        submit_s, eligible_ms = self.state.workload.jobs["submit_s"], self.state.snapshot.eligible_ms
        known = {} if eligible_ms is None else {row: int(eligible_ms[row]) for row in self.waiting}
        return {
            row: float(submit_s[row]) if known.get(row, NO_TIME) == NO_TIME else known[row] / 1000
            for row in self.waiting
        }

    @cached_property
    def sha256(self) -> str:
        """A hash of all that deciding rests on."""
        digest = hashlib.sha256(self.state.cluster.content_sha256.encode())
        digest.update(self.state.workload.jobs.write_json().encode())
        digest.update(self.state.snapshot.to_json().encode())
        return digest.hexdigest()

    @property
    def now_s(self) -> float:
        """The time that it is of."""
        return self.state.snapshot.now_ms / 1000

    def row_of(self, job: JobId) -> int:
        """Returns the row of a job.

        Raises:
            RefusedError: There is none of this id.
        """
        try:
            return self._rows[str(job)]
        except KeyError:
            raise RefusedError(404, f"the snapshot tells of no job {str(job)[:80]!r}") from None

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {str(id): row for row, id in enumerate(self.ids)}


class SnapshotStore:
    """The latest snapshots by name. One that has not been used for longest makes room for another."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[str, Held] = OrderedDict()
        # It is read on the loop's thread and written on others.
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def put(self, name: str, held: Held) -> None:
        """Keeps a snapshot under a name, in the place of an earlier one."""
        with self._lock:
            self._held[name] = held
            self._held.move_to_end(name)
            while len(self._held) > self._most:
                self._held.popitem(last=False)

    def get(self, name: str) -> Held:
        """Returns a snapshot.

        Raises:
            RefusedError: There is none of this name.
        """
        with self._lock:
            held = self._held.get(name)
            if held is not None:
                self._held.move_to_end(name)
                return held
        raise RefusedError(404, f"there is no snapshot {name[:80]!r}, or no longer; put it again")

    def remove(self, name: str) -> None:
        """Forgets a snapshot.

        Raises:
            RefusedError: There is none of this name.
        """
        with self._lock:
            if self._held.pop(name, None) is None:
                raise RefusedError(404, f"there is no snapshot {name[:80]!r}")

    def listed(self) -> dict[str, Held]:
        """Returns all by name, the longest unused first."""
        with self._lock:
            return dict(self._held)


def check_snapshot_name(name: str) -> str:
    """Returns a name, if it is one.

    Raises:
        RefusedError: It is none.
    """
    if NAME.fullmatch(name) is None:
        raise RefusedError(400, f"{name[:80]!r} is no name; take letters, digits, '.', '_' and '-', 64 at most")
    return name
