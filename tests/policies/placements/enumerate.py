"""The best placement by trying them all: slow, and the check of the models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shunter.policies.own import Assignment, Scene
from shunter.policies.placements.scene_objective import Weights
from tests.policies.placements.plain_objective import objective


def enumerate_best(
    scene: Scene, weights: Weights, options: Iterable[Assignment] | None = None
) -> tuple[float, Assignment] | None:
    """Returns the least objective and the first placement that has it; None if there is no placement.

    Args:
        scene: The decision.
        weights: The weights of the objective.
        options: The placements to choose among; without them, all that there are.
    """
    best: tuple[float, Assignment] | None = None
    for assignment in all_splits(scene) if options is None else options:
        value = objective(scene, assignment, weights)
        if best is None or value < best[0]:
            best = value, assignment
    return best


def all_splits(scene: Scene) -> Iterator[Assignment]:
    """Yields every placement of the scene's job."""
    for assignment in _splits(scene, 0, scene.request.tasks):
        pools = {int(scene.pool[node]) for node, _ in assignment}
        if len(pools) == 1 or not scene.one_pool:
            yield assignment


def _splits(scene: Scene, node: int, tasks: int) -> Iterator[Assignment]:
    if tasks == 0:
        yield []
    elif node < len(scene.capacity):
        yield from _splits(scene, node + 1, tasks)
        for here in range(1, min(tasks, int(scene.capacity[node])) + 1):
            for rest in _splits(scene, node + 1, tasks - here):
                yield [(node, here), *rest]
