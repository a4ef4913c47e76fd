"""Jobs of a reading from the records of bjobs."""

from __future__ import annotations

import math
import re
from typing import Final

from shunter.execution.lsf.machine import Machine, Queue
from shunter.execution.lsf.records import Record
from shunter.execution.lsf.values import (
    ENDS,
    STATES,
    barrier_of,
    devices_of,
    id_of,
    memory_mb,
    run_limit_s,
    seconds,
    slots_of,
    time_s,
)
from shunter.execution.operating.site import SiteJob, State
from shunter.workloads.formats.lsf import parse_requirement

_SPAN: Final = re.compile(r"span\s*\[\s*(?:(hosts)\s*=\s*1\b|ptile\s*=\s*'?(\d{1,6}))", re.IGNORECASE)
_HOST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def job_of(record: Record, machine: Machine, now_s: float) -> SiteJob:
    """Returns a job.

    Args:
        record: What bjobs tells of it.
        machine: The queues, for what holds where the job says nothing.
        now_s: The time of the reading.

    Raises:
        SiteError: It has no id.
    """
    id, address, array = id_of(record["JOBID"], record.get("JOBINDEX", ""), record.get("JOB_NAME", ""))
    stat = record.get("STAT", "")
    allocation = slots_of(record.get("ALLOC_SLOT") or record.get("EXEC_HOST", ""))
    state = STATES.get(stat, State.OTHER)
    if state == State.RUNNING and not allocation:
        state = State.OTHER
    queue = machine.queues.get(record.get("QUEUE", ""), Queue())
    requirement = record.get("COMBINED_RESREQ") or record.get("EFFECTIVE_RESREQ", "")
    is_pending = state == State.PENDING
    had = allocation if not is_pending else ()
    cores = sum(count for _, count in had) or _slots(record)
    span = _SPAN.search(requirement)
    nodes = len(had) or (math.ceil(cores / int(span[2])) if span and span[2] and int(span[2]) else 1)
    memory, gpus = parse_requirement(requirement)
    devices = devices_of(record.get("GPU_ALLOC", "")) if had else None
    asked_gpus = round(gpus.of_job(nodes, cores)) if gpus else _whole(record.get("GPU_NUM", "")) or 0
    submit_s = min(now_s, time_s(record.get("SUBMIT_TIME", ""), now_s) or now_s)
    start_s, end_s = _times(record, state, submit_s, now_s)
    return SiteJob(
        id=id,
        address=address,
        array=array,
        state=state,
        status=ENDS.get(stat, ""),
        reason=record.get("PEND_REASON", ""),
        barrier=_barrier(record, queue, now_s) if is_pending else "",
        submit_s=submit_s,
        start_s=start_s,
        end_s=end_s,
        requested_s=run_limit_s(record.get("RUNTIMELIMIT", "")) or queue.limit_s,
        cores=cores,
        tasks=cores,
        nodes=nodes,
        is_on_one_node=bool(span and span[1]),
        # A limit (-M) takes nothing from others; what a job reserves does, and what it uses while it runs.
        memory_mb=_larger(memory.of_job(nodes, cores) if memory else None, memory_mb(record.get("MEM", ""))),
        gpus=sum(map(len, devices.values())) if devices else asked_gpus,
        partitions=(record["QUEUE"],) if record.get("QUEUE") else (),
        user=record.get("USER", ""),
        account=record.get("PROJ_NAME", ""),
        priority=_whole(record.get("JOB_PRIORITY", "")) or 0,
        own_nodes=record.get("ASK_HOSTS", ""),
        required_nodes=_asked(record.get("ASK_HOSTS", "")),
        allocation=had if state == State.RUNNING else (),
        devices=devices if state == State.RUNNING else None,
    )


def _slots(record: Record) -> int:
    """Returns how many slots a job asks for."""
    told = (_whole(record.get(name, "")) for name in ("NREQ_SLOT", "MIN_REQ_PROC", "SLOTS"))
    return next((count for count in told if count), 1)


def _whole(cell: str) -> int | None:
    return int(cell) if re.fullmatch(r"\d{1,9}", cell.strip()) else None


def _larger(one: float | None, other: float | None) -> float | None:
    return max((value for value in (one, other) if value is not None), default=None)


def _asked(cell: str) -> str:
    """Returns the one host that a job is bound to as commands name it; other requests as they are told."""
    word = cell.strip().removesuffix("!")
    return word if _HOST.fullmatch(word) else cell.strip()


def _times(record: Record, state: State, submit_s: float, now_s: float) -> tuple[float | None, float | None]:
    """Returns start and end.

    Times may be told in minutes alone; how long a job has run is told in seconds. Clocks and rounding must not let a
    job start before it came.
    """
    start_s, run_s = time_s(record.get("START_TIME", ""), now_s), seconds(record.get("RUN_TIME", ""))
    if state == State.RUNNING:
        told_s = start_s
        if told_s is None or (run_s is not None and abs(now_s - run_s - told_s) < 60):
            told_s = now_s - (run_s or 0.0)
        return max(submit_s, min(told_s, now_s)), None
    if state != State.ENDED or start_s is None:
        return None, None
    end_s = time_s(record.get("FINISH_TIME", ""), now_s)
    if end_s is not None and run_s is not None and run_s > 0:
        start_s = end_s - run_s
    return max(submit_s, start_s), end_s


def _barrier(record: Record, queue: Queue, now_s: float) -> str:
    """Returns what keeps a job from starting, whoever orders the queue: LSF's own reason where it has one."""
    reason = record.get("PEND_REASON", "").strip()
    if record.get("STAT") == "PSUSP":
        return reason or "PSUSP"
    barrier = barrier_of(reason)
    begin_s = time_s(record.get("SPECIFIED_START_TIME", ""), now_s)
    if not barrier and begin_s is not None and begin_s > now_s + 1:
        barrier = "it may not start yet"
    return barrier or ("" if queue.is_active else f"the queue is inactive ({queue.status})")
