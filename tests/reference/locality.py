"""How far apart the nodes of a gang are, by how much that slows it, and how far apart it takes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from tests.reference.model import Config, RefJob, RefNode
from tests.reference.resources import capacity, choices, empty, in_partition, usable

COMPACT, MORE_NODES, SWITCHES, RACKS = range(4)
NONE_MICRO = 1_000_000


def is_gang(job: RefJob) -> bool:
    """Tells whether the job has GPUs and several tasks, which may be apart."""
    return job.gpu_milli > 0 and job.tasks > 1


def are_in_one(names: Sequence[int | None]) -> bool:
    """Tells whether all nodes have one name."""
    return names[0] is not None and len(set(names)) == 1


def level(nodes: Sequence[RefNode], numbers: Sequence[int], fewest: int) -> int:
    """Returns how far apart some nodes are, for a job that needs so many at the least."""
    has_switches, has_racks = (
        any(node.switch is not None for node in nodes),
        any(node.rack is not None for node in nodes),
    )
    if len(numbers) == 1:
        return COMPACT
    together = COMPACT if len(numbers) <= fewest else MORE_NODES
    if are_in_one([nodes[number].switch for number in numbers]):
        return together
    if are_in_one([nodes[number].rack for number in numbers]):
        return SWITCHES if has_switches else together
    if has_racks:
        return RACKS
    return SWITCHES if has_switches else together


def widest_level(nodes: Sequence[RefNode]) -> int:
    """Returns the widest level that there is."""
    if any(node.rack is not None for node in nodes):
        return RACKS
    return SWITCHES if any(node.switch is not None for node in nodes) else MORE_NODES


def fewest_of(room: Iterable[int], tasks: int) -> int | None:
    """Returns how many nodes it takes at the least, those with the most room; None: all are not enough."""
    left = tasks
    for count, one in enumerate(sorted(room, reverse=True), start=1):
        left -= one
        if left <= 0:
            return count
    return None


def areas(nodes: Sequence[RefNode], pool: Sequence[int], widest: int) -> list[list[int]]:
    """Returns the parts of a pool in which no two nodes are further apart than a level, however many are taken."""
    if widest >= widest_level(nodes) or widest_level(nodes) == MORE_NODES:
        return [list(pool)]
    by_switch = grouped([nodes[one].switch for one in pool], pool)
    by_rack = grouped([nodes[one].rack for one in pool], pool)
    if all(node.switch is None for node in nodes):
        return by_rack
    with_name = [area for area in by_rack if nodes[area[0]].rack is not None]
    return [*by_switch, *(with_name if widest >= SWITCHES else [])]


def grouped(names: Sequence[int | None], pool: Sequence[int]) -> list[list[int]]:
    """Returns the nodes by their names, and then each one that has none by itself."""
    known = sorted({name for name in names if name is not None})
    pairs = list(zip(names, pool, strict=True))
    return [
        *([node for name, node in pairs if name == one] for one in known),
        *([node] for name, node in pairs if name is None),
    ]


def slowdown_micro(job: RefJob, node: RefNode, config: Config, at: int) -> int:
    """Returns by how much slower the job is on a node if its nodes are so far apart."""
    if at == COMPACT:
        return NONE_MICRO
    if job.slowdown_micro is not None and node.gpu_type is not None:
        return job.slowdown_micro[node.gpu_type][at - 1]
    return config.slowdown_micro[at - 1]


class Spread:
    """What locality means for a gang in one pool."""

    def __init__(self, job: RefJob, nodes: Sequence[RefNode], pool: Sequence[int], config: Config) -> None:
        """Works it out on the empty pool, all of whose nodes are up."""
        self.job, self.nodes, self.pool, self.config = job, nodes, tuple(pool), config
        mine = set(usable(job, nodes))
        free = empty(nodes)
        self.usable = [number for number in pool if number in mine and nodes[number].gpus]
        room = {number: capacity(job, free[number]) if number in mine else 0 for number in pool}
        self.fewest = fewest_of(room.values(), job.tasks)
        self.best = self._best(room)
        self.widest = self._widest()

    def _best(self, room: dict[int, int]) -> int:
        """Returns the narrowest level at which the job fits."""
        if self.fewest is None:
            return widest_level(self.nodes)
        for at in (COMPACT, MORE_NODES, SWITCHES):
            counts = [
                fewest_of([room[one] for one in area], self.job.tasks) for area in areas(self.nodes, self.pool, at)
            ]
            if any(count is not None and (at != COMPACT or count <= self.fewest) for count in counts):
                return at
        return widest_level(self.nodes)

    def _widest(self) -> int:
        """Returns the widest level, from the best on, that costs no more than the job takes without waiting."""
        if self.config.locality_wait_ms == 0:
            return widest_level(self.nodes)
        if self.config.locality_loss_micro is None:
            return self.best
        found = self.best
        for at in range(self.best + 1, widest_level(self.nodes) + 1):
            pairs = [
                [slowdown_micro(self.job, self.nodes[one], self.config, each) for each in (at, self.best)]
                for one in self.usable
            ]
            most = NONE_MICRO + self.config.locality_loss_micro
            if not all(here * NONE_MICRO <= best * most for here, best in pairs):
                break
            found = at
        return found

    def level(self, numbers: Sequence[int]) -> int:
        """Returns how far apart some nodes of the pool are."""
        return level(self.nodes, numbers, self.fewest or 0)

    def accepts(self, numbers: Sequence[int]) -> bool:
        """Tells whether nodes are close enough."""
        return self.level(numbers) <= self.widest


def spreads(job: RefJob, nodes: Sequence[RefNode], config: Config) -> tuple[Spread, ...]:
    """Returns what locality means for a gang, pool by pool; nothing for other jobs."""
    return known_spreads(job, tuple(nodes), config) if is_gang(job) else ()


@lru_cache(maxsize=256)
def known_spreads(job: RefJob, nodes: tuple[RefNode, ...], config: Config) -> tuple[Spread, ...]:
    """Returns the same; simulations ask again and again."""
    pools = choices(job, in_partition(job, nodes), nodes, config.mix)
    return tuple(Spread(job, nodes, pool, config) for pool in pools)


def spreads_of(found: Sequence[Spread], numbers: Sequence[int]) -> list[Spread]:
    """Returns those in whose pools some nodes are."""
    return [one for one in found if set(numbers) <= set(one.pool)]
