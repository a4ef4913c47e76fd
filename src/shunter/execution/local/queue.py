"""A local queue: its jobs in memory and in the journal, and every step from one state to the next.

It knows nothing of clients. Whoever drives it has a `Loop` decide when something has happened, and calls `flush` before
anything is told to anybody: then all changes are on the disk, and the jobs that were chosen are started.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import sqlite3
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.errors import InputError
from shunter.execution.local import cgroups
from shunter.execution.local.board import Board, Entry
from shunter.execution.local.folder import QueueFolder
from shunter.execution.local.journal import Journal
from shunter.execution.local.machine import Machine, Share
from shunter.execution.local.outputs import trim
from shunter.execution.local.processes import MARK, boot_id
from shunter.execution.local.records import EndRecord, forget_revoked, read_end
from shunter.execution.local.spawner import GRACE_S, Environment, SpawnRequest
from shunter.execution.local.spec import OVER, SHELL
from shunter.execution.local.supervision import Ending, Run, Supervision
from shunter.execution.view import Plan, SeenJob, View

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster

SHOWN_AT_ONCE: Final = 1000
"""How many waiting jobs a decision looks at."""
MOST_KEPT: Final = 10
"""Of how many of those that a decision passes over the journal keeps why."""
LEARNED_FROM: Final = 500
"""From how many jobs that have ended estimates learn."""
COMMIT_S: Final = 0.05
"""How long ends may wait until they are brought to the disk, where nobody waits for that."""
MOST_ENVIRONMENTS: Final = 32
PREPARE_S: Final = 0.1
LEAST_PREPARED: Final = 4
MOST_PREPARED: Final = 64
TRIM_S: Final = 5.0
"""How often it is looked whether jobs print too much."""
PAUSE_S: Final = 1.0
"""How long nothing is started after a start that failed for want of processes or room on the disk."""


class LocalQueue:
    """The backend ``local``."""

    def __init__(
        self, folder: QueueFolder, journal: Journal, machine: Machine, selector: selectors.BaseSelector
    ) -> None:
        self.folder = folder
        self.journal = journal
        self.machine = machine
        self.board = Board()
        self.counts: Counter[str] = Counter()
        """How many jobs have ended in each state."""
        self.over: list[int] = []
        """Jobs that are over since whoever drives the queue has emptied this list."""
        self.on_change: Callable[[], None] = lambda: None
        """Called when something has happened that may let a job start."""
        self.id = journal.settings().get("id") or uuid.uuid4().hex
        self._ended: deque[SeenJob] = deque(maxlen=LEARNED_FROM)
        self._to_spawn: list[SpawnRequest] = []
        """What is started after the next commit."""
        self._ready: list[SpawnRequest] = []
        """What is started at once: that these may start is on the disk already."""
        self._prepared: dict[int, int] = {}
        """By job: an attempt that is on the disk, of a job that will start soon."""
        self._preparing: dict[int, int] = {}
        """By job: such an attempt that the next commit brings to the disk."""
        self._starts: deque[float] = deque(maxlen=MOST_PREPARED)
        self._changed_at = 0.0
        self._to_remove: list[int] = []
        self._outputs_to_remove: list[Path] = []
        self._environments: dict[int, Environment] = {}
        self._cluster: tuple[tuple[int, int, int], Cluster] | None = None
        """The machine as decisions see it, by its cores, memory and GPUs."""
        self._resume_at = 0.0
        self._trim_at = 0.0
        self.supervision = Supervision(folder, self.id, selector, self._take_end)

    # ---- what the loop asks ----

    def is_full(self) -> bool:
        """Returns whether no job at all could start now."""
        return self.machine.free_cores == 0 or time.monotonic() < self._resume_at

    def view(self) -> View:
        """Returns what is known."""
        waiting = [entry.seen for entry in self.board.ready(SHOWN_AT_ONCE)]
        running = [entry.seen for entry in self.board.running.values()]
        return View(time.time(), self._shown_cluster(running), waiting, running, tuple(self._ended))

    def _shown_cluster(self, running: Sequence[SeenJob]) -> Cluster:
        """Returns the machine, at least as large as what runs on it: it may have been larger at the last start."""
        from shunter.model.cluster import Cluster, Node

        size = (
            max(self.machine.cores, sum(job.cores for job in running)),
            max(self.machine.memory_mb, sum(job.memory_mb for job in running)),
            max(self.machine.gpus, 1 + max((gpu for job in running for gpu in job.devices), default=-1)),
        )
        if self._cluster is None or self._cluster[0] != size:
            cores, memory_mb, gpus = size
            here = Node("here", float(cores), memory_mb, gpus)
            self._cluster = (size, Cluster.from_nodes((here,), "here"))
        return self._cluster[1]

    def may_start(self, job: int) -> bool:
        """The guard: returns whether a job waits, may start, and fits into what is really free."""
        entry = self.board.entries.get(job)
        if entry is None or entry.state != "queued" or self.board.why_not(entry) is not None:
            return False
        return self.machine.fits(entry.seen.cores, entry.seen.memory_mb, entry.seen.gpus)

    def start(self, job: int, decision: int, reason: str) -> None:
        """Starts a job when the journal is on the disk."""
        seen = self.board.entries[job].seen
        share = self.machine.take(seen.cores, seen.memory_mb, seen.gpus)
        seen.start_s, seen.devices = time.time(), share.gpus
        self.board.set_state(job, "running")
        private = self.journal.private(job)
        # Only what is on the disk may run before the next commit: otherwise it would run again after a crash.
        requests = self._ready if job in self._prepared else self._to_spawn
        attempt = self._prepared.pop(job, None) or self._preparing.pop(job, None)
        if attempt is None:
            attempt = self.journal.add_attempt(job, boot_id(), share.cpus, share.gpus, decision)
        else:
            self.journal.change_attempt(attempt, cpus=json.dumps(share.cpus), decision=decision, asked_s=seen.start_s)
        words = {"reason": reason, "decision": decision, "attempts": private["attempts"] + 1}
        self.journal.change_job(job, state="running", start_s=seen.start_s, end_s=None, code=None, **words)
        run = self.supervision.runs[attempt] = Run(attempt, job, share)
        requests.append(self._request(run, private))
        self._starts.append(time.monotonic())

    def write_down(self, plan: Plan, view: View) -> int:
        """Writes a decision into the journal; returns its number."""
        counts = (len(view.waiting), len(view.running))
        reasons = {job: plan.reasons.get(job, "") for job in plan.line[:MOST_KEPT]}
        return self.journal.add_decision(plan.policy, *counts, plan.seconds, plan.failure, plan.starts, reasons)

    def _request(self, run: Run, private: dict[str, Any]) -> SpawnRequest:
        """Returns what the supervisor of an attempt is told."""
        memory_mb = private["memory_mb"]
        if memory_mb and self.machine.cgroup is not None:
            run.cgroup = cgroups.make_cgroup(self.machine.cgroup, str(run.attempt), memory_mb)
        output = self.folder.output(run.job)
        output.parent.mkdir(mode=0o700, exist_ok=True)
        if private["attempts"]:
            # What an earlier attempt has printed is kept beside what this one prints.
            with suppress(FileNotFoundError):
                output.rename(output.with_name(f"{output.name}.{private['attempts']}"))
        variables = {
            MARK: f"{self.id}:{run.attempt}",
            "SHUNTER_JOB_ID": str(run.job),
            "SHUNTER_CORES": str(private["cores"]),
        }
        if private["array_index"] is not None:
            variables |= {
                "SHUNTER_ARRAY_ID": str(private["array_id"]),
                "SHUNTER_ARRAY_INDEX": str(private["array_index"]),
            }
        # A job without GPUs must not find any.
        if self.machine.gpus:
            variables["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, run.share.gpus))
        return SpawnRequest(
            attempt=run.attempt,
            claim=self.folder.claim(run.attempt),
            record=self.folder.record(run.attempt),
            output=output,
            folder=private["folder"],
            cpus=run.share.cpus if self.machine.is_pinned else (),
            nice=private["nice"],
            umask=private["umask"],
            limit_s=private["time_s"],
            grace_s=GRACE_S,
            memory_mb=memory_mb,
            limits_data=not private["gpus"],
            cgroup=run.cgroup,
            command=tuple(private["command"]),
            environment=self._environment(private["environment"]),
            variables=variables,
        )

    def _environment(self, number: int) -> Environment:
        if number not in self._environments:
            # A queue that has seen many shells need not remember all of them.
            if len(self._environments) >= MOST_ENVIRONMENTS:
                self._environments.clear()
            self._environments[number] = Environment.of(self.journal.environment_of(number))
        return self._environments[number]

    def wanted_ahead(self) -> int:
        """Returns for how many jobs it is worth to prepare the start: for those that start in the next moment.

        Bringing the journal to the disk takes as long as many a job does. Where jobs are that short, the starts of the
        next ones are written down together before there is room for them.
        """
        since = time.monotonic() - PREPARE_S
        recent = sum(start > since for start in self._starts)
        # Seldom starts are not worth it: after a power failure, it is not known of prepared ones whether they ran.
        return recent if recent >= LEAST_PREPARED else 0

    def prepare(self, jobs: Sequence[int]) -> None:
        """Writes down that jobs are about to start."""
        known = self._prepared | self._preparing
        if len(known) > len(jobs) // 2:
            return
        for job in jobs:
            entry = self.board.entries.get(job)
            # Which GPUs a job gets must be on the disk before it has them.
            if job not in known and entry is not None and entry.state == "queued" and not entry.seen.gpus:
                self._preparing[job] = self.journal.add_attempt(job, boot_id(), (), (), 0)

    def unprepare(self, job: int) -> None:
        """Takes back that a job is about to start."""
        attempt = self._prepared.pop(job, None) or self._preparing.pop(job, None)
        if attempt is not None:
            self.journal.change_attempt(attempt, state="revoked")

    def flush(self, now: bool = True) -> float | None:
        """Starts what is to start, having brought to the disk what must be there before.

        Args:
            now: Whether everything has to be on the disk when this returns; otherwise ends may wait for a moment.

        Returns:
            In how many seconds it has to be called again; None: nothing waits.

        Raises:
            JournalError: The disk is full; nothing of it has happened, and `load` is to be called.
        """
        ready, self._ready = self._ready, []
        if ready:
            self.supervision.start(ready)
        if not self.journal.is_changed:
            return None
        moment = time.monotonic()
        self._changed_at = self._changed_at or moment
        left_s = self._changed_at + COMMIT_S - moment
        if not now and not self._to_spawn and self._prepared and left_s > 0:
            return left_s
        self._changed_at = 0.0
        self.journal.commit()
        self._prepared |= self._preparing
        self._preparing.clear()
        for attempt in self._to_remove:
            self.folder.record(attempt).unlink(missing_ok=True)
        self._to_remove.clear()
        for output in self._outputs_to_remove:
            output.unlink(missing_ok=True)
        self._outputs_to_remove.clear()
        requests, self._to_spawn = self._to_spawn, []
        if requests:
            self.supervision.start(requests)
        return None

    # ---- attempts end ----

    def _take_end(self, run: Run, ending: Ending) -> None:
        """Takes up what has become of an attempt."""
        row = next(
            self.journal.read("SELECT is_cancelled, attempts, retries, on_lost FROM jobs WHERE id = ?", (run.job,))
        )
        if not ending.was_started:
            self._not_started(run, row)
        elif ending.record is None:
            self._lost(run, row)
        else:
            self._ended_with(run, ending.record, row)
        self._give_back(run)

    def _give_back(self, run: Run) -> None:
        self.machine.release(run.share)
        if run.cgroup is not None:
            cgroups.remove_cgroup(run.cgroup)
        self.on_change()

    def _not_started(self, run: Run, row: sqlite3.Row) -> None:
        self.journal.change_attempt(run.attempt, state="revoked")
        if row["is_cancelled"]:
            self.finish(run.job, "cancelled", end_s=time.time())
        else:
            self._queue_again(run.job, attempts=max(0, row["attempts"] - 1))
            # Nothing is wrong with one that a daemon before this one did not come to start.
            if run.leader is not None:
                self.journal.event("could not be started; it is tried again", run.job)
                self._resume_at = time.monotonic() + PAUSE_S

    def _lost(self, run: Run, row: sqlite3.Row) -> None:
        self.journal.change_attempt(run.attempt, state="lost", end_s=time.time())
        self.journal.event("lost: its supervisor or the machine was stopped while it ran", run.job)
        if row["is_cancelled"]:
            self.finish(run.job, "cancelled", end_s=time.time())
        elif row["on_lost"] == "requeue":
            self._queue_again(run.job)
        else:
            self.finish(
                run.job, "lost", end_s=time.time(), error="its supervisor or the machine was stopped while it ran"
            )

    def _ended_with(self, run: Run, record: EndRecord, row: sqlite3.Row) -> None:
        told = dict(vars(record))
        if run.cgroup is not None and record.signal == signal.SIGKILL and cgroups.was_out_of_memory(run.cgroup):
            told["cause"] = "memory"
        self._to_remove.append(run.attempt)
        self.journal.change_attempt(run.attempt, state="ended", **told)
        self._learn(run.job, record)
        # Asked to end, but not by the queue: the machine is shut down, or somebody else sent the signal.
        is_lost = record.cause == "asked"
        if row["is_cancelled"]:
            self.finish(run.job, "cancelled", **told)
        elif record.code == 0 and told["cause"] is None:
            self.finish(run.job, "done", **told)
        elif row["on_lost"] == "requeue" if is_lost else row["attempts"] <= row["retries"]:
            self._queue_again(run.job)
        else:
            self.finish(run.job, "lost" if is_lost else "failed", **told)

    def _learn(self, job: int, record: EndRecord) -> None:
        """Remembers how long a job ran, for estimates."""
        seen = self.board.entries[job].seen
        if record.error is None:
            ended = SeenJob(**{name: getattr(seen, name) for name in SeenJob.__slots__})
            ended.start_s, ended.end_s = max(record.start_s, seen.submit_s), max(record.end_s, seen.submit_s)
            self._ended.append(ended)

    def _queue_again(self, job: int, **values: Any) -> None:  # noqa: ANN401 - columns
        seen = self.board.entries[job].seen
        seen.start_s, seen.devices = None, ()
        self.journal.change_job(job, state="queued", start_s=None, **values)
        self.board.set_state(job, "queued")
        self.on_change()

    def finish(self, job: int, state: str, **told: Any) -> None:  # noqa: ANN401 - columns
        """Ends a job: it is over, and those that waited for it may start, or are skipped, and so on along a chain."""
        ending = [(job, state, told)]
        while ending:
            job, state, told = ending.pop()
            # It may have waited for several that did not succeed.
            if job not in self.board.entries:
                continue
            self.journal.change_job(job, state=state, **told)
            self.unprepare(job)
            self.counts[state] += 1
            self.over.append(job)
            why = {"end_s": time.time(), "error": f"job {job}, which it waits for, did not succeed"}
            for entry in self.board.remove(job):
                if state == "done" or self._waits_for_any_end(entry.seen.id):
                    self.board.satisfy(entry, job)
                else:
                    ending.append((entry.seen.id, "skipped", why))
        self.on_change()

    def _waits_for_any_end(self, job: int) -> bool:
        """Returns whether a job waits for the end of others, however they end."""
        [row] = self.journal.read("SELECT after_mode FROM jobs WHERE id = ?", (job,))
        return bool(row["after_mode"] == "any")

    def forget(self, rows: Sequence[sqlite3.Row]) -> None:
        """Forgets jobs that are over, of which rows have id, state and attempts, with what they have printed."""
        gone = {row["id"] for row in rows}
        self.journal.delete_jobs(gone)
        self._ended = deque((one for one in self._ended if one.id not in gone), maxlen=LEARNED_FROM)
        for row in rows:
            self.counts[row["state"]] -= 1
            output = self.folder.output(row["id"])
            earlier = (output.with_name(f"{output.name}.{number}") for number in range(1, row["attempts"]))
            self._outputs_to_remove += [output, *earlier]

    def trim_outputs(self) -> None:
        """Keeps what running jobs print from filling the disk; looks now and then only."""
        moment = time.monotonic()
        if moment >= self._trim_at:
            self._trim_at = moment + TRIM_S
            for job in self.board.running:
                if trim(self.folder.output(job)):
                    self.journal.event("the beginning of its output was dropped: it is too long", job)

    def close(self) -> None:
        """Lets go of everything; jobs that run go on."""
        with suppress(InputError):
            self.journal.close()
        self.supervision.close()

    # ---- from the journal ----

    def load(self) -> None:
        """Takes up what the journal holds: after a start, after a crash, or after changes that could not be written."""
        self.supervision.forget()
        self.machine.release_all()
        lists = (self._to_spawn, self._ready, self._to_remove, self._outputs_to_remove)
        for waiting in (*lists, self._prepared, self._preparing):
            waiting.clear()
        self._changed_at = 0.0
        self._ended.clear()
        groups = {row["name"]: row for row in self.journal.read("SELECT * FROM groups")}
        self.board = Board()
        self.board.is_paused = bool(self.journal.settings().get("is_paused"))
        for name, row in groups.items():
            self.board.groups[name].paused = bool(row["paused"])
            self.board.groups[name].most_running = row["most_running"]
        self._load_jobs()
        self._load_attempts()
        forget_revoked(self.folder.attempts)

    def _load_jobs(self) -> None:
        over = self.journal.read("SELECT state, count(*) AS n FROM jobs GROUP BY state")
        self.counts = Counter({row["state"]: row["n"] for row in over if row["state"] in OVER})
        query = "SELECT * FROM jobs WHERE state = 'done' ORDER BY id DESC LIMIT ?"
        for row in self.journal.read(query, (LEARNED_FROM,)):
            seen = seen_job(dict(row))
            seen.start_s, seen.end_s = max(row["start_s"], seen.submit_s), max(row["end_s"], seen.submit_s)
            self._ended.appendleft(seen)
        needs: dict[int, set[int]] = {}
        active = "state IN ('queued', 'held', 'running')"
        query = f"SELECT job, needs FROM dependencies JOIN jobs ON jobs.id = needs WHERE {active}"
        for row in self.journal.read(query):
            needs.setdefault(row["job"], set()).add(row["needs"])
        for state in ("queued", "held", "running"):
            for row in self.journal.read("SELECT * FROM jobs WHERE state = ? ORDER BY id", (state,)):
                self.board.add(entry_of(dict(row), needs.get(row["id"], set())))

    def _load_attempts(self) -> None:
        query = (
            "SELECT attempts.*, is_cancelled, jobs.attempts AS tries FROM attempts JOIN jobs ON jobs.id = job "
            "WHERE attempts.state = 'started'"
        )
        for row in list(self.journal.read(query)):
            entry = self.board.entries[row["job"]]
            if entry.state != "running":
                # Its start was prepared; if it has not begun, it goes back to where it was.
                entry.seen.start_s = row["asked_s"]
                self.journal.change_job(
                    entry.seen.id, state="running", start_s=row["asked_s"], attempts=row["tries"] + 1
                )
                self.board.set_state(entry.seen.id, "running")
            run = Run(row["id"], row["job"], Share((), (), 0), is_cancelled=bool(row["is_cancelled"]))
            if row["boot_id"] != boot_id() and read_end(self.folder.record(run.attempt)) is None:
                # Whether its supervisor had begun is not known for sure: the claim may not have reached the disk.
                self._take_end(run, Ending(was_started=True, record=None))
                continue
            self.supervision.runs[run.attempt] = run
            self.supervision.find_again(run)
            if run.attempt in self.supervision.runs:
                cpus = tuple(json.loads(row["cpus"])) or self._cpus_of(run, entry.seen.cores)
                run.share = Share(cpus, tuple(json.loads(row["gpus"])), entry.seen.memory_mb)
                entry.seen.devices = run.share.gpus
                self.machine.hold(run.share)

    def _cpus_of(self, run: Run, cores: int) -> tuple[int, ...]:
        """Returns the cores of an attempt that was prepared before it was known which: its supervisor has them."""
        if self.machine.is_pinned and run.leader is not None:
            with suppress(OSError):
                return tuple(sorted(os.sched_getaffinity(run.leader)))
        return self.machine.any_cpus(cores)


def seen_job(row: dict[str, Any]) -> SeenJob:
    """Returns a row of the jobs as a scheduler knows it."""
    # One user owns the queue, so that not the user but the name, or the program, tells alike jobs from others.
    kind = row["name"] or program_of(row["command"])
    return SeenJob(
        id=row["id"],
        submit_s=row["submit_s"],
        cores=row["cores"],
        memory_mb=row["memory_mb"],
        gpus=row["gpus"],
        requested_s=row["time_s"],
        kind=kind,
        priority=row["priority"],
    )


def program_of(command: str | Sequence[str]) -> str:
    """Returns the name of the program that a command runs; of a text for the shell, of its first word."""
    words = json.loads(command) if isinstance(command, str) else command
    first = words[2].split(None, 1)[0] if tuple(words[:2]) == SHELL and words[2:] and words[2].strip() else words[0]
    return os.path.basename(first) or first


def entry_of(row: dict[str, Any], needs: set[int]) -> Entry:
    """Returns a row of the jobs as the board has it."""
    seen = seen_job(row)
    if row["state"] == "running":
        seen.start_s = row["start_s"]
    return Entry(seen, row["group"], row["array_id"], row["array_limit"], row["state"], needs)
