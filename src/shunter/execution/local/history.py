"""The history of a queue as a workload: a table that compare, tune and train read. Environments are not in it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from shunter.errors import InputError
from shunter.execution.local.folder import QueueFolder
from shunter.execution.local.queue import program_of
from shunter.files import csv_writer, write_file

STATUSES: Final = {"done": "completed", "lost": "failed"}
"""What logs call a state, where they have another word for it."""
QUERY: Final = """
    SELECT jobs.id, jobs.name, command, submit_s, start_s, end_s, time_s, cores, memory_mb, gpus, priority, "group",
           state, code, attempts, cpu_s, most_memory_mb
    FROM jobs WHERE start_s IS NOT NULL AND end_s IS NOT NULL ORDER BY submit_s, jobs.id
"""


def read_history(folder: QueueFolder) -> pl.DataFrame:
    """Returns the jobs of a queue that have run and are over, with the columns of a workload.

    Raises:
        InputError: There is no such queue, or none of its jobs has run.
    """
    rows = read_rows(folder, QUERY)
    if not rows:
        raise InputError(f"queue {folder.text}: none of its jobs has run yet; there is nothing to export")
    return pl.DataFrame([_row(dict(row)) for row in rows], infer_schema_length=None)


def read_rows(folder: QueueFolder, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[sqlite3.Row]:
    """Returns the rows of a query of a queue's journal, whether its daemon runs or not.

    Raises:
        InputError: There is no such queue, or it cannot be read.
    """
    if not folder.database.exists():
        raise InputError(f"queue {folder.text}: there is none at {folder.path}; start one with 'shunter queue start'")
    connection = sqlite3.connect(f"file:{folder.database}?mode=ro", uri=True)
    try:
        connection.row_factory = sqlite3.Row
        return list(connection.execute(query, values))
    except sqlite3.Error as error:
        raise InputError(f"{folder.database}: cannot be read ({error})") from None
    finally:
        connection.close()


def _row(row: dict[str, Any]) -> dict[str, Any]:
    program = program_of(row["command"])
    return {
        "job_id": row["id"],
        "submit_s": row["submit_s"],
        "run_s": max(0.0, row["end_s"] - row["start_s"]),
        "requested_s": row["time_s"],
        "tasks": 1,
        "cores_per_task": row["cores"],
        "memory_mb_per_task": row["memory_mb"] or None,
        "gpus_per_task": row["gpus"],
        # Estimates tell jobs apart by their user. One user owns the queue: the name, or the program, says more.
        "user": row["name"] or program,
        "group": row["group"],
        "status": STATUSES.get(row["state"], row["state"]),
        "priority": row["priority"],
        "logged_wait_s": max(0.0, row["start_s"] - row["submit_s"]),
        "average_cpu_s": row["cpu_s"],
        "used_memory_mb_per_task": row["most_memory_mb"],
        "executable": program,
        "name": row["name"] or None,
        "attempts": row["attempts"],
    }


def write_history(folder: QueueFolder, path: Path) -> dict[str, Any]:
    """Writes the history of a queue as CSV or Parquet; returns how many jobs it has, and the cores that they need.

    Raises:
        InputError: It cannot be read or written.
    """
    frame = read_history(folder)
    writers = {".csv": csv_writer(frame), ".parquet": frame.write_parquet}
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise InputError(f"{path}: unknown suffix {path.suffix!r}; give a name that ends in .csv or .parquet")
    write_file(path, writer)
    return {"jobs": frame.height, "path": str(path), "cluster": _cores(folder, frame)}


def _cores(folder: QueueFolder, frame: pl.DataFrame) -> int:
    """Returns the cores of the queue, or of its machine."""
    from shunter.execution.local.machine import Machine

    # Read only: the daemon alone writes the journal.
    told = read_rows(folder, "SELECT value FROM meta WHERE key = 'cores'")
    given = json.loads(told[0]["value"]) if told else None
    largest: int = max(frame["cores_per_task"].to_list())
    return max(Machine(given, None, 0).cores, largest)
