"""A placement of a user: nodes from the last to the first."""

from __future__ import annotations

from shunter import Placer, Scene


class LastNodesFirst(Placer):
    """Fills the last nodes first, all of one type where the job needs that."""

    name = "last-nodes-first"

    def place(self, scene: Scene) -> list[tuple[int, int]] | None:
        nodes = scene.capacity.nonzero()[0].tolist()[::-1]
        pools = dict.fromkeys(scene.pool[nodes].tolist()) if scene.one_pool else [None]
        for pool in pools:
            placed = self.fill(scene, [node for node in nodes if pool is None or scene.pool[node] == pool])
            if placed is not None:
                return placed
        return None

    def fill(self, scene: Scene, nodes: list[int]) -> list[tuple[int, int]] | None:
        left, placed = scene.request.tasks, []
        for node in nodes:
            if left:
                placed.append((node, min(left, int(scene.capacity[node]))))
                left -= placed[-1][1]
        return None if left else placed
