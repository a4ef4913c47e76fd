"""The journal: every job, attempt and decision of a queue in SQLite. One process writes, many things at once.

Whoever promises something to a client, or starts a job, calls `commit` first: then it is on the disk.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from shunter.errors import InputError
from shunter.execution.local.schema import migrate
from shunter.execution.local.spec import JobSpec

SHOWN: Final = (
    "id", "name", "command", "folder", "cores", "memory_mb", "gpus", "time_s", "priority", "group", "array_id",
    "array_index", "retries", "on_lost", "nice", "state", "attempts", "submit_s", "start_s", "end_s", "code", "signal",
    "cause", "error", "cpu_s", "most_memory_mb",
)  # fmt: skip
"""What is shown of a job. Its environment is never shown."""
_COLUMNS: Final = ", ".join(f'"{name}"' for name in SHOWN)
_EVENTS_KEPT: Final = 10_000


class JournalError(InputError):
    """The journal cannot be read or written: nothing that is not committed has happened."""


class Journal:
    """The database of one queue."""

    def __init__(self, path: Path) -> None:
        """Opens a journal, which is made where there is none.

        Raises:
            InputError: It is damaged, of a later version, or the disk is full.
        """
        self.path = path
        self.is_changed = False
        """Whether something is not on the disk yet."""
        try:
            self._db = sqlite3.connect(path, isolation_level=None)
            self._db.row_factory = sqlite3.Row
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._check()
            migrate(self._db, str(path))
        except sqlite3.Error as error:
            raise _told(path, error) from None
        self._environments: dict[str, int] = {}
        self._last: dict[str, int] = {}
        """By table: the last id that was given away."""

    def _check(self) -> None:
        """Looks for damage, quickly: a long list of jobs must not keep a queue from starting."""
        answer = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if answer != "ok":
            raise sqlite3.DatabaseError(str(answer))

    def close(self) -> None:
        """Commits and closes."""
        self.commit()
        self._db.close()

    def commit(self) -> None:
        """Brings all changes to the disk; when it returns, they are there.

        Raises:
            InputError: They are not, and are forgotten.
        """
        if not self.is_changed:
            return
        try:
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise _told(self.path, error) from None
        self.is_changed = False

    def rollback(self) -> None:
        """Forgets what is not committed."""
        # SQLite may have done so by itself.
        with suppress(sqlite3.Error):
            self._db.execute("ROLLBACK")
        self.is_changed = False
        self._environments.clear()
        self._last.clear()

    def _write(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> sqlite3.Cursor:
        try:
            if not self.is_changed:
                self._db.execute("BEGIN IMMEDIATE")
                self.is_changed = True
            return self._db.execute(statement, values)
        except sqlite3.Error as error:
            raise _told(self.path, error) from None

    def read(self, statement: str, values: Sequence[Any] = ()) -> Iterator[sqlite3.Row]:
        """Yields the rows of a query."""
        try:
            yield from self._db.execute(statement, values)
        except sqlite3.Error as error:
            raise _told(self.path, error) from None

    # ---- what the queue is ----

    def settings(self) -> dict[str, Any]:
        """Returns what is kept of the queue itself, by name."""
        return {row["key"]: json.loads(row["value"]) for row in self.read("SELECT * FROM meta")}

    def set(self, **values: Any) -> None:  # noqa: ANN401 - JSON values
        """Keeps values by name."""
        for key, value in values.items():
            self._write("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    def set_group(self, name: str, paused: bool, most_running: int | None) -> None:
        """Keeps what a group may do."""
        self._write("INSERT OR REPLACE INTO groups VALUES (?, ?, ?)", (name, paused, most_running))

    def event(self, what: str, job: int | None = None) -> None:
        """Writes down that something happened."""
        cursor = self._write("INSERT INTO events (time_s, job, what) VALUES (?, ?, ?)", (time.time(), job, what))
        if cursor.lastrowid and cursor.lastrowid % 1000 == 0:
            self._write("DELETE FROM events WHERE id <= ?", (cursor.lastrowid - _EVENTS_KEPT,))

    # ---- jobs ----

    def _new_id(self, table: str) -> int:
        """Returns an id that no row of a table has, nor ever had: users, files and decisions name rows by it."""
        self._last[table] = self._last_id(table) + 1
        return self._last[table]

    def _last_id(self, table: str) -> int:
        if table not in self._last:
            [row] = self.read(f"SELECT max(id) AS id FROM {table}")
            self._last[table] = max(row["id"] or 0, self.settings().get(f"last_of_{table}", 0))
        return self._last[table]

    def environment(self, values: Mapping[str, str]) -> int:
        """Returns the number of an environment; jobs with the same one share it."""
        content = json.dumps(values, sort_keys=True)
        digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
        if digest not in self._environments:
            self._write("INSERT OR IGNORE INTO environments (sha256, content) VALUES (?, ?)", (digest, content))
            [row] = self.read("SELECT id FROM environments WHERE sha256 = ?", (digest,))
            self._environments[digest] = row["id"]
        return self._environments[digest]

    def submission(self, token: str) -> range | None:
        """Returns the jobs of a submission that has been seen before."""
        for row in self.read("SELECT first, count FROM submissions WHERE token = ?", (token,)):
            return range(row["first"], row["first"] + row["count"])
        return None

    def add_submission(self, token: str, jobs: range) -> None:
        """Remembers a submission."""
        self._write("INSERT INTO submissions VALUES (?, ?, ?)", (token, jobs.start, len(jobs)))

    def add_job(self, spec: JobSpec, **others: Any) -> int:  # noqa: ANN401 - columns
        """Adds a job and returns its id."""
        job = self._new_id("jobs")
        values = {
            "id": job, "name": spec.name,
            "command": json.dumps(spec.command), "folder": spec.folder, "cores": spec.cores,
            "memory_mb": spec.memory_mb, "gpus": spec.gpus, "time_s": spec.time_s, "priority": spec.priority,
            "group": spec.group, "after_mode": spec.after_mode, "retries": spec.retries, "on_lost": spec.on_lost,
            "nice": spec.nice, "state": "held" if spec.hold else "queued", **others,
        }  # fmt: skip
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join("?" * len(values))
        self._write(f"INSERT INTO jobs ({names}) VALUES ({marks})", tuple(values.values()))
        for needs in spec.after:
            self._write("INSERT OR IGNORE INTO dependencies VALUES (?, ?)", (job, needs))
        return job

    def change_job(self, job: int, **values: Any) -> None:  # noqa: ANN401 - columns
        """Changes columns of a job."""
        assignments = ", ".join(f'"{name}" = ?' for name in values)
        self._write(f"UPDATE jobs SET {assignments} WHERE id = ?", (*values.values(), job))

    def delete_jobs(self, jobs: Iterable[int]) -> None:
        """Forgets jobs that are over; their ids are not used again."""
        self.set(last_of_jobs=self._last_id("jobs"), last_of_attempts=self._last_id("attempts"))
        for job in jobs:
            self._write("DELETE FROM jobs WHERE id = ?", (job,))
            self._write("DELETE FROM attempts WHERE job = ?", (job,))
            self._write("DELETE FROM dependencies WHERE job = ?", (job,))

    def job(self, job: int) -> dict[str, Any] | None:
        """Returns what may be shown of a job, with the reason and the decision; None if there is none."""
        for row in self.read(f"SELECT {_COLUMNS}, reason, decision FROM jobs WHERE id = ?", (job,)):
            return shown(row)
        return None

    def jobs(self, states: Sequence[str], group: str | None, most: int) -> list[dict[str, Any]]:
        """Returns the latest jobs in some states, in the order of their ids."""
        marks = ", ".join("?" * len(states))
        where = f"state IN ({marks})" + ("" if group is None else ' AND "group" = ?')
        values = [*states, *([] if group is None else [group]), most]
        rows = self.read(f"SELECT {_COLUMNS} FROM jobs WHERE {where} ORDER BY id DESC LIMIT ?", values)
        return [shown(row) for row in rows][::-1]

    def private(self, job: int) -> dict[str, Any]:
        """Returns all that is known of a job."""
        [row] = self.read("SELECT * FROM jobs WHERE id = ?", (job,))
        return {**dict(row), "command": json.loads(row["command"])}

    def environment_of(self, number: int) -> dict[str, str]:
        """Returns an environment, which only the job itself may see."""
        [row] = self.read("SELECT content FROM environments WHERE id = ?", (number,))
        found: dict[str, str] = json.loads(row["content"])
        return found

    # ---- attempts and decisions ----

    def add_attempt(self, job: int, boot_id: str, cpus: Sequence[int], gpus: Sequence[int], decision: int) -> int:
        """Writes down that a job is about to be started; returns the number of the attempt."""
        attempt = self._new_id("attempts")
        self._write(
            "INSERT INTO attempts (id, job, state, boot_id, asked_s, cpus, gpus, decision) "
            "VALUES (?, ?, 'started', ?, ?, ?, ?, ?)",
            (attempt, job, boot_id, time.time(), json.dumps(list(cpus)), json.dumps(list(gpus)), decision),
        )
        return attempt

    def change_attempt(self, attempt: int, **values: Any) -> None:  # noqa: ANN401 - columns
        """Changes columns of an attempt."""
        assignments = ", ".join(f"{name} = ?" for name in values)
        self._write(f"UPDATE attempts SET {assignments} WHERE id = ?", (*values.values(), attempt))

    def add_decision(self, policy: str, waiting: int, running: int, seconds: float, failure: str,
                     starts: Sequence[int], reasons: Mapping[int, str]) -> int:  # fmt: skip
        """Writes down a decision; returns its number.

        Args:
            policy: Who decided.
            waiting: How many waited.
            running: How many ran.
            seconds: How long deciding took.
            failure: Why the policy itself did not decide, if it did not.
            starts: Who starts.
            reasons: The first of those that go on waiting, in their order, and why each does.
        """
        texts = (json.dumps(starts), json.dumps(list(reasons)), json.dumps(reasons))
        number = self._write(
            "INSERT INTO decisions (time_s, policy, waiting, running, seconds, failure, starts, line, reasons) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (time.time(), policy, waiting, running, seconds, failure, *texts),
        ).lastrowid
        assert number is not None
        return number

    def decision(self, number: int) -> dict[str, Any] | None:
        """Returns a decision."""
        for row in self.read("SELECT * FROM decisions WHERE id = ?", (number,)):
            return shown_decision(row)
        return None


def shown_decision(row: sqlite3.Row) -> dict[str, Any]:
    """Returns a row of the decisions as clients are told it."""
    return {**dict(row), **{name: json.loads(row[name]) for name in ("starts", "line", "reasons")}}


def shown(row: sqlite3.Row) -> dict[str, Any]:
    """Returns a row of the jobs as clients are told it."""
    return {**dict(row), "command": json.loads(row["command"])}


def _told(path: Path, error: sqlite3.Error) -> JournalError:
    """Returns what a user is told of an error of SQLite's."""
    text = " ".join(str(error).split())
    if "full" in text or "disk I/O" in text:
        return JournalError(f"{path}: the disk is full ({text}); make room, then try again")
    if isinstance(error, sqlite3.OperationalError):
        return JournalError(f"{path}: {text}; look at its folder and permissions")
    way_out = f"keep a copy, try 'sqlite3 {path.name} .recover', or move the folder away and start anew"
    return JournalError(f"{path}: the journal is damaged ({text}); {way_out}")
