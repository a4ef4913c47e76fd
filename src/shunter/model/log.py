"""A log on its cluster, and the days of it that are looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shunter.model.windows import choose_windows

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload


FROM_WORKLOAD = "the workload"
"""What told the cluster where nobody named one."""


@dataclass(frozen=True)
class Log:
    """A log and the cluster that it is replayed on."""

    workload: Workload
    cluster: Cluster
    cluster_from: str = "--cluster"
    """What told the cluster: `FROM_WORKLOAD`, or an option."""
    load: float | None = None
    """The load that the arrivals were scaled to; None: they are as they were."""


@dataclass(frozen=True)
class Days:
    """Some days of each log, and how many windows are taken from them."""

    option: str
    """By which option they were given, for errors: ``--train``."""
    part: tuple[float, float]
    """From which fraction of a log's jobs to which one."""
    windows: int
    length: int
    """How many jobs of each window are measured."""
    warmup: int
    """How many jobs before them are simulated too."""
    seed: int

    def windows_of(self, log: Log) -> Windows:
        """Returns the windows of a log.

        Raises:
            InputError: These days have fewer jobs than a window.
        """
        return choose_windows(
            len(log.workload),
            count=self.windows,
            length=self.length,
            seed=self.seed,
            part=self.part,
            warmup=self.warmup,
            log=log.workload.name,
            part_option=self.option,
        )
