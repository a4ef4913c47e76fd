"""The tiered placements' search, for one job and one pool of equal nodes at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from shunter.errors import InputError
from shunter.native import check, ffi, lib, pointer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ORDER_CODES: Final = {"defrag": 0, "balance": 1, "lex": 2}
"""The core's numbers for the orders."""

_MOST: Final = 2**31


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


def find_tier(
    free: Sequence[int] | NDArray[Any],
    request: int,
    gpus_per_node: int,
    *,
    tier: int,
    order: Literal["defrag", "balance", "lex"],
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
