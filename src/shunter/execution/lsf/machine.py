"""Hosts and queues of an LSF site, from what lshosts, bhosts, bqueues and bmgroup print."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from shunter.errors import InputError
from shunter.execution.lsf.records import host_records, queue_records
from shunter.execution.lsf.values import OPEN_HOSTS
from shunter.execution.operating.site import SiteError, SiteNode
from shunter.model.cluster import Node
from shunter.workloads.machines import bqueues, lsf_site, lshosts
from shunter.workloads.machines.site import Record, Site, Told
from shunter.workloads.text.repairs import Repairs
from shunter.workloads.text.source import Source, open_source


@dataclass(frozen=True)
class Queue:
    """A queue of LSF's."""

    priority: int = 0
    status: str = "Open:Active"
    limit_s: float | None = None
    """The run limit of a job that names none."""
    has_aps: bool = False
    """Whether its jobs stand in the order of their absolute priorities."""
    is_shared_fairly: bool = False
    """Whether they stand in the order of what their users have had."""
    group: str = ""
    """The queues whose jobs stand in one line with its own."""

    @property
    def is_active(self) -> bool:
        """Whether jobs are started from it; one that is closed takes no further jobs, but starts those it has."""
        return not self.status.partition(":")[2].lower().startswith("inact")


@dataclass(frozen=True)
class Machine:
    """Hosts and queues."""

    nodes: tuple[SiteNode, ...] = ()
    queues: Mapping[str, Queue] = field(default_factory=dict)
    taken: Mapping[str, int] = field(default_factory=dict)
    """The slots of each host that are in use or reserved, as bhosts counts them."""


def machine_of(
    hosts: bytes, *, lists: bytes = b"", gpus: bytes = b"", queues: bytes = b"", groups: bytes = b""
) -> Machine:
    """Returns the hosts and queues that LSF's programs tell of.

    Args:
        hosts: What bhosts prints, as JSON or text: slots and states.
        lists: What lshosts prints: memory, and cores where slots have no limit.
        gpus: What ``lshosts -gpu`` prints.
        queues: What ``bqueues -l`` prints: priorities, hosts, limits, and how jobs are ordered.
        groups: What bmgroup prints: the hosts in groups of which queues tell.

    Raises:
        SiteError: An answer makes no sense.
    """
    records = host_records(hosts)
    files = {"lshosts": lists, "gpus": gpus, "bhosts": hosts, "bqueues": queues}
    with tempfile.TemporaryDirectory(prefix="shunter-lsf-") as folder:
        sources = {}
        for name, text in files.items():
            if text.strip():
                (Path(folder) / name).write_bytes(text)
        try:
            for name, text in files.items():
                if text.strip():
                    sources[name] = open_source(Path(folder) / name)
            nodes, found = _assembled(sources, groups)
        except InputError as error:
            # The files are ours: what people know is the program.
            raise SiteError(str(error).replace(f"{folder}/", "")) from None
    states = {record["HOST_NAME"]: record for record in records}
    return Machine(tuple(_node(node, states[node.name]) for node in nodes if node.name in states), found)


def with_states(machine: Machine, hosts: bytes, queues: bytes) -> Machine:
    """Returns the same machine with the present states of its hosts and queues.

    Args:
        machine: From an earlier reading.
        hosts: What bhosts prints now.
        queues: What bqueues prints now; empty: nothing is known.

    Raises:
        SiteError: An answer makes no sense.
    """
    states = {record["HOST_NAME"]: record for record in host_records(hosts)}
    nodes = tuple(
        replace(node, is_closed=node.name not in states or _is_closed(states[node.name])) for node in machine.nodes
    )
    found = dict(machine.queues)
    for record in queue_records(queues) if queues.strip() else ():
        before = found.get(record["QUEUE_NAME"], Queue())
        told = record.get("PRIORITY", "")
        priority = int(told) if re.fullmatch(r"\d{1,9}", told) else before.priority
        found[record["QUEUE_NAME"]] = replace(before, priority=priority, status=record["STATUS"])
    taken = {name: int(record["NJOBS"]) for name, record in states.items() if record["NJOBS"].isdecimal()}
    return Machine(nodes, found, taken)


def _assembled(sources: Mapping[str, Source], groups: bytes) -> tuple[list[Node], dict[str, Queue]]:
    """Returns nodes with the names of their queues, and the queues, as the lists of a site are read from files."""
    repairs = Repairs(list(sources.values()))
    site = Site(repairs)
    if "bqueues" in sources:
        bqueues.note(sources["bqueues"], site)
    for name, members in _groups(groups).items():
        site.host_groups[name] = Told(0, "HOSTS", members)
    lists = [source for name, source in sources.items() if name != "bqueues"]
    nodes = lshosts.read(lists, repairs)
    told = lsf_site.assemble(site, nodes)
    queues = {name: _queue(record) for name, record in site.partitions.items()}
    for name, queue in queues.items():
        rules = told.rules.partitions.get(name)
        if rules is not None:
            queues[name] = replace(queue, priority=rules.tier, limit_s=rules.default_time_s)
    known = {name for node in told.nodes for name in node.partitions}
    # A queue whose hosts nobody can name is taken to have all of them: LSF knows better, and has the last word.
    lost = tuple(name for name in queues if name not in known)
    return [replace(node, partitions=(*node.partitions, *lost)) for node in told.nodes], _joined(queues, site)


def _queue(record: Record) -> Queue:
    priority = record.get("priority")
    return Queue(
        priority=int(priority.value) if priority is not None and priority.value.isdecimal() else 0,
        has_aps="aps_priority" in record,
        is_shared_fairly="fairshare" in record,
    )


def _joined(queues: Mapping[str, Queue], site: Site) -> dict[str, Queue]:
    """Returns the queues; those of one group stand in one line, ordered as the queue that names the group says."""
    found = dict(queues)
    for name, record in site.partitions.items():
        told = record.get("queue_group")
        if told is not None and queues[name].has_aps:
            members = sorted({name, *told.value.split()} & set(queues))
            for member in members:
                found[member] = replace(found[member], has_aps=True, group=" ".join(members))
    return found


def _groups(answer: bytes) -> dict[str, str]:
    """Returns the hosts of each group: a name and its members in a line, below a header."""
    lines = [line.split() for line in answer.decode(errors="replace").splitlines() if line.strip()]
    return {words[0]: " ".join(words[1:]) for words in lines if words[0] != "GROUP_NAME" and len(words) > 1}


def _node(node: Node, record: Mapping[str, str]) -> SiteNode:
    return SiteNode(
        name=node.name,
        cores=max(1, int(node.cores)),
        memory_mb=node.memory_mb,
        gpus=node.gpus,
        gpu_type=node.gpu_type,
        partitions=tuple(sorted(node.partitions)),
        is_closed=_is_closed(record),
    )


def _is_closed(record: Mapping[str, str]) -> bool:
    """Returns whether no job may start on a host though slots were free."""
    status = record["STATUS"].lower()
    if status != "closed":
        return status not in OPEN_HOSTS
    # Without -w LSF does not tell why; a host whose slots are all taken opens again by itself.
    slots, jobs = record["MAX"], record["NJOBS"]
    return not (slots.isdecimal() and jobs.isdecimal() and int(jobs) >= int(slots))
