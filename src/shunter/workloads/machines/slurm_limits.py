"""Limits of Slurm's QOS and associations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shunter.model.site import Limit
from shunter.workloads.machines.site import limit
from shunter.workloads.machines.slurm_values import NOTHING, TRES_COUNTS, names, time_s, tres

if TYPE_CHECKING:
    from shunter.workloads.machines.site import Record, Site

Columns = Mapping[str, str]
"""Columns of a table, each with the bound that it is, or how its resources are bounded: ``running``, ``max``."""

_ALL_TOGETHER: Final = {"grptres": "running", "grpjobs": "running_jobs", "grpsubmit": "queued_jobs"}
_ONE_JOB: Final = {"maxtres": "max", "maxwall": "max_time_s"}
_OF_QOS: Final[tuple[tuple[tuple[str, ...], Columns], ...]] = (
    ((), _ALL_TOGETHER | _ONE_JOB),
    (("user",), {"maxtrespu": "running", "maxjobspu": "running_jobs", "maxsubmitpu": "queued_jobs"}),
    (("account",), {"maxtrespa": "running", "maxjobspa": "running_jobs", "maxsubmitpa": "queued_jobs"}),
)
_OF_USER: Final = {"maxjobs": "running_jobs", "maxsubmit": "queued_jobs"} | _ONE_JOB
_TOLD_OTHERWISE: Final = (
    *("cluster", "account", "user", "partition", "parentname", "fairshare", "priority"),
    *("id", "lineage", "comment", "descr", "description"),
)
_TIME_WHY: Final = "core-minutes are not bounded"
_AGE_WHY: Final = "the age of all waiting jobs counts"
_STOP_WHY: Final = "no job is stopped for another"
_LEFT: Final = {
    "grptresmins": _TIME_WHY,
    "grptresrunmins": _TIME_WHY,
    "maxtresmins": _TIME_WHY,
    "maxtresrunminspu": _TIME_WHY,
    "maxtresrunminspa": _TIME_WHY,
    **dict.fromkeys(("grpjobsaccrue", "maxjobsaccrue", "maxjobsaccruepu", "maxjobsaccruepa"), _AGE_WHY),
    "minpriothresh": "jobs of low priority wait for nodes as others do",
    "limitfactor": "limits hold as they are told",
    "grpwall": "the time of all jobs together is not bounded",
    "maxtrespernode": "what a job has on one node is not bounded",
    "mintres": "the least of a job is not bounded",
    "preempt": _STOP_WHY,
    "preemptmode": _STOP_WHY,
    "preemptexempttime": _STOP_WHY,
    "gracetime": _STOP_WHY,
    "usagefactor": "fair share counts all seconds alike",
    "usagethres": "fair share bounds nothing",
    "flags": "the flags are not simulated",
    "qos": "which QOS a user may name is taken from the log",
    "defaultqos": "which QOS a job has is taken from the log",
}
_OFF: Final = {"preemptmode": ("cluster",), "gracetime": ("00:00:00",), "usagefactor": ("1.000000", "1")}
"""Values that change nothing."""


def limits(site: Site) -> Iterator[Limit]:
    """Yields the limits of all QOS, of partitions by their QOS, and of associations.

    Raises:
        InputError: A value makes no sense.
    """
    if not _are_held(site):
        return
    for name, record in site.qos.items():
        yield from _qos_limits(site, record, qos=(name,))
        _leave(site, f"QOS {name}", record, [key for _, columns in _OF_QOS for key in columns])
    for name, record in site.partitions.items():
        for qos in names(record.get("qos")):
            if qos in site.qos:
                yield from _qos_limits(site, site.qos[qos], partitions=(name,))
                why = "of a job's QOS and its partition's, both bind, not one of them"
            else:
                why = "its limits are not told: give 'sacctmgr show qos -P' too"
            site.leave(record["qos"], why, f"{name} {record['qos'].key}")
    yield from _association_limits(site)


def _are_held(site: Site) -> bool:
    """Returns whether Slurm holds limits at all."""
    enforce = site.settings.get("accountingstorageenforce")
    if not site.settings or not (site.qos or site.associations):
        return True
    words = {word.strip().lower() for word in enforce.value.split(",")} if enforce else set()
    if words & {"limits", "safe", "all", "1"}:
        return True
    told = enforce or next(iter(site.settings.values()))._replace(value="none", key="AccountingStorageEnforce")
    site.leave(told, "does not name limits, so that Slurm holds none of QOS and associations")
    return False


def _qos_limits(site: Site, record: Record, **filters: tuple[str, ...]) -> Iterator[Limit]:
    for per, columns in _OF_QOS:
        yield from limit(_where(site, record), _bounds(site, record, columns), per=per, **filters)


def _where(site: Site, record: Record) -> str:
    return site.where(record) if record else ""


def _bounds(site: Site, record: Record, columns: Columns) -> dict[str, float | None]:
    """Returns the bounds that a row tells in these columns."""
    found: dict[str, float | None] = {}
    for key, bound in columns.items():
        told = record.get(key)
        if told is None:
            continue
        if bound == "max_time_s":
            found[bound] = time_s(site, told) or None
        elif bound not in ("running", "max"):
            found[bound] = site.count(told, NOTHING)
        else:
            for name, amount in tres(site, told).items():
                end = TRES_COUNTS.get(name)
                if end is None or (bound == "max" and end == "memory_mb"):
                    site.leave(told, f"{name} is not bounded")
                else:
                    found[f"{bound}_{end}"] = amount
    return found


def _leave(site: Site, what: str, record: Record, taken: Sequence[str]) -> None:
    for key, told in record.items():
        if key in taken or key in _TOLD_OTHERWISE or told.value.strip().lower() in (*_OFF.get(key, ()), *NOTHING):
            continue
        site.leave(told, _LEFT.get(key, "not known"), f"{what} {told.key}".strip())


def _association_limits(site: Site) -> Iterator[Limit]:
    rows = [row for row in site.associations if "user" in row]
    with_users = {_account(row) for row in rows}
    for row in site.associations:
        _leave(site, "", row, [*_ALL_TOGETHER, *_OF_USER])
        if "user" not in row:
            account = (_account(row),)
            yield from limit(site.where(row), _bounds(site, row, _ALL_TOGETHER), accounts=account, **_partitions(row))
            # What an account has for each of its users stands in their rows, where there are any.
            if _account(row) not in with_users:
                bounds = _bounds(site, row, _OF_USER)
                yield from limit(site.where(row), bounds, accounts=account, per=("user",), **_partitions(row))
    yield from _user_limits(site, rows)


def _user_limits(site: Site, rows: Sequence[Record]) -> Iterator[Limit]:
    """Yields the limits of users, those that are alike in one."""
    alike: dict[tuple[object, ...], tuple[Record, dict[str, float | None], list[str]]] = {}
    for row in rows:
        bounds = _bounds(site, row, _ALL_TOGETHER)
        for name, value in _bounds(site, row, _OF_USER).items():
            told = [one for one in (bounds.get(name), value) if one is not None]
            bounds[name] = min(told, default=None)
        key = (_account(row), *_partitions(row).values(), *sorted(bounds.items(), key=str))
        alike.setdefault(key, (row, bounds, []))[2].append(row["user"].value.strip())
    for row, bounds, users in alike.values():
        filters = {"accounts": (_account(row),), "users": tuple(dict.fromkeys(users)), "per": ("user",)}
        yield from limit(site.where(row), bounds, **filters, **_partitions(row))


def _partitions(row: Record) -> dict[str, tuple[str, ...]]:
    return {"partitions": (row["partition"].value.strip(),)} if "partition" in row else {}


def _account(row: Record) -> str:
    return row["account"].value.strip()
