"""Cluster files: TOML to clusters, and clusters to TOML."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from shunter.checks import as_written, check_name, distinct_names, number, whole
from shunter.errors import InputError
from shunter.files import parse_toml, toml_value, write_file
from shunter.model.cluster import (
    CORES_LIMIT,
    GPUS_LIMIT,
    MEMORY_LIMIT_MB,
    NODES_LIMIT,
    Cluster,
    Node,
    check_kinds,
    check_nodes,
)
from shunter.model.gpu_types import catalog_tflops
from shunter.model.kinds import FULL_SPEED_MICRO, GPUS, KIND, SLOWDOWN, SPEED, SPEED_RANGE, KindTable, read_kinds
from shunter.model.locality import LEVELS, NO_SLOWDOWN, Slowdown, slowdown_of
from shunter.model.site import SITE_KEYS, check_rules, read_rules, written_rules, written_top

TFLOPS_LIMIT: Final = 1e9
_WIDTH: Final = 100
"""The length of written lines that list names."""
_FILE_KEYS = ("name", "nodes", "mix", "reference_gpu", "gpu_types", "speeds", "locality", *SITE_KEYS)
_GROUP_KEYS = (
    *("count", "cores", "memory_mb", "gpus", "gpu_type", "partition", "partitions", "features"),
    *("rack", "switch", "name", "names"),
)
_TYPE_KEYS = ("speed", "tflops")
_GROUP_LIMITS = {
    "count": (1, NODES_LIMIT),
    "cores": (1, CORES_LIMIT),
    "memory_mb": (1, MEMORY_LIMIT_MB),
    "gpus": (0, GPUS_LIMIT),
}


@dataclass(frozen=True)
class _GpuType:
    """What a file says of a type of GPUs, in the type's own table or by ``reference_gpu``."""

    speed: float | None
    tflops: float | None


def cluster_from_toml(text: str, where: str, default_name: str, *, reads_files: bool = True) -> Cluster:
    """Returns the cluster that a file's text describes; the format is in ``docs/workloads.md``.

    Args:
        text: TOML.
        where: What errors call the file.
        default_name: What the cluster is called if the text does not say.
        reads_files: Whether it may name another file, beside itself.

    Raises:
        InputError: The text has a mistake.
    """
    content = parse_toml(text, where)
    _check_keys(content, _FILE_KEYS, where)
    name = _text(content, "name", where) or default_name
    mix = content.get("mix", False)
    if not isinstance(mix, bool):
        raise InputError(f"{where}: mix is {mix!r}; expected true or false")
    groups = content.get("nodes")
    if not (isinstance(groups, list) and groups and all(isinstance(group, dict) for group in groups)):
        raise InputError(f"{where}: no nodes; describe them in [[nodes]] groups with count and cores")
    nodes: list[Node] = []
    for place, group in enumerate(groups, start=1):
        # Nodes without a name are numbered through the whole file, so each group has to know how many came before it.
        nodes.extend(_group_nodes(group, f"{where}: [[nodes]] group {place}", len(nodes)))
    # Each group is within its limits, but together they may be more than the core can count.
    if (total := sum(node.cores for node in nodes)) > CORES_LIMIT:
        raise InputError(f"{where}: {total:.0f} cores in all; expected at most {CORES_LIMIT}")
    check_nodes(nodes, where)
    types = list(dict.fromkeys(node.gpu_type for node in nodes if node.gpu_type is not None))
    reference = _text(content, "reference_gpu", where)
    if reference is not None:
        # Case plays no part in the names of types; errors and tables shall have one spelling, that of the nodes.
        reference = next((name for name in types if name.casefold() == reference.casefold()), reference)
    slowdown = _slowdown(content, where)
    if isinstance(content.get("speeds"), str) and not reads_files:
        raise InputError(f"{where}: speeds names a file, which is not read from here; write [[speeds]] rows")
    kinds = _kinds(content, types, reference, slowdown, where)
    if kinds is not None:
        check_kinds(nodes, kinds, where)
    rules = read_rules(content, text, where)
    check_rules(rules, {one for node in nodes for one in node.partitions}, [node.name for node in nodes], where)
    return Cluster.from_nodes(_with_types(nodes, content, types, reference, where), name, mix, kinds, slowdown, rules)


def _slowdown(content: Mapping[str, Any], where: str) -> Slowdown:
    """Returns what the table ``[locality]`` says."""
    table = content.get("locality", {})
    if not isinstance(table, dict):
        raise InputError(f"{where}: locality is {table!r}; write a table [locality] with nodes = 1.2 and the like")
    _check_keys(table, LEVELS, f"{where}: [locality]")
    told = {level: (f"{where}: [locality]: {level}", value) for level, value in table.items()}
    return slowdown_of(told) or NO_SLOWDOWN


def _kinds(
    content: Mapping[str, Any], types: Sequence[str], reference: str | None, slowdown: Slowdown, where: str
) -> KindTable | None:
    """Returns the table ``speeds``: the rows ``[[speeds]]``, or the CSV file beside this one that it names."""
    given = content.get("speeds")
    if given is None:
        return None
    if isinstance(given, str) and given.strip():
        return read_kinds(Path(where).parent / given, types, reference, slowdown)
    if not (isinstance(given, list) and given and all(isinstance(row, dict) for row in given)):
        raise InputError(f"{where}: speeds is {str(given)[:60]!r}; expected the name of a CSV file, or [[speeds]] rows")
    rows = [(f"{where}: [[speeds]] row {place}", row) for place, row in enumerate(given, start=1)]
    for place, row in rows:
        of_types = [
            f"{SLOWDOWN}{level}{name}".casefold() for level in LEVELS for name in ("", *(f"_{one}" for one in types))
        ]
        others = {key: None for key in row if not key.casefold().startswith(SPEED) and key.casefold() not in of_types}
        _check_keys(others, (KIND, GPUS, *(f"{SPEED}{name}" for name in types), *of_types), place)
    return KindTable.of(rows, types, where, reference, slowdown)


def _with_types(
    nodes: Sequence[Node], content: Mapping[str, Any], names: Sequence[str], reference: str | None, where: str
) -> tuple[Node, ...]:
    """Returns the nodes with the speed and the teraflops of their types."""
    tables = _type_tables(content, [*names, *([reference] if reference else [])], where)
    reference_tflops = None if reference is None else _reference_tflops(reference, tables, where)
    types = {name: _gpu_type(name, tables.get(name), reference, reference_tflops, where) for name in names}
    return tuple(_with_type(node, types) for node in nodes)


def _with_type(node: Node, types: Mapping[str, _GpuType]) -> Node:
    if node.gpu_type is None:
        return node
    told = types[node.gpu_type]
    # Most files say nothing of their types: such nodes are taken as they are.
    if told == _GpuType(None, node.tflops):
        return node
    return replace(node, speed=told.speed or 1.0, tflops=told.tflops)


def _type_tables(content: Mapping[str, Any], known: Collection[str], where: str) -> dict[str, _GpuType]:
    """Returns what the tables ``[gpu_types.NAME]`` say."""
    tables = content.get("gpu_types", {})
    if not (isinstance(tables, dict) and all(isinstance(table, dict) for table in tables.values())):
        raise InputError(f"{where}: gpu_types is not a table of types; write [gpu_types.NAME] with speed = ...")
    found = {}
    for name, table in tables.items():
        place = f"{where}: [gpu_types.{name}]"
        if name not in known:
            hint = f"the nodes have {', '.join(known)}" if known else "give a group gpu_type"
            raise InputError(f"{place}: no node has this gpu_type; {hint}")
        _check_keys(table, _TYPE_KEYS, place)
        speed = _number(table, "speed", place, *SPEED_RANGE)
        tflops = _number(table, "tflops", place, 0.001, TFLOPS_LIMIT)
        found[name] = _GpuType(speed, tflops)
    return found


def _reference_tflops(reference: str, tables: Mapping[str, _GpuType], where: str) -> float:
    told = tables[reference].tflops if reference in tables else None
    tflops = told or catalog_tflops(reference)
    if tflops is None:
        raise InputError(
            f'{where}: reference_gpu is "{reference}", whose speed is not known; name a type such as "V100", or give '
            f"it tflops in [gpu_types.{reference}]"
        )
    return tflops


def _gpu_type(
    name: str, table: _GpuType | None, reference: str | None, reference_tflops: float | None, where: str
) -> _GpuType:
    """Returns how fast a type is: as its table says, or by the teraflops that it and the reference have."""
    table = table or _GpuType(None, None)
    tflops = table.tflops or catalog_tflops(name)
    if table.speed is not None or reference_tflops is None:
        return _GpuType(table.speed, tflops)
    if tflops is None:
        raise InputError(
            f'{where}: gpu_type "{name}" has no known speed against reference_gpu "{reference}"; give it speed or '
            f"tflops in [gpu_types.{name}]"
        )
    low, high = SPEED_RANGE
    if not low <= (speed := tflops / reference_tflops) <= high:
        raise InputError(
            f'{where}: gpu_type "{name}" would have speed {speed:g} against reference_gpu "{reference}"; expected '
            f"{low:g} to {high:g}; check tflops"
        )
    return _GpuType(speed, tflops)


def _group_nodes(group: Mapping[str, Any], where: str, first_number: int) -> list[Node]:
    _check_keys(group, _GROUP_KEYS, where)
    names = _names(group, where)
    count = _whole(group, "count", where, len(names) or 1)
    if names and count != len(names):
        raise InputError(f"{where}: count is {count}, but names has {len(names)}; leave count out, or mend one of them")
    if first_number + count > NODES_LIMIT:
        raise InputError(f"{where}: more than {NODES_LIMIT} nodes in all; check the counts")
    if "cores" not in group:
        raise InputError(f"{where}: cores is missing; say how many cores each node has")
    cores, gpus = _whole(group, "cores", where, 1), _whole(group, "gpus", where, 0)
    # A group without memory_mb does not track memory: it never binds.
    memory_mb = _whole(group, "memory_mb", where, 0) or None
    gpu_type, partitions = _text(group, "gpu_type", where), _list(group, "partitions", where)
    if (partition := _text(group, "partition", where)) is not None:
        if partitions:
            raise InputError(f"{where}: has both partition and partitions; give one of them")
        partitions = (partition,)
    features = _list(group, "features", where)
    rack, switch = _text(group, "rack", where), _text(group, "switch", where)
    prefix = _text(group, "name", where)
    return [
        Node(name, float(cores), memory_mb, gpus, gpu_type, partitions, rack=rack, switch=switch, features=features)
        for name in names or [_node_name(prefix, count, first_number, index) for index in range(count)]
    ]


def _list(group: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """Returns a list of different names, none of them blank."""
    names = distinct_names(f"{where}: {key}", group.get(key, []))
    if not all(name.strip() for name in names):
        raise InputError(f"{where}: {key} is {list(names)}; expected names that are not blank")
    return names


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


def _check_keys(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in table:
        check_name("key", key, known, where=f"{where}: ")


def _whole(group: Mapping[str, Any], key: str, where: str, default: int) -> int:
    return whole(f"{where}: {key}", group[key], *_GROUP_LIMITS[key]) if key in group else default


def _number(table: Mapping[str, Any], key: str, where: str, low: float, high: float) -> float | None:
    return number(f"{where}: {key}", table[key], low, high) if key in table else None


def _text(table: Mapping[str, Any], key: str, where: str) -> str | None:
    value = table.get(key)
    if value is None:
        return None
    if not (isinstance(value, str) and value.strip()):
        raise InputError(f"{where}: {key} is {as_written(value)}; expected text in quotes")
    return value


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
    lines = [*(f"# {comment}" for comment in comments), f"name = {toml_value(cluster.name)}"]
    lines += ["mix = true"] if cluster.mix else []
    lines += written_top(cluster.rules)
    lines += _types(cluster)
    if cluster.slowdown != NO_SLOWDOWN:
        lines += ["", "[locality]", *_written_slowdown(cluster.slowdown)]
    for nodes in _groups(cluster, in_order):
        lines += ["", "[[nodes]]", *_written_group(nodes)]
    lines += [] if cluster.kinds is None else _written_kinds(cluster.kinds, cluster.slowdown)
    lines += written_rules(cluster.rules)
    return "\n".join(lines) + "\n"


def _groups(cluster: Cluster, in_order: bool) -> list[list[Node]]:
    if in_order:
        return [list(nodes) for _, nodes in groupby(cluster.nodes, _likeness)]
    groups: dict[tuple[object, ...], list[Node]] = {}
    for node in cluster.nodes:
        groups.setdefault(_likeness(node), []).append(node)
    return list(groups.values())


def _likeness(node: Node) -> tuple[object, ...]:
    kept = (node.partitions, node.features, node.rack, node.switch)
    return (node.cores, node.memory_mb, node.gpus, node.gpu_type, *kept)


def _types(cluster: Cluster) -> list[str]:
    """Returns the tables of the types that are not as the catalog has them, at speed 1."""
    told: dict[str | None, tuple[float, float | None]] = {}
    for node in cluster.nodes:
        own = (node.speed, node.tflops)
        # Clusters made in Python may give each node its own speed; a file has one speed for each type.
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
        lines += ["", f"[gpu_types.{toml_value(gpu_type)}]", *says] if gpu_type and says else []
    return lines


def _written_group(nodes: Sequence[Node]) -> list[str]:
    first = nodes[0]
    lines = _written_names([node.name for node in nodes])
    # A file tells whole cores; a share of one would be more than the node has.
    lines.append(f"cores = {int(first.cores)}")
    if first.memory_mb is not None:
        lines.append(f"memory_mb = {first.memory_mb}")
    if first.gpus:
        lines.append(f"gpus = {first.gpus}")
    for key in ("gpu_type", "rack", "switch"):
        if (value := getattr(first, key)) is not None:
            lines.append(f"{key} = {toml_value(value)}")
    if len(first.partitions) == 1:
        lines.append(f"partition = {toml_value(first.partitions[0])}")
    elif first.partitions:
        lines.append(f"partitions = {toml_value(first.partitions)}")
    if first.features:
        lines.append(f"features = {toml_value(first.features)}")
    return lines


def _written_slowdown(slowdown: Slowdown, prefix: str = "", suffix: str = "") -> list[str]:
    values = zip(LEVELS, slowdown, strict=True)
    return [f"{toml_value(f'{prefix}{level}{suffix}')} = {micro / FULL_SPEED_MICRO!r}" for level, micro in values]


def _written_kinds(kinds: KindTable, usual: Slowdown) -> list[str]:
    lines = []
    for row in kinds.rows:
        lines += ["", "[[speeds]]", f"{KIND} = {toml_value(row.kind)}", f"{GPUS} = {row.gpus}"]
        for name, micro in zip(kinds.types, row.micro, strict=True):
            lines.append(f"{toml_value(f'{SPEED}{name}')} = {micro / FULL_SPEED_MICRO!r}")
        for name, slowdown in zip(kinds.types, row.slowdown_micro, strict=True):
            lines += _written_slowdown(slowdown, SLOWDOWN, f"_{name}") if slowdown != usual else []
    return lines


def _written_names(names: Sequence[str]) -> list[str]:
    """Returns a prefix and a count where names are numbered so, and otherwise each name."""
    if len(names) == 1:
        return [f"name = {toml_value(names[0])}"]
    prefix = names[0].removesuffix("0")
    # The short form must read back as the same names.
    if prefix and list(names) == [f"{prefix}{index}" for index in range(len(names))]:
        return [f"name = {toml_value(prefix)}", f"count = {len(names)}"]
    lines = ["names = ["]
    line = "   "
    for name in names:
        item = f" {toml_value(name)},"
        if len(line) + len(item) > _WIDTH:
            lines.append(line)
            line = "   "
        line += item
    return [*lines, line, "]"]
