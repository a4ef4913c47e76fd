"""The state of an emulated LSF: hosts, queues and jobs in one JSON file, changed under a lock."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Host:
    """A host that runs jobs."""

    name: str
    slots: int
    memory_mb: int = 16_000
    gpus: int = 0
    gpu_model: str = "TeslaV100"
    is_closed: bool = False


@dataclass
class Queue:
    """A queue; jobs of a higher priority go first."""

    name: str
    priority: int
    hosts: list[str] = field(default_factory=list)
    """Names of hosts or of groups; empty: all."""
    has_aps: bool = False
    has_fairshare: bool = False
    group: list[str] = field(default_factory=list)
    is_open: bool = True
    is_active: bool = True
    run_limit_min: int | None = None


@dataclass
class Job:
    """A job, or an element of an array."""

    id: int
    index: int
    user: str
    queue: str
    submit_s: float
    slots: int = 1
    run_s: float = 60.0
    """How long it will run."""
    limit_s: float | None = None
    name: str = "job"
    project: str = "default"
    command: str = "sleep"
    resreq: str = ""
    memory_mb: float = 0.0
    gpus: int = 0
    asked: str = ""
    after: int | None = None
    """It starts when this job is done."""
    begin_s: float | None = None
    priority: int = 50
    admin: float | None = None
    system: float | None = None
    stat: str = "PEND"
    start_s: float | None = None
    end_s: float | None = None
    places: dict[str, int] = field(default_factory=dict)
    devices: dict[str, list[int]] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"{self.id}[{self.index}]" if self.index else str(self.id)

    @property
    def is_waiting(self) -> bool:
        """Whether it stands in its queue."""
        return self.stat in ("PEND", "PSUSP")


@dataclass
class State:
    """Everything."""

    hosts: list[Host] = field(default_factory=list)
    queues: list[Queue] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    """Those that wait stand in the order of their queue."""
    next_id: int = 101
    is_paused: bool = False
    """Whether no job is started: the time between two cycles of LSF's scheduler."""
    is_old: bool = False
    """Whether it is a version before JSON."""
    shows_year: bool = True
    at_s: float = 0.0
    """Until when it is worked out."""

    def queue(self, name: str) -> Queue | None:
        """Returns a queue."""
        return next((queue for queue in self.queues if queue.name == name), None)

    def save(self, folder: Path) -> None:
        """Writes it."""
        temporary = folder / "state.new"
        temporary.write_text(json.dumps(asdict(self)), encoding="utf-8")
        temporary.replace(folder / "state.json")


def load(folder: Path) -> State:
    """Returns what is written."""
    told = json.loads((folder / "state.json").read_text(encoding="utf-8"))
    told["hosts"] = [Host(**one) for one in told["hosts"]]
    told["queues"] = [Queue(**one) for one in told["queues"]]
    told["jobs"] = [Job(**one) for one in told["jobs"]]
    return State(**told)


@contextmanager
def changing(folder: Path) -> Iterator[State]:
    """Lets nobody else work with the state meanwhile, and writes it at the end."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = load(folder)
        yield state
        state.save(folder)
