"""Whether nodes that are close enough together were free for a job that waited for them (``docs/simulation.md``)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shunter.model.kinds import NO_KIND
from shunter.model.locality import FOR_EVER_MS, LEVELS, NO_LOSS, locality_terms

if TYPE_CHECKING:
    from shunter.metrics.occupancy import NodeRoom
    from shunter.metrics.record import Record
    from shunter.model.cluster import Cluster

COMPACT: Final = 0
"""The level of nodes that are together, and no more than a job needs; the next are `LEVELS`."""
_MICRO: Final = 1_000_000


@dataclass(frozen=True)
class Pool:
    """What a gang accepts of the nodes of one type."""

    areas: tuple[tuple[int, ...], ...]
    """Nodes of which one group must hold the whole job."""
    most_nodes: int
    what: str
    """What it waits for: ``one node``."""


@dataclass(frozen=True)
class Nearness:
    """What a gang accepts, by the numbers of its pools, and until when it is so choosy."""

    pools: Mapping[int, Pool]
    until_ms: float

    @classmethod
    def of(cls, record: Record, row: int, places: Mapping[int, NodeRoom]) -> Nearness | None:
        """Returns what a job accepted; None if it took any nodes.

        Args:
            record: The run.
            row: The job.
            places: The nodes that it may use, empty.
        """
        wait_ms, loss_micro = locality_terms(record.wait_for_locality)
        if wait_ms == 0 or record.tasks[row] < 2 or record.milli_gpus[row] == 0:
            return None
        by_pool: dict[int, dict[int, int]] = {}
        for number, place in places.items():
            by_pool.setdefault(place.pool, {})[number] = place.most
        pools = {pool: _pool(record, row, rooms, loss_micro) for pool, rooms in by_pool.items()}
        until_ms = math.inf if wait_ms == FOR_EVER_MS else float(record.eligible_ms[row]) + wait_ms
        return cls(pools, until_ms)

    def has_room(self, places: Mapping[int, NodeRoom], failed: set[int]) -> bool:
        """Returns whether the job fits on nodes that are close enough."""
        tasks = next(iter(places.values())).shape.tasks
        return any(
            fewest_nodes((places[number].room for number in area if number not in failed), tasks) <= pool.most_nodes
            for pool in self.pools.values()
            for area in pool.areas
        )


def fewest_nodes(rooms: Iterable[int], tasks: int) -> float:
    """Returns how many nodes a job needs at the least, by how many tasks each takes; infinity if all are not enough."""
    left = tasks
    for count, room in enumerate(sorted(rooms, reverse=True), start=1):
        left -= room
        if left <= 0:
            return count
    return math.inf


def _pool(record: Record, row: int, rooms: Mapping[int, int], loss_micro: int) -> Pool:
    cluster, tasks = record.cluster, int(record.tasks[row])
    fewest = fewest_nodes(rooms.values(), tasks)
    widest = best = _best(cluster, rooms, tasks, fewest)
    for level in range(best + 1, _widest(cluster) + 1):
        # All types that the job may have are within the loss that it takes without waiting.
        pairs = list(_slowdowns(record, row, rooms, (level, best)))
        if loss_micro == NO_LOSS or any(here * _MICRO > there * (_MICRO + loss_micro) for here, there in pairs):
            break
        widest = level
    areas = tuple(tuple(area) for area in _areas(cluster, list(rooms), widest))
    most = int(fewest) if widest == COMPACT and math.isfinite(fewest) else len(rooms)
    compact = "one node" if fewest == 1 else f"{fewest:g} nodes close together"
    return Pool(areas, most, compact if widest == COMPACT else _name(cluster, widest))


def _name(cluster: Cluster, level: int) -> str:
    has_switches = any(node.switch is not None for node in cluster.nodes)
    return "one switch" if level == 1 and has_switches else "one rack"


def _slowdowns(record: Record, row: int, numbers: Iterable[int], levels: tuple[int, int]) -> Iterator[tuple[int, int]]:
    cluster, kind = record.cluster, int(record.kind_rows[row])
    for gpu_type in {cluster.nodes[number].gpu_type for number in numbers}:
        slowdown = cluster.slowdown
        if cluster.kinds is not None and kind != NO_KIND and gpu_type is not None:
            slowdown = cluster.kinds.rows[kind].slowdown_micro[cluster.kinds.types.index(gpu_type)]
        by_level = (_MICRO, *slowdown)
        yield by_level[levels[0]], by_level[levels[1]]


def _widest(cluster: Cluster) -> int:
    if any(node.rack is not None for node in cluster.nodes):
        return len(LEVELS)
    return 2 if any(node.switch is not None for node in cluster.nodes) else 1


def _best(cluster: Cluster, rooms: Mapping[int, int], tasks: int, fewest: float) -> int:
    for level in range(_widest(cluster)):
        most = fewest if level == COMPACT else math.inf
        counts = [fewest_nodes((rooms[one] for one in area), tasks) for area in _areas(cluster, list(rooms), level)]
        if any(count <= most and math.isfinite(count) for count in counts):
            return level
    return _widest(cluster)


def _areas(cluster: Cluster, numbers: Sequence[int], level: int) -> list[list[int]]:
    """Returns the groups of nodes in which a gang is no further apart than a level."""
    if level >= _widest(cluster) or _widest(cluster) == 1:
        return [list(numbers)]
    switches = _grouped((cluster.nodes[number].switch for number in numbers), numbers)
    racks = _grouped((cluster.nodes[number].rack for number in numbers), numbers)
    if all(node.switch is None for node in cluster.nodes):
        return racks
    return [*switches, *(racks if level >= LEVELS.index("switches") + 1 else [])]


def _grouped(names: Iterable[str | None], numbers: Sequence[int]) -> list[list[int]]:
    """Returns the nodes by their names; one that has none is by itself."""
    groups: dict[object, list[int]] = {}
    for name, number in zip(names, numbers, strict=True):
        groups.setdefault(number if name is None else name, []).append(number)
    return list(groups.values())
