"""The cluster: nodes and what they hold; a number of cores, a preset, a TOML file, or generated."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Final

from shunter.errors import InputError
from shunter.workloads import GENERATE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NODES_LIMIT: Final = 1_000_000
CORES_LIMIT: Final = 10**9
MEMORY_LIMIT_MB: Final = 10**12
GPUS_LIMIT: Final = 1024
"""The most GPUs in one node."""

_FILE_KEYS = ("name", "nodes")
_GROUP_KEYS = ("count", "cores", "memory_mb", "gpus", "gpu_type", "partition", "name", "names")
_GROUP_LIMITS = {
    "count": (1, NODES_LIMIT),
    "cores": (1, CORES_LIMIT),
    "memory_mb": (1, MEMORY_LIMIT_MB),
    "gpus": (0, GPUS_LIMIT),
}


@dataclass(frozen=True)
class Node:
    """One machine."""

    name: str
    cores: float
    memory_mb: int | None = None
    """None where memory is not tracked, and never binds."""
    gpus: int = 0
    gpu_type: str | None = None
    partition: str | None = None


@dataclass(frozen=True)
class Cluster:
    """The nodes that jobs are placed on, in the order of their numbers."""

    nodes: tuple[Node, ...]
    name: str
    content_sha256: str
    """Of the nodes in canonical form: two files that describe the same nodes have the same one."""

    @classmethod
    def from_nodes(cls, nodes: tuple[Node, ...], name: str) -> Cluster:
        """Returns a cluster of these nodes, which must have different names.

        Raises:
            InputError: There is no node, or two have one name.
        """
        if not nodes:
            raise InputError(f"{name}: the cluster has no nodes; give it at least one")
        _check_names(nodes, name)
        return cls(nodes, name, _digest(nodes))

    @classmethod
    def pool(cls, cores: int) -> Cluster:
        """Returns one node with this many cores, on which placement plays no part.

        Raises:
            InputError: The number of cores is not a whole number from 1 to 1e9.
        """
        if not (isinstance(cores, int) and 1 <= cores <= CORES_LIMIT):
            raise InputError(f'cluster "{cores}": expected a whole number of cores from 1 to {CORES_LIMIT}')
        return cls.from_nodes((Node("pool", float(cores)),), str(cores))

    @classmethod
    def parse(cls, spec: str) -> Cluster:
        """Returns the cluster that a word on the command line means.

        Args:
            spec: ``256``, a preset's name, a TOML file, or a generator's spec (``generate:eda?hosts=20&seed=42``).

        Raises:
            InputError: It is none of these, or the file or the spec has a mistake.
        """
        if spec.startswith(GENERATE):
            from shunter.workloads.generate import generate_cluster

            return generate_cluster(spec.removeprefix(GENERATE))
        if _is_number(spec):
            return cls.pool(_whole_cores(spec))
        if spec in preset_names():
            text = (resources.files("shunter") / "presets" / f"{spec}.toml").read_text(encoding="utf-8")
            return _from_toml(text, spec, spec)
        path = Path(spec)
        if path.suffix.lower() == ".toml" or "/" in spec or path.is_file():
            return cls.read(path)
        close = get_close_matches(spec, preset_names(), n=1, cutoff=0.4)
        hint = f'did you mean "{close[0]}"?' if close else f"presets: {', '.join(preset_names())}"
        raise InputError(f'cluster "{spec}" is neither a number of cores, nor a preset, nor a TOML file; {hint}')

    @classmethod
    def read(cls, path: str | Path) -> Cluster:
        """Reads a cluster file; its format is described in ``docs/workloads.md``.

        Raises:
            InputError: The file cannot be read, or has a mistake.
        """
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise InputError(f"{path}: no such cluster file; check the path, or name a preset") from None
        except IsADirectoryError:
            raise InputError(f"{path}: is a directory; name a TOML file in it") from None
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read as text ({error}); expected a TOML file") from None
        return _from_toml(text, str(path), path.stem)

    @cached_property
    def partitions(self) -> tuple[str, ...]:
        """The names of the partitions, sorted."""
        return tuple(sorted({node.partition for node in self.nodes if node.partition is not None}))

    @cached_property
    def total_cores(self) -> float:
        """The cores of all nodes."""
        return sum(node.cores for node in self.nodes)

    @cached_property
    def total_memory_mb(self) -> int | None:
        """The memory of all nodes; None if any node's is not tracked."""
        amounts = [node.memory_mb for node in self.nodes if node.memory_mb is not None]
        return sum(amounts) if len(amounts) == len(self.nodes) else None

    @cached_property
    def total_gpus(self) -> int:
        """The GPUs of all nodes."""
        return sum(node.gpus for node in self.nodes)


def preset_names() -> tuple[str, ...]:
    """Returns the names of the clusters that come with Shunter, sorted."""
    files = (resources.files("shunter") / "presets").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def _is_number(spec: str) -> bool:
    return re.fullmatch(r"\s*[+-]?(\d|\.\d|inf|nan).*", spec, re.IGNORECASE) is not None and _float(spec) is not None


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _whole_cores(spec: str) -> int:
    cores = _float(spec)
    if cores is None or not (math.isfinite(cores) and cores == int(cores) and 1 <= cores <= CORES_LIMIT):
        raise InputError(f'cluster "{spec}": expected a whole number of cores from 1 to {CORES_LIMIT}')
    return int(cores)


def _from_toml(text: str, where: str, default_name: str) -> Cluster:
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{where}: is not valid TOML: {error}; mend the file") from None
    _check_keys(content, _FILE_KEYS, where)
    name = _text(content, "name", where) or default_name
    groups = content.get("nodes")
    if not (isinstance(groups, list) and groups and all(isinstance(group, dict) for group in groups)):
        raise InputError(f"{where}: no nodes; describe them in [[nodes]] groups with count and cores")
    nodes: list[Node] = []
    for number, group in enumerate(groups, start=1):
        nodes.extend(_group_nodes(group, f"{where}: [[nodes]] group {number}", len(nodes)))
    if (total := sum(node.cores for node in nodes)) > CORES_LIMIT:
        raise InputError(f"{where}: {total:.0f} cores in all; expected at most {CORES_LIMIT}")
    _check_names(nodes, where)
    return Cluster(tuple(nodes), name, _digest(tuple(nodes)))


def _check_names(nodes: Iterable[Node], where: str) -> None:
    seen: set[str] = set()
    for node in nodes:
        if node.name in seen:
            raise InputError(f'{where}: two nodes are called "{node.name}"; give each group its own name')
        seen.add(node.name)


def _group_nodes(group: Mapping[str, Any], where: str, first_number: int) -> list[Node]:
    _check_keys(group, _GROUP_KEYS, where)
    names = _names(group, where)
    count = _whole(group, "count", where, len(names) or 1) or 1
    if names and count != len(names):
        raise InputError(f"{where}: count is {count}, but names has {len(names)}; leave count out, or mend one of them")
    if first_number + count > NODES_LIMIT:
        raise InputError(f"{where}: more than {NODES_LIMIT} nodes in all; check the counts")
    cores = _whole(group, "cores", where, None)
    if cores is None:
        raise InputError(f"{where}: cores is missing; say how many cores each node has")
    memory_mb, gpus = _whole(group, "memory_mb", where, None), _whole(group, "gpus", where, 0) or 0
    gpu_type, partition = _text(group, "gpu_type", where), _text(group, "partition", where)
    prefix = _text(group, "name", where)
    return [
        Node(name, float(cores), memory_mb, gpus, gpu_type, partition)
        for name in names or [_node_name(prefix, count, first_number, index) for index in range(count)]
    ]


def _names(group: Mapping[str, Any], where: str) -> list[str]:
    """Returns the names of a group's nodes, if it lists them."""
    names = group.get("names", [])
    if not (isinstance(names, list) and all(isinstance(name, str) and name.strip() for name in names)):
        raise InputError(f"{where}: names is {str(names)[:60]}; expected a list of names in quotes")
    if names and "name" in group:
        raise InputError(f"{where}: has both name and names; give one of them")
    return names


def _node_name(prefix: str | None, count: int, first_number: int, index: int) -> str:
    """Numbers nodes within a named group, and through the whole file where groups have no name."""
    if prefix is None:
        return f"node{first_number + index}"
    return prefix if count == 1 else f"{prefix}{index}"


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            close = get_close_matches(key, known, n=1, cutoff=0.5)
            hint = f'did you mean "{close[0]}"?' if close else f"known keys: {', '.join(known)}"
            raise InputError(f'{where}: unknown key "{key}"; {hint}')


def _whole(group: Mapping[str, Any], key: str, where: str, default: int | None) -> int | None:
    if key not in group:
        return default
    value, (low, high) = group[key], _GROUP_LIMITS[key]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(f"{where}: {key} is {value!r}; expected a whole number from {low} to {high}")
    return value


def _text(table: Mapping[str, Any], key: str, where: str) -> str | None:
    value = table.get(key)
    if value is None:
        return None
    if not (isinstance(value, str) and value.strip()):
        raise InputError(f"{where}: {key} is {value!r}; expected text in quotes")
    return value


def _digest(nodes: tuple[Node, ...]) -> str:
    rows = [[n.name, float(n.cores), n.memory_mb, n.gpus, n.gpu_type, n.partition] for n in nodes]
    return hashlib.sha256(json.dumps(rows, separators=(",", ":")).encode()).hexdigest()
