"""A queue of this machine: what its daemon tells, and what its journal keeps while none runs."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from shunter.errors import InputError
from shunter.execution.local.client import ask
from shunter.execution.local.foreseeing import QueueEta, eta_of_queue
from shunter.execution.local.history import read_rows
from shunter.execution.local.journal import shown_decision
from shunter.service.live.controls import what_if_panel
from shunter.service.live.panels import (
    Bar,
    Column,
    Expected,
    Fact,
    Lane,
    Line,
    NodeState,
    Panel,
    bars,
    facts,
    gantt,
    lines,
    log,
    node_map,
    table,
)
from shunter.service.live.seldom import Seldom
from shunter.service.live.sources import Panels
from shunter.service.live.what_if import Offer
from shunter.service.refusals import RefusedError

if TYPE_CHECKING:
    from shunter.execution.local.folder import QueueFolder
    from shunter.policies.scheduler import Scheduler

MOST_ACTIVE: Final = 300
MOST_ENDED: Final = 100
MOST_ATTEMPTS: Final = 2000
"""So many of the latest runs are drawn."""
MOST_EVENTS: Final = 60
MOST_DECISIONS: Final = 200
_ACTIVE: Final = """
    SELECT id, name, command, cores, gpus, memory_mb, time_s, priority, state, submit_s, start_s FROM jobs
    WHERE state IN ('queued', 'held', 'running') ORDER BY state = 'running' DESC, priority DESC, id LIMIT ?
"""
_ENDED: Final = """
    SELECT id, name, command, state, submit_s, start_s, end_s, code, cause FROM jobs
    WHERE end_s IS NOT NULL ORDER BY id DESC LIMIT ?
"""
_ATTEMPTS: Final = """
    SELECT attempts.job, attempts.state, coalesce(attempts.start_s, attempts.asked_s) AS start_s, attempts.end_s,
           attempts.cpus, attempts.gpus, attempts.code, jobs.name, jobs.command, jobs.time_s FROM attempts
    JOIN jobs ON jobs.id = attempts.job ORDER BY attempts.id DESC LIMIT ?
"""
_NUMBERS: Final = re.compile(r"\d+(, \d+)*")


class QueueSource:
    """One local queue."""

    kind = "queue"
    period_s = 1.0

    def __init__(self, name: str, folder: QueueFolder, policies: Mapping[str, Scheduler]) -> None:
        self.name = name
        self._folder = folder
        self._policies = policies
        self._foreseen: Seldom[QueueEta | None] = Seldom(self._foresee)

    def read(self) -> Panels:
        """Returns what the queue does."""
        now_s = time.time()
        jobs = self._rows(_ACTIVE, MOST_ACTIVE)
        attempts = self._rows(_ATTEMPTS, MOST_ATTEMPTS)
        decisions = [
            shown_decision(row)
            for row in self._rows("SELECT * FROM decisions ORDER BY id DESC LIMIT ?", MOST_DECISIONS)
        ]
        status = self._status()
        reasons = self._reasons() if status else {}
        found = self._foreseen.value(tuple((row["id"], row["state"]) for row in jobs), now_s)
        cores, gpus = self._size(status, attempts)
        line = self._line(jobs, decisions, found)
        return {
            "facts": self._facts(status, jobs, found),
            "reasons": _reason_bars(jobs, reasons),
            "nodes": self._machine(attempts, cores, gpus),
            "gantt": _gantt(attempts, cores, line, now_s),
            "what-if": self._what_if(found, cores),
            "jobs": _job_table(jobs, reasons, line),
            "decision": _decision_table(decisions, reasons),
            "length": _length(decisions),
            "log": self._log(),
            "ended": self._ended(),
        }

    def ask(self, question: Mapping[str, Any]) -> Panels:
        """Returns what would become of those that wait."""
        found = self._foreseen.latest
        if found is None:
            raise RefusedError(400, "nobody waits whose start could be foreseen")
        return self._offer(found).answer(question, found.eta.state, found.eta.scheduler, found.scores)

    # ---- what is read ----

    def _rows(self, query: str, most: int) -> list[sqlite3.Row]:
        return read_rows(self._folder, query, (most,))

    def _status(self) -> dict[str, Any]:
        """Returns what the daemon tells of itself; nothing if none runs."""
        connection = self._folder.connect()
        if connection is None:
            return {}
        connection.close()
        try:
            return ask(self._folder, "status")
        except InputError:
            return {}

    def _reasons(self) -> dict[int, str]:
        told = ask(self._folder, "list", states=["queued", "held"], most=MOST_ACTIVE)
        return {job["id"]: job["waits_because"] or "" for job in told["jobs"]}

    def _foresee(self) -> QueueEta | None:
        try:
            return eta_of_queue(self._folder, threads=1)
        # A policy that the core does not run foresees nothing; everything else is still to see.
        except InputError:
            return None

    @staticmethod
    def _size(status: Mapping[str, Any], attempts: Sequence[sqlite3.Row]) -> tuple[int, int]:
        """Returns how many cores and GPUs there are; without a daemon, those that are known to have been used."""
        cores = max((cpu + 1 for row in attempts for cpu in json.loads(row["cpus"])), default=1)
        gpus = max((gpu + 1 for row in attempts for gpu in json.loads(row["gpus"])), default=0)
        return max(status.get("cores", 0), cores), max(status.get("gpus", 0), gpus)

    # ---- what is shown ----

    def _facts(self, status: Mapping[str, Any], jobs: Sequence[sqlite3.Row], found: QueueEta | None) -> Panel:
        counts = Counter(row["state"] for row in jobs)
        if not status:
            how = f"start it with: shunter queue start{self._folder.option}"
            said = [Fact("Daemon", "not running", note=how, tone="bad")]
        else:
            policy = f"{status['policy']}, {status['dispatch']}"
            failed = status["policy_failures"]
            said = [
                Fact("Daemon", f"process {status['process']}", note="paused" if status["is_paused"] else ""),
                Fact(
                    "Policy",
                    policy,
                    note=f"stood in for {failed:,} times" if failed else "",
                    tone="bad" if failed else "",
                ),
                Fact("Free cores", f"{status['free_cores']} of {status['cores']}"),
            ]
            if status["gpus"]:
                said.append(Fact("Free GPUs", f"{status['free_gpus']} of {status['gpus']}"))
        said += [Fact("Run", counts["running"], "number"), Fact("Wait", counts["queued"], "number")]
        if counts["held"]:
            said.append(Fact("Held", counts["held"], "number"))
        if found is not None and found.left_out:
            said.append(Fact("Not foreseen", found.left_out, "number", note="held, or behind another job"))
        return facts("Now", said)

    def _machine(self, attempts: Sequence[sqlite3.Row], cores: int, gpus: int) -> Panel:
        running = [row for row in attempts if row["end_s"] is None and row["state"] == "started"]
        used = sum(len(json.loads(row["cpus"])) for row in running)
        taken = {gpu for row in running for gpu in json.loads(row["gpus"])}
        jobs = [str(row["job"]) for row in running]
        node = NodeState(
            "this machine", cores, used, gpus, tuple(float(gpu in taken) for gpu in range(gpus)), False, jobs
        )
        return node_map("The machine", [node])

    def _line(
        self, jobs: Sequence[sqlite3.Row], decisions: Sequence[Mapping[str, Any]], found: QueueEta | None
    ) -> list[Expected]:
        """Returns those that wait, in the order of the latest decision, with when they are expected to start."""
        place = {job: number for number, job in enumerate(decisions[0]["line"])} if decisions else {}
        waiting = [row for row in jobs if row["state"] == "queued"]
        waiting.sort(key=lambda row: (place.get(row["id"], len(place)), -row["priority"], row["id"]))
        times = None if found is None else found.eta.waiting
        known = {} if times is None else {job: number for number, job in enumerate(times.job_ids)}
        line = []
        for row in waiting:
            ends: dict[str, float | None] = {}
            if times is not None and row["id"] in known:
                told = times.of(known[row["id"]])
                ends = {
                    name: None if told[name] is None else times.now_s + told[name]
                    for name in ("low_s", "median_s", "high_s")
                }
            line.append(Expected(str(row["id"]), row["submit_s"], run_s=row["time_s"], note=_what(row), **ends))
        return line

    def _ended(self) -> Panel:
        columns = [
            Column("Job"),
            Column("What"),
            Column("How"),
            Column("Waited", "seconds"),
            Column("Ran", "seconds"),
            Column("Ended", "since"),
        ]
        rows = []
        for row in self._rows(_ENDED, MOST_ENDED):
            waited_s = None if row["start_s"] is None else row["start_s"] - row["submit_s"]
            ran_s = None if row["start_s"] is None else row["end_s"] - row["start_s"]
            how = row["cause"] or (f"exit code {row['code']}" if row["code"] else "")
            rows.append(
                [str(row["id"]), _what(row), f"{row['state']}{', ' if how else ''}{how}", waited_s, ran_s, row["end_s"]]
            )
        return table("Jobs that are over", columns, rows, "The latest first.")

    def _log(self) -> Panel:
        rows = self._rows("SELECT time_s, job, what FROM events ORDER BY id DESC LIMIT ?", MOST_EVENTS)
        said = [(row["time_s"], "" if row["job"] is None else f"job {row['job']}", row["what"]) for row in rows]
        return log("What has happened", said)

    def _what_if(self, found: QueueEta | None, cores: int) -> Panel:
        if found is None:
            return what_if_panel([], "Nobody waits whose start could be foreseen.")
        return what_if_panel(
            self._offer(found).controls, "Those that wait now, with more cores or under another policy."
        )

    def _offer(self, found: QueueEta) -> Offer:
        return Offer(self._policies, round(4 * found.eta.state.cluster.total_cores), "cores")


def _what(row: sqlite3.Row) -> str:
    """Returns what a job is, in a few words."""
    return str(row["name"] or " ".join(json.loads(row["command"])))[:120]


def _reason_bars(jobs: Sequence[sqlite3.Row], reasons: Mapping[int, str]) -> Panel:
    counts = Counter(
        # Reasons are counted by what they are, not by the job that they are about.
        _NUMBERS.sub("…", reasons.get(row["id"]) or row["state"])
        for row in jobs
        if row["state"] != "running"
    )
    return bars("Why jobs wait", counts, "jobs", "Each job that waits, by what keeps it from starting.")


def _gantt(attempts: Sequence[sqlite3.Row], cores: int, line: Sequence[Expected], now_s: float) -> Panel:
    drawn = []
    for row in attempts:
        end_s = row["end_s"]
        state = "running" if end_s is None else "ended" if row["code"] == 0 else "failed"
        if end_s is None:
            # Whoever names no time may run for ever; the bar grows with the clock.
            end_s = row["start_s"] + row["time_s"] if row["time_s"] else row["start_s"]
        for cpu in json.loads(row["cpus"]):
            drawn.append(Bar(cpu, cpu + 1, row["start_s"], end_s, state, str(row["job"]), _what(row)))
    lanes = [Lane(f"core {cpu}", cpu, cpu + 1) for cpu in range(cores)]
    lead = (
        "Who ran on which core; below the line those that wait, with the interval in which each is expected to start."
    )
    return gantt("Past, now and next", lanes, drawn, line[:40], lead)


def _job_table(jobs: Sequence[sqlite3.Row], reasons: Mapping[int, str], line: Sequence[Expected]) -> Panel:
    columns = [Column("Job"), Column("What"), Column("State"), Column("Cores", "number"), Column("Priority", "number"),
               Column("Submitted", "since"), Column("Started", "since"), Column("Expected start", "clock"),
               Column("Why it waits")]  # fmt: skip
    expected = {one.job: one.median_s for one in line}
    rows = []
    for row in jobs:
        asked = [str(row["id"]), _what(row), row["state"], row["cores"], row["priority"], row["submit_s"]]
        start_s = row["start_s"] if row["state"] == "running" else None
        rows.append([*asked, start_s, expected.get(str(row["id"])), reasons.get(row["id"], "")])
    return table("Jobs", columns, rows, "Those that run and those that wait.")


def _decision_table(decisions: Sequence[Mapping[str, Any]], reasons: Mapping[int, str]) -> Panel:
    """Returns the latest decision: who was started, and who was passed over and why."""
    columns = [Column("Place", "number"), Column("Job"), Column("What was decided")]
    if not decisions:
        return table("The latest decision", columns, [], "Nothing has been decided yet.")
    latest = decisions[0]
    rows: list[list[Any]] = [["", str(job), "starts"] for job in latest["starts"]]
    for place, job in enumerate(latest["line"], start=1):
        rows.append([place, str(job), latest["reasons"].get(str(job)) or reasons.get(job) or "its turn has not come"])
    by = f"Decided by {latest['policy']} in {1000 * latest['seconds']:.1f} ms"
    failure = f"; the policy itself failed: {latest['failure']}" if latest["failure"] else ""
    return table(
        "The latest decision", columns, rows[:MOST_ENDED], f"{by}{failure}.", more=max(0, len(rows) - MOST_ENDED)
    )


def _length(decisions: Sequence[Mapping[str, Any]]) -> Panel:
    times = [one["time_s"] for one in reversed(decisions)]
    curves = [
        Line(name, times, [one[key] for one in reversed(decisions)])
        for name, key in (("wait", "waiting"), ("run", "running"))
    ]
    return lines("Jobs at each decision", curves, ("clock", "jobs"))
