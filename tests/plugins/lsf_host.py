"""The plugin for LSF in an emulated mbschd: how it is built and driven, and the same state in Python."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

import polars as pl
import pytest

from shunter import Cluster, Workload, _core
from shunter.model.cluster import Node
from shunter.model.schedule import Phase
from shunter.model.snapshot import LiveJob, Snapshot
from tests.support import PROJECT

FOLDER = PROJECT / "plugins" / "lsf"
NOW_S = 1_700_000_000


@dataclass(frozen=True)
class Host:
    """A host of the scene."""

    name: str
    slots: int
    memory_mb: int


@dataclass(frozen=True)
class Block:
    """A bucket of waiting jobs."""

    slots: int
    memory_mb: int
    pending: int
    submit_s: int
    limit_s: int
    priority: int = 0
    user: str = "ann"
    queue: str = "normal"

    @property
    def slot_memory_mb(self) -> int:
        """What each slot reserves."""
        return -(-self.memory_mb // self.slots)


@dataclass(frozen=True)
class Run:
    """A job like those of a block, that runs already on one host."""

    block: int
    submit_s: int
    start_s: int
    host: int
    slots: int
    memory_mb: int


@dataclass(frozen=True)
class Scene:
    """What the emulated scheduler begins with."""

    hosts: tuple[Host, ...]
    blocks: tuple[Block, ...]
    runs: tuple[Run, ...] = ()

    def write(self, path: Path) -> Path:
        """Writes it as the host program reads it."""
        lines = [f"now {NOW_S}"]
        lines += [f"host {host.name} {host.slots} {host.memory_mb}" for host in self.hosts]
        lines += [
            f"block {one.queue} {one.user} {one.slots} {one.memory_mb} {one.pending} {one.submit_s} {one.limit_s} "
            f"{one.priority}"
            for one in self.blocks
        ]
        lines += [
            f"run {run.block} {run.submit_s} {run.start_s} {self.hosts[run.host].name} {run.slots} {run.memory_mb}"
            for run in self.runs
        ]
        path.write_text("\n".join(lines) + "\n")
        return path


@dataclass(frozen=True)
class State:
    """The same in Python."""

    workload: Workload
    cluster: Cluster
    snapshot: Snapshot
    block_of: tuple[int, ...]
    """By job; −1 for those that run."""


def state_of(scene: Scene) -> State:
    """Returns the state of which the plugin is told; every job of a block counts as submitted with its first."""
    rows: list[tuple[float, Block, Run | None, int]] = [
        (run.submit_s, scene.blocks[run.block], run, -1) for run in scene.runs
    ]
    for number, block in enumerate(scene.blocks):
        rows += [(block.submit_s, block, None, number)] * block.pending
    rows.sort(key=lambda row: row[0])
    count = len(rows)
    sizes = [
        (run.slots, run.memory_mb // run.slots) if run else (block.slots, block.slot_memory_mb)
        for _, block, run, _ in rows
    ]
    frame = pl.DataFrame(
        {
            "job_id": pl.Series(range(count), dtype=pl.Int64),
            "submit_s": pl.Series([float(row[0]) for row in rows], dtype=pl.Float64),
            "run_s": pl.Series([float(row[1].limit_s) for row in rows], dtype=pl.Float64),
            "requested_s": pl.Series([float(row[1].limit_s) for row in rows], dtype=pl.Float64),
            "tasks": pl.Series([slots for slots, _ in sizes], dtype=pl.Int64),
            "cores_per_task": pl.Series([1.0] * count, dtype=pl.Float64),
            "memory_mb_per_task": pl.Series([float(memory) for _, memory in sizes], dtype=pl.Float64),
            "gpus_per_task": pl.Series([0.0] * count, dtype=pl.Float64),
            "user": pl.Series([row[1].user for row in rows], dtype=pl.String),
            "priority": pl.Series([None if row[2] else float(row[1].priority) for row in rows], dtype=pl.Float64),
        }
    )
    jobs = [
        LiveJob(Phase.RUNNING, run.start_s, None, [(run.host, run.slots)]) if run else LiveJob(Phase.WAITING)
        for _, _, run, _ in rows
    ]
    nodes = tuple(Node(host.name, float(host.slots), host.memory_mb) for host in scene.hosts)
    return State(
        Workload.from_frame(frame, name="scene", content_sha256="scene"),
        Cluster.from_nodes(nodes, "scene"),
        Snapshot.live(NOW_S, jobs, [False] * len(nodes)),
        tuple(row[3] for row in rows),
    )


@dataclass(frozen=True)
class Built:
    """The plugin and its host program."""

    plugin: Path
    program: Path


def build(folder: Path) -> Built:
    """Builds both with the core that Python has; skips where there is no compiler."""
    for tool in ("cc", "make"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    [library] = Path(str(_core.__file__)).parent.glob("lib_core.*")
    told = [f"BUILD={folder}", f"CORE_LIBRARY={library}"]
    subprocess.run(["make", "--silent", "-C", str(FOLDER), *told, "host"], check=True, capture_output=True)
    return Built(folder / "schmod_shunter.so", folder / "mbschd_host")


@dataclass(frozen=True)
class Try:
    """A block that was tried, and where its job started; nowhere: it did not."""

    block: int
    places: tuple[tuple[str, int], ...]


class Emulation:
    """An emulated mbschd that runs, with the plugin in it."""

    def __init__(self, built: Built, scene: Path, conf: Path, *wrapper: str) -> None:
        """Starts it."""
        command = [*wrapper, str(built.program), str(built.plugin), "scene", str(scene)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "SHUNTER_LSF_CONF": str(conf)},
        )

    def __enter__(self) -> Emulation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            _open(stream).close()

    def ask(self, command: str) -> list[str]:
        """Gives a command, and returns the lines that it prints."""
        print(command, file=_open(self.process.stdin), flush=True)
        lines: list[str] = []
        for line in _open(self.process.stdout):
            if line.strip() == "done":
                return lines
            lines.append(line.strip())
        raise AssertionError(f"the host program ended: {_open(self.process.stderr).read()}")

    def cycle(self) -> list[Try]:
        """Runs a cycle, and returns what was tried."""
        found = []
        for line in self.ask("cycle"):
            _, block, *places = line.split()
            parts = [place.rsplit(":", 1) for place in places]
            found.append(Try(int(block), tuple((name, int(slots)) for name, slots in parts)))
        return found

    def end(self) -> tuple[int, str]:
        """Ends it; returns how many files were opened in cycles, and its log."""
        _open(self.process.stdin).close()
        last = _open(self.process.stdout).read().split()
        log = _open(self.process.stderr).read()
        assert self.process.wait(timeout=240) == 0, log
        assert last[0] == "forbidden"
        return int(last[1]), log


def _open(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def write_conf(path: Path, **settings: object) -> Path:
    """Writes the plugin's settings, which nobody else may change."""
    fresh = path.with_suffix(".new")
    fresh.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))
    fresh.chmod(0o600)
    # A file that is half written would be read, too.
    return fresh.replace(path)


def counted(path: Path) -> dict[str, float]:
    """Returns the counters of a status file."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    pairs = [line.removeprefix("shunter_lsf_").rsplit(" ", 1) for line in lines]
    return {name: float(value) for name, value in pairs}
