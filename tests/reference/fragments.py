"""The placement ``fgd``: the nodes and devices on which the least of the free GPUs becomes useless to jobs to come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.reference.asking import Ask, JobClass, TasksOn
from tests.reference.model import DEVICE_MILLI, RefJob, Share
from tests.reference.resources import Free, choose_devices, without

MOST_CLASSES = 32


def classes_of(jobs: Sequence[RefJob]) -> Counter[JobClass]:
    """Returns the most frequent classes of the jobs with GPUs, and how many jobs each has."""
    every = Counter((job.tasks, job.cores_milli, job.memory_mb or 0, job.gpu_milli) for job in jobs if job.gpu_milli)

    def rank(one: JobClass) -> tuple[int, ...]:
        tasks, cores_milli, memory_mb, gpu_milli = one
        return (-every[one], gpu_milli, tasks, cores_milli, memory_mb)

    return Counter({one: every[one] for one in sorted(every, key=rank)[:MOST_CLASSES]})


def useless_milli(free: Free, one: JobClass) -> int:
    """Returns how many of the node's free milli-GPUs are of no use to a job of a class."""
    tasks, cores_milli, memory_mb, gpu_milli = one
    if gpu_milli >= DEVICE_MILLI:
        gpus = gpu_milli // DEVICE_MILLI
        hosted = max(1, min(tasks, len(free.devices) // gpus))
        useful = [device for device in free.devices if device == DEVICE_MILLI]
        enough = len(useful) >= hosted * gpus
    else:
        hosted = 1
        useful = [device for device in free.devices if device >= gpu_milli]
        enough = bool(useful)
    enough_cores = free.cores_milli >= hosted * cores_milli
    enough_memory = free.memory_mb is None or free.memory_mb >= hosted * memory_mb
    can_host = enough and enough_cores and enough_memory
    return sum(free.devices) - (sum(useful) if can_host else 0)


def fragmentation(free: Free, classes: Counter[JobClass]) -> int:
    """Returns F of a node: what is useless to each class, times its jobs."""
    return sum(count * useless_milli(free, one) for one, count in classes.items())


def after(ask: Ask, node: int, tasks: int, devices: tuple[int, ...]) -> Free:
    """Returns what a node has free when it has taken tasks."""
    return without(ask.free, ask.job, (Share(node, tasks, devices),))[node]


def ways(tasks: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yields all ways to hand out tasks, none to some perhaps; as many as possible to the first ones first."""
    if not most:
        if tasks == 0:
            yield ()
        return
    for first in range(min(tasks, most[0]), -1, -1):
        for rest in ways(tasks - first, most[1:]):
            yield (first, *rest)


def choose_unfragmenting_devices(ask: Ask, node: int, tasks: int) -> tuple[int, ...]:
    """Returns the devices with the least fragmentation afterwards: those of the usual rule if no others are better."""
    usual = choose_devices(ask.job, ask.free[node], tasks)
    milli = ask.job.gpu_milli
    if milli == 0 or milli >= DEVICE_MILLI:
        return usual
    most = [max(0, device // milli) for device in ask.free[node].devices]
    options = [usual, *(tuple(count * milli for count in counts) for counts in ways(tasks, most))]
    return min(options, key=lambda devices: fragmentation(after(ask, node, tasks, devices), ask.classes))


def cost(ask: Ask, node: int, tasks: int) -> int:
    """Returns by how much the node's fragmentation grows when it takes tasks."""
    devices = choose_unfragmenting_devices(ask, node, tasks)
    then = fragmentation(after(ask, node, tasks, devices), ask.classes)
    return then - fragmentation(ask.free[node], ask.classes)


def best_split(ask: Ask) -> tuple[int, int, TasksOn]:
    """Returns the least cost over all candidates, the fewest nodes with it, and the split; early nodes take more."""
    numbers = sorted(ask.capacities)
    most = [min(ask.capacities[node], ask.job.tasks) for node in numbers]
    costs = {
        (node, tasks): cost(ask, node, tasks) if tasks else 0
        for node, limit in zip(numbers, most, strict=True)
        for tasks in range(limit + 1)
    }
    splits = [dict(zip(numbers, split, strict=True)) for split in ways(ask.job.tasks, most)]

    def rank(split: TasksOn) -> tuple[int, int]:
        return sum(costs[pair] for pair in split.items()), sum(tasks > 0 for tasks in split.values())

    best = min(splits, key=rank)
    return (*rank(best), best)


def least_fragmentation(ask: Ask) -> TasksOn:
    """Returns the split with the least cost, then the fewest nodes, then in the first pool."""
    found = [best_split(pool) for pool in ask.pools_that_fit()]
    return min(found, key=lambda one: one[:2])[2]
