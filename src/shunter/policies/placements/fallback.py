"""Placements by rule that stand in where nothing is optimized: the fewest nodes, and `tiered-defrag`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shunter.policies.placements.tier_options import TIERS, FindTier, like_pools, tier_choice

if TYPE_CHECKING:
    from shunter.policies.placements.placer import Assignment, Scene


def tiered_defrag(scene: Scene, find_tier: FindTier) -> Assignment | None:
    """Returns the placement that `tiered-defrag` would choose; None if the job does not fit."""
    pools = like_pools(scene)
    for tier in TIERS:
        choices = [tier_choice(scene, pool, tier, "defrag", find_tier) for pool in pools]
        found = [choice for choice in choices if choice is not None]
        if found:
            return min(found, key=len)
    return fewest_nodes(scene)


def fewest_nodes(scene: Scene) -> Assignment | None:
    """Returns the placement on the fewest nodes, of one pool if it has to be; None if the job does not fit."""
    members: dict[int, list[int]] = {}
    for node in scene.capacity.nonzero()[0].tolist():
        members.setdefault(int(scene.pool[node]) if scene.one_pool else 0, []).append(node)
    placements = [_fill(scene, nodes) for nodes in members.values()]
    return min((placement for placement in placements if placement is not None), key=len, default=None)


def _fill(scene: Scene, nodes: list[int]) -> Assignment | None:
    """Fills the greatest nodes until one node can take the rest, and gives that to the tightest such node."""
    capacity = {node: int(scene.capacity[node]) for node in nodes}
    left = scene.request.tasks
    if sum(capacity.values()) < left:
        return None

    def room(node: int) -> tuple[int, int, int]:
        gpus = int(scene.free_gpus[node]) if scene.request.gpu_milli else 0
        return gpus, int(scene.free_cores_milli[node]), int(scene.free_memory_mb[node])

    # Of nodes with the same capacity, those with the least room come first.
    order = sorted(nodes, key=lambda node: (-capacity[node], room(node), node))
    filled: Assignment = []
    while capacity[order[0]] < left:
        filled.append((order[0], capacity[order[0]]))
        left -= capacity[order.pop(0)]
    last = min((node for node in order if capacity[node] >= left), key=lambda node: (capacity[node], room(node), node))
    return sorted([*filled, (last, left)])
