"""Clusters to files: the TOML that `Cluster.read` takes."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shunter.errors import InputError
from shunter.files import write_file
from shunter.model.gpu_types import catalog_tflops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shunter.model.cluster import Cluster, Node

_WIDTH: Final = 100
"""Of the lines in which names stand."""


def write_cluster(cluster: Cluster, path: Path, comments: Sequence[str] = ()) -> None:
    """Writes a cluster file; like nodes stand together, in the order of the first of them.

    Raises:
        InputError: The file cannot be written, or cannot say what the nodes are.
    """
    text = cluster_toml(cluster, comments)
    write_file(path, lambda file: file.write(text.encode()))


def cluster_toml(cluster: Cluster, comments: Sequence[str] = (), *, in_order: bool = False) -> str:
    """Returns the text of a cluster file.

    Args:
        cluster: The nodes.
        comments: Lines for its top.
        in_order: Whether only neighbors stand together, so that reading gives the nodes in their order.

    Raises:
        InputError: A file cannot say how fast its nodes are, for nodes of one type differ.
    """
    lines = [*(f"# {comment}" for comment in comments), f"name = {_quoted(cluster.name)}"]
    lines += ["mix = true"] if cluster.mix else []
    lines += _types(cluster)
    for nodes in _groups(cluster, in_order):
        lines += ["", "[[nodes]]", *_group(nodes)]
    return "\n".join(lines) + "\n"


def _groups(cluster: Cluster, in_order: bool) -> list[list[Node]]:
    if in_order:
        return [list(nodes) for _, nodes in groupby(cluster.nodes, _likeness)]
    groups: dict[tuple[object, ...], list[Node]] = {}
    for node in cluster.nodes:
        groups.setdefault(_likeness(node), []).append(node)
    return list(groups.values())


def _likeness(node: Node) -> tuple[object, ...]:
    return (node.cores, node.memory_mb, node.gpus, node.gpu_type, node.partition, node.rack, node.switch)


def _types(cluster: Cluster) -> list[str]:
    """Returns the tables of the types that are not as the catalog has them, at speed 1."""
    told: dict[str | None, tuple[float, float | None]] = {}
    for node in cluster.nodes:
        own = (node.speed, node.tflops)
        if told.setdefault(node.gpu_type, own if node.gpu_type else (1.0, None)) != own:
            of = "without a gpu_type" if node.gpu_type is None else f"of type {node.gpu_type}"
            raise InputError(
                f"{cluster.name}: node {node.name} has speed {node.speed:g}, but a file gives one speed to all nodes "
                f"{of}; give it a gpu_type of its own"
            )
    lines = []
    for gpu_type, (speed, tflops) in told.items():
        says = [f"speed = {speed!r}"] if speed != 1.0 else []
        says += [f"tflops = {tflops!r}"] if gpu_type and tflops not in (None, catalog_tflops(gpu_type)) else []
        lines += ["", f"[gpu_types.{_quoted(gpu_type)}]", *says] if gpu_type and says else []
    return lines


def _group(nodes: Sequence[Node]) -> list[str]:
    first = nodes[0]
    lines = _names([node.name for node in nodes])
    # A file tells whole cores; a share of one would be more than the node has.
    lines.append(f"cores = {int(first.cores)}")
    if first.memory_mb is not None:
        lines.append(f"memory_mb = {first.memory_mb}")
    if first.gpus:
        lines.append(f"gpus = {first.gpus}")
    for key in ("gpu_type", "partition", "rack", "switch"):
        if (value := getattr(first, key)) is not None:
            lines.append(f"{key} = {_quoted(value)}")
    return lines


def _names(names: Sequence[str]) -> list[str]:
    """Returns a prefix and a count where names are numbered so, and otherwise each name."""
    if len(names) == 1:
        return [f"name = {_quoted(names[0])}"]
    prefix = names[0].removesuffix("0")
    if prefix and list(names) == [f"{prefix}{index}" for index in range(len(names))]:
        return [f"name = {_quoted(prefix)}", f"count = {len(names)}"]
    lines = ["names = ["]
    line = "   "
    for name in names:
        item = f" {_quoted(name)},"
        if len(line) + len(item) > _WIDTH:
            lines.append(line)
            line = "   "
        line += item
    return [*lines, line, "]"]


def _quoted(text: str) -> str:
    # TOML's basic strings are those of JSON, but for the delete sign.
    return json.dumps(text).replace("\x7f", "\\u007f")
