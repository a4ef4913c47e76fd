"""bjobs of an emulated LSF."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tests.execution.lsf.emulated_lsf.formats import Row, UsageError, chosen, clock, wrapped
from tests.execution.lsf.emulated_lsf.scheduler import aps, has_aps, in_order, reason
from tests.execution.lsf.emulated_lsf.state import Job, State

Answer = tuple[int, str, str]
"""Exit code, standard output, standard error."""
_VALUES = ("-u", "-q", "-o", "-m")
_FLAGS = ("-a", "-p", "-r", "-w", "-l", "-UF", "-aps", "-json", "-noheader", "-hms")
_HEADER = "JOBID      USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME"


def bjobs(state: State, words: Sequence[str]) -> Answer:
    """Shows jobs."""
    said, flags, ids = _parsed(state, words)
    found = _selected(state, said, flags, ids)
    errors = "".join(f"Job <{one}> is not found\n" for one in ids if one not in {job.label for job in found})
    if not found and not ids:
        kind = "" if "-a" in flags else "pending " if "-p" in flags else "unfinished "
        return 255, "", f"No {kind}job found\n"
    code = 255 if errors else 0
    if not found:
        return code, "", errors
    if "-aps" in flags:
        waiting = [job for job in in_order(state) if job in found]
        lines = [f"{_HEADER} APS", *(f"{_line(state, job)} {_aps(state, job)}" for job in waiting)]
        return code, "\n".join(lines) + "\n", errors
    if "-l" in flags or "-UF" in flags:
        texts = [_long(state, job) for job in found]
        return code, f"\n{'-' * 78}\n\n".join(wrapped(one) if "-l" in flags else one for one in texts) + "\n", errors
    if "-o" in said:
        rows = [row_of(state, job) for job in found]
        return code, chosen("bjobs", rows, said["-o"], is_json="-json" in flags, count="JOBS"), errors
    return code, "\n".join([_HEADER, *(_line(state, job) for job in found)]) + "\n", errors


def _parsed(state: State, words: Sequence[str]) -> tuple[dict[str, str], set[str], list[str]]:
    said: dict[str, str] = {}
    flags: set[str] = set()
    ids: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in _VALUES:
            said[word] = rest.pop(0)
        elif word in _FLAGS and not (state.is_old and word in ("-json", "-UF")):
            flags.add(word)
        elif word.startswith("-"):
            raise UsageError(f"bjobs: illegal option -- {word[1:]}")
        else:
            ids.append(word)
    return said, flags, ids


def _selected(state: State, said: dict[str, str], flags: set[str], ids: Sequence[str]) -> list[Job]:
    """Returns the jobs that are asked for: those that run, those that wait in their order, the ended."""
    live = ("RUN", "USUSP", "SSUSP", "UNKWN", "ZOMBI", "WAIT")
    listed = [job for job in state.jobs if job.stat in live]
    # bjobs lists the jobs of a queue as they stand there; APS is looked at by -aps alone.
    listed += sorted((job for job in state.jobs if job.is_waiting), key=lambda job: -job.priority)
    listed += [job for job in state.jobs if job.stat in ("DONE", "EXIT")]
    if ids:
        return [job for job in listed if job.label in ids]
    if "-a" not in flags:
        listed = [job for job in listed if job.stat not in ("DONE", "EXIT")]
    if "-p" in flags or "-aps" in flags:
        listed = [job for job in listed if job.is_waiting]
    return [job for job in listed if said.get("-q", job.queue) == job.queue]


def row_of(state: State, job: Job) -> Row:
    """Returns all cells of a job, by the names of fields."""
    now_s, year = time.time(), state.shows_year
    run_s = 0 if job.start_s is None else min(now_s, job.end_s or now_s) - job.start_s
    slots = ":".join(f"{count}*{host}" if count > 1 else host for host, count in job.places.items())
    limit = "" if job.limit_s is None else f"{job.limit_s / 60:.1f}"
    ended = job.stat in ("DONE", "EXIT")
    row = {
        "jobid": str(job.id),
        "jobindex": str(job.index),
        "stat": job.stat,
        "user": job.user,
        "queue": job.queue,
        "job_name": f"{job.name}[{job.index}]" if job.index else job.name,
        "proj_name": job.project,
        "slots": str(sum(job.places.values()) or job.slots),
        "nreq_slot": str(job.slots),
        "min_req_proc": "" if state.is_old else str(job.slots),
        "run_time": f"{int(run_s)} second(s)",
        "submit_time": clock(job.submit_s, shows_year=year),
        "start_time": clock(job.start_s, shows_year=year),
        "specified_start_time": clock(job.begin_s, shows_year=year),
        "finish_time": clock(job.end_s, shows_year=year, suffix="" if ended else " L"),
        "exec_host": slots,
        "alloc_slot": slots,
        "gpu_num": str(job.gpus * max(1, len(job.places)) or ""),
        "gpu_alloc": ";".join(f"{host}:{','.join(map(str, ids))}" for host, ids in job.devices.items() if ids),
        "mem": "9 Mbytes" if job.places else "",
        "memlimit": f"{job.memory_mb:g} Mbytes" if job.memory_mb else "",
        "runtimelimit": limit,
        "combined_resreq": job.resreq,
        "effective_resreq": job.resreq,
        "ask_hosts": job.asked,
        "job_priority": str(job.priority),
        "dependency": f"done({job.after})" if job.after else "",
        "pend_reason": _reason(state, job, now_s) if job.is_waiting else "",
    }
    new = ("jobindex", "nreq_slot", "alloc_slot", "gpu_num", "gpu_alloc", "combined_resreq", "ask_hosts")
    return {name: cell for name, cell in row.items() if not (state.is_old and name in new)}


def _reason(state: State, job: Job, now_s: float) -> str:
    waits = "New job is waiting for scheduling;" if state.is_paused else "Not enough job slot(s): 2 hosts;"
    return reason(state, job, now_s) or waits


def _line(state: State, job: Job) -> str:
    host = next(iter(job.places), "")
    name = f"{job.name}[{job.index}]" if job.index else job.name
    at = clock(job.submit_s, shows_year=state.shows_year)
    return f"{job.id:<10} {job.user:<7} {job.stat:<5} {job.queue:<10} {'login1':<11} {host:<11} {name:<10} {at}"


def _aps(state: State, job: Job) -> str:
    queue = state.queue(job.queue)
    if queue is None or not has_aps(state, queue):
        return "-"
    return f"({job.system:g})" if job.system is not None else f"{aps(state, job):.2f}"


def _long(state: State, job: Job) -> str:
    name = f"{job.name}[{job.index}]" if job.index else job.name
    cells = [
        f"Job <{job.label}>, Job Name <{name}>, User <{job.user}>, Project <{job.project}>, Status <{job.stat}>",
        f"Queue <{job.queue}>, Job Priority <{job.priority}>, Command <{job.command}>",
    ]
    if job.system is not None:
        cells.append(f"System Absolute Priority <{job.system:g}>")
    if job.admin is not None:
        cells.append(f"Admin factor value <{job.admin:g}>")
    return ", ".join(cells)
