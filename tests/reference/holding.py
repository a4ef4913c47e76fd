"""What holds resources: a job that runs, and a reservation."""

from __future__ import annotations

from dataclasses import dataclass

from tests.reference.model import Allocation


@dataclass(frozen=True)
class Running:
    """A job that runs: since when, until when in truth, and until when by its limit."""

    job: int
    start_ms: int
    end_ms: int
    limit_end_ms: int
    allocation: Allocation


@dataclass(frozen=True)
class Reservation:
    """A start time together with nodes and devices, held for as long as the job is expected to run on them."""

    start_ms: int
    allocation: Allocation
