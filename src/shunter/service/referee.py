"""A policy at work: within its deadline and behind its breaker, with a classic that stands in for it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shunter.execution.operating.breaker import Breaker
from shunter.execution.operating.judge import disagreement, starving
from shunter.execution.operating.timely import NotNowError, Timely
from shunter.service.answers import WORDS, decision_parts, line
from shunter.service.deciders import Decided, check_decided

if TYPE_CHECKING:
    from shunter.service.limits import Limits
    from shunter.service.metrics import Metrics
    from shunter.service.policies import LoadedPolicy
    from shunter.service.snapshots import Held

QUICK_S: Final = 0.002
"""A decision that took no longer than this is made on the loop's own thread: handing it over would take as long."""


class Ruling(NamedTuple):
    """Who decided what."""

    by: str
    decided: Decided | None
    """None: nobody could decide, and only an order is told; or there are no jobs."""
    policy: LoadedPolicy
    fallback: str = ""
    """Why the policy itself did not decide; empty if it did."""


class Referee:
    """Decides by one policy for all who ask for it by name."""

    def __init__(self, policy: LoadedPolicy, stand_in: LoadedPolicy, limits: Limits, metrics: Metrics) -> None:
        self.policy = policy
        """The one that decides now; loading it anew puts another here."""
        self._stand_in = stand_in
        self._limits = limits
        self._metrics = metrics
        breaker = Breaker(limits.most_failures, limits.failure_window_s, limits.probe_s)
        self._timely = Timely(breaker, limits.deadline_s)
        # Two who ask at once are answered one after the other: a policy is not late because others ask it too.
        self._lock = threading.Lock()
        metrics.loaded(policy)

    @property
    def breaker(self) -> Breaker:
        """The breaker of the policy."""
        return self._timely.breaker

    def change(self, policy: LoadedPolicy) -> None:
        """Lets a policy that was loaded anew decide from now on; what went wrong with the old one is forgotten."""
        with self._lock:
            before, self.policy = self.policy, policy
            self.breaker.succeed()
        self._metrics.loaded(policy, before)

    def answer_quickly(self, held: Held) -> dict[str, Any] | None:
        """Returns the answer if a decision on this snapshot is known to be quick; None: ask on another thread."""
        decider = self.policy.decider
        if not decider.is_bounded or held.seconds.get(decider, 1.0) > QUICK_S:
            return None
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self._answer(held, is_quick=True)
        finally:
            self._lock.release()

    def answer(self, held: Held) -> dict[str, Any]:
        """Returns what is decided on a snapshot, for a client."""
        with self._lock:
            return self._answer(held)

    def rule(self, held: Held) -> Ruling:
        """Returns what is decided on a snapshot."""
        with self._lock:
            return self._rule(held)

    def guarded(self, held: Held) -> list[int]:
        """Returns those that have waited too long; they go first whatever a policy says."""
        return starving(held.since_s, held.now_s, self._limits.max_wait_s)

    def _answer(self, held: Held, *, is_quick: bool = False) -> dict[str, Any]:
        began = time.perf_counter()
        ruling = self._rule(held, is_quick=is_quick)
        first = self.guarded(held)
        told = {
            "policy": self.policy.name,
            "by": ruling.by,
            "fallback": ruling.fallback or None,
            "policy_sha256": ruling.policy.sha256,
            "snapshot_sha256": held.sha256,
            "now_s": held.now_s,
            "guarded": [held.ids[row] for row in first],
            **_parts(ruling, held, first),
        }
        if not is_quick:
            self._metrics.queue(self.policy.name, **self._looked_at(ruling.decided, held, first))
        seconds = time.perf_counter() - began
        self._metrics.decided(self.policy.name, seconds, bool(ruling.fallback), len(first))
        return {**told, "masked": held.masked_told, "latency_ms": round(seconds * 1000, 3)}

    def _rule(self, held: Held, *, is_quick: bool = False) -> Ruling:
        policy = self.policy
        if not held.ids:
            # Nobody is there, so that there is nothing to ask a policy.
            return Ruling(policy.name, None, policy)

        def decide() -> Decided:
            return _checked(policy, held)

        try:
            decided = self._timely.ask_here(decide) if is_quick else self._timely.ask(decide)
            return Ruling(policy.name, decided, policy)
        except NotNowError as error:
            why = str(error)
        try:
            return Ruling(self._stand_in.name, _checked(self._stand_in, held), policy, why)
        except Exception as error:
            return Ruling("", None, policy, f"{why}; {self._stand_in.name}: {type(error).__name__}: {error}")

    def _looked_at(self, decided: Decided | None, held: Held, first: list[int]) -> dict[str, Any]:
        """Returns what the metrics tell of the queue; the same decision made again would tell nothing new."""
        if decided is None:
            return {"reasons": {"masked": len(held.masked)}}
        reasons = Counter(WORDS[reason] for _, reason, *_ in decided.arrays.waits)
        apart = disagreement(line(decided, held, first), held.baseline)
        return {"reasons": {**reasons, "masked": len(held.masked)}, "disagreement": apart}


def _checked(policy: LoadedPolicy, held: Held) -> Decided:
    # By the thread's own clock: what other processes took says nothing of the next time.
    began = time.thread_time()
    decided = policy.decider.decide(held)
    check_decided(decided, held)
    held.seconds[policy.decider] = time.thread_time() - began
    return decided


def _parts(ruling: Ruling, held: Held, first: list[int]) -> dict[str, Any]:
    if ruling.decided is not None:
        return decision_parts(ruling.decided, held, first)
    order = dict.fromkeys([*first, *held.baseline, *held.waiting])
    return {"order": [held.ids[row] for row in order], "starts": [], "reservations": [], "waiting": []}
