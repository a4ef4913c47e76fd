"""Talking to the daemon of a queue: one JSON object a line, one answer a line."""

from __future__ import annotations

import json
import socket
import time
from typing import Any, Final

from shunter.errors import InputError
from shunter.execution.local.folder import QueueFolder

LONGEST: Final = 64 << 20
"""The longest line, in bytes: 100,000 commands, or the environment of one."""
AGAIN_S: Final = 10.0
"""So long a client tries again whose daemon ends before it answers."""


def ask(queue: QueueFolder, verb: str, **words: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON values
    """Asks the daemon for something and returns its answer.

    A submission carries a token, by which the daemon knows it again: it may be asked twice, and happens once. All other
    requests may be repeated by their nature.

    Raises:
        InputError: No daemon is running, or it refuses.
    """
    line = json.dumps({"verb": verb, **words}, separators=(",", ":")).encode() + b"\n"
    if len(line) > LONGEST:
        raise InputError(f"the request has {len(line):,} bytes; at most {LONGEST:,} are taken at once: split it")
    deadline = time.monotonic() + AGAIN_S
    asked = False
    while True:
        connection = queue.connect()
        if connection is None and not asked:
            raise not_running(queue)
        answer = None if connection is None else _exchange(connection, line)
        if answer is not None:
            return _checked(answer)
        asked = True
        if time.monotonic() > deadline:
            how = f"shunter queue start{queue.option}"
            raise InputError(f"queue {queue.text}: the daemon ended before it answered; start it again with '{how}'")
        time.sleep(0.05)


def not_running(queue: QueueFolder) -> InputError:
    """Returns the error for a queue whose daemon is not running."""
    how = f"shunter queue start{queue.option}"
    return InputError(f"queue {queue.text}: its daemon is not running; start it with '{how}'")


def _exchange(connection: socket.socket, line: bytes) -> bytes | None:
    """Sends a line and returns the one that is answered; None if the connection ends before that."""
    with connection:
        try:
            connection.sendall(line)
            parts: list[bytes] = []
            while not (parts and parts[-1].endswith(b"\n")):
                part = connection.recv(1 << 20)
                if not part:
                    return None
                parts.append(part)
        except (BrokenPipeError, ConnectionResetError):
            return None
    return b"".join(parts)


def _checked(answer: bytes) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(answer)
    if "refusal" in told:
        raise InputError(told["refusal"])
    return told
