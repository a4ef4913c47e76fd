"""The order of Slurm's jobs: the weights of its priorities, and what its scheduler does when a job does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shunter.workloads.machines.site import SitePolicy, Told
from shunter.workloads.machines.slurm_partitions import job_factors
from shunter.workloads.machines.slurm_values import NOTHING, time_s

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shunter.workloads.machines.site import Site

_WEIGHTS: Final = {
    "age": "priorityweightage",
    "size": "priorityweightjobsize",
    "fair_share": "priorityweightfairshare",
    "partition": "priorityweightpartition",
    "qos": "priorityweightqos",
}
_WEEK_S: Final = 604_800.0
_NEVER_S: Final = 1e9
"""The half-life of what does not fade: longer than any log."""
_PLUGINS: Final = ("priority/multifactor", "priority/basic")
_SCAN_DEPTH: Final = 500
"""Slurm's default of bf_max_job_test."""
_LEFT: Final = {
    "priorityweighttres": "sizes count by cores or GPUs, what binds",
    "priorityweightassoc": "associations have no priority of their own",
    "priorityusageresetperiod": "use fades, it is never set to 0",
    "priorityflags": "the flags are not simulated",
    "prioritysitefactorplugin": "give the log's priority a weight: priority =",
    "preempttype": "no job is stopped for another",
    "preemptmode": "no job is stopped for another",
    "enforcepartlimits": "what no partition admits is rejected, as with ALL",
    "jobsubmitplugins": "what it changes in jobs is in the log",
    "overtimelimit": "jobs run as long as the log says",
    "fairsharedampeningfactor": "fair share is not dampened",
    "maxjobcount": "the number of jobs is not bounded",
    "topologyplugin": "the network is what the cluster file says of racks and switches",
}
_OFF: Final = {
    "preempttype": ("preempt/none",),
    "preemptmode": ("off",),
    "enforcepartlimits": ("all", "yes"),
    "priorityweightassoc": ("0",),
    "fairsharedampeningfactor": ("1",),
    "topologyplugin": ("topology/none", "topology/default", "topology/flat"),
    "overtimelimit": ("0",),
    "maxjobcount": ("10000",),
}
"""Values that change nothing; 10,000 jobs is Slurm's default."""


def order(site: Site, shares: dict[str, float]) -> SitePolicy | None:
    """Returns the policy, if a configuration is among the files.

    Args:
        site: What the files tell.
        shares: The share of each user.

    Raises:
        InputError: A value makes no sense.
    """
    if not site.settings:
        return None
    _leave(site)
    dispatch, scan_depth = _dispatch(site)
    plugin = site.settings.get("prioritytype")
    kind = "priority/basic" if plugin is None else plugin.value.lower()
    if plugin is not None and kind not in _PLUGINS:
        raise site.wrong(plugin, f"one of {', '.join(_PLUGINS)}")
    if kind == "priority/basic":
        return SitePolicy("fcfs", dispatch=dispatch, scan_depth=scan_depth)
    parameters: dict[str, float | bool] = {name: float(_weight(site, key)) for name, key in _WEIGHTS.items()}
    parameters["max_age_s"] = _time_s(site, "prioritymaxage", _WEEK_S) or _WEEK_S
    # Without a half-life nothing fades.
    parameters["half_life_s"] = _time_s(site, "prioritydecayhalflife", _WEEK_S) or _NEVER_S
    small = site.settings.get("priorityfavorsmall")
    parameters["favor_small"] = small is not None and small.value.lower() in ("yes", "1", "true")
    if parameters["fair_share"]:
        told = site.settings[_WEIGHTS["fair_share"]]
        site.leave(told, "goes by user: each has what the tree of accounts gives him, but use is not summed by account")
    tables = {"partitions": job_factors(site), "queues": _qos_factors(site), "shares": shares}
    return SitePolicy("multifactor", parameters, tables, dispatch, scan_depth)


def _weight(site: Site, key: str) -> int:
    told = site.settings.get(key)
    return 0 if told is None else site.count(told, NOTHING) or 0


def _time_s(site: Site, key: str, default_s: float) -> float | None:
    told = site.settings.get(key)
    return default_s if told is None else time_s(site, told)


def _qos_factors(site: Site) -> dict[str, float]:
    """Returns what each QOS counts for: its priority over the highest, as Slurm has it."""
    told = {name: record.get("priority") for name, record in site.qos.items()}
    priorities = {name: 0 if one is None else site.count(one, NOTHING) or 0 for name, one in told.items()}
    highest = max(priorities.values(), default=0)
    return {name: priority / highest for name, priority in priorities.items() if priority} if highest else {}


def _dispatch(site: Site) -> tuple[str, int | None]:
    """Returns the dispatch rule, and how many jobs are looked at."""
    kind = site.settings.get("schedulertype")
    parameters = dict(_scheduler_parameters(site))
    if kind is not None and kind.value.lower() == "sched/builtin":
        site.leave(kind, "the first job that does not fit blocks its partition alone; --dispatch strict blocks all")
        return "strict", None
    if kind is not None and kind.value.lower() != "sched/backfill":
        raise site.wrong(kind, "sched/backfill or sched/builtin")
    depth = parameters.pop("bf_max_job_test", None)
    reserving = parameters.pop("bf_job_part_count_reserve", None)
    for told in parameters.values():
        site.leave(told, "not simulated")
    jobs = 0 if reserving is None else site.count(reserving)
    if reserving is not None and jobs:
        site.leave(reserving, f"--dispatch {jobs}: so many jobs in all, not of each partition")
    scan_depth = _SCAN_DEPTH if depth is None else max(1, site.count(depth) or 0)
    # Every job that the backfill scheduler looks at holds a reservation, unless the site bounds them.
    return (str(jobs) if jobs else "conservative"), scan_depth


def _scheduler_parameters(site: Site) -> Iterator[tuple[str, Told]]:
    told = site.settings.get("schedulerparameters")
    if told is not None and told.value.lower() not in NOTHING:
        for item in told.value.split(","):
            name, sign, value = (part.strip() for part in item.partition("="))
            if name:
                # A flag has no value.
                yield name.lower(), Told(told.place, name, value if sign else "yes")


def _leave(site: Site) -> None:
    consumed = site.settings.get("selecttypeparameters")
    if consumed is not None and "memory" not in consumed.value.lower():
        site.leave(consumed, "Slurm hands out no memory here: take memory_mb out of the nodes, or it binds")
    for key, why in _LEFT.items():
        told = site.settings.get(key)
        if told is not None and told.value.lower() not in (*_OFF.get(key, ()), *NOTHING):
            site.leave(told, why)
