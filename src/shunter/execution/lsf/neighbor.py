"""LSF as a neighbor: one bulk reading a period, and ``bmod``, ``btop``, ``bbot`` or ``brun`` for what is changed."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from shunter.execution.lsf.machine import Machine, machine_of, with_states
from shunter.execution.lsf.programs import NOTHING, Programs
from shunter.execution.lsf.reading import Texts, admins_of, in_lines, jobs_of, site_beside
from shunter.execution.lsf.records import HOST_FIELDS, QUEUE_FIELDS, host_records, job_arguments
from shunter.execution.operating.neighbor import Knob, Value
from shunter.execution.operating.programs import SpeaksByPrograms
from shunter.execution.operating.site import Site, SiteError, SiteJob, State

MACHINE_S: Final = 600.0
"""So long what lshosts, bmgroup and ``bqueues -l`` tell is taken to hold: memory, GPUs, and the order in queues."""
_ADDRESS: Final = re.compile(r"[1-9]\d*(\[[1-9]\d*\])?")
_HOST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Lsf(SpeaksByPrograms):
    """Speaks to one LSF by its programs."""

    name = "lsf"

    def __init__(self, programs: Programs, *, has_json: bool | None = None, brun_queues: Sequence[str] = ()) -> None:
        """Names the programs.

        Args:
            programs: LSF's.
            has_json: Whether they answer as JSON; None: the first answer shows it.
            brun_queues: The queues whose jobs are started by force where they are named hosts.
        """
        super().__init__(programs)
        self._has_json = has_json
        self._has_unformatted = True
        self._brun_queues = frozenset(brun_queues)
        self._machine = Machine()
        self._machine_at: float | None = None
        self._hosts: frozenset[str] = frozenset()

    def read(self, *, with_knobs: bool) -> Site:
        """Returns one reading: bjobs, bhosts and bqueues, and absolute priorities where queues have them.

        Raises:
            SiteError: LSF does not answer, or its answer makes no sense.
        """
        began, now_s = time.monotonic(), time.time()
        jobs, hosts, queues = self._bulk()
        names = frozenset(record["HOST_NAME"] for record in host_records(hosts))
        if self._machine_at is None or names != self._hosts or began - self._machine_at > MACHINE_S:
            self._machine, self._machine_at, self._hosts = self._read_machine(hosts), began, names
        machine = with_states(self._machine, hosts, queues)
        has_aps = any(queue.has_aps for queue in machine.queues.values())
        texts = Texts(
            jobs,
            hosts,
            aps=self._bjobs("-u", "all", "-aps") if has_aps else b"",
            long_jobs=self._long("-u", "all", "-p") if has_aps and with_knobs else None,
        )
        site = site_beside(machine, texts, now_s)
        self._machine = machine
        return Site(now_s, site.jobs, site.nodes, time.monotonic() - began, tiers=site.tiers)

    def knob(self, job: SiteJob) -> Knob | None:
        """Returns what is turned to nudge a job: its absolute priority, or its position where the queue has none."""
        queue = self._machine.queues.get(job.partitions[0]) if job.partitions else None
        # An administrator's btop takes a job out of fair share: that is no nudge.
        if queue is None or (queue.is_shared_fairly and not queue.has_aps):
            return None
        return Knob.APS if queue.has_aps else Knob.POSITION

    def refuse(self, knob: Knob) -> None:
        """Says that a knob may not be turned here; LSF has no other for the same queue."""

    def value(self, job: SiteJob, knob: Knob) -> Value | None:
        """Returns the present value of a job's knob; None: nobody knows."""
        if knob == Knob.POSITION:
            return None if job.is_moved is None else int(job.is_moved)
        if knob == Knob.NODES:
            # Versions without JSON do not tell which hosts a user asked for.
            return job.required_nodes if self._has_json else None
        return job.aps if knob == Knob.APS else None

    def look(self, knob: Knob, jobs: Sequence[SiteJob]) -> dict[int, SiteJob]:
        """Returns jobs that still wait, by id, with the present value of a knob.

        Raises:
            SiteError: LSF does not answer, or its answer makes no sense.
        """
        if knob == Knob.APS:
            told = admins_of(self._long("-u", "all", *(_address(job) for job in jobs)))
            return {job.id: replace(job, aps=told[job.id]) for job in jobs if job.id in told}
        found: list[SiteJob] = []
        if knob == Knob.POSITION:
            for queue in sorted({job.partitions[0] for job in jobs if job.partitions}):
                found += self._jobs("-u", "all", "-q", queue)
        else:
            found = self._jobs("-u", "all", *(_address(job) for job in jobs))
        return {job.id: job for job in in_lines(found, self._machine, {}) if job.state == State.PENDING}

    def commands(self, job: SiteJob, knob: Knob, value: Value, mark: str | None) -> list[list[str]]:
        """Returns the command that turns a knob; LSF has no place for a mark."""
        address, words = _address(job), self._programs.words
        if knob == Knob.APS and isinstance(value, int):
            # LSF takes no 0: what was never set is taken away.
            return [words("bmod", "-aps", f"admin={value}", address) if value else words("bmod", "-apsn", address)]
        if knob == Knob.POSITION and isinstance(value, int):
            return [words("btop" if value > 0 else "bbot", address, str(abs(value)))]
        if knob == Knob.NODES and value == "":
            return [words("bmod", "-mn", address)]
        if knob == Knob.NODES and isinstance(value, str) and _HOST.fullmatch(value) and value in self._hosts:
            if not self._brun_queues.isdisjoint(job.partitions):
                place = f"{value}#{job.cores}" if job.cores > 1 else value
                return [words("brun", "-m", place, address)]
            return [words("bmod", "-m", value, address)]
        raise SiteError(f"job {job.address}: {value!r} is no value of {knob.value}")

    def _bulk(self) -> tuple[bytes, bytes, bytes]:
        """Returns jobs, hosts and queues; what the first answer shows to work is what is asked from then on."""
        if self._has_json is not False:
            try:
                answers = (
                    self._bjobs("-a", "-u", "all", *job_arguments(has_json=True)),
                    self._print("bhosts", "-o", HOST_FIELDS, "-json"),
                    self._print("bqueues", "-o", QUEUE_FIELDS, "-json"),
                )
            except SiteError as error:
                # One that is down or slow says nothing of what it knows.
                if self._has_json or not re.search(r"[Ii]llegal|[Uu]nknown|[Ii]nvalid|[Uu]sage", str(error)):
                    raise
            else:
                self._has_json = True
                return answers
        answers = (
            self._bjobs("-a", "-u", "all", *job_arguments(has_json=False)),
            self._print("bhosts", "-w"),
            self._print("bqueues", "-w"),
        )
        self._has_json = False
        return answers

    def _read_machine(self, hosts: bytes) -> Machine:
        """Returns what seldom changes."""
        return machine_of(
            hosts,
            lists=self._print("lshosts", "-w"),
            gpus=self._optional("lshosts", "-gpu"),
            queues=self._print("bqueues", "-l"),
            groups=self._optional("bmgroup", "-w", "-r"),
        )

    def _optional(self, program: str, *arguments: str) -> bytes:
        """Returns what a program prints that not every version has, or that fails where there is nothing to tell."""
        try:
            return self._print(program, *arguments)
        except SiteError:
            return b""

    def _jobs(self, *arguments: str) -> list[SiteJob]:
        answer = self._bjobs(*job_arguments(has_json=bool(self._has_json)), *arguments)
        return jobs_of(answer, self._machine, time.time())

    def _long(self, *arguments: str) -> bytes:
        """Returns jobs at length, unformatted where this version can: wrapped lines are longer to read."""
        if self._has_unformatted:
            try:
                return self._bjobs("-UF", *arguments)
            except SiteError as error:
                if not re.search(r"[Ii]llegal|[Uu]nknown|[Ii]nvalid|[Uu]sage", str(error)):
                    raise
                self._has_unformatted = False
        return self._bjobs("-l", *arguments)

    def _bjobs(self, *arguments: str) -> bytes:
        return self._programs.run(self._programs.words("bjobs", *arguments), NOTHING)


def _address(job: SiteJob) -> str:
    """Returns how commands name exactly one job, never an array.

    Raises:
        SiteError: It cannot be named so.
    """
    if not _ADDRESS.fullmatch(job.address) or (job.array is not None and "[" not in job.address):
        raise SiteError(f"job {job.id} cannot be named without others of its array")
    return job.address
