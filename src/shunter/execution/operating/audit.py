"""The audit: one JSON object a cycle, only ever appended, in files that are closed when they are full."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from shunter.checks import number, whole
from shunter.errors import InputError
from shunter.execution.operating.folder import FOLDER_MODE, OperationFolder, open_private, write_private
from shunter.execution.operating.picture import Picture, Row, Shape, rules_of
from shunter.execution.operating.site import Site, SiteJob, SiteNode, State
from shunter.model.cluster import CORES_LIMIT, GPUS_LIMIT, MEMORY_LIMIT_MB, Cluster, Node
from shunter.model.conditions import TIME_LIMIT_S
from shunter.model.schedule import Phase
from shunter.model.snapshot import Snapshot
from shunter.model.workload import Workload

SCHEMA: Final = 1
"""Of the lines of the audit, and of the inputs beside it."""
DAMAGE: Final = (
    *(InputError, OSError, EOFError, LookupError, TypeError, ValueError, AttributeError, RecursionError),
    *(ArithmeticError, zlib.error, pl.exceptions.PolarsError),
)
"""What goes wrong where a file is damaged: some of that is found out only where it is used."""
IDLE: Final = "idle.json.gz"
"""Among the inputs: the latest reading in which there was nothing to decide."""


class Audit:
    """Appends to the audit, and keeps what was decided on."""

    def __init__(self, folder: OperationFolder, most_mb: float, most_files: int, inputs_mb: float) -> None:
        self._folder = folder
        self.set_limits(most_mb, most_files, inputs_mb)

    def set_limits(self, most_mb: float, most_files: int, inputs_mb: float) -> None:
        """Takes over limits that have changed."""
        self._most_bytes, self._most_files = most_mb * 1e6, most_files
        self._inputs_bytes = inputs_mb * 1e6

    def append(self, line: Mapping[str, Any]) -> None:
        """Appends a line; one that is cut off by a crash ends where the next begins."""
        path = self._folder.audit
        if path.exists() and path.stat().st_size > self._most_bytes:
            self._rotate()
        with open_private(path) as file:
            file.write(json.dumps({"schema": SCHEMA, **line}, separators=(",", ":")).encode() + b"\n")

    def keep(self, picture: Picture) -> None:
        """Keeps what is decided on, under its hash; the oldest go when there is too much."""
        if not self._inputs_bytes:
            return
        folder = self._folder.inputs
        self._write(f"{picture.sha256}.json.gz", picture)
        files = sorted(folder.glob("*.json.gz"), key=lambda file: file.stat().st_mtime_ns)
        left = sum(file.stat().st_size for file in files)
        for file in files[:-1]:
            if left <= self._inputs_bytes:
                break
            left -= file.stat().st_size
            file.unlink()

    def keep_idle(self, picture: Picture) -> None:
        """Keeps the latest reading in which there was nothing to decide, in one file: start times are asked of it."""
        if self._inputs_bytes:
            self._write(IDLE, picture)

    def _write(self, name: str, picture: Picture) -> None:
        self._folder.inputs.mkdir(mode=FOLDER_MODE, exist_ok=True)
        write_private(self._folder.inputs / name, gzip.compress(input_json(picture).encode(), 4, mtime=0))

    def _rotate(self) -> None:
        path = self._folder.audit
        for place in range(self._most_files, 0, -1):
            older = path.with_name(f"{path.name}.{place}")
            newer = path if place == 1 else path.with_name(f"{path.name}.{place - 1}")
            if newer.exists():
                newer.replace(older)


def audit_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the lines of an audit, those of its closed files first.

    Raises:
        InputError: There is no such file, it cannot be read, or a line is none of an audit.
    """
    # Somebody may have put a copy beside them.
    closed = [file for file in path.parent.glob(f"{path.name}.*") if file.suffix[1:].isdecimal()]
    for file in [*sorted(closed, key=lambda file: -int(file.suffix[1:])), path]:
        try:
            texts = file.read_bytes().splitlines()
        except FileNotFoundError:
            raise InputError(f"{path}: there is no such file; name the audit.jsonl of an operation") from None
        except OSError as error:
            raise InputError(f"{file}: cannot be read ({error.strerror}); mend that") from None
        for place, text in enumerate(texts, start=1):
            try:
                line = json.loads(text)
            except ValueError:
                # A crash may have cut the last line of a process; what was decided then was not acted on.
                continue
            if not _is_line(line):
                raise InputError(f"{file}:{place}: is no line of an audit that this version reads")
            yield line


def latest_audit_lines(path: Path, most_bytes: int) -> list[dict[str, Any]]:
    """Returns the last lines of an audit, as many as there are in so many bytes.

    Raises:
        InputError: There is no such file.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - most_bytes))
            texts = file.read().splitlines()
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; name the audit.jsonl of an operation") from None
    found = []
    # The first may be the end of a longer one.
    for text in texts[1:] if size > most_bytes else texts:
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if _is_line(line):
            found.append(line)
    return found


def _is_line(line: object) -> bool:
    """Tells whether a line is one of an audit, by what is read of it here."""
    if not isinstance(line, dict) or line.get("schema") != SCHEMA:
        return False
    order, chosen, digest = line.get("order", []), line.get("chosen", {}), line.get("input_sha256")
    return (
        isinstance(line.get("time_s", None if "candidates" in line else 0), int | float)
        and (digest is None or (isinstance(digest, str) and {"order", "chosen", "policy"} <= line.keys()))
        and isinstance(line.get("candidates", []), list)
        and isinstance(order, list)
        and all(type(id) is int for id in order)
        and isinstance(chosen, dict)
        and all(id.isdecimal() for id in chosen)
    )


def input_json(picture: Picture) -> str:
    """Returns what was decided on as JSON: jobs, nodes and snapshot in Shunter's own terms."""
    nodes = [
        [node.name, node.cores, node.memory_mb, node.gpus, node.gpu_type, list(node.partitions)]
        for node in picture.cluster.nodes
    ]
    jobs = {name: column.to_list() for name, column in picture.workload.jobs.to_dict().items()}
    snapshot = json.loads(picture.snapshot.to_json())
    more = [
        [row.job.start_s, row.job.end_s, row.job.eligible_s, row.job.status, row.phase.value] for row in picture.rows
    ]
    told = {"schema": SCHEMA, "nodes": nodes, "jobs": jobs, "snapshot": snapshot, "times": more}
    return json.dumps({**told, "tiers": dict(picture.site.tiers)})


def _node(row: list[Any]) -> Node:
    name, cores, memory_mb, gpus, gpu_type, partitions = row
    texts = [name, *partitions, *([] if gpu_type is None else [gpu_type])]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a name, a type or a partition of a node is no text")
    cores = number("cores", cores, 0, CORES_LIMIT)
    memory_mb = None if memory_mb is None else whole("memory_mb", memory_mb, 0, MEMORY_LIMIT_MB)
    return Node(name, cores, memory_mb, whole("gpus", gpus, 0, GPUS_LIMIT), gpu_type, tuple(partitions))


def read_input(path: Path) -> Picture:
    """Returns what was decided on, from a file.

    Raises:
        InputError: It is no such file.
    """
    try:
        return _picture(json.loads(gzip.decompress(path.read_bytes())), path.name.partition(".")[0])
    except DAMAGE as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"{path}: is no input of an audit ({first}); take another copy") from None


def _picture(told: dict[str, Any], sha256: str) -> Picture:
    nodes = tuple(_node(row) for row in told["nodes"])
    frame = pl.DataFrame(told["jobs"], infer_schema_length=None)
    workload = Workload.from_frame(frame, name="site", content_sha256="site")
    snapshot = Snapshot.from_json(json.dumps(told["snapshot"]))
    rows = _rows(workload, told["times"])
    tiers = {str(name): int(tier) for name, tier in told.get("tiers", {}).items()}
    cluster = Cluster.from_nodes(nodes, "site", rules=rules_of(tiers, nodes))
    down = np.asarray(snapshot.down, bool)
    site_nodes = tuple(
        SiteNode(node.name, int(node.cores), node.memory_mb, node.gpus, node.gpu_type, is_closed=bool(is_down))
        for node, is_down in zip(nodes, down, strict=True)
    )
    site = Site(snapshot.now_ms / 1000, tuple(row.job for row in rows), site_nodes, tiers=tiers)
    return Picture(site, tuple(rows), workload, cluster, snapshot, sha256)


def _rows(workload: Workload, times: list[list[Any]]) -> list[Row]:
    states = {Phase.WAITING: State.PENDING, Phase.RUNNING: State.RUNNING}
    rows = []
    for one, (start_s, end_s, eligible_s, status, state) in zip(workload.jobs.to_dicts(), times, strict=True):
        phase = Phase(state)
        for name, time_s in (("start_s", start_s), ("end_s", end_s), ("eligible_s", eligible_s)):
            if time_s is not None:
                number(name, time_s, -TIME_LIMIT_S, TIME_LIMIT_S)
        cores = int(one["tasks"] * one["cores_per_task"])
        job = SiteJob(
            id=one["job_id"],
            address=str(one["job_id"]),
            state=states.get(phase, State.ENDED),
            submit_s=one["submit_s"],
            cores=cores,
            status=status,
            eligible_s=eligible_s,
            start_s=start_s,
            end_s=end_s,
            requested_s=one["requested_s"],
            gpu_type=one["gpu_type"],
            partitions=tuple(one["partition"].split(",")) if one["partition"] else (),
            user=one["user"] or "",
            account=one["group"] or "",
            qos=one["qos"] or "",
            priority=int(one["priority"] or 0),
        )
        shape = Shape(one["tasks"], one["cores_per_task"], one["memory_mb_per_task"], one["gpus_per_task"])
        rows.append(Row(job, phase, shape))
    return rows
