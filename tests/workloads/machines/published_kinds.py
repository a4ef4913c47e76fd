"""How many machines of each kind published lists have, from ``published_kinds.csv``."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from shunter.model.cluster import Node

Kinds: TypeAlias = Counter[tuple[float, int | None, int, str | None]]
"""How many nodes there are of each kind: cores, memory in MB, GPUs, and their type."""


def kinds_of(nodes: Iterable[Node]) -> Kinds:
    """Returns the kinds of nodes."""
    return Counter((node.cores, node.memory_mb, node.gpus, node.gpu_type) for node in nodes)


def published_kinds(name: str) -> Kinds:
    """Returns the kinds of machines on a published list; a core for each GPU where it tells no cores."""
    kinds: Kinds = Counter()
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["list"] == name:
                memory_mb = int(row["memory_mb"]) if row["memory_mb"] else None
                kind = (float(row["cores"]), memory_mb, int(row["gpus"]), row["gpu_type"] or None)
                kinds[kind] = int(row["nodes"])
    return kinds
