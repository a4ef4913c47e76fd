"""Why a job of a local queue started when it did: what the journal keeps of decisions, and who had the cores."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from shunter.errors import InputError
from shunter.execution.local.folder import QueueFolder
from shunter.execution.local.history import STATUSES, read_rows
from shunter.execution.local.journal import shown_decision
from shunter.execution.local.machine import Machine
from shunter.metrics.explanation import explain
from shunter.metrics.record import Record
from shunter.model.cluster import Cluster, Node
from shunter.model.locality import NEVER

if TYPE_CHECKING:
    from shunter.metrics.explanation import Explanation

HERE: Final = "here"
MOST_PLACES: Final = 10
"""Of how many changes of a job's place in line it is told."""
_JOBS: Final = """
    SELECT id, submit_s, start_s, end_s, cores, memory_mb, gpus, state FROM jobs
    WHERE submit_s <= :start_s AND coalesce(end_s, :now_s) >= :submit_s ORDER BY submit_s, id
"""


def explain_job(folder: QueueFolder, job: int) -> tuple[Explanation, dict[str, Any]]:
    """Returns what a job waited for, and what the journal keeps of the decisions about it.

    Raises:
        InputError: There is no such queue or job, or the job has not started.
    """
    rows = read_rows(folder, "SELECT id, state, submit_s, start_s, reason, decision FROM jobs WHERE id = ?", (job,))
    if not rows:
        raise InputError(f"job {job}: there is no such job in queue {folder.text}")
    [row] = rows
    if row["start_s"] is None:
        how = f"shunter queue show {job}{folder.option}"
        raise InputError(f"job {job}: has not started ({row['state']}); '{how}' says why it waits")
    record = _record(folder, row)
    chosen = read_rows(folder, "SELECT * FROM decisions WHERE id = ?", (row["decision"],))
    kept = {
        "job_id": job,
        "chosen_because": row["reason"],
        "chosen_by": shown_decision(chosen[0]) if chosen else None,
        "places_in_line": _places(folder, row),
    }
    return explain(record, record.find(str(job))), kept


def _record(folder: QueueFolder, row: sqlite3.Row) -> Record:
    """Returns the jobs that waited or ran while a job waited; times count from the first of their submissions."""
    now_s = time.time()
    words = {"submit_s": row["submit_s"], "start_s": row["start_s"], "now_s": now_s}
    found = read_rows(folder, _JOBS, words)
    first_s = min(one["submit_s"] for one in found)
    settings = {one["key"]: one["value"] for one in read_rows(folder, "SELECT * FROM meta")}
    cores, memory_mb, gpus = (_number(settings.get(key)) for key in ("cores", "memory_mb", "gpus"))
    machine = Machine(cores, memory_mb, gpus)
    largest = max(one["cores"] for one in found)
    here = Node(HERE, float(max(machine.cores, largest)), machine.memory_mb, machine.gpus)
    frame = pl.DataFrame([_row(one, first_s, now_s) for one in found], schema=_SCHEMA)
    policy = read_rows(folder, "SELECT policy FROM decisions WHERE id = ?", (row["decision"],))
    names = (str(policy[0]["policy"]) if policy else "unknown", "as the queue was told", "one machine", NEVER)
    return Record.of_tables(frame, None, Cluster.from_nodes((here,), HERE), names, may_fail=False)


_SCHEMA: Final[dict[str, Any]] = {
    "job_id": pl.Int64,
    "submit_s": pl.Float64,
    "latest_start_s": pl.Float64,
    "end_s": pl.Float64,
    "tasks": pl.Int64,
    "cores": pl.Float64,
    "memory_mb": pl.Float64,
    "gpus": pl.Float64,
    "partition": pl.String,
    "nodes": pl.List(pl.Struct({"node": pl.String, "tasks": pl.Int64})),
    "outcome": pl.String,
    "reason": pl.String,
}


def _row(job: sqlite3.Row, first_s: float, now_s: float) -> dict[str, Any]:
    start_s = job["start_s"]
    # Whoever runs has what it has at least until now.
    end_s = None if start_s is None else max(start_s, job["end_s"] or now_s)
    return {
        "job_id": job["id"],
        # A start is told to the millisecond, and must not come before its submission.
        "submit_s": min(job["submit_s"], start_s or now_s) - first_s,
        "latest_start_s": None if start_s is None else start_s - first_s,
        "end_s": None if end_s is None else end_s - first_s,
        "tasks": 1,
        "cores": float(job["cores"]),
        "memory_mb": float(job["memory_mb"]),
        "gpus": float(job["gpus"]),
        "partition": None,
        "nodes": [] if start_s is None else [{"node": HERE, "tasks": 1}],
        "outcome": STATUSES.get(job["state"], job["state"]),
        "reason": None,
    }


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _places(folder: QueueFolder, row: sqlite3.Row) -> list[dict[str, Any]]:
    """Returns where a job stood in the lines of decisions before the one that chose it, and why it waited."""
    query = "SELECT * FROM decisions WHERE time_s BETWEEN ? AND ? AND id < ? ORDER BY id"
    decisions = read_rows(folder, query, (row["submit_s"], row["start_s"], row["decision"] or 0))
    found: list[dict[str, Any]] = []
    for decision in map(shown_decision, decisions):
        if row["id"] in decision["line"]:
            reason = decision["reasons"].get(str(row["id"])) or "its turn had not come"
            told = {"place": decision["line"].index(row["id"]) + 1, "reason": reason}
            if not found or {key: found[-1][key] for key in told} != told:
                found.append({"decision": decision["id"], "time_s": decision["time_s"], **told})
    return found[-MOST_PLACES:]
