"""The daemon of a queue: one thread that serves clients, hears of ends, decides, and keeps the journal.

In each round, everything that has happened is taken up, then the journal is brought to the disk once, then clients are
answered and jobs are started. So many submissions that arrive together cost one write.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import selectors
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from shunter.errors import InputError, visible
from shunter.execution.local.client import LONGEST
from shunter.execution.local.folder import QueueFolder
from shunter.execution.local.journal import JournalError
from shunter.execution.local.queue import TRIM_S
from shunter.execution.local.verbs import open_queue

MOST_CLIENTS: Final = 500
TROUBLE_S: Final = 0.5
"""How often the daemon looks whether a journal that could not be written can be written again."""


class Client:
    """A connection, with what has come of a line and what has not been sent yet."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.received = bytearray()
        self.to_send = bytearray()
        self.waits_for: set[int] | None = None
        """The jobs whose end it waits for; None: it waits for none."""
        self.asked_for: set[int] = set()
        """The jobs that it asked for; some of them were over then."""
        self.is_gone = False


class Daemon:
    """Serves one queue until it is told to stop."""

    def __init__(self, folder: QueueFolder, changes: dict[str, Any]) -> None:
        """Opens the queue.

        Args:
            folder: Which must be locked by this process.
            changes: Settings of the queue that are new: ``cores``, ``memory_mb``, ``gpus``, ``policy``.
        """
        self._selector = selectors.DefaultSelector()
        self._clients: dict[int, Client] = {}
        self._answers: list[tuple[Client, dict[str, Any]]] = []
        self._is_stopping = False
        self._trouble: JournalError | None = None
        """Why the journal cannot be written, as long as it cannot."""
        self._folder = folder
        self.verbs = open_queue(folder, changes, self._selector)
        self.verbs.known["stop"] = self._stop
        self.queue, self.loop = self.verbs.queue, self.verbs.loop
        self._server = self._listen()

    def _listen(self) -> socket.socket:
        # Only one process holds the lock, so that a socket that is there is one that a killed daemon has left.
        self._folder.socket.unlink(missing_ok=True)
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        with self._folder.address() as address:
            server.bind(address)
        self._folder.socket.chmod(0o600)
        server.listen(MOST_CLIENTS)
        self._selector.register(server, selectors.EVENT_READ, self._accept)
        return server

    def run(self) -> None:
        """Serves until it is told to stop."""
        waking, woken = socket.socketpair()
        woken.setblocking(False)
        signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop())
        self._selector.register(waking, selectors.EVENT_READ, lambda: waking.recv(4096))
        # A hundred thousand jobs are many objects that stay: looking at all of them again and again is of no use.
        gc.freeze()
        gc.set_threshold(50_000, 50, 50)
        timeout = 0.0
        while not self._is_stopping:
            timeout = self._round(timeout)
        self.queue.close()
        self._folder.socket.unlink(missing_ok=True)

    def _round(self, timeout: float) -> float:
        """Takes up what has happened, brings it to the disk, tells it; returns how long to wait for the next round."""
        try:
            for key, _ in self._selector.select(timeout):
                call: Callable[[], object] = key.data
                call()
            if self._trouble is not None:
                self._recover()
            if self._answers:
                # Whoever submits need not wait until it is decided who starts.
                self.queue.flush()
                self._tell()
            wait_s = self.loop.turn()
            self.queue.trim_outputs()
            if self.queue.board.running:
                wait_s = min(wait_s, TRIM_S)
            self.queue.prepare(self.loop.ahead(self.queue.wanted_ahead()))
            left_s = self.queue.flush(now=bool(self._answers or self._is_stopping or self._is_heard()))
        except JournalError as error:
            return self._forget(error)
        if left_s is not None:
            # Ends wait to be brought to the disk together with others.
            return min(left_s, wait_s)
        self._tell()
        return wait_s

    def _forget(self, error: JournalError) -> float:
        """After changes that could not be written: none of them has happened. Returns when to try again."""
        if self._trouble is None:
            print_line(str(error))
        self._trouble = error
        self.queue.supervision.forget()
        self.queue.journal.rollback()
        answers, self._answers = self._answers, []
        for client, _ in answers:
            self._send(client, {"refusal": str(error)})
        return TROUBLE_S

    def _recover(self) -> None:
        """Takes up the journal as it is, if it can be written again."""
        self.queue.load()
        self.queue.flush()
        self._trouble = None
        self.loop.renew()
        print_line("the journal can be written again")

    def _is_heard(self) -> bool:
        """Returns whether somebody waits for nothing but the jobs that are over by now."""
        for client in self._clients.values():
            if client.waits_for is not None:
                client.waits_for.difference_update(self.queue.over)
        self.queue.over.clear()
        return any(client.waits_for is not None and not client.waits_for for client in self._clients.values())

    def _tell(self) -> None:
        answers, self._answers = self._answers, []
        for client, answer in answers:
            self._send(client, answer)
        for client in [one for one in self._clients.values() if one.waits_for is not None and not one.waits_for]:
            self._send(client, self._ends(client.asked_for))
            client.waits_for = None

    # ---- clients ----

    def _accept(self) -> None:
        with suppress(BlockingIOError):
            connection, _ = self._server.accept()
            # The folder's permissions keep others out; this keeps them out where a folder's do not.
            size = struct.calcsize("3i")
            _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
            if user != os.getuid() or len(self._clients) >= MOST_CLIENTS:
                connection.close()
                return
            connection.setblocking(False)
            client = Client(connection)
            self._clients[connection.fileno()] = client
            self._selector.register(connection, selectors.EVENT_READ, lambda: self._receive(client))

    def _receive(self, client: Client) -> None:
        try:
            part = client.connection.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        client.received += part
        if not part or len(client.received) > LONGEST:
            self._drop(client)
            return
        while b"\n" in part and not client.is_gone:
            line, _, rest = client.received.partition(b"\n")
            client.received, part = rest, bytes(rest)
            self._answer(client, bytes(line))

    def _answer(self, client: Client, line: bytes) -> None:
        if self._trouble is not None:
            self._send(client, {"refusal": str(self._trouble)})
            return
        try:
            request = json.loads(line)
            if isinstance(request, dict) and request.get("verb") == "wait":
                client.asked_for = self._wait(**{name: value for name, value in request.items() if name != "verb"})
                client.waits_for = client.asked_for & self.queue.board.entries.keys()
                return
            self._answers.append((client, self.verbs.answer(request)))
        except JournalError as error:
            self._answers.append((client, {"refusal": str(error)}))
            raise
        except (InputError, ValueError, RecursionError, TypeError) as error:
            self._answers.append((client, {"refusal": str(error)}))

    def _wait(self, jobs: object = None) -> set[int]:
        """Returns the jobs whose end a client waits for; by default all that are not over."""
        if jobs is None:
            return set(self.queue.board.entries)
        if not isinstance(jobs, list) or not all(isinstance(one, int) for one in jobs):
            raise InputError(f"wait: expected a list of ids of jobs, got {jobs!r}")
        for job in jobs:
            if job not in self.queue.board.entries and self.queue.journal.job(job) is None:
                raise InputError(f"job {job}: there is no such job; see 'shunter queue list --all'")
        return set(jobs)

    def _ends(self, jobs: set[int]) -> dict[str, Any]:
        found = (self.queue.journal.job(job) for job in sorted(jobs))
        return {
            "jobs": [
                {name: one[name] for name in ("id", "state", "code", "signal", "cause", "error")}
                for one in found
                if one
            ]
        }

    def _stop(self) -> dict[str, Any]:
        self._is_stopping = True
        return {"process": os.getpid(), "running": len(self.queue.board.running)}

    def _send(self, client: Client, answer: dict[str, Any]) -> None:
        client.to_send += json.dumps(answer, separators=(",", ":")).encode() + b"\n"
        self._send_more(client)

    def _send_more(self, client: Client) -> None:
        if client.is_gone:
            return
        try:
            sent = client.connection.send(client.to_send)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._drop(client)
            return
        del client.to_send[:sent]
        # A client that does not read must not keep the others waiting.
        is_more = bool(client.to_send)
        call = (lambda: self._send_more(client)) if is_more else (lambda: self._receive(client))
        events = selectors.EVENT_WRITE if is_more else selectors.EVENT_READ
        self._selector.modify(client.connection, events, call)

    def _drop(self, client: Client) -> None:
        if not client.is_gone:
            client.is_gone = True
            client.waits_for = None
            self._clients.pop(client.connection.fileno(), None)
            self._selector.unregister(client.connection)
            client.connection.close()


def print_line(text: str) -> None:
    """Prints a line with the time into the log of the daemon."""
    # The disk may be full, and the terminal gone: what is said here is worth no more than the work.
    with suppress(OSError):
        os.write(2, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {visible(text)}\n".encode())


def serve(folder: QueueFolder, changes: dict[str, Any]) -> int:
    """Runs the daemon of a queue in this process; returns its exit code."""
    # Whatever is made here may hold secrets; jobs have the permissions of whoever submitted them.
    os.umask(0o077)
    folder.make()
    folder.take()
    Daemon(folder, changes).run()
    return 0


def main() -> None:
    """Runs a daemon in the background: what it has to say goes to its log."""
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("text")
    parser.add_argument("changes", type=json.loads)
    given = parser.parse_args()
    try:
        sys.exit(serve(QueueFolder(given.path, given.text), given.changes))
    except InputError as error:
        print_line(str(error))
        sys.exit(2)


if __name__ == "__main__":
    main()
