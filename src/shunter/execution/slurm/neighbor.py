"""Slurm as a neighbor: one bulk reading a period, and ``scontrol update`` for what is changed."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from shunter.execution.operating.neighbor import NEUTRAL, Knob, Value
from shunter.execution.operating.programs import SpeaksByPrograms
from shunter.execution.operating.site import Site, SiteError, SiteJob, SiteNode, State
from shunter.execution.slurm.json_reading import jobs_of_json, nodes_of_json
from shunter.execution.slurm.programs import Programs
from shunter.execution.slurm.text_reading import job_arguments, jobs_of_text, node_arguments, nodes_of_text

_ADDRESS: Final = re.compile(r"[1-9]\d*(_(\d+|\[[\d,:-]+\]))?")
_NODES: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(,[A-Za-z0-9][A-Za-z0-9._-]*)*")
_MARK: Final = re.compile(r"[a-z]*")
_FIELDS: Final = {Knob.SITE_FACTOR: "SiteFactor", Knob.NICE: "Nice", Knob.NODES: "ReqNodeList"}


class Slurm(SpeaksByPrograms):
    """Speaks to one Slurm by its programs."""

    name = "slurm"

    def __init__(self, programs: Programs, *, has_json: bool | None = None) -> None:
        """Names the programs.

        Args:
            programs: Slurm's.
            has_json: Whether they answer as JSON; None: the first answer shows it.
        """
        super().__init__(programs)
        self._has_json = has_json
        self._is_memory_shared: bool | None = None
        self._refused: set[Knob] = set()

    def read(self, *, with_knobs: bool) -> Site:
        """Returns one reading: squeue and sinfo, and sprio where site factors are asked for.

        Raises:
            SiteError: Slurm does not answer, or its answer makes no sense.
        """
        began, now_s = time.monotonic(), time.time()
        if self._is_memory_shared is None:
            self._is_memory_shared = self._read_configuration()
        jobs, nodes = self._jobs_and_nodes(now_s)
        if not nodes:
            raise SiteError("sinfo tells of no nodes")
        if with_knobs and Knob.SITE_FACTOR not in self._refused:
            factors = self._site_factors()
            jobs = [replace(job, site_factor=factors.get(job.id)) for job in jobs]
        return Site(now_s, tuple(jobs), tuple(nodes), time.monotonic() - began, self._is_memory_shared)

    def knob(self, job: SiteJob) -> Knob:
        """Returns what is turned to nudge: the site factor, or nice where that is refused."""
        return Knob.NICE if Knob.SITE_FACTOR in self._refused else Knob.SITE_FACTOR

    def refuse(self, knob: Knob) -> None:
        """Says that a knob may not be turned here."""
        self._refused.add(knob)

    def value(self, job: SiteJob, knob: Knob) -> Value | None:
        """Returns the present value of a job's knob; None: nobody knows."""
        if knob == Knob.HOLD:
            return int(job.state == State.PENDING and job.priority == 0)
        return {Knob.SITE_FACTOR: job.site_factor, Knob.NICE: job.nice, Knob.NODES: job.required_nodes}[knob]

    def look(self, knob: Knob, jobs: Sequence[SiteJob]) -> dict[int, SiteJob]:
        """Returns jobs that still wait, by id, with the present value of a knob.

        Raises:
            SiteError: Slurm does not answer, or its answer makes no sense.
        """
        if knob == Knob.SITE_FACTOR:
            factors = self._site_factors()
            return {job.id: replace(job, site_factor=factors[job.id]) for job in jobs if job.id in factors}
        printed = self._print("squeue", "--noheader", "--all", "--array", "--states=PENDING", "--format", "%A %Q %y %n")
        asked, found = {job.id: job for job in jobs}, {}
        for line in printed.decode(errors="replace").splitlines():
            match = re.fullmatch(r"(\d+) (\d+) (-?\d+) ?(\S*)\s*", line)
            if match is None:
                raise SiteError(f"squeue printed {line[:60]!r}; expected a job, its priority, its nice and its nodes")
            if job := asked.get(int(match[1])):
                present = replace(job, state=State.PENDING, priority=int(match[2]), nice=int(match[3]))
                found[job.id] = replace(present, required_nodes=match[4])
        return found

    def commands(self, job: SiteJob, knob: Knob, value: Value, mark: str | None) -> list[list[str]]:
        """Returns the commands that turn a knob; a job that is named nodes is held meanwhile."""
        if not _ADDRESS.fullmatch(job.address):
            raise SiteError(f"job {job.id} cannot be named without others of its array")
        # Without JSON nobody knows whether an administrator has left a comment.
        mark = mark if self._has_json else None
        if knob == Knob.HOLD:
            return [self._programs.words("scontrol", "hold" if value else "release", job.address)]
        is_sound = bool(_NODES.fullmatch(value)) or not value if isinstance(value, str) else True
        if not is_sound or (mark is not None and not _MARK.fullmatch(mark)):
            raise SiteError(f"job {job.id}: {value!r} is no value of {knob.value}")
        turned = ["update", f"JobId={job.address}", f"{_FIELDS[knob]}={value}"]
        update = self._programs.words("scontrol", *turned, *([] if mark is None else [f"AdminComment={mark}"]))
        if knob == Knob.NODES and value != NEUTRAL[Knob.NODES]:
            hold, release = (self._programs.words("scontrol", word, job.address) for word in ("hold", "release"))
            return [hold, update, release]
        return [update]

    def _jobs_and_nodes(self, now_s: float) -> tuple[list[SiteJob], list[SiteNode]]:
        """Returns jobs and nodes; what the first answer shows to work is what is asked from then on."""
        if self._has_json is not False:
            try:
                answers = (self._print("squeue", "--json"), self._print("sinfo", "--json"))
                found = jobs_of_json(answers[0], now_s), nodes_of_json(answers[1])
            except SiteError:
                if self._has_json:
                    raise
            else:
                self._has_json = True
                return found
        told = jobs_of_text(self._print("squeue", *job_arguments()), now_s)
        nodes = nodes_of_text(self._print("sinfo", *node_arguments()))
        self._has_json = False
        return told, nodes

    def _site_factors(self) -> dict[int, int]:
        """Returns the site factors of jobs that wait; a job in two partitions is told twice, with one factor."""
        factors: dict[int, int] = {}
        for line in self._print("sprio", "--noheader", "--format", "%i %S").decode(errors="replace").splitlines():
            match = re.fullmatch(r"\s*(\d+)\s+(-?\d+)\s*", line)
            if match is None:
                raise SiteError(f"sprio printed {line[:60]!r}; expected a job and its site factor")
            factors[int(match[1])] = int(match[2])
        return factors

    def _read_configuration(self) -> bool:
        """Returns whether memory is given to jobs, having looked whether there are site factors at all."""
        told = self._print("scontrol", "show", "config").decode(errors="replace")
        pairs = dict(re.findall(r"^(\w+)\s*=\s*(.*?)\s*$", told, flags=re.M))
        if "SelectTypeParameters" not in pairs:
            raise SiteError("scontrol show config tells no SelectTypeParameters")
        if pairs.get("PriorityType") != "priority/multifactor":
            self._refused.add(Knob.SITE_FACTOR)
        return "MEMORY" in pairs["SelectTypeParameters"].upper()
