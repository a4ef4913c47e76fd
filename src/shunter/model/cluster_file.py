"""Clusters to files: the TOML that `Cluster.read` takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shunter.files import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shunter.model.cluster import Cluster, Node

_WIDTH: Final = 100
"""Of the lines in which names stand."""


def write_cluster(cluster: Cluster, path: Path, comments: Sequence[str] = ()) -> None:
    """Writes a cluster file; like nodes stand together, in the order of the first of them.

    Raises:
        InputError: The file cannot be written.
    """
    text = cluster_toml(cluster, comments)
    write_file(path, lambda file: file.write(text.encode()))


def cluster_toml(cluster: Cluster, comments: Sequence[str] = ()) -> str:
    """Returns the text of a cluster file."""
    lines = [*(f"# {comment}" for comment in comments), f"name = {_quoted(cluster.name)}"]
    groups: dict[tuple[object, ...], list[Node]] = {}
    for node in cluster.nodes:
        groups.setdefault((node.cores, node.memory_mb, node.gpus, node.gpu_type, node.partition), []).append(node)
    for nodes in groups.values():
        lines += ["", "[[nodes]]", *_group(nodes)]
    return "\n".join(lines) + "\n"


def _group(nodes: Sequence[Node]) -> list[str]:
    first = nodes[0]
    lines = _names([node.name for node in nodes])
    # A file tells whole cores; a share of one would be more than the node has.
    lines.append(f"cores = {int(first.cores)}")
    if first.memory_mb is not None:
        lines.append(f"memory_mb = {first.memory_mb}")
    if first.gpus:
        lines.append(f"gpus = {first.gpus}")
    for key in ("gpu_type", "partition"):
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
