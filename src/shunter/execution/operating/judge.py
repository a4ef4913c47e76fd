"""Who decides beside a scheduler: the policy within its deadline, and otherwise whoever stands in for it."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from shunter.checks import check_name
from shunter.errors import failure_text
from shunter.execution.deciding import queue_scheduler
from shunter.execution.operating.breaker import Breaker
from shunter.execution.operating.configuration import SITE_ORDER, Configuration
from shunter.execution.operating.picture import Picture
from shunter.execution.operating.timely import NotNowError, Timely
from shunter.policies.catalog import POLICIES
from shunter.policies.native import NativePolicy
from shunter.policies.trust import words_of_a_file
from shunter.simulation.run import decide

if TYPE_CHECKING:
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation import Decision

T = TypeVar("T", int, str)
"""What jobs are known by."""


@dataclass(frozen=True)
class Verdict:
    """What is decided, by ids of jobs."""

    policy: str
    """Who decided."""
    order: tuple[int, ...]
    """All candidates, the next first."""
    starts: dict[int, tuple[str, ...]]
    """Who would start now, with the names of the nodes."""
    reasons: dict[int, str]
    """Why each of the others waits."""
    fallback: str = ""
    """Why the policy itself did not decide; empty if it did."""
    guarded: tuple[int, ...] = ()
    """Those that the guard against starvation put first."""
    seconds: float = 0.0
    """How long deciding took, with standing in."""


class Judge:
    """Asks a policy, and stands in for it when it fails or is late."""

    def __init__(self, configuration: Configuration, *, of_file: bool = False) -> None:
        """Reads the policy.

        Args:
            configuration: Names it.
            of_file: Whether a file names it, and not the user.

        Raises:
            InputError: There is no such policy, or it stops running jobs.
        """
        self.breaker = Breaker(configuration.most_failures, configuration.failure_window_s, configuration.probe_s)
        self._timely = Timely(self.breaker, configuration.deadline_s)
        self.fallbacks = 0
        """How often somebody stood in."""
        self.guard_hits = 0
        self.asked = 0
        self.change(configuration, of_file=of_file)

    def change(self, configuration: Configuration, *, of_file: bool = False) -> None:
        """Lets another configuration hold from now on.

        Args:
            configuration: Names the policy.
            of_file: Whether a file names it, and not the user.

        Raises:
            InputError: There is no such policy, or it stops running jobs.
        """
        with words_of_a_file() if of_file else nullcontext():
            scheduler = queue_scheduler(configuration.words)
        name = configuration.fallback
        stand_in = None if name == SITE_ORDER else queue_scheduler({"policy": check_name("fallback", name, POLICIES)})
        self._scheduler, self._stand_in, self._configuration = scheduler, stand_in, configuration
        self.policy_sha256 = policy_digest(scheduler)
        limits = configuration.most_failures, configuration.failure_window_s, configuration.probe_s
        self.breaker.set_limits(*limits)
        self._timely.deadline_s = configuration.deadline_s

    @property
    def scheduler(self) -> Scheduler:
        """The way to schedule that decides."""
        return self._scheduler

    def warm_up(self, picture: Picture) -> None:
        """Decides once for nothing, so that loading a network is not held against the deadline."""
        if picture.candidates:
            verdict_of(picture, self._scheduler)

    def decide(self, picture: Picture) -> Verdict:
        """Returns what is decided: by the policy, or by whoever stands in for it."""
        began = time.perf_counter()
        self.asked += 1
        try:
            verdict = self._ask(picture)
        except NotNowError as error:
            self.fallbacks += 1
            verdict = self._instead(picture, str(error))
        verdict = self._guarded(picture, verdict)
        return replace(verdict, seconds=time.perf_counter() - began)

    def _ask(self, picture: Picture) -> Verdict:
        def checked() -> Verdict:
            verdict = verdict_of(picture, self._scheduler)
            check_verdict(verdict, picture)
            return verdict

        return self._timely.ask(checked)

    def _instead(self, picture: Picture, why: str) -> Verdict:
        if self._stand_in is not None:
            try:
                verdict = verdict_of(picture, self._stand_in)
                check_verdict(verdict, picture)
                return replace(verdict, fallback=why)
            except Exception as error:
                why = f"{why}; {self._configuration.fallback}: {failure_text(error)}"
        left = {picture.rows[row].job.id for row in picture.candidates}
        return Verdict(SITE_ORDER, tuple(job.id for job in picture.site.candidates if job.id in left), {}, {}, why)

    def _guarded(self, picture: Picture, verdict: Verdict) -> Verdict:
        """Puts those first that have waited too long, the one that has waited longest before the others."""
        jobs = [picture.rows[row].job for row in picture.candidates]
        since_s = {job.id: job.eligible_s or job.submit_s for job in jobs}
        first = starving(since_s, picture.site.now_s, self._configuration.max_wait_s)
        if not first:
            return verdict
        self.guard_hits += len(first)
        return replace(verdict, order=tuple(dict.fromkeys([*first, *verdict.order])), guarded=tuple(first))


def starving(since_s: Mapping[T, float], now_s: float, longest_s: float | None) -> list[T]:
    """Returns those that have waited too long, the one that has waited longest first.

    Args:
        since_s: Since when each job waits.
        now_s: The time.
        longest_s: How long is too long; None: nothing is.
    """
    found = [] if longest_s is None else [job for job, at in since_s.items() if now_s - at >= longest_s]
    return sorted(found, key=lambda job: (since_s[job], job))


def verdict_of(picture: Picture, scheduler: Scheduler) -> Verdict:
    """Returns what one way to schedule decides on a picture."""
    decision = decide(picture.snapshot, picture.workload, picture.cluster, scheduler)
    rows, nodes = picture.rows, picture.site.nodes
    order = _line(decision, isinstance(scheduler.policy, NativePolicy), picture.candidates)
    reasons = {}
    for row, waiting in decision.waiting.items():
        behind = "" if waiting.blocker is None else f" (job {rows[waiting.blocker].job.id})"
        reasons[rows[row].job.id] = f"{waiting.reason.value}{behind}"
    starts = {
        rows[row].job.id: tuple(nodes[number].name for number in place.nodes) for row, place in decision.starts.items()
    }
    return Verdict(scheduler.settings.policy, tuple(rows[row].job.id for row in order), starts, reasons)


def _line(decision: Decision, is_native: bool, candidates: Sequence[int]) -> list[int]:
    """Returns all candidates in the order of a decision. A learned policy says by starting jobs whom it wants first."""
    first = [] if is_native else [row for answer in decision.answers for row in _chosen(answer.jobs, answer.action)]
    first = [row for row in first if row in decision.starts or row in decision.reservations]
    # Those that the order does not name (a scan may end before them) come last, as they came.
    return list(dict.fromkeys([*first, *decision.order, *candidates]))


def _chosen(jobs: Sequence[int], action: int) -> list[int]:
    return [jobs[action]] if 0 <= action < len(jobs) else []


def check_verdict(verdict: Verdict, picture: Picture) -> None:
    """Checks that a verdict is about the candidates, and names nodes that there are.

    Raises:
        ValueError: It is not.
    """
    known = {picture.rows[row].job.id for row in picture.candidates}
    if len(verdict.order) != len(known) or set(verdict.order) != known:
        raise ValueError("the order is not one of the jobs that wait")
    names = {node.name for node in picture.site.nodes}
    for job, nodes in verdict.starts.items():
        if job not in known or not names.issuperset(nodes):
            raise ValueError(f"job {job} would start where it cannot")


def policy_digest(scheduler: Scheduler) -> str:
    """Returns a hash of all that a way to schedule is: its settings, and the files that it comes from."""
    digest = hashlib.sha256(repr(scheduler.settings).encode())
    for name, path in sorted(scheduler.files.items()):
        folder = path if path.is_dir() else path.parent
        # What a checkpoint's file names lies beside it.
        files = [path] if path.suffix in (".toml", ".py") else sorted(one for one in folder.iterdir() if one.is_file())
        for file in files:
            digest.update(f"\n{name} {file.name} {hashlib.sha256(_bytes(file)).hexdigest()}".encode())
    return digest.hexdigest()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def disagreement(one: Sequence[int], other: Sequence[int], most: int = 200) -> float:
    """Returns the share of pairs, among the first jobs of one order, that the other order has the other way round."""
    place = {id: number for number, id in enumerate(other)}
    places = [place[id] for id in one[:most] if id in place]
    pairs = math.comb(len(places), 2)
    swapped = sum(places[later] < places[earlier] for later in range(len(places)) for earlier in range(later))
    return swapped / pairs if pairs else 0.0
