"""Slurm's nodes as ``scontrol show node`` prints them, on one line each (``--oneliner``) or on several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from shunter.workloads.machines.slurm_nodes import NodeRecord, nodes_of_records, split_names

if TYPE_CHECKING:
    from shunter.model.cluster import Node
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

_START: Final = "NodeName="
_PAIR: Final = re.compile(
    r"(?:^|\s)(NodeName|CPUTot|RealMemory|Gres|Partitions|ActiveFeatures|AvailableFeatures)=(\S*)"
)


def recognizes(source: Source) -> bool:
    """Returns whether the text begins with a node, and tells its CPUs."""
    lines = source.head_lines
    return bool(lines) and lines[0].startswith(_START) and any("CPUTot=" in line for line in lines[:10])


def read(sources: Sequence[Source], repairs: Repairs) -> list[Node]:
    """Returns all nodes, also those that are down or drained: they are part of the cluster."""
    return nodes_of_records((record for source in sources for record in _records(source, repairs)), repairs)


def _records(source: Source, repairs: Repairs) -> Iterator[NodeRecord]:
    place, text = 0, ""
    for line_number, line in source.lines():
        if line.startswith(_START):
            yield from _record(place, text)
            place, text = repairs.place(source, line_number), line
        # Without --oneliner a node takes several lines.
        elif text:
            text += " " + line
        elif line.strip():
            repairs.skip(repairs.place(source, line_number), f"the line {line[:40]!r} is of no node")
    yield from _record(place, text)


def _record(place: int, text: str) -> Iterator[NodeRecord]:
    if not text:
        return
    # The first of equal keys counts: reasons and comments, which may hold anything, stand at the end.
    pairs = dict(reversed(_PAIR.findall(text)))
    partitions = split_names(pairs.get("Partitions"))
    cpus, memory_mb, gres = pairs.get("CPUTot"), pairs.get("RealMemory"), pairs.get("Gres", "")
    # Features that a node could have after a reboot are available, but not active.
    features = split_names(pairs.get("ActiveFeatures") or pairs.get("AvailableFeatures"))
    yield NodeRecord(place, pairs["NodeName"], cpus, memory_mb, gres, partitions, features)
