"""Slurm's nodes as ``sinfo`` prints them: as a table with a header line, or with ``--json``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from shunter.errors import InputError
from shunter.workloads.machines.slurm_nodes import NodeRecord, nodes_of_records, split_names
from shunter.workloads.text.json_text import encodable, read_elements

if TYPE_CHECKING:
    from shunter.model.cluster import Node
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

COMMAND: Final = "sinfo --Node --all --format='%N %c %m %G %P'"
"""What errors tell to run."""

_NAMES: Final = ("NODELIST", "HOSTNAMES")
_COLUMNS: Final = {"PARTITION", "STATE", "CPUS", "MEMORY", "GRES", "NODES", "AVAIL"}
_LAST: Final = "REASON"


def recognizes(source: Source) -> bool:
    """Returns whether the text is a table with sinfo's columns, or JSON with nodes."""
    return _is_json(source) or _header(source) is not None


def read(sources: Sequence[Source], repairs: Repairs) -> list[Node]:
    """Returns all nodes, also those that are down or drained: they are part of the cluster.

    Raises:
        InputError: The table does not tell CPUs, or the JSON tells of groups of nodes instead of nodes.
    """
    return nodes_of_records((record for source in sources for record in _records(source, repairs)), repairs)


def _records(source: Source, repairs: Repairs) -> Iterator[NodeRecord]:
    return _of_json(source, repairs) if _is_json(source) else _of_table(source, repairs)


def _is_json(source: Source) -> bool:
    text = source.head.lstrip()
    if not text.startswith(b"{"):
        return False
    has_nodes = re.search(rb'"nodes"\s*:\s*\[', text) is not None and b'"real_memory"' in text
    return has_nodes or _is_grouped(text)


def _is_grouped(text: bytes) -> bool:
    """Returns whether the JSON is of a version that tells of groups of nodes."""
    return re.search(rb'"sinfo"\s*:\s*\[', text) is not None


def _of_json(source: Source, repairs: Repairs) -> Iterator[NodeRecord]:
    if _is_grouped(source.head):
        raise InputError(f"{source.where}: tells of groups of nodes, not of nodes; run 'scontrol show nodes --json'")
    for line, node in read_elements(source, "nodes"):
        partitions = node.get("partitions")
        yield NodeRecord(
            repairs.place(source, line),
            encodable(str(node.get("name", ""))),
            _text(node, "cpus"),
            _text(node, "real_memory"),
            encodable(str(node.get("gres") or "")),
            tuple(encodable(str(name)) for name in partitions) if isinstance(partitions, list) else (),
            _features(node.get("active_features") or node.get("features")),
        )


def _features(told: object) -> tuple[str, ...]:
    """Returns features, which versions print as a list or as text with commas."""
    return split_names(encodable(",".join(map(str, told)) if isinstance(told, list) else str(told or "")))


def _text(node: dict[str, Any], key: str) -> str | None:
    value = node.get(key)
    return None if value is None else str(value)


def _header(source: Source) -> list[str] | None:
    """Returns the names of a table's columns; ``sinfo --long`` prints the date above them."""
    for line in source.head_lines[:2]:
        names = _cut(line)
        if any(name in names for name in _NAMES) and not _COLUMNS.isdisjoint(names):
            return names
    return None


def _cut(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().split("|" if "|" in line else None)]


def _of_table(source: Source, repairs: Repairs) -> Iterator[NodeRecord]:
    names = _header(source)
    if names is None or "CPUS" not in names:
        raise InputError(f"{source.where}: does not tell the CPUs of each node; run {COMMAND}")
    is_header_past = False
    for line_number, line in source.lines():
        cells = _cut(line)
        if not is_header_past or cells == names or not line.strip():
            # sinfo --long prints the date above the header, and pages may repeat the header.
            is_header_past = is_header_past or cells == names
            continue
        place = repairs.place(source, line_number)
        # A reason may hold blanks: what is too many belongs to it.
        if names[-1] == _LAST:
            cells = [*cells[: len(names) - 1], " ".join(cells[len(names) - 1 :])]
        if len(cells) != len(names):
            repairs.skip(place, f"the row has {len(cells)} fields, the header {len(names)}")
            continue
        yield _of_row(place, dict(zip(names, cells, strict=True)))


def _of_row(place: int, row: dict[str, str]) -> NodeRecord:
    name = next(row[column] for column in _NAMES if column in row)
    # The star marks the default partition.
    partition = row.get("PARTITION", "").removesuffix("*")
    # sinfo --long cuts features short, under a shorter name.
    features = split_names(row.get("ACTIVE_FEATURES") or row.get("AVAIL_FEATURES"))
    partitions = (partition,) if partition else ()
    return NodeRecord(place, name, row["CPUS"], row.get("MEMORY"), row.get("GRES", ""), partitions, features)
