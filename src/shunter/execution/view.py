"""What a backend shows to whoever decides, and what is decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster

USUAL_TIME_S: Final = 86_400
"""How long a job is taken to run that names no time, where nothing is learned of its kind."""


@dataclass(slots=True)
class SeenJob:
    """A job as a scheduler knows it. Times are seconds since 1970."""

    id: int
    submit_s: float
    cores: int
    memory_mb: int
    gpus: int
    requested_s: float | None
    """How long its user allows it to run; None: nothing is said."""
    kind: str
    """What estimates tell jobs apart by."""
    priority: int
    start_s: float | None = None
    end_s: float | None = None
    devices: tuple[int, ...] = ()
    """The GPUs that it has, while it runs."""


@dataclass(frozen=True)
class View:
    """What is known at an instant."""

    now_s: float
    cluster: Cluster
    waiting: Sequence[SeenJob]
    """Those that may start; whoever is held, paused or waits for another job is not among them."""
    running: Sequence[SeenJob]
    ended: Sequence[SeenJob]
    """The latest ones, from which estimates learn."""


@dataclass(frozen=True)
class Plan:
    """What is decided, and why."""

    policy: str
    """Who decided: the policy's text, or that of the one that stood in for it."""
    starts: tuple[int, ...]
    """Who starts now, in this order."""
    line: tuple[int, ...]
    """Those that go on waiting, the next first."""
    reasons: dict[int, str]
    """Why each of those waits."""
    seconds: float
    """How long deciding took."""
    failure: str = ""
    """Why the policy itself did not decide, if it did not."""
