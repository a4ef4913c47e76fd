"""One loop for every backend: snapshot, decide, guard, act, journal.

Deciding costs milliseconds, and grows with the queue. Where jobs last milliseconds too, one decision serves for several
starts: the line that it tells stays valid for a moment, and whoever is first in it starts as soon as there is room.
"""

from __future__ import annotations

import time
from typing import Final, Protocol

from shunter.execution.deciding import Decider
from shunter.execution.view import Plan, View

LINE_S: Final = 0.05
"""How long the line of a decision is valid at least."""
LINE_COSTS: Final = 20
"""How many times as long it is valid as deciding took, so that deciding takes a small part of the time."""
MOST_TIME: Final = 0.25
"""The part of the time that deciding in vain may take where jobs come all the time."""
FULL_S: Final = 1.0
"""So often it is looked whether there is room again, though nobody has told of any."""
LOOK_AGAIN_S: Final = 30.0
"""So often a decision is made though nothing has happened: some orders move with time."""


class Backend(Protocol):
    """What the loop asks of whoever runs jobs."""

    def is_full(self) -> bool:
        """Returns whether no job at all could start now."""

    def view(self) -> View:
        """Returns what is known."""

    def may_start(self, job: int) -> bool:
        """The guard: returns whether a job waits, may start, and fits into what is really free."""

    def start(self, job: int, decision: int, reason: str) -> None:
        """Starts a job, at the latest when the journal is on the disk."""

    def write_down(self, plan: Plan, view: View) -> int:
        """Writes a decision into the journal; returns its number."""


class Loop:
    """Keeps a backend busy."""

    def __init__(self, backend: Backend, decider: Decider) -> None:
        self.decider = decider
        self.refused = 0
        """How many starts the guard has refused."""
        self.reasons: dict[int, str] = {}
        """Why jobs wait, as of the latest decision."""
        self._backend = backend
        self._line: list[int] = []
        self._decision = 0
        self._line_until = 0.0
        self._decide_from = 0.0
        self._is_due = True
        self._looked_at = 0.0

    def wake(self) -> None:
        """Says that something has become free."""
        self._is_due = True

    def renew(self) -> None:
        """Says that others wait than before, or with another priority: the line is not valid any more."""
        self._line_until = 0.0
        self._is_due = True

    def ahead(self, most: int) -> list[int]:
        """Returns those who will probably start next."""
        return self._line[: -most - 1 : -1] if most else []

    def change(self, decider: Decider) -> None:
        """Lets somebody else decide from now on."""
        decider.failures += self.decider.failures
        self.decider = decider
        self._decide_from = 0.0
        self.renew()

    def turn(self) -> float:
        """Starts what may start now; returns in how many seconds to ask again, though nothing happens until then."""
        now = time.monotonic()
        if now - self._looked_at > LOOK_AGAIN_S:
            self._is_due = True
        if not self._is_due:
            return LOOK_AGAIN_S
        if self._backend.is_full() or (now < self._line_until and self._start_first_in_line()):
            return FULL_S
        if now < self._decide_from:
            return self._decide_from - now
        self._decide(now)
        return LOOK_AGAIN_S

    def carry_out(self, plan: Plan, view: View) -> None:
        """Writes a decision down, and starts those of its jobs that the guard lets start."""
        self._decision = self._backend.write_down(plan, view)
        for job in plan.starts:
            # The decision rests on a view; only what is free now is given away.
            if self._backend.may_start(job):
                self._backend.start(job, self._decision, f"policy {plan.policy} chose it")
            else:
                self.refused += 1
        self.reasons = plan.reasons

    def _start_first_in_line(self) -> bool:
        """Starts those at the front of the line for whom there is room; returns whether that is all there is to do."""
        while self._line and self._backend.may_start(self._line[-1]):
            self._backend.start(self._line.pop(), self._decision, "it was the first in line")
        # Whether somebody behind the first may pass is a question for the policy.
        return bool(self._line) and self._backend.is_full()

    def _decide(self, now: float) -> None:
        view = self._backend.view()
        self._looked_at, self._is_due = now, False
        if not view.waiting:
            self.reasons = {}
            return
        plan = self.decider.decide(view)
        self.carry_out(plan, view)
        # Taken from its end, the first one first.
        self._line = list(reversed(plan.line)) if self.decider.has_a_line else []
        done = time.monotonic()
        self._line_until = done + max(LINE_S, LINE_COSTS * (done - now))
        # Only decisions that start nobody are too many.
        self._decide_from = done if plan.starts else done + (done - now) * (1 / MOST_TIME - 1)
