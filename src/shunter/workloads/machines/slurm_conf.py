"""Slurm's configuration: slurm.conf, or what ``scontrol show config`` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Final

from shunter.workloads.formats.slurm import number
from shunter.workloads.machines.site import Told
from shunter.workloads.machines.slurm_nodes import NodeRecord, nodes_of_records, split_names

if TYPE_CHECKING:
    from shunter.model.cluster import Node
    from shunter.workloads.machines.site import Record, Site
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

FUTURE: Final = "State=FUTURE: not there yet, left out"
INCLUDED: Final = "Include: the file is not followed, give it too"

_NODE: Final = "nodename"
_BEGINNING: Final = re.compile(
    r"(?:nodename|partitionname|clustername|slurmctldhost|controlmachine|scheduler\w+|priority\w+)\s*=", re.IGNORECASE
)
_INCLUDE: Final = re.compile(r"include\s+(\S+)", re.IGNORECASE)
_PAIR: Final = re.compile(r'([A-Za-z]\w*)\s*=\s*("[^"]*"|\S+)')
_DEFAULT: Final = "DEFAULT"
_UNTOLD_CPUS: Final = "1"
"""What Slurm takes for a node of which nothing is told."""


def recognizes(source: Source) -> bool:
    """Returns whether a line begins as one of a configuration."""
    lines = source.head_lines
    # 'scontrol show node' begins in the same way, and tells what is in use besides.
    is_printed = any("CPUTot=" in line or "CPUAlloc=" in line for line in lines)
    return not is_printed and any(_BEGINNING.match(line) for line in lines)


def read(sources: Sequence[Source], repairs: Repairs) -> list[Node]:
    """Returns all nodes that the files configure."""
    return nodes_of_records(_records(_lines(sources, repairs), repairs), repairs)


def note(source: Source, site: Site) -> None:
    """Notes the partitions, sets of nodes, and all that holds for the whole site."""
    defaults: Record = {}
    for place, pairs in _pairs(source, site.repairs, tell=True):
        record = {key.lower(): Told(place, key, value) for key, value in pairs}
        kind = next(iter(record), "")
        if kind == "partitionname":
            name = site.name_of(record.pop(kind))
            if name.upper() == _DEFAULT:
                defaults |= record
            else:
                # What scontrol prints of it is in force, and stays.
                # Its own line comes first: errors name it.
                own = record | {key: told for key, told in defaults.items() if key not in record}
                site.partitions[name] = own | site.partitions.get(name, {})
        elif kind == "nodeset":
            site.node_sets[record.pop(kind).value] = record
        elif kind != _NODE:
            site.settings |= record


def _lines(sources: Sequence[Source], repairs: Repairs) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields the place and the pairs, with keys in lower case, of each line that tells of nodes."""
    for source in sources:
        for place, found in _pairs(source, repairs):
            pairs = {key.lower(): value for key, value in found}
            if next(iter(pairs), None) == _NODE:
                yield place, pairs


def _pairs(source: Source, repairs: Repairs, tell: bool = False) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Yields the place and the pairs of each line; one that the next line goes on with is one with it.

    Args:
        source: The file.
        repairs: Knows places.
        tell: Whether included files, which are not followed, go to the ledger.
    """
    begun = ""
    for line_number, line in source.lines():
        text = begun + line.partition("#")[0].strip()
        # A backslash at the end: the line goes on.
        begun = text[:-1] + " " if text.endswith("\\") else ""
        if begun or not text:
            continue
        place = repairs.place(source, line_number)
        if tell and (include := _INCLUDE.fullmatch(text)):
            repairs.tell(INCLUDED, 1, place, f"Include {include.group(1)[:100]}")
        yield place, [(key, value.strip('"')) for key, value in _PAIR.findall(text)]


def _records(lines: Iterator[tuple[int, dict[str, str]]], repairs: Repairs) -> Iterator[NodeRecord]:
    """Yields what is told of nodes; which partitions name them is worked out when all files are read."""
    defaults: dict[str, str] = {}
    for place, pairs in lines:
        if pairs[_NODE].upper() == _DEFAULT:
            # It holds for the lines that follow.
            defaults.update(pairs)
            continue
        node = defaults | pairs
        if node.get("state", "").upper() == "FUTURE":
            repairs.tell(FUTURE, 1, place, f"NodeName {node[_NODE][:40]}")
            continue
        features = split_names(node.get("feature") or node.get("features"))
        yield NodeRecord(place, node[_NODE], _cpus(node), node.get("realmemory"), node.get("gres", ""), (), features)


def _cpus(node: Mapping[str, str]) -> str:
    """Returns the CPUs of a node: as told, or what its boards, sockets, cores and threads come to."""
    told = node.get("cpus") or node.get("procs")
    if told is not None:
        return told
    sockets = node.get("sockets")
    keys = ("corespersocket", "threadspercore")
    parts = [sockets] if sockets is not None else [node.get("boards"), node.get("socketsperboard")]
    counts = [number(part or _UNTOLD_CPUS) for part in (*parts, *(node.get(key) for key in keys))]
    known = [count for count in counts if count is not None]
    # What cannot be read is left for the line that says so.
    return f"{prod(known):.0f}" if len(known) == len(counts) else "unreadable"
