"""Slurm's partitions to rules, and to the partitions of nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from shunter.model.site import PartitionRules
from shunter.workloads.machines.slurm_values import NOTHING, names, time_s
from shunter.workloads.text.hosts import node_names

if TYPE_CHECKING:
    from shunter.model.cluster import Node
    from shunter.workloads.machines.site import Record, Site, Told

_ALL: Final = "ALL"
_MOST_TIER: Final = 65_533
_EXCLUSIVE: Final = "exclusive"
_WHOLE_NODES: Final = "select/linear"
"""With this plugin every job has its nodes for itself."""
_TAKEN: Final = (
    *("nodes", "default", "prioritytier", "priorityjobfactor", "priority", "maxtime", "defaulttime", "maxnodes"),
    *("allowaccounts", "denyaccounts", "allowqos", "oversubscribe", "shared", "qos"),
)
_MEANINGLESS: Final = (
    *("hidden", "disablerootjobs", "totalcpus", "totalnodes", "tres", "allocnodes", "cpubind", "suspendtime"),
    *("suspendtimeout", "resumetimeout", "powerdownonidle", "tresbillingweights", "alternate"),
)
"""What plays no part in when and where a job starts, or in nothing that a log tells."""
_MEMORY_WHY: Final = "memory is what the log says of each job"
_UNSET: Final = {
    "allowgroups": (("all",), "groups of Unix are not known"),
    "denyqos": ((), "a QOS can be let in, not kept out"),
    "minnodes": (("0", "1"), "the fewest nodes of a job are not bounded"),
    "maxcpuspernode": ((), "cores of one node are not bounded for a partition"),
    "maxcpuspersocket": ((), "sockets are not simulated"),
    "maxmempernode": (("0",), _MEMORY_WHY),
    "maxmempercpu": (("0",), _MEMORY_WHY),
    "defmempernode": (("0",), _MEMORY_WHY),
    "defmempercpu": (("0",), _MEMORY_WHY),
    "defmempergpu": (("0",), _MEMORY_WHY),
    "defcpupergpu": (("0",), "cores are what the log says of each job"),
    "jobdefaults": ((), "sizes are what the log says of each job"),
    "exclusiveuser": (("no",), "nodes are not kept for one user"),
    "exclusivetopo": (("no",), "parts of the network are not kept for one job"),
    "lln": (("no",), "choose a placement with --placement"),
    "state": (("up",), "a state of one day: taken as open"),
    "preemptmode": (("off",), "no job is stopped"),
    "gracetime": (("0", "00:00:00"), "no job is stopped"),
    "overtimelimit": (("0",), "jobs run as long as the log says"),
    "reqresv": (("no",), "jobs do not name reservations"),
    "rootonly": (("no",), "all users may submit"),
    "selecttypeparameters": ((), "cores and memory are always counted"),
    "topology": ((), "the network is what the cluster file says of racks and switches"),
}
"""The keys that are not taken over, each with the values that mean nothing, and why."""


def with_partitions(site: Site, nodes: Sequence[Node]) -> list[Node]:
    """Returns the nodes with all partitions that name them."""
    found: dict[str, dict[str, None]] = {node.name: dict.fromkeys(node.partitions) for node in nodes}
    for name, record in site.partitions.items():
        for node in partition_nodes(site, record.get("nodes"), nodes):
            found[node].setdefault(name)
    return [replace(node, partitions=tuple(found[node.name])) for node in nodes]


def partition_nodes(site: Site, told: Told | None, nodes: Sequence[Node]) -> list[str]:
    """Returns the nodes that a list means; names that no node has are noted."""
    if told is None or told.value.lower() in NOTHING:
        return []
    known = {node.name for node in nodes}
    wanted: list[str] = []
    # Commas within brackets separate numbers, not names.
    for item in re.split(r",(?![^\[]*\])", told.value):
        if item.upper() == _ALL:
            wanted.extend(node.name for node in nodes)
        elif item in site.node_sets:
            wanted.extend(_set_nodes(site, site.node_sets[item], nodes))
        else:
            listed = node_names(item)
            if listed is None:
                raise site.wrong(told, "names of nodes such as n[01-16],g1")
            wanted.extend(listed)
    if absent := [name for name in wanted if name not in known]:
        site.leave(told, f"no node is called {absent[0][:40]}" + (f", nor {len(absent) - 1} more" * (len(absent) > 1)))
    return [name for name in dict.fromkeys(wanted) if name in known]


def _set_nodes(site: Site, record: Record, nodes: Sequence[Node]) -> list[str]:
    features = set(names(record.get("feature")))
    of_features = [node.name for node in nodes if features & set(node.features)]
    told = record.get("nodes")
    # A set cannot name sets.
    listed = node_names(told.value) if told is not None else []
    if told is not None and listed is None:
        raise site.wrong(told, "names of nodes such as n[01-16],g1")
    return [*of_features, *(listed or [])]


def partition_rules(site: Site, nodes: Sequence[Node]) -> tuple[dict[str, PartitionRules], str | None]:
    """Returns the rules of each partition that has nodes, and the default one.

    Raises:
        InputError: A value makes no sense.
    """
    known = {name for node in nodes for name in node.partitions}
    rules: dict[str, PartitionRules] = {}
    default = None
    for name, record in site.partitions.items():
        if name not in known:
            first = next(iter(record.values()), None)
            if first is not None:
                site.leave(first._replace(key="PartitionName", value=name), "has no nodes")
            continue
        rules[name] = _rules(site, record)
        if "default" in record and record["default"].value.lower() == "yes":
            default = name
        _leave_rest(site, name, record)
    return rules, default


def _rules(site: Site, record: Record) -> PartitionRules:
    def seconds(key: str) -> float | None:
        # A limit of 0 is none.
        return (time_s(site, record[key]) or None) if key in record else None

    tier = record.get("prioritytier") or record.get("priority")
    accounts = names(record.get("allowaccounts"))
    max_nodes = site.count(record["maxnodes"], NOTHING) if "maxnodes" in record else None
    if max_nodes == 0:
        site.leave(record["maxnodes"], "nobody but root may submit")
    sharing = record.get("oversubscribe") or record.get("shared")
    select = site.settings.get("selecttype")
    max_time_s = seconds("maxtime")
    return PartitionRules(
        tier=1 if tier is None else min(site.count(tier) or 0, _MOST_TIER),
        max_time_s=max_time_s,
        # A job that names no time may run as long as any.
        default_time_s=seconds("defaulttime") or max_time_s,
        max_nodes=max_nodes or None,
        accounts=accounts,
        # Slurm does not look at those who are denied if some are allowed.
        denied_accounts=() if accounts else names(record.get("denyaccounts")),
        qos=names(record.get("allowqos")),
        exclusive=(sharing is not None and sharing.value.lower() == _EXCLUSIVE)
        or (select is not None and select.value.lower() == _WHOLE_NODES),
        where=site.where(record),
    )


def _leave_rest(site: Site, name: str, record: Record) -> None:
    sharing = record.get("oversubscribe") or record.get("shared")
    if sharing is not None and sharing.value.lower() not in ("no", _EXCLUSIVE, *NOTHING):
        site.leave(sharing, "cores are never given twice", f"{name} {sharing.key}")
    for key, told in record.items():
        if key in _TAKEN or key in _MEANINGLESS:
            continue
        nothing, why = _UNSET.get(key, ((), "not known"))
        if told.value.lower() not in (*nothing, *NOTHING):
            site.leave(told, why, f"{name} {told.key}")


def job_factors(site: Site) -> dict[str, float]:
    """Returns what each partition counts for in the priority of its jobs: its factor over the highest, as in Slurm."""
    told = {name: record.get("priorityjobfactor") or record.get("priority") for name, record in site.partitions.items()}
    # Slurm's default is 1.
    factors = {name: 1 if one is None else site.count(one) or 0 for name, one in told.items()}
    highest = max(factors.values(), default=0)
    return {name: factor / highest for name, factor in factors.items()} if highest else {}
