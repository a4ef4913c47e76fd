"""The scheduler of an emulated LSF: queues by priority, then APS or position; jobs that do not fit wait."""

from __future__ import annotations

from tests.execution.lsf.emulated_lsf.state import Host, Job, Queue, State


def advance(state: State, now_s: float) -> None:
    """Brings the state up to the present: each end lets others start at its own time."""
    while True:
        ends = sorted((job.end_s, job.id, job.index) for job in state.jobs if job.stat == "RUN" and job.end_s)
        if not ends or ends[0][0] > now_s:
            break
        end_s = ends[0][0]
        for job in state.jobs:
            if job.stat == "RUN" and job.end_s == end_s:
                job.stat = "EXIT" if job.limit_s is not None and job.run_s > job.limit_s else "DONE"
        start_all(state, end_s)
    start_all(state, now_s)
    state.at_s = now_s


def start_all(state: State, now_s: float) -> None:
    """Starts the jobs that may start, in LSF's order."""
    if state.is_paused:
        return
    for job in in_order(state):
        if not reason(state, job, now_s):
            places = fit(state, job)
            if places:
                start(state, job, places, now_s)


def in_order(state: State) -> list[Job]:
    """Returns the jobs that wait, in the order in which they are considered."""
    place = {id(job): number for number, job in enumerate(state.jobs)}

    def key(job: Job) -> tuple[float, float, float, int]:
        queue = _queue(state, job)
        if has_aps(state, queue):
            first = (-1.0, -job.system) if job.system is not None else (0.0, -aps(state, job))
            return -queue.priority, *first, place[id(job)]
        return -queue.priority, 0.0, -job.priority, place[id(job)]

    return sorted((job for job in state.jobs if job.is_waiting), key=key)


def has_aps(state: State, queue: Queue) -> bool:
    """Returns whether jobs stand in the order of absolute priorities."""
    return queue.has_aps or any(other.has_aps and queue.name in other.group for other in state.queues)


def aps(state: State, job: Job) -> float:
    """Returns the absolute priority: the user's part, and what an administrator adds."""
    return job.priority + (job.admin or 0.0)


def _queue(state: State, job: Job) -> Queue:
    queue = state.queue(job.queue)
    assert queue is not None
    return queue


def reason(state: State, job: Job, now_s: float) -> str:
    """Returns why a job may not start though there were room; empty if it may."""
    if job.stat == "PSUSP":
        return "The job was suspended by the user while pending;"
    if not _queue(state, job).is_active:
        return "The queue is inactivated by the administrator;"
    before = next((one for one in state.jobs if one.id == job.after), None) if job.after else None
    if before is not None and before.stat != "DONE":
        return "Job dependency condition not satisfied;"
    return "The job's start time has not been reached;" if job.begin_s and job.begin_s > now_s else ""


def hosts_of(state: State, queue: Queue) -> list[Host]:
    """Returns the hosts of a queue."""
    names = {name for word in queue.hosts for name in state.groups.get(word.rstrip("/"), [word])}
    return [host for host in state.hosts if not names or host.name in names]


def free(state: State, host: Host) -> tuple[int, float, list[int]]:
    """Returns the slots, memory and GPUs of a host that nobody has."""
    here = [job for job in state.jobs if job.stat in ("RUN", "SSUSP", "USUSP") and host.name in job.places]
    taken = {device for job in here for device in job.devices.get(host.name, [])}
    slots = host.slots - sum(job.places[host.name] for job in here)
    return slots, host.memory_mb - sum(job.memory_mb for job in here), [n for n in range(host.gpus) if n not in taken]


def fit(state: State, job: Job) -> dict[str, int]:
    """Returns the slots on hosts that a job would get; none if it does not fit."""
    asked = job.asked.replace("!", "").split()
    hosts = [host for host in hosts_of(state, _queue(state, job)) if not host.is_closed]
    places: dict[str, int] = {}
    left = job.slots
    for host in (host for host in hosts if not asked or host.name in asked):
        slots, memory_mb, devices = free(state, host)
        is_whole = "span[hosts=1]" in job.resreq or job.gpus > 0
        if memory_mb >= job.memory_mb and len(devices) >= job.gpus and slots > 0 and not (is_whole and slots < left):
            places[host.name] = min(slots, left)
            left -= places[host.name]
        if left == 0:
            return places
    return {}


def start(state: State, job: Job, places: dict[str, int], now_s: float) -> None:
    """Starts a job on hosts."""
    job.devices = {}
    for name in places:
        host = next(host for host in state.hosts if host.name == name)
        if job.gpus:
            job.devices[name] = free(state, host)[2][: job.gpus]
    job.places, job.stat, job.start_s = places, "RUN", now_s
    lasts_s = job.run_s if job.limit_s is None else min(job.run_s, job.limit_s)
    job.end_s = now_s + lasts_s
