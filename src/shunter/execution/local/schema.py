"""The tables of a queue's journal, and how an older journal becomes a newer one.

Each migration is one transaction that also sets the version: a process that is killed in the middle of one leaves the
journal as it was. A migration that has been released is never changed; what comes later is a new one.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from shunter.errors import InputError

MIGRATIONS: Final = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE environments (id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE, content TEXT NOT NULL);
    CREATE TABLE groups (
        name TEXT PRIMARY KEY, paused INTEGER NOT NULL DEFAULT 0, most_running INTEGER
    ) WITHOUT ROWID;
    CREATE TABLE jobs (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL, command TEXT NOT NULL, folder TEXT NOT NULL, environment INTEGER NOT NULL,
        umask INTEGER NOT NULL, cores INTEGER NOT NULL, memory_mb INTEGER NOT NULL, gpus INTEGER NOT NULL,
        time_s REAL, priority INTEGER NOT NULL, "group" TEXT NOT NULL, after_mode TEXT NOT NULL,
        array_id INTEGER, array_index INTEGER, array_limit INTEGER,
        retries INTEGER NOT NULL, on_lost TEXT NOT NULL, nice INTEGER NOT NULL,
        state TEXT NOT NULL, is_cancelled INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
        submit_s REAL NOT NULL, start_s REAL, end_s REAL, code INTEGER, signal INTEGER, cause TEXT, error TEXT,
        cpu_s REAL, most_memory_mb REAL, reason TEXT, decision INTEGER
    );
    CREATE INDEX jobs_active ON jobs (state) WHERE state IN ('queued', 'held', 'running');
    CREATE TABLE dependencies (job INTEGER NOT NULL, needs INTEGER NOT NULL, PRIMARY KEY (job, needs)) WITHOUT ROWID;
    CREATE TABLE attempts (
        id INTEGER PRIMARY KEY, job INTEGER NOT NULL, state TEXT NOT NULL, boot_id TEXT NOT NULL,
        asked_s REAL NOT NULL, start_s REAL, end_s REAL, code INTEGER, signal INTEGER, cause TEXT, error TEXT,
        cpu_s REAL, most_memory_mb REAL, cpus TEXT NOT NULL, gpus TEXT NOT NULL, decision INTEGER
    );
    CREATE INDEX attempts_job ON attempts (job);
    CREATE INDEX attempts_open ON attempts (state) WHERE state = 'started';
    CREATE TABLE decisions (
        id INTEGER PRIMARY KEY, time_s REAL NOT NULL, policy TEXT NOT NULL, waiting INTEGER NOT NULL,
        running INTEGER NOT NULL, seconds REAL NOT NULL, failure TEXT NOT NULL, starts TEXT NOT NULL, line TEXT NOT NULL
    );
    CREATE TABLE submissions (token TEXT PRIMARY KEY, first INTEGER NOT NULL, count INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE events (id INTEGER PRIMARY KEY, time_s REAL NOT NULL, job INTEGER, what TEXT NOT NULL);
    """,
    # Why those wait that a decision passes over.
    "ALTER TABLE decisions ADD COLUMN reasons TEXT NOT NULL DEFAULT '{}'",
)
"""By version: what makes version n of version n - 1."""


def migrate(connection: sqlite3.Connection, where: str, migrations: tuple[str, ...] = MIGRATIONS) -> None:
    """Brings a journal to this version.

    Raises:
        InputError: It is of a later version.
    """
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > len(migrations):
        what = f"is of version {version}, and this Shunter knows up to {len(migrations)}"
        raise InputError(f"{where}: {what}; use the Shunter that wrote it, or another --queue")
    for number in range(version, len(migrations)):
        # executescript would end a transaction that is open, so it is told to begin and to end one itself.
        connection.executescript(f"BEGIN IMMEDIATE; {migrations[number]}; PRAGMA user_version = {number + 1}; COMMIT;")
