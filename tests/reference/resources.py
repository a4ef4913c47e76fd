"""What a node has free, how many tasks it can take, and what is left when it has taken them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from shunter.model.schedule import RejectReason
from tests.reference.model import DEVICE_MILLI, Allocation, RefJob, RefNode, Share

UNBOUNDED = 2**62
"""The capacity of a node for a task that asks for nothing which the node counts."""


@dataclass(frozen=True)
class Free:
    """What one node has free."""

    cores_milli: int
    memory_mb: int | None
    devices: tuple[int, ...]
    node: RefNode | None = None
    """Whose it is; who wants a node for himself has to know what it has."""


FreeNodes: TypeAlias = tuple[Free, ...]


def empty(nodes: Sequence[RefNode]) -> FreeNodes:
    """Returns what an empty cluster has free."""
    return tuple(Free(node.cores_milli, node.memory_mb, (DEVICE_MILLI,) * node.gpus, node) for node in nodes)


def names_in(text: str | None) -> list[str]:
    """Returns the names in a text with commas between them."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def partitions(job: RefJob, nodes: Sequence[RefNode]) -> list[list[int]]:
    """Returns the nodes of each partition that the job names; all nodes, if it or the cluster has none."""
    named = names_in(job.partition)
    if not named or all(node.partition is None for node in nodes):
        return [list(range(len(nodes)))]
    found = [[number for number, node in enumerate(nodes) if name in names_in(node.partition)] for name in named]
    return [members for members in found if members]


def has_features(job: RefJob, node: RefNode, nodes: Sequence[RefNode]) -> bool:
    """Tells whether a node has all features of one of the job's alternatives; nobody minds where no node has any."""
    if job.features is None or all(one.features is None for one in nodes):
        return True
    has = set(names_in(node.features))
    return any(set(names_in(one.replace("&", ","))) <= has for one in job.features.split("|"))


def places(job: RefJob, nodes: Sequence[RefNode]) -> list[list[int]]:
    """Returns the groups of nodes of which one must hold all of the job, before its GPUs are looked at."""
    found = [
        [number for number in members if has_features(job, nodes[number], nodes)] for members in partitions(job, nodes)
    ]
    return [members for members in found if members]


def in_partition(job: RefJob, nodes: Sequence[RefNode]) -> list[int]:
    """Returns all nodes of these groups."""
    return sorted({number for members in places(job, nodes) for number in members})


def has_wanted_type(job: RefJob, node: RefNode) -> bool:
    """Tells whether a node has GPUs of a type that the job accepts, and on which its kind runs."""
    if job.speed_micro is not None and (node.gpu_type is None or job.speed_micro[node.gpu_type] == 0):
        return False
    return job.gpu_types == 0 or (node.gpu_type is not None and bool(job.gpu_types >> node.gpu_type & 1))


def speed_on(job: RefJob, node: RefNode) -> int:
    """Returns how fast a node's GPUs run a job, in millionths: as its kind says, or as the node does."""
    if job.speed_micro is not None and node.gpu_type is not None:
        return job.speed_micro[node.gpu_type]
    return node.speed_milli * 1000


def usable(job: RefJob, nodes: Sequence[RefNode]) -> list[int]:
    """Returns the nodes on which the job may run: those of its partition with a type of GPU that it accepts."""
    return [number for number in in_partition(job, nodes) if has_wanted_type(job, nodes[number])]


def pools(job: RefJob, nodes: Sequence[RefNode]) -> list[list[int]]:
    """Returns the nodes with GPUs of each of the job's partitions by their type; pools go by their first nodes."""
    found = []
    for members in places(job, nodes):
        with_gpus = [number for number in members if nodes[number].gpus]
        types = dict.fromkeys(nodes[number].gpu_type for number in with_gpus)
        found += [[number for number in with_gpus if nodes[number].gpu_type == one] for one in types]
    return found


def choices(job: RefJob, candidates: Sequence[int], nodes: Sequence[RefNode], mix: bool) -> list[list[int]]:
    """Returns the groups of nodes of which a job gets one: the pools for a job with GPUs, unless types may be mixed."""
    groups = places(job, nodes) if job.gpu_milli == 0 or mix else pools(job, nodes)
    return [[number for number in group if number in candidates] for group in groups]


def capacity_by_cores(job: RefJob, free: Free) -> int:
    """Returns how many tasks the free cores allow."""
    return free.cores_milli // job.cores_milli if job.cores_milli else UNBOUNDED


def capacity_by_memory(job: RefJob, free: Free) -> int:
    """Returns how many tasks the free memory allows."""
    return free.memory_mb // job.memory_mb if job.memory_mb and free.memory_mb is not None else UNBOUNDED


def capacity_by_gpus(job: RefJob, free: Free) -> int:
    """Returns how many tasks the devices allow: whole GPUs need whole devices, a fraction lies on one device."""
    if job.gpu_milli == 0:
        return UNBOUNDED
    if job.gpu_milli < DEVICE_MILLI:
        return sum(device // job.gpu_milli for device in free.devices)
    whole_devices = sum(device == DEVICE_MILLI for device in free.devices)
    return whole_devices // (job.gpu_milli // DEVICE_MILLI)


def capacity(job: RefJob, free: Free) -> int:
    """Returns how many tasks of the job the node can take; one that is exclusive goes only where nothing is taken."""
    if job.exclusive and not is_untouched(free):
        return 0
    return min(capacity_by_cores(job, free), capacity_by_memory(job, free), capacity_by_gpus(job, free))


def is_untouched(free: Free) -> bool:
    """Tells whether nothing of a node is taken."""
    assert free.node is not None, "what a node has is known where jobs may be exclusive"
    has = (free.node.cores_milli, free.node.memory_mb, (DEVICE_MILLI,) * free.node.gpus)
    return (free.cores_milli, free.memory_mb, free.devices) == has


def held(job: RefJob, share: Share, free: Free) -> Free:
    """Returns what a job holds of a node: what its tasks ask for, or all of it."""
    if job.exclusive:
        assert free.node is not None, "what a node has is known where jobs may be exclusive"
        return Free(free.node.cores_milli, free.node.memory_mb, (DEVICE_MILLI,) * free.node.gpus)
    return Free(share.tasks * job.cores_milli, share.tasks * (job.memory_mb or 0), share.devices)


def fits_when_empty(job: RefJob, nodes: Sequence[RefNode], mix: bool) -> bool:
    """Tells whether the job fits on the empty cluster."""
    free = empty(nodes)
    return any(
        sum(capacity(job, free[number]) for number in choice) >= job.tasks
        for choice in choices(job, usable(job, nodes), nodes, mix)
    )


def reject_reason(job: RefJob, nodes: Sequence[RefNode], mix: bool = False) -> RejectReason:
    """Returns why the job would not fit on the empty cluster, or NONE if it would."""
    if job.refused is not RejectReason.NONE:
        return job.refused
    if not partitions(job, nodes):
        return RejectReason.NO_SUCH_PARTITION
    if not in_partition(job, nodes):
        return RejectReason.NO_SUCH_FEATURES
    if not usable(job, nodes):
        return RejectReason.NO_SUCH_GPU_TYPE
    for reason, alone in (
        (RejectReason.CORES, replace(job, memory_mb=None, gpu_milli=0)),
        (RejectReason.MEMORY, replace(job, cores_milli=0, gpu_milli=0)),
        (RejectReason.GPUS, replace(job, cores_milli=0, memory_mb=None)),
    ):
        if not fits_when_empty(alone, nodes, mix):
            return reason
    return RejectReason.NONE if fits_when_empty(job, nodes, mix) else RejectReason.COMBINATION


def choose_devices(job: RefJob, free: Free, tasks: int) -> tuple[int, ...]:
    """Returns how many milli-GPUs of each device the tasks take on this node."""
    taken = [0] * len(free.devices)
    if job.gpu_milli >= DEVICE_MILLI:
        whole = [number for number, device in enumerate(free.devices) if device == DEVICE_MILLI]
        for number in whole[: tasks * job.gpu_milli // DEVICE_MILLI]:
            taken[number] = DEVICE_MILLI
    elif job.gpu_milli:
        for _ in range(tasks):
            left = [device - used for device, used in zip(free.devices, taken, strict=True)]
            with_room = [number for number, device in enumerate(left) if device >= job.gpu_milli]
            taken[min(with_room, key=lambda number: (left[number], number))] += job.gpu_milli
    return tuple(taken)


def share_is_free(job: RefJob, share: Share, free: Free) -> bool:
    """Tells whether the node has exactly this share free, on the very devices."""
    taken = held(job, share, free)
    return (
        taken.cores_milli <= free.cores_milli
        and (free.memory_mb is None or (taken.memory_mb or 0) <= free.memory_mb)
        and all(part <= device for part, device in zip(taken.devices, free.devices, strict=True))
    )


def has_room(job: RefJob, allocation: Allocation, free: FreeNodes) -> bool:
    """Tells whether all of an allocation is free."""
    return all(share_is_free(job, share, free[share.node]) for share in allocation)


def without(free: FreeNodes, job: RefJob, allocation: Allocation) -> FreeNodes:
    """Returns what stays free when the job holds this allocation; below zero where more is held than there is."""
    left = list(free)
    for share in allocation:
        node = left[share.node]
        taken = held(job, share, node)
        left[share.node] = Free(
            node.cores_milli - taken.cores_milli,
            None if node.memory_mb is None else node.memory_mb - (taken.memory_mb or 0),
            tuple(device - part for device, part in zip(node.devices, taken.devices, strict=True)),
            node.node,
        )
    return tuple(left)


def lowest(moments: Sequence[FreeNodes]) -> FreeNodes:
    """Returns what is free at every one of several moments: the least of each resource of each node, or nothing."""
    return tuple(
        Free(
            max(0, min(node.cores_milli for node in same)),
            None if same[0].memory_mb is None else max(0, min(node.memory_mb or 0 for node in same)),
            tuple(max(0, min(device)) for device in zip(*(node.devices for node in same), strict=True)),
            same[0].node,
        )
        for same in zip(*moments, strict=True)
    )
