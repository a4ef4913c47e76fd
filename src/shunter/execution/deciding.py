"""Who decides: the policy as long as it can, and first come, first served where it fails.

What deciding takes (Polars, NumPy, the core) is loaded at the first decision: a queue serves its clients at once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from shunter.errors import InputError
from shunter.execution.view import USUAL_TIME_S, Plan, SeenJob, View

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.policies.scheduler import Scheduler

FALLBACK: Final = "fcfs"
MOST_FAILURES: Final = 3
"""After so many failures one after the other, the policy is not asked for a while."""
PAUSE_S: Final = 60.0
"""How long it then is not asked."""


def queue_scheduler(words: Mapping[str, Any]) -> Scheduler:
    """Returns the way to schedule that a queue's settings mean; what they leave out is usual.

    Raises:
        InputError: A text is wrong, or two contradict each other.
    """
    from shunter.policies.checkpoint import is_checkpoint
    from shunter.policies.native import NativePolicy
    from shunter.policies.scheduler import resolve_scheduler

    # A learned policy brings what it was trained with.
    usual = {} if is_checkpoint(words.get("policy", "")) else {"missing_request": str(USUAL_TIME_S)}
    scheduler = resolve_scheduler(**{**usual, **words})
    if isinstance(scheduler.policy, NativePolicy) and scheduler.policy.known.preempts:
        what = (
            f"policy {scheduler.settings.policy!r} stops running jobs, and a command cannot go on where it was stopped"
        )
        raise InputError(f"{what}; take one that does not, such as sjf")
    return scheduler


class Decider:
    """Decides by one policy as long as it can, and by the fallback when it fails."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        """Takes the settings that name the policy; whether they are right shows when `scheduler` is asked for."""
        self._words = words
        self.failures = 0
        """How often the fallback decided instead of the policy."""
        self.last_failure = ""
        self._in_a_row = 0
        self._ask_again_at = 0.0

    @cached_property
    def scheduler(self) -> Scheduler:
        """The way to schedule."""
        return queue_scheduler(self._words)

    @cached_property
    def _fallback(self) -> Scheduler:
        return queue_scheduler({"policy": FALLBACK})

    @property
    def has_a_line(self) -> bool:
        """Whether the first in line may start whenever it fits; a learned policy is asked each time."""
        from shunter.policies.native import NativePolicy

        try:
            return isinstance(self.scheduler.policy, NativePolicy)
        # Its file may be gone since the queue was told of it.
        except Exception:
            return False

    def described(self) -> dict[str, Any]:
        """Returns who decides, as people are told; of a policy that cannot be read, what names it."""
        names = ("policy", "dispatch", "estimate", "max_wait_s")
        try:
            return {name: getattr(self.scheduler.settings, name) for name in names}
        except Exception:
            return {name: self._words.get(name) for name in names}

    def warm_up(self, cluster: Cluster) -> None:
        """Loads what deciding takes, by a decision that nobody carries out: otherwise the first jobs wait for it.

        Raises:
            InputError: There is no such policy.
        """
        from shunter.execution.planning import plan

        now_s = time.time()
        job = SeenJob(1, now_s, cores=1, memory_mb=0, gpus=0, requested_s=1.0, kind="", priority=0)
        scheduler = self.scheduler
        # One that fails does so again when it counts.
        with suppress(Exception):
            plan(View(now_s, cluster, (job,), (), ()), scheduler, now_s)

    def decide(self, view: View) -> Plan:
        """Returns who starts now."""
        from shunter.execution.planning import plan

        began = time.perf_counter()
        if self._in_a_row >= MOST_FAILURES and time.monotonic() < self._ask_again_at:
            failure = f"not asked after {MOST_FAILURES} failures in a row: {self.last_failure}"
        else:
            try:
                decided = plan(view, self.scheduler, began)
            # Whatever is wrong with a policy, the jobs must go on.
            except Exception as error:
                failure = f"{type(error).__name__}: {error}"
                self._in_a_row += 1
                self._ask_again_at = time.monotonic() + PAUSE_S
                self.last_failure = failure
            else:
                self._in_a_row = 0
                return decided
        self.failures += 1
        try:
            return replace(plan(view, self._fallback, began), failure=failure)
        # A clock that was set back, say, makes a view that contradicts itself. The guard starts only what fits.
        except Exception as error:
            line = tuple(job.id for job in view.waiting)
            failure = f"{failure}; {FALLBACK}: {type(error).__name__}: {error}"
            return Plan(FALLBACK, line, (), {}, time.perf_counter() - began, failure)
