"""How much a service takes on, and how long it waits for anybody."""

from __future__ import annotations

import os
from dataclasses import dataclass

from shunter.checks import TIME, check_fields, declared


@dataclass(frozen=True)
class Limits:
    """The limits of a service. Times end in ``_s``."""

    deadline_s: float = declared(0.2, "How long a decision may take before somebody stands in.", low=0.001, high=600)
    fallback: str = declared("fcfs", "The classic policy that decides when another cannot.")
    max_wait_s: float | None = declared(
        7 * 86_400.0, "A job that has waited so long goes first, whatever the policy says.", low=1.0, metavar=TIME
    )
    most_failures: int = declared(3, "So many failures within the window open the breaker.", low=1, high=1000)
    failure_window_s: float = declared(600.0, "The window in which failures count.", low=1)
    probe_s: float = declared(60.0, "How long an open breaker waits before one attempt.", low=0.1)
    rate: float = declared(5000.0, "How many requests a second are answered.", low=0.1, high=1e6)
    body_mb: float = declared(64.0, "The largest body of a request, in MB.", low=0.001, high=1024)
    head_s: float = declared(5.0, "How long the head of a request may take to come.", low=0.05, high=600)
    body_s: float = declared(20.0, "How long its body may take to come.", low=0.05, high=3600)
    answer_s: float = declared(60.0, "How long an answer may take, and its way to the client.", low=0.05, high=3600)
    idle_s: float = declared(75.0, "How long a connection is kept on which nothing is asked.", low=0.05, high=3600)
    connections: int = declared(256, "How many connections there are at a time.", low=1, high=100_000)
    snapshots: int = declared(
        16, "How many posted snapshots are kept; the longest unused goes first.", low=1, high=10_000
    )
    threads: int = declared(lambda: os.cpu_count() or 1, "How many threads work on long requests.", low=1, high=1024)
    in_line: int = declared(32, "How many requests may wait for a thread.", low=0, high=100_000)
    futures: int = declared(1000, "The most futures that one request may ask for.", low=1, high=100_000)
    reload_s: float = declared(2.0, "How often the files of policies are looked at.", low=0.05, high=86_400)

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def body_bytes(self) -> int:
        """The largest body in bytes."""
        return int(self.body_mb * 1_000_000)
