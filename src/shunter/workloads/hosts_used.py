"""Nodes and their sizes from a log that names the hosts of its jobs: what was in use on each of them at once."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from shunter.errors import InputError
from shunter.model.access import partition_names
from shunter.model.cluster import CORES_LIMIT, GPUS_LIMIT, MEMORY_LIMIT_MB, Node
from shunter.model.conditions import waits_from_s
from shunter.workloads.text.hosts import read_hosts

if TYPE_CHECKING:
    from shunter.model.workload import Workload

_PAIRS: Final = 4_000_000
"""How many pairs of a job and a host are looked at at once."""
_LISTED: Final = 3_000_000
"""How many hosts all lists that differ may name."""
_COMMON: Final = 0.1
"""A size that so large a share of like-named nodes has reached is taken as a real one."""
_WELL_SUPPORTED, _PLAUSIBLE = 0.8, 0.3
"""Shares of the nodes that reached the same size as a like one, from which sizes are called so."""
_MB_PER_GB: Final = 1024
_NOISE: Final = 1e-6


class UsedNodes(NamedTuple):
    """Nodes that a log tells of by naming its hosts."""

    nodes: tuple[Node, ...]
    notes: tuple[str, ...]
    """What was inferred, and how sure that is: sentences."""


class _Peak(NamedTuple):
    """The most that was in use at once on one host."""

    host: str
    cores: float
    gpus: float
    memory_mb: float
    partitions: tuple[str, ...]
    gpu_types: tuple[str, ...]


def infer_nodes(workload: Workload) -> UsedNodes | None:
    """Returns the nodes that jobs ran on, as large as what they had in use at once; None if the log names no hosts.

    Nodes whose names differ in digits alone are taken as like ones: a node that was never full gets the next size that
    a tenth of them has reached.
    """
    if "hosts" not in workload.jobs.columns or workload.jobs["hosts"].null_count() == len(workload):
        return None
    of_lists = _hosts_of_lists(workload.jobs["hosts"].drop_nulls().unique(maintain_order=True), workload.name)
    jobs = _jobs_with_hosts(workload.jobs, of_lists)
    if jobs.height == 0:
        return None
    has_memory = jobs["memory_mb"].null_count() == 0
    peaks = sorted(_peaks(jobs, of_lists), key=lambda peak: _natural(peak.host))
    cores, gpus, memory = _sizes(peaks, has_memory=has_memory)
    partitions = _partitions(workload, peaks)
    types = [set(peak.gpu_types) for peak, count in zip(peaks, gpus, strict=True) if count]
    has_types = bool(types) and all(len(found) == 1 for found in types)
    nodes = tuple(
        Node(
            peak.host,
            float(min(size, CORES_LIMIT)),
            min(mb, MEMORY_LIMIT_MB) if mb else None,
            min(count, GPUS_LIMIT),
            peak.gpu_types[0] if has_types and count else None,
            names,
        )
        for peak, size, count, mb, names in zip(peaks, cores, gpus, memory, partitions, strict=True)
    )
    return UsedNodes(nodes, _notes(workload, jobs.height, peaks, nodes))


def _hosts_of_lists(lists: pl.Series, where: str) -> pl.DataFrame:
    """Returns a row for each host of each list that can be read: its cores, if they are told, and how many hosts.

    Raises:
        InputError: The lists are too long to be looked at.
    """
    rows: list[tuple[str, str, float | None, int]] = []
    for text in lists.to_list():
        found = read_hosts(text) or {}
        rows.extend((text, host, cores, len(found)) for host, cores in found.items())
        if len(rows) > _LISTED:
            raise InputError(
                f"{where}: its lists of hosts name more than {_LISTED:,} hosts; infer a cluster from a part of the log "
                "('shunter trace slice')"
            )
    schema = {"hosts": pl.String, "host": pl.String, "told": pl.Float64, "among": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _jobs_with_hosts(jobs: pl.DataFrame, of_lists: pl.DataFrame) -> pl.DataFrame:
    """Returns what counts of the jobs whose hosts are known."""
    jobs = jobs.with_columns(start_s=waits_from_s(jobs) + jobs["logged_wait_s"].fill_null(0.0))
    start_s = pl.col("start_s")
    partition, gpu_type = (
        pl.col(name) if name in jobs.columns else pl.lit(None, pl.String).alias(name)
        for name in ("partition", "gpu_type")
    )
    return jobs.filter(pl.col("hosts").is_in(of_lists["hosts"].unique().implode())).select(
        "hosts",
        partition,
        gpu_type,
        # Whole milliseconds, as in the core, for sums of seconds differ in their last digits.
        start_ms=(start_s * 1000).round(),
        end_ms=((start_s + pl.col("run_s")) * 1000).round(),
        cores=pl.col("tasks") * pl.col("cores_per_task"),
        gpus=pl.col("tasks") * pl.col("gpus_per_task"),
        memory_mb=pl.col("tasks") * pl.col("memory_mb_per_task"),
    )


def _peaks(jobs: pl.DataFrame, of_lists: pl.DataFrame) -> list[_Peak]:
    """Returns the most that was in use at once on each host."""
    hosts = of_lists["host"].unique(maintain_order=True)
    numbered = of_lists.join(hosts.to_frame().with_row_index("number"), on="host", how="left")
    pairs = jobs.select("hosts").join(numbered.select("hosts"), on="hosts").height
    parts = math.ceil(pairs / _PAIRS)
    found: list[_Peak] = []
    # Some hosts at a time: all pairs of jobs and hosts could fill the memory.
    for part in range(parts):
        some = jobs.join(numbered.filter(pl.col("number") % parts == part), on="hosts")
        found.extend(_Peak(*row) for row in _peaks_of(some).iter_rows())
    return found


def _peaks_of(pairs: pl.DataFrame) -> pl.DataFrame:
    even = 1 / pl.col("among")
    share = (
        pl.when(pl.col("told").is_null() | (pl.col("cores") <= 0))
        .then(even)
        .otherwise(pl.col("told") / pl.col("cores"))
    )
    amounts = [pl.col(name).fill_null(0.0) * share for name in ("cores", "gpus", "memory_mb")]
    starts = pairs.select("host", *amounts, at_ms=pl.col("start_ms"), is_start=True)
    ends = pairs.select("host", *(-amount for amount in amounts), at_ms=pl.col("end_ms"), is_start=False)
    # A job that ends makes room for one that starts then.
    moments = pl.concat([starts, ends]).sort("host", "at_ms", "is_start")
    used = moments.select("host", *(pl.col(name).cum_sum().over("host") for name in ("cores", "gpus", "memory_mb")))
    most = used.group_by("host", maintain_order=True).agg(pl.col("cores", "gpus", "memory_mb").max())
    with_gpus = pl.col("gpu_type").filter(pl.col("gpus") > 0)
    names = pairs.group_by("host").agg(
        pl.col("partition").drop_nulls().unique().sort(), with_gpus.drop_nulls().unique().sort()
    )
    return most.join(names, on="host", how="left", maintain_order="left")


def _sizes(peaks: Sequence[_Peak], *, has_memory: bool) -> tuple[list[int], list[int], list[int]]:
    """Returns cores, GPUs and memory in MB of each node; memory of 0 is not known."""
    kinds = [_kind(peak.host) for peak in peaks]
    cores = _plausible([_whole(peak.cores) or 1 for peak in peaks], kinds, _plausible_cores)
    gpus = _plausible([_whole(peak.gpus) for peak in peaks], kinds, lambda count: 1 << (count - 1).bit_length())
    if not has_memory:
        return cores, gpus, [0] * len(peaks)
    # What jobs ask for seldom adds up to all memory of a node, so that sizes are compared as sold.
    sold = [_sold_memory_mb(peak.memory_mb) for peak in peaks]
    return cores, gpus, _plausible(sold, kinds, lambda size: size)


def _plausible(sizes: Sequence[int], kinds: Sequence[str], rounded: Callable[[int], int]) -> list[int]:
    """Returns sizes as nodes have them: each the next one that many like nodes have reached, or rounded up."""
    of_kind: dict[str, list[int]] = {}
    for kind, size in zip(kinds, sizes, strict=True):
        of_kind.setdefault(kind, []).append(size)
    common = {kind: _common(found) for kind, found in of_kind.items()}
    largest = {kind: max(found) for kind, found in of_kind.items()}
    found: list[int] = []
    for kind, size in zip(kinds, sizes, strict=True):
        next_common = next((known for known in common[kind] if known >= size), None)
        # Where sizes are all different, none was reached often: then the largest says most.
        guess = size if common[kind] else largest[kind]
        found.append(next_common if next_common is not None else rounded(guess) if guess else 0)
    return found


def _common(sizes: Sequence[int]) -> list[int]:
    """Returns the sizes that two nodes or more, and a tenth of them, have reached, from the smallest on."""
    return sorted(size for size, count in Counter(sizes).items() if count >= max(2, _COMMON * len(sizes)))


def _plausible_cores(cores: int) -> int:
    if cores <= 4:
        return 1 << (cores - 1).bit_length()
    step = 4 if cores <= 64 else 8 if cores <= 128 else 16
    return math.ceil(cores / step) * step


def _sold_memory_mb(memory_mb: float) -> int:
    """Returns the next size of memory that is a power of two in GB, or one and a half times that."""
    gigabytes = max(1, math.ceil(memory_mb / _MB_PER_GB))
    power = 1 << (gigabytes - 1).bit_length()
    return (power * 3 // 4 if gigabytes <= power * 3 // 4 else power) * _MB_PER_GB


def _kind(host: str) -> str:
    """Returns what the names of like nodes have in common."""
    return re.sub(r"\d+", "#", host)


def _whole(amount: float) -> int:
    # Shares of a job on several hosts have errors in their last digits.
    return math.ceil(amount - _NOISE)


def _partitions(workload: Workload, peaks: Sequence[_Peak]) -> list[tuple[str, ...]]:
    """Returns the partitions of each node; none at all, unless every node has one and every job finds its own."""
    told = [dict.fromkeys(name for text in peak.partitions for name in partition_names(text)) for peak in peaks]
    found = [tuple(names) for names in told]
    texts = workload.jobs["partition"].drop_nulls().unique().to_list()
    asked = {name for text in texts for name in partition_names(text)}
    known = {name for names in found for name in names}
    return found if all(found) and asked <= known else [()] * len(peaks)


def _natural(name: str) -> list[tuple[int, str]]:
    """Returns what sorts n2 before n10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d{1,18})", name)]


def _notes(workload: Workload, hosted: int, peaks: Sequence[_Peak], nodes: Sequence[Node]) -> tuple[str, ...]:
    count = len(nodes)
    reached = Counter((_kind(peak.host), _whole(peak.cores)) for peak in peaks)
    alike = sum(number for number in reached.values() if number > 1)
    share = alike / count
    how_sure = "well supported" if share >= _WELL_SUPPORTED else "plausible" if share >= _PLAUSIBLE else "a guess"
    notes = [
        f"Inferred from the hosts that {workload.name} names. Jobs that name some: {hosted:,}. Nodes: {count:,}. "
        "A node that ran no job is not seen.",
        "Each node has the most cores, GPUs and memory that were in use on it at once, raised to the size of "
        f"like-named nodes. {alike:,} of {count:,} reached the same cores as a like-named one, so the sizes are "
        f"{how_sure}.",
    ]
    if hosted < len(workload):
        notes.append(f"Jobs that name no hosts that can be read, and do not count: {len(workload) - hosted:,}.")
    if all(node.memory_mb is None for node in nodes):
        notes.append("Memory is not told of every job, and so not tracked.")
    if any(peak.partitions for peak in peaks) and not any(node.partitions for node in nodes):
        notes.append("Partitions are not told of every node: they are left out, each job may use each node.")
    return tuple(notes)
