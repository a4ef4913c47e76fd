"""What clients may ask of a queue: one function a verb. It checks its words, changes the queue, and returns an answer.

Nothing is answered before it is on the disk: the daemon sends answers after `LocalQueue.flush`.
"""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from shunter.checks import check_name, number, whole
from shunter.errors import InputError
from shunter.execution.deciding import Decider
from shunter.execution.local.board import Entry
from shunter.execution.local.folder import QueueFolder
from shunter.execution.local.journal import Journal
from shunter.execution.local.machine import Machine
from shunter.execution.local.queue import LocalQueue, entry_of
from shunter.execution.local.spec import ACTIVE, MOST_CORES, OVER, STATES, JobSpec, SpecReader, check_texts
from shunter.execution.loop import Loop

MOST_JOBS: Final = 1_000_000
MOST_LISTED: Final = 1_000_000
POLICY_WORDS: Final = ("policy", "dispatch", "estimate", "max_wait_s", "scan_depth", "reserve_by", "seed")
Answer = dict[str, Any]


class Verbs:
    """The verbs of one queue."""

    def __init__(self, queue: LocalQueue, loop: Loop) -> None:
        self.queue = queue
        self.loop = loop
        self.started_s = time.time()
        self.known: dict[str, Callable[..., Answer]] = {
            "submit": self.submit, "list": self.list_jobs, "show": self.show, "status": self.status,
            "cancel": self.cancel, "hold": self.hold, "release": self.release, "pause": self.pause,
            "resume": self.resume, "limit": self.limit, "edit": self.edit, "clean": self.clean, "policy": self.policy,
        }  # fmt: skip

    def answer(self, request: object) -> Answer:
        """Returns the answer to a request.

        Raises:
            InputError: The request is none, or is refused.
        """
        if not isinstance(request, dict) or not isinstance(request.get("verb"), str):
            raise InputError("the request is no object with a verb; use a client of the same version")
        words = {name: value for name, value in request.items() if name != "verb"}
        function = self.known[check_name("verb", request["verb"], self.known)]
        try:
            return function(**words)
        except TypeError as error:
            raise InputError(f"{request['verb']}: {error}; use a client of the same version") from None

    # ---- jobs come ----

    def submit(self, jobs: object, environment: object, umask: object, token: object) -> Answer:
        """Adds jobs; the same token a second time adds nothing, and answers as the first time."""
        if not isinstance(token, str) or not isinstance(jobs, list) or not 1 <= len(jobs) <= MOST_JOBS:
            raise InputError(f"jobs: expected a list of 1 to {MOST_JOBS:,} jobs, and a token")
        check_texts((token,))
        seen = self.queue.journal.submission(token)
        if seen is None:
            reader = SpecReader()
            specs = [reader.read(table, f"job {place}") for place, table in enumerate(jobs, 1)]
            seen = self._add(specs, _environment(environment), whole("umask", umask, 0, 0o777), token)
        return {"jobs": list(seen)}

    def _add(self, specs: Sequence[JobSpec], environment: Mapping[str, str], umask: int, token: str) -> range:
        journal, board = self.queue.journal, self.queue.board
        states = self._needed_states(specs)
        # All are checked before the first is added: a list of jobs is taken whole, or not at all.
        for place, spec in enumerate(specs, 1):
            refusal = self.queue.machine.refusal(spec.cores, spec.memory_mb, spec.gpus)
            if refusal is not None:
                which = "the job" if len(specs) == 1 else f"job {place} of {len(specs)}"
                raise InputError(f"{which} ({spec.name or spec.command[0]}) can never run: {refusal}")
        shared = {"environment": journal.environment(environment), "umask": umask, "submit_s": time.time()}
        ids: list[int] = []
        skipped = []
        for spec in specs:
            numbers, most = spec.indices()
            first = None
            for index in [None] if numbers is None else numbers:
                array = {"array_index": index, "array_id": first, "array_limit": most}
                job = journal.add_job(spec, **shared, **array)
                if index is not None and first is None:
                    first = job
                    journal.change_job(job, array_id=job)
                ids.append(job)
                board.add(_entry(spec, job, shared["submit_s"], first, most, states))
                if spec.after_mode == "ok" and any(states[one] in OVER and states[one] != "done" for one in spec.after):
                    skipped.append(job)
        for job in skipped:
            self.queue.finish(job, "skipped", end_s=time.time(), error="a job that it waits for did not succeed")
        added = range(ids[0], ids[-1] + 1)
        journal.add_submission(token, added)
        self.loop.renew()
        return added

    def _needed_states(self, specs: Sequence[JobSpec]) -> dict[int, str]:
        """Returns the state of each job that others wait for."""
        states = {}
        for needs in {one for spec in specs for one in spec.after}:
            for row in self.queue.journal.read("SELECT state FROM jobs WHERE id = ?", (needs,)):
                states[needs] = row["state"]
            if needs not in states:
                raise InputError(f"after {needs}: there is no such job; see 'shunter queue list --all'")
        return states

    # ---- looking ----

    def list_jobs(self, states: object = None, group: object = None, most: object = 100) -> Answer:
        """Returns jobs: by default those that are not over."""
        wanted = list(ACTIVE) if states is None else states
        if not isinstance(wanted, list) or not all(isinstance(one, str) for one in wanted):
            raise InputError(f"states are {states!r}; expected a list of {', '.join(STATES)}")
        for one in wanted:
            check_name("state", one, STATES)
        jobs = self.queue.journal.jobs(wanted, _text("group", group), whole("most", most, 1, MOST_LISTED))
        for job in jobs:
            entry = self.queue.board.entries.get(job["id"])
            job["waits_because"] = None if entry is None else self._why(entry)
        return {"jobs": jobs, "counts": self._counts()}

    def show(self, job: object) -> Answer:
        """Returns all that may be known of a job: its environment may not."""
        number = whole("job", job, 1, 2**62)
        found = self.queue.journal.job(number)
        if found is None:
            raise InputError(f"job {number}: there is no such job; see 'shunter queue list --all'")
        entry = self.queue.board.entries.get(number)
        decision = None if found["decision"] is None else self.queue.journal.decision(found["decision"])
        columns = "id, state, asked_s, start_s, end_s, code, signal, cause, error, cpus, gpus"
        query = f"SELECT {columns} FROM attempts WHERE job = ?"
        return {
            **found,
            "waits_because": None if entry is None else self._why(entry),
            "chosen_by": decision,
            "tried": [dict(row) for row in self.queue.journal.read(query, (number,))],
            "events": [dict(row) for row in self.queue.journal.read("SELECT * FROM events WHERE job = ?", (number,))],
            "output": str(self.queue.folder.output(number)),
        }

    def _why(self, entry: Entry) -> str | None:
        if entry.state == "running":
            return None
        refused = self.queue.board.why_not(entry)
        usual = "there is no room" if self.queue.is_full() else "its turn has not come"
        return refused or self.loop.reasons.get(entry.seen.id, usual)

    def _counts(self) -> dict[str, int]:
        board = self.queue.board
        running = len(board.running)
        held = sum(entry.state == "held" for entry in board.entries.values())
        here = {"queued": len(board.entries) - running - held, "held": held, "running": running}
        return {state: here.get(state, self.queue.counts[state]) for state in STATES}

    def status(self) -> Answer:
        """Returns how the queue is doing."""
        machine, decider = self.queue.machine, self.loop.decider
        return {
            "process": os.getpid(),
            "folder": str(self.queue.folder.path),
            "since_s": self.started_s,
            "counts": self._counts(),
            "is_paused": self.queue.board.is_paused,
            "groups": {
                name: {"paused": group.paused, "most_running": group.most_running}
                for name, group in self.queue.board.groups.items()
            },
            "cores": machine.cores,
            "free_cores": machine.free_cores,
            "are_cores_pinned": machine.is_pinned,
            "memory_mb": machine.memory_mb,
            "free_memory_mb": machine.free_memory_mb,
            "memory_kept_by": machine.memory_kept_by,
            "gpus": machine.gpus,
            "free_gpus": machine.free_gpus,
            **decider.described(),
            "policy_failures": decider.failures,
            "last_failure": decider.last_failure or None,
            "refused_starts": self.loop.refused,
        }

    # ---- changing ----

    def _each(self, jobs: object, states: Sequence[str], what: str) -> list[int]:
        """Returns ids of jobs, having checked that each is in one of some states."""
        if not isinstance(jobs, list) or not jobs:
            raise InputError(f"{what}: expected a list of ids of jobs")
        for one in jobs:
            number = whole("job", one, 1, 2**62)
            entry = self.queue.board.entries.get(number)
            if entry is None:
                found = self.queue.journal.job(number)
                state = "unknown; see 'shunter queue list --all'" if found is None else f"{found['state']} already"
                raise InputError(f"job {number} cannot be {what}: it is {state}")
            if entry.state not in states:
                raise InputError(f"job {number} cannot be {what}: it is {entry.state}")
        return jobs

    def cancel(self, jobs: object) -> Answer:
        """Cancels jobs: those that wait will not start, those that run are asked to end, and killed if they do not."""
        chosen = self._each(jobs, ACTIVE, "cancelled")
        for job in chosen:
            # Skipping may have ended it meanwhile: it waited for one of the others.
            if job not in self.queue.board.entries:
                continue
            if self.queue.board.entries[job].state == "running":
                self.queue.journal.change_job(job, is_cancelled=1)
                for run in [one for one in self.queue.supervision.runs.values() if one.job == job]:
                    self.queue.supervision.ask_to_end(run)
            else:
                self.queue.finish(job, "cancelled", end_s=time.time())
        return {"jobs": chosen}

    def hold(self, jobs: object) -> Answer:
        """Keeps waiting jobs from starting."""
        return self._set_states(self._each(jobs, ("queued", "held"), "held"), "held")

    def release(self, jobs: object) -> Answer:
        """Lets held jobs start."""
        return self._set_states(self._each(jobs, ("queued", "held"), "released"), "queued")

    def _set_states(self, jobs: list[int], state: str) -> Answer:
        for job in jobs:
            self.queue.unprepare(job)
            self.queue.journal.change_job(job, state=state)
            self.queue.board.set_state(job, state)
        self.loop.renew()
        return {"jobs": jobs}

    def pause(self, group: object = None) -> Answer:
        """Starts no more jobs of a group, or none at all; those that run go on."""
        return self._set_paused(_text("group", group), True)

    def resume(self, group: object = None) -> Answer:
        """Starts jobs again."""
        return self._set_paused(_text("group", group), False)

    def _set_paused(self, group: str | None, paused: bool) -> Answer:
        if group is None:
            self.queue.board.is_paused = paused
            self.queue.journal.set(is_paused=paused)
        else:
            self.queue.board.groups[group].paused = paused
            self._keep_group(group)
        self.loop.renew()
        return {"group": group, "paused": paused}

    def limit(self, group: object, most_running: object) -> Answer:
        """Limits how many jobs of a group run at once; None: as many as there is room for."""
        name = _text("group", group) or "default"
        most = None if most_running is None else whole("most_running", most_running, 1, MOST_CORES)
        self.queue.board.groups[name].most_running = most
        self._keep_group(name)
        self.loop.renew()
        return {"group": name, "most_running": most}

    def _keep_group(self, name: str) -> None:
        group = self.queue.board.groups[name]
        self.queue.journal.set_group(name, group.paused, group.most_running)

    def edit(self, jobs: object, priority: object = None, time_s: object = None) -> Answer:
        """Changes the priority or the time limit of jobs that wait."""
        chosen = self._each(jobs, ("queued", "held"), "edited")
        if priority is None and time_s is None:
            raise InputError("edit: give a priority, a time, or both")
        for job in chosen:
            if priority is not None:
                most = 1_000_000
                self.queue.journal.change_job(job, priority=whole("priority", priority, -most, most))
                self.queue.board.set_priority(job, int(str(priority)))
            if time_s is not None:
                limit_s = number("time", time_s, 0, 1e9, above=True, unit="seconds")
                self.queue.journal.change_job(job, time_s=limit_s)
                self.queue.board.entries[job].seen.requested_s = limit_s
        self.loop.renew()
        return {"jobs": chosen}

    def clean(self, states: object = None, older_s: object = 0) -> Answer:
        """Forgets jobs that are over, with what they have printed."""
        wanted = list(OVER) if states is None else states
        if not isinstance(wanted, list) or not set(wanted) <= set(OVER):
            raise InputError(f"states are {states!r}; expected some of {', '.join(OVER)}")
        before_s = time.time() - number("older", older_s, 0, unit="seconds")
        marks = ", ".join("?" * len(wanted))
        query = f"SELECT id, state, attempts FROM jobs WHERE state IN ({marks}) AND end_s <= ? ORDER BY id"
        found = list(self.queue.journal.read(query, [*wanted, before_s]))
        self.queue.forget(found)
        return {"jobs": [row["id"] for row in found]}

    def policy(self, words: object = None) -> Answer:
        """Says who decides; with words, lets somebody else decide from now on, without a restart."""
        if words is not None:
            if not isinstance(words, dict):
                raise InputError(f"policy: expected settings by name, got {words!r}")
            for name in words:
                check_name("setting", name, POLICY_WORDS)
            decider = Decider(words)
            # Words that are wrong are told now, and change nothing.
            _ = decider.scheduler
            self.loop.change(decider)
            self.queue.journal.set(policy=words)
            self.queue.journal.event(f"policy: {words}")
        status = self.status()
        return {name: status[name] for name in ("policy", "dispatch", "estimate", "max_wait_s", "policy_failures")}


def open_queue(folder: QueueFolder, changes: Mapping[str, Any], selector: selectors.BaseSelector) -> Verbs:
    """Opens a queue and takes up where it was left; returns what may be asked of it.

    Args:
        folder: Which this process must have taken.
        changes: Settings of the queue that are new: ``cores``, ``memory_mb``, ``gpus``, ``policy``.
        selector: Calls what the queue registers with it.

    Raises:
        InputError: The journal cannot be used.
    """
    journal = Journal(folder.database)
    settings = {**journal.settings(), **changes}
    machine = Machine(settings.get("cores"), settings.get("memory_mb"), settings.get("gpus"))
    queue = LocalQueue(folder, journal, machine, selector)
    loop = Loop(queue, Decider(settings.get("policy") or {}))
    queue.on_change = loop.wake
    journal.set(**changes, id=queue.id)
    journal.event(f"started, process {os.getpid()}")
    queue.load()
    queue.flush()
    return Verbs(queue, loop)


def _entry(
    spec: JobSpec, job: int, submit_s: float, array: int | None, most: int | None, states: dict[int, str]
) -> Entry:
    """Returns a new job as the board has it."""
    row = {name: getattr(spec, name) for name in ("name", "cores", "memory_mb", "gpus", "time_s", "priority", "group")}
    row |= {"id": job, "submit_s": submit_s, "command": spec.command, "state": "held" if spec.hold else "queued"}
    return entry_of(
        row | {"array_id": array, "array_limit": most}, {one for one in spec.after if states[one] in ACTIVE}
    )


def _environment(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(one, str) for pair in value.items() for one in pair):
        raise InputError("environment: expected texts by name")
    for name, text in value.items():
        if not name or "=" in name or "\0" in name or "\0" in text:
            raise InputError(
                f"environment: {name[:40]!r} cannot be the name of a variable, or its value holds a zero byte"
            )
    return value


def _text(name: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name} is {value!r}; expected a name")
    check_texts((value or "",))
    return value
