"""The options that `milp` chooses among: placements on as few nodes as can be, or on one node more.

The best option of each tier is searched for in the core, for one pool of like nodes at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from shunter.errors import InputError
from shunter.native import check, core_numbers, ffi, lib, pointer
from shunter.policies.own import Assignment, Scene

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.policies.placements.scene_objective import Profile

Order: TypeAlias = Literal["defrag", "balance", "lex"]
ORDERS: Final[tuple[Order, ...]] = ("defrag", "balance", "lex")
TIERS: Final = (1, 2)
MOST_OPTIONS: Final = 64
"""How many options are listed beside those of the orders, over all pools and tiers."""
MOST_SPLITS: Final = 256
"""How many splits of a tier are looked at to find them."""
MOST_NODES: Final = 16
"""Jobs on more nodes than this have only the options of the orders."""


@dataclass(frozen=True)
class TierOption:
    """The best choice of nodes, and what it changes in the pool."""

    assignment: tuple[tuple[int, int], ...]
    """Node and number of tasks, by number of the node."""

    frag_delta: int
    """Change of the number of partly used nodes."""

    waste_delta: int
    """Change of the number of GPUs in use on such nodes."""

    variance_delta: float
    """Change of the variance, over all nodes, of the share of GPUs in use."""

    @property
    def nodes(self) -> int:
        """How many nodes the job gets."""
        return len(self.assignment)


@dataclass(frozen=True)
class LikePool:
    """Nodes with the same type and number of GPUs, of which each can hold a task of the scene's job when empty."""

    nodes: list[int]
    free: list[int]
    capacity: list[int]
    gpus: int
    full: int
    """How many of the job's tasks the GPUs of one empty node hold."""


def like_pools(scene: Scene) -> list[LikePool]:
    """Returns the pools in the order of their first nodes."""
    members: dict[tuple[int, int], list[int]] = {}
    for node, key in enumerate(zip(scene.pool.tolist(), scene.gpus.tolist(), strict=True)):
        members.setdefault(key, []).append(node)
    free, capacity = scene.free_gpus.tolist(), scene.capacity.tolist()
    return [
        LikePool(nodes, [free[n] for n in nodes], [capacity[n] for n in nodes], gpus, gpus // scene.request.gpus)
        for (_, gpus), nodes in members.items()
        if gpus >= scene.request.gpus and any(capacity[n] for n in nodes)
    ]


def tier_choice(scene: Scene, pool: LikePool, tier: int, order: Order) -> Assignment | None:
    """Returns the best placement of a tier by an order, by nodes."""
    request = scene.request
    option = find_tier(
        pool.free,
        request.tasks,
        pool.gpus,
        tier=tier,
        order=order,
        gpus_per_task=request.gpus,
        capacity=pool.capacity,
    )
    return None if option is None else sorted((pool.nodes[place], tasks) for place, tasks in option.assignment)


def find_options(scene: Scene, profile: Profile) -> list[Assignment]:
    """Returns different placements of both tiers.

    Where a tier has few, they are all of them, each once for nodes that are alike. Otherwise they are the best by
    each order, and some others.
    """
    pools = like_pools(scene)
    found: dict[tuple[tuple[int, int], ...], None] = {}
    for pool in pools:
        for tier in TIERS:
            listed, complete = _listed(scene, profile, pool, tier, MOST_OPTIONS // (len(TIERS) * len(pools)))
            if not complete:
                choices = [tier_choice(scene, pool, tier, order) for order in ORDERS]
                found.update(dict.fromkeys(tuple(choice) for choice in choices if choice is not None))
            found.update(dict.fromkeys(listed))
    return [list(option) for option in found]


def _listed(
    scene: Scene, profile: Profile, pool: LikePool, tier: int, most: int
) -> tuple[list[tuple[tuple[int, int], ...]], bool]:
    """Returns placements of a tier, at most so many, and whether they are all that differ."""
    request = scene.request
    count = -(-request.tasks // pool.full) + tier - 1
    # Nodes without a task are none, and a job of one GPU cannot be spread.
    if count > request.tasks or (tier > 1 and request.tasks * request.gpus <= 1):
        return [], True
    if count > MOST_NODES:
        return [], False
    slots = _slots(profile, pool)
    # One more than allowed is drawn, to see whether there are more.
    splits = list(islice(_splits(slots, 0, count, request.tasks, 0), MOST_SPLITS + 1))
    free = dict(zip(pool.nodes, pool.free, strict=True))
    allowed = [split for split in splits if tier == 1 or _breaks_up_no_node(split, free, pool.gpus, request.gpus)]
    complete = len(splits) <= MOST_SPLITS and len(allowed) <= most
    return [tuple(sorted(split)) for split in allowed[:most]], complete


def _slots(profile: Profile, pool: LikePool) -> list[tuple[int, int, int]]:
    """Returns node, group and limit of those nodes of a pool that can take a task, group by group."""
    inside = set(pool.nodes)
    nodes, limits = profile.nodes.tolist(), profile.limit.tolist()
    groups = [(number, rows) for number, rows in enumerate(profile.groups) if nodes[rows[0]] in inside]
    # The roomiest first, so that `_splits` can stop where even the next slots could not take what is left.
    groups.sort(key=lambda group: -limits[group[1][0]])
    return [(nodes[row], number, limits[row]) for number, rows in groups for row in rows]


def _splits(
    slots: list[tuple[int, int, int]], start: int, count: int, tasks: int, most: int
) -> Iterator[list[tuple[int, int]]]:
    """Yields the ways to spread tasks over exactly so many of the slots from a start on, the greatest parts first.

    Slots of one group stand together. They are taken from the first on, and none gets more than the one before.
    """
    if count == 0:
        yield []
        return
    for place in range(start, len(slots) - count + 1):
        node, group, limit = slots[place]
        same_group = place > 0 and slots[place - 1][1] == group
        # Its twin before it is free: using this one instead would be the same placement again.
        if same_group and place > start:
            continue
        rest = sum(limit for _, _, limit in slots[place + 1 : place + count])
        for here in range(min(limit, tasks - count + 1, most if same_group else limit), 0, -1):
            # Even full slots behind this one could not take the rest, and with fewer tasks here it is worse.
            if here + rest < tasks:
                break
            for others in _splits(slots, place + 1, count - 1, tasks - here, here):
                yield [(node, here), *others]


def _breaks_up_no_node(split: list[tuple[int, int]], free: dict[int, int], total: int, gpus_per_task: int) -> bool:
    """Returns whether no more nodes are partly used after a placement than before: the second tier's condition."""
    change = 0
    for node, tasks in split:
        before = free[node]
        change += (0 < before - tasks * gpus_per_task < total) - (0 < before < total)
    return change <= 0


ORDER_CODES: Final = core_numbers("TierOrder")
"""The core's numbers for the orders."""

_MOST: Final = 2**31


def find_tier(
    free: Sequence[int] | NDArray[Any],
    request: int,
    gpus_per_node: int,
    *,
    tier: int,
    order: Order,
    gpus_per_task: int = 1,
    capacity: Sequence[int] | NDArray[Any] | None = None,
) -> TierOption | None:
    """Searches all choices of nodes for the best one.

    Args:
        free: Whole free GPUs of each node.
        request: The tasks of the job: its GPUs, if each takes one.
        gpus_per_node: GPUs of every node, free or not.
        tier: 1 for as few nodes as empty ones would do; 2 for one more, if that leaves no more partly used nodes.
        order: ``defrag`` (the least change of partly used nodes, of the GPUs in use on them, of the variance),
            ``balance`` (the variance first), or ``lex`` (the lowest node numbers).
        gpus_per_task: GPUs that each task takes, all on one node.
        capacity: How many tasks each node could take, if something else than GPUs limits that.

    Returns:
        The best choice, of equal ones that with the lowest node numbers; None if there is none.

    Raises:
        InputError: A number is out of range, or the lists differ in length.
    """
    if order not in ORDER_CODES:
        raise InputError(f"order is {order!r}; expected one of {', '.join(ORDER_CODES)}")
    if tier not in (1, 2):
        raise InputError(f"tier is {tier}; expected 1 or 2")
    gpus_per_task = _count("gpus_per_task", gpus_per_task)
    free_gpus = _counts("free", free)
    limits = _limits(free_gpus // gpus_per_task, capacity)
    request, gpus_per_node = _count("request", request), _count("gpus_per_node", gpus_per_node)
    parts = np.zeros((2, len(free_gpus)), dtype=np.uint32)
    count, score = ffi.new("uintptr_t *"), np.zeros(3, dtype=np.int64)
    question = (pointer(free_gpus), pointer(limits), len(free_gpus), ORDER_CODES[order], tier)
    answer = (pointer(parts[0]), pointer(parts[1]), parts.shape[1], count, pointer(score))
    check(lib.shunter_tiers(gpus_per_node, gpus_per_task, request, *question, *answer))
    if count[0] == 0:
        return None
    frag_delta, waste_delta, square_delta = score.tolist()
    used, added = gpus_per_node * len(free_gpus) - int(free_gpus.sum()), request * gpus_per_task
    # The core returns the change of the sum of squares in whole GPUs; with Var = E[u²] − E[u]² this is exact until
    # the one division at the end.
    change = square_delta * len(free_gpus) - added * (2 * used + added)
    return TierOption(
        tuple(zip(*parts[:, : count[0]].tolist(), strict=True)),
        frag_delta,
        waste_delta,
        change / (len(free_gpus) * gpus_per_node) ** 2,
    )


def _limits(served: NDArray[np.uint32], capacity: Sequence[int] | NDArray[Any] | None) -> NDArray[np.uint32]:
    if capacity is None:
        return served
    given = _counts("capacity", capacity)
    if len(given) != len(served):
        raise InputError(f"capacity has {len(given)} nodes and free {len(served)}; give one number for each node")
    return np.minimum(given, served)


def _count(name: str, value: int) -> int:
    if not 1 <= value < _MOST:
        raise InputError(f"{name} is {value}; expected a whole number of 1 or more")
    return int(value)


def _counts(name: str, values: Sequence[int] | NDArray[Any]) -> NDArray[np.uint32]:
    column = np.asarray(values)
    if column.ndim != 1 or not np.issubdtype(column.dtype, np.integer):
        raise InputError(f"{name} is not a list of whole numbers; give one for each node")
    wrong = np.flatnonzero((column < 0) | (column >= _MOST))
    if wrong.size:
        raise InputError(f"{name} of node {wrong[0]} is {column[wrong[0]]}; expected 0 or more")
    return np.ascontiguousarray(column, dtype=np.uint32)
