"""What the live page costs: a thousand events a second, two pages in Chromium and 18 plain clients, for a minute.

    PYTHONPATH=. python benchmarks/live.py [--seconds 60] [--rate 1000] [--pages 2] [--clients 18] [--no-restart]

A service runs as a process of its own, with a synthetic source: 20 tables of 20 rows and a figure, which change 50
times a second, and a Gantt chart with 400 bars that changes twice a second. That is a thousand events a second. A
viewer is told ten times a second at most, and what has changed more than once meanwhile is told once, in its newest
state (*merged*). At the end nothing changes any more, and there must be no panel whose last state a client lacks.

Memory: the resident set of the server every five seconds, and the heap of each page's JavaScript after its garbage was
collected (CDP `Performance.getMetrics`). Flat means: the last third of the readings is not more than 10 % above the
second third. Then the server is killed and started again, and it is measured after how long each page and client has a
full state again.

The machine may be shared: processor time says what was spent, times by the clock tell of neighbors too.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table as Shown

from benchmarks.simulate import verdict
from shunter.service.live.panels import Bar, Column, Fact, Lane, facts, gantt, table
from shunter.service.live.sources import Panels

if TYPE_CHECKING:
    from playwright.sync_api import Browser, CDPSession, Page

TOKEN = "a-token-for-this-benchmark-of-thirty-two-signs"
PANELS, ROWS, BARS = 20, 20, 400
READ_S, CHART_S = 5.0, 0.5
START_S = 60.0
FLAT = 1.10
TICKS = os.sysconf("SC_CLK_TCK")


class Synthetic:
    """A source that changes all the time."""

    name, kind = "synthetic", "made"

    def __init__(self, rate: float) -> None:
        self.period_s = 0.0
        self._rate = rate
        self._began = time.monotonic()
        self._round = 0
        self.is_over = Path(os.environ.get("SHUNTER_LIVE_STOP", "/nonexistent"))

    def read(self) -> Panels:
        """Returns all panels; so many of them have changed that the rate is what was asked for."""
        if not self.is_over.exists():
            due = int((time.monotonic() - self._began) * self._rate / PANELS)
            if due <= self._round:
                time.sleep(PANELS / self._rate / 4)
            else:
                self._round += 1
        else:
            time.sleep(0.2)
        number = self._round
        panels: Panels = {
            f"panel {place}": table(
                f"Panel {place}",
                [Column("Job"), Column("Number", "number")],
                [[f"job {row}", number + row] for row in range(ROWS)],
            )
            for place in range(PANELS)
        }
        chart = int(number * PANELS / self._rate / CHART_S)
        lanes = [Lane(f"core {lane}", lane, lane + 1) for lane in range(40)]
        bars = [
            Bar(
                bar % 40, bar % 40 + 1, 100.0 * (bar // 40) + chart, 100.0 * (bar // 40) + chart + 90, "ended", str(bar)
            )
            for bar in range(BARS)
        ]
        return {
            "facts": facts("Now", [Fact("Round", number, "number")]),
            **panels,
            "gantt": gantt("Chart", lanes, bars, now_s=1000.0),
        }

    def ask(self, question: Mapping[str, Any]) -> Panels:
        """Is asked nothing."""
        return {}


def serve(port: int, rate: float) -> None:
    """Runs a service with the synthetic source until SIGTERM, and tells at the end what the hub has counted."""
    from shunter.service.app import create_app
    from shunter.service.guard import LOOPBACK_NAMES, Door
    from shunter.service.limits import Limits
    from shunter.service.live.hub import Hub
    from shunter.service.running import Address
    from shunter.service.running import serve as serve_until_stopped
    from shunter.service.service import Loaded, Service

    limits, address = Limits(), Address(port=port)
    hub = Hub([Synthetic(rate)])
    opened = address.open()
    app = create_app(Service(Loaded({"fcfs": {"policy": "fcfs"}}), limits), Door(LOOPBACK_NAMES, TOKEN.encode()), hub)
    serve_until_stopped(app, address, limits, opened)
    print(json.dumps({"changes": hub.changes, "merged": hub.merged}))


class Server:
    """The service as a process."""

    def __init__(self, port: int, rate: float, stop: Path) -> None:
        words = [sys.executable, __file__, "--serve", str(port), "--rate", str(rate)]
        environment = {**os.environ, "SHUNTER_LIVE_STOP": str(stop), "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
        until = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except ConnectionRefusedError:
                assert time.monotonic() < until, "the service does not start"
                time.sleep(0.02)

    def memory_mb(self) -> float:
        """Returns the resident set."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def cpu_s(self) -> float:
        """Returns the processor time so far."""
        words = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / TICKS

    def stop(self) -> dict[str, int]:
        """Ends it in order; returns what it has counted."""
        self._process.send_signal(signal.SIGTERM)
        said, _ = self._process.communicate(timeout=60)
        found: dict[str, int] = json.loads(said)
        return found

    def kill(self) -> None:
        """Ends it at once."""
        self._process.kill()
        self._process.communicate()


@dataclass
class Client:
    """A plain client of the events: it keeps the newest state of each panel, and comes back when it was cut off."""

    port: int
    events: int = 0
    bytes: int = 0
    states: dict[str, Any] = field(default_factory=dict)
    full_at: float = 0.0
    """When all panels were there, since the latest connection."""
    is_over: bool = False

    def run(self) -> None:
        """Listens until it is told that all is over."""
        while not self.is_over:
            try:
                self._listen()
            except OSError:
                time.sleep(0.1)

    def _listen(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port), timeout=15) as opened:
            opened.sendall(
                f"GET /live/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
            )
            left, here = b"", set()
            while not self.is_over:
                piece = opened.recv(1 << 16)
                if not piece:
                    return
                self.bytes += len(piece)
                left += piece
                *events, left = left.split(b"\n\n")
                for event in events:
                    start = event.find(b"event: panel\ndata: ")
                    if start < 0:
                        continue
                    # What HTTP puts around pieces stands between events, never in one.
                    told = json.loads(event[start + 19 :])
                    self.events += 1
                    self.states[told["key"]] = told["panel"]
                    here.add(told["key"])
                    if len(here) == PANELS + 2 and not self.full_at:
                        self.full_at = time.monotonic()


@dataclass
class Readings:
    """What was measured every few seconds."""

    memory_mb: list[float] = field(default_factory=list)
    heaps_mb: list[list[float]] = field(default_factory=list)


def is_flat(values: Sequence[float]) -> bool:
    """Returns whether the last third is not above the second third."""
    third = max(1, len(values) // 3)
    return mean(values[-third:]) <= FLAT * mean(values[third : 2 * third] or values[:third])


def open_pages(browser: Browser, port: int, count: int) -> list[tuple[Page, CDPSession]]:
    """Opens pages, each in a browser profile of its own."""
    found = []
    for _ in range(count):
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        page.goto(f"http://127.0.0.1:{port}/live#{TOKEN}")
        page.wait_for_selector("#tabs [role=tab]")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        found.append((page, session))
    return found


def heap_mb(session: CDPSession) -> float:
    """Returns the heap of a page that is in use."""
    session.send("HeapProfiler.collectGarbage")
    told = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in told if one["name"] == "JSHeapUsedSize")) / 1e6


def round_of(page: Page) -> int:
    """Returns the number that a page shows."""
    return int(page.locator("[data-key=facts] .value").inner_text().replace(",", ""))


def measure(given: argparse.Namespace) -> bool:
    """Runs it all; returns whether everything is as wanted."""
    from playwright.sync_api import sync_playwright

    console = Console()
    program = shutil.which("chromium")
    if program is None:
        console.print("chromium is not installed; only plain clients are measured")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    stop = Path(f"/tmp/shunter-live-{os.getpid()}.stop")
    stop.unlink(missing_ok=True)
    server = Server(port, given.rate, stop)
    clients = [Client(port) for _ in range(given.clients)]
    for client in clients:
        threading.Thread(target=client.run, daemon=True).start()
    try:
        with sync_playwright() as playwright:
            arguments = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking"]
            browser = playwright.chromium.launch(executable_path=program, args=arguments) if program else None
            pages = open_pages(browser, port, given.pages) if browser else []
            good = watch(console, server, clients, pages, given, stop)
            stop.unlink(missing_ok=True)
            if not given.no_restart:
                good = restart(console, server, clients, pages, given, stop) and good
            else:
                server.stop()
            return good
    finally:
        stop.unlink(missing_ok=True)


def watch(
    console: Console, server: Server, clients: Sequence[Client], pages: Sequence[tuple[Page, CDPSession]],
    given: argparse.Namespace, stop: Path,
) -> bool:  # fmt: skip
    """Measures for the given time, and then that nobody lacks the last state."""
    time.sleep(2.0)
    readings = Readings()
    began, cpu_s, before = time.monotonic(), server.cpu_s(), sum(client.events for client in clients)
    first_round = latest_round(clients)
    while time.monotonic() - began < given.seconds:
        time.sleep(min(READ_S, given.seconds))
        readings.memory_mb.append(server.memory_mb())
        readings.heaps_mb.append([heap_mb(session) for _, session in pages])
    took_s = time.monotonic() - began
    spent_s, rounds = server.cpu_s() - cpu_s, latest_round(clients) - first_round
    told = (sum(client.events for client in clients) - before) / len(clients)
    stop.touch()
    time.sleep(3.0)
    last = latest_round(clients)
    lost = sum(value != last for client in clients for value in numbers(client))
    behind = [last - round_of(page) for page, _ in pages]
    shown = Shown(title=f"{took_s:.0f} s, {len(pages)} pages and {len(clients)} clients")
    for name in ("what", "value", ""):
        shown.add_column(name)
    changed = rounds * (PANELS + 1) + took_s / CHART_S
    rate_ok, memory_ok = changed / took_s >= 0.95 * given.rate, is_flat(readings.memory_mb)
    shown.add_row("events a second, from the source", f"{changed / took_s:,.0f}", verdict(rate_ok))
    shown.add_row("events a second, told to each client", f"{told / took_s:,.0f}", "")
    shown.add_row("merged (told as a later state)", f"{1 - told / changed:.0%}", "")
    shown.add_row(
        "panels without their last state",
        f"{lost} of clients, {sum(map(bool, behind))} of pages",
        verdict(not lost and not any(behind)),
    )
    shown.add_row("processor time of the server", f"{spent_s:.1f} s ({spent_s / took_s:.0%} of a core)", "")
    shown.add_row("memory of the server, MB", " ".join(f"{one:.0f}" for one in readings.memory_mb), verdict(memory_ok))
    heaps_ok = True
    for place in range(len(pages)):
        heap = [one[place] for one in readings.heaps_mb]
        heaps_ok = heaps_ok and is_flat(heap)
        shown.add_row(f"heap of page {place + 1}, MB", " ".join(f"{one:.1f}" for one in heap), verdict(is_flat(heap)))
    shown.add_row("read by all clients", f"{sum(client.bytes for client in clients) / 1e6:,.0f} MB", "")
    console.print(shown)
    return rate_ok and memory_ok and heaps_ok and not lost and not any(behind)


def latest_round(clients: Sequence[Client]) -> int:
    """Returns the number of the latest round that a client has seen."""
    return max(
        client.states.get("facts", {"content": {"facts": [{"value": 0}]}})["content"]["facts"][0]["value"]
        for client in clients
    )


def numbers(client: Client) -> list[int]:
    """Returns the round of each panel, as a client has it."""
    return [panel["content"]["rows"][0][1] for key, panel in client.states.items() if key.startswith("panel ")]


def restart(
    console: Console, server: Server, clients: Sequence[Client], pages: Sequence[tuple[Page, CDPSession]],
    given: argparse.Namespace, stop: Path,
) -> bool:  # fmt: skip
    """Kills the server and starts it again; says after how long everybody has a full state."""
    server.kill()
    for client in clients:
        client.full_at = 0.0
    again = Server(clients[0].port, given.rate, stop)
    began, back = time.monotonic(), []
    for page, _ in pages:
        page.locator("#connection[data-state=connected]").wait_for(timeout=30_000)
        back.append(time.monotonic() - began)
    until = time.monotonic() + 30
    while not all(client.full_at for client in clients) and time.monotonic() < until:
        time.sleep(0.05)
    good = all(client.full_at for client in clients)
    slowest = max((client.full_at - began for client in clients if client.full_at), default=0.0)
    counted = again.stop()
    pages_s = ", ".join(f"{one:.1f} s" for one in back) or "-"
    console.print(
        f"After a restart: pages are back after {pages_s}, the last client has a full state after {slowest:.1f} s "
        f"{verdict(good)}; the second server counted {counted['changes']:,} changes"
    )
    for client in clients:
        client.is_over = True
    return good


def main() -> int:
    """Runs it; returns 1 where something is not as wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=1000.0, help="events a second")
    parser.add_argument("--pages", type=int, default=2)
    parser.add_argument("--clients", type=int, default=18)
    parser.add_argument("--no-restart", action="store_true")
    parser.add_argument("--serve", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.rate)
        return 0
    return 0 if measure(given) else 1


if __name__ == "__main__":
    sys.exit(main())
