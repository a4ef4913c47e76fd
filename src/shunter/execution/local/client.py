"""Talking to the daemon of a queue: one JSON object a line, one answer a line."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Callable
from typing import Any, Final

from shunter.errors import InputError
from shunter.execution.local.folder import QueueFolder

LONGEST: Final = 64 << 20
"""The longest line, in bytes: 100,000 commands, or the environment of one."""
SILENCE_S: Final = 5.0
"""A daemon that has not answered for so long may have been stopped; whoever asks is told."""
AGAIN_S: Final = 10.0
"""So long a client tries again whose daemon ends before it answers."""


def ask(
    queue: QueueFolder,
    verb: str,
    tell: Callable[[str], object] = lambda text: None,
    **words: Any,  # noqa: ANN401 - JSON values
) -> dict[str, Any]:
    """Asks the daemon for something and returns its answer.

    A submission carries a token, by which the daemon knows it again: it may be asked twice, and happens once. All other
    requests may be repeated by their nature.

    Args:
        queue: Whose daemon is asked.
        verb: What for.
        tell: Called with a line where the daemon is silent for long, though it has nothing to wait for.
        words: What the verb needs.

    Raises:
        InputError: No daemon is running, or it refuses.
    """
    line = json.dumps({"verb": verb, **words}, separators=(",", ":")).encode() + b"\n"
    if len(line) > LONGEST:
        raise InputError(f"the request has {len(line):,} bytes; at most {LONGEST:,} are taken at once: split it")
    deadline = time.monotonic() + AGAIN_S
    asked = False
    said = f"queue {queue.text}: its daemon has not answered for {SILENCE_S:g} s; waiting"
    # Whoever waits for jobs waits long.
    silent = None if verb == "wait" else lambda: tell(said)
    while True:
        connection = queue.connect()
        if connection is None and not asked:
            raise not_running(queue)
        answer = None if connection is None else _exchange(connection, line, silent)
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


def _exchange(connection: socket.socket, line: bytes, silent: Callable[[], object] | None) -> bytes | None:
    """Sends a line and returns the one that is answered; None if the connection ends before that.

    Args:
        connection: To the daemon.
        line: What it is asked.
        silent: Called if the daemon takes long to begin its answer; None: it may.
    """
    with connection:
        try:
            connection.sendall(line)
            if silent is not None and not select.select([connection], [], [], SILENCE_S)[0]:
                silent()
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
