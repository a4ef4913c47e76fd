"""What is changed at the neighbor, and undone: within bounds, written down before, and never what others have set."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from shunter.execution.operating.change import Change, batches
from shunter.execution.operating.configuration import Configuration
from shunter.execution.operating.neighbor import MARK, NEUTRAL, Knob, Neighbor, Value
from shunter.execution.operating.nudging import Weighed, overtakers, wanted_moves, wanted_nudges, wanted_returns
from shunter.execution.operating.site import Site, SiteError, SiteJob, State
from shunter.execution.operating.undo_journal import Held, UndoJournal

MOST_TROUBLE: Final = 3
"""After so many commands that fail one after the other, the rest of a cycle's changes is left; of one job, the job."""
REFUSALS: Final = ("denied", "permission", "not permitted", "invalid job update", "not supported", "access")
"""What errors say where a knob may not be turned, in lower case."""
FORGET_S: Final = 900.0
"""Slurm tells of jobs for some minutes after their end (MinJobAge)."""
PIN_AGAIN: Final = 10
"""A job that was unbound is not bound again for so many times as long as it was."""


@dataclass
class Hand:
    """Changes jobs and undoes it."""

    neighbor: Neighbor
    journal: UndoJournal
    configuration: Configuration
    may_go_on: Callable[[], bool]
    """Asked before each change: whether nobody has stopped it meanwhile."""
    is_dry: bool = False
    """Whether commands are only told."""
    _times: deque[float] = field(default_factory=deque)
    _unsure: set[tuple[int, Knob]] = field(default_factory=set)
    """Changes whose command failed: whether they were made shows at the next reading."""
    _failed: dict[int, list[float]] = field(default_factory=dict)
    """When changes of a job failed: one that always does must not keep others from their turn."""
    _unbound: dict[int, float] = field(default_factory=dict)
    _missing: dict[tuple[int, Knob], float] = field(default_factory=dict)
    """Since when nobody tells of a job of which something is held."""

    def masks(self, site: Site) -> dict[int, str]:
        """Returns why jobs are not touched, by id; those that are not in it may be nudged."""
        reasons = {job.id: self._mask(job, self.neighbor.knob(job)) for job in site.candidates}
        return {id: reason for id, reason in reasons.items() if reason}

    def nudges(self, site: Site, order: Sequence[int], masks: Mapping[int, str]) -> list[Change]:
        """Returns the changes that make the neighbor's order the given one, as many as may be made now."""
        jobs = {job.id: job for job in site.candidates}
        lines: dict[tuple[str, Knob], list[SiteJob]] = {}
        for job in (jobs[id] for id in order if id in jobs and id not in masks):
            knob = self.neighbor.knob(job)
            if knob is not None:
                lines.setdefault((job.line, knob), []).append(job)
        changes: list[Change] = []
        for (name, knob), line in lines.items():
            changes += self._moves(site, name, line) if knob == Knob.POSITION else self._nudges(line, knob)
        # The front of the queue goes first, whatever line it is in; within a line the order of changes stays.
        place = {id: number for number, id in enumerate(order)}
        return sorted(changes, key=lambda change: place[change.job.id])[: max(0, self._left())]

    def _nudges(self, line: Sequence[SiteJob], knob: Knob) -> list[Change]:
        """Returns the changes that make the priorities of a line fall in the order given."""
        limits = self.configuration
        weighed = [Weighed(job.id, job.priority, self._nudge(job, knob), job.place) for job in line]
        wanted = wanted_nudges(weighed, limits.most_nudge, limits.step, limits.depth)
        signs = {id: -nudge if knob == Knob.NICE else nudge for id, nudge in wanted.items()}
        return [
            self._change(job, knob, signs[job.id], None if job.mark else MARK) for job in line if job.id in signs
        ]  # fmt: skip

    def _moves(self, site: Site, name: str, line: Sequence[SiteJob]) -> list[Change]:
        """Returns the changes that move the jobs of a line up, until they stand in the order given."""
        limits = self.configuration
        ids, jobs = [job.id for job in _standing(site.pending, name)], {job.id: job for job in line}
        return [
            Change(
                jobs[id],
                Knob.POSITION,
                int(bool(jobs[id].is_moved)),
                1,
                self.neighbor.commands(jobs[id], Knob.POSITION, goal, None),
                goal=goal,
            )
            for id, goal in wanted_moves(ids, list(jobs), limits.most_nudge, limits.depth)
        ]

    def pins(self, site: Site, starts: Mapping[int, tuple[str, ...]], masks: Mapping[int, str]) -> list[Change]:
        """Returns the changes that bind jobs that would start now to the nodes they would start on."""
        bound = sum(held.knob == Knob.NODES and not held.is_foreign for held in self.journal.all)
        changes: list[Change] = []
        for job in site.candidates:
            nodes = starts.get(job.id)
            if nodes is None or job.id in masks or not self._may_bind(job, nodes):
                continue
            if bound + len(changes) < self.configuration.most_pins and len(changes) < self._left():
                changes.append(self._change(job, Knob.NODES, ",".join(nodes), MARK if not job.mark else None))
        return changes

    def apply(self, changes: list[Change]) -> None:
        """Makes changes, after they are on the disk; those that are not made say why."""
        if not changes or self.is_dry:
            return
        now_s = time.time()
        lines = [(change.job, change.knob, change.old, change.new) for change in changes]
        # Where a job that is bound to nodes is held meanwhile, that must be undone, too.
        lines += [(change.job, Knob.HOLD, 0, 1) for change in changes if change.is_holding]
        self.journal.set(lines, now_s)
        self._make_all(changes, self.may_go_on)
        self._unsure.update((change.job.id, change.knob) for change in changes if not change.applied)
        released = [self.journal.of(one.job, Knob.HOLD) for one in changes if one.is_holding and one.applied]
        self.journal.close(held for held in released if held is not None)

    def undo(self, site: Site, of: Callable[[Held], bool] = lambda held: True) -> list[Change]:
        """Restores what is held, where the present value is still ours.

        Args:
            site: A reading with the values of knobs.
            of: Which of what is held.
        """
        planned = [(held, *self._restoring(held, site)) for held in self.journal.all if of(held)]
        changes = [change for _, some, _ in planned for change in some]
        # Those that came last go back first: then each finds its place behind all that came before it.
        changes.sort(key=lambda change: (change.job.submit_s, change.job.came, change.job.id), reverse=True)
        self._send_back(site.pending, [change for change in changes if change.is_return])
        if not self.is_dry:
            self._make_all(changes, lambda: True)
            self._look_after([change for change in changes if change.is_return and change.applied])
            self.journal.close(held for held, some, is_over in planned if is_over and all(one.applied for one in some))
        return changes

    def _look_after(self, changes: Sequence[Change]) -> None:
        """Sends those back once more that came to stand too low, for others came at the same instant."""
        for _ in range(MOST_TROUBLE if changes else 0):
            try:
                fresh = list(self.neighbor.look(Knob.POSITION, [change.job for change in changes]).values())
            except SiteError:
                return
            again = [replace(change, commands=[], applied=False) for change in changes]
            self._send_back(fresh, again)
            if not any(change.commands for change in again):
                return
            for change in again:
                self._make(change)

    def _send_back(self, waiting: Sequence[SiteJob], changes: Sequence[Change]) -> None:
        """Works out the commands that bring moved jobs back to where they came, for each line."""
        for name in {change.job.line for change in changes}:
            standing, back = _standing(waiting, name), {one.job.id: one for one in changes if one.job.line == name}
            line, came = [job.id for job in standing], {job.id: job.came for job in standing}
            back = {id: change for id, change in back.items() if id in came}
            moved = overtakers([id for id in line if id not in back], came) | set(back)
            for id, goal in wanted_returns(line, came, moved, list(back)):
                back[id].commands = self.neighbor.commands(back[id].job, Knob.POSITION, -goal, None)

    def unbind(self, site: Site) -> list[Change]:
        """Unbinds jobs that have waited too long for their nodes, and releases any that a crash left held."""
        late_s = time.time() - self.configuration.pin_s
        late = [held for held in self.journal.all if held.knob == Knob.NODES and held.at_s < late_s]
        self._unbound.update((held.job, time.monotonic()) for held in late)
        return self.undo(site, lambda held: held in late or held.knob == Knob.HOLD)

    def forget(self, site: Site) -> None:
        """Closes what was held of jobs that have ended, or are missing for long: a single answer may lack them."""
        now = time.monotonic()
        closed = []
        for held in self.journal.all:
            key = held.job, held.knob
            if self._records(held, site):
                self._missing.pop(key, None)
            elif self._has_ended(held, site) or now - self._missing.setdefault(key, now) > FORGET_S:
                closed.append(held)
        if not self.is_dry:
            self.journal.close(closed)

    def _mask(self, job: SiteJob, knob: Knob | None) -> str:
        reason = self._not_allowed(job)
        if reason:
            return reason
        since = time.monotonic() - FORGET_S
        if sum(at > since for at in self._failed.get(job.id, ())) >= MOST_TROUBLE:
            return f"changing it failed {MOST_TROUBLE} times"
        if knob is None:
            return "nothing orders the jobs of its line that could be changed and undone"
        held, value = self.journal.of(job, knob), self.neighbor.value(job, knob)
        if value is None:
            return f"its {knob.value} is not told"
        if held is not None and held.is_foreign:
            return f"its {knob.value} was changed by others"
        if held is None:
            return "" if value == NEUTRAL[knob] else f"its {knob.value} is set by others"
        if value in held.values:
            self._unsure.discard((job.id, knob))
            return ""
        # A job is back where it came without anybody's doing when those that it was moved before have started.
        if value == held.old and (knob == Knob.POSITION or (job.id, knob) in self._unsure):
            return ""
        if not self.is_dry:
            self.journal.disown(held)
        return f"its {knob.value} was changed by others"

    def _not_allowed(self, job: SiteJob) -> str:
        allowed = self.configuration
        if not job.address:
            return "it cannot be named without others of its array"
        if allowed.users and job.user not in allowed.users:
            return "its user is not on the list"
        if allowed.partitions and not set(job.partitions) <= set(allowed.partitions):
            return "its partition is not on the list"
        drawn = int.from_bytes(hashlib.sha256(str(job.array or job.id).encode()).digest()[:4], "big") % 10_000
        return "" if drawn < allowed.canary_percent * 100 else "it is not among the canaries"

    def _nudge(self, job: SiteJob, knob: Knob) -> int:
        value = int(self.neighbor.value(job, knob) or 0)
        return -value if knob == Knob.NICE else value

    def _may_bind(self, job: SiteJob, nodes: tuple[str, ...]) -> bool:
        is_free = self.neighbor.value(job, Knob.NODES) == NEUTRAL[Knob.NODES] and not job.own_nodes
        is_free = is_free and self.journal.of(job, Knob.NODES) is None
        is_again = time.monotonic() - self._unbound.get(job.id, -1e18) < PIN_AGAIN * self.configuration.pin_s
        # A record of several tasks would bind them all, and a list of several nodes can change what the job asks for.
        return is_free and not is_again and "_[" not in job.address and len(nodes) == job.nodes == 1

    def _change(self, job: SiteJob, knob: Knob, new: Value, mark: str | None) -> Change:
        old = self.neighbor.value(job, knob)
        return Change(
            job, knob, NEUTRAL[knob] if old is None else old, new, self.neighbor.commands(job, knob, new, mark)
        )

    def _left(self) -> int:
        """Returns how many changes may still be made in this minute."""
        now = time.monotonic()
        while self._times and self._times[0] < now - 60:
            self._times.popleft()
        return self.configuration.changes_per_minute - len(self._times)

    def _make_all(self, changes: list[Change], may_go_on: Callable[[], bool]) -> None:
        """Makes changes, some at a time, each time after a last look: what others have turned meanwhile is theirs."""
        in_a_row = 0
        for some in batches(changes):
            try:
                present = {
                    knob: self.neighbor.look(knob, [change.job for change in some if change.knob == knob])
                    for knob in {change.knob for change in some}
                }
            except SiteError as error:
                present, in_a_row, why = {}, MOST_TROUBLE, str(error)
            for change in some:
                if in_a_row >= MOST_TROUBLE:
                    change.trouble = f"left, for others failed{'' if present else f': {why}'}"
                elif not may_go_on():
                    change.trouble = "left, for it was stopped meanwhile"
                elif change.job.id not in present[change.knob]:
                    change.trouble = "left, for it does not wait any more"
                elif self._has_changed(change, present[change.knob]):
                    change.trouble = f"left, for its {change.knob.value} has changed meanwhile"
                else:
                    if change.is_return:
                        # Others may have come or gone since the reading.
                        change.commands = []
                        self._send_back(list(present[change.knob].values()), [change])
                    self._times.append(time.monotonic())
                    self._make(change)
                    in_a_row = in_a_row + 1 if change.trouble else 0

    def _has_changed(self, change: Change, present: Mapping[int, SiteJob]) -> bool:
        """Returns whether somebody else has turned a knob since the reading."""
        job = present[change.job.id]
        value = self.neighbor.value(job, change.knob)
        if change.knob == Knob.POSITION:
            place = [one.id for one in _standing(list(present.values()), job.line)].index(job.id) + 1
            # Where others have gone, what was a way up would be one down.
            is_there = not change.is_return and place <= change.goal
            # Moving others up can bring a job back to where it came, but never before those that came earlier.
            return job.line != change.job.line or is_there or (value == 1 and change.old == 0)
        return value != change.old

    def _make(self, change: Change) -> None:
        """Runs the commands of a change; where a job was held, it is released whatever happens in between."""
        for place, words in enumerate(change.commands):
            is_release = place > 0 and place == len(change.commands) - 1
            if change.trouble and not is_release:
                continue
            try:
                self.neighbor.run(words)
            except SiteError as error:
                change.trouble = change.trouble or str(error)
                if place == 0:
                    break
        change.applied = not change.trouble
        if change.applied:
            self._failed.pop(change.job.id, None)
        else:
            self._failed.setdefault(change.job.id, []).append(time.monotonic())
        if change.knob == Knob.SITE_FACTOR and any(word in change.trouble.lower() for word in REFUSALS):
            self.neighbor.refuse(Knob.SITE_FACTOR)

    def _records(self, held: Held, site: Site) -> list[SiteJob]:
        """Returns the records of a job, or of the tasks that have left it, that have not ended."""
        return [
            job
            for job in site.jobs
            if job.state != State.ENDED and (job.id == held.job or job.array == held.job)
        ]  # fmt: skip

    def _has_ended(self, held: Held, site: Site) -> bool:
        """Returns whether a job, or a task that has left it, is told to have ended."""
        return any(job.state == State.ENDED and held.job in (job.id, job.array) for job in site.jobs)

    def _restoring(self, held: Held, site: Site) -> tuple[list[Change], bool]:
        """Returns the changes that restore what is held, and whether nothing is left of it when they are made."""
        records = self._records(held, site)
        changes, is_over = [], bool(records) or self._has_ended(held, site)
        for job in records:
            if job.state != State.PENDING:
                # It weighs nothing while it runs; if it waits again, it is looked at again.
                is_over = False
                continue
            if held.is_foreign or (job.id != held.job and self.journal.of(job, held.knob) is not held):
                continue
            value = self.neighbor.value(job, held.knob)
            if value is None:
                is_over = False
            elif held.knob == Knob.POSITION and value != held.old:
                # Where it goes back to depends on which others do.
                changes.append(Change(job, held.knob, value, held.old, []))
            elif value != held.old and value in held.values:
                changes.append(self._change(job, held.knob, held.old, "" if job.mark == MARK else None))
        return changes, is_over


def _standing(waiting: Sequence[SiteJob], line: str) -> list[SiteJob]:
    """Returns all jobs that wait in a line, as they stand, also those that may not start."""
    return sorted((job for job in waiting if job.line == line), key=lambda job: (job.place, job.id))
