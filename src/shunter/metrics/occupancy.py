"""What is free on nodes for one job, while others come and go: capacities as ``docs/simulation.md`` has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shunter.metrics.record import Record
    from shunter.model.cluster import Node

WHOLE: Final = 1000
"""Milli-GPUs of a device."""
UNBOUNDED: Final = 2**32 - 1
RESOURCES: Final = ("GPUs", "cores", "memory")
"""In the order in which amounts stand."""

Amounts = tuple[int, int, int]
"""Milli-GPUs, milli-cores and MB."""


@dataclass(frozen=True)
class Shape:
    """What a job asks for."""

    tasks: int
    each: Amounts
    """Of one task."""
    exclusive: bool = False
    """Whether it goes only where nobody else is."""

    @classmethod
    def of(cls, record: Record, row: int) -> Shape:
        """Returns the shape of one job of a run."""
        each = int(record.milli_gpus[row]), int(record.milli_cores[row]), int(record.memory_mb[row])
        return cls(int(record.tasks[row]), each, bool(record.exclusive[row]))

    @property
    def total(self) -> Amounts:
        """What it needs in all."""
        gpus, cores, memory = self.each
        return gpus * self.tasks, cores * self.tasks, memory * self.tasks


@dataclass
class NodeRoom:
    """One node: what is free on it, and how many tasks of one job it could take."""

    shape: Shape
    pool: int
    """The number of its type of GPUs where a job's nodes are all of one type, otherwise 0."""
    cores: int
    memory: int | None
    devices: list[int]
    """Free milli-GPUs of each."""
    rooms: list[int] = field(default_factory=list)
    """How many tasks it could take by each resource alone."""
    most: int = 0
    """How many tasks it takes while it is empty; more than the job has do not count."""
    others: int = 0
    """How many jobs are on it."""

    @classmethod
    def empty(cls, node: Node, shape: Shape, pool: int) -> NodeRoom:
        """Returns a node on which nothing runs."""
        place = cls(shape, pool, round(node.cores * 1000), node.memory_mb, [WHOLE] * node.gpus)
        place.count()
        place.most = place.room
        return place

    @property
    def room(self) -> int:
        """How many tasks it could take now; more than the job has do not count."""
        return min(*self.rooms, self.shape.tasks)

    @property
    def _is_shut(self) -> bool:
        return self.shape.exclusive and self.others > 0

    @property
    def free(self) -> Amounts:
        """What is free that the job could use: of GPUs only whole ones, if it wants those."""
        if self._is_shut:
            return 0, 0, 0
        whole = self.shape.each[0] >= WHOLE
        gpus = sum(free for free in self.devices if free == WHOLE or not whole)
        return gpus, self.cores, UNBOUNDED if self.memory is None else self.memory

    def count(self) -> None:
        """Counts anew how many tasks it could take by each resource alone."""
        if self._is_shut:
            self.rooms = [0, 0, 0]
            return
        gpus, cores, memory = self.shape.each
        if gpus >= WHOLE:
            by_gpus = self.devices.count(WHOLE) // (gpus // WHOLE)
        else:
            by_gpus = sum(free // gpus for free in self.devices) if gpus else UNBOUNDED
        by_cores = self.cores // cores if cores else UNBOUNDED
        by_memory = self.memory // memory if memory and self.memory is not None else UNBOUNDED
        self.rooms = [by_gpus, by_cores, by_memory]

    def take(self, tasks: int, each: Amounts) -> list[tuple[int, int]]:
        """Gives resources to tasks of some job, and returns the devices they got with what they took of each."""
        gpus, cores, memory = each
        self.others += 1
        self.cores -= tasks * cores
        if self.memory is not None:
            self.memory -= tasks * memory
        taken = []
        for _ in range(tasks if gpus else 0):
            taken += self._take_whole(gpus // WHOLE) if gpus >= WHOLE else self._take_fraction(gpus)
        return taken

    def give_back(self, tasks: int, each: Amounts, taken: list[tuple[int, int]]) -> None:
        """Frees what tasks held."""
        self.others -= 1
        self.cores += tasks * each[1]
        if self.memory is not None:
            self.memory += tasks * each[2]
        for device, amount in taken:
            self.devices[device] += amount

    def _take_whole(self, count: int) -> list[tuple[int, int]]:
        # The core takes whole devices by number.
        taken = [(device, WHOLE) for device, free in enumerate(self.devices) if free == WHOLE][:count]
        for device, amount in taken:
            self.devices[device] -= amount
        return taken

    def _take_fraction(self, amount: int) -> list[tuple[int, int]]:
        fitting = [(free, device) for device, free in enumerate(self.devices) if free >= amount]
        if not fitting:
            return []
        # The core puts a fraction on the fullest device that has room, by number where several are as full.
        _, device = min(fitting)
        self.devices[device] -= amount
        return [(device, amount)]
