"""Slurm's configuration file slurm.conf: its lines NodeName, PartitionName and NodeSet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Final

from shunter.workloads.formats.slurm import number
from shunter.workloads.machines.slurm_nodes import NodeRecord, nodes_of_records
from shunter.workloads.text.hosts import node_names

if TYPE_CHECKING:
    from shunter.model.cluster import Node
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

FUTURE: Final = "State=FUTURE: not there yet, left out"
INCLUDED: Final = "Include: the file is not followed, give it too"

_KINDS: Final = ("nodename", "partitionname", "nodeset")
_BEGINNING: Final = re.compile(r"(?:nodename|partitionname)\s*=", re.IGNORECASE)
_INCLUDE: Final = re.compile(r"include\s+(\S+)", re.IGNORECASE)
_PAIR: Final = re.compile(r'([A-Za-z]\w*)\s*=\s*("[^"]*"|\S+)')
_DEFAULT: Final = "DEFAULT"
_ALL: Final = "ALL"
_UNTOLD_CPUS: Final = "1"
"""What Slurm takes for a node of which nothing is told."""


def recognizes(source: Source) -> bool:
    """Returns whether a line names nodes or a partition as a configuration does."""
    lines = source.head_lines
    # 'scontrol show node' begins in the same way, and tells what is in use besides.
    is_printed = any("CPUTot=" in line or "CPUAlloc=" in line for line in lines)
    return not is_printed and any(_BEGINNING.match(line) for line in lines)


def read(sources: Sequence[Source], repairs: Repairs) -> list[Node]:
    """Returns all nodes that the files configure."""
    return nodes_of_records(_records(_lines(sources, repairs), repairs), repairs)


def _lines(sources: Sequence[Source], repairs: Repairs) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields the place and the pairs, with keys in lower case, of each line that tells of nodes or partitions."""
    for source in sources:
        begun = ""
        for line_number, line in source.lines():
            text = begun + line.partition("#")[0].strip()
            # A backslash at the end: the line goes on.
            begun = text[:-1] + " " if text.endswith("\\") else ""
            if begun or not text:
                continue
            place = repairs.place(source, line_number)
            if include := _INCLUDE.fullmatch(text):
                repairs.tell(INCLUDED, 1, place, f"Include {include.group(1)[:100]}")
            pairs = {key.lower(): value.strip('"') for key, value in _PAIR.findall(text)}
            if next(iter(pairs), None) in _KINDS:
                yield place, pairs


def _records(lines: Iterator[tuple[int, dict[str, str]]], repairs: Repairs) -> Iterator[NodeRecord]:
    """Yields what is told of nodes, with the partitions that name them."""
    defaults: dict[str, dict[str, str]] = {kind: {} for kind in _KINDS}
    told: dict[str, list[tuple[int, dict[str, str]]]] = {kind: [] for kind in _KINDS}
    for place, pairs in lines:
        kind = next(iter(pairs))
        if pairs[kind].upper() == _DEFAULT:
            # It holds for the lines that follow.
            defaults[kind].update(pairs)
        else:
            told[kind].append((place, defaults[kind] | pairs))
    partitions = _partitions(told)
    for place, node in told["nodename"]:
        if node.get("state", "").upper() == "FUTURE":
            repairs.tell(FUTURE, 1, place, f"NodeName {node['nodename'][:40]}")
            continue
        for names in _split(node["nodename"]):
            found = dict.fromkeys(name for one in node_names(names) or () for name in partitions.get(one, ()))
            everywhere = partitions.get(_ALL, ())
            memory_mb, gres = node.get("realmemory"), node.get("gres", "")
            yield NodeRecord(place, names, _cpus(node), memory_mb, gres, (*found, *everywhere))


def _split(names: str) -> list[str]:
    """Returns each name of a list on its own, as nodes of one line may be in different partitions."""
    found = node_names(names)
    return [names] if found is None else found


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


def _partitions(told: Mapping[str, list[tuple[int, dict[str, str]]]]) -> dict[str, list[str]]:
    """Returns the partitions by the node that they name; those of `_ALL` hold for every node."""
    sets = {pairs["nodeset"]: pairs.get("nodes", "") for _, pairs in told["nodeset"]}
    found: dict[str, list[str]] = {}
    for _, pairs in told["partitionname"]:
        for item in re.split(r",(?![^\[]*\])", pairs.get("nodes", "")):
            for name in node_names(sets.get(item, item)) or ():
                found.setdefault(_ALL if name.upper() == _ALL else name, []).append(pairs["partitionname"])
    return found
