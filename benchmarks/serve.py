"""How fast `shunter serve` answers on this machine: latency, decisions a second, and processor time for each.

    PYTHONPATH=. python benchmarks/serve.py [--requests 3000] [--rounds 10] [--soak MINUTES]

A service runs as a process of its own, and this process is its client: one kept-alive connection over TCP (with a
token) or a Unix socket. 128 jobs wait on 1,000 hosts, of which nearly all are full, and the policy is sjf with easy
backfilling. *Posted* decides on a snapshot that was put once; nothing of an answer is kept from one request to
the next. *Whole* sends the snapshot with each request.

The machine may be shared. Times by the clock then tell of the neighbors too, so that the best round stands beside all
of them. The processor time that the service itself spent (user and system, from /proc) does not: decisions a second are
given by the clock, and for one core that the service has to itself. `empty` is a request that does nothing.

`--soak` asks for the given time with everything mixed, bad requests among it, and says whether memory stays flat.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.simulate import verdict
from shunter.service.tokens import make_token

WAITING, HOSTS, RUNNING_JOBS = 128, 1000, 1000
CLIENTS = 4
"""So many ask at once where decisions a second are counted."""
GOALS_MS = {"tcp": 5.0, "unix": 1.0}
GOAL_RATE = 1000
START_S = 60.0
TICKS = os.sysconf("SC_CLK_TCK")


def snapshot() -> dict[str, Any]:
    """Returns a crowded site: a job on each host, one host in sixteen half free, and a queue."""
    draw = random.Random(42)
    cores, now_s = 32, 100_000.0
    jobs: list[dict[str, Any]] = [
        {
            "job_id": number,
            "state": "running",
            "submit_s": float(number),
            "start_s": now_s - draw.randrange(60, 36_000),
            "requested_s": float(draw.randrange(36_600, 86_400)),
            "cores_per_task": cores if number % 16 else cores // 2,
            "user": f"u{number % 40}",
            "placed": [[number, 1]],
        }
        for number in range(RUNNING_JOBS)
    ]
    jobs += [
        {
            "job_id": 10_000 + number,
            "state": "waiting",
            "submit_s": now_s - 10_000 + number,
            "requested_s": float(draw.randrange(600, 86_400)),
            "tasks": draw.choice((1, 1, 1, 2, 4, 8)),
            "cores_per_task": draw.choice((8, 16, 24, 32)),
            "user": f"u{number % 40}",
        }
        for number in range(WAITING)
    ]
    text = f"[[nodes]]\ncount = {HOSTS}\ncores = {cores}\n"
    return {"schema": "shunter.state/1", "now_s": now_s, "cluster": text, "jobs": jobs}


class Client:
    """One kept-alive connection."""

    def __init__(self, where: Path | int, token: str) -> None:
        if isinstance(where, int):
            self._socket = socket.create_connection(("127.0.0.1", where))
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(str(where))
        self._socket.settimeout(60)
        self._token = token

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Returns a request as it goes over the wire."""
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self._token}\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def send(self, request: bytes) -> tuple[int, bytes]:
        """Sends a request; returns the status and the body of the answer."""
        self._socket.sendall(request)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._more()
        head, _, body = received.partition(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        while len(body) < length:
            body += self._more()
        return int(head[9:12]), body

    def _more(self) -> bytes:
        piece = self._socket.recv(1 << 18)
        if not piece:
            raise ConnectionError("the service has closed the connection")
        return piece

    def close(self) -> None:
        """Closes the connection."""
        self._socket.close()


@dataclass
class Running:
    """A service that runs as a process."""

    where: Path | int
    token: str
    process: subprocess.Popen[str]

    def client(self) -> Client:
        """Returns a new connection."""
        return Client(self.where, self.token)

    @property
    def cpu_s(self) -> float:
        """The processor time that the process has spent."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    @property
    def memory_mb(self) -> float:
        """The memory that the process has now."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def start(kind: str, folder: Path) -> Running:
    """Starts a service on a Unix socket or a free port."""
    token = folder / f"token-{kind}"
    make_token(token)
    path = folder / "serve.sock"
    where = ["--port", "0"] if kind == "tcp" else ["--socket", str(path)]
    words = [sys.executable, "-m", "shunter", "serve", "--policy", "sjf=sjf", "--rate", "1e6", *where]
    process = subprocess.Popen([*words, "--token-file", str(token)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    if " at " not in line:
        raise SystemExit(f"error: the service did not start: {line}")
    running = Running(int(line.rpartition(":")[2]) if kind == "tcp" else path, token.read_text().strip(), process)
    _until_it_answers(running)
    return running


def _until_it_answers(running: Running) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        try:
            client = running.client()
            if client.send(client.request("GET", "/healthz"))[0] == 200:
                return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("error: the service does not answer")


@dataclass
class Times:
    """How long requests of one kind took, round by round."""

    rounds: list[np.ndarray[Any, np.dtype[np.float64]]] = field(default_factory=list)
    cpu_s: float = 0.0

    def play(self, running: Running, client: Client, request: bytes, count: int) -> None:
        """Sends a request again and again."""
        took = np.empty(count)
        before = running.cpu_s
        for place in range(count):
            began = time.perf_counter()
            status, _ = client.send(request)
            took[place] = time.perf_counter() - began
            if status != 200:
                raise SystemExit(f"error: the service answers {status}")
        self.cpu_s += running.cpu_s - before
        self.rounds.append(took * 1e3)

    def cells(self, goal_ms: float | None) -> list[str]:
        """Returns the cells of a table."""
        every = np.concatenate(self.rounds)
        best = min(float(np.quantile(one, 0.99)) for one in self.rounds)
        goal = "" if goal_ms is None else f"p99 < {goal_ms:g} ms {verdict(best < goal_ms) or 'reached (best round)'}"
        cpu_ms = self.cpu_s / len(every) * 1e3
        numbers = [float(np.quantile(every, 0.5)), float(np.quantile(every, 0.99)), best, cpu_ms]
        return [*(f"{one:.3f}" for one in numbers), f"{1e3 / cpu_ms:,.0f}" if cpu_ms else "", goal]


def measure(kind: str, requests: int, rounds: int, table: Table) -> None:
    """Measures one way to connect."""
    with tempfile.TemporaryDirectory() as folder:
        running = start(kind, Path(folder))
        try:
            client = running.client()
            state = json.dumps(snapshot()).encode()
            status, told = client.send(client.request("PUT", "/v1/snapshots/now", state))
            assert status == 200, told
            asked = {
                "empty": (client.request("GET", "/healthz"), requests),
                "posted": (client.request("POST", "/v1/decide", b'{"policy": "sjf", "snapshot": "now"}'), requests),
                "whole": (
                    client.request("POST", "/v1/decide", b'{"policy": "sjf", "snapshot": ' + state + b"}"),
                    max(rounds, requests // 30),
                ),
            }
            found = {name: Times() for name in asked}
            for request, _ in asked.values():
                for _ in range(20):
                    client.send(request)
            for _ in range(rounds):
                for name, (request, count) in asked.items():
                    found[name].play(running, client, request, count // rounds)
            for name, times in found.items():
                table.add_row(kind, name, *times.cells(GOALS_MS[kind] if name == "posted" else None))
            rate, each_s = together(running, asked["posted"][0], requests)
            goal = f"{GOAL_RATE:,}/s {verdict(rate >= GOAL_RATE) or 'reached'}"
            table.add_row(kind, f"posted, {CLIENTS} clients", "", "", "", f"{each_s * 1e3:.3f}", f"{1 / each_s:,.0f}",
                          f"{rate:,.0f}/s by the clock; {goal}")  # fmt: skip
        finally:
            running.process.terminate()
            running.process.wait(30)


def together(running: Running, request: bytes, count: int) -> tuple[float, float]:
    """Returns the decisions a second by the clock and the processor time of each, where several clients ask at once."""

    def ask() -> None:
        client = running.client()
        for _ in range(count // CLIENTS):
            client.send(request)
        client.close()

    threads = [threading.Thread(target=ask) for _ in range(CLIENTS)]
    began, before = time.perf_counter(), running.cpu_s
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = count // CLIENTS * CLIENTS
    return made / (time.perf_counter() - began), (running.cpu_s - before) / made


def soak(minutes: float, console: Console) -> None:
    """Asks for everything, good and bad, and looks at memory."""
    with tempfile.TemporaryDirectory() as folder:
        running = start("unix", Path(folder))
        try:
            _soak(running, minutes, console)
        finally:
            running.process.terminate()
            running.process.wait(30)


def soak_request(client: Client, turn: int, state: dict[str, Any]) -> bytes:
    """Returns the request of a turn: mostly decisions, and now and then everything else, bad ones too."""
    kind = turn % 27
    if turn % 200 == 0:
        return client.request("PUT", "/v1/snapshots/now", json.dumps(state).encode())
    others = {
        20: ("PUT", f"/v1/snapshots/other{turn % 40}", json.dumps({**state, "now_s": 100_000.0 + turn}).encode()),
        21: ("POST", "/v1/decide", b'{"snapshot": "other%d"}' % ((turn - 1) % 40)),
        22: ("POST", "/v1/eta", b'{"snapshot": "now", "futures": 2}'),
        23: ("POST", "/v1/explain", b'{"snapshot": "now", "job": 10003}'),
        24: ("GET", "/metrics", b""),
        25: ("POST", "/v1/decide", b"{" * 3000),
        26: ("GET", "/no/such/address", b""),
    }
    return client.request(*others.get(kind, ("POST", "/v1/decide", b'{"snapshot": "now"}')))


def _soak(running: Running, minutes: float, console: Console) -> None:
    state, counts, memory = snapshot(), Counter[int](), list[float]()
    client, turn, next_s, began = running.client(), 0, 0.0, time.monotonic()
    while (passed_s := time.monotonic() - began) < minutes * 60:
        if passed_s >= next_s:
            memory.append(running.memory_mb)
            next_s += max(2.0, minutes)
        counts[client.send(soak_request(client, turn, state))[0]] += 1
        turn += 1
        if turn % 50 == 0:
            client.close()
            client = running.client()
    # The first fifth is warming up: stores and caches fill.
    settled = np.array(memory[len(memory) // 5 :])
    slope = float(np.polyfit(np.arange(len(settled)), settled, 1)[0]) * len(settled) if len(settled) > 2 else 0.0
    console.print(f"{turn:,} requests in {minutes:g} min; by status: {dict(sorted(counts.items()))}")
    console.print(
        f"memory: {memory[0]:.0f} MB at first, {settled[0]:.0f} MB when warm, {memory[-1]:.0f} MB at the end, "
        f"{max(memory):.0f} MB at most; trend when warm {slope:+.1f} MB; processor time {running.cpu_s:.0f} s"
    )
    if unexpected := set(counts) - {200, 400, 404}:
        raise SystemExit(f"error: the service answered {unexpected}")


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=3000, help="of each kind")
    parser.add_argument("--rounds", type=int, default=10, help="of which the best is given too")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="ask for so long instead")
    given = parser.parse_args()
    console = Console(width=160)
    if given.soak is not None:
        soak(given.soak, console)
        return
    load = os.getloadavg()[0]
    title = f"One request, in ms; {WAITING} jobs wait on {HOSTS:,} hosts; {os.cpu_count()} cores, load {load:.1f}"
    table = Table(title=title)
    for column in ("over", "request", "p50", "p99", "best p99", "processor", "a second on a core", "goals"):
        table.add_column(column, justify="left" if column in ("over", "request", "goals") else "right")
    for kind in ("unix", "tcp"):
        measure(kind, given.requests, given.rounds, table)
        table.add_section()
    console.print(table)


if __name__ == "__main__":
    main()
