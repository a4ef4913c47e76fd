"""The programs of an emulated LSF that change something, with LSF's own messages."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from tests.execution.lsf.emulated_lsf.formats import UsageError
from tests.execution.lsf.emulated_lsf.scheduler import has_aps, start
from tests.execution.lsf.emulated_lsf.state import Job, State

Answer = tuple[int, str, str]
_VALUES = ("-q", "-n", "-W", "-m", "-R", "-J", "-w", "-b", "-u", "-P", "-sp", "-aps", "-gpu")


def options(words: Sequence[str], flags: Sequence[str] = ()) -> tuple[dict[str, str], list[str]]:
    """Returns options with their values, and what is behind them."""
    said: dict[str, str] = {}
    rest = list(words)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word not in (*_VALUES, *flags):
            raise UsageError(f"illegal option -- {word[1:]}")
        said[word] = rest.pop(0) if word in _VALUES else ""
    return said, rest


def bsub(state: State, words: Sequence[str]) -> Answer:
    """Takes a job, whose command is ``sleep SECONDS``."""
    said, command = options(words, ("-H",))
    queue = state.queue(said.get("-q", state.queues[0].name))
    if queue is None:
        return 255, "", f"{said['-q']}: No such queue. Job not submitted.\n"
    if not queue.is_open:
        return 255, "", f"{queue.name}: Queue is closed. Job not submitted.\n"
    name = said.get("-J", "job")
    array = re.fullmatch(r"(.*)\[(\d+)-(\d+)\]", name)
    indexes = range(int(array[2]), int(array[3]) + 1) if array else range(1)
    now_s = time.time()
    for index in indexes:
        job = Job(state.next_id, index, said.get("-u", "ann"), queue.name, now_s, name=array[1] if array else name)
        _take(job, said, command)
        if job.limit_s is None and queue.run_limit_min:
            job.limit_s = 60.0 * queue.run_limit_min
        state.jobs.append(job)
    state.next_id += 1
    default = "" if "-q" in said else "default "
    return 0, f"Job <{state.next_id - 1}> is submitted to {default}queue <{queue.name}>.\n", ""


def _take(job: Job, said: dict[str, str], command: Sequence[str]) -> None:
    job.slots = int(said.get("-n", "1"))
    job.command = " ".join(command)
    job.run_s = float(command[-1]) if re.fullmatch(r"[\d.]+", command[-1]) else 60.0
    job.limit_s = 60.0 * float(said["-W"]) if "-W" in said else None
    job.resreq, job.asked = said.get("-R", ""), said.get("-m", "")
    memory = re.search(r"rusage\[[^\]]*mem=(\d+)", job.resreq)
    job.memory_mb = float(memory[1]) if memory else 0.0
    if gpus := re.search(r"num=(\d+)", said.get("-gpu", "")):
        job.gpus = int(gpus[1])
        job.resreq = f"{job.resreq} rusage[ngpus_physical={job.gpus}.00]".strip()
    if after := re.search(r"done\((\d+)\)", said.get("-w", "")):
        job.after = int(after[1])
    job.begin_s = float(said["-b"]) if "-b" in said else None
    job.priority = int(said.get("-sp", "50"))
    job.project = said.get("-P", "default")
    job.stat = "PSUSP" if "-H" in said else "PEND"


def found(state: State, label: str) -> list[Job]:
    """Returns the jobs that a word names: the id of an array stands for all of its elements."""
    return [job for job in state.jobs if label in (job.label, str(job.id)) and job.stat not in ("DONE", "EXIT")]


def bmod(state: State, words: Sequence[str]) -> Answer:
    """Changes jobs that wait."""
    said, labels = options(words, ("-apsn", "-mn", "-spn"))
    for label in labels:
        jobs = found(state, label)
        if not jobs:
            return 255, "", f"Job <{label}>: No matching job found\n"
        for job in jobs:
            if not job.is_waiting:
                return 255, "", f"Job <{label}>: Job has already started\n"
            if trouble := _modify(state, job, said):
                return 255, "", f"Job <{label}>: {trouble}\n"
    return 0, "".join(f"Parameters of job <{label}> are being changed\n" for label in labels), ""


def _modify(state: State, job: Job, said: dict[str, str]) -> str:
    """Changes one job; returns what is wrong."""
    queue = state.queue(job.queue)
    if ("-aps" in said or "-apsn" in said) and not (queue and has_aps(state, queue)):
        return "The job's queue is not configured with absolute priority scheduling"
    if "-apsn" in said:
        job.admin = job.system = None
    if "-aps" in said:
        match = re.fullmatch(r"(admin|system)=(-?\d+(?:\.\d+)?)", said["-aps"])
        if match is None or float(match[2]) == 0:
            return "Bad APS value"
        # A command overrides the one before.
        job.admin, job.system = None, None
        setattr(job, match[1], float(match[2]))
    if "-mn" in said:
        job.asked = ""
    if "-m" in said:
        names = said["-m"].replace("!", "").split()
        if not all(any(host.name == name for host in state.hosts) for name in names):
            return f"{said['-m']}: Bad host name, host group name or cluster name"
        job.asked = said["-m"]
    if "-sp" in said:
        job.priority = int(said["-sp"])
    if "-q" in said:
        job.queue = said["-q"]
    return ""


def moved(state: State, words: Sequence[str], *, from_top: bool) -> Answer:
    """Moves a job within those of its queue that have its priority: btop and bbot."""
    label, place = words[0], int(words[1]) if len(words) > 1 else 1
    jobs = found(state, label)
    if len(jobs) != 1 or not jobs[0].is_waiting:
        return 255, "", f"Job <{label}>: No matching job found\n"
    job, queue = jobs[0], state.queue(jobs[0].queue)
    if queue is not None and has_aps(state, queue):
        return 255, "", f"Job <{label}>: Cannot be used on jobs pending in an absolute priority scheduling queue\n"
    others = [
        one
        for one in state.jobs
        if one.is_waiting and one.queue == job.queue and one.priority == job.priority and one is not job
    ]
    at = min(place - 1, len(others)) if from_top else max(0, len(others) - (place - 1))
    state.jobs.remove(job)
    if at < len(others):
        state.jobs.insert(_index(state.jobs, others[at]), job)
    else:
        state.jobs.insert(_index(state.jobs, others[-1]) + 1 if others else len(state.jobs), job)
    return 0, "", f"Job <{label}> has been moved to position {place} from {'top' if from_top else 'bottom'}.\n"


def _index(jobs: Sequence[Job], wanted: Job) -> int:
    return next(number for number, job in enumerate(jobs) if job is wanted)


def signaled(state: State, words: Sequence[str], program: str) -> Answer:
    """Stops, resumes or ends jobs: bstop, bresume, bkill."""
    said = {"bstop": "stopped", "bresume": "resumed", "bkill": "terminated"}[program]
    out = ""
    for label in words:
        jobs = found(state, label)
        if not jobs:
            return 255, out, f"Job <{label}>: No matching job found\n"
        for job in jobs:
            if program == "bkill":
                job.end_s, job.stat = time.time(), "EXIT"
            elif job.is_waiting:
                job.stat = "PSUSP" if program == "bstop" else "PEND"
            else:
                job.stat = "USUSP" if program == "bstop" else "RUN"
        out += f"Job <{label}> is being {said}\n"
    return 0, out, ""


def brun(state: State, words: Sequence[str]) -> Answer:
    """Starts a job on a host, whatever limits say."""
    said, labels = options(words, ("-b", "-c", "-f"))
    jobs = found(state, labels[0])
    if len(jobs) != 1 or not jobs[0].is_waiting:
        return 255, "", f"Job <{labels[0]}>: Job has already started\n"
    host, _, slots = said["-m"].partition("#")
    if not any(one.name == host for one in state.hosts):
        return 255, "", f"{host}: Bad host name\n"
    start(state, jobs[0], {host: int(slots or 1)}, time.time())
    return 0, f"Job <{labels[0]}> is being forced to run.\n", ""


def badmin(state: State, words: Sequence[str]) -> Answer:
    """Opens and closes hosts and queues."""
    verb, name = words[0], words[1]
    if verb in ("hclose", "hopen"):
        host = next((host for host in state.hosts if host.name == name), None)
        if host is None:
            return 255, "", f"{name}: Bad host name\n"
        host.is_closed = verb == "hclose"
        return 0, f"{'Close' if host.is_closed else 'Open'} <{name}> ...... done\n", ""
    queue = state.queue(name)
    if queue is None or verb not in ("qinact", "qact", "qclose", "qopen"):
        return 255, "", f"{name}: No such queue\n"
    if verb in ("qinact", "qact"):
        queue.is_active = verb == "qact"
    else:
        queue.is_open = verb == "qopen"
    return (
        0,
        f"Queue <{name}> is {dict(qinact='inactivated', qact='activated', qclose='closed', qopen='opened')[verb]}\n",
        "",
    )
