"""Slurm's accounting as ``sacct --json`` prints it; versions 21.08 to 24.11 write some values differently."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from shunter.workloads.formats.slurm import (
    CLUSTER_NOTE,
    UNKNOWN_WORDS,
    Resources,
    job_table,
    only,
    state_word,
)
from shunter.workloads.text.json_text import encodable, read_elements
from shunter.workloads.text.log import read_jobs
from shunter.workloads.text.repairs import PLACE

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

_SCHEMA: Final[dict[str, type[pl.DataType]]] = {
    "job_id": pl.String,
    "submit_s": pl.Float64,
    "start_s": pl.Float64,
    "end_s": pl.Float64,
    "eligible_s": pl.Float64,
    "run_s": pl.Float64,
    "requested_s": pl.Float64,
    "cores": pl.Float64,
    "nodes": pl.Float64,
    "memory_mb": pl.Float64,
    "gpus": pl.Float64,
    "gpu_type": pl.String,
    "used_memory_mb_per_task": pl.Float64,
    "started": pl.Boolean,
    "ended": pl.Boolean,
    "placed": pl.Boolean,
    "status": pl.String,
    "priority": pl.Float64,
    "user": pl.String,
    "group": pl.String,
    "account": pl.String,
    "qos": pl.String,
    "partition": pl.String,
    "name": pl.String,
    "hosts": pl.String,
}
_ROWS: Final = 10_000
"""How many jobs are put into a frame at a time."""
_NO_VALUE: Final = 0xFFFF_FFFE
"""From here on, 32-bit numbers of older versions mean "not set" or "infinite"."""
_PER_CPU_FLAG: Final = 1 << 63
"""What older versions add to memory per CPU."""
_ODD_RULE: Final = "value of another kind than sacct writes: taken as unknown"


def recognizes(source: Source) -> bool:
    """Returns whether the text is an object with jobs that have what only accounting has, unlike those of squeue."""
    text = source.head.lstrip()
    # squeue and scontrol also print "jobs", but only of accounting is there an end to learn from.
    if not text.startswith(b"{") or re.search(rb'"jobs"\s*:\s*\[', text) is None:
        return False
    return re.search(rb'"submission"\s*:', text) is not None and re.search(rb'"association"\s*:', text) is not None


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads files that sacct has printed.

    Raises:
        InputError: A file is no such file, or no job is left.
    """
    return read_jobs(sources, reading, _frames, CLUSTER_NOTE, reruns=True)


def _frames(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    elements = read_elements(source, "jobs")
    while part := list(islice(elements, _ROWS)):
        places = repairs.places(source, [line for line, _ in part])
        rows = []
        for place, (_, element) in zip(places, part, strict=True):
            job = _Job(element)
            rows.append(job.row())
            if job.odd:
                repairs.record(_ODD_RULE, 1, place, job.odd[0])
        yield job_table(pl.DataFrame(rows, schema=_SCHEMA).with_columns(places.alias(PLACE)), repairs)


class _Job:
    """One element of the list."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self._job = job
        self.odd: list[str] = []
        """The values that are not what they should be, with their names."""

    def row(self) -> dict[str, object]:
        """Returns the values of `_SCHEMA`."""
        submit_s, eligible_s, start_s, end_s, run_s = (
            self._number("time", key) for key in ("submission", "eligible", "start", "end", "elapsed")
        )
        if run_s is None and start_s and end_s:
            run_s = end_s - start_s
        allocated, requested = (self._resources(key) for key in ("allocated", "requested"))
        cores = allocated.cores or self._number("required", "CPUs") or requested.cores
        nodes = self._number("allocation_nodes") or allocated.nodes
        # An allocation without GPUs means none, though some were requested.
        has_gpus = allocated if self._get("tres", "allocated") else requested
        limit_min = self._number("time", "limit")
        hosts = self._text("nodes")
        is_placed = (hosts or "none").lower() not in UNKNOWN_WORDS
        return {
            "job_id": self._id(),
            "submit_s": submit_s,
            "start_s": start_s,
            "end_s": end_s or None,
            "eligible_s": eligible_s or None,
            "run_s": run_s,
            "requested_s": None if limit_min is None or limit_min >= _NO_VALUE else limit_min * 60,
            "cores": cores,
            "nodes": nodes,
            "memory_mb": requested.memory_mb or allocated.memory_mb or self._required_mb(cores, nodes),
            "gpus": has_gpus.gpus,
            "gpu_type": has_gpus.gpu_type,
            "used_memory_mb_per_task": self._used_mb(),
            "started": start_s is None or start_s > 0,
            "ended": end_s is None or end_s > 0,
            "placed": is_placed,
            "status": self._status(),
            "priority": self._number("priority"),
            "user": self._text("user") or self._text("association", "user"),
            "group": self._text("group"),
            "account": self._text("account") or self._text("association", "account"),
            "qos": self._text("qos"),
            "partition": self._text("partition"),
            "name": self._text("name"),
            "hosts": hosts if is_placed else None,
        }

    def _get(self, *path: str) -> object:
        return _inner(self._job, *path)

    def _number(self, *path: str) -> float | None:
        return self._as_number(self._get(*path), "/".join(path))

    def _as_number(self, value: object, name: str) -> float | None:
        """Returns a number, which newer versions wrap into an object that also says whether it is set."""
        if isinstance(value, dict):
            if not value.get("set", True) or value.get("infinite"):
                return None
            value = value.get("number")
        # Beyond 64 bits it is no number that Slurm could have had.
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 64:
            return float(value)
        if value is not None:
            self.odd.append(f"{name} {str(value)[:40]}")
        return None

    def _text(self, *path: str) -> str | None:
        value = self._get(*path)
        if value is not None and not isinstance(value, str):
            self.odd.append(f"{'/'.join(path)} {str(value)[:40]}")
            return None
        return encodable(value) if value else None

    def _id(self) -> str | None:
        """Returns the id as sacct prints it without ``--json``: ``12``, ``12_3`` in an array, ``12+1`` in a group."""
        for group, member, sign in (("array", "task_id", "_"), ("het", "job_offset", "+")):
            first, rest = self._number(group, "job_id"), self._number(group, member)
            if first and rest is not None and rest < _NO_VALUE:
                return f"{first:.0f}{sign}{rest:.0f}"
        number = self._number("job_id")
        return None if number is None else f"{number:.0f}"

    def _status(self) -> str | None:
        state = self._get("state")
        state = state.get("current") if isinstance(state, dict) else state
        state = state[0] if isinstance(state, list) and state else state
        if isinstance(state, str):
            return state_word(encodable(state))
        if state is not None:
            self.odd.append(f"state {str(state)[:40]}")
        return None

    def _list(self, value: object) -> list[dict[str, Any]]:
        items = value if isinstance(value, list) else [] if value is None else [value]
        self.odd += [f"a list holds {str(item)[:40]}" for item in items if not isinstance(item, dict)]
        return [item for item in items if isinstance(item, dict)]

    def _resources(self, which: str) -> Resources:
        amounts: dict[str, float] = {}
        for item in self._list(self._get("tres", which)):
            count = self._as_number(item.get("count"), f"tres/{which}")
            if count is not None:
                name = "/".join(str(item[key]) for key in ("type", "name") if item.get(key))
                amounts[encodable(name).lower()] = count
        types = {
            key.partition(":")[2]: count for key, count in amounts.items() if key.startswith("gres/gpu:") and count
        }
        # Where the total is told, the types are parts of it; otherwise they add up to it.
        gpus = amounts.get("gres/gpu", sum(types.values()))
        return Resources(amounts.get("cpu"), amounts.get("node"), amounts.get("mem"), gpus, only(types))

    def _required_mb(self, cores: float | None, nodes: float | None) -> float | None:
        """Returns the memory of the whole job from what it asked for per CPU or per node."""
        per_cpu, per_node = (self._number("required", key) for key in ("memory_per_cpu", "memory_per_node"))
        either = self._get("required", "memory")
        if either is not None and not isinstance(either, int):
            self.odd.append(f"required/memory {str(either)[:40]}")
        # Older versions have one field for both, and mark memory per CPU by its highest bit.
        if isinstance(either, int) and 0 < either < _PER_CPU_FLAG << 1:
            per_cpu, per_node = (either - _PER_CPU_FLAG, None) if either >= _PER_CPU_FLAG else (None, either)
        if per_cpu and cores:
            return per_cpu * cores
        return per_node * nodes if per_node and nodes else None

    def _used_mb(self) -> float | None:
        """Returns the most memory that a task of any step used; sacct calls it "requested"."""
        largest = 0.0
        for step in self._list(self._get("steps")):
            for item in self._list(_inner(step, "tres", "requested", "max")):
                if item.get("type") == "mem":
                    largest = max(largest, self._as_number(item.get("count"), "steps/tres") or 0.0)
        return largest / 2**20 or None


def _inner(value: object, *path: str) -> object:
    """Returns what stands in objects within objects, or None."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
