"""Jobs and nodes from squeue and sinfo without JSON: cells of our own choice, with a sign between that no cell has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from shunter.execution.operating.site import SiteError, SiteJob, SiteNode, State
from shunter.execution.slurm.values import CLOSED, OPEN_REASONS, allocation_of, state_of, tasks_text
from shunter.model.access import partition_names
from shunter.workloads.formats.slurm import gpus_of_gres, memory, number
from shunter.workloads.text.durations import limit_s

BETWEEN: Final = "\x1f"
"""A sign that no name, reason or list of nodes has."""
JOB_CELLS: Final = {
    "id": "%A", "array": "%F", "task": "%K", "state": "%T", "reason": "%r", "priority": "%Q", "submit": "%V",
    "start": "%S", "limit": "%l", "cores": "%C", "nodes": "%D", "memory": "%m", "gres": "%b", "partition": "%P",
    "user": "%u", "required": "%n", "nice": "%y", "list": "%N", "account": "%a", "qos": "%q", "features": "%f",
}  # fmt: skip
NODE_CELLS: Final = {
    "name": "%N", "cores": "%c", "memory": "%m", "gres": "%G", "partition": "%P", "state": "%T",
}  # fmt: skip
NOTHING: Final = ("N/A", "(null)", "NONE", "Unknown", "UNLIMITED", "NOT_SET", "")


def job_arguments() -> list[str]:
    """Returns what squeue is told to print."""
    return ["--noheader", "--all", "--states=all", "--format", BETWEEN.join(JOB_CELLS.values())]


def node_arguments() -> list[str]:
    """Returns what sinfo is told to print."""
    return ["--noheader", "--all", "--Node", "--format", BETWEEN.join(NODE_CELLS.values())]


def jobs_of_text(answer: bytes, now_s: float) -> list[SiteJob]:
    """Returns the jobs that squeue tells of in our cells.

    Raises:
        SiteError: A line has other cells.
    """
    return [_job(cells, now_s) for cells in _rows(answer, list(JOB_CELLS), "squeue")]


def nodes_of_text(answer: bytes) -> list[SiteNode]:
    """Returns the nodes that sinfo tells of in our cells; one in several partitions is told several times.

    Raises:
        SiteError: A line has other cells.
    """
    partitions: dict[str, list[str]] = {}
    found: dict[str, dict[str, str]] = {}
    for cells in _rows(answer, list(NODE_CELLS), "sinfo"):
        found[cells["name"]] = cells
        # The star marks the default partition.
        partitions.setdefault(cells["name"], []).append(cells["partition"].removesuffix("*"))
    # sinfo lists partitions in an order of its own, which means nothing.
    return [_node(cells, tuple(sorted(partitions[name]))) for name, cells in found.items()]


def _rows(answer: bytes, names: Sequence[str], program: str) -> Iterator[dict[str, str]]:
    for line in answer.decode(errors="replace").splitlines():
        cells = [cell.strip() for cell in line.split(BETWEEN)]
        if len(cells) != len(names):
            raise SiteError(f"{program} printed {line[:80]!r}; expected {len(names)} cells")
        yield dict(zip(names, cells, strict=True))


def time_of(cell: str) -> float | None:
    """Returns the time that a cell tells, in this machine's zone; None for none."""
    try:
        return None if cell in NOTHING else datetime.fromisoformat(cell).timestamp()
    except ValueError:
        return None


def memory_of(cell: str) -> float | None:
    """Returns the memory that a cell tells, in MB; None where it tells none."""
    found = memory(cell)
    return found.memory_mb if found and found.memory_mb else None


def reason_of(cell: str) -> str:
    """Returns the word of a reason: ``((ReqNodeNotAvail, UnavailableNodes:n1))`` is ``ReqNodeNotAvail``."""
    word = cell.strip("()").partition(",")[0].strip()
    # What JSON calls Resources is a sentence here.
    return "Resources" if word == "Nodes required for job are DOWN" else word


def _job(cells: dict[str, str], now_s: float) -> SiteJob:
    id, array = number(cells["id"]), number(cells["array"])
    if not id:
        raise SiteError(f"squeue tells of a job with the id {cells['id'][:40]!r}")
    state = state_of([cells["state"].upper()])
    is_pending = state == State.PENDING
    cores, nodes = max(1, int(number(cells["cores"]) or 1)), max(1, int(number(cells["nodes"]) or 1))
    allocation = allocation_of({"nodes": cells["list"]}, cores) if state == State.RUNNING else ()
    per_node_mb = memory_of(cells["memory"])
    gpus, gpu_type = gpus_of_gres("" if cells["gres"] in NOTHING else cells["gres"])
    address, is_known = str(int(id)), True
    in_array = cells["task"] not in NOTHING
    if in_array:
        tasks = tasks_text(cells["task"])
        is_known = bool(tasks and array)
        address = f"{int(array or 0)}_[{tasks}]" if is_known else ""
    reason = reason_of(cells["reason"])
    priority = int(number(cells["priority"]) or 0)
    barrier = "" if reason.lower() in OPEN_REASONS else reason
    barrier = barrier or ("" if priority else "held") or ("" if is_known else "the array's tasks are not told")
    required = "" if cells["required"] in NOTHING else cells["required"]
    features = "" if cells["features"] in NOTHING else cells["features"]
    return SiteJob(
        id=int(id),
        address=address,
        array=int(array) if in_array and array else None,
        state=State.OTHER if state == State.RUNNING and not allocation else state,
        status=cells["state"].lower(),
        reason=reason,
        barrier=barrier if is_pending else "",
        submit_s=time_of(cells["submit"]) or now_s,
        start_s=None if is_pending else time_of(cells["start"]),
        requested_s=None if cells["limit"] in NOTHING else limit_s(cells["limit"].replace("-", ":")),
        cores=cores,
        tasks=nodes,
        nodes=len(allocation) or nodes,
        memory_mb=None if per_node_mb is None else per_node_mb * nodes,
        gpus=int(gpus) * nodes,
        gpu_type=gpu_type,
        partitions=partition_names(cells["partition"]),
        user=cells["user"],
        account=cells["account"],
        qos=cells["qos"],
        priority=priority,
        nice=_signed(cells["nice"]),
        own_nodes=f"{required} {features}".strip(),
        required_nodes=required,
        allocation=allocation,
    )


def _signed(cell: str) -> int:
    return int(cell) if cell.lstrip("-").isdigit() else 0


def _node(cells: dict[str, str], partitions: tuple[str, ...]) -> SiteNode:
    gpus, gpu_type = gpus_of_gres("" if cells["gres"] in NOTHING else cells["gres"])
    memory_mb = number(cells["memory"].removesuffix("+"))
    # A state may have signs behind it: idle* does not answer, mixed- is planned for another job.
    state = cells["state"].upper()
    is_closed = not CLOSED.isdisjoint(state.rstrip("*~#!%$@^-+").split("+")) or state.endswith(("*", "$", "@", "^"))
    return SiteNode(
        name=cells["name"],
        cores=max(1, int(number(cells["cores"].removesuffix("+")) or 1)),
        memory_mb=int(memory_mb) if memory_mb and memory_mb > 1 else None,
        gpus=int(gpus),
        gpu_type=gpu_type,
        partitions=partitions,
        is_closed=is_closed,
    )
