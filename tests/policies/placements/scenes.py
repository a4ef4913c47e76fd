"""Random decisions, and a search for tiers by brute force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from shunter.policies.own import Request, Requests, Scene


@dataclass(frozen=True)
class Option:
    assignment: list[tuple[int, int]]


def find_tier(
    free: Sequence[int],
    request: int,
    gpus_per_node: int,
    *,
    tier: int,
    order: str,
    gpus_per_task: int = 1,
    capacity: Sequence[int] | None = None,
) -> Option | None:
    """Tries every placement of a tier; only for small pools."""
    count = -(-request // (gpus_per_node // gpus_per_task)) + tier - 1
    if tier == 2 and request * gpus_per_task <= 1:
        return None
    most = [gpus // gpus_per_task for gpus in free] if capacity is None else capacity
    best: tuple[object, list[tuple[int, int]]] | None = None
    for assignment in _of_so_many(most, request, count):
        frag, waste, squares = 0, 0, 0
        for node, tasks in assignment:
            before, after = free[node], free[node] - tasks * gpus_per_task
            frag += (0 < after < gpus_per_node) - (0 < before < gpus_per_node)
            waste += (gpus_per_node - after) * (0 < after < gpus_per_node)
            waste -= (gpus_per_node - before) * (0 < before < gpus_per_node)
            squares += (gpus_per_node - after) ** 2 - (gpus_per_node - before) ** 2
        if tier == 2 and frag > 0:
            continue
        nodes, greedy = [node for node, _ in assignment], [-tasks for _, tasks in assignment]
        keys = {
            "defrag": (frag, waste, squares, nodes, greedy),
            "balance": (squares, frag, waste, nodes, greedy),
            "lex": (nodes, frag, waste, squares, greedy),
        }
        if best is None or keys[order] < best[0]:  # type: ignore[operator]
            best = keys[order], assignment
    return None if best is None else Option(best[1])


def _of_so_many(most: Sequence[int], request: int, count: int) -> Iterator[list[tuple[int, int]]]:
    for nodes in combinations([node for node, limit in enumerate(most) if limit], count):
        for tasks in product(*(range(1, min(most[node], request) + 1) for node in nodes)):
            if sum(tasks) == request:
                yield list(zip(nodes, tasks, strict=True))


def make_scene(
    free_gpus: Sequence[int],
    request: Request,
    *,
    gpus: Sequence[int] | None = None,
    pool: Sequence[int] | None = None,
    cores: tuple[Sequence[int], Sequence[int]] | None = None,
    memory_mb: tuple[Sequence[int], Sequence[int]] | None = None,
    waiting: Sequence[Request] = (),
    mix: bool = False,
) -> Scene:
    """Returns a scene; cores and memory are given as free and total, and are ample if left out."""
    count = len(free_gpus)
    free_cores, total_cores = (np.array(part) * 1000 for part in cores or ([1000] * count,) * 2)
    free_memory, total_memory = (np.array(part) for part in memory_mb or ([10**6] * count, [-1] * count))
    free = np.array(free_gpus)
    capacity = _capacity(request, free, free_cores, np.where(total_memory < 0, 2**40, free_memory))
    jobs = list(waiting)
    return Scene(
        job=7,
        now_s=100.0,
        request=request,
        capacity=capacity.astype(np.uint32),
        free_cores_milli=free_cores.astype(np.int64),
        free_memory_mb=free_memory.astype(np.int64),
        free_gpus=free.astype(np.int32),
        waiting=np.arange(len(jobs), dtype=np.uint32),
        gpus=np.array([8] * count if gpus is None else gpus, dtype=np.int64),
        pool=np.array([0] * count if pool is None else pool, dtype=np.int64),
        cores_milli=total_cores.astype(np.int64),
        memory_mb=total_memory.astype(np.int64),
        mix=mix,
        requests=Requests(
            np.array([job.tasks for job in jobs], dtype=np.int64),
            np.array([job.cores_milli for job in jobs], dtype=np.int64),
            np.array([job.memory_mb for job in jobs], dtype=np.int64),
            np.array([job.gpu_milli for job in jobs], dtype=np.int64),
        ),
    )


def _capacity(
    request: Request, gpus: NDArray[np.int64], cores_milli: NDArray[np.int64], memory_mb: NDArray[np.int64]
) -> NDArray[np.int64]:
    room = np.full(len(gpus), 2**32 - 1, dtype=np.int64)
    for free, each in ((gpus, request.gpus), (cores_milli, request.cores_milli), (memory_mb, request.memory_mb)):
        if each:
            room = np.minimum(room, free // each)
    if 0 < request.gpu_milli < 1000:
        room = np.minimum(room, gpus * (1000 // request.gpu_milli))
    return room


def random_scene(generator: np.random.Generator, nodes: int, most_tasks: int) -> Scene:
    """Returns a scene with nodes of several sizes and types, whose cores and memory bind in part."""
    sizes = generator.choice([2, 4, 8], size=nodes) if generator.random() < 0.6 else np.full(nodes, 8)
    used = np.where(generator.random(nodes) < 0.3, 0, generator.integers(0, sizes + 1))
    total_cores, total_memory = sizes * 8, sizes * 1000
    busy = generator.uniform(0.5, 1.5, nodes)
    free_cores = np.maximum(0, total_cores - np.rint(used * 8 * busy).astype(int))
    free_memory = np.maximum(0, total_memory - np.rint(used * 1000 * busy).astype(int))
    tracked = generator.random() < 0.7
    return make_scene(
        (sizes - used).tolist(),
        random_request(generator, most_tasks),
        gpus=sizes.tolist(),
        pool=generator.integers(-1, 1 + int(generator.integers(0, 2)), nodes).tolist(),
        cores=(free_cores.tolist(), total_cores.tolist()),
        memory_mb=(free_memory.tolist(), total_memory.tolist() if tracked else [-1] * nodes),
        waiting=[random_request(generator, 20, fractions=True) for _ in range(int(generator.integers(0, 8)))],
        mix=bool(generator.random() < 0.3),
    )


def random_request(generator: np.random.Generator, most_tasks: int, *, fractions: bool = False) -> Request:
    """Returns what a job may ask for."""
    gpu_milli = [1000, 1000, 1000, 2000, 3000, 4000] + [0, 250, 600] * fractions
    return Request(
        tasks=int(generator.integers(1, most_tasks + 1)),
        cores_milli=int(generator.choice([0, 1000, 8000, 12_000])),
        memory_mb=int(generator.choice([0, 100, 1000, 1500])),
        gpu_milli=int(generator.choice(gpu_milli)),
    )
