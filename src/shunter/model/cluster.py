"""The cluster: nodes and what they hold; from a number of cores, a preset or a TOML file."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from shunter.checks import check_name
from shunter.errors import InputError
from shunter.files import read_text
from shunter.model.gpu_types import catalog_tflops
from shunter.model.kinds import NO_KIND, SPEED_RANGE, KindTable
from shunter.model.locality import NO_SLOWDOWN, Slowdown
from shunter.model.site import NO_RULES, SiteRules, check_rules, rules_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

GENERATE: Final = "generate:"
"""How the text that names a generator starts: ``generate:lublin?seed=42&jobs=10000&cores=256&load=0.9``."""

NODES_LIMIT: Final = 1_000_000
CORES_LIMIT: Final = 10**9
MEMORY_LIMIT_MB: Final = 10**12
GPUS_LIMIT: Final = 1024
"""The most GPUs in one node."""

GPU_TYPES_LIMIT: Final = 62
"""The most types of GPUs in one cluster: each has a bit of a 64-bit integer, of which one more stands for no type."""

ANY_GPU_TYPE: Final = 0
"""The mask of a job that takes GPUs of every type, or none at all."""
NO_SUCH_GPU_TYPE: Final = 1 << GPU_TYPES_LIMIT
"""The mask of a job all of whose types the cluster lacks: a bit that no node has."""


@dataclass(frozen=True)
class Node:
    """One machine."""

    name: str
    cores: float
    memory_mb: int | None = None
    """None: memory is not tracked, and never keeps a job from starting."""
    gpus: int = 0
    gpu_type: str | None = None
    partitions: tuple[str, ...] = ()
    """A node may be in several; jobs that name one of them may use it."""
    speed: float = 1.0
    """The speed of its GPUs: at 2.0 a job takes half the time that its log says."""
    tflops: float | None = None
    """Teraflops of one of its GPUs. By default as the catalog has them for the type; None where it has none."""
    rack: str | None = None
    switch: str | None = None
    """The network switch that the node is connected to."""
    features: tuple[str, ...] = ()
    """What jobs may ask for by name, such as ``avx512``."""

    def __post_init__(self) -> None:
        # The class is frozen; this is how a frozen dataclass fills a field by itself.
        if self.tflops is None and self.gpu_type is not None:
            object.__setattr__(self, "tflops", catalog_tflops(self.gpu_type))


@dataclass(frozen=True)
class Cluster:
    """The nodes that jobs are placed on, in the order of their numbers."""

    nodes: tuple[Node, ...]
    name: str
    content_sha256: str
    """The hash of the nodes in canonical form: two files that describe the same nodes have the same hash."""
    mix: bool = False
    """Whether one job may have GPUs of several types at once."""
    kinds: KindTable | None = None
    """How fast kinds of jobs run on each type; None: as fast as the nodes are, whatever their kind."""
    slowdown: Slowdown = NO_SLOWDOWN
    """By how much slower jobs with GPUs are that are spread, if their kind does not say."""
    rules: SiteRules = NO_RULES
    """What holds beside the nodes: partitions, limits, licenses, advance reservations."""

    @classmethod
    def from_nodes(
        cls,
        nodes: tuple[Node, ...],
        name: str,
        mix: bool = False,
        kinds: KindTable | None = None,
        slowdown: Slowdown = NO_SLOWDOWN,
        rules: SiteRules = NO_RULES,
    ) -> Cluster:
        """Returns a cluster of these nodes, which must have different names.

        Args:
            nodes: In the order of their numbers.
            name: What tables call the cluster.
            mix: Whether one job may have GPUs of several types at once.
            kinds: How fast kinds of jobs run on each type of these nodes.
            slowdown: By how much slower jobs without a kind are that are spread.
            rules: What holds beside the nodes.

        Raises:
            InputError: There is no node, two have one name, a speed is out of range, there are too many types, or a
                rule names what is not there.
        """
        check_nodes(nodes, name)
        if kinds is not None:
            check_kinds(nodes, kinds, name)
        partitions = {partition for node in nodes for partition in node.partitions}
        check_rules(rules, partitions, [node.name for node in nodes], name)
        return cls(nodes, name, _digest(nodes, mix, kinds, slowdown, rules), mix, kinds, slowdown, rules)

    @classmethod
    def pool(cls, cores: int) -> Cluster:
        """Returns one node with this many cores, so that there is nothing to place.

        Raises:
            InputError: The number of cores is not a whole number from 1 to 1e9.
        """
        if not (isinstance(cores, int) and 1 <= cores <= CORES_LIMIT):
            raise InputError(f'cluster "{cores}": expected a whole number of cores from 1 to {CORES_LIMIT}')
        return cls.from_nodes((Node("pool", float(cores)),), str(cores))

    @classmethod
    def parse(cls, spec: str) -> Cluster:
        """Returns the cluster that a text describes; `shunter.read_cluster` also takes generated ones.

        Args:
            spec: A number of cores (``256``), a preset's name, or the path of a TOML file.

        Raises:
            InputError: It is none of these, or the file has a mistake.
        """
        if spec.startswith(GENERATE):
            raise InputError(f'cluster "{spec}" is to be generated; read it with shunter.read_cluster')
        if is_cores(spec):
            return cls.pool(_whole_cores(spec))
        # A preset goes before a file of the same name in the current folder: scripts must mean the same everywhere.
        presets, path = preset_names(), Path(spec)
        if spec not in presets and (path.suffix.lower() == ".toml" or "/" in spec or (spec and path.exists())):
            return cls.read(path)
        make = "'shunter trace cluster' makes one of a list of machines or a log"
        check_name("cluster", spec, presets, also=f"; or give a number of cores, or a TOML file ({make})")
        from shunter.model.cluster_file import cluster_from_toml

        text = (resources.files("shunter") / "presets" / f"{spec}.toml").read_text(encoding="utf-8")
        return cluster_from_toml(text, spec, spec)

    @classmethod
    def read(cls, path: str | Path) -> Cluster:
        """Reads a cluster file; its format is described in ``docs/workloads.md``.

        Raises:
            InputError: The file cannot be read, or has a mistake.
        """
        from shunter.model.cluster_file import cluster_from_toml

        path = Path(path)
        return cluster_from_toml(read_text(path, "cluster file", "a TOML file"), str(path), path.stem)

    @property
    def label(self) -> str:
        """What tables call it: ``gpu-64 (512 cores, 64 GPUs)``; for a plain number of cores just ``256 cores``."""
        cores = f"{self.total_cores:,.15g} cores"
        if self.total_gpus:
            cores += f", {self.total_gpus:,} GPUs"
        return cores if self.name.isdecimal() else f"{self.name} ({cores})"

    @cached_property
    def partitions(self) -> tuple[str, ...]:
        """The names of the partitions, sorted."""
        # Sorted, so that the core's numbers for partitions do not depend on the order of the nodes.
        return tuple(sorted({partition for node in self.nodes for partition in node.partitions}))

    @cached_property
    def gpu_types(self) -> tuple[str, ...]:
        """The types of GPUs, in the order of the first node of each."""
        return tuple(dict.fromkeys(node.gpu_type for node in self.nodes if node.gpu_type is not None))

    def gpu_type_masks(self, jobs: pl.DataFrame) -> NDArray[np.int64]:
        """Returns the types of GPUs that each job takes, as bits by their places in `gpu_types`.

        A job that does not care has `ANY_GPU_TYPE`. A cluster none of whose nodes has a type serves every job, whatever
        types the log names. Types on which a job's kind does not run are left out.

        Args:
            jobs: The workload's table; its columns ``gpu_type`` and ``kind`` may be absent.
        """
        wanted = self._wanted_masks(jobs)
        if self.kinds is None:
            return wanted
        every = (1 << len(self.gpu_types)) - 1
        runs_on = self.kinds.runs_on(self.kind_rows(jobs))
        both = np.where(wanted == ANY_GPU_TYPE, every, wanted) & runs_on
        masks = np.where(runs_on == every, wanted, np.where(both == 0, NO_SUCH_GPU_TYPE, both))
        return masks.astype(np.int64)

    def kind_rows(self, jobs: pl.DataFrame) -> NDArray[np.int64]:
        """Returns each job's row of `kinds`; `NO_KIND` for a job that runs as fast as its nodes are."""
        return np.full(jobs.height, NO_KIND, dtype=np.int64) if self.kinds is None else self.kinds.rows_of(jobs)

    def _wanted_masks(self, jobs: pl.DataFrame) -> NDArray[np.int64]:
        """Returns the types that each job asks for."""
        if "gpu_type" not in jobs.columns or not self.gpu_types:
            return np.full(jobs.height, ANY_GPU_TYPE, dtype=np.int64)
        texts = jobs["gpu_type"]
        distinct = texts.drop_nulls().unique()
        masks = pl.Series([self._mask(text) for text in distinct.to_list()], dtype=pl.Int64)
        found = texts.replace_strict(distinct, masks, default=ANY_GPU_TYPE, return_dtype=pl.Int64)
        return np.where(jobs["gpus_per_task"].to_numpy() > 0, found.to_numpy(), ANY_GPU_TYPE).astype(np.int64)

    def _mask(self, text: str) -> int:
        """Returns the bits of the types that a text names. Case plays no part: every log writes them its own way."""
        wanted = {name.casefold() for name in wanted_types(text)}
        # Several of the types that a job names may be here: any of them will do, so all their bits are set.
        mask = sum(1 << number for number, name in enumerate(self.gpu_types) if name.casefold() in wanted)
        return (mask or NO_SUCH_GPU_TYPE) if wanted else ANY_GPU_TYPE

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


def wanted_types(text: str) -> tuple[str, ...]:
    """Returns the types of GPUs that a job asks for, any of which will do: ``A100|H100`` names two."""
    return tuple(part.strip() for part in text.split("|") if part.strip())


def preset_names() -> tuple[str, ...]:
    """Returns the names of the clusters that come with Shunter, sorted."""
    files = (resources.files("shunter") / "presets").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def is_cores(spec: str) -> bool:
    """Returns whether a text is meant to be a number of cores."""
    # What begins like a number but is none, such as 10nodes.toml, may be a file.
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


def check_nodes(nodes: Iterable[Node], where: str) -> None:
    """Raises an error if nodes cannot be in one cluster.

    Args:
        nodes: In the order of their numbers.
        where: What errors call the cluster.
    """
    names: set[str] = set()
    gpu_types: set[str] = set()
    low, high = SPEED_RANGE
    for node in nodes:
        if node.name in names:
            raise InputError(f'{where}: two nodes are called "{node.name}"; give each group its own name')
        if not low <= node.speed <= high:
            raise InputError(f"{where}: node {node.name} has speed {node.speed:g}; expected {low:g} to {high:g}")
        names.add(node.name)
        if node.gpu_type is not None:
            gpu_types.add(node.gpu_type)
    if not names:
        raise InputError(f"{where}: the cluster has no nodes; give it at least one")
    by_folded: dict[str, str] = {}
    for gpu_type in sorted(gpu_types):
        # Jobs name types in any case, so two types that differ by case alone could not be told apart.
        if (other := by_folded.setdefault(gpu_type.casefold(), gpu_type)) != gpu_type:
            raise InputError(f'{where}: gpu_type "{other}" and "{gpu_type}" differ by case alone; write both alike')
    if len(gpu_types) > GPU_TYPES_LIMIT:
        raise InputError(
            f"{where}: {len(gpu_types)} types of GPUs; expected at most {GPU_TYPES_LIMIT}; give like ones one gpu_type"
        )


def check_kinds(nodes: Iterable[Node], kinds: KindTable, where: str) -> None:
    """Raises an error if a table of kinds says nothing of some GPUs of a cluster.

    Args:
        nodes: In the order of their numbers.
        kinds: The table.
        where: What errors call the cluster.
    """
    for node in nodes:
        if node.gpus and node.gpu_type not in kinds.types:
            what = "no gpu_type" if node.gpu_type is None else f"gpu_type {node.gpu_type}"
            raise InputError(f"{where}: node {node.name} has {what}, of which {kinds.where} tells no speeds")


def _digest(nodes: tuple[Node, ...], mix: bool, kinds: KindTable | None, slowdown: Slowdown, rules: SiteRules) -> str:
    rows: list[list[object]] = []
    for node in nodes:
        first = node.partitions[0] if node.partitions else None
        row: list[object] = [node.name, float(node.cores), node.memory_mb, node.gpus, node.gpu_type, first]
        # What no file said before these keys existed is left out, so that old clusters keep their hashes.
        own_tflops = None if node.gpu_type and node.tflops == catalog_tflops(node.gpu_type) else node.tflops
        extra = {"speed": node.speed, "tflops": own_tflops, "rack": node.rack, "switch": node.switch}
        said: dict[str, object] = {
            key: value for key, value in extra.items() if value is not None and (key, value) != ("speed", 1.0)
        }
        said |= {"partitions": node.partitions} if len(node.partitions) > 1 else {}
        said |= {"features": node.features} if node.features else {}
        rows.append([*row, said] if said else row)
    # As with the rows: a cluster that does not mix has the hash from before there was such a thing.
    content: list[object] = [*rows, "mix"] if mix else [*rows]
    content += [{"kinds": [list(kinds.types), *kinds.content]}] if kinds else []
    content += [{"slowdown": slowdown}] if slowdown != NO_SLOWDOWN else []
    content += [{"rules": rules_text(rules)}] if rules else []
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()
