"""Jobs and nodes from ``squeue --json`` and ``sinfo --json``, as versions 21.08 to 24.05 write them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from shunter.execution.operating.site import SiteError, SiteJob, SiteNode, State
from shunter.execution.slurm.values import (
    CLOSED,
    OPEN_REASONS,
    allocation_of,
    devices_of,
    state_of,
    tasks_text,
    text,
    whole,
    words,
)
from shunter.model.access import partition_names
from shunter.workloads.formats.slurm import Resources, gpus_of_gres, resources


def jobs_of_json(answer: bytes | Mapping[str, Any], now_s: float) -> list[SiteJob]:
    """Returns all jobs that ``squeue --json`` tells of, as it prints them or parsed.

    Raises:
        SiteError: It is no such answer.
    """
    return [_job(one, now_s) for one in _elements(answer, "jobs", "squeue", "job_id")]


def nodes_of_json(answer: bytes | Mapping[str, Any]) -> list[SiteNode]:
    """Returns all nodes that ``sinfo --json`` tells of, as it prints them or parsed.

    Raises:
        SiteError: It is no such answer, or one of a version that tells of groups of nodes.
    """
    return [_node(one) for one in _elements(answer, "nodes", "sinfo", "name")]


def _elements(answer: bytes | Mapping[str, Any], name: str, program: str, key: str) -> list[dict[str, Any]]:
    try:
        told = json.loads(answer) if isinstance(answer, bytes) else answer
    except (ValueError, RecursionError) as error:
        raise SiteError(f"{program} --json printed no JSON ({error})") from None
    found = told.get(name) if isinstance(told, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) and key in one for one in found):
        raise SiteError(f"{program} --json tells of no {name}")
    if isinstance(told.get("errors"), list) and told["errors"]:
        raise SiteError(f"{program} --json tells of errors: {str(told['errors'])[:200]}")
    return found


def _job(one: Mapping[str, Any], now_s: float) -> SiteJob:
    id, state = whole(one["job_id"]), state_of(words(one.get("job_state")))
    if id is None or id <= 0:
        raise SiteError(f"squeue --json tells of a job with the id {one['job_id']!r}")
    is_pending = state == State.PENDING
    asked = resources(text(one.get("tres_req_str"))) or Resources()
    had = resources(text(one.get("tres_alloc_str"))) or asked
    told = asked if is_pending else had
    cores = max(1, whole(one.get("cpus")) or int(told.cores or 1))
    allocation = allocation_of(one, cores) if state == State.RUNNING else ()
    if state == State.RUNNING and not allocation:
        state = State.OTHER
    nodes = len(allocation) or max(1, whole(one.get("node_count")) or int(told.nodes or 1))
    tasks = max(1, whole(one.get("tasks")) or 1)
    gpus, gpu_type = _gpus(one, told, nodes, tasks)
    limit_minutes = whole(one.get("time_limit"))
    address, array, trouble = _address(id, one)
    barrier = _barrier(one, now_s) or trouble
    names = [name for name, _ in allocation]
    asks_for = (text(one.get(key)) for key in ("required_nodes", "excluded_nodes", "features"))
    return SiteJob(
        id=id,
        address=address,
        array=array,
        state=state,
        status=next((word.lower() for word in words(one.get("job_state"))), ""),
        reason=text(one.get("state_reason")),
        barrier=barrier if is_pending else "",
        submit_s=float(whole(one.get("submit_time")) or now_s),
        eligible_s=_time(one.get("eligible_time")),
        start_s=None if is_pending else _time(one.get("start_time")),
        end_s=_time(one.get("end_time")) if state == State.ENDED else None,
        requested_s=limit_minutes * 60.0 if limit_minutes else None,
        cores=cores,
        tasks=tasks,
        nodes=nodes,
        is_on_one_node=whole(one.get("max_nodes")) == 1,
        memory_mb=told.memory_mb,
        gpus=gpus,
        gpu_type=gpu_type,
        partitions=partition_names(text(one.get("partition"))),
        user=text(one.get("user_name")) or str(whole(one.get("user_id")) or ""),
        account=text(one.get("account")),
        qos=text(one.get("qos")),
        priority=whole(one.get("priority")) or 0,
        nice=_signed(whole(one.get("nice")) or 0),
        own_nodes=" ".join(filter(None, asks_for)),
        required_nodes=text(one.get("required_nodes")),
        mark=text(one.get("admin_comment")),
        allocation=allocation,
        devices=devices_of(one.get("gres_detail"), names) if allocation else None,
    )


def _signed(value: int) -> int:
    """Returns a number that some versions write without its sign: 4294967196 is -100."""
    return value - (1 << 32) if value >= 1 << 31 else value


def _time(value: Any) -> float | None:  # noqa: ANN401 - whatever stands there
    seconds = whole(value)
    return float(seconds) if seconds else None


def _gpus(one: Mapping[str, Any], told: Resources, nodes: int, tasks: int) -> tuple[int, str | None]:
    """Returns how many GPUs a job has or asks for in all, and of which type."""
    if told.gpus:
        return int(told.gpus), told.gpu_type
    # Where accounting does not track GPUs, only what the user wrote tells of them.
    for key, times in (("tres_per_job", 1), ("tres_per_node", nodes), ("tres_per_task", tasks)):
        count, gpu_type = gpus_of_gres(text(one.get(key)))
        if count:
            return int(count) * times, gpu_type
    return 0, None


def _address(id: int, one: Mapping[str, Any]) -> tuple[str, int | None, str]:
    """Returns how commands name a record, its array, and what is wrong with that; an id of an array names all of it."""
    array = whole(one.get("array_job_id")) or None
    task, tasks = whole(one.get("array_task_id")), text(one.get("array_task_string"))
    if array is None:
        return str(id), None, ""
    if tasks:
        listed = tasks_text(tasks)
        return (f"{array}_[{listed}]", array, "") if listed else ("", array, "the array's tasks are not told")
    return (f"{array}_{task}", array, "") if task is not None else ("", array, "the array's task is not told")


def _barrier(one: Mapping[str, Any], now_s: float) -> str:
    """Returns what keeps a pending job from starting, whoever orders the queue."""
    reason = text(one.get("state_reason"))
    if reason.lower() not in OPEN_REASONS:
        return reason
    if not whole(one.get("priority")):
        return "held"
    eligible_s = whole(one.get("eligible_time"))
    if eligible_s is not None and (eligible_s == 0 or eligible_s > now_s + 1):
        return "not eligible yet"
    if text(one.get("resv_name")):
        return "has a reservation"
    return "part of a heterogeneous job" if whole(one.get("het_job_id")) else ""


def _node(one: Mapping[str, Any]) -> SiteNode:
    gpus, gpu_type = gpus_of_gres(text(one.get("gres")))
    states = {*words(one.get("state")), *words(one.get("state_flags"))}
    partitions = one.get("partitions")
    memory_mb = whole(one.get("real_memory"))
    return SiteNode(
        name=text(one["name"]),
        cores=max(1, whole(one.get("cpus")) or 1),
        # Slurm shows 1 MB for nodes whose memory is not configured.
        memory_mb=memory_mb if memory_mb is not None and memory_mb > 1 else None,
        gpus=int(gpus),
        gpu_type=gpu_type,
        partitions=tuple(sorted(text(name) for name in partitions)) if isinstance(partitions, list) else (),
        is_closed=not CLOSED.isdisjoint(states),
    )
