"""All that the files of an LSF site tell, as one cluster and one policy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from shunter.model.site import TIME_LIMIT_S, Limit, PartitionRules, SiteRules
from shunter.workloads.machines.lsf_windows import closed_hours
from shunter.workloads.machines.site import Assembled, SitePolicy, Told, limit
from shunter.workloads.text.hosts import node_names

if TYPE_CHECKING:
    from shunter.model.cluster import Node
    from shunter.workloads.machines.site import Record, Site

_ALL: Final = "all"
_MOST_TIER: Final = 65_535
_SHARE: Final = re.compile(r"\[\s*([^\[\],]+?)\s*,\s*([^\[\],]+?)\s*\]")
_MINUTES: Final = re.compile(r"(?:(\d{1,7}):)?(\d{1,9}(?:\.\d*)?)", re.ASCII)
_TAKEN: Final = (
    *("priority", "hosts", "users", "runlimit", "default runlimit", "qjob_limit", "ujob_limit", "proclimit"),
    *("tasklimit", "run_window", "dispatch_window", "fairshare", "backfill"),
)
_MEANINGLESS: Final = (
    *("description", "nice", "interactive", "administrators", "mail", "pre_exec", "post_exec", "job_starter"),
    *("success_exit_values", "requeue_exit_values", "rerunnable", "user_shares", "chunk_job_size", "res_req"),
)
"""What plays no part in when a job starts, or is in the log."""
_SLOTS_WHY: Final = "slots are bounded for a queue and a user, not for a processor or a host"
_LIMIT_WHY: Final = "what a job may use is in the log"
_LEFT: Final = {
    "pjob_limit": _SLOTS_WHY,
    "hjob_limit": _SLOTS_WHY,
    "exclusive": "lets jobs ask for whole hosts; the log's column exclusive says which do",
    "preemption": "no job is stopped for another",
    **dict.fromkeys(("aps_priority", "queue_group"), "jobs are ordered as they come, or by fair share"),
    "slot_reserve": "which jobs hold reservations is what --dispatch says",
    "resource_reserve": "which jobs hold reservations is what --dispatch says",
    "job_accept_interval": "jobs start without a pause between them",
    "new_job_sched_delay": "jobs start without a delay",
    "hist_hours": "use fades by half_life_s of the policy's file",
    **dict.fromkeys(
        ("memlimit", "swaplimit", "cpulimit", "default cpulimit", "processlimit", "threadlimit"), _LIMIT_WHY
    ),
}
_PARAMETERS: Final = ("job_accept_interval", "hist_hours", "new_job_sched_delay", "mbd_sleep_time", "max_user_priority")
"""The keys of lsb.params that could move a start."""


def assemble(site: Site, nodes: Sequence[Node]) -> Assembled:
    """Returns the hosts with their queues, the rules, and the policy if queues are told.

    Raises:
        InputError: A value makes no sense.
    """
    nodes = _with_slots(site, nodes)
    found: dict[str, list[str]] = {node.name: [] for node in nodes}
    for name, record in site.partitions.items():
        for host in _hosts(site, record.get("hosts"), nodes):
            found[host].append(name)
    nodes = [replace(node, partitions=tuple(found[node.name])) for node in nodes]
    known = {name for node in nodes for name in node.partitions}
    partitions, limits = {}, list[Limit]()
    for name, record in site.partitions.items():
        if name in known:
            partitions[name] = _rules(site, name, record)
            limits += _limits(site, name, record)
            _leave(site, name, record)
        elif record:
            site.leave(next(iter(record.values()))._replace(key="QUEUE_NAME", value=name), "has no hosts")
    rules = SiteRules(partitions, tuple(limits), default_partition=_default(site, known))
    for key in _PARAMETERS:
        if key in site.settings:
            site.leave(site.settings[key], _LEFT.get(key, "not simulated"))
    return Assembled(nodes, rules, _order(site))


def _with_slots(site: Site, nodes: Sequence[Node]) -> list[Node]:
    """Returns the nodes with the slots that lsb.hosts gives them: the line of a host goes before those of wildcards."""
    found = []
    for node in nodes:
        told = site.slots.get(node.name) or next(
            (told for name, told in site.slots.items() if name != "default" and node.name in _matching(name, [node])),
            site.slots.get("default"),
        )
        # An exclamation mark means as many as processors, brackets no limit.
        slots = None if told is None or told.value in ("!", "()", "-") else site.count(told)
        found.append(replace(node, cores=float(slots)) if slots else node)
    return found


def _matching(text: str, nodes: Sequence[Node]) -> list[str]:
    """Returns the nodes that a name, a name with numbers in brackets, or one with wildcards means."""
    wanted = node_names(text)
    # Numbers of a range may stand behind a colon too, in the manner of n[1-4:9].
    if wanted is None:
        wanted = node_names(text.replace(":", ","))
    names = set(wanted or (text,))
    return [node.name for node in nodes if node.name in names or ("*" in text and fnmatchcase(node.name, text))]


def _hosts(site: Site, told: Told | None, nodes: Sequence[Node]) -> list[str]:
    """Returns the hosts of a queue; names that no host has are noted."""
    words = [_ALL] if told is None else told.value.split()
    chosen: dict[str, None] = {}
    denied: set[str] = set()
    for word in words:
        # hostA+2 is preferred to others, which is for a placement to say; groups may end in a slash.
        name = re.sub(r"(\+\d*|!|/)$", "", word.removeprefix("~"))
        hosts = _members(site, name, nodes, set())
        if told is not None and not hosts and name != "none":
            site.leave(told, f"no host is called {name[:40]}")
        if word.startswith("~"):
            denied.update(hosts)
        else:
            chosen.update(dict.fromkeys(hosts))
    return [name for name in chosen if name not in denied]


def _members(site: Site, name: str, nodes: Sequence[Node], seen: set[str]) -> list[str]:
    if name == _ALL:
        return [node.name for node in nodes]
    if name not in site.host_groups or name in seen:
        return _matching(name, nodes)
    # A group that lies within itself would never end.
    return _hosts_of_group(site, site.host_groups[name], nodes, {*seen, name})


def _hosts_of_group(site: Site, told: Told, nodes: Sequence[Node], seen: set[str]) -> list[str]:
    words = told.value.split()
    denied = {host for word in words if word.startswith("~") for host in _members(site, word[1:], nodes, seen)}
    # A group of those who are not others is taken from all.
    chosen = [word for word in words if not word.startswith("~")] or [_ALL]
    found = dict.fromkeys(host for word in chosen for host in _members(site, word.rstrip("/"), nodes, seen))
    return [host for host in found if host not in denied]


def _rules(site: Site, name: str, record: Record) -> PartitionRules:
    tier = min(site.count(record["priority"]) or 0, _MOST_TIER) if "priority" in record else 1
    default_s, most_s = _run_limits_s(site, record)
    tasks = record.get("tasklimit") or record.get("proclimit")
    counts = [] if tasks is None else [site.count(tasks._replace(value=word)) for word in tasks.value.split()]
    if tasks is not None and len(counts) > 1:
        site.leave(tasks, "the least of a job is not bounded", f"{name} {tasks.key}")
    users, kept_out = _users(site, name, record)
    return PartitionRules(
        tier=tier,
        max_time_s=most_s,
        default_time_s=default_s,
        max_cores=(counts[-1] or None) if counts else None,
        users=users,
        denied_users=kept_out,
        where=site.where(record) if record else "",
    )


def _run_limits_s(site: Site, record: Record) -> tuple[float | None, float | None]:
    """Returns the default and the largest time of a job."""
    told = record.get("runlimit")
    words = [] if told is None else told.value.split()
    if told is not None and len(words) > 2:
        raise site.wrong(told, "at most two times: the default and the largest")
    times = [_time_s(site, told._replace(value=word)) for word in words if told is not None]
    printed = record.get("default runlimit")
    default_s = times[0] if len(times) == 2 else None if printed is None else _time_s(site, printed)
    most_s = times[-1] if times else None
    # A job that names no time may run as long as any.
    return default_s or most_s, most_s


def _time_s(site: Site, told: Told) -> float | None:
    """Returns a time such as ``90`` or ``1:30``, both an hour and a half; a host whose speed it refers to is noted."""
    text, _, host = told.value.partition("/")
    match = _MINUTES.fullmatch(text)
    seconds = None if match is None else 3600 * int(match[1] or 0) + 60 * float(match[2])
    if seconds is None or seconds > TIME_LIMIT_S:
        raise site.wrong(told, "minutes, or hours:minutes")
    if host:
        site.leave(told, "the time is not scaled by the speed of a host")
    return seconds or None


def _users(site: Site, name: str, record: Record) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns who may use a queue, nobody for all, and who may not."""
    told = record.get("users")
    words = [] if told is None else told.value.split()
    if told is None or words == [_ALL]:
        return (), ()
    if not site.user_groups:
        site.leave(told, "taken as users; if one is a group, give lsb.users too", f"{name} {told.key}")
    let_in = _people(site, (word for word in words if not word.startswith("~")))
    kept_out = _people(site, (word[1:] for word in words if word.startswith("~")))
    if _ALL in let_in or not let_in:
        return (), kept_out
    users = tuple(user for user in let_in if user not in kept_out)
    if not users:
        site.leave(told, "lets in nobody; taken as all", f"{name} {told.key}")
    return users, ()


def _people(site: Site, words: Iterable[str]) -> tuple[str, ...]:
    """Returns the users that words mean, each once: users, and groups of users."""
    found: dict[str, None] = {}
    for word in words:
        group = word.rstrip("/")
        found.update(dict.fromkeys(_group_users(site, group, set()) if group in site.user_groups else [word]))
    return tuple(found)


def _group_users(site: Site, group: str, seen: set[str]) -> list[str]:
    """Returns the users of a group and of the groups in it; one that lies within itself is gone through once."""
    found: dict[str, None] = {}
    kept_out: set[str] = set()
    for word in site.user_groups[group].value.split():
        name = word.removeprefix("~").rstrip("/")
        if name not in site.user_groups:
            users = [name]
        else:
            users = _group_users(site, name, {*seen, group}) if name not in (*seen, group) else []
        if word.startswith("~"):
            kept_out.update(users)
        else:
            found.update(dict.fromkeys(users))
    return [user for user in found if user not in kept_out]


def _limits(site: Site, name: str, record: Record) -> Iterator[Limit]:
    where = site.where(record) if record else ""
    for key, per in (("qjob_limit", ()), ("ujob_limit", ("user",))):
        if key in record:
            yield from limit(where, {"running_cores": site.count(record[key], ("-",))}, partitions=(name,), per=per)
    for key in ("run_window", "dispatch_window"):
        if key in record:
            for hours in closed_hours(site, record[key]):
                yield Limit(partitions=(name,), running_jobs=0, where=where, **hours)  # type: ignore[arg-type]
    if "run_window" in record:
        site.leave(record["run_window"], "no job starts outside of it; one that runs goes on", f"{name} RUN_WINDOW")


def _leave(site: Site, name: str, record: Record) -> None:
    for key, told in record.items():
        if key not in _TAKEN and key not in _MEANINGLESS and told.value.lower() not in ("n", "no", "-"):
            site.leave(told, _LEFT.get(key, "not simulated"), f"{name} {told.key}")


def _default(site: Site, known: set[str]) -> str | None:
    told = site.settings.get("default_queue")
    if told is None:
        return None
    found = [word for word in told.value.split() if word in known]
    if not found:
        site.leave(told, "no such queue is told")
        return None
    return found[0]


def _order(site: Site) -> SitePolicy | None:
    """Returns the order within queues, whose priorities are tiers: as jobs come, or by what users have used."""
    if not site.partitions:
        return None
    backfill = any(
        record["backfill"].value.lower() in ("y", "yes") for record in site.partitions.values() if "backfill" in record
    )
    dispatch = "easy" if backfill else "greedy"
    fair = [record["fairshare"] for record in site.partitions.values() if "fairshare" in record]
    shared = [told for told in fair if told.value.upper() not in ("N", "NO")]
    if not shared:
        return SitePolicy("fcfs", dispatch=dispatch)
    for told in shared[1:]:
        if told.value != shared[0].value:
            site.leave(told, "one fair share holds for all queues: the first")
    return SitePolicy("fair-share", {}, {"shares": _shares(site, shared[0])}, dispatch)


def _shares(site: Site, told: Told) -> dict[str, float]:
    """Returns the shares of users, against that of those who are not named."""
    pairs = [(name, site.count(told._replace(value=share)) or 0) for name, share in _SHARE.findall(told.value)]
    default = next((share for name, share in pairs if name == "default"), 0) or 1
    shares: dict[str, float] = {}
    for name, share in pairs:
        group = name.removesuffix("@").rstrip("/")
        if name in ("default", "others"):
            if name == "others":
                site.leave(told._replace(value=f"[{name}, {share}]"), "each user has a share of his own: 1")
        elif group not in site.user_groups:
            shares[group] = share / default
        elif name.endswith("@"):
            shares |= dict.fromkeys(_group_users(site, group, set()), share / default)
        else:
            site.leave(told._replace(value=f"[{name}, {share}]"), "the share of a group is not divided among its users")
    # A share of 0 would never have a turn, which LSF does not mean.
    return {user: share or 1e-6 for user, share in shares.items()}
