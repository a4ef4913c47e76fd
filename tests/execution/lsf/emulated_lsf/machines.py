"""bhosts, lshosts, bqueues and bmgroup of an emulated LSF."""

from __future__ import annotations

from collections.abc import Sequence

from tests.execution.lsf.emulated_lsf.formats import Row, UsageError, chosen
from tests.execution.lsf.emulated_lsf.scheduler import free
from tests.execution.lsf.emulated_lsf.state import Host, Queue, State

Answer = tuple[int, str, str]


def bhosts(state: State, words: Sequence[str]) -> Answer:
    """Shows the hosts of the batch system."""
    rows = [_host(state, host) for host in state.hosts]
    if fields := _fields(state, "bhosts", words, ("-w",)):
        return 0, chosen("bhosts", rows, fields, is_json=True, count="HOSTS"), ""
    lines = ["HOST_NAME          STATUS       JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV"]
    for row in rows:
        # Without -w LSF does not tell why a host is closed.
        status = row["status"] if "-w" in words else row["status"].partition("_")[0]
        counts = "".join(f"{row[name]:>7}" for name in ("max", "njobs", "run", "ssusp", "ususp", "rsv"))
        lines.append(f"{row['host_name']:<18} {status:<12} {'-':>4}{counts}")
    return 0, "\n".join(lines) + "\n", ""


def _host(state: State, host: Host) -> Row:
    slots, _, _ = free(state, host)
    used = str(host.slots - slots)
    status = "closed_Adm" if host.is_closed else "closed_Full" if slots <= 0 else "ok"
    told = {"host_name": host.name, "status": status, "max": str(host.slots), "njobs": used, "run": used}
    return {**told, "ssusp": "0", "ususp": "0", "rsv": "0"}


def lshosts(state: State, words: Sequence[str]) -> Answer:
    """Shows what hosts have."""
    if "-gpu" in words:
        lines = ["HOST_NAME   gpu_id       gpu_model   gpu_driver   gpu_factor      numa_id"]
        for host in state.hosts:
            for number in range(host.gpus):
                name = host.name if number == 0 else ""
                lines.append(f"{name:<11} {number:>6} {host.gpu_model:>15}       396.37          7.0            8")
        return (0, "\n".join(lines) + "\n", "") if len(lines) > 1 else (255, "", "No GPU host found\n")
    lines = ["HOST_NAME      type    model  cpuf ncpus maxmem maxswp server RESOURCES"]
    for host in state.hosts:
        name = host.name if "-w" in words else host.name[:11]
        lines.append(f"{name:<11}  X86_64 Intel_E5  12.5 {host.slots:>5} {host.memory_mb:>5}M      -    Yes (mg)")
    lines.append("login1       X86_64 Intel_E5  12.5     4   7.4G      -     No ()")
    return 0, "\n".join(lines) + "\n", ""


def bqueues(state: State, words: Sequence[str]) -> Answer:
    """Shows queues."""
    if "-l" in words:
        return 0, "\n".join(_long(state, queue) for queue in state.queues), ""
    rows = [_queue(state, queue) for queue in state.queues]
    if fields := _fields(state, "bqueues", words, ("-w",)):
        return 0, chosen("bqueues", rows, fields, is_json=True, count="QUEUES"), ""
    lines = ["QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN  SUSP "]
    for row in rows:
        counts = "".join(f"{row[name]:>6}" for name in ("njobs", "pend", "run"))
        lines.append(
            f"{row['queue_name']:<15} {row['priority']:>4}  {row['status']:<15}  -    -    -    -{counts}     0"
        )
    return 0, "\n".join(lines) + "\n", ""


def _queue(state: State, queue: Queue) -> Row:
    jobs = [job for job in state.jobs if job.queue == queue.name]
    pending, running = sum(job.is_waiting for job in jobs), sum(job.stat == "RUN" for job in jobs)
    told = {"queue_name": queue.name, "priority": str(queue.priority), "status": _status(queue), "max": "-"}
    return {**told, "njobs": str(pending + running), "pend": str(pending), "run": str(running)}


def _status(queue: Queue) -> str:
    return f"{'Open' if queue.is_open else 'Closed'}:{'Active' if queue.is_active else 'Inact_Adm'}"


def _long(state: State, queue: Queue) -> str:
    flags = {"APS_PRIORITY": queue.has_aps, "FAIRSHARE": queue.has_fairshare}
    row = _queue(state, queue)
    lines = [
        f"QUEUE: {queue.name}",
        "  -- For jobs of an emulation.",
        "",
        "PARAMETERS/STATISTICS",
        "PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV PJOBS",
        f" {queue.priority}    0  {row['status']}       -    -    -    -  {row['njobs']}  {row['pend']}"
        "     0     0     0    0     0",
        "Interval for a host to accept two jobs is 0 seconds",
        "",
    ]
    if queue.run_limit_min:
        lines += [" RUNLIMIT", f" {queue.run_limit_min}.0 min", ""]
    lines += [f"SCHEDULING POLICIES:  {'  '.join(name for name, has in flags.items() if has)}"]
    lines += [f"QUEUE_GROUP:  {' '.join(queue.group)}"] if queue.group else []
    lines += ["USERS: all", f"HOSTS:  {' '.join(queue.hosts) or 'all'}", ""]
    return "\n".join(lines)


def bmgroup(state: State, words: Sequence[str]) -> Answer:
    """Shows groups of hosts."""
    if not state.groups:
        return 255, "", "No user-defined host group found\n"
    lines = [f"{name:<10} {' '.join(members)}" for name, members in state.groups.items()]
    return 0, "\n".join(["GROUP_NAME    HOSTS", *lines]) + "\n", ""


def _fields(state: State, program: str, words: Sequence[str], flags: Sequence[str]) -> str:
    """Returns what stands behind -o; here it is always told with -json."""
    if "-o" not in words:
        unknown = [word for word in words if word.startswith("-") and word not in flags]
        if unknown:
            raise UsageError(f"{program}: illegal option -- {unknown[0][1:]}")
        return ""
    if state.is_old or "-json" not in words:
        raise UsageError(f"{program}: illegal option -- o")
    return words[words.index("-o") + 1]
