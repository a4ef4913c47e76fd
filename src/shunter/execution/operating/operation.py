"""One loop beside a scheduler: read, decide, guard, act, write down; and undo all of it, whatever happens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from shunter.errors import InputError, failure_text
from shunter.execution.operating.audit import Audit
from shunter.execution.operating.breaker import Breaker
from shunter.execution.operating.change import Change
from shunter.execution.operating.configuration import SITE_ORDER, Configuration, Configured, unknown_names
from shunter.execution.operating.ended_jobs import EndedJobs
from shunter.execution.operating.folder import OperationFolder
from shunter.execution.operating.hand import Hand
from shunter.execution.operating.judge import Judge, Verdict, disagreement
from shunter.execution.operating.modes import Mode
from shunter.execution.operating.neighbor import Neighbor
from shunter.execution.operating.picture import Picture, picture_of
from shunter.execution.operating.side_work import SideWork
from shunter.execution.operating.site import Site, SiteError, SiteJob
from shunter.execution.operating.status import Histogram, site_numbers, write_status
from shunter.execution.operating.telling import scores_of, verdict_lines
from shunter.execution.operating.undo_journal import UndoJournal

LOOK_S: Final = 0.25
"""So often it is looked whether somebody has switched it off."""
STALE_S: Final = 60.0
"""A reading that is older is not acted on: the process may have been stopped meanwhile."""
UNDO_S: Final = 30.0
"""How long undoing at the end is tried while the scheduler does not answer."""


@dataclass
class Tally:
    """What an operation has done so far."""

    cycles: int = 0
    failed_reads: int = 0
    failed_cycles: int = 0
    changes: int = 0
    failed_changes: int = 0
    undone: int = 0
    latency: Histogram = field(default_factory=Histogram)


class Operation:
    """Works beside one scheduler until it is stopped."""

    def __init__(
        self,
        neighbor: Neighbor,
        configured: Configured,
        folder: OperationFolder,
        *,
        is_dry: bool = False,
        tell: Callable[[str], None] = print,
    ) -> None:
        """Takes over what an earlier process has left.

        Args:
            neighbor: Speaks to the scheduler.
            configured: What to do.
            folder: The folder of the operation, which this process has locked.
            is_dry: Whether commands are only told.
            tell: Takes a line for people.

        Raises:
            InputError: There is no such policy, or the journal cannot be read.
        """
        self.folder, self.tally = folder, Tally()
        self._neighbor, self._configured, self._tell, self._is_dry = neighbor, configured, tell, is_dry
        now = configured.now
        with configured.blamed("policy", "dispatch", "estimate", "fallback"):
            self._judge = Judge(now, of_file=configured.is_policy_of_file)
        self._journal = UndoJournal(folder, neighbor.name, now.programs)
        self._hand = Hand(neighbor, self._journal, now, self._may_go_on, is_dry)
        self._audit = Audit(folder, now.audit_mb, now.audit_files, now.inputs_mb)
        with configured.blamed("history"):
            self._ended = EndedJobs(now.history)
        with configured.blamed("site_policy", "site_dispatch"):
            self._side_work = SideWork(folder, now, lambda: not self._stop.is_set(), tell, of_file=configured.has_file)
        self._breaker = Breaker(now.most_failures, now.failure_window_s, now.probe_s)
        self._period_s = now.period_s
        self._stop = threading.Event()
        self._is_woken = False
        self._is_warm = False
        self._is_once = False
        self._has_failed = False
        """Whether the latest cycle had nothing to decide on, because the scheduler was not read or talks nonsense."""
        self._read_s: float | None = None
        """When the latest reading was made."""
        self._unknown: list[str] = []
        """What the configuration names and the site does not have."""
        self._picture: Picture | None = None
        self._latest: dict[str, Any] = {}
        self._verdict: tuple[Verdict, list[SiteJob]] | None = None
        # Nothing on the disk is believed: what an earlier process has left is undone before anything else is done.
        self._must_undo = len(self._journal) > 0

    def stop(self) -> None:
        """Ends the loop after what is being done; everything is undone."""
        self._stop.set()

    def wake(self) -> None:
        """Lets the next cycle begin at once."""
        self._is_woken = True

    def run(self, *, once: bool = False) -> bool:
        """Works until it is stopped, or for one cycle; returns whether everything was undone, or the cycle was one.

        One cycle leaves its changes in place: the next start, or ``shunter operate undo``, undoes them.
        """
        self._is_once = once
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                self.cycle()
            # A full disk, say. The site must not be left with changes that nobody looks after.
            except Exception as error:
                if once:
                    raise
                self.tally.failed_cycles += 1
                self._must_undo = True
                self._tell(f"the cycle failed, everything is undone: {self._why(error)}")
            if once:
                self._tell_once()
                return not self._has_failed
            self._rest(began)
        return self._undo_at_the_end()

    def _tell_once(self) -> None:
        """Tells people who look once what came of it."""
        if self._mode == Mode.OFF:
            self._tell(
                f"Mode off: nothing is decided; {self.tally.undone:,} undone, {len(self._journal):,} still changed"
            )
        elif not self._has_failed:
            for line in verdict_lines(self._neighbor.name, self._verdict):
                self._tell(line)

    def cycle(self) -> None:
        """Reads, decides, guards, acts and writes down, once."""
        self._has_failed = False
        self._renew()
        now = self._configured.now
        if self._mode == Mode.OFF and not self._journal.all:
            self._publish(None)
            return
        site = self._read()
        if site is None:
            self._has_failed = True
            self._publish(None)
            return
        self.tally.cycles += 1
        self._see_names(site)
        self._hand.forget(site)
        for record in self._side_work.see(site, is_changed=len(self._journal) > 0):
            self._audit.append(record)
        undone = self._undo_if_told(site)
        if undone and self._mode >= Mode.NUDGE:
            # What was undone has another priority now.
            site = self._read() or site
        line: dict[str, Any] = {"time_s": site.now_s, "mode": self._mode.word, "read_s": round(site.seconds, 4)}
        self._picture = None
        ended = self._ended.see(site)
        if self._mode != Mode.OFF:
            line |= self._decide_and_act(site, ended, now)
        if undone:
            line["undone"] = [change.told() for change in undone]
        self._audit.append(line)
        if self._mode != Mode.OFF and not self._is_once:
            self._side_work.begin(site, self._picture, ended, self._judge.scheduler)
        self._publish(site)

    def _see_names(self, site: Site) -> None:
        """Tells once what the configuration names and the site does not have; it may come later."""
        unknown = unknown_names(site, self._configured.now)
        for line in [line for line in unknown if line not in self._unknown]:
            self._tell(line)
        self._unknown = unknown

    @property
    def _mode(self) -> Mode:
        """The mode that holds at this instant; the kill switch leaves observing."""
        mode = self._configured.mode
        return min(mode, Mode.OBSERVE) if self.folder.is_switched_off else mode

    def _may_go_on(self) -> bool:
        return not self._stop.is_set() and not self.folder.is_switched_off

    def _renew(self) -> None:
        """Takes over a configuration that has changed; a policy that cannot be read leaves the one before."""
        before, complained = self._configured.now, self._configured.trouble
        if self._configured.renew():
            now = self._configured.now
            try:
                with self._configured.blamed("site_policy", "site_dispatch"):
                    self._side_work.change(now, of_file=self._configured.has_file)
                with self._configured.blamed("policy", "dispatch", "estimate", "fallback"):
                    self._judge.change(now, of_file=self._configured.is_policy_of_file)
                if now.history != before.history:
                    with self._configured.blamed("history"):
                        self._ended = EndedJobs(now.history)
            except InputError as error:
                self._configured.now, self._configured.trouble = before, str(error)
                self._side_work.change(before, of_file=self._configured.has_file)
            else:
                self._take(now)
                self._tell(f"configuration read again: mode {self._configured.mode.word}, policy {now.policy}")
        if self._configured.trouble and self._configured.trouble != complained:
            self._tell(f"configuration not followed: {self._configured.trouble}")

    def _take(self, now: Configuration) -> None:
        self._hand.configuration = now
        self._audit.set_limits(now.audit_mb, now.audit_files, now.inputs_mb)
        self._breaker.set_limits(now.most_failures, now.failure_window_s, now.probe_s)
        self._period_s = now.period_s

    def _read(self) -> Site | None:
        """Returns a reading; None if there is none now."""
        now = self._configured.now
        if not self._breaker.allows(time.monotonic()):
            return None
        try:
            site = self._neighbor.read(with_knobs=self._mode >= Mode.NUDGE or bool(self._journal.all))
        except SiteError as error:
            self.tally.failed_reads += 1
            was_open = self._breaker.is_open
            self._breaker.fail(time.monotonic(), str(error))
            self._tell(f"{self._neighbor.name} was not read: {error}")
            if self._breaker.is_open and not was_open:
                self._tell(f"the breaker is open: {self._neighbor.name} is asked again in {now.probe_s:g} s")
            return None
        if self._breaker.is_open:
            self._tell(f"{self._neighbor.name} answers again")
        self._breaker.succeed()
        self._read_s = site.now_s
        # Whoever is slow is asked less often.
        slower_s = min(now.most_period_s, max(2 * self._period_s, now.period_s))
        self._period_s = slower_s if site.seconds > now.slow_s else max(now.period_s, self._period_s / 2)
        return site

    def _undo_if_told(self, site: Site) -> list[Change]:
        """Undoes what may not stand any more: all of it, or what has expired."""
        if self._must_undo or (self._mode < Mode.NUDGE and self._journal.all):
            changes = self._count_undone(self._hand.undo(site))
            self._must_undo = self._must_undo and not self._is_dry and any(not one.applied for one in changes)
            return changes
        return self._count_undone(self._hand.unbind(site)) if self._mode >= Mode.NUDGE else []

    def _count_undone(self, changes: list[Change]) -> list[Change]:
        for change in changes:
            if self._is_dry:
                self._tell_commands(change)
            elif change.trouble:
                self._tell(f"job {change.job.id} was not restored: {change.trouble}")
        self.tally.undone += sum(change.applied for change in changes)
        return changes

    def _decide_and_act(self, site: Site, ended: list[SiteJob], now: Configuration) -> dict[str, Any]:
        """Decides and acts on it; returns what the audit tells of that."""
        barred = {job.id: job.barrier for job in site.pending if job.barrier}
        if not site.candidates and not site.jobs and not ended:
            return {"candidates": [], "masked": barred, "policy": now.policy}
        try:
            picture = self._picture = picture_of(site, ended)
        # A reading that contradicts itself is nothing to decide on.
        except InputError as error:
            self._has_failed = True
            self._tell(f"the reading makes no picture: {error}")
            return {"candidates": [job.id for job in site.candidates], "fallback": str(error), "policy": now.policy}
        barred |= dict.fromkeys(picture.unfit, "it fits on no nodes that are open")
        if not picture.candidates:
            self._audit.keep_idle(picture)
            return {"candidates": [], "masked": barred, "policy": now.policy}
        if not self._is_warm:
            self._warm_up(picture)
        verdict = self._judge.decide(picture)
        self.tally.latency.see(verdict.seconds)
        if verdict.fallback:
            self._tell(f"{verdict.policy} stands in for {now.policy}: {verdict.fallback}")
        self._audit.keep(picture)
        changes, masks = self._act(site, verdict)
        site_order = [job.id for job in site.candidates]
        self._verdict = verdict, site.candidates
        self._latest = {"disagreement": disagreement(verdict.order, site_order), "decided_by": verdict.policy}
        return {
            "input_sha256": picture.sha256,
            **now.words,
            "policy_sha256": self._judge.policy_sha256,
            "decided_by": verdict.policy,
            "fallback": verdict.fallback,
            "latency_ms": round(verdict.seconds * 1000, 3),
            "candidates": site_order,
            "scores": scores_of(picture, verdict),
            "masked": {**barred, **masks},
            "order": list(verdict.order),
            "chosen": {str(id): list(nodes) for id, nodes in verdict.starts.items()},
            "reasons": verdict.reasons,
            "guarded": list(verdict.guarded),
            "disagreement": round(self._latest["disagreement"], 4),
            "changes": [change.told() for change in changes],
            "applied": sum(change.applied for change in changes),
        }

    def _warm_up(self, picture: Picture) -> None:
        self._is_warm = True
        try:
            self._judge.warm_up(picture)
        # What is wrong shows again when it counts, and is counted then.
        except Exception as error:
            self._tell(f"policy {self._configured.now.policy}: {failure_text(error)}")

    def _act(self, site: Site, verdict: Verdict) -> tuple[list[Change], dict[int, str]]:
        if self._mode < Mode.NUDGE or not self._may_go_on() or time.time() - site.now_s > STALE_S or self._must_undo:
            return [], {}
        if verdict.fallback and verdict.policy == SITE_ORDER:
            # Nothing more is changed; while the policy is not asked at all, the site's own order is to hold.
            changes = self._count_undone(self._hand.undo(site)) if self._judge.breaker.is_open else []
            return changes, {}
        masks = self._hand.masks(site)
        changes = self._hand.nudges(site, verdict.order, masks)
        if self._mode >= Mode.ENFORCE and not verdict.fallback:
            changes += self._hand.pins(site, verdict.starts, masks)
        self._hand.apply(changes)
        for change in changes:
            if self._is_dry:
                self._tell_commands(change)
            elif change.trouble:
                self._tell(f"job {change.job.id} was not changed: {change.trouble}")
        self.tally.changes += sum(change.applied for change in changes)
        self.tally.failed_changes += sum(bool(change.trouble) for change in changes)
        return changes, masks

    def _tell_commands(self, change: Change) -> None:
        for words in change.commands:
            self._tell(" ".join(words))

    def _rest(self, began: float) -> None:
        """Waits for the next cycle; whoever switches it off does not have to wait for that."""
        was_off = self.folder.is_switched_off
        while not self._stop.is_set() and not self._is_woken and self.folder.is_switched_off == was_off:
            left_s = began + self._period_s - time.monotonic()
            if left_s <= 0 or self._stop.wait(min(left_s, LOOK_S)):
                break
        self._is_woken = False

    def _undo_at_the_end(self) -> bool:
        """Undoes everything; returns whether nothing is left. A scheduler that does not answer is asked again."""
        until = time.monotonic() + UNDO_S
        while self._journal.all:
            try:
                site = self._neighbor.read(with_knobs=True)
                self._hand.forget(site)
                changes = self._count_undone(self._hand.undo(site))
                self._audit.append(
                    {"time_s": site.now_s, "mode": "off", "undone": [change.told() for change in changes]}
                )
                if all(change.applied or self._is_dry for change in changes):
                    break
            except SiteError as error:
                self._tell(f"{self._neighbor.name} was not read: {error}")
            except OSError as error:
                # A full disk keeps nobody from undoing.
                self._tell(f"not written down: {self._why(error)}")
            if time.monotonic() > until:
                self._tell(f"not everything is undone; do it with: shunter operate undo --state {self.folder.path}")
                return False
            time.sleep(LOOK_S)
        with suppress(OSError):
            self._publish(None, is_up=False)
        return True

    def _why(self, error: Exception) -> str:
        """Returns what went wrong: a file and why, or the kind of an error that nobody has foreseen."""
        if isinstance(error, OSError) and error.strerror:
            return f"{error.filename or self.folder.path}: {error.strerror}"
        return failure_text(error)

    def _publish(self, site: Site | None, *, is_up: bool = True) -> None:
        """Writes the status."""
        now, tally = self._configured.now, self.tally
        told: dict[str, Any] = {
            "time_s": time.time(),
            "read_s": self._read_s,
            "scheduler": self._neighbor.name,
            "up": int(is_up and not self._breaker.is_open and site is not None),
            "mode": int(self._mode) if is_up else 0,
            "mode_word": self._mode.word if is_up else "off",
            "allowed_mode": self._configured.ceiling.word,
            "is_switched_off": self.folder.is_switched_off,
            "policy": now.policy,
            "policy_sha256": self._judge.policy_sha256,
            "configuration_trouble": self._configured.trouble,
            "unknown_names": self._unknown,
            "held": len(self._journal),
            "cycles": tally.cycles,
            "failed_reads": tally.failed_reads,
            "failed_cycles": tally.failed_cycles,
            "last_failed_read": self._breaker.last_failure,
            "decisions": self._judge.asked,
            "fallbacks": self._judge.fallbacks,
            "last_fallback": self._judge.breaker.last_failure,
            "guard_hits": self._judge.guard_hits,
            "changes": tally.changes,
            "failed_changes": tally.failed_changes,
            "undone": tally.undone,
            "policy_breaker_open": self._judge.breaker.is_open,
            "policy_breaker_opened": self._judge.breaker.opened,
            "scheduler_breaker_open": self._breaker.is_open,
            "scheduler_breaker_opened": self._breaker.opened,
            "period_seconds": self._period_s,
            "commands": self._neighbor.usage(),
            **self._latest,
            **self._side_work.told(),
        }
        if site is not None:
            told |= site_numbers(site)
        write_status(self.folder, told, tally.latency)
