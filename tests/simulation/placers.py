"""Placements in Python for tests, and small GPU logs for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shunter import Cluster, Placer, Scene, Workload
from shunter.model.cluster import Node

CLUSTER = Cluster.from_nodes(
    tuple(Node(f"n{number}", 32.0, gpus=4, gpu_type="A" if number < 3 else "B") for number in range(5)), "five nodes"
)

FILE = '''"""A placement of one's own."""

from collections.abc import Sequence

from shunter import Placer, Scene


class LastFit(Placer):
    """Fills nodes from the last one on."""

    name = "last-fit"

    def place(self, scene: Scene) -> Sequence[tuple[int, int]] | None:
        left, pairs = scene.request.tasks, []
        for node in reversed(range(len(scene.capacity))):
            if scene.one_pool and pairs and scene.pool[node] != scene.pool[pairs[0][0]]:
                left, pairs = scene.request.tasks, []
            if here := min(left, int(scene.capacity[node])):
                pairs.append((node, here))
                left -= here
            if not left:
                return pairs
        return None


class Broken(Placer):
    def place(self, scene: Scene) -> Sequence[tuple[int, int]] | None:
        raise RuntimeError("no idea")
'''


class FirstFit(Placer):
    """What the core does as ``first-fit``, in Python."""

    name = "python-first-fit"

    def begin(self, workload: Workload, cluster: Cluster) -> None:
        self._partitions = workload.jobs["partition"].to_list() if cluster.partitions else [None] * len(workload)
        self._nodes = cluster.nodes

    def place(self, scene: Scene) -> Sequence[tuple[int, int]] | None:
        partition = self._partitions[scene.job]
        nodes = [place for place, node in enumerate(self._nodes) if partition is None or partition in node.partitions]
        if scene.one_pool:
            # Pools stand in the order of the first nodes that the job could ever use.
            nodes = [node for node in nodes if scene.gpus[node]]
        pools = dict.fromkeys(scene.pool[nodes].tolist()) if scene.one_pool else [None]
        for pool in pools:
            members = [node for node in nodes if pool is None or scene.pool[node] == pool]
            if (pairs := self._filled(scene, members)) is not None:
                return pairs
        return None

    @staticmethod
    def _filled(scene: Scene, nodes: Sequence[int]) -> list[tuple[int, int]] | None:
        left, pairs = scene.request.tasks, []
        for node in nodes:
            if here := min(left, int(scene.capacity[node])):
                pairs.append((node, here))
                left -= here
        return None if left else pairs


class Recorder(FirstFit):
    """First-fit that keeps what it is shown."""

    def __init__(self) -> None:
        self.scenes: list[Scene] = []
        self.begins: list[tuple[Workload, Cluster]] = []

    def begin(self, workload: Workload, cluster: Cluster) -> None:
        super().begin(workload, cluster)
        self.begins.append((workload, cluster))

    def place(self, scene: Scene) -> Sequence[tuple[int, int]] | None:
        self.scenes.append(scene)
        return super().place(scene)


class Declines(Placer):
    """Starts nobody."""

    name = "never"

    def place(self, scene: Scene) -> None:
        return None


class Answers(Placer):
    """Gives one answer, whatever the question; raises it if it is an exception."""

    name = "stubborn"

    def __init__(self, answer: Any) -> None:  # noqa: ANN401 - anything a user's code may return
        self._answer = answer

    def place(self, scene: Scene) -> Any:  # noqa: ANN401 - as above
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


def gpu_log(seed: int = 0, jobs: int = 60) -> Workload:
    """Returns jobs that ask for whole GPUs, for fractions or for none, and crowd the five nodes."""
    random = np.random.default_rng(seed)
    run_s = random.choice([5.0, 30.0, 90.0, 400.0], jobs)
    frame = pl.DataFrame(
        {
            "submit_s": np.cumsum(random.integers(0, 20, jobs)).astype(float),
            "run_s": run_s,
            "requested_s": run_s * random.choice([1.0, 1.5, 4.0], jobs),
            "tasks": random.choice([1, 1, 2, 3, 6], jobs),
            "cores_per_task": 1.0,
            "gpus_per_task": random.choice([0.0, 0.5, 1.0, 1.0, 2.0], jobs),
            "user": random.choice(["ada", "ben"], jobs),
        }
    )
    return Workload.from_frame(frame, name="gpus")


def write_placers(folder: Path) -> Path:
    """Writes a file with two placements: ``LastFit`` and ``Broken``."""
    path = folder / "my.py"
    path.write_text(FILE)
    return path
