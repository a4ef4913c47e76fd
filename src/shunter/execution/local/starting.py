"""Starting the daemon of a queue in the background, and waiting until it serves."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any, Final

from shunter.errors import InputError
from shunter.execution.local.folder import QueueFolder

PATIENCE_S: Final = 60.0


def start_daemon(folder: QueueFolder, changes: dict[str, Any]) -> int:
    """Starts the daemon and returns its process number when it serves.

    Args:
        folder: The queue.
        changes: Settings of the queue that are new.

    Raises:
        InputError: It does not start, or one is running already.
    """
    folder.make()
    with folder.open_log() as log:
        begins = log.tell()
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "shunter.execution.local.daemon",
                str(folder.path),
                folder.text,
                json.dumps(changes),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            start_new_session=True,
        )
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise InputError(_last_words(folder, begins))
        connection = folder.connect()
        if connection is not None:
            connection.close()
            if _holder(folder) == process.pid:
                # It outlives us; Python would complain of a child that nobody has waited for.
                process.returncode = 0
                return process.pid
        time.sleep(0.02)
    raise InputError(f"queue {folder.text}: the daemon does not answer; see {folder.log}")


def start_if_needed(folder: QueueFolder) -> None:
    """Starts the daemon unless one serves; of several who want that at once, one starts it, and all go on.

    Raises:
        InputError: It does not start.
    """
    if _serves(folder):
        return
    try:
        start_daemon(folder, {})
    except InputError:
        while not _serves(folder):
            if not folder.is_taken():
                raise
            time.sleep(0.02)


def _serves(folder: QueueFolder) -> bool:
    connection = folder.connect()
    if connection is not None:
        connection.close()
    return connection is not None


def wait_for_end(process: int) -> None:
    """Waits until a daemon that was told to stop has ended: then its queue can be started again, or moved."""
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(process)
        select.select([descriptor], [], [], PATIENCE_S)
        os.close(descriptor)


def _last_words(folder: QueueFolder, begins: int) -> str:
    """Returns what a daemon that has ended has said last, behind a place of its log."""
    said = folder.log.read_bytes()[begins:].decode(errors="replace").strip().splitlines()
    if not said:
        return f"queue {folder.text}: the daemon ended at once"
    day, _, rest = said[-1].partition(" ")
    if day[:4].isdigit():
        # The time of the line is of no use here.
        return rest.partition(" ")[2]
    return f"queue {folder.text}: the daemon ended by a fault of its own ({said[-1]}); see {folder.log}"


def _holder(folder: QueueFolder) -> int | None:
    text = folder.lock.read_text().strip() if folder.lock.exists() else ""
    return int(text) if text.isdigit() else None
